"""A slow proof of a dual bound once more, in NumPy and SciPy, sharing no code with the kernels.

Per round and set it minimises the bracket with a general bounded minimiser, linearises the
quadratic there, and takes the exact minimum of what is left, coordinate by coordinate, from all
stationary points and ends. That number is a lower bound for the bracket wherever the minimiser
stopped, so a poor minimiser can only make the check fail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from preceptor._base.values import FloatArray
from preceptor.certificate import SMALLEST_ERROR
from preceptor.verification.claim import Claim, rows_of


@dataclass(frozen=True)
class CheckReport:
    """`ok` when no round falls short of its claim by more than `slack`; `worst` is the most."""

    ok: bool
    worst: float
    worst_round: int
    worst_set: int
    value: float
    slack: float
    rounds_checked: int


def check_bound(
    bound: Claim, slack: float = 1e-7, rounds: Iterable[int] | None = None
) -> CheckReport:
    """Re-verify `bound` over all sets, in every round or in those listed.

    `slack` is relative to the largest round loss; `value` is recomputed from the claimed round
    minima.
    """
    instance, T = bound.instance, bound.length
    delta, infinite = instance.discount, instance.horizon is None
    alpha, n = instance.alpha, instance.n_features
    scale = float(np.abs(instance.set_cost).max() + (instance.factor**2).sum(axis=(1, 2)).max())
    allowed = slack * scale
    if not _ends_as_it_must(bound, -1e-12 * scale):
        return CheckReport(False, np.inf, T, -1, -np.inf, allowed, 0)
    last_round = T if infinite else T - 1
    worst, where = -np.inf, (-1, -1)
    checked = 0
    for t in range(last_round + 1) if rounds is None else rounds:
        following = t if t == T else t + 1
        low = np.maximum(alpha ** (-float(t)), SMALLEST_ERROR)
        below = (t == T) or bool((low <= SMALLEST_ERROR).any())
        checked += 1
        for S in range(instance.n_sets):
            members = [int(i) for i in instance.members[S] if i >= 0]
            if not members:
                continue
            s = np.ones(n)
            s[members] = 1.0 / alpha[members]
            square = bound.N[t] - delta * s**2 * bound.N[following]
            linear = delta * s * bound.r[following] - bound.r[t]
            log_weight = bound.kappa[t] - delta * bound.kappa[following]
            constant = instance.set_cost[S] + delta * float(bound.kappa[following] @ np.log(s))
            F = rows_of(instance.covariance, members) * instance.initial_error
            claimed = float(bound.round_minima[t])
            shown = _lower_bound(
                F, linear, square, log_weight, constant, low, below, claimed - allowed
            )
            shortfall = claimed - shown
            if shortfall > worst:
                worst, where = shortfall, (t, S)
    C = np.zeros(T + 1)
    if infinite:
        C[T] = bound.round_minima[T] / (1.0 - delta)
    stop_ok = True
    for t in range(T, -1, -1):
        if t < T:
            C[t] = bound.round_minima[t] + delta * C[t + 1]
        if instance.empty_set >= 0 and (t < T or infinite):
            C[t] = min(C[t], _stop(bound, t))
        stop_ok = stop_ok and bool(
            bound.constants[t] <= C[t] + allowed * max(T, 1.0 / (1.0 - delta + 1e-12))
        )
    value = float(bound.r[0].sum() - bound.N[0].sum() + C[0])
    total = allowed * (1.0 / (1.0 - delta) if delta < 1.0 else T)
    ok = bool(worst <= allowed and stop_ok and bound.value <= value + total)
    return CheckReport(ok, float(worst), where[0], where[1], value, allowed, checked)


def _ends_as_it_must(bound: Claim, least_kappa: float) -> bool:
    """What the telescoping sum takes for granted, whatever the rounds say.

    A finite horizon has multipliers for all its rounds and none after the last. Where errors below
    the box are read as its end, kappa must not be negative, or a showing there would be overpaid.
    """
    instance, T = bound.instance, bound.length
    infinite, n = instance.horizon is None, instance.n_features
    rows = (bound.kappa, bound.r, bound.N)
    arrays = (*rows, bound.constants, bound.round_minima, np.array(bound.value))
    if any(row.shape != (T + 1, n) for row in rows) or len(bound.round_minima) != T + infinite:
        return False
    if not all(np.isfinite(array).all() for array in arrays) or bound.kappa.min() < least_kappa:
        return False
    return infinite or (instance.horizon == T and not any(row[T].any() for row in rows))


def _lower_bound(
    F: FloatArray,
    linear: FloatArray,
    square: FloatArray,
    log_weight: FloatArray,
    constant: float,
    low: FloatArray,
    below: bool,
    wanted: float,
) -> float:
    def bracket(u: FloatArray) -> tuple[float, FloatArray]:
        image, read = F @ u, np.maximum(u, low)
        value = image @ image + linear @ u + square @ u**2 - log_weight @ np.log(read)
        pull = np.where(u >= low, log_weight / read, 0.0)
        return float(value), 2.0 * F.T @ image + linear + 2.0 * square * u - pull

    def proven(z: FloatArray) -> float:
        slopes = linear + 2.0 * F.T @ z
        total = constant - float(z @ z)
        for i in range(len(low)):
            total += _coordinate(slopes[i], square[i], log_weight[i], low[i], below)
        return total

    def short(z: FloatArray) -> float:
        return -proven(z)

    best, best_z = -np.inf, np.zeros(len(F))
    # Where errors below `low` are possible the minimum may lie there, so look there as well.
    least = np.minimum(low, 1e-12) if below else low
    for start in (np.ones_like(low), np.sqrt(low), low, least):
        solution = minimize(
            bracket,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(float(x), 1.0) for x in least],
            options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-12},
        )
        z = F @ np.clip(solution.x, least, 1.0)
        value = proven(z)
        if value > best:
            best, best_z = value, z
    if best < wanted:  # between the box and what is below it there are kinks; climb across them
        climbed = minimize(
            short,
            best_z,
            method="Nelder-Mead",
            options={"xatol": 1e-12, "fatol": 1e-14, "maxiter": 400},
        )
        best = max(best, -float(climbed.fun))
    return best


def _coordinate(p: float, a: float, mu: float, low: float, below: bool) -> float:
    """Exact minimum over [low, 1] of p u + a u^2 - mu log u: every place where it can be."""
    places = [low, 1.0]
    stationary: list[complex] = []
    if a != 0.0:
        stationary = [complex(x) for x in np.roots([2.0 * a, p, -mu])]
    elif p != 0.0:
        stationary = [complex(mu / p)]
    places += [x.real for x in stationary if abs(x.imag) < 1e-12 and low < x.real < 1.0]
    value = min(p * u + a * u * u - mu * np.log(u) for u in places)
    if below:  # u in (0, low], where the potential reads log low
        value = min(value, -mu * np.log(low) + min(0.0, p * low) + min(0.0, a * low * low))
    return float(value)


def _stop(bound: Claim, t: int) -> float:
    instance = bound.instance
    low = np.maximum(instance.alpha ** (-float(t)), SMALLEST_ERROR)
    below = (t == bound.length and instance.horizon is None) or bool((low <= SMALLEST_ERROR).any())
    total = instance.set_cost[instance.empty_set] * instance.rounds_value(t)
    for i in range(instance.n_features):
        total += _coordinate(-bound.r[t, i], bound.N[t, i], bound.kappa[t, i], low[i], below)
    return float(total)
