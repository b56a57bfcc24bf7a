"""Eval sets: what a line of `eval_sets/*.jsonl` says, read strictly, every fault named by file and line."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from finrag_pipelines.storage import sha256_bytes

REFUSAL_CODES = frozenset(
    {
        "QUESTION.underspecified",
        "QUESTION.nonsensical",
        "QUESTION.false_presupposition",
        "QUESTION.unsupported_modality",
        "QUESTION.unsafe",
        "EVIDENCE_TYPE.live_market",
        "EVIDENCE_TYPE.current_holdings",
        "EVIDENCE_TYPE.forecast_beyond_documents",
        "EVIDENCE_TYPE.advice",
        "EVIDENCE_TYPE.not_disclosed",
        "SCOPE.unknown_company",
        "SCOPE.uncovered",
        "RETRIEVAL.below_threshold",
        "EVIDENCE.insufficient",
        "MODEL.declined",
        "MODEL.failed",
        "CITATION.unresolved",
        "CLAIM.unsupported",
        "ACCESS.withdrawn",
    }
)
_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")


class SetError(ValueError):
    """An eval set is not as documented. `problems` lists every fault as `file:line: what is wrong`."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Gold:
    """A passage that supports the answer: a verbatim quote of a source, or a page of it (zero-based), or both.

    White space is not significant in the quote. Where a quote from elsewhere cannot be found, its page stands for it.
    """

    source_id: str
    quote: str = ""
    page_index: int | None = None


@dataclass(frozen=True)
class Question:
    """One question with what a right system does with it. `line` is where it stands in its file, from 1."""

    id: str
    question: str
    answerable: bool
    principal: str = "public"
    as_of: str | None = None
    refusal_code: str | None = None
    pairs: tuple[tuple[str | None, str | None], ...] = ()
    gold: tuple[Gold, ...] = ()
    reference_answer: str = ""
    tags: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True)
class EvalSet:
    """A named set of questions and the SHA-256 of the bytes that it was read from."""

    name: str
    sha256: str
    questions: tuple[Question, ...]


def set_names(folder: Path) -> list[str]:
    """List the eval sets of a folder by name, sorted."""
    return sorted(path.stem for path in folder.glob("*.jsonl"))


def read_set(path: Path) -> EvalSet:
    """Read an eval set. Raises SetError naming every fault by file and line, and FileNotFoundError."""
    content = path.read_bytes()
    problems: list[str] = []
    questions: list[Question] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        found, faults = _read_line(line, number)
        if found is not None and found.id in seen:
            faults.append(f"id {found.id!r} was used in line {seen[found.id]}; give each question its own")
        problems += [f"{path.name}:{number}: {fault}" for fault in faults]
        if found is not None:
            seen[found.id] = number
            questions.append(found)
    if not questions and not problems:
        problems.append(f"{path.name}:1: the set holds no question")
    if problems:
        raise SetError(problems)
    return EvalSet(path.stem, sha256_bytes(content), tuple(questions))


def write_set(path: Path, questions: Sequence[Question]) -> None:
    """Write questions as an eval set, one JSON object a line in the documented order of fields."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(to_json(one), ensure_ascii=False) + "\n" for one in questions), "utf-8")


def to_json(question: Question) -> dict[str, Any]:
    """Return a question as the documented JSON object."""
    return {
        "id": question.id,
        "question": question.question,
        "principal": question.principal,
        "as_of": question.as_of,
        "answerable": question.answerable,
        "refusal_code": question.refusal_code,
        "pairs": [list(pair) for pair in question.pairs],
        "gold": [
            {"source_id": one.source_id, "quote": one.quote}
            | ({} if one.page_index is None else {"page_index": one.page_index})
            for one in question.gold
        ],
        "reference_answer": question.reference_answer,
        "tags": list(question.tags),
    }


_FIELDS: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "question": (str,),
    "principal": (str, type(None)),
    "as_of": (str, type(None)),
    "answerable": (bool,),
    "refusal_code": (str, type(None)),
    "pairs": (list,),
    "gold": (list,),
    "reference_answer": (str, type(None)),
    "tags": (list,),
}
_REQUIRED = ("id", "question", "answerable")


def _read_line(line: str, number: int) -> tuple[Question | None, list[str]]:
    """Return the question of a line, or None, and its faults."""
    try:
        row = json.loads(line)
    except ValueError as error:
        return None, [f"is no JSON ({error})"]
    if not isinstance(row, dict):
        return None, ["is no JSON object"]
    faults = [f"field {name!r} is missing" for name in _REQUIRED if name not in row]
    for name, value in row.items():
        if name not in _FIELDS:
            faults.append(f"field {name!r} is unknown; known are {', '.join(_FIELDS)}")
        elif not isinstance(value, _FIELDS[name]):
            faults.append(f"field {name!r} has the wrong type ({type(value).__name__})")
    if faults:
        return None, faults
    pairs = [_pair(one, faults) for one in row.get("pairs", [])]
    gold = [_gold(one, faults) for one in row.get("gold", [])]
    if faults:
        return None, faults
    found = Question(
        id=row["id"],
        question=row["question"],
        answerable=row["answerable"],
        principal=row.get("principal") or "public",
        as_of=row.get("as_of"),
        refusal_code=row.get("refusal_code"),
        pairs=tuple(one for one in pairs if one is not None),
        gold=tuple(one for one in gold if one is not None),
        reference_answer=row.get("reference_answer") or "",
        tags=tuple(map(str, row.get("tags", []))),
        line=number,
    )
    return found, _contradictions(found)


def _pair(value: Any, faults: list[str]) -> tuple[str | None, str | None] | None:
    if isinstance(value, list) and len(value) == 2 and all(one is None or isinstance(one, str) for one in value):
        return value[0], value[1]
    faults.append(f"pair {value!r} is not [company, period]")
    return None


def _gold(value: Any, faults: list[str]) -> Gold | None:
    if not isinstance(value, dict) or not isinstance(value.get("source_id"), str):
        faults.append(f"gold {value!r} has no source_id")
        return None
    page, quote = value.get("page_index"), value.get("quote") or ""
    if not isinstance(quote, str) or not (page is None or (isinstance(page, int) and page >= 0)):
        faults.append(f"gold of {value['source_id']}: quote is text and page_index a number from 0")
        return None
    if not quote.strip() and page is None:
        faults.append(f"gold of {value['source_id']} has neither quote nor page_index")
        return None
    return Gold(value["source_id"], quote, page)


def _contradictions(found: Question) -> list[str]:
    """Return what a question says against itself."""
    faults = []
    if not _ID.match(found.id):
        faults.append(f"id {found.id!r} is no plain name; use letters, digits, dot, dash and underscore")
    if not found.question.strip():
        faults.append("the question is empty")
    if found.as_of is not None:
        try:
            date.fromisoformat(found.as_of)
        except ValueError:
            faults.append(f"as_of {found.as_of!r} is no date (YYYY-MM-DD)")
    if found.answerable and found.refusal_code is not None:
        faults.append("is answerable and has a refusal_code; one of them is wrong")
    if not found.answerable and found.refusal_code is None:
        faults.append("is not answerable and has no refusal_code")
    if found.refusal_code is not None and found.refusal_code not in REFUSAL_CODES:
        faults.append(f"refusal_code {found.refusal_code!r} is unknown; known are {', '.join(sorted(REFUSAL_CODES))}")
    if found.answerable and not found.gold:
        faults.append("is answerable and has no gold evidence")
    return faults
