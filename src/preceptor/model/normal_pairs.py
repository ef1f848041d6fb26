"""P(U < u and V < v) for two standard normals with correlation r, by Owen's T function."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray


def both_below(u: npt.ArrayLike, v: npt.ArrayLike, r: npt.ArrayLike) -> FloatArray:
    """P(U < u, V < v) elementwise, for |r| < 1; u and v may be infinite.

    Parameters
    ----------
    u, v
        Limits, any shapes that go together.
    r
        Correlation of the two, strictly between -1 and 1.

    Returns
    -------
    array
        Probabilities, good to about 1e-15.

    Examples
    --------
    >>> float(both_below(0.0, 0.0, 0.0))
    0.25
    """
    from scipy.special import ndtr

    first, second, rho = np.broadcast_arrays(
        *(np.asarray(each, dtype=np.float64) for each in (u, v, r))
    )
    left = np.sqrt((1.0 - rho) * (1.0 + rho))
    both = 0.5 * (ndtr(first) + ndtr(second))
    both = both - _beside(first, second, rho, left) - _beside(second, first, rho, left)
    signs = np.sign(first) * np.sign(second)
    apart = (signs < 0.0) | ((signs == 0.0) & (np.sign(first) + np.sign(second) < 0.0))
    both = both - 0.5 * apart
    # At the origin both terms above are limits along different ways; the closed form is short.
    origin = (first == 0.0) & (second == 0.0)
    if np.any(origin):
        both = np.where(origin, 0.25 + np.arcsin(rho) / (2.0 * math.pi), both)
    sure = np.isinf(first) | np.isinf(second)
    if np.any(sure):
        both = np.where(sure, np.minimum(ndtr(first), ndtr(second)), both)
    return np.asarray(np.clip(both, 0.0, 1.0))


def _beside(u: FloatArray, v: FloatArray, r: FloatArray, left: FloatArray) -> FloatArray:
    """T(u, (v/u - r)/sqrt(1 - r²)), with its limits where u is 0 or infinite."""
    from scipy.special import owens_t

    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (v / u - r) / left
    # T(0, a) is arctan(a)/2π: a quarter with the sign of v if a is infinite.
    slope = np.where(u == 0.0, np.copysign(np.inf, v), slope)
    slope = np.where(np.isnan(slope), 0.0, slope)
    return np.asarray(owens_t(np.where(np.isinf(u), 0.0, u), slope))
