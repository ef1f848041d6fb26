"""Time limits and Ctrl-C for solvers that can stop at any moment with the best so far."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from preceptor._base.checks import is_number
from preceptor._base.progress import Status
from preceptor.errors import InvalidInput


class Watch:
    """Says when to stop: the time is up, or somebody pressed Ctrl-C."""

    def __init__(self, time_limit: float | None) -> None:
        check_time_limit(time_limit)
        self._started = time.perf_counter()
        self._limit = float("inf") if time_limit is None else float(time_limit)
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._started

    @property
    def left(self) -> float:
        """Seconds until the limit, never negative; infinite without one."""
        return max(self._limit - self.seconds, 0.0)

    def share(self, part: float) -> float:
        """So much of the whole time, but no more than is left."""
        return min(part * self._limit, self.left)

    def stop(self) -> bool:
        """Whether to stop now."""
        return self.interrupted or self.left <= 0.0

    def status(self, *, finished: bool) -> Status:
        """How a search without proof of optimality ended."""
        if self.interrupted:
            return Status.INTERRUPTED
        return Status.BOUNDED if finished else Status.TIME_LIMIT


def check_time_limit(time_limit: float | None) -> None:
    """None, or a time that passes."""
    if time_limit is not None and (not is_number(time_limit) or time_limit <= 0):
        raise InvalidInput(f"time_limit: {time_limit!r}, must be a positive number of seconds")


@contextmanager
def watching(time_limit: float | None) -> Iterator[Watch]:
    """A watch that the first Ctrl-C stops gently; a second one is not caught."""
    watch = Watch(time_limit)
    if threading.current_thread() is not threading.main_thread():
        yield watch
        return
    before = signal.getsignal(signal.SIGINT)

    def stop_gently(_number: int, _frame: FrameType | None) -> None:
        watch.interrupted = True
        signal.signal(signal.SIGINT, before)

    try:
        signal.signal(signal.SIGINT, stop_gently)
        yield watch
    finally:
        signal.signal(signal.SIGINT, before)
