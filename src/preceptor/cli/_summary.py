"""The end of a session in words: how it went, who the person may be, what to do next."""

from __future__ import annotations

import numpy as np

import preceptor
from preceptor._base.values import IntArray
from preceptor._base.words import counted
from preceptor.cli._asking import in_lines
from preceptor.report.run import Run
from preceptor.tutoring import Tutor

# Rounds at the beginning and at the end that are compared, and how many there must be for that.
_COMPARED, _FEWEST = 10, 8
# Kinds less likely than this are not listed.
_LISTED = 0.005


def summary(tutor: Tutor, name: str, now: int, unit: str) -> str:
    """How it went, for whoever runs the session.

    Parameters
    ----------
    tutor
        After the session.
    name
        Whom it taught.
    now
        How many of the rounds are new.
    unit
        What is predicted.
    """
    if not tutor.rounds:
        return "No rounds yet."
    earlier = f", {now} of them now" if now != tutor.rounds else ""
    lines = [f"{name}: {counted(tutor.rounds, 'round')}{earlier}.", *_how_far(tutor, unit)]
    lines += ["", "Who this may be:", *kind_lines(tutor)]
    lines += [f"Doubt: {doubt}" for doubt in tutor.doubts()]
    return "\n".join(map(in_lines, lines))


def kind_lines(tutor: Tutor) -> list[str]:
    """The kinds that are still possible, likeliest first."""
    ordered = sorted(tutor.kinds.items(), key=lambda item: -item[1])
    return [f"  {share:>4.0%}  {name}" for name, share in ordered if share >= _LISTED]


def _how_far(tutor: Tutor, unit: str) -> list[str]:
    run = Run.of(tutor)
    known = run.errors[np.isfinite(run.errors)]
    if not known.size:
        return []
    if tutor.problem.is_binary:
        return _how_often(tutor, run)
    if known.size < _FEWEST:
        return [f"Typically off by {np.sqrt(np.mean(known**2)):.3g} so far ({unit})."]
    few = min(_COMPARED, known.size // 2)
    begin, end = (np.sqrt(np.mean(part**2)) for part in (known[:few], known[-few:]))
    least = np.sqrt(np.mean(run.least[-few:] ** 2))
    return [
        f"Typically off by {begin:.3g} in the first {few} rounds and by {end:.3g} in the last "
        f"{few} ({unit}; root-mean-square error). Whoever weighs those last results rightly is "
        f"off by {least:.3g}."
    ]


def _how_often(tutor: Tutor, run: Run) -> list[str]:
    """The same for yes or no: how often decisions were wrong, or the Brier score."""
    known = np.flatnonzero(np.isfinite(run.errors))
    decided = isinstance(tutor.problem.risk, preceptor.Decision)

    def said(which: IntArray) -> str:
        mean = float(np.mean(run.errors[which] ** 2))
        return f"{mean:.0%} wrong" if decided else f"a Brier score of {mean:.3g}"

    if known.size < _FEWEST:
        return [f"So far: {said(known)}."]
    few = min(_COMPARED, known.size // 2)
    least = float(np.mean(run.least[known[-few:]] ** 2))
    best = f"{least:.0%}" if decided else f"{least:.3g}"
    return [
        f"In the first {few} rounds {said(known[:few])}, in the last {few} {said(known[-few:])}; "
        f"whoever weighs those last results rightly comes to {best} on average."
    ]
