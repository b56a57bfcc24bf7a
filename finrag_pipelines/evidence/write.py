"""Writing evidence: one Parquet file per run, whole and fsynced, then HEAD, then the rows for SQL.

Parquet is the truth. PENDING names what is being written, from before its file until its rows are in the database, so
that what a writer left half done is finished by the next one, or by `sync_database`. Disclosures go the same way.
"""

import dataclasses
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.evidence.blank import blanked
from finrag_pipelines.evidence.records import GENESIS, AnswerRecord, DisclosureRow, Sealed, record_hash, seal, unseal
from finrag_pipelines.evidence.tables import SCHEMA, create_tables, insert_rows, table_columns, table_rows
from finrag_pipelines.storage import Store, canonical_json, crash_point, create_file, sha256_bytes, write_file
from finrag_pipelines.storage.database import DATABASE, database

FOLDER = "evidence"
_RUN_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")
_COLUMNS = ("answer_id", "run_id", "sequence", "previous_hash", "record_hash", "committed_json", "texts")


class EvidenceError(Exception):
    """Evidence cannot be written or read as asked; the message says which and what to do."""


@dataclass(frozen=True)
class Head:
    """The ends of both chains: number and hash of the newest record and of the newest disclosure, and how many runs
    have been written."""

    sequence: int = 0
    record_hash: str = GENESIS
    runs: int = 0
    disclosures: int = 0
    disclosure_hash: str = GENESIS


def read_head(store: Store) -> Head:
    """Return the end of the chain; that of an empty chain where nothing was written yet."""
    try:
        content = store.path(FOLDER, "HEAD").read_bytes()
        written = json.loads(content)
        head = Head(**written)
    except FileNotFoundError:
        return Head()
    except (ValueError, TypeError) as error:
        raise EvidenceError(f"evidence/HEAD is damaged ({error}); restore it, then run `finrag verify --all`") from None
    if canonical_json(written) != content:
        raise EvidenceError("evidence/HEAD is not as it was written; restore it, then run `finrag verify --all`")
    return head


def _write_head(store: Store, head: Head) -> None:
    write_file(store.path(FOLDER, "HEAD"), canonical_json(dataclasses.asdict(head)))


def run_path(store: Store, run_id: str) -> Path:
    """Return the path of a run's Parquet file. Raises EvidenceError for a run id that is no plain name."""
    if not _RUN_ID.match(run_id):
        raise EvidenceError(f"run id {run_id!r} is no plain name; use letters, digits, dot, dash and underscore")
    return store.path(FOLDER, f"{run_id}.parquet")


def _to_parquet(records: Sequence[Sealed]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, list] = {name: [] for name in _COLUMNS}
    for one in records:
        for name in _COLUMNS[:-1]:
            columns[name].append(getattr(one, name))
        columns["texts"].append(canonical_json(one.texts).decode("utf-8", "surrogatepass"))
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()


