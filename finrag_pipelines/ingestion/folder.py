"""Files of a folder: which of them are documents, and what their sidecars say. Reading them is in `receive.py`."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import Any

from finrag_pipelines.catalog.calendars import parse_year_end
from finrag_pipelines.catalog.periods import parse_label
from finrag_pipelines.parsing.parse import Overrides

SIDECAR_SUFFIX = ".meta.json"
PRINCIPALS = "principals.json"
MAX_SIDECAR_BYTES = 1024 * 1024
MAX_STATED_CHARACTERS = 500


class SidecarError(Exception):
    """A sidecar cannot be understood; the message says which and why."""


@dataclass(frozen=True)
class Sidecar:
    """What `<file>.meta.json` beside a document says: overrides of its identity, and who may read it (None: silent)."""

    overrides: Overrides = field(default_factory=Overrides)
    labels: tuple[str, ...] | None = None


def find_documents(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files under `paths` in a stable order: every regular file that is neither hidden nor a sidecar."""
    for path in paths:
        if path.is_dir():
            for inner in sorted(path.rglob("*")):
                parts = inner.relative_to(path).parts
                hidden = any(part.startswith(".") for part in parts)
                if inner.is_file() and not hidden and not _is_sidecar(inner):
                    yield inner
        else:
            yield path


def _is_sidecar(path: Path) -> bool:
    return path.name.endswith(SIDECAR_SUFFIX) or path.name == PRINCIPALS


def read_sidecar(document: Path) -> Sidecar:
    """Read the sidecar of `document`, or the defaults where it has none. Raises SidecarError."""
    path = document.with_name(document.name + SIDECAR_SUFFIX)
    try:
        if not path.exists():
            return Sidecar()
    except OSError:  # a name so long that its sidecar's cannot exist
        return Sidecar()
    record = _read_object(path)
    labels = record.pop("access_labels", None)
    known = {f.name for f in fields(Overrides)}
    if unknown := sorted(set(record) - known):
        raise SidecarError(
            f"{path}: unknown field {', '.join(unknown)}; allowed are access_labels, {', '.join(sorted(known))}"
        )
    if labels is not None and not (isinstance(labels, list) and labels and all(map(_is_plain, labels))):
        raise SidecarError(f"{path}: access_labels must be a list of one or more names")
    subjects = record.pop("subjects", None)
    if subjects is not None and not (isinstance(subjects, list) and all(map(_is_plain, subjects))):
        raise SidecarError(f"{path}: subjects must be a list of names")
    if wrong := sorted(name for name, value in record.items() if not isinstance(value, str)):
        raise SidecarError(f"{path}: {', '.join(wrong)} must be text")
    overrides = Overrides(**record, subjects=tuple(subjects) if subjects else None)
    try:
        check_stated(overrides)
    except ValueError as error:
        raise SidecarError(f"{path}: {error}") from None
    return Sidecar(overrides, tuple(sorted(set(labels))) if labels else None)


def check_stated(overrides: Overrides) -> None:
    """Raise ValueError, naming the field, where something stated of an identity is not of its kind."""
    for name, value in overrides.stated().items():
        if isinstance(value, str) and not _is_plain(value):
            raise ValueError(f"{name} must be 1 to {MAX_STATED_CHARACTERS} printable characters")
    if overrides.period is not None:
        parse_label(overrides.period)
    if overrides.fiscal_year_end is not None and parse_year_end(overrides.fiscal_year_end) is None:
        raise ValueError(f"fiscal_year_end {overrides.fiscal_year_end!r} is no month and day; write MM-DD")
    for name in ("period_end", "filed"):
        value = getattr(overrides, name)
        try:
            # `fromisoformat` also reads other spellings, which would make other ids of the same day.
            is_date = value is None or date.fromisoformat(value).isoformat() == value
        except ValueError:
            is_date = False
        if not is_date:
            raise ValueError(f"{name} {value!r} is no date; write YYYY-MM-DD")


def _is_plain(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_STATED_CHARACTERS
        and value.isprintable()
        and bool(value.strip())
    )


def read_principals(folder: Path) -> dict[str, tuple[str, ...]]:
    """Read `principals.json` of `folder`: groups by principal; empty where there is no such file."""
    path = folder / PRINCIPALS
    if not path.exists():
        return {}
    principals = _read_object(path)
    if not all(_is_plain(n) and isinstance(g, list) and all(map(_is_plain, g)) for n, g in principals.items()):
        raise SidecarError(f"{path}: each principal needs a list of groups")
    return {name: tuple(groups) for name, groups in sorted(principals.items())}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        size = path.stat().st_size
        if size > MAX_SIDECAR_BYTES:
            raise SidecarError(f"{path} has {size} bytes, more than the {MAX_SIDECAR_BYTES} it may have; shorten it")
        record = json.loads(path.read_text("utf-8"))
    except UnicodeDecodeError:
        raise SidecarError(f"{path} is not UTF-8; save it as UTF-8 or take it away") from None
    except (ValueError, RecursionError) as error:
        raise SidecarError(f"{path} is not JSON ({error}); correct it or take it away") from None
    except OSError as error:
        raise SidecarError(f"{path} cannot be read: {error.strerror}; correct it or take it away") from None
    if not isinstance(record, dict):
        raise SidecarError(f"{path} must hold one JSON object")
    return record
