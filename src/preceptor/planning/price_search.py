"""Local search for schedules, for every person whose expectation prices a change of one round.

A pass goes backward through the schedule and gives each round the set that is best given all others
(`priced_schedule.py`). Passes lead from the most promising starts to local optima (`Descent`),
random kicks out of them. There is no guarantee for the result.

In a descent long stretches change first, then single rounds, then borders between runs of equal
sets; the word repeated forever afterwards is chosen along the way. Where there are many sets, most
passes consider only a short list of those that have done well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.numerics import rounds_until
from preceptor._base.parallel import one_blas_thread
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.evaluation import expectations, fixed_costs
from preceptor.model.expected import Expected, Tail
from preceptor.model.policies import ExploreThenCommit, ExploreThenRepeat, Policy, Stationary
from preceptor.model.problem import Problem
from preceptor.planning.anytime import Stop, never
from preceptor.planning.candidate_sets import SET_LIMITS
from preceptor.planning.maintenance import words_to_repeat
from preceptor.planning.objectives import Cost, Objective
from preceptor.planning.priced_schedule import BETTER, BoolArray, PricedSchedule


class FixedSets(NamedTuple):
    """Approximate cost of each set for each person if always shown, and its late loss.

    Both have shape (sets, people); only their order should be trusted.
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
    """Simulate each set alone for some rounds, and take the last loss to be constant.

    Parameters
    ----------
    people
        Expectations of the people.
    sets
        How many sets there are.
    rounds
        How many rounds there are.
    discount
        Discount factor.
    infinite
        Whether the horizon is infinite.
    ids
        Positions of the sets to simulate; all if left out. The others get infinite costs.

    Returns
    -------
    FixedSets
        Estimates.
    """
    costs = np.full((sets, len(people)), np.inf)
    late = np.full((sets, len(people)), np.inf)
    played = range(sets) if ids is None else ids.tolist()
    for i, person in enumerate(people):
        # Rounds after which the loss of a fixed set is taken to be constant.
        settled = 64 if sets <= SET_LIMITS.simulated else 16
        known = min(rounds, 8 if getattr(person, "slow", False) else settled)
        weights = discount ** np.arange(known, dtype=np.float64)
        if infinite:
            weights[-1] += discount**known / (1.0 - discount)
        else:
            weights[-1] += np.sum(discount ** np.arange(known, rounds, dtype=np.float64))
        for s in played:
            losses = person.losses(np.full(known, s, dtype=np.int64))
            costs[s, i], late[s, i] = weights @ losses, losses[-1]
    return FixedSets(as_numbers(costs), as_numbers(late))


def best_positions(
    problem: Problem, judge: Callable[[FloatArray], FloatArray], estimates: FloatArray | None = None
) -> int:
    """Position of the set that is best shown throughout; `judge` rates costs (sets, people).

    All are estimated, unless `estimates` are given; the most promising are computed exactly.
    """
    people, horizon = expectations(problem), problem.horizon
    sets, discount = len(problem.sets), problem.discount
    if estimates is None:
        # For an estimate 400 rounds represent an infinite horizon.
        rounds = 400 if horizon is None else horizon
        estimates = fixed_sets(people, sets, rounds, discount, infinite=horizon is None).costs
    few = np.argsort(judge(estimates), kind="stable")[:20]
    exact = fixed_costs(problem, [problem.sets[int(i)] for i in few])
    return int(few[int(np.argmin(judge(exact)))])


def as_numbers(values: FloatArray) -> FloatArray:
    """The values with infinity in place of nan."""
    return np.where(np.isnan(values), np.inf, values)


# A search continues while it gains this share; smaller differences do not count as better.
GAIN = 1e-9
# Longest stretch that changes together; a schedule of no more rounds counts as short.
LONGEST = 64
# Rounds on either side of a change that are checked again.
REACH = 8
# Stretches of at least this length are few, so all sets are tried for them.
_RARE = 16
# Lengths of words at the end of a schedule that are tried as tails.
_WORDS = (2, 3, 4, 5, 6, 8)


