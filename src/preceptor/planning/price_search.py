"""Local search for schedules, for whoever can say what a change of one round is worth.

A pass goes back through the schedule and gives each round the set that is best given all others
(`priced_schedule.py`). Passes lead from the most promising starts to local optima
(`price_descent.py`), random kicks out of them. Nothing is proven about the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.discounting import rounds_until
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Expected, Tail
from preceptor.planning.fixed_sets import FixedSets, as_numbers, fixed_sets
from preceptor.planning.objectives import Cost, Objective
from preceptor.planning.price_descent import GAIN, LONGEST, REACH, Descent, near
from preceptor.planning.priced_schedule import BETTER, BoolArray, PricedSchedule, Stop
from preceptor.policies import ExploreThenCommit, ExploreThenRepeat, Policy, Stationary
from preceptor.problem import Problem

# Rounds, and what comes after them.
Start = tuple[Sequence[int] | IntArray, Tail]

# Rounds of an endless problem that are searched, from and to; what comes later is repeated. Those
# that weigh less than the share are not worth it.
_LEAST_ROUNDS, _MOST_ROUNDS, _NEGLIGIBLE = 20, 400, 1e-4
# So few prices a pass that every start may be followed to its end.
_SMALL = 3000
# Fixed sets whose cost is computed in full.
_RANKED = 12
# A kicked schedule is given up if a pass makes up for less than this share of what is missing.
_CATCH_UP = 0.2


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


def searched_rounds(problem: Problem) -> int:
    """All rounds of a finite horizon; else until later ones weigh next to nothing."""
    if problem.horizon is not None:
        return problem.horizon
    if problem.discount == 0.0:
        return 1
    needed = rounds_until(problem.discount, _NEGLIGIBLE)
    return min(max(needed, _LEAST_ROUNDS), _MOST_ROUNDS)


def policy_of(problem: Problem, found: Found) -> Policy:
    """What was found as a policy."""
    sets = [problem.sets[int(s)] for s in found.schedule]
    word = [problem.sets[int(s)] for s in found.tail] or [sets[-1]]
    if len(set(word)) > 1:
        return ExploreThenRepeat(tuple(sets), tuple(word), problem.start)
    policy = ExploreThenCommit(sets, word[0], problem.start)
    return Stationary(word[0]) if not policy.prefix else policy


def search_prices(
    people: Sequence[Expected],
    *,
    rounds: int,
    discount: float,
    infinite: bool,
    sets: int,
    objective: Objective | None = None,
    starts: Iterable[Start] = (),
    followed: int = 3,
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
    followed
        From how many of all starts, best first, a large problem is searched.
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
    """
    if objective is None:
        assert len(people) == 1, "costs of several people are compared by an objective"
        objective = Cost()
    ids = np.arange(sets) if candidates is None else np.unique(candidates)
    # What follows solves many small systems.
    with one_blas_thread():
        if fixed is None:
            fixed = fixed_sets(people, sets, rounds, discount, infinite, ids)
        priced = PricedSchedule(people, rounds, discount, objective, stop)
        descent = Descent(priced, ids, sets, infinite, tuple(tails))
        search = _Search(descent, objective, np.random.default_rng(seed), improved)
        search.know_fixed(people, discount, fixed)
        begun = [_fitted(schedule, tail, rounds, infinite) for schedule, tail in starts]
        if len(people) == 1:
            begun.append(search.greedy(people[0]))
        begun += [_fitted([s], (), rounds, infinite) for s in descent.fixed[:3]]
        return search.run(begun, followed, max_kicks)


