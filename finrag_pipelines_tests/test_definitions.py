"""The asset graph as the Dagster UI shows it, and the jobs run for real on small documents."""

from pathlib import Path

import dagster as dg
import pytest

from finrag_pipelines.build import build_defs
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.defs.local import LocalRunner
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.defs.sensors import folder_discovery
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.storage import Store

GRAPH = {
    "source_filings": set(),
    "document_versions": {"source_filings"},
    "text_representations": {"document_versions"},
    "fragments": {"text_representations"},
    "fragment_embeddings": {"fragments"},
    "corpus_manifest": {"fragment_embeddings"},
    "search_index": {"corpus_manifest"},
    "index_evaluation": {"search_index"},
    "current_index": {"index_evaluation"},
    "answers": {"current_index"},
    "evaluation_sets": set(),
    "evaluation_results": {"evaluation_sets", "current_index"},
    "evaluation_report": {"evaluation_results"},
}
EVALUATION = {"evaluation_sets", "evaluation_results", "evaluation_report"}
PARTITIONED = {"source_filings", "document_versions", "text_representations", "fragments", "fragment_embeddings"} | (
    EVALUATION - {"evaluation_report"}
)
NOTICE = "# Harbour Street Fund\n\nAnnouncement of 3 May 2023\n\nThe fund changes its benchmark to {benchmark}.\n"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
SIDECAR = (
    '{"company": "HSF", "company_name": "Harbour Street Fund", "form": "fund_announcement", "filed": "2023-05-03"}'
)


def _notice(folder: Path, benchmark: str = "the broad index") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "notice.md"
    path.write_text(NOTICE.format(benchmark=benchmark))
    path.with_name("notice.md.meta.json").write_text(SIDECAR)
    return path


@pytest.fixture
def runner(store: Store) -> LocalRunner:
    return LocalRunner.of(store, "hashing")


def _ingest(runner: LocalRunner, source_id: str) -> None:
    outcomes = runner.ingest([source_id], lambda source, outcome: None)
    assert [outcome.error for outcome in outcomes] == [None]


def _versions(runner: LocalRunner) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in GRAPH:
        event = runner.instance.get_latest_materialization_event(dg.AssetKey(name))
        if event and event.asset_materialization:
            tags = event.asset_materialization.tags or {}
            found[name] = tags.get("dagster/data_version")
    return found


def test_the_graph_is_the_one_that_is_documented() -> None:
    graph = build_defs().resolve_asset_graph()
    found = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
    }
    assert found == GRAPH


def test_what_belongs_to_one_source_is_partitioned_by_it() -> None:
    graph = build_defs().resolve_asset_graph()
    partitioned = {k.to_user_string() for k in graph.get_all_asset_keys() if graph.get(k).partitions_def is not None}
    assert partitioned == PARTITIONED


def test_every_asset_says_what_it_is_and_whose() -> None:
    graph = build_defs().resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.description and node.group_name != "default", key
        if key.to_user_string() not in ("source_filings", "evaluation_sets"):
            assert node.owners and node.kinds and node.code_version, key


def test_the_answer_job_has_at_most_three_ops() -> None:
    assert len(list(build_defs().resolve_job_def("answer_questions").graph.node_defs)) <= 3


def test_a_document_goes_through_the_graph_and_an_unchanged_one_changes_no_hash(
    store: Store, runner: LocalRunner, tmp_path: Path
) -> None:
    source_id = str(receive_file(store, _notice(tmp_path / "in")).source_id)
    _ingest(runner, source_id)
    assert runner.publish().error is None
    first = _versions(runner)
    assert all(first.values()) and set(first) == set(GRAPH) - {"source_filings", "answers"} - EVALUATION
    _ingest(runner, source_id)
    assert runner.publish().error is None
    assert _versions(runner) == first
    assert len(read_catalog(store).source(source_id).versions) == 1


def test_changed_bytes_give_a_second_version_and_another_index(
    store: Store, runner: LocalRunner, tmp_path: Path
) -> None:
    source_id = str(receive_file(store, _notice(tmp_path / "in")).source_id)
    _ingest(runner, source_id)
    runner.publish()
    first = _versions(runner)
    receive_file(store, _notice(tmp_path / "in", "a narrower index"))
    _ingest(runner, source_id)
    runner.publish()
    second = _versions(runner)
    assert all(first[name] != second[name] for name in first)
    assert [version.version for version in read_catalog(store).source(source_id).versions] == [1, 2]


def test_events_hold_no_text_of_documents(store: Store, runner: LocalRunner, tmp_path: Path) -> None:
    source_id = str(receive_file(store, _notice(tmp_path / "in", "the canary benchmark")).source_id)
    _ingest(runner, source_id)
    runner.publish()
    config = {"questions": ["What benchmark does the Harbour Street Fund have?"]}
    runner.answer(config)
    for path in store.path("dagster").rglob("*"):
        if path.is_file():
            assert b"canary" not in path.read_bytes(), path


