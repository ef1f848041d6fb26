"""The dual over errors: one round and one set, then all rounds at once, in parallel.

Legend (a round is t, a set is S, a test is i; relative errors u_i lie in [lo_i, hi_i]):
  phi_t(u) = sum_i kap_i log u_i + rho_i u_i - ome_i u_i^2
             with multipliers theta[t] = (kap, rho, ome), (3, n)
  bracket  = c_S + |W_S u|^2 + delta phi_{t+1}(A_S u) - phi_t(u)
             where A_S multiplies u_i of shown tests by s_i = 1 / alpha_i
           = const_S + |W_S u|^2 + sum_i b_i u_i + a_i u_i^2 - mu_i log u_i
  h_S(z)   = const_S - |z|^2 + sum_i min_u (b_i + 2 (W_S'z)_i) u + a_i u^2 - mu_i log u
h_S(z) is a lower bound of the bracket for every z, because |x|^2 >= 2 z'x - |z|^2; its gap is
exactly |z - W_S u(z)|^2.

Each round writes only its own rows, so results do not depend on the number of threads.
"""

import math

import numpy as np

from preceptor._base._array_kernels import copy_into, fill_with, smallest_of
from preceptor._base.jit import inline_jit, inner_jit, jit

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


@jit
def smooth_rounds(
    first, stop, theta, lo, hi, W, members, cost, delta, s, beta, has_tail, lists, sizes, z, tau,
    tol, newton_steps, soft, best, grad, hess, second,
):  # fmt: skip
    """Soft minimum of rounds first..stop-1 over their listed sets, with derivatives.

    Gradient and negative Hessian are in (theta_t, theta_{t+1}).
    soft (R,), best (R,) position of the smallest in its list, grad (R, 6n), hess (R, 6n, 6n) when
    `second`. z (R, C, k) is read as a warm start and overwritten.
    """
    R = sizes.shape[0]
    n = s.shape[0]
    k = W.shape[1]
    rows = np.empty((10, n))  # in one piece, which is a shorter program than ten
    b0, b1, a0, a1, mu = rows[0], rows[1], rows[2], rows[3], rows[4]
    shift, b, a, u, D = rows[5], rows[6], rows[7], rows[8], rows[9]
    small = np.empty((k + 2, k))
    A, d, trial = small[:k], small[k], small[k + 1]
    moments = np.empty((2, 6 * n))
    psi, jac = moments[0], moments[1]
    Minv = np.empty((n, n))
    for t in range(first, stop):
        last = has_tail and t == R - 1
        low_end, high_end = lo[t], hi[t]
        tail = last or smallest_of(low_end) <= SMALLEST  # errors may be below lo
        follow = t if last else t + 1
        round_coefficients(theta[t], theta[follow], delta, s, b0, b1, a0, a1, mu, shift, beta)
        C = sizes[t]
        value = np.empty(C)
        low = np.inf
        start = best[t] if best[t] < C else 0
        for step in range(C):
            c = (start + step) % C  # last winner first: it gives the others an early exit
            S = lists[t, c]
            const = load_set(S, members, cost, b0, b1, a0, a1, shift, b, a)
            value[c] = newton_lower(
                W[S], z[t, c], b, a, mu, low_end, high_end, const, tail, low + 35.0 * tau, tol,
                newton_steps, u, D, A, d, trial,
            )  # fmt: skip
            if value[c] < low:
                low = value[c]
                best[t] = c
        total = 0.0
        for c in range(C):
            total += math.exp(-(value[c] - low) / tau)
        soft[t] = low - tau * math.log(total)
        g = grad[t]
        H = hess[t]
        fill_with(g, 0.0)
        if second:
            for q in range(6 * n):
                fill_with(H[q], 0.0)
        for c in range(C):
            w = math.exp(-(value[c] - low) / tau) / total
            # left out of gradient and Hessian alike, or the Hessian would lose its sign
            if w < 1e-8:
                continue
            S = lists[t, c]
            const = load_set(S, members, cost, b0, b1, a0, a1, shift, b, a)
            lower_value(W[S], z[t, c], b, a, mu, low_end, high_end, const, tail, u, D)
            for i in range(n):
                lu = math.log(u[i])
                psi[i] = -lu
                psi[n + i] = -u[i]
                psi[2 * n + i] = u[i] * u[i]
                psi[3 * n + i] = delta * lu
                psi[4 * n + i] = delta * u[i]
                psi[5 * n + i] = -delta * u[i] * u[i]
                jac[i] = -1.0 / u[i]
                jac[n + i] = -1.0
                jac[2 * n + i] = 2.0 * u[i]
                jac[3 * n + i] = delta / u[i]
                jac[4 * n + i] = delta
                jac[5 * n + i] = -2.0 * delta * u[i]
            for j in range(members.shape[1]):
                i = members[S, j]
                if i >= 0:
                    psi[3 * n + i] -= delta * beta[i]
                    psi[4 * n + i] *= s[i]
                    psi[5 * n + i] *= s[i] * s[i]
                    jac[4 * n + i] *= s[i]
                    jac[5 * n + i] *= s[i] * s[i]
            for q in range(6 * n):
                g[q] += w * psi[q]
            if second:
                for i in range(n):
                    # a coordinate at its bound has no curvature now but may get it within the step;
                    # counting it keeps the model from stepping far across the kink
                    if D[i] == 0.0 and low_end[i] < high_end[i]:
                        D[i] = 1.0 / (2.0 * a[i] + mu[i] / (u[i] * u[i]))
                inverse_curvature(W[S], D, Minv, A, d)
                add_curvature(H, psi, jac, Minv, w, tau)
        if second:
            for q in range(6 * n):
                for r in range(q + 1):
                    H[q, r] -= g[q] * g[r] / tau


