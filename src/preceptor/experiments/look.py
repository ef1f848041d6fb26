"""One look for all figures: colours that colour-blind readers can tell apart, legends outside."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.files import write_bytes
from preceptor.errors import MissingExtra
from preceptor.experiments.statistics import means
from preceptor.report.plots import OKABE_ITO

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = tuple(c for c in OKABE_ITO if c != "#F0E442")  # yellow is too pale for lines
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_PANEL = (4.6, 3.3)


def new_figure(columns: int, rows: int = 1, *, height: float = _PANEL[1]) -> tuple[Figure, Any]:
    """A figure of its own (no pyplot) and its axes as an array (rows, columns)."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plot", "Drawing figures") from None
    figure = Figure(figsize=(_PANEL[0] * columns, height * rows), dpi=120, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.92", linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, axes


def draw_means(
    axes: Axes, rows: pd.DataFrame, x: str, y: str, *, label: str, style: int = 0, dash: str = "-"
) -> None:
    """Means of a column at each x, with a band for their 95% intervals; nothing for no rows.

    `style` picks colour and mark.
    """
    if rows.empty:
        return
    table = means(rows, [x], y)
    colour = COLOURS[style % len(COLOURS)]
    axes.plot(
        table[x],
        table["mean"],
        dash,
        color=colour,
        marker=MARKERS[style % len(MARKERS)],
        markersize=3.5,
        linewidth=1.5,
        label=label,
    )
    axes.fill_between(table[x], table["low"], table["high"], color=colour, alpha=0.15, linewidth=0)


def named_axes(axes: Axes, x: str, y: str = "", title: str = "") -> None:
    """Say what the axes are.

    Parameters
    ----------
    axes
        To be labelled.
    x
        Label of the horizontal axis.
    y
        Label of the vertical axis; left as it is if empty.
    title
        Above the axes.
    """
    axes.set_xlabel(x)
    if y:
        axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)


def legend_below(axes: Axes, columns: int = 2, title: str | None = None) -> None:
    """A legend under the panel, where it can cover nothing."""
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        ncols=columns,
        frameon=False,
        fontsize=8.5,
        title=title,
        title_fontsize=8.5,
    )


def as_percent(axes: Axes) -> None:
    """Ticks of the y axis in per cent."""
    from matplotlib.ticker import PercentFormatter

    axes.yaxis.set_major_formatter(PercentFormatter(xmax=100.0, decimals=0))


def save(figure: Figure, path: Path) -> None:
    """Write as PNG and as PDF beside it, each whole or not at all, without the time of day."""
    for suffix, metadata in ((".png", {"Software": None}), (".pdf", {"CreationDate": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], metadata=metadata)
        write_bytes(path.with_suffix(suffix), buffer.getvalue())
