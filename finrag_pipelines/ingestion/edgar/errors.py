"""What can go wrong between us and EDGAR. Each class is one cause with one remedy; `code` is its stable name.

None of them may ever be taken for an empty answer.
"""


class EdgarError(Exception):
    """A question to EDGAR was not answered. `url` says which; the message says what happened and what to do."""

    code = "edgar"
    remedy = "try again later"
    may_pass = False  # whether asking again soon can help

    def __init__(self, url: str, what: str, retry_after: float | None = None, may_pass: bool | None = None) -> None:
        super().__init__(f"{url}: {what}; {self.remedy}" if url else f"{what}; {self.remedy}")
        self.url = url
        self.retry_after = retry_after
        if may_pass is not None:
            self.may_pass = may_pass


class MissingUserAgentError(EdgarError):
    """No User-Agent is configured, so nothing was asked."""

    code = "user_agent_missing"
    remedy = (
        "EDGAR requires programs to say who runs them: set FINRAG_EDGAR_USER_AGENT, or user_agent in the watch list, "
        'to your name and e-mail address, e.g. "Example Research admin@example.com"'
    )


class UndeclaredAgentError(EdgarError):
    """403: EDGAR takes the User-Agent for an undeclared automated tool."""

    code = "user_agent_undeclared"
    remedy = (
        "set FINRAG_EDGAR_USER_AGENT to the name of your organisation and a working e-mail address; asking again with "
        "the present one does not help"
    )


class RateLimitedError(EdgarError):
    """403, 429 or a page in place of an answer: too many requests from this address."""

    code = "rate_limited"
    remedy = "asking again now makes it longer: wait until it is over, and look for other programs on this address"


class NotFoundError(EdgarError):
    """404, or the 403 by which the archive says that it has no such file."""

    code = "not_found"
    remedy = "check the number or the date: EDGAR has no such file, or not yet"


class ForbiddenError(EdgarError):
    """403 for a reason that is neither of the two known ones."""

    code = "forbidden"
    remedy = "open the address in a browser to read why"


class UnavailableError(EdgarError):
    """EDGAR cannot be reached, or answers that it cannot answer now (5xx)."""

    code = "unavailable"
    remedy = "it usually passes: the next poll asks again; check the network and sec.gov if it does not"
    may_pass = True


class TruncatedError(EdgarError):
    """A body ended before its end; nothing of it is kept."""

    code = "truncated"
    remedy = "nothing of it was kept; the next poll asks again"
    may_pass = True


class UnexpectedContentError(EdgarError):
    """An answer of another kind than was asked for, such as a page of HTML where JSON was due."""

    code = "unexpected_content"
    remedy = "open the address in a browser: it may be a notice of maintenance, or a proxy in between"


class MalformedError(EdgarError):
    """An answer of the right kind without what it has to hold: EDGAR changed its shape, or a cached copy is broken."""

    code = "malformed"
    remedy = "EDGAR may have changed the shape of this answer; report it with the address"


class TooLargeError(EdgarError):
    """A body larger than any that can be received."""

    code = "too_large"
    remedy = "fetch it by hand and split it"


class UnexpectedStatusError(EdgarError):
    """A status that EDGAR is not known to give."""

    code = "unexpected_status"
    remedy = "check FINRAG_EDGAR_WWW and FINRAG_EDGAR_DATA, and open the address in a browser"


class UnknownCompanyError(EdgarError):
    """EDGAR lists no such ticker."""

    code = "unknown_company"
    remedy = "correct the ticker, or name the company by its `cik`, as for one that is no longer listed"


class DeadlineError(EdgarError):
    """The time that the caller had is over; what was received so far stands."""

    code = "deadline"
    remedy = "the next poll goes on from there"
