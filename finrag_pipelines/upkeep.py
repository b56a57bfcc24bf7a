"""What keeps a store small: which index versions are retained, and the rest cleared away under the store's locks."""

from datetime import timedelta

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.evidence.write import sync_database
from finrag_pipelines.indexing.compaction import Cleared, compact
from finrag_pipelines.indexing.publication import CURRENT, history
from finrag_pipelines.storage import Store
from finrag_pipelines.storage.database import database

NEWEST = 5
GRACE = timedelta(hours=1)


def retained_versions(store: Store, newest: int = NEWEST) -> frozenset[str]:
    """Return the index versions that stay: the newest published ones, the one to go back to, and every one that an
    answer on record was given from, because that answer can be replayed. The pointers' own versions stay whatever this
    returns."""
    published = list(dict.fromkeys(one.index_version for one in reversed(read_catalog(store).publications)))
    left = [one.previous for one in history(store) if one.pointer == CURRENT and one.previous]
    return frozenset(published[:newest]) | frozenset(left[-1:]) | _answered_from(store)


def _answered_from(store: Store) -> frozenset[str]:
    sync_database(store)
    with database(store) as connection:
        tables = (
            "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'evidence' AND table_name = 'answers'"
        )
        found = connection.execute(tables).fetchone()
        if not found or not found[0]:
            return frozenset()
        rows = connection.execute("SELECT DISTINCT index_version FROM evidence.answers").fetchall()
    return frozenset(name for (name,) in rows if name)


def compact_store(store: Store, newest: int = NEWEST, grace: timedelta = GRACE) -> Cleared:
    """Remove what no retained index version needs; return what went. Waits for a publication that is running."""
    with store.lock("publication", timeout=3600):
        return compact(store, retained_versions(store, newest), grace)