@jit
def inverse_curvature(W, D, Minv, A, d):
    """(diag(1/D) + 2 W'W)^-1 on the free coordinates by Woodbury; rows with D = 0 vanish."""
    k, n = W.shape
    G = np.empty((k, k))
    for col in range(k):
        for j in range(k):
            for r in range(j + 1):
                x = 0.0
                for i in range(n):
                    x += W[j, i] * D[i] * W[r, i]
                A[j, r] = x
            A[j, j] += 0.5
            d[j] = 1.0 if j == col else 0.0
        solve_small(A, d)
        for j in range(k):
            G[j, col] = d[j]
    for i in range(n):
        for j in range(k):
            x = 0.0
            for r in range(k):
                x += G[j, r] * W[r, i]
            d[j] = x * D[i]
        for col in range(n):
            x = 0.0
            for j in range(k):
                x += d[j] * W[j, col]
            Minv[i, col] = -x * D[col]
        Minv[i, i] += D[i]


@inner_jit
def add_curvature(H, psi, jac, Minv, w, tau):
    """Lower triangle of w (J Minv J' + psi psi' / tau), J diagonal per multiplier kind.

    There are 6 kinds; written out, the compiler would make a loop of its own of each pair of them.
    """
    n = Minv.shape[0]
    for ai in range(psi.size // n):
        for i in range(n):
            q = ai * n + i
            x = w * psi[q] / tau
            y = w * jac[q]
            for bj in range(ai + 1):
                top = i + 1 if bj == ai else n
                for j in range(top):
                    H[q, bj * n + j] += x * psi[bj * n + j] + y * jac[bj * n + j] * Minv[i, j]


@jit
def fill_banded(first, stop, diagonal, below, free, damping, ridge, banded):
    """Lower banded form of the damped block tridiagonal matrix; fixed rows become identity.

    diagonal (B, m, m) lower triangles, below (B-1, m, m), free (B, m), ridge (B,), banded (B m,
    2m): column by row, the transpose of LAPACK's layout, so that a transposed view is in Fortran
    order.
    """
    B, m, _ = diagonal.shape
    for t in range(first, stop):
        for c in range(m):
            out = banded[t * m + c]
            fill_with(out, 0.0)
            if not free[t, c]:
                out[0] = 1.0
                continue
            out[0] = diagonal[t, c, c] * (1.0 + damping) + ridge[t] * (1e-6 + damping)
            for r in range(c + 1, m):
                if free[t, r]:
                    out[r - c] = diagonal[t, r, c]
            if t + 1 < B:
                for r in range(m):
                    if free[t + 1, r]:
                        out[m + r - c] = below[t, r, c]


@jit
def stop_rounds(first, stop, theta, lo, hi, tail_row, stop_cost, value, grad, curve):
    """Slack of stopping at t: stop_cost[t] - max over the box of phi_t.

    value (T+1,), grad (T+1, 3n), curve (T+1, n, 3, 3).
    """
    n = theta.shape[2]
    for t in range(first, stop):
        total = stop_cost[t]
        for i in range(n):
            kap, rho, ome = theta[t, 0, i], theta[t, 1, i], theta[t, 2, i]
            total += coordinate_value(
                -rho, ome, kap, lo[t, i], hi[t, i], t == tail_row or lo[t, i] <= SMALLEST
            )
            u = coordinate_minimiser(-rho, ome, kap, lo[t, i], hi[t, i])
            grad[t, i] = -math.log(u)
            grad[t, n + i] = -u
            grad[t, 2 * n + i] = u * u
            free = 1.0 / (2.0 * ome + kap / (u * u)) if lo[t, i] < u < hi[t, i] else 0.0
            jac = (-1.0 / u, -1.0, 2.0 * u)
            for x in range(3):
                for y in range(3):
                    curve[t, i, x, y] = free * jac[x] * jac[y]
        value[t] = total


@inner_jit
def screening_tables(W1, centre, b0, b1, a0, a1, mu, shift, lo, hi, tail, base, gain):
    """Bounds shared by all sets with test r: base[r] + sum over members i of gain[r, i].

    M_S dominates M_{r} for r in S, so |W_S u|^2 >= (w_r'u)^2 >= 2 z w_r'u - z^2 with w_r the factor
    of {r} alone. Row n uses z = 0 and holds for every set. z = w_r'centre is a guess; any number is
    valid.
    """
    n = centre.shape[0]
    for r in range(n + 1):
        z = 0.0
        if r < n:
            for i in range(n):
                z += W1[r, i] * centre[i]
        total = -z * z
        for i in range(n):
            tilt = 2.0 * z * W1[r, i] if r < n else 0.0
            v0 = coordinate_value(b0[i] + tilt, a0[i], mu[i], lo[i], hi[i], tail)
            v1 = coordinate_value(b1[i] + tilt, a1[i], mu[i], lo[i], hi[i], tail)
            total += v0
            gain[r, i] = v1 - v0 + shift[i]
        base[r] = total


@inner_jit
def read_state(W, u, z):
    """z = W u: where the bound of a set is tight if its minimiser is u."""
    for j in range(W.shape[0]):
        x = 0.0
        for i in range(u.shape[0]):
            x += W[j, i] * u[i]
        z[j] = x


@inner_jit
def insert_sorted(kept, names, count, h, S):
    """Insert into the smallest values in rising order, where the largest leaves; the new count."""
    place = min(count, kept.shape[0] - 1)
    while place > 0 and kept[place - 1] > h:
        kept[place] = kept[place - 1]
        names[place] = names[place - 1]
        place -= 1
    kept[place] = h
    names[place] = S
    return min(count + 1, kept.shape[0])


@jit
def all_sets_rounds(
    first, stop, theta, lo, hi, W, W1, members, cost, delta, s, beta, has_tail, actions, centres,
    guess, margin, tol, newton_steps, lists, sizes, z_out, g, halt,
):  # fmt: skip
    """Certified minimum of rounds first..stop-1 over every action, and the sets near it.

    guess (R,) a set to start from, centres (R, n) a guess of the round's state, replaced by the
    minimiser's; lists (R, C), sizes (R,), z_out (R, C, k) warm starts, g (R,) certified minima. A
    set is skipped only when a valid lower bound of it already exceeds the round's minimum plus the
    margin. Rounds that are not done when halt[0] is set are left as they are.
    """
    n = s.shape[0]
    k = W.shape[1]
    C = lists.shape[1]
    R = g.shape[0]
    rows = np.empty((10, n))
    b0, b1, a0, a1, mu = rows[0], rows[1], rows[2], rows[3], rows[4]
    shift, b, a, u, D = rows[5], rows[6], rows[7], rows[8], rows[9]
    small = np.empty((k + 3, k))
    A, d, trial, z = small[:k], small[k], small[k + 1], small[k + 2]
    base, gain = np.empty(n + 1), np.empty((n + 1, n))
    kept, names = np.empty(C), np.empty(C, dtype=np.int64)
    for t in range(first, stop):
        last = has_tail and t == R - 1
        low_end, high_end, centre = lo[t], hi[t], centres[t]
        tail = last or smallest_of(low_end) <= SMALLEST  # errors may be below lo
        follow = t if last else t + 1
        round_coefficients(theta[t], theta[follow], delta, s, b0, b1, a0, a1, mu, shift, beta)
        count, low = np.int64(0), np.inf
        for q in range(-1, actions.shape[0]):
            if halt[0]:
                return
            S = actions[q] if q >= 0 else guess[t]  # the guess fills the tables
            limit = low + margin
            if count == C:
                limit = max(min(limit, kept[C - 1]), low)
            skip = False
            for e in range(members.shape[1] + 1 if q >= 0 else 0):
                r = n
                if e > 0:
                    r = members[S, e - 1]
                    if r < 0:
                        continue
                bound = cost[S] + base[r]
                for j in range(members.shape[1]):
                    if members[S, j] >= 0:
                        bound += gain[r, members[S, j]]
                if bound >= limit:
                    skip = True
                    break
            if skip:
                continue
            const = load_set(S, members, cost, b0, b1, a0, a1, shift, b, a)
            read_state(W[S], centre, z)
            h = newton_lower(
                W[S], z, b, a, mu, low_end, high_end, const, tail, limit, tol, newton_steps, u, D,
                A, d, trial,
            )  # fmt: skip
            if h < low:
                if q < 0 or h < low - margin:
                    copy_into(centre, u)
                    screening_tables(
                        W1, centre, b0, b1, a0, a1, mu, shift, low_end, high_end, tail, base, gain
                    )
                low = h
            if q >= 0 and (h < limit or count == 0):
                count = insert_sorted(kept, names, count, h, S)
        sizes[t] = 0
        for q in range(count):
            if q == 0 or kept[q] <= low + margin:
                S = names[q]
                lists[t, sizes[t]] = S
                read_state(W[S], centre, z_out[t, sizes[t]])
                sizes[t] += 1
        g[t] = low
