"""What an experiment is: sweeps to run, a figure to draw, and statements to compare."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.typed import number_in
from preceptor.errors import InvalidInput
from preceptor.experiments.assumptions import Assumptions
from preceptor.experiments.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# 0, .05, ..., .95 and .99: the paper plots 0 to .99 and names .5, .6, .8 and .99.
CORRELATIONS = (*(round(0.05 * i, 2) for i in range(20)), 0.99)
_QUICK_CORRELATIONS = (0.0, 0.5, 0.6, 0.8, 0.99)
_QUICK_DRAWS = 4


@dataclass(frozen=True)
class Scale:
    """How much of an experiment to run.

    Parameters
    ----------
    draws
        Random draws of each setting; as many as in the paper if left out.
    rho
        Correlations, each at least 0 and below 1; those of the paper if left out.
    quick
        Few draws and correlations, to see that everything works.
    seed
        Seed of everything random.
    assume
        Assumptions of the paper that are to be changed; none if left out.

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
        faults = []
        if self.draws is not None and not is_count(self.draws, least=1):
            faults.append(f"draws: {self.draws!r}, must be a whole number of at least 1")
        for value in self.rho or ():
            if not 0.0 <= value < 1.0:
                faults.append(f"rho: {value}, must be at least 0 and below 1")
        if self.rho is not None and len(set(self.rho)) < len(self.rho):
            twice = sorted({value for value in self.rho if self.rho.count(value) > 1})
            faults.append(f"rho: {', '.join(map(str, twice))} given more than once; once is enough")
        if self.rho is not None and not self.rho:
            faults.append("rho: no correlation given; give some, or leave it out")
        if not is_count(self.seed, least=0):
            faults.append(f"seed: {self.seed!r}, must be a whole number of at least 0")
        InvalidInput.raise_if(faults)

    def draws_or(self, usual: int) -> int:
        """The number asked for, the usual one, or fewer in a quick pass.

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
        return min(usual, _QUICK_DRAWS) if self.quick else usual

    def correlations(
        self, usual: Sequence[float] = CORRELATIONS, quick: Sequence[float] = _QUICK_CORRELATIONS
    ) -> tuple[float, ...]:
        """The correlations asked for, the usual ones, or fewer in a quick pass.

        Parameters
        ----------
        usual
            Those of the paper.
        quick
            Those of a quick pass.

        Returns
        -------
        tuple of float
            What to run.
        """
        if self.rho is not None:
            return self.rho
        return tuple(quick if self.quick else usual)


def parse_range(text: str) -> tuple[float, ...]:
    """Numbers from `first:last:how many`, or a list with commas.

    >>> parse_range("0:0.9:4"), parse_range("0.5,0.99")
    ((0.0, 0.3, 0.6, 0.9), (0.5, 0.99))
    """
    try:
        if ":" in text:
            first, last, count = text.split(":")
            if not 1 <= int(count) <= 10_000:
                raise ValueError
            points = np.linspace(number_in(first, "."), number_in(last, "."), int(count))
            # 12 digits: so that 0.6 is 0.6 and is found when the paper names it
            return tuple(round(float(point), 12) for point in points)
        return tuple(number_in(part, ".") for part in text.split(","))
    except ValueError:
        raise InvalidInput(
            f"rho: {text!r}, must be first:last:count such as 0:0.99:40, or numbers with commas"
        ) from None


class Verdict(enum.Enum):
    """How our figure stands to the paper's.

    A number *agrees* if it is the printed one in all printed digits, or satisfies the printed
    inequality. It is *compatible* if it is not, but a mean of as many draws as the paper's could
    well have come out as printed. A statement in words *holds* or does not. Nothing is judged where
    the paper gives no figure, where too little was run, and where the comparison would be empty:
    an assumption was changed, or something was chosen to fit.

    Examples
    --------
    >>> Verdict("agrees")
    <Verdict.AGREES: 'agrees'>
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
        What is compared.
    paper
        What the paper says.
    ours
        What we find.
    verdict
        Whether they agree.
    why
        Why not, where we know.
    """

    claim: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper.

    Parameters
    ----------
    name
        What `run` and `preceptor reproduce` call it.
    title
        Its name for a reader.
    about
        What it shows, as text.
    sweeps
        Says what to run at a scale.
    figure
        Draws the table that comes back.
    findings
        Compares the table with the paper.
    varies
        Which options of the scale mean anything to it.
    assumes
        Which assumptions can be changed, and what the paper has there, in words.
    outcomes
        Columns to sum up when an assumption was changed, each with its unit.
    within
        Columns that tell rows of one cell apart.

    Examples
    --------
    >>> from preceptor.experiments import EXPERIMENTS
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
        """What to run at a scale; with a changed assumption, under keys of its own.

        Parameters
        ----------
        scale
            How much, and what is changed.

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
        """What is wrong with changing these assumptions here.

        Parameters
        ----------
        assume
            What is to be changed.

        Returns
        -------
        list of str
            One fault for each assumption that the experiment does not make.

        Examples
        --------
        >>> from preceptor.experiments import EXPERIMENTS, Assumptions
        >>> EXPERIMENTS["theorems"].refused(Assumptions(horizon=90))
        ['horizon: not an assumption of theorems, where one can change alpha, discount']
        """
        known = ", ".join(self.assumes) or "nothing"
        return [
            f"{name}: not an assumption of {self.name}, where one can change {known}"
            for name in assume.changed
            if name not in self.assumes
        ]

    def unused(self, scale: Scale) -> list[str]:
        """Options that were set but change nothing here.

        Parameters
        ----------
        scale
            What was asked for.

        Returns
        -------
        list of str
            Names of options.
        """
        return [
            name for name in ("draws", "rho") if getattr(scale, name) and name not in self.varies
        ]
