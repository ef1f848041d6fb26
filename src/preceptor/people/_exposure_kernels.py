"""Compiled recursions for people whose errors follow from how often each test was shown.

Legend: m (n,) exposure, f forgetting; a round with set s takes m_i to m_i + 1 if shown, else to
(1 - f) m_i. Errors e_i(m): code 0 is first_i exp(-rate_i m), 1 is first_i (1 + m)^-rate_i, neither
below the share root_i; 2 is read off table[i] at the whole number below. ends_i: after infinitely
many showings. What everything from some round on costs, if exposures differ from those that were
laid by w_i showings up (sign 0) or down (sign 1), is

    togo + Σ_i w_i lin[sign_i, i] + Σ_ij w_i w_j cross[sign_i + sign_j, i, j].

For tables lin and cross are differences over one whole showing, so without forgetting all of this
is exact; for smooth curves they are slopes. If all are, up is minus down, and cross holds its first
matrix only.
"""

from __future__ import annotations

import math

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import hot_jit, jit
from preceptor.people._deviation_kernels import losses_of_all, round_loss, round_rows

_FAR = 1e15  # exposures that stand for infinitely many
_SMALL = 1e-14  # a tail is played until what it still differs from its orbit weighs this little
_NEAR = 1e-4  # and this little is enough where prices are approximate anyway


@jit
def errors_at(m, shift, code, rate, root, first, ends, table, e):
    """Errors (n,) after exposures m + shift, or after none where that is negative."""
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
def slopes_at(m, e, code, rate, root, first, slopes):
    """Change of errors e per unit of exposure where curves are smooth; 0 on the floor."""
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
    """Exposures after a round with s, whose members rise; `out` may be m itself."""
    next_shown = np.int64(0)
    for i in range(m.size):
        if next_shown < sizes[s] and members[s, next_shown] == i:
            out[i] = m[i] + 1.0
            next_shown += 1
        else:
            out[i] = keep * m[i]


@jit
def walk_exposures(
    x, since, discount, keep, code, rate, root, first, ends, table, omega, members, sizes, least,
    bend, factor, states, errors, costs, paid,
):  # fmt: skip
    """Exposures and errors before each round (T+1, n), its cost (T,), and what was paid (T+1,)."""
    q = np.empty(members.shape[1])
    weight = discount**since
    errors_at(states[since], 0.0, code, rate, root, first, ends, table, errors[since])
    for t in range(since, x.size):
        s = x[t]
        costs[t] = round_loss(s, errors[t], omega, members, sizes, least, bend, factor, q)
        paid[t + 1] = paid[t] + weight * costs[t]
        expose(s, states[t], keep, members, sizes, states[t + 1])
        errors_at(states[t + 1], 0.0, code, rate, root, first, ends, table, errors[t + 1])
        weight *= discount


@jit
def replay(
    x, since, discount, keep, code, rate, root, first, ends, table, omega, members, sizes, least,
    bend, factor, m, out,
):  # fmt: skip
    """Discounted cost of the rounds of x from `since` on, from exposures m (moved in place)."""
    q = np.empty(members.shape[1])
    e = np.empty(m.size)
    weight = 1.0
    total = 0.0
    for t in range(since, x.size):
        s = x[t]
        errors_at(m, 0.0, code, rate, root, first, ends, table, e)
        cost = round_loss(s, e, omega, members, sizes, least, bend, factor, q)
        out[t] = cost
        total += weight * cost
        expose(s, m, keep, members, sizes, m)
        weight *= discount
    return total


