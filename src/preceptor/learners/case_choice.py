"""Choose the set for a case, or the case and the set, by the rule of `case_rule`.

Every likely kind prices every pair of a case and a set with its own filter; the prices are averaged
with the posterior probabilities of the kinds. In training, cases must be plausible (none of the
outer tenth, by distance or by residual), come once, and keep the outcomes balanced: without
balance, people who remember cases instead of weights are harmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.numerics import total_weight
from preceptor._base.schema import NonNegative
from preceptor._base.values import FloatArray, IntArray, Value, remembered
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.learners.case_rule import (
    AloneLoss,
    CaseKnowledge,
    Prices,
    SetMaps,
    alone_log_loss,
    alone_loss,
    closed_form_prices,
    known_case_prices,
    moves_change,
    surprise_terms,
)
from preceptor.learners.filter_bank import FilterBank
from preceptor.model.evaluation import expected_costs
from preceptor.model.person import SurpriseStep
from preceptor.model.policies import Stationary
from preceptor.model.problem import Problem
from preceptor.model.sets import SetFamily, TestSet
from preceptor.model.world import World
from preceptor.people.filtering import WeightFilter
from preceptor.people.with_level import constant_in, read_covariance, with_constant, with_one

# Beyond this many pairs of cases and sets over all kinds (about 50 ms), a sample of sets finds the
# best cases first; with 300 sets the choice was as good as with all 4,845 of (20, 4).
_MANY_PAIRS, _SAMPLED_SETS, _BEST_CASES = 1_000_000, 300, 10
# Kinds less likely than this do not enter the rule.
_UNLIKELY = 0.01
# Most rounds for which what one round teaches counts while the assistant stays. On twenty random
# problems 60 was no better on average, and worse for people by showings who ignore correlations.
_LONGEST_MEMORY = 30.0
# For kinds without a step by surprise: prices the error now, and no change.
_NO_STEP = SurpriseStep(0.0)
# Newton steps to the best weights for yes/no outcomes, from the true ones.
_NEWTON_STEPS = 8


@dataclass(frozen=True, eq=False)
class CasePool(Value):
    """Past cases with outcomes, from which a tutor chooses.

    Parameters
    ----------
    values
        Results (cases, n) in the units that people read; NaN where missing.
    outcomes
        True outcomes (cases,), in the same units.

    Examples
    --------
    >>> pool = CasePool([[1.0, 0.2], [0.3, -1.0]], [1.5, -0.4])
    >>> len(pool)
    2
    """

    values: FloatArray
    outcomes: FloatArray

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        outcomes = np.array(self.outcomes, dtype=np.float64)
        faults = []
        if values.ndim != 2 or values.shape[0] == 0:
            faults.append(f"values: shape {values.shape}, must be (cases, tests)")
        elif outcomes.shape != values.shape[:1]:
            faults.append(f"outcomes: shape {outcomes.shape}, must be ({values.shape[0]},)")
        if not np.all(np.isfinite(outcomes)):
            faults.append("outcomes: must be finite numbers")
        if np.any(np.isinf(values)):
            faults.append("values: must be finite numbers, or NaN where missing")
        InvalidInput.raise_if(faults)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "outcomes", outcomes)

    def __len__(self) -> int:
        return int(self.outcomes.size)

    def in_world(self, world: World) -> tuple[FloatArray, FloatArray]:
        """Convert the cases to the world's units.

        Parameters
        ----------
        world
            Its tests are the columns.

        Returns
        -------
        tuple of arrays
            Results (cases, n) and outcomes (cases,).
        """
        if self.values.shape[1] != world.size:
            raise InvalidInput(
                f"pool: {self.values.shape[1]} tests, but the world has {world.size}"
            )
        if world.units is None:
            return self.values, self.outcomes
        results = (self.values - world.units.means) / world.units.scales
        return results, world.units.centre(self.outcomes)


@dataclass(frozen=True)
class Plausibility(Value):
    """Which cases of a pool may be chosen, and how strongly outcomes are balanced.

    Parameters
    ----------
    central
        Share of the pool that is eligible by Mahalanobis distance and by residual of the world.
    repeats
        Whether a case may come twice.
    balance
        Weight of the squared mean outcome so far, in units of the outcome's variance.
    typicality
        Weight of the squared distance per test, in units of the outcome's variance; 0 does not
        prefer typical cases.
    considered
        Number of eligible cases drawn at random each round, from which one is chosen: a small
        number gives people different cases; all if None.

    Examples
    --------
    >>> Plausibility(central=0.8).repeats
    False
    """

    central: float = 0.9
    repeats: bool = False
    balance: NonNegative = 0.1
    typicality: NonNegative = 0.0
    considered: int | None = 50

    def __post_init__(self) -> None:
        faults = []
        if not is_number(self.central) or not 0.0 < self.central <= 1.0:
            faults.append(f"central: {self.central!r}, must be above 0 and at most 1")
        for name in ("balance", "typicality"):
            value = getattr(self, name)
            if not is_number(value) or value < 0:
                faults.append(f"{name}: {value!r}, must be a number of at least 0")
        if self.considered is not None and not is_count(self.considered, least=1):
            faults.append(f"considered: {self.considered!r}, must be at least 1, or None for all")
        InvalidInput.raise_if(faults)

    def in_words(self) -> str:
        """Describe which case may be picked, as part of a sentence."""
        some = "" if self.considered is None else f" {self.considered} at a time of"
        often = "" if self.repeats else ", none twice"
        evenly = f", outcomes balanced by {self.balance:g}" if self.balance else ""
        return f"a case among{some} the central {100.0 * self.central:g}%{often}{evenly},"


class CaseChoice(NamedTuple):
    """The chosen set (and case of a pool), with expected errors for the person.

    `now` is the expected squared error of the answer (Brier score where outcomes are yes or no),
    `alone_before` and `alone_after` the expected loss of the person alone, `expert` that of an
    expert who reads the tests the same way.
    """

    shown: TestSet
    case: int | None
    now: float
    alone_before: float
    alone_after: float
    expert: float


KnownResults = Mapping[str, float] | npt.ArrayLike
AloneShares = str | Mapping[TestSet, float]


def alone_shares(problem: Problem, sets: SetFamily, alone: AloneShares) -> FloatArray:
    """Share (sets,) of the time that each set is shown when the person works alone.

    Parameters
    ----------
    problem
        World, budget and risk.
    sets
        The sets considered.
    alone
        "any" (all largest sets alike), "best" (the most predictive set), or shares by set.

    Returns
    -------
    array of shape (sets,)
        Sums to 1.
    """
    if isinstance(alone, str):
        if alone == "best":
            from preceptor.planning.candidate_sets import most_predictive_set

            alone = {most_predictive_set(problem): 1.0}
        elif alone == "any":
            largest = sets.sizes == sets.sizes.max()
            return np.asarray(largest / largest.sum())
        else:
            raise InvalidInput(f'alone: {alone!r}, must be "any", "best" or shares by set')
    shares = np.zeros(len(sets))
    for shown, share in alone.items():
        try:
            shares[sets.index(shown)] += float(share)
        except KeyError:
            raise InvalidInput(f"alone: the budget does not allow {tuple(shown)}") from None
    if shares.sum() <= 0.0:
        raise InvalidInput("alone: shares must add up to more than 0")
    return np.asarray(shares / shares.sum())


def kind_shares(bank: FilterBank) -> FloatArray:
    """The weight of each kind in decisions (kinds,), 0 for unlikely ones.

    The probability that none of the kinds is right is divided among them by their priors.
    """
    posterior, prior = bank.kinds, np.exp(bank.prior[:-1])
    shares = posterior[:-1] + posterior[-1] * prior / prior.sum()
    shares = np.where(shares >= min(_UNLIKELY, shares.max()), shares, 0.0)
    return np.asarray(shares / shares.sum())


def costs_of_kinds(problem: Problem) -> FloatArray:
    """What it costs each kind to be shown the most predictive set throughout, (kinds,)."""

    def computed() -> FloatArray:
        from preceptor.planning.candidate_sets import most_predictive_set

        costs = expected_costs(problem, Stationary(most_predictive_set(problem)))
        finite = costs[np.isfinite(costs)]
        largest = float(finite.max(initial=0.0)) or 1.0
        return np.clip(np.where(np.isfinite(costs), costs, largest), 1e-9 * largest, None)

    return remembered(problem, "costs of kinds", computed)


class _KindView(NamedTuple):
    """One kind as the rule sees it: its filter, its posterior, and its loss alone.

    Of people who learn the level, it is the last of all that moves, and the constant the last test.
    """

    kind: int
    share: float
    follower: WeightFilter
    mean: FloatArray
    covariance: FloatArray
    maps: SetMaps
    alone: AloneLoss

    @property
    def has_level(self) -> bool:
        """Whether the level is learned."""
        return self.follower.person.has_level


class Readings:
    """How people read the sets, and what they lose alone: the same in every round."""

    def __init__(self, problem: Problem, sets: SetFamily, alone: AloneShares) -> None:
        self.world, self.shares = problem.world, alone_shares(problem, sets, alone)
        self._sets = sets
        self._known: dict[bytes, tuple[SetMaps, AloneLoss | None]] = {}

    @classmethod
    def of(cls, problem: Problem, sets: SetFamily, alone: AloneShares) -> Readings:
        """Return those of all sets of a problem, kept with it, or of other sets."""
        if sets is not problem.sets:
            return cls(problem, sets, alone)
        return remembered(problem, f"readings, alone {alone!r}", lambda: cls(problem, sets, alone))

    def maps(self, omega: FloatArray) -> tuple[SetMaps, AloneLoss | None]:
        """Maps and loss alone of people who impute from `omega`; no loss for yes/no outcomes.

        With one row and column more, of people who learn the level.
        """
        key = omega.tobytes()
        if key not in self._known:
            levelled = omega.shape[0] > self.world.size
            maps = SetMaps.of(omega, constant_in(self._sets) if levelled else self._sets)
            world = with_constant(self.world) if levelled else self.world
            loss = None if self.world.is_binary else alone_loss(world, maps, self.shares)
            self._known[key] = maps, loss
        return self._known[key]

    def alone(self, omega: FloatArray, weights: FloatArray) -> AloneLoss:
        """Loss alone around these weights (n,), exact at the weights themselves."""
        maps, loss = self.maps(omega)
        return loss or alone_log_loss(self.world, maps, self.shares, weights)

    def expert(self, omega: FloatArray) -> float:
        """Loss alone of the best weights for people who impute from `omega`."""
        weights = np.pad(self.world.coefficients, (0, omega.shape[0] - self.world.size))
        for _ in range(_NEWTON_STEPS if self.world.is_binary else 1):
            around = self.alone(omega, weights)
            weights = np.linalg.pinv(around.hessian) @ around.slope
        return self.alone(omega, weights)(weights)


def _weighted(found: Sequence[Prices], shares: npt.ArrayLike, times: npt.ArrayLike) -> Prices:
    """Prices (1, sets) averaged over kinds; the change of each kind counts so many times."""
    now, change = (np.array([getattr(each, name) for each in found]) for name in Prices._fields)
    weights = np.asarray(shares)
    return Prices(
        np.tensordot(weights, now, 1), np.tensordot(weights * np.asarray(times), change, 1)
    )


class CaseRule:
    """The rule for one state of the filters; prices cases and sets for the mixture of kinds."""

    def __init__(
        self,
        problem: Problem,
        bank: FilterBank,
        sets: SetFamily,
        alone: AloneShares,
        played: int = 0,
    ) -> None:
        self.problem, self.world, self.sets = problem, problem.world, sets
        self.played = played
        readings = Readings.of(problem, sets, alone)
        kinds = kind_shares(bank)
        self._kinds = []
        for kind in np.flatnonzero(kinds).tolist():
            follower = bank.followers[kind]
            omega = read_covariance(follower.person, self.world)
            mean, covariance = bank.posterior_moving(kind)
            maps, loss = readings.maps(omega)[0], readings.alone(omega, mean)
            share = float(kinds[kind])
            self._kinds.append(_KindView(kind, share, follower, mean, covariance, maps, loss))

    @property
    def before(self) -> float:
        """Expected loss of the person alone before this round."""
        return sum(v.share * v.alone(v.mean, v.covariance) for v in self._kinds)

    @property
    def expert(self) -> float:
        """Loss alone of an expert who reads the tests as this person does."""
        return sum(v.share * v.alone.best for v in self._kinds)

    @property
    def weights(self) -> FloatArray:
        """Posterior mean of the person's weights over the kinds (n,)."""
        return np.asarray(sum(v.share * v.mean[: self.world.size] for v in self._kinds))

    def of_case(self, results: FloatArray) -> Prices:
        """Prices (1, sets) of one case with results (n,), NaN where unknown; outcome not known."""
        return self.averaged(self.of_kinds(results))

    def averaged(self, found: Sequence[Prices]) -> Prices:
        """Average the prices of the kinds."""
        shares = [view.share for view in self._kinds]
        return _weighted(found, shares, np.ones(len(found)))

    def while_aided(self, found: Sequence[Prices]) -> Prices:
        """Average the prices of the kinds, with changes counted for as long as they last.

        As in every plan for several people, the prices of a kind are relative to what the kind
        costs altogether: otherwise the kind with the largest losses would decide alone.
        """
        costs = costs_of_kinds(self.problem)
        shares = np.array([view.share / costs[view.kind] for view in self._kinds])
        lasts = [self._remembered(view) for view in self._kinds]
        return _weighted(found, shares / shares.sum(), lasts)

    def of_kinds(self, results: FloatArray) -> list[Prices]:
        """Prices (1, sets) of one case for each likely kind."""
        prices = []
        known = CaseKnowledge.of(self.world, results)
        in_part = bool(np.isnan(results).any())
        draws = known.draws() if in_part else results[None, :]
        chance = self._expected_outcomes(draws)
        noise = chance * (1.0 - chance) if self.world.is_binary else self.world.noise_variance
        variance = np.ascontiguousarray(np.broadcast_to(noise, chance.shape))
        in_closed_form = in_part and not self.world.is_binary
        for view in self._kinds:
            step = view.follower.person.surprise_step(self.world, view.follower.state)
            plain = step is not None and step.covariance is None
            if not (in_closed_form and plain):
                found = self._priced(view, draws, chance, variance)
                found = Prices(*(each.mean(axis=0, keepdims=True) for each in found))
            if in_closed_form:
                usual = surprise_terms(
                    view.maps, view.alone, step or _NO_STEP, view.mean, view.covariance
                )
                facts = known.with_constant() if view.has_level else known
                exact = closed_form_prices(view.maps, usual, facts)
                found = exact if plain else Prices(exact.now, found.change)
            prices.append(found)
        return prices

    def _remembered(self, view: _KindView) -> float:
        """Discounted rounds for which what this round teaches lasts, if the assistant stays.

        By showings, for all rounds that are left. Those who learn from surprises overwrite a share
        r of it whenever the test is shown again, so that (1 - r)^2 of a squared error remains.
        """
        discount, horizon = self.problem.discount, self.problem.horizon
        sigma = (with_constant(self.world) if view.has_level else self.world).covariance
        step = view.follower.person.surprise_step(self.world, view.follower.state)
        if step is None:
            kept = 1.0
        elif step.covariance is None:
            kept = 1.0 - step.rate * float(np.mean(np.diag(sigma)))
        else:
            largest = self.sets.sizes == self.sets.sizes.max()
            reading = view.maps.reading
            own = np.einsum("skn,nm,slm->skl", reading, step.covariance, reading, optimize=True)
            spread = np.sum(own * view.maps.block(sigma), axis=(1, 2))
            variances = np.diag(step.covariance) * np.diag(sigma)
            kept = 1.0 - float(np.mean(variances)) / (step.noise + float(spread[largest].mean()))
        later = None if horizon is None else max(horizon - self.played - 1, 0)
        lasts = discount * total_weight(discount * max(kept, 0.0) ** 2, later)
        return min(lasts, _LONGEST_MEMORY)

    def of_pool(self, results: FloatArray, outcomes: FloatArray, sets: IntArray | None) -> Prices:
        """Prices (cases, sets) of past cases in the world's units; `sets` limits the sets."""
        limited = self if sets is None else self._limited(sets)
        complete = np.nan_to_num(results)
        certain = np.zeros(outcomes.size)
        now, change = np.zeros((2, outcomes.size, len(limited.sets)))
        for view in limited._kinds:
            found = limited._priced(view, complete, outcomes, certain)
            now += view.share * found.now
            change += view.share * found.change
        unknown = np.isnan(results).astype(np.float64) @ limited.sets.membership.T > 0.0
        return Prices(np.where(unknown, np.inf, now), np.where(unknown, np.inf, change))

    def _limited(self, sets: IntArray) -> CaseRule:
        new = object.__new__(CaseRule)
        family = SetFamily(
            self.sets.members[sets], self.sets.sizes[sets], self.sets.prices[sets], self.sets.tests
        )
        new.problem, new.world, new.sets = self.problem, self.world, family
        new.played = self.played
        new._kinds = []
        for view in self._kinds:
            omega = read_covariance(view.follower.person, self.world)
            maps = SetMaps.of(omega, constant_in(family) if view.has_level else family)
            new._kinds.append(view._replace(maps=maps))
        return new

    def _expected_outcomes(self, results: FloatArray) -> FloatArray:
        """Expected outcome (or probability of yes) of cases with known results (cases, n)."""
        score = results @ self.world.coefficients
        if self.world.outcome is None:
            return score
        return self.world.outcome.from_score.probability(self.world.base_score + score)

    def _priced(
        self, view: _KindView, results: FloatArray, outcome: FloatArray, variance: FloatArray
    ) -> Prices:
        """Prices (cases, sets) for one kind of cases whose results are known."""
        person, state = view.follower.person, view.follower.state
        step = person.surprise_step(self.world, state)
        terms = surprise_terms(view.maps, view.alone, step or _NO_STEP, view.mean, view.covariance)
        if view.has_level:
            results = with_one(results)
        prices = known_case_prices(self.world, view.maps, terms, results, outcome, variance)
        if step is not None:
            return prices
        shown = self.sets.membership
        if not person.learns_from_outcomes:
            change = moves_change(
                self.world, person, state, view.alone, view.mean, view.covariance,
                np.zeros(shown.shape), shown, np.zeros(len(self.sets)),
            )  # fmt: skip
            return Prices(prices.now, np.broadcast_to(change, prices.now.shape))
        filled = np.einsum(
            "csk,skn->csn", view.maps.entries(results), view.maps.reading, optimize=True
        )[..., : self.world.size]
        # Weights are linear in a numeric outcome, so two points average its distribution exactly.
        change = np.zeros_like(prices.now)
        for c, away in enumerate(np.sqrt(variance).tolist()):
            for told in (outcome[c] - away, outcome[c] + away):
                change[c] += 0.5 * moves_change(
                    self.world, person, state, view.alone, view.mean, view.covariance,
                    filled[c], shown, np.full(len(self.sets), told),
                )  # fmt: skip
        return Prices(prices.now, change)


