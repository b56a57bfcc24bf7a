"""Clearing away what no retained index version needs: descriptions, shards, manifests, vectors, and vectors' old files.

In an order that may be broken off anywhere: a version first loses its description, by which it is found, and only then
what it is made of. What is retained is the caller's choice; the versions that the pointers name always are.
"""

import json
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from finrag_pipelines.indexing.build import IndexDescription, describe_index
from finrag_pipelines.indexing.manifest import ManifestEntry, entry_from_json
from finrag_pipelines.indexing.publication import current_version, published_version, standing_for
from finrag_pipelines.indexing.shard import Shard
from finrag_pipelines.indexing.vectors import compact_vectors
from finrag_pipelines.storage import Store, crash_point


@dataclass(frozen=True)
class Cleared:
    """What went: index versions, shards, manifests, rows of vectors, and the bytes that all of it took."""

    versions: tuple[str, ...]
    shards: int
    manifests: int
    rows: int
    bytes: int


def compact(store: Store, keep: Collection[str], grace: timedelta = timedelta(hours=1)) -> Cleared:
    """Remove what none of the index versions `keep`, nor the published and the current one, needs; return what went.

    Files of vectors that a reader may still hold open stay for `grace`. The caller holds the `publication` lock. Safe
    to repeat.
    """
    before = _size(store)
    with store.lock("index", timeout=3600):
        kept = [describe_index(store, name) for name in sorted(_retained(store, keep))]
        gone = _forget_versions(store, {one.index_version for one in kept})
        crash_point("compaction.after_versions")
        shards = _forget_shards(store, {name for one in kept for _, name in one.shards})
        crash_point("compaction.after_shards")
        manifests = _forget_manifests(store, {one.manifest_sha256 for one in kept})
        crash_point("compaction.after_manifests")
        with store.lock("vectors", timeout=3600):
            rows = compact_vectors(store, _sets_by_model(store, kept), grace)
    return Cleared(gone, shards, manifests, rows, max(0, before - _size(store)))


def _retained(store: Store, keep: Collection[str]) -> set[str]:
    pointers = {published_version(store), current_version(store)}
    named = {standing_for(store, name) for name in {*keep, *filter(None, pointers)}}
    return {name for name in named if store.path("index", name, "index.json").exists()}


def _forget_versions(store: Store, kept: Collection[str]) -> tuple[str, ...]:
    """Remove the descriptions of all other versions. A version that another one stands in for keeps its folder."""
    gone = []
    for path in sorted(store.path("index").glob("*/index.json")):
        if path.parent.name not in kept:
            path.unlink()
            gone.append(path.parent.name)
            crash_point("compaction.between_versions")
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return tuple(gone)


def _forget_shards(store: Store, kept: Collection[str]) -> int:
    count = 0
    for folder in sorted(store.path("lexical").glob("[0-9a-f]*")):
        if folder.name not in kept:
            # Without its summary a shard counts as not built, so that half of one is never taken for one.
            (folder / "shard.json").unlink(missing_ok=True)
            crash_point("compaction.between_shards")
            shutil.rmtree(folder)
            count += 1
    return count


def _forget_manifests(store: Store, kept: Collection[str]) -> int:
    newest = _current_manifest(store)
    gone = [path for path in _manifests(store) if path.stem not in kept and path != newest]
    for path in gone:
        path.unlink()
        crash_point("compaction.between_manifests")
    return len(gone)


def _manifests(store: Store) -> list[Path]:
    return sorted(store.path("manifests").glob("*.json"))


def _current_manifest(store: Store) -> Path | None:
    try:
        name = json.loads(store.path("manifests", "CURRENT").read_bytes())["manifest"]
    except (FileNotFoundError, ValueError, KeyError):
        return None
    return store.path("manifests", f"{name}.json")


def _sets_by_model(store: Store, kept: list[IndexDescription]) -> dict[str, frozenset[int]]:
    """Return the fragment sets that are needed, by the digest of the model: those of the kept versions, and for every
    model of them those of the newest manifest, which may be about to be built."""
    path = _current_manifest(store)
    newest = _entries(path) if path and path.exists() else []
    found: dict[str, set[int]] = {}
    for one in kept:
        held = found.setdefault(one.model_digest, {entry.set_code for entry in newest})
        for _, name in one.shards:
            held.update(entry.set_code for entry in Shard(store.path("lexical", name), name).entries)
    return {model: frozenset(sets) for model, sets in found.items()}


def _entries(manifest: Path) -> list[ManifestEntry]:
    return [entry_from_json(entry) for entry in json.loads(manifest.read_bytes())]


def _size(store: Store) -> int:
    folders = ("index", "lexical", "manifests", "vectors.lance")
    return sum(p.stat().st_size for name in folders for p in store.path(name).rglob("*") if p.is_file())
