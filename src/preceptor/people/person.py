"""What a person is: one contract with four faces, from which the whole product works.

A person *acts* (answers a case, hears the outcome, learns: simulation), *is expected to* cost
something (planning), *is followed* (given the record, their weights move by a known affine map:
tracking) and *is fitted* (parameters with names, bounds and words: estimation). A kind of person
is one file beside this one; whoever reads that file knows everything about them.

Everybody here fills in what is hidden and adds up all tests with their own weights. So what a kind
must say is how weights move. States are arrays with any leading axes: one person and a crowd run
through the same lines.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.fields import Matrix, Share
from preceptor._base.values import FloatArray, Kind, frozen_array
from preceptor._base.words import counted, labelled
from preceptor.errors import NotApplicable
from preceptor.model.matrices import covariance_faults, read_numbers
from preceptor.model.risks import Risk
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World, weights_in_words
from preceptor.model.yes_no_risks import YesNoRisk

if TYPE_CHECKING:
    from preceptor.people.acting import Acting
    from preceptor.people.expected import Expected

BY_SHOWINGS = "by-showings"

Imputation = Annotated[
    Share | Matrix,
    "How the person fills in hidden tests: 0 knows all correlations, 1 ignores them, in "
    "between mixes; or the covariance they believe in.",
]


class Affine(NamedTuple):
    """Given the record of one round, weights h become `turn` @ h + `push`."""

    turn: FloatArray  # (..., n, n)
    push: FloatArray  # (..., n)


class Parameter(NamedTuple):
    """A number that says how somebody of a kind learns, for whoever fits or describes them.

    `usual` are the 10, 50 and 90 % points found in published experiments, where there are any.
    """

    name: str
    meaning: str
    lowest: float
    highest: float
    usual: tuple[float, float, float] | None = None


RATE = Parameter(
    "rate", "share of a weight's error that one showing removes", 0.0, 1.0, (0.015, 0.05, 0.2)
)


@dataclass(frozen=True, eq=False, repr=False)
class Person(Kind):
    """Base of all people: first beliefs, a way to fill in what is hidden, a way to learn.

    A subclass is a frozen dataclass (with `eq=False, repr=False`, as people compare and show
    themselves in their own way) with a `kind` of its own and the fields `initial` (weights at
    first, shape (n,)) and `imputation` (0 knows how tests go together, 1 takes hidden tests to be
    average, in between mixes; or a covariance (n, n)).
    """

    family: ClassVar[str] = "learner"
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    if TYPE_CHECKING:

        @property
        def initial(self) -> FloatArray:
            """Weights that the person starts with (n,), in the world's units."""

        @property
        def imputation(self) -> Any:
            """How the person fills in what is hidden: a number from 0 to 1, or a covariance."""

    @classmethod
    def from_dict(cls, data: Any) -> Any:
        """Find the kind by its name; a table without one is somebody who learns by showings."""
        if isinstance(data, dict) and "kind" not in data and not cls.kind:
            data = {"kind": BY_SHOWINGS, **data}
        return super().from_dict(data)

    @property
    def size(self) -> int:
        """How many tests the person has beliefs about."""
        return int(self.initial.size)

    def fill_in(self, initial: npt.ArrayLike, imputation: float | npt.ArrayLike) -> list[str]:
        """Check and set the two fields that everybody has; says what is wrong with them.

        Parameters
        ----------
        initial
            Weights at first, shape (n,).
        imputation
            A number from 0 to 1, or a covariance (n, n).

        Returns
        -------
        list of str
            One fault each, for the constructor to report with its own.
        """
        faults: list[str] = []
        beliefs = read_numbers("initial", initial, 1, faults)
        size = 0 if beliefs is None else beliefs.size
        dial = _imputation(imputation, size, faults)
        object.__setattr__(self, "initial", frozen_array([] if beliefs is None else beliefs))
        object.__setattr__(self, "imputation", dial)
        return faults

    def start_faults(self, start: Sequence[int] | None) -> list[str]:
        """Why showings before the first round mean nothing to this kind of person, if so.

        Parameters
        ----------
        start
            Showings of each test before; None means none.

        Returns
        -------
        list of str
            Empty for kinds that count showings, and where there were none.
        """
        if start is None or not any(start):
            return []
        return [
            f"start: {tuple(start)}, but {type(self).__name__} does not count showings; give the "
            "weights that the person has by now as `initial`"
        ]

    # --- acts ---

    @abstractmethod
    def fresh(self, world: World, people: tuple[int, ...], start: Sequence[int] | None) -> Any:
        """The state of people who have not played yet.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        people
            Shape of the crowd; () is one person.
        start
            Showings of each test before, for kinds that count them.

        Returns
        -------
        Any
            Whatever `learn` and `weights_of` take.
        """

    @abstractmethod
    def weights_of(self, world: World, state: Any) -> FloatArray:
        """Weights in a state.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        state
            Of a crowd of shape (...).

        Returns
        -------
        array of shape (..., n)
            In the world's units.
        """

    @abstractmethod
    def learn(
        self, world: World, state: Any, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Any:
        """The state after one more case each.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        state
            Before the case, of a crowd of shape (...).
        filled
            All tests as the people have them in mind, shape (..., n).
        shown
            Which of them were seen, shape (..., n).
        outcome
            What was true, shape (...).

        Returns
        -------
        Any
            The state after the case.
        """

    def acting(
        self,
        world: World,
        start: Sequence[int] | None = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> Acting:
        """Somebody of this kind who answers cases: for simulations.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        start
            Showings of each test before, for kinds that count them; none if left out.
        response_noise
            Standard deviation of a slip added to every answer, in units of the outcome; where
            that is yes or no, to the score behind it. They do not learn from it.
        risk
            How scores become probabilities or decisions, where the outcome is yes or no:
            decisions if left out. Not asked where it is a number.

        Returns
        -------
        Acting
            Before the first round.
        """
        from preceptor.people.acting import Acting

        return Acting(self, world, start, response_noise, risk)

    # --- is expected to ---

    @abstractmethod
    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """What planning asks: how somebody of this kind does on average, and what it costs.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        sets
            What may be shown.
        start
            Showings of each test before, for kinds that count them; none if left out.

        Returns
        -------
        Expected
            Squared errors, exact or not as it says.
        """

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: Sequence[int] | None = None
    ) -> Expected:
        """What planning asks where the outcome is yes or no: what their answers cost on average.

        Copies play it, unless a kind knows better.

        Parameters
        ----------
        world
            With an outcome that is yes or no.
        sets
            What may be shown.
        risk
            How scores become answers, and what those cost.
        start
            Showings of each test before, for kinds that count them; none if left out.

        Returns
        -------
        Expected
            Charges plus prices, exact or not as it says.
        """
        from preceptor.people.sampled_answers import SampledAnswers

        return SampledAnswers(self, world, sets, risk, start)

    def expectation(
        self,
        world: World,
        sets: SetFamily,
        start: Sequence[int] | None = None,
        risk: Risk | None = None,
    ) -> Expected:
        """What planning asks, whatever the outcome is: `expected`, or `expected_answers`.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        sets
            What may be shown.
        start
            Showings of each test before, for kinds that count them; none if left out.
        risk
            Of yes-or-no answers: decisions if left out. Squared error where outcomes are numbers.

        Returns
        -------
        Expected
            Exact or not as it says.
        """
        if not world.is_binary:
            return self.expected(world, sets, start)
        from preceptor.people.answering import risk_in

        return self.expected_answers(world, sets, risk_in(world, risk), start)

    # --- is followed ---

    def at_weights(self, state: Any, weights: FloatArray) -> Any:
        """A state with other weights, for kinds that keep them in it; the same state for others.

        Parameters
        ----------
        state
            As `fresh` and `learn` give it.
        weights
            Shape (..., n).

        Returns
        -------
        state
            Everything else as it was.
        """
        return state

    @abstractmethod
    def moves(
        self, world: World, state: Any, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """How the weights move in a round whose record is known: affine in the weights before.

        The state is asked for everything but the weights (exposure, certainty, rounds so far).
        Whoever learns from outcomes that are yes or no does not move by an affine map; then the map
        is the one that touches theirs at the weights in the state, as in an extended Kalman filter.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        state
            Before the case, of a crowd of shape (...).
        filled
            All tests as the people have them in mind, shape (..., n).
        shown
            Which of them were seen, shape (..., n).
        outcome
            What was true, shape (...).

        Returns
        -------
        Affine
            The map.
        """

    def from_here(self, world: World, state: Any, weights: FloatArray) -> Person:
        """Somebody who goes on as this person would from the middle of things.

        Their first round is this person's next one; they need no showings before (`start`).

        Parameters
        ----------
        world
            How tests and outcomes come about.
        state
            Of one person, before the next case: everything but the weights is taken from it.
        weights
            Present weights, shape (n,).

        Returns
        -------
        Person
            Of the same kind, or of another that goes on in the same way.

        Raises
        ------
        NotApplicable
            A kind that does not say how it goes on.
        """
        raise NotApplicable(
            f"{type(self).__name__}: cannot be planned for from the middle, because it does not "
            "say how it goes on; give it a method `from_here`"
        )

    # --- in words ---

    def imputing_covariance(self, world: World) -> FloatArray:
        """The covariance from which the person fills in what is hidden.

        Parameters
        ----------
        world
            Where the tests come from.

        Returns
        -------
        array of shape (n, n)
            The world's own covariance if `imputation` is 0.
        """
        if isinstance(self.imputation, np.ndarray):
            return self.imputation
        diagonal = np.diag(np.diag(world.covariance))
        mixed: FloatArray = (1.0 - self.imputation) * world.covariance + self.imputation * diagonal
        return mixed

    @abstractmethod
    def learning_in_words(self) -> str:
        """How the weights move, as part of a sentence."""

    def imputation_in_words(self) -> str:
        """What the person makes of tests that are not shown."""
        if isinstance(self.imputation, np.ndarray):
            return "filled in from a covariance of the person's own"
        if self.imputation == 0.0:
            return "filled in from the shown ones, with the right correlations"
        if self.imputation == 1.0:
            return "taken to be average: the person ignores correlations"
        return f"filled in from the shown ones; {self.imputation:.0%} of the correlation is ignored"

    def beliefs_in_words(self, world: World) -> str:
        """How far the first beliefs are from a world.

        Parameters
        ----------
        world
            The truth.

        Returns
        -------
        str
            Part of a sentence.
        """
        if not np.any(self.initial):
            does = (
                "takes every case for an average one" if world.is_binary else "predicts the average"
            )
            return f"a novice who {does}, whatever the tests say"
        if world.is_binary:
            return _score_in_words(world, self.initial)
        start = world.outcome_variance - world.noise_variance
        error = world.coefficients - self.initial
        left = float(error @ world.covariance @ error)
        share = left / start if start > 0 else 0.0
        return (
            "weights of their own; shown every test they would miss "
            f"{share:.0%} of the variance that tests explain"
        )

    def __repr__(self) -> str:
        names = [f"x{i + 1}" for i in range(self.size)]
        weights = weights_in_words(names, self.initial) if np.any(self.initial) else "all 0"
        rows = [
            ("first weights", weights),
            ("learning", self.learning_in_words()),
            ("unseen tests", self.imputation_in_words()),
        ]
        about = f"{type(self).__name__} with beliefs about {counted(self.size, 'test')}"
        return labelled(about, rows)


def size_faults(beliefs: int, tests: int) -> list[str]:
    """Whether somebody has beliefs about as many tests as there are."""
    if beliefs == tests:
        return []
    return [
        f"learner: {beliefs} initial coefficients, but the world has {tests} tests; lengths must "
        "agree"
    ]


def share_faults(name: str, value: Any, of: str) -> list[str]:
    """Whether this is a share, and of what it must be one."""
    if is_number(value) and 0.0 <= value <= 1.0:
        return []
    return [f"{name}: {value!r}, must be a share between 0 and 1 of {of}"]


def weights_or_none(
    person: Person, name: str, given: npt.ArrayLike | None, faults: list[str]
) -> FloatArray | None:
    """One number for each test, for a field that may be left out."""
    numbers = None if given is None else read_numbers(name, given, 1, faults)
    if numbers is None:
        return None
    if person.size and numbers.size != person.size:
        faults.append(f"{name}: {numbers.size} numbers for {person.size} tests; give one for each")
    return frozen_array(numbers)


def _imputation(
    imputation: float | npt.ArrayLike, size: int, faults: list[str]
) -> float | FloatArray:
    if not isinstance(imputation, (list, tuple, np.ndarray)):
        if not is_number(imputation) or not 0.0 <= float(imputation) <= 1.0:  # type: ignore[arg-type]
            faults.append(
                f"imputation: {imputation!r}, must be a number from 0 (knows the correlations) "
                "to 1 (ignores them), or a covariance matrix"
            )
            return 0.0
        return float(imputation)  # type: ignore[arg-type]
    matrix = read_numbers("imputation", imputation, 2, faults)
    if matrix is None:
        return 0.0
    if size:
        faults += covariance_faults("imputation", matrix, size)
    return frozen_array(matrix)


def _score_in_words(world: World, weights: FloatArray) -> str:
    """How the score that somebody adds up from all tests goes with the true one."""
    shared = float(weights @ world.covariance @ world.coefficients)
    own = float(weights @ world.covariance @ weights)
    size = math.sqrt(own * world.score_variance)
    return (
        "weights of their own; shown every test, their score would have a correlation of "
        f"{shared / size if size > 0.0 else 0.0:.2f} with the true one"
    )
