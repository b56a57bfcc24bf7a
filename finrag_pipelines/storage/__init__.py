"""Where bytes are kept: one store folder, atomic writes, locks, content hashes, and the DuckDB file.

What the bytes mean is for the stages to know.
"""

from finrag_pipelines.storage.hashing import canonical_json, digest, sha256_bytes, sha256_text
from finrag_pipelines.storage.store import (
    Store,
    StoreError,
    crash_point,
    create_file,
    open_store,
    project_root,
    write_file,
)

__all__ = [
    "Store",
    "StoreError",
    "canonical_json",
    "crash_point",
    "create_file",
    "digest",
    "open_store",
    "project_root",
    "sha256_bytes",
    "sha256_text",
    "write_file",
]
