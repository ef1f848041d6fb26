"""How somebody of a known kind should go on, found within the time of a click.

The full search (`planning/price_search.py`) looks at every round with every set until nothing is
gained. Somebody who is planned for again every few rounds does not need that: rounds soon are
looked at one by one, later ones now and then, and the schedule begins with what was planned before.
Nothing depends on a clock, so the same record always gives the same advice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Expected, Tail
from preceptor.planning.objectives import Cost
from preceptor.planning.price_search import Start
from preceptor.planning.priced_schedule import PricedSchedule

# Rounds that are looked at one by one, about as many borders of runs later on, and the gaps between
# other rounds that are looked at later.
_SOON, _GAP = 24, 16
# Passes over them, at most, and what a pass must gain for another one.
_PASSES, _GAIN = 3, 1e-4
# Stretches that change together where nothing is known yet.
_STRETCHES = (100, 25, 6)
# Rounds by which each set alone is judged.
TRIED = 24
# Lengths of words at the end of a schedule that may be worth repeating.
_WORDS = (2, 3, 5)
# Starts that are followed where nothing is known yet.
_FOLLOWED = 3


@dataclass(frozen=True, eq=False)
class Way:
    """A schedule (rounds,) of positions of sets, what is repeated after it, and what both cost."""

    schedule: IntArray
    tail: Tail
    cost: float

    def later(self, rounds: int, length: int) -> Start:
        """The same way after so many rounds, for a schedule of this length."""
        left = self.schedule[rounds:]
        if left.size >= length:
            return left[:length], self.tail
        word = self.tail or (int(self.schedule[-1]),)
        missing = length - left.size
        turns = np.tile(np.array(word, dtype=np.int64), -(-missing // len(word)))
        schedule = np.concatenate([left, turns[:missing]])
        return schedule, word[missing % len(word) :] + word[: missing % len(word)]


def find_way(
    person: Expected,
    *,
    rounds: int,
    discount: float,
    infinite: bool,
    sets: int,
    starts: Sequence[Start] = (),
    from_scratch: bool = False,
) -> Way:
    """A good schedule for one person, quickly.

    Parameters
    ----------
    person
        What is expected of them from now on.
    rounds
        How many are planned, at least 1.
    discount
        What a round weighs against the one before.
    infinite
        Whether something is repeated forever after them.
    sets
        How many sets there are.
    starts
        Schedules of that many rounds to begin with.
    from_scratch
        Whether to look at long stretches first, because nothing is known yet.

    Returns
    -------
    Way
        At least as good as every start and as the best set shown throughout.
    """
    ids = np.arange(sets)
    alone = _alone(person, sets, min(rounds, TRIED))
    weights = discount ** np.arange(alone.shape[1], dtype=np.float64)
    if infinite:
        weights[-1] += discount ** alone.shape[1] / (1.0 - discount)
    else:
        weights[-1] += np.sum(discount ** np.arange(alone.shape[1], rounds, dtype=np.float64))
    ranked = np.argsort(_numbers(alone @ weights), kind="stable").tolist()
    late = np.argsort(_numbers(alone[:, -1]), kind="stable").tolist()
    few = list(dict.fromkeys([*ranked[:3], *late[:2]]))
    fixed = [(np.full(rounds, s, dtype=np.int64), (s,) if infinite else ()) for s in few]
    priced = PricedSchedule([person], rounds, discount, Cost(), lambda: False)
    priced.endings = list(dict.fromkeys([*ranked[:3], *late[:3]]))
    begun = [*starts, *fixed]
    values = [priced.lay(np.asarray(schedule), tail) for schedule, tail in begun]
    order = np.argsort(values, kind="stable")[: _FOLLOWED if from_scratch else 1].tolist()
    ways = [_improved(priced, begun[k], ids, from_scratch=from_scratch) for k in order]
    return min(ways, key=lambda way: way.cost)


def _improved(
    priced: PricedSchedule,
    start: Start,
    ids: IntArray,
    *,
    from_scratch: bool,
) -> Way:
    """A start with better sets where it was looked at."""
    schedule, tail = start
    rounds, infinite = priced.rounds, bool(tail)
    priced.lay(np.asarray(schedule), tail)
    if from_scratch:
        for length in _STRETCHES:
            if 2 * length <= rounds:
                priced.sweep(np.ones(rounds, dtype=np.bool_), ids, length)
    endings = from_scratch
    for _ in range(_PASSES):
        before = priced.value
        priced.sweep(_looked_at(priced), ids)
        near = _looked_at(priced)
        if not from_scratch:
            near[2 * _SOON :] = False
        priced.shift_runs(near, ids, endings=endings)
        if infinite:
            priced.choose_tail(_tails(priced))
        if not before - priced.value > _GAIN * abs(before):
            break
        endings = False
    return Way(priced.schedule, priced.tail, float(priced.costs[0]))


def _tails(priced: PricedSchedule) -> list[Tail]:
    """What may be repeated in the end: single sets, or the last few rounds in turn."""
    last = priced.schedule[-max(_WORDS) :].tolist()
    tails: list[Tail] = [(s,) for s in dict.fromkeys([last[-1], *priced.endings])]
    words = [tuple(last[-size:]) for size in _WORDS if len(last) >= size]
    return tails + [word for word in words if len(set(word)) > 1]


def _alone(person: Expected, sets: int, rounds: int) -> FloatArray:
    """Losses (sets, rounds) of each set shown throughout."""
    return np.array([person.losses(np.full(rounds, s, dtype=np.int64)) for s in range(sets)])


def _looked_at(priced: PricedSchedule) -> npt.NDArray[np.bool_]:
    """Rounds soon, some later, and those at borders of runs."""
    look = np.zeros(priced.rounds, dtype=np.bool_)
    look[:_SOON] = True
    look[_SOON::_GAP] = True
    schedule = priced.schedule
    borders = np.flatnonzero(schedule[1:] != schedule[:-1])
    # Somebody who forgets is shown sets in turn: borders everywhere, and no time for all of them.
    borders = borders[:: max(borders.size // _SOON, 1)]
    look[borders] = look[borders + 1] = True
    return look


def _numbers(values: FloatArray) -> FloatArray:
    """What cannot be computed is as bad as can be."""
    return np.where(np.isnan(values), np.inf, values)
