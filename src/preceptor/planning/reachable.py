"""Invariant limits on mean errors and their covariance, whatever is shown and for how long.

A box is grown until no set leads out of it; that works where shown errors do not drive each other.
Otherwise, if errors are only turned (e becomes Ae), an ellipsoid that holds the first errors and
that every set maps into itself holds them forever. (Bounds of 28 problems with a delta rule and two
to five tests changed by -0.1% to +8% when boxes were put first; some were boxes before, since the
ellipsoid failed its check.) The spread C stays below any matrix that covers its own image under
every set together with what the means in those limits scatter. Limits tell a bound which states
cannot be, and tie spread and means together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.certificate import SLOWER
from preceptor.people.moments import QuadraticRounds
from preceptor.planning.conic import Program, Symmetric

# Limits are this much wider than they need to be, so that rounding does not matter.
_WIDER = 1e-6


@dataclass(frozen=True, eq=False)
class ErrorLimits:
    """Mean errors e obey (e - centre)(e - centre)' ⪯ reach; or a box; spreads are ⪯ spread."""

    centre: FloatArray  # (n,)
    reach: FloatArray  # (n, n); diagonal for a box, with squares of half its sides
    is_box: bool
    spread: FloatArray  # (n, n), 0 if there is none


def limits_of(rounds: QuadraticRounds, time_limit: float) -> ErrorLimits | None:
    """Limits for linear rounds, in scaled units; None if none were found."""
    pushed = bool(np.any(rounds.turn[:, :-1, -1]))
    for hold_means in [_box] if pushed else [_box, _ellipsoid]:
        held = hold_means(rounds, time_limit)
        limits = None if held is None else _with_spread(rounds, held, time_limit)
        if limits is not None and limits_hold(rounds, limits):
            return limits
    return None


def growth_of(rounds: QuadraticRounds, discount: float, time_limit: float) -> FloatArray | None:
    """A definite G that no round makes larger than G / discount ** SLOWER; None if none was found.

    So discounts shrink faster than squared errors can grow, and the end of time weighs nothing.
    """
    n = rounds.tests
    whole = Symmetric(n + 1)
    program = Program()
    growth = program.add_unknowns(whole.length)
    identity = np.eye(whole.length)
    program.require_semidefinite(-whole.vector(np.eye(n + 1)), [(growth, identity)], whole)

    def back(s: int, later: FloatArray) -> FloatArray:
        return rounds.carried(s, later) + rounds.scattered(s, later[..., :n, :n])

    slower = discount**SLOWER
    for s in range(len(rounds)):
        moved = whole.operator(partial(back, s), whole)
        strict = -_WIDER * whole.vector(np.eye(n + 1))
        program.require_semidefinite(strict, [(growth, identity - slower * moved)], whole)
    found = program.minimise(whole.vector(np.eye(n + 1)), time_limit)
    if not np.all(np.isfinite(found.values)):
        return None
    G = whole.matrix(found.values)
    holds = np.linalg.eigvalsh(G)[0] > 0.0 and all(
        np.linalg.eigvalsh(G - slower * back(s, G))[0] > 0.0 for s in range(len(rounds))
    )
    return G if holds else None


def cover_of(rounds: QuadraticRounds, centre: FloatArray, reach: FloatArray) -> FloatArray:
    """A matrix above gg' for all mean errors within limits, as far as scatter goes.

    Half of the square of a sum is at most the sum of squares, and a box of half sides w lies below
    n diag(w²). Without offsets only products of errors scatter, and `reach` itself covers.
    """
    n = centre.size
    cover = np.zeros((n + 1, n + 1))
    if not np.any(rounds.reads[:, :, -1]) and not np.any(centre):
        cover[:n, :n] = reach
        cover[n, n] = 1.0
        return cover
    middle = np.append(centre, 1.0)
    cover[:n, :n] = 2.0 * n * reach
    return np.asarray(cover + 2.0 * np.outer(middle, middle))


def _moving(rounds: QuadraticRounds) -> list[int]:
    """Sets that change the errors."""
    still = np.eye(rounds.tests + 1)
    return [s for s in range(len(rounds)) if not np.array_equal(rounds.turn[s], still)]


def _price(rounds: QuadraticRounds, space: Symmetric) -> FloatArray:
    """Loss of errors summed over all sets: limits are narrowest where it is largest."""
    n = rounds.tests
    return space.vector(rounds.charge[:, :n, :n].sum(axis=0) + 1e-3 * np.eye(n))


