"""What kind of problem this is: the questions that choose a method, asked once and remembered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import remembered
from preceptor.loss import ClosedForm
from preceptor.model.risks import SquaredError
from preceptor.problem import Problem

# Families larger than this are never listed whole by the searching solvers.
MOST_LISTED = 1_000_000
_MOST_BYTES = 2**30


@dataclass(frozen=True)
class Shape:
    """What solvers want to know about a problem before they look at a single state.

    `too_many_sets`: the sets cannot be listed, or their factors cannot be held. `most_shown`: how
    many tests a set can hold. The other two say why the problem does *not* have a helpful form,
    and are empty if it does: `why_not_geometric` (each showing divides an error by a constant: what
    the engine plans with) and `why_not_independent` (no test says anything about another).
    """

    too_many_sets: bool
    most_shown: int
    why_not_geometric: str
    why_not_independent: str

    @property
    def has_dual(self) -> bool:
        """Whether the engine can search and bound this problem, all of its sets listed."""
        return not self.too_many_sets and not self.why_not_geometric


def shape_of(problem: Problem) -> Shape:
    """The shape of a problem, worked out when it is first asked for."""
    return remembered(problem, "shape", lambda: _shape(problem))


def _shape(problem: Problem) -> Shape:
    most_shown = len(problem.budget.maximise(np.ones(problem.size)))
    sets = problem.budget.count(problem.size)
    too_large = sets * most_shown * problem.size * 8 > _MOST_BYTES
    return Shape(
        too_many_sets=sets > MOST_LISTED or too_large,
        most_shown=most_shown,
        why_not_geometric=_why_not_geometric(problem),
        why_not_independent=_why_not_independent(problem),
    )


def _why_not_geometric(problem: Problem) -> str:
    if not problem.learns_by_showings:
        return "the person does not learn by showings"
    if not isinstance(problem.risk, SquaredError):
        return f"the risk is {type(problem.risk).__name__}, not squared error"
    if not isinstance(problem.loss, ClosedForm):
        return "losses come from a sample"
    imputes = problem.learner.imputing_covariance(problem.world)
    if not np.array_equal(imputes, problem.world.covariance):
        return "the person does not impute from the world's covariance"
    for name, curve in zip(problem.world.labels, problem.by_showings.curve_of, strict=True):
        if not curve.ratio:
            return f"{name} is not learned by a constant factor per showing ({curve})"
    if problem.discount == 0.0:
        return "nothing after the first round counts"
    return ""


def _why_not_independent(problem: Problem) -> str:
    if not problem.learns_by_showings:
        return "the person does not learn by showings"
    imputation = problem.learner.imputing_covariance(problem.world)
    if not isinstance(problem.risk, SquaredError):
        return f"the sort needs squared error, the risk is {type(problem.risk).__name__}"
    if not isinstance(problem.loss, ClosedForm):
        return "losses come from a sample, in which no two tests are exactly uncorrelated"
    if not problem.world.is_diagonal:
        off = np.abs(problem.world.covariance - np.diag(np.diag(problem.world.covariance)))
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        names = problem.world.labels
        return f"tests are correlated (covariance of {names[i]} and {names[j]} is {off[i, j]:.3g})"
    if np.any(imputation - np.diag(np.diag(imputation))):
        return "the person imputes from correlations that the tests do not have"
    return ""
