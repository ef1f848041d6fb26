"""Compiled local search on schedules; the legend is in `_schedule_kernels`.

If every later u_i is multiplied by 1 + d_i, the later cost changes by
sum_ij (d_i + d_j + d_i d_j) Q_ij: any change of one round is priced exactly without replaying the
rounds after it.
"""

import numpy as np

from preceptor._base._array_kernels import copy_into, fill_with
from preceptor._base.jit import hot_jit, jit
from preceptor.engine._schedule_kernels import price_round, replay, set_loss


@jit
def next_random(state):
    """splitmix64; state (1,) uint64. Returns a float in [0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    v = state[0]
    v = (v ^ (v >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    v = (v ^ (v >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    v = v ^ (v >> np.uint64(31))
    return float(v >> np.uint64(11)) / 9007199254740992.0


@hot_jit
def find_set(row, sorted_members, order):
    """Id of the set with these members (ascending, padded with a large number), or -1."""
    lo, hi = 0, sorted_members.shape[0]
    k = row.shape[0]
    while lo < hi:
        mid = (lo + hi) // 2
        less = False
        for j in range(k):
            if sorted_members[mid, j] != row[j]:
                less = sorted_members[mid, j] < row[j]
                break
        if less:
            lo = mid + 1
        else:
            hi = mid
    if lo == sorted_members.shape[0]:
        return -1
    for j in range(k):
        if sorted_members[lo, j] != row[j]:
            return -1
    return order[lo]


@hot_jit
def exchanged(S, out, into, members, sorted_members, order, row):
    """Id of S without `out` and with `into` (either may be -1), or -1 if that is no allowed set."""
    k = members.shape[1]
    filled = 0
    big = 1 << 40
    for j in range(k):
        i = members[S, j]
        if i >= 0 and i != out:
            row[filled] = i
            filled += 1
    if into >= 0:
        if filled == k:
            return -1
        row[filled] = into
        filled += 1
    for j in range(filled, k):
        row[j] = big
    for j in range(1, filled):  # insertion sort of at most k numbers
        v = row[j]
        q = j
        while q > 0 and row[q - 1] > v:
            row[q] = row[q - 1]
            q -= 1
        row[q] = v
    return find_set(row, sorted_members, order)


@hot_jit
def later_change(d, changed, count, Q):
    """Change of the later cost when u_i is multiplied by 1 + d_i for the listed tests."""
    n = Q.shape[0]
    total = 0.0
    for c in range(count):
        i = changed[c]
        row = 0.0
        for q in range(n):
            row += Q[i, q]
        total += 2.0 * d[i] * row
        for e in range(count):
            total += d[i] * d[changed[e]] * Q[i, changed[e]]
    return total


@hot_jit
def switch_change(old, new, rows, Qnext, members, shown, s):
    """Later cost change of showing `new` instead of `old`; rows (n,) are the row sums of Qnext."""
    total = 0.0
    k = members.shape[1]
    for side in range(2):
        A, B = (old, new) if side == 0 else (new, old)
        for j in range(k):
            i = members[A, j]
            if i < 0 or shown[B, i]:
                continue
            di = 1.0 / s[i] - 1.0 if side == 0 else s[i] - 1.0
            total += 2.0 * di * rows[i]
            for side2 in range(2):
                C, E = (old, new) if side2 == 0 else (new, old)
                for j2 in range(k):
                    q = members[C, j2]
                    if q >= 0 and not shown[E, q]:
                        dq = 1.0 / s[q] - 1.0 if side2 == 0 else s[q] - 1.0
                        total += di * dq * Qnext[i, q]
    return total


@jit
def round_sweep(x, U, Q, W, cost, members, shown, s, delta, all_sets, sorted_members, order, halt):
    """Backward, replace each round's set by the best one given all others; returns the gain."""
    T, n = x.shape[0], s.shape[0]
    k = members.shape[1]
    gain = 0.0
    rows, row = np.empty(n), np.empty(k, dtype=np.int64)
    for t in range(T - 1, -1, -1):
        if halt[0]:
            break
        weight = delta**t
        for i in range(n):
            v = 0.0
            for q in range(n):
                v += Q[t + 1, i, q]
            rows[i] = v
        old = x[t]
        now = set_loss(old, U[t], W, cost)
        best, drop = old, -1e-11 * (1.0 + abs(now) * weight)
        for place in range(cost.shape[0] if all_sets else (k + 1) * (n + 1)):
            S = place
            if not all_sets:  # out of `a`-th place goes a test, or none; another, or none, comes in
                a, into = place // (n + 1) - 1, place % (n + 1) - 1
                out = members[old, a] if a >= 0 else -1
                if (a >= 0 and out < 0) or (into >= 0 and shown[old, into]):
                    continue
                S = exchanged(old, out, into, members, sorted_members, order, row)
            if S < 0 or S == old:
                continue
            later = switch_change(old, S, rows, Q[t + 1], members, shown, s)
            if weight * (cost[S] - now) + later >= drop:
                continue
            change = weight * (set_loss(S, U[t], W, cost) - now) + later
            if change < drop:
                best, drop = S, change
        if best != old:
            gain -= drop
            x[t] = best
            for i in range(n):  # every later state moves by the same factors
                f = 1.0
                if shown[old, i] and not shown[best, i]:
                    f = 1.0 / s[i]
                elif shown[best, i] and not shown[old, i]:
                    f = s[i]
                if f != 1.0:
                    for q in range(n):
                        Q[t + 1, i, q] *= f
                        Q[t + 1, q, i] *= f
        price_round(Q[t], Q[t + 1], x[t], U[t], weight, W, W.shape[1], n)
    return gain


