"""Run one experiment for its table, or all of them for data, figures and a report.

The output folder has `NAME.parquet`, `NAME.png`, `NAME.pdf` and `NAME.json` for each experiment,
and `report.md` and `report.json` about all of them. During a run, finished cells are kept in
`NAME.unfinished.jsonl`; a run that was killed resumes from there.

The paper's statements hold under the paper's assumptions. With a changed one a comparison would be
meaningless, so each change is named and the results are summarised without verdicts.

The report has one section for each experiment in its folder. A section is plain data (`NAME.json`),
so that running one experiment again replaces its section and leaves the others. `report.md` is for
people, `report.json` for programs.
"""

from __future__ import annotations

import dataclasses
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from preceptor._base.extensions import from_extra
from preceptor._base.files import read_json, write_bytes, write_text
from preceptor._base.many import Journal
from preceptor._base.parallel import Executor, executor_of
from preceptor._base.progress import Progress
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.paper import (
    action_map,
    beam,
    exploration,
    look,
    misspecification,
    stationary,
    theorems,
    truncation,
    variants,
)
from preceptor.paper.experiment import (
    NAMES,
    Agreement,
    Assumptions,
    Experiment,
    Finding,
    Scale,
    as_usual,
)
from preceptor.paper.printed import mean_in_words
from preceptor.paper.sweep import SampleMean, run_sweeps

if TYPE_CHECKING:
    import pandas as pd


def findings_of(experiment: Experiment, scale: Scale, frame: pd.DataFrame) -> list[Finding]:
    """Return the comparison with the paper, or a summary under changed assumptions."""
    changed = scale.assume.changed
    if not changed:
        return experiment.findings(frame)
    lines = [
        Finding(
            f"assumed: {NAMES[name]}",
            experiment.assumes[name],
            str(value),
            Agreement.NOT_COMPARABLE,
            "changed, so nothing below is a statement of the paper",
        )
        for name, value in changed.items()
    ]
    for sweep in experiment.sweeps(scale):
        rows = frame[frame["part"] == sweep.name]
        varied = [
            key
            for key in sweep.settings[0]
            if len({setting.get(key) for setting in sweep.settings}) > 1
        ]
        by = [*varied, *(name for name in experiment.within if name in rows)]
        for column, unit in experiment.outcomes.items():
            if column in rows and rows[column].notna().any():
                lines += _means(sweep.name, column, unit, rows, by)
    return lines


def _means(part: str, column: str, unit: str, rows: pd.DataFrame, by: list[str]) -> list[Finding]:
    """One line for each combination of least and largest values."""
    by = [name for name in by if rows[name].notna().any()]
    for name in by:
        values = rows[name].dropna().unique()
        # Of a longer list of numbers (such as correlations), only the least and the largest are
        # listed.
        if len(values) > 2 and not isinstance(values[0], str):
            rows = rows[rows[name].isin([values.min(), values.max()])]
    groups = rows.groupby(by, sort=False) if by else [((), rows)]
    lines = []
    for keys, group in groups:
        where = ", ".join(f"{name} {key}" for name, key in zip(by, keys, strict=True))
        claim = f"{part}: {column}" + (f" at {where}" if where else "")
        ours = mean_in_words(SampleMean.of(group[column]), unit)
        lines.append(Finding(claim, "-", ours, Agreement.NOT_COMPARABLE))
    return lines


Section = dict[str, Any]
PARTS = frozenset(("name", "title", "about", "scale", "findings", "seconds", "rows"))

_RULE = """\
Means are over random draws, with 95% intervals by Student's t in tables and bands of 1.96 standard
errors in figures, as in the paper. A number *agrees* if it equals the printed one in all printed
digits, or satisfies the printed inequality. It is *compatible* if not, but a mean over as many
draws as the paper's could well have come out as printed: it is within the 95% margin of both means,
plus rounding. A statement in words *holds* or does not. Results that were chosen to fit the paper,
or were run with a changed assumption, are *not comparable*.
"""


def section_of(result: ExperimentResult, scale: dict[str, Any]) -> Section:
    """Return one experiment's findings and times as plain data."""
    parts = result.frame["part"]
    return {
        "name": result.experiment.name,
        "title": result.experiment.title,
        "about": result.experiment.about.strip(),
        "scale": scale,
        "findings": [
            asdict(finding) | {"verdict": finding.verdict.value} for finding in result.findings
        ],
        "seconds": result.seconds,
        "rows": {part: int((parts == part).sum()) for part in result.seconds},
    }


def as_markdown(sections: Sequence[Section]) -> str:
    """Return the report: every experiment with its figure and a table of statements."""
    parts = ["# The paper's experiments, run again\n", _RULE]
    for section in sections:
        parts += [
            f"## {section['title']}\n",
            f"{section['about']}\n",
            f"![{section['title']}]({section['name']}.png)\n",
            f"{_scale_in_words(section['scale'])}\n",
            _table(section),
        ]
    return "\n".join([*parts, "## Where the time went\n", _timetable(sections)])


