"""Contracts for what people add to the package, and problems whose answers are known.

Whoever writes a solver, a learning curve, a risk, a budget or a simulated person of their own can
hold it to the promises that ours keep. Each check raises `InvalidInput` with every promise that was
broken; silence means that nothing was found.

>>> import preceptor as pr
>>> from preceptor.testing import check_risk
>>> check_risk(pr.Huber(0.5))
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from preceptor._base.progress import Status
from preceptor._base.values import FloatArray, Kind, remembered
from preceptor.errors import InvalidInput, NotApplicable, NotSerializable, UnknownMethod
from preceptor.loss import Empirical
from preceptor.model.budgets import AtMost, Budget, Exactly, Knapsack, Listed
from preceptor.model.risks import AbsoluteError, Huber, ResidualRisk, Risk
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.curves import Curve, Geometric, OneShot, PowerLaw, Tabulated, check_curve
from preceptor.people.learner import Learner
from preceptor.plan import Plan
from preceptor.planning import Solver
from preceptor.problem import Problem
from preceptor.simulation import check_human
from preceptor.theory import SymmetricPair, optimal_policy
from preceptor.verification.slow_value import slow_loss, slow_value

__all__ = [
    "KnownInstance",
    "brute_force",
    "check_budget",
    "check_curve",
    "check_human",
    "check_plan",
    "check_risk",
    "check_solver",
    "known_instances",
    "small_problems",
]

# Two ways to add up the same losses differ by rounding, relative to 1 + the value.
_ROUNDING = 1e-8
# Infinite horizons are followed until what is left weighs this much.
_NEGLIGIBLE = 1e-9
# Longer lists of broken promises help nobody.
_MOST_FAULTS = 12
# What budgets are asked to maximise, and risks to charge, comes from this seed.
_SEED = 0
_OWN_RISK = "a risk of one's own"
_REDRAWS = 20


# --- problems with a known answer -----------------------------------------------------------------


@dataclass(frozen=True)
class KnownInstance:
    """A problem, the least loss that any policy can reach in it, and how that is known.

    `tolerance` is how far from `value` the truth may be, relatively (printed digits, rounding);
    `exploration_length` is the paper's T_d where it is known too.
    """

    name: str
    problem: Problem
    value: float
    source: str
    exploration_length: int | None = None
    tolerance: float = 1e-9


def known_instances() -> tuple[KnownInstance, ...]:
    """Problems with a known optimum, from print or in closed form.

    Returns
    -------
    tuple of KnownInstance
        Finite and infinite horizons, with and without correlation, easy ones first.

    Examples
    --------
    >>> from preceptor import solve
    >>> known = known_instances()[-1]
    >>> known.name, known.value, solve(known.problem).exploration_length
    ("the paper's two tests", 25.72743856, 46)
    """
    return (
        _one_test(),
        _all_of_two_uncorrelated(),
        _one_of_three_uncorrelated(),
        _nothing_left_to_learn(),
        _symmetric_pair(0.1, "keeping to one test"),
        _symmetric_pair(0.8, "alternating"),
        _papers_two_tests(),
    )


def _one_test() -> KnownInstance:
    discount, alpha, noise, error, rounds = 0.9, 1.2, 0.3, 0.7, 12
    world = World([1.0], [[1.0]], noise_variance=noise)
    learner = Learner([1.0 - error], Geometric(alpha))
    value = noise * _series(discount, rounds) + error**2 * _series(discount / alpha**2, rounds)
    return KnownInstance(
        "one test",
        Problem(world, learner, Exactly(1), discount, rounds),
        value,
        "two geometric series: the noise, and what is left of the squared error",
    )


def _all_of_two_uncorrelated() -> KnownInstance:
    discount, noise = 0.9, 0.1
    errors, alphas, variances = (0.8, -0.6), (1.1, 1.5), (1.0, 2.0)
    world = World([1.0, 0.9], np.diag(variances), noise_variance=noise)
    curves = [Geometric(alpha) for alpha in alphas]
    learner = Learner(world.coefficients - np.array(errors), curves)
    value = noise / (1.0 - discount) + sum(
        variance * error**2 / (1.0 - discount / alpha**2)
        for variance, error, alpha in zip(variances, errors, alphas, strict=True)
    )
    return KnownInstance(
        "two uncorrelated tests, both shown",
        Problem(world, learner, AtMost(2), discount),
        value,
        "one geometric series a test: each is worth showing from the first round on",
    )


def _one_of_three_uncorrelated() -> KnownInstance:
    discount, noise, alpha, rounds = 0.95, 0.2, 1.3, 40
    truth, errors = np.array([1.0, 0.9, 0.5]), np.array([0.9, 0.2, 0.0])
    world = World(truth, np.eye(3), noise_variance=noise)
    whole, learned = _series(discount, rounds), _series(discount / alpha**2, rounds)
    hidden = (noise + truth @ truth - truth**2) * whole
    value = float(np.min(hidden + errors**2 * learned))
    return KnownInstance(
        "three uncorrelated tests, one shown",
        Problem(world, Learner(truth - errors, Geometric(alpha)), 1, discount, rounds),
        value,
        "without correlation a fixed set is best: the smallest of three sums of series",
    )


def _nothing_left_to_learn() -> KnownInstance:
    discount, noise, rho = 0.9, 0.05, 0.6
    world = World.equicorrelated([1.0, 0.8], rho, noise_variance=noise)
    learner = Learner([1.0, 0.8], PowerLaw(1.0))
    hidden = 0.8**2 * (1.0 - rho**2)
    return KnownInstance(
        "nothing left to learn",
        Problem(world, learner, 1, discount),
        (noise + hidden) / (1.0 - discount),
        "every round costs the noise and what the better test leaves open of the other",
    )


def _symmetric_pair(correlation: float, what: str) -> KnownInstance:
    pair = SymmetricPair(correlation=correlation, alpha=1.1, discount=0.9)
    return KnownInstance(
        f"a symmetric pair, {what}",
        pair.problem(),
        optimal_policy(pair).value,
        "closed form of the paper's proposition on two interchangeable tests",
        tolerance=3e-6,  # what solvers of infinite horizons aim for by default
    )


def _papers_two_tests() -> KnownInstance:
    world = World.equicorrelated([1.0, 0.8], 0.8, noise_variance=1e-3)
    learner = Learner([0.2, 1.3], Geometric(1.10))
    return KnownInstance(
        "the paper's two tests",
        Problem(world, learner, 1, discount=0.99, horizon=600),
        25.72743856,
        "the fixed instance of the paper's appendix on misspecification, by Algorithm 1",
        exploration_length=46,
        tolerance=1e-9,
    )


def _series(ratio: float, terms: int) -> float:
    """1 + ratio + ... with that many terms."""
    return (1.0 - ratio**terms) / (1.0 - ratio)


# --- problems of every kind -----------------------------------------------------------------------


@cache
def small_problems() -> Mapping[str, Problem]:
    """Tiny problems of every kind, by name: each changes one thing about a plain one.

    Every budget, risk, loss model and curve of the package occurs, with a horizon of a few rounds
    and with none, and so do odd corners: somebody who never learns, who imputes wrongly, who has
    seen tests before; tests of several columns; a future that does not count.
    """
    # No fixed set is best here, so that there is something to plan even in four rounds.
    world = World.equicorrelated([1.0, 0.9], 0.9, noise_variance=0.1)
    plain = Problem(world, Learner([0.1, 0.0], Geometric(2.0)), 1, horizon=4)
    return {
        f"{name}, {rounds}": problem.replace(horizon=horizon, discount=discount)
        for rounds, horizon, usual in (("4 rounds", 4, 0.9), ("no end", None, 0.4))
        for name, problem, discount in _variations(plain, usual)
        # integrated numerically in each of very many states: minutes, where others take none
        if not (name == _OWN_RISK and horizon is None)
    }


def _variations(plain: Problem, usual: float) -> Iterator[tuple[str, Problem, float]]:
    yield "plain", plain, usual
    yield "only now counts", plain, 0.0
    for name, change in _changes(plain).items():
        yield name, plain.replace(**change), usual
    sites = World([1.0, 0.5, -0.4], np.eye(3) + 0.3, 0.1, groups={"site": [0, 2]})
    grouped = AtMost(1, price=np.array([0.0, 0.1]))
    yield "columns in groups", Problem(sites, _person([0.1, 0.9, 0.3]), grouped), usual


def _changes(plain: Problem) -> dict[str, dict[str, Any]]:
    initial, curve = plain.learner.initial, Geometric(2.0)
    curves: dict[str, Curve | Sequence[Curve]] = {
        "never learns": Geometric(1.0),
        "stops at a floor": Geometric(1.3, floor=0.2),
        "learns ever slower": PowerLaw(0.75),
        "learns at once": OneShot(),
        "learns by a table": Tabulated(np.array([1.0, 0.9, 0.4, 0.4, 0.1])),
        "learns each test in another way": [Geometric(1.2), PowerLaw(2.0)],
    }
    readings: dict[str, float | FloatArray] = {
        "imputes half as much": 0.5,
        "imputes nothing": 1.0,
        "imputes from other correlations": np.array([[1.0, -0.3], [-0.3, 2.0]]),
    }
    return {
        "exactly one": {"budget": Exactly(1)},
        "both at a price": {"budget": AtMost(2, price=np.array([0.05, 0.2]))},
        "by cost": {"budget": Knapsack(np.array([1.0, 1.5]), 1.6, price=0.05)},
        "from a list": {"budget": Listed(((0,), (0, 1)))},
        "Huber": {"risk": Huber(0.7)},
        "absolute error": {"risk": AbsoluteError()},
        _OWN_RISK: {"risk": ResidualRisk(np.abs)},
        "losses from a sample": {"loss": Empirical(64)},
        "shown before": {"start": (3, 1)},
        "uncorrelated": {"world": World([1.0, 0.8], np.diag([1.0, 2.0]), 0.1)},
        "opposed": {"world": World.equicorrelated([1.0, 0.8], -0.6)},
        **{name: {"learner": Learner(initial, each)} for name, each in curves.items()},
        **{name: {"learner": Learner(initial, curve, each)} for name, each in readings.items()},
    }


def _person(initial: list[float]) -> Learner:
    return Learner(initial, Geometric(1.5))


def brute_force(problem: Problem) -> float:
    """The least loss that any policy can reach, by trying every set in every round.

    Sequences that lead to the same counts are taken together, nothing else is clever: losses are
    dense textbook algebra, shared with no solver. An infinite horizon is followed until what is
    left weighs less than rounding; from there on the best single set stays.

    Parameters
    ----------
    problem
        A small one: the number of states is about rounds to the power of tests.

    Returns
    -------
    float
        The optimum, to about eight digits where the horizon is infinite.

    Examples
    --------
    >>> known = known_instances()[0]
    >>> abs(brute_force(known.problem) - known.value) < 1e-12
    True
    """
    return remembered(problem, "brute force", lambda: _brute_force(problem))


def _brute_force(problem: Problem) -> float:
    sets = list(problem.budget.subsets(problem.size))
    delta, rounds = problem.discount, problem.horizon
    if rounds is None:
        rounds = 1 if delta == 0.0 else math.ceil(math.log(_NEGLIGIBLE) / math.log(delta))
    start = problem.start_counts

    def after(counts: TestSet, shown: TestSet) -> TestSet:
        return tuple(m + (i in shown) for i, m in enumerate(counts))

    losses: dict[TestSet, list[float]] = {}
    layers = [{start}]
    for _ in range(rounds):
        layers.append({after(counts, shown) for counts in layers[-1] for shown in sets})
        for counts in layers[-2]:
            if counts not in losses:
                losses[counts] = _losses_after(problem, counts, sets)
    best = dict.fromkeys(layers[-1], 0.0)
    if problem.horizon is None:
        best = {m: min(_losses_after(problem, m, sets)) / (1.0 - delta) for m in layers[-1]}
    for layer in reversed(layers[:-1]):
        best = {
            counts: min(
                loss + delta * best[after(counts, shown)]
                for loss, shown in zip(losses[counts], sets, strict=True)
            )
            for counts in layer
        }
    return best[start]


def _losses_after(problem: Problem, counts: TestSet, sets: Sequence[TestSet]) -> list[float]:
    """One round's loss of each set, for somebody who has been shown each test that often."""
    learner, truth = problem.learner, problem.world.coefficients
    left = np.array([float(c.phi(m)) for c, m in zip(learner.curve_of, counts, strict=True)])
    beliefs = truth - (truth - learner.initial) * np.sqrt(left)
    return [slow_loss(problem, beliefs, shown) for shown in sets]


