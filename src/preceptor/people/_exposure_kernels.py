"""Compiled recursions for people whose errors are a function of exposure.

Legend: m (n,) exposure, f forgetting; a round with set s takes m_i to m_i + 1 if shown, else to (1
- f) m_i. Errors e_i(m): code 0 is first_i exp(-rate_i m), 1 is first_i (1 + m)^-rate_i, neither
below the share root_i; 2 is table[i] at the integer below. ends_i: after infinitely many showings.
The cost from some round on, if exposure differs from that of the schedule by w_i showings up (sign
0) or down (sign 1), is

    cost + Σ_i w_i lin[sign_i, i] + Σ_ij w_i w_j cross[sign_i + sign_j, i, j].

For tables lin and cross are differences over one showing, so without forgetting all of this is
exact; for smooth curves they are slopes. If all curves are smooth, up is minus down, and cross
holds only its first matrix.

Losses of one round are shared by all kinds whose errors are known. Legend: e (n,) errors, s a set,
S its k tests; a round costs least_s + |bend_s + F_s q|² with q = (Ωe)_S. Scratch: q (k,), R (k, n)
the rows F_s Ω[S,:], u (k,) the deviation itself.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import hot_jit, inline_jit, jit


@hot_jit
def round_loss(s, e, model, q):
    """Loss of set s given errors e; reads only the shown rows of Ω."""
    omega, members, sizes, least, bend, factor = model
    k = sizes[s]
    for j in range(k):
        i = members[s, j]
        product = 0.0
        for x in range(e.size):
            product += omega[i, x] * e[x]
        q[j] = product
    total = least[s]
    for r in range(k):
        deviation = bend[s, r]
        for j in range(k):
            deviation += factor[s, r, j] * q[j]
        total += deviation * deviation
    return total


@hot_jit
def round_rows(s, e, model, R, u):
    """R = F_s Ω[S,:] and u = bend_s + R e."""
    omega, members, sizes, _, bend, factor = model
    k = sizes[s]
    n = e.size
    for r in range(k):
        for x in range(n):
            R[r, x] = 0.0
        for j in range(k):
            f = factor[s, r, j]
            i = members[s, j]
            for x in range(n):
                R[r, x] += f * omega[i, x]
        deviation = bend[s, r]
        for x in range(n):
            deviation += R[r, x] * e[x]
        u[r] = deviation


@jit
def losses_of_all(positions, q, model, out):
    """out[p] = loss of the p-th of these sets, given q = Ωe (n,)."""
    members, sizes, least, bend, factor = model[1:]
    for p in range(positions.size):
        s = positions[p]
        k = sizes[s]
        total = least[s]
        for r in range(k):
            deviation = bend[s, r]
            for j in range(k):
                deviation += factor[s, r, j] * q[members[s, j]]
            total += deviation * deviation
        out[p] = total


_FAR = 1e15  # exposure that counts as infinite
_SMALL = 1e-14  # a tail is played until its weighted distance from its limit orbit is this small
_NEAR = 1e-4  # a distance that is enough where prices are approximate anyway


@jit
def errors_at(m, shift, curves, e):
    """Errors (n,) at exposure m + shift, or 0 where that is negative."""
    code, rate, root, first, ends, table = curves
    last = table.shape[1] - 1
    for i in range(m.size):
        exposure = max(m[i] + shift, 0.0)
        if exposure >= _FAR:
            e[i] = ends[i]
        elif code[i] == 2:
            e[i] = table[i, min(np.int64(exposure), last)]
        elif exposure == 0.0:
            e[i] = first[i]
        elif code[i] == 0:
            e[i] = first[i] * max(math.exp(-rate[i] * exposure), root[i])
        else:
            e[i] = first[i] * max(math.exp(-rate[i] * math.log1p(exposure)), root[i])


@jit
def slopes_at(m, e, curves, slopes):
    """Derivative of errors e with respect to exposure where curves are smooth; 0 on the floor."""
    code, rate, root, first = curves[:4]
    for i in range(m.size):
        slopes[i] = 0.0
        if code[i] != 2 and m[i] < _FAR and abs(e[i]) > root[i] * abs(first[i]):
            slopes[i] = -rate[i] * e[i]
            if code[i] == 1:
                slopes[i] /= 1.0 + m[i]


@hot_jit
def shows(s, i, members, sizes):
    """Whether test i is in set s."""
    for j in range(sizes[s]):
        if members[s, j] == i:
            return True
    return False


@hot_jit
def expose(s, m, keep, members, sizes, out):
    """Exposure after a round with s, whose members are sorted; `out` may be m itself."""
    next_shown = np.int64(0)
    for i in range(m.size):
        if next_shown < sizes[s] and members[s, next_shown] == i:
            out[i] = m[i] + 1.0
            next_shown += 1
        else:
            out[i] = keep * m[i]


@jit
def walk_exposures(x, keep, curves, model, states, losses):
    """Losses (T,) of a path, and exposure before each round (T+1, n) from the first of them."""
    members, sizes = model[1:3]
    q, e, m = np.empty(members.shape[1]), np.empty(states.shape[1]), states[0].copy()
    for t in range(x.size):
        errors_at(m, 0.0, curves, e)
        losses[t] = round_loss(x[t], e, model, q)
        expose(x[t], m, keep, members, sizes, m)
        for i in range(m.size):
            states[t + 1, i] = m[i]


@jit
def limit_orbit(word, keep, m, members, sizes, orbit):
    """Limit of the exposure (word, n) when the word is repeated forever, from m.

    One repetition takes m_i to share m_i + gain, with share < 1 unless the test is never hidden or
    nothing is forgotten; then exposure diverges, or stays if the test is never shown.
    """
    n = m.size
    gain = np.zeros(n)
    for t in range(word.size):
        expose(word[t], gain, keep, members, sizes, gain)
    for i in range(n):
        share = 1.0
        for t in range(word.size):
            if not shows(word[t], i, members, sizes):
                share *= keep
        if share < 1.0:
            orbit[0, i] = gain[i] / (1.0 - share)
        elif gain[i] > 0.0:
            orbit[0, i] = np.inf
        else:
            orbit[0, i] = m[i]
    for t in range(word.size - 1):
        expose(word[t], orbit[t], keep, members, sizes, orbit[t + 1])


@jit
def play_word(word, discount, keep, curves, model, m, record):
    """Cost of a word repeated forever from exposure m (updated in place).

    Played until its distance from the limit orbit is negligible; the orbit is a geometric sum.
    `record` (rounds, n), as far as it goes, is filled with the exposure before each round. Returns
    the cost and the rounds after which it was near its orbit.
    """
    members, sizes = model[1:3]
    first = curves[3]
    n = m.size
    length = word.size
    q = np.empty(members.shape[1])
    e = np.empty(n)
    orbit = np.empty((length, n))
    settled = np.empty((length, n))
    limit_orbit(word, keep, m, members, sizes, orbit)
    scale = 0.0
    cycle = 0.0
    far = 1.0
    for t in range(length):
        errors_at(orbit[t], 0.0, curves, settled[t])
        cost = round_loss(word[t], settled[t], model, q)
        cycle += far * cost
        far *= discount
    for i in range(n):
        scale = max(scale, abs(first[i]))
    total = 0.0
    weight = 1.0
    played = np.int64(0)
    near = np.int64(-1)
    while True:
        apart = 0.0
        for t in range(length):
            errors_at(m, 0.0, curves, e)
            if played < record.shape[0]:
                copy_into(record[played], m)
            for i in range(n):
                apart = max(apart, abs(e[i] - settled[t, i]))
            cost = round_loss(word[t], e, model, q)
            total += weight * cost
            expose(word[t], m, keep, members, sizes, m)
            weight *= discount
            played += 1
        if near < 0 and weight * apart <= _NEAR * scale:
            near = played
        if weight * apart <= _SMALL * scale:
            break
    return total + weight * cycle / (1.0 - far), near


@jit
def take_back(s, m, e, discount, keep, curves, model, lin, cross, R, u, work):
    """Update lin and cross to one round earlier, where s is shown at exposure m and errors e."""
    members, sizes = model[1:3]
    code = curves[0]
    n = m.size
    k = sizes[s]
    up, down, share, line = work[0], work[1], work[2], work[3]
    round_rows(s, e, model, R, u)
    slopes_at(m, e, curves, line)
    if cross.shape[0] == 3:
        errors_at(m, 1.0, curves, up)
        errors_at(m, -1.0, curves, down)
    for i in range(n):
        if code[i] == 2:
            up[i] -= e[i]
            down[i] -= e[i]
        else:
            up[i] = line[i]
            down[i] = -line[i]
    for i in range(n):
        share[i] = keep  # the exposure to hidden tests fades, and so do differences in it
    for j in range(k):
        share[members[s, j]] = 1.0
    for i in range(n):
        pull = 0.0
        for r in range(k):
            pull += u[r] * R[r, i]
        lin[0, i] = discount * share[i] * lin[0, i] + 2.0 * pull * up[i]
        lin[1, i] = discount * share[i] * lin[1, i] + 2.0 * pull * down[i]
        for j in range(n):
            line[j] = 0.0
        for r in range(k):
            f = R[r, i]
            for j in range(n):
                line[j] += f * R[r, j]
        shrunk = discount * share[i]
        more = up[i]
        for j in range(n):
            cross[0, i, j] = shrunk * share[j] * cross[0, i, j] + more * up[j] * line[j]
        if cross.shape[0] == 3:
            less = down[i]
            for j in range(n):
                cross[1, i, j] = shrunk * share[j] * cross[1, i, j] + more * down[j] * line[j]
            for j in range(n):
                cross[2, i, j] = shrunk * share[j] * cross[2, i, j] + less * down[j] * line[j]


@inline_jit
def apart(adjoint, n):
    """lin (2, n) and cross (1 or 3, n, n), which an adjoint holds in a row."""
    return adjoint[: 2 * n].reshape((2, n)), adjoint[2 * n :].reshape((-1, n, n))


@jit
def take_back_all(x, discount, keep, curves, model, states, adjoints):
    """Adjoints before each round of a path, from the last of them."""
    n, k = states.shape[1], model[1].shape[1]
    R, u = np.empty((k, n)), np.empty(k)
    work, e = np.empty((4, n)), np.empty(n)
    for t in range(x.size - 1, -1, -1):
        adjoints[t] = adjoints[t + 1]
        lin, cross = apart(adjoints[t], n)
        errors_at(states[t], 0.0, curves, e)
        take_back(x[t], states[t], e, discount, keep, curves, model, lin, cross, R, u, work)


@jit
def take_back_word(word, discount, keep, curves, model, m, record, adjoint):
    """Set an adjoint, given as 0, to that of a word repeated forever.

    `record` holds the exposure in its first rounds. After these it is taken to be on its limit
    orbit, where sums are geometric; m is the exposure there of tests whose orbit depends on the
    start.
    """
    members, sizes = model[1:3]
    n, k = m.size, members.shape[1]
    length = word.size
    R, u = np.empty((k, n)), np.empty(k)
    work, e = np.empty((4, n)), np.empty(n)
    lin, cross = apart(adjoint, n)
    orbit = np.empty((length, n))
    limit_orbit(word, keep, m, members, sizes, orbit)
    for t in range(length - 1, -1, -1):
        errors_at(orbit[t], 0.0, curves, e)
        take_back(word[t], orbit[t], e, discount, keep, curves, model, lin, cross, R, u, work)
    far = discount**length
    share = np.ones(n)
    for t in range(length):
        for i in range(n):
            if not shows(word[t], i, members, sizes):
                share[i] *= keep
    for i in range(n):
        lin[0, i] /= 1.0 - far * share[i]
        lin[1, i] /= 1.0 - far * share[i]
        for j in range(n):
            for c in range(cross.shape[0]):
                cross[c, i, j] /= 1.0 - far * share[i] * share[j]
    for t in range(record.shape[0] - 1, -1, -1):
        errors_at(record[t], 0.0, curves, e)
        take_back(
            word[t % length], record[t], e, discount, keep, curves, model, lin, cross, R, u, work
        )


@jit
def exposure_prices(positions, m, adjoint, discount, keep, curves, model, out):
    """out[p] = cost of the p-th set and what it changes in later rounds, against the last set.

    A test that only the new set shows gains exposure, one that only the last of the sets, the
    present one, shows loses it. Both are written for y_i = 1 if i is shown, so that a set takes k²
    operations in any case.
    """
    omega, members, sizes = model[:3]
    n = m.size
    lin, cross = apart(adjoint, n)
    present = positions[positions.size - 1]
    e, q, w = np.empty(n), np.empty(n), np.zeros(n)
    was = np.zeros(n, dtype=np.int64)
    for j in range(sizes[present]):
        was[members[present, j]] = 1
    later, other = np.empty(n), np.empty(n)
    now, then, slopes = np.empty(n), np.empty(n), np.empty(n)
    errors_at(m, 0.0, curves, e)
    expose(present, m, keep, members, sizes, later)
    for i in range(n):
        product = 0.0
        for j in range(n):
            product += omega[i, j] * e[j]
        q[i] = product
        other[i] = keep * m[i] if was[i] == 1 else m[i] + 1.0
        w[i] = abs(other[i] - later[i])
    if keep != 1.0:
        # Costs are closer to linear in errors than in exposure.
        errors_at(later, 0.0, curves, now)
        errors_at(other, 0.0, curves, then)
        slopes_at(later, now, curves, slopes)
        for i in range(n):
            if slopes[i] != 0.0:
                w[i] = abs((then[i] - now[i]) / slopes[i])
    linear = np.empty(n)
    square = np.empty((n, n))
    ahead = 0.0
    for i in range(n):
        sign = -1.0 if was[i] == 1 else 1.0
        own = w[i] * lin[was[i], i]
        with_present = 0.0
        for j in range(n):
            if cross.shape[0] == 1:
                both = cross[0, i, j] if was[i] == was[j] else -cross[0, i, j]
            elif was[i] == 1 and was[j] == 0:
                both = cross[1, j, i]
            else:
                both = cross[was[i] + was[j], i, j]
            both *= w[i] * w[j]
            square[i, j] = both * sign * (-1.0 if was[j] == 1 else 1.0)
            if was[j] == 1:
                with_present += both
        if was[i] == 1:
            ahead += own + with_present
        linear[i] = sign * (own + 2.0 * with_present)
    losses_of_all(positions, q, model, out)
    for p in range(positions.size):
        s = positions[p]
        change = 0.0
        for x in range(sizes[s]):
            i = members[s, x]
            row = linear[i] + square[i, i]
            for y in range(x):
                row += 2.0 * square[i, members[s, y]]
            change += row
        out[p] += discount * (ahead + change)
