"""Where bytes are kept: one store folder, atomic writes, locks, content hashes, and the DuckDB file.

What the bytes mean is for the stages to know.
"""

from finrag_pipelines.storage.hashing import canonical_json, digest, sha256_bytes, sha256_text
from finrag_pipelines.storage.store import (
    Store,
    StoreError,
    abandoned_files,
    crash_point,
    create_file,
    open_store,
    project_root,
    temporary_prefix,
    write_file,
)

__all__ = [
    "Store",
    "StoreError",
    "abandoned_files",
    "canonical_json",
    "crash_point",
    "create_file",
    "digest",
    "open_store",
    "project_root",
    "sha256_bytes",
    "sha256_text",
    "temporary_prefix",
    "write_file",
]
