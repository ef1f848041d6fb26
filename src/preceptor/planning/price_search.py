"""Local search for schedules, for whoever can say what a change of one round is worth.

A pass goes back through the schedule and gives each round the set that is best given all others
(`priced_schedule.py`). Long stretches change first, then single rounds, then borders between runs;
what is repeated forever afterwards is chosen along the way; random kicks lead out of dead ends.
Nothing is proven about the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

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
# So few prices a pass that every start may be followed to its end.
_SMALL = 3000
# Rounds after which a fixed set's loss is taken to stay as it is, for a first estimate.
_SETTLED = 64
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
    fixed: FloatArray | None = None,
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
        About what each set costs each person if always shown, shape (sets, people), if known.
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
    if fixed is None:
        fixed = np.full((sets, len(people)), np.inf)
        for i, person in enumerate(people):
            fixed[ids, i] = fixed_costs(person, ids, rounds, discount, infinite)
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
    search.know_fixed(fixed)
    begun = [_fitted(schedule, tail, rounds, infinite) for schedule, tail in starts]
    if len(people) == 1:
        begun.append(search.greedy(people[0]))
    return search.run(begun, max_kicks)


def fixed_costs(
    person: Expected, ids: IntArray, rounds: int, discount: float, infinite: bool
) -> FloatArray:
    """About what each of these sets costs if always shown: early losses, the last of which stays.

    Parameters
    ----------
    person
        Whose losses.
    ids
        Positions of the sets.
    rounds
        How many there are.
    discount
        What a round weighs against the one before.
    infinite
        Whether it goes on forever.

    Returns
    -------
    array of shape (len(ids),)
        Estimates; only their order should be trusted.
    """
    known = min(rounds, 8 if getattr(person, "slow", False) else _SETTLED)
    weights = discount ** np.arange(known, dtype=np.float64)
    if infinite:
        rest = discount**known / (1.0 - discount)
    else:
        rest = float(np.sum(discount ** np.arange(known, rounds, dtype=np.float64)))
    weights[-1] += rest
    return np.array(
        [weights @ person.losses(np.full(known, s, dtype=np.int64)) for s in ids.tolist()]
    )


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

    def know_fixed(self, fixed: FloatArray) -> None:
        """Rank the sets by what they cost if always shown."""
        values = self.objective.value(fixed[self.all])
        order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
        self.fixed = self.all[order].tolist()

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
        for s in self.fixed[:2]:
            starts.append(_fitted([s], (), self.rounds, self.infinite))
        starts = self._ranked(starts)
        self.others = starts
        stages = self._stages(starts[0])
        self._follow(starts, stages[0])
        for stage in stages[1:]:
            priced.aim(stage)
            self._settle(self._everywhere())
            self._descend()
        if self.ids.size < self.all.size and not priced.stop():
            # What the shortlist has left out, once at every round.
            changed = priced.sweep(self._everywhere(), self.all)
            if changed.any():
                self._shortlist(priced.schedule)
                self._settle(_near(changed))
                self._descend()
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
        reached = []
        priced.aim(stage)
        for schedule, tail in starts if small else starts[:3]:
            if reached and priced.stop():
                break
            priced.lay(schedule, tail)
            self._coarse()
            if small:
                self._settle(self._everywhere())
                self._descend()
            reached.append((priced.value, priced.schedule.copy(), priced.tail))
        value, schedule, tail = min(reached, key=lambda entry: entry[0])
        self._shortlist(*(schedule for _value, schedule, _tail in reached))
        priced.lay(schedule, tail)
        if not small:
            self._settle(self._everywhere())
            self._descend()

    def _coarse(self) -> None:
        """Passes with stretches that become shorter."""
        length = 1
        while length * 4 <= min(self.rounds, _LONGEST * 2):
            length *= 2
        while length > 1 and not self.priced.stop():
            self.priced.sweep(self._everywhere(), self.all, length, self.wins)
            length //= 2
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

    def _settle(self, look: BoolArray) -> None:
        """Single rounds, again around whatever has changed, until nothing is gained."""
        priced = self.priced
        everywhere = bool(look.all())
        since_all = priced.value
        while not priced.stop():
            before = priced.value
            changed = priced.sweep(look, self.ids)
            if self._gained(before):
                look = _near(changed)
            elif everywhere and not look.all() and self._gained(since_all):
                # What is far from every change may have become worth changing too.
                look, since_all = self._everywhere(), priced.value
            else:
                return

    def _descend(self, look: BoolArray | None = None) -> None:
        """Borders of runs and what comes afterwards, with single rounds in between."""
        priced = self.priced
        look = self._everywhere() if look is None else look
        while not priced.stop():
            before = priced.value
            changed = priced.shift_runs(look, self.ids)
            if changed.any():
                self._settle(_near(changed))
            if self._choose_tail():
                changed[:] = True
                self._settle(changed)
            if not self._gained(before):
                return
            look = _near(changed)

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
            look = np.zeros(self.rounds, dtype=np.bool_)
            look[first:last] = True
            look = _near(look)
            priced.lay(schedule, tail)
            for stage in stages[-2:]:
                priced.aim(stage)
                self._settle(look)
            if self._keep():
                self._descend(look)
                self._keep()
        return max_kicks

    def _stretch(self) -> tuple[int, int]:
        """A random stretch, rather early than late: that is where schedules are made."""
        longest = max(self.rounds // 2, 1)
        length = min(2 ** int(self.rng.integers(0, 7)), longest)
        first = int((self.rounds - length + 1) * self.rng.random() ** 2)
        return first, first + length

    def _kick(self, schedule: IntArray, first: int, last: int) -> None:
        way = self.rng.random()
        if way < 0.3 and len(self.others) > 1:
            other = self.others[int(self.rng.integers(len(self.others)))][0]
            schedule[first:last] = other[first:last]
        elif way < 0.45:
            schedule[first:last] = schedule[first:last][::-1]
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
