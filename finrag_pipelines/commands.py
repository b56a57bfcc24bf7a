"""What the commands do apart from printing: records come out, ready for people and machines alike."""

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from filelock import Timeout

from finrag_pipelines.catalog.access import Principal
from finrag_pipelines.catalog.amendments import AmendmentLink, amendment_links
from finrag_pipelines.catalog.catalog import Catalog, DocumentVersion, define_principal, read_catalog
from finrag_pipelines.catalog.mirror import standing
from finrag_pipelines.ingestion.folder import SidecarError, find_documents, read_principals
from finrag_pipelines.ingestion.receive import Receipt, receive_file
from finrag_pipelines.parsing.model import ParsedDocument
from finrag_pipelines.parsing.parse import Overrides
from finrag_pipelines.storage import Store, StoreError


class Progress(Protocol):
    """Something that shows how far long work has come."""

    def track(self, description: str, total: int) -> AbstractContextManager[Callable[[str], None]]:
        """Show a bar of `total` steps; the yielded function advances it by one and names what is next."""
        ...


@dataclass(frozen=True)
class Skipped:
    """An input that did not get into the index, with a stable code and what to do."""

    path: str
    code: str
    message: str


@dataclass(frozen=True)
class IngestReport:
    """What an ingestion did. Times in seconds, memory in MB (the largest of this process).

    `index_version` is the one that answers. `promotion` says, in sentences, what came of the newest published one where
    it was compared; `stopped` that it was published and does not answer.
    """

    found: int
    new_sources: tuple[str, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    index_version: str | None
    index_changed: bool
    seconds: float
    peak_memory_mb: int
    error: str | None = None
    promotion: tuple[str, ...] = ()
    stopped: str | None = None
    unfinished_erasures: tuple[str, ...] = ()


def ingest(
    store: Store,
    paths: Sequence[Path],
    progress: Progress,
    overrides: Overrides | None = None,
    labels: tuple[str, ...] | None = None,
) -> IngestReport:
    """Receive every document under `paths`, send what is new through its chain, and publish an index of all that is
    ready. What cannot be used is reported and does not stop the rest."""
    started = time.monotonic()
    skipped: list[Skipped] = []
    for folder in (path for path in paths if path.is_dir()):
        try:
            for name, groups in read_principals(folder).items():
                define_principal(store, name, groups)
        except SidecarError as error:
            skipped.append(Skipped(str(folder), "bad_principals", str(error)))
    receipts = _receive(store, list(find_documents(paths)), progress, overrides, labels)
    return bring_in(store, receipts, skipped, progress, started)


def bring_in(
    store: Store, receipts: Sequence[Receipt], skipped: Sequence[Skipped], progress: Progress, started: float
) -> IngestReport:
    """Send every source with work to do through its chain, publish an index of all that is ready, and report on
    `receipts`, with the inputs that were `skipped` before; `started` is when the command did, by time.monotonic."""
    left_out = [*skipped, *(Skipped(r.path, r.code or "", r.message or "") for r in receipts if r.source_id is None)]
    failed: dict[str, str] = {}
    error = None
    with alone(store, progress):
        unfinished = _finish_erasures(store)
        before = _current_index(store)
        stale = _stale(store)
        if stale:
            failed = _materialize(store, stale, progress)
        built = bool(read_catalog(store).sources) and not _is_published(store)
        if built:
            error = _publish(store, progress)
        promotion, stopped, failure = _promotion(store, progress, built and error is None)
        error = error or failure
        index_version = _current_index(store)
    catalog = read_catalog(store)
    paths_of = {r.source_id: r.path for r in receipts}
    for source_id, message in sorted(failed.items()):
        version = catalog.source(source_id).current
        code = version.failure[1] if version and version.failure else "run_failed"
        left_out.append(Skipped(paths_of.get(source_id, source_id), code, message))
    known = {r.source_id for r in receipts if r.source_id}
    return IngestReport(
        found=len(receipts),
        new_sources=tuple(sorted(s for s in set(stale) - set(failed) if s in known)),
        unchanged=len(known - set(stale)),
        skipped=tuple(left_out),
        warnings=tuple(f"{r.path}: {warning}" for r in receipts for warning in r.warnings),
        index_version=index_version,
        index_changed=index_version != before,
        seconds=round(time.monotonic() - started, 2),
        peak_memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 if sys.platform == "darwin" else 1024),
        error=error,
        promotion=promotion,
        stopped=stopped,
        unfinished_erasures=unfinished,
    )


