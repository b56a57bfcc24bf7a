"""The catalog: what the log adds up to, and the changes that may be made to it.

Changes are conditional: each is decided on the log as it stands, under its lock, and either fits or raises.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from finrag_pipelines.catalog.access import PUBLIC, PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.catalog.identity import GONE, Identity, identity_from_record, left_of
from finrag_pipelines.catalog.log import (
    CatalogError,
    ConflictError,
    Entry,
    Event,
    check_no_gap,
    check_redactions,
    entry_hash,
    read_entries,
    write_entry,
)
from finrag_pipelines.storage import Store, digest

_ID_PART = 60  # characters of each of the three parts of a source id
LIVE, SUSPENDED, ERASED = "live", "suspended", "erased"


class ErasedError(CatalogError):
    """What is to be received or recorded was erased, and is not taken again."""


@dataclass(frozen=True)
class Received:
    """Bytes that arrived for a source: their hash, the name they came under, and who they say they are.

    `overrides` are the fields of the identity that somebody stated instead of the document.
    """

    content_sha256: str
    file_name: str
    origin: str
    identity: Identity
    overrides: dict[str, Any]
    at: str


@dataclass(frozen=True)
class DocumentVersion:
    """One received byte sequence of a source; `version` counts from 1."""

    source_id: str
    version: int
    content_sha256: str
    file_name: str
    origin: str
    identity: Identity
    overrides: dict[str, Any]
    registered_at: str
    representation_id: str | None = None
    parser: str | None = None
    failure: tuple[str, str, str] | None = None  # stage, code, message
    is_erased: bool = False


@dataclass(frozen=True)
class Source:
    """A logical document with its versions, oldest first, and the access labels it carries now.

    `lifecycle` is live, suspended or erased, and `reason` what was said for it. `labels_are_set` where an operator set
    the labels: a sidecar does not change them then.
    """

    source_id: str
    labels: tuple[str, ...]
    received: tuple[Received, ...] = ()
    versions: tuple[DocumentVersion, ...] = ()
    lifecycle: str = LIVE
    reason: str = ""
    labels_are_set: bool = False

    @property
    def current(self) -> DocumentVersion | None:
        """The newest registered version, or None while bytes were only received."""
        return self.versions[-1] if self.versions else None

    @property
    def identity(self) -> Identity:
        """The identity stated by the newest bytes."""
        return self.received[-1].identity

    @property
    def withheld(self) -> str | None:
        """Why nobody may read the source, as a sentence without a subject; None where it is live."""
        if self.lifecycle == LIVE:
            return None
        return f"is {self.lifecycle}: {self.reason}" if self.reason else f"is {self.lifecycle}"

    def may_be_read_by(self, principal: Principal) -> bool:
        """Tell whether the source is live and its labels are open to a principal."""
        return self.lifecycle == LIVE and principal.may_read(self.labels)


@dataclass(frozen=True)
class Erasure:
    """What went, or is to go, for good: a whole source or superseded versions of it.

    `contents` and `texts` are the SHA-256 of the bytes and of the canonical texts; `redactions` are number and hash of
    the log entries that lose their words by it. `is_done` once every trace is gone; `answers` are then those with blank
    texts.
    """

    number: int
    source_id: str
    is_whole: bool
    contents: frozenset[str]
    texts: frozenset[str]
    reason: str
    at: str
    redactions: tuple[tuple[int, str], ...] = ()
    is_done: bool = False
    answers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rejection:
    """An input that did not become a source, and why."""

    origin: str
    file_name: str
    content_sha256: str | None
    code: str
    message: str
    at: str


@dataclass(frozen=True)
class IndexPublication:
    """An index version that was published, with the manifest it was built over."""

    index_version: str
    manifest_hash: str
    fragments: int
    sources: int
    at: str


@dataclass(frozen=True)
class Catalog:
    """The state after `sequence` log entries. `policy_epoch` counts the changes of access and lifecycle."""

    sequence: int = 0
    policy_epoch: int = 0
    sources: dict[str, Source] = field(default_factory=dict)
    source_of_content: dict[str, str] = field(default_factory=dict)
    rejections: dict[str, Rejection] = field(default_factory=dict)
    principals: dict[str, Principal] = field(default_factory=lambda: {PUBLIC: PUBLIC_PRINCIPAL})
    publications: tuple[IndexPublication, ...] = ()
    erasures: tuple[Erasure, ...] = ()
    set_principals: frozenset[str] = frozenset()

    @property
    def erased_contents(self) -> frozenset[str]:
        """The hashes of all bytes that were erased."""
        return frozenset().union(*(one.contents for one in self.erasures))

    @property
    def erased_texts(self) -> frozenset[str]:
        """The hashes of all canonical texts that were erased."""
        return frozenset().union(*(one.texts for one in self.erasures))

    def reader(self, principal: Principal) -> Principal:
        """Return a principal as far as the rules still know it: groups taken from it since do not count."""
        held = self.principals.get(principal.name)
        return principal if held is None else principal.narrowed(held)

    def may_read(self, principal: Principal, source_id: str) -> bool:
        """Tell whether a principal may read a source under the rules in force. An unknown source is not readable."""
        source = self.sources.get(source_id)
        return source is not None and source.may_be_read_by(self.reader(principal))

    def seen_by(self, principal: Principal) -> "Catalog":
        """Return the catalog as if what a principal may not read were not there, other principals included."""
        reader = self.reader(principal)
        readable = {name: source for name, source in self.sources.items() if source.may_be_read_by(reader)}
        return replace(
            self,
            sources=readable,
            source_of_content={sha256: name for sha256, name in self.source_of_content.items() if name in readable},
            rejections={},
            principals={reader.name: reader},
            publications=(),
            erasures=(),
            set_principals=frozenset(),
        )

    def principal(self, name: str) -> Principal:
        """Return the principal called `name`. Raises CatalogError for a name nobody defined."""
        try:
            return self.principals[name]
        except KeyError:
            known = ", ".join(sorted(self.principals))
            raise CatalogError(f"no principal is called {name!r}; known: {known}") from None

    def source(self, source_id: str) -> Source:
        """Return the source `source_id`. Raises CatalogError when there is none."""
        try:
            return self.sources[source_id]
        except KeyError:
            raise CatalogError(f"no source is called {source_id!r}; `finrag sources` lists them") from None


def read_catalog(store: Store) -> Catalog:
    """Read the catalog of `store` as it stands; an empty store has an empty catalog."""
    return _standing(store).snapshot()


class _Fold:
    """The state after the entries applied so far, kept so that a longer log costs only its new entries."""

    def __init__(self) -> None:
        self.head: str | None = None
        self.sequence = self.epoch = 0
        self.sources: dict[str, Source] = {}
        self.source_of_content: dict[str, str] = {}
        self.rejections: dict[str, Rejection] = {}
        self.principals = {PUBLIC: PUBLIC_PRINCIPAL}
        self.publications: list[IndexPublication] = []
        self.erasures: list[Erasure] = []
        self.set_principals: set[str] = set()

    def snapshot(self) -> Catalog:
        return Catalog(
            self.sequence,
            self.epoch,
            dict(self.sources),
            dict(self.source_of_content),
            dict(self.rejections),
            dict(self.principals),
            tuple(self.publications),
            tuple(self.erasures),
            frozenset(self.set_principals),
        )

    def apply(self, entry: Entry) -> None:
        for event in entry.events:
            kind = event.get("type") if isinstance(event, dict) else None
            handler = getattr(self, f"_{kind}", None)
            if handler is None:
                raise CatalogError(f"log entry {entry.sequence} holds an event of an unknown type {kind!r}")
            try:
                handler(event, entry.at)
            except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
                raise CatalogError(
                    f"log entry {entry.sequence} does not fit what stands ({error!r}): the catalog log was altered"
                ) from None
        self.sequence, self.head = entry.sequence, entry.sha256

    def _received(self, event: Event, at: str) -> None:
        source = self.sources.get(event["source_id"]) or Source(event["source_id"], ())
        arrival = Received(
            event["content_sha256"],
            event["file_name"],
            event["origin"],
            identity_from_record(event["identity"]),
            event["overrides"],
            at,
        )
        # Known bytes with another stated identity: the version stays, and has to be parsed again.
        versions = tuple(
            replace(v, identity=arrival.identity, overrides=arrival.overrides, representation_id=None)
            if v.content_sha256 == arrival.content_sha256
            else v
            for v in source.versions
        )
        labels = tuple(event["labels"])
        if source.received and labels != source.labels:
            self.epoch += 1
        self.sources[source.source_id] = replace(
            source, labels=labels, received=(*source.received, arrival), versions=versions
        )
        self.source_of_content[arrival.content_sha256] = source.source_id
        self.rejections.pop(arrival.origin, None)

    def _version_registered(self, event: Event, at: str) -> None:
        source = self.sources[event["source_id"]]
        arrival = next(r for r in reversed(source.received) if r.content_sha256 == event["content_sha256"])
        version = DocumentVersion(
            source.source_id,
            event["version"],
            arrival.content_sha256,
            arrival.file_name,
            arrival.origin,
            arrival.identity,
            arrival.overrides,
            at,
        )
        self.sources[source.source_id] = replace(source, versions=(*source.versions, version))

    def _change_version(self, event: Event, **changes: Any) -> None:
        source = self.sources[event["source_id"]]
        versions = tuple(replace(v, **changes) if v.version == event["version"] else v for v in source.versions)
        self.sources[source.source_id] = replace(source, versions=versions)

    def _parsed(self, event: Event, at: str) -> None:
        self._change_version(event, representation_id=event["representation_id"], parser=event["parser"], failure=None)

    def _failed(self, event: Event, at: str) -> None:
        self._change_version(event, failure=(event["stage"], event["code"], event["message"]))

    def _rejected(self, event: Event, at: str) -> None:
        self.rejections[event["origin"]] = Rejection(
            event["origin"], event["file_name"], event["content_sha256"], event["code"], event["message"], at
        )

    def _principal_defined(self, event: Event, at: str) -> None:
        self.principals[event["name"]] = Principal(event["name"], frozenset({PUBLIC, *event["groups"]}))
        if event.get("is_set"):
            self.set_principals.add(event["name"])
        self.epoch += 1

    def _moved(self, event: Event, at: str) -> None:
        source = self.sources[event["source_id"]]
        place = {"file_name": event["file_name"], "origin": event["origin"]}
        self.sources[source.source_id] = replace(
            source,
            received=tuple(
                replace(one, **place) if one.content_sha256 == event["content_sha256"] else one
                for one in source.received
            ),
        )

    def _labels_changed(self, event: Event, at: str) -> None:
        source = self.sources[event["source_id"]]
        is_set = bool(event.get("is_set"))
        self.sources[source.source_id] = replace(source, labels=tuple(event["labels"]), labels_are_set=is_set)
        self.epoch += 1

    def _suspended(self, event: Event, at: str) -> None:
        self._live_on(event, lifecycle=SUSPENDED, reason=event["reason"])

    def _resumed(self, event: Event, at: str) -> None:
        self._live_on(event, lifecycle=LIVE, reason="")

    def _live_on(self, event: Event, **changes: Any) -> None:
        self.sources[event["source_id"]] = replace(self.sources[event["source_id"]], **changes)
        self.epoch += 1

    def _erased(self, event: Event, at: str) -> None:
        source, contents = self.sources[event["source_id"]], frozenset(event["contents"])
        self.erasures.append(
            Erasure(
                len(self.erasures) + 1,
                source.source_id,
                event["is_whole"],
                contents,
                frozenset(event["texts"]),
                event["reason"],
                at,
                tuple(sorted((int(number), sha256) for number, sha256 in event["redactions"].items())),
            )
        )
        received = tuple(
            replace(one, file_name=GONE, origin=GONE, identity=left_of(one.identity), overrides={})
            if one.content_sha256 in contents
            else one
            for one in source.received
        )
        versions = tuple(
            replace(
                one,
                file_name=GONE,
                origin=GONE,
                identity=left_of(one.identity),
                overrides={},
                representation_id=None,
                failure=None,
                is_erased=True,
            )
            if one.content_sha256 in contents
            else one
            for one in source.versions
        )
        changed = replace(source, received=received, versions=versions)
        if event["is_whole"]:
            changed = replace(changed, lifecycle=ERASED, reason=event["reason"])
        self.sources[source.source_id] = changed
        lost = {one.origin for one in source.received if one.content_sha256 in contents}
        self.rejections = {
            origin: one
            for origin, one in self.rejections.items()
            if origin not in lost and one.content_sha256 not in contents
        }
        self.epoch += 1

    def _erasure_done(self, event: Event, at: str) -> None:
        place = event["number"] - 1
        answers = frozenset(event.get("answers", ()))
        self.erasures[place] = replace(self.erasures[place], is_done=True, answers=answers)

    def _index_published(self, event: Event, at: str) -> None:
        self.publications.append(
            IndexPublication(event["index_version"], event["manifest_hash"], event["fragments"], event["sources"], at)
        )


_folds: dict[Path, _Fold] = {}
_folds_guard = Lock()


def _standing(store: Store) -> _Fold:
    """Return the fold of the whole log, reading only what is new since this process last looked."""
    with _folds_guard:
        fold = _folds.get(store.root)
        if fold is None or not fold.sequence or entry_hash(store, fold.sequence) != fold.head:
            fold = _folds[store.root] = _Fold()
        is_fresh = not fold.sequence
        entries = list(read_entries(store, fold.sequence, fold.head))
        if is_fresh:
            check_redactions(store, entries)
        for entry in entries:
            fold.apply(entry)
        if is_fresh:
            check_no_gap(store, fold.sequence)
        return fold


def change_catalog(store: Store, decide: Callable[[Catalog], list[Event]]) -> Catalog:
    """Append the events that `decide` returns for the catalog as it stands, all or none; return the catalog after."""
    with store.lock("catalog"):
        fold = _standing(store)
        events = decide(fold.snapshot())
        if events:
            write_entry(store, fold.sequence + 1, fold.head, events)
    return read_catalog(store)


def source_id_for(identity: Identity) -> str:
    """Return the readable id of a source: company, form and period, or a date where there is no fiscal period.

    It is a plain file name whatever the identity says, because it names folders of the store and partitions.
    """
    form = (identity.form or "document").removeprefix("fund_")
    when = identity.period if identity.form in {"10-K", "10-Q", "10-K/A", "10-Q/A", "transcript"} else None
    when = when or identity.filed or identity.period or identity.period_end or "undated"
    return "_".join(map(_plain, (identity.company or "unknown", form, when)))


def _plain(name: str) -> str:
    """Return `name` with everything but letters, digits and single dots, dashes and `&` made a dash."""
    kept = "".join(c if c.isalnum() or c in ".&_" else "-" for c in name[:_ID_PART])
    while ".." in kept:
        kept = kept.replace("..", ".")
    return kept.strip(".-") or "unknown"


def receive(
    store: Store,
    identity: Identity,
    content_sha256: str,
    file_name: str,
    origin: str,
    labels: Iterable[str] | None = None,
    overrides: dict[str, Any] | None = None,
    insists: bool = False,
) -> tuple[str, bool]:
    """Record that bytes arrived and return their source id and whether anything is new.

    Known bytes, under any name, are the source they were; only other labels or overrides make a difference then, and
    from another place than before only where the caller `insists`, so that two copies cannot take turns. Without
    `labels` a source keeps those it has, so that a new version of a restricted document is never public by omission;
    a new source is public.
    Other bytes under a known file name continue that source. Under another name they are a source of their own, told
    apart by the accession number or a short hash where the readable id is taken. Labels that an operator set stay,
    unless the caller insists. Raises ErasedError for bytes that were erased.
    """
    stated = None if labels is None else tuple(sorted(set(labels)))
    overrides = overrides or {}
    outcome: list[tuple[str, bool]] = []

    def decide(catalog: Catalog) -> list[Event]:
        check_not_erased(catalog, content_sha256)
        known_as = catalog.source_of_content.get(content_sha256)
        if known_as is not None:
            source = catalog.source(known_as)
            arrival = next(r for r in reversed(source.received) if r.content_sha256 == content_sha256)
            same_labels = stated is None or source.labels == stated or (source.labels_are_set and not insists)
            other_origin = arrival.origin != origin and not insists
            if other_origin or (arrival.overrides == overrides and same_labels):
                outcome.append((known_as, False))
                return []
            if arrival.overrides == overrides:
                outcome.append((known_as, True))
                return [{"type": "labels_changed", "source_id": known_as, "labels": stated}]
        source_id = known_as or _free_id(catalog, identity, file_name, content_sha256)
        known = catalog.sources.get(source_id)
        keeps = known is not None and (stated is None or (known.labels_are_set and not insists))
        outcome.append((source_id, True))
        return [
            {
                "type": "received",
                "source_id": source_id,
                "content_sha256": content_sha256,
                "file_name": file_name,
                "origin": origin,
                "labels": known.labels if known and keeps else stated or (PUBLIC,),
                "identity": asdict(identity),
                "overrides": overrides,
            }
        ]

    change_catalog(store, decide)
    return outcome[0]


def record_move(store: Store, source_id: str, content_sha256: str, file_name: str, origin: str) -> None:
    """Record that bytes of a source lie elsewhere now, so that what comes under the new name continues the source. What
    was registered keeps the name it came under."""

    def decide(catalog: Catalog) -> list[Event]:
        known = [one for one in catalog.source(source_id).received if one.content_sha256 == content_sha256]
        if not known or (known[-1].file_name, known[-1].origin) == (file_name, origin):
            return []
        named = {"source_id": source_id, "content_sha256": content_sha256}
        return [{"type": "moved", **named, "file_name": file_name, "origin": origin}]

    change_catalog(store, decide)


def _free_id(catalog: Catalog, identity: Identity, file_name: str, content_sha256: str) -> str:
    base = source_id_for(identity)
    for source_id, source in catalog.sources.items():
        same = source.received[-1].file_name == file_name and source_id_for(source.identity) == base
        if same and source.lifecycle != ERASED:
            return source_id
    return base if base not in catalog.sources else f"{base}_{_plain(identity.accession or content_sha256[:8])}"


def register_version(store: Store, source_id: str, content_sha256: str, expected: int) -> DocumentVersion:
    """Make `content_sha256` version `expected` + 1 of its source, if the catalog still stands at `expected`.

    Bytes that are the current version already change nothing. Raises ConflictError when another writer was first.
    """

    def decide(catalog: Catalog) -> list[Event]:
        source = catalog.source(source_id)
        check_not_erased(catalog, content_sha256)
        current = source.current
        if current and current.content_sha256 == content_sha256:
            return []
        stands = current.version if current else 0
        if stands != expected:
            raise ConflictError(
                f"{source_id} is at version {stands}, not {expected}: another writer was first; read it again and retry"
            )
        return [
            {
                "type": "version_registered",
                "source_id": source_id,
                "version": expected + 1,
                "content_sha256": content_sha256,
            }
        ]

    current = change_catalog(store, decide).source(source_id).current
    assert current is not None
    return current


def record_parsed(store: Store, version: DocumentVersion, representation_id: str, parser: str) -> None:
    """Record which representation the current parser made of a version; an equal record changes nothing."""

    def decide(catalog: Catalog) -> list[Event]:
        known = catalog.source(version.source_id).versions[version.version - 1]
        check_not_erased(catalog, known.content_sha256)
        if known.representation_id == representation_id and known.failure is None:
            return []
        return [
            {
                "type": "parsed",
                "source_id": version.source_id,
                "version": version.version,
                "representation_id": representation_id,
                "parser": parser,
            }
        ]

    change_catalog(store, decide)


def record_failure(store: Store, version: DocumentVersion, stage: str, code: str, message: str) -> None:
    """Record that a version did not get past `stage`; it stays out of the manifest until a later run succeeds."""

    def decide(catalog: Catalog) -> list[Event]:
        known = catalog.source(version.source_id).versions[version.version - 1]
        if known.failure == (stage, code, message) or known.is_erased:
            return []
        return [
            {
                "type": "failed",
                "source_id": version.source_id,
                "version": version.version,
                "stage": stage,
                "code": code,
                "message": message,
            }
        ]

    change_catalog(store, decide)


def record_rejection(
    store: Store, origin: str, file_name: str, content_sha256: str | None, code: str, message: str
) -> None:
    """Record that an input did not become a source. One row is kept per origin: the newest."""

    def decide(catalog: Catalog) -> list[Event]:
        known = catalog.rejections.get(origin)
        if known and (known.content_sha256, known.code, known.message) == (content_sha256, code, message):
            return []
        return [
            {
                "type": "rejected",
                "origin": origin,
                "file_name": file_name,
                "content_sha256": content_sha256,
                "code": code,
                "message": message,
            }
        ]

    change_catalog(store, decide)


def define_principal(store: Store, name: str, groups: Iterable[str]) -> None:
    """Say which groups `name` belongs to, beside `public`. An equal definition changes nothing, and neither does one of
    a principal whose groups an operator granted or revoked."""
    wanted = frozenset({PUBLIC, *groups})
    if name == PUBLIC and wanted != {PUBLIC}:
        raise CatalogError("the principal 'public' belongs to the group 'public' alone; choose another name")

    def decide(catalog: Catalog) -> list[Event]:
        known = catalog.principals.get(name)
        if known and (known.groups == wanted or name in catalog.set_principals):
            return []
        return [{"type": "principal_defined", "name": name, "groups": sorted(wanted)}]

    change_catalog(store, decide)


def record_publication(store: Store, index_version: str, manifest_hash: str, fragments: int, sources: int) -> None:
    """Record that an index version was published over a manifest; the newest record again changes nothing."""

    def decide(catalog: Catalog) -> list[Event]:
        publications = catalog.publications
        if publications and (publications[-1].index_version, publications[-1].manifest_hash) == (
            index_version,
            manifest_hash,
        ):
            return []
        return [
            {
                "type": "index_published",
                "index_version": index_version,
                "manifest_hash": manifest_hash,
                "fragments": fragments,
                "sources": sources,
            }
        ]

    change_catalog(store, decide)


def check_not_erased(catalog: Catalog, content_sha256: str) -> None:
    """Raise ErasedError where these bytes were erased."""
    for one in catalog.erasures:
        if content_sha256 in one.contents:
            raise ErasedError(
                f"these bytes were erased on {one.at[:10]} as part of {one.source_id} and are not taken again"
            )


def rules_digest(catalog: Catalog) -> str:
    """Return the digest of the access rules in force: principals, labels of every source, and what is withheld."""
    withheld = sorted(name for name, source in catalog.sources.items() if source.lifecycle != LIVE)
    return digest(
        {
            "principals": {name: sorted(p.groups) for name, p in catalog.principals.items()},
            "labels": {source_id: list(source.labels) for source_id, source in catalog.sources.items()},
            **({"withheld": withheld} if withheld else {}),
        }
    )
