"""Eval sets of others, read as ours: FinanceBench, TAT-QA and BEIR. Their licences hold for what is imported."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from finrag_pipelines.catalog.catalog import Catalog
from finrag_pipelines.evaluation.sets import Gold, Question, SetError

SourceOf = Callable[[str], str | None]
"""Maps the name of a document in a foreign set to a source id; None where the store does not hold it."""


def by_file_name(catalog: Catalog) -> SourceOf:
    """Return the mapping by the file that a source was received as, its ending left out."""
    known: dict[str, str] = {}
    for source_id, source in sorted(catalog.sources.items()):
        for version in source.versions or source.received:
            known.setdefault(Path(version.file_name).stem, source_id)
    return lambda name: known.get(Path(name).stem) or (name if name in catalog.sources else None)


def import_financebench(path: Path, source_of: SourceOf) -> tuple[Question, ...]:
    """Read FinanceBench's questions (JSONL); the evidence page counts from 0 and stands in for a quote not found."""
    found = []
    for number, row in _json_lines(path):
        gold = tuple(
            Gold(
                source_of(one.get("doc_name") or row["doc_name"]) or one.get("doc_name") or row["doc_name"],
                one.get("evidence_text", ""),
                one.get("evidence_page_num"),
            )
            for one in row.get("evidence", [])
        )
        found.append(
            Question(
                id=row["financebench_id"],
                question=row["question"],
                answerable=True,
                gold=gold,
                reference_answer=str(row.get("answer", "")),
                tags=tuple(str(row[name]) for name in ("question_type", "question_reasoning") if row.get(name)),
                line=number,
            )
        )
    return tuple(found)


def import_tatqa(path: Path, source_of: SourceOf) -> tuple[Question, ...]:
    """Read TAT-QA (one JSON file): a context's paragraphs that a question relies on are its gold evidence.

    A context is mapped by its table's uid; a scale that stands beside the answer is put behind it.
    """
    found = []
    for context in _json(path):
        uid = context["table"]["uid"]
        texts = {str(one["order"]): one["text"] for one in context["paragraphs"]}
        table = "\n".join(" ".join(cell for cell in row if cell) for row in context["table"]["table"])
        for row in context["questions"]:
            quotes = [texts[one] for one in row.get("rel_paragraphs", []) if one in texts]
            if "table" in row.get("answer_from", ""):
                quotes.append(table)
            answer = row["answer"]
            text = "; ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
            found.append(
                Question(
                    id=row["uid"],
                    question=row["question"],
                    answerable=True,
                    gold=tuple(Gold(source_of(uid) or uid, quote) for quote in quotes),
                    reference_answer=f"{text} {row.get('scale') or ''}".strip(),
                    tags=tuple(str(row[name]) for name in ("answer_type", "answer_from") if row.get(name)),
                )
            )
    return tuple(found)


def import_beir(folder: Path, source_of: SourceOf, split: str = "test") -> tuple[Question, ...]:
    """Read a BEIR folder: `queries.jsonl`, `corpus.jsonl`, `qrels/<split>.tsv`; the relevant passages are the gold."""
    path = folder / "qrels" / f"{split}.tsv"
    for one in (folder / "queries.jsonl", folder / "corpus.jsonl", path):
        if not one.is_file():
            parts = f"queries.jsonl, corpus.jsonl and qrels/{split}.tsv"
            raise SetError([f"{one.name}: no such file in {folder}; a BEIR folder has {parts}"])
    passages = {str(row["_id"]): row for _, row in _json_lines(folder / "corpus.jsonl")}
    relevant: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        fields = line.split("\t")
        if number == 1 and not fields[-1].isdigit():
            continue
        if len(fields) != 3 or fields[1] not in passages:
            raise SetError([f"{path.name}:{number}: is no line `query, passage of corpus.jsonl, score`"])
        if int(fields[2]) > 0:
            relevant.setdefault(fields[0], []).append(fields[1])
    return tuple(
        Question(
            id=str(row["_id"]),
            question=row["text"],
            answerable=True,
            gold=tuple(_passage(passages[one], one, source_of) for one in relevant[str(row["_id"])]),
            tags=("beir",),
            line=number,
        )
        for number, row in _json_lines(folder / "queries.jsonl")
        if str(row["_id"]) in relevant
    )


def _passage(row: dict[str, Any], name: str, source_of: SourceOf) -> Gold:
    title = row.get("title") or name
    return Gold(source_of(title) or source_of(name) or title, row.get("text", ""))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SetError([f"{path.name}:1: is no JSON ({error})"]) from None


def _json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise SetError([f"{path.name}:{number}: is no JSON ({error})"]) from None
