"""How answers depend on the first weights, round by round, for many parameters at once.

Weights are h_t = T_t h_0 + c_t and answers x_t'h_t, so a round is a row x_t'T_t and an offset
x_t'c_t. Legend: filled (dials, rounds, n) what people have in mind, for each way to fill in;
shown (rounds, n), told (rounds,), outcomes (rounds,); points (points, parameters);
rows (dials, points, rounds, at least n) and offsets (dials, points, rounds) are filled in.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import jit

# Beyond this errors grow without end; such parameters are given up, with an offset of NaN.
_RUNAWAY = 1e6


@jit
def exposure_rows(filled, shown, told, gaps, truth, points, power, rows, offsets):
    """By showings. A point: speed, floor, fading per round if hidden, fading per day.

    After exposure m a share exp(-speed m), or (1 + m)^-speed if `power`, of the error is left, and
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
                kept = (1.0 - daily) ** gaps[t]
                for i in range(n):
                    exposure[i] *= kept
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
    """Delta rules. A point: rate, power of time by which it falls, share that leaks back.

    scale (n,): the step of each weight for a rate of 1; slopes (rounds,): by how much a surprise
    falls for each unit that the tests add up to, 1 where outcomes are numbers.
    """
    dials, rounds, n = filled.shape
    turn = np.empty((n, n))
    push = np.empty(n)
    row = np.empty(n)
    for d in range(dials):
        for p in range(points.shape[0]):
            rate, decay, leak = points[p, 0], points[p, 1], points[p, 2]
            turn[:] = 0.0
            push[:] = 0.0
            for i in range(n):
                turn[i, i] = 1.0
            learned = 0
            for t in range(rounds):
                x = filled[d, t]
                offset = 0.0
                row[:] = 0.0
                for i in range(n):
                    offset += x[i] * push[i]
                    for j in range(n):
                        row[j] += x[i] * turn[i, j]
                largest = abs(offset)
                for j in range(n):
                    rows[d, p, t, j] = row[j]
                    largest = max(largest, abs(row[j]))
                offsets[d, p, t] = offset
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
            turn[:] = 0.0
            unsure[:] = 0.0
            push[:] = 0.0
            for i in range(n):
                turn[i, i] = 1.0
                unsure[i, i] = prior
            for t in range(rounds):
                x = filled[d, t]
                offset = 0.0
                row[:] = 0.0
                for i in range(n):
                    offset += x[i] * push[i]
                    for j in range(n):
                        row[j] += x[i] * turn[i, j]
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
