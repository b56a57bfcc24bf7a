"""The JSON that `finrag search` prints: a documented shape, to which fields are added and from which none is taken."""

from dataclasses import asdict
from typing import Any

from finrag_pipelines.retrieval.model import Candidate, SearchResponse

_PROVENANCE = (
    "source_id",
    "version",
    "company",
    "form",
    "period",
    "section",
    "speaker",
    "role",
    "page_index",
    "page_label",
    "start",
    "end",
    "fragment_id",
    "representation_id",
    "representation_type",
    "content_sha256",
)
_PLACES = ("lexical_rank", "lexical_score", "vector_rank", "vector_score", "rerank_score")


def response_json(response: SearchResponse) -> dict[str, Any]:
    """Return `results`, best first, and `trace`, as plain values."""
    return {"results": [_result(found) for found in response.results], "trace": asdict(response.trace)}


def _result(found: Candidate) -> dict[str, Any]:
    fragment = found.fragment
    return {
        "rank": found.rank,
        "score": found.score,
        "contributing": list(found.contributing),
        **{name: getattr(fragment, name) for name in _PROVENANCE},
        "periods": list(fragment.periods),
        **{name: getattr(found, name) for name in _PLACES},
        "prior": found.prior,
        "priors": list(found.priors),
        "duplicates": found.duplicates,
        "text": fragment.text,
    }
