"""Time limits and Ctrl-C for solvers that can stop at any moment with the best so far.

Compiling is not counted: it happens once per machine. Compiled loops cannot ask a watch, so they
look at a number that another thread sets when it is time to stop; that thread also hears a Ctrl-C
while the main one is inside such a loop, where Python would not.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np

from preceptor._base.deadline import check_time_limit, counted_seconds
from preceptor._base.progress import Status
from preceptor._base.values import IntArray

# How often the other thread looks at the clock, in seconds.
_LOOK = 0.02

Stop = Callable[[], bool]


class OutOfTime(Exception):
    """Exact work that is worth nothing unless finished was stopped by a watch."""


class Watch:
    """Says when to stop: the time is up, or somebody pressed Ctrl-C.

    It also keeps account: `seconds` in all, `proved` of them spent on bounds (`proving`), and
    `compiled` on compiling, which `seconds` leaves out.
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
        """Since the start, without compiling."""
        return counted_seconds() - self._started

    @property
    def left(self) -> float:
        """Seconds until the limit, never negative; infinite without one."""
        return max(self._limit - self.seconds, 0.0)

    def share(self, part: float) -> float:
        """So much of the whole time, but no more than is left."""
        return min(part * self._limit, self.left)

    def until(self, part: float) -> Stop:
        """Stops when the watch does, or when that share of the time that is left now is over."""
        end = self.seconds + part * self.left
        return lambda: self.stop() or self.seconds >= end

    def stop(self) -> bool:
        """Whether to stop now."""
        return self.interrupted or self.left <= 0.0

    def status(self, *, finished: bool) -> Status:
        """How a search without proof of optimality ended."""
        if self.interrupted:
            return Status.INTERRUPTED
        return Status.BOUNDED if finished else Status.TIME_LIMIT

    @contextmanager
    def proving(self) -> Iterator[None]:
        """What happens within is counted as `proved`."""
        began = self.seconds
        try:
            yield
        finally:
            self.proved += self.seconds - began

    @contextmanager
    def halting(self, seconds: float = float("inf")) -> Iterator[IntArray]:
        """A number (1,) for compiled loops that becomes 1 when the time, or `seconds`, is over."""
        if min(seconds, self._limit) == float("inf") and self._heard is None:
            yield np.zeros(1, dtype=np.int64)
            return
        halt, until, ended = np.zeros(1, dtype=np.int64), self.seconds + seconds, threading.Event()

        halt[0] = self.stop() or seconds <= 0.0

        def look() -> None:
            while not ended.wait(min(_LOOK, max(until - self.seconds, 1e-4))):
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
        """Whether a Ctrl-C has come that the main thread has had no time for."""
        if self._heard is None:
            return False
        try:
            return signal.SIGINT in self._heard.recv(64)
        except OSError:
            return False

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Let signals be heard while the main thread is inside a compiled loop."""
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


def never() -> bool:
    """For work without a clock."""
    return False


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
        with watch.hearing():
            yield watch
    finally:
        signal.signal(signal.SIGINT, before)
