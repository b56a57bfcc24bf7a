"""Receiving a document: its bytes are read and understood, kept, and recorded in the catalog, or it is rejected.

To know which source a file is, it has to be parsed; the representation that this makes is kept, and found again by the
later stages under the hash of bytes, parser and overrides.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from finrag_pipelines.catalog.catalog import (
    ERASED,
    ErasedError,
    check_not_erased,
    read_catalog,
    receive,
    record_move,
    record_rejection,
)
from finrag_pipelines.ingestion.folder import SidecarError, read_sidecar
from finrag_pipelines.parsing.model import ParsedDocument, UnreadableError
from finrag_pipelines.parsing.parse import Overrides, parse, parser_key
from finrag_pipelines.parsing.representation_store import (
    FOLDER,
    forget_representations,
    read_representation,
    write_representation,
)
from finrag_pipelines.storage import Store, StoreError, canonical_json, sha256_bytes, sha256_text, write_file

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
    try:
        sidecar = read_sidecar(path)
        content = _read(path)
    except (UnreadableError, SidecarError) as error:
        code = error.code if isinstance(error, UnreadableError) else "bad_sidecar"
        receipt = _rejected(store, origin, file_name, None, code, str(error))
    else:
        stated = Overrides(**{**sidecar.overrides.stated(), **(overrides or Overrides()).stated()})  # type: ignore[arg-type]
        insists = labels is not None or bool(overrides and overrides.stated())
        receipt = receive_content(store, content, file_name, origin, stated, labels or sidecar.labels, insists)
        if receipt.source_id:
            _follow_move(store, receipt.source_id, sha256_bytes(content), file_name, origin)
    return replace(receipt, path=_printable(str(path)))


def _follow_move(store: Store, source_id: str, content_sha256: str, file_name: str, origin: str) -> None:
    """Take over the new name of a file that was renamed or moved: the place where its bytes were is empty now. A copy,
    whose original is still there, changes nothing."""
    source = read_catalog(store).source(source_id)
    known = next((one for one in reversed(source.received) if one.content_sha256 == content_sha256), None)
    if known and known.origin != origin and Path(known.origin).is_absolute() and not Path(known.origin).exists():
        record_move(store, source_id, content_sha256, file_name, origin)


def receive_content(
    store: Store,
    content: bytes,
    file_name: str,
    origin: str,
    overrides: Overrides,
    labels: tuple[str, ...] | None = None,
    insists: bool = False,
) -> Receipt:
    """Receive bytes that came from `origin` (a path or an address), by which the receipt calls them.

    `insists` as in `catalog.receive`. What cannot be used is recorded as rejected and never raises.
    """
    content_sha256 = sha256_bytes(content)
    try:
        check_not_erased(read_catalog(store), content_sha256)
        _, document = representation_of(store, content, file_name, overrides)
        store.put_object(content)
        source_id, is_new = receive(
            store, document.identity, content_sha256, file_name, origin, labels, overrides.as_record(), insists=insists
        )
    except UnreadableError as error:
        return _rejected(store, origin, file_name, content_sha256, error.code, str(error))
    except ErasedError as error:
        # Erased while it was read, perhaps: nothing of it may stay, not even the name it came under this time.
        forget_representations(store, {content_sha256})
        store.path("objects", content_sha256).unlink(missing_ok=True)
        return Receipt(origin, None, False, ERASED, str(error))
    return Receipt(origin, source_id, is_new, warnings=document.identity.warnings)


def _rejected(
    store: Store, origin: str, file_name: str, content_sha256: str | None, code: str, message: str
) -> Receipt:
    message = _printable(message)
    record_rejection(store, origin, file_name, content_sha256, code, message)
    return Receipt(origin, None, False, code, message)


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


def _forget(store: Store, pointer: Path) -> None:
    """Take away a pointer and the record that completes the representation it names, so that both are written anew."""
    try:
        representation_id = str(json.loads(pointer.read_bytes())["representation_id"])
        store.path(FOLDER, representation_id, "representation.json").unlink(missing_ok=True)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # the pointer itself is what is damaged
    pointer.unlink(missing_ok=True)


def _check_text(store: Store, content_sha256: str, text: str) -> None:
    """Raise ErasedError for an erased text that comes in other bytes; a source that was there before keeps it."""
    catalog = read_catalog(store)
    if content_sha256 not in catalog.source_of_content and sha256_text(text) in catalog.erased_texts:
        raise ErasedError("this text was erased in other bytes and is not taken again")


def representation_of(store: Store, content: bytes, name: str, overrides: Overrides) -> tuple[str, ParsedDocument]:
    """Return the representation of `content` by the current parser, made now or found again.

    Raises UnreadableError, and ErasedError for a text that was erased in other bytes.
    """
    content_sha256 = sha256_bytes(content)
    pointer = store.path(FOLDER, "parses", f"{parser_key(content_sha256, overrides)}.json")
    if pointer.exists():
        try:
            representation_id = json.loads(pointer.read_bytes())["representation_id"]
            return representation_id, read_representation(store, representation_id)
        except (StoreError, ValueError, KeyError, TypeError):
            # What stands is damaged. The same bytes by the same parser make the same representation again.
            _forget(store, pointer)
    try:
        document = parse(content, name, overrides)
    except UnreadableError:
        raise
    except Exception as error:
        # A reader may fail in ways of its own, and one file must not stop the others.
        raise UnreadableError(
            "reader_failed", f"{name} could not be read ({type(error).__name__}: {error}); check the file and report it"
        ) from error
    _check_text(store, content_sha256, document.text)
    representation_id = write_representation(store, content_sha256, document)
    write_file(pointer, canonical_json({"representation_id": representation_id}))
    return representation_id, document
