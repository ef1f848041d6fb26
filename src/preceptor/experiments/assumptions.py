"""What an experiment assumes, and which of it is changed for once.

Whatever is left out stays as the paper has it. Settings of a sweep only name what was changed, so
that a run with nothing changed is the run it always was, cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from preceptor._base.checks import is_count, is_number
from preceptor._base.words import listed
from preceptor.errors import InvalidInput
from preceptor.loss.imputation import DEGREES

_Usual = TypeVar("_Usual")

# How findings, figures and reports call an assumption.
NAMES = {
    "alpha": "learning speed α",
    "discount": "discount δ",
    "floor": "floor of the learning curve",
    "imputation": "imputation",
    "tests": "number of tests n",
    "budget": "budget",
    "horizon": "horizon T",
}
# What the paper has in most experiments, in words.
_USUAL = {"discount": "0.99", "floor": "0", "imputation": "0", "horizon": "600"}
# Settings become columns of a table, where `floor` is the least loss that anybody can have.
_COLUMNS = {"floor": "curve_floor"}
_BUDGET = re.compile(r"(at most|exactly) ([1-9]\d{0,3})")


@dataclass(frozen=True)
class Assumptions:
    """Assumptions of an experiment that are to be changed; all others stay as in the paper.

    Parameters
    ----------
    alpha
        What a showing divides the error of a weight by, above 1.
    discount
        δ, what a case one round later is worth, above 0 and below 1.
    floor
        Share of the first squared error that learning never removes, from 0 to 1.
    imputation
        How hidden tests are filled in: 0 knows how tests go together, 1 takes hidden tests to be
        average, in between mixes. For experiments on sampled cases "linear" or "cubic".
    tests
        n, how many tests there are.
    budget
        How many tests may be shown in a round: a number k, "at most k" or "exactly k". With a
        number, whatever the experiment has otherwise (both, where it compares them).
    horizon
        T, how many rounds are planned.

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
        # Settings go to journals and tables: plain numbers, whatever library these came from.
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
        """The changed value of an assumption alone, or the usual ones.

        Parameters
        ----------
        name
            Which assumption.
        usual
            What the paper goes through.

        Returns
        -------
        tuple
            What to go through now.
        """
        value = getattr(self, name)
        return usual if value is None else (value,)

    def kinds(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """ "at most" or "exactly", where the budget says which; else the usual ones.

        Parameters
        ----------
        usual
            What the experiment goes through.

        Returns
        -------
        tuple of str
            What to go through now.
        """
        if not isinstance(self.budget, str):
            return usual
        return (self.budget.rpartition(" ")[0],)

    def sizes(self, usual: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Pairs (n, k) with what was changed put in; each once.

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
        put_in = [(self.tests or n, self.shown or k) for n, k in usual]
        InvalidInput.raise_if(
            dict.fromkeys(
                f"budget: {k} shown of {n}, must be at most all of them; change `tests` too"
                for n, k in put_in
                if k > n
            )
        )
        return tuple(dict.fromkeys(put_in))

    def beside(self, *names: str) -> dict[str, Any]:
        """What settings must say besides their own grid: of these names, those that were changed.

        Parameters
        ----------
        *names
            Assumptions that the grid does not go through; "shown" is the budget's k.

        Returns
        -------
        dict
            To be put into every setting.
        """
        return {
            _COLUMNS.get(name, name): getattr(self, name)
            for name in names
            if getattr(self, name) is not None
        }

    def in_words(self) -> str:
        """What was changed, as a list; empty if nothing was.

        Returns
        -------
        str
            E.g. "learning speed α 1.3 and horizon T 100".
        """
        return listed([f"{NAMES[name]} {value}" for name, value in self.changed.items()] or [""])


def as_usual(**own: str) -> dict[str, str]:
    """What an experiment assumes, in words: its own, and what most experiments have.

    Parameters
    ----------
    own
        What the paper has in this experiment, by the names of `Assumptions`.

    Returns
    -------
    dict of str to str
        In the order of `Assumptions`.
    """
    assumed = {**_USUAL, **own}
    return {name: assumed[name] for name in NAMES if name in assumed}


def given(setting: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Of these names, those that a setting says: arguments that replace the usual ones."""
    columns = ((name, _COLUMNS.get(name, name)) for name in names)
    return {name: setting[column] for name, column in columns if column in setting}


def _is_share(value: Any) -> bool:
    return is_number(value) and 0.0 <= value <= 1.0


def _is_budget(value: Any) -> bool:
    if isinstance(value, str):
        return _BUDGET.fullmatch(value) is not None
    return is_count(value, least=1)
