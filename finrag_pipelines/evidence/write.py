"""Writing evidence: one Parquet file per run, whole and fsynced, then HEAD, then the rows for SQL.

Parquet is the truth. PENDING names the run whose file is being written, so that a writer that died between its file
and HEAD is finished by the next one; the database is brought up to date by `sync_database`.
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

from finrag_pipelines.evidence.records import GENESIS, AnswerRecord, DisclosureRow, Sealed, record_hash, seal, unseal
from finrag_pipelines.evidence.tables import SCHEMA, create_tables, insert_rows, table_rows
from finrag_pipelines.storage import Store, canonical_json, crash_point, create_file, sha256_bytes, write_file
from finrag_pipelines.storage.database import database

FOLDER = "evidence"
_RUN_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")
_COLUMNS = ("answer_id", "run_id", "sequence", "previous_hash", "record_hash", "committed_json", "texts")


class EvidenceError(Exception):
    """Evidence cannot be written or read as asked; the message says which and what to do."""


@dataclass(frozen=True)
class Head:
    """The end of the chain: sequence and hash of the newest record, and how many runs have been written."""

    sequence: int = 0
    record_hash: str = GENESIS
    runs: int = 0


def read_head(store: Store) -> Head:
    """Return the end of the chain; that of an empty chain where nothing was written yet."""
    try:
        return Head(**json.loads(store.path(FOLDER, "HEAD").read_bytes()))
    except FileNotFoundError:
        return Head()
    except (ValueError, TypeError) as error:
        raise EvidenceError(f"evidence/HEAD is damaged ({error}); restore it, then run `finrag verify --all`") from None


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


def _finish_interrupted(store: Store) -> Head:
    """Complete what a writer left behind that died between its file and HEAD. The caller holds the evidence lock."""
    head = read_head(store)
    pending = store.path(FOLDER, "PENDING")
    if not pending.exists():
        return head
    run_id = pending.read_text("utf-8")
    if _RUN_ID.match(run_id) and run_path(store, run_id).exists():
        records = read_run(store, run_id)
        if records and records[0].sequence == head.sequence + 1 and records[0].previous_hash == head.record_hash:
            head = Head(records[-1].sequence, records[-1].record_hash, head.runs + 1)
            _write_head(store, head)
    pending.unlink()
    return head


def write_answers(store: Store, run_id: str, answers: Sequence[AnswerRecord]) -> tuple[AnswerRecord, ...]:
    """Write the records of one run, whole, and return them with ids and times.

    A record without `answer_id` gets `<run_id>-<number>`. Raises EvidenceError when the run was written before.
    """
    path = run_path(store, run_id)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    with store.lock("evidence"):
        head = _finish_interrupted(store)
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
        for offset, one in enumerate(named, start=1):
            sealed.append(seal(one, head.sequence + offset, previous))
            previous = sealed[-1].record_hash
        write_file(store.path(FOLDER, "PENDING"), run_id.encode())
        crash_point("evidence.before_records")
        write_file(path, _to_parquet(sealed))
        crash_point("evidence.before_head")
        head = Head(sealed[-1].sequence, previous, head.runs + 1)
        _write_head(store, head)
        crash_point("evidence.before_pending_removed")
        store.path(FOLDER, "PENDING").unlink()
        crash_point("evidence.before_database")
        _load(store, {run_id: tuple(sealed)}, head)
        crash_point("evidence.after_database")
    return tuple(named)


def _load(store: Store, runs: dict[str, tuple[Sealed, ...]], head: Head | None) -> list[str]:
    """Insert runs into the database, and whatever else it lacks when it is not at `head` afterwards."""
    loaded = list(runs)
    with database(store) as connection:
        connection.execute("BEGIN")
        if create_tables(connection):
            _insert_disclosures(store, connection)
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


def _insert_disclosures(store: Store, connection: duckdb.DuckDBPyConnection) -> None:
    """Load all disclosures into tables that were just made."""
    rows = [(sequence, found, *dataclasses.astuple(row)) for sequence, found, row in _read_disclosures(store)]
    insert_rows(connection, {"disclosures": rows})


def _run_row(store: Store, run_id: str, records: Sequence[Sealed]) -> tuple:
    """Return the row of a run. The hash of its file covers what no reader of the file looks at."""
    sequences = [one.sequence for one in records]
    content = run_path(store, run_id).read_bytes()
    return run_id, min(sequences, default=0), max(sequences, default=0), sha256_bytes(content)


def sync_database(store: Store, rebuild: bool = False) -> list[str]:
    """Finish interrupted writes and load the runs that the database lacks; return their ids. Safe to repeat.

    `rebuild` empties the evidence tables first.
    """
    with store.lock("evidence"):
        _finish_interrupted(store)
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


def _read_disclosures(store: Store) -> list[tuple[int, str, DisclosureRow]]:
    found = []
    for path in sorted(store.path(FOLDER, "disclosures").glob("*.json")):
        entry = json.loads(path.read_bytes())
        found.append((entry["sequence"], entry["record_hash"], DisclosureRow(**entry["disclosure"])))
    return found


def disclosure_hash(previous_hash: str, sequence: int, row: DisclosureRow) -> str:
    """Return the hash of a disclosure in its own chain."""
    return record_hash(previous_hash, sequence, canonical_json(dataclasses.asdict(row)).decode())


def write_disclosure(store: Store, row: DisclosureRow) -> int:
    """Record that an answer was shown, or withheld; return the sequence number in the chain of disclosures."""
    with store.lock("evidence"):
        folder = store.path(FOLDER, "disclosures")
        folder.mkdir(parents=True, exist_ok=True)
        newest = max((path.stem for path in folder.glob("*.json")), default=None)
        previous, sequence = GENESIS, 1
        if newest:
            entry = json.loads((folder / f"{newest}.json").read_bytes())
            previous, sequence = entry["record_hash"], entry["sequence"] + 1
        found_hash = disclosure_hash(previous, sequence, row)
        content = {
            "sequence": sequence,
            "previous_hash": previous,
            "record_hash": found_hash,
            "disclosure": dataclasses.asdict(row),
        }
        create_file(folder / f"{sequence:012d}.json", canonical_json(content))
        crash_point("evidence.before_disclosure_row")
        with database(store) as connection:
            if create_tables(connection):
                _insert_disclosures(store, connection)
            else:
                insert_rows(connection, {"disclosures": [(sequence, found_hash, *dataclasses.astuple(row))]})
    return sequence
