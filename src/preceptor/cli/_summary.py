"""The end of a session in words: how it went, who the person may be, what to do next."""

from __future__ import annotations

import numpy as np

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