def _receive(
    store: Store,
    documents: list[Path],
    progress: Progress,
    overrides: Overrides | None,
    labels: tuple[str, ...] | None,
) -> list[Receipt]:
    receipts = []
    with progress.track("reading", len(documents)) as advance:
        for path in documents:
            receipts.append(receive_file(store, path, overrides, labels))
            advance(path.name)
    return receipts


def _stale(store: Store) -> list[str]:
    from finrag_pipelines.embedding.opening import open_embedder
    from finrag_pipelines.pipeline import stale_sources

    return stale_sources(store, read_catalog(store), open_embedder().model_digest)


def _is_published(store: Store) -> bool:
    from finrag_pipelines.embedding.opening import open_embedder
    from finrag_pipelines.pipeline import is_published

    return is_published(store, open_embedder().model_digest)


def _finish_erasures(store: Store) -> tuple[str, ...]:
    """Finish what an erasure that was killed left undone; return sentences about what cannot be finished."""
    from finrag_pipelines.defs.forgetting import forget_runs
    from finrag_pipelines.lifecycle.erase import said_of, unfinished
    from finrag_pipelines.withdrawal import finish_erasures

    finish_erasures(store, forget_runs)
    return tuple(said_of(one) for one in unfinished(store))


@contextmanager
def alone(store: Store, progress: Progress) -> Iterator[None]:
    """Hold the lock of ingestion: a second one on the same store waits, and finds done what the first one did."""
    with ExitStack() as held:
        try:
            held.enter_context(store.lock("ingest", timeout=0))
        except Timeout:
            with progress.track("waiting for another ingest", 1):
                held.enter_context(store.lock("ingest", timeout=3600))
        yield


def _materialize(store: Store, stale: list[str], progress: Progress) -> dict[str, str]:
    from finrag_pipelines.defs.local import LocalRunner, RunOutcome

    failed: dict[str, str] = {}
    with progress.track("parsing and embedding", len(stale)) as advance:

        def done(source_id: str, outcome: RunOutcome) -> None:
            if outcome.error:
                failed[source_id] = outcome.error
            advance(source_id)

        LocalRunner.of(store).ingest(stale, done)
    return failed


def _publish(store: Store, progress: Progress) -> str | None:
    from finrag_pipelines.defs.local import LocalRunner

    with progress.track("building the index", 1) as advance:
        error = LocalRunner.of(store).build_index().error
        advance("")
    return f"the index was not published: {error}" if error else None


def _promotion(store: Store, progress: Progress, is_new: bool) -> tuple[tuple[str, ...], str | None, str | None]:
    """Have the published index compared and promoted where that is still to be done. Returns sentences about it, the
    version that was stopped, if any, and the message of a run that failed otherwise."""
    from finrag_pipelines.defs.local import LocalRunner
    from finrag_pipelines.evaluation.promotion import awaits_promotion, read_verdict
    from finrag_pipelines.indexing.publication import published_version

    failure = None
    is_new = is_new or awaits_promotion(store)
    if is_new:
        with progress.track("comparing the index with the one that answers", 1) as advance:
            failure = LocalRunner.of(store).promote().error
            advance("")
    published = published_version(store)
    verdict = read_verdict(store, published) if published else None
    if failure and (verdict is None or verdict.passed):
        return (), None, f"the index was published, and does not answer yet: {failure}"
    if published is None or verdict is None:
        return (), None, None
    said = (verdict.reason, *map(str, verdict.falls), *verdict.notes)
    if published == _current_index(store):
        return said if is_new and verdict.previous not in (None, published) else (), None, None
    if not verdict.passed:
        return said, published, None
    back = f"index {published[:12]} is newer; it was gone back from, and `finrag eval promote` lets it answer again"
    return (back,), None, None


def _current_index(store: Store) -> str | None:
    from finrag_pipelines.indexing.publication import current_version

    return current_version(store)


@dataclass(frozen=True)
class SourceRow:
    """A source as `finrag sources` lists it.

    Of an amendment, `amends` is the source that it amends, where that is known, and `amendment` a sentence about both.
    """

    source_id: str
    company: str | None
    form: str | None
    period: str | None
    filed: str | None
    version: int | None
    availability: str
    labels: tuple[str, ...]
    content_sha256: str
    file_name: str
    reason: str | None
    warnings: tuple[str, ...]
    amends: str | None = None
    amendment: str | None = None


