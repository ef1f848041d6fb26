"""Moments of steps that are divided by their length: normalised least mean squares.

A surprise moves the weights by x/q, q = c + x'x, with Gaussian results x. What is expected of such
a person needs E[xx'/q], E[xx'/q²] and E[xx'Wxx'/q²]. With 1/q = ∫ e^{-sq} ds and
1/q² = ∫ s e^{-sq} ds they become integrals over one number s: under the weight e^{-s x'x} results
stay Gaussian, independent in the eigenbasis of their covariance, with variances λ/(1 + 2sλ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput

# Steps of log s. The integrands are analytic within π/2 of the real line, so the trapezoidal rule
# is off by about e^(-π²/step) = 2e-20 of their size.
_STEP = 0.22
# What is cut off on the left, where integrands grow like s or faster, and on the right, like e^-cs.
_SMALLEST, _LARGEST = 1e-18, 45.0


@dataclass(frozen=True, eq=False)
class NormalisedMoments:
    """Moments of Gaussian results x of k tests, q = c + x'x.

    Parameters
    ----------
    first
        E[xx'/q], shape (k, k).
    second
        E[xx'/q²], shape (k, k).
    fourth
        The map W -> E[xx'Wxx'/q²], shape (k², k²), for matrices that are written row by row.
    """

    first: FloatArray
    second: FloatArray
    fourth: FloatArray


def normalised_moments(covariance: FloatArray, constant: float) -> NormalisedMoments:
    """Moments of x/(constant + x'x) for x ~ N(0, covariance), to about 1e-13 of their size.

    Parameters
    ----------
    covariance
        Of the shown tests, shape (k, k), positive semidefinite.
    constant
        What is added to the squared length, positive.

    Returns
    -------
    NormalisedMoments
        Worked out once for each set of tests.

    Raises
    ------
    InvalidInput
        The constant is not positive.

    Examples
    --------
    >>> moments = normalised_moments(np.eye(1), 1.0)
    >>> moments.first.round(4), moments.second.round(4)
    (array([[0.3443]]), array([[0.1557]]))
    """
    if not constant > 0.0:
        raise InvalidInput(f"constant: {constant!r}, must be positive")
    variances, basis = np.linalg.eigh(covariance)
    variances = np.maximum(variances, 0.0)
    size = variances.size
    # nodes s = e^τ, and e^{-cs} Π (1 + 2sλ)^(-1/2) ds at each of them
    left = np.log(_SMALLEST / (constant + variances.sum()))
    right = np.log(_LARGEST / constant)
    nodes = np.exp(np.arange(left, right + _STEP, _STEP))
    tilt = 1.0 + 2.0 * nodes[:, None] * variances
    mass = _STEP * nodes * np.exp(-constant * nodes - 0.5 * np.log(tilt).sum(axis=1))
    tilted = variances / tilt  # (nodes, k)
    first = mass @ tilted
    second = (mass * nodes) @ tilted
    pairs = np.einsum("s,si,sj->ij", mass * nodes, tilted, tilted)
    # Isserlis: E[z_i z_j z_m z_l / q²] is `pairs` for every way to pair up equal indices.
    one = np.eye(size)
    four = (
        np.einsum("ij,ml,im->iljm", one, one, pairs)
        + np.einsum("im,jl,ij->iljm", one, one, pairs)
        + np.einsum("il,jm,ij->iljm", one, one, pairs)
    )
    turn = np.kron(basis, basis)
    return NormalisedMoments(
        np.asarray((basis * first) @ basis.T),
        np.asarray((basis * second) @ basis.T),
        np.asarray(turn @ four.reshape(size * size, size * size) @ turn.T),
    )
