"""The stages put together: one function for each asset, from received bytes to a published index.

Each reads what the stage before it left in the store, does nothing where its result stands already, and says what it
did. Dagster calls these from `defs/`, the command line through Dagster, tests directly.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finrag_pipelines.catalog.catalog import (
    Catalog,
    DocumentVersion,
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
from finrag_pipelines.indexing.publication import current_version, publish
from finrag_pipelines.ingestion.receive import representation_of
from finrag_pipelines.parsing.checks import blocking_problems
from finrag_pipelines.parsing.model import ParsedDocument, UnreadableError
from finrag_pipelines.parsing.parse import PARSER, Overrides
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.representation_store import read_representation
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
    version = _current(store, source_id)
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
    write_fragments(path, fragments)
    summary = FragmentSet(fragment_set_id(fragments), text_set_id(fragments), len(fragments))
    write_file(_summary_path(path), canonical_json(asdict(summary)))
    return fragments


def embed(store: Store, source_id: str, embedder: "Embedder", progress: Progress | None = None) -> Embedded:
    """Embed the fragments of the current version of a source; texts that were embedded before come from the cache."""
    path = fragments_path(store, _current(store, source_id))
    fragments = read_fragments(path)
    made = embed_fragments(store, embedder, fragments, source_id, progress).embedded
    return Embedded(_fragment_set(path).fragment_set_id, len(fragments), made, embedder.model_digest)


def fragments_path(store: Store, version: DocumentVersion) -> Path:
    """Return where the fragments of a parsed version lie, as the current chunker cuts them."""
    name = digest([version.representation_id, CHUNKER, version.version])[:32]
    return store.path("fragments", version.source_id, f"{name}.parquet")


def build_manifest(store: Store) -> tuple[Manifest, dict[str, str]]:
    """Say exactly which fragments are live, and of every source that is left out why.

    The manifest is kept under its hash, so that an index version can always say what it was built over.
    """
    with store.lock("publication", timeout=3600):
        # Read and written under one lock: the newest manifest is never older than one that was published.
        manifest, left_out = _collect(store)
        path = store.path("manifests", f"{manifest.sha256}.json")
        if not path.exists():
            write_file(path, canonical_json([asdict(entry) for entry in manifest.entries]))
        write_file(store.path("manifests", "CURRENT"), canonical_json({"manifest": manifest.sha256}))
    return manifest, left_out


def _collect(store: Store) -> tuple[Manifest, dict[str, str]]:
    catalog = read_catalog(store)
    entries, left_out = [], {}
    for source_id, source in sorted(catalog.sources.items()):
        version = source.current
        reason = _not_ready(store, version)
        if version is None or reason:
            left_out[source_id] = reason or "is received but not registered yet"
            continue
        path, identity = fragments_path(store, version), version.identity
        entries.append(
            ManifestEntry(
                source_id=source_id,
                version=version.version,
                content_sha256=version.content_sha256,
                representation_id=version.representation_id or "",
                fragment_set_id=_fragment_set(path).fragment_set_id,
                fragments_path=str(path.relative_to(store.root)),
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
            )
        )
    return Manifest(tuple(entries)), left_out


def current_manifest(store: Store) -> Manifest:
    """Read the newest manifest. Raises FileNotFoundError where none was built."""
    return read_manifest(store, json.loads(store.path("manifests", "CURRENT").read_bytes())["manifest"])


def read_manifest(store: Store, sha256: str) -> Manifest:
    """Read the manifest named `sha256`."""
    entries = json.loads(store.path("manifests", f"{sha256}.json").read_bytes())
    return Manifest(tuple(entry_from_json(entry) for entry in entries))


def publish_index(store: Store, embedder: "Embedder", progress: IndexProgress | None = None) -> Published:
    """Build the index version of the current manifest, check it and publish it. Raises IndexCheckError."""
    with store.lock("publication", timeout=3600):
        manifest = current_manifest(store)
        version = build_index(store, manifest, embedder, progress)
        crash_point("pipeline.before_publish")
        publish(store, version)
        crash_point("pipeline.before_publication_recorded")
        described = describe_index(store, version)
        record_publication(store, version, manifest.sha256, described.fragments, described.sources)
        crash_point("pipeline.before_mirror")
        mirror(store)
    return Published(version, manifest.sha256, described.sources, described.fragments)


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
    """Return the sources whose chain has work to do: new bytes, another parser, chunker or model, or a missing step."""
    stale = []
    for source_id, source in sorted(catalog.sources.items()):
        version = source.current
        if (
            version is None
            or version.content_sha256 != source.received[-1].content_sha256
            or version.parser != PARSER
            or _not_ready(store, version)
            or not _is_embedded(store, version, model_digest)
        ):
            stale.append(source_id)
    return stale


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
    if not _summary_path(fragments_path(store, version)).exists():
        return "is parsed but not cut into fragments yet"
    return None


def _summary_path(fragments: Path) -> Path:
    return fragments.with_suffix(".json")


def _fragment_set(fragments: Path) -> FragmentSet:
    return FragmentSet(**json.loads(_summary_path(fragments).read_bytes()))


def _current(store: Store, source_id: str) -> DocumentVersion:
    version = read_catalog(store).source(source_id).current
    if version is None:
        raise LookupError(f"{source_id} has no registered version yet; materialize document_versions first")
    return version


def _failed(
    store: Store, version: DocumentVersion, stage: str, code: str, message: str, check: str | None = None
) -> StageError:
    record_failure(store, version, stage, code, message)
    return StageError(version, stage, code, message, check)
