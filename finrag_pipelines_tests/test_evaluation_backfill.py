"""The evaluator's way: a backfill of configurations x eval sets, launched through the webserver, read in the report."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from finrag_pipelines_tests.dagster_servers import ROOT, Webserver, dagster_serving

pytestmark = pytest.mark.slow
CONFIGURATIONS = ("deterministic_checks", "full", "lexical", "threshold_only")
SETS = ("access", "consumer_staples", "fund_announcements", "insurers", "unanswerable")
PARTITIONS = [f"{configuration}|{name}" for configuration in CONFIGURATIONS for name in SETS]
LONGEST = 6 * 60
"""Seconds that the backfill may take on two cores."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webserver]:
    """The sample corpus in a store, by a command as a newcomer gives it, and Dagster over it."""
    folder = tmp_path_factory.mktemp("backfill")
    environment = {"FINRAG_STORE": str(folder / "store"), "FINRAG_EMBEDDER": "hashing", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "finrag_pipelines.cli", "ingest", str(ROOT / "data" / "sample")]
    subprocess.run(command, check=True, env={**os.environ, **environment}, capture_output=True)
    with dagster_serving(folder / "home", **environment) as server:
        yield server


def _done(server: Webserver, backfill_id: str) -> float:
    started = time.monotonic()
    while (status := server.backfill_status(backfill_id)) in ("REQUESTED", "COMPLETING"):
        assert time.monotonic() - started < 4 * LONGEST, f"the backfill is still {status}"
        time.sleep(2)
    assert status in ("COMPLETED", "COMPLETED_SUCCESS"), status
    return time.monotonic() - started


def test_a_backfill_launched_through_the_webserver_ends_in_a_report_that_compares_the_configurations(
    served: Webserver, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = _done(served, served.backfill(["evaluation_results", "evaluation_report"], PARTITIONS))
    with capsys.disabled():
        print(f"\nbackfill of {len(CONFIGURATIONS)} configurations x {len(SETS)} sets: {seconds:.0f} s")
    assert len(served.metadata("evaluation_results", PARTITIONS)) == len(PARTITIONS)
    report = served.metadata("evaluation_report")[0]
    assert report["evaluations"] == len(PARTITIONS)
    markdown = str(report["report"])
    for expected in (*CONFIGURATIONS, *SETS, "First evidence loss", "Is one better?"):
        assert expected in markdown
    again = _done(served, served.backfill(["evaluation_results"], ["full|access"]))
    newest = served.metadata("evaluation_results", ["full|access"])[0]
    assert newest["skipped"] is True, "unchanged inputs are not run again, and that is said"
    with capsys.disabled():
        print(f"one partition again, unchanged: {again:.0f} s")
    assert seconds < LONGEST