def choose_set(
    rule: CaseRule, results: FloatArray, tau: float | None, allowed: Sequence[int] | None = None
) -> CaseChoice:
    """Choose the set for one case.

    Parameters
    ----------
    rule
        The rule for the present state of the filters.
    results
        Known results (n,) in the world's units, NaN where unknown.
    tau
        Cases decided alone that one aided case is worth; infinite for teaching only. None if the
        assistant stays: then what is learned counts for as long as the person remembers it.
    allowed
        Tests that can be shown; all if left out.

    Returns
    -------
    CaseChoice
        Without a case.
    """
    kinds = rule.of_kinds(results)
    now, change = rule.averaged(kinds)
    if tau is None:
        score = _scored(rule, *rule.while_aided(kinds), 1.0)[0]
    else:
        score = _scored(rule, now, change, tau)[0]
    if allowed is not None:
        hidden = np.ones(rule.sets.tests, dtype=np.bool_)
        hidden[list(allowed)] = False
        score = np.where(rule.sets.membership[:, hidden].any(axis=1), np.inf, score)
    if not np.isfinite(score).any():
        names = ", ".join(rule.world.labels[i] for i in allowed or ()) or "nothing"
        raise NotApplicable(
            f"available: {names}; the budget allows no set of these tests, make at least one "
            "allowed set available"
        )
    best = int(np.argmin(score))
    before = rule.before
    return CaseChoice(
        rule.sets[best], None, float(now[0, best]), before, before + float(change[0, best]),
        rule.expert,
    )  # fmt: skip


