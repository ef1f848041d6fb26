"""What long work tells its caller on the way, and how it ended."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import NamedTuple

# A lower bound above what a plan costs by more than this share of it contradicts the plan. Both are
# sums of rounded numbers; less than this is rounding.
CONTRADICTION = 1e-9
# The largest gap, as a share of the value, at which a plan may call itself optimal: what the exact
# method without a clock makes of an infinite horizon, at twice its usual tolerance.
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
    """As BOUNDED; the gap is no larger than was asked for, so nothing more was tried."""
    BOUNDED = "bounded"
    """Nothing was proven optimal, but `gap` says how far off this can be at most."""
    TIME_LIMIT = "time limit"
    """As BOUNDED; there was more to try when the time was up."""
    INTERRUPTED = "interrupted"
    """As BOUNDED; somebody stopped it. The plan is the best found until then."""


class Update(NamedTuple):
    """What long work reports now and then; None where it does not know.

    `sentence` is something that a person should be told even if nothing moves on their screen.
    """

    stage: str
    done: float | None = None
    value: float | None = None
    lower_bound: float | None = None
    sentence: str = ""

    @property
    def gap(self) -> float | None:
        """(value - lower_bound) / lower_bound as far as both are known."""
        if self.value is None or not self.lower_bound:
            return None
        return max(self.value - self.lower_bound, 0.0) / self.lower_bound


Progress = Callable[[Update], None]


def report(
    progress: Progress | None,
    stage: str,
    *,
    done: float | None = None,
    value: float | None = None,
    lower_bound: float | None = None,
    sentence: str = "",
) -> None:
    """Tell the caller, if there is one."""
    if progress is not None:
        progress(Update(stage, done, value, lower_bound, sentence))
