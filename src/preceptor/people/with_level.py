"""People who learn the level of outcomes too: the average, or the score of an average case.

All kinds take the average outcome (where outcomes are yes/no, how common yes is) to be known. Here
it is learned: the level is the weight of a constant test that is always shown. It counts from the
true level, so 0 is right. A kind for n + 1 tests then says how weights and level move: the delta
rule adds rate x surprise to the level, showings move it along a curve, Bayesian regression
estimates it with the weights. Or the level has a rate of its own and the weights move as they did.

The constant has second moment 1 and no covariance with other tests, so that everything about second
moments holds in the world with one more test (`with_constant`). Its fourth moment is 1, not 3 as of
a Gaussian test; `moments.py` takes that into account.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.schema import Limits, set_checked
from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor.errors import InvalidProblem
from preceptor.model.expected import Expected, ReportsErrors, Tail, Walk
from preceptor.model.person import Affine, Person, ShownBefore, SurpriseStep
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.answering import foreseen, foreseen_slope
from preceptor.people.curved import Curved
from preceptor.people.curves import Curve
from preceptor.people.moments import Moments
from preceptor.people.outcome_learners import Bayesian
from preceptor.people.own_person import OwnPerson
from preceptor.people.sampled import Sampled, SampledAnswers
from preceptor.people.yes_no_expectation import ScoredAnswers

# Copies that are simulated where no closed form is known.
_COPIES = 400
# Levels of yes/no answers are tabulated in steps of at most this, to so far beyond the first and
# the true one; in units of the score.
_STEP, _BEYOND = 0.25, 1.0


class OwnLevel(NamedTuple):
    """State of the person; weights, and last a level that moves at its own rate, (..., n + 1)."""

    state: Any
    both: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class WithLevel(Person):
    """A person who also learns the average outcome, or how common yes is.

    Parameters
    ----------
    person
        How weights and level are learned: a person with one weight more than there are tests. The
        last weight is the level: that of a constant test that is always shown, counted from the
        true average (from the score of an average case where outcomes are yes/no).
        `WithLevel.of` makes it from a person who knows the level.
    rate
        If given, the level moves by this rate times the surprise after each case, and only the
        weights move as `person` says. For people who do not learn from outcomes otherwise: with
        `NoLearning` they learn nothing but the level.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World([1.0], [[1.0]], outcome=pr.Binary(prevalence=0.2))
    >>> novice = WithLevel.of(pr.DeltaRule([0.0], rate=0.1), world)
    >>> round(novice.acting(world, risk=pr.Brier()).predict((0,), np.array([2.0])), 6)
    0.2
    """

    kind: ClassVar[str] = "with-level"
    has_level: ClassVar[bool] = True

    person: Annotated[Person, "How weights and level, the last weight, are learned."]
    rate: Annotated[
        float | None,
        Limits(at_least=0, at_most=1e50),
        "Share of a surprise by which the level moves. If omitted, it moves as the weight of a "
        "test that is always shown.",
    ] = None

    def __init__(self, person: Person, rate: float | None = None) -> None:
        faults = set_checked(self, rate=rate)
        known = isinstance(person, Person)
        if not known or isinstance(person, (OwnPerson, WithLevel)) or len(person.people) > 1:
            faults.append(
                f"person: a {type(person).__name__}, must be one person of a built-in kind who "
                "knows the level"
            )
        elif person.size < 2:
            faults.append("person: one weight; needs one for each test, and the level")
        elif rate is not None and person.learns_from_outcomes:
            faults.append(
                f"rate: {rate!r}, but {type(person).__name__} learns the level from outcomes "
                "already; leave `rate` out"
            )
        InvalidProblem.raise_if(faults)
        self.set_fields(person=person)

    @classmethod
    def of(
        cls, person: Person, world: World, first: float | None = None, rate: float | None = None
    ) -> Self:
        """Return a person of this kind who starts from a first belief about the level.

        Parameters
        ----------
        person
            Weights and how they are learned.
        world
            Model of tests and outcomes.
        first
            The first belief: an average outcome in the world's units, where the true one is 0, or
            the share of cases that are yes. By default the truth. People who think that a share of
            cases are yes take into account how far their own weights spread scores, so a novice
            answers with that share.
        rate
            As in the constructor.

        Returns
        -------
        WithLevel
            With the same weights.

        Raises
        ------
        InvalidProblem
            A share that is not between 0 and 1, or a person who cannot have a level.
        """
        if isinstance(person, OwnPerson) or len(person.people) > 1:
            return cls(person, rate)
        level = first_level(world, person.initial, first)
        changes: dict[str, Any] = {"initial": np.append(person.initial, level)}
        if isinstance(person.imputation, np.ndarray):
            changes["imputation"] = _bordered(person.imputation, 1.0)
        if getattr(person, "home", None) is not None:
            changes["home"] = np.append(person.home, level)  # type: ignore[attr-defined]
        if isinstance(person, Curved) and not isinstance(person.curves, Curve):
            changes["curves"] = (*person.curves, person.curves[-1])
        if isinstance(person, Bayesian):
            # As unsure about the level as about what a typical test contributes.
            prior = person.prior_covariance
            unsure = float(np.mean(np.diag(prior) * np.diag(world.covariance)))
            changes["prior_variance"] = _bordered(prior, unsure)
        return cls(replace(person, **changes), rate)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild from plain data, the person included."""
        if "person" in fields:
            fields = {**fields, "person": Person.from_dict(fields["person"])}
        return super().from_fields(fields)

    @property
    def initial(self) -> FloatArray:
        """Initial weights (n,) of the tests."""
        return self.person.initial[:-1]

    @property
    def level(self) -> float:
        """The first level, counted from the true one."""
        return float(self.person.initial[-1])

    def at_level(self, level: float) -> WithLevel:
        """Return the same person with another first level.

        Parameters
        ----------
        level
            Counted from the true one.

        Returns
        -------
        WithLevel
            With the same weights.
        """
        return replace(self, person=self.person.with_initial(np.append(self.initial, level)))

    @property
    def imputation(self) -> Any:
        """How the person imputes hidden tests."""
        dial = self.person.imputation
        return dial[:-1, :-1] if isinstance(dial, np.ndarray) else dial

    def with_initial(self, weights: FloatArray) -> WithLevel:
        """Return the same person with other first weights (n,) and the same first level."""
        return replace(self, person=self.person.with_initial(np.append(weights, self.level)))

    @property
    def learns_from_outcomes(self) -> bool:  # type: ignore[override]
        """Whether weights or level depend on outcomes."""
        return self.person.learns_from_outcomes or self.rate is not None

    def start_faults(self, start: ShownBefore) -> list[str]:
        """Return the faults of the person within."""
        return self.person.start_faults(start)

    # --- acts ---

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> Any:
        """Return the state before the first round, with the first level."""
        state = self.person.fresh(with_constant(world), people, _wide_start(start))
        if self.rate is None:
            return state
        both = self.person.weights_of(with_constant(world), state).copy()
        both[..., -1] = self.level
        return OwnLevel(state, both)

    def weights_of(self, world: World, state: Any) -> FloatArray:
        """Return the weights of the tests."""
        return self._both(world, state)[..., :-1]

    def level_of(self, world: World, state: Any) -> FloatArray:
        """Return the level, counted from the true one."""
        return self._both(world, state)[..., -1]

    def _both(self, world: World, state: Any) -> FloatArray:
        """Weights and level (..., n + 1)."""
        if self.rate is None:
            return self.person.weights_of(with_constant(world), state)
        return np.asarray(state.both)

    def learn(
        self, world: World, state: Any, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Any:
        """Learn from the case with the constant as one more shown test."""
        case, seen = with_one(filled), with_one(shown)
        if self.rate is None:
            return self.person.learn(with_constant(world), state, case, seen, outcome)
        added_up = np.sum(self._both(world, state) * case, axis=-1)
        inner = self.person.learn(with_constant(world), state.state, case, seen, outcome)
        both = self.person.weights_of(with_constant(world), inner).copy()
        both[..., -1] = state.both[..., -1] + self.rate * (outcome - foreseen(world, added_up))
        return OwnLevel(inner, both)

    # --- has an expectation ---

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Return that of the person within; simulated copies where the level has its own rate."""
        if self.rate is not None:
            return Sampled(self.acting(world, start), world, sets, _COPIES, seed=0)
        wide = with_constant(world), constant_in(sets), _wide_start(start)
        expected = self.person.expected(*wide)
        return WithoutLevel(
            expected.with_constant() if isinstance(expected, Moments) else expected, sets
        )

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: ShownBefore = None
    ) -> Expected:
        """Return that of the person within where scores follow from moments; else copies."""
        if self.rate is None:
            wide = with_constant(world), constant_in(sets), risk, _wide_start(start)
            expected = self.person.expected_answers(*wide)
            if isinstance(expected, ScoredAnswers):
                return WithoutLevel(expected.with_levels(self._levels), sets)
        return SampledAnswers(self, world, sets, risk, start, copies=_COPIES)

    @property
    def _levels(self) -> FloatArray:
        """Places between which charges of yes/no answers are interpolated."""
        low, high = min(self.level, 0.0) - _BEYOND, max(self.level, 0.0) + _BEYOND
        return np.linspace(low, high, math.ceil((high - low) / _STEP) + 1)

    # --- is filtered ---

    def at_weights(self, state: Any, weights: FloatArray) -> Any:
        """Replace weights and level (..., n + 1)."""
        if self.rate is None:
            return self.person.at_weights(state, weights)
        return OwnLevel(self.person.at_weights(state.state, weights), weights)

    def moves(
        self, world: World, state: Any, filled: FloatArray, shown: Shown, outcome: FloatArray
    ) -> Affine:
        """Return the map of weights and level, (..., n + 1, n + 1)."""
        case, seen, wide = with_one(filled), with_one(shown), with_constant(world)
        if self.rate is None:
            return self.person.moves(wide, state, case, seen, outcome)
        turn, push = self.person.moves(wide, state.state, case, seen, outcome)
        added_up = np.sum(self._both(world, state) * case, axis=-1)
        slope = foreseen_slope(world, added_up)
        people = np.broadcast_shapes(turn.shape[:-2], case.shape[:-1], added_up.shape)
        turn = np.broadcast_to(turn, (*people, *turn.shape[-2:])).copy()
        push = np.broadcast_to(push, (*people, push.shape[-1])).copy()
        turn[..., -1, :] = -self.rate * slope[..., None] * case
        turn[..., -1, -1] += 1.0
        push[..., -1] = self.rate * (outcome - foreseen(world, added_up) + slope * added_up)
        return Affine(turn, push)

    def surprise_step(self, world: World, state: Any) -> SurpriseStep | None:
        """Return that of the person within, over weights and level."""
        if self.rate is not None:
            return None
        return self.person.surprise_step(with_constant(world), state)

    def from_here(self, world: World, state: Any, weights: FloatArray) -> WithLevel:
        """Start from these weights (n,), with the level appended if it is another one."""
        both = weights
        if both.shape[-1] == self.size:
            both = np.append(weights, self.level_of(world, state))
        inner = state if self.rate is None else state.state
        return replace(self, person=self.person.from_here(with_constant(world), inner, both))

    # --- in words ---

    def learning_in_words(self) -> str:
        """Describe the person within, and the level."""
        how = "as if it were a test that is always shown"
        if self.rate is not None:
            how = f"by {100 * self.rate:.3g}% of each surprise"
        off = f", at first {self.level:+.3g} off" if self.level else ""
        return f"{self.person.learning_in_words()}; the level of outcomes is learned {how}{off}"

    def beliefs_in_words(self, world: World) -> str:
        """Describe the first weights; a novice about yes/no outcomes says how common yes is."""
        if world.outcome is None or np.any(self.initial):
            return super().beliefs_in_words(world)
        share = float(world.outcome.from_score.probability(world.base_score + self.level))
        return f"a novice who takes every case for yes with a chance of {share:.0%}"


class WithoutLevel:
    """`Expected` of a person with a level, reporting the errors of the weights only.

    Parameters
    ----------
    expected
        What is expected in the world with a constant.
    sets
        Sets of tests that may be shown, without the constant.
    """

    def __init__(self, expected: Expected, sets: SetFamily) -> None:
        self._expected, self.sets = expected, sets
        self.exact, self.exact_prices = expected.exact, expected.exact_prices
        self.accuracy = expected.accuracy

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Return the expected loss of each round."""
        return self._expected.losses(schedule)

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Return the discounted loss of a schedule and of its tail repeated forever."""
        return self._expected.total(schedule, discount, tail)

    def walk(self, rounds: int, discount: float) -> Walk:
        """Return a walk for schedules of this many rounds."""
        return self._expected.walk(rounds, discount)

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights and the true level, price included."""
        return self._expected.floors()

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """True minus expected weights before each round, shape (rounds, n)."""
        assert isinstance(self._expected, ReportsErrors)
        return self._expected.expected_errors(schedule)[:, :-1]


def first_level(world: World, weights: FloatArray, first: float | None = None) -> float:
    """Return the level of a first belief, counted from the true level.

    Parameters
    ----------
    world
        Model of tests and outcomes.
    weights
        The person's first weights, shape (n,).
    first
        An average outcome in the world's units, or a share of cases that are yes; by default the
        truth.

    Returns
    -------
    float
        For yes/no outcomes, the base score at which scores with these weights give that share,
        minus the true base score.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World([1.0], [[3.0]], outcome=pr.Binary(prevalence=0.2))
    >>> bool(first_level(world, world.coefficients) == 0.0)
    True
    """
    if world.outcome is None:
        if first is not None and not is_number(first):
            raise InvalidProblem(f"first: {first!r}, must be a number")
        return 0.0 if first is None else float(first)
    if first is not None and not (is_number(first) and 0.0 < first < 1.0):
        raise InvalidProblem(f"first: {first!r}, must be a share of cases between 0 and 1")
    spread = float(weights @ world.covariance @ weights)
    return world.outcome.base_score(spread, first) - world.base_score


def with_constant(world: World) -> World:
    """Return the world with one more test, for the second moments of a constant of 1."""

    def widened() -> World:
        return World(
            np.append(world.coefficients, 0.0),
            _bordered(world.covariance, 1.0),
            world.noise_variance,
            outcome=world.outcome,
        )

    return remembered(world, "with a constant", widened)


def constant_in(sets: SetFamily) -> SetFamily:
    """Return the same sets, each with the constant as its last member."""
    members = np.column_stack([sets.members, np.full(len(sets), -1)])
    members[np.arange(len(sets)), sets.sizes] = sets.tests
    sizes = sets.sizes + 1
    # A family of the empty set alone has a column of padding, where the constant stands now.
    return SetFamily(members[:, : sizes.max(initial=1)], sizes, sets.prices, sets.tests + 1)


def read_covariance(person: Person, world: World) -> FloatArray:
    """Return the covariance from which a person imputes, with the constant if they have a level.

    Parameters
    ----------
    person
        Of any kind.
    world
        Where the tests come from.

    Returns
    -------
    array of shape (n, n), or (n + 1, n + 1)
        The constant is not correlated with any test.
    """
    omega = person.imputing_covariance(world)
    return _bordered(omega, 1.0) if person.has_level else omega


def _bordered(matrix: FloatArray, corner: float) -> FloatArray:
    """The matrix with one more row and column, 0 but for the corner."""
    wide = np.pad(matrix, (0, 1))
    wide[-1, -1] = corner
    return wide


def with_one(array: Any) -> Any:
    """Return the array with a 1 (True for what is shown) appended to its last axis."""
    return np.concatenate([array, np.ones((*array.shape[:-1], 1), dtype=array.dtype)], axis=-1)


def _wide_start(start: ShownBefore) -> ShownBefore:
    """The constant was seen in at least as many rounds as any test."""
    return None if start is None else (*start, max(start, default=0))
