"""The likeliest θ of answers with slips and of choices, for many cells and widths.

Legend: rows (cells, rounds, p), known (cells, rounds), answers (rounds,), log_widths (cells,
widths); theta (cells, p) is where to begin, and ends at the last width's likeliest θ; logs (cells,
widths) and bends (cells, p, p), minus the curvature of the log posterior at that θ, are filled in.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.jit import hot_jit, jit

# The log evidence is off by the square of what is left to climb.
_STEPS, _ENOUGH = 30, 3e-3
_SHORT = 0.3


@hot_jit
def t_terms(mean, answer, width, degrees):
    """Log density without its constant, slope, curvature, and safe curvature of one answer."""
    off = answer - mean
    squared = off * off
    wide = degrees * width * width
    safe = (degrees + 1.0) / (wide + squared)
    logs = -math.log(width) - 0.5 * (degrees + 1.0) * math.log1p(squared / wide)
    curvature = safe * (wide - squared) / (wide + squared)
    return logs, safe * off, curvature, safe


@hot_jit
def choice_terms(mean, answer, width):
    """The same of one choice, 0 or 1."""
    at = mean / width
    small = math.exp(-abs(at))
    sure = 1.0 / (1.0 + small) if at >= 0.0 else small / (1.0 + small)
    logs = answer * at - max(at, 0.0) - math.log1p(small)
    far = max(abs(at), 1e-6)
    # The parabola that touches the density on both sides of 0 and lies below it.
    safe = math.tanh(0.5 * far) / (2.0 * far) / (width * width)
    return logs, (answer - sure) / width, sure * (1.0 - sure) / (width * width), safe


@hot_jit
def factor(matrix):
    """Cholesky factor in place of the lower half; False if there is none."""
    size = matrix.shape[0]
    for j in range(size):
        left = matrix[j, j]
        for k in range(j):
            left -= matrix[j, k] * matrix[j, k]
        if not left > 1e-9:
            return False
        matrix[j, j] = math.sqrt(left)
        for i in range(j + 1, size):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / matrix[j, j]
    return True


@hot_jit
def solve(lower, right, answer):
    """Solve with a Cholesky factor; gives the largest entry of the answer."""
    size = right.size
    for i in range(size):
        total = right[i]
        for k in range(i):
            total -= lower[i, k] * answer[k]
        answer[i] = total / lower[i, i]
    largest = 0.0
    for i in range(size - 1, -1, -1):
        total = answer[i]
        for k in range(i + 1, size):
            total -= lower[k, i] * answer[k]
        answer[i] = total / lower[i, i]
        largest = max(largest, abs(answer[i]))
    return largest


@jit
def likeliest(choices, degrees, rows, known, answers, log_widths, theta, logs, bends):
    """Climb to the top at each width, beginning where the width before ended."""
    cells, rounds, size = rows.shape
    safe_bend = np.empty((size, size))
    true_bend = np.empty((size, size))
    pull = np.empty(size)
    move = np.empty(size)
    for c in range(cells):
        for s in range(log_widths.shape[1]):
            width = math.exp(log_widths[c, s])
            total = 0.0
            for step in range(_STEPS + 1):
                safe_bend[:] = 0.0
                true_bend[:] = 0.0
                total = 0.0
                for i in range(size):
                    safe_bend[i, i] = 1.0
                    true_bend[i, i] = 1.0
                    pull[i] = -theta[c, i]
                    total -= 0.5 * theta[c, i] * theta[c, i]
                for t in range(rounds):
                    mean = known[c, t]
                    for i in range(size):
                        mean += rows[c, t, i] * theta[c, i]
                    if choices:
                        log, slope, curvature, safe = choice_terms(mean, answers[t], width)
                    else:
                        log, slope, curvature, safe = t_terms(mean, answers[t], width, degrees)
                    total += log
                    for i in range(size):
                        x = rows[c, t, i]
                        pull[i] += slope * x
                        for j in range(i + 1):
                            both = x * rows[c, t, j]
                            safe_bend[i, j] += safe * both
                            true_bend[i, j] += curvature * both
                for i in range(size):
                    for j in range(i):
                        true_bend[j, i] = true_bend[i, j]
                        safe_bend[j, i] = safe_bend[i, j]
                bends[c] = true_bend
                sound = factor(true_bend)
                if not sound:
                    # Slips that balance each other leave a flat top.
                    bends[c] = safe_bend
                    true_bend[:] = safe_bend
                    factor(true_bend)
                # Newton's step where it is short; a long one may overshoot, and the safe one never.
                far = solve(true_bend, pull, move)
                if far > _SHORT:
                    factor(safe_bend)
                    far = solve(safe_bend, pull, move)
                if far < _ENOUGH or step == _STEPS:
                    break
                for i in range(size):
                    theta[c, i] += move[i]
            for i in range(size):
                total -= math.log(true_bend[i, i])
            logs[c, s] = total
