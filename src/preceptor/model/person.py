"""The contract of a person, with four faces: acting, expectation, filtering and fitting.

A person *acts* (answers a case, learns from the outcome: simulation), *has an expectation*
(expected losses: planning), *is filtered* (given the record, weights move by a known affine map)
and *is fitted* (parameters with names, bounds and descriptions). Each kind of person is one file.

All kinds impute hidden tests and sum all tests with their weights. So a kind only has to define how
weights move. States are arrays with any leading axes: one person and a crowd share the same code.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.schema import Matrix, Share, Vector, checked, set_checked
from preceptor._base.values import FloatArray, Kind
from preceptor._base.words import counted, labelled
from preceptor.errors import NotApplicable
from preceptor.model.matrices import covariance_faults
from preceptor.model.risks import Risk
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World, weights_in_words
from preceptor.model.yes_no_risks import YesNoRisk, as_yes_no_risk

if TYPE_CHECKING:
    from preceptor.model.expected import Expected
    from preceptor.people.acting import Acting

BY_SHOWINGS = "by-showings"
# Exposure counts before the first round, one per test; None means zero.
ShownBefore = Sequence[int] | None

Imputation = Annotated[
    Share | Matrix,
    "How the person imputes hidden tests: 0 knows all correlations, 1 ignores them, values in "
    "between mix both; or the covariance used instead.",
]


class Affine(NamedTuple):
    """The map of one round given its record: weights h become `turn` @ h + `push`."""

    turn: FloatArray  # (..., n, n)
    push: FloatArray  # (..., n)


class SurpriseStep(NamedTuple):
    """How a surprise moves the weights: w becomes w + B x (y - x'F w) / d(x).

    x are the results of the shown tests and F w their effective weights. B is `rate` times the
    identity on the shown weights, or `rate` F' if `all_weights` move. With a `covariance` R
    (Bayesian regression), B is R F' and d(x) = `noise` + x'F R F'x; otherwise d is 1.
    """

    rate: float = 1.0
    all_weights: bool = False
    covariance: FloatArray | None = None  # (n, n)
    noise: float = 1.0


class Parameter(NamedTuple):
    """A parameter of a kind's learning rule, for fitting and descriptions.

    `usual` are the 10%, 50% and 90% quantiles in published experiments, where there are any.
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
    """Base of all people: initial weights, imputation of hidden tests, and a learning rule.

    A subclass is a frozen dataclass (with `eq=False, repr=False`, because the base class defines
    both) with a unique `kind` and the fields `initial` (initial weights, shape (n,)) and
    `imputation` (0 knows the correlations, 1 takes hidden tests to be average, values in between
    mix both; or a covariance (n, n)).
    """

    family: ClassVar[str] = "learner"
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    # False if weights move by what is shown alone, whatever the results and the outcome are.
    learns_from_outcomes: ClassVar[bool] = True
    # Whether the average outcome is learned too (`people/with_level.py`); otherwise it is known.
    has_level: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def initial(self) -> FloatArray:
            """Initial weights (n,), in the world's units."""

        @property
        def imputation(self) -> Any:
            """How the person imputes hidden tests: a number from 0 to 1, or a covariance."""

    @classmethod
    def from_dict(cls, data: Any) -> Any:
        """Rebuild from plain data; without a `kind`, a person who learns by showings."""
        if isinstance(data, dict) and "kind" not in data and not cls.kind:
            data = {"kind": BY_SHOWINGS, **data}
        return super().from_dict(data)

    @property
    def size(self) -> int:
        """Number of tests, n."""
        return int(self.initial.size)

    @property
    def people(self) -> dict[str, Person]:
        """The people this may be, by name: this person alone, unless it is a crowd."""
        return {self.kind: self}

    @property
    def weights(self) -> FloatArray:
        """Probability of each of `people`."""
        return np.ones(1)

    def is_default_crowd(self, world: World) -> bool:
        """Whether this is the crowd assumed when nothing is known about how a person learns.

        Parameters
        ----------
        world
            The world that the default crowd is made for.

        Returns
        -------
        bool
            False for a single person, and for a crowd with kinds of its own.
        """
        return False

    def with_initial(self, weights: FloatArray) -> Person:
        """Return the same person with other initial weights.

        Parameters
        ----------
        weights
            Shape (n,), in the world's units.

        Returns
        -------
        Person
            Of the same kind.
        """
        changed: dict[str, Any] = {"initial": weights}
        return replace(self, **changed)

    def fill_in(
        self, initial: npt.ArrayLike, imputation: float | npt.ArrayLike, **others: Any
    ) -> list[str]:
        """Check and set fields: the two that all kinds share, and others as annotated.

        Parameters
        ----------
        initial
            Initial weights, shape (n,).
        imputation
            A number from 0 to 1, or a covariance (n, n).
        **others
            Further fields by name. A list has one number per test.

        Returns
        -------
        list of str
            Faults found, for the constructor to report together with others.
        """
        faults: list[str] = []
        beliefs = checked("initial", initial, Vector, faults)
        dial = checked("imputation", imputation, Imputation, faults)
        self.set_fields(initial=beliefs, imputation=dial)
        if isinstance(dial, np.ndarray) and dial.size and self.size:
            faults += covariance_faults("imputation", dial, self.size)
        faults += set_checked(self, **others)
        for name in others:
            given = getattr(self, name)
            if isinstance(given, np.ndarray) and given.size and given.shape != (self.size,):
                faults.append(f"{name}: {given.size} numbers for {self.size} tests; give one each")
        return faults

    def start_faults(self, start: ShownBefore) -> list[str]:
        """Return why this kind cannot use initial exposure counts, if it cannot.

        Parameters
        ----------
        start
            Exposure counts before the first round; None means zero.

        Returns
        -------
        list of str
            Empty for kinds that use exposure counts, and where all are zero.
        """
        if start is None or not any(start):
            return []
        return [
            f"start: {tuple(start)}, but {type(self).__name__} does not count showings; give the "
            "weights that the person has by now as `initial`"
        ]

    # --- acts ---

    @abstractmethod
    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> Any:
        """Return the state before the first round.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        people
            Shape of the crowd; () is one person.
        start
            Exposure counts before the first round, for kinds that use them.

        Returns
        -------
        Any
            A state for `learn` and `weights_of`.
        """

    @abstractmethod
    def weights_of(self, world: World, state: Any) -> FloatArray:
        """Return the weights in a state.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        state
            State of a crowd of shape (...).

        Returns
        -------
        array of shape (..., n)
            In the world's units.
        """

    def level_of(self, world: World, state: Any) -> FloatArray:
        """Return the level of answers in a state, counted from the true one.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        state
            State of a crowd of shape (...).

        Returns
        -------
        array of shape (...)
            What the person adds to the weighted sum of tests; 0 for people who know the average
            outcome.
        """
        return np.zeros(())

    @abstractmethod
    def learn(
        self, world: World, state: Any, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Any:
        """Return the state after one more case each.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        state
            Before the case, of a crowd of shape (...).
        filled
            All test results with hidden ones imputed, shape (..., n).
        shown
            Which tests were shown, shape (..., n).
        outcome
            Outcomes, shape (...).

        Returns
        -------
        Any
            The state after the case.
        """

    def acting(
        self,
        world: World,
        start: ShownBefore = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> Acting:
        """Return a simulated person of this kind who answers cases.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        start
            Exposure counts before the first round, for kinds that use them; zero if omitted.
        response_noise
            Standard deviation of the noise added to every answer, in units of the outcome; to the
            score behind the answer where outcomes are yes/no. Nothing is learned from this noise.
        risk
            How scores become probabilities or decisions, where outcomes are yes/no; `Decision()`
            if omitted. Ignored where outcomes are numbers.

        Returns
        -------
        Acting
            In the state before the first round.
        """
        from preceptor.people.acting import Acting

        return Acting(self, world, start, response_noise, risk)

    # --- has an expectation ---

    @abstractmethod
    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return the expected losses that planning uses.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        sets
            Sets of tests that may be shown.
        start
            Exposure counts before the first round, for kinds that use them; zero if omitted.

        Returns
        -------
        Expected
            Squared errors, exact or approximate as its attributes say.
        """

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: ShownBefore = None
    ) -> Expected:
        """Return the expected losses that planning uses where outcomes are yes/no.

        They are estimated by simulating copies, unless a kind overrides this.

        Parameters
        ----------
        world
            A world with a yes/no outcome.
        sets
            Sets of tests that may be shown.
        risk
            How scores become answers, and the loss of each answer.
        start
            Exposure counts before the first round, for kinds that use them; zero if omitted.

        Returns
        -------
        Expected
            Charges plus prices, exact or approximate as its attributes say.
        """
        from preceptor.people.sampled import SampledAnswers

        return SampledAnswers(self, world, sets, risk, start)

    def expectation(
        self, world: World, sets: SetFamily, start: ShownBefore = None, risk: Risk | None = None
    ) -> Expected:
        """Return `expected` or `expected_answers`, depending on the world's outcome.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        sets
            Sets of tests that may be shown.
        start
            Exposure counts before the first round, for kinds that use them; zero if omitted.
        risk
            Risk of yes/no answers; `Decision()` if omitted. Ignored where outcomes are numbers.

        Returns
        -------
        Expected
            Exact or approximate as its attributes say.
        """
        if not world.is_binary:
            return self.expected(world, sets, start)
        return self.expected_answers(world, sets, as_yes_no_risk(risk), start)

    # --- is filtered ---

    def at_weights(self, state: Any, weights: FloatArray) -> Any:
        """Return the state with other weights, for kinds whose state holds them.

        Parameters
        ----------
        state
            A state from `fresh` or `learn`.
        weights
            New weights, shape (..., n), followed by the level if the person has one.

        Returns
        -------
        state
            With everything else unchanged; the same state for other kinds.
        """
        return state

    @abstractmethod
    def moves(
        self, world: World, state: Any, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """Return the affine map of the weights in a round whose record is known.

        It uses everything in the state but the weights (exposure, posterior covariance, rounds so
        far). Learning from yes/no outcomes is not affine; then the map is linearised at the weights
        in the state, as in an extended Kalman filter.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        state
            Before the case, of a crowd of shape (...).
        filled
            All test results with hidden ones imputed, shape (..., n).
        shown
            Which tests were shown, shape (..., n).
        outcome
            Outcomes, shape (...).

        Returns
        -------
        Affine
            The map; of weights and level, one row and column more, if the person has a level.
        """

    def surprise_step(self, world: World, state: Any) -> SurpriseStep | None:
        """Return the step that a surprise causes, for kinds that learn in this form.

        The tutor then prices a case and a set in closed form; other kinds are priced by `moves`.

        Parameters
        ----------
        world
            How tests and outcomes are generated.
        state
            Of one person, before the case.

        Returns
        -------
        SurpriseStep or None
            None for kinds whose weights move otherwise.
        """
        return None

    def from_here(self, world: World, state: Any, weights: FloatArray) -> Person:
        """Return a person who continues from a later state of this one.

        Their first round is this person's next one; they need no exposure counts (`start`).

        Parameters
        ----------
        world
            Model of tests and outcomes.
        state
            State of one person before the next case; everything but the weights is used.
        weights
            Current weights, shape (n,).

        Returns
        -------
        Person
            Of the same kind, or of another that behaves the same from here on.

        Raises
        ------
        NotApplicable
            A kind without this method.
        """
        raise NotApplicable(
            f"{type(self).__name__}: cannot be planned for from a later state; give it a method "
            "`from_here`"
        )

    # --- in words ---

    def imputing_covariance(self, world: World) -> FloatArray:
        """The covariance from which the person imputes hidden tests.

        Parameters
        ----------
        world
            Where the tests come from.

        Returns
        -------
        array of shape (n, n)
            The world's covariance if `imputation` is 0.
        """
        if isinstance(self.imputation, np.ndarray):
            return self.imputation
        diagonal = np.diag(np.diag(world.covariance))
        return np.asarray((1.0 - self.imputation) * world.covariance + self.imputation * diagonal)

    @abstractmethod
    def learning_in_words(self) -> str:
        """Describe the learning rule, as part of a sentence."""

    def imputation_in_words(self) -> str:
        """Describe how hidden tests are imputed."""
        if isinstance(self.imputation, np.ndarray):
            return "filled in from a covariance given for this person"
        if self.imputation == 0.0:
            return "filled in from the shown ones, with the right correlations"
        if self.imputation == 1.0:
            return "taken to be average: the person ignores correlations"
        return f"filled in from the shown ones; {self.imputation:.0%} of the correlation is ignored"

    def beliefs_in_words(self, world: World) -> str:
        """Describe how far the initial weights are from the true ones.

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
    """Return a fault if the number of weights is not the number of tests."""
    if beliefs == tests:
        return []
    return [
        f"learner: {beliefs} initial coefficients, but the world has {tests} tests; lengths must "
        "agree"
    ]


def _score_in_words(world: World, weights: FloatArray) -> str:
    """Correlation of the person's score from all tests with the true score."""
    shared = float(weights @ world.covariance @ world.coefficients)
    own = float(weights @ world.covariance @ weights)
    size = math.sqrt(own * world.score_variance)
    return (
        "weights of their own; shown every test, their score would have a correlation of "
        f"{shared / size if size > 0.0 else 0.0:.2f} with the true one"
    )
