"""A problem: a world, a learner, a budget and a risk, discounted over some number of rounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count
from preceptor._base.discounting import cases_to_come
from preceptor._base.fields import Count, Index, InFiles, Items, Limits, Share
from preceptor._base.parsing import parse_toml
from preceptor._base.values import FloatArray, Value, plain, remembered
from preceptor._base.words import counted, first_few, labelled, times
from preceptor.errors import InvalidFile, InvalidInput, InvalidProblem, NotApplicable
from preceptor.loss import ClosedForm, LossModel, LossOracle
from preceptor.model.budgets import Budget, as_budget
from preceptor.model.risks import Risk, SquaredError
from preceptor.model.sets import MOST_NUMBERS, SetFamily
from preceptor.model.world import NAMED, World
from preceptor.model.yes_no_risks import Decision
from preceptor.people.by_showings import Learner
from preceptor.people.person import BY_SHOWINGS, Person, size_faults
from preceptor.problem.checks import (
    MOST_ROUNDS,
    checked_start,
    discount_faults,
    horizon_faults,
    over_tests,
)
from preceptor.problem.parts import Parts, budget_in, world_in

FORMAT = "preceptor-problem/1"


@dataclass(frozen=True, eq=False)
class Problem(Value):
    """Everything that a solver needs to know: world, person, budget, risk and time.

    Loss is minimised everywhere: the value of a plan is its expected discounted loss.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    learner
        The person who decides, with beliefs about every column of the world: a `Learner`, any other
        `Person`, or a `Crowd` of whom one does not know which.
    budget
        Which sets may be shown: a number k (at most k tests per case) or a budget. Where tests of
        the world have several columns, it counts and prices tests and becomes `Grouped`.
    discount
        δ, what a case one round later is worth, from 0 to 1; below 1 if the horizon is infinite.
    horizon
        Number of rounds, or None for no end.
    risk
        How a wrong prediction is charged; squared error if left out, or the share of wrong
        decisions if the outcome is yes or no.
    loss
        Exact (`ClosedForm()`, the default) or on a fixed sample (`Empirical(...)`).
    start
        How often the person has been shown each test already, shape (n,); never if left out.

    Raises
    ------
    InvalidProblem
        Values that make no sense or do not fit together, all of them in one message.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> world = World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = Problem(world, Learner([0.2, 1.3], Geometric(1.1)), budget=1, discount=0.99)
    >>> problem.size, len(problem.sets)
    (2, 3)
    """

    world: World
    learner: Person
    budget: Annotated[
        Budget, InFiles(Count | Budget), "What may be shown; a number k means at most k tests."
    ]
    discount: Annotated[
        Share, "What one round later is worth; 0.99 means about a hundred rounds ahead."
    ] = 0.99
    horizon: Annotated[
        int | None,
        Limits(at_least=1, at_most=MOST_ROUNDS),
        "Number of rounds (cases). Left out: no end.",
    ] = None
    risk: Risk = field(default_factory=SquaredError)
    loss: LossModel = field(default_factory=ClosedForm)
    start: Annotated[
        tuple[Index, ...] | None,
        Items(at_least=1),
        "How often the person has been shown each test already. Left out: never.",
    ] = None

    def __init__(
        self,
        world: World,
        learner: Person,
        budget: Budget | int = 1,
        discount: float = 0.99,
        horizon: int | None = None,
        risk: Risk | None = None,
        loss: LossModel | None = None,
        start: Sequence[int] | npt.NDArray[np.integer] | None = None,
    ) -> None:
        faults: list[str] = []
        for name, value, wanted in (("world", world, World), ("learner", learner, Person)):
            if not isinstance(value, wanted):
                given = type(value).__name__
                faults.append(f"{name}: is of type {given}, must be a {wanted.__name__}")
        InvalidProblem.raise_if(faults)
        allowed: Budget | None = None
        try:
            allowed = over_tests(as_budget(budget), world)
            faults += allowed.size_faults(world.size)
        except InvalidInput as error:
            faults += error.faults
        faults += size_faults(learner.size, world.size)
        faults += horizon_faults(horizon) + discount_faults(discount, horizon)
        if np.abs(learner.initial).max() > 1e50:
            faults.append(
                f"initial: up to {np.abs(learner.initial).max():.1e}, so large that losses overflow"
            )
        if is_count(horizon, least=1) and horizon * world.size > MOST_NUMBERS:  # type: ignore[operator]
            faults += (
                []
                if horizon_faults(horizon)
                else [
                    f"horizon: {horizon:,} rounds of {world.size} tests, must be at most "
                    f"{MOST_NUMBERS // world.size:,} rounds; leave it out for no end"
                ]
            )
        shown_before = checked_start(start, world.size, faults)
        faults += learner.start_faults(shown_before)
        set_field = object.__setattr__
        set_field(self, "world", world)
        set_field(self, "learner", learner)
        set_field(self, "budget", allowed)
        set_field(self, "discount", discount)
        set_field(self, "horizon", None if horizon is None else horizon)
        set_field(self, "risk", _usual_risk(world) if risk is None else risk)
        set_field(self, "loss", ClosedForm() if loss is None else loss)
        set_field(self, "start", shown_before)
        if not isinstance(self.risk, Risk):
            faults.append(f"risk: {risk!r} is not a risk; use SquaredError(), Huber(1.0), ...")
        elif not isinstance(self.loss, LossModel):
            faults.append(f"loss: {loss!r} is not a loss model; use ClosedForm() or Empirical()")
        else:
            faults += _risk_faults(self.risk, world)
            if not faults:
                faults += self.loss.faults(self) + self._other_people_faults()
        InvalidProblem.raise_if(faults)
        set_field(self, "discount", float(discount))
        set_field(self, "horizon", None if horizon is None else int(horizon))

    @property
    def is_binary(self) -> bool:
        """Whether the outcome is yes or no."""
        return self.world.is_binary

    @property
    def size(self) -> int:
        """How many tests there are, n."""
        return self.world.size

    @property
    def start_counts(self) -> tuple[int, ...]:
        """Showings of each test before round 0."""
        return self.start if self.start is not None else (0,) * self.size

    @property
    def learns_by_showings(self) -> bool:
        """Whether the person is the paper's: what they know depends on counts of showings alone."""
        return isinstance(self.learner, Learner) and self.learner.kind == BY_SHOWINGS

    @property
    def by_showings(self) -> Learner:
        """The person, where they learn by showings.

        Raises
        ------
        NotApplicable
            They learn in another way.
        """
        if not self.learns_by_showings:
            raise NotApplicable(
                f"needs somebody who learns by showings, not a {type(self.learner).__name__}"
            )
        assert isinstance(self.learner, Learner)
        return self.learner

    @property
    def initial_errors(self) -> FloatArray:
        """Truth minus belief (n,) at the first round."""
        if self.learns_by_showings:
            return self.by_showings.errors(self.world, self.start_counts)
        first = self.learner.fresh(self.world, (), self.start)
        return self.world.coefficients - self.learner.weights_of(self.world, first)

    @property
    def oracle(self) -> LossOracle:
        """Answers what a round costs in any state."""
        return remembered(self, "oracle", lambda: self.loss.bind(self))

    @property
    def sets(self) -> SetFamily:
        """The sets that may be shown, in the order that breaks ties."""
        return self.oracle.sets

    def budget_in_words(self) -> str:
        """What may be shown per case."""
        return self.budget.in_words(len(self.world.tests))

    def time_in_words(self) -> str:
        """How many cases there are, and what a later one counts."""
        if self.horizon is not None:
            span = counted(self.horizon, "case")
            if self.discount == 1.0:
                return span
            return f"{span}, each counting {self.discount:g} times the one before"
        return (
            f"about {cases_to_come(self.discount):,.0f} more cases: each counts "
            f"{self.discount:.6g} times the one before"
        )

    def __repr__(self) -> str:
        world, learner = self.world, self.learner
        seen = [
            f"{name} {times(self.start_counts[block[0]])}"
            for name, block in zip(world.tests, world.blocks, strict=True)
            if self.start_counts[block[0]]
        ]
        rows = [
            ("tests", first_few(world.tests, NAMED)),
            ("per case", self.budget_in_words()),
            ("learning", learner.learning_in_words()),
            ("first beliefs", learner.beliefs_in_words(world)),
            ("unseen tests", learner.imputation_in_words()),
            ("time", self.time_in_words()),
            ("loss", f"{self.risk.in_words()}; {self.loss.in_words()}"),
        ]
        if seen:
            rows.append(("already seen", first_few(seen, 3)))
        return labelled(f"Problem with {counted(len(world.tests), 'test')}", rows)

    def _other_people_faults(self) -> list[str]:
        """Only of people by showings is more expected than squared errors and yes-or-no charges."""
        if self.learns_by_showings:
            return []
        who = type(self.learner).__name__
        faults = []
        if not self.is_binary and not isinstance(self.risk, SquaredError):
            faults.append(
                f"risk: {type(self.risk).__name__}, but what is expected of a {who} is known for "
                "squared error only; leave the risk out, or plan for a Learner"
            )
        if not isinstance(self.loss, ClosedForm):
            faults.append(
                f"loss: {type(self.loss).__name__}, but what is expected of a {who} is known in "
                "closed form only; leave the loss out, or plan for a Learner"
            )
        return faults

    def asks_the_same_as(self, other: Problem) -> bool:
        """Whether both have the same losses for the same errors, so that one oracle can serve.

        Parameters
        ----------
        other
            The problem to compare with.

        Returns
        -------
        bool
            True if world, imputation, budget, risk and loss model are equal.
        """
        same_dial = self.learner.imputation is other.learner.imputation or (
            bool(np.array_equal(self.learner.imputation, other.learner.imputation))
        )
        return (
            (self.world is other.world or self.world == other.world)
            and same_dial
            and self.budget == other.budget
            and self.risk == other.risk
            and self.loss == other.loss
        )

    def answered_by(self, other: Problem) -> Problem:
        """This problem, with its questions about losses answered by the other's oracle.

        Parameters
        ----------
        other
            A problem that `asks_the_same_as` this one.

        Returns
        -------
        Problem
            An equal problem that shares what the other has worked out.
        """
        copy = self.replace()
        remembered(copy, "oracle", lambda: other.oracle)
        return copy

    def replace(self, **changes: Any) -> Problem:
        """A copy with some fields changed.

        Parameters
        ----------
        **changes
            New values, by the names of the constructor's parameters.

        Returns
        -------
        Problem
            Checked like any other.

        Raises
        ------
        TypeError
            A name that is no field.

        Examples
        --------
        >>> from preceptor.people.curves import Geometric
        >>> world = World.equicorrelated([1.0, 0.8], 0.8)
        >>> problem = Problem(world, Learner([0.2, 1.3], Geometric(1.1)))
        >>> problem.replace(horizon=20).horizon
        20
        """
        names = ("world", "learner", "budget", "discount", "horizon", "risk", "loss", "start")
        unknown = sorted(set(changes) - set(names))
        if unknown:
            raise TypeError(f"Problem has no field {', '.join(unknown)}; it has {', '.join(names)}")
        return Problem(**{name: getattr(self, name) for name in names} | changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, everything included, nothing that is a default."""
        return {"format": FORMAT, **super().to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Rebuild from plain data; see the page on problem files for what it may hold."""
        fields = dict(data)
        given = fields.pop("format", FORMAT)
        if given != FORMAT:
            raise InvalidFile(f"format: {given!r}, this version reads {FORMAT!r}")
        reading = Parts(dict(fields), [each.name for each in dataclasses.fields(cls)])
        fields["world"] = reading.part("world", world_in)
        fields["learner"] = reading.part("learner", Person.from_dict)
        fields["budget"] = reading.part("budget", budget_in)
        if "risk" in fields:
            fields["risk"] = reading.part("risk", Risk.from_dict)
        if "loss" in fields:
            fields["loss"] = reading.part("loss", LossModel.from_dict)
        if reading.errors:
            # Parts that cannot be made keep nobody from hearing about the others.
            reading.together(data.get("world"), fields)
        reading.raise_all()
        return super().from_dict(fields)

    def to_toml(self) -> str:
        """The problem as TOML text; a key that is left out has its default.

        Returns
        -------
        str
            What `from_toml` reads. An infinite horizon is one that is not there.

        Raises
        ------
        NotSerializable
            The problem holds a Python function.

        Examples
        --------
        >>> from preceptor.people.curves import Geometric
        >>> world = World.equicorrelated([1.0, 0.8], 0.8)
        >>> problem = Problem(world, Learner([0.2, 1.3], Geometric(1.1)))
        >>> Problem.from_toml(problem.to_toml()) == problem
        True
        """
        import tomli_w

        return tomli_w.dumps(plain(self.to_dict()))

    @classmethod
    def from_toml(cls, text: str) -> Problem:
        """Read TOML text.

        Parameters
        ----------
        text
            A problem as `to_toml` writes it; the page on files says what it may hold.

        Returns
        -------
        Problem
            Equal to the one that was written.

        Raises
        ------
        InvalidFile
            The text is not TOML, or something is missing or unknown.
        InvalidProblem
            Values that make no sense.
        """
        return cls.from_dict(parse_toml(text))

    @classmethod
    def load(cls, path: str | Path) -> Problem:
        """Read a problem from a file.

        Parameters
        ----------
        path
            A .toml or .json file.

        Returns
        -------
        Problem
            What the file holds.

        Raises
        ------
        InvalidFile
            The file cannot be read; the message names it.
        InvalidProblem
            Values that make no sense; the message names the file.
        """
        from preceptor._base.files import read_text, suffix_of

        suffix, text = suffix_of(path), read_text(path)
        try:
            return cls.from_toml(text) if suffix == ".toml" else cls.from_json(text)
        except InvalidInput as error:
            raise type(error)([f"{path}: {fault}" for fault in error.faults]) from error

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all.

        Parameters
        ----------
        path
            Ends in .toml or .json.
        """
        from preceptor._base.files import suffix_of, write_text

        text = self.to_toml() if suffix_of(path) == ".toml" else self.to_json() + "\n"
        write_text(path, text)


def _usual_risk(world: World) -> Risk:
    """What is charged if nobody says anything."""
    return Decision() if world.is_binary else SquaredError()


def _risk_faults(risk: Risk, world: World) -> list[str]:
    """Whether the risk charges the kind of outcome that the world has."""
    if risk.is_binary == world.is_binary:
        return []
    name = type(risk).__name__
    if world.is_binary:
        return [
            f"risk: {name} charges outcomes that are numbers, but this one is yes or no; use a "
            "decision, the Brier score or the log loss (in Python: Decision(), Brier(), LogLoss())"
        ]
    return [
        f"risk: {name} charges yes-or-no outcomes, but this one is a number; use squared error, or "
        "say how common yes is (in Python: World(..., outcome=Binary(prevalence)))"
    ]
