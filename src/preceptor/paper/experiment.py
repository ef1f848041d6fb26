"""What an experiment is: sweeps to run, a figure, statements, and assumptions to change.

An assumption may be changed. Whatever is left out stays as in the paper. Settings of a sweep name
only what was changed, so that a run without changes keeps its journal keys, cell by cell.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from preceptor._base.checks import count_faults, is_count, is_number, parse_number
from preceptor._base.words import listed
from preceptor.errors import InvalidInput
from preceptor.model.empirical_loss import DEGREES
from preceptor.paper.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_Usual = TypeVar("_Usual")

# Names of assumptions in findings, figures and reports.
NAMES = {
    "alpha": "learning speed α",
    "discount": "discount δ",
    "floor": "floor of the learning curve",
    "imputation": "imputation",
    "tests": "number of tests n",
    "budget": "budget",
    "horizon": "horizon T",
}
# The paper's value in most experiments, in words.
_USUAL = {"discount": "0.99", "floor": "0", "imputation": "0", "horizon": "600"}
# Settings become columns of a table, where `floor` is the least achievable loss.
_COLUMNS = {"floor": "curve_floor"}
_BUDGET = re.compile(r"(at most|exactly) ([1-9]\d{0,3})")


@dataclass(frozen=True)
class Assumptions:
    """Changed assumptions of an experiment; all others stay as in the paper.

    Parameters
    ----------
    alpha
        Factor by which a showing divides the error of a weight, above 1.
    discount
        δ, the discount factor, above 0 and below 1.
    floor
        Share of the initial squared error that learning never removes, from 0 to 1.
    imputation
        How hidden tests are imputed: 0 uses the true correlations, 1 ignores them, in between
        mixes. For experiments on sampled cases "linear" or "cubic".
    tests
        n, the number of tests.
    budget
        How many tests may be shown in a round: a number k, "at most k" or "exactly k". A number
        keeps the experiment's own kind (both, where it compares them).
    horizon
        T, the number of planned rounds.

    Raises
    ------
    InvalidInput
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> Assumptions(alpha=1.3, budget="exactly 2").changed
    {'alpha': 1.3, 'budget': 'exactly 2'}
    """

    alpha: float | None = None
    discount: float | None = None
    floor: float | None = None
    imputation: float | str | None = None
    tests: int | None = None
    budget: int | str | None = None
    horizon: int | None = None

    def __post_init__(self) -> None:
        words = " or ".join(f'"{word}"' for word in DEGREES)
        allowed: dict[str, tuple[Callable[[Any], bool], str]] = {
            "alpha": (lambda x: is_number(x) and x > 1.0, "a number above 1"),
            "discount": (lambda x: is_number(x) and 0.0 < x < 1.0, "above 0 and below 1"),
            "floor": (_is_share, "a share of squared error from 0 to 1"),
            "imputation": (lambda x: x in DEGREES or _is_share(x), f"from 0 to 1, or {words}"),
            "tests": (lambda x: is_count(x, least=2), "a whole number of at least 2"),
            "budget": (_is_budget, 'a whole number k, "at most k" or "exactly k"'),
            "horizon": (lambda x: is_count(x, least=1), "a whole number of at least 1"),
        }
        changed = self.changed.items()
        InvalidInput.raise_if(
            f"{name}: {value!r}, must be {allowed[name][1]}"
            for name, value in changed
            if not allowed[name][0](value)
        )
        # Settings go to journals and tables, so they must be plain Python numbers.
        for name, value in changed:
            if is_number(value):
                whole = name in ("tests", "budget", "horizon")
                object.__setattr__(self, name, int(value) if whole else float(value))
        if self.tests is not None and self.shown is not None and self.shown > self.tests:
            raise InvalidInput(
                f"budget: {self.budget!r}, more than there are `tests` ({self.tests})"
            )

    @property
    def changed(self) -> dict[str, Any]:
        """What was changed, by name.

        Returns
        -------
        dict
            Empty if everything is as in the paper.
        """
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) is not None
        }

    @property
    def shown(self) -> int | None:
        """k of a changed budget."""
        if self.budget is None or isinstance(self.budget, int):
            return self.budget
        return int(self.budget.split()[-1])

    def among(self, name: str, usual: tuple[_Usual, ...]) -> tuple[_Usual, ...]:
        """Return only the changed value of an assumption, or the usual ones.

        Parameters
        ----------
        name
            The assumption.
        usual
            The paper's values.

        Returns
        -------
        tuple
            Values to run.
        """
        value = getattr(self, name)
        return usual if value is None else (value,)

    def kinds(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """ "at most" or "exactly", where the budget says which; else the usual ones.

        Parameters
        ----------
        usual
            The experiment's kinds.

        Returns
        -------
        tuple of str
            Kinds to run.
        """
        if not isinstance(self.budget, str):
            return usual
        return (self.budget.rpartition(" ")[0],)

    def sizes(self, usual: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Return pairs (n, k) with the changes applied, each once.

        Parameters
        ----------
        usual
            Those of the paper.

        Returns
        -------
        tuple of pairs
            Those to run.

        Raises
        ------
        InvalidInput
            More tests would be shown than there are.
        """
        changed = [(self.tests or n, self.shown or k) for n, k in usual]
        InvalidInput.raise_if(
            dict.fromkeys(
                f"budget: {k} shown of {n}, must be at most all of them; change `tests` too"
                for n, k in changed
                if k > n
            )
        )
        return tuple(dict.fromkeys(changed))

    def extras(self, *names: str) -> dict[str, Any]:
        """Return the changed ones of these assumptions, to be added to every setting.

        Parameters
        ----------
        *names
            Assumptions that the grid does not vary; "shown" is the budget's k.

        Returns
        -------
        dict
            By column of the table.
        """
        return {
            _COLUMNS.get(name, name): getattr(self, name)
            for name in names
            if getattr(self, name) is not None
        }

    def in_words(self) -> str:
        """What was changed, as a list in words; empty if nothing.

        Returns
        -------
        str
            E.g. "learning speed α 1.3 and horizon T 100".
        """
        return listed([f"{NAMES[name]} {value}" for name, value in self.changed.items()] or [""])


