"""The push test: do answers follow the outcomes that came before? Without a model of learning.

An outcome is what the shown tests foretell plus a rest that nobody could foresee. Whoever learns by
showings, or not at all, never makes use of that rest. Whoever learns from outcomes is pushed by it:
a case that ended higher than foreseen raises the weights of the tests that were high in it, and
later cases with the same tests high are answered higher. So answers are regressed on

    z_t = x_t · Σ ω^(t-s) (y_s - ŷ_s) x_s     over the rounds s before t whose outcome was told,

beside weights that drift smoothly. Three choices:

- ŷ_s is the best prediction from what was shown in round s. It uses no answer at all, so for
  somebody who does not follow outcomes y_s - ŷ_s is pure chance, independent of every answer, and
  the coefficient is 0 on average whatever their curve, their way of filling in and their first
  beliefs are. With surprises at the person's own predictions it would not be: after a showing both
  the weight and x·x are larger.
- Weights drift as polynomials of the round, of second degree where there are four rounds or more
  for every coefficient, else lower: enough for any curve, and what it misses is only scatter.
- ω is 0.9, fixed beforehand.

Tests count in standard deviations. For somebody with a constant rate the coefficient is about that
rate. Two placebos are worked out in the same way: outcomes that were still to come, and outcomes
that are known but were not told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, Value
from preceptor.evidence.lockstep import Rounds, filled_in, rounds_of, surprises
from preceptor.logs import Log
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.person import RATE

FADING = 0.9
_HIGHEST_DEGREE = 2
_ROUNDS_A_COEFFICIENT = 4
# Fewer rounds than this beyond the coefficients give no usable standard error, fewer outcomes that
# were known but not told are no placebo, and of fewer people rounds are the units of the standard
# error, not people.
_FEWEST = 8
_BY_CHANCE, _CERTAINLY_NOT_CHANCE = 0.05, 0.01
# A test is conclusive where people of the usual rate would be this many standard errors from 0.
_CLEAR = 2.6
_UNLIKELY = 0.1


@dataclass(frozen=True, eq=False)
class Push(Value):
    """How far answers follow a sum of outcomes: coefficient, standard error, degrees of freedom."""

    coefficient: float
    error: float
    freedom: float

    @property
    def t(self) -> float:
        """Coefficient in standard errors."""
        return self.coefficient / self.error

    @property
    def p(self) -> float:
        """How often chance gives a coefficient this far from 0, on either side."""
        from scipy.special import stdtr

        return float(2.0 * stdtr(self.freedom, -abs(self.t)))


@dataclass(frozen=True, eq=False)
class PushTest(Value):
    """Whether answers follow the outcomes that came before, with its placebos.

    Attributes
    ----------
    past
        For outcomes told before the answer; None where the log is too short.
    future
        Placebo: for outcomes told after it.
    untold
        Placebo: for outcomes before it that were not told; None where there are too few.
    people, rounds
        How many took part in the regression, and their answers together.
    """

    past: Push | None
    future: Push | None
    untold: Push | None
    people: int
    rounds: int

    @property
    def expected_t(self) -> float:
        """The t to expect for somebody who learns from outcomes at the median rate."""
        assert RATE.usual is not None
        return 0.0 if self.past is None else RATE.usual[1] / self.past.error

    @property
    def conclusive(self) -> bool:
        """Whether somebody who learns from outcomes at the median rate would be found out."""
        return self.expected_t >= _CLEAR

    @property
    def follows(self) -> bool:
        """Whether answers follow the outcomes before, more than one time in forty by chance."""
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
        for placebo, which in ((self.future, "still to come"), (self.untold, "not told")):
            if placebo is not None:
                numbers.append(f"t = {placebo.t:.1f} for outcomes {which}, as a placebo")
        text = f"{said} ({'; '.join(numbers)})."
        if self.conclusive or self.follows:
            return text
        usual = f"t = {self.expected_t:.1f}"
        return f"{text} Learning from outcomes at the usual rate would give {usual}."


def contradicts(push: PushTest, p_outcomes: float) -> str | None:
    """The doubt where the push test disagrees with the evidence of models.

    Parameters
    ----------
    push
        The test on the same log.
    p_outcomes
        Probability of learning from outcomes by the evidence.

    Returns
    -------
    str or None
        One sentence; None where they agree or the test cannot tell.
    """
    if push.past is None:
        return None
    for placebo, which in ((push.future, "still to come"), (push.untold, "not told")):
        if placebo is not None and placebo.p < _CERTAINLY_NOT_CHANCE:
            return (
                f"Answers go with outcomes {which} (push t = {placebo.t:.1f}), which nobody can "
                "have used: check the order of the rounds and the column of outcomes."
            )
    if p_outcomes < _UNLIKELY and push.past.t > 0 and push.past.p < _CERTAINLY_NOT_CHANCE:
        return (
            f"The models make learning from outcomes unlikely ({p_outcomes:.2f}), but answers "
            f"follow the outcomes before them (push t = {push.past.t:.1f}): the person may be of "
            "none of these kinds."
        )
    missed = not push.follows and push.past.t < push.expected_t - _CLEAR
    if p_outcomes > 1.0 - _UNLIKELY and missed:
        return (
            f"The models make learning from outcomes likely ({p_outcomes:.2f}), but answers do not "
            f"follow the outcomes before them (push t = {push.past.t:.1f}, expected "
            f"{push.expected_t:.1f}): the person may be of none of these kinds."
        )
    return None


def push_test(world: World, log: Log) -> PushTest:
    """Whether people's answers follow the outcomes that they heard before.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    log
        What people were shown, answered and were told. Everybody's weights drift on their own; the
        push is common to all.

    Returns
    -------
    PushTest
        About 0 for people who learn by showings or not at all, positive for those who learn from
        outcomes.

    Raises
    ------
    InvalidInput
        A log about other tests.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.simulation import rollout
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.5, 1.0)
    >>> person = pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=2, horizon=80)
    >>> ann = person.acting(world, response_noise=0.3)
    >>> log = rollout(problem, pr.Stationary((0, 1)), 80, people=4, rng=0, human=ann).log
    >>> found = push_test(world, log)
    >>> found.follows, found.conclusive
    (True, True)
    """
    return pushed(world, list(rounds_of(world, log).values()))


class _Left(NamedTuple):
    """Of one person, what drifting weights leave of the pushes (T, 3) and of the answers (T,).

    `basis` (T, c) is what was taken out.
    """

    pushes: FloatArray
    answers: FloatArray
    basis: FloatArray


def pushed(world: World, people: list[Rounds]) -> PushTest:
    """The test on rounds in the world's units, one entry for each person."""
    left = [found for rounds in people if (found := _left(world, rounds)) is not None]
    past, future, untold = _together(left) if left else [None] * 3
    return PushTest(past, future, untold, len(left), sum(part.answers.size for part in left))


