"""Compiled: what yes-or-no answers cost, read off a surface (`surfaces.py`).

Legend: c covariance of the person's score with the true one, s² its variance. The surface is over
c/s and, for decisions, theta/s, for probabilities s/(1 + s). numbers: total variance, theta,
whether answers are decisions, what a score costs that never moves; the first place on each axis and
places per unit of it, the last place on each; whether costs were divided by (1 + s)².
"""

from __future__ import annotations

import math

from preceptor._base.jit import inner_jit

# A score whose variance is a smaller share of all there is does not move, but for rounding.
_STILL = 1e-14

# Slopes of scores that vary less than this are taken where they do: a decision jumps at 0.
_LEAST_VARIANCE = 1e-4


@inner_jit
def on_surface(surface, x, y):
    """A cubic in each of two directions, cell by cell: surface is (rows, columns, 16)."""
    i, j = min(int(x), surface.shape[0] - 1), min(int(y), surface.shape[1] - 1)
    s, t = x - i, y - j
    c = surface[i, j]
    c0 = ((c[12] * s + c[8]) * s + c[4]) * s + c[0]
    c1 = ((c[13] * s + c[9]) * s + c[5]) * s + c[1]
    c2 = ((c[14] * s + c[10]) * s + c[6]) * s + c[2]
    c3 = ((c[15] * s + c[11]) * s + c[7]) * s + c[3]
    return ((c3 * t + c2) * t + c1) * t + c0


@inner_jit
def slopes_on_surface(surface, x, y):
    """The same surface and its two slopes, per place along x and along y."""
    i, j = min(int(x), surface.shape[0] - 1), min(int(y), surface.shape[1] - 1)
    s, t = x - i, y - j
    c = surface[i, j]
    value, along_x, along_y = 0.0, 0.0, 0.0
    for q in range(3, -1, -1):
        row = ((c[12 + q] * s + c[8 + q]) * s + c[4 + q]) * s + c[q]
        turned = (3.0 * c[12 + q] * s + 2.0 * c[8 + q]) * s + c[4 + q]
        along_y = along_y * t + value
        value = value * t + row
        along_x = along_x * t + turned
    return value, along_x, along_y


@inner_jit
def pair_charges(numbers, surface, x, y, out):
    """What answers cost with covariances x and variances y; both are overwritten.

    Where on the surface comes first, in a loop of its own, because it can be vectorised.
    """
    theta, low, high = numbers[1], numbers[4], numbers[6]
    wide, tall, last, top = numbers[5], numbers[7], numbers[8], numbers[9]
    decides = numbers[2] > 0.0
    still = _STILL * numbers[0]
    for k in range(out.size):
        variance = y[k]
        scale = 1.0 / math.sqrt(max(variance, still))
        second = theta * scale if decides else 1.0 / (1.0 + scale)
        place = min(max((x[k] * scale - low) * wide, 0.0), last)
        x[k] = -1.0 if variance < still else place
        y[k] = min(max((second - high) * tall, 0.0), top)
    for k in range(out.size):
        out[k] = numbers[3] if x[k] < 0.0 else on_surface(surface, x[k], y[k])
    if numbers[10] > 0.0:
        for k in range(out.size):
            if x[k] >= 0.0:
                left = 1.0 - (high + y[k] / tall)
                out[k] /= left * left


@inner_jit
def pair_charge(numbers, surface, shared, variance):
    """What answers cost with one covariance and variance."""
    if variance < _STILL * numbers[0]:
        return numbers[3]
    scale = 1.0 / math.sqrt(variance)
    second = numbers[1] * scale if numbers[2] > 0.0 else 1.0 / (1.0 + scale)
    x = min(max((shared * scale - numbers[4]) * numbers[5], 0.0), numbers[8])
    y = min(max((second - numbers[6]) * numbers[7], 0.0), numbers[9])
    value = on_surface(surface, x, y)
    if numbers[10] > 0.0:
        left = 1.0 - (numbers[6] + y / numbers[7])
        value /= left * left
    return value


@inner_jit
def pair_slopes(numbers, surface, shared, variance):
    """`pair_charge`'s slopes: per unit of the covariance, and per unit of the variance."""
    variance = max(variance, _LEAST_VARIANCE)
    deviation = math.sqrt(variance)
    cross = shared / deviation
    decides = numbers[2] > 0.0
    second = numbers[1] / deviation if decides else deviation / (1.0 + deviation)
    x = (cross - numbers[4]) * numbers[5]
    y = (second - numbers[6]) * numbers[7]
    inside_x, inside_y = min(max(x, 0.0), numbers[8]), min(max(y, 0.0), numbers[9])
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
    if numbers[10] > 0.0:
        grown = 1.0 + deviation
        by_shared *= grown * grown
        by_variance = by_variance * grown * grown + value * grown / deviation
    return by_shared, by_variance
