"""One round, one set: the certified subproblem of the Lagrangian dual.

Legend (a round is t, a set is S, a test is i; relative errors u_i lie in [lo_i, hi_i]):
  phi_t(u) = sum_i kap_i log u_i + rho_i u_i - ome_i u_i^2
             with multipliers theta[t] = (kap, rho, ome), (3, n)
  bracket  = c_S + |W_S u|^2 + delta phi_{t+1}(A_S u) - phi_t(u)
             where A_S multiplies u_i of shown tests by s_i = 1 / alpha_i
           = const_S + |W_S u|^2 + sum_i b_i u_i + a_i u_i^2 - mu_i log u_i
  h_S(z)   = const_S - |z|^2 + sum_i min_u (b_i + 2 (W_S'z)_i) u + a_i u^2 - mu_i log u
h_S(z) is a lower bound of the bracket for every z, because |x|^2 >= 2 z'x - |z|^2; its gap is
exactly |z - W_S u(z)|^2.
"""

import math

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import inline_jit, inner_jit

SMALLEST = 1e-30  # boxes end here; below it every relative error is the same to a float64 loss


@inline_jit
def coordinate_minimiser(p, a, mu, lo, hi):
    """Argmin over [lo, hi] of p u + a u^2 - mu log u for a, mu >= 0, without cancellation."""
    if a <= 0.0 and mu <= 0.0:
        return lo if p > 0.0 else hi
    # rounding may leave a or mu at -1e-18, and a root of less than nothing is not a number
    root = math.sqrt(max(p * p + 8.0 * a * mu, 0.0))
    if p > 0.0:
        u = 2.0 * mu / (p + root)
    elif a > 0.0:
        u = (root - p) / (4.0 * a)
    else:
        u = hi
    return min(max(u, lo), hi)


@inner_jit
def coordinate_value(p, a, mu, lo, hi, tail):
    """Certified minimum over [lo, hi]; in the tail over (0, hi], log u read as log max(u, lo)."""
    u = coordinate_minimiser(p, a, mu, lo, hi)
    value = p * u + a * u * u - mu * math.log(u)
    if mu < 0.0 or a < 0.0:  # rounding may leave -1e-18; the ends then bound the concave part
        value = min(
            value,
            p * lo + a * lo * lo - mu * math.log(lo),
            p * hi + a * hi * hi - mu * math.log(hi),
        )
    if tail:  # on (0, lo]: a u^2 >= 0 and p u >= min(0, p lo)
        value = min(value, -mu * math.log(lo) + min(0.0, p * lo))
    return value


@inner_jit
def lower_value(W, z, b, a, mu, lo, hi, const, tail, u, D):
    """h_S(z); fills the minimiser u and D, one over the separable curvature (0 at a bound)."""
    k, n = W.shape
    total = const
    for i in range(n):
        u[i] = b[i]
    for j in range(k):
        zj = z[j]
        total -= zj * zj
        for i in range(n):
            u[i] += 2.0 * zj * W[j, i]
    for i in range(n):
        p = u[i]
        x = coordinate_minimiser(p, a[i], mu[i], lo[i], hi[i])
        u[i] = x
        at_end = x <= lo[i] or x >= hi[i]
        D[i] = 0.0 if at_end else 1.0 / (2.0 * a[i] + mu[i] / (x * x))
        if at_end or tail:
            total += coordinate_value(p, a[i], mu[i], lo[i], hi[i], tail)
        else:
            total += p * x + a[i] * x * x - mu[i] * math.log(x)
    return total


@inner_jit
def solve_small(A, d):
    """Cholesky solve in place of a k by k positive definite system; d becomes the solution."""
    k = d.shape[0]
    for j in range(k):
        for i in range(j):
            A[j, j] -= A[j, i] * A[j, i]
        A[j, j] = math.sqrt(A[j, j])
        for r in range(j + 1, k):
            for i in range(j):
                A[r, j] -= A[r, i] * A[j, i]
            A[r, j] /= A[j, j]
    for j in range(k):
        for i in range(j):
            d[j] -= A[j, i] * d[i]
        d[j] /= A[j, j]
    for j in range(k - 1, -1, -1):
        for r in range(j + 1, k):
            d[j] -= A[r, j] * d[r]
        d[j] /= A[j, j]


@inner_jit
def newton_lower(W, z, b, a, mu, lo, hi, const, tail, target, tol, max_iter, u, D, A, d, trial):
    """Raise h_S(z) by damped Newton until its gap is below tol or it reaches target.

    z, u and D match the result.
    """
    k, n = W.shape
    h = lower_value(W, z, b, a, mu, lo, hi, const, tail, u, D)
    for _ in range(max_iter):
        if h >= target:
            break
        gap = 0.0
        for j in range(k):
            x = -z[j]
            for i in range(n):
                x += W[j, i] * u[i]
            d[j] = x
            trial[j] = x
            gap += x * x
        if gap <= tol:
            break
        for j in range(k):
            for r in range(j + 1):
                x = 0.0
                for i in range(n):
                    x += W[j, i] * D[i] * W[r, i]
                A[j, r] = 2.0 * x
            A[j, j] += 1.0
        solve_small(A, d)
        slope = 0.0
        for j in range(k):
            slope += 2.0 * trial[j] * d[j]
        step = 1.0
        moved = False
        for _cut in range(10):
            for j in range(k):
                trial[j] = z[j] + step * d[j]
            new = lower_value(W, trial, b, a, mu, lo, hi, const, tail, u, D)
            if new >= h + 1e-3 * step * slope or (step < 1.0 and new > h):
                moved = True
                break
            # the secant of the slopes lands near the maximum along d, across the kinks
            ahead = 0.0
            for j in range(k):
                x = -trial[j]
                for i in range(n):
                    x += W[j, i] * u[i]
                ahead += 2.0 * x * d[j]
            cut = slope / (slope - ahead) if ahead < 0.0 else 0.5
            step *= min(max(cut, 0.05), 0.8)
        if not moved:
            h = lower_value(W, z, b, a, mu, lo, hi, const, tail, u, D)
            break
        h = new
        for j in range(k):
            z[j] = trial[j]
    if h != h:  # not a number proves nothing, and comparisons would pass over it
        return -math.inf
    return h


@inner_jit
def round_coefficients(theta, follow, delta, s, b0, b1, a0, a1, mu, shift, beta):
    """Coefficients of the separable part, test hidden (0) or shown (1); shift joins const_S."""
    for i in range(s.shape[0]):
        mu[i] = theta[0, i] - delta * follow[0, i]
        b0[i] = delta * follow[1, i] - theta[1, i]
        b1[i] = delta * s[i] * follow[1, i] - theta[1, i]
        a0[i] = theta[2, i] - delta * follow[2, i]
        a1[i] = theta[2, i] - delta * s[i] * s[i] * follow[2, i]
        shift[i] = -delta * beta[i] * follow[0, i]


@inner_jit
def load_set(S, members, cost, b0, b1, a0, a1, shift, b, a):
    """Coefficients for set S into b, a; returns const_S."""
    copy_into(b, b0)
    copy_into(a, a0)
    const = cost[S]
    for j in range(members.shape[1]):
        i = members[S, j]
        if i >= 0:
            b[i] = b1[i]
            a[i] = a1[i]
            const += shift[i]
    return const
