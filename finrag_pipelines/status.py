"""What `finrag status` says: what is published, what is stale and why, what EDGAR brought, and what to run next.

Everything is read from the store; nothing is changed and no model is loaded.
"""

from collections import Counter
from dataclasses import dataclass, replace

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import Catalog, read_catalog
from finrag_pipelines.embedding.opening import open_embedder
from finrag_pipelines.evaluation.results import current_evaluations
from finrag_pipelines.indexing.build import describe_index
from finrag_pipelines.indexing.publication import current_version, published_version
from finrag_pipelines.ingestion.edgar.poll_record import Polls, read_polls
from finrag_pipelines.ingestion.watch_list import watch_list_path
from finrag_pipelines.storage import Store


@dataclass(frozen=True)
class StaleSource:
    """A source whose chain has work to do: code and sentence as in `pipeline.Stale`."""

    source_id: str
    code: str
    detail: str


@dataclass(frozen=True)
class PublishedIndex:
    """An index version with the counts and the time (UTC) of its publication; None where no record tells."""

    index_version: str
    sources: int
    fragments: int
    published_at: str | None


@dataclass(frozen=True)
class Ahead:
    """A difference between what is ready now and what the newest published index holds."""

    source_id: str
    difference: str


@dataclass(frozen=True)
class EvaluationState:
    """One configuration on one set: when it was evaluated (UTC), on which index, and whether that is the newest."""

    set_name: str
    configuration: str
    index_version: str
    evaluated_at: str
    is_behind: bool


@dataclass(frozen=True)
class Status:
    """The state of a store. `answers` is the index that answers use, `newest` the newest one published.

    `counts` has the number of sources by state: published, ready, stale, failed, withheld. `to_publish` lists what
    publishing would change; `index_is_stale` is True too where only the engine or the model differ.
    `unfinished_erasures` are sources. `next` are commands, each with the reason for it.
    """

    answers: PublishedIndex | None
    newest: PublishedIndex | None
    counts: dict[str, int]
    stale: tuple[StaleSource, ...]
    rejected: int
    to_publish: tuple[Ahead, ...]
    index_is_stale: bool
    edgar: Polls
    is_watching: bool
    evaluations: tuple[EvaluationState, ...]
    unfinished_erasures: tuple[str, ...]
    next: tuple[tuple[str, str], ...]


def status(store: Store) -> Status:
    """Return the state of `store`."""
    catalog = read_catalog(store)
    model_digest = open_embedder().model_digest
    newest = published_version(store)
    stale = tuple(
        StaleSource(source_id, found.code, found.detail)
        for source_id, found in pipeline.stale_reasons(store, catalog, model_digest).items()
    )
    ahead = _ahead(store, newest)
    index_is_stale = bool(catalog.sources) and not pipeline.is_published(store, model_digest)
    evaluations = tuple(
        EvaluationState(
            one.header.set_name,
            one.header.configuration,
            one.header.index_version,
            one.header.evaluated_at,
            one.header.index_version != newest,
        )
        for one in current_evaluations(store)
    )
    found = Status(
        answers=_index(store, catalog, current_version(store)),
        newest=_index(store, catalog, newest),
        counts=_counts(store, catalog, stale),
        stale=stale,
        rejected=len(catalog.rejections),
        to_publish=ahead,
        index_is_stale=index_is_stale,
        edgar=read_polls(store),
        is_watching=watch_list_path().exists(),
        evaluations=evaluations,
        unfinished_erasures=tuple(sorted({one.source_id for one in catalog.erasures if not one.is_done})),
        next=(),
    )
    return replace(found, next=tuple(_next_steps(found)))


def _index(store: Store, catalog: Catalog, version: str | None) -> PublishedIndex | None:
    if version is None:
        return None
    described = describe_index(store, version)
    times = [publication.at for publication in catalog.publications if publication.index_version == version]
    return PublishedIndex(version, described.sources, described.fragments, times[-1] if times else None)


def _counts(store: Store, catalog: Catalog, stale: tuple[StaleSource, ...]) -> dict[str, int]:
    published = pipeline.published_versions(store)
    why = {one.source_id: one.code for one in stale}

    def state(source_id: str) -> str:
        source = catalog.sources[source_id]
        if source.withheld:
            return "withheld"
        if source_id in why:
            return "failed" if why[source_id] == "failed" else "stale"
        return "published" if source.current and (source_id, source.current.version) in published else "ready"

    counted = Counter(map(state, catalog.sources))
    return {name: counted[name] for name in ("published", "ready", "stale", "failed", "withheld")}


def _ahead(store: Store, newest: str | None) -> tuple[Ahead, ...]:
    ready = {entry.source_id: entry for entry in pipeline.ready_manifest(store)[0].entries}
    held = {}
    if newest is not None:
        manifest = pipeline.read_manifest(store, describe_index(store, newest).manifest_sha256)
        held = {entry.source_id: entry for entry in manifest.entries}
    found = []
    for source_id in sorted(ready.keys() | held.keys()):
        now, then = ready.get(source_id), held.get(source_id)
        if now == then:
            continue
        if then is None:
            difference = "is ready and not in the index"
        elif now is None:
            difference = "is in the index and no longer ready"
        elif now.version != then.version:
            difference = f"version {now.version} is ready, the index holds version {then.version}"
        else:
            difference = "is in the index with other fragments, labels or identity"
        found.append(Ahead(source_id, difference))
    return tuple(found)


def _next_steps(found: Status) -> list[tuple[str, str]]:
    steps: list[tuple[str, str]] = []
    if not sum(found.counts.values()):
        steps.append(("finrag ingest PATH…", "nothing is in the store yet"))
    for source_id in found.unfinished_erasures:
        steps.append((f"finrag erase {source_id} --yes", "its erasure is not finished; it says where words are left"))
    work = [one for one in found.stale if one.code != "failed"]
    if work:
        steps.append(("finrag ingest", f"{len(work)} source(s) have work to do; it also publishes"))
    elif found.index_is_stale:
        steps.append(("finrag ingest", "the index is behind what is ready; it publishes"))
    if any(one.code == "failed" for one in found.stale):
        steps.append(("finrag sources", "shows why sources failed; `finrag ingest` tries them again"))
    if found.rejected:
        steps.append(("finrag sources", f"shows why {found.rejected} input(s) were rejected"))
    if found.edgar.newest is not None and found.edgar.newest.unanswered:
        steps.append(("finrag edgar sync", "EDGAR left questions of the last poll unanswered"))
    elif found.edgar.newest is None and found.is_watching:
        steps.append(("finrag edgar sync", "EDGAR was never asked about the watched companies"))
    if any(one.is_behind for one in found.evaluations):
        steps.append(("finrag eval run", "the newest index was not evaluated"))
    if found.newest and found.answers and found.newest.index_version != found.answers.index_version:
        steps.append(("finrag eval promote", "the newest index is published and does not answer yet"))
    return steps
