"""One clock for work in several stages: each asks what is left before it begins."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from preceptor._base.checks import is_number
from preceptor.errors import InvalidInput


class _Uncounted:
    """Seconds that no deadline counts: compiling (once per machine) and loading what was compiled.

    Whoever tries the program for the first time would otherwise get half of an answer.
    """

    def __init__(self) -> None:
        self.seconds, self._depth, self._began = 0.0, 0, 0.0
        # Other threads look at the clock in the middle of this.
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Begin not to count; what is begun within counts for nothing more."""
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1

    @property
    def so_far(self) -> float:
        """Seconds up to now, those of a compilation under way too."""
        with self._lock:
            return self.seconds + (time.perf_counter() - self._began if self._depth else 0.0)

    def end(self) -> None:
        """Count again, once everything that began has ended."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._began

    @contextmanager
    def within(self) -> Iterator[None]:
        """What happens within is not counted."""
        self.begin()
        try:
            yield
        finally:
            self.end()


UNCOUNTED = _Uncounted()


def counted_seconds() -> float:
    """A clock that stands still while something is compiled."""
    return time.perf_counter() - UNCOUNTED.so_far


class Deadline:
    """Seconds that several stages share; none of them knows what the others took.

    Examples
    --------
    >>> ticks = iter([0.0, 4.0, 11.0])
    >>> deadline = Deadline(10.0, clock=lambda: next(ticks))
    >>> deadline.left, deadline.is_over
    (6.0, True)
    """

    def __init__(self, seconds: float | None, *, clock: Callable[[], float] | None = None) -> None:
        check_time_limit(seconds)
        self._clock = counted_seconds if clock is None else clock
        self._end = float("inf") if seconds is None else self._clock() + float(seconds)

    @property
    def left(self) -> float:
        """Seconds until the end, never negative; infinite without a limit."""
        if self._end == float("inf"):
            return self._end
        return max(self._end - self._clock(), 0.0)

    def halfway(self) -> Deadline:
        """When half of what is left is over."""
        sooner = Deadline(None, clock=self._clock)
        if self._end < float("inf"):
            sooner._end = self._end - self.left / 2.0
        return sooner

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0.0


def check_time_limit(time_limit: float | None) -> None:
    """None, or a time that passes."""
    if time_limit is not None and (not is_number(time_limit) or time_limit <= 0):
        raise InvalidInput(f"time_limit: {time_limit!r}, must be a positive number of seconds")
