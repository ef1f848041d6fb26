"""What it costs to show one set for the rest of the time, in closed form.

While S is shown, the error of a shown test i goes e_i(t) = e_i β_i^t (β = 1/α for geometric
learning, 0 for one-shot) and the others stand still. Squared loss is a quadratic form in the
errors, so its discounted sum needs only three kinds of numbers:

    A0 = Σ_t δ^t,   A1_i = Σ_t δ^t β_i^t,   A2_ij = Σ_t δ^t (β_i β_j)^t.

For curves without a constant ratio, `tail_sums` tabulates Σ_t δ^t r_i(p+t) and
Σ_t δ^t r_i(p+t) r_j(q+t) for all counts p, q at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.discounting import geometric_sum, negligible_after, total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.problem import Problem


def closed_commit_value(
    problem: Problem, counts: IntArray, shown: tuple[int, ...], rounds: int | None
) -> float | None:
    """Discounted loss of showing `shown` from `counts` on; None if it has no closed form."""
    form = problem.oracle.squared_form_of(shown)
    curves = problem.by_showings.curve_of
    ratios = [curves[i].ratio for i in shown]
    if form is None or any(ratio is None for ratio in ratios):
        return None
    discount = problem.discount
    errors = problem.by_showings.errors(problem.world, counts)
    members = list(shown)
    hidden = [i for i in range(problem.size) if i not in shown]
    beta = np.array(ratios, dtype=np.float64)
    steady = form.shift + form.reading[:, hidden] @ errors[hidden]
    moving = form.reading[:, members] * errors[members]
    a0 = total_weight(discount, rounds)
    a1 = geometric_sum(discount * beta, rounds)
    a2 = geometric_sum(discount * np.outer(beta, beta), rounds)
    constant = (form.floor + form.price + float(steady @ steady)) * a0
    cross = 2.0 * float(steady @ moving @ a1)
    return constant + cross + float(np.sum((moving.T @ moving) * a2))


@dataclass(frozen=True)
class TailSums:
    """Discounted sums of retentions for all counts up to some number of showings P.

    `zeroth` is A0. `first[i, p]` is Σ δ^t r_i(p+t). `second` gives Σ δ^t r_i(p+t) r_j(q+t): as
    `scale[i, j] r_i(p) r_j(q)` when every curve has a constant ratio, else as the table
    `second[i, j, p, q]` (which then is not empty).
    """

    zeroth: float
    first: FloatArray  # (n, P + 1)
    retention: FloatArray  # (n, P + 1)
    scale: FloatArray  # (n, n)
    second: FloatArray  # (n, n, P + 1, P + 1) or (0, 0, 0, 0)


def tail_sums_bytes(problem: Problem, showings: int) -> int:
    """Memory that `tail_sums` will take."""
    n = problem.size
    if all(curve.ratio is not None for curve in problem.by_showings.curve_of):
        return 16 * n * (showings + 1)
    return 8 * n * n * (showings + 1) ** 2


def tail_sums(problem: Problem, showings: int, rounds: int | None) -> TailSums:
    """Tables for counts up to `showings` beyond the start, over `rounds` rounds or forever."""
    n, discount = problem.size, problem.discount
    ratios = [curve.ratio for curve in problem.by_showings.curve_of]
    a0 = total_weight(discount, rounds)
    if all(ratio is not None for ratio in ratios):
        beta = np.array(ratios, dtype=np.float64)
        retention = problem.by_showings.retention_table(problem.start_counts, showings)
        first = retention * geometric_sum(discount * beta, rounds)[:, None]
        scale = geometric_sum(discount * np.outer(beta, beta), rounds)
        return TailSums(a0, first, retention, scale, np.empty((0, 0, 0, 0)))
    from preceptor.evaluation._tail_kernels import fill_tail_tables

    length = negligible_after(discount) if rounds is None else rounds
    if discount < 1.0:
        length = min(length, negligible_after(discount))
    long = problem.by_showings.retention_table(problem.start_counts, showings + length)
    first = np.empty((n, showings + 1))
    second = np.empty((n, n, showings + 1, showings + 1))
    fill_tail_tables(long, discount, length, first, second)
    retention = np.ascontiguousarray(long[:, : showings + 1])
    return TailSums(a0, first, retention, np.empty((0, 0)), second)
