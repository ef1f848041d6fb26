"""Closed-form losses: exact for Gaussian tests, and for squared error whatever the marginals.

Let Σ be the covariance, Ω the one the person imputes from (Ω = Σ in the paper), S the set shown.
The best weights on the shown tests are w* = Σ_SS⁻¹(Σa)_S, the person's are w = Ω_SS⁻¹(Ωh)_S, and
the residual has variance

    v = σ² + a'(Σ - M_S)a + (w* - w)'Σ_SS(w* - w),     M_S = Σ[:,S] Σ_SS⁻¹ Σ[S,:].

The first two terms are the floor: the residual variance of the best reader of S. The last one is a
squared length, |shift + F·(Ωe)_S|², with F = L'Ω_SS⁻¹ and Σ_SS = LL'. For Ω = Σ the shift is 0 and
F = L⁻¹, which is the paper's e'M_S e. Both are sums of squares; `model/readings.py` says how many
digits they keep for tests that are almost copies.

`SetTree` holds all sets of a family as a tree that adds one test per level. The squared length
|L⁻¹(Σe)_S|² grows by one term when a test is added to S, because the first rows of L⁻¹ stay the
same. So each set needs only its last row, as many multiplications as it has tests, and depends on
the person's state only through q = Σe. Prefixes that the budget does not allow (for sets of exactly
k) are nodes too, without a set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from preceptor._base.parallel import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.loss import DeviationForms, LossModel, SetForm
from preceptor.model.readings import ResidualForms, readings_of, readings_of_all
from preceptor.model.risks import CompiledRisk, NumberRisk, SquaredError
from preceptor.model.score_pairs import ScorePair
from preceptor.model.sets import SetFamily, TestSet
from preceptor.model.surfaces import Surface, believed_base, best_charges, best_readers, surface_of
from preceptor.model.yes_no_risks import Brier, Decision, YesNoRisk

if TYPE_CHECKING:
    from preceptor.model.problem import Problem

# Pieces of a traversal, several for each core.
_PIECES = 16


@dataclass(frozen=True)
class SetTree:
    """Nodes in depth-first order, parents before their children.

    `depth` (nodes,) number of tests, `test` (nodes,) the one added last, `set_index` (nodes,)
    position in the family or -1, `row` (nodes, widest) last row of L⁻¹ on the path's tests.
    """

    depth: IntArray
    test: IntArray
    set_index: IntArray
    row: FloatArray

    @cached_property
    def after(self) -> IntArray:
        """For each node, the first later node that is not in its subtree."""
        following = np.full(self.depth.size, self.depth.size, dtype=np.int64)
        open_nodes: list[int] = []
        for node, depth in enumerate(self.depth.tolist()):
            while open_nodes and self.depth[open_nodes[-1]] >= depth:
                following[open_nodes.pop()] = node
            open_nodes.append(node)
        return following

    @cached_property
    def cuts(self) -> IntArray:
        """Where the traversal is cut into pieces of similar size, each of whole branches."""
        begins = np.flatnonzero(self.depth <= 1)
        wanted = np.linspace(0, self.depth.size, _PIECES + 1)[1:-1]
        inner = begins[np.minimum(np.searchsorted(begins, wanted), begins.size - 1)]
        return np.unique(np.concatenate([[0], inner, [self.depth.size]])).astype(np.int64)

    def least_below(self, of_set: FloatArray) -> FloatArray:
        """For each node, the smallest of these numbers (sets,) over the sets in its subtree."""
        own = np.where(self.set_index >= 0, of_set[self.set_index], np.inf)
        return np.array([own[node:end].min() for node, end in enumerate(self.after.tolist())])

    @classmethod
    def build(cls, sets: SetFamily, factor: FloatArray) -> SetTree:
        """Build the tree of a family with factors L⁻¹ (sets, k, k)."""
        order = np.lexsort(sets.members.T[::-1])
        members, sizes = sets.members[order], sets.sizes[order]
        # Length of the path that each set shares with its predecessor.
        shared = np.zeros(len(sets), dtype=np.int64)
        same = (members[1:] == members[:-1]) & (members[1:] >= 0)
        shared[1:] = np.cumprod(same, axis=1).sum(axis=1)
        new = sizes - np.minimum(shared, sizes)
        # The empty set adds no test, but has a node.
        new = np.where(sizes == 0, 1, new)
        owner = np.repeat(np.arange(len(sets)), new)
        first = np.cumsum(new) - new
        depth = sizes[owner] - new[owner] + 1 + (np.arange(owner.size) - first[owner])
        depth = np.where(sizes[owner] == 0, 0, depth)
        last = np.maximum(depth - 1, 0)
        is_set = depth == sizes[owner]
        return cls(
            depth=depth,
            test=members[owner, last],
            set_index=np.where(is_set, order[owner], -1),
            row=np.ascontiguousarray(factor[order[owner], last]),
        )


# Dense forms hold sets x k x n numbers; beyond this size solvers compute losses in batches.
MAX_FORM_BYTES = 256 * 2**20
# Up to this many losses one core is faster than starting threads.
_ONE_CORE = 500_000


@dataclass(frozen=True, eq=False)
class ClosedForm(LossModel):
    """Exact expected losses from second moments. The default.

    Exact for Gaussian tests, and for squared error whatever the marginals.

    Examples
    --------
    >>> import preceptor as pr
    >>> problem = pr.Problem(pr.World([1.0], [[1.0]], 0.25), pr.Learner([0.0], pr.Geometric(2.0)))
    >>> problem.oracle.losses(problem.initial_errors).tolist()   # of () and of (0,)
    [[1.25, 1.25]]
    """

    kind: ClassVar[str] = "closed-form"

    def faults(self, problem: Problem) -> list[str]:
        """Other risks than squared error need Gaussian tests."""
        if not problem.world.is_gaussian and not isinstance(problem.risk, SquaredError):
            return [
                f"loss: closed form with {type(problem.risk).__name__} needs Gaussian tests, but "
                "this world has Beta marginals; use the empirical loss or squared error "
                "(in Python: loss=Empirical(...) or risk=SquaredError())"
            ]
        return []

    def in_words(self) -> str:
        """That losses are exact."""
        return "exact, in closed form"

    def bind(self, problem: Problem) -> GaussianOracle:
        """The oracle for one problem."""
        if problem.world.is_binary:
            return YesNoOracle(problem)
        return GaussianOracle(problem)


class GaussianOracle:
    """Losses of all sets, or of one, in closed form."""

    # Closed forms are exact up to rounding.
    accuracy: float = 0.0

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.risk, NumberRisk)
        self._risk = problem.risk
        self._bind(problem)

    def _bind(self, problem: Problem) -> None:
        self._world = problem.world
        self._budget = problem.budget
        self._imputes = problem.learner.imputing_covariance(problem.world)
        self._knows_correlations = bool(np.array_equal(self._imputes, self._world.covariance))
        self._single: dict[tuple[int, ...], SetForm] = {}

    @cached_property
    def sets(self) -> SetFamily:
        """All sets the budget allows."""
        return self._budget.sets(self._world.size)

    @cached_property
    def _readings(self) -> ResidualForms:
        return self._turned(readings_of_all(self._world, self._imputes, self.sets))

    def _turned(self, readings: ResidualForms) -> ResidualForms:
        """Readings in the coordinates that charges need; lengths do not depend on them."""
        return readings

    @cached_property
    def tree(self) -> SetTree | None:
        """All sets as a tree; None if the person does not impute from the true covariance."""
        if not self._knows_correlations:
            return None
        return SetTree.build(self.sets, self._readings.factor)

    def losses(self, errors: FloatArray) -> FloatArray:
        """Losses of all sets: one product with Ω per state, then k per set (k² if Ω is not Σ)."""
        from preceptor.model._loss_kernels import tree_losses

        errors = np.ascontiguousarray(np.atleast_2d(errors), dtype=np.float64)
        readings, sets = self._readings, self.sets
        known = self._risk.code >= 0
        prices = sets.prices if known else np.zeros(len(sets))
        risk = CompiledRisk.of_number(self._risk if known else SquaredError())
        tree = self.tree
        if tree is not None:
            by_set = np.empty((len(sets), errors.shape[0]))
            nodes = (tree.depth, tree.test, tree.set_index, tree.row)
            arguments = (self._imputes @ errors.T, *nodes, readings.floor, prices, *risk, by_set)
            cuts = tree.cuts if by_set.size > _ONE_CORE else tree.cuts[[0, -1]]

            def work(part: slice) -> None:
                tree_losses(cuts[part.start], cuts[part.stop], *arguments)

            in_threads(work, cuts.size - 1, piece=1)
            out = by_set.T
        else:
            out = self._packed_losses(errors, prices, risk)
        return out if known else self._risk.expected(out) + sets.prices

    def _packed_losses(
        self, errors: FloatArray, prices: FloatArray, risk: CompiledRisk
    ) -> FloatArray:
        """Set by set, shape (states, sets)."""
        from preceptor.model._loss_kernels import packed_losses

        readings, sets = self._readings, self.sets
        out = np.empty((errors.shape[0], len(sets)))
        packed_losses(
            errors @ self._imputes, sets.members, sets.sizes, readings.floor, readings.shift,
            readings.factor, prices, *risk, out,
        )  # fmt: skip
        return out

    def loss_of(self, errors: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """One set for many states; the set need not be listed."""
        form = self._form_of(shown)
        deviation = form.shift + np.atleast_2d(errors) @ form.reading.T
        return self._risk.expected(form.floor + np.sum(deviation * deviation, axis=1)) + form.price

    def ceiling_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> float:
        """Loss with every deviation as large as the signs of the errors could make it."""
        form = self._form_of(shown)
        largest = np.abs(form.shift) + np.abs(form.reading) @ sizes
        variance = form.floor + float(largest @ largest)
        if self._risk.is_increasing:
            return float(self._risk.expected(variance)) + form.price
        grid = np.linspace(0.0, variance, 1001)
        return 1.01 * float(self._risk.expected(grid).max()) + form.price

    def sensitivity_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """|R d| moves the residual's standard deviation by at most its length."""
        return form_sensitivity(self._form_of(shown), sizes, self._risk)

    def squared_form_of(self, shown: tuple[int, ...]) -> SetForm | None:
        """The form itself for squared error."""
        return self._form_of(shown) if isinstance(self._risk, SquaredError) else None

    def _form_of(self, shown: tuple[int, ...]) -> SetForm:
        key = tuple(sorted(shown))
        if key not in self._single:
            members = np.array([key], dtype=np.int64).reshape(1, len(key))
            part = self._turned(readings_of(self._world, self._imputes, members))
            reading = part.factor[0] @ self._imputes[list(key)]
            price = float(self._budget.prices(self._world.size)[list(key)].sum())
            self._single[key] = SetForm(float(part.floor[0]), part.shift[0], reading, price)
        return self._single[key]

    def floors(self) -> FloatArray:
        """Loss of the best reader of each set; 0 if the risk may decrease with variance."""
        if not self._risk.is_increasing:
            return self.sets.prices.copy()
        return self._risk.expected(self._readings.floor) + self.sets.prices

    def forms(self) -> DeviationForms | None:
        """Dense forms, if the risk has a code and they fit in memory."""
        known = self._risk.code >= 0
        return self._dense_forms(CompiledRisk.of_number(self._risk)) if known else None

    def deviations(self) -> DeviationForms | None:
        """Floors and deviations of all sets, whatever the risk."""
        return self._dense_forms(CompiledRisk.of_number(SquaredError()))

    def _dense_forms(self, risk: CompiledRisk) -> DeviationForms | None:
        count, widest = self.sets.members.shape
        if count * widest * self._world.size * 8 > MAX_FORM_BYTES:
            return None
        readings = self._readings
        rows = self._imputes[
            np.maximum(self.sets.members, 0)
        ]  # padded columns meet zeros in factor
        return DeviationForms(
            floor=readings.floor,
            shift=readings.shift,
            reading=np.matmul(readings.factor, rows),
            prices=self.sets.prices,
            risk=risk,
        )