def choose_case(
    rule: CaseRule,
    pool: CasePool,
    tau: float,
    plausible: Plausibility,
    told: Sequence[float],
    used: Sequence[int],
) -> CaseChoice:
    """Choose a case of a pool and the set to show of it.

    Parameters
    ----------
    rule
        The rule for the present state of the filters.
    pool
        Past cases with outcomes.
    tau
        Cases decided alone that one aided case is worth; infinite for teaching only.
    plausible
        Which cases may be chosen.
    told
        Outcomes told so far, in the world's units.
    used
        Positions of cases that were used already.

    Returns
    -------
    CaseChoice
        With the position of the case in the pool.
    """
    world = rule.world
    results, outcomes = pool.in_world(world)
    rows = _eligible(world, results, outcomes, plausible, used)
    if plausible.considered is not None and rows.size > plausible.considered:
        # The same record always gives the same choice; people who answered otherwise get others.
        drawn = np.random.default_rng([len(told), *used[-3:]])
        rows = np.sort(drawn.choice(rows, plausible.considered, replace=False))
    results, outcomes = results[rows], outcomes[rows]
    base = world.outcome.prevalence if world.outcome is not None else 0.0
    scale = base * (1.0 - base) if world.is_binary else 1.0
    centred = outcomes - base
    total = float(np.sum(np.asarray(told, dtype=np.float64) - base)) if told else 0.0
    extra = plausible.balance * ((total + centred) / (len(told) + 2.0)) ** 2 / scale
    if plausible.typicality:
        unit = 1.0 if world.is_binary else world.outcome_variance
        extra = extra + plausible.typicality * unit * _distances(world, results) / world.size
    many = rows.size * len(rule.sets) * len(rule._kinds) > _MANY_PAIRS
    sets: IntArray | None = None
    if many:
        sample = np.random.default_rng(0).choice(len(rule.sets), _SAMPLED_SETS, replace=False)
        first = rule.of_pool(results, outcomes, np.sort(sample))
        least = _scored(rule, *first, tau).min(axis=1) + extra
        few = np.argsort(least, kind="stable")[:_BEST_CASES]
        rows, results, outcomes, extra = rows[few], results[few], outcomes[few], extra[few]
    now, change = rule.of_pool(results, outcomes, sets)
    score = _scored(rule, now, change, tau) + extra[:, None]
    if not np.isfinite(score).any():
        raise NotApplicable(
            "pool: no case has results for any set that the budget allows; fill in more of the "
            "table"
        )
    case, best = np.unravel_index(int(np.argmin(score)), score.shape)
    before = rule.before
    return CaseChoice(
        rule.sets[int(best)], int(rows[case]), float(now[case, best]), before,
        before + float(change[case, best]), rule.expert,
    )  # fmt: skip


