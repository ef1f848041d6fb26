"""How far a rule that sees the case is from the best one: a lower bound by information relaxation.

For people who learn by showings the state is the vector m of exposure counts. Cases x come at
random from a bank, the tutor sees each before it chooses a set S, and the least discounted loss is

    V(m) = E_x min_S [ l(x, S, m) + δ V(m + 1_S) ].

The rule shows argmin_S l(x, S, m) + τ C(m + 1_S), where C is the loss that the weights would give
if nothing more were learned: of the person alone, or aided, E_x min_S l(x, S, m). On counts up to a
cap, its value and V itself are found in one backward sweep: a count at its cap stays there, so a
set that moves no count leads back to its own state, which leaves one equation in one unknown.

*Lower bound.* Let a clairvoyant know all cases of a path, but pay, for any function V̂ of counts
(here: the rule's own value),

    z_t = W(m_t, x_t) - E_x W(m_t, x),   W(m, x) = min_S [ l(x, S, m) + δ V̂(m + 1_S) ]

less: for a policy that does not look ahead z_t has mean 0 whatever V̂ is, so the mean over paths of
the clairvoyant's least cost (a shortest path over counts) is at most V. At V̂ = V it is V on every
path. The rule pays the same z_t on the same paths, which takes most of the noise out of its value,
and the difference of the two is never negative on any path.

*Tail.* After the last round the rule is charged its own value. The clairvoyant is charged
V̂(m) - max_{m' >= m} (V̂ - T V̂)(m') / (1 - δ), T V̂ = E_x W, at most V(m): reduced by it, V̂ is a
subsolution of the Bellman equation on all counts that can follow m.

*Cap.* Counts beyond the cap change a round's loss by at most d (r + r'), with d the change of the
answer and r, r' the largest errors, and not before round M + 1. The sum over rounds is added to the
value and subtracted from the bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.numerics import rounds_until, weight_after
from preceptor._base.progress import Status
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import many, percent
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.learners.case_choice import CasePool, alone_shares
from preceptor.learners.case_rule import SetMaps, alone_loss
from preceptor.model.problem import Problem
from preceptor.model.risks import SquaredError
from preceptor.model.sets import BLOCK_NUMBERS, MOST_NUMBERS, SetFamily, TestSet
from preceptor.model.world import World
from preceptor.planning.count_space import ABSENT, coordinates

# Losses (states x cases x sets) that one sweep may compute: about five seconds.
_MOST_LOSSES = 5e8
# What counts beyond the default cap may change, relative to the value.
_CAPPING = 1e-4
# The last round has this weight if `rounds` is left out.
_LAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class CaseAwarePlan:
    """A rule that sees each case, its value, and a lower bound for all rules that do.

    Value and bound are means over random paths of cases from one bank, with standard errors.
    `simulation.rollout` plays the rule like any other policy.

    Attributes
    ----------
    value
        Discounted loss of the rule.
    value_error
        Standard error of the value.
    lower_bound
        No policy that sees each case before it chooses, and not those to come, has a lower expected
        loss, up to the standard error.
    bound_error
        Standard error of the lower bound.
    gap_error
        Standard error of the gap; smaller than the other two suggest, because both use the same
        paths.
    capping_error
        What counts beyond the cap may change; included in the value and in the lower bound.
    tau
        Weight of the loss after the round.
    cases
        Number of cases in the bank.
    paths, rounds
        Number of paths, and of cases in each.
    cap
        Showings of a test beyond which counts stay.
    seed
        Seed of bank and paths.
    rule
        What the rule minimises at each count.
    status
        Always "statistical": the bound holds up to its standard error.
    """

    value: float
    value_error: float
    lower_bound: float
    bound_error: float
    gap_error: float
    capping_error: float
    tau: float
    cases: int
    paths: int
    rounds: int
    cap: int
    seed: int
    rule: CountRule = field(repr=False, compare=False)
    status: Status = Status.STATISTICAL

    def start(self, problem: Problem) -> CountSession:
        """Begin with a new person.

        Parameters
        ----------
        problem
            The one that was planned for.

        Returns
        -------
        CountSession
            Before the first case.
        """
        if problem != self.rule.lattice.problem:
            raise InvalidInput("problem: is not the one that this plan was made for")
        return CountSession(self.rule)

    @property
    def gap(self) -> float:
        """(value - lower_bound) / lower_bound: 0.02 means about 2% above the optimum at most."""
        if self.value <= self.lower_bound:
            return 0.0
        if self.lower_bound <= 0.0:
            return math.inf
        return (self.value - self.lower_bound) / self.lower_bound

    def in_words(self) -> str:
        """Two or three sentences."""
        text = (
            f"Choosing with the case in view (tau {self.tau:g}) costs {self.value:.4g} ± "
            f"{self.value_error:.1g}; no policy that sees each case before it chooses costs less "
            f"than {self.lower_bound:.4g} ± {self.bound_error:.1g}"
        )
        if math.isfinite(self.gap):
            text += f", so the rule is at most {percent(self.gap)} above the best"
            if math.isfinite(self.gap_error):
                text += f" (± {percent(self.gap_error)})"
        return (
            f"{text}. Standard errors are over {self.paths} paths of {self.rounds} cases from a "
            f"bank of {self.cases}; the bound holds up to its error."
        )


def case_aware_plan(
    problem: Problem,
    tau: float = 10.0,
    *,
    continuation: str = "aided",
    cases: int | CasePool = 200,
    paths: int = 16,
    rounds: int | None = None,
    cap: int | None = None,
    seed: int = 0,
) -> CaseAwarePlan:
    """Compare the rule that sees each case with the best such rule.

    The answer is for cases that come at random from one bank. A bank drawn from the world differs
    from the world by chance; another seed shows how much.

    Parameters
    ----------
    problem
        A person who learns by showings, a numeric outcome, squared error and an infinite horizon.
        Showing nothing is left out where tests may be shown without a price, as the tutor does.
    tau
        Weight of the loss after the round; 0 looks at this case only, infinity teaches only.
    continuation
        Which loss that is: "aided" by later choices from the same bank, or "alone" (any of the
        largest sets). Weights stay as they are after the round.
    cases
        Number of cases in the bank, drawn from the world, or past cases without missing results.
        Outcomes of past cases are not used: losses are expected ones, given the results.
    paths
        Number of random paths, at least 2.
    rounds
        Cases on each path; by default until a round weighs a thousandth of the first.
    cap
        Showings of a test beyond which counts stay; by default as many as matter.
    seed
        Seed of bank and paths.

    Returns
    -------
    CaseAwarePlan
        Value and lower bound with standard errors.

    Raises
    ------
    NotApplicable
        Another kind of person, outcome or risk, a finite horizon, or too many counts.
    InvalidInput
        An argument is out of range.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, 0.0)
    >>> person = pr.Learner([0.2, 1.3], pr.Geometric(1.5))
    >>> problem = pr.Problem(world, person, discount=0.9)
    >>> found = case_aware_plan(problem, 3.0, cases=50, paths=4)
    >>> found.lower_bound <= found.value, found.gap < 0.03
    (True, True)
    """
    _check(problem, tau, continuation, cases, paths, rounds, cap, seed)
    rng = np.random.default_rng(seed)
    bank = _bank(problem, cases, rng)
    lattice = CaseLattice.of(problem, bank, cap)
    if rounds is None:
        rounds = max(rounds_until(problem.discount, _LAST_WEIGHT), 1)
    if lattice.states * paths > MOST_NUMBERS:
        raise NotApplicable(
            f"paths: {paths} paths of {many(lattice.states)} counts do not fit in memory; at most "
            f"{MOST_NUMBERS // lattice.states}, or give a smaller `cap`"
        )
    drawn = rng.integers(bank.shape[0], size=(rounds, paths))
    now, weight = math.isfinite(tau), tau if math.isfinite(tau) else 1.0
    later = weight * lattice.frozen(continuation)
    rule = CountRule(lattice, later, now)
    values = lattice.value(later, now=now)
    expected = lattice.one_step(values)
    penalty = values, expected
    lower = lattice.clairvoyant(drawn, penalty, lattice.subsolution(values, expected))
    costs = lattice.played(drawn, rule, penalty, values)
    bound = float(lower.mean()) - lattice.capping_error

    def error(sample: FloatArray) -> float:
        return float(sample.std(ddof=1)) / math.sqrt(paths)

    return CaseAwarePlan(
        value=float(costs.mean()) + lattice.capping_error,
        value_error=error(costs),
        lower_bound=bound,
        bound_error=error(lower),
        gap_error=error(costs - lower) / bound if bound > 0.0 else math.inf,
        capping_error=lattice.capping_error,
        tau=float(tau),
        cases=bank.shape[0],
        paths=paths,
        rounds=rounds,
        cap=lattice.cap,
        seed=seed,
        rule=rule,
    )


@dataclass(frozen=True, eq=False)
class CountRule:
    """What the rule minimises: the loss of the case, if it counts `now`, plus `later` (states,)."""

    lattice: CaseLattice
    later: FloatArray
    now: bool

    def best(self, losses: FloatArray, states: IntArray) -> IntArray:
        """Positions (people,) of the chosen sets, given losses (people, sets)."""
        score = self.later[self.lattice.following[states]]
        return np.asarray((score + losses if self.now else score).argmin(axis=1))


class CountSession:
    """One person under a rule on counts: chooses, then counts what was shown."""

    def __init__(self, rule: CountRule) -> None:
        self._rule, self._state = rule, np.zeros(1, dtype=np.int64)

    def choose(self, results: FloatArray) -> TestSet:
        """Return the set to show, given all results (n,) of the case in the world's units."""
        lattice = self._rule.lattice
        best = self._rule.best(lattice.losses_of(results[None, :], self._state), self._state)
        return lattice.sets[int(best[0])]

    def after(self, shown: TestSet, values: FloatArray, answer: float, outcome: float) -> None:
        """Count the tests shown; nothing else matters to people who learn by showings."""
        lattice = self._rule.lattice
        self._state = lattice.following[self._state, lattice.sets.index(shown)]


