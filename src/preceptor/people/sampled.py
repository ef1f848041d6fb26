"""What is expected of somebody who can only act: a crowd of copies plays it.

Every copy meets cases that are drawn once and stay fixed: two schedules differ by what is shown,
not by luck, and the price of a change is the crowd's own total. It is slow, because every price is
a replay, and it carries the noise of so many people.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from preceptor._base.discounting import weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily, TestSet
from preceptor.model.surfaces import best_charges
from preceptor.model.world import Cases, World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.expected import Tail
from preceptor.people.human import (
    ROUNDS_DRAWN,
    BatchHuman,
    Human,
    Sessions,
    check_yes_no_answers,
)

# A tail is played until what is left of it weighs less than this share of all rounds. Then the
# average of its last rounds, whole passes and at least so many, stands for the rest.
_NEGLIGIBLE, _LAST, _LONGEST_TAIL = 1e-3, 32, 3000


class Sampled:
    """What is expected of somebody who can only act: means over copies who meet fixed cases.

    In a Gaussian world what no use of the shown tests could have known is replaced by its variance,
    which leaves means as they are and takes away most of their noise. Where the outcome is yes or
    no, an answer is charged for the chance of yes given what was shown, not for the one that came.

    Parameters
    ----------
    human
        Whom to copy.
    world
        How tests and outcomes come about.
    sets
        What may be shown.
    copies
        How many play.
    seed
        From which their cases and all chance in their answers come.
    risk
        What yes-or-no answers cost; squared errors are charged if left out.

    Raises
    ------
    InvalidProblem
        The human cannot be copied.
    """

    exact: bool = False
    exact_prices: bool = True
    slow: bool = True
    """Every price is a replay: whoever searches should ask for few."""

    def __init__(
        self,
        human: Human,
        world: World,
        sets: SetFamily,
        copies: int,
        seed: int,
        risk: YesNoRisk | None = None,
    ) -> None:
        self._see(world, sets, copies, seed)
        self._risk = risk
        try:
            self._human = copy.deepcopy(human)
        except Exception as error:
            raise InvalidProblem(
                f"human: {type(human).__name__} cannot be copied ({error}); planning plays many "
                "copies, so give it a __deepcopy__"
            ) from error

    def _see(self, world: World, sets: SetFamily, copies: int, seed: int) -> None:
        """Take in everything but who plays."""
        self.accuracy = f"a mean over {copies} simulated people, so it carries the noise of so many"
        self._world, self._copies, self._seed = world, copies, seed
        self._sets: tuple[TestSet, ...] = tuple(sets)
        self._prices = sets.prices
        self._tests = [list(shown) for shown in self._sets]
        self._blocks: list[Cases] = []
        self._known = [_best_use(world, shown) for shown in self._sets]

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Mean loss of each round."""
        means: FloatArray = self.played(schedule).mean(axis=0)
        return means

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Mean discounted loss of a schedule and its tail; notes its standard error."""
        if tail and discount >= 1.0:
            return math.inf
        whole = np.concatenate([_positions(schedule), _played_tail(tail, discount)])
        return self._noted(self.played(whole) @ _weights(whole.size, discount, tail))

    def played(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Loss of each copy in each round.

        Parameters
        ----------
        schedule
            Positions of sets, round by round.

        Returns
        -------
        array of shape (copies, rounds)
            In squared units of the outcome.
        """
        positions = _positions(schedule)
        if not isinstance(self._human, BatchHuman):
            return self.play_on(self.newcomers(), 0, positions)
        cases = self._cases(0, positions.size)
        which = np.broadcast_to(positions, (self._copies, positions.size))
        sessions = Sessions.hiding(self._sets, which, cases)
        human = self.copied(self._human)
        answers = human.predict_many(sessions, [self._chance(p) for p in range(self._copies)])
        return self._judged(0, positions, cases, answers)

    @property
    def at_once(self) -> bool:
        """Whether copies answer all together, so that nobody's state can be kept on the way."""
        return isinstance(self._human, BatchHuman)

    def newcomers(self) -> list[Human]:
        """Copies who have not played yet."""
        people = [self.copied(self._human) for _ in range(self._copies)]
        for person, human in enumerate(people):
            human.reset(self._chance(person))
        return people

    def copied(self, people: Any) -> Any:
        """People as they are now, to play on without those who were copied."""
        return copy.deepcopy(people, {id(self._world): self._world})

    def play_on(self, people: list[Human], first: int, schedule: IntArray) -> FloatArray:
        """Losses (copies, rounds) of people who stand before round `first`; they learn."""
        cases = self._cases(first, first + schedule.size)
        answers = np.empty((len(people), schedule.size))
        for person, human in enumerate(people):
            for t, position in enumerate(schedule):
                shown = self._sets[position]
                values = cases.features[person, t, self._tests[position]]
                answers[person, t] = human.predict(shown, values)
                human.feedback(shown, values, float(cases.outcomes[person, t]))
        return self._judged(first, schedule, cases, answers)

    def walk(self, rounds: int, discount: float) -> SampledWalk:
        """Room for schedules of so many rounds."""
        return SampledWalk(self, rounds, discount)

    def floors(self) -> FloatArray:
        """What the best use of each set costs, price included, shape (sets,).

        Outside of Gaussian worlds nothing is known but the price.
        """
        left = np.array([left for _, left in self._known])
        if self._risk is not None:
            left = best_charges(self._world, self._risk, left)
        return np.asarray(left + self._prices)

    def _noted(self, totals: FloatArray) -> float:
        """Mean of totals (copies,); the sentence about accuracy gets their standard error."""
        mean = float(totals.mean())
        error = float(totals.std(ddof=1)) / math.sqrt(totals.size)
        self.accuracy = (
            f"a mean over {totals.size} simulated people; the standard error of the last total "
            f"is {error:.3g}" + (f" ({error / mean:.1%} of it)" if mean > 0 else "")
        )
        return mean

    def _judged(
        self, first: int, schedule: IntArray, cases: Cases, answers: FloatArray
    ) -> FloatArray:
        """Losses (copies, rounds) of answers from round `first` on, prices included."""
        if self._risk is not None:
            check_yes_no_answers(type(self._human).__name__, answers, first)
        if not self._world.is_gaussian:
            squared: FloatArray = (cases.outcomes - answers) ** 2
            return np.asarray(squared + self._prices[schedule])
        losses = np.empty(answers.shape)
        for position in np.unique(schedule):
            rounds = np.flatnonzero(schedule == position)
            best, left = self._known[position]
            results = cases.features[:, rounds][..., self._tests[position]]
            if self._risk is not None:
                losses[:, rounds] = self._charged(results @ best, left, answers[:, rounds])
            else:
                losses[:, rounds] = left + (results @ best - answers[:, rounds]) ** 2
        return np.asarray(losses + self._prices[schedule])

    def _charged(self, told: FloatArray, left: float, answers: FloatArray) -> FloatArray:
        """What answers cost for the chance of yes that the shown results tell."""
        world, outcome = self._world, self._world.outcome
        assert outcome is not None
        assert self._risk is not None
        hidden = max(left - world.noise_variance, 0.0)
        chance = outcome.from_score.mean_probability(world.base_score + told, hidden)
        if_yes = self._risk.charge(answers, np.ones(answers.shape))
        if_no = self._risk.charge(answers, np.zeros(answers.shape))
        # A chance of 0 costs nothing, however dear the answer would be.
        yes = np.where(chance > 0.0, chance * if_yes, 0.0)
        return yes + np.where(chance < 1.0, (1.0 - chance) * if_no, 0.0)

    def _cases(self, first: int, end: int) -> Cases:
        """Features (copies, rounds, n) and outcomes (copies, rounds) of some rounds."""
        while len(self._blocks) * ROUNDS_DRAWN < end:
            chance = np.random.SeedSequence(self._seed, spawn_key=(0, len(self._blocks)))
            drawn = self._world.sample(self._copies * ROUNDS_DRAWN, np.random.default_rng(chance))
            shape = self._copies, ROUNDS_DRAWN
            self._blocks.append(
                Cases(drawn.features.reshape(*shape, -1), drawn.outcomes.reshape(shape))
            )
        used = self._blocks[first // ROUNDS_DRAWN : -(-end // ROUNDS_DRAWN)]
        if not used:
            return Cases(np.empty((self._copies, 0, self._world.size)), np.empty((self._copies, 0)))
        part = slice(first % ROUNDS_DRAWN, first % ROUNDS_DRAWN + end - first)
        features = np.concatenate([block.features for block in used], axis=1)
        outcomes = np.concatenate([block.outcomes for block in used], axis=1)
        return Cases(features[:, part], outcomes[:, part])

    def _chance(self, person: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(1, person)))