def form_sensitivity(form: SetForm, sizes: FloatArray, risk: NumberRisk) -> FloatArray:
    """Largest change of risk(floor + |shift + R e|²) per unit of each error, while |e| <= sizes."""
    lengths: FloatArray = np.linalg.norm(form.reading, axis=0)
    reach = float(np.linalg.norm(form.shift) + lengths @ sizes)
    if isinstance(risk, SquaredError):
        return lengths * (2.0 * reach)  # the floor does not change
    return lengths * risk.deviation_slope(float(np.sqrt(form.floor + reach * reach)))


# Losses of yes-or-no answers: closed forms for Gaussian tests.
#
# As above, a person who is shown S reads it with weights that deviate by d from the
# best ones, in coordinates where squared lengths are variances. Let A be the length of the best
# weights, and let them lie along the first axis. Then the person's score has
#
#     c = A² - A d_0,     vp = A² - 2A d_0 + |d|²
#
# as its covariance with the true score and its variance. These two numbers determine the cost of
# answers (`model/score_pairs.py`). Charges are interpolated from a surface (`model/surfaces.py`),
# here as in kernels.

# The largest density of a standard normal, and its mean absolute value.
_DENSITY, _DISTANCE = 1.0 / math.sqrt(2.0 * math.pi), math.sqrt(2.0 / math.pi)


