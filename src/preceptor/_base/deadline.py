"""One clock for work in several stages: each asks what is left before it begins."""

from __future__ import annotations

import time
from collections.abc import Callable

from preceptor._base.checks import is_number
from preceptor.errors import InvalidInput


class _Uncounted:
    """Seconds that no deadline counts: compiling, which happens once per machine.

    Whoever tries the program for the first time would otherwise get half of an answer.
    """

    def __init__(self) -> None:
        self.seconds, self._depth, self._began = 0.0, 0, 0.0

    def begin(self) -> None:
        """Begin not to count; what is begun within counts for nothing more."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        """Count again, once everything that began has ended."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


UNCOUNTED = _Uncounted()


def _counted() -> float:
    return time.perf_counter() - UNCOUNTED.seconds


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
        if seconds is not None and (not is_number(seconds) or seconds <= 0):
            raise InvalidInput(f"time_limit: {seconds!r}, must be a positive number of seconds")
        self._clock = _counted if clock is None else clock
        self._end = float("inf") if seconds is None else self._clock() + float(seconds)

    @property
    def left(self) -> float:
        """Seconds until the end, never negative; infinite without a limit."""
        if self._end == float("inf"):
            return self._end
        return max(self._end - self._clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0.0
