"""What to show next to somebody who may be of several kinds, of whom one will soon know more.

A plan for all rounds that is good for everybody gives away what answers will tell. So only the next
few rounds are planned in common; after them every kind goes on with a plan of its own, as if by
then it were known who it is. Costs count relative to each kind's own best plan: otherwise whoever
is costly anyway decides alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Expected, Resumable, TakesStretches, Walk
from preceptor.planning.crowd_plans import positive_costs
from preceptor.tutoring.own_way import Way

# Sets that are played where prices only say which are promising.
_CONFIRMED = 3
# Passes over the common rounds.
_PASSES = 4
# Starts of the common rounds that are improved.
_FOLLOWED = 3
_BETTER = 1e-12


@dataclass(frozen=True, eq=False)
class Ahead:
    """The next rounds in common (rounds,), as positions of sets.

    `value` is the mean of costs relative to each kind's own best way, if the kind becomes known
    after the common rounds; `relative` (kinds,) has them one by one.
    """

    common: IntArray
    value: float
    relative: FloatArray


def look_ahead(
    people: Sequence[Expected],
    weights: FloatArray,
    ways: Sequence[Way],
    *,
    discount: float,
    sets: int,
    common_rounds: int = 8,
) -> Ahead:
    """Plan the next rounds in common, after which each kind goes its own way.

    Parameters
    ----------
    people
        What is expected of each kind from now on, all with the same list of sets.
    weights
        How likely each is, shape (kinds,).
    ways
        The best known way for each kind alone.
    discount
        What a round weighs against the one before.
    sets
        How many sets there are.
    common_rounds
        After how many rounds one will know who it is.

    Returns
    -------
    Ahead
        At least one common round.
    """
    rounds = ways[0].schedule.size
    few = min(common_rounds, rounds)
    best = positive_costs([way.cost for way in ways])
    if len(people) == 1:
        return Ahead(ways[0].schedule[:few], 1.0, np.ones(1))
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        scales = weights / weights.sum() / best
        fork = _Fork(people, scales, ways, discount, few, sets)
        value, common = fork.best_of([way.schedule[:few] for way in ways])
        relative = fork.costs(common) / best
    return Ahead(common, value, relative)


def relative_costs(
    people: Sequence[Expected],
    ways: Sequence[Way],
    best: FloatArray,
    begins: Sequence[IntArray],
    discount: float,
) -> FloatArray:
    """What beginnings of the same length cost each kind relative to its best, own ways after them.

    Parameters
    ----------
    people
        What is expected of each kind from now on.
    ways
        How each goes on.
    best
        What costs are relative to, shape (kinds,).
    begins
        Positions of sets, all of the same length.
    discount
        What a round weighs against the one before.

    Returns
    -------
    array of shape (beginnings, kinds)
        1 where nothing is lost.
    """
    few = begins[0].size
    fork = _Fork(people, 1.0 / best, ways, discount, few, 0)
    return np.array([fork.begun(begin) for begin in begins]) / best


class _Fork:
    """Common rounds, after which every kind goes its own way."""

    def __init__(
        self,
        people: Sequence[Expected],
        scales: FloatArray,
        ways: Sequence[Way],
        discount: float,
        few: int,
        sets: int,
    ) -> None:
        rounds = ways[0].schedule.size
        self._walks: list[Walk] = [person.walk(rounds, discount) for person in people]
        self._rough = [not person.exact_prices for person in people]
        self._scales, self._few = scales, few
        self._ids = np.arange(sets)
        self._ways = [way.schedule.copy() for way in ways]
        self._tails = [way.tail for way in ways]
        self._laid = [False] * len(people)

    def costs(self, common: IntArray) -> FloatArray:
        """What common rounds cost each kind, with its own way behind them."""
        return np.array([self._lay(i, common) for i in range(len(self._walks))])

    def begun(self, common: IntArray) -> FloatArray:
        """The same, without laying everything again."""
        if not all(self._laid):
            self.costs(common)
        return np.array([walk.block(0, common) for walk in self._walks])

    def best_of(self, starts: Sequence[IntArray]) -> tuple[float, IntArray]:
        """The best common rounds, from several to start with."""
        different = list({start.tobytes(): start for start in starts}.values())
        different += [np.full(self._few, s) for s in dict.fromkeys(int(s[0]) for s in starts)]
        valued = sorted(((self._value(start), k) for k, start in enumerate(different)))
        reached = [self._improved(different[k]) for _value, k in valued[:_FOLLOWED]]
        return min(reached, key=lambda entry: entry[0])

    def _value(self, common: IntArray) -> float:
        return float(self._scales @ self.costs(common))

    def _lay(self, i: int, common: IntArray) -> float:
        """Lay a kind's whole schedule and stand behind the common rounds; gives what it costs."""
        walk, way, few = self._walks[i], self._ways[i], self._few
        way[:few] = common
        cost = walk.lay(way, self._tails[i], 0)
        if way.size > few:
            if self._laid[i] and not self._rough[i] and isinstance(walk, Resumable):
                walk.resume(few)
            elif isinstance(walk, TakesStretches):
                walk.back_over(few, way[few:])
            else:
                for t in range(way.size - 1, few - 1, -1):
                    walk.back(t, int(way[t]))
        self._laid[i] = True
        return cost

    def _improved(self, common: IntArray) -> tuple[float, IntArray]:
        """One round after the other gets the best set given all others, until nothing is gained."""
        now = common.copy()
        value = self._value(now)
        for _ in range(_PASSES):
            before = value
            for t in range(self._few - 1, -1, -1):
                value, now[t] = self._better(t, int(now[t]), value)
                for walk in self._walks:
                    walk.back(t, int(now[t]))
            value = self._value(now)
            if not value < before - _BETTER * abs(before):
                break
        return value, now

    def _better(self, t: int, present: int, value: float) -> tuple[float, int]:
        """What the mean costs with the best set in round t, and that set."""
        total = np.zeros(self._ids.size)
        for walk, rough, scale in zip(self._walks, self._rough, self._scales, strict=True):
            prices = walk.prices(t, self._ids)
            if rough:
                # Rough prices tell differences: count them from what the present set costs.
                prices = prices + (self._alone(walk, t, present) - prices[present])
            total += scale * prices
        total = np.where(np.isnan(total), np.inf, total)
        if not any(self._rough):
            best = int(np.argmin(total))
            return (float(total[best]), best) if total[best] < value else (value, present)
        for s in np.argsort(total, kind="stable")[:_CONFIRMED].tolist():
            if s == present or total[s] >= value:
                continue
            sure = sum(
                scale * self._alone(walk, t, s)
                for walk, scale in zip(self._walks, self._scales, strict=True)
            )
            if sure < value:
                value, present = float(sure), s
        return value, present

    @staticmethod
    def _alone(walk: Walk, t: int, position: int) -> float:
        return walk.block(t, np.array([position], dtype=np.int64))
