"""Files of a folder: which of them are documents, and what their sidecars say. Reading them is in `receive.py`."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from finrag_pipelines.catalog.access import PUBLIC
from finrag_pipelines.parsing.parse import Overrides

SIDECAR_SUFFIX = ".meta.json"
PRINCIPALS = "principals.json"


class SidecarError(Exception):
    """A sidecar cannot be understood; the message says which and why."""


@dataclass(frozen=True)
class Sidecar:
    """What `<file>.meta.json` beside a document says: overrides of its identity, and who may read it."""

    overrides: Overrides = field(default_factory=Overrides)
    labels: tuple[str, ...] = (PUBLIC,)


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
    if not path.exists():
        return Sidecar()
    record = _read_object(path)
    labels = record.pop("access_labels", [PUBLIC])
    known = {f.name for f in fields(Overrides)}
    if unknown := sorted(set(record) - known):
        raise SidecarError(
            f"{path}: unknown field {', '.join(unknown)}; allowed are access_labels, {', '.join(sorted(known))}"
        )
    if not isinstance(labels, list) or not labels or not all(isinstance(label, str) and label for label in labels):
        raise SidecarError(f"{path}: access_labels must be a list of one or more names")
    subjects = record.pop("subjects", None)
    if subjects is not None and not (isinstance(subjects, list) and all(isinstance(s, str) for s in subjects)):
        raise SidecarError(f"{path}: subjects must be a list of names")
    if wrong := sorted(name for name, value in record.items() if not isinstance(value, str)):
        raise SidecarError(f"{path}: {', '.join(wrong)} must be text")
    return Sidecar(Overrides(**record, subjects=tuple(subjects) if subjects else None), tuple(sorted(set(labels))))


def read_principals(folder: Path) -> dict[str, tuple[str, ...]]:
    """Read `principals.json` of `folder`: groups by principal; empty where there is no such file."""
    path = folder / PRINCIPALS
    if not path.exists():
        return {}
    principals = _read_object(path)
    if not all(isinstance(g, list) and all(isinstance(x, str) for x in g) for g in principals.values()):
        raise SidecarError(f"{path}: each principal needs a list of groups")
    return {name: tuple(groups) for name, groups in sorted(principals.items())}


def _read_object(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise SidecarError(f"{path} is not JSON ({error}); correct it or take it away") from None
    if not isinstance(record, dict):
        raise SidecarError(f"{path} must hold one JSON object")
    return record