# --- contracts ------------------------------------------------------------------------------------


def check_solver(
    solver: Solver,
    problems: Mapping[str, Problem] | None = None,
    *,
    optimal_within: float = 1e-3,
    **options: Any,
) -> None:
    """Raise `InvalidInput` naming every promise of a solver that is broken.

    - its record is complete, and its first line of documentation says what it does;
    - what `why_not` refuses, it refuses with those words; everything else it solves;
    - plans are as `check_plan` wants them, compared with `brute_force`;
    - with the same options, the same problem gives the same plan;
    - an option that it does not have is refused, and so is a negative limit or seed.

    Parameters
    ----------
    solver
        The record of a method, as `preceptor.planning.SOLVERS` has them.
    problems
        What to try it on, by name; `small_problems()` if left out.
    optimal_within
        How far above the optimum a plan that calls itself optimal may be, relatively.
    **options
        Go to the solver. Give it limits that do not depend on a clock, or two runs may differ.

    Examples
    --------
    >>> from preceptor.planning import SOLVERS
    >>> check_solver(SOLVERS["stationary"])
    """
    tried = small_problems() if problems is None else problems
    faults = _record_faults(solver)
    for name, problem in tried.items():
        found = _solving_faults(solver, problem, options, optimal_within)
        faults += [f"{solver.name} ({name}): {fault}" for fault in found]
        if len(faults) > _MOST_FAULTS:
            break
    served = next((each for each in tried.values() if not solver.why_not(each)), None)
    if served is None:
        faults.append(f"{solver.name}: why_not refuses every problem")
    else:
        faults += _option_faults(solver, served, options)
    InvalidInput.raise_if(faults[:_MOST_FAULTS])