@dataclass(frozen=True)
class SourceListing:
    """All sources, all rejected inputs, and the index that answers."""

    sources: tuple[SourceRow, ...]
    rejected: tuple[Skipped, ...]
    index_version: str | None


def list_sources(store: Store) -> SourceListing:
    """List what the catalog knows, sorted by source id; rejected inputs by path."""
    catalog = read_catalog(store)
    published = _published(store)
    return SourceListing(
        tuple(_source_rows(catalog, published)),
        tuple(Skipped(r.origin, r.code, r.message) for _, r in sorted(catalog.rejections.items())),
        _current_index(store),
    )


def _published(store: Store) -> frozenset[tuple[str, int]]:
    from finrag_pipelines.pipeline import published_versions

    return published_versions(store)


def _source_rows(catalog: Catalog, published: frozenset[tuple[str, int]]) -> Iterator[SourceRow]:
    links = amendments_of(catalog)
    for source_id, source in sorted(catalog.sources.items()):
        identity, current, newest = source.identity, source.current, source.received[-1]
        is_published = current is not None and (source_id, current.version) in published
        state, reason = standing(source, is_published)
        yield SourceRow(
            source_id,
            identity.company,
            identity.form,
            identity.period,
            identity.filed,
            current.version if current else None,
            state,
            source.labels,
            newest.content_sha256,
            newest.file_name,
            reason,
            identity.warnings,
            links[source_id].amends if source_id in links else None,
            links[source_id].sentence(identity.amendment) if source_id in links else None,
        )


def amendments_of(catalog: Catalog) -> dict[str, AmendmentLink]:
    """Return what each amendment of a catalog amends, by source id."""
    return amendment_links({source_id: source.identity for source_id, source in catalog.sources.items()})


@dataclass(frozen=True)
class Passage:
    """A range of the canonical text of a document version."""

    source_id: str
    version: int
    representation_id: str
    start: int
    end: int
    page_index: int | None
    page_label: str | None
    text: str


def read_passage(
    store: Store,
    source_id: str,
    principal: Principal,
    version: int | None = None,
    page: int | None = None,
    span: tuple[int, int] | None = None,
) -> Passage:
    """Return the text of a source: a page by its index, a range of characters, or all of it.

    A source that the principal may not read is answered as if it were not there.
    """
    number, representation_id, document = _readable(store, source_id, principal, version)
    label = None
    if page is not None:
        if page >= len(document.pages):
            raise StoreError(f"{source_id} has {len(document.pages)} pages, counted from 0; there is no page {page}")
        found = document.pages[page]
        span, label = (found.start, found.end), found.label
    start, end = span or (0, len(document.text))
    if start >= len(document.text):
        raise StoreError(f"{source_id} has {len(document.text)} characters; a range cannot start at {start}")
    end = min(end, len(document.text))
    return Passage(source_id, number, representation_id, start, end, page, label, document.text[start:end])