@dataclass(frozen=True, eq=False)
class CaseLattice:
    """Counts up to a cap, the losses of a bank of cases at each, and sweeps over them.

    States are ordered by their total count; state 0 is the start.
    """

    problem: Problem
    sets: SetFamily
    maps: SetMaps
    reading: FloatArray  # (cases, sets, n): what the person has in mind
    left: FloatArray  # (cases, sets): what an expert would miss
    cap: int
    capping_error: float
    counts: IntArray  # (states, coordinates)
    errors: FloatArray  # (states, n): true minus current weights
    following: IntArray  # (states, sets)

    @classmethod
    def of(cls, problem: Problem, bank: FloatArray, cap: int | None = None) -> CaseLattice:
        """Return the lattice for a bank (cases, n) in the world's units."""
        sets = _shown_sets(problem)
        truth = problem.world.coefficients
        maps = SetMaps.of(problem.learner.imputing_covariance(problem.world), sets)
        reading, left = _read(problem.world, maps, bank)
        coordinate, adds = coordinates(sets)
        if not adds.size:
            raise NotApplicable("case_aware_plan: the budget allows no test; allow at least one")
        chosen = _fitting_cap(problem, reading, left, adds.shape[1], cap)
        shape = (chosen + 1,) * adds.shape[1]
        counts = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
        order = np.argsort(counts.sum(axis=1), kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        counts = counts[order]
        after = np.minimum(counts[:, None, :] + adds, chosen)
        following = place[np.ravel_multi_index(tuple(np.moveaxis(after, -1, 0)), shape)]
        table = problem.by_showings.retention_table(problem.start_counts, chosen)
        shown = np.where(coordinate == ABSENT, 0, counts[:, np.maximum(coordinate, 0)])
        first = truth - problem.learner.initial
        errors = first * table[np.arange(problem.size), shown]
        error = _capping_error(problem, reading, left, chosen)
        return cls(problem, sets, maps, reading, left, chosen, error, counts, errors, following)

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.following.shape[0])

    @property
    def discount(self) -> float:
        """Discount factor of the problem."""
        return self.problem.discount

    @cached_property
    def totals(self) -> IntArray:
        """Total count of each state (states,)."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def capped(self) -> npt.NDArray[np.bool_]:
        """Whether any count is at the cap (states,)."""
        return np.asarray(np.any(self.counts == self.cap, axis=1))

    @cached_property
    def stays(self) -> npt.NDArray[np.bool_]:
        """Whether a set moves no count (states, sets)."""
        return np.asarray(self.following == np.arange(self.states)[:, None])

    def losses(self, states: IntArray | slice, cases: IntArray | slice = slice(None)) -> FloatArray:
        """Expected loss (states, cases, sets) given the results of a case, price included."""
        reading = self.reading[cases]
        missed = self.errors[states] @ reading.reshape(-1, reading.shape[2]).T
        missed = missed.reshape(-1, *reading.shape[:2])
        missed += self.left[cases]
        np.square(missed, out=missed)
        missed += self.sets.prices + self.problem.world.noise_variance
        return missed

    def losses_of(self, results: FloatArray, states: IntArray) -> FloatArray:
        """Expected losses (people, sets) of other cases (people, n), one for each state."""
        return self._charged(*_read(self.problem.world, self.maps, results), states)

    def _charged(self, reading: FloatArray, left: FloatArray, states: IntArray) -> FloatArray:
        """Losses (people, sets) of people in these states who read these cases."""
        missed = np.einsum("psn,pn->ps", reading, self.errors[states]) + left
        charged: FloatArray = missed**2 + self.sets.prices + self.problem.world.noise_variance
        return charged

    def value(self, later: FloatArray | None = None, *, now: bool = True) -> FloatArray:
        """Value (states,) of the best policy, or of the rule with this continuation.

        `later` (states,) is added to the loss of this case when choosing; without `now` it alone
        decides.
        """
        values = np.zeros(self.states)
        for rows in self._levels():
            # States of this level have value 0 so far, so sets that stay count this round only.
            moved = self.losses(rows)
            score = moved if now else np.zeros_like(moved)
            if later is not None:
                score = score + later[self.following[rows]][:, None, :]
            moved = moved + self.discount * values[self.following[rows]][:, None, :]
            stays = self.stays[rows]
            if later is not None:
                values[rows] = self._settled(moved, stays, score.argmin(axis=2))
            elif not stays.any():
                values[rows] = moved.min(axis=2).mean(axis=1)
            else:
                values[rows] = self._best_of_level(moved, stays)
        return values

    def one_step(self, later: FloatArray) -> FloatArray:
        """E_x min_S [l + δ later] (states,)."""
        found = np.empty(self.states)
        for rows in self._levels():
            ahead = self.discount * later[self.following[rows]]
            found[rows] = (self.losses(rows) + ahead[:, None, :]).min(axis=2).mean(axis=1)
        return found

    def frozen(self, which: str) -> FloatArray:
        """Loss of one round (states,) if nothing more is learned: "aided" or "alone"."""
        if which == "aided":
            return self.one_step(np.zeros(self.states))
        world = self.problem.world
        loss = alone_loss(world, self.maps, alone_shares(self.problem, self.sets, "any"))
        weights = world.coefficients - self.errors
        quadratic = np.sum((weights @ loss.hessian) * weights, axis=1)
        return np.asarray(quadratic - 2.0 * weights @ loss.slope + loss.constant)

    def subsolution(self, guess: FloatArray, expected: FloatArray | None = None) -> FloatArray:
        """A lower bound (states,) of the optimum from any guess of it; see the module."""
        if expected is None:
            expected = self.one_step(guess)
        box = np.zeros((self.cap + 1,) * self.counts.shape[1])
        at = tuple(self.counts.T)
        box[at] = guess - expected
        for axis in range(box.ndim):
            box = np.flip(np.maximum.accumulate(np.flip(box, axis), axis=axis), axis)
        least = self.problem.world.noise_variance + float(self.sets.prices.min())
        share = 1.0 - self.discount
        return np.asarray(np.maximum(guess - box[at] / share, least / share))

    def clairvoyant(
        self, drawn: IntArray, penalty: tuple[FloatArray, FloatArray] | None, tail: FloatArray
    ) -> FloatArray:
        """Least penalised cost (paths,) if all cases `drawn` (rounds, paths) are known.

        `penalty` is V̂ and E W (states,) each, `tail` (states,) the charge after the last round.
        """
        rounds, paths = drawn.shape
        costs = np.repeat(tail[:, None], paths, axis=1)
        for t in reversed(range(rounds)):
            for rows in self._reached(t, paths):
                losses = self.losses(rows, drawn[t])
                following = self.following[rows]
                ahead = np.swapaxes(costs[following], 1, 2)
                best = (losses + self.discount * ahead).min(axis=2)
                if penalty is not None:
                    best -= self._penalties(losses, following, penalty, rows)
                costs[rows] = best
        return np.asarray(costs[0])

    def played(
        self,
        drawn: IntArray,
        rule: CountRule,
        penalty: tuple[FloatArray, FloatArray] | None,
        tail: FloatArray,
    ) -> FloatArray:
        """Penalised cost (paths,) of the rule on the same paths."""
        rounds, paths = drawn.shape
        states, people = np.zeros(paths, dtype=np.int64), np.arange(paths)
        costs = np.zeros(paths)
        for t in range(rounds):
            following = self.following[states]
            losses = self._charged(self.reading[drawn[t]], self.left[drawn[t]], states)
            chosen = rule.best(losses, states)
            charged = losses[people, chosen]
            if penalty is not None:
                charged = charged - self._penalties(losses, following, penalty, states)
            costs += self.discount**t * charged
            states = following[people, chosen]
        return np.asarray(costs + self.discount**rounds * tail[states])

    def _penalties(
        self,
        losses: FloatArray,
        following: IntArray,
        penalty: tuple[FloatArray, FloatArray],
        rows: IntArray,
    ) -> FloatArray:
        """W - E W for losses (states, [cases,] sets) at states `rows`."""
        aim, expected = penalty
        ahead, mean = self.discount * aim[following], expected[rows]
        if losses.ndim == 3:
            ahead, mean = ahead[:, None, :], mean[:, None]
        return np.asarray((losses + ahead).min(axis=-1) - mean)

    def _settled(
        self, moved: FloatArray, stays: npt.NDArray[np.bool_], chosen: IntArray
    ) -> FloatArray:
        """Value (states,) of fixed choices (states, cases), some of which stay where they are."""
        taken = np.take_along_axis(moved, chosen[:, :, None], axis=2)[:, :, 0].mean(axis=1)
        staying = np.take_along_axis(stays, chosen, axis=1).mean(axis=1)
        return np.asarray(taken / (1.0 - self.discount * staying))

    def _best_of_level(self, moved: FloatArray, stays: npt.NDArray[np.bool_]) -> FloatArray:
        """Solve v = E_x min(moving, staying + δ v) by policy iteration, exact in finitely many."""
        scores = moved
        while True:
            values = self._settled(moved, stays, scores.argmin(axis=2))
            before = scores
            scores = moved + (self.discount * values[:, None] * stays)[:, None, :]
            # Ties decided by rounding must not go back and forth.
            kept = np.take_along_axis(scores, before.argmin(axis=2)[:, :, None], axis=2)[:, :, 0]
            if np.all(kept - scores.min(axis=2) <= 1e-12 * np.abs(scores).max()):
                return values

    def _levels(self) -> Iterator[IntArray]:
        """States by total count, largest first, in blocks that fit in memory."""
        borders = np.flatnonzero(np.diff(self.totals)) + 1
        for level in reversed(np.split(np.arange(self.states), borders)):
            yield from _blocks(level, self.left.size)

    def _reached(self, t: int, paths: int) -> Iterator[IntArray]:
        """States that can be the state before round t, in blocks; a superset is harmless.

        All their successors are among those of the next round. They come by total count, smallest
        first, so costs may be replaced in place: successors count more, or are the state itself.
        """
        steps = self.totals[self.following[0]]  # from no showings, no count is at the cap
        possible = (self.totals <= t * steps.max()) & (
            self.capped | (self.totals >= t * steps.min())
        )
        yield from _blocks(np.flatnonzero(possible), paths * len(self.sets))


def _read(world: World, maps: SetMaps, results: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What the person has in mind (cases, sets, n), and what an expert would miss (cases, sets)."""
    reading = np.einsum("csk,skn->csn", maps.entries(results), maps.reading, optimize=True)
    return reading, (results @ world.coefficients)[:, None] - reading @ world.coefficients


