"""The catalog log: an append-only folder of numbered files, each a batch of events, each naming the hash of the last.

It is the truth about sources, versions, lifecycle and access. What the events add up to is in `catalog.py`.

An erasure redacts entries: titles, names of files and messages go, the salt with them, and the entry says which hash
it had before, so that the next one still follows. A redacted entry counts only where a later one names its hash.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from finrag_pipelines.storage import Store, canonical_json, crash_point, create_file, sha256_bytes, write_file

FOLDER = ("catalog", "log")
HEAD = ("catalog", "HEAD")
Event = dict[str, Any]


class CatalogError(Exception):
    """The log is damaged, or an event does not fit what stands."""


class ConflictError(CatalogError):
    """Somebody else changed what this change was built on; nothing was written."""


@dataclass(frozen=True)
class Entry:
    """One file of the log: its number, its UTC time (ISO 8601), its events, and its hash.

    Of a redacted entry `sha256` is the hash that it had before, and `redacted_sha256` the one of what is left.
    """

    sequence: int
    at: str
    events: tuple[Event, ...]
    sha256: str
    redacted_sha256: str | None = None


def read_entries(store: Store, after: int = 0, previous: str | None = None) -> Iterator[Entry]:
    """Yield the entries numbered above `after` in order; `previous` is the hash of entry `after`, where known.

    Raises CatalogError at a broken chain.
    """
    sequence = after
    while True:
        sequence += 1
        path = store.path(*FOLDER, f"{sequence:08d}.json")
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return
        try:
            record = json.loads(content)
            chained = previous is None or record["previous"] == previous
            before = record.get("redacted")
            own = sha256_bytes(content)
            entry = Entry(sequence, record["at"], tuple(record["events"]), before or own, own if before else None)
        except (ValueError, KeyError, TypeError):
            raise CatalogError(f"{path} is not a log entry: the catalog log was altered") from None
        if not chained:
            raise CatalogError(f"{path} does not follow the entry before it: the catalog log was altered")
        previous = entry.sha256
        yield entry


def check_log(store: Store) -> int:
    """Read the whole log from disk and return how many entries it has. Raises CatalogError where one is missing,
    altered, redacted by no erasure, or out of order."""
    entries = list(read_entries(store))
    check_redactions(store, entries)
    hashes = [entry.sha256 for entry in entries]
    check_no_gap(store, len(hashes))
    sequence, newest = _read_head(store)
    if not sequence and len(hashes) > 1:
        raise CatalogError(f"{store.path(*HEAD)} is missing; it is written again with the next entry")
    # A writer that was killed leaves HEAD one behind; the next one brings it up.
    if not len(hashes) - 1 <= sequence <= len(hashes):
        raise CatalogError(
            f"{store.path(*HEAD)} names entry {sequence} as the newest, and {len(hashes)} are there: "
            "the catalog log was altered"
        )
    if sequence and hashes[sequence - 1] != newest:
        raise CatalogError(
            f"{store.path(*FOLDER)}: entry {sequence} is not the one that HEAD names: the catalog log was altered"
        )
    return len(hashes)


def _read_head(store: Store) -> tuple[int, str | None]:
    """Return number and hash of the newest entry as HEAD has them; 0 and None where there is no HEAD yet."""
    path = store.path(*HEAD)
    try:
        content = path.read_bytes()
        record = json.loads(content)
        sequence, newest = int(record["sequence"]), str(record["sha256"])
    except FileNotFoundError:
        return 0, None
    except (ValueError, KeyError, TypeError):
        raise CatalogError(f"{path} is damaged: the catalog log was altered") from None
    if content != _head(sequence, newest):
        raise CatalogError(f"{path} is damaged: the catalog log was altered")
    return sequence, newest


def _head(sequence: int, sha256: str) -> bytes:
    return canonical_json({"sequence": sequence, "sha256": sha256})


def check_no_gap(store: Store, sequence: int) -> None:
    """Raise CatalogError where entry `sequence` + 1 is missing although later ones are there."""
    newest = max((int(path.stem) for path in store.path(*FOLDER).glob("[0-9]*.json")), default=0)
    if newest > sequence and not store.path(*FOLDER, f"{sequence + 1:08d}.json").exists():
        raise CatalogError(
            f"{store.path(*FOLDER)} has no entry {sequence + 1}, but later ones: the catalog log was altered"
        )


def check_redactions(store: Store, entries: list[Entry]) -> None:
    """Raise CatalogError for a redacted entry that no later one vouches for."""
    redacted = {entry.sequence: entry.redacted_sha256 for entry in entries if entry.redacted_sha256}
    for entry in entries:
        for event in entry.events:
            for sequence, sha256 in (event.get("redactions") or {}).items():
                if int(sequence) < entry.sequence and redacted.get(int(sequence)) == sha256:
                    del redacted[int(sequence)]
    for sequence in sorted(redacted):
        raise CatalogError(f"{_path(store, sequence)} was redacted by no erasure: the catalog log was altered")


def entry_hash(store: Store, sequence: int) -> str | None:
    """Return the hash by which entry `sequence` is followed, or None where there is none."""
    path = _path(store, sequence)
    if not path.exists():
        return None
    content = path.read_bytes()
    return _hash_before(content) or sha256_bytes(content)


def _hash_before(content: bytes) -> str | None:
    """Return the hash that a redacted entry had before, or None of any other."""
    if b'"redacted":"' not in content:
        return None
    try:
        found = json.loads(content).get("redacted")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None


def _path(store: Store, sequence: int) -> Path:
    return store.path(*FOLDER, f"{sequence:08d}.json")


def redacted_entry(store: Store, sequence: int, events: list[Event]) -> bytes:
    """Return entry `sequence` as it reads with these events in place of its own, and without its salt."""
    content = _path(store, sequence).read_bytes()
    record = json.loads(content)
    before = _hash_before(content) or sha256_bytes(content)
    left = {name: record[name] for name in ("sequence", "at", "previous")}
    return canonical_json({**left, "events": events, "redacted": before})


def write_redaction(store: Store, sequence: int, content: bytes) -> None:
    """Put a redacted entry, which a later one vouches for, in the place of the entry as it was."""
    write_file(_path(store, sequence), content)


def write_entry(store: Store, sequence: int, previous: str | None, events: list[Event]) -> None:
    """Write entry `sequence`, whole and durable. The caller holds the catalog lock and has read all before it."""
    record = {
        "sequence": sequence,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "previous": previous,
        # Goes with what an erasure redacts, so that a short title cannot be guessed from the hash that stays.
        "salt": secrets.token_hex(16),
        "events": events,
    }
    crash_point("catalog.before_append")
    content = canonical_json(record)
    create_file(store.path(*FOLDER, f"{sequence:08d}.json"), content)
    crash_point("catalog.after_append")
    write_file(store.path(*HEAD), _head(sequence, sha256_bytes(content)))