def query(store: Store, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run SQL on a snapshot of the catalog and evidence tables and return columns and rows. Raises duckdb.Error.

    What a writer that was killed left for the next one to copy into the tables is copied first.
    """
    import duckdb

    from finrag_pipelines.catalog.mirror import mirrored_sequence
    from finrag_pipelines.evidence.write import sync_database
    from finrag_pipelines.pipeline import mirror
    from finrag_pipelines.storage.database import snapshot

    sync_database(store)
    if mirrored_sequence(store) < read_catalog(store).sequence:
        mirror(store)
    with snapshot(store) as connection:
        if not connection.extract_statements(sql):
            raise duckdb.ParserException("there is no statement in it; write one, such as SELECT 1")
        result = connection.execute(sql)
        columns = [column[0] for column in result.description or []]
        return columns, result.fetchall()


def _readable(
    store: Store, source_id: str, principal: Principal, version: int | None
) -> tuple[int, str, ParsedDocument]:
    """Return number, representation id and parsed document of a version that the principal may read."""
    from finrag_pipelines.parsing.representation_store import read_representation

    catalog = read_catalog(store)
    source = catalog.sources.get(source_id)
    if source is None or not catalog.may_read(principal, source_id):
        raise StoreError(f"no source is called {source_id!r}; `finrag sources` lists them")
    number = version or (source.current.version if source.current else 0)
    if not 1 <= number <= len(source.versions):
        raise StoreError(f"{source_id} has {len(source.versions)} version(s); there is no version {number}")
    if source.versions[number - 1].is_erased:
        raise StoreError(f"{source_id} version {number} was erased; its newest version is {len(source.versions)}")
    representation_id = source.versions[number - 1].representation_id
    if representation_id is None:
        raise StoreError(f"{source_id} version {number} has not been parsed; run `finrag ingest` again")
    return number, representation_id, read_representation(store, representation_id)


def versions_to_compare(
    store: Store, source_id: str, principal: Principal, before: int, after: int
) -> tuple[DocumentVersion, DocumentVersion]:
    """Return two versions of a source that the principal may read."""
    for version in (before, after):
        _readable(store, source_id, principal, version)
    versions = read_catalog(store).source(source_id).versions
    return versions[before - 1], versions[after - 1]


@dataclass(frozen=True)
class Inspection:
    """What parsing made of a document version: identity, sections, tables, speakers, doubts; one page's elements."""

    source_id: str
    version: int
    representation_id: str
    parser: str
    kind: str
    characters: int
    identity: dict[str, Any]
    pages: tuple[dict[str, Any], ...]
    sections: tuple[dict[str, Any], ...]
    rejected_headings: tuple[dict[str, Any], ...]
    tables: tuple[dict[str, Any], ...]
    speakers: tuple[dict[str, Any], ...]
    flags: tuple[str, ...]
    elements: tuple[dict[str, Any], ...] = ()
    amends: str | None = None
    amendment: str | None = None


def inspect(
    store: Store, source_id: str, principal: Principal, version: int | None, page: int | None, image: Path | None
) -> Inspection:
    """Say what parsing made of a source; `page` adds that page's elements, `image` a picture of it (PDF only)."""
    from finrag_pipelines.parsing.model import Kind

    number, representation_id, document = _readable(store, source_id, principal, version)
    if page is not None and page >= len(document.pages):
        raise StoreError(f"{source_id} has {len(document.pages)} pages, counted from 0; there is no page {page}")
    if image is not None:
        if document.kind is not Kind.PDF:
            raise StoreError(f"{source_id} is {document.kind.value}, and only pages of a PDF can be drawn")
        from finrag_pipelines.parsing.page_image import draw_page

        content = store.get_object(read_catalog(store).source(source_id).versions[number - 1].content_sha256)
        image.write_bytes(draw_page(content, document, page or 0))

    # As the principal may see it: an original that is hidden is not in the store.
    link = amendments_of(read_catalog(store).seen_by(principal)).get(source_id)

    def page_of(offset: int) -> int | None:
        return next((p.index for p in reversed(document.pages) if p.start <= offset), None)

    return Inspection(
        source_id=source_id,
        version=number,
        representation_id=representation_id,
        parser=document.parser,
        kind=document.kind.value,
        characters=len(document.text),
        identity=asdict(document.identity),
        pages=tuple(asdict(found) for found in document.pages),
        sections=tuple(
            {**asdict(s), "page_index": page_of(s.start), "characters": s.end - s.start} for s in document.sections
        ),
        rejected_headings=tuple(asdict(h) for h in document.headings if not h.accepted),
        tables=tuple(
            {
                "start": table.start,
                "end": table.end,
                "page_index": page_of(table.start),
                "caption": table.caption,
                "units": table.units,
                "rows": len(table.rows),
                "columns": max((cell.column for row in table.rows for cell in row.cells), default=-1) + 1,
            }
            for table in document.tables
        ),
        speakers=_speakers(document),
        flags=document.flags,
        amends=link.amends if link else None,
        amendment=link.sentence(document.identity.amendment) if link else None,
        elements=tuple(
            {**asdict(element), "text": document.text[element.start : element.end]}
            for element in document.elements
            if page is not None and document.pages[page].start <= element.start < document.pages[page].end
        ),
    )


def _speakers(document: ParsedDocument) -> tuple[dict[str, Any], ...]:
    turns: dict[tuple[str, str, str | None, str | None], int] = {}
    for turn in document.turns:
        key = (turn.speaker, turn.role, turn.title, turn.firm)
        turns[key] = turns.get(key, 0) + 1
    return tuple(
        {"speaker": speaker, "role": role, "title": title, "firm": firm, "turns": count}
        for (speaker, role, title, firm), count in turns.items()
    )
