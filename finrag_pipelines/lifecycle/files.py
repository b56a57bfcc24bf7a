"""The files of erased documents, apart from index and evidence: bytes, fragments, their vectors, answers of EDGAR."""

import json
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from finrag_pipelines.embedding.vectors import FOLDER as EMBEDDINGS
from finrag_pipelines.ingestion.edgar.cache import FOLDER as EDGAR_CACHE
from finrag_pipelines.storage import Store, abandoned_files, crash_point

FRAGMENTS = "fragments"


@dataclass(frozen=True)
class Removed:
    """How many files went, and how many bytes they had."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(self.files + other.files, self.bytes + other.bytes)


def forget_files(store: Store, source_id: str, contents: Collection[str]) -> Removed:
    """Remove the bytes with these hashes, the fragments cut from them, and vectors that no other version of the source
    needs."""
    removed = Removed()
    for folder in (store.path("objects"), store.path(EDGAR_CACHE, "bodies")):
        for name in sorted(contents):
            removed += _remove(folder / name)
    for path in fragments_of(store, source_id, contents):
        removed += _remove(path) + _remove(path.with_suffix(".json"))
    crash_point("lifecycle.after_fragments")
    kept = _text_sets(store.path(FRAGMENTS, source_id))
    for path in sorted(store.path(EMBEDDINGS).glob("*/*/*.parquet")):
        if path.parent.name == source_id and path.stem not in kept:
            removed += _remove(path)
    for folder in (store.path(FRAGMENTS, source_id), *store.path(EMBEDDINGS).glob("*/*")):
        if folder.name == source_id and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return removed


def fragments_of(store: Store, source_id: str, contents: Collection[str]) -> list[Path]:
    """Return the fragment files of a source that were cut from bytes with these hashes, sorted."""
    return [path for path in sorted(store.path(FRAGMENTS, source_id).glob("*.parquet")) if _is_of(path, contents)]


def other_fragments(store: Store, contents: Collection[str]) -> Iterator[bytes]:
    """Yield what fragments say, as it is indexed, that were cut from any bytes but these; a file at a time."""
    for path in sorted(store.path(FRAGMENTS).glob("*/*.parquet")):
        try:
            found = pl.read_parquet(path, columns=["content_sha256", "context", "text"])
        except (OSError, pl.exceptions.PolarsError):
            continue  # damaged, or of an older release: it is cut again by the next ingestion
        found = found.filter(~pl.col("content_sha256").is_in(list(contents)))
        yield "\n".join(line for row in found.iter_rows() for line in row[1:]).encode("utf-8", "surrogatepass")


def _is_of(fragments: Path, contents: Collection[str]) -> bool:
    found = pl.read_parquet(fragments, columns=["content_sha256"])["content_sha256"]
    return found.is_empty() or found[0] in contents


def _text_sets(folder: Path) -> set[str]:
    return {json.loads(path.read_bytes())["text_set_id"] for path in sorted(folder.glob("*.json"))}


def forget_abandoned(store: Store) -> Removed:
    """Remove what processes that are gone left behind half written, anywhere in the store."""
    removed = Removed()
    for path in list(abandoned_files(store.root)):
        if path.is_dir():
            inside = [one for one in path.rglob("*") if one.is_file()]
            removed += Removed(len(inside), sum(one.stat().st_size for one in inside))
            shutil.rmtree(path)
        else:
            removed += _remove(path)
    return removed


def _remove(path: Path) -> Removed:
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return Removed()
    return Removed(1, size)
