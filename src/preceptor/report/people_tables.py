"""Tables about people of published experiments, as Markdown that a terminal shows as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from preceptor.learners.families import FAMILIES, GROUPS, LEVEL_ONLY
from preceptor.learners.published_people import ArmResult, Points
from preceptor.learners.push_test import PushTest


def people_tables(arms: Sequence[ArmResult]) -> str:
    """How they learn, what the last quarter says, and whether answers follow outcomes.

    Parameters
    ----------
    arms
        Results, one row each in every table. Placebo: nothing was told, and learning is weighed as
        if it had been.

    Returns
    -------
    str
        Four tables, each after a line that explains it.
    """
    families = [name for name in FAMILIES if any(name in arm.families for arm in arms)]
    parts = [
        "How common each way of learning weights is (95 % interval); how many of those whose "
        "weights stay\nlearn the level of outcomes; and the mean probability of none of these:",
        _table(
            ["arm", "people", "answers", *GROUPS, LEVEL_ONLY, "none of these"],
            ([_named(arm), arm.people, arm.answers, *(arm.groups[name] for name in GROUPS),
              f"{arm.families[LEVEL_ONLY].frequency:.2f}", f"{arm.none_of_these:.2f}"]
             for arm in arms),
        ),
        "10, 50 and 90 % of people: share of an error that a showing removes, share that remains "
        "if learning\nhas a floor, scatter and bias in standard deviations of the outcome (or of "
        "the score behind it), and\nshare of the last surprise that answers follow:",
        _table(
            ["arm", "rate", "floor", "scatter", "bias", "follow"],
            ([_named(arm), *map(_points, (arm.rate, arm.floor, arm.scatter, arm.bias, arm.follow))]
             for arm in arms),
        ),
        "Last quarter of the answers one step ahead, in nats beyond no learning; in brackets the "
        "number of\npeople with the largest evidence for the family:",
        _table(["arm", *families], ([_named(arm), *_held_out(arm, families)] for arm in arms)),
        "Do answers follow the outcomes before them? Push ± standard error, and t:",
        _table(
            ["arm", "which", "told before", "placebo: told later", "placebo: not told"],
            (
                [_named(arm), which, *_pushes(test)]
                for arm in arms
                for which, test in (("weights", arm.push), ("level", arm.level))
            ),
        ),
    ]  # fmt: skip
    return "\n\n".join(parts)


def _named(arm: ArmResult) -> str:
    return arm.name if arm.told else f"{arm.name} (placebo)"


def _points(points: Points | None) -> str:
    return "" if points is None else ", ".join(f"{point:.2g}" for point in points)


def _held_out(arm: ArmResult, families: Sequence[str]) -> Iterable[str]:
    for name in families:
        found = arm.families.get(name)
        yield "" if found is None else f"{found.held_out:+.0f} ({found.best_of})"


def _pushes(test: PushTest) -> list[str]:
    return [
        "" if push is None else f"{push.coefficient:.3f} ± {push.error:.3f}, {push.t:.1f}"
        for push in (test.past, test.future, test.untold)
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
        for row in cells
    )