def as_json(sections: Sequence[Section]) -> str:
    """Return the report for programs."""
    return json.dumps({"experiments": list(sections)}, indent=2, ensure_ascii=False) + "\n"


def time_in_words(results: Sequence[ExperimentResult]) -> str:
    """Return one line: how long each experiment took."""
    parts = [f"{r.experiment.name} {sum(r.seconds.values()):.1f} s" for r in results]
    total = sum(sum(result.seconds.values()) for result in results)
    return f"{total:.1f} s in all: {', '.join(parts)}"


def _table(section: Section) -> str:
    """Statement, paper, ours and verdict, with reasons underneath."""
    lines = ["| statement | paper | ours | |", "|---|---|---|---|"]
    reasons = []
    for finding in section["findings"]:
        mark = finding["verdict"]
        if mark == Agreement.DIFFERS.value:
            mark = f"**{mark}**"
        lines.append(f"| {finding['claim']} | {finding['paper']} | {finding['ours']} | {mark} |")
        if finding["why"]:
            reasons.append(f"- {finding['claim']}: {finding['why']}.")
    return "\n".join([*lines, "", *reasons, ""])


def _timetable(sections: Sequence[Section]) -> str:
    lines = ["| experiment | part | rows | seconds |", "|---|---|---:|---:|"]
    total = 0.0
    for section in sections:
        for part, seconds in section["seconds"].items():
            rows = section["rows"][part]
            many = f"{rows:,}" if rows else ""
            lines.append(f"| {section['name']} | {part} | {many} | {seconds:.1f} |")
            total += seconds
    lines.append(f"| **together** | | | **{total:.1f}** |")
    return "\n".join([*lines, ""])


def _scale_in_words(scale: dict[str, Any]) -> str:
    if scale["quick"]:
        text = "This was a quick pass: few draws, few settings. Do not quote its numbers."
    elif scale["draws"] is not None or scale["rho"] is not None:
        draws = "as in the paper" if scale["draws"] is None else scale["draws"]
        rho = "as in the paper" if scale["rho"] is None else ", ".join(map(str, scale["rho"]))
        text = f"Draws: {draws}. Correlations: {rho}."
    else:
        text = "As many draws as in the paper, unless said otherwise."
    changed = scale.get("assume") or {}
    if changed:
        names = ", ".join(f"{NAMES[name]} {value}" for name, value in changed.items())
        text = f"**Changed: {names}.** What follows cannot be compared with the paper. {text}"
    return f"{text} Seed {scale['seed']}."


def _recorded(module: ModuleType, title: str, **more: Any) -> Experiment:
    """An experiment from its module: what to run, the figure, the findings, and its docstring."""
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    about, findings = module.__doc__ or "", module.findings
    return Experiment(name, title, about, module.sweeps, module.figure, findings, **more)


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _recorded(
            stationary,
            "Retained optimality of the best stationary set",
            assumes=as_usual(
                alpha="1.05, 1.10 and 1.20",
                discount="0.99 (and 0.85, 0.90, 0.95)",
                tests="2",
                budget="at most 1",
            ),
            outcomes={"retained": "%", "excess": "%"},
        ),
        _recorded(
            action_map,
            "What the optimal plan shows, round by round",
            varies=("rho",),
            assumes=as_usual(alpha="1.05", budget="at most 1"),
            outcomes={"length": "rounds"},
        ),
        _recorded(
            exploration,
            "Exploration length against correlation and horizon",
            assumes=as_usual(
                alpha="1.05",
                tests="2 and 3",
                budget="at most 1 and 2",
                horizon="600 for (2,1), not printed for (3,2)",
            ),
            outcomes={"length": "rounds", "certified": "rounds"},
        ),
        _recorded(
            truncation,
            "Truncated planning: quality and time against T̄",
            varies=("draws",),
            assumes=as_usual(alpha="1.05, 1.10 and 1.20", tests="2", budget="at most 1"),
            outcomes={"retained": "%", "excess": "%"},
            within=("suffix",),
        ),
        _recorded(
            beam,
            "Beam search against truncated planning in the same time",
            varies=("draws",),
            assumes=as_usual(
                alpha="1.05", tests="10, 15, 20 and 25", budget="exactly 2, 3, 4 and 5"
            ),
            outcomes={"ratio": "%"},
            within=("suffix", "width"),
        ),
        _recorded(
            misspecification,
            "Planning with a wrong input",
            varies=("draws",),
            assumes={
                "alpha": "1.10",
                "discount": "0.99",
                "floor": "0",
                "budget": "at most 1",
                "horizon": "600",
            },
            outcomes={"retained": "%", "excess": "%"},
        ),
        _recorded(
            variants,
            "Other marginals, losses and learning curves",
            assumes=as_usual(
                alpha="1.05",
                imputation="linear, cubic for Beta tests",
                tests="2",
                budget="exactly 1",
                horizon="180",
            ),
            outcomes={"length": "rounds", "retained": "%"},
            within=("planned",),
        ),
        _recorded(
            theorems,
            "The theorems as pictures",
            varies=("rho",),
            assumes={"alpha": "1.10", "discount": "0.3 to 0.98"},
            outcomes={"gain": "%", "ratio": "times"},
        ),
    )
}
"""Every experiment by its name, in the order of the paper."""

