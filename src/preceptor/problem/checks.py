"""What a problem must fulfil as a whole: lengths that agree, a horizon, a discount, a start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor.errors import InvalidProblem
from preceptor.model.budgets import Budget
from preceptor.model.grouped import Grouped
from preceptor.model.world import World

# Thirty cases a day for nine years; solvers hold something for each round, and many sets for each.
MOST_ROUNDS = 100_000
# More than anybody has seen of anything; sums with rounds stay far from overflowing.
MOST_SHOWINGS = 1_000_000_000


def over_tests(budget: Budget, world: World) -> Budget:
    """Budgets count tests, sets hold columns: translate where a test has several columns."""
    if all(len(block) == 1 for block in world.blocks):
        return budget
    if not isinstance(budget, Grouped):
        return Grouped(budget, world.blocks)
    if budget.blocks != world.blocks:
        raise InvalidProblem(
            f"budget: groups columns as {budget.blocks}, but the world as {world.blocks}; give the "
            "budget over tests"
        )
    return budget


def horizon_faults(horizon: object) -> list[str]:
    """Why there cannot be so many rounds."""
    if is_count(horizon, least=MOST_ROUNDS + 1):
        return [f"horizon: {horizon}, at most {MOST_ROUNDS:,} rounds; leave it out for no end"]
    if horizon is not None and not is_count(horizon, least=1):
        return [
            f"horizon: {horizon!r}, must be a whole number of rounds of at least 1; leave it out "
            "for no end"
        ]
    return []


def discount_faults(discount: object, horizon: object) -> list[str]:
    """Why this cannot be the discount factor, with this horizon."""
    if not is_number(discount):
        return [f"discount: {discount!r}, must be a number"]
    value = float(discount)  # type: ignore[arg-type]
    if horizon is None and not 0.0 <= value < 1.0:
        return [
            f"discount: {value}, must be at least 0 and below 1 for an infinite horizon "
            "(1 - 1/100 = 0.99 means about 100 cases; or set a horizon)"
        ]
    if not 0.0 <= value <= 1.0:
        return [f"discount: {value}, must be between 0 and 1"]
    return []


def checked_start(
    start: Sequence[int] | npt.NDArray[np.integer] | None, size: int, faults: list[str]
) -> tuple[int, ...] | None:
    """Showings before the first round; None if there were none, or they cannot be."""
    if start is None:
        return None
    try:
        given = np.asarray(start)
        counts = tuple(int(c) for c in given)
    except (TypeError, ValueError, OverflowError):
        faults.append(f"start: {start!r}, must be one whole number for each test")
        return None
    if len(counts) != size:
        faults.append(f"start: {len(counts)} counts for {size} tests; lengths must agree")
    if any(c < 0 or c != g for c, g in zip(counts, given, strict=True)):
        faults.append(f"start: {given.tolist()}, counts must be whole numbers of at least 0")
    if any(c > MOST_SHOWINGS for c in counts):
        faults.append(f"start: up to {max(counts):.3g}, must be at most {MOST_SHOWINGS:,} showings")
        return None
    return counts if any(counts) else None
