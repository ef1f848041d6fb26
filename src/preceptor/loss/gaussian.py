"""Closed-form losses: exact for Gaussian tests, and for squared error whatever the marginals.

Let Σ be the covariance, Ω the one the person imputes from (Ω = Σ in the paper), S the set shown.
The best weights on the shown tests are w* = Σ_SS⁻¹(Σa)_S, the person's are w = Ω_SS⁻¹(Ωh)_S, and
the residual has variance

    v = σ² + a'(Σ - M_S)a + (w* - w)'Σ_SS(w* - w),     M_S = Σ[:,S] Σ_SS⁻¹ Σ[S,:].

The first two terms are the floor: what even the best reader of S gets wrong. The last one is a
squared length, |shift + F·(Ωe)_S|², with F = L'Ω_SS⁻¹ and Σ_SS = LL'. For Ω = Σ the shift is 0 and
F = L⁻¹, which is the paper's e'M_S e. Both are sums of squares; `model/readings.py` says how many
digits that keeps between near copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray
from preceptor.loss.oracle import DeviationForms, LossModel, SetForm, Setting
from preceptor.loss.set_tree import SetTree
from preceptor.model.compiled_risks import CompiledRisk
from preceptor.model.readings import Readings, readings_of, readings_of_all
from preceptor.model.risks import NumberRisk, SquaredError
from preceptor.model.sets import SetFamily

# Dense forms hold sets x k x n numbers; beyond this solvers ask for losses in batches instead.
MAX_FORM_BYTES = 256 * 2**20
# So many losses are worked out before another core has begun.
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

    def faults(self, setting: Setting) -> list[str]:
        """Only squared error can do without Gaussian tests."""
        if not setting.world.is_gaussian and not isinstance(setting.risk, SquaredError):
            return [
                f"loss: closed form with {type(setting.risk).__name__} needs Gaussian tests, but "
                "this world has Beta marginals; use the empirical loss or squared error "
                "(in Python: loss=Empirical(...) or risk=SquaredError())"
            ]
        return []

    def in_words(self) -> str:
        """That there is no sample."""
        return "exact, in closed form"

    def bind(self, setting: Setting) -> GaussianOracle:
        """The closed forms for one setting."""
        if setting.world.is_binary:
            from preceptor.loss.yes_no import YesNoOracle

            return YesNoOracle(setting)
        return GaussianOracle(setting)


class GaussianOracle:
    """Losses of all sets, or of one, from the closed form above."""

    # Closed forms are exact up to rounding.
    accuracy: float = 0.0

    def __init__(self, setting: Setting) -> None:
        assert isinstance(setting.risk, NumberRisk)
        self._risk = setting.risk
        self._see(setting)

    def _see(self, setting: Setting) -> None:
        self._world = setting.world
        self._budget = setting.budget
        self._imputes = setting.learner.imputing_covariance(setting.world)
        self._knows_correlations = bool(np.array_equal(self._imputes, self._world.covariance))
        self._single: dict[tuple[int, ...], SetForm] = {}

    @cached_property
    def sets(self) -> SetFamily:
        """All sets the budget allows."""
        return self._budget.sets(self._world.size)

    @cached_property
    def _readings(self) -> Readings:
        return self._turned(readings_of_all(self._world, self._imputes, self.sets))

    def _turned(self, readings: Readings) -> Readings:
        """Readings in the coordinates that charges need: any will do where lengths are charged."""
        return readings

    @cached_property
    def tree(self) -> SetTree | None:
        """All sets as a tree; None for a person whose imputation is not that of the world."""
        if not self._knows_correlations:
            return None
        return SetTree.build(self.sets, self._readings.factor)

    def losses(self, errors: FloatArray) -> FloatArray:
        """All sets at once: one product with Ω per state, then k per set (k² if Ω is not Σ)."""
        from preceptor.loss._loss_kernels import tree_losses

        errors = np.ascontiguousarray(np.atleast_2d(errors), dtype=np.float64)
        readings, sets = self._readings, self.sets
        known = self._risk.code >= 0
        prices = sets.prices if known else np.zeros(len(sets))
        risk = CompiledRisk.of_number(self._risk if known else SquaredError())
        tree = self.tree
        if tree is not None:
            by_set = np.empty((len(sets), errors.shape[0]))
            arguments = (
                self._imputes @ errors.T,
                tree.depth,
                tree.test,
                tree.set_index,
                tree.row,
                readings.floor,
                prices,
                *risk,
                by_set,
            )
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
        from preceptor.loss._loss_kernels import packed_losses

        readings, sets = self._readings, self.sets
        out = np.empty((errors.shape[0], len(sets)))
        packed_losses(
            errors @ self._imputes, sets.members, sets.sizes, readings.floor, readings.shift,
            readings.factor, prices, *risk, out,
        )  # fmt: skip
        return out

    def loss_of(self, errors: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """One set for many states; the set need not be listed."""
        charged = self._risk.expected(self.variance_of(errors, shown))
        return charged + self._form_of(shown).price

    def variance_of(self, errors: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """Variance of the residual (states,) when `shown` is shown."""
        form = self._form_of(shown)
        deviation = form.shift + np.atleast_2d(errors) @ form.reading.T
        variance: FloatArray = form.floor + np.sum(deviation * deviation, axis=1)
        return variance

    def ceiling_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> float:
        """Every deviation as large as the signs of the errors could make it."""
        form = self._form_of(shown)
        largest = np.abs(form.shift) + np.abs(form.reading) @ sizes
        variance = form.floor + float(largest @ largest)
        if self._risk.is_increasing:
            return float(self._risk.expected(variance)) + form.price
        grid = np.linspace(0.0, variance, 1001)
        return 1.01 * float(self._risk.expected(grid).max()) + form.price

    def sensitivity_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """|R d| moves the residual's standard deviation by at most its own length."""
        return form_sensitivity(self._form_of(shown), sizes, self._risk)

    def squared_form_of(self, shown: tuple[int, ...]) -> SetForm | None:
        """The form itself, where variance is what is charged."""
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
        """Loss of the best reader of each set; 0 where the risk may fall with variance."""
        if not self._risk.is_increasing:
            return self.sets.prices.copy()
        return self._risk.expected(self._readings.floor) + self.sets.prices

    def forms(self) -> DeviationForms | None:
        """Dense forms, where the risk has a code and they fit in memory."""
        known = self._risk.code >= 0
        return self._dense_forms(CompiledRisk.of_number(self._risk)) if known else None

    def deviations(self) -> DeviationForms | None:
        """The forms of squared error: floors and deviations, whatever is charged for them."""
        return self._dense_forms(CompiledRisk.of_number(SquaredError()))

    def _dense_forms(self, risk: CompiledRisk) -> DeviationForms | None:
        count, widest = self.sets.members.shape
        if count * widest * self._world.size * 8 > MAX_FORM_BYTES:
            return None
        readings = self._readings
        rows = self._imputes[np.maximum(self.sets.members, 0)]  # padding meets zeros in factor
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
        return lengths * (2.0 * reach)  # the floor does not move, so it need not be counted
    return lengths * risk.deviation_slope(float(np.sqrt(form.floor + reach * reach)))
