"""Representations on disk: canonical text, elements and table cells as Parquet, everything else as canonical JSON.

A representation is named by the hash of what it was made from and of what it says, so it proves itself when read.
"""

import io
import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from finrag_pipelines.catalog.identity import identity_from_record
from finrag_pipelines.parsing.model import (
    Cell,
    Element,
    ElementKind,
    Heading,
    Kind,
    Page,
    ParsedDocument,
    Row,
    Section,
    Table,
    Turn,
)
from finrag_pipelines.storage import Store, StoreError, canonical_json, digest, sha256_bytes, write_file

FOLDER = "representations"
_FILES = ("text.txt", "elements.parquet", "cells.parquet", "structure.json")

_ELEMENTS = {
    "kind": pl.String,
    "start": pl.Int64,
    "end": pl.Int64,
    "page_index": pl.Int64,
    "section": pl.Int64,
    "turn": pl.Int64,
    "table": pl.Int64,
    "periods": pl.List(pl.String),
}
# One row per cell; a table row without cells is one row whose `column` is null.
_CELLS = {
    "table": pl.Int64,
    "row": pl.Int64,
    "row_label": pl.String,
    "row_start": pl.Int64,
    "row_end": pl.Int64,
    "row_path": pl.List(pl.String),
    "row_is_header": pl.Boolean,
    "start": pl.Int64,
    "end": pl.Int64,
    "column": pl.Int64,
    "header": pl.String,
    "value": pl.String,
    "unit": pl.String,
    "scale": pl.Int64,
    "period": pl.String,
    "period_end": pl.String,
    "duration": pl.String,
    "concept": pl.String,
}
_CELL_FIELDS = tuple(_CELLS)[7:]


@dataclass(frozen=True)
class RepresentationRecord:
    """What a representation was made from, and the hash of each of its files."""

    content_sha256: str
    parser: str
    kind: str
    files: dict[str, str]

    @property
    def representation_id(self) -> str:
        """The name of the representation: the hash of this record."""
        return digest(asdict(self))


def _parquet(rows: Iterable[tuple[Any, ...]], schema: dict[str, Any]) -> bytes:
    frame = pl.DataFrame(list(rows), schema=schema, orient="row")
    stream = io.BytesIO()
    frame.write_parquet(stream, compression="zstd", statistics=False)
    return stream.getvalue()


def _cell_rows(tables: tuple[Table, ...]) -> Iterable[tuple[Any, ...]]:
    for table_index, table in enumerate(tables):
        for row_index, row in enumerate(table.rows):
            lead = (table_index, row_index, row.label, row.start, row.end, list(row.path), row.is_header)
            for cell in row.cells:
                yield (*lead, *(getattr(cell, name) for name in _CELL_FIELDS))
            if not row.cells:
                yield (*lead, *(None for _ in _CELL_FIELDS))


def write_representation(store: Store, content_sha256: str, document: ParsedDocument) -> str:
    """Keep `document` as a representation of the bytes `content_sha256` and return its id; equal ones are kept once."""
    structure = {
        "identity": asdict(document.identity),
        "pages": [asdict(page) for page in document.pages],
        "sections": [asdict(section) for section in document.sections],
        "headings": [asdict(heading) for heading in document.headings],
        "turns": [asdict(turn) for turn in document.turns],
        "tables": [{"start": t.start, "end": t.end, "caption": t.caption, "units": t.units} for t in document.tables],
        "flags": list(document.flags),
    }
    elements = (
        (*(getattr(element, name) for name in tuple(_ELEMENTS)[:-1]), list(element.periods))
        for element in document.elements
    )
    contents = {
        "text.txt": document.text.encode("utf-8", "surrogatepass"),
        "elements.parquet": _parquet(elements, _ELEMENTS),
        "cells.parquet": _parquet(_cell_rows(document.tables), _CELLS),
        "structure.json": canonical_json(structure),
    }
    record = RepresentationRecord(
        content_sha256, document.parser, document.kind.value, {name: sha256_bytes(contents[name]) for name in _FILES}
    )
    name = record.representation_id
    if not store.path(FOLDER, name, "representation.json").exists():
        for file_name in _FILES:
            write_file(store.path(FOLDER, name, file_name), contents[file_name])
        write_file(store.path(FOLDER, name, "representation.json"), canonical_json(asdict(record)))
    return name


