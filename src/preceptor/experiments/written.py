"""The report of a reproduction: one section for each experiment that its folder holds.

A section is plain data (`NAME.json`), so that running one experiment again renews its section and
leaves the others. `report.md` is for people, `report.json` for programs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from preceptor.experiments.assumptions import NAMES
from preceptor.experiments.experiment import Verdict

if TYPE_CHECKING:
    from preceptor.experiments.reproduction import Result

Section = dict[str, Any]
PARTS = frozenset(("name", "title", "about", "scale", "findings", "seconds", "rows"))

_RULE = """\
Means are over random draws, with 95% intervals by Student's t in tables and bands of 1.96 standard
errors in figures, as in the paper. A number *agrees* if it is the printed one in all printed
digits, or satisfies the printed inequality. It is *compatible* if it is not, but a mean of as many
draws as the paper's could well have come out so: it is within the 95% margin of both means, plus
the rounding of print. A statement in words *holds* or not. *Not comparable* is what was chosen to
fit the paper, and what was run with an assumption changed.
"""


def section_of(result: Result, scale: dict[str, Any]) -> Section:
    """One experiment's findings and times as plain data."""
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
    """Every experiment with its figure and a table of statements."""
    parts = ["# The paper's experiments, run again\n", _RULE]
    for section in sections:
        parts.append(f"## {section['title']}\n")
        parts.append(f"{section['about']}\n")
        parts.append(f"![{section['title']}]({section['name']}.png)\n")
        parts.append(f"{_scale_in_words(section['scale'])}\n")
        parts.append(_table(section))
    parts.append("## Where the time went\n")
    parts.append(_timetable(sections))
    return "\n".join(parts)


def as_json(sections: Sequence[Section]) -> str:
    """The same for programs."""
    return json.dumps({"experiments": list(sections)}, indent=2, ensure_ascii=False) + "\n"


def time_in_words(results: Sequence[Result]) -> str:
    """One line: how long each experiment took."""
    parts = [f"{r.experiment.name} {sum(r.seconds.values()):.1f} s" for r in results]
    total = sum(sum(result.seconds.values()) for result in results)
    return f"{total:.1f} s in all: {', '.join(parts)}"


def _table(section: Section) -> str:
    """Statement, paper, ours and verdict, with reasons underneath."""
    lines = ["| statement | paper | ours | |", "|---|---|---|---|"]
    reasons = []
    for finding in section["findings"]:
        mark = finding["verdict"]
        if mark == Verdict.DIFFERS.value:
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
