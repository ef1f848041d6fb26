"""What people were shown and answered, round by round, in the world's units.

Answers of a person are an affine function of their first weights (`affine_in_first_weights`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray, frozen_array
from preceptor.data.log import Log, in_world_units, require_tests
from preceptor.errors import InvalidInput
from preceptor.model.person import Person
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.coordinatewise import NoLearning

# Answers farther from the average, in standard deviations of the outcome, are slips or in other
# units. They count as this far, or a single one would decide everything.
FARTHEST = 20.0


@dataclass(frozen=True, eq=False)
class AnsweredRounds:
    """Rounds of one person, or of many who were shown the same tests in every round.

    `shown` (T, n) and `told` (T,) are common to all; each person has `values` (..., T, n), 0 where
    a test was hidden, `answers` (..., T) and `outcomes` (..., T), NaN where unknown.
    """

    shown: npt.NDArray[np.bool_]
    told: npt.NDArray[np.bool_]
    values: FloatArray
    answers: FloatArray
    outcomes: FloatArray

    def __len__(self) -> int:
        return int(self.told.size)


def rounds_of(world: World, log: Log) -> dict[str, AnsweredRounds]:
    """The rounds of every person in a log, by name.

    Raises
    ------
    InvalidInput
        The log is about other tests.
    """
    values, answers, outcomes = in_world_units(world, log)
    if world.is_binary and log.decided:
        # As scores: a score moves the share of decisions about as it moves the probability.
        answers = (answers - 0.5) / mean_slope(world)
    arrays = (log.shown, log.told, values, answers, outcomes)
    rows = {name: log.participant == name for name in log.participants}
    return {name: AnsweredRounds(*(array[own] for array in arrays)) for name, own in rows.items()}


def mean_slope(world: World) -> float:
    """Mean slope of the probability of yes in the score, over all cases; 1 for numbers."""
    if world.outcome is None:
        return 1.0
    link, spread = world.outcome.from_score, world.score_variance
    width = np.sqrt(link.scales**2 + spread)
    density = np.exp(-0.5 * (world.base_score / width) ** 2) / np.sqrt(2.0 * np.pi)
    return float(np.sum(link.weights * density / width))


def outcome_units(world: World) -> tuple[float, float]:
    """Mean and standard deviation of outcomes in the world's units: 0 or 1 for yes or no."""
    if world.outcome is None:
        return 0.0, float(np.sqrt(world.outcome_variance)) or 1.0
    share = world.outcome.prevalence
    return share, float(np.sqrt(share * (1.0 - share)))


def surprises(world: World, rounds: AnsweredRounds) -> FloatArray:
    """Outcomes minus their best prediction from the shown tests (T,), of one person.

    Where outcomes are yes or no, the prediction is the probability of yes, and surprises are
    converted to scores.
    """
    reading = best_reading(world, rounds.shown)
    added_up = np.sum(reading * rounds.values, axis=1)
    if world.outcome is None:
        return np.asarray(rounds.outcomes - added_up)
    hidden = world.score_variance - reading @ world.covariance @ world.coefficients
    link = world.outcome.from_score
    chance = link.mean_probability(world.base_score + added_up, np.maximum(hidden, 0.0))
    return np.asarray((rounds.outcomes - chance) / mean_slope(world))


def alike(people: dict[str, AnsweredRounds]) -> list[tuple[list[str], AnsweredRounds]]:
    """Group people who were shown and told the same: their names, and rounds (people, T)."""
    groups: dict[tuple[bytes, bytes], list[str]] = {}
    for name, rounds in people.items():
        groups.setdefault((rounds.shown.tobytes(), rounds.told.tobytes()), []).append(name)
    return [(names, together([people[name] for name in names])) for names in groups.values()]


def together(people: Sequence[AnsweredRounds]) -> AnsweredRounds:
    """Stack the rounds of people who were shown and told the same (people, T)."""
    n, length = people[0].shown.shape[1], len(people[0])
    return replace(
        people[0],
        values=np.concatenate([each.values.reshape(-1, length, n) for each in people]),
        answers=np.concatenate([each.answers.reshape(-1, length) for each in people]),
        outcomes=np.concatenate([each.outcomes.reshape(-1, length) for each in people]),
    )


