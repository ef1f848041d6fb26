"""Expected losses of a person known only by how they act, estimated by simulating copies.

Every copy meets cases that are drawn once and stay fixed (common random numbers): two schedules
differ by what is shown, not by luck. It is slow, because every price is a replay, and estimates
have a standard error.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.numerics import weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Tail, positions_of
from preceptor.model.sets import SetFamily, TestSet
from preceptor.model.surfaces import best_charges
from preceptor.model.world import SampledCases, World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.acting import Imputer
from preceptor.people.answering import as_believed
from preceptor.people.human import ROUNDS_DRAWN, BatchHuman, Human, Sessions, check_yes_no_answers
from preceptor.people.set_readings import scores_of

if TYPE_CHECKING:
    from preceptor.model.person import Person, ShownBefore

# A tail is played until the rest weighs less than this share of all rounds. Then the average of its
# last rounds (whole repetitions, at least this many) stands for the rest.
_NEGLIGIBLE, _LAST, _LONGEST_TAIL = 1e-3, 32, 3000


class Sampled:
    """`Expected` of a person known only by how they act: means over copies who meet fixed cases.

    In a Gaussian world the part of the outcome that the shown tests cannot predict is replaced by
    its variance, which keeps means and removes most of their noise. Where outcomes are yes/no, an
    answer is charged for the probability of yes given the shown tests, not for the outcome drawn.

    Parameters
    ----------
    human
        The person to copy.
    world
        Model of tests and outcomes.
    sets
        Sets of tests that may be shown.
    copies
        Number of copies.
    seed
        Seed of the cases and of all randomness in the answers.
    risk
        Loss of yes/no answers; squared error if omitted.

    Raises
    ------
    InvalidProblem
        The human cannot be copied.
    """

    exact: bool = False
    exact_prices: bool = True
    slow: bool = True
    """Every price is a replay, so that searches should ask for few."""

    def __init__(
        self,
        human: Human,
        world: World,
        sets: SetFamily,
        copies: int,
        seed: int,
        risk: YesNoRisk | None = None,
    ) -> None:
        self._prepare(world, sets, copies, seed)
        self._risk, self._name = risk, type(human).__name__
        try:
            self._human = copy.deepcopy(human)
        except Exception as error:
            raise InvalidProblem(
                f"human: {type(human).__name__} cannot be copied ({error}); planning simulates "
                "many copies, so give it a __deepcopy__"
            ) from error

    def _prepare(self, world: World, sets: SetFamily, copies: int, seed: int) -> None:
        """Set everything but the person."""
        self.accuracy = f"a mean over {copies} simulated people, so it has a standard error"
        self._world, self._copies, self._seed = world, copies, seed
        self._sets: tuple[TestSet, ...] = tuple(sets)
        self._prices = sets.prices
        self._tests = [list(shown) for shown in self._sets]
        self._blocks: list[SampledCases] = []
        self._known = [_best_use(world, shown) for shown in self._sets]

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Return the mean loss of each round."""
        return np.asarray(self.played(schedule).mean(axis=0))

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Return the mean discounted loss of a schedule and its tail; record its standard error."""
        if tail and discount >= 1.0:
            return math.inf
        whole = np.concatenate([positions_of(schedule), _played_tail(tail, discount)])
        return self.mean_total(self.played(whole) @ _weights(whole.size, discount, tail))

    def played(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Return the loss of each copy in each round.

        Parameters
        ----------
        schedule
            Positions of sets, round by round.

        Returns
        -------
        array of shape (copies, rounds)
            In squared units of the outcome.
        """
        positions = positions_of(schedule)
        if not isinstance(self._human, BatchHuman):
            return self.play_on(self.new_copies(), 0, positions)
        cases = self._cases(0, positions.size)
        which = np.broadcast_to(positions, (self._copies, positions.size))
        sessions = Sessions.hiding(self._sets, which, cases)
        human = self.copied(self._human)
        answers = human.predict_many(sessions, [self._chance(p) for p in range(self._copies)])
        return self._losses_of(0, positions, cases, answers)

    @property
    def in_batch(self) -> bool:
        """Whether copies answer all rounds in one call, so that no states can be kept."""
        return isinstance(self._human, BatchHuman)

    def new_copies(self) -> list[Any]:
        """Return copies before their first round."""
        people = [self.copied(self._human) for _ in range(self._copies)]
        for person, human in enumerate(people):
            human.reset(self._chance(person))
        return people

    def copied(self, people: Any) -> Any:
        """Return independent copies of people in their current state."""
        return copy.deepcopy(people, {id(self._world): self._world})

    def play_on(self, people: list[Any], first: int, schedule: IntArray) -> FloatArray:
        """Play people from round `first` on, changing them; return losses (copies, rounds)."""
        cases = self._cases(first, first + schedule.size)
        answers = np.empty((len(people), schedule.size))
        for person, human in enumerate(people):
            for t, position in enumerate(schedule):
                shown = self._sets[position]
                values = cases.features[person, t, self._tests[position]]
                answers[person, t] = human.predict(shown, values)
                human.feedback(shown, values, float(cases.outcomes[person, t]))
        return self._losses_of(first, schedule, cases, answers)

    def walk(self, rounds: int, discount: float) -> SampledWalk:
        """Return a walk for schedules of this many rounds."""
        return SampledWalk(self, rounds, discount)

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included, shape (sets,).

        Outside of Gaussian worlds only the price is a valid bound.
        """
        left = np.array([left for _, left in self._known])
        if self._risk is not None:
            left = best_charges(self._world, self._risk, left)
        return np.asarray(left + self._prices)

    def mean_total(self, totals: FloatArray) -> float:
        """Return the mean of totals (copies,), and record its standard error in `accuracy`."""
        mean = float(totals.mean())
        error = float(totals.std(ddof=1)) / math.sqrt(totals.size)
        self.accuracy = (
            f"a mean over {totals.size} simulated people; the standard error of the last total "
            f"is {error:.3g}" + (f" ({error / mean:.1%} of it)" if mean > 0 else "")
        )
        return mean

    def _losses_of(
        self, first: int, schedule: IntArray, cases: SampledCases, answers: FloatArray
    ) -> FloatArray:
        """Losses (copies, rounds) of answers from round `first` on, prices included."""
        if self._risk is not None:
            check_yes_no_answers(self._name, answers, first)
        if not self._world.is_gaussian:
            return np.asarray((cases.outcomes - answers) ** 2 + self._prices[schedule])
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
        """Expected charge of answers, given the probability of yes that shown results imply."""
        world, outcome = self._world, self._world.outcome
        assert outcome is not None
        assert self._risk is not None
        hidden = max(left - world.noise_variance, 0.0)
        chance = outcome.from_score.mean_probability(world.base_score + told, hidden)
        if_yes = self._risk.charge(answers, np.ones(answers.shape))
        if_no = self._risk.charge(answers, np.zeros(answers.shape))
        # Probability 0 contributes nothing, even if the charge is infinite.
        yes = np.where(chance > 0.0, chance * if_yes, 0.0)
        return yes + np.where(chance < 1.0, (1.0 - chance) * if_no, 0.0)

    def _cases(self, first: int, end: int) -> SampledCases:
        """Features (copies, rounds, n) and outcomes (copies, rounds) of some rounds."""
        while len(self._blocks) * ROUNDS_DRAWN < end:
            chance = np.random.SeedSequence(self._seed, spawn_key=(0, len(self._blocks)))
            drawn = self._world.sample(self._copies * ROUNDS_DRAWN, np.random.default_rng(chance))
            shape = self._copies, ROUNDS_DRAWN
            self._blocks.append(
                SampledCases(drawn.features.reshape(*shape, -1), drawn.outcomes.reshape(shape))
            )
        used = self._blocks[first // ROUNDS_DRAWN : -(-end // ROUNDS_DRAWN)]
        if not used:
            return SampledCases(
                np.empty((self._copies, 0, self._world.size)), np.empty((self._copies, 0))
            )
        part = slice(first % ROUNDS_DRAWN, first % ROUNDS_DRAWN + end - first)
        features = np.concatenate([block.features for block in used], axis=1)
        outcomes = np.concatenate([block.outcomes for block in used], axis=1)
        return SampledCases(features[:, part], outcomes[:, part])

    def _chance(self, person: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(1, person)))


class SampledWalk:
    """One schedule on which changes are priced by replaying from the changed round.

    Made by `Sampled.walk`. Copies are saved every few rounds as checkpoints, so that a price
    replays only the later rounds; people who answer in batch replay everything.
    """

    def __init__(self, expected: Sampled, rounds: int, discount: float) -> None:
        self._expected, self._rounds, self._discount = expected, rounds, discount
        self._stride = max(1, math.isqrt(rounds))
        self._schedule = np.zeros(rounds, dtype=np.int64)
        self._tail: Tail = ()
        self._losses = np.empty((expected._copies, rounds))
        self._kept: dict[int, list[Any]] = {}
        self._changed = 0  # the first round whose loss is not that of the schedule

    def forward(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Set the schedule; return its total cost."""
        self._tail = tail
        self._forget(min(since, self._changed))
        self._schedule[:] = schedule
        self._catch_up()
        return self._cost(self._rounds, positions_of([]))

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """Total cost of the schedule with each of these sets in round t instead."""
        return np.array([self.replace_block(t, positions_of([x])) for x in positions])

    def step_back(self, t: int, position: int) -> None:
        """Fix the set shown in round t."""
        if self._schedule[t] != position:
            self._schedule[t] = position
            self._forget(t)

    def replace_block(self, t: int, positions: IntArray) -> float:
        """Total cost of the schedule with these sets in rounds t, t + 1, ... instead."""
        now = self._schedule[t:].copy()
        now[: len(positions)] = positions
        return self._cost(t, now)

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """Total cost of the present schedule with each of these tails."""
        self._catch_up()
        return np.array([self._cost(self._rounds, positions_of([]), tail) for tail in tails])

    def _cost(self, t: int, now: IntArray, tail: Tail | None = None) -> float:
        """Total cost with rounds t, t + 1, ... as given, followed by a tail."""
        tail = self._tail if tail is None else tail
        if tail and self._discount >= 1.0:
            return math.inf
        later = np.concatenate([now, _played_tail(tail, self._discount)])
        expected = self._expected
        if expected.in_batch:
            losses = expected.played(np.concatenate([self._schedule[:t], later]))
        else:
            people = expected.copied(self._before(t)) if later.size else []
            rest = expected.play_on(people, t, later) if later.size else self._losses[:, :0]
            losses = np.concatenate([self._losses[:, :t], rest], axis=1)
        return expected.mean_total(losses @ _weights(losses.shape[1], self._discount, tail))

    def _forget(self, t: int) -> None:
        """Discard losses and checkpoints after round t, which has changed."""
        self._changed = min(self._changed, t)
        self._kept = {first: people for first, people in self._kept.items() if first <= t}

    def _catch_up(self) -> None:
        """Replay changed rounds, so that all losses are those of the schedule."""
        if self._changed < self._rounds and not self._expected.in_batch:
            self._before(self._rounds)
        self._changed = self._rounds

    def _before(self, t: int) -> list[Any]:
        """Copies that have played the schedule up to round t; a checkpoint, not to be changed."""
        expected, stride = self._expected, self._stride
        if 0 not in self._kept:
            self._kept[0] = expected.new_copies()
        first = max(each for each in self._kept if each <= t)
        while first < t:
            end = min(t, (first // stride + 1) * stride)
            people = expected.copied(self._kept[first])
            part = slice(first, end)
            self._losses[:, part] = expected.play_on(people, first, self._schedule[part])
            # Between regular checkpoints only the latest is kept, to save memory.
            self._kept = {r: kept for r, kept in self._kept.items() if r % stride == 0}
            self._kept[end] = people
            first = end
        return self._kept[t]


def _played_tail(tail: Tail, discount: float) -> IntArray:
    """Rounds of a tail that are played one by one, in whole repetitions."""
    if not tail or discount >= 1.0:
        return positions_of([])
    rounds = 1.0 if discount <= 0.0 else math.log(_NEGLIGIBLE) / math.log(discount)
    passes = math.ceil(min(max(rounds, _LAST), _LONGEST_TAIL) / len(tail))
    return np.tile(positions_of(tail), passes)


def _weights(rounds: int, discount: float, tail: Tail) -> FloatArray:
    """Weight of each loss (rounds,); the last ones of a tail also stand for all that follow."""
    each = weights(discount, rounds)
    if tail:
        last = math.ceil(_LAST / len(tail)) * len(tail)
        each[rounds - last :] += discount**rounds / (1.0 - discount) / last
    return each


def _best_use(world: World, shown: TestSet) -> tuple[FloatArray, float]:
    """Weights of the regression on the shown tests, and its residual variance.

    Outside of Gaussian worlds nonlinear predictions may be better, so 0 is the only valid bound.
    """
    best, left = world.best_reading(shown)
    return best, left if world.is_gaussian else 0.0


class SampledAnswers(Sampled):
    """`Expected` of a person whose weights are known: a mean over copies.

    Parameters
    ----------
    person
        The person to copy.
    world
        A world with a yes/no outcome.
    sets
        Sets of tests that may be shown.
    risk
        How scores become answers, and the loss of each answer.
    start
        Exposure counts before the first round, for kinds that use them; zero if omitted.
    copies
        Number of copies.
    """

    def __init__(
        self,
        person: Person,
        world: World,
        sets: SetFamily,
        risk: YesNoRisk,
        start: ShownBefore = None,
        copies: int = 200,
    ) -> None:
        self._prepare(world, sets, copies, seed=0)
        self._risk, self._person, self._start = risk, person, start
        self._name = type(person).__name__
        self._believed = as_believed(world, risk)
        covariance = person.imputing_covariance(world)
        self._imputer = Imputer(covariance)
        self._membership = sets.membership
        self._scores = scores_of(world, sets, covariance, risk)

    @property
    def in_batch(self) -> bool:
        """False: states are kept between rounds."""
        return False

    def played(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Return the loss of each copy in each round (copies, rounds)."""
        return self.play_on(self.new_copies(), 0, positions_of(schedule))

    def new_copies(self) -> list[Any]:
        """Return the state of all copies before the first round, as the only item of a list."""
        return [self._person.fresh(self._believed, (self._copies,), self._start)]

    def play_on(self, people: list[Any], first: int, schedule: IntArray) -> FloatArray:
        """Play people from round `first` on, changing them; return losses (copies, rounds)."""
        person, world = self._person, self._believed
        cases = self._cases(first, first + schedule.size)
        weights = np.empty((self._copies, schedule.size, world.size))
        scores = np.empty((self._copies, schedule.size))
        for t, position in enumerate(schedule.tolist()):
            weights[:, t] = person.weights_of(world, people[0])
            shown = np.broadcast_to(self._membership[position], (self._copies, world.size))
            values = cases.features[:, t, self._tests[position]]
            filled = values @ self._imputer.fill(self._sets[position])
            if person.has_level:
                scores[:, t] = np.sum(weights[:, t] * filled, axis=-1)
                scores[:, t] += person.level_of(world, people[0])
            people[0] = person.learn(world, people[0], filled, shown, cases.outcomes[:, t])
        if person.has_level:
            # Surfaces of charges are for one base score, so answers are charged case by case.
            assert world.outcome is not None
            assert self._risk is not None
            answers = self._risk.answer(world.outcome.from_score, world.base_score + scores)
            return self._losses_of(first, schedule, cases, answers)
        return self._charged_for(schedule, weights) + self._prices[schedule]

    def _charged_for(self, schedule: IntArray, weights: FloatArray) -> FloatArray:
        """Expected charge of answers with these weights (copies, rounds, n), without prices."""
        from preceptor.people._yes_no_kernels import path_losses

        losses = np.empty(weights.shape[:2])
        arrays = self._scores.arrays
        free = (*arrays[:6], np.zeros(len(self._sets)), *arrays[7:])  # without prices
        for row, own in zip(losses, weights, strict=True):
            path_losses(schedule, np.ascontiguousarray(own), row, free)
        return losses
