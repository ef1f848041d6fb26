"""Errors round by round: over all arms as long as nobody may know more, by arm after that."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from preceptor.store.studies import KeptStudy
from preceptor.store.tables import participant, round_
from preceptor.study.study import Study

EVERYBODY = "all arms"


@dataclass(frozen=True)
class ErrorCourse:
    """What errors are, and their mean for each round that anybody has answered.

    Attributes
    ----------
    measure
        What is averaged, in words.
    lines
        By arm, or for all arms together under `EVERYBODY`: round (from 1), mean error, answers.
    is_blinded
        Whether arms are kept together.
    """

    measure: str
    lines: dict[str, tuple[tuple[int, float, int], ...]]
    is_blinded: bool


def error_course(
    connection: Connection, kept: KeptStudy, study: Study, kind: str = "real"
) -> ErrorCourse:
    """Errors as they may be seen now: real people's by arm only once that is unblinded.

    Parameters
    ----------
    connection
        Of the store.
    kept
        The study's row, which says whether it was unblinded.
    study
        What its file says.
    kind
        Of participants; bots and previews are nobody's results, so they are never blinded.

    Returns
    -------
    ErrorCourse
        With one line, or one for each arm.
    """
    is_blinded = kind == "real" and kept.unblinded is None
    difference = round_.c.prediction - round_.c.outcome
    if study.answer == "percent":
        error, measure = difference * difference, "mean squared error (Brier score)"
    elif study.answer == "yes or no":
        error, measure = func.abs(difference), "share of wrong answers"
    else:
        unit = study.configuration.outcome.unit
        error, measure = func.abs(difference), f"mean error{f' in {unit}' if unit else ''}"
    # Who is blinded gets sums over arms: that arms are told apart nowhere is seen in the query.
    own = (participant.c.study == kept.id) & (participant.c.kind == kind)
    groups = [round_.c.number] if is_blinded else [round_.c.number, participant.c.arm]
    asked = (
        select(func.avg(error), func.count(), *groups)
        .select_from(round_.join(participant, participant.c.id == round_.c.person))
        .where(own, round_.c.prediction.is_not(None), round_.c.outcome.is_not(None))
        .group_by(*groups)
        .order_by(round_.c.number)
    )
    names = [EVERYBODY] if is_blinded else [arm.name for arm in study.configuration.arm]
    lines: dict[str, list[tuple[int, float, int]]] = {name: [] for name in names}
    for row in connection.execute(asked):
        name = EVERYBODY if is_blinded else row.arm
        lines[name].append((row.number + 1, float(row[0]), int(row[1])))
    return ErrorCourse(measure, {name: tuple(line) for name, line in lines.items()}, is_blinded)
