"""A problem: world, learner, budget and risk, discounted over a number of rounds."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.extensions import installed_extensions
from preceptor._base.files import FaultCollector, parse_toml, read_text, suffix_of, write_text
from preceptor._base.numerics import effective_cases
from preceptor._base.schema import Count, Index, InFiles, Items, Limits, Share, json_schema
from preceptor._base.values import FloatArray, Value, plain, remembered
from preceptor._base.words import counted, first_few, labelled, times
from preceptor.errors import InvalidFile, InvalidInput, InvalidProblem, NotApplicable
from preceptor.model.budgets import Budget, Grouped, as_budget
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.model.loss import LossModel, LossOracle
from preceptor.model.matrices import equicorrelation
from preceptor.model.person import BY_SHOWINGS, Person, size_faults
from preceptor.model.risks import Risk, SquaredError
from preceptor.model.sets import MOST_NUMBERS, SetFamily, read_counts
from preceptor.model.world import NAMED, World
from preceptor.model.yes_no_risks import Decision

if TYPE_CHECKING:
    from preceptor.people.by_showings import Learner

# Thirty cases a day for nine years; solvers hold data for each round and set.
MOST_ROUNDS = 100_000


def over_tests(budget: Budget, world: World) -> Budget:
    """Translate a budget over tests to one over columns, if tests have several columns."""
    if all(len(block) == 1 for block in world.blocks):
        return budget
    if not isinstance(budget, Grouped):
        return Grouped(budget, world.blocks)
    if budget.blocks != world.blocks:
        raise InvalidProblem(
            f"budget: groups columns as {budget.blocks}, but the world as {world.blocks}; give the "
            "budget over tests"
        )
    return budget


def horizon_faults(horizon: object, tests: int) -> list[str]:
    """Faults of a horizon in a world with this many tests."""
    most = min(MOST_ROUNDS, MOST_NUMBERS // tests)
    if horizon is None or (is_count(horizon, least=1) and not is_count(horizon, least=most + 1)):
        return []
    wanted = (
        f"at most {most:,} rounds" if is_count(horizon, least=1) else "a whole number of at least 1"
    )
    return [f"horizon: {horizon!r}, must be {wanted}; leave it out for an infinite horizon"]


def discount_faults(discount: object, horizon: object) -> list[str]:
    """Faults of a discount factor, given the horizon."""
    if not is_number(discount):
        return [f"discount: {discount!r}, must be a number"]
    value = float(discount)  # type: ignore[arg-type]
    if horizon is None and not 0.0 <= value < 1.0:
        return [
            f"discount: {value}, must be at least 0 and below 1 for an infinite horizon "
            "(1 - 1/100 = 0.99 means about 100 cases; or set a horizon)"
        ]
    if not 0.0 <= value <= 1.0:
        return [f"discount: {value}, must be between 0 and 1"]
    return []


def checked_start(
    start: Sequence[int] | npt.NDArray[np.integer] | None, size: int, faults: list[str]
) -> tuple[int, ...] | None:
    """Exposure counts before the first round; None if there are none or they are faulty."""
    counts = None if start is None else read_counts("start", start, faults, size)
    return counts if counts and any(counts) else None


# A small file with one correlation could ask for a covariance of gigabytes.
_MOST_TESTS = 1_000


class Parts(FaultCollector):
    """The parts of a problem file."""

    def __init__(self, fields: dict[str, Any], known: Sequence[str]) -> None:
        super().__init__()
        self.fields = fields
        needed = ("world", "learner", "budget")
        missing = [name for name in needed if name not in fields]
        if missing:
            self.fault(f"problem file: {', '.join(missing)} missing")
        unknown = sorted(str(name) for name in set(fields) - set(known))
        if unknown:
            self.fault(
                f"Problem: unknown key {', '.join(map(repr, unknown))}; it takes {', '.join(known)}"
            )

    def part(self, name: str, read: Callable[[Any], Any]) -> Any:
        """Read a field; None if it is missing or faulty."""
        if name not in self.fields:
            return None
        given = self.fields[name]
        if name != "budget" and not isinstance(given, Mapping):
            self.fault(f"{name}: got {given!r}, expected a table")
            return None
        return self.read(read, given)

    def together(self, world: Any, fields: Mapping[str, Any]) -> None:
        """Check how the parts fit together as far as they could be read."""
        size = length_of(world, "coefficients")
        learner, budget = fields["learner"], fields["budget"]
        faults = []
        people = learner.size if learner else length_of(self.fields.get("learner"), "initial")
        if size and people:
            faults += size_faults(people, size)
        if size and isinstance(budget, Budget) and not length_of(world, "groups"):
            faults += budget.size_faults(size)
        horizon = fields.get("horizon")
        faults += horizon_faults(horizon, size or 1)
        faults += discount_faults(fields.get("discount", 0.99), horizon)
        if size:
            checked_start(fields.get("start"), size, faults)
        self.fault(*faults, kind=InvalidProblem)


def length_of(table: Any, name: str) -> int:
    """Length of a list in a file; 0 if it is not a list."""
    given = table.get(name) if isinstance(table, Mapping) else None
    return len(given) if isinstance(given, (list, tuple, Mapping, np.ndarray)) else 0


def world_in(table: Mapping[str, Any]) -> World:
    """Read a world; `correlation = 0.8` may replace the covariance and means unit variances."""
    fields = dict(table)
    if "correlation" not in fields:
        return World.from_dict(fields)
    faults = []
    correlation, size = fields.pop("correlation"), max(length_of(fields, "coefficients"), 1)
    if "covariance" in fields:
        faults.append("world: give covariance or correlation, not both")
    elif not is_number(correlation):
        faults.append(f"world: correlation {correlation!r}, must be a number")
    elif not -1.0 < correlation < 1.0:
        faults.append(f"world: correlation {correlation}, must be above -1 and below 1")
    if size > _MOST_TESTS:
        faults.append(
            f"coefficients: {size:,} tests with one correlation, at most {_MOST_TESTS:,}; leave "
            "out unimportant tests"
        )
        raise InvalidFile(faults)
    # A faulty correlation is replaced, to find the other faults of the world too.
    fields["covariance"] = equicorrelation(size, 0.0 if faults else correlation)
    try:
        world = World.from_dict(fields)
    except InvalidInput as error:
        if not faults:
            raise
        raise InvalidFile([*faults, *error.faults]) from None
    InvalidFile.raise_if(faults)
    return world


def budget_in(given: Any) -> Budget:
    """Read a budget: a number k, or a table with a kind."""
    return Budget.from_dict(given) if isinstance(given, Mapping) else as_budget(given)


FORMAT = "preceptor-problem/1"


@dataclass(frozen=True, eq=False)
class Problem(Value):
    """The input of a solver: world, person, budget, risk and time.

    Loss is minimised everywhere: the value of a plan is its expected discounted loss.

    Parameters
    ----------
    world
        How tests and outcomes are generated.
    learner
        The person who decides, with beliefs about every column of the world: a `Learner`, any other
        `Person`, or a `Crowd` if the kind of person is not known.
    budget
        Which sets may be shown: a number k (at most k tests per case) or a budget. Where tests of
        the world have several columns, it counts and prices tests and becomes `Grouped`.
    discount
        The discount factor δ per round, from 0 to 1; below 1 if the horizon is infinite.
    horizon
        Number of rounds, or None for an infinite horizon.
    risk
        How a wrong prediction is charged; squared error if left out, or the share of wrong
        decisions if the outcome is yes or no.
    loss
        Exact (`ClosedForm()`, the default) or on a fixed sample (`Empirical(...)`).
    start
        Exposure counts before the first round, shape (n,); all 0 if left out.

    Raises
    ------
    InvalidProblem
        Invalid or inconsistent values, all in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), budget=1)
    >>> problem.size, len(problem.sets)
    (2, 3)
    """

    world: World
    learner: Person
    budget: Annotated[
        Budget, InFiles(Count | Budget), "What may be shown; a number k means at most k tests."
    ]
    discount: Annotated[
        Share, "Discount factor per round; 0.99 means about a hundred rounds ahead."
    ] = 0.99
    horizon: Annotated[
        int | None,
        Limits(at_least=1, at_most=MOST_ROUNDS),
        "Number of rounds (cases). Left out: infinite.",
    ] = None
    risk: Risk = field(default_factory=SquaredError)
    loss: LossModel = field(default_factory=ClosedForm)
    start: Annotated[
        tuple[Index, ...] | None,
        Items(at_least=1),
        "How often the person has seen each test already. Left out: never.",
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
        faults += horizon_faults(horizon, world.size) + discount_faults(discount, horizon)
        largest = np.abs(learner.initial).max()
        if largest > 1e50:
            faults.append(f"initial: up to {largest:.1e}, so large that losses overflow")
        shown_before = checked_start(start, world.size, faults)
        faults += learner.start_faults(shown_before)
        if risk is None:
            risk = Decision() if world.is_binary else SquaredError()
        if loss is None:
            loss = ClosedForm()
        if not isinstance(risk, Risk):
            faults.append(f"risk: {risk!r} is not a risk; use SquaredError(), Huber(1.0), ...")
        elif not isinstance(loss, LossModel):
            faults.append(f"loss: {loss!r} is not a loss model; use ClosedForm() or Empirical()")
        else:
            faults += _risk_faults(risk, world)
        InvalidProblem.raise_if(faults)
        self.set_fields(
            world=world, learner=learner, budget=allowed, discount=float(discount),
            horizon=None if horizon is None else int(horizon), risk=risk, loss=loss,
            start=shown_before,
        )  # fmt: skip
        InvalidProblem.raise_if(loss.faults(self) + self._other_people_faults())

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
        """Exposure counts before round 0."""
        return self.start if self.start is not None else (0,) * self.size

    @property
    def learns_by_showings(self) -> bool:
        """Whether the person is the paper's: their knowledge depends on exposure counts alone."""
        return self.learner.kind == BY_SHOWINGS

    @property
    def by_showings(self) -> Learner:
        """The person, if they learn by showings.

        Raises
        ------
        NotApplicable
            The person learns in another way.
        """
        if not self.learns_by_showings:
            raise NotApplicable(
                f"needs a person who learns by showings, not a {type(self.learner).__name__}"
            )
        return cast("Learner", self.learner)

    @property
    def first_errors(self) -> FloatArray:
        """True minus initial weights (n,), before anything was shown."""
        return self.world.coefficients - self.learner.initial

    @property
    def initial_errors(self) -> FloatArray:
        """Truth minus belief (n,) at the first round."""
        if self.learns_by_showings:
            return self.by_showings.errors(self.world, self.start_counts)
        first = self.learner.fresh(self.world, (), self.start)
        return self.world.coefficients - self.learner.weights_of(self.world, first)

    @property
    def oracle(self) -> LossOracle:
        """Gives the loss of a round in any state."""
        return remembered(self, "oracle", lambda: self.loss.bind(self))

    @property
    def sets(self) -> SetFamily:
        """The allowed sets, in the order that breaks ties."""
        return self.oracle.sets

    def budget_in_words(self) -> str:
        """Describe what may be shown per case."""
        return self.budget.in_words(len(self.world.tests))

    def time_in_words(self) -> str:
        """Describe the number of cases and the discount."""
        if self.horizon is not None:
            span = counted(self.horizon, "case")
            if self.discount == 1.0:
                return span
            return f"{span}, each counting {self.discount:g} times the one before"
        return (
            f"about {effective_cases(self.discount):,.0f} more cases: each counts "
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
        """Faults of risk and loss for people who do not learn by showings."""
        if self.learns_by_showings:
            return []
        who = type(self.learner).__name__
        faults = []
        if not self.is_binary and not isinstance(self.risk, SquaredError):
            faults.append(
                f"risk: {type(self.risk).__name__}, but expectations of a {who} are known only for "
                "squared error; leave the risk out, or plan for a Learner"
            )
        if not isinstance(self.loss, ClosedForm):
            faults.append(
                f"loss: {type(self.loss).__name__}, but expectations of a {who} are known only in "
                "closed form; leave the loss out, or plan for a Learner"
            )
        return faults

    def has_same_losses_as(self, other: Problem) -> bool:
        """Whether both problems have the same losses, so that they can share an oracle.

        Parameters
        ----------
        other
            The problem to compare with.

        Returns
        -------
        bool
            True if world, imputation, budget, risk and loss model are equal.
        """
        return (
            (self.world is other.world or self.world == other.world)
            and bool(np.array_equal(self.learner.imputation, other.learner.imputation))
            and self.budget == other.budget
            and self.risk == other.risk
            and self.loss == other.loss
        )

    def with_oracle_of(self, other: Problem) -> Problem:
        """A copy of this problem that uses the other's oracle.

        Parameters
        ----------
        other
            A problem that `has_same_losses_as` this one.

        Returns
        -------
        Problem
            An equal problem that shares what the other has computed.
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
            Validated like any other.

        Raises
        ------
        TypeError
            A name that is not a field.

        Examples
        --------
        >>> import preceptor as pr
        >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
        >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)))
        >>> problem.replace(horizon=20).horizon
        20
        """
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their default, as plain data."""
        return {"format": FORMAT, **super().to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Rebuild from plain data; the page on files says what it may hold."""
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
            reading.together(data.get("world"), fields)
        reading.raise_all()
        return super().from_dict(fields)

    def to_toml(self) -> str:
        """The problem as TOML text; a key that is left out has its default.

        Returns
        -------
        str
            What `from_toml` reads. An infinite horizon is left out.

        Raises
        ------
        NotSerializable
            The problem holds a Python function.

        Examples
        --------
        >>> import preceptor as pr
        >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
        >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)))
        >>> pr.Problem.from_toml(problem.to_toml()) == problem
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
            Invalid values.
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
            Invalid values; the message names the file.
        """
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
        text = self.to_toml() if suffix_of(path) == ".toml" else self.to_json() + "\n"
        write_text(path, text)


def _risk_faults(risk: Risk, world: World) -> list[str]:
    """Faults of a risk that does not charge the world's kind of outcome."""
    if risk.is_binary == world.is_binary:
        return []
    name = type(risk).__name__
    if world.is_binary:
        return [
            f"risk: {name} charges numeric outcomes, but this one is yes or no; use a "
            "decision, the Brier score or the log loss (in Python: Decision(), Brier(), LogLoss())"
        ]
    return [
        f"risk: {name} charges yes-or-no outcomes, but this one is a number; use squared error, or "
        "say how common yes is (in Python: World(..., outcome=Binary(prevalence)))"
    ]


def schema(*, own_kinds: bool = False) -> dict[str, Any]:
    """The JSON schema of problem files, built from the fields of the classes.

    Parameters
    ----------
    own_kinds
        Also allow curves, budgets, risks and losses that you have defined or that installed
        extensions have, not only the built-in ones.

    Returns
    -------
    dict
        A JSON schema as plain data, for editors and validators.

    Examples
    --------
    >>> sorted(schema()["required"])
    ['budget', 'learner', 'world']
    """
    if own_kinds:
        installed_extensions()  # loading them registers their kinds
    table = json_schema(Problem, (lambda kind: True) if own_kinds else _comes_with_the_package)
    version = {"format": {"description": "Version of this file format.", "const": FORMAT}}
    table["properties"] = version | table["properties"]
    _allow_correlation(table["$defs"]["world"])
    # The default risk depends on the outcome.
    table["properties"]["risk"].pop("default", None)
    # A learner without a kind is the paper's.
    table["$defs"][f"{BY_SHOWINGS}-learner"]["required"].remove("kind")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:preceptor:schema:problem-1",
        **table,
        "title": "Preceptor problem",
        "allOf": _fitting_risks(),
        # An infinite horizon needs discounting.
        "if": {"required": ["horizon"], "properties": {"horizon": {"type": "integer"}}},
        "else": {"properties": {"discount": {"exclusiveMaximum": 1}}},
    }


