"""One semidefinite program: matrices that bound what a linear person must cost, and their check.

Unknown are the matrices at the knots and multipliers of the limits, an inequality for each set and
each step between knots. What the solver gives back is a certificate yet to be checked: `slack_of`
says by how much its tightest inequality holds.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from preceptor._base.deadline import counted_seconds
from preceptor._base.values import FloatArray
from preceptor.certificate import LinearCertificate, steps
from preceptor.people.quadratic import QuadraticRounds
from preceptor.planning.conic import Program, Symmetric
from preceptor.planning.reachable import Limits


def solve_program(
    rounds: QuadraticRounds,
    discount: float,
    horizon: int | None,
    knots: tuple[int, ...],
    limits: Limits | None,
    free: bool,
    stricter: float,
    deadline: float,
) -> tuple[LinearCertificate | None, str]:
    """One program, and what it found as a certificate in scaled units that is yet to be checked."""
    n, sets = rounds.tests, len(rounds)
    small, whole = Symmetric(n), Symmetric(n + 1)
    now, later = steps(knots, horizon)
    noisy = not rounds.is_certain
    apart = noisy and not free  # spread has prices of its own
    open_knots = len(knots) if horizon is None else len(knots) - 1  # at the horizon all is 0
    program = Program()
    mean = [program.add_unknowns(whole.length) for _ in range(open_knots)]
    spread = [program.add_unknowns(small.length) for _ in range(open_knots if apart else 0)]
    turned = _Turned(small, whole, limits)
    ys, zs = [], []
    strict, strict_small = (stricter * space.vector(np.eye(space.size)) for space in (whole, small))
    for s in range(sets):
        carried = discount * whole.operator(partial(rounds.carried, s), whole)
        scattered = discount * small.operator(partial(rounds.scattered, s), whole)
        kept = discount * small.operator(partial(rounds.spread, s), small)
        if free:
            carried = carried + scattered @ turned.errors_only
        charge = whole.vector(rounds.charge[s]) - strict
        charge_spread = small.vector(rounds.charge[s, :n, :n]) - strict_small
        for before, after in zip(now, later, strict=True):
            terms: list[tuple[int, FloatArray]] = []
            terms_spread: list[tuple[int, FloatArray]] = []
            for k in range(open_knots):
                if before[k] == 0.0 and after[k] == 0.0:
                    continue
                terms.append((mean[k], after[k] * carried - before[k] * np.eye(whole.length)))
                if apart:
                    change = after[k] * kept - before[k] * np.eye(small.length)
                    terms.append((spread[k], after[k] * scattered))
                    terms_spread.append((spread[k], change))
            if limits is not None:
                ys.append(_multiplier(program, small, limits.is_box))
                terms.append((ys[-1], turned.mean))
                if apart:
                    zs.append(_multiplier(program, small, False))
                    terms.append((zs[-1], turned.spread))
                    terms_spread.append((zs[-1], np.eye(small.length)))
            program.require_semidefinite(charge, terms, whole)
            if apart:
                program.require_semidefinite(charge_spread, terms_spread, small)
    objective = np.zeros(program.unknowns)
    objective[: whole.length] = -whole.vector(np.outer(rounds.start, rounds.start))
    solution = program.minimise(objective, deadline - counted_seconds())
    values = solution.values
    if not np.all(np.isfinite(values)):
        return None, solution.status

    def read(firsts: list[int], space: Symmetric) -> FloatArray:
        return space.matrix(np.array([values[at : at + space.length] for at in firsts]))

    Q = np.zeros((len(knots), n + 1, n + 1))
    Q[:open_knots] = read(mean, whole)
    R = np.zeros((len(knots), n, n))
    if apart:
        R[:open_knots] = read(spread, small)
    elif free:
        R = Q[:, :n, :n].copy()
    shape = (sets, len(now), n, n)
    Y, Z = np.zeros(shape), np.zeros(shape)
    if limits is not None:
        length = n if limits.is_box else small.length
        if limits.is_box:
            diagonals = np.array([np.maximum(values[at : at + length], 0.0) for at in ys])
            Y = (diagonals[:, :, None] * np.eye(n)).reshape(shape)
        else:
            Y = _semidefinite(read(ys, small)).reshape(shape)
        if apart:
            Z = _semidefinite(read(zs, small)).reshape(shape)
    nothing = np.zeros((n, n))
    certificate = LinearCertificate(
        knots=knots,
        horizon=horizon,
        discount=discount,
        mean=Q,
        spread=R,
        centre=np.zeros(n) if limits is None else limits.centre,
        reach=nothing if limits is None else limits.reach,
        is_box=limits is not None and limits.is_box,
        limit=nothing if limits is None else limits.spread,
        mean_multipliers=np.swapaxes(Y, 0, 1),
        spread_multipliers=np.swapaxes(Z, 0, 1),
        growth=np.zeros((n + 1, n + 1)),
        bound=float(rounds.start @ Q[0] @ rounds.start),
    )
    return certificate, solution.status


class _Turned:
    """How multipliers enter the inequality of the mean, as matrices on vectors."""

    def __init__(self, small: Symmetric, whole: Symmetric, limits: Limits | None) -> None:
        n = small.size

        self.errors_only = whole.operator(lambda Q: Q[..., :n, :n], small)
        if limits is None:
            return
        basis = np.eye(n)[:, :, None] * np.eye(n)[:, None, :] if limits.is_box else small.basis
        forms = np.array([limited(Y, limits.centre, limits.reach) for Y in basis])
        self.mean = whole.vector(forms).T
        corner = whole.vector(np.diag(np.append(np.zeros(n), 1.0)))
        self.spread = -np.outer(corner, small.vector(limits.spread))


def limited(multiplier: FloatArray, centre: FloatArray, reach: FloatArray) -> FloatArray:
    """<Y, (e - centre)(e - centre)' - reach> as a form in g = (e, 1): at most 0 within limits."""
    away = np.column_stack([np.eye(centre.size), -centre])
    form: FloatArray = away.T @ multiplier @ away
    form[-1, -1] -= float(np.sum(multiplier * reach))
    return form


