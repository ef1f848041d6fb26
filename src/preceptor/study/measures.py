"""What is measured of each person, and who is left out, with the reasons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray
from preceptor.diagnosis import read_log
from preceptor.diagnosis.suspects import OUTCOMES, suspects
from preceptor.simulation.rollouts import charges
from preceptor.study.config import Testing
from preceptor.study.records import Records
from preceptor.study.study import Study


def reasons(study: Study, records: Records) -> tuple[str, ...]:
    """Why the analysis leaves each person out, by the rules of the file; empty for whoever stays.

    Parameters
    ----------
    study
        Whose rules are meant.
    records
        What people did.

    Returns
    -------
    tuple of str
        One for each person; several reasons are separated by semicolons.
    """
    rules = study.configuration.exclusions
    found: list[list[str]] = [[] for _ in range(len(records))]
    answered = np.isfinite(records.answers)
    for i, mine in enumerate(found):
        answers = records.answers[i, answered[i]]
        times = records.seconds[i, np.isfinite(records.seconds[i])]
        if rules.unfinished and not records.finished[i]:
            mine.append("unfinished")
        if not answers.size:
            mine.append("no answers")
            continue
        if rules.failed_checks is not None and records.failed_checks[i] >= rules.failed_checks:
            mine.append(f"failed {records.failed_checks[i]} checks")
        if rules.fastest_seconds is not None and times.size:
            median = float(np.median(times))
            if median < rules.fastest_seconds:
                mine.append(f"median answer after {median:.2f} s")
        if rules.same_answer is not None:
            share = np.unique(answers, return_counts=True)[1].max() / answers.size
            if share > rules.same_answer:
                mine.append(f"same answer in {share:.0%} of rounds")
    return tuple("; ".join(mine) for mine in found)


def charged(study: Study, records: Records) -> FloatArray:
    """What each answer costs by the problem's risk, (people, trials); NaN where there is none."""
    out = np.full(records.answers.shape, np.nan)
    there = np.isfinite(records.answers) & np.isfinite(records.outcomes)
    out[there] = charges(study.problem, records.answers[there], records.outcomes[there])
    return out


def trials_of(study: Study, measure: str) -> npt.NDArray[np.bool_]:
    """Which trials an error is averaged over: those of training, or those of test blocks."""
    blocks = study.configuration.block
    if measure == "training error":
        return np.array([trial.training is not None for trial in study.protocol.trials])
    return np.array([isinstance(blocks[trial.block], Testing) for trial in study.protocol.trials])


def training_error(study: Study, records: Records) -> FloatArray:
    """Average charge over all rounds of training, (people,)."""
    return _mean(charged(study, records)[:, trials_of(study, "training error")])


def testing_error(study: Study, records: Records) -> FloatArray:
    """Average charge over all rounds of test blocks, (people,)."""
    return _mean(charged(study, records)[:, trials_of(study, "test error")])


def slope_change(study: Study, records: Records) -> FloatArray:
    """D (people,): slope on the probed test, shown alone, in the last test block less the first.

    In units of the outcome per unit of the test, as people read them. NaN where somebody was not
    asked at two values of it, both before and after.
    """
    world, said = study.problem.world, study.configuration
    assert said.analysis.probe is not None
    column = int(world.columns_of([said.analysis.probe])[0])
    tested = [i for i, block in enumerate(said.block) if isinstance(block, Testing)]
    alone = records.shown[..., column] & (records.shown.sum(axis=-1) == 1)
    slopes = []
    for block in (tested[0], tested[-1]):
        mine = np.array([trial.block == block for trial in study.protocol.trials])
        use = alone & mine & np.isfinite(records.answers)
        x = np.where(use, records.values[..., column], np.nan)
        y = np.where(use, records.answers, np.nan)
        dx = x - _mean(x)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes.append(np.nansum(dx * y, axis=1) / np.nansum(dx * dx, axis=1))
    change: FloatArray = slopes[1] - slopes[0]
    return np.where(np.isfinite(change) & (tested[0] != tested[-1]), change, np.nan)


def outcome_share(
    study: Study, records: Records, workers: int | None = 1, progress: Progress | None = None
) -> FloatArray:
    """Posterior probability (people,) that somebody learns from outcomes; NaN without answers."""
    out = np.full(len(records), np.nan)
    if not np.isfinite(records.answers).any():
        return out
    world, said = study.problem.world, study.configuration
    scatter = max(said.assumed.scatter, 0.05) * world.outcome_variance**0.5
    crowd = suspects(world, study.problem.learner.initial)
    reading = read_log(
        world, records.log(study), crowd, scatter=scatter, workers=workers, progress=progress
    )
    shares = {person.name: person.groups[OUTCOMES] for person in reading.people}
    return np.array([shares.get(name, np.nan) for name in records.participants])


MEASURES: dict[str, Callable[[Study, Records], FloatArray]] = {
    "training error": training_error,
    "test error": testing_error,
    "slope change": slope_change,
    "kind": outcome_share,
}
"""By the names that `analysis.measure` takes: one number for each person."""


def _mean(numbers: FloatArray) -> FloatArray:
    """Mean over trials of what is there, (people,)."""
    count = np.isfinite(numbers).sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.where(count > 0, np.nansum(numbers, axis=1) / count, np.nan)
    return mean
