"""Imputation learned from a sample: hidden tests as a polynomial of the shown ones."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from preceptor._base.values import FloatArray

DEGREES = {"linear": 1, "cubic": 3}


def impute(features: FloatArray, shown: tuple[int, ...], degree: int) -> FloatArray:
    """Fill in hidden columns (cases, n) by least squares; shown columns stay as they are.

    The regressors are 1 and all products of up to `degree` shown tests.
    """
    design = polynomial(features[:, list(shown)], degree)
    hidden = [i for i in range(features.shape[1]) if i not in shown]
    filled = features.copy()
    if hidden:
        weights, *_ = np.linalg.lstsq(design, features[:, hidden], rcond=None)
        filled[:, hidden] = design @ weights
    return filled


def polynomial(columns: FloatArray, degree: int) -> FloatArray:
    """Columns 1, x_i, x_i x_j, ... up to total `degree`."""
    cases, width = columns.shape
    terms = [np.ones(cases)]
    for order in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(width), order):
            terms.append(np.prod(columns[:, list(chosen)], axis=1))
    return np.stack(terms, axis=1)
