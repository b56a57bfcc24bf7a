"""Retention rules: how long sources with a label stay, and superseded versions of any. What is due is computed here.

A source that is suspended is never due: a suspension is also a hold.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from finrag_pipelines.catalog.catalog import LIVE, Source, read_catalog
from finrag_pipelines.catalog.log import read_entries
from finrag_pipelines.evidence.write import read_records
from finrag_pipelines.storage import Store, project_root

FILE_NAME = "retention.toml"
AT_MOST = 50


class RetentionError(ValueError):
    """The rules cannot be understood or must not be applied now; the message says why and what to do."""


@dataclass(frozen=True)
class Rules:
    """`labels` gives days since a source first came, by label; `superseded_days` days since newer bytes came.

    A source goes when each of its labels has a rule and the longest of them has passed. Superseded bytes that a
    recorded answer cites stay with `keep_cited`. More than `at_most` sources at once are a mistake until it is raised.
    """

    labels: Mapping[str, int] = field(default_factory=dict)
    superseded_days: int | None = None
    keep_cited: bool = True
    at_most: int = AT_MOST


@dataclass(frozen=True, order=True)
class Due:
    """What is to be erased: a source, or (`contents`, hashes) superseded bytes of it, and why."""

    source_id: str
    why: str
    contents: tuple[str, ...] | None = None


def rules_path() -> Path:
    """Return where the rules lie: FINRAG_RETENTION, or retention.toml in the project."""
    return Path(os.environ.get("FINRAG_RETENTION") or project_root() / FILE_NAME)


def read_rules(path: Path | None = None) -> Rules:
    """Read the rules; none, where there is no file: nothing is ever due. Raises RetentionError."""
    path = path or rules_path()
    try:
        record = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Rules()
    except OSError as error:
        raise RetentionError(f"{path} cannot be read: {error.strerror}; check its rights") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RetentionError(f"{path} is not TOML ({error}); correct it") from None
    allowed = {"labels", "superseded_days", "keep_cited", "at_most"}
    if unknown := sorted(set(record) - allowed):
        raise RetentionError(f"{path}: unknown {', '.join(unknown)}; allowed are {', '.join(sorted(allowed))}")
    labels = record.get("labels", {})
    if not isinstance(labels, dict):
        raise RetentionError(f"{path}: labels is a table of days by label, such as research = 730")
    for name, days in (*labels.items(), *((n, record[n]) for n in ("superseded_days", "at_most") if n in record)):
        if isinstance(days, bool) or not isinstance(days, int) or days < 1:
            raise RetentionError(f"{path}: {name} is {days!r}; write a whole number from 1")
    if not isinstance(record.get("keep_cited", True), bool):
        raise RetentionError(f"{path}: keep_cited is true or false")
    return Rules(labels, record.get("superseded_days"), record.get("keep_cited", True), record.get("at_most", AT_MOST))


def due(store: Store, rules: Rules, now: datetime) -> tuple[Due, ...]:
    """Return what is to be erased at the moment `now` (with a time zone), sorted by source.

    Raises RetentionError where the clock stands before the newest entry of the catalog log, so that nothing can be told
    from it, and where more is due than the rules allow at once.
    """
    catalog = read_catalog(store)
    for entry in read_entries(store, catalog.sequence - 1) if catalog.sequence else ():
        if now < datetime.fromisoformat(entry.at):
            raise RetentionError(
                f"the clock says {now.isoformat(timespec='seconds')}, before the newest entry of the catalog log "
                f"({entry.at}); set the clock right: nothing was erased"
            )
    cited = _cited(store) if rules.superseded_days and rules.keep_cited else frozenset()
    found = []
    for _, source in sorted(catalog.sources.items()):
        if source.lifecycle == LIVE and source.received:
            whole = _whole(source, rules, now)
            found += [whole] if whole else _superseded(source, rules, now, cited)
    if len({one.source_id for one in found}) > rules.at_most:
        raise RetentionError(
            f"{len(found)} sources are due at once, and at_most is {rules.at_most}: look at the clock and the rules, "
            "raise at_most if that is meant; nothing was erased"
        )
    return tuple(found)


def _whole(source: Source, rules: Rules, now: datetime) -> Due | None:
    if not all(label in rules.labels for label in source.labels):
        return None
    label = max(source.labels, key=lambda one: (rules.labels[one], one))
    since = source.received[0].at
    if not _is_over(since, rules.labels[label], now):
        return None
    return Due(source.source_id, f"received {since[:10]}, and {label} stays {rules.labels[label]} days")


def _superseded(source: Source, rules: Rules, now: datetime, cited: frozenset[str]) -> Iterator[Due]:
    """Yield the earlier bytes of a source whose time is over, as one."""
    if rules.superseded_days is None:
        return
    newest = source.received[-1].content_sha256
    last: dict[str, str] = {}  # the moment at which bytes were last superseded
    for one, after in zip(source.received, source.received[1:], strict=False):
        last[one.content_sha256] = after.at
    gone = {version.content_sha256 for version in source.versions if version.is_erased}
    contents = sorted(
        sha256
        for sha256, at in last.items()
        if sha256 not in {newest, *gone, *cited} and _is_over(at, rules.superseded_days, now)
    )
    if contents:
        why = f"{len(contents)} superseded version(s), which stay {rules.superseded_days} days"
        yield Due(source.source_id, why, tuple(contents))


def _is_over(since: str, days: int, now: datetime) -> bool:
    return now - datetime.fromisoformat(since) >= timedelta(days=days)


def _cited(store: Store) -> frozenset[str]:
    return frozenset(
        row["content_sha256"] for one in read_records(store) for row in json.loads(one.committed_json)["citations"]
    )
