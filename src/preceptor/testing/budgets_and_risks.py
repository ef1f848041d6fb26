"""Contract checks for budgets and risks."""

from __future__ import annotations

import itertools
import math

import numpy as np

from preceptor._base.values import FloatArray, Kind
from preceptor.errors import InvalidInput, NotSerializable
from preceptor.model.budgets import Budget
from preceptor.model.risks import NumberRisk, Risk
from preceptor.model.sets import TestSet

# Allowed rounding difference between two computations of the same loss, relative to 1 + loss.
ROUNDING = 1e-8
# Longer lists of faults are cut off.
MOST_FAULTS = 12


def check_budget(budget: Budget, tests: int) -> None:
    """Raise `InvalidInput` naming every rule that a budget over this many tests breaks.

    - `subsets` lists each allowed set once, smaller ones first, then by index, and nothing that
      `allows` refuses; `count` is at least their number;
    - `maximise` finds an allowed set with the largest sum of scores, the smaller one if tied;
    - every test has a price of at least 0;
    - it can be written to a file and read back.

    Every set of tests is tried, so `tests` should not be much above 12.

    Examples
    --------
    >>> import preceptor as pr
    >>> check_budget(pr.AtMost(2, price=0.1), tests=4)
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
    faults += [f"allows: {s} is allowed, but subsets omits it" for s in allowed if s not in listed]
    if budget.count(tests) < len(listed):
        faults.append(f"count: {budget.count(tests)}, but {len(listed)} sets are listed")
    prices = budget.prices(tests)
    if prices.shape != (tests,) or prices.min(initial=0.0) < 0.0:
        faults.append(f"prices: {prices}, must be {tests} numbers of at least 0")
    if listed:
        faults += _maximise_faults(budget, listed, tests)
    faults += _file_faults(budget, Budget)
    InvalidInput.raise_if(f"{name}.{fault}" for fault in faults[:MOST_FAULTS])


def check_risk(risk: NumberRisk, largest: float = 6.0) -> None:
    """Raise `InvalidInput` naming every rule that a risk breaks.

    - charges are finite, at least 0, and elementwise;
    - `expected` is the mean charge of a normal residual, compared with numerical integration;
    - neither charges nor `expected` rise faster than the two slopes say, up to `largest`;
    - if `is_increasing`, more variance never costs less;
    - a compiled closed form (`code`), if declared, agrees;
    - it can be written to a file and read back, unless it holds a Python function.

    Examples
    --------
    >>> import preceptor as pr
    >>> check_risk(pr.AbsoluteError())
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
    if risk.is_increasing and np.any(np.diff(means) < -ROUNDING * (1.0 + np.abs(means[1:]))):
        faults.append("is_increasing: True, but expected falls as the variance grows")
    faults += _file_faults(risk, Risk)
    InvalidInput.raise_if(f"{name}.{fault}" for fault in faults)


def _maximise_faults(budget: Budget, listed: list[TestSet], tests: int) -> list[str]:
    rng = np.random.default_rng(0)
    for draw in range(20):
        # Every other draw is rounded, to make ties.
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


def _expected_faults(risk: NumberRisk, largest: float) -> list[str]:
    from preceptor.model._loss_kernels import expected_risk

    faults = []
    variances = np.geomspace(1e-4, largest**2 / 4.0, 7)
    means = np.asarray(risk.expected(variances), dtype=np.float64)
    if means.shape != variances.shape or np.shape(risk.expected(1.0)) != ():
        return ["expected: must work elementwise, and return a scalar for a scalar"]
    for variance, mean in zip(variances, means, strict=True):
        wanted = _mean_charge(risk, math.sqrt(variance))
        if abs(mean - wanted) > 1e-6 * (1e-3 + abs(wanted)):
            faults.append(f"expected({variance:.4g}) is {mean:.8g}, integration gives {wanted:.8g}")
            break
    if abs(float(risk.expected(0.0)) - float(risk.charge(np.zeros(1))[0])) > ROUNDING:
        faults.append("expected(0) is not the charge of a residual of 0")
    if risk.code >= 0:
        compiled = [expected_risk(risk.code, risk.parameter, float(v)) for v in variances]
        if not np.allclose(compiled, means, rtol=1e-9):
            faults.append(f"code: the compiled form {risk.code} disagrees with expected")
    return faults


def _mean_charge(risk: NumberRisk, deviation: float) -> float:
    """∫ charge(σz) density(z) dz, with panels narrow enough to ignore kinks."""
    edges = np.linspace(-10.0, 10.0, 20_001)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    half = (edges[1] - edges[0]) / 2.0
    z = ((edges[:-1] + edges[1:]) / 2.0)[:, None] + half * nodes
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return float(np.sum(risk.charge(deviation * z) * density * weights) * half)


def _slope_faults(name: str, slope: float, grid: FloatArray, values: FloatArray) -> list[str]:
    steepest = float(np.max(np.abs(np.diff(values) / np.diff(grid))))
    if steepest <= slope * (1.0 + ROUNDING):
        return []
    return [f"{name}({grid[-1]:g}) is {slope:.6g}, but slopes reach {steepest:.6g}"]


def _file_faults(value: Kind, family: type[Kind]) -> list[str]:
    try:
        same = family.from_dict(value.to_dict()) == value
    except NotSerializable:
        return []
    return [] if same else ["to_dict: reading it back gives a different value"]
