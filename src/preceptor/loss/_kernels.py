"""Compiled loops over states and sets.

Legend: q = Ωe, what the person's errors e look like through the covariance Ω they impute from;
v = variance of the residual; code and tau name the risk (0 squared, 1 Huber, 2 absolute).
"""

from __future__ import annotations

import math

from preceptor._jit import jit


@jit
def expected_risk(code, tau, v):
    if code == 0:
        return v
    if code == 2:
        return math.sqrt(v * (2.0 / math.pi))
    sigma = math.sqrt(v)
    if sigma < 1e-150 * tau:
        return 0.5 * v
    z = tau / sigma
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    outside = 0.5 * math.erfc(z / math.sqrt(2.0))
    return v * (0.5 - outside) + sigma * tau * density - tau * tau * outside


@jit
def packed_losses(q, members, sizes, floor, shift, factor, prices, code, tau, out):
    """out[b, s] = risk(floor_s + |shift_s + F_s q_b|²) + price_s."""
    for b in range(q.shape[0]):
        for s in range(sizes.size):
            k = sizes[s]
            v = floor[s]
            for i in range(k):
                deviation = shift[s, i]
                for j in range(k):
                    deviation += factor[s, i, j] * q[b, members[s, j]]
                v += deviation * deviation
            out[b, s] = expected_risk(code, tau, v) + prices[s]