def check_plan(plan: Plan, *, optimal_within: float = 1e-3) -> None:
    """Raise `InvalidInput` if a plan of a small problem does not say the truth.

    Its policy is allowed and costs what the plan says, by slow algebra; the bound is not above the
    optimum, which comes from `brute_force`; and if it says that it is optimal, it is. It can be
    written to a file and read back, unless the problem holds a Python function.
    """
    InvalidInput.raise_if(_plan_faults(plan, optimal_within))


def check_budget(budget: Budget, tests: int) -> None:
    """Raise `InvalidInput` naming every rule that a budget over that many tests breaks.

    - `subsets` lists each allowed set once, smaller ones first, then by index, and nothing that
      `allows` refuses; `count` is at least their number;
    - `maximise` finds an allowed set with the largest sum of scores, the smaller one if tied;
    - there is a price of at least 0 for each test;
    - it can be written to a file and read back.

    Every set of tests is tried, so that `tests` should not be much above 12.

    Examples
    --------
    >>> check_budget(AtMost(2, price=0.1), tests=4)
    """
    faults = list(budget.size_faults(tests))
    InvalidInput.raise_if(faults)
    name = type(budget).__name__
    listed = list(budget.subsets(tests))
    every = [s for w in range(tests + 1) for s in itertools.combinations(range(tests), w)]
    allowed = [shown for shown in every if budget.allows(shown)]
    if not listed:
        faults.append("subsets: lists nothing")
    if listed != sorted(set(listed), key=lambda shown: (len(shown), shown)):
        faults.append("subsets: must list each set once, smaller ones first, then by index")
    faults += [f"subsets: lists {s}, but allows refuses it" for s in listed if s not in allowed]
    faults += [
        f"allows: {s} is allowed, but subsets has it not" for s in allowed if s not in listed
    ]
    if budget.count(tests) < len(listed):
        faults.append(f"count: {budget.count(tests)}, but {len(listed)} sets are listed")
    prices = budget.prices(tests)
    if prices.shape != (tests,) or prices.min(initial=0.0) < 0.0:
        faults.append(f"prices: {prices}, must be {tests} numbers of at least 0")
    if listed:
        faults += _maximise_faults(budget, listed, tests)
    faults += _file_faults(budget, Budget)
    InvalidInput.raise_if(f"{name}.{fault}" for fault in faults[:_MOST_FAULTS])


