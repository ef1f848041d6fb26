"""A policy in its late rounds: the terms of the proof that exploration ends.

`Tail` takes any loss that is Lipschitz in the errors (`regularity.py`). With g_S (n,) how fast the
loss of S can change with each error from round T_R on, and u_i = |e_i - its limit|, which never
grows,

    |loss - tail loss| <= g_S'u =: envelope_t(S),        L = max_S max_{i in R} g_S,i.

`SquaredTail` is tighter where the loss is the paper's: with M = M_S and limiting errors ē

    |loss - tail loss| = |u'M(u ± 2ē)| <= Σ_ij u_i|M_ij|u_j + 2 Σ_i u_i|Mē|_i =: envelope_t(S),
    L_t = 2 max_S max_{i in R} Σ_j |M_S|_ij |e_j(t)|,    S over the allowed subsets of R.

L_t is valid in the proof because (e - ẽ)'M(e + ẽ) is all that is bounded there: the two paths only
differ in tests of R, from round t on only subsets of R are shown, and on neither path an error is
ever again larger than at t.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.evaluation.long_run import (
    frozen_counts,
    limiting_errors,
    recurrent_tests,
    settled_round,
    tail_losses,
)
from preceptor.evaluation.value import running_counts
from preceptor.loss import ClosedForm
from preceptor.model.risks import SquaredError
from preceptor.model.sets import TestSet
from preceptor.people.curves import Curve, Geometric, OneShot, PowerLaw
from preceptor.policies import Alternating, Policy
from preceptor.problem import Problem
from preceptor.theory.regularity import Slopes, regular_loss

# Where the search for a certified round gives up.
_LAST_ROUND = 2**40
# Rounds looked at together, and at most, when the certified round is moved forward.
_CHUNK, _MOST_LOOKED_AT = 4096, 2**22
# Showings whose steps are tabulated for curves not known to be convex.
_TABULATED = 2**16
# Curves whose steps only get smaller, so that the next one is the largest to come.
_CONVEX: tuple[type[Curve], ...] = (Geometric, OneShot, PowerLaw)


def tail_of(problem: Problem, policy: Policy, slope: float | None = None) -> Tail:
    """The tighter kind where it applies: squared error, Gaussian tests, true correlations."""
    imputes = problem.learner.imputing_covariance(problem.world)
    if (
        isinstance(problem.risk, SquaredError)
        and isinstance(problem.loss, ClosedForm)
        and problem.world.is_gaussian
        and np.array_equal(imputes, problem.world.covariance)
    ):
        return SquaredTail(problem, policy, slope)
    return Tail(problem, policy, slope)


class Tail:
    """A policy from the round on in which only recurrent tests are shown: any Lipschitz loss."""

    def __init__(self, problem: Problem, policy: Policy, slope: float | None = None) -> None:
        policy.check(problem)
        self.problem, self.policy, self.slope = problem, policy, slope
        self.recurrent = sorted(recurrent_tests(policy))
        self.settled = settled_round(policy)
        self.frozen = frozen_counts(problem, policy)
        self.losses = tail_losses(problem, self.recurrent, self.frozen)
        self.limits = limiting_errors(problem, self.recurrent, self.frozen)
        self.first = problem.world.coefficients - problem.learner.initial
        widest = int(problem.sets.sizes.max())
        self.weight = 2.0 * widest * problem.discount / (1.0 - problem.discount)

    @cached_property
    def slopes(self) -> FloatArray:
        """How fast the loss of each tail set changes with each error (sets, n), from T_R on.

        Errors never grow, so what holds for those of round T_R holds ever after.
        """
        known = Slopes(self.problem, self.slope)
        sizes = np.abs(self.errors_at([self.settled])[0])
        return np.array([known.within(sizes, shown) for shown in self.losses])

    @cached_property
    def lipschitz_paper(self) -> float:
        """The constant of the assumption: all sets, all tests, all beliefs within reach."""
        return regular_loss(self.problem, self.slope).within_reach

    @cached_property
    def _path(self) -> tuple[IntArray, int]:
        """Counts before each round until the repeating part has been shown once; its period."""
        if isinstance(self.policy, Alternating):
            period = len(self.policy.cycle)
            return running_counts(self.problem, self.policy.schedule(period)), period
        length = self.policy.exploration_length or 0
        return running_counts(self.problem, self.policy.schedule(length + 1)), 1

    def counts_at(self, times: npt.ArrayLike) -> IntArray:
        """Counts (rounds, n) before the given rounds, however late."""
        counts, period = self._path
        rounds = np.asarray(times, dtype=np.int64)
        beyond = np.maximum(rounds - (counts.shape[0] - 1), 0)
        cycles = -(-beyond // period)
        gained = cycles[:, None] * (counts[-1] - counts[-1 - period])
        reached: IntArray = counts[rounds - cycles * period] + gained
        return reached

    def errors_at(self, times: npt.ArrayLike) -> FloatArray:
        """Errors (rounds, n) before the given rounds."""
        return self.problem.by_showings.errors(self.problem.world, self.counts_at(times))

    def deviation(self, errors: FloatArray) -> FloatArray:
        """ε_t: largest distance of a loss from its tail loss."""
        largest = np.zeros(len(errors))
        for shown, limit in self.losses.items():
            away = np.abs(self.problem.oracle.loss_of(errors, shown) - limit)
            largest = np.maximum(largest, away)
        return largest

    def envelope(self, errors: FloatArray) -> FloatArray:
        """A bound on ε_t that never grows."""
        bounds: FloatArray = np.abs(errors - self.limits) @ self.slopes.T
        largest: FloatArray = bounds.max(axis=1, initial=0.0)
        return largest

    def lipschitz(self, errors: FloatArray) -> FloatArray:
        """Our L_t: the same in every round."""
        largest = self.slopes[:, self.recurrent].max(initial=0.0)
        return np.full(len(errors), float(largest))

    def constant_lipschitz(self, errors: FloatArray) -> FloatArray:
        """The paper's constant, once a round."""
        return np.full(len(errors), self.lipschitz_paper)

    def step(self, times: npt.ArrayLike) -> FloatArray:
        """η_t: largest change of a recurrent coefficient that one showing can still make."""
        counts = self.counts_at(times)
        largest = np.zeros(len(counts))
        for i in self.recurrent:
            to_come = self._steps[i](counts[:, i])
            largest = np.maximum(largest, np.abs(self.first[i]) * to_come)
        return largest

    @cached_property
    def _steps(self) -> dict[int, Callable[[IntArray], FloatArray]]:
        curves = self.problem.by_showings.curve_of
        return {i: largest_step_after(curves[i]) for i in self.recurrent}

    def certified_round(
        self, margin: float | None, lipschitz: Callable[[FloatArray], FloatArray]
    ) -> int | None:
        """The first round from which on the inequality always holds."""
        if margin is None:
            return self.settled

        def required(times: npt.ArrayLike, bound: Callable[[FloatArray], FloatArray]) -> FloatArray:
            errors = self.errors_at(times)
            return 2.0 * bound(errors) + self.weight * lipschitz(errors) * self.step(times)

        def certain(round: int) -> bool:
            return bool(required([round], self.envelope)[0] < margin)

        # The envelope's condition is false up to some round and true from it on: bisect.
        if certain(self.settled):
            return self.settled
        failing, reach = self.settled, 1
        while not certain(self.settled + reach):
            failing, reach = self.settled + reach, 2 * reach
            if reach > _LAST_ROUND:
                return None
        found = self.settled + reach
        while found - failing > 1:
            middle = (failing + found) // 2
            failing, found = (failing, middle) if certain(middle) else (middle, found)
        # Before that round, look at the exact deviation.
        last_looked_at = max(self.settled, found - _MOST_LOOKED_AT)
        while found > last_looked_at:
            times = np.arange(max(found - _CHUNK, last_looked_at), found)
            broken = np.flatnonzero(required(times, self.deviation) >= margin)
            if broken.size:
                return int(times[broken[-1]]) + 1
            found = int(times[0])
        return found

    def shows_other(self, minimisers: tuple[TestSet, ...], start: int) -> bool:
        """Whether the policy shows a set that is no minimiser in or after that round."""
        length = self.policy.exploration_length
        if self.policy.commit is None or length is None:
            later = set(self.policy.used_sets())
        else:
            later = {*self.policy.schedule(length)[start:], self.policy.commit}
        return not later.issubset(minimisers)


