"""The push test: do answers follow earlier outcomes? Without a model of learning.

An outcome is what the shown tests predict plus an unpredictable residual. People who learn by
showings, or not at all, never use that residual. People who learn from outcomes are pushed by it: a
case that ended higher than predicted raises the weights of the tests that were high in it, and
later cases with the same tests high are answered higher. So answers are regressed on

    z_t = x_t · Σ ω^(t-s) (y_s - ŷ_s) x_s     over the rounds s before t whose outcome was told,

together with weights that drift smoothly. Three choices:

- ŷ_s is the best prediction from the tests shown in round s. It uses no answer, so for a person who
  does not follow outcomes y_s - ŷ_s is pure chance, independent of every answer, and the
  coefficient is 0 on average for any learning curve, imputation and first weights. With surprises
  at the person's own predictions it would not be: after a showing both the weight and x·x are
  larger.
- Weights drift as polynomials of the round, of second degree where there are at least four rounds
  per coefficient, else lower: enough for any curve; what it misses is only scatter.
- ω is 0.9, fixed in advance.

Tests are in standard deviations. For a person with a constant rate the coefficient is about that
rate. Two placebos are computed in the same way: outcomes told later, and outcomes that are known
but were not told.

`level_test` asks the same of the level of answers: x is a constant 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, Value
from preceptor.data.log import Log
from preceptor.learners.records import AnsweredRounds, filled_in, rounds_of, surprises
from preceptor.model.person import RATE
from preceptor.model.world import World
from preceptor.people.acting import Imputer

FADING = 0.9
_HIGHEST_DEGREE = 2
_ROUNDS_A_COEFFICIENT = 4
# At least this number of rounds beyond the coefficients is needed for a standard error, of outcomes
# that were known but not told for a placebo, and of people for standard errors clustered by person.
_FEWEST = 8
_BY_CHANCE, _CERTAINLY_NOT_CHANCE = 0.05, 0.01
# A test is conclusive if people with the usual rate would be this many standard errors from 0.
_CLEAR = 2.6
_UNLIKELY = 0.1


@dataclass(frozen=True, eq=False)
class Push(Value):
    """Regression on a push: coefficient, standard error, degrees of freedom."""

    coefficient: float
    error: float
    freedom: float

    @property
    def t(self) -> float:
        """Coefficient in standard errors."""
        return self.coefficient / self.error

    @property
    def p(self) -> float:
        """Two-sided p value."""
        from scipy.special import stdtr

        return float(2.0 * stdtr(self.freedom, -abs(self.t)))


@dataclass(frozen=True, eq=False)
class PushTest(Value):
    """Whether answers follow earlier outcomes, with placebos.

    Attributes
    ----------
    past
        For outcomes told before the answer; None where the log is too short.
    future
        Placebo: for outcomes told after it.
    untold
        Placebo: for outcomes before it that were not told; None where there are too few.
    people, rounds
        Number of people in the regression, and of their answers.
    """

    past: Push | None
    future: Push | None
    untold: Push | None
    people: int
    rounds: int

    @property
    def placebos(self) -> dict[str, Push]:
        """The placebos that could be computed, by which outcomes they use."""
        found = {"still to come": self.future, "not told": self.untold}
        return {which: push for which, push in found.items() if push is not None}

    @property
    def expected_t(self) -> float:
        """Expected t of a person who learns from outcomes at the median rate."""
        assert RATE.usual is not None
        return 0.0 if self.past is None else RATE.usual[1] / self.past.error

    @property
    def conclusive(self) -> bool:
        """Whether a person who learns from outcomes at the median rate would be detected."""
        return self.expected_t >= _CLEAR

    @property
    def follows(self) -> bool:
        """Whether answers follow earlier outcomes significantly (two-sided 5 %)."""
        return self.past is not None and self.past.t > 0 and self.past.p < _BY_CHANCE

    def in_words(self) -> str:
        """One or two sentences."""
        if self.past is None:
            return "The log is too short for the push test, or outcomes held no surprise."
        if self.follows:
            said = "Answers follow the outcomes that came before"
        elif self.conclusive:
            said = "Answers do not follow the outcomes that came before"
        else:
            said = "The log is too short to see whether answers follow the outcomes before them"
        push = self.past
        numbers = [f"push {push.coefficient:.3f} ± {push.error:.3f}, t = {push.t:.1f}"]
        for which, placebo in self.placebos.items():
            numbers.append(f"t = {placebo.t:.1f} for outcomes {which}, as a placebo")
        text = f"{said} ({'; '.join(numbers)})."
        if self.conclusive or self.follows:
            return text
        usual = f"t = {self.expected_t:.1f}"
        return f"{text} Learning from outcomes at the usual rate would give {usual}."


def contradicts(push: PushTest, p_outcomes: float) -> str | None:
    """Return a doubt where the push test contradicts the evidence of models.

    Parameters
    ----------
    push
        The test on the same log.
    p_outcomes
        Posterior probability of learning from outcomes.

    Returns
    -------
    str or None
        One sentence; None where they agree or the test cannot tell.
    """
    if push.past is None:
        return None
    for which, placebo in push.placebos.items():
        if placebo.p < _CERTAINLY_NOT_CHANCE:
            return (
                f"Answers are correlated with outcomes {which} (push t = {placebo.t:.1f}), which "
                "they cannot depend on: check the order of the rounds and the outcome column."
            )
    if p_outcomes < _UNLIKELY and push.past.t > 0 and push.past.p < _CERTAINLY_NOT_CHANCE:
        return (
            f"The models make learning from outcomes unlikely ({p_outcomes:.2f}), but answers "
            f"follow the outcomes before them (push t = {push.past.t:.1f}): the person may be of "
            "another kind."
        )
    missed = not push.follows and push.past.t < push.expected_t - _CLEAR
    if p_outcomes > 1.0 - _UNLIKELY and missed:
        return (
            f"The models make learning from outcomes likely ({p_outcomes:.2f}), but answers do not "
            f"follow the outcomes before them (push t = {push.past.t:.1f}, expected "
            f"{push.expected_t:.1f}): the person may be of another kind."
        )
    return None


def push_test(world: World, log: Log) -> PushTest:
    """Test whether people's answers follow the outcomes that they were told before.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    log
        What people were shown, answered and were told. Weights drift separately for each person;
        the push is common to all.

    Returns
    -------
    PushTest
        About 0 for people who learn by showings or not at all, positive for those who learn from
        outcomes.

    Raises
    ------
    InvalidInput
        The log is about other tests.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.simulation.rollouts import rollout
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.5, 1.0)
    >>> person = pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=2, horizon=80)
    >>> ann = person.acting(world, response_noise=0.3)
    >>> log = rollout(problem, pr.Stationary((0, 1)), 80, people=4, rng=0, human=ann).log
    >>> found = push_test(world, log)
    >>> found.follows, found.conclusive
    (True, True)
    """
    return push_test_of_rounds(world, list(rounds_of(world, log).values()))


def level_test(world: World, log: Log) -> PushTest:
    """Test whether the level of people's answers follows the outcomes that they were told before.

    Answers rise after outcomes that were higher than the shown tests predict, whatever tests are
    shown next: people learn the average outcome, or how common yes is, instead of weights.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    log
        What people were shown, answered and were told.

    Returns
    -------
    PushTest
        About 0 for people whose level stays.

    Raises
    ------
    InvalidInput
        The log is about other tests.
    """
    return push_test_of_rounds(world, list(rounds_of(world, log).values()), level=True)


class _Residuals(NamedTuple):
    """Residuals of one person's pushes (T, 3) and answers (T,) after drifting weights.

    `basis` (T, c) spans what was projected out.
    """

    pushes: FloatArray
    answers: FloatArray
    basis: FloatArray


def push_test_of_rounds(
    world: World, people: list[AnsweredRounds], *, level: bool = False
) -> PushTest:
    """Run the test on rounds in the world's units, one entry for each person."""
    parts = [found for rounds in people if (found := _residuals(world, rounds, level)) is not None]
    past, future, untold = _regressions(parts) if parts else [None] * 3
    return PushTest(past, future, untold, len(parts), sum(part.answers.size for part in parts))


