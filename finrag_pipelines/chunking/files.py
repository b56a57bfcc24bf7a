"""Fragments as Parquet: equal fragments give equal bytes."""

import io
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import polars as pl

from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.storage import StoreError, write_file

_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "version": pl.Int64,
    "start": pl.Int64,
    "end": pl.Int64,
    "page_index": pl.Int64,
    "tokens": pl.Int64,
    "is_pointer": pl.Boolean,
    "periods": pl.List(pl.String),
}
SCHEMA = pl.Schema({field.name: _TYPES.get(field.name, pl.String) for field in fields(Fragment)})
"""The columns of a fragments file, one for each field of Fragment."""


def fragments_frame(fragments: Sequence[Fragment]) -> pl.DataFrame:
    """Return fragments as a table, one row each in the given order."""
    columns = {
        name: [list(value) if name == "periods" else value for value in (getattr(f, name) for f in fragments)]
        for name in SCHEMA
    }
    return pl.DataFrame(columns, schema=SCHEMA)


def write_fragments(path: Path, fragments: Sequence[Fragment]) -> None:
    """Replace the file at `path` by these fragments, atomically."""
    buffer = io.BytesIO()
    fragments_frame(fragments).write_parquet(buffer, compression="zstd", compression_level=3)
    write_file(path, buffer.getvalue())


def read_fragments(path: Path) -> tuple[Fragment, ...]:
    """Return the fragments of the file at `path` in their order. Raises StoreError when it is absent or of other
    columns."""
    try:
        frame = pl.read_parquet(path.read_bytes())
    except (FileNotFoundError, pl.exceptions.PolarsError) as error:
        raise StoreError(f"fragments {path}: {error}; chunk the source again to restore the file") from error
    if frame.schema != SCHEMA:
        raise StoreError(f"fragments {path}: written with other columns; chunk the source again")
    return tuple(Fragment(**{**row, "periods": tuple(row["periods"])}) for row in frame.iter_rows(named=True))