UNFINISHED = ".unfinished.jsonl"


@dataclass(frozen=True)
class ExperimentResult:
    """Result of one experiment: its table, its findings and the time of each part."""

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
    """Return the table of one experiment, one row for each setting and draw.

    The table does not depend on workers, cluster or journal, except for columns that measure time.

    Parameters
    ----------
    name
        A key of `EXPERIMENTS`.
    draws
        Random draws per setting; as many as in the paper if left out.
    rho
        Correlations; those of the paper if left out.
    quick
        Few draws and correlations, to see that everything works.
    seed
        Seed of everything random.
    workers
        Number of processes; one per core if left out, 1 for this process. With more, a script must
        guard its entry with `if __name__ == "__main__":`.
    client
        A `distributed.Client`, whose cluster is then used instead.
    journal
        A file that keeps finished cells, so that an interrupted run can be resumed.
    progress
        Called now and then with an `Update`.
    alpha
        Changed assumption: factor by which a showing divides the error of a weight.
    discount
        Changed assumption: the discount factor.
    floor
        Changed assumption: share of the initial squared error that learning never removes.
    imputation
        Changed assumption: how hidden tests are imputed, from 0 (with the true correlations) to 1
        (ignoring them); "linear" or "cubic" for experiments on sampled cases.
    tests
        Changed assumption: the number of tests.
    budget
        Changed assumption: how many may be shown, as k, "at most k" or "exactly k".
    horizon
        Changed assumption: the number of planned rounds.

    Returns
    -------
    pandas.DataFrame
        Input of the experiment's `figure` and, if no assumption was changed, `findings`.

    Raises
    ------
    InvalidInput
        An unknown name, a scale that makes no sense, or an assumption that the experiment does not
        make; the message lists its assumptions.
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
    with executor_of(workers, client) as executor:
        return run_sweeps(sweeps, executor=executor, journal=journal, progress=progress)


def reproduce(
    names: Sequence[str] = (),
    *,
    output: str | Path,
    scale: Scale | None = None,
    workers: int | None = None,
    client: Any = None,
    tell: Callable[[str], Progress] | None = None,
) -> list[ExperimentResult]:
    """Run experiments and write data, figures and a report.

    Parameters
    ----------
    names
        Keys of `EXPERIMENTS`; all of them if none is named.
    output
        The folder to write to; created if missing.
    scale
        How much to run; as much as the paper if left out.
    workers
        Number of processes, as in `run`.
    client
        A `distributed.Client`, whose cluster is then used instead.
    tell
        Called with the name of each experiment; returns its progress callback.

    Returns
    -------
    list of ExperimentResult
        One for each experiment: its table, its findings and the time of each part.

    Raises
    ------
    InvalidInput
        An unknown name, or a changed assumption that one of the experiments does not make.
    InvalidFile
        The folder cannot be created.
    MissingExtra
        pandas is not installed.
    """
    from_extra("pandas", "experiments", "Running experiments")
    folder = Path(output)
    chosen = find(names)
    scale = scale if scale is not None else Scale()
    InvalidInput.raise_if(fault for each in chosen for fault in each.refused(scale.assume))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"{folder}: cannot be created ({error.strerror})") from None
    # Fail now, not after everything was run, if the folder has files that cannot be reported.
    list(read_sections(folder))
    journals = {e.name: Journal(folder / f"{e.name}{UNFINISHED}") for e in chosen}
    results = []
    with executor_of(workers, client) as executor:
        for experiment in chosen:
            progress = None if tell is None else tell(experiment.name)
            journal = journals[experiment.name]
            results.append(_run_one(experiment, scale, executor, journal, folder, progress))
    sections = list(read_sections(folder))
    write_text(folder / "report.md", as_markdown(sections))
    write_text(folder / "report.json", as_json(sections))
    for journal in journals.values():
        journal.remove()
    return results


def read_sections(folder: Path) -> Iterator[Section]:
    """Sections of the experiments in a folder, in the paper's order."""
    for name in EXPERIMENTS:
        path = folder / f"{name}.json"
        if path.exists():
            section = read_json(path)
            if not section.keys() >= PARTS:
                raise InvalidFile(
                    f"{path}: was not written by an experiment; remove it, or choose another folder"
                )
            yield section


def _correlations(rho: Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in rho)
    except (TypeError, ValueError):
        raise InvalidInput(f"rho: {rho!r}, must be a list of numbers") from None


def find(names: Sequence[str]) -> list[Experiment]:
    """Return the named experiments in the paper's order, all of them if none is named."""
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
) -> ExperimentResult:
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
    result = ExperimentResult(experiment, frame, findings_of(experiment, scale, frame), seconds)
    options = dataclasses.asdict(scale) | dict.fromkeys(experiment.unused(scale))
    options.pop("assume")
    if scale.assume.changed:
        options["assume"] = scale.assume.changed
    section = section_of(result, options)
    write_text(folder / f"{experiment.name}.json", json.dumps(section, ensure_ascii=False) + "\n")
    return result
