"""The report of a reproduction: Markdown for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preceptor.experiments.experiment import Scale, Verdict

if TYPE_CHECKING:
    from preceptor.experiments.reproduction import Result

_RULE = """\
Means are over random draws, with 95% intervals by Student's t in tables and bands of 1.96 standard
errors in figures, as in the paper. A printed number *agrees* if a
mean of as many draws as the paper's could well have come out as printed: the difference is within
the 95% margin of both means, plus the rounding of print. An inequality agrees if our mean
satisfies it, or its interval does.
"""


def as_markdown(results: Sequence[Result], scale: Scale, folder: str = "") -> str:
    """Every experiment with its figure and a table of statements; figures lie in `folder`."""
    parts = ["# The paper's experiments, run again\n", _RULE, _scale_line(scale)]
    for result in results:
        experiment = result.experiment
        parts.append(f"## {experiment.title}\n")
        parts.append(experiment.about.strip() + "\n")
        parts.append(f"![{experiment.title}]({folder}{experiment.name}.png)\n")
        parts.append(table(result))
    parts.append("## Where the time went\n")
    parts.append(timetable(results))
    return "\n".join(parts)


def table(result: Result) -> str:
    """Statement, paper, ours and verdict of one experiment, with reasons underneath."""
    lines = ["| statement | paper | ours | |", "|---|---|---|---|"]
    reasons = []
    for finding in result.findings:
        mark = finding.verdict.value
        if finding.verdict is Verdict.DIFFERS:
            mark = f"**{mark}**"
        lines.append(f"| {finding.claim} | {finding.paper} | {finding.ours} | {mark} |")
        if finding.why:
            reasons.append(f"- {finding.claim}: {finding.why}.")
    return "\n".join([*lines, "", *reasons, ""])


def timetable(results: Sequence[Result]) -> str:
    """Seconds of each part."""
    lines = ["| experiment | part | rows | seconds |", "|---|---|---:|---:|"]
    for result in results:
        for part, seconds in result.seconds.items():
            rows = int((result.frame["part"] == part).sum())
            many = f"{rows:,}" if rows else ""
            lines.append(f"| {result.experiment.name} | {part} | {many} | {seconds:.1f} |")
    total = sum(sum(result.seconds.values()) for result in results)
    lines.append(f"| **together** | | | **{total:.1f}** |")
    return "\n".join([*lines, ""])


def time_in_words(results: Sequence[Result]) -> str:
    """One line: how long each experiment took."""
    parts = [f"{r.experiment.name} {sum(r.seconds.values()):.1f} s" for r in results]
    total = sum(sum(result.seconds.values()) for result in results)
    return f"{total:.1f} s in all: {', '.join(parts)}"


def as_json(results: Sequence[Result], scale: Scale) -> str:
    """The same findings for programs."""
    data = {
        "scale": {"draws": scale.draws, "rho": scale.rho, "quick": scale.quick, "seed": scale.seed},
        "experiments": [
            {
                "name": result.experiment.name,
                "title": result.experiment.title,
                "findings": [
                    {
                        "claim": finding.claim,
                        "paper": finding.paper,
                        "ours": finding.ours,
                        "verdict": finding.verdict.value,
                        "why": finding.why,
                    }
                    for finding in result.findings
                ],
                "seconds": result.seconds,
            }
            for result in results
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _scale_line(scale: Scale) -> str:
    if scale.quick:
        text = "This was a quick pass: few draws, few settings. Do not quote its numbers."
    elif scale.draws is not None or scale.rho is not None:
        text = (
            "Draws or correlations were set by hand; where nothing was set, they are the paper's."
        )
    else:
        text = "Draws are as many as in the paper."
    return f"{text} Seed {scale.seed}.\n"
