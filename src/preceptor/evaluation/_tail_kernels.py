"""Compiled tables of discounted sums of retentions.

Legend: r_i(m) retention of test i after m showings, δ discount.
"""

from __future__ import annotations

from preceptor._base.jit import jit


@jit
def fill_tail_tables(retention, discount, length, first, second):
    """first[i,p] = Σ δ^t r_i(p+t) and second[i,j,p,q] = Σ δ^t r_i(p+t) r_j(q+t), t < length.

    Only the far edge is summed; the rest follows backward: one new term in, one old term out.
    """
    n, size = first.shape
    last = size - 1
    far = discount**length
    for i in range(n):
        total = 0.0
        for t in range(length - 1, -1, -1):
            total = retention[i, last + t] + discount * total
        first[i, last] = total
        for p in range(last - 1, -1, -1):
            total = retention[i, p] + discount * total - far * retention[i, p + length]
            first[i, p] = total
        for j in range(n):
            for edge in range(2 * last + 1):
                p = last if edge <= last else edge - last - 1
                q = edge if edge <= last else last
                total = 0.0
                for t in range(length - 1, -1, -1):
                    total = retention[i, p + t] * retention[j, q + t] + discount * total
                second[i, j, p, q] = total
                while p > 0 and q > 0:
                    p -= 1
                    q -= 1
                    leaving = far * retention[i, p + length] * retention[j, q + length]
                    total = retention[i, p] * retention[j, q] + discount * total - leaving
                    second[i, j, p, q] = total
