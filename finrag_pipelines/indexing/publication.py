"""Which index version is published, which one answers, and which ones were before: pointers, flipped atomically."""

import json
from dataclasses import dataclass

from finrag_pipelines.indexing.build import describe_index
from finrag_pipelines.storage import Store, StoreError, create_file, write_file

PUBLISHED, CURRENT = "PUBLISHED", "CURRENT"
_REPLACED = "replaced.json"


@dataclass(frozen=True)
class Publication:
    """One line of the history: its number, the pointer that moved, where to, and where it stood before."""

    sequence: int
    pointer: str
    index_version: str
    previous: str | None


def _read_pointer(store: Store, pointer: str) -> str | None:
    try:
        return store.path("index", pointer).read_text().strip() or None
    except FileNotFoundError:
        return None


def published_version(store: Store) -> str | None:
    """Return the newest published index version, or None before the first one."""
    return _read_pointer(store, PUBLISHED)


def current_version(store: Store) -> str | None:
    """Return the index version that answers use, or None before the first one."""
    return _read_pointer(store, CURRENT)


def _flip(store: Store, pointer: str, version: str) -> None:
    previous = _read_pointer(store, pointer)
    if previous == version:
        return
    log = store.path("index", "log")
    log.mkdir(parents=True, exist_ok=True)
    sequence = max((int(path.stem) for path in log.glob("*.json")), default=0) + 1
    write_file(store.path("index", pointer), version.encode())
    line = {"sequence": sequence, "pointer": pointer, "index_version": version, "previous": previous}
    create_file(log / f"{sequence:08d}.json", json.dumps(line, sort_keys=True).encode())


def publish(store: Store, version: str, promote: bool = True) -> None:
    """Make `version` the published one and, with `promote`, the one that answers use.

    Publishing what is published changes nothing. Raises StoreError for a version that was never built.
    """
    describe_index(store, version)
    with store.lock("index"):
        _flip(store, PUBLISHED, version)
        if promote:
            _flip(store, CURRENT, version)


def promote(store: Store, version: str) -> None:
    """Make `version`, published before or not, the one that answers use. Raises StoreError where it was never built."""
    describe_index(store, version)
    with store.lock("index"):
        _flip(store, CURRENT, version)


def history(store: Store) -> tuple[Publication, ...]:
    """Return every movement of a pointer, oldest first."""
    lines = [json.loads(path.read_bytes()) for path in sorted(store.path("index", "log").glob("*.json"))]
    return tuple(Publication(**line) for line in lines)


def resolve_version(store: Store, version: str | None = None) -> str:
    """Return the full name of `version` (a unique prefix suffices), or of the current one.

    A version that an erasure replaced is answered for by the one in its place. Raises StoreError where nothing is
    published yet, or the prefix names no version or several.
    """
    if version is None:
        found = current_version(store)
        if found is None:
            raise StoreError(f"no index is published in {store.root}; ingest filings first")
        return found
    return standing_for(store, _named(store, version))


def _named(store: Store, version: str) -> str:
    if not version or not all(c in "0123456789abcdef" for c in version):
        raise StoreError(f"{version!r} is no index version; write the hex digits of its name")
    known = (path for path in store.path("index").glob(f"{version}*") if path.is_dir())
    matches = sorted(path.name for path in known if any((path / one).exists() for one in ("index.json", _REPLACED)))
    if len(matches) != 1:
        raise StoreError(f"index version {version!r} names {len(matches)} versions in {store.root}; write more digits")
    return matches[0]


def replace_version(store: Store, version: str, by: str, because: str) -> None:
    """Record that `by` stands in for `version`, whose own files may go. The caller holds the index lock."""
    content = {"index_version": version, "by": by, "because": because}
    write_file(store.path("index", version, _REPLACED), json.dumps(content, sort_keys=True).encode())


def replaced_by(store: Store, version: str) -> str | None:
    """Return the version that stands in for one that is gone (a unique prefix suffices), or None where it is there."""
    name = _named(store, version)
    found = standing_for(store, name)
    return None if found == name else found


def standing_for(store: Store, version: str) -> str:
    """Return the version that answers for `version`: itself, or the one that an erasure put in its place."""
    while True:
        try:
            version = json.loads(store.path("index", version, _REPLACED).read_bytes())["by"]
        except FileNotFoundError:
            return version


def follow_replacements(store: Store) -> None:
    """Move each pointer that names a version that was replaced to the one that stands in for it. The caller holds the
    index lock."""
    for pointer in (PUBLISHED, CURRENT):
        version = _read_pointer(store, pointer)
        if version is not None:
            _flip(store, pointer, standing_for(store, version))
