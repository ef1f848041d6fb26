"""A sweep: a grid of settings, each repeated for some draws, through one pure function.

The function gets a setting and a seed and gives rows of numbers. The seed of draw j is the j-th
child of the sweep's own seed, whatever else is run: more draws, other settings or more workers
change nothing that was computed before. Rows come back in the order of the grid, whoever finished
first, so a sweep always gives the same table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.executors import Executor, Serial, executor_of
from preceptor._base.journal import Journal, code_of
from preceptor._base.progress import Progress, report
from preceptor.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

Setting = Mapping[str, Any]
Row = dict[str, Any]
Task = Callable[[Setting, np.random.SeedSequence], list[Row]]
Cell = tuple[int, int]  # which setting, which draw


@dataclass(frozen=True)
class Sweep:
    """What to run: `task` for each of the `settings` and each of `draws` seeds.

    Parameters
    ----------
    name
        What the column `part` of the table says.
    task
        A function of a setting and a `numpy.random.SeedSequence` that gives rows (dicts of numbers
        and text), and the same rows whenever it gets the same. For other processes it must be
        importable: defined in a module, not inside a function.
    settings
        Dicts of numbers and text, one for each point of the grid; their keys become columns.
    draws
        How often each setting is run. Draw j has the j-th child of the seed in every setting, so
        settings can be compared draw by draw.
    seed
        Seed of everything random.
    alone
        For measuring time: one cell after another in this process, with nothing beside it.
    batch
        How many cells travel to a worker at once; those that take milliseconds travel better
        together.
    changed
        What sets this run apart from others with the same settings, for the journal.

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
        """All of them, draws of one setting after another.

        Returns
        -------
        list of pairs
            Position of the setting, number of the draw.
        """
        return [(s, d) for s in range(len(self.settings)) for d in range(self.draws)]

    def key_of(self, cell: Cell) -> str:
        """The same text for the same setting and draw, in whatever grid they stand.

        Parameters
        ----------
        cell
            Position of the setting, number of the draw.

        Returns
        -------
        str
            By which a journal knows the cell.
        """
        setting, draw = cell
        parts = [self.name, dict(self.settings[setting]), draw]
        return json.dumps([*parts, self.changed] if self.changed else parts, sort_keys=True)

    @property
    def fingerprint(self) -> str:
        """Changes when results could: with the seed, the task's code or the package's."""
        return f"{self.task.__qualname__} seed {self.seed} code {code_of(self.task)}"

    def run_cells(self, cells: Sequence[Cell]) -> list[list[Row]]:
        """Rows of each cell; this is what workers do.

        Parameters
        ----------
        cells
            Which.

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
    """All sweeps, as one table with a column `part`; what the journal has is not run again.

    Parameters
    ----------
    sweeps
        What to run, in order.
    executor
        Where an experiment's own runner sends cells; `workers` and `client` are simpler.
    journal
        A file that keeps what is finished, so that a run that is stopped can be taken up again.
    progress
        Called now and then with an `Update`.
    seconds
        How long each sweep took is put in here.
    workers
        How many processes; this one alone if left out. With more, a script must guard its entry
        with `if __name__ == "__main__":`.
    client
        A `distributed.Client`, whose cluster is then used instead.

    Returns
    -------
    pandas.DataFrame
        A row for each row of a task: `part`, the setting, `draw`, and what the task gave, in the
        order of the grids, whoever finished first.

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
    pandas = require_pandas()
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
        ways = Serial() if sweep.alone else runner
        for batch, answers in ways.run(sweep.run_cells, batches):
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


def require_pandas() -> Any:
    """The pandas module, or an error that says what to install."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "experiments", "Running experiments") from None
    return pandas