def _left(world: World, rounds: Rounds) -> _Left | None:
    """Pushes by past, future and untold outcomes; None if there are too few rounds."""
    x = rounds.values / np.sqrt(np.diag(world.covariance))
    rest = np.nan_to_num(surprises(world, rounds))
    told, known = rounds.told, ~np.isnan(rounds.outcomes)
    basis = _drifting(world, rounds, x, np.where(told, rest, 0.0))
    if basis is None:
        return None
    ahead = _pushes(x[::-1], rest[::-1], told[::-1])[::-1]
    untold = known & ~told
    if np.count_nonzero(untold) < _FEWEST:
        untold = np.zeros_like(told)
    pushes = np.stack([_pushes(x, rest, told), ahead, _pushes(x, rest, untold)], axis=1)
    return _Left(
        pushes - basis @ (basis.T @ pushes),
        rounds.answers - basis @ (basis.T @ rounds.answers),
        basis,
    )


def _pushes(x: FloatArray, rest: FloatArray, told: npt.NDArray[np.bool_]) -> FloatArray:
    """z of every round (T,)."""
    z, heard = np.empty(told.size), np.zeros(x.shape[1])
    for t in range(told.size):
        z[t] = x[t] @ heard
        if told[t]:
            heard = FADING * (heard + rest[t] * x[t])
    return z


def _drifting(world: World, rounds: Rounds, x: FloatArray, rest: FloatArray) -> FloatArray | None:
    """Orthonormal columns (T, c) of all that is no push; None if there are too few rounds.

    Hidden tests are taken to be average or filled in from the others, whichever fits the answers
    better: outcomes have no say in that, so it cannot feign a push. In many people a level follows
    the last surprise, which is one more column.
    """
    length, size = x.shape
    degree = _HIGHEST_DEGREE
    while degree and length < _ROUNDS_A_COEFFICIENT * (size * (degree + 1) + 2):
        degree -= 1
    powers = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, length), degree)
    last = np.concatenate([[0.0], rest[:-1]])
    best, least = None, math.inf
    scale = np.sqrt(np.diag(world.covariance))
    knowing = filled_in(Imputer(world.covariance), rounds.shown, rounds.values) / scale
    for filled in (x, knowing):
        weights = (filled[:, :, None] * powers[:, None, :]).reshape(length, -1)
        columns = np.column_stack([weights, np.ones(length), last])
        u, s, _ = np.linalg.svd(columns, full_matrices=False)
        basis = u[:, s > 1e-9 * s[0]]
        over = float(np.sum((rounds.answers - basis @ (basis.T @ rounds.answers)) ** 2))
        if over < least:
            best, least = basis, over
    return best if best is not None and length - best.shape[1] >= _FEWEST else None


def _together(parts: list[_Left]) -> list[Push | None]:
    """One coefficient for each push, common to all people.

    Placebos stand beside the past in their regression: once weights may drift, pushes by outcomes
    before and after an answer are no longer independent.
    """
    square = np.sum([part.pushes.T @ part.pushes for part in parts], axis=0)
    there = [column for column in range(square.shape[0]) if square[column, column] > 0.0]
    found: list[Push | None] = [None] * square.shape[0]
    if 0 in there:
        found[0] = _regressed(parts, [0])
        for column in there[1:]:
            found[column] = _regressed(parts, [column, 0])
    return found


def _regressed(parts: list[_Left], columns: list[int]) -> Push | None:
    """The first of these columns, with a standard error that is robust to any scatter.

    With enough people they are the units, so that errors of one person may hang together. Else
    rounds are: squared errors are divided by their share that is free, and degrees of freedom are
    those of Bell and McCaffrey, because few rounds carry much of the weight.
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
