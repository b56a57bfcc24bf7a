"""A thousand sources in the Dagster UI: what the page of a partitioned asset asks, and a tick of each sensor, timed."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import dagster as dg
import pytest

from finrag_pipelines.build import build_defs
from finrag_pipelines.catalog.catalog import change_catalog, read_catalog
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.defs.local import instance_of
from finrag_pipelines.defs.observation import observation_of
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.defs.sensors import source_observation
from finrag_pipelines.parsing.parse import PARSER
from finrag_pipelines.storage import Store, sha256_text
from finrag_pipelines_tests.automation_floor import CHAIN, INDEX
from finrag_pipelines_tests.dagster_servers import Webserver, dagster_serving

pytestmark = pytest.mark.slow
NUMBER = 1_000
PAGE_SECONDS, TICK_SECONDS = 3.0, 10.0
OPENED = ("document_versions", "fragment_embeddings")
"""The assets whose pages are opened: the ends of the chain. Reporting an event takes longer than anything measured, so
that the other assets stay without; automation has the more to say of them."""

# What the page of an asset asks when it is opened, as the UI of this Dagster does: definition, health of all
# partitions, staleness, the newest events, and the newest event of one partition.
PAGE = {
    "definition": """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode { id description
        groupName isPartitioned isObservable isExecutable opNames jobNames
        partitionDefinition { type name description dimensionTypes { type name dynamicPartitionsDefinitionName } }
        dependencyKeys { path } dependedByKeys { path } automationCondition { label expandedLabel }
        targetingInstigators { ... on Sensor { id name } ... on Schedule { id name } } } } }""",
    "partition health": """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode { id
        partitionKeysByDimension { name type partitionKeys }
        assetPartitionStatuses { ... on DefaultPartitionStatuses { materializedPartitions materializingPartitions
          failedPartitions unmaterializedPartitions } } } } }""",
    "live state": """query($keys: [AssetKeyInput!]!) { assetNodes(assetKeys: $keys, loadMaterializations: true) { id
        partitionStats { numMaterialized numMaterializing numPartitions numFailed }
        assetMaterializations(limit: 1) { timestamp runId } assetObservations(limit: 1) { timestamp runId }
        assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization { status } } } } }
        assetsLatestInfo(assetKeys: $keys) { id unstartedRunIds inProgressRunIds latestRun { id status } } }""",
    "staleness": """query($keys: [AssetKeyInput!]!) { assetNodes(assetKeys: $keys) { id staleStatus
        staleCauses { key { path } reason category } } }""",
    "newest events": """query($key: AssetKeyInput!) { assetOrError(assetKey: $key) { ... on Asset { id
        assetMaterializations(limit: 100) { partition timestamp runId tags { key value }
          metadataEntries { label __typename } } } } }""",
    "one partition": """query($key: AssetKeyInput!, $partition: String!) {
        assetNodeOrError(assetKey: $key) { ... on AssetNode { id
          latestMaterializationByPartition(partitions: [$partition]) { partition timestamp tags { key value } }
          staleStatus(partition: $partition) staleCauses(partition: $partition) { reason category } } } }""",
}


@dataclass(frozen=True)
class Crowd:
    """A store of a thousand sources, with materializations of each in its Dagster instance."""

    store: Store
    instance: dg.DagsterInstance
    defs: dg.Definitions


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    store = Store(tmp_path_factory.mktemp("crowd") / "store")
    change_catalog(store, lambda catalog: [event for number in range(NUMBER) for event in _events(number)])
    sources = read_catalog(store).sources
    with instance_of(store) as instance:
        instance.add_dynamic_partitions(str(SOURCES.name), sorted(sources))
        for source_id in sorted(sources):
            for name in OPENED:
                instance.report_runless_asset_event(_made(name, source_id))
        for name in INDEX:
            instance.report_runless_asset_event(_made(name, None))
        defs = build_defs(store=StoreResource(uri=str(store.root)), embedder=EmbedderResource(spec="hashing"))
        yield Crowd(store, instance, defs)


def _events(number: int) -> Iterator[dict[str, Any]]:
    content = sha256_text(f"filing {number}")
    identity = Identity(company=f"CO{number:04}", form="10-Q", period="2025Q3", filed="2025-11-01")
    named = {"source_id": f"CO{number:04}_10-Q_2025Q3", "content_sha256": content}
    place = {"file_name": f"{number}.htm", "origin": f"/in/{number}.htm", "labels": ["public"], "overrides": {}}
    yield {"type": "received", **named, **place, "identity": asdict(identity)}
    yield {"type": "version_registered", **named, "version": 1}
    yield {"type": "parsed", **named, "version": 1, "representation_id": content, "parser": PARSER}


def _made(name: str, partition: str | None) -> dg.AssetMaterialization:
    version = sha256_text(f"{name} {partition}")
    return dg.AssetMaterialization(name, partition=partition, tags={"dagster/data_version": version})


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def test_the_page_of_a_partitioned_asset_is_there_in_three_seconds(
    crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"FINRAG_STORE": str(crowd.store.root), "FINRAG_EMBEDDER": "hashing"}
    with dagster_serving(crowd.store.path("dagster"), daemon=False, **environment) as server:
        for asset in OPENED:
            seconds = _open_page(server, asset)
            with capsys.disabled():
                print(f"\n{asset} with {NUMBER} partitions: {sum(seconds.values()):.2f} s, one query after the other")
                print("  " + ", ".join(f"{name} {took * 1000:.0f} ms" for name, took in seconds.items()))
            assert sum(seconds.values()) < PAGE_SECONDS


def _open_page(server: Webserver, asset: str) -> dict[str, float]:
    key = {"path": [asset]}
    variables = {"key": key, "keys": [key], "partition": "CO0500_10-Q_2025Q3"}
    seconds = {}
    for name, query in PAGE.items():
        wanted = {variable: value for variable, value in variables.items() if f"${variable}:" in query}
        seconds[name], answer = _timed(lambda query=query, wanted=wanted: server.ask(query, wanted))
        if name == "partition health":
            statuses = answer["assetNodeOrError"]["assetPartitionStatuses"]
            assert len(statuses["materializedPartitions"]) == NUMBER
    return seconds


def test_one_tick_of_each_sensor_takes_less_than_ten_seconds(crowd: Crowd, capsys: pytest.CaptureFixture[str]) -> None:
    def observed(cursor: str | None) -> dg.SensorResult:
        resources = {"store": StoreResource(uri=str(crowd.store.root))}
        result = source_observation(dg.build_sensor_context(crowd.instance, cursor=cursor, resources=resources))
        assert isinstance(result, dg.SensorResult)
        return result

    def evaluated(cursor: Any) -> Any:
        return dg.evaluate_automation_conditions(defs=crowd.defs, instance=crowd.instance, cursor=cursor)

    first_look, all_new = _timed(lambda: observed(None))
    assert len(all_new.asset_events) == NUMBER
    next_look, nothing_new = _timed(lambda: observed(all_new.cursor))
    assert not nothing_new.asset_events and not nothing_new.run_requests
    first_tick, begun = _timed(lambda: evaluated(None))
    next_tick, quiet = _timed(lambda: evaluated(begun.cursor))
    assert quiet.total_requested == 0
    change_catalog(crowd.store, lambda catalog: [next(_other_bytes())])
    crowd.instance.report_runless_asset_event(observation_of(read_catalog(crowd.store).source("CO0007_10-Q_2025Q3")))
    change, asked = _timed(lambda: evaluated(quiet.cursor))
    assert asked.total_requested == len(CHAIN), "the chain of one source, all of it"
    with capsys.disabled():
        print(f"\n{NUMBER} sources: observation {first_look:.2f} s, then {next_look:.2f} s; ", end="")
        print(f"automation {first_tick:.2f} s, then {next_tick:.2f} s, with one change {change:.2f} s")
    assert max(first_look, next_look, first_tick, next_tick, change) < TICK_SECONDS


def _other_bytes() -> Iterator[dict[str, Any]]:
    event = next(_events(7))
    yield {**event, "content_sha256": sha256_text("other bytes")}
