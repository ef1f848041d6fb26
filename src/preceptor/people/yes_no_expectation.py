"""Expected losses under yes/no outcomes, where weights are known or have known moments.

The weights of people who learn by showings, forget, drift or fold depend only on what was shown:
chance plays no part, so all people of the kind have the same weights after the same schedule, and
expected losses are exact. The price of another set in a round is exact for that round and first
order for later ones, so planners confirm it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import positions_of
from preceptor.model.outcomes import Link
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.surfaces import believed_base
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, YesNoRisk
from preceptor.people.first_order_walk import Stepwise
from preceptor.people.set_readings import Scores, scores_of

if TYPE_CHECKING:
    from preceptor.people.outcome_learners import DeltaRule


@dataclass(frozen=True, eq=False)
class StateMoves:
    """How a round changes a state of n numbers; see `_yes_no_kernels.py`.

    Attributes
    ----------
    start
        The state before the first round, shape (n,).
    weights
        From states (rounds, n) to weights.
    slopes
        From states (rounds, n) to the derivative of each weight with respect to its own state.
    arrays
        What kernels take: keep and push (sets, n), a state becomes keep x state + push; rows (sets,
        k, n) or empty, a linear map from the whole state added to that of the shown tests.
    """

    start: FloatArray
    weights: Callable[[FloatArray], FloatArray]
    slopes: Callable[[FloatArray], FloatArray]
    arrays: tuple[FloatArray, FloatArray, FloatArray]

    @classmethod
    def by_weights(
        cls, start: FloatArray, keep: FloatArray, push: FloatArray, rows: FloatArray | None = None
    ) -> StateMoves:
        """Return moves of a state that is the weights themselves."""
        added = np.empty((0, 0, start.size)) if rows is None else np.ascontiguousarray(rows)
        maps = np.array(keep, dtype=np.float64), np.array(push, dtype=np.float64), added
        return cls(np.array(start), lambda states: states, np.ones_like, maps)

    @classmethod
    def by_exposure(
        cls, start: FloatArray, weights: Callable[[FloatArray], FloatArray], fade: float,
        shown: Shown,
    ) -> StateMoves:  # fmt: skip
        """Return moves of a state that is exposure, from which curves give the weights."""

        def slopes(states: FloatArray) -> FloatArray:
            # Differences over whole showings, because curves may have steps.
            before = np.maximum(states - 1.0, 0.0)
            return (weights(states + 1.0) - weights(before)) / (states + 1.0 - before)

        moved = cls.by_weights(start, np.where(shown, 1.0, fade), shown.astype(np.float64))
        return replace(moved, weights=weights, slopes=slopes)


class ScoredAnswers(Stepwise):
    """Base of expectations whose losses follow from scores."""

    _scores: Scores

    def with_levels(self, levels: FloatArray) -> Self:
        """Return the same where the last test of every set is a constant (`with_level.py`).

        Parameters
        ----------
        levels
            Evenly spaced levels, at least four, between which charges are interpolated.

        Returns
        -------
        ScoredAnswers
            The last weight is the level, counted from the base score that people believe in.
        """
        other = copy.copy(self)
        other._scores = replace(self._scores, levels=levels)
        other.exact = False
        other.accuracy = self.accuracy or (
            "Charges are interpolated between levels: expected losses are off by up to 0.1%."
        )
        return other

    def weights_in(self, states: FloatArray) -> FloatArray:
        """Return the expected weights (rounds, n) in some states."""
        return states

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included."""
        return self._scores.floors()

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """True minus expected weights before each round, shape (rounds, n)."""
        states = self.play(self.start, positions_of(schedule), 0)[1]
        return np.asarray(self._scores.world.coefficients - self.weights_in(states[:-1]))


class DeterministicAnswers(ScoredAnswers):
    """`Expected` of people whose weights depend only on what was shown: first-order prices.

    Parameters
    ----------
    world
        A world with a yes/no outcome.
    sets
        Sets of tests that may be shown.
    omega
        The covariance used for imputation, shape (n, n).
    risk
        How scores become answers, and the loss of each answer.
    moved
        How a round changes the state.
    """

    def __init__(
        self, world: World, sets: SetFamily, omega: FloatArray, risk: YesNoRisk, moved: StateMoves
    ) -> None:
        self.sets = sets
        self.start = moved.start
        self._scores = scores_of(world, sets, omega, risk)
        self._moved = moved

    def weights_in(self, states: FloatArray) -> FloatArray:
        """Return the weights (rounds, n) in some states."""
        return np.ascontiguousarray(self._moved.weights(states))

    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in losses and states along a path."""
        from preceptor.people._yes_no_kernels import path_losses, walk_states

        moved, scores = self._moved, self._scores
        walk_states(path, states, moved.arrays, scores.arrays)
        path_losses(path, self.weights_in(states[:-1]), losses, scores.arrays)

    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in gradients of the remaining cost (rounds + 1, n) per unit of state."""
        from preceptor.people._yes_no_kernels import path_slopes, walk_states_back

        moved, scores = self._moved, self._scores
        slopes = np.empty(states[:-1].shape)
        weights = self.weights_in(states[:-1])
        path_slopes(path, weights, slopes, scores.arrays)
        slopes *= moved.slopes(states[:-1])
        walk_states_back(path, slopes, adjoints, discount, moved.arrays, scores.arrays)

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return each set's loss in round t plus its first-order effect on later rounds."""
        from preceptor.people._yes_no_kernels import set_prices

        moved = self._moved
        out = np.empty(positions.size)
        weights = self.weights_in(state[None, :])[0]
        arrays = moved.arrays, self._scores.arrays
        set_prices(positions, state, weights, adjoint, discount, out, *arrays)
        return out


