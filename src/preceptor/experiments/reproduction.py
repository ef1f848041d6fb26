"""Run one experiment for its table, or all of them for data, figures and a report.

In the output folder: for each experiment `NAME.parquet`, `NAME.png`, `NAME.pdf` and `NAME.json`;
`report.md` and `report.json` about all that the folder holds. While a run is under way, what is
finished lies in `NAME.unfinished.jsonl`; a run that was killed goes on from there.
"""

from __future__ import annotations

import dataclasses
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.executors import Executor, executor_of
from preceptor._base.files import read_json, write_bytes, write_text
from preceptor._base.journal import Journal
from preceptor._base.progress import Progress
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.experiments import (
    action_map,
    beam,
    exploration,
    look,
    misspecification,
    stationary,
    theorems,
    truncation,
    variants,
    written,
)
from preceptor.experiments.assumptions import Assumptions
from preceptor.experiments.changed import findings_of
from preceptor.experiments.experiment import Experiment, Finding, Scale
from preceptor.experiments.sweep import require_pandas, run_sweeps

if TYPE_CHECKING:
    import pandas as pd

# In the order of the paper.
_MODULES = (
    *(stationary, action_map, exploration, truncation, beam),
    *(misspecification, variants, theorems),
)
EXPERIMENTS: dict[str, Experiment] = {each.EXPERIMENT.name: each.EXPERIMENT for each in _MODULES}
"""Every experiment by its name, in the order of the paper."""

UNFINISHED = ".unfinished.jsonl"


@dataclass(frozen=True)
class Result:
    """What came of one experiment: its table, its findings and how long its parts took."""

    experiment: Experiment
    frame: pd.DataFrame
    findings: list[Finding]
    seconds: dict[str, float]


def run(
    name: str,
    *,
    draws: int | None = None,
    rho: Sequence[float] | None = None,
    quick: bool = False,
    seed: int = 0,
    workers: int | None = None,
    client: Any = None,
    journal: str | Path | None = None,
    progress: Progress | None = None,
    alpha: float | None = None,
    discount: float | None = None,
    floor: float | None = None,
    imputation: float | str | None = None,
    tests: int | None = None,
    budget: int | str | None = None,
    horizon: int | None = None,
) -> pd.DataFrame:
    """The table of one experiment, one row for each setting and draw.

    The table does not depend on workers, cluster or journal, except for columns that measure time.

    Parameters
    ----------
    name
        A key of `EXPERIMENTS`.
    draws
        Random draws of each setting; as many as in the paper if left out.
    rho
        Correlations; those of the paper if left out.
    quick
        Few draws and correlations, to see that everything works.
    seed
        Seed of everything random.
    workers
        How many processes; one for each core if left out, 1 is this process. With more, a script
        must guard its entry with `if __name__ == "__main__":`.
    client
        A `distributed.Client`, whose cluster is then used instead.
    journal
        A file that keeps what is finished, so that a run that is stopped can be taken up again.
    progress
        Called now and then with an `Update`.
    alpha
        Change an assumption: what a showing divides the error of a weight by.
    discount
        Change an assumption: what a case one round later is worth.
    floor
        Change an assumption: share of the first squared error that learning never removes.
    imputation
        Change an assumption: how hidden tests are filled in, from 0 (knowing how tests go together)
        to 1 (as average); "linear" or "cubic" for experiments on sampled cases.
    tests
        Change an assumption: how many tests there are.
    budget
        Change an assumption: how many may be shown, as k, "at most k" or "exactly k".
    horizon
        Change an assumption: how many rounds are planned.

    Returns
    -------
    pandas.DataFrame
        What the experiment's `figure` takes, and its `findings` if nothing was changed.

    Raises
    ------
    InvalidInput
        An unknown name, a scale that makes no sense, or an assumption that the experiment does not
        make; the message lists those that it makes.
    MissingExtra
        pandas is not installed.

    Examples
    --------
    >>> frame = run("stationary", draws=2, rho=[0.5], workers=1)
    >>> bool((frame["retained"] <= 100.0 + 1e-9).all())
    True
    >>> slow = run("stationary", draws=2, rho=[0.5], workers=1, alpha=1.02, horizon=200)
    >>> slow["alpha"].unique().tolist()
    [1.02]
    """
    assume = Assumptions(alpha, discount, floor, imputation, tests, budget, horizon)
    scale = Scale(draws, None if rho is None else _correlations(rho), quick, seed, assume)
    chosen = find([name])[0]
    sweeps = chosen.sweeps_of(scale)
    book = None if journal is None else Journal(journal)
    with executor_of(workers, client) as executor:
        return run_sweeps(sweeps, executor=executor, journal=book, progress=progress)


