"""Every set one after the other, without a list: kernels against lists."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.planning._stream_kernels import (
    beaten_in_row,
    own_rows,
    stream_from,
    stream_groups_from,
)
from tests.doors import door
from tests.strategies import covariance

beaten_in_row, own_rows = door(beaten_in_row), door(own_rows)


def explained_one_by_one(matrix, known, groups, cost, limit, most, price):
    """For each size, the most that a set of so many tests explains, less its prices."""
    best = np.full(most + 1, -np.inf)
    for size in range(most + 1):
        for chosen in itertools.combinations(range(len(groups)), size):
            if cost[list(chosen)].sum() > limit:
                continue
            s = [i for test in chosen for i in groups[test]]
            gained = known[s] @ np.linalg.solve(matrix[np.ix_(s, s)], known[s]) if s else 0.0
            best[size] = max(best[size], gained - price[list(chosen)].sum())
    return best


@pytest.mark.parametrize("most", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("limit", [1.1, 3.0, 4.5, 99.0])
@pytest.mark.parametrize("widths", [(1,) * 7, (1, 3, 1, 2, 1, 2)], ids=["columns", "groups"])
def test_as_one_set_after_the_other(most, limit, widths, rng):
    columns, tests = sum(widths), len(widths)
    start = np.append(0, np.cumsum(widths))
    groups = [range(start[t], start[t + 1]) for t in range(tests)]
    matrix = covariance(rng, columns)
    known = matrix @ rng.standard_normal(columns)
    cost, price = np.sort(rng.uniform(0.5, 2.0, tests)), rng.uniform(0.0, 0.3, tests)
    depths = max(most, 2)
    M, B = np.zeros((depths, columns, columns)), np.zeros((depths, columns))
    D = np.zeros((depths, columns))
    M[0], B[0], D[0] = matrix, known, np.diag(matrix)
    best = np.append(0.0, np.full(most, -np.inf))
    for first in range(tests):
        if columns == tests:
            stream_from(first, M, B, D, cost, limit, most, price, best)
        else:
            stream_groups_from(first, start, M, B, cost, limit, most, price, best)
    assert_allclose(best, explained_one_by_one(matrix, known, groups, cost, limit, most, price))


def test_a_row_counts_what_is_better(rng):
    row, above, B, price = rng.standard_normal((4, 9))
    D = rng.uniform(2.0, 3.0, 9)
    m = row - 0.3 * above
    expected = np.sum((B - 0.2 * m) ** 2 / (D - 0.01 * m * m) > 0.1 + price)
    assert beaten_in_row(row, above, 0.3, B, D, 0.2, 0.01, 0.1, price) == expected


def test_rows_of_a_group_are_those_of_a_cholesky_factor(rng):
    matrix, known = covariance(rng, 6), rng.standard_normal(6)
    rows, y = np.zeros((6, 6)), np.zeros(6)
    gained = own_rows(0, np.array([0, 2, 6]), 6, matrix, known, rows, y)
    factor = np.linalg.cholesky(matrix)
    assert_allclose(np.triu(rows[:2]), factor[:, :2].T, atol=1e-12)
    assert_allclose(y[:2], np.linalg.solve(factor[:2, :2], known[:2]))
    assert_allclose(gained, y[:2] @ y[:2])
