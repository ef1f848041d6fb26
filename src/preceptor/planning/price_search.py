"""Local search for schedules, for whoever can say what a change of one round is worth.

A pass goes back through the schedule and gives each round the set that is best given all others
(`priced_schedule.py`). Long stretches change first, then single rounds, then borders between runs;
what is repeated forever afterwards is chosen along the way; random kicks lead out of dead ends.
Nothing is proven about the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput
from preceptor.people.expected import Expected, Tail
from preceptor.planning.objectives import Cost, Objective
from preceptor.planning.priced_schedule import BoolArray, PricedSchedule, Stop

# Rounds, and what comes after them.
Start = tuple[Sequence[int] | IntArray, Tail]

# A search goes on while it gains this share.
_GAIN = 1e-9
# With more sets than this, most passes look only at those that have done well.
_MANY_SETS = 60
_SHORTLIST = 40
# Rounds on either side of a change that are looked at again.
_REACH = 8
# Stretches that change together in the first passes.
_LONGEST = 64
_RARE = 16
# So few prices a pass that every start may be followed to its end.
_SMALL = 3000
# Rounds after which a fixed set's loss is taken to stay as it is, for a first estimate.
_SETTLED = 64
# Between borders of runs, a quick pass looks at every so many rounds.
_SAMPLED = 8
# Fixed sets whose cost is computed in full.
_RANKED = 12
# Starts from which large problems are searched.
_FOLLOWED = 3
# A kicked schedule is given up if a pass makes up for less than this share of what is missing.
_CATCH_UP = 0.2
# Lengths of words at the end of a schedule that may be worth repeating forever.
_WORDS = (2, 3, 4, 5, 6, 8)


@dataclass(frozen=True, eq=False)
class Found:
    """The best schedule of a search.

    `schedule` (rounds,) holds positions of sets, `tail` what is repeated forever after it,
    `costs` (people,) what it costs each person in all, `value` what was minimised. `finished` says
    that nothing was cut short.
    """

    schedule: IntArray
    tail: Tail
    costs: FloatArray
    value: float
    kicks: int
    sweeps: int
    finished: bool

    @property
    def start(self) -> Start:
        """For another search to begin with."""
        return self.schedule, self.tail


def search_prices(
    people: Sequence[Expected],
    *,
    rounds: int,
    discount: float,
    infinite: bool,
    sets: int,
    objective: Objective | None = None,
    starts: Iterable[Start] = (),
    tails: Sequence[Tail] = (),
    candidates: IntArray | None = None,
    fixed: FixedSets | None = None,
    seed: int = 0,
    max_kicks: int = 20,
    stop: Stop = lambda: False,
    improved: Callable[[float], None] = lambda _value: None,
) -> Found:
    """Find a good schedule for one person, or one for several at once.

    Parameters
    ----------
    people
        What is expected of each of them, all with the same list of sets.
    rounds
        How many are searched, at least 1.
    discount
        What a round weighs against the one before.
    infinite
        Whether something is repeated forever after the searched rounds (then discount < 1).
    sets
        How many sets there are.
    objective
        What to minimise; may be left out for one person: what the schedule costs.
    starts
        Schedules to begin with, besides fixed sets; cut or continued to the right length.
    tails
        Words worth trying after the searched rounds, besides single sets.
    candidates
        Positions of the sets to choose from; all if left out.
    fixed
        About what each set costs each person if always shown, if known.
    seed
        Of the random kicks.
    max_kicks
        How many to try after the first local optimum.
    stop
        Asked often; the best so far is given back soon after it says True.
    improved
        Told about every better value.

    Returns
    -------
    Found
        The best that was met.

    Raises
    ------
    InvalidInput
        No people, no rounds, or several people without an objective.
    """
    if not people or rounds < 1:
        raise InvalidInput(
            f"people: {len(people)}, rounds: {rounds!r}; there must be at least one of each"
        )
    if objective is None:
        if len(people) > 1:
            raise InvalidInput(
                f"objective: None, but there are {len(people)} people; say what to minimise, "
                "e.g. Regret(best)"
            )
        objective = Cost()
    ids = np.arange(sets) if candidates is None else np.unique(candidates)
    # What follows solves many small systems.
    with one_blas_thread():
        if fixed is None:
            fixed = fixed_sets(people, sets, rounds, discount, infinite, ids)
        search = _Search(
            PricedSchedule(people, rounds, discount, objective, stop),
            objective,
            ids,
            sets,
            infinite,
            tuple(tails),
            np.random.default_rng(seed),
            improved,
        )
        search.know_fixed(people, discount, fixed)
        begun = [_fitted(schedule, tail, rounds, infinite) for schedule, tail in starts]
        if len(people) == 1:
            begun.append(search.greedy(people[0]))
        return search.run(begun, max_kicks)


class FixedSets(NamedTuple):
    """About what each set costs each person if always shown, and its loss then after a while.

    Both have the shape (sets, people); only their order should be trusted.
    """

    costs: FloatArray
    late: FloatArray


def fixed_sets(
    people: Sequence[Expected],
    sets: int,
    rounds: int,
    discount: float,
    infinite: bool,
    ids: IntArray | None = None,
) -> FixedSets:
    """Play each set alone for some rounds, and take the last loss to stay.

    Parameters
    ----------
    people
        Whose losses.
    sets
        How many sets there are.
    rounds
        How many rounds there are.
    discount
        What a round weighs against the one before.
    infinite
        Whether it goes on forever.
    ids
        Positions of the sets to play; all if left out. The others are infinitely bad.

    Returns
    -------
    FixedSets
        Estimates.
    """
    costs = np.full((sets, len(people)), np.inf)
    late = np.full((sets, len(people)), np.inf)
    played = range(sets) if ids is None else ids.tolist()
    for i, person in enumerate(people):
        known = min(rounds, 8 if getattr(person, "slow", False) else _SETTLED)
        weights = discount ** np.arange(known, dtype=np.float64)
        if infinite:
            weights[-1] += discount**known / (1.0 - discount)
        else:
            weights[-1] += np.sum(discount ** np.arange(known, rounds, dtype=np.float64))
        for s in played:
            losses = person.losses(np.full(known, s, dtype=np.int64))
            costs[s, i], late[s, i] = weights @ losses, losses[-1]
    return FixedSets(_numbers(costs), _numbers(late))


class _Search:
    """Where a search stands."""

    def __init__(
        self,
        priced: PricedSchedule,
        objective: Objective,
        ids: IntArray,
        sets: int,
        infinite: bool,
        words: tuple[Tail, ...],
        rng: np.random.Generator,
        improved: Callable[[float], None],
    ) -> None:
        self.priced = priced
        self.objective = objective
        self.all = ids
        self.ids = ids
        self.infinite = infinite
        self.words = words
        self.rng = rng
        self.improved = improved
        self.wins = np.zeros(sets)
        self.fixed: list[int] = []
        self.others: list[tuple[IntArray, Tail]] = []
        self.best = (priced.schedule, priced.tail, priced.costs, np.inf)

    @property
    def rounds(self) -> int:
        return self.priced.rounds

    def know_fixed(self, people: Sequence[Expected], discount: float, fixed: FixedSets) -> None:
        """Rank the sets by what they cost if always shown: all by estimate, the best exactly."""
        ranked = self._ordered(fixed.costs)
        few = ranked[:_RANKED]
        totals = np.full_like(fixed.costs, np.inf)
        for s in few:
            schedule, tail = _fitted([s], (), self.rounds, self.infinite)
            totals[s] = [person.total(schedule, discount, tail) for person in people]
        self.fixed = self._ordered(totals)[: len(few)] + ranked[len(few) :]
        # Sets that are good in the long run may cost too much to be shown from the start.
        self.priced.endings = [*self.fixed[:6], *self._ordered(fixed.late)[:8]]

    def _ordered(self, costs: FloatArray) -> list[int]:
        """Positions of the sets, best first."""
        values = _numbers(self.objective.value(costs[self.all]))
        ordered: list[int] = self.all[np.argsort(values, kind="stable")].tolist()
        return ordered

    def greedy(self, person: Expected) -> tuple[IntArray, Tail]:
        """What costs least now, kept for twice as long each time."""
        schedule: list[int] = []
        hold = 1
        while len(schedule) < self.rounds:
            few = self.fixed[:12]
            losses = [person.losses(np.array([*schedule, s]))[-1] for s in few]
            schedule += [few[int(np.argmin(losses))]] * hold
            hold = max(len(schedule), 1)
        return _fitted(schedule, (), self.rounds, self.infinite)

    def run(self, starts: list[tuple[IntArray, Tail]], max_kicks: int) -> Found:
        """From the starts to the best."""
        priced = self.priced
        for s in self.fixed[:3]:
            starts.append(_fitted([s], (), self.rounds, self.infinite))
        starts = self._ranked(starts)
        self.others = starts
        stages = self._stages(starts[0])
        self._follow(starts, stages[0])
        for stage in stages[1:]:
            priced.aim(stage)
            self._settle(self._sample())
            self._descend(endings=False)
        self._look_everywhere()
        self._keep()
        kicks = self._kicks(stages, max_kicks)
        schedule, tail, costs, value = self.best
        finished = kicks == max_kicks and not priced.stop()
        return Found(schedule, tail, costs, value, kicks, priced.sweeps, finished)

    # --- starts ---

    def _ranked(self, starts: list[tuple[IntArray, Tail]]) -> list[tuple[IntArray, Tail]]:
        """Different starts, best first."""
        different = {(schedule.tobytes(), tail): (schedule, tail) for schedule, tail in starts}
        valued = []
        for schedule, tail in different.values():
            self.priced.lay(schedule, tail)
            self._keep()
            valued.append((self.priced.value, schedule, tail))
        valued.sort(key=lambda entry: entry[0])
        return [(schedule, tail) for _value, schedule, tail in valued]

    def _stages(self, start: tuple[IntArray, Tail]) -> tuple[Objective, ...]:
        self.priced.lay(*start)
        return self.objective.stages(self.priced.costs)

    def _follow(self, starts: list[tuple[IntArray, Tail]], stage: Objective) -> None:
        """Improve the most promising starts and stand at the best of them."""
        priced = self.priced
        small = self.rounds * self.all.size * priced.costs.size <= _SMALL
        reached: list[tuple[float, IntArray, Tail]] = []
        priced.aim(stage)
        for schedule, tail in starts if small else starts[:_FOLLOWED]:
            if reached and priced.stop():
                break
            priced.lay(schedule, tail)
            self._coarse()
            if small:
                self._settle(self._everywhere())
                self._descend()
            reached.append((priced.value, priced.schedule.copy(), priced.tail))
        _value, schedule, tail = min(reached, key=lambda entry: entry[0])
        self._shortlist(*(schedule for _value, schedule, _tail in reached))
        self.others = [(schedule, tail) for _value, schedule, tail in reached] + starts
        priced.lay(schedule, tail)
        if not small:
            self._settle(self._sample())
            self._descend()

    def _coarse(self) -> None:
        """Passes with stretches that become shorter."""
        length = _LONGEST
        while length > 1:
            if length * 2 <= self.rounds and not self.priced.stop():
                # Rare looks can afford all sets, and say which of them matter.
                ids = self.all if length >= _RARE else self.ids
                self.priced.sweep(self._everywhere(), ids, length, self.wins)
            length //= 4 if self.rounds >= _LONGEST else 2
            if length < _RARE:
                self._shortlist(self.priced.schedule)
        self._choose_tail()

    def _shortlist(self, *schedules: IntArray) -> None:
        """Sets in use, and those that have come close most often."""
        if self.all.size <= _MANY_SETS:
            return
        used = np.unique(np.concatenate([*schedules, *(s for s, _tail in self.others)]))
        wins = self.wins.copy()
        wins[self.fixed[:4]] += 1
        wins[used] = np.inf
        order = self.all[np.argsort(-wins[self.all], kind="stable")]
        size = max(_SHORTLIST, np.intersect1d(used, self.all).size)
        self.ids = np.sort(order[:size][wins[order[:size]] > 0])

    # --- down to a local optimum ---

    def _settle(self, look: BoolArray, ids: IntArray | None = None) -> None:
        """Single rounds, again around whatever has changed, until nothing is gained."""
        ids = self.ids if ids is None else ids
        while not self.priced.stop():
            before = self.priced.value
            changed = self.priced.sweep(look, ids)
            if not self._gained(before):
                return
            look, ids = _near(changed), self.ids

    def _look_everywhere(self) -> None:
        """At every round once more, and at some with all sets, until nothing is gained."""
        endings = True
        while not self.priced.stop():
            before = self.priced.value
            if self.ids.size < self.all.size:
                self.priced.sweep(self._sample(), self.all, 1, self.wins)
                self._shortlist(self.priced.schedule)
            self._settle(self._everywhere())
            self._descend(endings=endings)
            endings = False
            if not self._gained(before):
                return

    def _sample(self) -> BoolArray:
        """Rounds at borders of runs, and a few in between; all of a short schedule."""
        if self.rounds <= _LONGEST:
            return self._everywhere()
        schedule = self.priced.schedule
        look = np.zeros(self.rounds, dtype=np.bool_)
        look[-1::-_SAMPLED] = True
        borders = np.flatnonzero(schedule[1:] != schedule[:-1])
        look[borders] = look[borders + 1] = True
        return look

    def _descend(self, look: BoolArray | None = None, *, endings: bool = True) -> None:
        """Borders of runs and what comes afterwards, with single rounds in between."""
        priced = self.priced
        look = self._everywhere() if look is None else look
        while not priced.stop():
            before = priced.value
            changed = priced.shift_runs(look, self.ids, endings=endings)
            if changed.any():
                self._settle(_near(changed) & self._sample())
            if self._choose_tail():
                changed[:] = True
                self._settle(changed)
            if not self._gained(before):
                return
            # Other endings take long to play; they have been tried.
            look, endings = _near(changed), self.rounds <= _LONGEST

    def _choose_tail(self) -> bool:
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

    def _gained(self, before: float) -> bool:
        now = self.priced.value
        if not np.isfinite(before):
            return bool(np.isfinite(now))
        return before - now > self.priced.objective.margin(before, _GAIN)

    # --- out of a local optimum ---

    def _kicks(self, stages: tuple[Objective, ...], max_kicks: int) -> int:
        """Change a stretch at random, settle around it, keep what is better."""
        priced = self.priced
        for kick in range(max_kicks):
            if priced.stop():
                return kick
            schedule, tail = self.best[0].copy(), self.best[1]
            first, last = self._stretch()
            self._kick(schedule, first, last)
            around = np.zeros(self.rounds, dtype=np.bool_)
            around[max(first - _REACH, 0) : last + _REACH] = True
            priced.aim(stages[max(len(stages) - 2, 0)])
            priced.lay(schedule, tail)
            if not self._catches_up(around):
                continue
            priced.aim(stages[-1])
            self._settle(_near(around))
            if self._keep():
                self._descend(around, endings=False)
                self._settle(_near(around))
                self._keep()
        return max_kicks

    def _catches_up(self, around: BoolArray) -> bool:
        """Whether a kicked schedule becomes as good as the best again, other than by going back."""
        priced = self.priced
        if self.rounds <= _LONGEST:
            # A short one may take all the time it needs.
            self._settle(self._everywhere())
            self._descend()
            return True
        bar = float(priced.objective.value(self.best[2]))
        bar -= priced.objective.margin(bar, _GAIN)
        while not priced.stop():
            before = priced.value
            singly = around & self._sample()
            priced.shift_runs(around, self.ids, endings=False, singly=singly)
            behind = priced.value - bar
            if behind <= 0.0:
                return True
            # Hopeless if it goes on like this, or back where it was.
            if not before - priced.value > _CATCH_UP * behind:
                return False
            if np.array_equal(priced.schedule, self.best[0]):
                return False
        return False

    def _stretch(self) -> tuple[int, int]:
        """A random stretch, rather early than late, often from one border of runs to another."""
        schedule = self.best[0]
        borders = np.flatnonzero(schedule[1:] != schedule[:-1]) + 1
        if borders.size and self.rng.random() < 0.5:
            ends = np.unique([0, *borders.tolist(), self.rounds])
            one = int(self.rng.integers(ends.size - 1))
            other = min(one + int(self.rng.integers(1, 3)), ends.size - 1)
            first, last = int(ends[one]), int(ends[other])
            if self.rng.random() < 0.5 and last - first > 1:
                # Part of the run, at one of its ends.
                middle = int(self.rng.integers(first + 1, last))
                return (first, middle) if self.rng.random() < 0.5 else (middle, last)
            return first, last
        longest = max(self.rounds // 2, 1)
        length = min(2 ** int(self.rng.integers(0, 8)), longest)
        first = int((self.rounds - length + 1) * self.rng.random() ** 2)
        return first, first + length

    def _kick(self, schedule: IntArray, first: int, last: int) -> None:
        way = self.rng.random()
        if self.rounds <= _LONGEST and self.rng.random() < 0.3:
            # In a short schedule two rounds that are far from each other may have to change.
            both = self.rng.integers(0, self.rounds, 2)
            schedule[both] = self.rng.choice(self.ids, 2)
        elif way < 0.3 and len(self.others) > 1:
            other = self.others[int(self.rng.integers(len(self.others)))][0]
            if self.rng.random() < 0.5:
                # All that is before, or all that is after.
                first, last = (0, last) if self.rng.random() < 0.5 else (first, self.rounds)
            schedule[first:last] = other[first:last]
        elif way < 0.4:
            schedule[first:last] = schedule[first:last][::-1]
        elif way < 0.7:
            schedule[first:last] = self.rng.choice(np.unique(schedule))
        else:
            schedule[first:last] = self.rng.choice(self.ids)

    def _keep(self) -> bool:
        """Remember where the search stands if that is the best by the last objective."""
        priced = self.priced
        value = float(self.objective.value(priced.costs))
        bar = self.best[3]
        if np.isfinite(bar):
            bar -= self.objective.margin(bar, 1e-12)
        if not value < bar:
            return False
        self.best = (priced.schedule.copy(), priced.tail, priced.costs.copy(), value)
        self.improved(value)
        return True

    def _everywhere(self) -> BoolArray:
        return np.ones(self.rounds, dtype=np.bool_)


def _numbers(values: FloatArray) -> FloatArray:
    """What cannot be computed is as bad as can be."""
    return np.where(np.isnan(values), np.inf, values)


def _near(changed: BoolArray) -> BoolArray:
    """Rounds within reach of a change."""
    near = np.zeros_like(changed)
    for t in np.flatnonzero(changed).tolist():
        near[max(t - _REACH, 0) : t + _REACH + 1] = True
    return near


def _fitted(
    schedule: Sequence[int] | IntArray, tail: Tail, rounds: int, infinite: bool
) -> tuple[IntArray, Tail]:
    """A start cut, or continued by its tail or its last set, to so many rounds."""
    laid = [int(s) for s in schedule][:rounds]
    word = tuple(int(s) for s in tail) or (laid[-1],)
    turn = 0
    while len(laid) < rounds:
        laid.append(word[turn % len(word)])
        turn += 1
    if not infinite:
        return np.array(laid, dtype=np.int64), ()
    turn %= len(word)
    return np.array(laid, dtype=np.int64), word[turn:] + word[:turn]
