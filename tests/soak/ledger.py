"""What was sent and how it ended: each error gets its planted cause, or is unexplained."""

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

UNEXPLAINED_KEPT = 200


@dataclass
class RequestError(Exception):
    """A request without its success. `code` is that of the error body, or how the response broke off."""

    status: int
    code: str
    request_id: str = "-"
    detail: str = ""

    def __str__(self):
        return f"{self.status} {self.code}"


class Abandon(Exception):
    """Ends a scenario whose request failed; the error is in the ledger."""


@dataclass
class Window:
    """A time in which errors of these codes have this cause; `kinds` restricts it to requests whose kind begins so."""

    cause: str
    codes: tuple
    kinds: tuple
    begin: float
    end: float | None = None

    def explains(self, kind, error, begun, ended):
        if begun > (self.end if self.end is not None else ended) or ended < self.begin:
            return False
        return _matches(error, self.codes) and (not self.kinds or kind.startswith(self.kinds))


@dataclass
class KindCounts:
    sent: int = 0
    succeeded: int = 0
    planted: Counter = field(default_factory=Counter)
    unexplained: int = 0


class Ledger:
    def __init__(self, started):
        self.started = started
        self.kinds = defaultdict(KindCounts)
        self.windows = []
        self.unexplained = []
        self.latencies = defaultdict(list)
        # Fault of the hostile provider by request id, see hostile_provider.py.
        self.faults_by_request = {}
        self.last_success = {}

    def open_window(self, cause, codes, kinds=()):
        window = Window(cause, codes, kinds, time.monotonic())
        self.windows.append(window)
        return window

    def close_window(self, window, grace_seconds):
        window.end = time.monotonic() + grace_seconds

    def is_in_window(self, cause):
        """Whether a fault whose cause begins so is in effect, or was until recently."""
        now = time.monotonic()
        return any(it.cause.startswith(cause) and (it.end is None or it.end > now) for it in self.windows)

    def succeed(self, kind, begun, latency=None):
        counts = self.kinds[kind]
        counts.sent += 1
        counts.succeeded += 1
        if latency is not None:
            self.latencies[int((begun - self.started) // 60)].append(latency)

    def plant(self, kind, cause, error):
        """Counts an error that the scenario itself has provoked."""
        counts = self.kinds[kind]
        counts.sent += 1
        counts.planted[f"{cause}: {error}"] += 1

    def fail(self, kind, error, begun):
        """Counts an error by the cause that explains it."""
        ended = time.monotonic()
        cause = self._cause(kind, error, begun, ended)
        counts = self.kinds[kind]
        counts.sent += 1
        if cause:
            counts.planted[f"{cause}: {error}"] += 1
            return
        counts.unexplained += 1
        if len(self.unexplained) < UNEXPLAINED_KEPT:
            self.unexplained.append(
                {
                    "at_seconds": round(ended - self.started, 3),
                    "took_seconds": round(ended - begun, 3),
                    "kind": kind,
                    "status": error.status,
                    "code": error.code,
                    "request_id": error.request_id,
                    "detail": error.detail[:500],
                }
            )

    def _cause(self, kind, error, begun, ended):
        if fault := self.faults_by_request.get(error.request_id):
            return f"hostile provider, {fault}"
        for window in self.windows:
            if window.explains(kind, error, begun, ended):
                return window.cause
        return None

    def requests_total(self):
        return sum(counts.sent for counts in self.kinds.values())

    def unexplained_total(self):
        return sum(counts.unexplained for counts in self.kinds.values())


def _matches(error, codes):
    return any(code in ("*", str(error.status), error.code) for code in codes)