def _residuals(world: World, rounds: AnsweredRounds, level: bool) -> _Residuals | None:
    """Pushes by past, future and untold outcomes; None if there are too few rounds."""
    x = rounds.values / np.sqrt(np.diag(world.covariance))
    rest = np.nan_to_num(surprises(world, rounds))
    told, known = rounds.told, ~np.isnan(rounds.outcomes)
    basis = _drifting(world, rounds, x, None if level else np.where(told, rest, 0.0))
    if basis is None:
        return None
    if level:
        x = np.ones((told.size, 1))
    ahead = _pushes(x[::-1], rest[::-1], told[::-1])[::-1]
    untold = known & ~told
    if np.count_nonzero(untold) < _FEWEST:
        untold = np.zeros_like(told)
    pushes = np.stack([_pushes(x, rest, told), ahead, _pushes(x, rest, untold)], axis=1)
    return _Residuals(
        pushes - basis @ (basis.T @ pushes),
        rounds.answers - basis @ (basis.T @ rounds.answers),
        basis,
    )


def _pushes(x: FloatArray, rest: FloatArray, told: npt.NDArray[np.bool_]) -> FloatArray:
    """z of every round (T,)."""
    z, total = np.empty(told.size), np.zeros(x.shape[1])
    for t in range(told.size):
        z[t] = x[t] @ total
        if told[t]:
            total = FADING * (total + rest[t] * x[t])
    return z


