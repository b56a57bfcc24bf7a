"""Who we are to EDGAR and where it is, from the environment or the watch list."""

import os
import re
from dataclasses import dataclass

from finrag_pipelines.ingestion.edgar.errors import MissingUserAgentError

WWW = "https://www.sec.gov"
DATA = "https://data.sec.gov"

_CONTACT = re.compile(r"[^\s@]{1,64}@[^\s@]{1,200}")


@dataclass(frozen=True)
class EdgarSettings:
    """How EDGAR is asked. Times in seconds; `attempts` counts the first one.

    `retry_wait` is the longest first pause between two attempts; it doubles up to `retry_wait_most`.
    """

    user_agent: str
    www: str = WWW
    data: str = DATA
    timeout: float = 20.0
    attempts: int = 4
    retry_wait: float = 1.0
    retry_wait_most: float = 30.0

    def __post_init__(self) -> None:
        if not self.user_agent.strip():
            raise MissingUserAgentError("", "no User-Agent is set")
        if not (self.user_agent.isascii() and self.user_agent.isprintable() and _CONTACT.search(self.user_agent)):
            raise MissingUserAgentError("", f"the User-Agent {self.user_agent!r} holds no e-mail address to write to")


def edgar_settings(user_agent: str | None = None) -> EdgarSettings:
    """Return the settings of this environment; `user_agent` is the watch list's, used where the environment has none.

    Raises MissingUserAgentError.
    """
    return EdgarSettings(
        user_agent=os.environ.get("FINRAG_EDGAR_USER_AGENT") or user_agent or "",
        www=(os.environ.get("FINRAG_EDGAR_WWW") or WWW).rstrip("/"),
        data=(os.environ.get("FINRAG_EDGAR_DATA") or DATA).rstrip("/"),
    )
