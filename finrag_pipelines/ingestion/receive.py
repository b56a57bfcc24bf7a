"""Receiving a document: its bytes are read and understood, kept, and recorded in the catalog, or it is rejected.

To know which source a file is, it has to be parsed; the representation that this makes is kept, and found again by the
later stages under the hash of bytes, parser and overrides.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from finrag_pipelines.catalog.catalog import receive, record_rejection
from finrag_pipelines.ingestion.folder import SidecarError, read_sidecar
from finrag_pipelines.parsing.model import ParsedDocument, UnreadableError
from finrag_pipelines.parsing.parse import Overrides, parse, parser_key
from finrag_pipelines.parsing.representation_store import FOLDER, read_representation, write_representation
from finrag_pipelines.storage import Store, canonical_json, sha256_bytes, write_file

MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Receipt:
    """What became of one input: a source (new bytes or known ones), or a rejection with its code and message."""

    path: str
    source_id: str | None
    is_new: bool
    code: str | None = None
    message: str | None = None
    warnings: tuple[str, ...] = ()


def receive_file(
    store: Store, path: Path, overrides: Overrides | None = None, labels: tuple[str, ...] | None = None
) -> Receipt:
    """Receive one file. `overrides` and `labels` win over its sidecar. A file that cannot be used is recorded as
    rejected and never raises."""
    origin, file_name = _printable(str(path.absolute())), _printable(path.name)
    content_sha256: str | None = None
    try:
        sidecar = read_sidecar(path)
        content = _read(path)
        content_sha256 = sha256_bytes(content)
        stated = Overrides(**{**sidecar.overrides.stated(), **(overrides or Overrides()).stated()})  # type: ignore[arg-type]
        _, document = representation_of(store, content, file_name, stated)
    except (UnreadableError, SidecarError) as error:
        code = error.code if isinstance(error, UnreadableError) else "bad_sidecar"
        message = _printable(str(error))
        record_rejection(store, origin, file_name, content_sha256, code, message)
        return Receipt(_printable(str(path)), None, False, code, message)
    store.put_object(content)
    source_id, is_new = receive(
        store,
        document.identity,
        content_sha256,
        file_name,
        origin,
        labels or sidecar.labels,
        stated.as_record(),
        insists=labels is not None or bool(overrides and overrides.stated()),
    )
    return Receipt(_printable(str(path)), source_id, is_new, warnings=document.identity.warnings)


def _printable(name: str) -> str:
    """Return `name` with bytes that are no UTF-8 written as escapes: such a name fits into no table and no JSON."""
    return name.encode("utf-8", "backslashreplace").decode()


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise UnreadableError("not_a_file", f"{path} is neither a file nor a folder; give it as a regular file")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UnreadableError(
                "too_large", f"{path.name} has {size / 2**20:.0f} MB; the limit is {MAX_BYTES / 2**20:.0f} MB: split it"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise UnreadableError("not_found", f"{path} does not exist; check the path") from None
    except OSError as error:
        raise UnreadableError("not_readable", f"{path} cannot be read: {error.strerror}; check its rights") from None


def representation_of(store: Store, content: bytes, name: str, overrides: Overrides) -> tuple[str, ParsedDocument]:
    """Return the representation of `content` by the current parser, made now or found again. Raises UnreadableError."""
    content_sha256 = sha256_bytes(content)
    pointer = store.path(FOLDER, "parses", f"{parser_key(content_sha256, overrides)}.json")
    if pointer.exists():
        representation_id = json.loads(pointer.read_bytes())["representation_id"]
        return representation_id, read_representation(store, representation_id)
    try:
        document = parse(content, name, overrides)
    except UnreadableError:
        raise
    except Exception as error:  # readers of other people's formats fail in ways of their own; one file must not stop all
        raise UnreadableError(
            "reader_failed", f"{name} could not be read ({type(error).__name__}: {error}); check the file and report it"
        ) from error
    representation_id = write_representation(store, content_sha256, document)
    write_file(pointer, canonical_json({"representation_id": representation_id}))
    return representation_id, document
