"""Every policy with every kind of person: the value of planning when the model is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.extensions import from_extra
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray, frozen_array, plain
from preceptor._base.words import aligned
from preceptor.errors import InvalidInput
from preceptor.model.person import Person
from preceptor.model.problem import Problem
from preceptor.people.human import Human, Seed
from preceptor.planning.solvers import solve
from preceptor.simulation.cases import draw_cases, seed_of
from preceptor.simulation.choosing import Chooser
from preceptor.simulation.named import acting_in, humans_of
from preceptor.simulation.rollouts import check_request, play, played_weight, standard_error

if TYPE_CHECKING:
    import pandas as pd

BEST_FIXED_SET = "best fixed set"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Discounted losses of every policy with every kind of person, for each simulated person.

    Person p meets the same cases in every cell, so differences are paired.

    Attributes
    ----------
    policies
        Names of the policies.
    humans
        Names of the kinds of people.
    against
        The reference policy.
    totals
        Discounted losses with the assistant, shape (policies, humans, people).
    alone
        Mean loss without the assistant in test cases after the last round, without feedback, shape
        (policies, humans, people).
    rounds
        Number of rounds per person.
    weight
        Share of the total discounted weight that these rounds have.
    seed
        Reproduces the cases.
    """

    policies: tuple[str, ...]
    humans: tuple[str, ...]
    against: str
    totals: FloatArray
    alone: FloatArray
    rounds: int
    weight: float
    seed: int

    @property
    def people(self) -> int:
        """Number of simulated people per cell."""
        return int(self.totals.shape[2])

    @property
    def mean(self) -> FloatArray:
        """Mean discounted loss, (policies, humans)."""
        return np.asarray(self.totals.mean(axis=2))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of `mean`, (policies, humans)."""
        return standard_error(np.moveaxis(self.totals, 2, 0))

    @property
    def differences(self) -> FloatArray:
        """Each person's loss minus theirs under `against`, (policies, humans, people)."""
        return np.asarray(self.totals - self.totals[self.policies.index(self.against)])

    @property
    def difference(self) -> FloatArray:
        """Mean difference, (policies, humans): below 0 means better than `against`."""
        return np.asarray(self.differences.mean(axis=2))

    @property
    def difference_error(self) -> FloatArray:
        """Standard error of `difference`, over pairs."""
        return standard_error(np.moveaxis(self.differences, 2, 0))

    def rows(self) -> list[dict[str, Any]]:
        """Return the comparison as plain data.

        Returns
        -------
        list of dict
            One per cell; `change` is the difference as a share of the loss under `against`.
        """
        base = self.mean[self.policies.index(self.against)]
        columns = {
            "loss": self.mean,
            "standard_error": self.standard_error,
            "difference": self.difference,
            "difference_error": self.difference_error,
            "change": self.difference / np.where(base > 0, base, np.nan),
            "alone": self.alone.mean(axis=2),
            "alone_error": standard_error(np.moveaxis(self.alone, 2, 0)),
        }
        return [
            {"policy": policy, "human": human}
            | {name: plain(table[i, j]) for name, table in columns.items()}
            for j, human in enumerate(self.humans)
            for i, policy in enumerate(self.policies)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row per cell.

        Raises
        ------
        MissingExtra
            pandas is not installed.
        """
        frame: pd.DataFrame = from_extra("pandas", "data", "A data frame").DataFrame(self.rows())
        return frame

    def __str__(self) -> str:
        heading = (
            f"Discounted loss of the first {self.rounds} rounds ({self.weight:.1%} of the total "
            f"discounted weight), {self.people} people per cell, ± standard error"
        )
        others = [name for name in self.policies if name != self.against]
        lines = [heading, "", *self._table(self.policies, _losses)]
        if others:
            about = (
                f"Difference from {self.against!r}, the same people and cases; below 0 is better"
            )
            lines += ["", about, "", *self._table(others, _differences)]
        about = "Mean loss alone afterwards, in test cases without feedback"
        return "\n".join([*lines, "", about, "", *self._table(self.policies, _losses_alone)])

    def _table(
        self, policies: Sequence[str], cell: Callable[[Mapping[str, Any]], str]
    ) -> list[str]:
        """One line per kind of person, one column per policy."""
        cells = {(row["human"], row["policy"]): cell(row) for row in self.rows()}
        rows = [[human, *(cells[human, policy] for policy in policies)] for human in self.humans]
        return aligned([["human", *policies], *rows])


def _losses(row: Mapping[str, Any]) -> str:
    return _number(row["loss"], row["standard_error"])


def _differences(row: Mapping[str, Any]) -> str:
    difference = _number(row["difference"], row["difference_error"], sign="+")
    return f"{difference} ({row['change']:+.1%})"


def _losses_alone(row: Mapping[str, Any]) -> str:
    return _number(row["alone"], row["alone_error"])


def compare(
    problem: Problem,
    policies: Mapping[str, Chooser],
    humans: Mapping[str, Human | Person] | None,
    rounds: int,
    people: int,
    rng: Seed = None,
    *,
    against: str = BEST_FIXED_SET,
    alone: int = 40,
    progress: Progress | None = None,
) -> Comparison:
    """Play every policy with every kind of person on the same cases.

    Parameters
    ----------
    problem
        The problem.
    policies
        By name: what `rollout` takes. If none is called "best fixed set", the stationary solver's
        is added as the reference.
    humans
        By name: a `Person`, or any object with the three methods of `Human`. None means
        `humans_of(problem)`.
    rounds
        Number of cases per person.
    people
        Number of people per cell.
    rng
        A seed or a generator; the same seed gives the same cases.
    against
        The reference policy.
    alone
        Number of test cases per person, after the last round and without feedback.
    progress
        Called with an `Update` from time to time.

    Returns
    -------
    Comparison
        Losses of each person; printing it gives a table.

    Raises
    ------
    InvalidInput
        No humans, too many rounds, or `against` is not among the policies.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=9)
    >>> cast = {"paper": problem.learner}
    >>> table = compare(problem, {"always x2": pr.Stationary((1,))}, cast, 9, people=5, rng=0)
    >>> table.policies, table.totals.shape
    (('always x2', 'best fixed set'), (2, 1, 5))
    """
    check_request(problem, rounds, people)
    cast: Mapping[str, Human | Person] = humans_of(problem) if humans is None else humans
    players = {name: acting_in(problem, human) for name, human in cast.items()}
    choosers = dict(policies)
    if against == BEST_FIXED_SET and against not in choosers:
        choosers[against] = solve(problem, "stationary")
    if against not in choosers:
        known = ", ".join(map(repr, choosers))
        raise InvalidInput(f"against: {against!r} is not one of the policies; use {known}")
    faults = [
        f"humans: {name!r} is {human!r}, must be a Person or have reset, predict and feedback"
        for name, human in players.items()
        if not isinstance(human, Human)
    ]
    InvalidInput.raise_if(faults if players else ["humans: none given, must be at least one"])
    seed = seed_of(rng)
    cases = draw_cases(problem.world, rounds, people, seed)
    totals, tested = np.empty((2, len(choosers), len(players), people))
    for i, chooser in enumerate(choosers.values()):
        for j, human in enumerate(players.values()):
            told = _part_of(progress, i * len(players) + j, len(choosers) * len(players))
            run = play(problem, chooser, cases, seed, human, told, alone)
            totals[i, j] = run.totals
            tested[i, j] = np.nan if run.alone is None else run.alone.mean(axis=1)
    weight = played_weight(problem, rounds)
    names = (tuple(choosers), tuple(players))
    losses = frozen_array(totals), frozen_array(tested)
    return Comparison(*names, against, *losses, rounds, weight, seed)


def _part_of(progress: Progress | None, index: int, cells: int) -> Progress | None:
    """Convert progress within one cell to progress of the whole table."""
    if progress is None:
        return None
    return lambda update: progress(update._replace(done=(index + (update.done or 0.0)) / cells))


def _number(value: float, error: float, sign: str = "") -> str:
    """Value and error, with two significant digits of the error."""
    if not np.isfinite(error) or error <= 0:
        return f"{value:{sign}.4g}"
    places = int(np.clip(1 - np.floor(np.log10(error)), 0, 12))
    return f"{value:{sign}.{places}f} ± {error:.{places}f}"
