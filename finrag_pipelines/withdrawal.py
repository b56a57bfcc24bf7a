"""Suspension, new labels and erasure, each with the index that follows from it: published at once, without comparison.

What the catalog says holds from its entry on, whatever index answers; the index is brought up so that nothing of a
withheld source is in it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import CatalogError, Erasure, read_catalog
from finrag_pipelines.indexing.publication import current_version, published_version
from finrag_pipelines.lifecycle.erase import ErasureReport, ForgetRuns, carry_out, declare, unfinished
from finrag_pipelines.lifecycle.retention import Rules, due
from finrag_pipelines.storage import Store

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder


def publish_at_once(store: Store, embedder: "Embedder") -> pipeline.Published | None:
    """Publish the index of what is ready now; None where that is published, or nothing ever was.

    It answers at once too, unless a published version waits for its promotion: what stopped that one stops this one.
    """
    if current_version(store) is None or pipeline.is_published(store, embedder.model_digest):
        return None
    waits = published_version(store) != current_version(store)
    pipeline.build_manifest(store)
    return pipeline.publish_index(store, embedder, promote=not waits)


def erase(
    store: Store, source_ids: Sequence[str], reason: str = "", forget_runs: ForgetRuns | None = None
) -> ErasureReport:
    """Erase sources, and whatever earlier erasures left undone. The caller holds the `ingest` lock.

    An erasure that is done already is looked through again. Raises CatalogError for an unknown source, before anything
    is erased.
    """
    catalog = read_catalog(store)
    for source_id in source_ids:
        catalog.source(source_id)
    # All tombstones first: nobody reads any of them from here on.
    declared = [declare(store, source_id, reason) for source_id in dict.fromkeys(source_ids)]
    return carry_out(store, _together(declared, unfinished(store)), forget_runs)


def finish_erasures(store: Store, forget_runs: ForgetRuns | None = None) -> ErasureReport | None:
    """Finish what killed erasures left undone; None where there is nothing. The caller holds the `ingest` lock."""
    left = unfinished(store)
    return carry_out(store, left, forget_runs) if left else None


def _together(first: Sequence[Erasure], more: Sequence[Erasure]) -> list[Erasure]:
    return list({one.number: one for one in (*first, *more)}.values())


def erasures_of(store: Store, source_ids: Sequence[str]) -> list[Erasure]:
    """Return the tombstones of these sources, or all. Raises CatalogError for a source that was not erased."""
    found = [one for one in read_catalog(store).erasures if not source_ids or one.source_id in source_ids]
    if missing := sorted(set(source_ids) - {one.source_id for one in found}):
        raise CatalogError(f"{missing[0]} was not erased; `finrag sources` says how each source stands")
    return found


def apply_rules(
    store: Store, rules: Rules, forget_runs: ForgetRuns | None = None, now: datetime | None = None
) -> ErasureReport | None:
    """Erase what the retention rules say is due `now`; None where nothing is. The caller holds the `ingest` lock.
    Raises RetentionError, before anything is erased."""
    found = due(store, rules, now or datetime.now(UTC))
    declared = [
        declare(
            store,
            one.source_id,
            f"retention: {one.why}",
            None if one.contents is None else frozenset(one.contents),
        )
        for one in found
    ]
    todo = _together(declared, unfinished(store))
    return carry_out(store, todo, forget_runs) if todo else None