def read_run(store: Store, run_id: str) -> tuple[Sealed, ...]:
    """Return the records of one run in order. Raises EvidenceError where the file is absent or unreadable."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = run_path(store, run_id)
    try:
        rows = pq.read_table(io.BytesIO(path.read_bytes())).to_pylist()
        found = [
            Sealed(**{**row, "texts": {key: (salt, text) for key, (salt, text) in json.loads(row["texts"]).items()}})
            for row in rows
        ]
    except FileNotFoundError:
        raise EvidenceError(f"no evidence of run {run_id} in {store.root}") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise EvidenceError(f"evidence/{path.name} is damaged: {error}") from None
    return tuple(sorted(found, key=lambda one: one.sequence))


def run_ids(store: Store) -> list[str]:
    """List the runs that have a Parquet file, sorted by name."""
    return sorted(path.stem for path in store.path(FOLDER).glob("*.parquet"))


def finish_interrupted(store: Store) -> Head:
    """Complete what a writer left behind that died on its way. The caller holds the evidence lock."""
    head = read_head(store)
    pending = store.path(FOLDER, "PENDING")
    if not pending.exists():
        return head
    head = _adopt_disclosure(store, _adopt_run(store, head, pending.read_text("utf-8", "replace")))
    _load(store, {}, head)
    pending.unlink()
    return head


def _adopt_run(store: Store, head: Head, run_id: str) -> Head:
    """Move HEAD to the run that was being written, where its file is whole and follows."""
    if not (_RUN_ID.match(run_id) and run_path(store, run_id).exists()):
        return head
    records = read_run(store, run_id)
    if not records or (records[0].sequence, records[0].previous_hash) != (head.sequence + 1, head.record_hash):
        return head
    last = records[-1]
    head = dataclasses.replace(head, sequence=last.sequence, record_hash=last.record_hash, runs=head.runs + 1)
    _write_head(store, head)
    return head


def _adopt_disclosure(store: Store, head: Head) -> Head:
    """Move HEAD to the disclosure that was being written, where its file is whole and follows."""
    path = disclosure_path(store, head.disclosures + 1)
    if not path.exists():
        return head
    found = read_disclosure(path)
    if found.previous_hash != head.disclosure_hash:
        return head
    head = dataclasses.replace(head, disclosures=found.sequence, disclosure_hash=found.record_hash)
    _write_head(store, head)
    return head


def write_answers(store: Store, run_id: str, answers: Sequence[AnswerRecord]) -> tuple[AnswerRecord, ...]:
    """Write the records of one run, whole, and return them with ids and times.

    A record without `answer_id` gets `<run_id>-<number>`. Raises EvidenceError when the run was written before.
    """
    path = run_path(store, run_id)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    with store.lock("evidence"):
        head = finish_interrupted(store)
        if path.exists():
            raise EvidenceError(f"run {run_id} has its evidence already; a run is written once: start a new one")
        if not answers:
            return ()
        named = [
            dataclasses.replace(
                one,
                run_id=run_id,
                number=number,
                answer_id=one.answer_id or f"{run_id}-{number:04d}",
                asked_at=one.asked_at or now,
            )
            for number, one in enumerate(answers, start=1)
        ]
        sealed: list[Sealed] = []
        previous = head.record_hash
        erased = read_catalog(store).erased_contents
        for offset, one in enumerate(named, start=1):
            # What was erased while this answer was made must not be written down by it.
            sealed.append(blanked(seal(one, head.sequence + offset, previous), erased))
            previous = sealed[-1].record_hash
        write_file(store.path(FOLDER, "PENDING"), run_id.encode())
        crash_point("evidence.before_records")
        write_file(path, _to_parquet(sealed))
        crash_point("evidence.before_head")
        head = dataclasses.replace(head, sequence=sealed[-1].sequence, record_hash=previous, runs=head.runs + 1)
        _write_head(store, head)
        crash_point("evidence.before_database")
        _load(store, {run_id: tuple(sealed)}, head)
        crash_point("evidence.before_pending_removed")
        store.path(FOLDER, "PENDING").unlink()
    return tuple(named)


def _load(store: Store, runs: dict[str, tuple[Sealed, ...]], head: Head | None) -> list[str]:
    """Insert runs into the database, and whatever else it lacks when it is not at `head` afterwards."""
    loaded = list(runs)
    with database(store) as connection:
        connection.execute("BEGIN")
        create_tables(connection)
        _load_disclosures(store, connection)
        present = {row[0] for row in connection.execute(f"SELECT run_id FROM {SCHEMA}.runs").fetchall()}
        if head is None or len(present | runs.keys()) != head.runs:
            missing = [one for one in run_ids(store) if one not in present and one not in runs]
            runs = {**runs, **{one: read_run(store, one) for one in missing}}
            loaded += missing
        for run_id, records in runs.items():
            if run_id not in present:
                for one in records:
                    insert_rows(connection, table_rows(one))
                insert_rows(connection, {"runs": [_run_row(store, run_id, records)]})
        connection.execute("COMMIT")
    return sorted(loaded)


def _load_disclosures(store: Store, connection: duckdb.DuckDBPyConnection) -> None:
    """Insert the disclosures that came after the newest one in the database."""
    newest = connection.execute(f"SELECT coalesce(max(sequence), 0) FROM {SCHEMA}.disclosures").fetchone()
    sequence = newest[0] if newest else 0
    rows = []
    while (path := disclosure_path(store, sequence + 1)).exists():
        found = read_disclosure(path)
        rows.append(disclosure_row(found))
        sequence += 1
    insert_rows(connection, {"disclosures": rows})


def _run_row(store: Store, run_id: str, records: Sequence[Sealed]) -> tuple:
    """Return the row of a run. The hash of its file covers what no reader of the file looks at."""
    sequences = [one.sequence for one in records]
    content = run_path(store, run_id).read_bytes()
    return run_id, min(sequences, default=0), max(sequences, default=0), sha256_bytes(content)


def write_run(store: Store, run_id: str, records: Sequence[Sealed]) -> None:
    """Put these records in the place of a run's file, whole. The caller holds the evidence lock."""
    write_file(run_path(store, run_id), _to_parquet(records))


def reload_runs(store: Store, runs: Sequence[str]) -> None:
    """Load runs into the database in place of what it has of them. The caller holds the evidence lock."""
    if not store.path(DATABASE).exists():
        return
    with database(store) as connection:
        connection.execute("BEGIN")
        if create_tables(connection):
            runs = run_ids(store)
            _load_disclosures(store, connection)
        for run_id in runs:
            records = read_run(store, run_id)
            for name in table_columns():
                if name not in ("runs", "disclosures"):
                    marks = ", ".join("?" for _ in records)
                    names = [one.answer_id for one in records]
                    connection.execute(f"DELETE FROM {SCHEMA}.{name} WHERE answer_id IN ({marks})", names)
            connection.execute(f"DELETE FROM {SCHEMA}.runs WHERE run_id = ?", [run_id])
            for one in records:
                insert_rows(connection, table_rows(one))
            insert_rows(connection, {"runs": [_run_row(store, run_id, records)]})
        connection.execute("COMMIT")


