"""Small loops that other kernels share.

Numba compiles an assignment between slices together with all its checks and messages, which takes
seconds; a plain loop takes none.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.jit import jit


@jit
def copy_into(target, source):
    """target[:] = source, for vectors of one length."""
    for i in range(target.size):
        target[i] = source[i]


@jit
def order_of_few(values):
    """Positions that sort a short vector, by insertion."""
    order = np.empty(values.size, dtype=np.int64)
    for i in range(values.size):
        j = i
        while j > 0 and values[order[j - 1]] > values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    return order
