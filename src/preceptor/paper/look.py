"""The style of all figures: colours that colour-blind readers can distinguish, legends outside."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.files import write_bytes
from preceptor.paper.sweep import means
from preceptor.report.plots import OKABE_ITO, bare, figure_class

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = tuple(c for c in OKABE_ITO if c != "#F0E442")  # yellow is too pale for lines
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_PANEL = (4.6, 3.3)


def new_figure(columns: int, rows: int = 1, *, height: float = _PANEL[1]) -> tuple[Figure, Any]:
    """Return a new figure (without pyplot) and its axes as an array (rows, columns)."""
    size = (_PANEL[0] * columns, height * rows)
    figure = figure_class()(figsize=size, dpi=120, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        bare(ax)
        ax.grid(color="0.92", linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, axes


def draw_means(
    axes: Axes, rows: pd.DataFrame, x: str, y: str, *, label: str, style: int = 0, dash: str = "-"
) -> None:
    """Draw means of a column at each x, with a band for their 95% intervals.

    `style` selects colour and marker.
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


def draw_each(axes: Axes, rows: pd.DataFrame, by: str, label: str, x: str, y: str) -> None:
    """Draw means for each value of the column `by`, with a label made of that value."""
    for style, (value, some) in enumerate(rows.groupby(by, sort=True)):
        draw_means(axes, some, x, y, label=label.format(value), style=style)


def finish(
    axes: Axes,
    x: str,
    y: str,
    title: str = "",
    *,
    percent: bool = False,
    columns: int = 2,
    explained: str | None = None,
    handles: list[Any] | None = None,
) -> None:
    """Label a panel and put its legend underneath, where it covers nothing.

    `percent` shows the ticks of the y axis in per cent; `explained` is the title of the legend,
    `handles` are its entries.
    """
    from matplotlib.ticker import PercentFormatter

    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    if percent:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=100.0, decimals=0))
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        ncols=columns,
        frameon=False,
        fontsize=8.5,
        title=explained,
        title_fontsize=8.5,
    )


def save(figure: Figure, path: Path) -> None:
    """Write as PNG and PDF, each completely or not at all, without a timestamp."""
    for suffix, metadata in ((".png", {"Software": None}), (".pdf", {"CreationDate": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], metadata=metadata)
        write_bytes(path.with_suffix(suffix), buffer.getvalue())