def _scored(rule: CaseRule, now: FloatArray, change: FloatArray, tau: float) -> FloatArray:
    """What is minimised, (cases, sets); showing nothing is left out where anything else may be."""
    score = change.copy() if np.isinf(tau) else now + rule.sets.prices + tau * change
    if (rule.sets.sizes > 0).any() and not np.any(rule.sets.prices > 0.0):
        score[:, rule.sets.sizes == 0] = np.inf
    return score


def _eligible(
    world: World,
    results: FloatArray,
    outcomes: FloatArray,
    plausible: Plausibility,
    used: Sequence[int],
) -> IntArray:
    """Positions of the cases that may be chosen: no case again before all others were used."""
    distance = _distances(world, results)
    complete = _completed(world, results)
    residual = np.abs(outcomes - complete @ world.coefficients)
    fits = distance <= np.quantile(distance, plausible.central)
    if not world.is_binary:
        fits &= residual <= np.quantile(residual, plausible.central)
    if not plausible.repeats:
        uses = np.bincount(np.array(used, dtype=np.int64), minlength=fits.size)
        fits &= uses == uses[fits].min()
    found: IntArray = np.flatnonzero(fits)
    return found


def _completed(world: World, results: FloatArray) -> FloatArray:
    """Results with missing ones replaced by their conditional means."""
    complete = results.copy()
    for row in np.flatnonzero(np.isnan(results).any(axis=1)).tolist():
        complete[row] = CaseKnowledge.of(world, results[row]).mean
    return complete


