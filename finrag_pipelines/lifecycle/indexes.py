"""Erased documents taken out of every index version: shards built anew without them, old names linked to the new ones.

In an order that may be broken off anywhere: what still names the document is found by what is left, and goes last.
"""

import json
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from finrag_pipelines.indexing.analyzer import ANALYZER
from finrag_pipelines.indexing.build import IndexDescription, describe_index
from finrag_pipelines.indexing.manifest import Manifest, ManifestEntry, ShardKey, entry_from_json
from finrag_pipelines.indexing.publication import current_version, follow_replacements, replace_version
from finrag_pipelines.indexing.shard import SCHEMA, Shard, build_shard, shard_hash
from finrag_pipelines.indexing.vectors import keep_sets
from finrag_pipelines.storage import Store, canonical_json, crash_point, digest, write_file

BECAUSE = "erasure"


@dataclass(frozen=True)
class _Rebuilt:
    """What a shard was built anew as (None: nothing is left of it), and how much it lost."""

    name: str | None
    fragments: int
    sources: int


class StaleIndexError(Exception):
    """An index version of another analyzer cannot be built anew without a document; the message says what to do."""


@dataclass(frozen=True)
class Replaced:
    """An index version whose place another one took."""

    index_version: str
    by: str


def forget_in_indexes(store: Store, contents: Collection[str]) -> tuple[Replaced, ...]:
    """Take the documents with these content hashes out of vectors, shards, manifests and index versions.

    Returns the versions that were replaced. The caller holds the `publication` lock. Raises StaleIndexError.
    """
    with store.lock("index", timeout=3600):
        shards = _shards_with(store, contents)
        manifests = _manifests_with(store, contents)
        rebuilt = {shard.name: _rebuilt(store, shard, contents) for shard in shards}
        crash_point("lifecycle.after_shards")
        renamed = _rename_manifests(store, manifests, contents)
        replaced = _replace_versions(store, rebuilt, renamed)
        follow_replacements(store)
        crash_point("lifecycle.before_old_versions_removed")
        for one in replaced:
            store.path("index", one.index_version, "index.json").unlink(missing_ok=True)
        # Only now, when no version that answers needs them.
        with store.lock("vectors", timeout=3600):
            keep_sets(store, _needed_sets(store, contents))
        crash_point("lifecycle.after_vectors")
        for shard in shards:
            # Without its summary a shard counts as not built, and whoever was killed on the way left such a folder.
            (shard.folder / "shard.json").unlink()
            crash_point("lifecycle.between_shards_removed")
        for folder in sorted(store.path("lexical").glob("[0-9a-f]*")):
            if not (folder / "shard.json").exists():
                shutil.rmtree(folder)
        for old in renamed:
            store.path("manifests", f"{old}.json").unlink(missing_ok=True)
    return replaced


def _shards_with(store: Store, contents: Collection[str]) -> list[Shard]:
    shards = [Shard(path.parent, path.parent.name) for path in sorted(store.path("lexical").glob("*/shard.json"))]
    return [shard for shard in shards if any(entry.content_sha256 in contents for entry in shard.entries)]


def _manifests_with(store: Store, contents: Collection[str]) -> dict[str, tuple[ManifestEntry, ...]]:
    found = {}
    for path in sorted(store.path("manifests").glob("*.json")):
        entries = tuple(entry_from_json(one) for one in json.loads(path.read_bytes()))
        if any(entry.content_sha256 in contents for entry in entries):
            found[path.stem] = entries
    return found


def _needed_sets(store: Store, contents: Collection[str]) -> set[int]:
    """Return the fragment sets that shards and manifests name, less those of some documents: any others are left over,
    and nobody can say whose they were."""
    shards = (Shard(path.parent, path.parent.name) for path in store.path("lexical").glob("*/shard.json"))
    entries = [entry for shard in shards for entry in shard.entries]
    for path in store.path("manifests").glob("*.json"):
        entries += [entry_from_json(one) for one in json.loads(path.read_bytes())]
    return {entry.set_code for entry in entries if entry.content_sha256 not in contents}


