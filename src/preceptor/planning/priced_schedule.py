"""One schedule and the cost of every change of it, for each person of a crowd.

The walks of all people are at the same round. A schedule is laid out from the start, then taken
back from the end; on the way every round may get another set, and later rounds stay valid. So one
pass covers all rounds without simulating anything again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import Expected, StepsOverBlocks, Tail
from preceptor.planning.anytime import Stop
from preceptor.planning.objectives import Objective

BoolArray = npt.NDArray[np.bool_]

# A set must be better by this share to replace the present one: less is rounding.
BETTER = 1e-12
# Sets that are evaluated exactly where prices are approximate.
_CONFIRMED = 3
# Numbers of rounds by which runs are shifted.
_SHIFTS = (1, 2, 4, 8, 16)


class PricedSchedule:
    """A schedule under improvement; `schedule`, `tail`, `costs` and `value` are current."""

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
        self.tail: Tail = ()
        self.costs: FloatArray = np.full(len(people), np.inf)
        self.value = np.inf
        self.objective = objective
        self.endings: list[int] = []
        """Sets to try from some round to the last."""
        self._walks = [person.walk(rounds, discount) for person in people]
        self._rough = [not person.exact_prices for person in people]
        # A list, since reading single numbers from an array is slow.
        self._now: list[int] = [0] * rounds
        self._laid: IntArray | None = None
        self._at = rounds  # where all walks are

    @property
    def schedule(self) -> IntArray:
        """Positions of the sets, round by round (rounds,)."""
        return np.array(self._now, dtype=np.int64)

    def aim(self, objective: Objective) -> None:
        """Minimise another objective from now on."""
        self.objective = objective
        self.value = self._valued(self.costs)

    def forward(self, schedule: IntArray | None = None, tail: Tail | None = None) -> float:
        """Lay out a schedule (or the current one again) and move all walks to its end."""
        new = self.schedule if schedule is None else schedule.copy()
        since = 0
        if self._laid is not None:
            changed = np.flatnonzero(self._laid != new)
            since = int(changed[0]) if changed.size else self.rounds - 1
        self._at = self.rounds
        self._laid, self._now = new, new.tolist()
        if tail is not None:
            self.tail = tail
        for i, walk in enumerate(self._walks):
            self.costs[i] = walk.forward(new, self.tail, since)
        self.value = self._valued(self.costs)
        return self.value

    def sweep(
        self, look: BoolArray, ids: IntArray, length: int = 1, wins: FloatArray | None = None
    ) -> BoolArray:
        """Go backward through the schedule once; give stretches of `length` rounds a better set.

        Parameters
        ----------
        look
            Rounds that may change, shape (rounds,).
        ids
            Positions of the sets to choose from.
        length
            Rounds that change together.
        wins
            If given, shape (sets,): counts how often each set is among the best few.

        Returns
        -------
        array of shape (rounds,)
            Which rounds have changed.
        """
        changed = np.zeros(self.rounds, dtype=np.bool_)
        if not look.any():
            return changed
        self.sweeps += 1
        self.forward()
        ends = np.arange(self.rounds, 0, -length)
        if length == 1:
            ends = ends[look[::-1]]
        for end in ends.tolist():
            if self.stop():
                break
            start = max(end - length, 0)
            self._step_back_to(end)
            chosen = self._better(start, end, ids, wins)
            if chosen >= 0:
                self._now[start:end] = [chosen] * (end - start)
                changed[start:end] = True
        return changed

    def shift_runs(
        self,
        look: BoolArray,
        ids: IntArray,
        *,
        endings: bool = True,
        singly: BoolArray | None = None,
    ) -> BoolArray:
        """Go backward once and try to move borders between runs, swap, drop and replace runs.

        Parameters
        ----------
        look
            Rounds at which such a change may end, shape (rounds,).
        ids
            Positions of the sets to choose from when a whole run is replaced.
        endings
            Whether to also try one set in place of several last runs.
        singly
            Rounds that may change on their own first, shape (rounds,).

        Returns
        -------
        array of shape (rounds,)
            Which rounds have changed.
        """
        changed = np.zeros(self.rounds, dtype=np.bool_)
        if not look.any():
            return changed
        self.sweeps += 1
        self.forward()
        looks, end = look.tolist(), self.rounds
        alone = [False] * end if singly is None else singly.tolist()
        lowest = int(np.flatnonzero(look)[0])
        while end > lowest:
            start = end - 1
            if (alone[start] or looks[start]) and self.stop():
                break
            if alone[start]:
                self._step_back_to(end)
                chosen = self._better(start, end, ids, None)
                if chosen >= 0:
                    self._now[start] = chosen
                    changed[start] = True
                    end = start
                    continue
            if looks[start]:
                found = self._better_block(end, ids, endings)
                if found is not None:
                    start, block = found
                    self._now[start:end] = block.tolist()
                    changed[start:end] = True
            end = start
        return changed

    def choose_tail(self, tails: Sequence[Tail]) -> bool:
        """Take the best of these tails; return whether it differs from the present one."""
        others = [tail for tail in dict.fromkeys(tails) if tail != self.tail]
        if not others:
            return False
        self.forward()
        table = np.empty((len(others), len(self._walks)))
        for i, walk in enumerate(self._walks):
            table[:, i] = walk.tails(others)
        values = self._all_valued(table)
        best = int(np.argmin(values))
        if not values[best] < self._bar():
            return False
        self.forward(tail=others[best])
        return True

    def best_last(self, ids: IntArray, count: int) -> IntArray:
        """The best sets for the last round."""
        self.forward()
        values = self._priced(self.rounds - 1, ids)[1]
        return ids[np.argsort(values, kind="stable")[:count]]

    # --- the parts of a pass ---

    def _step_back_to(self, end: int) -> None:
        """Take the walks back to round `end`, so that rounds before it can be priced."""
        sets = self._now[end : self._at]
        for walk in self._walks:
            if len(sets) > 1 and isinstance(walk, StepsOverBlocks):
                walk.step_back_over(end, np.array(sets, dtype=np.int64))
                continue
            for t in range(self._at - 1, end - 1, -1):
                walk.step_back(t, self._now[t])
        self._at = end

    def _better(self, start: int, end: int, ids: IntArray, wins: FloatArray | None) -> int:
        """The set that should replace these rounds, or -1; the walks are at `end`."""
        table, values = self._priced(end - 1, ids)
        if wins is not None:
            wins[ids[_smallest(values, _CONFIRMED)]] += 1
        if end - start == 1 and not any(self._rough):
            best = int(values.argmin())
            if values[best] < self._bar() and ids[best] != self._now[start]:
                self._take(table[best], float(values[best]))
                return int(ids[best])
            return -1
        chosen, now = -1, self._now[start:end]
        bar = self._bar() if end - start == 1 else np.inf
        for best in _smallest(values, _CONFIRMED):
            position = int(ids[best])
            if values[best] >= bar or now.count(position) == len(now):
                continue
            costs, value = self._played(start, _filled(end - start, position))
            if value < self._bar():
                self._take(costs, value)
                chosen = position
        return chosen

    def _better_block(self, end: int, ids: IntArray, endings: bool) -> tuple[int, IntArray] | None:
        """The best change of a stretch that ends here, as its first round and its sets."""
        blocks = self._blocks(end)
        border = end == self.rounds or self._now[end] != self._now[end - 1]
        if not blocks and not border:
            return None
        self._step_back_to(end)
        if border:
            blocks += self._replaced(end, ids, endings)
        found = None
        for start, block in blocks:
            costs, value = self._played(start, block)
            if value < self._bar():
                self._take(costs, value)
                found = (start, block)
        return found

    def _run(self, end: int) -> tuple[int, int]:
        """First round of the run that contains round `end` - 1, and the set before it or -1."""
        x, first = self._now, end - 1
        while first > 0 and x[first - 1] == x[end - 1]:
            first -= 1
        return first, (x[first - 1] if first > 0 else -1)

    def _blocks(self, end: int) -> list[tuple[int, IntArray]]:
        """Changes around borders of runs that end with round `end` - 1."""
        x, blocks = self._now, []
        here, inside = x[end - 1], end < self.rounds and x[end] == x[end - 1]
        for gap in (2, 3):
            # Two rounds on either side of a border change places.
            if end >= gap and x[end - gap] != here and x[end - 2] in (here, x[end - gap]):
                swapped = [here, *x[end - gap + 1 : end - 1], x[end - gap]]
                blocks.append((end - gap, np.array(swapped, dtype=np.int64)))
        if inside:
            # The run on the left goes on for some rounds into this one.
            for shift in _SHIFTS:
                if shift >= end or x[end - shift] != here:
                    break
                if x[end - shift - 1] != here:
                    blocks.append((end - shift, _filled(shift, x[end - shift - 1])))
                    break
            return blocks
        first, left = self._run(end)
        right = x[end] if end < self.rounds else -1
        if right >= 0:
            # The run on the right starts earlier; at most this whole run goes.
            for shift in (*(s for s in _SHIFTS if s < end - first), end - first):
                blocks.append((end - shift, _filled(shift, right)))
        if left >= 0:
            blocks.append((first, _filled(end - first, left)))
            before, _ = self._run(first)
            blocks.append((before, np.array(x[first:end] + x[before:first], dtype=np.int64)))
            blocks += [(before, _filled(end - before, s)) for s in (here, right) if s >= 0]
        return blocks

    def _replaced(self, end: int, ids: IntArray, endings: bool) -> list[tuple[int, IntArray]]:
        """One set in place of the run before `end`; at the end, in place of several runs."""
        first, _ = self._run(end)
        sets = ids[_smallest(self._priced(end - 1, ids)[1], 2)].tolist()
        if end < self.rounds or not endings:
            if end - first == 1:
                return []
            return [(first, _filled(end - first, s)) for s in sets if s != self._now[end - 1]]
        return self._endings(list(dict.fromkeys([*sets, *self.endings, *reversed(self._now)])))

    def _endings(self, sets: list[int]) -> list[tuple[int, IntArray]]:
        """One set from some border to the last round.

        How a schedule ends decides most of its cost, and runs that change one by one do not lead
        out of a bad end.
        """
        end = self.rounds
        borders = [0, *(t for t in range(1, end) if self._now[t] != self._now[t - 1])]
        # Sixteen sets are tried as the end of a schedule, from six borders of runs.
        firsts = borders[:: -(-len(borders) // 6)]
        return [(first, _filled(end - first, s)) for first in firsts for s in sets[:16]]

    def _priced(self, t: int, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Costs (sets, people) with each set in round t instead of the present one, and values."""
        table = np.empty((ids.size, len(self._walks)))
        for i, walk in enumerate(self._walks):
            if self._rough[i]:
                # Only differences of approximate prices are meaningful, so they are applied to the
                # cost of the present set.
                prices = walk.prices(t, np.append(ids, self._now[t]))
                table[:, i] = prices[:-1] + (self.costs[i] - prices[-1])
            else:
                table[:, i] = walk.prices(t, ids)
        return table, self._all_valued(table)

    def _played(self, start: int, block: IntArray) -> tuple[FloatArray, float]:
        """Costs and value with these sets from round `start` on; infinite if not better.

        People with the largest relative cost come first: if a change is no better even with the
        optimistic costs of all others, the others need no evaluation.
        """
        least = self.objective.least(self.costs.size)
        costs, bar = least.copy(), self._bar()
        relative = self.costs / np.where(least > 0.0, least, 1.0)
        order = np.argsort(-relative, kind="stable").tolist()
        value = np.inf
        for i in order:
            costs[i] = self._walks[i].replace_block(start, block)
            value = self._valued(costs)
            if value >= bar:
                return costs, np.inf
        return costs, value

    def _take(self, costs: FloatArray, value: float) -> None:
        self.costs[:] = costs
        self.value = value

    def _bar(self) -> float:
        """The value below which a change counts as better."""
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
