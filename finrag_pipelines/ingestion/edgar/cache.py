"""Answers that EDGAR gave before: what it called them (ETag, Last-Modified) and the hash of their bytes.

Bytes that are a source's are not kept twice: they are read from the store's objects, and are gone with them.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from finrag_pipelines.storage import Store, StoreError, canonical_json, sha256_bytes, sha256_text, write_file

FOLDER = "edgar_cache"


@dataclass(frozen=True)
class KnownAnswer:
    """An answer given before, without its bytes."""

    url: str
    content_sha256: str
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True)
class AnswerCache:
    """The answers kept under one store."""

    store: Store

    def find(self, url: str) -> KnownAnswer | None:
        """Return what is known of the answer at `url`, or None where nothing is."""
        try:
            return KnownAnswer(**json.loads(self._answer_path(url).read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def body(self, answer: KnownAnswer) -> bytes | None:
        """Return the bytes of an answer, or None where they are no longer kept or no longer what they were."""
        try:
            return self.store.get_object(answer.content_sha256)
        except StoreError:
            pass
        try:
            content = self._body_path(answer.content_sha256).read_bytes()
        except FileNotFoundError:
            return None
        return content if sha256_bytes(content) == answer.content_sha256 else None

    def keep(self, url: str, content: bytes, etag: str | None, last_modified: str | None) -> KnownAnswer:
        """Keep an answer in place of the one before."""
        answer = KnownAnswer(url, sha256_bytes(content), etag, last_modified)
        before = self.find(url)
        body = self._body_path(answer.content_sha256)
        if not body.exists() and not self.store.path("objects", answer.content_sha256).exists():
            write_file(body, content)
        write_file(self._answer_path(url), canonical_json(asdict(answer)))
        if before and before.content_sha256 != answer.content_sha256:
            self.drop_body(before.content_sha256)
        return answer

    def drop_body(self, content_sha256: str) -> None:
        """Forget bytes, because the store has them as an object or because EDGAR has newer ones."""
        self._body_path(content_sha256).unlink(missing_ok=True)

    def _answer_path(self, url: str) -> Path:
        return self.store.path(FOLDER, "answers", f"{sha256_text(url)}.json")

    def _body_path(self, content_sha256: str) -> Path:
        return self.store.path(FOLDER, "bodies", content_sha256)
