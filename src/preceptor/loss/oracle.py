"""What a solver may ask about losses, whatever model stands behind the answer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from preceptor._base.values import FloatArray, Kind
from preceptor.model.budgets import Budget
from preceptor.model.compiled_risks import CompiledRisk
from preceptor.model.risks import Risk
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.person import Person


@dataclass(frozen=True)
class DeviationForms:
    """Losses of all sets as squared lengths, in the layout that compiled solvers read.

    Whoever reads set S best is still off by `floor[S]`. A person with errors e reads it worse by
    the squared length of d = `shift[S] + reading[S] @ e`. The round costs risk(floor, d) + price:
    for outcomes that are numbers a function of floor + |d|², for yes or no one of floor, |d|² and
    the first row of d, which then lies along the best reading.
    """

    floor: FloatArray  # (sets,)
    shift: FloatArray  # (sets, rows)
    reading: FloatArray  # (sets, rows, tests)
    prices: FloatArray  # (sets,)
    risk: CompiledRisk

    @property
    def is_squared(self) -> bool:
        """Whether floor + |d|² itself is what a round costs."""
        return self.risk.code == 0

    @property
    def arrays(
        self,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int, FloatArray, FloatArray]:
        """All of it, in the order in which kernels take it."""
        return (self.floor, self.shift, self.reading, self.prices, *self.risk)


class SetForm(NamedTuple):
    """One set's v = floor + |shift + reading @ e|², and the price of showing it."""

    floor: float
    shift: FloatArray  # (rows,)
    reading: FloatArray  # (rows, tests)
    price: float


class Setting(Protocol):
    """What a loss model reads of a problem: everything but time."""

    @property
    def world(self) -> World:
        """How tests and outcomes come about."""

    @property
    def learner(self) -> Person:
        """Who reads them."""

    @property
    def budget(self) -> Budget:
        """What may be shown."""

    @property
    def risk(self) -> Risk:
        """How a wrong prediction is charged."""


class LossOracle(Protocol):
    """Expected loss of a round, price included, as a function of the person's errors."""

    @property
    def sets(self) -> SetFamily:
        """The sets that may be shown; columns of `losses` follow their order."""

    def losses(self, errors: FloatArray) -> FloatArray:
        """Losses (states, sets) for errors (states, tests): all sets at once."""

    def loss_of(self, errors: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """Losses (states,) of one set, which need not be listed."""

    def floors(self) -> FloatArray:
        """For each set (sets,) a loss that nobody who is shown it can go below, ever."""

    def ceiling_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> float:
        """A loss that one set never exceeds while no error is larger than `sizes` (tests,)."""

    def sensitivity_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """How fast one set's loss can change with each error (tests,), within `sizes`."""

    @property
    def accuracy(self) -> float:
        """How far a loss can be off, beyond rounding."""

    def forms(self) -> DeviationForms | None:
        """The same losses for compiled solvers, or None if they have no such form."""

    def squared_form_of(self, shown: tuple[int, ...]) -> SetForm | None:
        """One set's form where the loss itself is v + price (squared error), else None."""


@dataclass(frozen=True, eq=False)
class LossModel(Kind):
    """How expected losses are computed: exactly (`ClosedForm`) or on a sample (`Empirical`)."""

    family: ClassVar[str] = "loss"

    def faults(self, setting: Setting) -> list[str]:
        """Why this way of computing losses does not fit, if it does not.

        Parameters
        ----------
        setting
            World, person, budget and risk, as of a `Problem`.

        Returns
        -------
        list of str
            One sentence for each reason; empty if it fits.
        """
        return []

    def in_words(self) -> str:
        """Where expected losses come from, as part of a sentence."""
        return f"a loss model of kind {self.kind or type(self).__name__}"

    @abstractmethod
    def bind(self, setting: Setting) -> LossOracle:
        """The oracle for one world, person, budget and risk.

        Parameters
        ----------
        setting
            World, person, budget and risk, as of a `Problem`.

        Returns
        -------
        LossOracle
            Says what a round costs for any errors of the person and any set.
        """