def sync_database(store: Store, rebuild: bool = False) -> list[str]:
    """Finish interrupted writes and load the runs that the database lacks; return their ids. Safe to repeat.

    `rebuild` empties the evidence tables first.
    """
    with store.lock("evidence"):
        finish_interrupted(store)
        if rebuild:
            with database(store) as connection:
                connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        return _load(store, {}, None)


def find_answer(store: Store, answer_id: str) -> Sealed:
    """Return the sealed record of an answer from Parquet. Raises EvidenceError when there is none."""
    run_id = answer_id.rpartition("-")[0]
    if _RUN_ID.match(run_id) and run_path(store, run_id).exists():
        for one in read_run(store, run_id):
            if one.answer_id == answer_id:
                return one
    raise EvidenceError(f"no answer {answer_id!r} in {store.root}; `finrag sql` on evidence.answers lists them")


def read_answer(store: Store, answer_id: str) -> AnswerRecord:
    """Return the record of an answer, texts included. Raises EvidenceError when there is none."""
    return unseal(find_answer(store, answer_id))


def read_records(store: Store) -> list[Sealed]:
    """Return every sealed record in the order of the chain."""
    return sorted(
        (one for run_id in run_ids(store) for one in read_run(store, run_id)),
        key=lambda one: (one.sequence, one.answer_id),
    )


@dataclass(frozen=True)
class Disclosed:
    """A disclosure in its own chain."""

    sequence: int
    previous_hash: str
    record_hash: str
    disclosure: DisclosureRow


def disclosure_path(store: Store, sequence: int) -> Path:
    """Return the path of a disclosure's file."""
    return store.path(FOLDER, "disclosures", f"{sequence:012d}.json")


def disclosure_row(one: Disclosed) -> tuple:
    """Return a disclosure as the database has it."""
    return (one.sequence, one.record_hash, *dataclasses.astuple(one.disclosure))


def read_disclosure(path: Path) -> Disclosed:
    """Read a disclosure and prove it by its hash. Raises EvidenceError where it is not what was written."""
    content = path.read_bytes()
    where = f"evidence/disclosures/{path.name}"
    try:
        entry = json.loads(content)
        known = {one.name for one in dataclasses.fields(DisclosureRow)}
        row = DisclosureRow(**{name: value for name, value in entry["disclosure"].items() if name in known})
        found = Disclosed(entry["sequence"], entry["previous_hash"], entry["record_hash"], row)
        body = canonical_json(entry["disclosure"]).decode("utf-8", "surrogatepass")
        proved = record_hash(found.previous_hash, found.sequence, body) == found.record_hash
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise EvidenceError(f"{where} cannot be read: {error}") from None
    if not proved or canonical_json(entry) != content:
        raise EvidenceError(f"{where} does not hash to what it was recorded with")
    return found


def read_disclosures(store: Store, answer_id: str | None = None) -> list[Disclosed]:
    """Return the disclosures, of one answer or of all, in the order in which they happened."""
    found = (read_disclosure(path) for path in sorted(store.path(FOLDER, "disclosures").glob("*.json")))
    return [one for one in found if answer_id is None or one.disclosure.answer_id == answer_id]


def write_disclosure(store: Store, row: DisclosureRow) -> int:
    """Record that an answer was shown, or withheld; return the sequence number in the chain of disclosures."""
    with store.lock("evidence"):
        head = finish_interrupted(store)
        sequence = head.disclosures + 1
        body = dataclasses.asdict(row)
        found_hash = record_hash(head.disclosure_hash, sequence, canonical_json(body).decode("utf-8", "surrogatepass"))
        content = {
            "sequence": sequence,
            "previous_hash": head.disclosure_hash,
            "record_hash": found_hash,
            "disclosure": body,
        }
        write_file(store.path(FOLDER, "PENDING"), b"")  # no run: a disclosure
        crash_point("evidence.before_disclosure")
        create_file(disclosure_path(store, sequence), canonical_json(content))
        crash_point("evidence.before_disclosure_head")
        head = dataclasses.replace(head, disclosures=sequence, disclosure_hash=found_hash)
        _write_head(store, head)
        crash_point("evidence.before_disclosure_row")
        _load(store, {}, head)
        crash_point("evidence.after_disclosure_row")
        store.path(FOLDER, "PENDING").unlink()
    return sequence