def check_risk(risk: Risk, largest: float = 6.0) -> None:
    """Raise `InvalidInput` naming every rule that a risk breaks.

    - charges are finite, at least 0, and one for each residual;
    - `expected` is the mean charge of a normal residual, compared with numerical integration;
    - neither charges nor `expected` rise faster than the two slopes say, up to `largest`;
    - if it says that it `is_increasing`, more variance never costs less;
    - a compiled closed form (`code`), where it claims one, agrees;
    - it can be written to a file and read back, unless it holds a Python function.

    Examples
    --------
    >>> check_risk(AbsoluteError())
    """
    name = type(risk).__name__
    residuals = np.linspace(-largest, largest, 2001)
    charges = np.asarray(risk.charge(residuals), dtype=np.float64)
    if charges.shape != residuals.shape:
        raise InvalidInput(f"{name}.charge: gave shape {charges.shape}, must work elementwise")
    if not np.all(np.isfinite(charges)) or charges.min() < 0.0:
        raise InvalidInput(f"{name}.charge: must be finite and at least 0")
    faults = _expected_faults(risk, largest)
    faults += _slope_faults("charge_slope", risk.charge_slope(largest), residuals, charges)
    deviations = np.linspace(0.0, largest, 601)
    means = np.asarray(risk.expected(deviations**2), dtype=np.float64)
    slope = risk.deviation_slope(largest)
    faults += _slope_faults("deviation_slope", slope, deviations, means)
    if risk.is_increasing and np.any(np.diff(means) < -_ROUNDING * (1.0 + np.abs(means[1:]))):
        faults.append("is_increasing: True, but expected falls as the variance grows")
    faults += _file_faults(risk, Risk)
    InvalidInput.raise_if(f"{name}.{fault}" for fault in faults)


