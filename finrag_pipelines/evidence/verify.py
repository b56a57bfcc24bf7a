"""Proof, after the fact: every citation re-read from stored bytes, the chain re-computed, the database compared."""

import json
from dataclasses import dataclass
from typing import Any

import duckdb

from finrag_pipelines.evidence.records import GENESIS, AnswerRecord, Sealed, commitment, record_hash, unseal
from finrag_pipelines.evidence.tables import SCHEMA, table_columns, table_rows
from finrag_pipelines.evidence.write import (
    FOLDER,
    EvidenceError,
    disclosure_hash,
    find_answer,
    read_head,
    read_run,
    run_ids,
    run_path,
)
from finrag_pipelines.parsing.representation_store import read_representation
from finrag_pipelines.storage import Store, StoreError, sha256_bytes, sha256_text
from finrag_pipelines.storage.database import database


@dataclass(frozen=True, order=True)
class Difference:
    """Something that is not as recorded: in which answer (empty for the chain as a whole), where, and what."""

    answer_id: str
    where: str
    what: str


def verify(store: Store, answer_id: str | None = None) -> list[Difference]:
    """Compare what is stored with what was recorded: for one answer, or for all. An empty list is a proof.

    Citations are read from the stored representation bytes, representations and objects are hashed, the chain is
    computed from Parquet, and the database rows are compared with the records.
    """
    found: list[Difference] = []
    records: list[Sealed] = []
    if answer_id is None:
        for run_id in run_ids(store):
            try:
                records += read_run(store, run_id)
            except EvidenceError as error:
                found.append(Difference("", f"evidence/{run_id}.parquet", str(error)))
        records.sort(key=lambda one: (one.sequence, one.answer_id))
        found += _chain_differences(store, records)
        found += _disclosure_differences(store)
    else:
        try:
            records = [find_answer(store, answer_id)]
        except EvidenceError as error:
            return [Difference(answer_id, "evidence", str(error))]
    texts = _Representations(store)
    for sealed in records:
        found += _record_differences(sealed)
        found += _citation_differences(sealed, texts)
    try:
        found += _database_differences(store, records, whole=answer_id is None)
    except duckdb.Error as error:
        found.append(Difference("", "database", f"cannot be read: {str(error).splitlines()[0]}"))
    return sorted(set(found))


def _chain_differences(store: Store, records: list[Sealed]) -> list[Difference]:
    found = []
    previous, expected = GENESIS, 1
    for one in records:
        if one.sequence != expected:
            what = "is missing from the chain" if one.sequence > expected else "stands twice in the chain"
            found.append(Difference(one.answer_id, "chain", f"record {min(expected, one.sequence)} {what}"))
        elif one.previous_hash != previous:
            found.append(Difference(one.answer_id, "chain", f"record {one.sequence} does not follow its predecessor"))
        previous, expected = one.record_hash, one.sequence + 1
    try:
        head = read_head(store)
    except EvidenceError as error:
        return [*found, Difference("", "evidence/HEAD", str(error))]
    if head.sequence != expected - 1:
        found.append(
            Difference("", "evidence/HEAD", f"names record {head.sequence} as the newest, found up to {expected - 1}")
        )
    elif head.record_hash != previous:
        found.append(Difference("", "evidence/HEAD", f"does not hold the hash of record {head.sequence}"))
    return found


def _disclosure_differences(store: Store) -> list[Difference]:
    from finrag_pipelines.evidence.records import DisclosureRow

    found = []
    previous = GENESIS
    for expected, path in enumerate(sorted(store.path(FOLDER, "disclosures").glob("*.json")), start=1):
        where = f"evidence/disclosures/{path.name}"
        try:
            entry = json.loads(path.read_bytes())
            row = DisclosureRow(**entry["disclosure"])
            computed = disclosure_hash(entry["previous_hash"], entry["sequence"], row)
            whole = (entry["sequence"], entry["previous_hash"], entry["record_hash"]) == (expected, previous, computed)
        except (ValueError, TypeError, KeyError) as error:
            found.append(Difference("", where, f"cannot be read: {error}"))
            continue
        if not whole:
            found.append(Difference(row.answer_id, where, "does not hash to what it was recorded with"))
        previous = entry["record_hash"]
    return found


def _record_differences(sealed: Sealed) -> list[Difference]:
    """Compare a record with its own hash, and each text with its commitment (an erased text has no salt)."""
    found = []
    if record_hash(sealed.previous_hash, sealed.sequence, sealed.committed_json) != sealed.record_hash:
        found.append(Difference(sealed.answer_id, "record", "does not hash to its record hash"))
    try:
        tree = json.loads(sealed.committed_json)
    except ValueError as error:
        return [*found, Difference(sealed.answer_id, "record", f"is no JSON: {error}")]
    if tree.get("answer_id") != sealed.answer_id or tree.get("run_id") != sealed.run_id:
        found.append(Difference(sealed.answer_id, "record", "stands under another answer's id"))
    promised = dict(_commitments(tree))
    for path in sorted(promised.keys() | sealed.texts.keys()):
        salt, text = sealed.texts.get(path, ("", ""))
        if path not in sealed.texts:
            found.append(Difference(sealed.answer_id, path, "its text is missing beside the record"))
        elif path not in promised:
            found.append(Difference(sealed.answer_id, path, "a text that the record does not commit to"))
        elif salt and commitment(salt, text) != promised[path]:
            found.append(Difference(sealed.answer_id, path, "the text is not the one that was recorded"))
        elif not salt and text:
            found.append(Difference(sealed.answer_id, path, "a text stands where one was erased"))
    return found


