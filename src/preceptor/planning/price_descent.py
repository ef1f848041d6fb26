"""Down to a local optimum of schedules: stretches, single rounds, borders of runs, endings.

Long stretches change first, then single rounds, then borders between runs; what is repeated forever
afterwards is chosen along the way. Where there are many sets, most passes look only at a short list
of those that have done well.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.values import IntArray
from preceptor.people.expected import Tail
from preceptor.planning.priced_schedule import BoolArray, PricedSchedule

# A search goes on while it gains this share; plans and bounds are better by no less.
GAIN = 1e-9
# Stretches that change together in the first passes; what is no longer is short.
LONGEST = 64
# Rounds on either side of a change that are looked at again.
REACH = 8
# With more sets than this, most passes look only at those that have done well.
_MANY_SETS = 60
_SHORTLIST = 40
# Stretches of so many rounds are looked at so rarely that all sets can be tried.
_RARE = 16
# Between borders of runs, a quick pass looks at every so many rounds.
_SAMPLED = 8
# Lengths of words at the end of a schedule that may be worth repeating forever.
_WORDS = (2, 3, 4, 5, 6, 8)


class Descent:
    """Improves a schedule until nothing is gained.

    `ids` are positions of the sets that are looked at now, `all` of those that there are. `fixed`
    are all sets, best first if always shown, and `kept` schedules whose sets stay on the short
    list; whoever conducts the search knows them.
    """

    def __init__(
        self,
        priced: PricedSchedule,
        ids: IntArray,
        sets: int,
        infinite: bool,
        words: tuple[Tail, ...],
    ) -> None:
        self.priced = priced
        self.all = ids
        self.ids = ids
        self.infinite = infinite
        self.words = words
        self.wins = np.zeros(sets)
        self.fixed: list[int] = []
        self.kept: list[IntArray] = []

    @property
    def rounds(self) -> int:
        """How many are searched."""
        return self.priced.rounds

    def coarse(self) -> None:
        """Passes with stretches that become shorter."""
        length = LONGEST
        while length > 1:
            if length * 2 <= self.rounds and not self.priced.stop():
                # Rare looks can afford all sets, and say which of them matter.
                ids = self.all if length >= _RARE else self.ids
                self.priced.sweep(self.everywhere(), ids, length, self.wins)
            length //= 4 if self.rounds >= LONGEST else 2
            if length < _RARE:
                self.shortlist(self.priced.schedule)
        self.choose_tail()

    def shortlist(self, *schedules: IntArray) -> None:
        """Sets in use, and those that have come close most often."""
        if self.all.size <= _MANY_SETS:
            return
        used = np.unique(np.concatenate([*schedules, *self.kept]))
        wins = self.wins.copy()
        wins[self.fixed[:4]] += 1
        wins[used] = np.inf
        order = self.all[np.argsort(-wins[self.all], kind="stable")]
        size = max(_SHORTLIST, np.intersect1d(used, self.all).size)
        self.ids = np.sort(order[:size][wins[order[:size]] > 0])

    def settle(self, look: BoolArray, ids: IntArray | None = None) -> None:
        """Single rounds, again around whatever has changed, until nothing is gained."""
        ids = self.ids if ids is None else ids
        while not self.priced.stop():
            before = self.priced.value
            changed = self.priced.sweep(look, ids)
            if not self.gained(before):
                return
            look, ids = near(changed), self.ids

    def look_everywhere(self) -> None:
        """At every round once more, and at some with all sets, until nothing is gained."""
        endings = True
        while not self.priced.stop():
            before = self.priced.value
            if self.ids.size < self.all.size:
                self.priced.sweep(self.sample(), self.all, 1, self.wins)
                self.shortlist(self.priced.schedule)
            self.settle(self.everywhere())
            self.settle_runs(endings=endings)
            endings = False
            if not self.gained(before):
                return

    def sample(self) -> BoolArray:
        """Rounds at borders of runs, and a few in between; all of a short schedule."""
        if self.rounds <= LONGEST:
            return self.everywhere()
        schedule = self.priced.schedule
        look = np.zeros(self.rounds, dtype=np.bool_)
        look[-1::-_SAMPLED] = True
        borders = np.flatnonzero(schedule[1:] != schedule[:-1])
        look[borders] = look[borders + 1] = True
        return look

    def settle_runs(self, look: BoolArray | None = None, *, endings: bool = True) -> None:
        """Borders of runs and what comes afterwards, with single rounds in between."""
        priced = self.priced
        look = self.everywhere() if look is None else look
        while not priced.stop():
            before = priced.value
            changed = priced.shift_runs(look, self.ids, endings=endings)
            if changed.any():
                self.settle(near(changed) & self.sample())
            if self.choose_tail():
                changed[:] = True
                self.settle(changed)
            if not self.gained(before):
                return
            # Other endings take long to play; they have been tried.
            look, endings = near(changed), self.rounds <= LONGEST

    def choose_tail(self) -> bool:
        """What to repeat forever: sets in use, sets that would do well now, the last rounds."""
        if not self.infinite or self.priced.stop():
            return False
        last = self.priced.schedule
        near = self.priced.best_last(self.ids, 4).tolist()
        tails: list[Tail] = [(s,) for s in near]
        tails += [(s,) for s in dict.fromkeys(last[-16:].tolist())]
        tails += [(s,) for s in self.fixed[:3]]
        tails += self.words
        for size in _WORDS:
            word = tuple(last[-size:].tolist())
            if len(word) == size and len(set(word)) > 1:
                tails.append(word)
        return self.priced.choose_tail(tails)

    def gained(self, before: float) -> bool:
        """Whether that is worth going on."""
        now = self.priced.value
        if not np.isfinite(before):
            return bool(np.isfinite(now))
        return before - now > self.priced.objective.margin(before, GAIN)

    def everywhere(self) -> BoolArray:
        """All rounds."""
        return np.ones(self.rounds, dtype=np.bool_)


def near(changed: BoolArray) -> BoolArray:
    """Rounds within reach of a change."""
    near = np.zeros_like(changed)
    for t in np.flatnonzero(changed).tolist():
        near[max(t - REACH, 0) : t + REACH + 1] = True
    return near
