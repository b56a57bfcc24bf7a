"""The search of every byte under the store, compressed columns and engines' own files included, for given words.

What compression hides is read through: Parquet columns, the documents and term sequences of the lexical index, columns
of the vector index, tables of DuckDB and of Dagster's SQLite files, arrays of text.
"""

import io
import json
import sqlite3
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipelines.indexing.shard import Shard, term_hash
from finrag_pipelines.indexing.vectors import FOLDER as VECTORS
from finrag_pipelines.lifecycle.passages import Passages
from finrag_pipelines.storage import Store, sha256_bytes
from finrag_pipelines.storage.database import DATABASE, database

Part = tuple[str, bytes]
"""Where in a file (`bytes`, a column, a table), and what stands there."""


@dataclass(frozen=True, order=True)
class Hit:
    """A file that holds searched-for words, or is, byte for byte, an erased document: path in the store, where in it,
    and how many of the passages."""

    path: str
    place: str
    passages: int


@dataclass(frozen=True)
class Searched:
    """What a search went through and what it found. `unopened` are files that were searched as bytes alone, or, where
    they could not be read at all, not searched; each with the reason. `untold` are texts of which no passage could be
    searched for: they have no words, or documents that stay say all of it."""

    files: int
    bytes: int
    passages: int
    hits: tuple[Hit, ...]
    unopened: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()


def search(
    store: Store, passages: Passages, contents: Collection[str] = (), leave_out: Collection[Path] = ()
) -> Searched:
    """Search all files under the store for passages, and for files that hash to one of `contents`.

    Folders and files of `leave_out` are not looked at. The caller keeps writers away, or may miss what they write.
    """
    hits: dict[tuple[str, str], int] = {}
    unopened: list[str] = []
    files = size = 0
    for path in _files(store, leave_out):
        name = str(path.relative_to(store.root))
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            continue  # somebody took it away meanwhile, as Dagster does with the logs of its files
        except OSError as error:
            unopened.append(f"{name}: {error.strerror}")
            continue
        files += 1
        size += len(raw)
        if sha256_bytes(raw) in contents:
            hits[name, "the document itself"] = 1
        for place, content in _parts(store, path, raw, unopened):
            if found := passages.found_in(content):
                hits[name, place] = max(len(found), hits.get((name, place), 0))
    for folder in sorted(path.parent for path in store.path("lexical").glob("*/shard.json")):
        if folder not in leave_out:
            count = _in_terms(Shard(folder, folder.name), passages)
            if count:
                hits[str(folder.relative_to(store.root)), "term sequences"] = count
    listed = tuple(sorted(Hit(name, place, count) for (name, place), count in hits.items()))
    return Searched(files, size, len(passages), listed, tuple(unopened))


def _files(store: Store, leave_out: Collection[Path]) -> Iterator[Path]:
    for path in sorted(store.root.rglob("*")):
        inside = path.is_file() and not path.is_symlink() and path.relative_to(store.root).parts[0] != "locks"
        if inside and not any(path == one or one in path.parents for one in leave_out):
            yield path


def _parts(store: Store, path: Path, raw: bytes, unopened: list[str]) -> Iterator[Part]:
    """Yield the bytes of a file, and what they hide."""
    yield "bytes", raw
    relative = path.relative_to(store.root).parts
    try:
        if path.suffix == ".parquet":
            yield from _parquet(raw)
        elif path.suffix == ".npy":
            yield from _array(raw)
        elif path.name == DATABASE:
            yield from _tables(store)
        elif path.suffix == ".db":
            yield from _sqlite(path)
        elif relative[0] == "lexical" and path.name == "shard.json":
            yield from _documents(Shard(path.parent, path.parent.name))
        elif relative[0] == VECTORS and path.suffix == ".manifest":
            yield from _vectors(store, relative[1].removesuffix(".lance"), path)
    except Exception as error:  # a damaged file may fail in any way of its engine
        unopened.append(f"{'/'.join(relative)}: {type(error).__name__}")


def _joined(values: Iterator[Any] | list[Any]) -> bytes:
    return b"\n".join(
        value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        for value in values
        if value is not None
    )


def _parquet(raw: bytes) -> Iterator[Part]:
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(raw))
    for name in table.column_names:
        if "float" not in str(table[name].type):
            yield f"column {name}", _joined(table[name].to_pylist())


def _array(raw: bytes) -> Iterator[Part]:
    array = np.load(io.BytesIO(raw))
    if array.dtype.kind == "U":
        yield "array", _joined(sorted(set(array.tolist())))


def _tables(store: Store) -> Iterator[Part]:
    with database(store) as connection:
        names = connection.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
        for schema, table in sorted(names):
            rows = connection.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall()
            yield f"table {schema}.{table}", _joined(value for row in rows for value in row)


def _sqlite(path: Path) -> Iterator[Part]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in sorted(names):
            rows = connection.execute(f'SELECT * FROM "{table}"').fetchall()
            yield f"table {table}", _joined(_unpacked(value) for row in rows for value in row)
    except sqlite3.Error:
        return  # no database of SQLite after all: its bytes were searched
    finally:
        connection.close()


def _unpacked(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return zlib.decompress(value)
        except zlib.error:
            return value
    return value


def _documents(shard: Shard) -> Iterator[Part]:
    for row in range(shard.count):
        yield (
            "document store",
            json.dumps(vars(shard.fragment(row)), default=str, ensure_ascii=False).encode("utf-8", "surrogatepass"),
        )


def _vectors(store: Store, table: str, manifest: Path) -> Iterator[Part]:
    """Yield the columns of text of the version of a vector table that a manifest file stands for."""
    import lancedb

    opened = lancedb.connect(str(store.path(VECTORS))).open_table(table)
    known = {one["version"] for one in opened.list_versions()}
    # Newest first in the order of names, as the engine writes them.
    version = 2**64 - 1 - int(manifest.stem)
    if version not in known:
        return
    opened.checkout(version)
    columns = [field.name for field in opened.schema if "string" in str(field.type)]
    rows = opened.search().select(columns).limit(max(1, opened.count_rows())).to_arrow()
    for name in columns:
        yield f"column {name}", _joined(rows[name].to_pylist())


def _in_terms(shard: Shard, passages: Passages) -> int:
    """Return how many passages stand in the term sequences of a shard: hashes of the terms of one fragment after
    another."""
    wanted = sorted(passages.sequences)
    if not wanted or not shard.count:
        return 0
    hashes = {word: term_hash(word) for sequence in wanted for word in sequence}
    known = set(shard.vocabulary[np.isin(shard.vocabulary, np.array(list(hashes.values()), dtype=np.uint64))].tolist())
    bounds = np.load(shard.folder / "term_bounds.npy")
    count = 0
    for sequence in wanted:
        if not all(hashes[word] in known for word in sequence):
            continue
        codes = [int(np.searchsorted(shard.vocabulary, np.uint64(hashes[word]))) for word in sequence]
        first = np.flatnonzero(shard.terms == codes[0])
        first = first[first + len(codes) <= len(shard.terms)]
        for step, code in enumerate(codes[1:], 1):
            first = first[shard.terms[first + step] == code]
        within = np.searchsorted(bounds, first, "right") == np.searchsorted(bounds, first + len(codes) - 1, "right")
        count += bool(within.any())
    return count
