"""Policies x humans: what planning with the paper's model wins when the human is another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray, frozen_array, plain
from preceptor.errors import InvalidInput, MissingExtra
from preceptor.people.human import Human, Seed
from preceptor.people.person import Person
from preceptor.planning import solve
from preceptor.problem import Problem
from preceptor.simulation.cases import draw_cases, seed_of
from preceptor.simulation.cast import acting_in, humans_of
from preceptor.simulation.choosing import Chooser
from preceptor.simulation.rollouts import check_request, play, played_weight, standard_error

if TYPE_CHECKING:
    import pandas as pd

BEST_FIXED_SET = "best fixed set"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Discounted losses of every policy with every human, person by person.

    Person p meets the same cases in every cell, so differences are taken person by person.

    Attributes
    ----------
    policies
        Names of the policies.
    humans
        Names of the humans.
    against
        The policy that the others are compared with.
    totals
        Discounted losses, shape (policies, humans, people).
    rounds
        How many rounds each person played.
    weight
        Share of the whole discounted time that was played.
    seed
        Gives the same cases again.
    """

    policies: tuple[str, ...]
    humans: tuple[str, ...]
    against: str
    totals: FloatArray
    rounds: int
    weight: float
    seed: int

    @property
    def people(self) -> int:
        """How many people played in each cell."""
        return int(self.totals.shape[2])

    @property
    def mean(self) -> FloatArray:
        """Average discounted loss, (policies, humans)."""
        average: FloatArray = self.totals.mean(axis=2)
        return average

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of `mean`, (policies, humans)."""
        return standard_error(np.moveaxis(self.totals, 2, 0))

    @property
    def differences(self) -> FloatArray:
        """Each person's loss minus theirs under `against`, (policies, humans, people)."""
        paired: FloatArray = self.totals - self.totals[self.policies.index(self.against)]
        return paired

    @property
    def difference(self) -> FloatArray:
        """Average difference, (policies, humans): below 0 means better than `against`."""
        average: FloatArray = self.differences.mean(axis=2)
        return average

    @property
    def difference_error(self) -> FloatArray:
        """Standard error of `difference`: people are paired with themselves."""
        return standard_error(np.moveaxis(self.differences, 2, 0))

    def rows(self) -> list[dict[str, Any]]:
        """The comparison as plain data.

        Returns
        -------
        list of dict
            One for each cell; `change` is the difference as a share of the loss under `against`.
        """
        base = self.mean[self.policies.index(self.against)]
        columns = {
            "loss": self.mean,
            "standard_error": self.standard_error,
            "difference": self.difference,
            "difference_error": self.difference_error,
            "change": self.difference / np.where(base > 0, base, np.nan),
        }
        return [
            {"policy": policy, "human": human}
            | {name: plain(table[i, j]) for name, table in columns.items()}
            for j, human in enumerate(self.humans)
            for i, policy in enumerate(self.policies)
        ]

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            One row for each cell.

        Raises
        ------
        MissingExtra
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("pandas", "data", "A comparison as a data frame") from error
        return pd.DataFrame(self.rows())

    def __str__(self) -> str:
        heading = (
            f"Discounted loss of the first {self.rounds} rounds ({self.weight:.1%} of the total "
            f"discounted weight), {self.people} people per cell, ± standard error"
        )
        others = [name for name in self.policies if name != self.against]
        at = [self.policies.index(name) for name in others]
        losses = [
            [_number(m, e) for m, e in zip(means, errors, strict=True)]
            for means, errors in zip(self.mean.T, self.standard_error.T, strict=True)
        ]
        base = self.mean[self.policies.index(self.against)]
        paired = [
            [
                f"{_number(self.difference[i, j], self.difference_error[i, j], sign='+')} "
                f"({self.difference[i, j] / base[j]:+.1%})"
                for i in at
            ]
            for j in range(len(self.humans))
        ]
        lines = [heading, "", *_table("human", self.policies, self.humans, losses)]
        if others:
            lines += [
                "",
                f"Difference from {self.against!r}, the same people and cases; below 0 is better",
                "",
                *_table("human", others, self.humans, paired),
            ]
        return "\n".join(lines)


def compare(
    problem: Problem,
    policies: Mapping[str, Chooser],
    humans: Mapping[str, Human | Person] | None,
    rounds: int,
    people: int,
    rng: Seed = None,
    *,
    against: str = BEST_FIXED_SET,
    progress: Progress | None = None,
) -> Comparison:
    """Play every policy with every human on the same cases.

    Parameters
    ----------
    problem
        World, person, budget, risk and time.
    policies
        By name: what `rollout` takes. If none is called "best fixed set", the stationary solver's
        is added, because that is what the others are compared with.
    humans
        By name: a `Person`, or anybody with the three methods of `Human`. None means everybody in
        `humans_of(problem)`.
    rounds
        How many cases each person meets.
    people
        How many people play in each cell.
    rng
        A seed or a generator; the same seed gives the same cases.
    against
        The policy that the others are compared with.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Comparison
        Losses person by person; printing it gives a table.

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
        raise InvalidInput(f"against: {against!r} is no policy of this comparison; use {known}")
    faults = [
        f"humans: {name!r} is {human!r}, must be a Person or have reset, predict and feedback"
        for name, human in players.items()
        if not isinstance(human, Human)
    ]
    InvalidInput.raise_if(faults if players else ["humans: none given, must be at least one"])
    seed = seed_of(rng)
    cases = draw_cases(problem.world, rounds, people, seed)
    totals = np.empty((len(choosers), len(players), people))
    for i, chooser in enumerate(choosers.values()):
        for j, human in enumerate(players.values()):
            told = _part_of(progress, i * len(players) + j, len(choosers) * len(players))
            totals[i, j] = play(problem, chooser, cases, seed, human, told).totals
    weight = played_weight(problem, rounds)
    names = (tuple(choosers), tuple(players))
    return Comparison(*names, against, frozen_array(totals), rounds, weight, seed)


def _part_of(progress: Progress | None, index: int, cells: int) -> Progress | None:
    """Passes on the progress within one cell as progress of the whole table."""
    if progress is None:
        return None
    return lambda update: progress(update._replace(done=(index + (update.done or 0.0)) / cells))


def _number(value: float, error: float, sign: str = "") -> str:
    """Digits down to the second one of the error."""
    if not np.isfinite(error) or error <= 0:
        return f"{value:{sign}.4g}"
    places = int(np.clip(1 - np.floor(np.log10(error)), 0, 12))
    return f"{value:{sign}.{places}f} ± {error:.{places}f}"


def _table(
    corner: str,
    columns: tuple[str, ...] | list[str],
    rows: tuple[str, ...],
    cells: list[list[str]],
) -> list[str]:
    grid = [[corner, *columns], *([name, *row] for name, row in zip(rows, cells, strict=True))]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in grid
    ]