def _fitting_risks() -> list[dict[str, Any]]:
    """Yes-or-no risks need a yes-or-no outcome, the others a numeric one."""
    yes_no = [name for name, risk in Risk.registry.items() if risk.is_binary]
    is_yes_no = {"properties": {"risk": {"properties": {"kind": {"enum": yes_no}}}}}
    has_outcome = {"properties": {"outcome": {"type": "object"}}, "required": ["outcome"]}
    given = {"required": ["risk"]}
    return [
        {"if": given | is_yes_no, "then": {"properties": {"world": has_outcome}}},
        {"if": given | {"not": is_yes_no}, "then": {"properties": {"world": {"not": has_outcome}}}},
    ]


def _allow_correlation(world: dict[str, Any]) -> None:
    """Allow a correlation instead of a covariance, as `world_in` does."""
    world["properties"]["correlation"] = {
        "description": "Instead of a covariance: unit variances and this correlation of all tests.",
        "type": "number",
        "exclusiveMinimum": -1,
        "exclusiveMaximum": 1,
    }
    world["required"].remove("covariance")
    world["oneOf"] = [{"required": ["covariance"]}, {"required": ["correlation"]}]


def _comes_with_the_package(cls: type) -> bool:
    """Whether a class is defined in a module of this package."""
    home = sys.modules.get(cls.__module__)
    return cls.__module__.startswith("preceptor.") and getattr(home, cls.__name__, None) is cls
