"""What `finrag doctor` looks at: the interpreter, the packages, the packaged model, and the store."""

import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from finrag_pipelines.storage import Store, StoreError, open_store, project_root

_PACKAGES = (
    "dagster",
    "dagster-webserver",
    "duckdb",
    "lancedb",
    "sentence-transformers",
    "tantivy",
    "ollama",
    "unstructured",
    "ragas",
    "polars",
)
_MIN_FREE_GB = 2


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `remedy` says what to do where it is not well."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def examine() -> tuple[Finding, ...]:
    """Look at everything, in a fixed order."""
    return (_python(), *_packages(), _model(), *_store())


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(
        "python", (3, 11) <= sys.version_info[:2] <= (3, 13), version, "use Python 3.11, 3.12 or 3.13 and `make` again"
    )


def _packages() -> Iterator[Finding]:
    for name in _PACKAGES:
        try:
            yield Finding(name, True, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, False, "not installed", "run `make install`")


def _model() -> Finding:
    from finrag_pipelines.embedding.model import EmbeddingError
    from finrag_pipelines.embedding.opening import open_embedder

    try:
        embedder = open_embedder()
        embedder.embed(["net sales"])
        return Finding("embedding model", True, f"{embedder.name}, digest {embedder.model_digest[:12]}")
    except EmbeddingError as error:
        return Finding("embedding model", False, str(error), "run `make install`, or set FINRAG_EMBEDDER")


def _finding(name: str, look: Callable[[], str], remedy: str) -> Finding:
    try:
        return Finding(name, True, look())
    except Exception as error:
        return Finding(name, False, str(error) or type(error).__name__, remedy)


def _catalog(store: Store) -> str:
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.catalog.log import check_log

    entries = check_log(store)
    return f"{len(read_catalog(store).sources)} sources after {entries} log entries"


def _objects(store: Store) -> str:
    from finrag_pipelines.catalog.catalog import read_catalog

    versions = [v for s in read_catalog(store).sources.values() for v in s.versions]
    names = sorted({v.content_sha256 for v in versions if not v.is_erased})
    for name in names:
        store.get_object(name)
    return f"{len(names)} read back by their hash"


def _index(store: Store) -> str:
    from finrag_pipelines.indexing.build import describe_index
    from finrag_pipelines.indexing.publication import current_version

    version = current_version(store)
    if version is None:
        return "not published yet: `finrag ingest PATH…`"
    described = describe_index(store, version)
    return f"{version[:12]} with {described.fragments} fragments of {described.sources} sources"


def _erasures(store: Store) -> str:
    from finrag_pipelines.lifecycle.erase import said_of, unfinished

    if left := unfinished(store):
        raise StoreError("; ".join(map(said_of, left)))
    return "all finished"


def _evidence(store: Store) -> str:
    from finrag_pipelines.evidence.write import read_head

    head = read_head(store)
    return f"{head.sequence} answers of {head.runs} runs; `finrag verify` reads them all back"


def _store() -> Iterator[Finding]:
    try:
        store = open_store()
        store.root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=store.root):
            pass
        yield Finding("store", True, str(store.root))
    except (StoreError, OSError) as error:
        yield Finding("store", False, str(error), "set FINRAG_STORE to a folder that can be written")
        return
    free = shutil.disk_usage(store.root).free / 2**30
    yield Finding("disk", free > _MIN_FREE_GB, f"{free:.0f} GB free", f"free at least {_MIN_FREE_GB} GB")
    yield _finding("catalog", lambda: _catalog(store), "restore catalog/log of the store from a backup")
    yield _finding("objects", lambda: _objects(store), "ingest the files again whose objects are missing or altered")
    yield _finding("index", lambda: _index(store), "run `finrag ingest` on your filings again")
    yield _finding("evidence", lambda: _evidence(store), "restore evidence/ of the store from a backup")
    yield _finding("erasures", lambda: _erasures(store), "run `finrag erase` on the source again, as said")
    settings = project_root() / "dagster.yaml"
    yield Finding("dagster.yaml", settings.exists(), str(settings), "run from a checkout of the project")
