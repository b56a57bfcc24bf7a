"""The manifest: exactly which sources, and which fragments of them, an index version holds."""

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

from finrag_pipelines.storage import digest


@dataclass(frozen=True, order=True)
class ShardKey:
    """What a lexical shard is split by: the company and the access labels of its sources (sorted)."""

    company: str
    labels: tuple[str, ...]


@dataclass(frozen=True, order=True)
class ManifestEntry:
    """One live document version with the fragments it is indexed by.

    `fragment_set_id` is the content hash of the fragments in `fragments_path` (relative to the store's root).
    `company` is the company id, or None for documents without an issuer; `subjects` are company ids or names that
    the document is about; `period` is a fiscal label; dates are ISO dates. `amendment` is the effect of an amendment
    (`restates`, `adds`, `unknown`), None for what is none.
    """

    source_id: str
    version: int
    content_sha256: str
    representation_id: str
    fragment_set_id: str
    fragments_path: str
    labels: tuple[str, ...]
    company: str | None = None
    company_name: str | None = None
    form: str | None = None
    period: str | None = None
    period_end: str | None = None
    filed: str | None = None
    title: str | None = None
    subjects: tuple[str, ...] = ()
    event_dates: tuple[str, ...] = ()
    amendment: str | None = None

    @property
    def record(self) -> dict[str, Any]:
        """The entry as JSON has it. A field that came later stands in it where it says something, so that the hashes
        of manifests and shards without it stay what they were."""
        return {name: getattr(self, name) for name in _FIELDS if name != "amendment" or self.amendment}

    @property
    def shard_key(self) -> ShardKey:
        """The shard that this entry's fragments belong to."""
        return ShardKey(self.company or "", tuple(sorted(set(self.labels))))

    @property
    def set_code(self) -> int:
        """A 60-bit integer that stands for source, version and fragments in filters of the vector index."""
        return int(digest([self.source_id, self.version, self.fragment_set_id])[:15], 16)


_FIELDS = tuple(field.name for field in fields(ManifestEntry))


def entry_from_json(value: dict[str, Any]) -> ManifestEntry:
    """Return the entry that `record` wrote as JSON, with its lists as tuples again."""
    fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in value.items()}
    return ManifestEntry(**fields)


@dataclass(frozen=True)
class Manifest:
    """The live entries, sorted by source. Raises ValueError when one source stands in it twice."""

    entries: tuple[ManifestEntry, ...]

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.entries, key=lambda entry: (entry.source_id, entry.version)))
        object.__setattr__(self, "entries", ordered)
        for before, after in pairwise(ordered):
            if before.source_id == after.source_id:
                raise ValueError(
                    f"source {after.source_id} stands in the manifest with versions {before.version} and "
                    f"{after.version}; list the live one only"
                )

    @cached_property
    def sha256(self) -> str:
        """The hash of all entries: equal manifests, equal hash."""
        return digest([entry.record for entry in self.entries])

    def shards(self) -> dict[ShardKey, tuple[ManifestEntry, ...]]:
        """Return the entries of each shard, shards and entries sorted."""
        grouped: dict[ShardKey, list[ManifestEntry]] = {}
        for entry in self.entries:
            grouped.setdefault(entry.shard_key, []).append(entry)
        return {key: tuple(grouped[key]) for key in sorted(grouped)}