def test_a_source_that_fails_stays_out_of_the_manifest_with_its_reason(
    store: Store, runner: LocalRunner, tmp_path: Path
) -> None:
    good = str(receive_file(store, _notice(tmp_path / "in")).source_id)
    other = tmp_path / "in" / "other.md"
    other.write_text(NOTICE.format(benchmark="none").replace("3 May", "4 May"))
    other.with_name("other.md.meta.json").write_text(SIDECAR.replace("05-03", "05-04"))
    bad = str(receive_file(store, other).source_id)
    for path in store.path("representations", "parses").glob("*.json"):
        path.unlink()
    store.path("objects", read_catalog(store).source(bad).received[-1].content_sha256).write_bytes(b"altered")
    outcomes = runner.ingest([good, bad], lambda source, outcome: None)
    assert outcomes[0].error is None
    assert outcomes[1].error and "no longer has the bytes" in outcomes[1].error
    assert runner.publish().error is None
    event = runner.instance.get_latest_materialization_event(dg.AssetKey("corpus_manifest"))
    assert event and event.asset_materialization
    assert event.asset_materialization.metadata["sources"].value == 1
    assert event.asset_materialization.metadata["left_out"].value == 1


def test_observing_the_sources_reports_the_hash_of_their_bytes(store: Store, tmp_path: Path) -> None:
    receipt = receive_file(store, _notice(tmp_path / "in"))
    defs = build_defs(store=StoreResource(uri=str(store.root)), embedder=EmbedderResource(spec="hashing"))
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(str(SOURCES.name), [str(receipt.source_id)])
        job = dg.define_asset_job("observe", selection=dg.AssetSelection.assets("source_filings"))
        resolved = dg.Definitions.merge(defs, dg.Definitions(jobs=[job])).resolve_job_def("observe")
        assert resolved.execute_in_process(instance=instance, run_config=QUIET).success
        observation = instance.fetch_observations(dg.AssetKey("source_filings"), limit=1).records[0].asset_observation
    assert observation and observation.partition == receipt.source_id
    content = read_catalog(store).source(str(receipt.source_id)).received[-1].content_sha256
    assert observation.tags["dagster/data_version"] == content


def test_the_folder_sensor_reports_new_and_changed_files_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = tmp_path / "inbox"
    monkeypatch.setenv("FINRAG_INBOX", str(inbox))
    resource = StoreResource(uri=str(store.root))

    def tick(cursor: str | None) -> dg.SensorResult | dg.SkipReason:
        with dg.DagsterInstance.ephemeral() as instance:
            context = dg.build_sensor_context(instance=instance, cursor=cursor, resources={"store": resource})
            return folder_discovery(context)  # type: ignore[return-value]

    assert isinstance(tick(None), dg.SkipReason)
    _notice(inbox)
    (inbox / "empty.htm").write_bytes(b"")
    first = tick(None)
    assert isinstance(first, dg.SensorResult) and not first.run_requests, "discovery launches nothing"
    assert [event.partition for event in first.asset_events] == ["HSF_announcement_2023-05-03"]
    assert [len(r.partition_keys) for r in first.dynamic_partitions_requests or []] == [1]
    second = tick(first.cursor)
    assert isinstance(second, dg.SensorResult) and not second.asset_events
    _notice(inbox, "a much narrower index")
    third = tick(second.cursor)
    assert isinstance(third, dg.SensorResult) and third.asset_events
    assert third.asset_events[0].tags != first.asset_events[0].tags


def test_a_flagged_section_warns_by_a_check_of_its_own_and_blocks_nothing(
    store: Store, runner: LocalRunner, tmp_path: Path
) -> None:
    path = tmp_path / "report.md"
    filler = "\n\n".join(f"The fund reports on matter {number} of the year in a sentence." for number in range(90))
    headings = ("Item 1. Business", "Item 7. Legal Proceedings", "Item 8. Financial Statements")
    path.write_text("# Annual Report\n\n" + "\n\n".join(f"## {heading}\n\n{filler}" for heading in headings))
    path.with_name("report.md.meta.json").write_text(
        '{"company": "HSF", "company_name": "Harbour Street Fund", "form": "10-K", "period": "FY2023",'
        ' "filed": "2024-02-03"}'
    )
    _ingest(runner, str(receive_file(store, path).source_id))
    wanted = dg.EventRecordsFilter(dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    events = [record.event_log_entry.dagster_event for record in runner.instance.get_event_records(wanted)]
    checks = {
        event.asset_check_evaluation_data.check_name: event.asset_check_evaluation_data for event in events if event
    }
    doubts = checks.pop("sections_are_sane")
    assert not doubts.passed and doubts.severity is dg.AssetCheckSeverity.WARN and not doubts.blocking
    assert "Item 7: heading_number_differs" in (doubts.description or "")
    assert all(check.passed for check in checks.values()) and "identity_is_known" in checks
