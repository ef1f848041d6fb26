"""Normal scatter of any width: log evidence from one decomposition, and its sum over widths.

Legend: sizes (cells, p) are eigenvalues of rows'rows, pulls (cells, p) is rows'off in their basis,
squares (cells,) is off'off; all for answers = known + rows · θ + scatter with θ standard normal.
"""

from __future__ import annotations

import math

from preceptor._base.jit import hot_jit, jit

_HALF_LN_2PI = 0.5 * math.log(2.0 * math.pi)
# Products of this many factors are taken before a logarithm is, so that none overflows.
_AT_ONCE = 8


@hot_jit
def log_at_width(sizes, pulls, squares, rounds, u, centre, spread):
    """Log evidence at width exp(u) plus the log prior of u, for one cell."""
    s = math.exp(-2.0 * u)
    logs, product, bent = 0.0, 1.0, 0.0
    for i in range(sizes.size):
        stretched = 1.0 + s * sizes[i]
        product *= stretched
        bent += pulls[i] * pulls[i] / stretched
        if (i + 1) % _AT_ONCE == 0:
            logs += math.log(product)
            product = 1.0
    logs += math.log(product)
    misfit = s * (squares - s * bent)
    away = (u - centre) / spread
    prior = -0.5 * away * away - math.log(spread) - _HALF_LN_2PI
    return prior - rounds * (u + _HALF_LN_2PI) - 0.5 * (logs + misfit)


@jit
def sum_widths(sizes, pulls, squares, rounds, centre, spread, start, steps, nodes, terms, best):
    """As `sum_over_widths`, cell by cell: nodes and terms (cells, nodes), best (cells,)."""
    nudge = 0.3 / math.sqrt(2.0 * rounds + 4.0)
    for c in range(sizes.shape[0]):
        d, b, q = sizes[c], pulls[c], squares[c]
        top, at = -math.inf, start[0]
        for k in range(start.size):
            value = log_at_width(d, b, q, rounds, start[k], centre, spread)
            if value > top:
                top, at = value, start[k]
        wide = 1.0
        for _ in range(3):
            low = log_at_width(d, b, q, rounds, at - nudge, centre, spread)
            middle = log_at_width(d, b, q, rounds, at, centre, spread)
            high = log_at_width(d, b, q, rounds, at + nudge, centre, spread)
            bend = max((2.0 * middle - low - high) / nudge**2, 1.0)
            at += min(max((high - low) / (2.0 * nudge) / bend, -0.4), 0.4)
            wide = 1.0 / math.sqrt(bend)
        best[c] = at
        step = math.log((steps[1] - steps[0]) * wide)
        for k in range(steps.size):
            nodes[c, k] = at + wide * steps[k]
            value = log_at_width(d, b, q, rounds, nodes[c, k], centre, spread)
            terms[c, k] = value + step
