"""What a schedule costs: round losses and sets shown forever.

Legend: x (T,) set ids, W (n_sets, k, n) factors, s = 1 / alpha, u (n,) a state.
"""

import numpy as np

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