def reproduce(
    names: Sequence[str] = (),
    *,
    output: str | Path,
    scale: Scale | None = None,
    workers: int | None = None,
    client: Any = None,
    tell: Callable[[str], Progress] | None = None,
) -> list[Result]:
    """Run experiments and write data, figures and a report.

    Parameters
    ----------
    names
        Keys of `EXPERIMENTS`; all of them if none is named.
    output
        The folder to write to; made if it is not there.
    scale
        How much to run; as much as the paper if left out.
    workers
        How many processes, as for `run`.
    client
        A `distributed.Client`, whose cluster is then used instead.
    tell
        Asked for a progress callback at the start of every experiment.

    Returns
    -------
    list of Result
        One for each experiment: its table, its findings and how long its parts took.

    Raises
    ------
    InvalidInput
        An unknown name, or a changed assumption that one of the experiments does not make.
    InvalidFile
        The folder cannot be made.
    MissingExtra
        pandas is not installed.
    """
    require_pandas()
    folder = Path(output)
    chosen = find(names)
    much = scale if scale is not None else Scale()
    InvalidInput.raise_if(fault for each in chosen for fault in each.refused(much.assume))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"{folder}: cannot be made ({error.strerror})") from None
    # What cannot go into the report is found out now, not after everything was run.
    list(read_sections(folder))
    journals = {e.name: Journal(folder / f"{e.name}{UNFINISHED}") for e in chosen}
    results = []
    with executor_of(workers, client) as executor:
        for experiment in chosen:
            progress = None if tell is None else tell(experiment.name)
            journal = journals[experiment.name]
            results.append(_run_one(experiment, much, executor, journal, folder, progress))
    sections = list(read_sections(folder))
    write_text(folder / "report.md", written.as_markdown(sections))
    write_text(folder / "report.json", written.as_json(sections))
    for journal in journals.values():
        journal.remove()
    return results


def read_sections(folder: Path) -> Iterator[written.Section]:
    """What the folder says about each experiment, in the paper's order."""
    for name in EXPERIMENTS:
        path = folder / f"{name}.json"
        if path.exists():
            section = read_json(path)
            if not section.keys() >= written.PARTS:
                raise InvalidFile(
                    f"{path}: is not what an experiment leaves there; remove it, or choose another "
                    "folder"
                )
            yield section


def _correlations(rho: Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in rho)
    except (TypeError, ValueError):
        raise InvalidInput(f"rho: {rho!r}, must be a list of numbers") from None


def find(names: Sequence[str]) -> list[Experiment]:
    """The named experiments in the paper's order, all of them if none is named."""
    unknown = [name for name in names if name not in EXPERIMENTS]
    InvalidInput.raise_if(
        f"experiment: {name!r} is unknown; there are {', '.join(EXPERIMENTS)}" for name in unknown
    )
    return [e for name, e in EXPERIMENTS.items() if not names or name in names]


def _run_one(
    experiment: Experiment,
    scale: Scale,
    executor: Executor,
    journal: Journal,
    folder: Path,
    progress: Progress | None,
) -> Result:
    seconds: dict[str, float] = {}
    frame = run_sweeps(
        experiment.sweeps_of(scale),
        executor=executor,
        journal=journal,
        progress=progress,
        seconds=seconds,
    )
    started = time.perf_counter()
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    write_bytes(folder / f"{experiment.name}.parquet", buffer.getvalue())
    drawn = experiment.figure(frame)
    if scale.assume.changed:
        drawn.suptitle(f"changed: {scale.assume.in_words()}", fontsize=10)
    look.save(drawn, folder / experiment.name)
    seconds["files and figure"] = time.perf_counter() - started
    result = Result(experiment, frame, findings_of(experiment, scale, frame), seconds)
    meant = dataclasses.asdict(scale) | dict.fromkeys(experiment.unused(scale))
    meant.pop("assume")
    if scale.assume.changed:
        meant["assume"] = scale.assume.changed
    section = written.section_of(result, meant)
    write_text(folder / f"{experiment.name}.json", json.dumps(section, ensure_ascii=False) + "\n")
    return result