class SquaredTail(Tail):
    """The same for closed-form squared error of Gaussian tests, which needs no slopes."""

    @cached_property
    def readings(self) -> list[FloatArray]:
        """For each tail set D (rows, n) with M_S = D'D."""
        forms = [self.problem.oracle.squared_form_of(shown) for shown in self.losses]
        return [form.reading for form in forms if form is not None]

    @cached_property
    def sizes(self) -> list[FloatArray]:
        """|M_S| (n, n) of each tail set."""
        return [np.abs(reading.T @ reading) for reading in self.readings]

    @cached_property
    def lipschitz_paper(self) -> float:
        """4B max ‖M_S‖_∞ over all allowed sets.

        Beliefs stay between the first and the truth, or as far on the other side.
        """
        problem = self.problem
        largest = 0.0
        for shown in problem.sets:
            form = problem.oracle.squared_form_of(shown)
            if form is not None and shown:
                rows = np.abs(form.reading.T @ form.reading).sum(axis=1)
                largest = max(largest, float(rows.max()))
        truth = problem.world.coefficients
        reached = [truth, truth - self.first]
        if not all(curve.keeps_sign for curve in problem.by_showings.curve_of):
            reached.append(truth + self.first)
        return 4.0 * float(np.abs(reached).max()) * largest

    def deviation(self, errors: FloatArray) -> FloatArray:
        """ε_t: largest distance of a loss from its tail loss."""
        away = errors - self.limits
        largest = np.zeros(len(errors))
        for reading in self.readings:
            change = (away @ reading.T) * ((away + 2.0 * self.limits) @ reading.T)
            largest = np.maximum(largest, np.abs(change.sum(axis=1)))
        return largest

    def envelope(self, errors: FloatArray) -> FloatArray:
        """A bound on ε_t that never grows."""
        away = np.abs(errors - self.limits)
        largest = np.zeros(len(errors))
        for reading, size in zip(self.readings, self.sizes, strict=True):
            pull = np.abs(reading.T @ (reading @ self.limits))
            bound = np.einsum("ti,ij,tj->t", away, size, away) + 2.0 * away @ pull
            largest = np.maximum(largest, bound)
        return largest

    def lipschitz(self, errors: FloatArray) -> FloatArray:
        """Our L_t."""
        largest = np.zeros(len(errors))
        for size in self.sizes:
            rows = np.abs(errors) @ size[:, self.recurrent]
            largest = np.maximum(largest, 2.0 * rows.max(axis=1, initial=0.0))
        return largest


def largest_step_after(curve: Curve) -> Callable[[IntArray], FloatArray]:
    """A function of counts (m,): the largest change of retention in any one showing to come.

    Exact for convex curves. For others the steps are tabulated as far as the table goes, and all
    that is left to move bounds what comes later; either way it never grows with the count.
    """
    floor = float(np.sqrt(curve.limit))
    if isinstance(curve, _CONVEX):

        def next_step(counts: IntArray) -> FloatArray:
            # One unit of rounding on top, so that rounding cannot make it too small.
            now = curve.retention(counts)
            slack = np.where(now > floor, 2.3e-16 * now, 0.0)
            fall: FloatArray = now - curve.retention(counts + 1) + slack
            return fall

        return next_step
    table = curve.retention(np.arange(_TABULATED + 1))
    falls = np.append(np.abs(np.diff(table)), curve.to_move(_TABULATED))
    to_come = np.maximum.accumulate(falls[::-1])[::-1]

    def looked_up(counts: IntArray) -> FloatArray:
        inside = to_come[np.minimum(counts, _TABULATED)]
        return np.where(counts < _TABULATED, inside, curve.to_move(counts))

    return looked_up
