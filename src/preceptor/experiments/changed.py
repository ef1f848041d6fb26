"""What an experiment finds when an assumption was changed: its own means, and no verdicts.

The paper's statements are about the paper's assumptions. Beside a changed one they would compare
two different things, so each change is named and what came out is summed up without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from preceptor.experiments.assumptions import NAMES
from preceptor.experiments.experiment import Experiment, Finding, Scale, Verdict
from preceptor.experiments.paper import shown
from preceptor.experiments.statistics import Mean

if TYPE_CHECKING:
    import pandas as pd

# Of a longer list of numbers (correlations, say), the least and the largest speak for all.
_MOST_VALUES = 2


def findings_of(experiment: Experiment, scale: Scale, frame: pd.DataFrame) -> list[Finding]:
    """The comparison with the paper, or what came out under changed assumptions."""
    changed = scale.assume.changed
    if not changed:
        return experiment.findings(frame)
    lines = [
        Finding(
            f"assumed: {NAMES[name]}",
            experiment.assumes[name],
            str(value),
            Verdict.NOT_COMPARABLE,
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
        if len(values) > _MOST_VALUES and not isinstance(values[0], str):
            rows = rows[rows[name].isin([values.min(), values.max()])]
    groups = rows.groupby(by, sort=False) if by else [((), rows)]
    lines = []
    for keys, group in groups:
        where = ", ".join(f"{name} {key}" for name, key in zip(by, keys, strict=True))
        claim = f"{part}: {column}" + (f" at {where}" if where else "")
        ours = shown(Mean.of(group[column]), unit)
        lines.append(Finding(claim, "-", ours, Verdict.NOT_COMPARABLE))
    return lines