def _commitments(tree: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(tree, dict):
        if set(tree) == {"sha256"}:
            return [(path, tree["sha256"])]
        return [one for key, value in tree.items() for one in _commitments(value, f"{path}.{key}" if path else key)]
    if isinstance(tree, list):
        return [
            one for key, value in enumerate(tree) for one in _commitments(value, f"{path}.{key}" if path else str(key))
        ]
    return []


class _Representations:
    """Stored texts by representation id, each read and hashed once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts: dict[str, tuple[str | None, tuple[str, ...]]] = {}
        self._objects: dict[str, str | None] = {}

    def text(self, representation_id: str) -> tuple[str | None, tuple[str, ...]]:
        """Return the text, or None, and what is wrong with the representation."""
        if representation_id not in self._texts:
            self._texts[representation_id] = self._read(representation_id)
        return self._texts[representation_id]

    def _read(self, representation_id: str) -> tuple[str | None, tuple[str, ...]]:
        try:
            return read_representation(self._store, representation_id).text, ()
        except StoreError as error:
            return None, (str(error),)
        except Exception as error:  # bytes that hash right and cannot be opened are a difference too
            name = f"representation {representation_id[:12]}…"
            return None, (f"{name} cannot be opened: {type(error).__name__}: {error}",)

    def wrong_object(self, content_sha256: str) -> str | None:
        """Return what is wrong with an object, or None."""
        if content_sha256 not in self._objects:
            try:
                self._store.get_object(content_sha256)
                self._objects[content_sha256] = None
            except StoreError as error:
                self._objects[content_sha256] = str(error)
        return self._objects[content_sha256]


def _citation_differences(sealed: Sealed, texts: _Representations) -> list[Difference]:
    try:
        record = unseal(sealed)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        return [Difference(sealed.answer_id, "record", f"cannot be read back: {error}")]
    found = []
    for number, citation in enumerate(record.citations):
        where = f"citations.{number}"
        if not sealed.texts.get(f"{where}.quote", ("", ""))[0]:
            continue  # erased on purpose: nothing is left to compare
        text, wrong = texts.text(citation.representation_id)
        found += [Difference(sealed.answer_id, where, what) for what in wrong]
        if text is not None and text[citation.start : citation.end] != citation.quote:
            what = f"the representation reads differently at [{citation.start}, {citation.end})"
            found.append(Difference(sealed.answer_id, where, what))
        if sha256_text(citation.quote) != citation.quote_sha256:
            found.append(Difference(sealed.answer_id, where, "the quote does not hash to its recorded hash"))
        if what := texts.wrong_object(citation.content_sha256):
            found.append(Difference(sealed.answer_id, where, what))
    return found + _delivery_differences(record, texts)


def _delivery_differences(record: AnswerRecord, texts: _Representations) -> list[Difference]:
    """Compare deliveries that were cited with the stored text; the others may have been erased since."""
    cited = {one.fragment_id for one in record.citations}
    found = []
    for one in record.deliveries:
        if one.fragment_id in cited:
            text, _ = texts.text(one.representation_id)
            if text is not None and sha256_text(text[one.start : one.end]) != one.text_sha256:
                where = f"deliveries.{one.position}"
                found.append(Difference(record.answer_id, where, "the delivered text reads differently now"))
    delivered = {one.fragment_id for one in record.deliveries}
    for fragment_id in sorted(cited - delivered):
        found.append(Difference(record.answer_id, "citations", f"fragment {fragment_id} was cited, never delivered"))
    return found


def _database_differences(store: Store, records: list[Sealed], whole: bool) -> list[Difference]:
    """Compare the rows of the database with what the records say they are."""
    if not records and not store.path("finrag.duckdb").exists():
        return []
    expected: dict[str, list[tuple]] = {name: [] for name in table_columns() if name not in ("disclosures", "runs")}
    for one in records:
        try:
            for name, rows in table_rows(one).items():
                expected[name] += rows
        except (ValueError, KeyError, IndexError, TypeError):
            continue  # reported with the record
    ids = [one.answer_id for one in records]
    found = []
    with database(store) as connection:
        listed = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", [SCHEMA]
        ).fetchall()
        if not listed:
            return [Difference("", "database", "has no evidence tables; `sync_database` rebuilds them")] if ids else []
        for name, rows in expected.items():
            where = "" if whole else " WHERE answer_id = ?"
            columns = ", ".join(f'"{one}"' for one in table_columns()[name])
            query = f"SELECT {columns} FROM {SCHEMA}.{name}{where}"
            stored = connection.execute(query, [] if whole else ids).fetchall()
            key = _key_column(name)
            there = sorted((_comparable(row) for row in stored), key=repr)
            wanted = sorted((_comparable(row) for row in rows), key=repr)
            if there != wanted:
                differing = {row[key] for row in there if row not in wanted} | {
                    row[key] for row in wanted if row not in there
                }
                for answer_id in sorted(map(str, differing)) or [""]:
                    found.append(Difference(answer_id, f"database {name}", "rows differ from the record"))
        found += _file_differences(store, connection, {one.run_id for one in records})
    return found


def _file_differences(store: Store, connection: duckdb.DuckDBPyConnection, runs: set[str]) -> list[Difference]:
    """Compare the record files, byte for byte, with the hashes that the database keeps of them."""
    rows = connection.execute(f"SELECT run_id, file_sha256 FROM {SCHEMA}.runs").fetchall()
    found = []
    for run_id in sorted(runs):
        content = run_path(store, run_id).read_bytes()
        if (run_id, sha256_bytes(content)) not in rows:
            where = f"evidence/{run_id}.parquet"
            found.append(Difference("", where, "is not the file, byte for byte, that was loaded into the database"))
    return found


def _key_column(table: str) -> int:
    return list(table_columns()[table]).index("answer_id")


def _comparable(row: tuple) -> tuple:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)
