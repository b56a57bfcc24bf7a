"""The time budget of one document, asked between pages and rows, so that no file can hold a worker for ever."""

import os
import time
from dataclasses import dataclass, field

from finrag_pipelines.parsing.model import UnreadableError

SECONDS = 120.0


def allowed_seconds() -> float:
    """Return the budget of one document in seconds: `FINRAG_PARSE_SECONDS` where it is set, else 120. Raises ValueError
    where it is no positive number."""
    stated = os.environ.get("FINRAG_PARSE_SECONDS", "").strip()
    if not stated:
        return SECONDS
    try:
        seconds = float(stated)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(f"FINRAG_PARSE_SECONDS is {stated!r}; it must be a number of seconds above 0, e.g. 120")
    return seconds


@dataclass(frozen=True)
class Deadline:
    """A budget of `seconds` that starts when it is made."""

    seconds: float = field(default_factory=allowed_seconds)
    started: float = field(default_factory=time.monotonic)

    def check(self, where: str) -> None:
        """Raise UnreadableError `time_budget` when the budget is spent; `where` says how far reading had come."""
        if time.monotonic() - self.started > self.seconds:
            raise UnreadableError(
                "time_budget",
                f"Reading took more than {self.seconds:g} s and was stopped at {where}; split the document, "
                "or allow more time in FINRAG_PARSE_SECONDS.",
            )
