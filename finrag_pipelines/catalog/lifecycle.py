"""What an operator changes about sources and principals: groups, labels, suspension, erasure. All of it is events.

Each change is decided on the log as it stands, and takes effect for every index version with the entry it writes.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from finrag_pipelines.catalog.access import PUBLIC, Principal
from finrag_pipelines.catalog.catalog import (
    ERASED,
    LIVE,
    SUSPENDED,
    Catalog,
    Erasure,
    Source,
    change_catalog,
)
from finrag_pipelines.catalog.identity import GONE, identity_from_record, left_of
from finrag_pipelines.catalog.log import (
    CatalogError,
    Event,
    read_entries,
    redacted_entry,
    write_redaction,
)
from finrag_pipelines.storage import Store, crash_point, sha256_bytes


def grant(store: Store, name: str, groups: Iterable[str]) -> Principal:
    """Put a principal, known or new, into groups beside those it has. Raises CatalogError for `public` and for names
    that cannot be printed."""
    return _regroup(store, name, lambda held: held | set(groups), may_be_new=True)


def revoke(store: Store, name: str, groups: Iterable[str]) -> Principal:
    """Take a principal out of groups. Raises CatalogError for one that nobody defined, and for `public`, the group
    that everybody belongs to."""
    if PUBLIC in (taken := set(groups)):
        raise CatalogError("everybody belongs to the group 'public'; label sources with another group instead")
    return _regroup(store, name, lambda held: held - taken, may_be_new=False)


def _regroup(store: Store, name: str, change: Callable[[frozenset[str]], Iterable[str]], may_be_new: bool) -> Principal:
    if name == PUBLIC:
        raise CatalogError("the principal 'public' belongs to the group 'public' alone; choose another name")
    if not name.strip() or not name.isprintable():
        raise CatalogError(f"{name!r} is no name of a principal; use printable characters")

    def decide(catalog: Catalog) -> list[Event]:
        known = catalog.principals.get(name)
        if known is None and not may_be_new:
            catalog.principal(name)
        wanted = frozenset(change(known.groups if known else frozenset({PUBLIC}))) | {PUBLIC}
        if unprintable := sorted(one for one in wanted if not one.strip() or not one.isprintable()):
            raise CatalogError(f"{unprintable[0]!r} is no name of a group; use printable characters")
        if known and known.groups == wanted and name in catalog.set_principals:
            return []
        return [{"type": "principal_defined", "name": name, "groups": sorted(wanted), "is_set": True}]

    return change_catalog(store, decide).principal(name)


def set_labels(store: Store, source_id: str, labels: Iterable[str]) -> Source:
    """Give a source these access labels in place of those it has; sidecars do not change them from then on. Raises
    CatalogError for an unknown or erased source and for no label at all."""
    wanted = sorted(set(labels))
    if not wanted or not all(one.strip() and one.isprintable() for one in wanted):
        raise CatalogError("a source needs one or more labels with printable names; 'public' opens it to everybody")

    def decide(catalog: Catalog) -> list[Event]:
        source = _not_erased(catalog, source_id)
        if list(source.labels) == wanted and source.labels_are_set:
            return []
        return [{"type": "labels_changed", "source_id": source_id, "labels": wanted, "is_set": True}]

    return change_catalog(store, decide).source(source_id)


def suspend(store: Store, source_id: str, reason: str = "") -> bool:
    """Make a source unreadable for everybody, on every index version, until it is resumed; return whether it was not
    so already. Raises CatalogError for an unknown or erased source."""
    return _turn(store, source_id, SUSPENDED, {"type": "suspended", "source_id": source_id, "reason": reason})


def resume(store: Store, source_id: str) -> bool:
    """Make a suspended source readable again; return whether it was suspended. Raises CatalogError for an unknown or
    erased source."""
    return _turn(store, source_id, LIVE, {"type": "resumed", "source_id": source_id})


def _turn(store: Store, source_id: str, lifecycle: str, event: Event) -> bool:
    changed: list[Event] = []

    def decide(catalog: Catalog) -> list[Event]:
        source = _not_erased(catalog, source_id)
        if source.lifecycle != lifecycle or (lifecycle == SUSPENDED and source.reason != event["reason"]):
            changed.append(event)
        return changed

    change_catalog(store, decide)
    return bool(changed)


def _not_erased(catalog: Catalog, source_id: str) -> Source:
    source = catalog.source(source_id)
    if source.lifecycle == ERASED:
        raise CatalogError(f"{source_id} was erased; nothing of it is left to change")
    return source


def record_erased(
    store: Store, source_id: str, contents: frozenset[str] | None, texts: frozenset[str], reason: str
) -> Erasure:
    """Write the tombstone of a source (`contents` None) or of superseded bytes of it, and return it; one that stands
    for the same already is returned as it is. From this entry on nobody can read what it names.

    `texts` are the hashes of its canonical texts. The entry vouches for the redacted forms of all earlier ones that
    name the document; `redact_log` puts them in place. Raises CatalogError for an unknown source.
    """

    def decide(catalog: Catalog) -> list[Event]:
        source = catalog.source(source_id)
        everything = frozenset(one.content_sha256 for one in source.received)
        wanted = everything if contents is None else contents
        if contents is not None and source.received[-1].content_sha256 in contents:
            raise CatalogError(f"the newest bytes of {source_id} go with the source alone: erase the source")
        if _standing_tombstone(catalog, source_id, contents is None, wanted):
            return []
        return [
            {
                "type": "erased",
                "source_id": source_id,
                "is_whole": contents is None,
                "contents": sorted(wanted),
                "texts": sorted(texts),
                "reason": reason,
                "redactions": {
                    str(sequence): sha256_bytes(content) for sequence, content in _redacted(store, source_id, wanted)
                },
            }
        ]

    catalog = change_catalog(store, decide)
    crash_point("lifecycle.after_tombstone")
    everything = frozenset(one.content_sha256 for one in catalog.source(source_id).received)
    found = _standing_tombstone(catalog, source_id, contents is None, everything if contents is None else contents)
    assert found is not None
    return found


def _standing_tombstone(catalog: Catalog, source_id: str, is_whole: bool, contents: frozenset[str]) -> Erasure | None:
    same = (
        one
        for one in catalog.erasures
        if one.source_id == source_id and one.is_whole == is_whole and one.contents >= contents
    )
    return next(same, None)


def redact_log(store: Store, erasure: Erasure) -> int:
    """Put the redacted forms of the entries that name an erased document in their places; return how many changed."""
    vouched, done = dict(erasure.redactions), 0
    with store.lock("catalog"):
        for sequence, content in _redacted(store, erasure.source_id, erasure.contents):
            if vouched.get(sequence) == sha256_bytes(content):
                write_redaction(store, sequence, content)
                done += 1
                crash_point("lifecycle.between_redactions")
    return done


def pending_redactions(store: Store, erasure: Erasure) -> list[int]:
    """Return the numbers of the entries that hold words of an erased document still."""
    vouched = dict(erasure.redactions)
    found = _redacted(store, erasure.source_id, erasure.contents)
    return sorted(number for number, content in found if vouched.get(number) == sha256_bytes(content))


def record_erasure_done(store: Store, erasure: Erasure, counts: dict[str, Any]) -> None:
    """Record that every trace of an erased document is gone, with counts, hashes and ids of what went."""

    def decide(catalog: Catalog) -> list[Event]:
        if catalog.erasures[erasure.number - 1].is_done:
            return []
        return [{"type": "erasure_done", "source_id": erasure.source_id, "number": erasure.number, **counts}]

    change_catalog(store, decide)


def _redacted(store: Store, source_id: str, contents: frozenset[str]) -> Iterator[tuple[int, bytes]]:
    """Yield number and redacted bytes of each entry that holds words of a document: titles, names, messages."""
    entries = list(read_entries(store))
    origins, versions = set(), set()
    for entry in entries:
        for event in entry.events:
            if event.get("source_id") == source_id and event.get("content_sha256") in contents:
                origins.add(event.get("origin"))
                versions.add(event.get("version"))
    origins -= {None, GONE}
    versions -= {None}

    def redact(event: Event) -> Event:
        kind, is_own = event["type"], event.get("source_id") == source_id
        if kind == "received" and is_own and event["content_sha256"] in contents:
            identity = asdict(left_of(identity_from_record(event["identity"])))
            return {**event, "file_name": GONE, "origin": GONE, "identity": identity, "overrides": {}}
        if kind == "moved" and is_own and event["content_sha256"] in contents:
            return {**event, "file_name": GONE, "origin": GONE}
        if kind == "failed" and is_own and event["version"] in versions:
            return {**event, "message": GONE}
        if kind == "rejected" and (event["origin"] in origins or event["content_sha256"] in contents):
            return {**event, "file_name": GONE, "origin": GONE, "message": GONE}
        return event

    # Those that say where the document came from go last: whoever was killed on the way finds the others by them.
    for entry in sorted(entries, key=lambda one: any(event["type"] == "received" for event in one.events)):
        events = [redact(event) for event in entry.events]
        changed = any(one is not event for one, event in zip(events, entry.events, strict=True))
        # As JSON has it, so that what was redacted before is found equal to itself.
        if changed and (plain := json.loads(json.dumps(events))) != list(entry.events):
            yield entry.sequence, redacted_entry(store, entry.sequence, plain)
