"""One person's run, round by round: who they may have been, how far off they were and should be."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision
from preceptor.problem import Problem
from preceptor.tutoring import Tutor


@dataclass(frozen=True, eq=False)
class Run:
    """What happened in each round, as far as the record says it.

    Attributes
    ----------
    kinds
        How likely each kind was before the first round and after each, (rounds + 1, kinds + 1);
        the last column is that none of them is right.
    errors
        Answer less truth, (rounds,), NaN where one of them is missing.
    expected
        Root of the squared error that was expected of the answer when the case was shown,
        (rounds,); NaN where the outcome is yes or no.
    least
        The same for somebody who weighs the results that were shown as well as can be, (rounds,).
    """

    kinds: FloatArray
    errors: FloatArray
    expected: FloatArray
    least: FloatArray

    @classmethod
    def of(cls, tutor: Tutor) -> Run:
        """Follow the record once more from its first round.

        Parameters
        ----------
        tutor
            After some rounds.

        Returns
        -------
        Run
            With a row for each round.
        """
        world = tutor.problem.world
        rounds = tutor.rounds
        kinds = [dataclasses.replace(tutor, record=()).bank.kinds]
        errors, expected, least = (np.full(rounds, np.nan) for _ in range(3))
        for i, (before, after) in enumerate(_steps(tutor)):
            entry, shares = tutor.record[i], before.bank.kinds
            values = entry.results(world)
            best, left = outcome_given(world, entry.shown, values)
            if world.is_binary:
                least[i] = np.sqrt(least_square(tutor.problem, best, left))
            else:
                means, variances = before.bank.awaited(entry.shown, values)
                # Given what was shown, nothing in an answer can know the rest of the truth.
                expected[i] = np.sqrt(shares @ (variances + (means - best) ** 2) + left)
                least[i] = np.sqrt(left)
            if entry.answer is not None and entry.outcome is not None:
                errors[i] = entry.answer - entry.outcome
            kinds.append(after.bank.kinds)
        return cls(np.array(kinds), errors, expected, least)

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return int(self.errors.size)


def outcome_given(world: World, shown: TestSet, values: FloatArray) -> tuple[float, float]:
    """Mean and variance of the outcome, as a deviation from its average, given some results.

    Parameters
    ----------
    world
        How tests and outcomes come about; taken to be Gaussian.
    shown
        Tests by index.
    values
        Their results in the world's units.

    Returns
    -------
    tuple of two floats
        In the world's units.
    """
    if not shown:
        return 0.0, world.outcome_variance
    columns = list(shown)
    towards = (world.covariance @ world.coefficients)[columns]
    weights = np.linalg.solve(world.covariance[np.ix_(columns, columns)], towards)
    left = world.outcome_variance - float(towards @ weights)
    return float(weights @ values), max(left, 0.0)


def least_square(problem: Problem, score: float, left: float) -> float:
    """Mean squared distance of the best answer to a yes-or-no question from what comes.

    Of decisions that is how often they are wrong, of probabilities the Brier score.
    """
    world, outcome = problem.world, problem.world.outcome
    assert outcome is not None
    hidden = np.asarray(max(left - world.noise_variance, 0.0))
    mean = np.asarray(world.base_score + score)
    chance = float(outcome.from_score.mean_probability(mean, hidden))
    if isinstance(problem.risk, Decision):
        return 1.0 - chance if chance > problem.risk.right_threshold else chance
    return chance * (1.0 - chance)


def running(errors: FloatArray, over: int) -> FloatArray:
    """Root of the mean square of the last few errors, round by round; NaN where there is none.

    >>> running(np.array([3.0, np.nan, 4.0]), 2)
    array([3., 3., 4.])
    """
    means = np.full(errors.size, np.nan)
    for i in range(errors.size):
        last = errors[max(0, i + 1 - over) : i + 1]
        known = last[np.isfinite(last)]
        if known.size:
            means[i] = np.sqrt(np.mean(known**2))
    return means


def _steps(tutor: Tutor) -> Iterator[tuple[Tutor, Tutor]]:
    """The tutor before and after each round, with truths told when they were."""
    now = dataclasses.replace(tutor, record=())
    for played, entry in enumerate(tutor.record, start=1):
        before = now
        now = now.answered(entry.shown, entry.values, entry.answer)
        for which, other in enumerate(tutor.record[:played]):
            if other.heard == played and other.outcome is not None:
                now = now.told(other.outcome, which)
        yield before, now
