"""A root of a covariance that keeps every digit, also between near copies.

Two tests whose correlation is 1 - 1e-12 differ by a variance of 2e-12, of which the subtraction
1 - ρ² in doubles keeps four digits. Here the whole decomposition is done with sixty decimal digits
and rounded once, at the end.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext

import numpy as np

from preceptor._base.values import FloatArray

_DIGITS = 60


def exact_root(covariance: FloatArray) -> FloatArray:
    """Upper triangular R (n, n) with R'R = Σ, each entry right to the last digit or so.

    Examples
    --------
    >>> exact_root(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    n = len(covariance)
    with localcontext(Context(prec=_DIGITS)):
        rows = [[Decimal(float(x)) for x in row] for row in covariance]
        root = [[Decimal(0)] * n for _ in range(n)]
        for i in range(n):
            pivot = rows[i][i] - sum((root[k][i] * root[k][i] for k in range(i)), Decimal(0))
            if pivot <= 0:
                raise np.linalg.LinAlgError("the covariance is not positive definite")
            root[i][i] = pivot.sqrt()
            for j in range(i + 1, n):
                shared = sum((root[k][i] * root[k][j] for k in range(i)), Decimal(0))
                root[i][j] = (rows[i][j] - shared) / root[i][i]
    return np.array([[float(x) for x in row] for row in root])
