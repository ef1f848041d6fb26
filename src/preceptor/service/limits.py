"""How often a token may call: a bucket that fills at a rate and holds a burst."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

# Callers that are remembered; whoever was not seen for long has a full bucket anyway.
_MOST = 10_000


class Buckets:
    """One bucket a caller.

    Parameters
    ----------
    rate
        Calls a second for long; 0 for any number.
    burst
        Calls at once.

    Examples
    --------
    >>> buckets = Buckets(1.0, 2)
    >>> [buckets.wait("ann", now=0.0) for _ in range(3)]
    [0, 0, 1]
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(max(burst, 1))
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str, now: float | None = None) -> int:
        """Take one call; gives whole seconds to wait, 0 if it may be made now."""
        if self._rate <= 0.0:
            return 0
        now = time.monotonic() if now is None else now
        left, then = self._left.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        allowed = left >= 1.0
        self._left[caller] = (left - 1.0 if allowed else left, now)
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1.0 - left) / self._rate))
