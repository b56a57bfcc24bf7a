"""Asking EDGAR: what each answer is read as, what each kind of trouble becomes, and how often it is asked."""

import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest

from finrag_pipelines.ingestion.edgar import errors, rate
from finrag_pipelines.ingestion.edgar.client import EdgarClient
from finrag_pipelines.ingestion.edgar.listings import read_feed, read_index
from finrag_pipelines.ingestion.edgar.model import Filing
from finrag_pipelines.ingestion.edgar.settings import EdgarSettings, edgar_settings
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.edgar_server import (
    ACCESS_DENIED,
    CIK,
    TOO_FAST,
    UNDECLARED,
    EdgarServer,
    Reply,
    archive,
    columns,
    filing_index,
    quarterly_report,
    serving,
    small_edgar,
    submissions,
    tickers,
)

AGENT = "Example Research admin@example.com"
PATH = f"/submissions/CIK{CIK}.json"
FILING = Filing(CIK, "0009990001-25-000002", "10-Q", "2025-05-01", "2025-03-31", "acme-q1.htm")


@pytest.fixture(scope="module")
def server() -> Iterator[EdgarServer]:
    with serving() as running:
        yield running


@pytest.fixture
def edgar(server: EdgarServer, monkeypatch: pytest.MonkeyPatch) -> EdgarServer:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server.clear()
    small_edgar(server)
    return server


def _client(store: Store, server: EdgarServer, **changes: float) -> EdgarClient:
    quick = {"timeout": 2.0, "attempts": 3, "retry_wait": 0.001, "retry_wait_most": 0.002}
    return EdgarClient(store, EdgarSettings(AGENT, server.url, server.url, **{**quick, **changes}))  # type: ignore[arg-type]


# --- what is asked ------------------------------------------------------------------------------------------


def test_every_request_says_who_asks(store: Store, edgar: EdgarServer) -> None:
    with _client(store, edgar) as client:
        client.filings(CIK)
        client.company("ACME")
    assert {headers["user-agent"] for _, headers, _ in edgar.asked} == {AGENT}


