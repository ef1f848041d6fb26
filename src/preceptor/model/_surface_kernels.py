"""Compiled: what yes-or-no answers cost, read off a surface of B-splines (`surfaces.py`)."""

from __future__ import annotations

import math

from preceptor._base.jit import jit

# Slopes of scores that vary less than this are taken where they do: a decision jumps at 0.
_LEAST_VARIANCE = 1e-4


@jit
def on_surface(surface, x, y):
    """A tensor product of cubic B-splines with knots at all whole numbers, at (x, y).

    Coefficients (rows, columns) belong to knots from -1 on: x lies in 0..rows-3, y in
    0..columns-3.
    """
    i = min(int(x), surface.shape[0] - 4)
    j = min(int(y), surface.shape[1] - 4)
    s, t = x - i, y - j
    s1, t1 = 1.0 - s, 1.0 - t
    a0, a3 = s1 * s1 * s1, s * s * s
    a1, a2 = 4.0 - 3.0 * s * s * (2.0 - s), 4.0 - 3.0 * s1 * s1 * (2.0 - s1)
    b0, b3 = t1 * t1 * t1, t * t * t
    b1, b2 = 4.0 - 3.0 * t * t * (2.0 - t), 4.0 - 3.0 * t1 * t1 * (2.0 - t1)
    r0, r1, r2, r3 = surface[i], surface[i + 1], surface[i + 2], surface[i + 3]
    total = a0 * (b0 * r0[j] + b1 * r0[j + 1] + b2 * r0[j + 2] + b3 * r0[j + 3])
    total += a1 * (b0 * r1[j] + b1 * r1[j + 1] + b2 * r1[j + 2] + b3 * r1[j + 3])
    total += a2 * (b0 * r2[j] + b1 * r2[j + 1] + b2 * r2[j + 2] + b3 * r2[j + 3])
    total += a3 * (b0 * r3[j] + b1 * r3[j + 1] + b2 * r3[j + 2] + b3 * r3[j + 3])
    return total * (1.0 / 36.0)


@jit
def slopes_on_surface(surface, x, y):
    """The same surface and its two slopes, per place along x and along y."""
    i = min(int(x), surface.shape[0] - 4)
    j = min(int(y), surface.shape[1] - 4)
    s, t = x - i, y - j
    s1, t1 = 1.0 - s, 1.0 - t
    a = (s1 * s1 * s1, 4.0 - 3.0 * s * s * (2.0 - s), 4.0 - 3.0 * s1 * s1 * (2.0 - s1), s * s * s)
    b = (t1 * t1 * t1, 4.0 - 3.0 * t * t * (2.0 - t), 4.0 - 3.0 * t1 * t1 * (2.0 - t1), t * t * t)
    da = (-3.0 * s1 * s1, -3.0 * s * (4.0 - 3.0 * s), 3.0 * s1 * (4.0 - 3.0 * s1), 3.0 * s * s)
    db = (-3.0 * t1 * t1, -3.0 * t * (4.0 - 3.0 * t), 3.0 * t1 * (4.0 - 3.0 * t1), 3.0 * t * t)
    value, along_x, along_y = 0.0, 0.0, 0.0
    for k in range(4):
        row = surface[i + k]
        across = b[0] * row[j] + b[1] * row[j + 1] + b[2] * row[j + 2] + b[3] * row[j + 3]
        turned = db[0] * row[j] + db[1] * row[j + 1] + db[2] * row[j + 2] + db[3] * row[j + 3]
        value += a[k] * across
        along_x += da[k] * across
        along_y += a[k] * turned
    return value / 36.0, along_x / 36.0, along_y / 36.0


@jit
def pair_charge(numbers, surface, shared, variance):
    """What answers cost whose score has this covariance with the true one, and this variance s².

    The surface is over c/s and, for decisions, theta/s, for probabilities s/(1 + s). numbers: total
    variance, theta, whether answers are decisions, what a score costs that never moves; the first
    place on each axis and places per unit of it, the last place on the second; whether costs were
    divided by (1 + s)².
    """
    if variance < 1e-280:
        return numbers[3]
    scale = 1.0 / math.sqrt(variance)
    second = numbers[1] * scale if numbers[2] > 0.0 else 1.0 / (1.0 + scale)
    x = min(max((shared * scale - numbers[4]) * numbers[5], 0.0), surface.shape[0] - 3.0)
    y = min(max((second - numbers[6]) * numbers[7], 0.0), numbers[8])
    value = on_surface(surface, x, y)
    if numbers[9] > 0.0:
        grown = 1.0 + 1.0 / scale
        value *= grown * grown
    return value


@jit
def pair_slopes(numbers, surface, shared, variance):
    """`pair_charge`'s slopes: per unit of the covariance, and per unit of the variance."""
    variance = max(variance, _LEAST_VARIANCE)
    deviation = math.sqrt(variance)
    cross = shared / deviation
    decides = numbers[2] > 0.0
    second = numbers[1] / deviation if decides else deviation / (1.0 + deviation)
    x = (cross - numbers[4]) * numbers[5]
    y = (second - numbers[6]) * numbers[7]
    inside_x, inside_y = min(max(x, 0.0), surface.shape[0] - 3.0), min(max(y, 0.0), numbers[8])
    value, along_x, along_y = slopes_on_surface(surface, inside_x, inside_y)
    # Beyond the surface's edges costs are taken to stay as they are.
    by_cross = along_x * numbers[5] if x == inside_x else 0.0
    by_second = along_y * numbers[7] if y == inside_y else 0.0
    if decides:
        turned = -0.5 * second / variance
    else:
        turned = 0.5 / (deviation * (1.0 + deviation) * (1.0 + deviation))
    by_shared = by_cross / deviation
    by_variance = by_second * turned - 0.5 * by_cross * cross / variance
    if numbers[9] > 0.0:
        grown = 1.0 + deviation
        by_shared *= grown * grown
        by_variance = by_variance * grown * grown + value * grown / deviation
    return by_shared, by_variance