def read_record(store: Store, representation_id: str) -> RepresentationRecord:
    """Read what a representation was made from. Raises StoreError where the record is absent or not the one named."""
    path = store.path(FOLDER, representation_id, "representation.json")
    try:
        record = RepresentationRecord(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise StoreError(f"representation {representation_id[:12]}… is not in {store.root}") from None
    except (ValueError, TypeError):
        raise StoreError(f"{path} is not a representation record: it was altered") from None
    if record.representation_id != representation_id:
        raise StoreError(f"{path} does not hash to the id of its folder: it was altered")
    return record


def _read_file(store: Store, record: RepresentationRecord, representation_id: str, name: str) -> bytes:
    path = store.path(FOLDER, representation_id, name)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise StoreError(f"{path} is missing; re-parse the source to restore it") from None
    if sha256_bytes(content) != record.files[name]:
        raise StoreError(f"{path} no longer has the bytes its representation was named for")
    return content


def representations_of(store: Store, contents: Collection[str]) -> list[Path]:
    """Return the folders of all representations of bytes with these hashes, by whatever parser, sorted.

    Also those that a writer left unfinished whose text is that of a finished one.
    """
    finished, unfinished = [], []
    texts = set()
    for folder in sorted(path for path in store.path(FOLDER).glob("*") if path.name != "parses"):
        try:
            record = json.loads((folder / "representation.json").read_bytes())
            if record["content_sha256"] in contents:
                finished.append(folder)
                texts.add(record["files"]["text.txt"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            unfinished.append(folder)
    left = [one for one in unfinished if (one / "text.txt").exists()]
    return sorted([*finished, *(one for one in left if sha256_bytes((one / "text.txt").read_bytes()) in texts)])


def forget_representations(store: Store, contents: Collection[str]) -> int:
    """Remove all representations of bytes with these hashes, and what names them; return how many there were."""
    folders = representations_of(store, contents)
    names = {folder.name for folder in folders}
    for pointer in sorted(store.path(FOLDER, "parses").glob("*.json")):
        try:
            is_one = json.loads(pointer.read_bytes())["representation_id"] in names
        except (ValueError, KeyError, TypeError):
            is_one = False
        if is_one:
            pointer.unlink(missing_ok=True)
    for folder in folders:
        # The record goes last: what is left of a folder without it is found by its text alone.
        for path in sorted(folder.iterdir(), key=lambda one: one.name == "representation.json"):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # somebody else removes it as well
            folder.rmdir()
    return len(folders)


def read_text(store: Store, representation_id: str) -> str:
    """Read the canonical text of a representation, proved by its hash."""
    record = read_record(store, representation_id)
    return _read_file(store, record, representation_id, "text.txt").decode("utf-8", "surrogatepass")


def read_representation(store: Store, representation_id: str) -> ParsedDocument:
    """Read a whole representation, each file proved by its hash. Raises StoreError."""
    record = read_record(store, representation_id)

    def content(name: str) -> bytes:
        return _read_file(store, record, representation_id, name)

    structure = json.loads(content("structure.json"))
    rows: list[list[Row]] = [[] for _ in structure["tables"]]
    last: tuple[int, int] | None = None
    for values in pl.read_parquet(io.BytesIO(content("cells.parquet"))).iter_rows():
        table, row, label, start, end, path, is_header = values[:7]
        if (table, row) != last:
            rows[table].append(Row(label, start, end, (), tuple(path), is_header))
            last = (table, row)
        if values[9] is not None:
            known = rows[table][-1]
            cell = Cell(**dict(zip(_CELL_FIELDS, values[7:], strict=True)))
            rows[table][-1] = Row(label, start, end, (*known.cells, cell), known.path, is_header)
    elements = tuple(
        Element(ElementKind(kind), start, end, page, section, turn, table, tuple(periods))
        for kind, start, end, page, section, turn, table, periods in pl.read_parquet(
            io.BytesIO(content("elements.parquet"))
        ).iter_rows()
    )
    return ParsedDocument(
        text=content("text.txt").decode("utf-8", "surrogatepass"),
        kind=Kind(record.kind),
        parser=record.parser,
        identity=identity_from_record(structure["identity"]),
        elements=elements,
        pages=tuple(Page(**page) for page in structure["pages"]),
        sections=tuple(Section(**{**s, "flags": tuple(s["flags"])}) for s in structure["sections"]),
        headings=tuple(Heading(**heading) for heading in structure["headings"]),
        turns=tuple(Turn(**turn) for turn in structure["turns"]),
        tables=tuple(Table(**table, rows=tuple(rows[i])) for i, table in enumerate(structure["tables"])),
        flags=tuple(structure["flags"]),
    )
