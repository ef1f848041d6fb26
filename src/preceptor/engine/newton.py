"""Smoothed Newton ascent on the dual multipliers.

The dual is a concave maximisation and round t only sees the multipliers of t and t + 1, so its
Hessian is block tridiagonal: one banded Cholesky of bandwidth 6n solves a Newton step for all
rounds at once. The minimum over sets is replaced by a soft minimum of temperature tau, and the two
convexity constraints (mu >= 0, nu >= 0) by a logarithmic barrier; tau is lowered step by step. The
certified value never uses the smoothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.instance import DualInstance

# Rounds that one thread takes at a time.
ROUNDS_A_PIECE = 32
NEWTON_STEPS = 30  # at most, on the subproblem of one round and one set


@dataclass(eq=False)
class Rounds:
    """Boxes, lists and workspaces of a dual: rounds 0..T-1 and, if infinite, a repeated tail."""

    instance: DualInstance
    length: int
    low: FloatArray
    high: FloatArray
    lists: IntArray
    sizes: IntArray
    best: IntArray
    z: FloatArray
    centres: FloatArray
    singles: FloatArray
    stop_cost: FloatArray | None
    prices: FloatArray | None = None
    # Set by another thread when it is time to stop: passes then end, and prove nothing more.
    halt: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @property
    def has_tail(self) -> bool:
        """Whether the last multipliers are repeated forever."""
        return self.instance.horizon is None

    @property
    def count(self) -> int:
        """Rounds that are bounded, the tail being one of them: R."""
        return self.length + int(self.has_tail)


@dataclass(eq=False)
class Smooth:
    """One evaluation of the smoothed dual: value, and derivatives when asked for."""

    merit: float
    gradient: FloatArray
    diagonal: FloatArray
    below: FloatArray


def boxes(instance: DualInstance, length: int) -> tuple[FloatArray, FloatArray]:
    """(T+1, n) smallest and largest relative error after t rounds.

    In the tail errors may fall below its row; there phi_T reads log max(u, low[T]), which the
    kernels account for.
    """
    from preceptor.engine._dual_kernels import SMALLEST

    t = np.arange(length + 1)[:, None]
    low = np.exp(-t * np.log(instance.alpha)[None, :])
    return np.maximum(low, SMALLEST), np.ones_like(low)


def increments(theta: FloatArray, discount: float, has_tail: bool) -> tuple[FloatArray, FloatArray]:
    """mu and nu (R, n): what the multipliers of log u and u^2 lose from a round to the next."""
    follow = theta[1:]
    mu, nu = theta[:-1, 0] - discount * follow[:, 0], theta[:-1, 2] - discount * follow[:, 2]
    if has_tail:
        mu = np.vstack([mu, (1.0 - discount) * theta[-1:, 0]])
        nu = np.vstack([nu, (1.0 - discount) * theta[-1:, 2]])
    return mu, nu


def constants(
    instance: DualInstance, length: int, g: FloatArray, stop: FloatArray | None
) -> FloatArray:
    """C_t of the telescoping lemma, (T+1,): cost-to-go from (t, u) is at least phi_t(u) + C_t."""
    C = np.zeros(length + 1)
    if instance.horizon is None:
        C[length] = g[length] / (1.0 - instance.discount)
        if stop is not None:
            C[length] = min(C[length], stop[length])
    for t in range(length - 1, -1, -1):
        C[t] = g[t] + instance.discount * C[t + 1]
        if stop is not None:
            C[t] = min(C[t], stop[t])
    return C


def evaluate(
    rounds: Rounds, theta: FloatArray, tau: float, barrier: float, second: bool, tolerance: float
) -> Smooth:
    """Smoothed dual at theta (T+1, 3, n), with gradient and negative Hessian blocks if `second`."""
    from preceptor.engine._dual_kernels import smooth_rounds

    instance = rounds.instance
    T, R, n = rounds.length, rounds.count, instance.n_features
    delta, m = instance.discount, 3 * n
    soft = np.empty(R)
    grad = np.empty((R, 6 * n))
    hess = np.empty((R, 6 * n, 6 * n)) if second else np.empty((R, 1, 1))
    beta = np.log(instance.alpha)
    arguments = (
        theta, rounds.low, rounds.high, instance.factor, instance.members, instance.set_cost, delta,
        1.0 / instance.alpha, beta, rounds.has_tail, rounds.lists, rounds.sizes, rounds.z, tau,
        tolerance, NEWTON_STEPS, soft, rounds.best, grad, hess, second,
    )  # fmt: skip
    in_threads(lambda part: smooth_rounds(part.start, part.stop, *arguments), R, ROUNDS_A_PIECE)
    stop, stop_grad, stop_curve = stop_terms(rounds, theta)
    initial = float(theta[0, 1].sum() - theta[0, 2].sum())

    # forward weights of the soft recursion C_t = softmin(stop_t, g_t + delta C_{t+1})
    soft_C, quits = np.zeros(T + 1), np.zeros(T + 1)
    heat = tau * min(T, 1.0 / (1.0 - delta) if delta < 1.0 else T)
    for t in range(T, -1, -1):
        if t == T:
            go_on = soft[T] / (1.0 - delta) if rounds.has_tail else 0.0
        else:
            go_on = soft[t] + delta * soft_C[t + 1]
        soft_C[t] = go_on
        if stop is not None and t < R:
            smaller = min(go_on, stop[t])
            parts = np.exp(-(np.array([go_on, stop[t]]) - smaller) / heat)
            soft_C[t] = smaller - heat * np.log(parts.sum())
            quits[t] = parts[1] / parts.sum()
    reach = np.concatenate([[1.0], np.cumprod(delta * (1.0 - quits[:T]))])
    weight = reach * (1.0 - quits)
    if rounds.has_tail:
        weight[T] /= 1.0 - delta

    mu, nu = increments(theta, delta, rounds.has_tail)
    moving = instance.moving
    # round 0 has one state, so no constraint
    worth = np.maximum(delta ** np.arange(R), 1e-300)[1:, None] * moving
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(moving, np.log(mu[1:]) + np.log(nu[1:]), 0.0)
    merit = initial + soft_C[0] + barrier * float((worth * logs).sum())

    last = T if rounds.has_tail else T - 1  # rounds 1..last carry free multipliers
    gradient = np.zeros((T + 1, m))
    diagonal = np.zeros((T + 1, m, m)) if second else np.zeros((1, 1, 1))
    below = np.zeros((T, m, m)) if second else diagonal
    gradient[:T] += weight[:T, None] * grad[:T, :m]
    gradient[1:] += weight[:T, None] * grad[:T, m:]
    if rounds.has_tail:
        gradient[T] += weight[T] * (grad[T, :m] + grad[T, m:])
    if stop_grad is not None:
        gradient += (reach * quits)[:, None] * stop_grad
    if second:
        # only lower triangles are filled and read
        diagonal[:T] += weight[:T, None, None] * hess[:T, :m, :m]
        diagonal[1:] += weight[:T, None, None] * hess[:T, m:, m:]
        below += weight[:T, None, None] * hess[:T, m:, :m]
        if rounds.has_tail:
            tail = hess[T]
            diagonal[T] += weight[T] * (tail[:m, :m] + tail[m:, m:] + tail[m:, :m] + tail[m:, :m].T)
        if stop_curve is not None:
            i = np.arange(n)
            stopping = (reach * quits)[:, None]
            for x in range(3):
                for y in range(x + 1):
                    diagonal[:, x * n + i, y * n + i] += stopping * stop_curve[:, x, y, :]
    # barrier: derivatives of log(theta_t - delta theta_{t+1})
    for q, (part, amount) in enumerate(((0, mu), (2, nu))):
        columns = part * n + np.arange(n)
        inverse = 1.0 / np.where(moving, amount[1:], 1.0)
        push = barrier * worth * inverse
        price = barrier * inverse if rounds.prices is None else rounds.prices[q, 1:]
        curve = worth * np.clip(price, 1e-8 * barrier * inverse, 1e8 * barrier * inverse) * inverse
        stay = np.ones(last)
        if rounds.has_tail:
            stay[-1] = 1.0 - delta
        gradient[1 : last + 1, columns] += stay[:, None] * push[:last]
        inner = slice(0, T - 1)  # rounds 1..T-1 also push on the next round's multipliers
        gradient[2 : T + 1, columns] -= delta * push[inner]
        if second:
            diagonal[1 : last + 1, columns, columns] += stay[:, None] ** 2 * curve[:last]
            diagonal[2 : T + 1, columns, columns] += delta**2 * curve[inner]
            below[1:T, columns, columns] -= delta * curve[inner]
    return Smooth(merit, gradient, diagonal, below)


def update_prices(rounds: Rounds, theta: FloatArray, step: FloatArray, barrier: float) -> None:
    """Move the prices of mu >= 0 and nu >= 0 along the Newton step that moved theta by `step`.

    Prices follow (amount * price = barrier) linearised. With barrier / amount in their place, every
    lowering of the barrier would first aim across the boundary and cut the steps short.
    """
    discount, tail = rounds.instance.discount, rounds.has_tail
    amounts = np.maximum(np.stack(increments(theta, discount, tail)), 1e-100)
    amounts[:, 0] = 1.0  # round 0 has no constraint
    changes = np.stack(increments(step, discount, tail))
    old = barrier / amounts if rounds.prices is None else rounds.prices
    move = barrier / amounts - old * changes / amounts - old
    moving = rounds.instance.moving
    move[:, :, ~moving] = 0.0
    falling = (move < 0.0) & moving
    falling[:, 0] = False
    size = min(1.0, 0.95 * float((-old[falling] / move[falling]).min())) if falling.any() else 1.0
    rounds.prices = np.where(moving, old + size * move, 1.0)


def stop_terms(
    rounds: Rounds, theta: FloatArray
) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
    """Slack of stopping at each round with its derivatives; None without an empty set."""
    if rounds.stop_cost is None:
        return None, None, None
    from preceptor.engine._dual_kernels import stop_rounds

    T, n = rounds.length, rounds.instance.n_features
    value, grad, curve = np.empty(T + 1), np.empty((T + 1, 3 * n)), np.empty((T + 1, 3, 3, n))
    tail_row = T if rounds.has_tail else -1
    stop_rounds(
        0,
        theta.shape[0],
        theta,
        rounds.low,
        rounds.high,
        tail_row,
        rounds.stop_cost,
        value,
        grad,
        curve,
    )
    return value, grad, curve


def newton_direction(
    smooth: Smooth, free: NDArray[np.bool_], damping: float, ridge: FloatArray
) -> FloatArray | None:
    """Solve (negative Hessian + damping) step = gradient; None if that is not positive definite.

    free (T+1, 3n) marks the multipliers that may move; ridge (T+1,) is the curvature added where
    there is none.
    """
    from preceptor.engine._dual_kernels import fill_banded

    count, m = smooth.gradient.shape[0] - 1, smooth.gradient.shape[1]
    banded = np.empty((count * m, 2 * m))
    blocks = (smooth.diagonal[1:], smooth.below[1:], free[1:], damping, ridge[1:], banded)
    in_threads(lambda part: fill_banded(part.start, part.stop, *blocks), count, ROUNDS_A_PIECE)
    try:
        factor = cholesky_banded(banded.T, lower=True, overwrite_ab=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    right = (smooth.gradient[1:] * free[1:]).ravel()
    step = np.zeros_like(smooth.gradient)
    step[1:] = cho_solve_banded((factor, True), right, check_finite=False).reshape(count, m)
    return step if np.all(np.isfinite(step)) else None
