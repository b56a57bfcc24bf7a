"""The command `finrag`, as README has it: the sample path, exit codes, JSON shapes, bad input, and writers that die."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from finrag_pipelines import commands
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.cli import Exit, main
from finrag_pipelines.pipeline import published_versions
from finrag_pipelines.storage import Store

FILES = (
    "PEP_transcript_2026Q1.pdf",
    "PGR_10-Q_2024Q3.htm",
    "RESEARCH_memo_2026-05-06.docx",
    "principals.json",
)
NOTICE = "# Harbour Street Fund\n\nAnnouncement of 3 May 2023\n\nThe fund changes its benchmark to {benchmark}.\n"
SIDECAR = {"company": "HSF", "company_name": "Harbour Street Fund", "form": "fund_announcement", "filed": "2023-05-03"}
PROVENANCE = {
    "source_id", "version", "company", "form", "period", "section", "speaker", "page_index", "page_label",
    "start", "end", "fragment_id", "representation_id", "representation_type", "content_sha256",
}  # fmt: skip


class _Silent:
    """Progress that nobody sees."""

    def track(self, description: str, total: int) -> Any:
        return nullcontext(lambda item: None)


class Finrag:
    """The command in this process, on one store."""

    def __init__(self, store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.err = ""
        self._capsys, self._monkeypatch = capsys, monkeypatch
        monkeypatch.setenv("FINRAG_STORE", str(store))
        monkeypatch.setenv("FINRAG_EMBEDDER", "hashing")

    def __call__(self, *arguments: str, exits: int = 0) -> str:
        self._monkeypatch.setattr(sys, "argv", ["finrag", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = self._capsys.readouterr()
        self.err = captured.err
        assert stopped.value.code == exits, (arguments, captured.out, captured.err)
        assert "Traceback" not in captured.err
        return captured.out

    def json(self, *arguments: str, exits: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", exits=exits))


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A folder with a store in `store`, made by one `finrag ingest` of some sample documents in `in`."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "in").mkdir()
    for name in FILES:
        for path in sample.glob(f"{name}*"):
            shutil.copy(path, folder / "in")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINRAG_EMBEDDER", "hashing")
        report = commands.ingest(Store(folder / "store"), [folder / "in"], _Silent())
    assert (report.error, report.skipped) == (None, ())
    return folder


@pytest.fixture
def finrag(ingested: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Finrag:
    """The command on the store of the sample documents, which tests only read."""
    return Finrag(ingested / "store", capsys, monkeypatch)


@pytest.fixture
def fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Finrag:
    """The command on an empty store."""
    return Finrag(tmp_path / "store", capsys, monkeypatch)


def _environment(store: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "FINRAG_STORE": str(store), "FINRAG_EMBEDDER": "hashing", **more}


def _run(store: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "finrag_pipelines.cli", *arguments],
        env=_environment(store, **environment),
        capture_output=True,
        text=True,
    )


def _notice(folder: Path, number: int = 1, name: str = "") -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / (name or f"notice{number}.md")
    path.write_text(NOTICE.format(benchmark=f"index {number}"))
    path.with_name(f"{path.name}.meta.json").write_text(json.dumps({**SIDECAR, "filed": f"2023-05-{number:02d}"}))
    return path


def test_the_sample_path_of_the_readme(finrag: Finrag, ingested: Path) -> None:
    listing = finrag.json("sources")
    assert {row["availability"] for row in listing["sources"]} == {"published"}
    again = finrag.json("ingest", str(ingested / "in"))
    assert (again["unchanged"], again["index_changed"], again["error"]) == (3, False, None)

    answer = finrag.json("ask", "Progressive combined ratio Q3 2024")
    assert answer["decision"] == "answered" and answer["refusal"] is None
    citation = answer["citations"][0]
    assert citation.keys() >= PROVENANCE | {"claim", "marker", "quote"}
    assert citation["source_id"] == "PGR_10-Q_2024Q3"
    span = f"{citation['start']}:{citation['end']}"
    assert finrag.json("read", citation["source_id"], "--range", span)["text"] == citation["quote"]

    refused = finrag.json("ask", "What is Coca-Cola's stock price today?", exits=Exit.REFUSED)
    assert refused["decision"] == "refused" and refused["refusal"]["code"] == "EVIDENCE_TYPE.live_market"
    assert refused.keys() == answer.keys()

    evidence = finrag.json("evidence", answer["answer_id"])
    assert evidence["answer"]["answer_id"] == answer["answer_id"] and evidence["candidates"] and evidence["gates"]
    verified = finrag.json("verify")
    assert (verified["verified"], verified["differences"]) == (True, [])
    rows = finrag.json("sql", "SELECT answer_id, decision FROM evidence.answers ORDER BY sequence")
    assert [row["decision"] for row in rows] == ["answered", "refused"]
    assert "PGR_10-Q_2024Q3" in finrag("ask", "Progressive combined ratio Q3 2024")


def test_search_shows_results_with_provenance_and_a_trace(finrag: Finrag) -> None:
    found = finrag.json("search", "margin pressure at PepsiCo", "-k", "3")
    assert 0 < len(found["results"]) <= 3 and found["trace"]
    assert found["results"][0].keys() >= (PROVENANCE - {"content_sha256"}) | {"rank", "score", "contributing", "text"}


def test_the_sql_of_the_readme_runs(finrag: Finrag) -> None:
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    queries = [part.split('"')[1] for part in readme.split("finrag sql ")[1:] if part.startswith('"SELECT')]
    assert len(queries) >= 3
    for query in queries:
        assert isinstance(finrag.json("sql", query), list)


def test_a_restricted_source_does_not_exist_for_others(finrag: Finrag) -> None:
    memo = "RESEARCH_memo_2026-05-06"
    for command in ("read", "inspect"):
        finrag(command, memo, exits=Exit.ERROR)
        missing = finrag.err.replace(memo, "X")
        finrag(command, "NO_SUCH_SOURCE", exits=Exit.ERROR)
        assert finrag.err.replace("NO_SUCH_SOURCE", "X") == missing
        assert finrag(command, memo, "--principal", "analyst")
    question = "What does the research memo say?"
    assert memo not in finrag("search", question, "--json")
    assert memo in finrag("search", question, "--json", "--principal", "analyst")
    finrag("search", question, "--principal", "nobody", exits=Exit.ERROR)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE x (n INTEGER)",
        "DROP TABLE catalog.sources",
        "COPY (SELECT 1) TO '{folder}/leak.csv'",
        "ATTACH '{folder}/other.db'",
        "SELECT * FROM read_text('{folder}/secret')",
        "SET enable_external_access = true",
        "SELECT FROM WHERE",
        "",
    ],
)
def test_sql_changes_nothing_and_reaches_no_other_file(finrag: Finrag, tmp_path: Path, statement: str) -> None:
    (tmp_path / "secret").write_text("secret")
    assert finrag("sql", statement.format(folder=tmp_path), exits=Exit.ERROR) == ""
    assert finrag.err.startswith("finrag: sql: ") and finrag.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize(
    "question",
    ["'; DROP TABLE answers; --", "\x1b[2Jred", "\udcff cocoa", '"open (AND [x]:*', "a\x00b", "cocoa " * 1600],
)
def test_hostile_questions_are_searched_for_as_words(finrag: Finrag, question: str) -> None:
    assert "\x1b" not in finrag("search", question)


@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", " "),
        ("search", ""),
        ("ask", "c" * 20_001),
        ("read", "PGR_10-Q_2024Q3", "--range", "9:3"),
        ("ingest", "/no/such/file"),
        ("ingest", str(Path(__file__).parent), "--company", "KO"),
        ("ingest", __file__, "--filed", "yesterday"),
        ("ingest", __file__, "--period", "Q3"),
        ("nonsense",),
    ],
)
def test_wrong_usage_exits_with_2(finrag: Finrag, arguments: tuple[str, ...]) -> None:
    finrag(*arguments, exits=Exit.USAGE)


def test_bad_files_are_skipped_with_reasons_and_the_others_go_on(fresh: Finrag, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    _notice(folder, 1, "-dash\n\x1b[31m.md")
    (folder / "empty.htm").write_bytes(b"")
    (folder / "zip.pdf").write_bytes(b"PK\x03\x04" + bytes(100))
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.htm")
    _notice(folder, 2, "up.md").with_name("up.md.meta.json").write_text(json.dumps({**SIDECAR, "company": "../../up"}))
    report = fresh.json("ingest", str(folder), exits=Exit.SKIPPED)
    assert {Path(skipped["path"]).name for skipped in report["skipped"]} == {"empty.htm", "zip.pdf"}
    assert report["new_sources"] == ["HSF_announcement_2023-05-01", "up_announcement_2023-05-03"]
    listing = fresh.json("sources")
    assert len(listing["rejected"]) == 2 and all(row["message"] for row in listing["rejected"])
    assert "\x1b" not in fresh("sources")
    assert fresh.json("sql", "SELECT count(*) AS n FROM catalog.rejections") == [{"n": 2}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "store"]


def test_an_empty_folder_is_no_error_and_publishes_nothing(fresh: Finrag, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    report = fresh.json("ingest", str(tmp_path / "in"))
    assert (report["found"], report["index_version"]) == (0, None)
    fresh("ask", "What did KO say?", exits=Exit.ERROR)


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("catalog/log/00000001.json", b"{"),
        ("index/CURRENT", b"nonsense"),
        ("index/*/index.json", b"{"),
        ("evidence/HEAD", b"{"),
    ],
)
def test_a_damaged_store_is_one_line_that_says_where(
    ingested: Path, tmp_path: Path, place: str, content: bytes, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    shutil.copytree(ingested / "store", tmp_path / "store")
    finrag = Finrag(tmp_path / "store", capsys, monkeypatch)
    (tmp_path / "store" / "evidence").mkdir(exist_ok=True)
    path = next(iter(sorted((tmp_path / "store").glob(place))), tmp_path / "store" / place)
    path.write_bytes(content)
    finrag("ask", "Progressive combined ratio Q3 2024", exits=Exit.ERROR)
    assert finrag.err.startswith("finrag: ") and finrag.err.count("\n") == 1
    finrag("doctor", exits=Exit.ERROR)


def test_a_reader_that_goes_away_is_no_error(ingested: Path) -> None:
    command = [sys.executable, "-m", "finrag_pipelines.cli", "read", "PGR_10-Q_2024Q3"]
    reading = subprocess.Popen(
        command, env=_environment(ingested / "store"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert reading.stdout and reading.stderr
    reading.stdout.close()
    assert reading.stderr.read() == b""
    reading.wait()


def test_a_terminal_without_utf_8_gets_escapes(ingested: Path) -> None:
    shown = _run(ingested / "store", "read", "PGR_10-Q_2024Q3", "--page", "0", PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")
    listed = _run(ingested / "store", "sources", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(listed.stdout)["sources"]


def _everything_is_published(store: Store, sources: int) -> None:
    catalog = read_catalog(store)
    current = {(source_id, source.current.version) for source_id, source in catalog.sources.items() if source.current}
    assert len(current) == sources
    assert published_versions(store) == current


@pytest.mark.slow
def test_two_ingests_at_once_lose_nothing(tmp_path: Path) -> None:
    both = [_notice(tmp_path / folder, number) for folder, number in (("a", 1), ("b", 2))]
    shared = _notice(tmp_path / "c", 3)
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "finrag_pipelines.cli", "ingest", str(path), str(shared)],
            env=_environment(tmp_path / "store"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for path in both
    ]
    for process in running:
        output, _ = process.communicate()
        assert process.returncode == 0, output.decode()
    _everything_is_published(Store(tmp_path / "store"), 3)


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FINRAG_EMBEDDER", "hashing")
    yield


QUICK_POINTS = ("pipeline.before_publish",)
OTHER_POINTS = (
    "catalog.after_append",
    "indexing.after_vectors",
    "storage.before_rename",
    "storage.before_link",
    "catalog.before_append",
    "indexing.before_description",
    "pipeline.before_publication_recorded",
    "pipeline.before_mirror",
)


@pytest.mark.parametrize("point", [*QUICK_POINTS, *(pytest.param(p, marks=pytest.mark.slow) for p in OTHER_POINTS)])
def test_the_next_ingest_finishes_what_a_killed_one_began(tmp_path: Path, hashing: None, point: str) -> None:
    path, store = _notice(tmp_path / "in"), Store(tmp_path / "store")
    killed = _run(store.root, "ingest", str(path), FINRAG_CRASH_AT=point)
    assert killed.returncode == -signal.SIGKILL
    commands.ingest(store, [path], _Silent())
    _everything_is_published(store, 1)
    columns, rows = commands.query(store, "SELECT availability FROM catalog.sources")
    assert (columns, rows) == (["availability"], [("published",)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    ["evidence.before_records", "evidence.before_head", "evidence.before_pending_removed", "evidence.before_database"],
)
def test_answers_of_a_killed_run_are_whole_or_absent(
    ingested: Path, tmp_path: Path, point: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ingested / "store", tmp_path / "store")
    finrag = Finrag(tmp_path / "store", capsys, monkeypatch)
    question = "Progressive combined ratio Q3 2024"
    before = finrag.json("sql", "SELECT count(*) AS n FROM catalog.sources") and len(_answers(finrag))
    killed = _run(tmp_path / "store", "ask", question, FINRAG_CRASH_AT=point)
    assert killed.returncode == -signal.SIGKILL
    finrag("ask", question)
    assert finrag.json("verify")["verified"]
    kept = 0 if point == "evidence.before_records" else 1
    assert len(_answers(finrag)) == before + 1 + kept


def _answers(finrag: Finrag) -> list[Any]:
    return finrag.json("sql", "SELECT answer_id FROM evidence.answers")