def _ellipsoid(rounds: QuadraticRounds, time_limit: float) -> ErrorLimits | None:
    n, space, program = rounds.tests, Symmetric(rounds.tests), Program()
    errors = rounds.start[:n]
    reach, identity = program.add_unknowns(space.length), np.eye(space.length)
    inside = space.vector(np.outer(errors, errors) + _WIDER * np.eye(n))
    program.require_semidefinite(-inside, [(reach, identity)], space)
    for s in _moving(rounds):
        turn = rounds.turn[s, :n, :n]
        moved = space.vector(turn @ space.basis @ turn.T).T
        program.require_semidefinite(np.zeros(space.length), [(reach, identity - moved)], space)
    found = program.minimise(_price(rounds, space), time_limit).values
    if not np.all(np.isfinite(found)):
        return None
    held = space.matrix(found) * (1.0 + _WIDER)
    return ErrorLimits(np.zeros(n), held, is_box=False, spread=np.zeros((n, n)))


def _box(rounds: QuadraticRounds, _time_limit: float) -> ErrorLimits | None:
    n = rounds.tests
    turns, pushes = rounds.turn[:, :n, :n], rounds.turn[:, :n, n]
    up, down = np.maximum(turns, 0.0), np.minimum(turns, 0.0)
    size = max(float(np.abs(rounds.start[:n]).max()), 1.0)
    low, high = rounds.start[:n] - _WIDER * size, rounds.start[:n] + _WIDER * size
    for _ in range(20_000):
        lower = np.minimum(low, (up @ low + down @ high + pushes).min(axis=0))
        higher = np.maximum(high, (up @ high + down @ low + pushes).max(axis=0))
        grown = float(max((low - lower).max(), (higher - high).max()))
        low, high = lower, higher
        if not np.isfinite(grown) or grown > 1e6 * size:
            return None
        if grown <= 1e-12 * size:
            reach = np.diag(((high - low) / 2.0) ** 2)
            return ErrorLimits((low + high) / 2.0, reach, is_box=True, spread=np.zeros((n, n)))
    return None


def _with_spread(
    rounds: QuadraticRounds, limits: ErrorLimits, time_limit: float
) -> ErrorLimits | None:
    """Limits of the mean errors, and a spread that covers what they scatter."""
    if rounds.is_certain:
        return limits
    space, program = Symmetric(rounds.tests), Program()
    spread, identity = program.add_unknowns(space.length), np.eye(space.length)
    for s in _moving(rounds):
        kept, scatter = _spreading(rounds, limits, space, s)
        program.require_semidefinite(-(1.0 + _WIDER) * scatter, [(spread, identity - kept)], space)
    found = program.minimise(_price(rounds, space), time_limit).values
    if not np.all(np.isfinite(found)):
        return None
    return replace(limits, spread=space.matrix(found) * (1.0 + 10.0 * _WIDER))


def _spreading(
    rounds: QuadraticRounds, limits: ErrorLimits, space: Symmetric, s: int
) -> tuple[FloatArray, FloatArray]:
    """What a set keeps of a spread, as an operator, and what it scatters of means within limits."""
    kept = space.operator(partial(rounds.spread, s), space).T
    cover = cover_of(rounds, limits.centre, limits.reach)
    return kept, np.einsum("aij,ij->a", rounds.scattered(s, space.basis), cover)


def limits_hold(rounds: QuadraticRounds, limits: ErrorLimits) -> bool:
    """Whether no set leads out of the limits, up to rounding."""
    n = rounds.tests
    off = rounds.start[:n] - limits.centre
    size = max(float(np.abs(limits.reach).max()), float(np.abs(limits.spread).max()), 1.0)
    # Rounding may make a matrix that should be semidefinite fail to be by this much.
    allowed = -1e-9 * size
    half = np.sqrt(np.maximum(np.diag(limits.reach), 0.0))
    if limits.is_box:
        if np.any(np.abs(off) > half):
            return False
    elif np.linalg.eigvalsh(limits.reach - np.outer(off, off))[0] < 0.0:
        return False
    space = Symmetric(n)
    spread = space.vector(limits.spread)
    for s in _moving(rounds):
        turn, push = rounds.turn[s, :n, :n], rounds.turn[s, :n, n]
        if limits.is_box:
            moved = np.abs(turn @ limits.centre + push - limits.centre) + np.abs(turn) @ half
            if np.any(moved > half - allowed):
                return False
        elif np.linalg.eigvalsh(limits.reach - turn @ limits.reach @ turn.T)[0] < allowed:
            return False
        if rounds.is_certain:
            continue
        kept, scatter = _spreading(rounds, limits, space, s)
        if np.linalg.eigvalsh(space.matrix(spread - kept @ spread - scatter))[0] < allowed:
            return False
    return True
