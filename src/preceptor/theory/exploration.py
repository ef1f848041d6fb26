"""From which round on an optimal policy has certainly stopped exploring.

**Theorem (eventually stationary).** Let R be the tests that an optimal policy of the endless
problem shows infinitely often. From some round on it shows only minimisers of the tail loss
(`Tail`) among the allowed subsets of R; if there is one minimiser, it has committed.

The proof gives a round. Suppose that in round t, when only tests of R are shown any more, the
policy showed a set that is no minimiser. Showing a minimiser instead, and nothing else changed,
would gain at least γ - 2ε_t in that round and lose at most 2kδ/(1-δ)·L·η_t later, with

- γ the distance from the least tail loss to the next one that is no minimiser (`margin`),
- ε_t how far losses in round t still are from tail losses (`deviation`),
- η_t the largest step that a recurrent coefficient can still make in one showing (`step`),
- L a Lipschitz constant of the loss in the coefficients (1-norm).

So from the first round after which 2ε_t + 2kδ/(1-δ)·L·η_t < γ stays true, an optimal policy shows
minimisers only. This is sufficient, not sharp: exploration may well end much earlier.

"Stays true" is proven here, not looked up in a window: `Tail` bounds ε_t by an envelope that never
grows, so that once the inequality holds with it, it holds forever. Between T_R and that round the
exact ε_t is looked at.

The theorem asks of losses only that they are Lipschitz in beliefs (`regularity.py`), so this serves
any risk of which that is known, any distribution of the tests, any imputation and every curve that
tends to somewhere. For squared error the paper's constant is L = 4B max_S ‖M_S‖_∞, where B bounds
all coefficients and beliefs; ours looks at what is left of the errors in round t.

In late rounds, `Tail` takes any loss that is Lipschitz in the errors (`regularity.py`). With g_S
(n,) how fast the loss of S can change with each error from round T_R on, and u_i = |e_i - its
limit|, which never grows,

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
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import NotApplicable
from preceptor.model.evaluation import running_counts
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.model.long_run import (
    frozen_counts,
    limiting_errors,
    recurrent_tests,
    settled_round,
    tail_losses,
    tail_minimisers,
)
from preceptor.model.policies import Alternating, Policy
from preceptor.model.problem import Problem
from preceptor.model.risks import SquaredError
from preceptor.model.sets import TestSet
from preceptor.people.curves import Curve, Geometric, OneShot, PowerLaw
from preceptor.theory.regularity import Slopes, regular_loss

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
        self.first = problem.first_errors
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
        return np.asarray(counts[rounds - cycles * period] + gained)

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
        return np.asarray(bounds.max(axis=1, initial=0.0))

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
            if reach > 2**40:
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
            return np.asarray(now - curve.retention(counts + 1) + slack)

        return next_step
    table = curve.retention(np.arange(_TABULATED + 1))
    falls = np.append(np.abs(np.diff(table)), curve.to_move(_TABULATED))
    to_come = np.maximum.accumulate(falls[::-1])[::-1]

    def looked_up(counts: IntArray) -> FloatArray:
        inside = to_come[np.minimum(counts, _TABULATED)]
        return np.where(counts < _TABULATED, inside, curve.to_move(counts))

    return looked_up


@dataclass(frozen=True)
class ExplorationTerms:
    """Both sides of the proof's inequality in given rounds; every array has shape (rounds,).

    Attributes
    ----------
    rounds
        The rounds t.
    deviation
        ε_t: how far losses still are from tail losses.
    envelope
        A bound on ε_t that never grows.
    step
        η_t: the largest step that a recurrent weight can still make in one showing.
    lipschitz
        Our L_t.
    required
        2ε_t + 2kδ/(1-δ)·L_t·η_t, to be compared with the margin γ.
    required_envelope
        The same with the envelope for ε_t.
    required_paper
        `required` with the paper's constant for L.
    required_envelope_paper
        `required_envelope` with the paper's constant for L.
    """

    rounds: IntArray
    deviation: FloatArray
    envelope: FloatArray
    step: FloatArray
    lipschitz: FloatArray
    required: FloatArray
    required_envelope: FloatArray
    required_paper: FloatArray
    required_envelope_paper: FloatArray


@dataclass(frozen=True)
class ExplorationCertificate:
    """From which round on an optimal policy that looks like this one has stopped exploring.

    Attributes
    ----------
    recurrent
        Tests shown infinitely often.
    settled
        From this round on only they are shown.
    frozen
        How often every other test is ever shown.
    tail_losses
        Tail losses of the allowed subsets of `recurrent`.
    minimisers
        The subsets whose tail loss is smallest.
    margin
        γ, or None if every such subset is a minimiser.
    lipschitz
        Our constant in round `settled`.
    lipschitz_paper
        The paper's constant; for other losses than the paper's, that of `regular_loss`.
    round
        The certified round with our constant, None if there is none below 2^40.
    round_paper
        The certified round with the paper's constant.
    improvable
        The policy shows sets at or after `round` that are no minimisers, so it is certainly not
        optimal.
    """

    recurrent: tuple[int, ...]
    settled: int
    frozen: dict[int, int]
    tail_losses: dict[TestSet, float]
    minimisers: tuple[TestSet, ...]
    margin: float | None
    lipschitz: float
    lipschitz_paper: float
    round: int | None
    round_paper: int | None
    improvable: bool


def exploration_certificate(
    problem: Problem, policy: Policy, slope: float | None = None
) -> ExplorationCertificate:
    """Evaluate the proof's inequality along a policy of an endless problem.

    The theorem speaks of optimal policies; long plans stand in for them. For every risk with a
    Lipschitz constant within reach (`regular_loss`), on tests of any kind; tightest for squared
    error in closed form with a person who knows the correlations.

    Along a plan that commits, only the tests of its last set recur, so `settled` is already the
    last round in which the plan shows anything else; with a budget of exactly k tests nothing is
    left to certify after it. To see what the inequality says before a plan is known, as long as
    every test recurs, give `Alternating` over all sets.

    Parameters
    ----------
    problem
        An endless problem.
    policy
        One that commits, or goes round a cycle.
    slope
        Largest slope of a user-defined risk, where it is known. Otherwise a `ResidualRisk` is
        looked at on a grid, and the certificate is as good as that.

    Returns
    -------
    ExplorationCertificate
        The certified round, and what it was worked out from.

    Raises
    ------
    NotApplicable
        The theorem does not cover this problem or this policy.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.95)
    >>> plan = pr.solve(problem)
    >>> certificate = exploration_certificate(problem, plan.policy)
    >>> certificate.minimisers, plan.exploration_length <= certificate.round
    (((0,),), True)
    """
    tail = _checked(problem, policy, slope)
    minimisers = tuple(tail_minimisers(problem, tail.losses))
    least = min(tail.losses.values())
    distances = [loss - least for shown, loss in tail.losses.items() if shown not in minimisers]
    margin = min(distances) if distances else None
    certified = tail.certified_round(margin, tail.lipschitz)
    return ExplorationCertificate(
        recurrent=tuple(tail.recurrent),
        settled=tail.settled,
        frozen={i: int(tail.frozen[i]) for i in range(problem.size) if i not in tail.recurrent},
        tail_losses=tail.losses,
        minimisers=minimisers,
        margin=margin,
        lipschitz=float(tail.lipschitz(tail.errors_at([tail.settled]))[0]),
        lipschitz_paper=tail.lipschitz_paper,
        round=certified,
        round_paper=tail.certified_round(margin, tail.constant_lipschitz),
        improvable=certified is not None and tail.shows_other(minimisers, certified),
    )


def exploration_terms(
    problem: Problem, policy: Policy, rounds: npt.ArrayLike, slope: float | None = None
) -> ExplorationTerms:
    """The quantities of the proof in given rounds.

    Parameters
    ----------
    problem
        An endless problem.
    policy
        One that commits, or goes round a cycle.
    rounds
        Rounds to look at, none of them before the policy has settled.
    slope
        Largest slope of a user-defined risk, where it is known.

    Returns
    -------
    ExplorationTerms
        One entry for each round.

    Raises
    ------
    NotApplicable
        The theorem does not cover this problem, this policy or these rounds.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.95)
    >>> terms = exploration_terms(problem, pr.Stationary((0,)), range(3))
    >>> bool(terms.step[1] < terms.step[0])
    True
    """
    tail = _checked(problem, policy, slope)
    times = np.asarray(rounds, dtype=np.int64)
    if times.size and times.min() < tail.settled:
        raise NotApplicable(
            f"exploration: round {times.min()} was asked for, but the inequality is about rounds "
            f"from {tail.settled} on, where only recurrent tests are shown"
        )
    errors = tail.errors_at(times)
    deviation, envelope = tail.deviation(errors), tail.envelope(errors)
    step = tail.step(times)
    ours, paper = tail.lipschitz(errors), tail.constant_lipschitz(errors)
    return ExplorationTerms(
        rounds=times,
        deviation=deviation,
        envelope=envelope,
        step=step,
        lipschitz=ours,
        required=2.0 * deviation + tail.weight * ours * step,
        required_envelope=2.0 * envelope + tail.weight * ours * step,
        required_paper=2.0 * deviation + tail.weight * paper * step,
        required_envelope_paper=2.0 * envelope + tail.weight * paper * step,
    )


def _checked(problem: Problem, policy: Policy, slope: float | None) -> Tail:
    if problem.horizon is not None:
        raise NotApplicable(
            f"exploration: the horizon is {problem.horizon} rounds, but the theorem is about "
            "endless problems; give problem.replace(horizon=None) and a long plan's policy"
        )
    return tail_of(problem, policy, slope)