def _shown_sets(problem: Problem) -> SetFamily:
    """The sets considered: as the tutor, not the empty one where showing tests has no price."""
    sets = problem.sets
    if not (sets.sizes > 0).any() or np.any(sets.prices > 0.0):
        return sets
    kept = np.flatnonzero(sets.sizes > 0)
    return SetFamily(sets.members[kept], sets.sizes[kept], sets.prices[kept], sets.tests)


def _capping_error(problem: Problem, reading: FloatArray, left: FloatArray, cap: int) -> float:
    """How much counts beyond the cap can change the value of any policy."""
    learner, start = problem.by_showings, problem.start_counts
    first = np.abs(problem.world.coefficients - learner.initial)
    further = [float(c.to_move(s + cap)) for c, s in zip(learner.curve_of, start, strict=True)]
    changed = np.abs(reading) @ (first * np.array(further))
    largest = np.abs(left) + np.abs(reading) @ np.abs(problem.initial_errors)
    per_round = float((2.0 * changed * largest).max(axis=1).mean())
    return per_round * weight_after(problem.discount, cap + 1)


def _fitting_cap(
    problem: Problem, reading: FloatArray, left: FloatArray, dimensions: int, cap: int | None
) -> int:
    """The given cap, or the first beyond which showings hardly matter, if a sweep can go so far."""
    cases, sets = left.shape
    states = min(_MOST_LOSSES / left.size, MOST_NUMBERS / (sets * dimensions))
    largest = int(states ** (1.0 / dimensions) + 1e-9) - 1
    if cap is None:
        noise = problem.world.noise_variance
        expert = np.square(left).min(axis=1)
        first = np.square(left + reading @ problem.initial_errors).min(axis=1)
        # The loss of the first round is a floor of the value even where experts have no loss.
        ever = float(np.minimum(expert, first).mean()) + noise
        scale = max(ever / (1.0 - problem.discount), float(first.mean()) + noise)
        caps = range(1, largest + 1)
        found = bisect_left(
            caps,
            True,
            key=lambda m: _capping_error(problem, reading, left, m) <= _CAPPING * scale,
        )
        if found < len(caps):
            return caps[found]
    elif cap <= largest:
        return cap
    wanted = "" if cap is None else f" up to {cap}"
    remedy = "leave out tests"
    if largest >= 1:
        remedy = (
            f"give cap={largest} or less (value and bound then allow for what later showings can "
            "change), fewer cases, or fewer tests"
        )
    raise NotApplicable(
        f"case_aware_plan: {dimensions} counts{wanted} with {cases:,} cases and {sets:,} sets are "
        f"too many to sweep over; {remedy}"
    )


