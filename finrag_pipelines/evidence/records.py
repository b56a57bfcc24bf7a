"""The evidence record of one answer, as rows; how each row enters the hash chain; its canonical bytes.

Every field that holds text of a document (or could repeat one) is committed: the record hash covers
sha256(salt + text), and salt and text stand beside the record. An erasure blanks both, and the chain still holds.
"""

import dataclasses
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from finrag_pipelines.storage import canonical_json, sha256_bytes, sha256_text

GENESIS = "0" * 64  # what the first record names as its predecessor
ERASED = "[erased]"  # what stands where a text was erased


COMMITTED = {"committed": True}


def committed(default: str | None = "") -> Any:
    """A text field that enters the record hash as a salted commitment; None enters it as it is."""
    return field(default=default, metadata=COMMITTED)


@dataclass(frozen=True)
class PlanPair:
    """One (company, period) that the question asked for, and whether the delivered evidence covers it."""

    company: str | None
    period: str | None
    covered: bool = False


@dataclass(frozen=True)
class CandidateRow:
    """A fragment that was found: by which stage (`retrieval`, `statement`), with its ranks and scores."""

    stage: str
    rank: int
    score: float
    fragment_id: str
    source_id: str
    version: int
    company: str
    period: str | None
    contributing: str
    lexical_rank: int | None = None
    lexical_score: float | None = None
    vector_rank: int | None = None
    vector_score: float | None = None
    rerank_score: float | None = None


@dataclass(frozen=True)
class GateRow:
    """One gate in the order in which it ran. `made_by` is deterministic or model; `detail` never holds document text.

    `passed` is None where the gate only records (the retrieval score, off as a decider).
    """

    position: int
    name: str
    made_by: str
    passed: bool | None
    code: str | None = None
    detail: str = ""
    value: float | None = None


@dataclass(frozen=True)
class DeliveryRow:
    """A fragment that went to the generator: `[start, end)` of which representation, and where in the prompt."""

    position: int
    fragment_id: str
    source_id: str
    version: int
    representation_id: str
    content_sha256: str
    start: int
    end: int
    text_sha256: str
    tokens: int
    company: str | None = None
    period: str | None = None


@dataclass(frozen=True)
class ClaimRow:
    """A sentence of the answer with the verdict of the claim checks: `supported`, `dropped` or `remark`.

    A `remark` states what is missing or unknown and asserts nothing about a document.
    """

    claim: int
    verdict: str
    reason: str = committed()
    sentence: str = committed()


@dataclass(frozen=True)
class CitationRow:
    """The passage that bears a claim: `[start, end)` of a representation, its page, section, speaker and quote.

    `marker` is the number that stands in brackets in the answer text.
    """

    claim: int
    marker: int
    fragment_id: str
    source_id: str
    version: int
    company: str
    form: str
    period: str | None
    section: str | None = field(metadata=COMMITTED)
    speaker: str | None = field(metadata=COMMITTED)
    role: str | None
    page_index: int | None
    page_label: str | None
    start: int
    end: int
    representation_id: str
    representation_type: str
    content_sha256: str
    quote_sha256: str = field(metadata=COMMITTED)
    quote: str = committed()


@dataclass(frozen=True)
class Derivation:
    """A computed number: `name` of the measure, `formula`, and its operands and result as JSON.

    `operands` is `[[name, value, citation marker], …]` with values in base units.
    """

    claim: int
    name: str
    formula: str
    operands: str = committed()
    result: str = committed()


@dataclass(frozen=True)
class DisclosureRow:
    """What was shown, or withheld, when, to whom and under which policy epoch. `segments` counts the claims shown.

    `claims` and `withheld` list claim numbers, joined by commas; `channel` says how it was shown: `ask`, `stream`,
    `evidence`, `html`, `w3c` or `openlineage`.
    """

    answer_id: str
    principal: str
    policy_epoch: int
    shown_at: str
    outcome: str
    segments: int
    withheld: str = ""
    claims: str = ""
    channel: str = ""