def _drifting(
    world: World, rounds: AnsweredRounds, x: FloatArray, rest: FloatArray | None
) -> FloatArray | None:
    """Orthonormal columns (T, c) of all that is not a push; None if there are too few rounds.

    Hidden tests are taken to be average or filled in from the others, whichever fits the answers
    better: that does not involve outcomes, so it cannot mimic a push. In many people the level
    follows the last surprise, of `rest` (T,), which is one more column unless it is tested itself.
    """
    length, size = x.shape
    degree = _HIGHEST_DEGREE
    while degree and length < _ROUNDS_A_COEFFICIENT * (size * (degree + 1) + 2):
        degree -= 1
    powers = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, length), degree)
    constant = [np.ones(length)]
    if rest is not None:
        constant.append(np.concatenate([[0.0], rest[:-1]]))
    best, least = None, math.inf
    scale = np.sqrt(np.diag(world.covariance))
    knowing = filled_in(Imputer(world.covariance), rounds.shown, rounds.values) / scale
    for filled in (x, knowing):
        weights = (filled[:, :, None] * powers[:, None, :]).reshape(length, -1)
        columns = np.column_stack([weights, *constant])
        u, s, _ = np.linalg.svd(columns, full_matrices=False)
        basis = u[:, s > 1e-9 * s[0]]
        over = float(np.sum((rounds.answers - basis @ (basis.T @ rounds.answers)) ** 2))
        if over < least:
            best, least = basis, over
    return best if best is not None and length - best.shape[1] >= _FEWEST else None


def _regressions(parts: list[_Residuals]) -> list[Push | None]:
    """One coefficient for each push, common to all people.

    Placebos are regressed together with the past push: once weights may drift, pushes by outcomes
    before and after an answer are no longer independent.
    """
    square = np.sum([part.pushes.T @ part.pushes for part in parts], axis=0)
    there = [column for column in range(square.shape[0]) if square[column, column] > 0.0]
    found: list[Push | None] = [None] * square.shape[0]
    for column in there:
        found[column] = _regressed(parts, [column, 0] if column and 0 in there else [column])
    return found


def _regressed(parts: list[_Residuals], columns: list[int]) -> Push | None:
    """Coefficient of the first of these columns, with a robust standard error.

    With enough people, errors are clustered by person. Otherwise rounds are the units: squared
    errors are divided by one minus their leverage, and degrees of freedom are those of Bell and
    McCaffrey, because few rounds carry much of the weight.
    """
    pushes = [part.pushes[:, columns] for part in parts]
    square = np.sum([x.T @ x for x in pushes], axis=0)
    inverse = np.linalg.pinv(square)
    products = [x.T @ part.answers for x, part in zip(pushes, parts, strict=True)]
    coefficients = inverse @ np.sum(products, axis=0)
    variance = trace = traced = 0.0
    scores = []
    for x, part in zip(pushes, parts, strict=True):
        errors = part.answers - x @ coefficients
        weights = x @ inverse[0]
        used = np.column_stack([part.basis, x @ np.linalg.cholesky(inverse)])
        scale = weights**2 / np.maximum(1.0 - np.sum(used**2, axis=1), 0.01)
        variance += float(scale @ errors**2)
        scores.append(float(weights @ errors))
        trace += float(np.sum(weights**2))
        crossed = used.T @ (scale[:, None] * used)
        traced += float(
            scale @ scale - 2.0 * np.sum((scale**2) @ used**2) + np.sum(crossed * crossed)
        )
    free = trace**2 / traced if traced > 0.0 else 1.0
    if len(parts) >= _FEWEST:
        free = len(parts) - 1.0
        variance = float(np.sum(np.square(scores))) * len(parts) / free
    return Push(float(coefficients[0]), math.sqrt(variance), free) if variance > 0.0 else None