# --- what the contracts look at -------------------------------------------------------------------


def _record_faults(solver: Solver) -> list[str]:
    faults = []
    if not solver.summary:
        faults.append(f"{solver.name}: its function needs a docstring; the first line is shown")
    if not solver.proves:
        faults.append(f"{solver.name}: proves is empty; say what is known about its plans")
    return faults


def _solving_faults(
    solver: Solver, problem: Problem, options: Mapping[str, Any], optimal_within: float
) -> list[str]:
    why_not = solver.why_not(problem)
    try:
        plan = solver.plan(problem, options)
    except NotApplicable as error:
        if not why_not:
            return [f"why_not is empty, but it refuses: {error}"]
        return [] if why_not in str(error) else [f"refuses with {str(error)!r}, not {why_not!r}"]
    if why_not:
        return [f"why_not says {why_not!r}, but it solves"]
    faults = _plan_faults(plan, optimal_within)
    if plan.problem != problem:
        faults.append("the plan is for another problem")
    again = solver.plan(problem, options)
    if replace(again, seconds=plan.seconds) != plan:
        faults.append("a second run with the same options gives another plan")
    return faults


def _plan_faults(plan: Plan, optimal_within: float) -> list[str]:
    problem = plan.problem
    plan.policy.check(problem)
    optimum, slow = brute_force(problem), slow_value(problem, plan.policy)
    slack = _ROUNDING * (1.0 + abs(optimum))
    faults = []
    if abs(slow - plan.value) > slack:
        faults.append(f"value is {plan.value:.10g}, but the policy costs {slow:.10g}")
    if plan.value < optimum - slack:
        faults.append(f"value {plan.value:.10g} is below the optimum {optimum:.10g}")
    if plan.lower_bound > optimum + slack:
        faults.append(f"lower_bound {plan.lower_bound:.10g} is above the optimum {optimum:.10g}")
    if plan.status is Status.OPTIMAL and plan.value > optimum * (1.0 + optimal_within) + slack:
        faults.append(f"status is optimal, but {plan.value:.10g} is above {optimum:.10g}")
    if plan.seconds < 0.0:
        faults.append(f"seconds: {plan.seconds}, must not be negative")
    try:
        if Plan.from_json(plan.to_json()) != plan:
            faults.append("it is not the same after it was written to a file and read back")
    except NotSerializable:
        pass
    except InvalidInput as error:
        faults.append(f"what it writes to a file cannot be read back: {error}")
    return faults