@dataclass(frozen=True)
class Refusal:
    """Why a question is not answered: a stable code, a sentence for people, and what was missing, sorted."""

    code: str
    reason: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnswerRecord:
    """Everything behind one answer or refusal. `answer_id` is the run id and the number of the question in the run.

    `configuration` is the hash of `settings`, the configuration as JSON. `missing` is a sorted tuple; `rule_digests`
    are `name=sha256` of each rule set that decided. Identities, `asked_at` and `timings_ms` are no part of the
    canonical projection.
    """

    decision: str
    principal: str
    index_version: str
    answer_id: str = ""
    run_id: str = ""
    number: int = 0
    asked_at: str = ""
    as_of: str | None = None
    configuration: str = ""
    settings: str = ""
    generator: str = ""
    model_digest: str | None = None
    prompt_sha256: str | None = None
    policy_epoch: int = 0
    refusal_code: str | None = None
    refusal_reason: str | None = committed(None)
    missing: tuple[str, ...] = ()
    rule_digests: tuple[str, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()
    question: str = committed()
    answer: str = committed()
    plan_pairs: tuple[PlanPair, ...] = ()
    candidates: tuple[CandidateRow, ...] = ()
    gates: tuple[GateRow, ...] = ()
    deliveries: tuple[DeliveryRow, ...] = ()
    claims: tuple[ClaimRow, ...] = ()
    citations: tuple[CitationRow, ...] = ()
    derivations: tuple[Derivation, ...] = ()

    @property
    def refusal(self) -> Refusal | None:
        """The refusal, or None for an answer."""
        if self.refusal_code is None:
            return None
        return Refusal(self.refusal_code, self.refusal_reason or "", self.missing)


# The child tables of a record, by field name; the order is that of the public schema.
CHILDREN: dict[str, type] = {
    "plan_pairs": PlanPair,
    "candidates": CandidateRow,
    "gates": GateRow,
    "deliveries": DeliveryRow,
    "claims": ClaimRow,
    "citations": CitationRow,
    "derivations": Derivation,
}
_NOT_CANONICAL = ("answer_id", "run_id", "number", "asked_at", "timings_ms")


@dataclass(frozen=True)
class Sealed:
    """A record in the chain: its committed JSON, the texts and salts beside it, and its place.

    `texts` maps each committed field, as a path such as `citations.0.quote`, to `(salt, text)`.
    """

    answer_id: str
    run_id: str
    sequence: int
    previous_hash: str
    record_hash: str
    committed_json: str
    texts: dict[str, tuple[str, str]]


def _is_committed(one: dataclasses.Field) -> bool:
    return bool(one.metadata.get("committed"))


def _plain(value: Any) -> Any:
    """Return dataclasses and tuples as what JSON has: objects and arrays."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def commitment(salt: str, text: str) -> str:
    """Return the hash that stands for `text` in a record. `salt` is 32 hex digits, random per text."""
    return sha256_text(salt + text)


def _text_fields(record: AnswerRecord) -> list[tuple[str, str]]:
    """List the committed fields of a record that hold something as (path, text)."""
    found = [(one.name, getattr(record, one.name)) for one in dataclasses.fields(record) if _is_committed(one)]
    for name, row_type in CHILDREN.items():
        names = [one.name for one in dataclasses.fields(row_type) if _is_committed(one)]
        for number, row in enumerate(getattr(record, name)):
            found += [(f"{name}.{number}.{field_name}", getattr(row, field_name)) for field_name in names]
    return [(path, text) for path, text in found if text is not None]


def _put(tree: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for step in parents:
        tree = tree[int(step)] if isinstance(tree, list) else tree[step]
    tree[last] = value


def record_hash(previous_hash: str, sequence: int, committed_json: str) -> str:
    """Return the hash of a record in the chain, over its predecessor, its place and its committed JSON."""
    return sha256_bytes(f"{previous_hash}\n{sequence}\n{committed_json}".encode("utf-8", "surrogatepass"))


def seal(record: AnswerRecord, sequence: int, previous_hash: str) -> Sealed:
    """Give a record its place in the chain, with a fresh random salt for each text."""
    tree = _plain(record)
    texts: dict[str, tuple[str, str]] = {}
    for path, text in _text_fields(record):
        salt = secrets.token_hex(16)
        texts[path] = (salt, text)
        _put(tree, path, {"sha256": commitment(salt, text)})
    body = canonical_json(tree).decode("utf-8", "surrogatepass")
    return Sealed(
        record.answer_id,
        record.run_id,
        sequence,
        previous_hash,
        record_hash(previous_hash, sequence, body),
        body,
        texts,
    )


def _from_tree(row_type: type, tree: dict[str, Any]) -> Any:
    known = {one.name for one in dataclasses.fields(row_type)}
    return row_type(**{name: value for name, value in tree.items() if name in known})


def unseal(sealed: Sealed) -> AnswerRecord:
    """Return the record with its texts in place; an erased text reads `[erased]`."""
    tree = json.loads(sealed.committed_json)
    for path, (salt, text) in sealed.texts.items():
        _put(tree, path, text if salt else ERASED)
    children = {
        name: tuple(_from_tree(row_type, row) for row in tree.pop(name, [])) for name, row_type in CHILDREN.items()
    }
    tree["missing"] = tuple(tree["missing"])
    tree["rule_digests"] = tuple(tree["rule_digests"])
    tree["timings_ms"] = tuple((name, value) for name, value in tree["timings_ms"])
    return dataclasses.replace(_from_tree(AnswerRecord, tree), **children)


def canonical_projection(record: AnswerRecord) -> bytes:
    """Return the bytes that must be equal whenever question, principal, index, policy and rules are: all but identities
    and times."""
    tree = _plain(record)
    for name in _NOT_CANONICAL:
        tree.pop(name)
    return canonical_json(tree)
