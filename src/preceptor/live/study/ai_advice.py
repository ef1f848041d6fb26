"""What an assistant says on the page of a case: a prediction, weights, or one contrast.

Advice is plain data, kept with the round; pages put it into words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from preceptor.learners.tutor_record import results_in_world_units
from preceptor.live.contrast import WrongWeight
from preceptor.live.study.study import Study
from preceptor.report.session import chance_given, outcome_given


def ai_advice(
    study: Study,
    kind: str,
    columns: Sequence[int],
    values: Sequence[float],
    wrong: Sequence[WrongWeight] | None,
) -> dict[str, Any] | None:
    """Advice on a case.

    Parameters
    ----------
    study
        The study.
    kind
        As the arm says: none, prediction, weights or contrast.
    columns
        Columns that are shown.
    values
        Their results, in the units that people read.
    wrong
        For a contrast: tests that the participant seems to weigh wrongly, the worst first; None
        while it is too early to tell.

    Returns
    -------
    dict or None
        `kind` and: `value`, the expected outcome or its probability given what is shown; `weights`,
        the change of the outcome for one unit more of each test; or `test` and `share` of the
        weight it deserves. None if there is nothing to say.
    """
    world = study.problem.world
    if kind == "prediction":
        mean, left = outcome_given(
            world, tuple(columns), results_in_world_units(world, tuple(columns), values)
        )
        if world.is_binary:
            return {"kind": kind, "value": chance_given(world, mean, left)}
        return {"kind": kind, "value": mean + (world.units.outcome_mean if world.units else 0.0)}
    if kind == "weights":
        scales = None if world.units is None else world.units.scales
        weights = {
            world.labels[i]: float(world.coefficients[i] / (1.0 if scales is None else scales[i]))
            for i in columns
        }
        return {"kind": kind, "weights": weights}
    named = {world.labels[i] for i in columns}
    said = [each for each in wrong or () if each.test in named]
    return {"kind": kind, **said[0]._asdict()} if kind == "contrast" and said else None
