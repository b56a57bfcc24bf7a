"""The records behind an answer: written whole, chained by hash, mirrored in DuckDB, read back and verified."""

from finrag_pipelines.evidence.model import Difference
from finrag_pipelines.evidence.records import (
    AnswerRecord,
    CandidateRow,
    CitationRow,
    ClaimRow,
    DeliveryRow,
    Derivation,
    DisclosureRow,
    GateRow,
    PlanPair,
    Refusal,
    canonical_projection,
)
from finrag_pipelines.evidence.verify import verify
from finrag_pipelines.evidence.write import (
    EvidenceError,
    read_answer,
    read_records,
    sync_database,
    write_answers,
    write_disclosure,
)

__all__ = [
    "AnswerRecord",
    "CandidateRow",
    "CitationRow",
    "ClaimRow",
    "DeliveryRow",
    "Derivation",
    "Difference",
    "DisclosureRow",
    "EvidenceError",
    "GateRow",
    "PlanPair",
    "Refusal",
    "canonical_projection",
    "read_answer",
    "read_records",
    "sync_database",
    "verify",
    "write_answers",
    "write_disclosure",
]