class _Search:
    """Where a search stands."""

    def __init__(
        self,
        descent: Descent,
        objective: Objective,
        rng: np.random.Generator,
        improved: Callable[[float], None],
    ) -> None:
        self.descent = descent
        self.priced = priced = descent.priced
        self.objective = objective
        self.rng = rng
        self.improved = improved
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
        for place, s in enumerate(few):
            if place and self.priced.stop():
                few = few[:place]
                break
            schedule, tail = _fitted([s], (), self.rounds, self.descent.infinite)
            totals[s] = [person.total(schedule, discount, tail) for person in people]
        self.descent.fixed = self._ordered(totals)[: len(few)] + ranked[len(few) :]
        # Sets that are good in the long run may cost too much to be shown from the start.
        self.priced.endings = [*self.descent.fixed[:6], *self._ordered(fixed.late)[:8]]

    def _ordered(self, costs: FloatArray) -> list[int]:
        """Positions of the sets, best first."""
        values = as_numbers(self.objective.value(costs[self.descent.all]))
        ordered: list[int] = self.descent.all[np.argsort(values, kind="stable")].tolist()
        return ordered

    def greedy(self, person: Expected) -> tuple[IntArray, Tail]:
        """What costs least now, kept for twice as long each time."""
        schedule: list[int] = []
        hold = 1
        while len(schedule) < self.rounds:
            few = self.descent.fixed[: 1 if self.priced.stop() else 12]
            losses = [person.losses(np.array([*schedule, s]))[-1] for s in few]
            schedule += [few[int(np.argmin(losses))]] * hold
            hold = max(len(schedule), 1)
        return _fitted(schedule, (), self.rounds, self.descent.infinite)

    def run(self, starts: list[tuple[IntArray, Tail]], followed: int, max_kicks: int) -> Found:
        """From the starts to the best."""
        priced = self.priced
        starts = self._ranked(starts)
        self._know(starts)
        stages = self._stages(starts[0])
        self._follow(starts, followed, stages[0])
        for stage in stages[1:]:
            priced.aim(stage)
            self.descent.settle(self.descent.sample())
            self.descent.settle_runs(endings=False)
        self.descent.look_everywhere()
        self._keep()
        kicks = self._kicks(stages, max_kicks)
        schedule, tail, costs, value = self.best
        finished = kicks == max_kicks and not priced.stop()
        return Found(schedule, tail, costs, value, kicks, priced.sweeps, finished)

    # --- starts ---

    def _ranked(self, starts: list[tuple[IntArray, Tail]]) -> list[tuple[IntArray, Tail]]:
        """Different starts, best first."""
        different = {(schedule.tobytes(), tail): (schedule, tail) for schedule, tail in starts}
        valued: list[tuple[float, IntArray, Tail]] = []
        for schedule, tail in different.values():
            if valued and self.priced.stop():
                break
            self.priced.lay(schedule, tail)
            self._keep()
            valued.append((self.priced.value, schedule, tail))
        valued.sort(key=lambda entry: entry[0])
        return [(schedule, tail) for _value, schedule, tail in valued]

    def _know(self, others: list[tuple[IntArray, Tail]]) -> None:
        """Schedules that kicks may borrow from, and whose sets are looked at."""
        self.others = others
        self.descent.kept = [schedule for schedule, _tail in others]

    def _stages(self, start: tuple[IntArray, Tail]) -> tuple[Objective, ...]:
        self.priced.lay(*start)
        return self.objective.stages(self.priced.costs)

    def _follow(self, starts: list[tuple[IntArray, Tail]], followed: int, stage: Objective) -> None:
        """Improve the most promising starts and stand at the best of them."""
        priced = self.priced
        small = self.rounds * self.descent.all.size * priced.costs.size <= _SMALL
        reached: list[tuple[float, IntArray, Tail]] = []
        priced.aim(stage)
        for schedule, tail in starts if small else starts[:followed]:
            if reached and priced.stop():
                break
            priced.lay(schedule, tail)
            self.descent.coarse()
            if small:
                self.descent.settle(self.descent.everywhere())
                self.descent.settle_runs()
            reached.append((priced.value, priced.schedule.copy(), priced.tail))
        _value, schedule, tail = min(reached, key=lambda entry: entry[0])
        self.descent.shortlist(*(schedule for _value, schedule, _tail in reached))
        self._know([(schedule, tail) for _value, schedule, tail in reached] + starts)
        priced.lay(schedule, tail)
        if not small:
            self.descent.settle(self.descent.sample())
            self.descent.settle_runs()

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
            around[max(first - REACH, 0) : last + REACH] = True
            priced.aim(stages[max(len(stages) - 2, 0)])
            priced.lay(schedule, tail)
            if not self._catches_up(around):
                continue
            priced.aim(stages[-1])
            self.descent.settle(near(around))
            if self._keep():
                self.descent.settle_runs(around, endings=False)
                self.descent.settle(near(around))
                self._keep()
        return max_kicks

    def _catches_up(self, around: BoolArray) -> bool:
        """Whether a kicked schedule becomes as good as the best again, other than by going back."""
        priced = self.priced
        if self.rounds <= LONGEST:
            # A short one may take all the time it needs.
            self.descent.settle(self.descent.everywhere())
            self.descent.settle_runs()
            return True
        bar = float(priced.objective.value(self.best[2]))
        bar -= priced.objective.margin(bar, GAIN)
        while not priced.stop():
            before = priced.value
            singly = around & self.descent.sample()
            priced.shift_runs(around, self.descent.ids, endings=False, singly=singly)
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
        if self.rounds <= LONGEST and self.rng.random() < 0.3:
            # In a short schedule two rounds that are far from each other may have to change.
            both = self.rng.integers(0, self.rounds, 2)
            schedule[both] = self.rng.choice(self.descent.ids, 2)
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
            schedule[first:last] = self.rng.choice(self.descent.ids)

    def _keep(self) -> bool:
        """Remember where the search stands if that is the best by the last objective."""
        priced = self.priced
        value = float(self.objective.value(priced.costs))
        bar = self.best[3]
        if np.isfinite(bar):
            bar -= self.objective.margin(bar, BETTER)
        if not value < bar:
            return False
        self.best = (priced.schedule.copy(), priced.tail, priced.costs.copy(), value)
        self.improved(value)
        return True


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