class Descent:
    """Improves a schedule until nothing is gained.

    `ids` are the positions of the sets on the short list, `all` those of all sets. `fixed` lists
    all sets, best first if always shown, and `kept` the schedules whose sets stay on the short
    list; the search sets both.
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
        """Number of rounds searched."""
        return self.priced.rounds

    def coarse(self) -> None:
        """Passes over stretches that get shorter and shorter."""
        length = LONGEST
        while length > 1:
            if length * 2 <= self.rounds and not self.priced.stop():
                # Few stretches allow trying all sets, which shows which of them matter.
                ids = self.all if length >= _RARE else self.ids
                self.priced.sweep(self.everywhere(), ids, length, self.wins)
            length //= 4 if self.rounds >= LONGEST else 2
            if length < _RARE:
                self.shortlist(self.priced.schedule)
        self.choose_tail()

    def shortlist(self, *schedules: IntArray) -> None:
        """Reduce the short list to sets in use and those most often among the best."""
        if self.all.size <= SET_LIMITS.few:
            return
        used = np.unique(np.concatenate([*schedules, *self.kept]))
        wins = self.wins.copy()
        wins[self.fixed[:4]] += 1
        wins[used] = np.inf
        order = self.all[np.argsort(-wins[self.all], kind="stable")]
        # The short list has this length where there are many sets.
        size = max(40, np.intersect1d(used, self.all).size)
        self.ids = np.sort(order[:size][wins[order[:size]] > 0])

    def settle(self, look: BoolArray, ids: IntArray | None = None) -> None:
        """Change single rounds, then again around the changes, until nothing is gained."""
        ids = self.ids if ids is None else ids
        while not self.priced.stop():
            before = self.priced.value
            changed = self.priced.sweep(look, ids)
            if not self.gained(before):
                return
            look, ids = near(changed), self.ids

    def look_everywhere(self) -> None:
        """Check every round again, some of them with all sets, until nothing is gained."""
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
        # Between borders of runs, a quick pass checks every eighth round.
        look[-1::-8] = True
        borders = np.flatnonzero(schedule[1:] != schedule[:-1])
        look[borders] = look[borders + 1] = True
        return look

    def settle_runs(self, look: BoolArray | None = None, *, endings: bool = True) -> None:
        """Change borders of runs and the tail, with single rounds in between."""
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
            # Other endings take long to evaluate, and have been tried.
            look, endings = near(changed), self.rounds <= LONGEST

    def choose_tail(self) -> bool:
        """Choose the tail among sets in use, sets that do well now, and the last rounds."""
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
        """Return whether the gain since `before` is worth another pass."""
        now = self.priced.value
        if not np.isfinite(before):
            return bool(np.isfinite(now))
        return before - now > self.priced.objective.margin(before, GAIN)

    def everywhere(self) -> BoolArray:
        """A mask of all rounds."""
        return np.ones(self.rounds, dtype=np.bool_)


def near(changed: BoolArray) -> BoolArray:
    """A mask of the rounds within reach of a change."""
    near = np.zeros_like(changed)
    for t in np.flatnonzero(changed).tolist():
        near[max(t - REACH, 0) : t + REACH + 1] = True
    return near


# Rounds, and what comes after them.
Start = tuple[Sequence[int] | IntArray, Tail]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best schedule of a search.

    `schedule` (rounds,) holds positions of sets, `tail` the word repeated forever after it, `costs`
    (people,) the total cost of each person, `value` the objective. `finished` means that the search
    was not cut short.
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
        """The schedule as a start of another search."""
        return self.schedule, self.tail


def searched_rounds(problem: Problem) -> int:
    """All rounds of a finite horizon; otherwise until the weight of a round is negligible.

    Later rounds repeat a word.
    """
    if problem.horizon is not None:
        return problem.horizon
    if problem.discount == 0.0:
        return 1
    return min(max(rounds_until(problem.discount, 1e-4), 20), 400)


def policy_of(problem: Problem, found: SearchResult) -> Policy:
    """The schedule found as a policy."""
    sets = [problem.sets[int(s)] for s in found.schedule]
    word = [problem.sets[int(s)] for s in found.tail] or [sets[-1]]
    if len(set(word)) > 1:
        return ExploreThenRepeat(tuple(sets), tuple(word), problem.start)
    policy = ExploreThenCommit(sets, word[0], problem.start)
    return Stationary(word[0]) if not policy.prefix else policy


@dataclass(frozen=True, eq=False)
class ScheduleSearch:
    """Searches for schedules of the same rounds, for one person or for several at once.

    Parameters
    ----------
    people
        Expectation of each person, all with the same list of sets.
    rounds
        Number of rounds to search, at least 1.
    discount
        Discount factor.
    infinite
        Whether a word is repeated forever after the searched rounds (then discount < 1).
    sets
        How many sets there are.
    tails
        Words to try after the searched rounds in addition to single sets.
    seed
        Seed of the random kicks.
    stop
        Called often; the best schedule so far is returned soon after it says True.
    """

    people: tuple[Expected, ...]
    rounds: int
    discount: float
    infinite: bool
    sets: int
    tails: tuple[Tail, ...] = ()
    seed: int = 0
    stop: Stop = never

    @classmethod
    def of(
        cls, problem: Problem, people: Sequence[Expected], seed: int = 0, stop: Stop = never
    ) -> ScheduleSearch:
        """Searches for people of a problem."""
        infinite, discount = problem.horizon is None, problem.discount
        tails = words_to_repeat(people, discount) if infinite else ()
        rounds, sets = searched_rounds(problem), len(problem.sets)
        return cls(tuple(people), rounds, discount, infinite, sets, tails, seed, stop)

    def find(
        self,
        max_kicks: int = 20,
        starts: Iterable[Start] = (),
        *,
        who: int | None = None,
        objective: Objective | None = None,
        fixed: FixedSets | None = None,
        followed: int = 3,
        candidates: IntArray | None = None,
        stop: Stop | None = None,
        improved: Callable[[float], None] = lambda _value: None,
    ) -> SearchResult:
        """Find a good schedule.

        Parameters
        ----------
        max_kicks
            Number of kicks after the first local optimum.
        starts
            Schedules to start from in addition to fixed sets; cut or extended to the right length.
        who
            The only person to plan for; all if left out.
        objective
            What to minimise; the cost if left out, which needs a single person.
        fixed
            Approximate cost of each set for each of all people if always shown, if known.
        followed
            Number of starts, best first, from which a large problem is searched.
        candidates
            Positions of the sets to choose from; all if left out.
        stop
            In place of `self.stop`.
        improved
            Called with every better value.

        Returns
        -------
        SearchResult
            The best schedule found.
        """
        columns = list(range(len(self.people))) if who is None else [who]
        people = [self.people[i] for i in columns]
        assert objective is not None or len(people) == 1, "several people need an objective"
        objective = objective or Cost()
        ids = np.arange(self.sets) if candidates is None else np.unique(candidates)
        rounds, infinite = self.rounds, self.infinite
        # The search solves many small linear systems.
        with one_blas_thread():
            if fixed is None:
                known = fixed_sets(people, self.sets, rounds, self.discount, infinite, ids)
            else:
                known = FixedSets(fixed.costs[:, columns], fixed.late[:, columns])
            priced = PricedSchedule(people, rounds, self.discount, objective, stop or self.stop)
            descent = Descent(priced, ids, self.sets, infinite, self.tails)
            search = _Search(descent, objective, np.random.default_rng(self.seed), improved)
            search.know_fixed(people, self.discount, known)
            begun = [fitted(schedule, tail, rounds, infinite) for schedule, tail in starts]
            if len(people) == 1:
                begun.append(search.greedy(people[0]))
            begun += [fitted([s], (), rounds, infinite) for s in descent.fixed[:3]]
            return search.run(begun, followed, max_kicks)

    def always(self, position: int) -> tuple[IntArray, Tail]:
        """One set throughout, as a schedule and its tail."""
        return fitted([position], (), self.rounds, self.infinite)

    def costs(self, schedule: IntArray, tail: Tail) -> FloatArray:
        """Cost of a plan for each person (people,)."""
        totals = [person.total(schedule, self.discount, tail) for person in self.people]
        return as_numbers(np.array(totals))


class _Search:
    """The state of a search: the current schedule, the best one, and other starts."""

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
        """Rank the sets by their cost if always shown: all by estimate, the best exactly."""
        ranked = self._ordered(fixed.costs)
        # Costs of a dozen fixed sets are computed exactly.
        few = ranked[:12]
        totals = np.full_like(fixed.costs, np.inf)
        for place, s in enumerate(few):
            if place and self.priced.stop():
                few = few[:place]
                break
            schedule, tail = fitted([s], (), self.rounds, self.descent.infinite)
            totals[s] = [person.total(schedule, discount, tail) for person in people]
        self.descent.fixed = self._ordered(totals)[: len(few)] + ranked[len(few) :]
        # Sets that are good in the long run may be too costly at the start.
        self.priced.endings = [*self.descent.fixed[:6], *self._ordered(fixed.late)[:8]]

    def _ordered(self, costs: FloatArray) -> list[int]:
        """Positions of the sets, best first."""
        values = as_numbers(self.objective.value(costs[self.descent.all]))
        ordered: list[int] = self.descent.all[np.argsort(values, kind="stable")].tolist()
        return ordered

    def greedy(self, person: Expected) -> tuple[IntArray, Tail]:
        """The cheapest set now, held for twice as long each time."""
        schedule: list[int] = []
        hold = 1
        while len(schedule) < self.rounds:
            few = self.descent.fixed[: 1 if self.priced.stop() else 12]
            losses = [person.losses(np.array([*schedule, s]))[-1] for s in few]
            schedule += [few[int(np.argmin(losses))]] * hold
            hold = max(len(schedule), 1)
        return fitted(schedule, (), self.rounds, self.descent.infinite)

    def run(
        self, starts: list[tuple[IntArray, Tail]], followed: int, max_kicks: int
    ) -> SearchResult:
        """Follow the starts to local optima, then kick the best one."""
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
        return SearchResult(schedule, tail, costs, value, kicks, priced.sweeps, finished)

    # --- starts ---

    def _ranked(self, starts: list[tuple[IntArray, Tail]]) -> list[tuple[IntArray, Tail]]:
        """Different starts, best first."""
        different = {(schedule.tobytes(), tail): (schedule, tail) for schedule, tail in starts}
        valued: list[tuple[float, IntArray, Tail]] = []
        for schedule, tail in different.values():
            if valued and self.priced.stop():
                break
            self.priced.forward(schedule, tail)
            self._keep()
            valued.append((self.priced.value, schedule, tail))
        valued.sort(key=lambda entry: entry[0])
        return [(schedule, tail) for _value, schedule, tail in valued]

    def _know(self, others: list[tuple[IntArray, Tail]]) -> None:
        """Remember schedules from which kicks may borrow, and whose sets stay on the short list."""
        self.others = others
        self.descent.kept = [schedule for schedule, _tail in others]

    def _stages(self, start: tuple[IntArray, Tail]) -> tuple[Objective, ...]:
        self.priced.forward(*start)
        return self.objective.stages(self.priced.costs)

    def _follow(self, starts: list[tuple[IntArray, Tail]], followed: int, stage: Objective) -> None:
        """Improve the most promising starts and continue from the best of them."""
        priced = self.priced
        # With few prices per pass, every start is followed to its local optimum.
        small = self.rounds * self.descent.all.size * priced.costs.size <= 3000
        reached: list[tuple[float, IntArray, Tail]] = []
        priced.aim(stage)
        for schedule, tail in starts if small else starts[:followed]:
            if reached and priced.stop():
                break
            priced.forward(schedule, tail)
            self.descent.coarse()
            if small:
                self.descent.settle(self.descent.everywhere())
                self.descent.settle_runs()
            reached.append((priced.value, priced.schedule.copy(), priced.tail))
        _value, schedule, tail = min(reached, key=lambda entry: entry[0])
        self.descent.shortlist(*(schedule for _value, schedule, _tail in reached))
        self._know([(schedule, tail) for _value, schedule, tail in reached] + starts)
        priced.forward(schedule, tail)
        if not small:
            self.descent.settle(self.descent.sample())
            self.descent.settle_runs()

    # --- out of a local optimum ---

    def _kicks(self, stages: tuple[Objective, ...], max_kicks: int) -> int:
        """Change a stretch at random, descend around it, and keep improvements."""
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
            priced.forward(schedule, tail)
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
        """Return whether a kicked schedule gets as good as the best one without reverting to it."""
        priced = self.priced
        if self.rounds <= LONGEST:
            # A short schedule is always followed to its local optimum.
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
            # Abandoned if a pass recovers less than a fifth of the excess cost, or if it is back at
            # the best schedule.
            if not before - priced.value > 0.2 * behind:
                return False
            if np.array_equal(priced.schedule, self.best[0]):
                return False
        return False

    def _stretch(self) -> tuple[int, int]:
        """A random stretch, more often early than late, often between borders of runs."""
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
            # In a short schedule two distant rounds may have to change together.
            both = self.rng.integers(0, self.rounds, 2)
            schedule[both] = self.rng.choice(self.descent.ids, 2)
        elif way < 0.3 and len(self.others) > 1:
            other = self.others[int(self.rng.integers(len(self.others)))][0]
            if self.rng.random() < 0.5:
                # Everything before the stretch, or everything after it.
                first, last = (0, last) if self.rng.random() < 0.5 else (first, self.rounds)
            schedule[first:last] = other[first:last]
        elif way < 0.4:
            schedule[first:last] = schedule[first:last][::-1]
        elif way < 0.7:
            schedule[first:last] = self.rng.choice(np.unique(schedule))
        else:
            schedule[first:last] = self.rng.choice(self.descent.ids)

    def _keep(self) -> bool:
        """Keep the current schedule if it is the best by the final objective."""
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


def fitted(
    schedule: Sequence[int] | IntArray, tail: Tail, rounds: int, infinite: bool
) -> tuple[IntArray, Tail]:
    """A start cut to `rounds`, or extended by its tail or its last set."""
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
