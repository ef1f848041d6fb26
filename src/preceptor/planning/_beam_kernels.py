"""Compiled layers of the bound-guided beam; losses as in `_count_dual_kernels`.

Legend: m (K, n) counts, prefix (K,) discounted cost so far, pot (n, .) the terms of phi_{t+1} up to
the caps, G (K, A) prefix of each child, F (K, A) its bound, that is
  prefix + delta^t L(S, m) + delta^(t+1) (phi_{t+1}(child) + C_{t+1}).
members (sets, widest) are the tests of sets, padded with -1; least (A,) is what an action costs at
least, whatever the errors.
"""

import math

import numpy as np

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inner_jit, jit
from preceptor.planning._count_dual_kernels import tangent


@inner_jit
def state_loss(S, e, model):
    """Loss of a round that shows set S to a person with errors e."""
    floor, shift, reading, prices, code, tau, knots = model[:7]
    square = floor[S]
    for j in range(shift.shape[1]):
        y = shift[S, j]
        for i in range(e.size):
            y += reading[S, j, i] * e[i]
        square += y * y
    height, _, _ = tangent(code, tau, knots, math.sqrt(square))
    return height + prices[S]


@jit
def expand_layer(
    first, stop, m, prefix, err, caps, model, members, actions, least, pot, constant, weight, delta,
    limit, F, G,
):  # fmt: skip
    """Bounds F and prefixes G of all children; a child at or above `limit` gets F = inf."""
    n = m.shape[1]
    room = np.empty((2, n))
    e, gain = room[0], room[1]
    for p in range(first, stop):
        base = constant
        for i in range(n):
            count = m[p, i]
            here = pot[i, min(count, caps[i])]
            e[i] = err[i, count]
            base += here
            gain[i] = pot[i, min(count + 1, caps[i])] - here
        for c in range(actions.size):
            S = actions[c]
            rest = base
            for j in range(members.shape[1]):
                if members[S, j] >= 0:
                    rest += gain[members[S, j]]
            rest *= delta * weight
            if prefix[p] + weight * least[c] + rest >= limit:
                F[p, c] = np.inf
                continue
            loss = prefix[p] + weight * state_loss(S, e, model)
            G[p, c] = loss
            F[p, c] = loss + rest if loss + rest < limit else np.inf


@jit
def best_repeat(m, err, most, model, actions, least, delta, limit):
    """The action that is approximately cheapest if shown forever from counts m, and its cost.

    Counts stop at `most` (n,), the end of the table; actions above `limit` are skipped.
    """
    n, shown = m.size, model[7]
    e = np.empty(n)
    best, at = limit, actions[0]
    for c in range(actions.size):
        S = actions[c]
        total, weight, moved = 0.0, 1.0, True
        j = 0
        while moved and total + weight * least[c] / (1.0 - delta) < best:
            moved = False
            for i in range(n):
                count = m[i]
                if shown[S, i]:
                    count = min(m[i] + j, most[i])
                    moved = moved or count < most[i]
                e[i] = err[i, count]
            loss = state_loss(S, e, model)
            if moved:
                total += weight * loss
            else:
                total += weight * loss / (1.0 - delta)
            weight *= delta
            j += 1
        if not moved and total < best:
            best, at = total, S
    return at, best


@jit
def merge_children(
    m, F, members, actions, most, cut, words, bits, best_of, parent_of, action_of, key_of, table
):
    """Merge children below `cut` that have equal counts; how many remain, and the least F dropped.

    Counts stand still at `most` (n,). Keys are the counts themselves packed into `words` 64-bit
    words; the hash only chooses where to look.
    """
    K, n = m.shape
    per = 64 // bits
    table[:] = -1
    mask = np.uint64(table.shape[0] - 1)
    key = np.empty(words, dtype=np.uint64)
    base = np.empty(words, dtype=np.uint64)
    count = 0
    dropped = np.inf
    room = best_of.shape[0]
    for p in range(K):
        base[:] = np.uint64(0)
        for i in range(n):
            base[i // per] |= np.uint64(m[p, i]) << np.uint64(bits * (i % per))
        for c in range(actions.shape[0]):
            f = F[p, c]
            if f == np.inf:
                continue
            if f > cut or count >= room:
                dropped = min(dropped, f)
                continue
            copy_into(key, base)
            for j in range(members.shape[1]):
                i = members[actions[c], j]
                if i >= 0 and m[p, i] < most[i]:
                    key[i // per] += np.uint64(1) << np.uint64(bits * (i % per))
            h = np.uint64(0)
            for w in range(words):
                h = (h ^ key[w]) * np.uint64(0x9E3779B97F4A7C15)
                h ^= h >> np.uint64(29)
            slot = h & mask
            while True:
                q = table[slot]
                if q < 0:
                    table[slot] = count
                    best_of[count] = f
                    parent_of[count] = p
                    action_of[count] = c
                    copy_into(key_of[count], key)
                    count += 1
                    break
                same = True
                for w in range(words):
                    if key_of[q, w] != key[w]:
                        same = False
                        break
                if same:
                    if f < best_of[q]:
                        best_of[q] = f
                        parent_of[q] = p
                        action_of[q] = c
                    break
                slot = (slot + np.uint64(1)) & mask
    return count, dropped
