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
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.executors import Executor, Serial
from preceptor._base.journal import Journal, code_of
from preceptor._base.progress import Progress, report
from preceptor.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

Setting = Mapping[str, Any]
Row = dict[str, Any]
Task = Callable[[Setting, np.random.SeedSequence], list[Row]]
Cell = tuple[int, int]  # which setting, which draw

# Columns that say how long something took; everything else is the same in every run.
TIMINGS = ("seconds",)


@dataclass(frozen=True)
class Sweep:
    """What to run: `task` for each of the `settings` and each of `draws` seeds.

    `alone` is for measuring time: one cell after another, with nothing beside it. `batch` is how
    many cells travel to a worker at once; cells that take milliseconds travel better together.
    """

    name: str
    task: Task
    settings: tuple[Setting, ...]
    draws: int
    seed: int = 0
    alone: bool = False
    batch: int = 1

    @property
    def cells(self) -> list[Cell]:
        """All of them, draws of one setting after another."""
        return [(s, d) for s in range(len(self.settings)) for d in range(self.draws)]

    def key_of(self, cell: Cell) -> str:
        """The same text for the same setting and draw, in whatever grid they stand."""
        setting, draw = cell
        return json.dumps([self.name, dict(self.settings[setting]), draw], sort_keys=True)

    @property
    def fingerprint(self) -> str:
        """Changes when results could: with the seed, the task's code or the package's."""
        return f"{self.task.__qualname__} seed {self.seed} code {code_of(self.task)}"

    def run_cells(self, cells: Sequence[Cell]) -> list[list[Row]]:
        """Rows of each cell; this is what workers do."""
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
    journal: Journal | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> pd.DataFrame:
    """All sweeps, as one table with a column `part`; what the journal has is not run again.

    How long each sweep took is put into `seconds`, if given.
    """
    pandas = require_pandas()
    workers = executor if executor is not None else Serial()
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
        ways = Serial() if sweep.alone else workers
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


def untimed(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that measure time: what must be the same in every run."""
    return frame[[c for c in frame.columns if not c.startswith(TIMINGS)]]


def require_pandas() -> Any:
    """The pandas module, or an error that says what to install."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "experiments", "Running experiments") from None
    return pandas
