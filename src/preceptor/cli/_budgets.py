"""What may be shown: a number of tests, or costs and prices from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from preceptor.cli._tables import read_named_numbers
from preceptor.errors import InvalidInput
from preceptor.problem.budgets import AtMost, Budget, Knapsack
from preceptor.problem.world import World

DEFAULT_TESTS = 3


def budget_from_options(
    world: World, *, tests: int | None, costs: Path | None, limit: float | None
) -> Budget:
    """At most so many tests, or tests that together cost at most the limit.

    A file of costs has a row a test: name, cost and, if wanted, price. Costs restrict what may be
    shown at once; prices are added to the loss.
    """
    usual = min(DEFAULT_TESTS, len(world.tests))
    if costs is None:
        if limit is not None:
            raise InvalidInput("--limit: needs costs to add up; give --costs FILE too")
        return AtMost(usual if tests is None else tests)
    found = read_named_numbers(costs, ("cost", "price"), world.tests)
    prices: float | np.ndarray[tuple[int], np.dtype[np.float64]] = 0.0
    if found["price"]:
        prices = np.array([found["price"].get(name, 0.0) for name in world.tests])
    if not found["cost"]:
        if limit is not None:
            raise InvalidInput(f"--limit: {costs} has prices but no column cost to add up")
        return AtMost(usual if tests is None else tests, price=prices)
    if tests is not None:
        raise InvalidInput("--tests: costs decide how many tests fit; leave it out, or --costs")
    if limit is None:
        raise InvalidInput("--limit: say what the tests of a case may cost together")
    absent = [name for name in world.tests if name not in found["cost"]]
    if absent:
        raise InvalidInput(f"{costs}: no cost for {', '.join(absent)}; add a row for each test")
    each = np.array([found["cost"][name] for name in world.tests])
    return Knapsack(each, limit, price=prices)
