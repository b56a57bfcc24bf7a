"""Watched companies: the watch list, what is received of them, and the ticks of the sensors, one by one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from typer.testing import CliRunner

from finrag_pipelines.build import build_defs
from finrag_pipelines.catalog.catalog import read_catalog, register_version
from finrag_pipelines.cli import app
from finrag_pipelines.defs import sensors
from finrag_pipelines.defs.observation import newest_hash
from finrag_pipelines.defs.partitions import SOURCES
from finrag_pipelines.defs.resources import EmbedderResource, StoreResource
from finrag_pipelines.defs.schedules import edgar_daily_poll, poll_edgar
from finrag_pipelines.defs.sensors import EdgarUnansweredError, edgar_discovery, source_observation
from finrag_pipelines.ingestion.edgar import rate
from finrag_pipelines.ingestion.edgar.client import EdgarClient
from finrag_pipelines.ingestion.edgar.errors import NotFoundError
from finrag_pipelines.ingestion.edgar.filings import new_filings, receive_filing
from finrag_pipelines.ingestion.edgar.poll import beginning_with, poll
from finrag_pipelines.ingestion.edgar.settings import EdgarSettings
from finrag_pipelines.ingestion.receive import receive_content, receive_file
from finrag_pipelines.ingestion.watch_list import WatchedCompany, WatchListError, read_watch_list
from finrag_pipelines.parsing.parse import Overrides
from finrag_pipelines.pipeline import published_versions
from finrag_pipelines.status import status
from finrag_pipelines.storage import Store, project_root
from finrag_pipelines_tests.automation_floor import CHAIN, INDEX, Floor
from finrag_pipelines_tests.edgar_server import (
    CIK,
    TOO_FAST,
    EdgarServer,
    Reply,
    archive,
    quarterly_report,
    serving,
    small_edgar,
    submissions,
    tickers,
)

AGENT = "Example Research admin@example.com"
ACME = WatchedCompany("ACME")
SUBMISSIONS = f"/submissions/CIK{CIK}.json"
EVERYTHING = ["ACME_10-Q-A_2025Q1", "ACME_10-Q_2025Q1", "ACME_8-K-EX-99.1_2025-04-22", "ACME_8-K_2025-04-22"]


@pytest.fixture(scope="module")
def server() -> Iterator[EdgarServer]:
    with serving() as running:
        yield running


@pytest.fixture
def edgar(server: EdgarServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> EdgarServer:
    server.clear()
    small_edgar(server)
    watched = tmp_path / "watch_list.toml"
    watched.write_text('[[company]]\nticker = "ACME"\n')
    monkeypatch.setattr(rate, "WINDOW_SECONDS", 0.0)
    for name, value in {
        "NO_PROXY": "127.0.0.1",
        "FINRAG_EDGAR_WWW": server.url,
        "FINRAG_EDGAR_DATA": server.url,
        "FINRAG_EDGAR_USER_AGENT": AGENT,
        "FINRAG_WATCH_LIST": str(watched),
        "FINRAG_STORE": str(tmp_path / "store"),
        "FINRAG_EMBEDDER": "hashing",
    }.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture
def client(store: Store, edgar: EdgarServer) -> Iterator[EdgarClient]:
    with EdgarClient(store, EdgarSettings(AGENT, edgar.url, edgar.url, attempts=2, retry_wait=0.001)) as opened:
        yield opened


# --- the watch list ---------------------------------------------------------------------------------------------------


def test_the_watch_list_of_the_project_can_be_read() -> None:
    companies = read_watch_list(project_root() / "watch_list.toml").companies
    assert [company.name for company in companies] == ["KO", "MDLZ", "PEP"]


def test_a_company_overrides_what_holds_for_all(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(
        'user_agent = "A a@example.com"\nforms = ["10-q"]\nsince = 2024-01-01\nlabels = ["research"]\n'
        '[[company]]\nticker = "brk.b"\n[[company]]\ncik = 1009672\nforms = ["10-K/A"]\nsince = "2018-01-01"\n'
    )
    watch_list = read_watch_list(path)
    assert watch_list.user_agent == "A a@example.com"
    assert watch_list.companies == (
        WatchedCompany("BRK-B", None, ("10-Q",), "2024-01-01", ("research",)),
        WatchedCompany(None, "0001009672", ("10-K",), "2018-01-01", ("research",)),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("companies = 1", "unknown companies"),
        ("[[company]]", "ticker"),
        ('[[company]]\nticker = "KO"\ncik = "1"', "either"),
        ('[[company]]\nticker = "K O O O O"', "is no ticker"),
        ('[[company]]\ncik = "x"', "cik"),
        ('[[company]]\nticker = "KO"\nforms = []', "forms must be"),
        ('[[company]]\nticker = "KO"\nsince = "soon"', "no date"),
        ('[[company]]\nticker = "KO"\n[[company]]\nticker = "ko"', "twice"),
        ('[company]\nticker = "KO"', "[[company]]"),
        ("forms = 10-Q", "not TOML"),
    ],
)
def test_a_watch_list_that_cannot_be_understood_says_where_and_why(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(WatchListError) as raised:
        read_watch_list(path)
    assert str(path) in str(raised.value) and says in str(raised.value)


def test_a_form_includes_its_amendments_and_no_other_form() -> None:
    company = WatchedCompany("ACME", forms=("10-K",), since="2025-01-01")
    wanted = [company.wants(form, "2025-02-01") for form in ("10-K", "10-K/A", "10-KT", "10-Q")]
    assert wanted == [True, True, False, False] and not company.wants("10-K", "2024-12-31")


# --- receiving --------------------------------------------------------------------------------------------------------


def _receive_all(store: Store, client: EdgarClient, company: WatchedCompany = ACME) -> list[str | None]:
    return [
        receipt.source_id
        for watched in reversed(new_filings(store, client, company))
        for receipt in receive_filing(store, client, watched)
    ]


def test_a_filing_becomes_sources_that_say_what_edgar_says_of_them(store: Store, client: EdgarClient) -> None:
    assert sorted(map(str, _receive_all(store, client))) == EVERYTHING
    received = {source_id: s.received[-1] for source_id, s in read_catalog(store).sources.items()}
    quarter, amended = received["ACME_10-Q_2025Q1"], received["ACME_10-Q-A_2025Q1"]
    assert quarter.file_name == "0009990001-25-000002_acme-q1.htm"
    assert quarter.origin == client.settings.www + archive("0009990001-25-000002", "acme-q1.htm")
    for arrival, form, number in ((quarter, "10-Q", 2), (amended, "10-Q/A", 3)):
        identity = arrival.identity
        assert (identity.company, identity.form, identity.cik) == ("ACME", form, CIK)
        assert identity.accession == f"0009990001-25-00000{number}"
        assert (identity.period, identity.period_end) == ("2025Q1", "2025-03-31")
    release = received["ACME_8-K-EX-99.1_2025-04-22"].identity
    assert (release.form, release.filed, release.accession) == ("8-K EX-99.1", "2025-04-22", "0009990001-25-000001")


def test_what_was_received_is_asked_for_no_more(store: Store, client: EdgarClient, edgar: EdgarServer) -> None:
    _receive_all(store, client)
    edgar.asked.clear()
    assert new_filings(store, client, ACME) == ()
    assert edgar.paths() == [SUBMISSIONS]


def test_bytes_that_are_a_source_are_kept_once_and_gone_with_it(store: Store, client: EdgarClient) -> None:
    _receive_all(store, client)
    content = read_catalog(store).source("ACME_10-Q_2025Q1").received[-1].content_sha256
    assert not store.path("edgar_cache", "bodies", content).exists()
    url = client.settings.www + archive("0009990001-25-000002", "acme-q1.htm")
    assert not client.fetch(url, is_final=True).was_sent
    store.path("objects", content).unlink()
    assert client.fetch(url, is_final=True).was_sent


def test_a_filing_that_came_as_a_file_before_is_the_source_it_was(
    store: Store, client: EdgarClient, tmp_path: Path
) -> None:
    path = tmp_path / "report.htm"
    path.write_text(quarterly_report(1))
    assert receive_file(store, path).source_id == "ACME_10-Q_2025Q1"
    _receive_all(store, client)
    source = read_catalog(store).source("ACME_10-Q_2025Q1")
    assert len(source.received) == 1
    assert new_filings(store, client, ACME) == ()


def test_a_filing_whose_press_release_cannot_be_had_stays_new(
    store: Store, client: EdgarClient, edgar: EdgarServer
) -> None:
    page = archive("0009990001-25-000001", "acme-ex991.htm")
    kept = edgar.pages.pop(page)
    first = new_filings(store, client, ACME)[-1]
    with pytest.raises(NotFoundError):
        list(receive_filing(store, client, first))
    assert not read_catalog(store).sources
    edgar.pages[page] = kept
    assert [r.source_id for r in receive_filing(store, client, new_filings(store, client, ACME)[-1])] == [
        "ACME_8-K-EX-99.1_2025-04-22",
        "ACME_8-K_2025-04-22",
    ]


def test_a_filing_that_cannot_be_read_is_rejected_once_with_its_reason(
    store: Store, client: EdgarClient, edgar: EdgarServer
) -> None:
    edgar.put(archive("0009990001-25-000002", "acme-q1.htm"), b"\x00\x01\x02 nothing that can be read")
    (polled,) = poll(store, client, [ACME])
    (left_out,) = [receipt for receipt in polled.receipts if receipt.source_id is None]
    assert left_out.code and left_out.message
    assert len(polled.source_ids) == 3 and polled.is_done and not polled.unanswered
    assert [r.file_name for r in read_catalog(store).rejections.values()] == ["0009990001-25-000002_acme-q1.htm"]
    assert new_filings(store, client, ACME) == ()
    assert len(new_filings(store, client, ACME, retry_rejected=True)) == 1


def test_the_labels_of_the_watch_list_are_those_of_its_sources(store: Store, client: EdgarClient) -> None:
    _receive_all(store, client, WatchedCompany("ACME", forms=("10-Q",), labels=("research",)))
    assert {source.labels for source in read_catalog(store).sources.values()} == {("research",)}


def test_one_company_or_filing_that_fails_does_not_hold_up_the_others(
    store: Store, client: EdgarClient, edgar: EdgarServer
) -> None:
    edgar.pages.pop(archive("0009990001-25-000002", "acme-q1.htm"))
    first, second = poll(store, client, [WatchedCompany("ZZZZ"), ACME])
    assert [read.code for read in first.unanswered] == ["unknown_company"]
    assert [(read.name, read.code) for read in second.unanswered] == [("0009990001-25-000002", "not_found")]
    assert len(second.source_ids) == 3


def test_after_a_refusal_that_holds_for_all_nobody_else_is_asked_about(
    store: Store, client: EdgarClient, edgar: EdgarServer
) -> None:
    edgar.first(SUBMISSIONS, Reply(TOO_FAST.encode(), 403))
    (polled,) = poll(store, client, [ACME, WatchedCompany("KO")])
    assert not polled.is_done and [read.code for read in polled.unanswered] == ["rate_limited"]


def test_a_round_begins_where_the_one_before_ended() -> None:
    companies = [WatchedCompany(name) for name in ("A", "C", "E")]
    assert [c.name for c in beginning_with(companies, "C")] == ["C", "E", "A"]
    assert [c.name for c in beginning_with(companies, "D")] == ["E", "A", "C"]
    assert [c.name for c in beginning_with(companies, "Z")] == ["A", "C", "E"]
    assert [c.name for c in beginning_with(companies, None)] == ["A", "C", "E"]


# --- ticks ------------------------------------------------------------------------------------------------------------


def _tick(sensor: Any, store: Store, instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorResult:
    resources = {"store": StoreResource(uri=str(store.root))}
    result = sensor(dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources))
    assert isinstance(result, dg.SensorResult)
    return result


def _observed(result: dg.SensorResult) -> list[str | None]:
    assert not result.run_requests, "discovery launches nothing"
    return [event.partition for event in result.asset_events]


def _requested(result: dg.SensorResult) -> list[str]:
    return [str(request.partition_key) for request in result.run_requests or []]


def test_discovery_adds_partitions_and_reports_each_hash_once(store: Store, edgar: EdgarServer) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        first = _tick(edgar_discovery, store, instance)
        assert _observed(first) == EVERYTHING
        assert [list(r.partition_keys) for r in first.dynamic_partitions_requests or []] == [EVERYTHING]
        second = _tick(edgar_discovery, store, instance, first.cursor)
        assert not _observed(second) and not second.dynamic_partitions_requests
        assert "nothing new from 1 companies" in str(second.skip_reason)
        edgar.put(SUBMISSIONS, submissions(CIK, ("0009990001-25-000005", "10-Q", "2025-08-01", "", "acme-q2.htm", "")))
        edgar.put(archive("0009990001-25-000005", "acme-q2.htm"), quarterly_report(2))
        third = _tick(edgar_discovery, store, instance, second.cursor)
    assert _observed(third) == ["ACME_10-Q_2025Q2"]


def test_a_failed_read_is_never_an_empty_list(store: Store, edgar: EdgarServer) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        for body in (b"<html>maintenance</html>", b'{"cik": "9990001", "filings": {}}'):
            edgar.pages[SUBMISSIONS] = Reply(body)
            with pytest.raises(EdgarUnansweredError, match="ACME"):
                _tick(edgar_discovery, store, instance)
        small_edgar(edgar)
        assert _observed(_tick(edgar_discovery, store, instance)) == EVERYTHING


def test_a_read_that_failed_is_named_beside_those_that_did_not(
    store: Store, edgar: EdgarServer, tmp_path: Path
) -> None:
    (tmp_path / "watch_list.toml").write_text('[[company]]\nticker = "ACME"\n[[company]]\nticker = "ZZZZ"\n')
    with dg.DagsterInstance.ephemeral() as instance:
        first = _tick(edgar_discovery, store, instance)
        assert _observed(first) == EVERYTHING
        second = _tick(edgar_discovery, store, instance, first.cursor)
    assert "nothing new from 1 companies" in str(second.skip_reason)
    assert "ZZZZ (unknown_company)" in str(second.skip_reason)


def test_a_tick_whose_time_is_over_goes_on_where_it_ended(
    store: Store, edgar: EdgarServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "watch_list.toml").write_text('[[company]]\nticker = "ACME"\n[[company]]\nticker = "SLOW"\n')
    edgar.put("/files/company_tickers.json", tickers(ACME=int(CIK), SLOW=77))
    slow = "/submissions/CIK0000000077.json"
    edgar.put(slow, submissions("77"), delay=1.5)
    monkeypatch.setattr(sensors, "DEADLINE_SECONDS", 1.0)
    with dg.DagsterInstance.ephemeral() as instance:
        first = _tick(edgar_discovery, store, instance, '{"next": "SLOW"}')
        assert first.cursor == '{"next": "SLOW"}' and "nothing new from 0 companies" in str(first.skip_reason)
        assert SUBMISSIONS not in edgar.paths()
        edgar.put(slow, submissions("77"))
        monkeypatch.setattr(sensors, "DEADLINE_SECONDS", 40.0)
        edgar.asked.clear()
        second = _tick(edgar_discovery, store, instance, first.cursor)
    assert [path for path in edgar.paths() if path.startswith("/submissions")] == [slow, SUBMISSIONS]
    assert _observed(second) == EVERYTHING


def test_without_a_watch_list_discovery_skips_and_says_so(
    store: Store, edgar: EdgarServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FINRAG_WATCH_LIST", str(tmp_path / "absent.toml"))
    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"store": StoreResource(uri=str(store.root))}
        result = edgar_discovery(dg.build_sensor_context(instance=instance, resources=resources))
    assert isinstance(result, dg.SkipReason) and "FINRAG_WATCH_LIST" in str(result.skip_message)
    assert not edgar.asked


def _arrive(store: Store, text: str) -> str:
    receipt = receive_content(store, quarterly_report(1, text).encode(), "q1.htm", "test", Overrides())
    return str(receipt.source_id)


def test_observation_reports_new_and_changed_hashes_and_nothing_for_equal_ones(store: Store) -> None:
    source_id = _arrive(store, "One.")

    def newest() -> str:
        return read_catalog(store).source(source_id).received[-1].content_sha256

    def observed(result: dg.SensorResult) -> list[tuple[str | None, str]]:
        return [(event.partition, (event.tags or {})["dagster/data_version"]) for event in result.asset_events]

    with dg.DagsterInstance.ephemeral() as instance:
        first = _tick(source_observation, store, instance)
        assert observed(first) == [(source_id, newest())] and not first.run_requests
        register_version(store, source_id, newest(), 0)
        second = _tick(source_observation, store, instance, first.cursor)
        assert not second.asset_events and not second.run_requests
        assert _arrive(store, "Two.") == source_id
        third = _tick(source_observation, store, instance, second.cursor)
        assert observed(third) == [(source_id, newest())]


def test_a_source_that_nobody_sends_on_is_sent_through_its_chain_after_three_ticks(store: Store) -> None:
    source_id = _arrive(store, "One.")
    with dg.DagsterInstance.ephemeral() as instance:
        first = _tick(source_observation, store, instance)
        assert [list(r.partition_keys) for r in first.dynamic_partitions_requests or []] == [[source_id]]
        second = _tick(source_observation, store, instance, first.cursor)
        patient = _tick(source_observation, store, instance, second.cursor)
        assert _requested(second) == _requested(patient) == [], "automation goes first"
        second = _tick(source_observation, store, instance, patient.cursor)
        assert _requested(second) == [source_id]
        instance.create_run_for_job(
            job_def=build_defs().resolve_job_def("ingest_filings"),
            status=dg.DagsterRunStatus.STARTED,
            tags={"dagster/partition": source_id},
        )
        third = _tick(source_observation, store, instance, second.cursor)
        assert not third.run_requests, "a run is on its way"


def test_the_daily_poll_receives_what_is_new_and_fails_where_edgar_did_not_answer(
    store: Store, edgar: EdgarServer
) -> None:
    resources = {"store": StoreResource(uri=str(store.root))}
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        assert poll_edgar.execute_in_process(instance=instance, resources=resources, run_config=quiet).success
        assert sorted(instance.get_dynamic_partitions(str(SOURCES.name))) == EVERYTHING
        edgar.pages[SUBMISSIONS] = Reply(b"", 404)
        failed = poll_edgar.execute_in_process(
            instance=instance, resources=resources, run_config=quiet, raise_on_error=False
        )
    assert not failed.success
    assert "ACME (not_found)" in str(failed.failure_data_for_node("receive_new_filings"))


def test_the_poll_is_scheduled_daily_and_one_at_a_time() -> None:
    defs = build_defs()
    assert defs.resolve_schedule_def("edgar_daily_poll").job_name == "poll_edgar" == edgar_daily_poll.job_name
    (node,) = defs.resolve_job_def("poll_edgar").graph.node_defs
    assert isinstance(node, dg.OpDefinition) and node.pool == "edgar"


# --- the command ------------------------------------------------------------------------------------------------------


def _sync(*arguments: str) -> tuple[int, Any]:
    result = CliRunner().invoke(app, ["edgar", "sync", "--json", *arguments])
    return result.exit_code, json.loads(result.stdout) if result.stdout.startswith("{") else result.output


def test_a_dry_run_says_what_is_new_and_receives_nothing(edgar: EdgarServer, tmp_path: Path) -> None:
    code, report = _sync("--dry-run")
    assert code == 0 and report["ingest"] is None
    assert [(f["form"], f["filed"]) for f in report["filings"]] == [
        ("8-K", "2025-04-22"),
        ("10-Q", "2025-05-01"),
        ("10-Q/A", "2025-05-20"),
    ]
    assert not (tmp_path / "store" / "objects").exists()
    assert not [path for path in edgar.paths() if path.startswith("/Archives")]
    _, newest = _sync("--dry-run", "--tickers", "acme", "--forms", "10-q", "--limit", "1", "--since", "2025-04-01")
    assert [f["accession"] for f in newest["filings"]] == ["0009990001-25-000003"]


def test_a_sync_without_an_answer_says_so_and_exits_with_another_code(edgar: EdgarServer) -> None:
    code, report = _sync("--dry-run", "--tickers", "ACME,ZZZZ")
    assert code == 4 and len(report["filings"]) == 3
    assert [(missed["path"], missed["code"]) for missed in report["unanswered"]] == [("ZZZZ", "unknown_company")]


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "says"),
    [
        (("--tickers", "??"), {}, 2, "no ticker"),
        (("--since", "soon"), {}, 2, "no date"),
        ((), {"FINRAG_WATCH_LIST": "/nowhere/w.toml"}, 2, "FINRAG_WATCH_LIST"),
        ((), {"FINRAG_EDGAR_USER_AGENT": "curl"}, 1, "FINRAG_EDGAR_USER_AGENT"),
    ],
)
def test_a_sync_that_cannot_start_says_what_to_do(
    arguments: tuple[str, ...], environment: dict[str, str], code: int, says: str, edgar: EdgarServer
) -> None:
    result = CliRunner().invoke(app, ["edgar", "sync", *arguments], env=environment)
    assert result.exit_code == code and says in result.output and not edgar.asked


@pytest.mark.slow
def test_a_sync_publishes_what_it_received_and_a_second_one_does_nothing(edgar: EdgarServer, tmp_path: Path) -> None:
    edgar.put(archive("0009990001-25-000003", "acme-q1a.htm"), b"")
    edgar.put(archive("0009990001-25-000001", "acme-8k.htm"), b"\x00\x01")
    code, report = _sync()
    assert code == 4
    assert report["ingest"]["new_sources"] == ["ACME_10-Q_2025Q1", "ACME_8-K-EX-99.1_2025-04-22"]
    assert report["ingest"]["index_changed"] and len(report["ingest"]["skipped"]) == 1
    assert [missed["code"] for missed in report["unanswered"]] == ["truncated"]
    before = len(read_catalog(Store(tmp_path / "store")).publications)
    small_edgar(edgar)
    code, report = _sync()
    assert code == 0 and report["ingest"]["new_sources"] == ["ACME_10-Q-A_2025Q1"]
    code, report = _sync()
    assert code == 0 and report["filings"] == [] and not report["ingest"]["index_changed"]
    assert len(read_catalog(Store(tmp_path / "store")).publications) == before + 1


@pytest.mark.slow
def test_a_day_with_sixty_filings_three_of_them_broken_is_one_index_build(
    store: Store, edgar: EdgarServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    numbers = [f"0009990001-25-{number:06}" for number in range(100, 160)]
    broken = dict(zip(numbers[10:13], (b"\x00\x01\x02", b"<html><body></body></html>", b"%PDF-1.4 cut"), strict=True))
    rows = [(number, "10-Q", "2025-05-01", "2025-03-31", "q.htm", "") for number in numbers]
    edgar.put(SUBMISSIONS, submissions(CIK, *rows))
    for number in numbers:
        report = quarterly_report(1, f"Report {number}.").encode()
        edgar.put(archive(number, "q.htm"), broken.get(number, report))
    monkeypatch.setattr(sensors, "DEADLINE_SECONDS", 600.0)
    monkeypatch.setenv("FINRAG_EVAL_SETS", str(tmp_path))
    defs = build_defs(store=StoreResource(uri=str(store.root)), embedder=EmbedderResource(spec="hashing"))
    with dg.DagsterInstance.ephemeral() as instance:
        floor = Floor(store, instance, defs)
        assert floor.tick() == {}, "the day before: nothing is there, and nothing is asked for"
        tick = _tick(edgar_discovery, store, instance)
        floor.take(tick)
        asked = floor.tick()
        assert set(asked) == CHAIN and {len(keys) for keys in asked.values()} == {57}, "one tick sends all of them on"
        assert all(floor.run(asked))
        assert floor.settle() == INDEX, "one build, for all of them"
        catalog = read_catalog(store)
        assert len(published_versions(store)) == 57 and len(catalog.publications) == 1
        assert sorted(r.file_name[:20] for r in catalog.rejections.values()) == sorted(broken)
        assert all(rejection.message for rejection in catalog.rejections.values())
        state = status(store)
        assert (state.counts["published"], state.rejected, state.stale) == (57, 3, ())
        assert state.edgar.newest and (len(state.edgar.newest.sources), state.edgar.newest.rejected) == (57, 3)
        edgar.asked.clear()
        runs = len(instance.get_run_records())
        floor.take(_tick(edgar_discovery, store, instance, tick.cursor))
        hashes = {source_id: newest_hash(source) for source_id, source in catalog.sources.items()}
        floor.take(_tick(source_observation, store, instance, json.dumps({"reported": hashes, "waited": {}})))
        assert [floor.tick() for _ in range(3)] == [{}] * 3
        assert edgar.paths() == ["/files/company_tickers.json", SUBMISSIONS]
        assert len(instance.get_run_records()) == runs
        assert read_catalog(store).sequence == catalog.sequence, "the next day without news changes nothing"
        assert status(store).edgar.with_news == state.edgar.newest
