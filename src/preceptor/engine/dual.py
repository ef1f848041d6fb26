"""A certified lower bound on the cost of every plan: a dual with separable multipliers.

For any multipliers, `phi_t(u) + C_t` never exceeds the cost of going on from state u at round t
(u reached in at most t showings a test). `solve_dual` looks for multipliers that make the bound
at the start large; whatever it finds, the value it returns has been certified over every allowed
set in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from preceptor._base.deadline import counted_seconds
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.instance import DualInstance
from preceptor.engine.newton import (
    Rounds,
    Smooth,
    constants,
    evaluate,
    increments,
    newton_direction,
    stop_terms,
    update_prices,
)
from preceptor.engine.set_lists import (
    all_sets,
    bound_value,
    prepare_rounds,
    refresh_lists,
)

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]
Ending = Literal["converged", "time_limit", "iteration_limit", "stopped"]

BARRIER = 0.2  # weight of the constraints' barrier, in temperatures
HOT = 3e-2  # first temperature, in losses of a round
RESTART_GAIN = 1e-4


@dataclass(frozen=True, eq=False)
class DualBound:
    """Multipliers and constants that prove `value`; `verification.dual_check` proves it again.

    kappa, r, N (T+1, n): phi_t(u) = sum_i kappa log u_i + r u_i - N u_i^2 in relative errors u_i =
    error / initial. constants (T+1,): cost-to-go from (t, u) >= phi_t(u) + constants[t]. Row T is
    repeated forever when the horizon is infinite. round_minima are the certified g_t, stop_slack
    the slack of stopping at t (None without empty set).
    """

    instance: DualInstance
    kappa: FloatArray
    r: FloatArray
    N: FloatArray
    constants: FloatArray
    round_minima: FloatArray
    stop_slack: FloatArray | None
    value: float
    status: Ending
    iterations: int
    seconds: float
    seed: int

    @property
    def length(self) -> int:
        """Rounds with multipliers of their own, T."""
        return len(self.constants) - 1

    def potential(self, t: int, highest: int) -> FloatArray:
        """(n, highest+1) contribution of test i, shown j times by round t, to phi_t."""
        from preceptor.engine._dual_kernels import SMALLEST

        shown = np.arange(highest + 1)[None, :]
        log_u = -shown * np.log(self.instance.alpha)[:, None]
        u = np.exp(log_u)
        # the multipliers' own reading of tiny errors
        log_u = np.maximum(log_u, np.log(SMALLEST))
        terms: FloatArray = (
            self.kappa[t][:, None] * log_u + self.r[t][:, None] * u - self.N[t][:, None] * u * u
        )
        return terms


def choose_length(instance: DualInstance, start_length: int = 0) -> int:
    """Rounds that get their own multipliers.

    A finite horizon gets all of them. Otherwise the tail after T keeps one repeated set of
    multipliers, which may be no better than its floor, so what it loses must be discounted away:
    discount**T = 0.1 % for small families, 1 % for large ones whose rounds are dear; within
    40..700.
    """
    if instance.horizon is not None:
        return instance.horizon
    small = instance.n_features * len(instance.actions) <= 600
    wanted = int(np.ceil(np.log(1e-3 if small else 1e-2) / np.log(instance.discount)))
    return int(np.clip(max(wanted, min(start_length, 40)), 40, 700))


def solve_dual(
    instance: DualInstance,
    start_schedule: IntArray,
    time_limit: float = 20.0,
    max_iterations: int = 300,
    seed: int = 0,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
    length: int | None = None,
    halt: IntArray | None = None,
) -> DualBound:
    """Maximise the dual, starting at what `start_schedule` (set ids, one per round) suggests.

    `halt` (1,) may be set by another thread, and then ends it within a pass: what passes before it
    proved stands, and nothing (-inf) if there was none. Deterministic unless the clock ends it;
    `seed` is only carried, nothing here is random.
    """
    began = counted_seconds()
    T = choose_length(instance, len(start_schedule)) if length is None else length
    rounds = prepare_rounds(instance, T)
    if halt is not None:
        rounds.halt = halt
    complete = rounds.lists.shape[1] >= len(instance.actions)
    schedule = np.asarray(start_schedule, dtype=np.int64)
    theta, loss, tau = best_start(rounds, schedule, complete)
    best_theta, best_value, best_minima = theta, -np.inf, np.full(rounds.count, -np.inf)
    horizon_weight = min(T, 1.0 / (1.0 - instance.discount) if instance.discount < 1.0 else T)
    free = np.tile(np.tile(instance.moving, 3), (T + 1, 1))
    if not rounds.has_tail:
        free[T] = False
    last_tau, damping = 2e-6 * loss, 1e-3
    iterations, spare = 0, 0.0
    status: Ending = "converged"
    previous = -np.inf
    while status == "converged":
        while tau >= last_tau and status == "converged":
            if not complete:
                minima = refresh_lists(rounds, theta, tau)
                value = bound_value(rounds, theta, minima)
                if value > best_value:
                    best_theta, best_minima, best_value = theta, minima, value
            for _ in range(40):
                if rounds.halt[0] or counted_seconds() - began > time_limit - spare:
                    status = "time_limit"
                elif iterations >= max_iterations:
                    status = "iteration_limit"
                elif should_stop is not None and should_stop():
                    status = "stopped"
                if status != "converged":
                    break
                smooth = evaluate(rounds, theta, tau, BARRIER * tau, True, 1e-4 * tau)
                if progress is not None:
                    progress("dual", iterations, best_value)
                trial, slope, damping = ascend(rounds, theta, smooth, tau, loss, free, damping)
                iterations += 1
                pass_began = counted_seconds()
                if complete:
                    minima = all_sets(rounds, trial, 0.0, 1e-3 * tau, 1)[3]
                else:
                    trial, minima = admit(rounds, theta, trial, smooth.merit, tau)
                # kept for the certifying pass
                spare = (4.0 if complete else 2.0) * (counted_seconds() - pass_began)
                value = bound_value(rounds, trial, minima)
                if value > best_value:
                    best_theta, best_minima, best_value = trial, minima, value
                theta = trial
                if slope < 0.2 * tau * horizon_weight:
                    break
            tau *= 0.4
        # A cooled run can stall short of the optimum of this concave problem, so "converged" is
        # only said after a whole cycle from a hot restart has brought next to nothing.
        if status != "converged" or best_value - previous < RESTART_GAIN * abs(best_value):
            break
        previous, tau, damping, rounds.prices = best_value, HOT * loss, 1e-3, None
        off_the_boundary = initial_multipliers(instance, schedule, T, 0.0, 3e-3)[0]
        theta = best_theta + off_the_boundary
    return certify(rounds, best_theta, best_minima, status, iterations, began, seed)


def admit(
    rounds: Rounds, theta: FloatArray, trial: FloatArray, merit: float, tau: float
) -> tuple[FloatArray, FloatArray]:
    """Check a step against every set; go part of the way if sets that were not listed object to it.

    Returns the point to go on from and its certified round minima. Whatever it is, the objecting
    sets are listed afterwards, so the next step knows them.
    """
    for _ in range(3):
        minima = refresh_lists(rounds, trial, tau)
        if evaluate(rounds, trial, tau, BARRIER * tau, False, 1e-4 * tau).merit > merit:
            return trial, minima
        trial = theta + 0.3 * (trial - theta)
    return theta, refresh_lists(rounds, theta, tau)


def ascend(
    rounds: Rounds,
    theta: FloatArray,
    smooth: Smooth,
    tau: float,
    loss: float,
    free: NDArray[np.bool_],
    damping: float,
) -> tuple[FloatArray, float, float]:
    """One damped Newton step: the new multipliers, the gain it predicts, the next damping."""
    instance = rounds.instance
    ridge = np.maximum(instance.discount ** np.arange(rounds.length + 1), 1e-12) / loss
    first_slope = 0.0
    for _ in range(8):
        flat = newton_direction(smooth, free, damping, ridge)
        if flat is None:
            damping = max(10.0 * damping, 1e-6)
            continue
        step = flat.reshape(theta.shape)
        slope = float((smooth.gradient * flat * free).sum())
        # damping shrinks the slope without being nearer the optimum
        first_slope = max(first_slope, slope)
        longest = 0.95 * longest_step(rounds, theta, step)
        size = min(1.0, longest)
        for _half in range(4):
            trial = theta + size * step
            trial[0] = instance.discount * trial[1]
            merit = evaluate(rounds, trial, tau, BARRIER * tau, False, 1e-4 * tau).merit
            if np.isfinite(merit) and merit > smooth.merit + 1e-3 * size * slope:
                damping = max(damping * (0.2 if size > 0.5 else 1.0), 1e-9)
                update_prices(rounds, theta, step, BARRIER * tau)
                return trial, first_slope, damping
            size *= 0.4
        damping = max(10.0 * damping, 1e-6)
    return theta, first_slope, damping


def longest_step(rounds: Rounds, theta: FloatArray, step: FloatArray) -> float:
    """Largest multiple of `step` that keeps both increments of every constrained round positive."""
    discount, moving = rounds.instance.discount, rounds.instance.moving
    longest = np.inf
    for value, change in zip(
        increments(theta, discount, rounds.has_tail),
        increments(step, discount, rounds.has_tail),
        strict=True,
    ):
        value, change = value[1:, moving], change[1:, moving]
        falling = change < 0.0
        if falling.any():
            longest = min(longest, float((-value[falling] / change[falling]).min()))
    return longest


def best_start(
    rounds: Rounds, schedule: IntArray, complete: bool
) -> tuple[FloatArray, float, float]:
    """Multipliers from the plan at the strength that certifies most, loss scale, temperature.

    Where errors of both signs cancel, the plan's own worths overstate what learning one test
    brings; a weak strength then wins, and the ascent needs a higher temperature to find its way.
    Otherwise a large family starts cool, so that few sets matter in a round.
    """
    best, best_value, loss, trusted = None, -np.inf, 1.0, False
    for strength in (1.0, 0.4, 0.1, 0.01):
        least = 1e-3 if strength > 0.3 and not complete else 1e-2
        theta, loss = initial_multipliers(rounds.instance, schedule, rounds.length, strength, least)
        _, _, _, g = all_sets(rounds, theta, 0.0, 1e-4 * loss, 1)
        value = bound_value(rounds, theta, g)
        if best is None or value > best_value:
            best, best_value, trusted = theta, value, strength > 0.3
    assert best is not None
    return best, loss, loss * (HOT if complete else 5e-4 if trusted else 1e-2)


def initial_multipliers(
    instance: DualInstance, schedule: IntArray, T: int, strength: float, least: float
) -> tuple[FloatArray, float]:
    """Multipliers from a plan: mu_t is what a relative change of an error is worth, smoothed."""
    n = instance.n_features
    padded = np.concatenate(
        [schedule[:T], np.full(max(T - len(schedule), 0), schedule[-1])]
    ).astype(np.int64)
    counts = np.vstack([np.zeros(n), np.cumsum(instance.shown[padded], axis=0)])[:T]
    u = np.exp(-counts * np.log(instance.alpha))
    images = np.einsum("tkn,tn->tk", instance.factor[padded], u)
    worth = np.maximum(2.0 * np.einsum("tkn,tk->tn", instance.factor[padded], images) * u, 0.0)
    loss = instance.set_cost[padded] + (images**2).sum(axis=1)
    weights = instance.discount ** np.arange(T)
    scale = float((loss * weights).sum() / weights.sum())
    kernel = np.ones(15)
    covered = np.convolve(np.ones(T), kernel, mode="same")
    smooth = np.stack(
        [np.convolve(worth[:, i], kernel, mode="same") / covered for i in range(n)], axis=1
    )
    floor = least * abs(scale) + 1e-12
    mu, nu = strength * smooth + floor, np.full((T, n), floor)
    theta = np.zeros((T + 1, 3, n))
    if instance.horizon is None:
        theta[T, 0] = theta[T, 2] = floor
    for t in range(T - 1, -1, -1):
        theta[t, 0] = instance.discount * theta[t + 1, 0] + mu[t]
        theta[t, 2] = instance.discount * theta[t + 1, 2] + nu[t]
    theta[0] = instance.discount * theta[1]
    theta[:, :, ~instance.moving] = 0.0
    return theta, abs(scale) + 1e-12


def certify(
    rounds: Rounds,
    theta: FloatArray,
    minima: FloatArray,
    status: Ending,
    iterations: int,
    began: float,
    seed: int,
) -> DualBound:
    """The one complete pass that turns multipliers into a bound.

    `minima` come from an earlier complete pass at the same multipliers, or are -inf. Both passes
    are valid bounds of every round, and a subproblem may stall from one start and not from another,
    so the larger of the two counts.
    """
    instance = rounds.instance
    scale = float(np.abs(instance.set_cost).max()) + 1e-12
    g = np.maximum(all_sets(rounds, theta, 0.0, 1e-13 * scale, 4, 60)[3], minima)
    stop, _, _ = stop_terms(rounds, theta)
    C = constants(instance, rounds.length, g, stop)
    value = float(theta[0, 1].sum() - theta[0, 2].sum() + C[0])
    return DualBound(
        instance=instance,
        kappa=theta[:, 0].copy(),
        r=theta[:, 1].copy(),
        N=theta[:, 2].copy(),
        constants=C,
        round_minima=g,
        stop_slack=stop,
        value=value,
        status=status,
        iterations=iterations,
        seconds=counted_seconds() - began,
        seed=seed,
    )