def _rebuilt(store: Store, shard: Shard, contents: Collection[str]) -> _Rebuilt:
    """Build a shard anew from its own fragments, less those of some documents."""
    places = frozenset(place for place, entry in enumerate(shard.entries) if entry.content_sha256 not in contents)
    if not places:
        return _Rebuilt(None, shard.count, len(shard.entries))
    kept, rows = [shard.entries[place] for place in sorted(places)], shard.rows_of(places)
    name = shard_hash(kept)
    folder = store.path("lexical", name)
    if not (folder / "shard.json").exists():
        build_shard(folder, shard.key, kept, [shard.fragment(int(row)) for row in rows])
        crash_point("lifecycle.between_shards_built")
    return _Rebuilt(name, shard.count - len(rows), len(shard.entries) - len(kept))


def _rename_manifests(
    store: Store, manifests: dict[str, tuple[ManifestEntry, ...]], contents: Collection[str]
) -> dict[str, str]:
    """Write each manifest anew, less some documents, and move the pointer to the newest; return old names and new."""
    renamed = {}
    for old, entries in manifests.items():
        left = Manifest(tuple(entry for entry in entries if entry.content_sha256 not in contents))
        path = store.path("manifests", f"{left.sha256}.json")
        if not path.exists():
            write_file(path, canonical_json([entry.record for entry in left.entries]))
        renamed[old] = left.sha256
    pointer = store.path("manifests", "CURRENT")
    if pointer.exists() and (newest := json.loads(pointer.read_bytes())["manifest"]) in renamed:
        write_file(pointer, canonical_json({"manifest": renamed[newest]}))
    return renamed


def _replace_versions(store: Store, rebuilt: dict[str, _Rebuilt], renamed: dict[str, str]) -> tuple[Replaced, ...]:
    """Describe, for each version with one of these shards or manifests, the one that takes its place, and link them."""
    described = [describe_index(store, path.parent.name) for path in sorted(store.path("index").glob("*/index.json"))]
    affected = [
        one for one in described if any(name in rebuilt for _, name in one.shards) or one.manifest_sha256 in renamed
    ]
    foreign = [one for one in affected if (one.analyzer, one.schema) != (ANALYZER, SCHEMA)]
    replaced = []
    for one in affected:
        if one not in foreign:
            replaced.append(Replaced(one.index_version, _described(store, one, rebuilt, renamed)))
    for one in foreign:
        replaced.append(Replaced(one.index_version, _stand_in(store, foreign)))
    for one in replaced:
        if one.by != one.index_version:
            replace_version(store, one.index_version, one.by, BECAUSE)
            crash_point("lifecycle.between_versions_replaced")
    return tuple(one for one in replaced if one.by != one.index_version)


def _stand_in(store: Store, foreign: Sequence[IndexDescription]) -> str:
    current = current_version(store)
    if current is None or current in {one.index_version for one in foreign}:
        raise StaleIndexError(
            "the index that answers was built by another release; run `finrag ingest`, which builds it again and "
            "finishes the erasure"
        )
    return current


def _described(
    store: Store,
    old: IndexDescription,
    rebuilt: dict[str, _Rebuilt],
    renamed: dict[str, str],
) -> str:
    """Write the description of a version without what was erased, and return its name."""
    kept: list[tuple[ShardKey, str]] = []
    lost = [rebuilt[name] for _, name in old.shards if name in rebuilt]
    for key, name in old.shards:
        left = rebuilt[name].name if name in rebuilt else name
        if left is not None:
            kept.append((key, left))
    keys = [[key.company, list(key.labels), name] for key, name in sorted(kept)]
    version = digest([keys, old.model_digest, old.analyzer, old.schema])
    path = store.path("index", version, "index.json")
    if not path.exists():
        description = {
            "index_version": version,
            "shards": keys,
            "model_digest": old.model_digest,
            "analyzer": old.analyzer,
            "schema": old.schema,
            "fragments": old.fragments - sum(one.fragments for one in lost),
            "sources": old.sources - sum(one.sources for one in lost),
            "manifest_sha256": renamed.get(old.manifest_sha256, old.manifest_sha256),
        }
        write_file(path, json.dumps(description, sort_keys=True, ensure_ascii=False).encode())
    return version
