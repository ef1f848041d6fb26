"""Limits that mean errors and their spread never leave, whatever is shown and for how long.

If errors are only turned (e becomes Ae), an ellipsoid that holds the first errors and that every
set maps into itself holds them forever. If they are pushed too, a box is grown until no set leads
out of it; that works where shown errors do not drive each other. The spread C stays below any
matrix that covers its own image under every set together with what the means in those limits
scatter. Limits tell a bound which states cannot be, and tie spread and means together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.certificate import SLOWER
from preceptor.people.quadratic import QuadraticRounds
from preceptor.planning.conic import Program, Symmetric

# Rounds after which a box that still grows is given up, and growth that counts as none.
_MOST_ROUNDS, _STILL = 20_000, 1e-12
# Limits are this much wider than they need to be, so that rounding does not matter.
_WIDER = 1e-6
# How far rounding may make a matrix that should be semidefinite fail to be, in scaled units.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Limits:
    """Mean errors e obey (e - centre)(e - centre)' ⪯ reach; or a box; spreads are ⪯ spread."""

    centre: FloatArray  # (n,)
    reach: FloatArray  # (n, n); diagonal for a box, with squares of half its sides
    is_box: bool
    spread: FloatArray  # (n, n), 0 if there is none


def limits_of(rounds: QuadraticRounds, time_limit: float) -> Limits | None:
    """Limits for the rounds of somebody linear, in scaled units; None if none were found."""
    pushed = bool(np.any(rounds.turn[:, :-1, -1]))
    held = None if pushed else _ellipsoid(rounds, time_limit)
    return held if held is not None else _box(rounds, time_limit)


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
        moved = whole.operator(lambda G, s=s: back(s, G), whole)  # type: ignore[misc]
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
    """Sets that move anything."""
    still = np.eye(rounds.tests + 1)
    return [s for s in range(len(rounds)) if not np.array_equal(rounds.turn[s], still)]


def _ellipsoid(rounds: QuadraticRounds, time_limit: float) -> Limits | None:
    n = rounds.tests
    space, whole = Symmetric(n), Symmetric(n + 1)
    errors = rounds.start[:n]
    program = Program()
    reach = program.add_unknowns(space.length)
    spread = None if rounds.is_certain else program.add_unknowns(space.length)
    identity = np.eye(space.length)
    inside = space.vector(np.outer(errors, errors) + _WIDER * np.eye(n))
    program.require_semidefinite(-inside, [(reach, identity)], space)
    for s in _moving(rounds):
        turn = rounds.turn[s, :n, :n]
        moved = space.operator(lambda X, turn=turn: turn @ X @ turn.T, space)  # type: ignore[misc]
        program.require_semidefinite(np.zeros(space.length), [(reach, identity - moved)], space)
        if spread is not None:
            scatter = space.operator(lambda R, s=s: rounds.scattered(s, R), whole)  # type: ignore[misc]
            corner = scatter[-1]
            kept = space.operator(lambda R, s=s: rounds.spread(s, R), space).T  # type: ignore[misc]
            products = _errors_only(scatter, space, whole)
            terms = [(spread, identity - kept), (reach, -products.T)]
            program.require_semidefinite(-(1.0 + _WIDER) * corner, terms, space)
    objective = np.zeros(program.unknowns)
    price = space.vector(rounds.charge[:, :n, :n].sum(axis=0) + 1e-3 * np.eye(n))
    objective[reach : reach + space.length] = price
    if spread is not None:
        objective[spread : spread + space.length] = 10.0 * price
    found = program.minimise(objective, time_limit)
    values = found.values
    if not np.all(np.isfinite(values)):
        return None
    held = space.matrix(values[reach : reach + space.length])
    room = np.zeros((n, n))
    if spread is not None:
        room = space.matrix(values[spread : spread + space.length])
    return _checked(rounds, Limits(np.zeros(n), held, False, room))


