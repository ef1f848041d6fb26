"""Time, progress and status: what long computations report, and how they end.

Deadlines are shared by several stages, on a clock that does not count compilation.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from preceptor._base.checks import is_number
from preceptor.errors import InvalidInput


class _Uncounted:
    """Seconds that no deadline counts: compiling (once per machine) and loading compiled code.

    Otherwise the first run on a machine would spend its time limit on compilation.
    """

    def __init__(self) -> None:
        self.seconds, self._depth, self._began = 0.0, 0, 0.0
        # Other threads read the clock meanwhile.
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Stop counting; calls may be nested."""
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1

    @property
    def so_far(self) -> float:
        """Uncounted seconds up to now, including a compilation in progress."""
        with self._lock:
            return self.seconds + (time.perf_counter() - self._began if self._depth else 0.0)

    def end(self) -> None:
        """Resume counting once every `begin` has been matched."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._began

    @contextmanager
    def within(self) -> Iterator[None]:
        """Do not count what runs inside this context."""
        self.begin()
        try:
            yield
        finally:
            self.end()


UNCOUNTED = _Uncounted()


def counted_seconds() -> float:
    """A clock that stops during compilation."""
    return time.perf_counter() - UNCOUNTED.so_far


class Deadline:
    """A number of seconds shared by several stages of a computation.

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
        """Seconds left, never negative; infinite without a limit."""
        if self._end == float("inf"):
            return self._end
        return max(self._end - self._clock(), 0.0)

    def halfway(self) -> Deadline:
        """The deadline at which half of the remaining time is used."""
        sooner = Deadline(None, clock=self._clock)
        if self._end < float("inf"):
            sooner._end = self._end - self.left / 2.0
        return sooner

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0.0


def check_time_limit(time_limit: float | None) -> None:
    """Raise `InvalidInput` unless this is None or a positive number."""
    if time_limit is not None and (not is_number(time_limit) or time_limit <= 0):
        raise InvalidInput(f"time_limit: {time_limit!r}, must be a positive number of seconds")


# A lower bound above a plan's value by more than this share of it contradicts the plan; less is
# rounding, since both are sums of rounded numbers.
CONTRADICTION = 1e-9
# The largest gap, as a share of the value, at which a plan may call itself optimal: twice the usual
# tolerance of the exact method on an infinite horizon without a time limit.
OPTIMAL_WITHIN = 2e-6


class Status(enum.Enum):
    """How a solver ended.

    Examples
    --------
    >>> Status("optimal")
    <Status.OPTIMAL: 'optimal'>
    """

    OPTIMAL = "optimal"
    """No policy that `Plan.bound_holds_for` names is better by more than rounding, or than
    `OPTIMAL_WITHIN` allows."""
    WITHIN_TARGET = "within target"
    """As BOUNDED; the gap is no larger than the target, so the solver stopped."""
    BOUNDED = "bounded"
    """Not proven optimal, but `gap` bounds how far from optimal the plan can be."""
    TIME_LIMIT = "time limit"
    """As BOUNDED; the time limit ended the search."""
    INTERRUPTED = "interrupted"
    """As BOUNDED; the user interrupted the search. The plan is the best found until then."""
    STATISTICAL = "statistical"
    """Value and bound are means over simulated paths: they hold up to their standard errors."""


class Update(NamedTuple):
    """A progress report; fields are None where they are not known.

    `sentence` is something the user should be told even if no progress bar is shown.
    """

    stage: str
    done: float | None = None
    value: float | None = None
    lower_bound: float | None = None
    sentence: str = ""

    @property
    def gap(self) -> float | None:
        """(value - lower_bound) / lower_bound, or None if either is unknown."""
        if self.value is None or not self.lower_bound:
            return None
        return max(self.value - self.lower_bound, 0.0) / self.lower_bound


Progress = Callable[[Update], None]


def report(progress: Progress | None, stage: str, **known: Any) -> None:
    """Call `progress`, if there is one, with an `Update` of these fields."""
    if progress is not None:
        progress(Update(stage, **known))