@hot_jit
def block_change(
    x, t, length, out, into, target, U, Q, W, cost, members, shown, s, delta, sorted_members, order,
    y, d, u, changed, row,
):  # fmt: skip
    """Cost change of a move on rounds t..t+length-1; y (T,) gets the new sets.

    target >= 0 puts that set into every round, otherwise each round exchanges `out` for `into`
    where it can.
    """
    T, n = x.shape[0], s.shape[0]
    end = min(T, t + length)
    copy_into(u, U[t])
    change = 0.0
    weight = delta**t
    moved = False
    for r in range(t, end):
        S = x[r]
        if target >= 0:
            S = target
        else:
            able = (out < 0 or shown[S, out]) and (into < 0 or not shown[S, into])
            if able:
                q = exchanged(S, out, into, members, sorted_members, order, row)
                S = q if q >= 0 else S
        y[r] = S
        moved = moved or S != x[r]
        if moved:
            change += weight * (set_loss(S, u, W, cost) - set_loss(x[r], U[r], W, cost))
        for i in range(n):
            if shown[S, i]:
                u[i] *= s[i]
        weight *= delta
    if not moved:
        return 0.0
    count = np.int64(0)
    for i in range(n):
        f = u[i] / U[end, i]
        if abs(f - 1.0) > 1e-12:
            d[i] = f - 1.0
            changed[count] = i
            count += 1
    return change + later_change(d, changed, count, Q[end])


@jit
def block_sweep(
    x, commit, infinite, U, Q, K, W, cost, members, shown, s, delta, sorted_members, order, lengths,
    first, stride, halt,
):  # fmt: skip
    """Exchanges and replacements on blocks, accepted at once; returns the gain."""
    T, n = x.shape[0], s.shape[0]
    k = members.shape[1]
    y, row = np.empty(T, dtype=np.int64), np.empty(k, dtype=np.int64)
    d, u, changed = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    gain = 0.0
    for t in range(first, T, stride):
        for length in lengths:
            done = False
            for a in range(-1, k):
                if halt[0]:
                    return gain
                out = members[x[t], a] if a >= 0 else -1
                if a >= 0 and out < 0:
                    continue
                for into in range(-1, n):
                    if (into < 0 and out < 0) or (into >= 0 and shown[x[t], into]):
                        continue
                    change = block_change(
                        x,
                        t,
                        length,
                        out,
                        into,
                        -1,
                        U,
                        Q,
                        W,
                        cost,
                        members,
                        shown,
                        s,
                        delta,
                        sorted_members,
                        order,
                        y,
                        d,
                        u,
                        changed,
                        row,
                    )
                    if change < -1e-10:
                        gain -= change
                        end = min(T, t + length)
                        copy_into(x[t:end], y[t:end])
                        replay(x, commit, infinite, W, cost, shown, s, delta, U, Q, K)
                        done = True
                        break
                if done:
                    break
    return gain


@jit
def swap_sweep(x, U, W, cost, shown, s, delta, reach, halt):
    """Swap the sets of two rounds at most `reach` apart; the state after them does not change."""
    T, n = x.shape[0], s.shape[0]
    u = np.empty(n)
    gain = 0.0
    for t in range(T):
        if halt[0]:
            break
        for t2 in range(t + 1, min(T, t + reach + 1)):
            if x[t] == x[t2]:
                continue
            copy_into(u, U[t])
            change, weight = 0.0, delta**t
            for r in range(t, t2 + 1):
                S = x[t2] if r == t else x[t] if r == t2 else x[r]
                change += weight * (set_loss(S, u, W, cost) - set_loss(x[r], U[r], W, cost))
                for i in range(n):
                    if shown[S, i]:
                        u[i] *= s[i]
                weight *= delta
            if change < -1e-10:
                gain -= change
                x[t], x[t2] = x[t2], x[t]
                for r in range(t, t2):
                    for i in range(n):
                        U[r + 1, i] = U[r, i] * s[i] if shown[x[r], i] else U[r, i]
    return gain


@jit
def kick(x, state, n_sets):
    """Disturb a schedule: overwrite, delete or repeat a stretch, or copy one stretch elsewhere."""
    T = x.shape[0]
    kinds = next_random(state)
    t = int(next_random(state) ** 2 * T)  # early rounds weigh most
    length = 1 + int(next_random(state) ** 3 * 40)
    end = min(T, t + length)
    if kinds < 0.3:
        S = int(next_random(state) * n_sets)
        fill_with(x[t:end], S)
    elif kinds < 0.5:
        S = x[int(next_random(state) * T)]
        fill_with(x[t:end], S)
    elif kinds < 0.7:  # delete: everything later happens earlier
        for r in range(t, T):
            x[r] = x[min(T - 1, r + end - t)]
    elif kinds < 0.85:  # repeat: everything later happens later
        shift = end - t
        for r in range(T - 1, t + shift - 1, -1):
            x[r] = x[r - shift]
    else:
        other = int(next_random(state) * T)
        for r in range(end - t):
            if other + r < T:
                x[t + r], x[other + r] = x[other + r], x[t + r]
