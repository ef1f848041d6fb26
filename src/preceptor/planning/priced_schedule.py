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
from preceptor.people.expected import Expected, Resumable, Tail, TakesStretches, Walk
from preceptor.planning.objectives import Objective

BoolArray = npt.NDArray[np.bool_]
Stop = Callable[[], bool]

# A set must be better by this share to replace what is there: less is rounding.
BETTER = 1e-12
# Sets that are played when prices only say which are promising.
_CONFIRMED = 3
# Sets that are tried as the end of a schedule, and borders from which they are.
_ENDINGS = 16
_ENDING_BORDERS = 6
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
        self.tail: Tail = ()
        self.costs: FloatArray = np.full(len(people), np.inf)
        self.value = np.inf
        self.objective = objective
        self.endings: list[int] = []
        """Sets worth trying from some round to the last."""
        self._walks = [person.walk(rounds, discount) for person in people]
        self._rough = [not person.exact_prices for person in people]
        # A list: reading one number from an array takes longer than the rest of a loop.
        self._now: list[int] = [0] * rounds
        self._laid: IntArray | None = None
        self._standing = _Standing(self._walks, self._rough, rounds)

    @property
    def schedule(self) -> IntArray:
        """Positions of the sets, round by round (rounds,)."""
        return np.array(self._now, dtype=np.int64)

    def aim(self, objective: Objective) -> None:
        """Minimise something else from now on."""
        self.objective = objective
        self.value = self._valued(self.costs)

    def lay(self, schedule: IntArray | None = None, tail: Tail | None = None) -> float:
        """Put down a schedule (or the present one again) and stand at its end."""
        new = self.schedule if schedule is None else schedule.copy()
        since = 0
        if self._laid is not None:
            changed = np.flatnonzero(self._laid != new)
            since = int(changed[0]) if changed.size else self.rounds - 1
        self._standing.laid(other_tail=tail is not None and tail != self.tail)
        self._laid, self._now = new, new.tolist()
        if tail is not None:
            self.tail = tail
        for i, walk in enumerate(self._walks):
            self.costs[i] = walk.lay(new, self.tail, since)
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
        if not look.any():
            return changed
        self.sweeps += 1
        self.lay()
        ends = np.arange(self.rounds, 0, -length)
        if length == 1:
            ends = ends[look[::-1]]
        for end in ends.tolist():
            if self.stop():
                break
            start = max(end - length, 0)
            self._standing.at(end, self._now)
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
        """Go back once and try to move the borders between runs, swap, drop and replace runs.

        Parameters
        ----------
        look
            Rounds at which such a change may end, shape (rounds,).
        ids
            Positions of the sets to choose from when a whole run is replaced.
        endings
            Whether to try one set instead of several last runs too.
        singly
            Rounds at which to try other sets in that round alone first, shape (rounds,).

        Returns
        -------
        array of shape (rounds,)
            Which rounds have changed.
        """
        changed = np.zeros(self.rounds, dtype=np.bool_)
        if not look.any():
            return changed
        self.sweeps += 1
        self.lay()
        looks, end = look.tolist(), self.rounds
        alone = [False] * end if singly is None else singly.tolist()
        lowest = int(np.flatnonzero(look)[0])
        while end > lowest and not self.stop():
            start = end - 1
            if alone[start]:
                self._standing.at(end, self._now)
                chosen = self._better(start, end, ids, None)
                if chosen >= 0:
                    self._now[start] = chosen
                    changed[start] = True
                    end = start
                    continue
            if looks[end - 1]:
                found = self._better_block(end, ids, endings)
                if found is not None:
                    start, block = found
                    self._now[start:end] = block.tolist()
                    changed[start:end] = True
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
        values = self._priced(self.rounds - 1, ids)[1]
        return ids[np.argsort(values, kind="stable")[:count]]

    # --- the parts of a pass ---

    def _better(self, start: int, end: int, ids: IntArray, wins: FloatArray | None) -> int:
        """The set that should fill these rounds instead, or -1; the walks stand at `end`."""
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
        self._standing.at(end, self._now)
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
        """First round of the run that round `end` - 1 is in, and the set before it or -1."""
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
        """One set instead of the run before `end`; at the very end, instead of several runs."""
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
        firsts = borders[:: -(-len(borders) // _ENDING_BORDERS)]
        return [(first, _filled(end - first, s)) for first in firsts for s in sets[:_ENDINGS]]

    def _priced(self, t: int, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Costs (sets, people) with each set in round t instead of the present one, and values."""
        table = np.empty((ids.size, len(self._walks)))
        for i, walk in enumerate(self._walks):
            if self._rough[i]:
                # Rough prices tell differences: count them from what the present set costs.
                prices = walk.prices(t, np.append(ids, self._now[t]))
                table[:, i] = prices[:-1] + (self.costs[i] - prices[-1])
            else:
                table[:, i] = walk.prices(t, ids)
        return table, self._all_valued(table)

    def _played(self, start: int, block: IntArray) -> tuple[FloatArray, float]:
        """Costs and value with these sets from round `start` on; infinite if not better.

        Those who do worst now are asked first: if a change is no better even if it were the best
        possible for everybody else, nobody else needs to be asked.
        """
        least = self.objective.least(self.costs.size)
        costs, bar = least.copy(), self._bar()
        relative = self.costs / np.where(least > 0.0, least, 1.0)
        order = np.argsort(-relative, kind="stable").tolist()
        value = np.inf
        for i in order:
            costs[i] = self._walks[i].block(start, block)
            value = self._valued(costs)
            if value >= bar:
                return costs, np.inf
        return costs, value

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


class _Standing:
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