def _multiplier(program: Program, space: Symmetric, diagonal: bool) -> int:
    if diagonal:
        first = program.add_unknowns(space.size)
        program.require_nonnegative(first, space.size)
        return first
    first = program.add_unknowns(space.length)
    nothing, identity = np.zeros(space.length), np.eye(space.length)
    program.require_semidefinite(nothing, [(first, identity)], space)
    return first


def _semidefinite(matrices: FloatArray) -> FloatArray:
    """The nearest matrices without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(
        (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    )


def slack_of(rounds: QuadraticRounds, found: LinearCertificate) -> float:
    """By how much the tightest inequality holds (negative: fails), with room for rounding."""
    n = rounds.tests
    now, later = steps(found.knots, found.horizon)
    before, after = (np.tensordot(share, found.mean, axes=1) for share in (now, later))
    before_spread, after_spread = (
        np.tensordot(share, found.spread, axes=1) for share in (now, later)
    )
    # What eigenvalues may be off by.
    rounding = 1e-14 * (n + 1) * max(1.0, float(np.abs(found.mean).max()))
    least = np.inf
    for s in range(len(rounds)):
        left = rounds.charge[s] - before
        left = left + found.discount * (
            rounds.carried(s, after) + rounds.scattered(s, after_spread)
        )
        for step in range(len(now)):
            Y, Z = found.mean_multipliers[step, s], found.spread_multipliers[step, s]
            left[step] += limited(Y, found.centre, found.reach)
            left[step, n, n] -= float(np.sum(Z * found.limit))
        least = min(least, float(np.linalg.eigvalsh(left).min()))
        if rounds.is_certain:
            continue
        spread = rounds.charge[s, :n, :n] - before_spread + found.spread_multipliers[:, s]
        spread = spread + found.discount * rounds.spread(s, after_spread)
        least = min(least, float(np.linalg.eigvalsh(spread).min()))
    return least - rounding