def _patterns(shown: npt.NDArray[np.bool_]) -> Iterator[tuple[IntArray, IntArray]]:
    """Rounds and columns of every set that was shown, except the empty one."""
    for pattern in np.unique(shown, axis=0):
        if pattern.any():
            yield np.flatnonzero(np.all(shown == pattern, axis=1)), np.flatnonzero(pattern)


def best_reading(world: World, shown: npt.NDArray[np.bool_]) -> FloatArray:
    """Weights (T, n) that predict best from the tests shown in each round, 0 on hidden ones."""
    weights = np.zeros(shown.shape)
    for rows, seen in _patterns(shown):
        weights[np.ix_(rows, seen)] = world.best_reading(seen.tolist())[0]
    return weights


def filled_in(imputer: Imputer, shown: npt.NDArray[np.bool_], values: FloatArray) -> FloatArray:
    """All tests (..., T, n) as a person has them in mind, from `values` (..., T, n)."""
    filled = np.zeros(values.shape)
    for rows, seen in _patterns(shown):
        filled[..., rows, :] = values[..., rows, :][..., seen] @ imputer.fill(tuple(seen.tolist()))
    return filled


def last_told(told: npt.NDArray[np.bool_], numbers: FloatArray) -> FloatArray:
    """For every round, the entry of `numbers` (..., T) at the last told round, or 0."""
    last = np.maximum.accumulate(np.where(told, np.arange(told.size), -1))
    before = np.concatenate([[-1], last])[:-1]
    return np.where(before >= 0, numbers[..., before], 0.0)


class AnswerDesign(NamedTuple):
    """Answers are `rows` (..., T, n) times the first weights, plus `offsets` (..., T).

    Plus `level` (..., T) times the first level of people who learn it; None for all others, whose
    answers have a constant bias instead.
    """

    rows: FloatArray
    offsets: FloatArray
    level: FloatArray | None = None


def affine_in_first_weights(
    world: World, person: Person, rounds: AnsweredRounds, drift: FloatArray | None = None
) -> AnswerDesign:
    """Return how answers of people of one kind depend on their first weights.

    With `drift` (n,), weights also change at random after each told round, and every such change
    adds n columns, multiplied by `drift`.
    """
    filled = filled_in(Imputer(person.imputing_covariance(world)), rounds.shown, rounds.values)
    people, n = rounds.values.shape[:-2], world.size
    state = person.fresh(world, people, None)
    size = n + person.has_level
    turned = np.broadcast_to(np.eye(size), (*people, size, size)).copy()
    moved = np.zeros((*people, size))
    columns = size if drift is None else size + n * int(rounds.told.sum())
    design, offset = np.zeros((*filled.shape[:-1], columns)), np.empty(filled.shape[:-1])
    for t in range(len(rounds)):
        case = filled[..., t, :]
        inputs = np.ones((*people, size))
        inputs[..., :n] = case
        design[..., t, : turned.shape[-1]] = np.squeeze(inputs[..., None, :] @ turned, -2)
        offset[..., t] = np.sum(inputs * moved, axis=-1)
        if rounds.told[t]:
            shown = np.broadcast_to(rounds.shown[t], (*people, n))
            truth = rounds.outcomes[..., t]
            turn, push = person.moves(world, state, case, shown, truth)
            state = person.learn(world, state, case, shown, truth)
            turned = turn @ turned
            moved = np.squeeze(turn @ moved[..., None], -1) + push
            if drift is not None:
                steps = np.broadcast_to(np.eye(size, n) * drift, (*people, size, n))
                turned = np.concatenate([turned, steps], axis=-1)
    if not person.has_level:
        return AnswerDesign(design, offset)
    return AnswerDesign(np.delete(design, n, axis=-1), offset, design[..., n])


def simulate_answers(
    world: World,
    person: Person,
    rounds: AnsweredRounds,
    initial: FloatArray | None = None,
    scatter: float = 0.0,
    rng: np.random.Generator | int | None = None,
) -> AnsweredRounds:
    """Simulate the answers of people of one kind, one for each leading position.

    `initial` (..., n) are their first weights if they differ from those of `person`; `scatter` is
    the standard deviation of answers around what the weights predict.
    """
    rows, offsets, level = affine_in_first_weights(world, person, rounds)
    fresh = person.fresh(world, (), None)
    if initial is None:
        initial = person.weights_of(world, fresh)
    answers = np.sum(rows * initial[..., None, :], axis=-1) + offsets
    if level is not None:
        answers += level * person.level_of(world, fresh)
    if scatter:
        answers += scatter * np.random.default_rng(rng).standard_normal(answers.shape)
    return replace(rounds, answers=answers)


