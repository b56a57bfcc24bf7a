"""An EDGAR on loopback: small answers in EDGAR's shapes, made here, or recorded ones; it misbehaves on demand."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

UNDECLARED = (
    "<html><head><title>SEC.gov | Your Request Originates from an Undeclared Automated Tool</title></head><body>"
    "<h1>Your Request Originates from an Undeclared Automated Tool</h1></body></html>"
)
TOO_FAST = (
    "<html><head><title>SEC.gov | Request Rate Threshold Exceeded</title></head><body>"
    "<p>Your request rate has exceeded the SEC’s maximum allowable requests per second.</p></body></html>"
)
NO_SUCH_KEY = '<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>'
ACCESS_DENIED = '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>'


@dataclass(frozen=True)
class Reply:
    """What the server answers. `cut` bytes of the body are announced and not sent."""

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    cut: int = 0
    gzipped: bool = False
    delay: float = 0.0
    drop: bool = False


@dataclass
class EdgarServer:
    """The answers by path, the trouble that comes before them, and what was asked: (path, headers, moment)."""

    url: str
    pages: dict[str, Reply] = field(default_factory=dict)
    trouble: dict[str, list[Reply]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str], float]] = field(default_factory=list)

    def put(self, path: str, body: bytes | str | dict[str, Any], **reply: Any) -> None:
        """Answer `path` with this body."""
        self.pages[path] = Reply(_bytes(body), **reply)

    def first(self, path: str, *replies: Reply) -> None:
        """Answer `path` with these before anything else, one for each request."""
        self.trouble[path] = list(replies)

    def file(self, path: str, recorded: Path) -> None:
        """Answer `path` with the bytes of a recorded answer."""
        self.put(path, recorded.read_bytes())

    def clear(self) -> None:
        """Forget all answers, all trouble, and what was asked."""
        self.pages.clear()
        self.trouble.clear()
        self.asked.clear()

    def paths(self) -> list[str]:
        """Return the paths that were asked for, in order."""
        return [path for path, _, _ in self.asked]


def _bytes(body: bytes | str | dict[str, Any]) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


def _handler(server: EdgarServer, lock: threading.Lock) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                server.asked.append((self.path, headers, time.monotonic()))
                trouble = server.trouble.get(self.path)
                reply = trouble.pop(0) if trouble else server.pages.get(self.path)
            reply = reply or Reply(NO_SUCH_KEY.encode(), 404)
            time.sleep(reply.delay)
            if reply.drop:
                self.close_connection = True
                self.connection.close()
                return
            with suppress(ConnectionError):  # who asked may have gone
                self._answer(reply, headers)

        def _answer(self, reply: Reply, asked: dict[str, str]) -> None:
            own = {name.lower(): value for name, value in reply.headers}
            same_tag = "etag" in own and asked.get("if-none-match") == own["etag"]
            same_day = "last-modified" in own and asked.get("if-modified-since") == own["last-modified"]
            status, body = (304, b"") if same_tag or same_day else (reply.status, reply.body)
            if reply.gzipped and body:
                body = gzip.compress(body)
            self.send_response(status)
            for name, value in reply.headers:
                self.send_header(name, value)
            if reply.gzipped and body:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) - reply.cut])
            if reply.cut:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def serving() -> Iterator[EdgarServer]:
    """Run a server."""
    server = EdgarServer("")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server, threading.Lock()))
    server.url = f"http://127.0.0.1:{httpd.server_address[1]}"
    thread = threading.Thread(target=lambda: httpd.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


# --- a small EDGAR of our own --------------------------------------------------------------------------------

CIK = "0009990001"


def tickers(**ciks: int) -> dict[str, Any]:
    """Return a list of tickers in EDGAR's shape."""
    return {
        str(i): {"cik_str": cik, "ticker": ticker.replace("_", "-"), "title": f"{ticker} CORP"}
        for i, (ticker, cik) in enumerate(ciks.items())
    }


def columns(*rows: tuple[str, str, str, str, str, str]) -> dict[str, list[Any]]:
    """Return filings as EDGAR lists them, column by column: accession, form, filed, period, primary document, items."""
    names = ("accessionNumber", "form", "filingDate", "reportDate", "primaryDocument", "items")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def submissions(
    cik: str, *rows: tuple[str, str, str, str, str, str], older: tuple[tuple[str, str, str], ...] = ()
) -> dict[str, Any]:
    """Return the submissions of a company in EDGAR's shape."""
    files = [{"name": name, "filingCount": 1, "filingFrom": start, "filingTo": end} for name, start, end in older]
    return {"cik": cik, "name": "Acme", "tickers": ["ACME"], "filings": {"recent": columns(*rows), "files": files}}


def archive(accession: str, name: str, cik: str = CIK) -> str:
    """Return the path of a document in the archive."""
    return f"/Archives/edgar/data/{int(cik)}/{accession.replace('-', '')}/{name}"