class YesNoOracle(GaussianOracle):
    """Losses of all sets, or of one, for a yes-or-no outcome."""

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.risk, YesNoRisk)
        self._yes_no = problem.risk
        self._first_errors = np.abs(problem.first_errors)
        self._bind(problem)

    @cached_property
    def accuracy(self) -> float:  # type: ignore[override]
        """Error of the surface, while errors are no larger than at the start."""
        table = self._surface
        if not table.grows:
            return table.error
        steepest = max(self._largest_score(self._first_errors, shown) for shown in self.sets)
        return table.error * (1.0 + steepest) ** 2

    @cached_property
    def _surface(self) -> Surface:
        return surface_of(self._world, self._yes_no)

    def _turned(self, readings: ResidualForms) -> ResidualForms:
        """Readings with the best weights along the first axis."""
        return readings.aligned() if readings.best.size else readings

    @property
    def tree(self) -> None:
        """None: aligned rows are not shared between a set and its subsets."""
        return None

    def losses(self, errors: FloatArray) -> FloatArray:
        """Losses of all sets."""
        errors = np.ascontiguousarray(np.atleast_2d(errors), dtype=np.float64)
        return self._packed_losses(errors, self.sets.prices, self._surface.compiled)

    def loss_of(self, errors: FloatArray, shown: TestSet) -> FloatArray:
        """One set for many states; the set need not be listed."""
        from preceptor.model._loss_kernels import yes_no_charges

        form = self._form_of(shown)
        first, square = self._deviation(errors, form)
        out, x, y = np.empty((3, first.size))
        risk = self._surface.compiled
        yes_no_charges(risk.numbers, risk.surface, form.floor, first, square, x, y, out)
        return out + form.price

    @staticmethod
    def _deviation(errors: FloatArray, form: SetForm) -> tuple[FloatArray, FloatArray]:
        """d_0 and |d|² of each state."""
        deviation = form.shift + np.atleast_2d(errors) @ form.reading.T
        first = deviation[:, 0] if form.shift.size else np.zeros(len(deviation))
        return np.ascontiguousarray(first), np.sum(deviation * deviation, axis=1)

    def pair_of(self, errors: FloatArray, shown: TestSet) -> ScorePair:
        """The true score and that of a person with these errors (states, n), when S is shown."""
        world, outcome = self._world, self._world.outcome
        assert outcome is not None
        form = self._form_of(shown)
        explained = max(world.outcome_variance - form.floor, 0.0)
        first, square = self._deviation(errors, form)
        shared = explained - math.sqrt(explained) * first
        own = explained - 2.0 * math.sqrt(explained) * first + square
        return ScorePair(
            outcome.from_score,
            world.base_score,
            world.score_variance,
            np.asarray(believed_base(world, self._yes_no)),
            shared,
            np.maximum(own, 0.0),
        )

    def best_pairs(self, sets: list[TestSet] | None = None) -> ScorePair:
        """The best reader of each set, or of the given sets."""
        if sets is None:
            return best_readers(self._world, self._readings.floor)
        return best_readers(self._world, np.array([self._form_of(shown).floor for shown in sets]))

    def floors(self) -> FloatArray:
        """Loss of the best use of each set."""
        best = best_charges(self._world, self._yes_no, self._readings.floor)
        return best + self.sets.prices

    def ceiling_of(self, sizes: FloatArray, shown: TestSet) -> float:
        """Loss if always wrong; for the log loss, with the steepest score within `sizes`."""
        price = self._form_of(shown).price
        risk = self._yes_no
        if isinstance(risk, Decision):
            assert self._world.outcome is not None
            yes = self._world.outcome.prevalence
            return risk.miss * yes + risk.false_alarm * (1.0 - yes) + price
        if math.isfinite(risk.largest):
            return risk.largest + price
        # -log of the link of -s is at most log 2 + |s| + s²/2 for both links.
        mean_square = self._largest_score(sizes, shown) ** 2
        return math.log(2.0) + math.sqrt(mean_square) + 0.5 * mean_square + price

    def _largest_score(self, sizes: FloatArray, shown: TestSet) -> float:
        """Upper bound on the root mean square of the person's score, for errors within `sizes`."""
        form = self._form_of(shown)
        explained = max(self._world.outcome_variance - form.floor, 0.0)
        off = np.linalg.norm(form.shift) + np.linalg.norm(form.reading, axis=0) @ sizes
        base = believed_base(self._world, self._yes_no)
        return math.hypot(base, math.sqrt(explained) + float(off))

    def sensitivity_of(self, sizes: FloatArray, shown: TestSet) -> FloatArray:
        """An error moves scores by a normal amount, and charges by their slope times that.

        For decisions, by the probability that a score crosses the threshold; infinite if that is at
        the score's mean, because a score that hardly varies may cross it at any time.
        """
        lengths: FloatArray = np.linalg.norm(self._form_of(shown).reading, axis=0)
        risk = self._yes_no
        if not np.any(lengths):
            return lengths
        if isinstance(risk, Brier):
            return lengths * (2.0 * _DENSITY * _DISTANCE)
        if not isinstance(risk, Decision):
            return lengths * (1.0 + self._largest_score(sizes, shown))
        theta = abs(float(self._surface.compiled.numbers[1]))
        if theta == 0.0:
            return np.where(lengths > 0.0, math.inf, 0.0)
        # u density(u) (E|z| + u) for u = theta / sd of the score is at most 0.47, near u = 1.3.
        return lengths * (0.47 * risk.largest / theta)

    def squared_form_of(self, shown: TestSet) -> SetForm | None:
        """None: the loss is not a square."""
        return None

    def forms(self) -> DeviationForms | None:
        """Dense forms along the best readings, if they fit in memory."""
        return self._dense_forms(self._surface.compiled)
