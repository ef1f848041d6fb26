"""Compiled losses of one round, shared by all people whose errors are known.

Legend: e (n,) errors, s a set, S its k tests; a round costs least_s + |bend_s + F_s q|² with
q = (Ωe)_S.
Scratch: q (k,), R (k, n) the rows F_s Ω[S,:], u (k,) the deviation itself.
"""

from __future__ import annotations

from preceptor._base.jit import hot_jit, jit


@hot_jit
def round_loss(s, e, omega, members, sizes, least, bend, factor, q):
    """What set s costs somebody with errors e; only the rows of Ω that are shown are read."""
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
def round_rows(s, e, omega, members, sizes, bend, factor, R, u):
    """R = F_s Ω[S,:] and u = bend_s + R e."""
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
def losses_of_all(positions, q, members, sizes, least, bend, factor, out):
    """out[p] = loss of the p-th of these sets, with q = Ωe (n,) at hand."""
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