# -------------------------------------------------------------------------------------------------
# One person's rounds, arranged for weighing: in the world's units, and in standard units.
#
# Standard units make priors comparable across worlds: tests are in their standard deviations,
# answers and outcomes in standard deviations of the outcome. A weight of 1 then moves the answer
# by one standard deviation of the outcome per standard deviation of the test. Where the outcome is
# yes or no, answers are scores, in standard deviations of the latent variable that is compared
# with 0.


@dataclass(frozen=True, eq=False)
class Record:
    """What one person was shown, answered and was told, round by round.

    Arrays are not validated; a `Log` has been (`Record.of`).

    Parameters
    ----------
    world
        The world of the cases.
    shown
        Which tests were shown, shape (rounds, n).
    values
        Their results in the world's units, shape (rounds, n); hidden ones are ignored.
    answers
        The person's answers, shape (rounds,), in the world's units; for choices 0 or 1. Where the
        outcome is yes or no, scores without the base score, or decisions, 1 or 0.
    outcomes
        What was true, shape (rounds,); ignored where it was not told.
    told
        Whether the person was told the outcome, shape (rounds,). Without it nothing is learned.
    days
        Time in days since any moment, shape (rounds,); NaN, or left out, if unknown.
    decided
        Whether answers are decisions about an outcome that is yes or no.

    Examples
    --------
    >>> world = World([1.0], [[4.0]], 0.0)
    >>> record = Record(world, [[True]], [[2.0]], [1.0], [2.0], [True])
    >>> record.standard(0.0).ravel(), record.standard_answers   # both in standard deviations
    (array([1.]), array([0.5]))
    """

    world: World
    shown: npt.NDArray[np.bool_]
    values: FloatArray
    answers: FloatArray
    outcomes: FloatArray
    told: npt.NDArray[np.bool_]
    days: FloatArray = field(default_factory=lambda: np.zeros(0))
    decided: bool = False

    def __post_init__(self) -> None:
        shown, told = np.asarray(self.shown, dtype=np.bool_), np.asarray(self.told, dtype=np.bool_)
        days = self.days if np.size(self.days) else np.full(told.size, np.nan)
        for name, array in {
            "shown": shown,
            "values": np.where(shown, self.values, 0.0),
            "answers": np.asarray(self.answers, dtype=np.float64),
            "outcomes": np.where(told, self.outcomes, 0.0),
            "told": told,
            "days": np.asarray(days, dtype=np.float64),
        }.items():
            object.__setattr__(self, name, frozen_array(array, array.dtype))

    @classmethod
    def of(
        cls, world: World, log: Log, participant: str | None = None, *, choices: bool = False
    ) -> Record:
        """Return the rounds of one participant of a log.

        Parameters
        ----------
        world
            The world of the cases, with the tests that the log names.
        log
            What people were shown and answered.
        participant
            Name of the participant; optional if there is only one.
        choices
            Whether answers are choices, 0 or 1, which have no unit.

        Returns
        -------
        Record
            In the world's units.

        Raises
        ------
        InvalidInput
            The log is about other tests, or has several participants and none was named.
        """
        require_tests(world, log)
        if participant is None and len(log.participants) != 1:
            raise InvalidInput(
                f"log: {len(log.participants)} participants; choose one with `participant=`, or "
                "weigh them all with `weigh_people`"
            )
        own = log if participant is None else log.for_participant(participant)
        rows = in_world_units(world, own, choices=choices)
        decided = world.is_binary and own.decided
        return cls(world, own.shown, *rows, own.told, own.days, decided)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.answers.size)

    @property
    def dated(self) -> bool:
        """Whether all rounds have dates, and not all the same one."""
        return bool(self.rounds and np.all(np.isfinite(self.days)) and np.ptp(self.days) > 0)

    @property
    def hides(self) -> bool:
        """Whether any test was ever hidden."""
        return not bool(self.shown.all())

    @cached_property
    def gaps(self) -> FloatArray:
        """Days (rounds,) since the previous round; 0 for the first, and without dates."""
        if not self.dated:
            return np.zeros(self.rounds)
        return np.diff(self.days, prepend=self.days[0])

    @cached_property
    def outcome_sd(self) -> float:
        """Standard deviation of the outcome in the world: the unit of answers."""
        return float(np.sqrt(self.world.outcome_variance)) or 1.0

    @cached_property
    def test_sds(self) -> FloatArray:
        """Standard deviations (n,) of the tests."""
        return np.sqrt(np.diag(self.world.covariance))

    @cached_property
    def standard_answers(self) -> FloatArray:
        """Answers (rounds,) in standard deviations of the outcome, at most `FARTHEST`."""
        return np.clip(self.answers / self.outcome_sd, -FARTHEST, FARTHEST)

    @cached_property
    def standard_outcomes(self) -> FloatArray:
        """Outcomes (rounds,) in their standard deviations; 0 where not told."""
        return self.outcomes / self.outcome_sd

    @cached_property
    def standard_truth(self) -> FloatArray:
        """True weights (n,) in standard units."""
        return self.to_standard(self.world.coefficients)

    @cached_property
    def surprises(self) -> FloatArray:
        """Standardised outcome minus answer (rounds,); 0 for decisions."""
        if self.decided:
            return np.zeros(self.rounds)
        if self.world.outcome is None:
            return self.standard_outcomes - self.standard_answers
        return (self.outcomes - self.foreseen) / outcome_units(self.world)[1]

    @cached_property
    def last_surprises(self) -> FloatArray:
        """Surprise (rounds,) of the last told round before; 0 at first."""
        return last_told(self.told, self.surprises)

    @cached_property
    def foreseen(self) -> FloatArray:
        """Probability of yes (rounds,) according to the person's answers."""
        assert self.world.outcome is not None
        link = self.world.outcome.from_score
        return link.probability(self.world.base_score + self.answers)

    @cached_property
    def mean_slope(self) -> float:
        """Mean slope of the probability of yes in the score, over all cases; 1 for numbers."""
        return mean_slope(self.world)

    @cached_property
    def surprising(self) -> tuple[FloatArray, FloatArray]:
        """Targets and slopes (rounds,): a surprise is target minus slope times the weighted sum.

        In standard units. For numbers the target is the outcome and the slope 1. The probability of
        yes is not linear in the score: it is replaced by its tangent at the answered score, which
        is the person's own up to scatter; for decisions, by the best line over all cases.
        """
        outcome = self.world.outcome
        if outcome is None:
            return self.standard_outcomes, np.ones(self.rounds)
        link, base = outcome.from_score, self.world.base_score
        if self.decided:
            chance = np.full(self.rounds, outcome.prevalence)
            slope, at = np.full(self.rounds, self.mean_slope), np.zeros(self.rounds)
        else:
            chance, slope, at = self.foreseen, link.density(base + self.answers), self.answers
        return (self.outcomes - chance + slope * at) / self.outcome_sd, slope

    def to_standard(self, weights: npt.ArrayLike) -> FloatArray:
        """Convert weights from the world's units to standard units.

        Parameters
        ----------
        weights
            Shape (..., n).

        Returns
        -------
        array of shape (..., n)
            In standard deviations of the outcome per standard deviation of the test.
        """
        return np.asarray(weights, dtype=np.float64) * self.test_sds / self.outcome_sd

    def to_world(self, weights: npt.ArrayLike) -> FloatArray:
        """Convert weights from standard units to the world's units.

        Parameters
        ----------
        weights
            Shape (..., n).

        Returns
        -------
        array of shape (..., n)
            In the world's units.
        """
        return np.asarray(weights, dtype=np.float64) * self.outcome_sd / self.test_sds

    def filled(self, imputation: float) -> FloatArray:
        """All tests as a person with this κ has them in mind.

        Parameters
        ----------
        imputation
            κ, from 0 (knows all correlations) to 1 (takes hidden tests to be average).

        Returns
        -------
        array of shape (rounds, n)
            In the world's units.
        """
        person = NoLearning(np.zeros(self.world.size), imputation)
        imputer = Imputer(person.imputing_covariance(self.world))
        return filled_in(imputer, self.shown, self.values)

    def standard(self, imputation: float) -> FloatArray:
        """All tests as a person with this κ has them in mind, standardised.

        Parameters
        ----------
        imputation
            κ, as in `filled`.

        Returns
        -------
        array of shape (rounds, n)
            In standard deviations of each test.
        """
        return self.filled(imputation) / self.test_sds
