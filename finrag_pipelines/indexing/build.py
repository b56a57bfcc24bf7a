"""Fragments to an index version: built aside, checked, and only then written under its own name.

An index version is named by what it holds, so building costs what changed, and an unchanged manifest costs nothing.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finrag_pipelines.chunking.files import read_fragments
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.indexing.analyzer import ANALYZER
from finrag_pipelines.indexing.manifest import Manifest, ManifestEntry, ShardKey
from finrag_pipelines.indexing.shard import SCHEMA, Shard, build_shard, shard_hash
from finrag_pipelines.indexing.vectors import VectorTable
from finrag_pipelines.storage import Store, StoreError, crash_point, digest, write_file

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

_ROWS_PER_APPEND = 4_000

Progress = Callable[[str, int, int], None]
"""Called with a stage (`shards`, `vectors`), the number of sources done, and the number in all."""


class IndexCheckError(Exception):
    """Manifest, lexical index and vector index do not hold the same fragments; nothing was published."""


@dataclass(frozen=True)
class IndexDescription:
    """What an index version holds: its shards by key, the embedding model, analyzer and schema, and counts."""

    index_version: str
    shards: tuple[tuple[ShardKey, str], ...]
    model_digest: str
    analyzer: str
    schema: str
    fragments: int
    sources: int
    manifest_sha256: str


def fragment_set_id(fragments: Sequence[Fragment]) -> str:
    """Return the content hash of a source's fragments: where each one is and what it is indexed by."""
    return digest([[f.fragment_id, f.context, f.text, list(f.periods), f.section, f.role] for f in fragments])


def _fragments_of(store: Store, entry: ManifestEntry) -> tuple[Fragment, ...]:
    fragments = read_fragments(store.path(entry.fragments_path))
    if fragment_set_id(fragments) != entry.fragment_set_id:
        raise StoreError(
            f"{entry.fragments_path} no longer holds the fragments {entry.fragment_set_id[:12]}… of {entry.source_id}; "
            "chunk the source again"
        )
    return fragments


def index_name(manifest: Manifest, model_digest: str) -> str:
    """Return the name of the index version of `manifest` under a model, whether it is built or not."""
    return _named(_shard_keys(manifest), model_digest)


def _shard_keys(manifest: Manifest) -> list[list]:
    return [[key.company, list(key.labels), shard_hash(entries)] for key, entries in manifest.shards().items()]


def _named(keys: list[list], model_digest: str) -> str:
    return digest([keys, model_digest, ANALYZER, SCHEMA])


def build_index(store: Store, manifest: Manifest, embedder: "Embedder", progress: Progress | None = None) -> str:
    """Build and check the index version of `manifest`, write its description, and return its name.

    Nothing is published by it. Raises IndexCheckError when the engines hold other fragments than the manifest, and
    StoreError when fragments are missing or altered.
    """
    keys = _shard_keys(manifest)
    shards = {
        key: (name, entries) for (key, entries), (_, _, name) in zip(manifest.shards().items(), keys, strict=True)
    }
    version = _named(keys, embedder.model_digest)
    description_path = store.path("index", version, "index.json")
    if description_path.exists():
        return version
    with store.lock("index", timeout=3600):
        table = VectorTable(store, embedder.model_digest)
        _build_vectors(store, manifest, embedder, table, progress)
        crash_point("indexing.after_vectors")
        done = total = 0
        for key, (name, entries) in shards.items():
            folder = store.path("lexical", name)
            fragments = None
            if not (folder / "shard.json").exists():
                fragments = {entry: _fragments_of(store, entry) for entry in entries}
                build_shard(folder, key, entries, [f for found in fragments.values() for f in found])
            shard = Shard(folder, name)
            _check_counts(shard, table)
            if fragments is not None:
                _check_ids(shard, fragments, table)
            total += shard.count
            done += len(entries)
            if progress:
                progress("shards", done, len(manifest.entries))
        crash_point("indexing.before_description")
        description = {
            "index_version": version,
            "shards": keys,
            "model_digest": embedder.model_digest,
            "analyzer": ANALYZER,
            "schema": SCHEMA,
            "fragments": total,
            "sources": len(manifest.entries),
            "manifest_sha256": manifest.sha256,
        }
        write_file(description_path, json.dumps(description, sort_keys=True, ensure_ascii=False).encode())
    return version


def _build_vectors(
    store: Store, manifest: Manifest, embedder: "Embedder", table: VectorTable, progress: Progress | None
) -> None:
    from finrag_pipelines.embedding import embed_fragments

    def pending() -> Iterator[ManifestEntry]:
        for position, entry in enumerate(manifest.entries, 1):
            if entry.set_code not in present:
                yield entry
            if progress:
                progress("vectors", position, len(manifest.entries))

    with store.lock("vectors", timeout=3600):
        present = table.sets()
        batches, rows = [], 0
        for entry in pending():
            fragments = _fragments_of(store, entry)
            batches.append(
                (entry.set_code, fragments, embed_fragments(store, embedder, fragments, entry.source_id).matrix)
            )
            rows += len(fragments)
            if rows >= _ROWS_PER_APPEND:
                table.append(batches)
                batches, rows = [], 0
        if batches:
            table.append(batches)


def _check_counts(shard: Shard, table: VectorTable) -> None:
    """Compare the number of fragments of each source in the shard and in the vector index: cheap, so done for all."""
    held = table.sets()
    if shard.count == sum(held.get(entry.set_code, 0) for entry in shard.entries):
        return  # whole sets are appended and removed: where the sum is right, each number is
    for place, entry in enumerate(shard.entries):
        expected = int((shard.source == place).sum())
        if held.get(entry.set_code, 0) != expected:
            raise IndexCheckError(
                f"{entry.source_id}: the lexical index has {expected} fragments and the vector index "
                f"{held.get(entry.set_code, 0)}; remove vectors.lance and build again"
            )


def _check_ids(shard: Shard, fragments: Mapping[ManifestEntry, Sequence[Fragment]], table: VectorTable) -> None:
    """Compare the fragment ids of a new shard in manifest, Tantivy and LanceDB."""
    vectors = table.ids([entry.set_code for entry in fragments])
    expected: set[str] = set()
    for entry, found in fragments.items():
        ids = {fragment.fragment_id for fragment in found}
        expected |= ids
        if difference := ids ^ vectors[entry.set_code]:
            raise IndexCheckError(
                f"{entry.source_id}: manifest and vector index differ in {len(difference)} fragments; "
                "remove vectors.lance and build again"
            )
    if difference := shard.indexed_ids() ^ expected:
        raise IndexCheckError(
            f"shard {shard.name[:12]}… of {shard.key.company or 'no company'}: manifest and lexical index differ in "
            f"{len(difference)} fragments; remove {shard.folder} and build again"
        )


def describe_index(store: Store, version: str) -> IndexDescription:
    """Read the description of an index version. Raises StoreError for a version that was never built here."""
    path = store.path("index", version, "index.json")
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreError(
            f"no index version {version!r} in {store.root}; `finrag sources` shows what is there"
        ) from None
    return IndexDescription(
        index_version=value["index_version"],
        shards=tuple((ShardKey(company, tuple(labels)), name) for company, labels, name in value["shards"]),
        model_digest=value["model_digest"],
        analyzer=value["analyzer"],
        schema=value["schema"],
        fragments=value["fragments"],
        sources=value["sources"],
        manifest_sha256=value["manifest_sha256"],
    )