def _option_faults(solver: Solver, problem: Problem, options: Mapping[str, Any]) -> list[str]:
    faults = []
    try:
        solver.plan(problem, {**options, "no_such_option": 1})
        faults.append(
            f"{solver.name}: takes any option; its options must be keyword-only and named"
        )
    except UnknownMethod:
        pass
    for name, option in solver.options.items():
        # A callback is no limit, and with too little memory some solvers do with less.
        if name in {"progress", "memory_limit"} or isinstance(option.default, bool | str):
            continue
        try:
            solver.plan(problem, {**options, name: -1})
            faults.append(f"{solver.name}: option {name}=-1 is taken without a word")
        except InvalidInput:
            pass
    return faults


def _maximise_faults(budget: Budget, listed: list[TestSet], tests: int) -> list[str]:
    rng = np.random.default_rng(_SEED)
    for draw in range(_REDRAWS):
        # Whole numbers make ties; others do not.
        scores: FloatArray = rng.standard_normal(tests)
        if draw % 2:
            scores = np.round(scores)
        chosen = tuple(budget.maximise(scores))
        if chosen not in listed:
            return [f"maximise: chose {chosen}, which is not allowed"]
        totals = {shown: float(scores[list(shown)].sum()) for shown in listed}
        best = max(totals.values())
        if totals[chosen] < best - 1e-9:
            return [f"maximise: {chosen} scores {totals[chosen]:.6g}, another set {best:.6g}"]
    return []


def _expected_faults(risk: Risk, largest: float) -> list[str]:
    from preceptor.loss._kernels import expected_risk

    faults = []
    variances = np.geomspace(1e-4, largest**2 / 4.0, 7)
    means = np.asarray(risk.expected(variances), dtype=np.float64)
    if means.shape != variances.shape or np.shape(risk.expected(1.0)) != ():
        return ["expected: must give one number for each variance, and one for one"]
    for variance, mean in zip(variances, means, strict=True):
        wanted = _mean_charge(risk, math.sqrt(variance))
        if abs(mean - wanted) > 1e-6 * (1e-3 + abs(wanted)):
            faults.append(f"expected({variance:.4g}) is {mean:.8g}, integration gives {wanted:.8g}")
            break
    if abs(float(risk.expected(0.0)) - float(risk.charge(np.zeros(1))[0])) > _ROUNDING:
        faults.append("expected(0) is not the charge of a residual of 0")
    if risk.code >= 0:
        compiled = [expected_risk(risk.code, risk.parameter, float(v)) for v in variances]
        if not np.allclose(compiled, means, rtol=1e-9):
            faults.append(f"code: the compiled form {risk.code} disagrees with expected")
    return faults


def _mean_charge(risk: Risk, deviation: float) -> float:
    """∫ charge(σz) density(z) dz, with panels so many that kinks need not be known."""
    edges = np.linspace(-10.0, 10.0, 20_001)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    half = (edges[1] - edges[0]) / 2.0
    z = ((edges[:-1] + edges[1:]) / 2.0)[:, None] + half * nodes
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return float(np.sum(risk.charge(deviation * z) * density * weights) * half)


def _slope_faults(name: str, slope: float, grid: FloatArray, values: FloatArray) -> list[str]:
    steepest = float(np.max(np.abs(np.diff(values) / np.diff(grid))))
    if steepest <= slope * (1.0 + _ROUNDING):
        return []
    return [f"{name}({grid[-1]:g}) is {slope:.6g}, but there are slopes of {steepest:.6g}"]


def _file_faults(value: Kind, family: type[Kind]) -> list[str]:
    try:
        same = family.from_dict(value.to_dict()) == value
    except NotSerializable:
        return []
    return [] if same else ["to_dict: reading back what was written gives another value"]
