"""Pictures of the page `people.md`, drawn from the numbers in its tables."""

from __future__ import annotations

from preceptor.report.charts import (
    DASHES,
    GAP,
    GRID,
    LINE_HEIGHT,
    RIGHT_MARGIN,
    WIDTH,
    Axis,
    Frame,
    Line,
    drawing,
    element,
    legend,
    line_chart,
    segment,
    text,
    widest,
)

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
# Paths around (0, 0), so that people differ in shape as well as in colour.
SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "M-4 -4h8v8h-8z",
    "M0 -5l5 9h-10z",
    "M0 -5.5l5 5.5l-5 5.5l-5 -5.5z",
    "M0 5l5 -9h-10z",
)
_ROW = 24.0
_PAPER = "#ffffff"  # pages may be dark


def regrets_picture(name: str, title: str, table: list[list[str]]) -> str:
    """Regret in %: one row per policy, one mark per person."""
    head, _best, *rows = table
    people = head[1:-1]
    values = [[float(cell) for cell in row[1:-1]] for row in rows]
    names = [row[0] for row in rows]
    left = widest(names, 0.46 * WIDTH) + 2 * GAP
    top = LINE_HEIGHT + 10.0
    axis = Axis.covering([0.0, *(value for row in values for value in row)])
    frame = Frame(left, top, WIDTH - RIGHT_MARGIN, top + _ROW * len(rows), axis)
    parts, end = frame.draw_x_axis("regret, % of what the person's own best plan costs")
    parts.append(text(title, GAP, 14.0, room=WIDTH, font_weight="bold"))
    for i, (policy, row) in enumerate(zip(names, values, strict=True)):
        middle = top + _ROW * (i + 0.5)
        parts += [segment(left, middle, frame.right, middle, GRID), frame.draw_name(policy, middle)]
        across = [frame.x(value) for value in row]
        for j, x in enumerate(across):
            parts.append(_mark(j, f"translate({x:.1f} {middle + _apart(across, j):.1f})"))
    samples = [(_mark(j, "translate(18 0)"), who) for j, who in enumerate(people)]
    names_below, end = legend(samples, end)
    told = "; ".join(f"{row[0]}: worst {row[-1].strip('*')} %" for row in rows)
    picture = drawing(name, f"{title}. {told}", end + 4.0, [*parts, *names_below])
    return on_paper(picture, end + 4.0)


def dial_picture(table: list[list[str]]) -> str:
    """Regret of three policies against the share of folding."""
    head, *rows = table
    shares = [float(cell.removeprefix("λ = ")) for cell in head[1:]]
    lines = [
        Line(row[0], shares, [float(cell) for cell in row[1:]], COLOURS[i], DASHES[i], 2.2)
        for i, row in enumerate(rows)
    ]
    picture = line_chart(
        "dial",
        "Regret against the share of folding, for " + ", ".join(row[0] for row in rows),
        lines,
        x_axis=Axis.covering([0.0, 1.0]),
        x_label="λ: share of hidden errors that shown weights absorb",
        y_label="regret, % of the best own plan (geometric mean, eight draws)",
    )
    return on_paper(picture, 2000.0)


def _mark(who: int, place: str) -> str:
    return element(
        "path", d=SHAPES[who], transform=place, fill=COLOURS[who], stroke=_PAPER, stroke_width=0.8
    )


def _apart(across: list[float], who: int) -> float:
    """Vertical offset of a mark, so that marks do not overlap."""
    near = [j for j, x in enumerate(across) if abs(x - across[who]) < 8.0]
    return 4.0 * (near.index(who) - (len(near) - 1) / 2) if len(near) > 1 else 0.0


def on_paper(picture: str, height: float) -> str:
    """Add a white background and dark text, independent of the page's colours."""
    head, rest = picture.split("\n", 1)
    head = head.replace('fill="currentColor"', 'fill="#222222" color="#222222"')
    paper = element("rect", width=WIDTH, height=height, fill=_PAPER)
    return f"{head}\n{paper}\n{rest}\n"