@pytest.mark.parametrize("agent", ["", "   ", "curl/8", "Example Research", "Example\nadmin@example.com"])
def test_without_a_declared_user_agent_nothing_is_asked_and_the_error_says_how(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINRAG_EDGAR_USER_AGENT", agent)
    with pytest.raises(errors.MissingUserAgentError, match="FINRAG_EDGAR_USER_AGENT"):
        edgar_settings()


def test_the_user_agent_of_the_watch_list_is_used_where_the_environment_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FINRAG_EDGAR_USER_AGENT", raising=False)
    assert edgar_settings(AGENT).user_agent == AGENT
    monkeypatch.setenv("FINRAG_EDGAR_USER_AGENT", "Other b@example.com")
    assert edgar_settings(AGENT).user_agent == "Other b@example.com"


def test_a_ticker_is_found_however_its_share_class_is_written(store: Store, edgar: EdgarServer) -> None:
    edgar.put("/files/company_tickers.json", tickers(ACME=int(CIK), ACM_B=77, ACM_A=77))
    with _client(store, edgar) as client:
        assert client.company("acm.b").cik == client.company("ACM-A").cik == "0000000077"
        with pytest.raises(errors.UnknownCompanyError, match="ACME"):
            client.company("ACMF")


def test_older_pages_are_read_only_as_far_back_as_they_are_asked_for(store: Store, edgar: EdgarServer) -> None:
    old, older = f"CIK{CIK}-submissions-001.json", f"CIK{CIK}-submissions-002.json"
    recent = ("0009990001-25-000002", "10-Q", "2025-05-01", "2025-03-31", "q.htm", "")
    edgar.put(PATH, submissions(CIK, recent, older=((old, "2019-01-01", "2021-12-31"), (older, "1999", "2018-12-31"))))
    edgar.put(f"/submissions/{old}", columns(("0009990001-20-000001", "10-K", "2020-02-01", "2019-12-31", "k.htm", "")))
    edgar.put(f"/submissions/{older}", columns(("0009990001-99-000001", "10-K", "1999-02-01", "", "", "")))
    with _client(store, edgar) as client:
        assert [f.accession[11:13] for f in client.filings(CIK, "2024-01-01")] == ["25"]
        assert edgar.paths() == [PATH]
        assert [f.accession[11:13] for f in client.filings(CIK, "2020-01-01")] == ["25", "20"]
        everything = client.filings(CIK)
    assert [f.filed for f in everything] == ["2025-05-01", "2020-02-01", "1999-02-01"]
    assert everything[-1].primary_document is None and everything[-1].period_of_report is None


def test_a_filing_without_a_primary_document_is_its_complete_submission(store: Store, edgar: EdgarServer) -> None:
    old = Filing(CIK, "0009990001-99-000001", "10-K", "1999-02-01")
    edgar.put(archive(old.accession, "0009990001-99-000001.txt"), "<SEC-DOCUMENT>")
    with _client(store, edgar) as client:
        assert client.primary_document(old).content == b"<SEC-DOCUMENT>"


def test_the_index_of_a_filing_names_its_documents_also_behind_the_viewer(store: Store, edgar: EdgarServer) -> None:
    filing = Filing(CIK, "0009990001-25-000001", "8-K", "2025-04-22", None, "acme-8k.htm")
    with _client(store, edgar) as client:
        index = client.filing_index(filing)
    assert (index.form, index.filed) == ("8-K", "2025-04-22")
    assert [(d.type, d.name) for d in index.documents] == [("8-K", "acme-8k.htm"), ("EX-99.1", "acme-ex991.htm")]
    assert index.documents[0].path == archive(filing.accession, "acme-8k.htm")


def test_an_index_page_that_leads_out_of_the_archive_is_not_followed(store: Store, edgar: EdgarServer) -> None:
    filing = Filing(CIK, "0009990001-25-000009", "8-K", "2025-04-22", None, "a.htm")
    page = filing_index(filing.accession, "8-K", ("8-K", "../../../../etc/a.htm"), ("EX-99.1", "b.htm"))
    edgar.put(archive(filing.accession, f"{filing.accession}-index.htm"), page)
    with _client(store, edgar) as client:
        assert [d.name for d in client.filing_index(filing).documents] == ["b.htm"]


# --- trouble ------------------------------------------------------------------------------------------------


TROUBLE = {
    "403 undeclared": (Reply(UNDECLARED.encode(), 403), errors.UndeclaredAgentError, 1),
    "200 undeclared": (Reply(UNDECLARED.encode()), errors.UndeclaredAgentError, 1),
    "403 rate": (Reply(TOO_FAST.encode(), 403), errors.RateLimitedError, 1),
    "200 rate": (Reply(TOO_FAST.encode()), errors.RateLimitedError, 1),
    "429": (Reply(b"slow down", 429), errors.RateLimitedError, 1),
    "403 other": (Reply(b"<p>no</p>", 403), errors.ForbiddenError, 1),
    "403 of the archive": (Reply(ACCESS_DENIED.encode(), 403), errors.NotFoundError, 1),
    "404": (Reply(b"", 404), errors.NotFoundError, 1),
    "301": (Reply(b"", 301, (("Location", "/elsewhere"),)), errors.UnexpectedStatusError, 1),
    "503": (Reply(b"<html>sorry</html>", 503), errors.UnavailableError, 3),
    "503 for long": (Reply(b"", 503, (("Retry-After", "900"),)), errors.UnavailableError, 1),
    "500": (Reply(b"", 500), errors.UnavailableError, 3),
    "connection closed": (Reply(drop=True), errors.UnavailableError, 3),
    "body cut off": (Reply(b'{"cik": "1", "name": "Acme"}', cut=9), errors.TruncatedError, 3),
    "half of the JSON": (Reply(b'{"cik": "1", "na'), errors.TruncatedError, 3),
    "empty": (Reply(b""), errors.TruncatedError, 3),
    "broken gzip": (Reply(b"\x1f\x8bnot", headers=(("Content-Encoding", "gzip"),)), errors.TruncatedError, 3),
    "HTML for JSON": (Reply(b"<!DOCTYPE html><html>maintenance</html>"), errors.UnexpectedContentError, 1),
    "text for JSON": (Reply(b"maintenance"), errors.UnexpectedContentError, 1),
    "other JSON": (Reply(b'{"cik": "9990001", "filings": []}'), errors.MalformedError, 1),
    "deep JSON": (Reply(b"[" * 200_000), errors.MalformedError, 1),
}


@pytest.mark.parametrize("kind", TROUBLE)
def test_each_trouble_is_an_error_of_its_own_that_says_where_and_what_to_do(
    kind: str, store: Store, edgar: EdgarServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "WINDOW_SECONDS", 0.0)
    reply, expected, requests = TROUBLE[kind]
    edgar.pages[PATH] = reply
    with _client(store, edgar) as client, pytest.raises(errors.EdgarError) as raised:
        client.filings(CIK)
    assert type(raised.value) is expected
    assert edgar.url + PATH in str(raised.value) and str(raised.value).endswith(expected.remedy)
    assert len(edgar.asked) == requests, "what cannot pass is not asked again"


def test_the_codes_of_the_errors_are_all_different() -> None:
    kinds = errors.EdgarError.__subclasses__()
    assert len({kind.code for kind in kinds}) == len({kind.remedy for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("kind", ["503", "connection closed", "body cut off", "half of the JSON", "broken gzip"])
def test_trouble_that_passes_leaves_no_trace_in_the_answer(
    kind: str, store: Store, edgar: EdgarServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "WINDOW_SECONDS", 0.0)
    with _client(store, edgar) as client:
        expected = client.filings(CIK)
    edgar.first(PATH, TROUBLE[kind][0], TROUBLE[kind][0])
    with _client(Store(store.root / "other"), edgar) as client:
        assert client.filings(CIK) == expected


def test_a_server_that_does_not_answer_in_time_is_unavailable(store: Store, edgar: EdgarServer) -> None:
    edgar.pages[PATH] = Reply(b"{}", delay=0.5)
    with _client(store, edgar, timeout=0.1, attempts=1) as client, pytest.raises(errors.UnavailableError):
        client.filings(CIK)


def test_a_short_retry_after_is_waited_for(store: Store, edgar: EdgarServer) -> None:
    edgar.first(PATH, Reply(b"", 429, (("Retry-After", "1"),)))
    with _client(store, edgar) as client:
        assert client.filings(CIK)
    (_, _, refused), (_, _, answered) = edgar.asked
    assert answered - refused >= 1


def test_after_the_rate_was_exceeded_no_process_asks_until_it_is_over(store: Store, edgar: EdgarServer) -> None:
    edgar.first(PATH, Reply(TOO_FAST.encode(), 403))
    with _client(store, edgar) as client, pytest.raises(errors.RateLimitedError):
        client.filings(CIK)
    with _client(store, edgar) as another, pytest.raises(errors.RateLimitedError, match="not asked"):
        another.company("ACME")
    assert len(edgar.asked) == 1
    assert 590 < rate.RequestRate(store).blocked_for() <= 600
    rate.RequestRate(store).block(0)
    with _client(store, edgar) as client:
        assert client.filings(CIK)


def test_when_the_time_is_over_nothing_more_is_asked(store: Store, edgar: EdgarServer) -> None:
    settings = EdgarSettings(AGENT, edgar.url, edgar.url)
    with EdgarClient(store, settings, time.monotonic() - 1) as client, pytest.raises(errors.DeadlineError):
        client.filings(CIK)
    assert not edgar.asked


# --- what is kept -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [("ETag", '"abc"'), ("Last-Modified", "Thu, 01 May 2025 10:00:00 GMT")])
def test_an_answer_that_did_not_change_is_not_sent_again(
    header: tuple[str, str], store: Store, edgar: EdgarServer
) -> None:
    edgar.put(PATH, edgar.pages[PATH].body, headers=(header,), gzipped=True)
    with _client(store, edgar) as client:
        first = client.fetch(edgar.url + PATH)
        second = client.fetch(edgar.url + PATH)
        assert (first.was_sent, second.was_sent) == (True, False) and first.content == second.content
        edgar.put(PATH, submissions(CIK), headers=((header[0], header[1].replace("abc", "d").replace("01", "02")),))
        assert client.fetch(edgar.url + PATH).was_sent
        assert client.filings(CIK) == ()
    assert len(list(store.path("edgar_cache", "bodies").iterdir())) == 1, "the older bytes are gone"


def test_a_document_of_the_archive_is_asked_for_once(store: Store, edgar: EdgarServer) -> None:
    with _client(store, edgar) as client:
        first = client.primary_document(FILING)
    with _client(store, edgar) as client:
        assert client.primary_document(FILING).content == first.content == quarterly_report(1).encode()
    assert len(edgar.asked) == 1


def test_altered_bytes_in_the_cache_are_asked_for_again(store: Store, edgar: EdgarServer) -> None:
    with _client(store, edgar) as client:
        first = client.primary_document(FILING)
        store.path("edgar_cache", "bodies", first.content_sha256).write_bytes(b"altered")
        assert client.primary_document(FILING).content == first.content
    assert len(edgar.asked) == 2


# --- how often ----------------------------------------------------------------------------------------------


def _most_in_a_second(moments: list[float]) -> int:
    return max(sum(start <= moment < start + 1 for moment in moments) for start in moments)


def _ask_often(root: Path, url: str, times: int) -> None:
    with EdgarClient(Store(root), EdgarSettings(AGENT, url, url)) as client:
        for _ in range(times):
            client.fetch(f"{url}/files/company_tickers.json", keep=False)


def test_several_processes_together_ask_at_most_nine_times_in_any_second(store: Store, edgar: EdgarServer) -> None:
    context = multiprocessing.get_context("fork")
    asking = [context.Process(target=_ask_often, args=(store.root, edgar.url, 10)) for _ in range(3)]
    for process in asking:
        process.start()
    for process in asking:
        process.join(30)
    moments = [moment for _, _, moment in edgar.asked]
    assert len(moments) == 30 and _most_in_a_second(moments) <= 9


def test_a_request_counts_until_a_second_after_its_answer(store: Store) -> None:
    limit, waited = rate.RequestRate(store), []

    class NoTurnError(Exception):
        pass

    def wait(seconds: float) -> None:
        waited.append(seconds)
        raise NoTurnError

    with ExitStack() as open_requests:
        for _ in range(9):
            open_requests.enter_context(limit.turn())
        with pytest.raises(NoTurnError), limit.turn(wait):
            pass
    with pytest.raises(NoTurnError), limit.turn(wait):
        pass
    assert 0.5 < waited[1] <= 1


def test_the_rate_survives_a_clock_that_jumps_back_and_a_broken_file(store: Store) -> None:
    limit, waited = rate.RequestRate(store), []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        time.sleep(seconds)

    with limit.turn(wait):
        pass
    path = store.path("locks", "edgar_rate.json")
    future = time.time() + 1e6
    path.write_text(json.dumps({"counting": {str(i): future for i in range(9)}, "blocked_until": future}))
    with limit.turn(wait):
        assert not waited and limit.blocked_for() == 0
    path.write_text('{"counting": [')
    with limit.turn(wait):
        assert waited


# --- lists over all companies -------------------------------------------------------------------------------

HEAD = "Description: Daily Index\nLast Data Received: May 1, 2025\n\n \n"
FORM_TITLES = "Form Type   Company Name                    CIK         Date Filed  File Name\n" + "-" * 90 + "\n"
BAR_TITLES = "CIK|Company Name|Form Type|Date Filed|File Name\n" + "-" * 80 + "\n"


def test_a_fixed_width_index_is_read_also_where_a_name_is_too_long_for_its_column() -> None:
    lines = (
        "10-Q        ACME ANVIL WORKS INC           9990001   20250501   edgar/data/9990001/0009990001-25-000002.txt \n"
        "SC 13D/A    A NAME THAT IS MUCH TOO LONG FOR THE COLUMN IT IS IN  77  2025-05-01  "
        "edgar/data/77/0009990001-25-000003.txt\n"
        "this line is broken\n"
    )
    listing = read_index("u", (HEAD + FORM_TITLES + lines).encode())
    assert [(f.form, f.company_name, f.cik, f.filed) for f in listing.filings] == [
        ("10-Q", "ACME ANVIL WORKS INC", CIK, "2025-05-01"),
        ("SC 13D/A", "A NAME THAT IS MUCH TOO LONG FOR THE COLUMN IT IS IN", "0000000077", "2025-05-01"),
    ]
    assert listing.unreadable == ("this line is broken",)


def test_an_index_between_bars_is_read_also_where_a_name_holds_a_bar() -> None:
    line = "77|A | B é|10-K/A|20250501|edgar/data/77/0009990001-25-000003.txt\n"
    listing = read_index("u", (HEAD + BAR_TITLES + line).encode("latin-1"))
    assert [(f.company_name, f.form) for f in listing.filings] == [("A | B é", "10-K/A")]


def test_a_day_without_filings_is_empty_and_half_an_index_is_not() -> None:
    assert read_index("u", (HEAD + FORM_TITLES).encode()).filings == ()
    with pytest.raises(errors.TruncatedError):
        read_index("u", HEAD.encode())
    with pytest.raises(errors.MalformedError):
        read_index("u", (HEAD + FORM_TITLES + "one\ntwo\n").encode())
    with pytest.raises(errors.UnexpectedContentError):
        read_index("u", b"<html>sorry</html>")


def test_the_indexes_lie_where_the_day_and_the_quarter_say(store: Store, edgar: EdgarServer) -> None:
    edgar.put("/Archives/edgar/daily-index/2025/QTR2/form.20250501.idx", HEAD + FORM_TITLES)
    edgar.put("/Archives/edgar/full-index/2024/QTR4/master.idx", HEAD + BAR_TITLES)
    with _client(store, edgar) as client:
        assert client.daily_index(date(2025, 5, 1)).filings == ()
        assert client.full_index(2024, 4, "master").filings == ()
        with pytest.raises(errors.NotFoundError):
            client.daily_index(date(2025, 5, 4))


def _feed(*entries: int) -> str:
    body = "".join(
        f"<entry><title>10-Q - ACME (ANVIL) CORP ({CIK}) (Filer)</title><summary type='html'>&lt;b&gt;Filed:&lt;/b&gt; "
        f"2025-05-01</summary><updated>2025-05-01T18:00:00-04:00</updated><category term='10-Q'/>"
        f"<id>urn:tag:sec.gov,2008:accession-number=0009990001-25-{number:06}</id></entry>"
        for number in entries
    )
    return f'<?xml version="1.0" encoding="ISO-8859-1" ?><feed xmlns="http://www.w3.org/2005/Atom">{body}</feed>'


def test_the_feed_is_read_page_by_page_until_one_is_not_full(store: Store, edgar: EdgarServer) -> None:
    question = "/cgi-bin/browse-edgar?action=getcurrent&type=10-Q&owner=include&count=100&start={}&output=atom"
    edgar.put(question.format(0), _feed(*range(1, 101)))
    edgar.put(question.format(100), _feed(100, 101))
    with _client(store, edgar) as client:
        filings = client.current_filings("10-Q").filings
        assert len(filings) == 101 and filings[0].company_name == "ACME (ANVIL) CORP"
        edgar.pages[question.format(100)] = Reply(b"", 404)
        with pytest.raises(errors.NotFoundError):
            client.current_filings("10-Q")


def test_a_feed_reads_no_entities_and_half_a_feed_is_an_error() -> None:
    with pytest.raises(errors.TruncatedError):
        read_feed("u", _feed(1)[:-10].encode())
    hostile = '<!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/hostname">]>' + _feed(1).partition("?>")[2]
    with pytest.raises(errors.MalformedError):
        read_feed("u", hostile.replace("ACME", "&x;").encode())


# --- recorded answers, where they are present ---------------------------------------------------------------


@pytest.fixture
def recorded(corpus: Path) -> Path:
    folder = corpus / "edgar_api"
    if not folder.is_dir():
        pytest.skip(f"no recorded answers of EDGAR at {folder}")
    return folder


def test_recorded_submissions_are_read_with_their_older_pages(recorded: Path, store: Store, edgar: EdgarServer) -> None:
    for path in recorded.glob("submissions_CIK*.json"):
        name = path.name.removeprefix("submissions_").partition("_")[0].removesuffix(".json") + ".json"
        edgar.file(f"/submissions/{name}", path)
    edgar.file("/files/company_tickers.json", recorded / "company_tickers.json")
    with _client(store, edgar) as client:
        apple = client.filings(client.company("AAPL").cik)
        assert len(apple) == 1988 and apple[-1].filed == "1994-01-26"
        assert client.company("BRK.B").cik == client.company("BRK-A").cik
        assert len(client.filings("1009672")) == 1205, "a company without tickers"
        assert client.filings("350001") == (), "a company that filed nothing"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("form.20200318.idx", 4084),
        ("badform.idx.txt", 10),
        ("empty-form.idx", 0),
        ("master.idx", 20),
        ("master.20181231.idx", 10),
    ],
)
def test_recorded_indexes_are_read_whole(recorded: Path, name: str, lines: int) -> None:
    listing = read_index(name, (recorded / name).read_bytes())
    assert (len(listing.filings), listing.unreadable) == (lines, ())


def test_recorded_feeds_and_index_pages_are_read_whole(recorded: Path, store: Store, edgar: EdgarServer) -> None:
    for name in ("getcurrent_start0.atom.xml", "getcurrent_start100.atom.xml"):
        listing = read_feed(name, (recorded / name).read_bytes())
        assert (len(listing.filings), listing.unreadable) == (100, ())
    filing = Filing("0000796343", "0000796343-23-000044", "8-K", "2023-03-15", None, "adbe-20230315.htm")
    page = archive(filing.accession, f"{filing.accession}-index.htm", filing.cik)
    edgar.file(page, recorded / "index_0000796343-23-000044.html")
    with _client(store, edgar) as client:
        index = client.filing_index(filing)
    assert (index.form, index.filed, index.period_of_report) == ("8-K", "2023-03-15", "2023-03-15")
    assert index.documents[0].name == filing.primary_document
    assert [d.name for d in index.documents if d.type == "EX-99.1"] == ["adbeex991q123.htm"]


@pytest.mark.parametrize(
    ("name", "status", "expected"),
    [
        ("rate-exceeded.html", 403, errors.RateLimitedError),
        ("rate-exceeded.html", 200, errors.RateLimitedError),
        ("SEC.AutomatedTool.html", 403, errors.UndeclaredAgentError),
        ("form_index_403.xml", 403, errors.NotFoundError),
        ("submissions_404.xml", 404, errors.NotFoundError),
        ("getcurrent_start5100_503.html", 503, errors.UnavailableError),
        ("cik_not_found.html", 200, errors.UnexpectedContentError),
    ],
)
def test_recorded_refusals_are_told_apart(
    recorded: Path, name: str, status: int, expected: type[errors.EdgarError], store: Store, edgar: EdgarServer
) -> None:
    edgar.pages[PATH] = Reply((recorded / name).read_bytes(), status)
    with _client(store, edgar) as client, pytest.raises(errors.EdgarError) as raised:
        client.filings(CIK)
    assert type(raised.value) is expected
