"""A Dagster instance whose automation is driven tick by tick: what the tests of automation and of sensors share."""

from dataclasses import dataclass
from typing import Any

import dagster as dg

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.defs.assets import FILING_CHAIN
from finrag_pipelines.defs.observation import observation_of
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.ingestion.receive import receive_content
from finrag_pipelines.parsing.parse import Overrides
from finrag_pipelines.storage import Store

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
CHAIN = {key.to_user_string() for key in FILING_CHAIN}
INDEX = ["corpus_manifest", "search_index", "index_evaluation", "current_index"]


@dataclass
class Floor:
    """A store, a Dagster instance, and the cursor of the automation sensor."""

    store: Store
    instance: dg.DagsterInstance
    defs: dg.Definitions
    cursor: Any = None

    def arrive(self, name: str, text: str) -> str:
        """Receive a notice and report it, as discovery does; return its source id."""
        stated = Overrides(company=name, company_name=name, form="fund_announcement", filed="2023-05-03")
        content = f"# {name}\n\nAnnouncement of 3 May 2023\n\nThe fund changes its benchmark to {text}.\n".encode()
        source_id = str(receive_content(self.store, content, f"{name}.md", name, stated).source_id)
        self.report(source_id)
        return source_id

    def report(self, source_id: str) -> None:
        """Report the hash of the newest bytes of a source."""
        self.instance.add_dynamic_partitions(str(SOURCES.name), [source_id])
        self.instance.report_runless_asset_event(observation_of(read_catalog(self.store).source(source_id)))

    def take(self, sensed: dg.SensorResult) -> None:
        """Take over what a sensor returned: partitions and observations; discovery launches nothing."""
        assert not sensed.run_requests
        for request in sensed.dynamic_partitions_requests or []:
            self.instance.add_dynamic_partitions(str(SOURCES.name), list(request.partition_keys))
        for event in sensed.asset_events:
            self.instance.report_runless_asset_event(event)  # type: ignore[arg-type]

    def tick(self) -> dict[str, set[str | None]]:
        """Evaluate all conditions once; return the partitions that are asked for, by asset."""
        result = dg.evaluate_automation_conditions(defs=self.defs, instance=self.instance, cursor=self.cursor)
        self.cursor = result.cursor
        asked = {name: result.get_requested_partitions(dg.AssetKey(name)) for name in (*sorted(CHAIN), *INDEX)}
        return {name: set(keys) for name, keys in asked.items() if keys}

    def run(self, asked: dict[str, set[str | None]]) -> list[bool]:
        """Launch what a tick asked for, one run a partition, as the sensor does; return which succeeded."""
        partitions = sorted({key for keys in asked.values() for key in keys}, key=str)
        return [self._run([a for a, keys in asked.items() if key in keys], key) for key in partitions]

    def _run(self, assets: list[str], partition: str | None) -> bool:
        job = "publish_index" if partition is None else "ingest_filings"
        result = self.defs.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            run_config=QUIET,
            partition_key=partition,
            raise_on_error=False,
            asset_selection=[dg.AssetKey(name) for name in assets],
        )
        return result.success

    def settle(self, most: int = 12) -> list[str]:
        """Tick and run until nothing is asked for; return the assets of the index that were asked for, in order."""
        order: list[str] = []
        for _ in range(most):
            asked = self.tick() or self.tick()  # the manifest waits for one quiet tick
            order += [name for name in asked if name in INDEX]
            if not asked:
                return order
            self.run(asked)
        raise AssertionError("it does not come to rest")
