"""One schedule and what every change of it would cost each person of a crowd.

The walks of all people stand at the same round. They are laid from the start and then taken back
from the end; on the way every round may get another set, and what has been passed stays valid. So
one pass looks at all rounds without playing anything again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Expected, Tail
from preceptor.planning.objectives import Objective

BoolArray = npt.NDArray[np.bool_]
Stop = Callable[[], bool]

# A set must be better by this share to replace what is there: less is rounding.
BETTER = 1e-12
# Sets that are played when prices only say which are promising.
_CONFIRMED = 3
# Runs are shifted by so many rounds.
_SHIFTS = (1, 2, 4, 8, 16)


class PricedSchedule:
    """A schedule under change; `schedule`, `tail`, `costs` and `value` are always those of now."""

    def __init__(
        self,
        people: Sequence[Expected],
        rounds: int,
        discount: float,
        objective: Objective,
        stop: Stop,
    ) -> None:
        self.rounds = rounds
        self.stop = stop
        self.sweeps = 0
        self.schedule: IntArray = np.zeros(rounds, dtype=np.int64)
        self.tail: Tail = ()
        self.costs: FloatArray = np.full(len(people), np.inf)
        self.value = np.inf
        self.objective = objective
        self._walks = [person.walk(rounds, discount) for person in people]
        self._rough = [not person.exact_prices for person in people]
        self._laid: IntArray | None = None

    def aim(self, objective: Objective) -> None:
        """Minimise something else from now on."""
        self.objective = objective
        self.value = self._valued(self.costs)

    def lay(self, schedule: IntArray | None = None, tail: Tail | None = None) -> float:
        """Put down a schedule (or the present one again) and stand at its end."""
        if schedule is not None:
            self.schedule = schedule.copy()
        if tail is not None:
            self.tail = tail
        since = 0
        if self._laid is not None:
            changed = np.flatnonzero(self._laid != self.schedule)
            since = int(changed[0]) if changed.size else self.rounds - 1
        self._laid = self.schedule.copy()
        for i, walk in enumerate(self._walks):
            self.costs[i] = walk.lay(self._laid, self.tail, since)
        self.value = self._valued(self.costs)
        return self.value

    def sweep(
        self, look: BoolArray, ids: IntArray, length: int = 1, wins: FloatArray | None = None
    ) -> BoolArray:
        """Go back through the schedule once; give stretches of so many rounds a better set.

        Parameters
        ----------
        look
            Rounds at which to look for something better, shape (rounds,).
        ids
            Positions of the sets to choose from.
        length
            Rounds that change together.
        wins
            If given, shape (sets,): counts how often a set is among the best few.

        Returns
        -------
        array of shape (rounds,)
            Which rounds have changed.
        """
        changed = np.zeros(self.rounds, dtype=np.bool_)
        looked = np.flatnonzero(look)
        if not looked.size:
            return changed
        self.sweeps += 1
        self.lay()
        # Plain lists: reading one number from an array takes longer than the rest of the loop.
        looks, present = look.tolist(), self.schedule.tolist()
        end, lowest = self.rounds, int(looked[0])
        while end > lowest and not self.stop():
            start = max(end - length, 0)
            chosen = -1
            if any(looks[start:end]):
                chosen = self._better(start, end, ids, present, wins)
            if chosen >= 0:
                self.schedule[start:end] = chosen
                changed[start:end] = True
                present[start:end] = [chosen] * (end - start)
            for t in range(end - 1, start - 1, -1):
                for walk in self._walks:
                    walk.back(t, present[t])
            end = start
        return changed

    def shift_runs(self, look: BoolArray, ids: IntArray) -> BoolArray:
        """Go back once and try to move the borders between runs, swap, drop and replace runs.

        Parameters
        ----------
        look
            Rounds at which such a change may end, shape (rounds,).
        ids
            Positions of the sets to choose from when a whole run is replaced.

        Returns
        -------
        array of shape (rounds,)
            Which rounds have changed.
        """
        changed = np.zeros(self.rounds, dtype=np.bool_)
        looked = np.flatnonzero(look)
        if not looked.size:
            return changed
        self.sweeps += 1
        self.lay()
        looks = look.tolist()
        end, lowest = self.rounds, int(looked[0])
        while end > lowest and not self.stop():
            start = end - 1
            if looks[end - 1]:
                found = self._better_block(end, ids)
                if found is not None:
                    start, block = found
                    self.schedule[start:end] = block
                    changed[start:end] = True
            for t in range(end - 1, start - 1, -1):
                position = int(self.schedule[t])
                for walk in self._walks:
                    walk.back(t, position)
            end = start
        return changed

    def choose_tail(self, tails: Sequence[Tail]) -> bool:
        """Take the best of these tails; says whether it is another one than before."""
        others = [tail for tail in dict.fromkeys(tails) if tail != self.tail]
        if not others:
            return False
        self.lay()
        table = np.empty((len(others), len(self._walks)))
        for i, walk in enumerate(self._walks):
            table[:, i] = walk.tails(others)
        values = self._all_valued(table)
        best = int(np.argmin(values))
        if not values[best] < self._bar():
            return False
        self.lay(tail=others[best])
        return True

    def best_last(self, ids: IntArray, count: int) -> IntArray:
        """The sets that would do best in the last round."""
        self.lay()
        order = np.argsort(
            self._priced(self.rounds - 1, ids, int(self.schedule[-1]))[1], kind="stable"
        )
        return ids[order[:count]]

    # --- the parts of a pass ---

    def _better(
        self, start: int, end: int, ids: IntArray, present: list[int], wins: FloatArray | None
    ) -> int:
        """The set that should fill these rounds instead, or -1; the walks stand at `end`."""
        table, values = self._priced(end - 1, ids, present[end - 1])
        if wins is not None:
            wins[ids[_smallest(values, _CONFIRMED)]] += 1
        if end - start == 1 and not any(self._rough):
            best = int(values.argmin())
            if values[best] < self._bar() and ids[best] != present[start]:
                self._take(table[best], float(values[best]))
                return int(ids[best])
            return -1
        chosen, now = -1, present[start:end]
        bar = self._bar() if end - start == 1 else np.inf
        for best in _smallest(values, _CONFIRMED):
            position = int(ids[best])
            if values[best] >= bar or now.count(position) == len(now):
                continue
            costs = self._played(start, np.full(end - start, position, dtype=np.int64))
            value = self._valued(costs)
            if value < self._bar():
                self._take(costs, value)
                chosen = position
        return chosen

    def _better_block(self, end: int, ids: IntArray) -> tuple[int, IntArray] | None:
        """The best change of a stretch that ends here, as its first round and its sets."""
        found = None
        for start, block in self._blocks(end, ids):
            costs = self._played(start, block)
            value = self._valued(costs)
            if value < self._bar():
                self._take(costs, value)
                found = (start, block)
        return found

    def _blocks(self, end: int, ids: IntArray) -> list[tuple[int, IntArray]]:
        """Changes around borders of runs that end with round `end` - 1."""
        x, blocks = self.schedule, []
        here = int(x[end - 1])
        first = end - 1
        while first > 0 and x[first - 1] == here:
            first -= 1
        left = int(x[first - 1]) if first > 0 else -1
        # The run on the left goes on for some rounds into this one.
        if left >= 0 and end - first in _SHIFTS:
            blocks.append((first, _filled(end - first, left)))
        if end < self.rounds and x[end] == here:
            return blocks
        right = int(x[end]) if end < self.rounds else -1
        if right >= 0:
            # The run on the right starts earlier; at most this whole run goes.
            for shift in (*(s for s in _SHIFTS if s < end - first), end - first):
                blocks.append((end - shift, _filled(shift, right)))
        if left >= 0 and end - first not in _SHIFTS:
            blocks.append((first, _filled(end - first, left)))
        if left >= 0:
            before = first - 1
            while before > 0 and x[before - 1] == left:
                before -= 1
            swapped = np.concatenate([x[first:end], x[before:first]])
            blocks.append((before, swapped))
            for side in (here, right):
                if side >= 0:
                    blocks.append((before, _filled(end - before, side)))
        if end - first > 1:
            values = self._priced(end - 1, ids, here)[1]
            for best in _smallest(values, 2):
                if ids[best] not in (here, left, right):
                    blocks.append((first, _filled(end - first, int(ids[best]))))
        return blocks

    def _priced(self, t: int, ids: IntArray, present: int) -> tuple[FloatArray, FloatArray]:
        """Costs (sets, people) with each set in round t instead of the present one, and values."""
        table = np.empty((ids.size, len(self._walks)))
        for i, walk in enumerate(self._walks):
            if self._rough[i]:
                # Rough prices tell differences: count them from what the present set costs.
                prices = walk.prices(t, np.append(ids, present))
                table[:, i] = prices[:-1] + (self.costs[i] - prices[-1])
            else:
                table[:, i] = walk.prices(t, ids)
        return table, self._all_valued(table)

    def _played(self, start: int, block: IntArray) -> FloatArray:
        return np.array([walk.block(start, block) for walk in self._walks])

    def _take(self, costs: FloatArray, value: float) -> None:
        self.costs[:] = costs
        self.value = value

    def _bar(self) -> float:
        """What a change must stay below."""
        if not np.isfinite(self.value):
            return np.inf
        return self.value - self.objective.margin(self.value, BETTER)

    def _valued(self, costs: FloatArray) -> float:
        value = float(self.objective.value(costs))
        return value if value == value else np.inf

    def _all_valued(self, table: FloatArray) -> FloatArray:
        values: FloatArray = self.objective.value(table)
        if np.isnan(values.min()):
            values = np.where(np.isnan(values), np.inf, values)
        return values


def _smallest(values: FloatArray, count: int) -> IntArray:
    """Indices of the smallest few, best first."""
    if values.size <= count:
        return np.argsort(values, kind="stable")
    few = np.argpartition(values, count)[:count]
    return few[np.argsort(values[few], kind="stable")]


def _filled(size: int, position: int) -> IntArray:
    return np.full(size, position, dtype=np.int64)