class SampledWalk:
    """One schedule on which changes are priced by playing on from the round before.

    Made by `Sampled.walk`. People are kept as they were every few rounds, so that a price plays
    only what comes after it; people who answer all at once play everything again.
    """

    def __init__(self, expected: Sampled, rounds: int, discount: float) -> None:
        self._expected, self._rounds, self._discount = expected, rounds, discount
        self._stride = max(1, math.isqrt(rounds))
        self._schedule = np.zeros(rounds, dtype=np.int64)
        self._tail: Tail = ()
        self._losses = np.empty((expected._copies, rounds))
        self._kept: dict[int, list[Human]] = {}
        self._changed = 0  # the first round whose loss is not that of the schedule

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward."""
        self._tail = tail
        self._forget(min(since, self._changed))
        self._schedule[:] = schedule
        self._catch_up()
        return self._cost(self._rounds, _positions([]))

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """What the whole schedule costs with each of these sets in round t instead."""
        return np.array([self.block(t, _positions([x])) for x in positions])

    def back(self, t: int, position: int) -> None:
        """Take in what is shown in round t."""
        if self._schedule[t] != position:
            self._schedule[t] = position
            self._forget(t)

    def block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs with these sets from round t on."""
        now = self._schedule[t:].copy()
        now[: len(positions)] = positions
        return self._cost(t, now)

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the schedule costs with each of these tails."""
        self._catch_up()
        none = _positions([])
        return np.array([self._cost(self._rounds, none, tail) for tail in tails])

    def _cost(self, t: int, now: IntArray, tail: Tail | None = None) -> float:
        """Total with rounds t, t + 1, ... as given and a tail after them."""
        tail = self._tail if tail is None else tail
        if tail and self._discount >= 1.0:
            return math.inf
        later = np.concatenate([now, _played_tail(tail, self._discount)])
        expected = self._expected
        if expected.at_once:
            losses = expected.played(np.concatenate([self._schedule[:t], later]))
        else:
            people = expected.copied(self._before(t)) if later.size else []
            rest = expected.play_on(people, t, later) if later.size else self._losses[:, :0]
            losses = np.concatenate([self._losses[:, :t], rest], axis=1)
        return expected._noted(losses @ _weights(losses.shape[1], self._discount, tail))

    def _forget(self, t: int) -> None:
        """Round t is another one now: what was kept of later rounds is void."""
        self._changed = min(self._changed, t)
        self._kept = {first: people for first, people in self._kept.items() if first <= t}

    def _catch_up(self) -> None:
        """Losses of all rounds are those of the schedule again."""
        if self._changed < self._rounds and not self._expected.at_once:
            self._before(self._rounds)
        self._changed = self._rounds

    def _before(self, t: int) -> list[Human]:
        """People who have played the schedule up to round t; copy them to play on."""
        expected, stride = self._expected, self._stride
        if 0 not in self._kept:
            self._kept[0] = expected.newcomers()
        first = max(each for each in self._kept if each <= t)
        while first < t:
            end = min(t, (first // stride + 1) * stride)
            people = expected.copied(self._kept[first])
            part = slice(first, end)
            self._losses[:, part] = expected.play_on(people, first, self._schedule[part])
            # Between regular distances only the latest are kept, so that memory stays small.
            self._kept = {r: kept for r, kept in self._kept.items() if r % stride == 0}
            self._kept[end] = people
            first = end
        return self._kept[t]


def _positions(schedule: Sequence[int] | IntArray) -> IntArray:
    return np.asarray(schedule, dtype=np.int64)


def _played_tail(tail: Tail, discount: float) -> IntArray:
    """Rounds of a tail that are played one by one, in whole passes."""
    if not tail or discount >= 1.0:
        return _positions([])
    rounds = 1.0 if discount <= 0.0 else math.log(_NEGLIGIBLE) / math.log(discount)
    passes = math.ceil(min(max(rounds, _LAST), _LONGEST_TAIL) / len(tail))
    return np.tile(_positions(tail), passes)


def _weights(rounds: int, discount: float, tail: Tail) -> FloatArray:
    """What each loss weighs (rounds,); the last ones of a tail also stand for all that follows."""
    each = weights(discount, rounds)
    if tail:
        last = math.ceil(_LAST / len(tail)) * len(tail)
        each[rounds - last :] += discount**rounds / (1.0 - discount) / last
    return each


def _best_use(world: World, shown: TestSet) -> tuple[FloatArray, float]:
    """Weights of the regression on the shown tests, and the variance that it leaves.

    Outside of Gaussian worlds something else may be better, so nothing is known to be left there.
    """
    rows = list(shown)
    with_outcome = (world.covariance @ world.coefficients)[rows]
    best = np.asarray(np.linalg.solve(world.covariance[np.ix_(rows, rows)], with_outcome))
    left = world.outcome_variance - float(with_outcome @ best)
    return best, max(left, 0.0) if world.is_gaussian else 0.0
