"""The index as of a day: of every source the version that stood then, where the present one came later.

What is hidden because it was filed later is retrieval's matter. This is about documents that were corrected since: the
newest file is no evidence of what was known before it came.
"""

from typing import TYPE_CHECKING

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import DocumentVersion, Source, read_catalog
from finrag_pipelines.indexing.build import build_index, describe_index
from finrag_pipelines.indexing.manifest import Manifest, ManifestEntry
from finrag_pipelines.indexing.publication import current_version
from finrag_pipelines.storage import Store

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder


def index_as_of(store: Store, day: str, embedder: "Embedder") -> str | None:
    """Return the index version that holds what stood on the ISO date `day`, or None where the one that answers does.

    It is made of the sources of the index that answers, with the newest version of each that was registered by the end
    of that day (UTC). A source of which none was, came to the store later and counts by its own dates. The version is
    built where it is not there yet, and not published.
    """
    version = current_version(store)
    if version is None:
        return None
    manifest = pipeline.read_manifest(store, describe_index(store, version).manifest_sha256)
    sources = read_catalog(store).sources
    earlier = {
        entry.source_id: found
        for entry in manifest.entries
        if (source := sources.get(entry.source_id)) and (found := _stood(source, entry, day))
    }
    if not earlier:
        return None
    with store.lock("publication", timeout=3600):
        for found in earlier.values():
            pipeline.cut(store, found)
        entries = [
            pipeline.manifest_entry(store, sources[entry.source_id], earlier[entry.source_id])
            if entry.source_id in earlier
            else entry
            for entry in manifest.entries
        ]
        stood = Manifest(tuple(entries))
        pipeline.keep_manifest(store, stood)
        return build_index(store, stood, embedder)


def _stood(source: Source, entry: ManifestEntry, day: str) -> DocumentVersion | None:
    """Return the version that stood on `day` where that is an earlier one than the index holds. Versions are ordered by
    their numbers, whatever the clock said when they came."""
    known = [version for version in source.versions[: entry.version] if version.registered_at[:10] <= day]
    readable = [version for version in known if version.representation_id and not version.is_erased]
    return readable[-1] if readable and readable[-1].version != entry.version else None
