"""A sweep: a grid of settings, each repeated for some draws, through one pure function.

The function takes a setting and a seed and returns rows of numbers. The seed of draw j is the j-th
child of the sweep's seed, whatever else is run: more draws, other settings or more workers change
nothing that was computed before. Rows come back in the order of the grid, in whatever order cells
finish, so a sweep always gives the same table.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.extensions import from_extra
from preceptor._base.many import Journal, code_digest
from preceptor._base.parallel import Executor, Serial, executor_of
from preceptor._base.progress import Progress, report

if TYPE_CHECKING:
    import pandas as pd

Setting = Mapping[str, Any]
Row = dict[str, Any]
Task = Callable[[Setting, np.random.SeedSequence], list[Row]]
Cell = tuple[int, int]  # which setting, which draw


@dataclass(frozen=True)
class Sweep:
    """A `task` to run for each of the `settings` and each of `draws` seeds.

    Parameters
    ----------
    name
        Its value in the column `part` of the table.
    task
        A deterministic function of a setting and a `numpy.random.SeedSequence` that returns rows
        (dicts of numbers and text). For other processes it must be importable: defined in a module,
        not inside a function.
    settings
        Dicts of numbers and text, one for each point of the grid; their keys become columns.
    draws
        How often each setting is run. Draw j uses the j-th child of the seed in every setting, so
        settings can be compared draw by draw.
    seed
        Seed of everything random.
    alone
        For measuring time: run one cell after another in this process, with nothing in parallel.
    batch
        How many cells are sent to a worker at once; larger for cells that take milliseconds.
    changed
        What distinguishes this run from others with the same settings, for the journal.

    Examples
    --------
    >>> import numpy as np
    >>> def task(setting, seed):
    ...     return [{"mean": setting["scale"] * np.random.default_rng(seed).uniform(size=9).mean()}]
    >>> sweep = Sweep("means", task, ({"scale": 1.0}, {"scale": 2.0}), draws=3)
    >>> run_sweeps([sweep]).groupby("scale")["mean"].count().to_list()
    [3, 3]
    """

    name: str
    task: Task
    settings: tuple[Setting, ...]
    draws: int
    seed: int = 0
    alone: bool = False
    batch: int = 1
    changed: str = ""

    @property
    def cells(self) -> list[Cell]:
        """All cells, draw by draw for each setting.

        Returns
        -------
        list of pairs
            Position of the setting, number of the draw.
        """
        return [(s, d) for s in range(len(self.settings)) for d in range(self.draws)]

    def key_of(self, cell: Cell) -> str:
        """The journal key of a cell: the same for the same setting and draw in any grid.

        Parameters
        ----------
        cell
            Position of the setting, number of the draw.

        Returns
        -------
        str
            JSON of name, setting and draw.
        """
        setting, draw = cell
        parts = [self.name, dict(self.settings[setting]), draw]
        return json.dumps([*parts, self.changed] if self.changed else parts, sort_keys=True)

    @property
    def fingerprint(self) -> str:
        """Changes when results could change: with the seed, the task's code or the package's."""
        return f"{self.task.__qualname__} seed {self.seed} code {code_digest(self.task)}"

    def run_cells(self, cells: Sequence[Cell]) -> list[list[Row]]:
        """Run some cells; this is what workers do.

        Parameters
        ----------
        cells
            The cells to run.

        Returns
        -------
        list of lists of dicts
            In the order of the cells.
        """
        return [self._run_cell(cell) for cell in cells]

    def _run_cell(self, cell: Cell) -> list[Row]:
        setting, draw = self.settings[cell[0]], cell[1]
        seed = np.random.SeedSequence(self.seed, spawn_key=(draw,))
        rows = self.task(setting, seed)
        return [{"part": self.name, **setting, "draw": draw, **row} for row in rows]


def run_sweeps(
    sweeps: Sequence[Sweep],
    *,
    executor: Executor | None = None,
    journal: Journal | str | Path | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    workers: int | None = None,
    client: Any = None,
) -> pd.DataFrame:
    """Run all sweeps as one table with a column `part`, skipping what the journal has.

    Parameters
    ----------
    sweeps
        What to run, in order.
    executor
        Runs the cells; `workers` and `client` are simpler.
    journal
        A file that keeps finished cells, so that an interrupted run can be resumed.
    progress
        Called now and then with an `Update`.
    seconds
        Filled with the time that each sweep took.
    workers
        Number of processes; only this one if left out. With more, a script must guard its entry
        with `if __name__ == "__main__":`.
    client
        A `distributed.Client`, whose cluster is then used instead.

    Returns
    -------
    pandas.DataFrame
        One row for each row of a task: `part`, the setting, `draw`, and what the task returned, in
        the order of the grids.

    Raises
    ------
    MissingExtra
        pandas is not installed.
    InvalidFile
        The journal is not a journal.

    Examples
    --------
    >>> import numpy as np
    >>> def task(setting, seed):
    ...     return [{"twice": 2 * setting["number"]}]
    >>> run_sweeps([Sweep("doubles", task, ({"number": 4},), draws=1)])["twice"].to_list()
    [8]
    """
    if workers is not None or client is not None:
        with executor_of(workers, client) as own:
            return run_sweeps(
                sweeps, executor=own, journal=journal, progress=progress, seconds=seconds
            )
    if isinstance(journal, (str, Path)):
        journal = Journal(journal)
    pandas = from_extra("pandas", "experiments", "Running experiments")
    runner = executor if executor is not None else Serial()
    total = sum(len(sweep.cells) for sweep in sweeps)
    done, fresh, began = 0, 0, time.perf_counter()
    rows: list[Row] = []
    for sweep in sweeps:
        started = time.perf_counter()
        fingerprint = "" if journal is None else sweep.fingerprint
        known = {} if journal is None else journal.read(fingerprint)
        results = {c: known[key] for c in sweep.cells if (key := sweep.key_of(c)) in known}
        missing = [cell for cell in sweep.cells if cell not in results]
        done += len(results)
        if results:
            report(progress, f"{done:,} of {total:,} cells", done=done / total)
        size = 1 if sweep.alone else sweep.batch
        batches = [missing[i : i + size] for i in range(0, len(missing), size)]
        chosen = Serial() if sweep.alone else runner
        for batch, answers in chosen.run(sweep.run_cells, batches):
            for cell, answer in zip(batch, answers, strict=True):
                results[cell] = answer
                if journal is not None:
                    journal.write(fingerprint, sweep.key_of(cell), answer)
            done, fresh = done + len(batch), fresh + len(batch)
            rate = fresh / (time.perf_counter() - began)
            report(progress, f"{done:,} of {total:,} cells, {rate:.3g}/s", done=done / total)
        rows += [row for cell in sweep.cells for row in results[cell]]
        if seconds is not None:
            seconds[sweep.name] = time.perf_counter() - started
    return pandas.DataFrame(rows)


# Means over draws with 95% intervals, and when two such means agree.
#
# Tables use Student's t, which accounts for few draws; bands in figures extend 1.96 standard
# errors to either side, as in the paper, so that figures can be compared.


@dataclass(frozen=True)
class SampleMean:
    """A mean over draws, its standard error (0 if all are equal) and the number of draws.

    A number that is known, not sampled, is `exact`.
    """

    value: float
    error: float
    draws: int
    exact: bool = False

    @classmethod
    def known(cls, value: float) -> SampleMean:
        """A number without sampling error."""
        return cls(value, 0.0, 0, exact=True)

    @classmethod
    def of(cls, values: Sequence[float] | Any) -> SampleMean:
        """Return mean and standard error of a sample; NaN are ignored."""
        array = np.asarray(values, dtype=np.float64)
        array = array[~np.isnan(array)]
        if array.size == 0:
            return cls(math.nan, math.nan, 0)
        spread = float(array.std(ddof=1)) if array.size > 1 else math.nan
        return cls(float(array.mean()), spread / math.sqrt(array.size), array.size)

    @property
    def says_something(self) -> bool:
        """Whether there is an interval: an exact number, or draws that vary."""
        return self.exact or (self.draws > 1 and self.error > 0.0)

    @property
    def margin(self) -> float:
        """Half the width of the 95% interval, by Student's t."""
        from scipy.special import stdtrit

        if self.exact:
            return 0.0
        return float(stdtrit(self.draws - 1, 0.975)) * self.error if self.draws > 1 else math.nan

    @property
    def low(self) -> float:
        """Lower end of the 95% interval."""
        return self.value - self.margin

    def margin_against(self, draws: int) -> float:
        """95% margin of the difference from another mean over `draws` draws."""
        return 0.0 if self.exact else self.margin * math.sqrt(1.0 + self.draws / draws)


def means(frame: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """One row per group: its keys, `mean`, `error`, `draws`, and a band from `low` to `high`."""
    groups = frame.astype({column: float}).groupby(list(by), sort=True, dropna=False)[column]
    table = groups.agg(mean="mean", error="sem", draws="count").reset_index()
    half = 1.96 * table["error"].fillna(0.0)
    return table.assign(low=table["mean"] - half, high=table["mean"] + half)


def mean_where(frame: pd.DataFrame, column: str, **chosen: Any) -> SampleMean:
    """Mean of a column over the rows in which other columns have these values.

    Numbers are matched up to rounding, so that `rho=0.6` finds 0.6000000000000001.
    """
    picked = np.ones(len(frame), dtype=np.bool_)
    for name, value in chosen.items():
        if isinstance(value, float):
            picked &= np.isclose(frame[name].astype(float), value, rtol=0.0, atol=1e-9)
        else:
            picked &= (frame[name] == value).to_numpy()
    return SampleMean.of(frame.loc[picked, column])