def as_usual(**own: str) -> dict[str, str]:
    """Return what an experiment assumes, in words: its own values, and the usual ones.

    Parameters
    ----------
    own
        The paper's values in this experiment, by the names of `Assumptions`.

    Returns
    -------
    dict of str to str
        In the order of `Assumptions`.
    """
    assumed = {**_USUAL, **own}
    return {name: assumed[name] for name in NAMES if name in assumed}


def given(setting: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return those of these assumptions that a setting changes, as keyword arguments."""
    columns = ((name, _COLUMNS.get(name, name)) for name in names)
    return {name: setting[column] for name, column in columns if column in setting}


def _is_share(value: Any) -> bool:
    return is_number(value) and 0.0 <= value <= 1.0


def _is_budget(value: Any) -> bool:
    if isinstance(value, str):
        return _BUDGET.fullmatch(value) is not None
    return is_count(value, least=1)


# 0, .05, ..., .95 and .99: the paper plots 0 to .99 and names .5, .6, .8 and .99.
CORRELATIONS = (*(round(0.05 * i, 2) for i in range(20)), 0.99)
_QUICK_CORRELATIONS = (0.0, 0.5, 0.6, 0.8, 0.99)


@dataclass(frozen=True)
class Scale:
    """How much of an experiment to run.

    Parameters
    ----------
    draws
        Random draws per setting; as many as in the paper if left out.
    rho
        Correlations, each at least 0 and below 1; those of the paper if left out.
    quick
        Few draws and correlations, to see that everything works.
    seed
        Seed of everything random.
    assume
        Changed assumptions of the paper; none if left out.

    Raises
    ------
    InvalidInput
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> Scale(quick=True).draws_or(100)
    4
    """

    draws: int | None = None
    rho: tuple[float, ...] | None = None
    quick: bool = False
    seed: int = 0
    assume: Assumptions = field(default_factory=Assumptions)

    def __post_init__(self) -> None:
        faults = count_faults(1, or_none=True, draws=self.draws)
        for value in self.rho or ():
            if not 0.0 <= value < 1.0:
                faults.append(f"rho: {value}, must be at least 0 and below 1")
        if self.rho is not None and len(set(self.rho)) < len(self.rho):
            twice = sorted({value for value in self.rho if self.rho.count(value) > 1})
            faults.append(f"rho: {', '.join(map(str, twice))} given more than once; once is enough")
        if self.rho is not None and not self.rho:
            faults.append("rho: no correlation given; give some, or leave it out")
        InvalidInput.raise_if(faults + count_faults(0, seed=self.seed))

    def draws_or(self, usual: int) -> int:
        """Return the number of draws asked for, the usual one, or fewer in a quick pass.

        Parameters
        ----------
        usual
            The paper's number of draws.

        Returns
        -------
        int
            How many to run.
        """
        if self.draws is not None:
            return self.draws
        return min(usual, 4) if self.quick else usual

    def correlations(
        self, usual: Sequence[float] = CORRELATIONS, quick: Sequence[float] = _QUICK_CORRELATIONS
    ) -> tuple[float, ...]:
        """Return the correlations asked for, the usual ones, or fewer in a quick pass.

        Parameters
        ----------
        usual
            Those of the paper.
        quick
            Those of a quick pass.

        Returns
        -------
        tuple of float
            Correlations to run.
        """
        if self.rho is not None:
            return self.rho
        return tuple(quick if self.quick else usual)


def parse_range(text: str) -> tuple[float, ...]:
    """Parse numbers from `first:last:count`, or a list with commas.

    >>> parse_range("0:0.9:4"), parse_range("0.5,0.99")
    ((0.0, 0.3, 0.6, 0.9), (0.5, 0.99))
    """
    try:
        if ":" in text:
            first, last, count = text.split(":")
            if not 1 <= int(count) <= 10_000:
                raise ValueError
            points = np.linspace(parse_number(first, "."), parse_number(last, "."), int(count))
            # 12 digits, so that 0.6 is found when the paper names it
            return tuple(round(float(point), 12) for point in points)
        return tuple(parse_number(part, ".") for part in text.split(","))
    except ValueError:
        raise InvalidInput(
            f"rho: {text!r}, must be first:last:count such as 0:0.99:40, or numbers with commas"
        ) from None


class Agreement(enum.Enum):
    """How our number compares with the paper's.

    A number *agrees* if it equals the printed one in all printed digits, or satisfies the printed
    inequality. It is *compatible* if not, but a mean over as many draws as the paper's could well
    have come out as printed. A statement in words *holds* or does not. There is no verdict where
    the paper gives no number, where too little was run, and where the comparison would be empty: an
    assumption was changed, or something was chosen to fit.

    Examples
    --------
    >>> Agreement("agrees")
    <Agreement.AGREES: 'agrees'>
    """

    AGREES = "agrees"
    COMPATIBLE = "compatible"
    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_SAID = "the paper does not say"
    NOT_COMPARABLE = "not comparable"
    NOT_RUN = "too little was run to say"


@dataclass(frozen=True)
class Finding:
    """One line of the report: what the paper says, what we find, and whether they agree.

    Attributes
    ----------
    claim
        The statement.
    paper
        What the paper says.
    ours
        What we find.
    verdict
        Whether they agree.
    why
        The reason, where known.
    """

    claim: str
    paper: str
    ours: str
    verdict: Agreement
    why: str = ""


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper.

    Parameters
    ----------
    name
        Its name in `run` and `preceptor reproduce`.
    title
        Its title in the report.
    about
        What it shows, as text.
    sweeps
        Returns what to run at a scale.
    figure
        Draws the resulting table.
    findings
        Compares the table with the paper.
    varies
        Options of the scale that have an effect.
    assumes
        Assumptions that can be changed, with the paper's values in words.
    outcomes
        Columns to summarise when an assumption was changed, each with its unit.
    within
        Columns that distinguish rows of one cell.

    Examples
    --------
    >>> from preceptor.paper.reproduction import EXPERIMENTS
    >>> EXPERIMENTS["stationary"].unused(Scale(draws=2))
    []
    """

    name: str
    title: str
    about: str
    sweeps: Callable[[Scale], tuple[Sweep, ...]]
    figure: Callable[[pd.DataFrame], Figure]
    findings: Callable[[pd.DataFrame], list[Finding]]
    varies: tuple[str, ...] = ("draws", "rho")
    assumes: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, str] = field(default_factory=dict)
    within: tuple[str, ...] = ()

    def sweeps_of(self, scale: Scale) -> tuple[Sweep, ...]:
        """Return what to run at a scale; a changed assumption gets its own journal keys.

        Parameters
        ----------
        scale
            How much to run, and which assumptions are changed.

        Returns
        -------
        tuple of Sweep
            For `run_sweeps`.

        Raises
        ------
        InvalidInput
            An assumption that the experiment does not make; the message lists those it makes.
        """
        InvalidInput.raise_if(self.refused(scale.assume))
        changed = scale.assume.in_words()
        return tuple(replace(sweep, changed=changed) for sweep in self.sweeps(scale))

    def refused(self, assume: Assumptions) -> list[str]:
        """Return what is wrong with changing these assumptions here.

        Parameters
        ----------
        assume
            The changed assumptions.

        Returns
        -------
        list of str
            One fault for each assumption that the experiment does not make.

        Examples
        --------
        >>> from preceptor.paper.reproduction import EXPERIMENTS
        >>> from preceptor.paper.experiment import Assumptions
        >>> EXPERIMENTS["theorems"].refused(Assumptions(horizon=90))
        ['horizon: not an assumption of theorems, which has alpha, discount']
        """
        known = ", ".join(self.assumes) or "nothing"
        return [
            f"{name}: not an assumption of {self.name}, which has {known}"
            for name in assume.changed
            if name not in self.assumes
        ]

    def unused(self, scale: Scale) -> list[str]:
        """Return options that were set but have no effect here.

        Parameters
        ----------
        scale
            The scale asked for.

        Returns
        -------
        list of str
            Names of options.
        """
        return [
            name for name in ("draws", "rho") if getattr(scale, name) and name not in self.varies
        ]
