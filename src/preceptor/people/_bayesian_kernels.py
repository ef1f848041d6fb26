# mypy: ignore-errors
# (Numba infers the types of kernels itself, for each kind of array)
"""A Bayesian's expected round, its adjoint, and prices: plain loops over small matrices.

All states are in the coordinates Ω x (weights), where Ω is the covariance used for imputation: a
set then enters by rows and columns alone. Letters:

    C (n, n)      posterior covariance of the weights, as Ω C Ω
    P (N, N)      second moments of g = (Ω error, 1), N = n + 1
    S, k          indices of the shown tests, and how many
    B, G (k, k)   Ω_SS Σ_SS^-1 Ω_SS, and its inverse
    c (k,)        bias that no weights remove: the surprise is (I_S error + c)·z + r, cov z = G
    r2            variance of r: residual variance under the best weights
    s             noise that the person assumes: noise + damping x tr(G C_SS)
    scatter       noise that a case adds: r2 + damping x (loss - r2)
    R (k, k)      (s B + C_SS)^-1; K = C_:S R is the gain
    U (k, N)      [I_S | c]; W = U P, D = W U'
    Q, Y          derivatives of the remaining cost with respect to P and to C
    drift (n, n)  what a round adds to C, because true weights may drift: drift x ΩΩ
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import hot_jit, jit
from preceptor.people._linear_kernels import multiply


@hot_jit
def invert(H, k):
    """Inverse of a positive definite matrix in place, by elimination."""
    for p in range(k):
        pivot = 1.0 / H[p, p]
        H[p, p] = 1.0
        for j in range(k):
            H[p, j] *= pivot
        for i in range(k):
            if i != p:
                factor = H[i, p]
                H[i, p] = 0.0
                for j in range(k):
                    H[i, j] -= factor * H[p, j]


@hot_jit
def read_set(C, P, S, k, B, G, c, r2, noise, damping, D, R):
    """Fill D and R for one set; return its loss."""
    n = C.shape[0]
    loss = r2
    spread = 0.0
    for a in range(k):
        for b in range(k):
            D[a, b] = P[S[a], S[b]] + P[S[a], n] * c[b] + c[a] * P[n, S[b]] + c[a] * c[b] * P[n, n]
            loss += G[a, b] * D[a, b]
            spread += G[a, b] * C[S[a], S[b]]
    s = noise + damping * spread
    for a in range(k):
        for b in range(k):
            R[a, b] = s * B[a, b] + C[S[a], S[b]]
    invert(R, k)
    return loss


@hot_jit
def gain(C, P, S, k, R, c, K, W):
    """Fill K (n, k) and W (k, N)."""
    n = C.shape[0]
    for i in range(n):
        for a in range(k):
            total = 0.0
            for b in range(k):
                total += C[i, S[b]] * R[b, a]
            K[i, a] = total
    for a in range(k):
        for j in range(n + 1):
            W[a, j] = P[S[a], j] + c[a] * P[n, j]


@jit
def step(C, P, S, k, B, G, c, r2, noise, damping, D, R, K, W, E):
    """Advance C and P by one case with S; return the expected loss of that case."""
    n = C.shape[0]
    loss = read_set(C, P, S, k, B, G, c, r2, noise, damping, D, R)
    gain(C, P, S, k, R, c, K, W)
    scatter = r2 + damping * (loss - r2)
    for a in range(k):
        for j in range(n):
            E[a, j] = C[S[a], j]
        for b in range(k):
            D[a, b] += scatter * B[a, b]
    for i in range(n):
        for j in range(i + 1):
            lost = 0.0
            moved = 0.0
            for a in range(k):
                lost += K[i, a] * E[a, j]
                spread = 0.0
                for b in range(k):
                    spread += D[a, b] * K[j, b]
                moved += K[i, a] * (spread - W[a, j]) - W[a, i] * K[j, a]
            C[i, j] -= lost
            C[j, i] = C[i, j]
            P[i, j] += moved
            P[j, i] = P[i, j]
        moved = 0.0
        for a in range(k):
            moved += K[i, a] * W[a, n]
        P[i, n] -= moved
        P[n, i] = P[i, n]
    return loss


@jit
def forward(
    states, path, prices, losses, members, sizes, B, G, c, r2, noise, damping, drift
):  # fmt: skip
    """Losses (T,) of a path, and C and P before each round in a row (T+1, n² + N²)."""
    n = drift.shape[0]
    w = members.shape[1]
    D, R = np.empty((w, w)), np.empty((w, w))
    K, W, E = np.empty((n, w)), np.empty((w, n + 1)), np.empty((w, n))
    for t in range(path.size):
        x = path[t]
        states[t + 1] = states[t]
        later = states[t + 1]
        C, P = later[: n * n].reshape((n, n)), later[n * n :].reshape((n + 1, n + 1))
        loss = step(
            C, P, members[x], sizes[x], B[x], G[x], c[x], r2[x], noise, damping, D, R, K, W, E
        )
        losses[t] = loss + prices[x]
        for i in range(n):
            for j in range(n):
                C[i, j] += drift[i, j]


@jit
def back(C, P, Q, Y, S, k, B, G, c, r2, noise, damping, discount, D, R, K, W, Z, V, X):
    """Turn Q and Y of the state after a round into those of the state before it.

    The remaining cost is <Q, P'> given C's path, so Q is exact; Y follows from the chain rule
    through K, R and s.
    """
    n = C.shape[0]
    loss = read_set(C, P, S, k, B, G, c, r2, noise, damping, D, R)
    gain(C, P, S, k, R, c, K, W)
    scatter = r2 + damping * (loss - r2)
    multiply(Q, K, n + 1, n, k, Z)
    multiply(Y, K, n, n, k, V)
    for i in range(n):  # X = (derivative with respect to K) R
        for a in range(k):
            X[i, a] = 0.0
        for a in range(k):
            slope = 0.0
            for j in range(n + 1):
                slope -= Q[i, j] * W[a, j]
            for b in range(k):
                slope += Z[i, b] * (D[b, a] + scatter * B[b, a])
            for b in range(k):
                X[i, b] += 2.0 * slope * R[a, b]
    # R is no longer needed: reuse it for the derivative in s B + C_SS, and D for K'QK.
    along_s = 0.0
    taught = 0.0
    for a in range(k):
        for b in range(k):
            slope = 0.0
            curve = 0.0
            for i in range(n):
                slope += K[i, a] * (V[i, b] - X[i, b])
                curve += K[i, a] * Z[i, b]
            R[a, b] = slope
            D[a, b] = curve
            along_s += slope * B[a, b]
            taught += curve * B[a, b]
    for i in range(n):
        for j in range(n):
            Y[i, j] *= discount
    half = 0.5 * discount
    for a in range(k):
        for i in range(n):
            slope = half * (X[i, a] - 2.0 * V[i, a])
            Y[i, S[a]] += slope
            Y[S[a], i] += slope
        for b in range(k):
            slope = half * (R[a, b] + damping * along_s * G[a, b])
            Y[S[a], S[b]] += slope
            Y[S[b], S[a]] += slope
    for i in range(n + 1):
        for j in range(n + 1):
            Q[i, j] *= discount
    for a in range(k):
        for i in range(n + 1):
            slope = discount * Z[i, a]
            Q[i, S[a]] -= slope
            Q[S[a], i] -= slope
            Q[i, n] -= slope * c[a]
            Q[n, i] -= slope * c[a]
    Q[n, n] += (1.0 + discount * taught) * r2
    times = 1.0 + discount * damping * taught
    for a in range(k):
        for b in range(k):
            curve = discount * D[a, b] + times * G[a, b]
            Q[S[a], S[b]] += curve
            Q[S[a], n] += curve * c[b]
            Q[n, S[b]] += c[a] * curve
            Q[n, n] += c[a] * curve * c[b]


@jit
def backward(
    states, path, adjoints, discount, members, sizes, B, G, c, r2, noise, damping, drift
):  # fmt: skip
    """Y and Q at the state before each round of a path (T+1, n² + N²), from the last of them."""
    n = drift.shape[0]
    w = members.shape[1]
    D, R, K, W = np.empty((w, w)), np.empty((w, w)), np.empty((n, w)), np.empty((w, n + 1))
    Z, V, X = np.empty((n + 1, w)), np.empty((n, w)), np.empty((n, w))
    for t in range(path.size - 1, -1, -1):
        x = path[t]
        adjoints[t] = adjoints[t + 1]
        state, slopes = states[t], adjoints[t]
        C, P = state[: n * n].reshape((n, n)), state[n * n :].reshape((n + 1, n + 1))
        Y, Q = slopes[: n * n].reshape((n, n)), slopes[n * n :].reshape((n + 1, n + 1))
        back(
            C, P, Q, Y, members[x], sizes[x], B[x], G[x], c[x], r2[x], noise, damping, discount,
            D, R, K, W, Z, V, X,
        )  # fmt: skip


@hot_jit
def precision_gain(C, X, S, k, G, noise, damping):
    """<X, precision added by a case with S>: tr(X_SS G) / s."""
    spread = 0.0
    total = 0.0
    for a in range(k):
        for b in range(k):
            spread += G[a, b] * C[S[a], S[b]]
            total += G[a, b] * X[S[a], S[b]]
    return total / (noise + damping * spread)


@jit
def prices(
    C, P, laid, positions, CQC, PQC, CYC, AYA, members, sizes, B, G, c, r2, noise, damping,
    discount, answers,
):  # fmt: skip
    """Cost of this round and all later ones with each of some sets, to first order in C'.

    Up to a constant that is the same for all sets.

    C' is what C becomes in this round, A what it becomes with the present set, `laid`. `CQC`
    (n, n), `PQC` (N, n), `CYC` and `AYA` (n, n) are products with the derivatives of the remaining
    cost. That is convex in C' and concave in the precision (or the reverse), so the mean of the
    two linear approximations is used.
    """
    n = C.shape[0]
    w = members.shape[1]
    D, R = np.empty((w, w)), np.empty((w, w))
    here = precision_gain(C, AYA, members[laid], sizes[laid], G[laid], noise, damping)
    for position in range(positions.size):
        x = positions[position]
        S, k = members[x], sizes[x]
        loss = read_set(C, P, S, k, B[x], G[x], c[x], r2[x], noise, damping, D, R)
        scatter = r2[x] + damping * (loss - r2[x])
        change = 0.5 * (here - precision_gain(C, AYA, S, k, G[x], noise, damping))
        for a in range(k):
            for b in range(k):
                crossed = PQC[S[b], S[a]] + c[x, b] * PQC[n, S[a]]
                change -= R[a, b] * (2.0 * crossed + 0.5 * CYC[S[a], S[b]])
                # tr(R CQC R (D + scatter B)), one entry of R (D + scatter B) R at a time
                turned = 0.0
                for i in range(k):
                    for j in range(k):
                        turned += R[a, i] * (D[i, j] + scatter * B[x, i, j]) * R[j, b]
                change += turned * CQC[S[b], S[a]]
        answers[position] = loss + discount * change
