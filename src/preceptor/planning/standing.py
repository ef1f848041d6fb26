"""Where the walks of all people stand in a schedule, and which rounds are known already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor.people.expected import Resumable, TakesStretches, Walk


class Standing:
    """Takes walks back round by round; some remember, and resume where nothing has changed."""

    def __init__(self, walks: Sequence[Walk], rough: Sequence[bool], rounds: int) -> None:
        self._rounds = rounds
        self._plain: list[Walk] = []
        self._resumable: list[Resumable] = []
        for walk, is_rough in zip(walks, rough, strict=True):
            if isinstance(walk, Resumable) and not is_rough:
                self._resumable.append(walk)
            else:
                self._plain.append(walk)
        # Where each group stands; the sets that the second group remembers, down to which round.
        self._plain_at = self._resumed_at = rounds
        self._remembered = [-1] * rounds
        self._lowest = rounds

    def laid(self, *, other_tail: bool) -> None:
        """All walks stand at the end."""
        self._plain_at = self._resumed_at = self._rounds
        if other_tail:
            self._lowest = self._rounds

    def at(self, end: int, now: list[int]) -> None:
        """Take in the present sets down to round `end`."""
        if self._plain_at > end:
            sets = now[end : self._plain_at]
            for walk in self._plain:
                if len(sets) > 1 and isinstance(walk, TakesStretches):
                    walk.back_over(end, np.array(sets, dtype=np.int64))
                    continue
                for t in range(self._plain_at - 1, end - 1, -1):
                    walk.back(t, now[t])
            self._plain_at = end
        known = at = self._resumed_at
        if at <= end or not self._resumable:
            self._resumed_at = end
            return
        remembered, lowest = self._remembered, max(self._lowest, end)
        while known > lowest and remembered[known - 1] == now[known - 1]:
            known -= 1
        for quick in self._resumable:
            if known < at:
                quick.resume(known)
            if known > end:
                quick.back_over(end, np.array(now[end:known], dtype=np.int64))
        if known > end:
            remembered[end:known] = now[end:known]
            self._lowest = end
        self._resumed_at = end
