"""The time budget of one document, asked between pages and rows, so that no file can hold a worker for ever."""

import time
from dataclasses import dataclass, field

from finrag_pipelines.parsing.model import UnreadableError


@dataclass(frozen=True)
class Deadline:
    """A budget of `seconds` that starts when it is made."""

    seconds: float
    started: float = field(default_factory=time.monotonic)

    def check(self, where: str) -> None:
        """Raise UnreadableError `time_budget` when the budget is spent; `where` says how far reading had come."""
        if time.monotonic() - self.started > self.seconds:
            raise UnreadableError(
                "time_budget",
                f"Reading took more than {self.seconds:g} s and was stopped at {where}; split the document, "
                "or allow more time for it.",
            )
