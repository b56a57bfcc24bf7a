"""What Dagster keeps of runs whose questions repeat an erased document: taken away, and its files rewritten.

Nothing else that Dagster keeps holds words of documents (see assets.py); a question is what somebody typed.
"""

import shutil
import sqlite3
from collections.abc import Sequence

from dagster import DagsterInstance

from finrag_pipelines.storage import Store


def forget_runs(store: Store, run_ids: Sequence[str], instance: DagsterInstance | None = None) -> int:
    """Delete runs with their events and logs; return how many were there. Ids that are no runs are passed over.

    `instance` is the one of the store by default. Raises sqlite3.Error where a file cannot be rewritten because
    somebody keeps it locked; doing it again finishes it.
    """
    if not run_ids or (instance is None and not store.path("dagster").is_dir()):
        return 0
    from finrag_pipelines.defs.local import instance_of

    opened = instance or instance_of(store)
    known = [run_id for run_id in run_ids if opened.has_run(run_id)]
    for run_id in known:
        opened.delete_run(run_id)
    home = store.path("dagster")
    for run_id in run_ids:
        (home / "history" / "runs" / f"{run_id}.db").unlink(missing_ok=True)
        shutil.rmtree(home / "compute_logs" / run_id, ignore_errors=True)
        shutil.rmtree(home / run_id, ignore_errors=True)
    # Deleted rows stay in a file of SQLite until it is rewritten.
    for path in sorted(home.rglob("*.db")):
        connection = sqlite3.connect(path, timeout=30)
        try:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.close()
    return len(known)