def _blocks(rows: IntArray, numbers: int) -> Iterator[IntArray]:
    """Cut rows into blocks that fit in memory, if each takes this many numbers."""
    block = max(BLOCK_NUMBERS // numbers, 1)
    for first in range(0, rows.size, block):
        yield rows[first : first + block]


def _bank(problem: Problem, cases: int | CasePool, rng: np.random.Generator) -> FloatArray:
    """Results (cases, n) in the world's units."""
    if not isinstance(cases, CasePool):
        return problem.world.sample(cases, rng).features
    results, _ = cases.in_world(problem.world)
    missing = int(np.isnan(results).any(axis=1).sum())
    if missing:
        raise InvalidInput(f"cases: {missing} have missing results; leave them out")
    return results


def _check(
    problem: Problem,
    tau: object,
    continuation: object,
    cases: object,
    paths: object,
    rounds: object,
    cap: object,
    seed: object,
) -> None:
    if not problem.learns_by_showings:
        raise NotApplicable(
            "case_aware_plan: needs a person who learns by showings, whose state is a vector of "
            f"counts, not a {type(problem.learner).__name__}; use a Learner, or compare policies "
            "by simulation"
        )
    if problem.is_binary or not isinstance(problem.risk, SquaredError):
        raise NotApplicable(
            "case_aware_plan: needs a numeric outcome charged by squared error; leave the risk "
            "out, or compare policies by simulation"
        )
    if problem.horizon is not None:
        raise NotApplicable(
            f"case_aware_plan: bounds infinite horizons, but this problem ends after "
            f"{problem.horizon} rounds; use problem.replace(horizon=None) with a discount factor "
            "below 1"
        )
    faults = []
    if not (is_number(tau) or tau == math.inf) or float(tau) < 0:  # type: ignore[arg-type]
        faults.append(f"tau: {tau!r}, must be at least 0, or infinite to teach only")
    if continuation not in ("aided", "alone"):
        faults.append(f'continuation: {continuation!r}, must be "aided" or "alone"')
    if not isinstance(cases, CasePool) and not is_count(cases, least=1):
        faults.append(f"cases: {cases!r}, must be a whole number of at least 1, or past cases")
    for name, value, least in (
        ("paths", paths, 2), ("rounds", rounds, 1), ("cap", cap, 1), ("seed", seed, 0)
    ):  # fmt: skip
        optional = name in ("rounds", "cap")
        if not (optional and value is None) and not is_count(value, least=least):
            faults.append(f"{name}: {value!r}, must be a whole number of at least {least}")
    InvalidInput.raise_if(faults)
