"""The interface through which solvers ask for losses, whatever the loss model."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from preceptor._base.values import FloatArray, Kind
from preceptor.model.risks import CompiledRisk
from preceptor.model.sets import SetFamily

if TYPE_CHECKING:
    from preceptor.model.problem import Problem


@dataclass(frozen=True)
class DeviationForms:
    """Losses of all sets as squared lengths, in the layout that kernels read.

    The best reader of set S has residual variance `floor[S]`. A person with errors e adds the
    squared length of d = `shift[S] + reading[S] @ e`. The round costs risk(floor, d) + price: for
    numeric outcomes a function of floor + |d|², for yes or no one of floor, |d|² and the first row
    of d, which then lies along the best reading.
    """

    floor: FloatArray  # (sets,)
    shift: FloatArray  # (sets, rows)
    reading: FloatArray  # (sets, rows, tests)
    prices: FloatArray  # (sets,)
    risk: CompiledRisk

    @property
    def is_squared(self) -> bool:
        """Whether a round costs floor + |d|² itself."""
        return self.risk.code == 0

    @property
    def arrays(
        self,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int, FloatArray, FloatArray]:
        """All arrays in the order of the kernels' parameters."""
        return (self.floor, self.shift, self.reading, self.prices, *self.risk)


class SetForm(NamedTuple):
    """One set's v = floor + |shift + reading @ e|², and the price of showing it."""

    floor: float
    shift: FloatArray  # (rows,)
    reading: FloatArray  # (rows, tests)
    price: float


class LossOracle(Protocol):
    """Expected loss of a round, price included, as a function of the person's errors."""

    @property
    def sets(self) -> SetFamily:
        """The allowed sets, in the order of the columns of `losses`."""

    def losses(self, errors: FloatArray) -> FloatArray:
        """Losses (states, sets) for errors (states, tests): all sets at once."""

    def loss_of(self, errors: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """Losses (states,) of one set, which need not be listed."""

    def floors(self) -> FloatArray:
        """For each set (sets,) a lower bound on the loss of any person who is shown it."""

    def ceiling_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> float:
        """An upper bound on one set's loss while no error is larger than `sizes` (tests,)."""

    def sensitivity_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """Largest change of one set's loss per unit of each error (tests,), within `sizes`."""

    @property
    def accuracy(self) -> float:
        """Largest error of a loss, beyond rounding."""

    def forms(self) -> DeviationForms | None:
        """The same losses for kernels, or None if they have no such form."""

    def squared_form_of(self, shown: tuple[int, ...]) -> SetForm | None:
        """One set's form if the loss is v + price (squared error), else None."""


@dataclass(frozen=True, eq=False)
class LossModel(Kind):
    """How expected losses are computed: exactly (`ClosedForm`) or on a sample (`Empirical`)."""

    family: ClassVar[str] = "loss"

    def faults(self, problem: Problem) -> list[str]:
        """Reasons why this loss model does not apply.

        Parameters
        ----------
        problem
            Whose world, person, budget and risk are used.

        Returns
        -------
        list of str
            One sentence per reason; empty if it applies.
        """
        return []

    def in_words(self) -> str:
        """Describe the loss model as part of a sentence."""
        return f"a loss model of kind {self.kind or type(self).__name__}"

    @abstractmethod
    def bind(self, problem: Problem) -> LossOracle:
        """The oracle for one world, person, budget and risk.

        Parameters
        ----------
        problem
            Whose world, person, budget and risk are used.

        Returns
        -------
        LossOracle
            Gives the loss of a round for any errors of the person and any set.
        """