@jit
def limit_orbit(word, keep, m, members, sizes, orbit):
    """Exposures (word, n) on which repeating the word settles, from m before its first round.

    A round trip takes m_i to share m_i + gain, with share < 1 unless the test is never hidden or
    nothing is forgotten; then exposure grows without end, or stays if the test is never shown.
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
def play_word(
    word, discount, keep, code, rate, root, first, ends, table, omega, members, sizes, least,
    bend, factor, m, record,
):  # fmt: skip
    """Cost of a word repeated without end from exposures m (moved in place).

    Played until it differs from its orbit by nothing that weighs; the orbit then adds up
    geometrically. `record` (rounds, n), as far as it goes, is filled with exposures before rounds.
    Gives the cost, the rounds played, and after how many of them it was near its orbit.
    """
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
        errors_at(orbit[t], 0.0, code, rate, root, first, ends, table, settled[t])
        cost = round_loss(word[t], settled[t], omega, members, sizes, least, bend, factor, q)
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
            errors_at(m, 0.0, code, rate, root, first, ends, table, e)
            if played < record.shape[0]:
                copy_into(record[played], m)
            for i in range(n):
                apart = max(apart, abs(e[i] - settled[t, i]))
            cost = round_loss(word[t], e, omega, members, sizes, least, bend, factor, q)
            total += weight * cost
            expose(word[t], m, keep, members, sizes, m)
            weight *= discount
            played += 1
        if near < 0 and weight * apart <= _NEAR * scale:
            near = played
        if weight * apart <= _SMALL * scale:
            break
    return total + weight * cycle / (1.0 - far), played, near


@jit
def take_back(
    s, m, e, discount, keep, code, rate, root, first, ends, table, omega, members, sizes, least,
    bend, factor, lin, cross, R, u, work,
):  # fmt: skip
    """lin and cross one round earlier, where s is shown at exposures m and errors e."""
    n = m.size
    k = sizes[s]
    up, down, share, line = work[0], work[1], work[2], work[3]
    round_rows(s, e, omega, members, sizes, bend, factor, R, u)
    slopes_at(m, e, code, rate, root, first, line)
    if cross.shape[0] == 3:
        errors_at(m, 1.0, code, rate, root, first, ends, table, up)
        errors_at(m, -1.0, code, rate, root, first, ends, table, down)
    for i in range(n):
        if code[i] == 2:
            up[i] -= e[i]
            down[i] -= e[i]
        else:
            up[i] = line[i]
            down[i] = -line[i]
    for i in range(n):
        share[i] = keep  # what is hidden is remembered less, and so is a difference in exposure
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


@jit
def take_back_all(
    x, stop, discount, keep, code, rate, root, first, ends, table, omega, members, sizes, least,
    bend, factor, states, errors, lin, cross,
):  # fmt: skip
    """lin and cross before round `stop`, from those after the last round of x."""
    n = states.shape[1]
    k = members.shape[1]
    R = np.empty((k, n))
    u = np.empty(k)
    work = np.empty((4, n))
    for t in range(x.size - 1, stop - 1, -1):
        take_back(
            x[t], states[t], errors[t], discount, keep, code, rate, root, first, ends, table,
            omega, members, sizes, least, bend, factor, lin, cross, R, u, work,
        )  # fmt: skip


@jit
def take_back_word(
    word, discount, keep, code, rate, root, first, ends, table, omega, members, sizes, least,
    bend, factor, m, record, lin, cross,
):  # fmt: skip
    """lin and cross of a word repeated without end, of which `record` holds the first rounds.

    From then on it is taken to be on its orbit, where sums are geometric; m are exposures there of
    tests for which the orbit is wherever they are.
    """
    n = m.size
    k = members.shape[1]
    length = word.size
    R = np.empty((k, n))
    u = np.empty(k)
    work = np.empty((4, n))
    e = np.empty(n)
    orbit = np.empty((length, n))
    limit_orbit(word, keep, m, members, sizes, orbit)
    for i in range(n):
        lin[0, i] = 0.0
        lin[1, i] = 0.0
        for j in range(n):
            for c in range(cross.shape[0]):
                cross[c, i, j] = 0.0
    for t in range(length - 1, -1, -1):
        errors_at(orbit[t], 0.0, code, rate, root, first, ends, table, e)
        take_back(
            word[t], orbit[t], e, discount, keep, code, rate, root, first, ends, table, omega,
            members, sizes, least, bend, factor, lin, cross, R, u, work,
        )  # fmt: skip
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
        errors_at(record[t], 0.0, code, rate, root, first, ends, table, e)
        take_back(
            word[t % length], record[t], e, discount, keep, code, rate, root, first, ends, table,
            omega, members, sizes, least, bend, factor, lin, cross, R, u, work,
        )  # fmt: skip


@jit
def show_forever(
    s, discount, keep, code, rate, root, first, ends, table, omega, members, sizes, least, bend,
    factor, m, priced, lin, cross,
):  # fmt: skip
    """Cost of one set repeated without end if nothing is forgotten; with lin and cross if `priced`.

    Only the k shown errors move, so a round costs k² and not n²; everything else is put together
    from discounted sums when all rounds are over.
    """
    n = m.size
    k = sizes[s]
    last = table.shape[1] - 1
    near = np.empty((3, n))  # errors now, and what one showing more or less would change
    errors_at(m, 0.0, code, rate, root, first, ends, table, near[0])
    errors_at(m, 1.0, code, rate, root, first, ends, table, near[1])
    errors_at(m, -1.0, code, rate, root, first, ends, table, near[2])
    R = np.empty((k, n))
    still = np.empty(k)  # the deviation but for the shown tests
    round_rows(s, near[0], omega, members, sizes, bend, factor, R, still)
    scale = 0.0
    for i in range(n):
        scale = max(scale, abs(first[i]))
        near[1, i] -= near[0, i]
        near[2, i] -= near[0, i]
    for r in range(k):
        still[r] = bend[s, r]
        for i in range(n):
            if not shows(s, i, members, sizes):
                still[r] += R[r, i] * near[0, i]
    u = np.empty(k)
    now = np.empty(k)
    change = np.empty((2, k))  # up and down
    sum_u = np.zeros(k)
    sum_change = np.zeros((2, k))
    sum_pull = np.zeros((2, k))
    sum_both = np.zeros((3, k, k))
    total = 0.0
    weight = 1.0
    shown = np.int64(0)
    while True:
        apart = 0.0
        for j in range(k):
            i = members[s, j]
            row = np.int64(m[i]) + shown
            now[j] = table[i, min(row, last)]
            change[0, j] = table[i, min(row + 1, last)] - now[j]
            change[1, j] = table[i, min(max(row - 1, 0), last)] - now[j]
            # With one showing less the end may be yet to come.
            apart = max(apart, abs(now[j] - ends[i]), abs(now[j] + change[1, j] - ends[i]))
        settled = weight * apart <= _SMALL * scale
        if settled:
            weight /= 1.0 - discount
            for j in range(k):
                now[j] = ends[members[s, j]]
                change[0, j] = 0.0
                change[1, j] = 0.0
        cost = least[s]
        for r in range(k):
            u[r] = still[r]
            for j in range(k):
                u[r] += R[r, members[s, j]] * now[j]
            cost += u[r] * u[r]
        total += weight * cost
        if priced:
            for r in range(k):
                sum_u[r] += weight * u[r]
            for j in range(k):
                pull = 0.0
                for r in range(k):
                    pull += u[r] * R[r, members[s, j]]
                for c in range(2):
                    sum_change[c, j] += weight * change[c, j]
                    sum_pull[c, j] += weight * pull * change[c, j]
                for x in range(k):
                    sum_both[0, j, x] += weight * change[0, j] * change[0, x]
                    sum_both[1, j, x] += weight * change[0, j] * change[1, x]
                    sum_both[2, j, x] += weight * change[1, j] * change[1, x]
        if settled:
            break
        weight *= discount
        shown += 1
    if not priced:
        return total
    forever = 1.0 / (1.0 - discount)
    place = np.full(n, -1)
    for j in range(k):
        place[members[s, j]] = j
    for i in range(n):
        for c in range(2):
            if place[i] >= 0:
                lin[c, i] = 2.0 * sum_pull[c, place[i]]
            else:
                lin[c, i] = 0.0
                for r in range(k):
                    lin[c, i] += 2.0 * sum_u[r] * R[r, i] * near[1 + c, i]
        for j in range(n):
            both = 0.0
            for r in range(k):
                both += R[r, i] * R[r, j]
            for c in range(3):
                left = np.int64(c == 2)  # 0 is up and up, 1 up and down, 2 down and down
                right = np.int64(c > 0)
                if place[i] >= 0 and place[j] >= 0:
                    weighed = sum_both[c, place[i], place[j]]
                elif place[i] >= 0:
                    weighed = sum_change[left, place[i]] * near[1 + right, j]
                elif place[j] >= 0:
                    weighed = near[1 + left, i] * sum_change[right, place[j]]
                else:
                    weighed = forever * near[1 + left, i] * near[1 + right, j]
                cross[c, i, j] = both * weighed
    return total


@jit
def exposure_prices(
    positions, present, m, e, later, paid, weight, togo, lin, cross, discount, keep, code, rate,
    root, first, ends, table, omega, members, sizes, least, bend, factor, out,
):  # fmt: skip
    """out[p] = what all costs with the p-th set instead of `present`, which leads to `later`.

    A test that is shown now and was not before gains exposure, one that was and is not loses it.
    Both are written for y_i = 1 if i is shown, so that a set costs k² whatever the present one is.
    """
    n = m.size
    q = np.empty(n)
    w = np.zeros(n)
    was = np.zeros(n, dtype=np.int64)
    for j in range(sizes[present]):
        was[members[present, j]] = 1
    other = np.empty(n)
    now = np.empty(n)
    then = np.empty(n)
    slopes = np.empty(n)
    for i in range(n):
        product = 0.0
        for j in range(n):
            product += omega[i, j] * e[j]
        q[i] = product
        other[i] = keep * m[i] if was[i] == 1 else m[i] + 1.0
        w[i] = abs(other[i] - later[i])
    if keep != 1.0:
        # Costs are nearly linear in errors, less so in exposures.
        errors_at(later, 0.0, code, rate, root, first, ends, table, now)
        errors_at(other, 0.0, code, rate, root, first, ends, table, then)
        slopes_at(later, now, code, rate, root, first, slopes)
        for i in range(n):
            if slopes[i] != 0.0:
                w[i] = abs((then[i] - now[i]) / slopes[i])
    linear = np.empty(n)
    square = np.empty((n, n))
    ahead = togo
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
    losses_of_all(positions, q, members, sizes, least, bend, factor, out)
    for p in range(positions.size):
        s = positions[p]
        change = 0.0
        for x in range(sizes[s]):
            i = members[s, x]
            row = linear[i] + square[i, i]
            for y in range(x):
                row += 2.0 * square[i, members[s, y]]
            change += row
        out[p] = paid + weight * (out[p] + discount * (ahead + change))
