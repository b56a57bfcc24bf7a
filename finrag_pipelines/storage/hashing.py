"""Hashes and canonical JSON: the one way in which this project turns bytes, text and records into identities."""

import hashlib
import json
from typing import Any


def sha256_bytes(content: bytes) -> str:
    """Return the SHA-256 of `content` as 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def sha256_text(text: str) -> str:
    """Return the SHA-256 of the UTF-8 bytes of `text` as 64 hex digits."""
    return sha256_bytes(text.encode("utf-8", "surrogatepass"))


def canonical_json(value: Any) -> bytes:
    """Return `value` as UTF-8 JSON with sorted keys and no blanks: equal values give equal bytes.

    Raises TypeError for anything JSON has no type for, and ValueError for NaN and infinities.
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "surrogatepass"
    )


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`."""
    return sha256_bytes(canonical_json(value))