def _errors_only(scatter: FloatArray, space: Symmetric, whole: Symmetric) -> FloatArray:
    """Rows of an operator to forms in g that are about products of errors."""
    inner = (whole.rows < space.size) & (whole.columns < space.size)
    return scatter[inner]


def _box(rounds: QuadraticRounds, time_limit: float) -> Limits | None:
    n = rounds.tests
    turns, pushes = rounds.turn[:, :n, :n], rounds.turn[:, :n, n]
    up, down = np.maximum(turns, 0.0), np.minimum(turns, 0.0)
    size = max(float(np.abs(rounds.start[:n]).max()), 1.0)
    low, high = rounds.start[:n] - _WIDER * size, rounds.start[:n] + _WIDER * size
    for _ in range(_MOST_ROUNDS):
        lower = np.minimum(low, (up @ low + down @ high + pushes).min(axis=0))
        higher = np.maximum(high, (up @ high + down @ low + pushes).max(axis=0))
        grown = float(max((low - lower).max(), (higher - high).max()))
        low, high = lower, higher
        if not np.isfinite(grown) or grown > 1e6 * size:
            return None
        if grown <= _STILL * size:
            break
    else:
        return None
    centre, half = (low + high) / 2.0, (high - low) / 2.0
    reach = np.diag(half**2)
    limits = Limits(centre, reach, True, np.zeros((n, n)))
    if rounds.is_certain:
        return _checked(rounds, limits)
    space = Symmetric(n)
    program = Program()
    spread = program.add_unknowns(space.length)
    cover = cover_of(rounds, centre, reach)
    for s in _moving(rounds):
        kept = space.operator(lambda R, s=s: rounds.spread(s, R), space).T  # type: ignore[misc]
        scatter = np.einsum("aij,ij->a", rounds.scattered(s, space.basis), cover)
        program.require_semidefinite(
            -(1.0 + _WIDER) * scatter, [(spread, np.eye(space.length) - kept)], space
        )
    objective = space.vector(rounds.charge[:, :n, :n].sum(axis=0) + 1e-3 * np.eye(n))
    found = program.minimise(objective, time_limit)
    if not np.all(np.isfinite(found.values)):
        return None
    return _checked(rounds, Limits(centre, reach, True, space.matrix(found.values)))


def _checked(rounds: QuadraticRounds, limits: Limits) -> Limits | None:
    """The limits, a little wider than the solver left them, if they hold."""
    wide = limits
    if not limits.is_box:
        wide = Limits(limits.centre, limits.reach * (1 + _WIDER), False, limits.spread)
    spread = wide.spread * (1.0 + 10.0 * _WIDER)
    wide = Limits(wide.centre, wide.reach, wide.is_box, spread)
    return wide if limits_hold(rounds, wide) else None


def limits_hold(rounds: QuadraticRounds, limits: Limits) -> bool:
    """Whether no set leads out of the limits, up to rounding."""
    n = rounds.tests
    off = rounds.start[:n] - limits.centre
    size = max(float(np.abs(limits.reach).max()), float(np.abs(limits.spread).max()), 1.0)
    allowed = -_ROUNDING * size
    half = np.sqrt(np.maximum(np.diag(limits.reach), 0.0))
    if limits.is_box:
        if np.any(np.abs(off) > half):
            return False
    elif np.linalg.eigvalsh(limits.reach - np.outer(off, off))[0] < 0.0:
        return False
    space = Symmetric(n)
    cover = cover_of(rounds, limits.centre, limits.reach)
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
        kept = space.operator(lambda R, s=s: rounds.spread(s, R), space).T @ space.vector(  # type: ignore[misc]
            limits.spread
        )
        scatter = np.einsum("aij,ij->a", rounds.scattered(s, space.basis), cover)
        left = space.matrix(space.vector(limits.spread) - kept - scatter)
        if np.linalg.eigvalsh(left)[0] < allowed:
            return False
    return True
