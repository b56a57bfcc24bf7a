"""What `finrag doctor` looks at: the interpreter, the packages, the packaged model, and the store."""

import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from finrag_pipelines.storage import StoreError, open_store, project_root

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
    from finrag_pipelines.catalog.catalog import read_catalog
    from finrag_pipelines.indexing.publication import current_version

    try:
        catalog = read_catalog(store)
        yield Finding("catalog", True, f"{len(catalog.sources)} sources after {catalog.sequence} log entries")
    except Exception as error:
        yield Finding("catalog", False, str(error), "restore catalog/log of the store from a backup")
    version = current_version(store)
    yield Finding("index", True, version[:12] if version else "not published yet: `finrag ingest PATH…`")
    settings = project_root() / "dagster.yaml"
    yield Finding("dagster.yaml", settings.exists(), str(settings), "run from a checkout of the project")