def quarterly_report(quarter: int, text: str = "Net sales rose.", form: str = "10-Q") -> str:
    """Return a small 10-Q of 2025 as inline XBRL."""
    ends = ("2025-03-31", "2025-06-30", "2025-09-30")
    words = ("March 31, 2025", "June 30, 2025", "September 30, 2025")
    end, day = ends[quarter - 1], words[quarter - 1]
    facts = "".join(
        f'<p><ix:nonNumeric name="dei:{name}" contextRef="c">{value}</ix:nonNumeric></p>'
        for name, value in (
            ("DocumentType", form),
            ("DocumentPeriodEndDate", day),
            ("DocumentFiscalYearFocus", "2025"),
            ("DocumentFiscalPeriodFocus", f"Q{quarter}"),
            ("EntityRegistrantName", "ACME ANVIL WORKS INC"),
            ("EntityCentralIndexKey", CIK),
            ("TradingSymbol", "ACME"),
        )
    )
    return (
        '<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><head><title>r</title></head><body>'
        '<div style="display:none"><ix:header><ix:resources><xbrli:context id="c"><xbrli:entity>'
        f'<xbrli:identifier scheme="http://www.sec.gov/CIK">{CIK}</xbrli:identifier></xbrli:entity><xbrli:period>'
        f"<xbrli:startDate>2025-01-01</xbrli:startDate><xbrli:endDate>{end}</xbrli:endDate></xbrli:period>"
        f"</xbrli:context></ix:resources></ix:header></div>{facts}"
        f"<p>FORM {form}</p><p>For the quarterly period ended {day}</p>"
        "<p>PART I. FINANCIAL INFORMATION</p><p>Item 2. Management's Discussion and Analysis</p>"
        f"<p>{text} Anvils were sold in the quarter ended {day}, and more of them than in the quarter before.</p>"
        "<p>PART II. OTHER INFORMATION</p><p>Item 1. Legal Proceedings</p><p>There are none.</p></body></html>"
    )


RELEASE = (
    "<html><body><p>Exhibit 99.1</p><p>Acme Anvil Works Reports First Quarter 2025 Results</p><p>April 22, 2025</p>"
    "<p>Acme Anvil Works Inc. (NYSE: ACME) today reported results for the quarter ended March 31, 2025. Net sales "
    "were $12 million.</p></body></html>"
)


def filing_index(accession: str, form: str, *documents: tuple[str, str], cik: str = CIK) -> str:
    """Return the index page of a filing; `documents` are pairs of type and file name."""
    rows = "".join(
        f'<tr><td scope="row">{i}</td><td>{kind}</td><td><a href="{"/ix?doc=" if i == 1 else ""}'
        f'{archive(accession, name, cik)}">{name}</a></td><td>{kind}</td><td>100</td></tr>'
        for i, (kind, name) in enumerate(documents, 1)
    )
    return (
        f'<html><body><div id="formName"><strong>Form {form}</strong> - report</div><div id="secNum">No. {accession}'
        '</div><div><div class="infoHead">Filing Date</div><div class="info">2025-04-22</div></div>'
        f"<table><tr><th>Seq</th></tr>{rows}</table></body></html>"
    )


def current_report() -> str:
    """Return a small 8-K."""
    return (
        "<html><body><p>UNITED STATES SECURITIES AND EXCHANGE COMMISSION</p><p>FORM 8-K</p><p>CURRENT REPORT</p>"
        "<p>Date of Report (Date of earliest event reported): April 22, 2025</p><p>ACME ANVIL WORKS INC</p>"
        "<p>Item 2.02 Results of Operations and Financial Condition</p><p>Acme issued a press release, which is "
        "furnished as Exhibit 99.1.</p><p>Item 9.01 Financial Statements and Exhibits</p></body></html>"
    )


def small_edgar(server: EdgarServer) -> None:
    """Fill a server with one company, ACME: a 10-Q, its amendment, and an 8-K with a press release."""
    server.put("/files/company_tickers.json", tickers(ACME=int(CIK)))
    server.put(
        f"/submissions/CIK{CIK}.json",
        submissions(
            CIK,
            ("0009990001-25-000004", "4", "2025-06-01", "", "xslF345X05/form4.xml", ""),
            ("0009990001-25-000003", "10-Q/A", "2025-05-20", "2025-03-31", "acme-q1a.htm", ""),
            ("0009990001-25-000002", "10-Q", "2025-05-01", "2025-03-31", "acme-q1.htm", ""),
            ("0009990001-25-000001", "8-K", "2025-04-22", "2025-04-22", "acme-8k.htm", "2.02,9.01"),
        ),
    )
    server.put(archive("0009990001-25-000003", "acme-q1a.htm"), quarterly_report(1, "Restated.", "10-Q/A"))
    server.put(archive("0009990001-25-000002", "acme-q1.htm"), quarterly_report(1))
    server.put(archive("0009990001-25-000001", "acme-8k.htm"), current_report())
    server.put(archive("0009990001-25-000001", "acme-ex991.htm"), RELEASE)
    server.put(
        archive("0009990001-25-000001", "0009990001-25-000001-index.htm"),
        filing_index("0009990001-25-000001", "8-K", ("8-K", "acme-8k.htm"), ("EX-99.1", "acme-ex991.htm")),
    )
