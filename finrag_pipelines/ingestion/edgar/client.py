"""Asking EDGAR: declared, at most nine times a second, again where it may help, and never for what is known.

How an answer is read is told in the modules beside this one.
"""

import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from finrag_pipelines.catalog.companies import normal_cik, normal_ticker
from finrag_pipelines.ingestion.edgar.cache import AnswerCache, KnownAnswer
from finrag_pipelines.ingestion.edgar.errors import (
    DeadlineError,
    EdgarError,
    ForbiddenError,
    NotFoundError,
    RateLimitedError,
    TooLargeError,
    TruncatedError,
    UnavailableError,
    UndeclaredAgentError,
    UnexpectedStatusError,
    UnknownCompanyError,
)
from finrag_pipelines.ingestion.edgar.filing_index import read_filing_index
from finrag_pipelines.ingestion.edgar.json_answers import (
    read_json,
    read_older_page,
    read_submissions,
    read_tickers,
)
from finrag_pipelines.ingestion.edgar.listings import read_feed, read_index
from finrag_pipelines.ingestion.edgar.model import Filing, FilingIndex, ListedCompany, ListedFiling, Listing
from finrag_pipelines.ingestion.edgar.rate import BLOCK_SECONDS, RequestRate
from finrag_pipelines.ingestion.edgar.settings import EdgarSettings
from finrag_pipelines.ingestion.receive import MAX_BYTES
from finrag_pipelines.storage import Store

if TYPE_CHECKING:
    import httpx

Check = Callable[[str, bytes], object]

FEED_PAGE = 100
# EDGAR's notices are small pages; a filing that happens to quote one is not.
_NOTICE_BYTES = 65536
_UNDECLARED = (b"undeclared automated tool", b"declare your traffic by updating your user agent")
_TOO_FAST = (
    b"request rate threshold exceeded",
    b"maximum allowable requests per second",
    b"exceeded the sec\xe2\x80\x99s traffic limit",
)
_LONGEST_WAIT = 60.0  # a longer Retry-After is passed on instead of slept through


@dataclass(frozen=True)
class Answer:
    """The bytes that EDGAR has at `url`, and whether it had to send them now."""

    url: str
    content: bytes
    content_sha256: str
    was_sent: bool