def _distances(world: World, results: FloatArray) -> FloatArray:
    """Squared Mahalanobis distance (cases,) of the completed results from the average."""
    complete = _completed(world, results)
    return np.asarray(np.sum(complete * np.linalg.solve(world.covariance, complete.T).T, axis=1))


def case_from(world: World, case: KnownResults) -> FloatArray:
    """Known results (n,) of a case in the world's units, NaN where unknown.

    Parameters
    ----------
    world
        Model of tests and outcomes.
    case
        Results by name of test, or an array (n,) with NaN where unknown, in the units that people
        read.

    Returns
    -------
    array of shape (n,)
        In the world's units.
    """
    if isinstance(case, Mapping):
        unknown = [name for name in case if name not in world.labels]
        if unknown:
            raise InvalidInput(
                f"case: {', '.join(map(repr, unknown))} not known; tests are "
                f"{', '.join(world.labels)}"
            )
        results = np.array([float(case.get(name, np.nan)) for name in world.labels])
    else:
        results = np.asarray(case, dtype=np.float64)
    if results.shape != (world.size,) or np.any(np.isinf(results)):
        raise InvalidInput(
            f"case: shape {results.shape}, must be one finite number or NaN for each of the "
            f"{world.size} tests"
        )
    if world.units is None:
        return results
    read: FloatArray = (results - world.units.means) / world.units.scales
    return read


def weighting_in_words(world: World, weights: FloatArray, shown: TestSet) -> str:
    """Say which shown test the person weighs most wrongly, or nothing if none is far off."""
    truth = world.coefficients
    scale = np.sqrt(np.diag(world.covariance))
    wrong = np.abs(weights - truth) * scale
    tests = [i for i in shown if truth[i] != 0.0]
    if not tests:
        return ""
    worst = max(tests, key=lambda i: wrong[i])
    if wrong[worst] < 0.05 * float(np.sqrt(world.outcome_variance)):
        return ""
    share = weights[worst] / truth[worst]
    name = world.labels[worst]
    if share < 0.0:
        return f"the person seems to read {name} the wrong way round"
    if share < 1.0:
        return f"the person seems to give {name} about {share:.0%} of the weight it deserves"
    return f"the person seems to give {name} about {share:.1f} times the weight it deserves"
