"""Every set one after the other, without a list: kernels against lists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.planning._bound_kernels import beaten_in_row, stream_from
from tests.doors import door
from tests.strategies import covariance

beaten_in_row = door(beaten_in_row)


def explained_one_by_one(matrix, known, cost, limit, most, price):
    """For each size, the most that a set of so many tests explains, less its prices."""
    best = np.full(most + 1, -np.inf)
    for size in range(most + 1):
        for chosen in itertools.combinations(range(len(known)), size):
            if cost[list(chosen)].sum() > limit:
                continue
            s = list(chosen)
            gained = known[s] @ np.linalg.solve(matrix[np.ix_(s, s)], known[s]) if s else 0.0
            best[size] = max(best[size], gained - price[list(chosen)].sum())
    return best


@pytest.mark.parametrize("most", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("limit", [1.1, 3.0, 4.5, 99.0])
def test_as_one_set_after_the_other(most, limit, rng):
    tests = 7
    matrix = covariance(rng, tests)
    known = matrix @ rng.standard_normal(tests)
    cost, price = np.sort(rng.uniform(0.5, 2.0, tests)), rng.uniform(0.0, 0.3, tests)
    depths = max(most, 2)
    M, B = np.zeros((depths, tests, tests)), np.zeros((depths, tests))
    D = np.zeros((depths, tests))
    M[0], B[0], D[0] = matrix, known, np.diag(matrix)
    best = np.append(0.0, np.full(most, -np.inf))
    for first in range(tests):
        stream_from(first, M, B, D, cost, limit, most, price, best)
    assert_allclose(best, explained_one_by_one(matrix, known, cost, limit, most, price))


def test_a_row_counts_what_is_better(rng):
    row, above, B, price = rng.standard_normal((4, 9))
    D = rng.uniform(2.0, 3.0, 9)
    m = row - 0.3 * above
    expected = np.sum((B - 0.2 * m) ** 2 / (D - 0.01 * m * m) > 0.1 + price)
    assert beaten_in_row(row, above, 0.3, B, D, 0.2, 0.01, 0.1, price) == expected
