"""Fund notices with a canary in the text, in a table and in what is quoted, and a search for canaries of its own."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import tantivy

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.storage import Store

NOTICE = """# {name}

Announcement to shareholders of {day} 2023, by {author}

The management fee of {name} is 0.{fee} percent per annum of daily net assets, as resolved by the board in {text}.

The benchmark index of {name} changes to the {quote} Index, because the former index is no longer published.

| Item | Class | Share |
|---|---|---|
| Reserve {table} | {table}x | {fee}.{fee} |
| Cash | A | 3.1 |

An investment may lose value. Past performance does not predict future results, and nothing here is advice.
"""


@dataclass(frozen=True)
class Notice:
    """One notice: its number decides everything in it."""

    number: int

    @property
    def company(self) -> str:
        return f"FUND{self.number // 5}"

    @property
    def name(self) -> str:
        return f"Harbour Lane {chr(65 + self.number // 5 % 26)}{self.number // 5} Fund"

    @property
    def source_id(self) -> str:
        return f"{self.company}_announcement_{self.filed}"

    @property
    def filed(self) -> str:
        return f"2023-{self.number % 5 + 3:02d}-{self.number // 5 % 28 + 1:02d}"

    @property
    def canaries(self) -> tuple[str, ...]:
        """Words that stand in this notice and nowhere else: text, quote, table, author, title, file name."""
        return tuple(f"{kind}{self.number:03d}zz" for kind in ("oxbow", "quill", "tansy", "wren", "yarrow", "heron"))

    @property
    def question(self) -> str:
        return f"To which benchmark index does {self.name} change?"

    def write(self, folder: Path, labels: Sequence[str] = ()) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        text, quote, table, author, title, file_name = self.canaries
        path = folder / f"{file_name}.md"
        day = f"{self.number % 28 + 1} March"
        path.write_text(
            NOTICE.format(
                name=self.name, day=day, author=author, fee=self.number % 90 + 10, text=text, quote=quote, table=table
            )
        )
        sidecar = {
            "company": self.company,
            "company_name": self.name,
            "form": "fund_announcement",
            "filed": self.filed,
            "title": f"Notice {title}",
            "subjects": [self.name],
            **({"access_labels": list(labels)} if labels else {}),
        }
        path.with_name(f"{path.name}.meta.json").write_text(json.dumps(sidecar))
        return path


def ingest(store: Store, paths: Iterable[Path]) -> None:
    """Bring files in and publish, without Dagster."""
    embedder = open_embedder("hashing")
    for path in paths:
        receipt = receive_file(store, path)
        assert receipt.source_id, receipt
    for source_id, source in sorted(read_catalog(store).sources.items()):
        if source.withheld is None and source.current is None:
            pipeline.register(store, source_id)
            pipeline.represent(store, source_id)
            pipeline.fragment(store, source_id)
            pipeline.embed(store, source_id, embedder)
    pipeline.build_manifest(store)
    pipeline.publish_index(store, embedder)


def files_with(store: Store, words: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each file that holds one of the words, the words: bytes first, then what compression hides."""
    wanted = [word.encode() for word in words]
    found: dict[str, set[str]] = {}
    for path in sorted(one for one in store.root.rglob("*") if one.is_file()):
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            continue  # a log of SQLite that was taken up
        content = b"\n".join([raw, _hidden(path)]).lower()
        if hits := {word.decode() for word in wanted if word in content}:
            found[str(path.relative_to(store.root))] = hits
        if hits := {word.decode() for word in wanted if word.decode().encode("utf-32-le") in raw}:
            found.setdefault(str(path.relative_to(store.root)), set()).update(hits)
        if any(word in path.name.encode() for word in wanted):
            found.setdefault(str(path.relative_to(store.root)), set()).add("its name")
    return found


def _hidden(path: Path) -> bytes:
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        return frame.select(pl.exclude(pl.Array(pl.Float32, 256))).write_json().encode() if frame.height else b""
    if path.suffix == ".npy":
        array = np.load(path)
        return "\n".join(map(str, array.tolist())).encode() if array.dtype.kind in "US" else b""
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as connection:
            names = connection.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
            return "\n".join(
                str(connection.execute(f'SELECT * FROM "{a}"."{b}"').fetchall()) for a, b in names
            ).encode()
    if path.suffix == ".db":
        connection = sqlite3.connect(path)
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = "\n".join(str(connection.execute(f'SELECT * FROM "{name}"').fetchall()) for name in names).encode()
        connection.close()
        return rows
    if path.name == "meta.json" and path.parent.parent.name == "lexical":
        index = tantivy.Index.open(str(path.parent))
        searcher = index.searcher()
        hits = searcher.search(tantivy.Query.all_query(), limit=max(1, searcher.num_docs)).hits
        return b"\n".join(bytes(searcher.doc(address).get_first("fragment")) for _, address in hits)
    return b""