class EdgarClient:
    """Everything that is asked of EDGAR. One instance for each run; not for several threads.

    `deadline` is the moment (time.monotonic) after which nothing more is asked, and DeadlineError is raised instead.
    """

    def __init__(self, store: Store, settings: EdgarSettings, deadline: float | None = None) -> None:
        import httpx

        self.settings = settings
        self.cache = AnswerCache(store)
        self._rate = RequestRate(store)
        self._deadline = deadline
        self._tickers: dict[str, ListedCompany] | None = None
        self._http = httpx.Client(
            headers={"User-Agent": settings.user_agent, "Accept-Encoding": "gzip, deflate"},
            timeout=settings.timeout,
            verify=_certificates(),
        )

    def __enter__(self) -> "EdgarClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    # --- what can be asked ----------------------------------------------------------------------------------------

    def companies(self) -> dict[str, ListedCompany]:
        """Return the listed companies by ticker."""
        if self._tickers is None:
            url = f"{self.settings.www}/files/company_tickers.json"
            self._tickers = read_tickers(url, self._json(url))
        return self._tickers

    def company(self, ticker: str) -> ListedCompany:
        """Return the company with this ticker. Raises UnknownCompanyError, which names similar ones."""
        listed, wanted = self.companies(), normal_ticker(ticker) or ticker
        if wanted in listed:
            return listed[wanted]
        near = get_close_matches(wanted, listed, n=3)
        hint = f" (listed are {', '.join(near)})" if near else ""
        raise UnknownCompanyError(f"{self.settings.www}/files/company_tickers.json", f"no ticker {ticker!r}{hint}")

    def filings(self, cik: str, since: str | None = None) -> tuple[Filing, ...]:
        """Return what a company filed on or after `since` (ISO date; None: ever), newest first.

        Older pages are read only as far as `since` asks for them.
        """
        ten = normal_cik(cik)
        url = f"{self.settings.data}/submissions/CIK{ten}.json"
        submissions = read_submissions(url, self._json(url))
        filings = list(submissions.filings)
        for page in submissions.older:
            if since is None or page.filed_to >= since:
                older = f"{self.settings.data}/submissions/{page.name}"
                filings += read_older_page(older, self._json(older), submissions.cik)
        ends = submissions.fiscal_year_end
        unique = {f.accession: replace(f, fiscal_year_end=ends) for f in filings if since is None or f.filed >= since}
        return tuple(sorted(unique.values(), key=lambda f: (f.filed, f.accession), reverse=True))

    def filing_index(self, filing: Filing) -> FilingIndex:
        """Return which documents a filing has."""
        url = self._archive(filing, f"{filing.accession}-index.htm")
        return read_filing_index(url, self.fetch(url, is_final=True, check=read_filing_index).content)

    def primary_document(self, filing: Filing) -> Answer:
        """Return the primary document of a filing, or the complete submission where it has none of its own."""
        return self.fetch(self._archive(filing, filing.primary_document or f"{filing.accession}.txt"), is_final=True)

    def document(self, path: str) -> Answer:
        """Return the document of a filing at `path`, as a filing index gives it."""
        return self.fetch(self.settings.www + quote(path), is_final=True)

    def daily_index(self, day: date, kind: str = "form") -> Listing:
        """Return what was filed on `day`. `kind` is `form` or `master`. Raises NotFoundError for a day without one."""
        quarter = f"{day.year}/QTR{(day.month + 2) // 3}"
        url = f"{self.settings.www}/Archives/edgar/daily-index/{quarter}/{kind}.{day:%Y%m%d}.idx"
        return read_index(url, self.fetch(url).content)

    def full_index(self, year: int, quarter: int, kind: str = "form") -> Listing:
        """Return what was filed in a quarter of a calendar year."""
        url = f"{self.settings.www}/Archives/edgar/full-index/{year}/QTR{quarter}/{kind}.idx"
        return read_index(url, self.fetch(url).content)

    def current_filings(self, form: str = "", most: int = 1000) -> Listing:
        """Return the newest filings of a form (empty: all), at most about `most` entries of the feed, newest first."""
        filings: dict[tuple[str, str], ListedFiling] = {}
        unreadable: list[str] = []
        for page in self._feed_pages(form, most):
            filings |= {(f.accession, f.cik): f for f in page.filings if (f.accession, f.cik) not in filings}
            unreadable += page.unreadable
        return Listing(tuple(filings.values()), tuple(unreadable))

    def _feed_pages(self, form: str, most: int) -> Iterator[Listing]:
        for start in range(0, most, FEED_PAGE):
            question = {"action": "getcurrent", "type": form, "owner": "include", "count": FEED_PAGE, "start": start}
            url = f"{self.settings.www}/cgi-bin/browse-edgar?{urlencode({**question, 'output': 'atom'})}"
            page = read_feed(url, self.fetch(url, keep=False).content)
            yield page
            if len(page.filings) + len(page.unreadable) < FEED_PAGE:
                return

    def primary_url(self, filing: Filing) -> str:
        """Return the address of the primary document of a filing."""
        return self._archive(filing, filing.primary_document or f"{filing.accession}.txt")

    def _archive(self, filing: Filing, name: str) -> str:
        folder = f"{int(filing.cik)}/{filing.accession.replace('-', '')}"
        return f"{self.settings.www}/Archives/edgar/data/{folder}/{quote(name)}"

    # --- how it is asked ------------------------------------------------------------------------------------------

    def _json(self, url: str) -> bytes:
        # Read here as well, so that half a body is asked for again and never kept.
        return self.fetch(url, check=read_json).content

    def fetch(self, url: str, is_final: bool = False, keep: bool = True, check: Check | None = None) -> Answer:
        """Return what is at `url`, asking conditionally where an answer is kept, and not at all where that `is_final`.

        `check(url, content)` may raise an EdgarError for content that must not be kept. Raises EdgarError.
        """
        from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

        known = self.cache.find(url) if keep else None
        body = self.cache.body(known) if known else None
        if known and body is not None and is_final:
            return Answer(url, body, known.content_sha256, False)
        spread = wait_random_exponential(multiplier=self.settings.retry_wait, max=self.settings.retry_wait_most)

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked = error.retry_after if isinstance(error, EdgarError) else None
            return max(asked or 0.0, spread(state))

        attempts = Retrying(
            stop=stop_after_attempt(self.settings.attempts),
            wait=wait,
            retry=retry_if_exception(_may_pass),
            sleep=lambda seconds: self._sleep(url, seconds),
            reraise=True,
        )
        response, content = attempts(self._ask, url, known if body is not None else None, check)
        if response.status_code == 304 and known and body is not None:
            return Answer(url, body, known.content_sha256, False)
        if not keep:
            return Answer(url, content, "", True)
        kept = self.cache.keep(url, content, response.headers.get("ETag"), response.headers.get("Last-Modified"))
        return Answer(url, content, kept.content_sha256, True)

    def _ask(self, url: str, known: KnownAnswer | None, check: Check | None) -> "tuple[httpx.Response, bytes]":
        """Send one request and read its answer to the end."""
        import httpx

        if blocked := self._rate.blocked_for():
            raise RateLimitedError(url, f"not asked: EDGAR wants no request for another {blocked:.0f} s", blocked)
        headers = {}
        if known and known.etag:
            headers["If-None-Match"] = known.etag
        if known and known.last_modified:
            headers["If-Modified-Since"] = known.last_modified
        try:
            with self._rate.turn(lambda seconds: self._sleep(url, seconds)):
                request = self._http.build_request("GET", url, headers=headers, timeout=self._time_left(url))
                response = self._http.send(request, stream=True)
        except httpx.TransportError as error:
            raise UnavailableError(url, f"no answer ({type(error).__name__}: {error})") from None
        except httpx.InvalidURL as error:
            raise UnexpectedStatusError(url, f"not an address ({error})") from None
        try:
            content = self._body(url, response)
        finally:
            response.close()
        self._judge(url, response, content)
        if response.status_code == 200 and check:
            check(url, content)
        return response, content

    def _body(self, url: str, response: "httpx.Response") -> bytes:
        import httpx

        parts, size, started = [], 0, time.monotonic()
        try:
            for part in response.iter_bytes():
                size += len(part)
                parts.append(part)
                if size > MAX_BYTES:
                    raise TooLargeError(url, f"the body has more than {MAX_BYTES / 2**20:.0f} MB")
                if time.monotonic() - started > 6 * self.settings.timeout:
                    raise UnavailableError(url, f"the body did not end within {6 * self.settings.timeout:.0f} s")
                self._time_left(url)
        except httpx.TimeoutException as error:
            raise UnavailableError(url, f"the body stopped coming after {size} bytes ({error})") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise TruncatedError(url, f"the body broke off after {size} bytes ({error})") from None
        return b"".join(parts)

    def _judge(self, url: str, response: "httpx.Response", content: bytes) -> None:
        """Raise the error that an answer stands for, if it stands for one."""
        status, wait = response.status_code, _retry_after(response)
        notice = content[:_NOTICE_BYTES].lower() if len(content) <= _NOTICE_BYTES else b""
        if any(words in notice for words in _UNDECLARED):
            raise UndeclaredAgentError(url, f"EDGAR does not accept the User-Agent {self.settings.user_agent!r}")
        if any(words in notice for words in _TOO_FAST) or status == 429:
            if status == 429 and wait is not None and wait <= _LONGEST_WAIT:
                raise RateLimitedError(url, f"429, too many requests; {wait:.0f} s were asked for", wait, may_pass=True)
            self._rate.block(wait or BLOCK_SECONDS)
            raise RateLimitedError(url, f"{status}, too many requests", wait or BLOCK_SECONDS)
        if status == 304 or (status == 200 and content):
            return
        if status == 200:
            raise TruncatedError(url, "the answer is empty")
        if status == 404 or (status == 403 and b"<code>accessdenied</code>" in notice):
            raise NotFoundError(url, f"{status}, no such file")
        if status == 403:
            raise ForbiddenError(url, "403, and the page gives no known reason")
        if status >= 500:
            is_short = wait is None or wait <= _LONGEST_WAIT
            raise UnavailableError(url, f"{status}, EDGAR cannot answer now", wait, may_pass=is_short)
        raise UnexpectedStatusError(url, f"status {status}")

    def _time_left(self, url: str) -> float:
        if self._deadline is None:
            return self.settings.timeout
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError(url, "the time for this poll is over")
        return min(self.settings.timeout, left)

    def _sleep(self, url: str, seconds: float) -> None:
        if self._deadline is not None and time.monotonic() + seconds > self._deadline:
            raise DeadlineError(url, f"the time for this poll ends before the {seconds:.0f} s of waiting do")
        if seconds > 0:
            time.sleep(seconds)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Return the certificates that are trusted; reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, EdgarError) and error.may_pass


def _retry_after(response: "httpx.Response") -> float | None:
    stated = response.headers.get("Retry-After", "").strip()
    if stated.isdecimal() and len(stated) < 9:
        return float(stated)
    try:
        return max(0.0, (parsedate_to_datetime(stated) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
