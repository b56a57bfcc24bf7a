"""The store: one folder that holds everything the project keeps, addressed by content and written atomically.

Nothing here knows what the bytes mean; the stages name their own sub-paths.
"""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse

from filelock import FileLock

from finrag_pipelines.storage.hashing import sha256_bytes

DEFAULT_FOLDER = ".finrag"


class StoreError(Exception):
    """The store cannot be opened, or holds bytes that are not what their name says."""


def crash_point(name: str) -> None:
    """Kill this process as `kill -9` would, if the environment variable FINRAG_CRASH_AT names this point.

    Tests use it to stop a writer exactly between two writes; in production it costs one dictionary look-up.
    """
    if os.environ.get("FINRAG_CRASH_AT") == name:
        os.kill(os.getpid(), signal.SIGKILL)


_TEMPORARY = ".tmp-"
_DAY = 86_400.0  # seconds; no writer takes that long between two writes


def temporary_prefix() -> str:
    """Return how the names of this process's temporary files and folders in the store begin."""
    return f"{_TEMPORARY}{os.getpid()}-"


def abandoned_files(root: Path) -> Iterator[Path]:
    """Yield the temporary files and folders under `root` that processes left which are gone.

    A number of a process may be another's by now: older than that process, or than a day, a file is nobody's.
    """
    for path in sorted(root.rglob(f"{_TEMPORARY}*")):
        owner = path.name.removeprefix(_TEMPORARY).partition("-")[0]
        try:
            changed = path.stat().st_mtime
        except FileNotFoundError:
            continue
        is_owned = owner.isdecimal() and _is_alive(int(owner)) and changed > _started(int(owner))
        if not is_owned or changed < time.time() - _DAY:
            yield path


def _started(process: int) -> float:
    """Return when a process started, by the clock of files, a minute early for clocks that were set; 0 if unknown."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
        return int(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK") - 60
    except (OSError, ValueError, IndexError, StopIteration):
        return 0.0


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is there, and somebody else's
    return True


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _durable_copy(path: Path, content: bytes) -> Iterator[Path]:
    """Yield a temporary file beside `path` that holds `content`, on disk; what is left of it is removed, and the
    folder is synced, when the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=temporary_prefix())
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
    _fsync_folder(path.parent)


def write_file(path: Path, content: bytes) -> None:
    """Replace `path` by `content` so that a reader sees the old bytes or the new ones, also after a crash."""
    with _durable_copy(path, content) as temporary:
        crash_point("storage.before_rename")
        temporary.replace(path)


def create_file(path: Path, content: bytes) -> None:
    """Write `content` to `path`, which must not exist yet. Raises FileExistsError when somebody else was first."""
    with _durable_copy(path, content) as temporary:
        crash_point("storage.before_link")
        os.link(temporary, path)


@dataclass(frozen=True)
class Store:
    """Everything under one root folder. Paths given to its methods are relative, with `/`."""

    root: Path

    def path(self, *parts: str) -> Path:
        """Return the absolute path of `parts` under the root."""
        return self.root.joinpath(*parts)

    @contextmanager
    def lock(self, name: str, timeout: float = 120.0) -> Iterator[None]:
        """Hold the lock `name` over all processes on this store; raises filelock.Timeout after `timeout` seconds."""
        self.root.mkdir(parents=True, exist_ok=True)
        folder = self.path("locks")
        folder.mkdir(exist_ok=True)
        with FileLock(str(folder / f"{name}.lock"), timeout=timeout):
            yield

    def put_object(self, content: bytes) -> str:
        """Keep `content` as received and return its SHA-256, its name."""
        name = sha256_bytes(content)
        path = self.path("objects", name)
        if not path.exists() or path.read_bytes() != content:
            write_file(path, content)
        return name

    def get_object(self, content_sha256: str) -> bytes:
        """Return the bytes named `content_sha256`. Raises StoreError when they are absent or were altered."""
        path = self.path("objects", content_sha256)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise StoreError(
                f"object {content_sha256[:12]}… is not in {self.root}; ingest the file again to restore it"
            ) from None
        if sha256_bytes(content) != content_sha256:
            raise StoreError(
                f"object {content_sha256[:12]}… in {self.root} no longer has the bytes it was stored with; "
                "ingest the file again to restore it"
            )
        return content


def project_root() -> Path:
    """Return the folder that holds dagster.yaml and workspace.yaml: the checkout, or else the working folder."""
    checkout = Path(__file__).resolve().parents[2]
    return checkout if (checkout / "dagster.yaml").exists() else Path.cwd()


def open_store(uri: str | None = None) -> Store:
    """Open the store at `uri`, at FINRAG_STORE, or at `.finrag` in the project.

    A path or a file:// URI. Raises StoreError for other schemes, which are not supported yet.
    """
    uri = uri or os.environ.get("FINRAG_STORE") or str(project_root() / DEFAULT_FOLDER)
    parsed = urlparse(uri)
    if parsed.scheme not in ("", "file"):
        raise StoreError(
            f"store {uri!r}: only a local folder or a file:// URI is supported; set FINRAG_STORE to a folder"
        )
    root = Path(parsed.path if parsed.scheme else uri).expanduser().absolute()
    if root.exists() and not root.is_dir():
        raise StoreError(f"store {root} is a file; set FINRAG_STORE to a folder")
    return Store(root)
