"""What power found, as a table in words and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from preceptor._base.words import counted
from preceptor.report.plots import DASHES, GREY, OKABE_ITO, figure_class
from preceptor.study.power import Power, Share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"


def in_words(found: Power) -> str:
    """The table, and how many people are needed.

    Parameters
    ----------
    found
        What `power` found.

    Returns
    -------
    str
        For the terminal.
    """
    many = counted(found.simulations, "simulation")
    lines = [
        f"Measure: {found.measure}; power at level {found.level:g}, by {many} each (seed "
        f"{found.seed}), with 95% intervals for their number."
    ]
    wide = max(len("kind"), *(len(cell.kind) for cell in found.cells))
    head = f"{'kind':<{wide}}  people an arm  power                  effect   in sd   left out"
    lines += ["", head]
    for cell in found.cells:
        lines.append(
            f"{cell.kind:<{wide}}  {cell.people:>13}  {_share(cell.power):<21} "
            f"{cell.effect:>8.3g}  {_in_deviations(cell.standardised):>6}  {cell.excluded:>8.0%}"
        )
    if found.told:
        lines += ["", "How people are read (probability of at least 0.9 of learning from outcomes, "
                  "or of not doing so):"]  # fmt: skip
        lines.append(f"{'kind':<{wide}}  right                  left open              wrong")
        lines += [
            f"{each.kind:<{wide}}  {_share(each.right):<21}  {_share(each.undecided):<21}  "
            f"{_share(each.wrong)}"
            for each in found.told
        ]
    lines += ["", *needed_in_words(found)]
    return "\n".join([*lines, *(f"Note: {each}" for each in _notes(found))])


def needed_in_words(found: Power) -> list[str]:
    """A sentence for each kind: how many people an arm the target takes."""
    lines = []
    for kind in dict.fromkeys(cell.kind for cell in found.cells):
        people, known = found.needed(kind)
        goal = f"a power of {found.target:g}"
        if people is None:
            lines.append(f"{kind}: none of these sizes reaches {goal}; there is hardly an effect.")
        elif known:
            lines.append(f"{kind}: {people} people an arm reach {goal}.")
        else:
            lines.append(
                f"{kind}: none of these sizes reaches {goal}; by the average effect it takes about "
                f"{people:,} an arm."
            )
    return lines


def _notes(found: Power) -> list[str]:
    notes = []
    for cell in found.cells:
        if cell.failed:
            notes.append(
                f"{cell.kind}, {cell.people} an arm: the test could not be carried out in "
                f"{cell.failed} of {cell.power.of} simulations, which count as nothing found."
            )
    if found.told:
        notes.append(
            "With one arm, power is that of a sign test among people whose kind is decided, and "
            "the effect is their share who learn from outcomes."
        )
    if found.tutored:
        notes.append(
            "People with a tutor were drawn from a bank of three of every kind at every place."
        )
    return notes


def _in_deviations(effect: float) -> str:
    return "-" if math.isnan(effect) else f"{effect:.2f}"


def _share(share: Share) -> str:
    if math.isnan(share.share):
        return "-"
    return f"{share.share:.3f} ({share.low:.3f} to {share.high:.3f})"


def plot(found: Power) -> Figure:
    """Power against people an arm, a line for each kind, with intervals.

    Parameters
    ----------
    found
        What `power` found.

    Returns
    -------
    matplotlib.figure.Figure
        On its own canvas.

    Raises
    ------
    MissingExtra
        matplotlib is not installed.
    """
    figure = figure_class()(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(found.target, color=GREY, linewidth=1.0, linestyle="dotted")
    axes.axhline(found.level, color=GREY, linewidth=1.0, linestyle="dotted")
    for i, kind in enumerate(dict.fromkeys(cell.kind for cell in found.cells)):
        cells = [cell for cell in found.cells if cell.kind == kind]
        share = [cell.power.share for cell in cells]
        below = [cell.power.share - cell.power.low for cell in cells]
        above = [cell.power.high - cell.power.share for cell in cells]
        axes.errorbar(
            [cell.people for cell in cells],
            share,
            yerr=[below, above],
            label=kind,
            color=OKABE_ITO[i % len(OKABE_ITO)],
            linestyle=DASHES[i % len(DASHES)],
            marker=_MARKERS[i % len(_MARKERS)],
            capsize=3,
        )
    axes.set(xlabel="people an arm", ylabel="power", ylim=(-0.02, 1.02))
    axes.set_title(f"{found.measure}: target {found.target:g}, level {found.level:g}", fontsize=10)
    axes.legend(frameon=False)
    return figure
