"""Small loops shared by other kernels, written so that they compile quickly.

Numba compiles an assignment between slices together with its checks and messages, and `min`, `max`
and `sum` of an array together with iterators: that takes seconds, a plain loop almost nothing. A
kernel that is passed a literal number is compiled once more for that literal, so kernels start
their own counters at `np.int64(0)`.
"""

from __future__ import annotations

from preceptor._base.jit import inner_jit


@inner_jit
def copy_into(target, source):
    """target[:] = source, for vectors of one length."""
    for i in range(target.size):
        target[i] = source[i]


@inner_jit
def fill_with(target, value):
    """target[:] = value, for a vector."""
    for i in range(target.size):
        target[i] = value


@inner_jit
def smallest_of(values):
    """Smallest entry of a non-empty vector."""
    least = values[0]
    for i in range(1, values.size):
        least = min(least, values[i])
    return least


@inner_jit
def largest_of(values):
    """Largest entry of a non-empty vector."""
    most = values[0]
    for i in range(1, values.size):
        most = max(most, values[i])
    return most
