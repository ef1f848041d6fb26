"""What a schedule costs: round losses, commit values, states and price tables.

Legend: x (T,) set ids, W (n_sets, k, n) factors, s = 1 / alpha, U (T+1, n) states,
  K (n, n) cost-to-go after T as a quadratic form in u,
  Q (T+1, n, n) price tables, Q[t]_ij = sum over rounds tau >= t of delta^tau G_ij u_i u_j with
  G = W_S'W_S of the round's set.
"""

import numpy as np

from preceptor._base._array_kernels import copy_into, fill_with
from preceptor._base.jit import inner_jit, jit


@inner_jit
def set_loss(S, u, W, cost):
    """What set S costs in state u: cost_S + |W_S u|^2."""
    total = cost[S]
    for j in range(W.shape[1]):
        x = 0.0
        for i in range(u.shape[0]):
            x += W[S, j, i] * u[i]
        total += x * x
    return total


@inner_jit
def commit_value(S, u, W, cost, shown, s, delta):
    """Cost of showing S forever from u: sum_ij G_ij u_i u_j / (1 - delta s_i s_j)."""
    n = u.shape[0]  # s_i = 1 for a hidden test
    total = cost[S] / (1.0 - delta)
    for j in range(W.shape[1]):
        hidden = 0.0
        for i in range(n):
            if not shown[S, i]:
                hidden += W[S, j, i] * u[i]
        total += hidden * hidden / (1.0 - delta)
        for i in range(n):
            if shown[S, i]:
                x = W[S, j, i] * u[i]
                total += 2.0 * hidden * x / (1.0 - delta * s[i])
                for q in range(n):
                    if shown[S, q]:
                        total += x * W[S, j, q] * u[q] / (1.0 - delta * s[i] * s[q])
    return total


@jit
def best_commit(u, W, cost, shown, s, delta):
    """The set that is cheapest when shown forever from u, and that cost."""
    best, value = 0, np.inf
    for S in range(cost.shape[0]):
        if cost[S] / (1.0 - delta) < value:  # the rest of the value is non-negative
            v = commit_value(S, u, W, cost, shown, s, delta)
            if v < value:
                best, value = S, v
    return best, value


@inner_jit
def commit_matrix(S, W, shown, s, delta, K):
    """Fill K so that showing S forever from u costs u'K u besides its constant part."""
    n = s.shape[0]
    for i in range(n):
        si = s[i] if shown[S, i] else 1.0
        for q in range(n):
            sq = s[q] if shown[S, q] else 1.0
            x = 0.0
            for j in range(W.shape[1]):
                x += W[S, j, i] * W[S, j, q]
            K[i, q] = x / (1.0 - delta * si * sq)


@jit
def replay(x, commit, infinite, W, cost, shown, s, delta, U, Q, K):
    """States, price tables and total cost of a schedule."""
    T, n = x.shape[0], s.shape[0]
    k = W.shape[1]
    fill_with(U[0], 1.0)
    total, weight = 0.0, 1.0
    for t in range(T):
        total += weight * set_loss(x[t], U[t], W, cost)
        weight *= delta
        for i in range(n):
            U[t + 1, i] = U[t, i] * s[i] if shown[x[t], i] else U[t, i]
    if infinite:
        total += weight * commit_value(commit, U[T], W, cost, shown, s, delta)
        commit_matrix(commit, W, shown, s, delta, K)
        for i in range(n):
            for q in range(n):
                Q[T, i, q] = weight * K[i, q] * U[T, i] * U[T, q]
    else:
        for i in range(n):
            fill_with(Q[T, i], 0.0)
    for t in range(T - 1, -1, -1):
        price_round(Q[t], Q[t + 1], x[t], U[t], delta**t, W, k, n)
    return total


@inner_jit
def price_round(Qt, Qnext, S, u, weight, W, k, n):
    """Q of a round from that of the next."""
    for i in range(n):
        copy_into(Qt[i], Qnext[i])
    for j in range(k):
        for i in range(n):
            v = weight * W[S, j, i] * u[i]
            if v != 0.0:
                for q in range(n):
                    Qt[i, q] += v * W[S, j, q] * u[q]


@jit
def commit_values(u, W, cost, shown, s, delta, out):
    """What each set costs if shown forever from u."""
    for S in range(out.size):
        out[S] = commit_value(S, u, W, cost, shown, s, delta)


@jit
def greedy_schedule(x, lookahead, W, cost, shown, s, delta, all_ids, halt):
    """Each round the set that is cheapest now (lookahead 0) or if shown forever from now (1).

    Once halt[0] is set, the last one is repeated.
    """
    n = s.shape[0]
    u = np.ones(n)
    best, value = all_ids[0], np.inf
    for t in range(x.shape[0]):
        if halt[0]:
            fill_with(x[t:], best)
            break
        best, value = all_ids[0], np.inf
        for q in range(all_ids.shape[0]):
            S = all_ids[q]
            if lookahead == 1:
                v = commit_value(S, u, W, cost, shown, s, delta)
            else:
                v = set_loss(S, u, W, cost)
            if v < value:
                best, value = S, v
        x[t] = best
        for i in range(n):
            if shown[best, i]:
                u[i] *= s[i]
    return value


@jit
def schedule_value(x, commit, infinite, W, cost, shown, s, delta):
    """Cost of a schedule, followed by `commit` forever if `infinite`."""
    u = np.ones(s.shape[0])
    total, weight = 0.0, 1.0
    for t in range(x.shape[0]):
        total += weight * set_loss(x[t], u, W, cost)
        weight *= delta
        for i in range(s.shape[0]):
            if shown[x[t], i]:
                u[i] *= s[i]
    if infinite:
        total += weight * commit_value(commit, u, W, cost, shown, s, delta)
    return total
