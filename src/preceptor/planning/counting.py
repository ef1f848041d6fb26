"""Problems as arrays over counts, for the dual that asks only for convexity.

A round costs G(s) of the size s = sqrt(floor + |deviation|²) of a normal miss. If a charge is
convex then so is G, which never falls, and a round is convex in the person's errors: that is all
that `preceptor.engine.count_dual` needs of curves, imputation, prices and risk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.discounting import rounds_until
from preceptor._base.values import FloatArray, IntArray
from preceptor.loss.gaussian import GaussianOracle
from preceptor.loss.oracle import DeviationForms
from preceptor.model.risks import NumberRisk
from preceptor.planning.shape import shape_of
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.engine.counted import CountInstance

# After the last potentials of their own, rounds weigh this little; within 40 to 700 rounds.
_TAIL = 3e-2
_MOST_ROUNDS = 700
# Sets that are looked through in every round, at most.
_MOST_SETS = 8_000
# An error that can move by less than this share of itself is taken to have settled; how far it can
# still move is in the bound.
_SETTLED = 1e-7
# Lines that stand for a charge without a closed form, over so many orders of magnitude of a miss.
_KNOTS, _ORDERS = 4000, 5.0


def why_not_counted(problem: Problem) -> str:
    """Why the general dual has nothing to say; empty if it has."""
    if not problem.learns_by_showings:
        return "the person does not learn by showings"
    if problem.is_binary:
        return "losses of yes-or-no answers are not convex in what the person knows"
    if problem.horizon is not None and problem.horizon > _MOST_ROUNDS:
        return f"{problem.horizon:,} rounds are too many for potentials of their own"
    if shape_of(problem).too_many_sets:
        return "there are too many sets to list"
    if len(problem.sets) > _MOST_SETS:
        return f"{len(problem.sets):,} sets are too many to be looked through in every round"
    if problem.discount == 0.0:
        return "nothing after the first round counts"
    if forms_of(problem) is None:
        return "losses come from a sample"
    if problem.risk.code < 0 and not is_convex(problem):
        return f"the risk ({problem.risk.in_words()}) is not convex"
    return ""


def forms_of(problem: Problem) -> DeviationForms | None:
    """Floors and deviations of all sets, whatever is charged for them."""
    forms = problem.oracle.forms()
    if forms is None and isinstance(problem.oracle, GaussianOracle):
        return problem.oracle.deviations()
    return forms


def to_counts(problem: Problem) -> CountInstance:
    """The arrays; only for problems that `why_not_counted` has nothing against."""
    from preceptor.engine.counted import CountInstance, basis_of

    forms = forms_of(problem)
    assert forms is not None
    length = _length(problem)
    left = problem.by_showings.retention_table(problem.start_counts, length)
    at_start = np.where(left[:, :1] == 0.0, 1.0, left[:, :1])
    first = problem.world.coefficients - problem.learner.initial
    caps = _caps(problem, left)
    low, high = _beyond(problem, left, first, caps)
    knots = np.zeros((0, 3)) if problem.risk.code >= 0 else charge_lines(problem, forms)
    return CountInstance(
        floor=forms.floor,
        shift=forms.shift,
        reading=np.ascontiguousarray(forms.reading),
        prices=forms.prices,
        shown=problem.sets.membership,
        code=problem.risk.code,
        tau=float(forms.risk.numbers[0]),
        knots=knots,
        errors=left * first[:, None],
        basis=basis_of(left / at_start),
        caps=caps,
        low=low,
        high=high,
        length=length,
        discount=problem.discount,
        horizon=problem.horizon,
    )


def _length(problem: Problem) -> int:
    if problem.horizon is not None:
        return problem.horizon
    return int(np.clip(rounds_until(problem.discount, _TAIL), 40, _MOST_ROUNDS))


def _caps(problem: Problem, left: FloatArray) -> IntArray:
    """First count from which an error has settled, at most the last one tabulated (n,)."""
    length = left.shape[1] - 1
    steps = np.arange(length + 1)
    caps = np.full(len(left), length, dtype=np.int64)
    for i, curve in enumerate(problem.by_showings.curve_of):
        moves = curve.to_move(problem.start_counts[i] + steps)
        settled = np.flatnonzero(moves <= _SETTLED * abs(left[i, 0]))
        if settled.size:
            caps[i] = min(max(int(settled[0]), 1), length)
    return caps


def _beyond(
    problem: Problem, left: FloatArray, first: FloatArray, caps: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest error (n,) that a test can have from its cap on."""
    ends = np.empty((2, caps.size))
    for i, curve in enumerate(problem.by_showings.curve_of):
        here = left[i, caps[i]]
        moves = float(curve.to_move(problem.start_counts[i] + caps[i]))
        there = here - moves if curve.keeps_sign else -here
        ends[:, i] = here * first[i], there * first[i]
    return ends.min(axis=0), ends.max(axis=0)


def is_convex(problem: Problem) -> bool:
    """Whether the charge is convex as far as misses can reach, looked at on a fine grid."""
    forms = forms_of(problem)
    risk = problem.risk
    assert forms is not None
    assert isinstance(risk, NumberRisk)
    grid = 12.0 * _largest_miss(problem, forms) * np.linspace(-1.0, 1.0, 8001)
    charges = risk.charge(grid)
    bend = charges[2:] - 2.0 * charges[1:-1] + charges[:-2]
    # Nothing here is absolute: charges in other units must not look straighter than they are.
    rounding = 1e-9 * np.abs(charges[1:-1]) + 1e-14 * float(np.abs(charges).max())
    return bool(np.all(bend >= -rounding))


def charge_lines(problem: Problem, forms: DeviationForms) -> FloatArray:
    """Size, height and slope (knots, 3) of lines below G, from its values alone.

    The chord that ends at a knot rises no faster than G there. It is above G only on its own
    piece, where G in turn is above the chords before and after it; so lowering it by a quarter of
    the piece times what these slopes differ by puts it below G everywhere.
    """
    risk = problem.risk
    assert isinstance(risk, NumberRisk)
    largest = _largest_miss(problem, forms)
    sizes = largest * np.geomspace(10.0**-_ORDERS, 1.01, _KNOTS)
    heights = risk.expected(sizes**2)
    steps, rises = np.diff(sizes), np.diff(heights) / np.diff(sizes)
    slopes = np.maximum.accumulate(np.maximum(rises, 0.0))
    before = np.concatenate([[0.0], slopes[:-2]])
    lowered = heights[1:-1] - (slopes[1:] - before) * steps[:-1] / 4.0
    first = [sizes[0], float(risk.expected(0.0)), 0.0]  # G never falls, so it never goes below that
    lines: FloatArray = np.vstack([first, np.stack([sizes[1:-1], lowered, slopes[:-1]], axis=1)])
    lines[:, 1] -= 1e-11 * np.abs(lines[:, 1])
    return lines


def _largest_miss(problem: Problem, forms: DeviationForms) -> float:
    """No standard deviation of a miss is above this, whatever was shown."""
    errors = np.abs(problem.initial_errors)
    reach = np.abs(forms.shift) + np.abs(forms.reading) @ errors
    return float(np.sqrt((forms.floor + (reach**2).sum(axis=1)).max()))