# Expected losses of people who learn from yes/no outcomes by the delta rule.
#
# After S is shown and y is revealed, weights move by rate x (y - chance) x result. With Gaussian
# tests, w the effective weights of the shown tests and vp = w'Vw, Stein's lemma gives
#
#     E[x_S (y - chance)] = κ1 γ - κ2(vp) V w,
#     κ1 = φ(b/su)/su,  su² = 1 + vt,       κ2 = φ(b̂/sq)/sq,  sq² = 1 + vp
#
# for the probit; the logistic link is a mixture of probits, and so are its κ1 and κ2. That is a
# linear delta rule whose pace and target depend on the variance of the score. Cases differ from
# person to person, so weights do: the recursion tracks their mean and their covariance C. Averages
# over people are taken at sigma points that match moments up to the third; C moves by the mean
# slope of the map (statistical linearisation), and a surprise adds E[(y - chance)²] V, which
# neglects fourth moments of tests and surprise.


class AveragedAnswers(ScoredAnswers):
    """`Expected` of delta-rule people under yes/no outcomes: approximate, first-order prices.

    Parameters
    ----------
    person
        A delta rule without a cap.
    world
        A world with a yes/no outcome.
    sets
        Sets of tests that may be shown.
    risk
        How scores become answers, and the loss of each answer.
    """

    exact: bool = False
    screens_changes: bool = True

    def __init__(self, person: DeltaRule, world: World, sets: SetFamily, risk: YesNoRisk) -> None:
        self.sets = sets
        self.accuracy = (
            "The effect of yes/no outcomes on weights is averaged over people: in random problems, "
            "expected losses were up to 7% off those of simulated people."
        )
        self._person = person
        self._scores = scores_of(world, sets, person.imputing_covariance(world), risk)
        size = world.size
        self.start = np.concatenate([person.initial, np.zeros(size * size)])

    @cached_property
    def _arrays(self) -> Any:
        """What kernels take: the learning rule, and the scores."""
        person, world, risk = self._person, self._scores.world, self._scores.risk
        assert world.outcome is not None
        link, believed = world.outcome.from_score, believed_base(world, risk)
        squared = self._scores.tables(Brier(believed_prevalence=risk.believed_prevalence))
        pull = float(mean_density(link, world.base_score, np.array(world.score_variance))[0])
        rule = (
            pull, person.all_weights, person.leak, np.array(person.leaks_to),
            _tabulated(link, believed), *squared, np.array([link.weights, link.scales]), believed,
            world.outcome.prevalence,
        )  # fmt: skip
        return rule, self._scores.arrays

    def weights_in(self, states: FloatArray) -> FloatArray:
        """Return the means of the weights (rounds, n) in some states."""
        return states[:, : self._person.size]

    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in losses and states along a path."""
        from preceptor.people._yes_no_kernels import play_beliefs

        play_beliefs(path, self._rates(first, path.size), states, losses, *self._arrays)

    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in gradients of the remaining cost (rounds + 1, ...) per unit of state."""
        from preceptor.people._yes_no_kernels import back_beliefs

        rates = self._rates(first, path.size)
        back_beliefs(path, rates, states, adjoints, discount, *self._arrays)

    def _rates(self, first: int, rounds: int) -> FloatArray:
        return self._person.rate * self._person.step_sizes(first, rounds)

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return each set's loss in round t plus its first-order effect on later rounds."""
        from preceptor.people._yes_no_kernels import belief_prices

        out = np.empty(positions.size)
        rates = self._rates(t, 1)
        belief_prices(positions, state, rates, adjoint, discount, out, *self._arrays)
        return out


def mean_density(link: Link, base: float, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean density of the link at a normal score (κ1, κ2), and its derivative.

    Parameters
    ----------
    link
        Maps scores to probabilities.
    base
        Mean of the score.
    variance
        Its variance, any shape.

    Returns
    -------
    tuple of array
        Mean derivative of the probability of yes with respect to the score; and the derivative of
        that with respect to the variance.
    """
    value, slope = np.zeros((2, *np.shape(variance)))
    for weight, scale in zip(link.weights, link.scales, strict=True):
        square = scale * scale + variance
        height = weight * np.exp(-0.5 * base**2 / square) / np.sqrt(2.0 * np.pi * square)
        value = value + height
        slope = slope + height * 0.5 * (base**2 / square - 1.0) / square
    return np.asarray(value), np.asarray(slope)


def _tabulated(link: Link, base: float) -> FloatArray:
    """κ2 and its slope per unit of variance (2, places), over s/(1 + s)."""
    # With 4,001 places the interpolation error is below 1e-7.
    place = np.minimum(np.linspace(0.0, 1.0, 4_001), 1.0 - 1e-9)
    return np.stack(mean_density(link, base, (place / (1.0 - place)) ** 2))
