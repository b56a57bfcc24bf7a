"""The stages put together: one function for each asset, from received bytes to a published index.

Each reads what the stage before it left in the store, does nothing where its result stands already, and says what it
did. Dagster calls these from `defs/`, the command line through Dagster, tests directly.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from finrag_pipelines.catalog.catalog import (
    Catalog,
    DocumentVersion,
    Source,
    check_not_erased,
    read_catalog,
    record_failure,
    record_parsed,
    record_publication,
    register_version,
)
from finrag_pipelines.catalog.mirror import mirror_catalog
from finrag_pipelines.chunking.checks import first_gap
from finrag_pipelines.chunking.chunk import CHUNKER, chunk
from finrag_pipelines.chunking.files import read_fragments, write_fragments
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.embedding.vectors import embed_fragments, text_set_id, vectors_path
from finrag_pipelines.indexing.build import Progress as IndexProgress
from finrag_pipelines.indexing.build import build_index, describe_index, fragment_set_id, index_name
from finrag_pipelines.indexing.manifest import Manifest, ManifestEntry, entry_from_json
from finrag_pipelines.indexing.publication import current_version, promote, publish
from finrag_pipelines.ingestion.receive import representation_of
from finrag_pipelines.lifecycle.files import forget_files
from finrag_pipelines.parsing.checks import blocking_problems
from finrag_pipelines.parsing.model import ParsedDocument, UnreadableError
from finrag_pipelines.parsing.parse import PARSER, Overrides
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.representation_store import forget_representations, read_representation
from finrag_pipelines.storage import Store, canonical_json, crash_point, digest, write_file

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

Progress = Callable[[int], None]


class StageError(Exception):
    """A document version did not get past a stage; the reason is in the catalog as well.

    `check` names the asset check that stopped it, where one did.
    """

    def __init__(self, version: DocumentVersion, stage: str, code: str, message: str, check: str | None) -> None:
        super().__init__(f"{version.source_id} version {version.version}: {message}")
        self.stage = stage
        self.code = code
        self.check = check


@dataclass(frozen=True)
class FragmentSet:
    """What stands beside a file of fragments, so that nobody has to read it to know: the hash of the fragments, the
    hash of the texts that are embedded for them, and their number."""

    fragment_set_id: str
    text_set_id: str
    fragments: int


@dataclass(frozen=True)
class Stale:
    """Why the chain of a source has work to do: a stable code and a sentence.

    Codes: new_source, new_bytes, failed, other_parser, not_parsed, not_cut, other_model, not_embedded.
    """

    code: str
    detail: str


@dataclass(frozen=True)
class Embedded:
    """The vectors of a source: how many fragments they belong to, how many were made now and not cached."""

    fragment_set_id: str
    fragments: int
    made: int
    model_digest: str


@dataclass(frozen=True)
class Published:
    """A published index version and what it holds."""

    index_version: str
    manifest_sha256: str
    sources: int
    fragments: int


def register(store: Store, source_id: str) -> DocumentVersion:
    """Make the newest received bytes of a source its current version, unless they are that already."""
    source = read_catalog(store).source(source_id)
    expected = source.current.version if source.current else 0
    return register_version(store, source_id, source.received[-1].content_sha256, expected)


def represent(store: Store, source_id: str) -> tuple[DocumentVersion, str, ParsedDocument]:
    """Parse the current version of a source, or find its representation by this parser again; raises StageError."""
    version = _current(store, source_id)
    content = store.get_object(version.content_sha256)
    with _unless_erased(store, version):
        try:
            overrides = Overrides.from_record(version.overrides)
            representation_id, document = representation_of(store, content, version.file_name, overrides)
        except UnreadableError as error:
            raise _failed(store, version, "parsing", error.code, str(error)) from error
        if problems := blocking_problems(document):
            first = problems[0]
            raise _failed(store, version, "parsing", first.code, first.message, first.check)
        record_parsed(store, version, representation_id, PARSER)
    return version, representation_id, document


def fragment(store: Store, source_id: str) -> tuple[Fragment, ...]:
    """Cut the current representation of a source into fragments and keep them; raises StageError."""
    return cut(store, _current(store, source_id))


def cut(store: Store, version: DocumentVersion) -> tuple[Fragment, ...]:
    """Cut the representation of a version, current or not, as `fragment` does; raises StageError."""
    source_id = version.source_id
    if version.representation_id is None:
        raise _failed(store, version, "chunking", "not_parsed", "has no representation yet; materialize it first")
    path = fragments_path(store, version)
    if _summary_path(path).exists():
        return read_fragments(path)
    document = read_representation(store, version.representation_id)
    try:
        fragments = chunk(
            document, source_id, version.version, version.content_sha256, version.representation_id, Deadline()
        )
    except UnreadableError as error:
        raise _failed(store, version, "chunking", error.code, str(error)) from error
    if not fragments:
        raise _failed(store, version, "chunking", "no_fragments", "holds no text that could be indexed")
    if gap := first_gap(document, fragments):
        message = f"characters [{gap[0]}, {gap[1]}) are in no fragment"
        raise _failed(store, version, "chunking", "not_in_fragments", message, "text_is_in_fragments")
    with _unless_erased(store, version):
        write_fragments(path, fragments)
        summary = FragmentSet(fragment_set_id(fragments), text_set_id(fragments), len(fragments))
        write_file(_summary_path(path), canonical_json(asdict(summary)))
    return fragments


def embed(store: Store, source_id: str, embedder: "Embedder", progress: Progress | None = None) -> Embedded:
    """Embed the fragments of the current version of a source; texts that were embedded before come from the cache."""
    version = _current(store, source_id)
    path = fragments_path(store, version)
    fragments = read_fragments(path)
    with _unless_erased(store, version):
        made = embed_fragments(store, embedder, fragments, source_id, progress).embedded
    return Embedded(_fragment_set(path).fragment_set_id, len(fragments), made, embedder.model_digest)


def fragments_path(store: Store, version: DocumentVersion) -> Path:
    """Return where the fragments of a parsed version lie, as the current chunker cuts them."""
    return store.root / _fragments_place(version)


def _fragments_place(version: DocumentVersion) -> str:
    return f"fragments/{version.source_id}/{_fragments_name(version.representation_id, version.version)}"


@lru_cache(maxsize=100_000)
def _fragments_name(representation_id: str | None, version: int) -> str:
    return f"{digest([representation_id, CHUNKER, version])[:32]}.parquet"


def build_manifest(store: Store) -> tuple[Manifest, dict[str, str]]:
    """Say exactly which fragments are live, and of every source that is left out why.

    The manifest is kept under its hash, so that an index version can always say what it was built over.
    """
    with store.lock("publication", timeout=3600):
        # Read and written under one lock: the newest manifest is never older than one that was published.
        manifest, left_out = _collect(store)
        keep_manifest(store, manifest)
        write_file(store.path("manifests", "CURRENT"), canonical_json({"manifest": manifest.sha256}))
    return manifest, left_out


def keep_manifest(store: Store, manifest: Manifest) -> None:
    """Keep a manifest under its hash."""
    path = store.path("manifests", f"{manifest.sha256}.json")
    if not path.exists():
        write_file(path, canonical_json([entry.record for entry in manifest.entries]))


def ready_manifest(store: Store) -> tuple[Manifest, dict[str, str]]:
    """Return the manifest that would be built now, and of every source that it leaves out why. Writes nothing."""
    return _collect(store)


def _collect(store: Store) -> tuple[Manifest, dict[str, str]]:
    catalog = read_catalog(store)
    entries, left_out = [], {}
    for source_id, source in sorted(catalog.sources.items()):
        version = source.current
        reason = source.withheld or _not_ready(store, version)
        if version is None or reason:
            left_out[source_id] = reason or "is received but not registered yet"
            continue
        entries.append(manifest_entry(store, source, version))
    return Manifest(tuple(entries)), left_out


def manifest_entry(store: Store, source: Source, version: DocumentVersion) -> ManifestEntry:
    """Return how a version of a source stands in a manifest; it has to be cut into fragments."""
    place, identity = _fragments_place(version), version.identity
    return ManifestEntry(
        source_id=source.source_id,
        version=version.version,
        content_sha256=version.content_sha256,
        representation_id=version.representation_id or "",
        fragment_set_id=_read_fragment_set(_summary_name(store, place)).fragment_set_id,
        fragments_path=place,
        labels=source.labels,
        company=identity.company,
        company_name=identity.company_name,
        form=identity.form,
        period=identity.period,
        period_end=identity.period_end,
        filed=identity.filed,
        title=identity.title,
        subjects=identity.subjects,
        event_dates=identity.event_dates,
        amendment=identity.amendment.effect if identity.amendment else None,
    )


def current_manifest(store: Store) -> Manifest:
    """Read the newest manifest. Raises FileNotFoundError where none was built."""
    return read_manifest(store, json.loads(store.path("manifests", "CURRENT").read_bytes())["manifest"])


def read_manifest(store: Store, sha256: str) -> Manifest:
    """Read the manifest named `sha256`."""
    return _read_manifest(str(store.path("manifests", f"{sha256}.json")))


@lru_cache(maxsize=4)
def _read_manifest(path: str) -> Manifest:
    """A manifest is named by its hash, so that the same one is read once."""
    return Manifest(tuple(entry_from_json(entry) for entry in json.loads(Path(path).read_bytes())))


def publish_index(
    store: Store, embedder: "Embedder", progress: IndexProgress | None = None, promote: bool = True
) -> Published:
    """Build the index version of the current manifest, check it and publish it. Raises IndexCheckError.

    With `promote`, or where no version answers yet, it answers at once; else it waits for `promote_index`.
    """
    with store.lock("publication", timeout=3600):
        manifest = current_manifest(store)
        version = build_index(store, manifest, embedder, progress)
        crash_point("pipeline.before_publish")
        publish(store, version, promote or current_version(store) is None)
        crash_point("pipeline.before_publication_recorded")
        described = describe_index(store, version)
        record_publication(store, version, manifest.sha256, described.fragments, described.sources)
        crash_point("pipeline.before_mirror")
        mirror(store)
    return Published(version, manifest.sha256, described.sources, described.fragments)


def promote_index(store: Store, version: str) -> None:
    """Make an index version the one that answers. Raises StoreError where it was never built."""
    with store.lock("publication", timeout=3600):
        promote(store, version)
        crash_point("pipeline.before_promotion_mirrored")
        mirror(store)


def is_published(store: Store, model_digest: str) -> bool:
    """Tell whether the newest index holds just what is ready now, by this model: there is nothing to publish."""
    publications = read_catalog(store).publications
    if not publications or current_version(store) is None:
        return False
    newest, manifest = publications[-1], _collect(store)[0]
    wanted = index_name(manifest, model_digest)
    return (newest.index_version, newest.manifest_hash) == (wanted, manifest.sha256)


def mirror(store: Store) -> None:
    """Bring the catalog tables in DuckDB up to date."""
    mirror_catalog(store, published_versions(store))


def published_versions(store: Store) -> frozenset[tuple[str, int]]:
    """Return the (source id, version) pairs that the index which answers holds."""
    version = current_version(store)
    if version is None:
        return frozenset()
    manifest = read_manifest(store, describe_index(store, version).manifest_sha256)
    return frozenset((entry.source_id, entry.version) for entry in manifest.entries)


def stale_sources(store: Store, catalog: Catalog, model_digest: str) -> list[str]:
    """Return the sources whose chain has work to do, sorted; `stale_reasons` says which work."""
    return sorted(stale_reasons(store, catalog, model_digest))


def stale_reasons(store: Store, catalog: Catalog, model_digest: str) -> dict[str, Stale]:
    """Return, for each source whose chain has work to do, the first step that has to be made again and why.

    What is suspended or erased has none.
    """
    live = (source for _, source in sorted(catalog.sources.items()) if not source.withheld)
    found = {source.source_id: _staleness(store, source, model_digest) for source in live}
    return {source_id: stale for source_id, stale in found.items() if stale}


def _staleness(store: Store, source: Source, model_digest: str) -> Stale | None:
    version, newest = source.current, source.received[-1]
    if version is None:
        return Stale("new_source", f"received {newest.at[:16]}, and no version is registered yet")
    if version.content_sha256 != newest.content_sha256:
        return Stale("new_bytes", f"other bytes were received {newest.at[:16]}; version {version.version} stands")
    if version.parser is not None and version.parser != PARSER:
        return Stale("other_parser", f"was parsed by {version.parser}, and {PARSER} is installed")
    if reason := _not_ready(store, version):
        if version.failure:
            return Stale("failed", reason)
        code = "not_parsed" if version.representation_id is None else "not_cut"
        return Stale(code, f"{reason}, or by another chunker than {CHUNKER}" if code == "not_cut" else reason)
    if not _is_embedded(store, version, model_digest):
        text_set = _fragment_set(fragments_path(store, version)).text_set_id
        others = vectors_path(store, "*", version.source_id, text_set).relative_to(store.root)
        if any(store.root.glob(str(others))):
            return Stale("other_model", f"is embedded by another model than the configured {model_digest[:12]}…")
        return Stale("not_embedded", "is cut into fragments but not embedded yet")
    return None


def _is_embedded(store: Store, version: DocumentVersion, model_digest: str) -> bool:
    known = _fragment_set(fragments_path(store, version))
    return vectors_path(store, model_digest, version.source_id, known.text_set_id).exists()


def _not_ready(store: Store, version: DocumentVersion | None) -> str | None:
    if version is None:
        return "is received but not registered yet"
    if version.failure:
        stage, code, message = version.failure
        return f"{stage}: {code}: {message}"
    if version.representation_id is None:
        return "is registered but not parsed yet"
    if not os.path.exists(_summary_name(store, _fragments_place(version))):  # noqa: PTH110  asked for every source
        return "is parsed but not cut into fragments yet"
    return None


def _summary_name(store: Store, place: str) -> str:
    return f"{store.root}/{place.removesuffix('.parquet')}.json"


def _summary_path(fragments: Path) -> Path:
    return fragments.with_suffix(".json")


def _fragment_set(fragments: Path) -> FragmentSet:
    return _read_fragment_set(str(_summary_path(fragments)))


@lru_cache(maxsize=100_000)
def _read_fragment_set(path: str) -> FragmentSet:
    """A summary is named by what was cut and how, so that it is read once a process, not once a publication."""
    return FragmentSet(**json.loads(Path(path).read_bytes()))


def _current(store: Store, source_id: str) -> DocumentVersion:
    version = read_catalog(store).source(source_id).current
    if version is None:
        raise LookupError(f"{source_id} has no registered version yet; materialize document_versions first")
    check_not_erased(read_catalog(store), version.content_sha256)
    return version


@contextmanager
def _unless_erased(store: Store, version: DocumentVersion) -> Iterator[None]:
    """Remove again what is written in the block of a document that was erased meanwhile, and raise ErasedError."""
    try:
        yield
    finally:
        catalog = read_catalog(store)
        if version.content_sha256 in catalog.erased_contents:
            forget_files(store, version.source_id, {version.content_sha256})
            forget_representations(store, {version.content_sha256})
            check_not_erased(catalog, version.content_sha256)


def _failed(
    store: Store, version: DocumentVersion, stage: str, code: str, message: str, check: str | None = None
) -> StageError:
    record_failure(store, version, stage, code, message)
    return StageError(version, stage, code, message, check)
