"""Time limits and Ctrl-C for solvers that can stop at any time and return the best plan so far.

Compilation is not counted: it happens once per machine. Compiled loops cannot query a watch, so
they read a flag that a second thread sets when it is time to stop. That thread also notices a
Ctrl-C while the main thread is inside such a loop, where Python would not.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

import numpy as np

from preceptor._base.progress import Progress, Status, check_time_limit, counted_seconds
from preceptor._base.values import IntArray

Stop = Callable[[], bool]


class OutOfTime(Exception):
    """A watch stopped an exact computation, which has no partial result."""


class Watch:
    """Tells a solver when to stop: when time is up, or after Ctrl-C.

    `seconds` is the time used so far without compilation, `proved` the part of it spent on bounds.
    """

    def __init__(self, time_limit: float | None) -> None:
        check_time_limit(time_limit)
        self._started = counted_seconds()
        self._limit = float("inf") if time_limit is None else float(time_limit)
        self._heard: socket.socket | None = None
        self.interrupted = False
        self.proved = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the start, without compilation."""
        return counted_seconds() - self._started

    @property
    def left(self) -> float:
        """Seconds until the limit, never negative; infinite without one."""
        return max(self._limit - self.seconds, 0.0)

    def share(self, part: float) -> float:
        """Seconds in this share of the time limit, but no more than are left."""
        return min(part * self._limit, self.left)

    def until(self, part: float) -> Stop:
        """A stop condition: the watch stops, or this share of the time now left has passed."""
        end = self.seconds + part * self.left
        return lambda: self.stop() or self.seconds >= end

    def stop(self) -> bool:
        """Return whether to stop now."""
        return self.interrupted or self.left <= 0.0

    def status(self, *, finished: bool) -> Status:
        """How a search without proof of optimality ended."""
        if self.interrupted:
            return Status.INTERRUPTED
        return Status.BOUNDED if finished else Status.TIME_LIMIT

    @contextmanager
    def proving(self) -> Iterator[None]:
        """Count the time spent inside as `proved`."""
        began = self.seconds
        try:
            yield
        finally:
            self.proved += self.seconds - began

    @contextmanager
    def halting(self, seconds: float = float("inf")) -> Iterator[IntArray]:
        """A flag (1,) for compiled loops, set to 1 when the time limit or `seconds` have passed."""
        if min(seconds, self._limit) == float("inf") and self._heard is None:
            yield np.zeros(1, dtype=np.int64)
            return
        halt, until, ended = np.zeros(1, dtype=np.int64), self.seconds + seconds, threading.Event()

        halt[0] = self.stop() or seconds <= 0.0

        def look() -> None:
            # The second thread checks the clock fifty times a second.
            while not ended.wait(min(0.02, max(until - self.seconds, 1e-4))):
                if self._hears() or self.stop() or self.seconds >= until:
                    halt[0] = 1
                    return

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield halt
        finally:
            ended.set()
            thread.join()

    def _hears(self) -> bool:
        """Return whether a Ctrl-C is pending that the main thread has not handled yet."""
        if self._heard is None:
            return False
        try:
            return signal.SIGINT in self._heard.recv(64)
        except OSError:
            return False

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Receive signals while the main thread is inside a compiled loop."""
        ours, signals = socket.socketpair()
        ours.setblocking(False)
        signals.setblocking(False)
        before = signal.set_wakeup_fd(signals.fileno(), warn_on_full_buffer=False)
        self._heard = ours
        try:
            yield
        finally:
            self._heard = None
            signal.set_wakeup_fd(before)
            ours.close()
            signals.close()


class SearchEffort(NamedTuple):
    """How a search runs: until the watch stops it or `max_kicks` restarts are used up."""

    watch: Watch
    max_kicks: int | None = None
    seed: int = 0
    progress: Progress | None = None


def never() -> bool:
    """Stop condition of work without a time limit."""
    return False


@contextmanager
def watching(time_limit: float | None) -> Iterator[Watch]:
    """A watch that the first Ctrl-C stops gracefully; a second one is not caught."""
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
        with watch.hearing():
            yield watch
    finally:
        signal.signal(signal.SIGINT, before)
