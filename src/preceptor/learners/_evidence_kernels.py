"""How answers depend on the first weights, round by round, for many parameters at once.

Weights are h_t = T_t h_0 + c_t and answers x_t'h_t, so a round is a row x_t'T_t and an offset
x_t'c_t. Legend: filled (dials, rounds, n) all tests, with hidden ones imputed, for each κ; shown
(rounds, n), told (rounds,), outcomes (rounds,); points (points, parameters); rows (dials, points,
rounds, at least n) and offsets (dials, points, rounds) are filled in.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.jit import hot_jit, jit

# Beyond this, errors diverge; such parameters are given up, with an offset of NaN.
_RUNAWAY = 1e6


@hot_jit
def answer_row(x, turn, push, row):
    """Fill row (n,) with x'turn, and return x'push."""
    offset = 0.0
    row[:] = 0.0
    for i in range(x.size):
        offset += x[i] * push[i]
        for j in range(x.size):
            row[j] += x[i] * turn[i, j]
    return offset


@jit
def exposure_rows(filled, shown, told, gaps, truth, points, power, rows, offsets):
    """By showings. A point: speed, floor, fading per round if hidden, fading per day.

    After exposure m a share exp(-speed m), or (1 + m)^-speed if `power`, of the error remains, and
    never less than the floor.
    """
    dials, rounds, n = filled.shape
    exposure = np.empty(n)
    left = np.empty(n)
    for p in range(points.shape[0]):
        speed, floor, fading, daily = points[p, 0], points[p, 1], points[p, 2], points[p, 3]
        exposure[:] = 0.0
        for t in range(rounds):
            if daily > 0.0 and gaps[t] > 0.0:
                exposure *= (1.0 - daily) ** gaps[t]
            for i in range(n):
                if power:
                    share = (1.0 + exposure[i]) ** -speed
                else:
                    share = np.exp(-speed * exposure[i])
                left[i] = max(share, floor)
            for d in range(dials):
                offset = 0.0
                for i in range(n):
                    x = filled[d, t, i]
                    rows[d, p, t, i] = x * left[i]
                    offset += x * truth[i] * (1.0 - left[i])
                offsets[d, p, t] = offset
            if told[t]:
                for i in range(n):
                    if shown[t, i]:
                        exposure[i] += 1.0
                    else:
                        exposure[i] *= 1.0 - fading


@jit
def surprise_rows(filled, shown, told, outcomes, slopes, scale, points, rows, offsets):
    """Delta rules. A point: rate, exponent of its decay over time, share that leaks back.

    scale (n,): the step of each weight for a rate of 1; slopes (rounds,): by how much a surprise
    falls per unit of the weighted sum of tests, 1 where outcomes are numbers.
    """
    dials, rounds, n = filled.shape
    turn = np.empty((n, n))
    push = np.empty(n)
    row = np.empty(n)
    for d in range(dials):
        for p in range(points.shape[0]):
            rate, decay, leak = points[p, 0], points[p, 1], points[p, 2]
            turn[:] = np.eye(n)
            push[:] = 0.0
            learned = 0
            for t in range(rounds):
                x = filled[d, t]
                offset = answer_row(x, turn, push, row)
                offsets[d, p, t] = offset
                largest = abs(offset)
                for j in range(n):
                    rows[d, p, t, j] = row[j]
                    largest = max(largest, abs(row[j]))
                if not largest < _RUNAWAY:
                    rows[d, p, :, :n] = 0.0
                    offsets[d, p] = np.nan
                    break
                if not told[t]:
                    continue
                step = rate * (1.0 + learned) ** -decay if decay > 0.0 else rate
                learned += 1
                surprise = outcomes[t] - slopes[t] * offset
                for i in range(n):
                    if shown[t, i]:
                        move = step * scale[i] * x[i]
                        push[i] += move * surprise
                        for j in range(n):
                            turn[i, j] -= move * slopes[t] * row[j]
                if leak > 0.0:
                    for i in range(n):
                        push[i] *= 1.0 - leak
                        for j in range(n):
                            turn[i, j] *= 1.0 - leak
                        turn[i, i] += leak


@jit
def certainty_rows(filled, told, outcomes, scale, points, rows, offsets):
    """Bayesian regression. A point: prior variance, and drift, both over the noise variance.

    Only these ratios matter to how weights move. scale (n,): drift of each weight for a drift of 1.
    """
    dials, rounds, n = filled.shape
    turn = np.empty((n, n))
    push = np.empty(n)
    row = np.empty(n)
    unsure = np.empty((n, n))
    towards = np.empty(n)
    for d in range(dials):
        for p in range(points.shape[0]):
            prior, drift = points[p, 0], points[p, 1]
            turn[:] = np.eye(n)
            unsure[:] = prior * np.eye(n)
            push[:] = 0.0
            for t in range(rounds):
                x = filled[d, t]
                offset = answer_row(x, turn, push, row)
                for j in range(n):
                    rows[d, p, t, j] = row[j]
                offsets[d, p, t] = offset
                if not told[t]:
                    continue
                spread = 1.0
                for i in range(n):
                    total = 0.0
                    for j in range(n):
                        total += unsure[i, j] * x[j]
                    towards[i] = total
                    spread += x[i] * total
                surprise = outcomes[t] - offset
                for i in range(n):
                    gain = towards[i] / spread
                    push[i] += gain * surprise
                    for j in range(n):
                        turn[i, j] -= gain * row[j]
                        unsure[i, j] -= gain * towards[j]
                    unsure[i, i] += drift * scale[i]


# --- The most likely θ of answers with slips and of choices, for many cells and widths -------
#
# Legend: rows (cells, rounds, p), known (cells, rounds), answers (rounds,), log_widths (cells,
# widths); theta (cells, p) is the start, and then the last width's most likely θ; logs (cells,
# widths) and bends (cells, p, p), minus the curvature of the log posterior at that θ, are filled
# in.

# Most Newton steps, and the step at which to stop: the log evidence is off by its square.
_STEPS, _ENOUGH = 30, 3e-3
# Longer Newton steps may overshoot where slips make the density bumpy.
_SHORT = 0.3
_HALF_ROOT, _DENSITY_AT_0 = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)


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
    side = 2.0 * answer - 1.0
    z = side * mean / width
    if z > -20.0:
        chance = 0.5 * math.erfc(-z * _HALF_ROOT)
        logs = math.log(chance)
        ratio = math.exp(-0.5 * z * z) * _DENSITY_AT_0 / chance
    else:
        # Mills' ratio, of which the exact quotient would underflow.
        tail = 1.0 - 1.0 / (z * z) + 3.0 / (z * z * z * z)
        logs = -0.5 * z * z + math.log(_DENSITY_AT_0 * tail / -z)
        ratio = -z / tail
    curvature = ratio * (z + ratio) / (width * width)
    return logs, side * ratio / width, curvature, curvature


@hot_jit
def factor(matrix):
    """Replace the lower half by its Cholesky factor; return False if there is none."""
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
    """Solve with a Cholesky factor; return the largest entry of the answer."""
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
    """Maximise at each width, starting from the optimum of the previous width."""
    cells, rounds, size = rows.shape
    safe_bend = np.empty((size, size))
    true_bend = np.empty((size, size))
    pull = np.empty(size)
    move = np.empty(size)
    for c in range(cells):
        for s in range(log_widths.shape[1]):
            width = math.exp(log_widths[c, s])
            total, before = 0.0, -np.inf
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
                if choices and total < before and step < _STEPS:
                    # Choices have a concave log probability: halfway back is uphill in the end.
                    for i in range(size):
                        move[i] *= 0.5
                        theta[c, i] -= move[i]
                    continue
                before = total
                for i in range(size):
                    for j in range(i):
                        true_bend[j, i] = true_bend[i, j]
                        safe_bend[j, i] = safe_bend[i, j]
                bends[c] = true_bend
                if not factor(true_bend):
                    # Slips that balance each other leave a flat top.
                    bends[c] = safe_bend
                    true_bend[:] = safe_bend
                    factor(true_bend)
                # The safe step never overshoots.
                far = solve(true_bend, pull, move)
                if far > _SHORT and not choices:
                    factor(safe_bend)
                    far = solve(safe_bend, pull, move)
                if far < _ENOUGH or step == _STEPS:
                    break
                for i in range(size):
                    theta[c, i] += move[i]
            for i in range(size):
                total -= math.log(true_bend[i, i])
            logs[c, s] = total
