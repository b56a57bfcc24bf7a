"""How often EDGAR is asked, by all processes on one store together, and since when it has asked us to stop."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from finrag_pipelines.storage import Store

REQUESTS = 9
WINDOW_SECONDS = 1.0
BLOCK_SECONDS = 600.0
# A request whose process died is never answered; until then it counts.
_LOST_SECONDS = 60.0
_POLL_SECONDS = 0.02
_FAR_SECONDS = 3600.0


@dataclass(frozen=True)
class _Ledger:
    """The requests that still count, each with the moment from which it no longer does, and until when none may be
    sent; seconds since the epoch."""

    counting: dict[str, float] = field(default_factory=dict)
    blocked_until: float = 0.0


@dataclass(frozen=True)
class RequestRate:
    """At most 9 requests in any second, over all processes that share the store.

    A request counts from before it is sent until a second after it was answered. When EDGAR saw it lies between the
    two, so that no delay on the way can bring ten of them into one of EDGAR's seconds.
    """

    store: Store

    @contextmanager
    def turn(self, wait: Callable[[float], None] = time.sleep) -> Iterator[None]:
        """Wait for a turn and hold it until the answer has begun; `wait` is called with seconds and may raise."""
        name = uuid.uuid4().hex
        while left := self._take(name):
            wait(left)
        try:
            yield
        finally:
            self._count_until(name, time.time() + WINDOW_SECONDS)

    def blocked_for(self) -> float:
        """Return for how many more seconds EDGAR wants no request from this address; 0 where it takes them."""
        with self.store.lock("edgar_rate"):
            left = self._read().blocked_until - time.time()
        return left if 0 < left <= _FAR_SECONDS else 0.0

    def block(self, seconds: float = BLOCK_SECONDS) -> None:
        """Note for all processes that EDGAR wants no request for `seconds`."""
        with self.store.lock("edgar_rate"):
            self._write(_Ledger(self._read().counting, time.time() + min(seconds, _FAR_SECONDS)))

    def _take(self, name: str) -> float:
        """Take a turn and return 0, or return after how many seconds to try again."""
        with self.store.lock("edgar_rate"):
            ledger, now = self._read(), time.time()
            # Moments further away than any that is written now are from before the clock jumped back.
            counting = {n: end for n, end in ledger.counting.items() if now < end <= now + _LOST_SECONDS}
            if len(counting) < REQUESTS:
                self._write(_Ledger({**counting, name: now + _LOST_SECONDS}, ledger.blocked_until))
                return 0.0
        return max(_POLL_SECONDS, min(WINDOW_SECONDS, min(counting.values()) - now))

    def _count_until(self, name: str, moment: float) -> None:
        with self.store.lock("edgar_rate"):
            ledger = self._read()
            self._write(_Ledger({**ledger.counting, name: moment}, ledger.blocked_until))

    @property
    def _path(self) -> Path:
        return self.store.path("locks", "edgar_rate.json")

    def _read(self) -> _Ledger:
        try:
            record = json.loads(self._path.read_bytes())
            counting = {str(name): float(end) for name, end in record["counting"].items()}
            return _Ledger(counting, float(record["blocked_until"]))
        except FileNotFoundError:
            return _Ledger()
        except (ValueError, KeyError, TypeError, AttributeError):
            # Half a file after a power cut: begin anew as if all nine were answered just now.
            self._write(_Ledger({str(i): time.time() + WINDOW_SECONDS for i in range(REQUESTS)}))
            return self._read()

    def _write(self, ledger: _Ledger) -> None:
        # No fsync: after a crash of the machine nothing was sent within the last second.
        aside = self._path.with_suffix(".next")
        aside.write_text(json.dumps({"counting": ledger.counting, "blocked_until": ledger.blocked_until}))
        aside.replace(self._path)
