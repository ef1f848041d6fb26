"""What participants did, as arrays, and what is measured of each of them.

There is one row per participant and one column per trial. Real and simulated people have the same
arrays, so that power is computed by the registered analysis itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from preceptor._base.values import FloatArray, IntArray
from preceptor.data.log import Log
from preceptor.learners.families import OUTCOMES
from preceptor.learners.kind_posterior import candidate_learners, read_log
from preceptor.live.study.config import Testing
from preceptor.live.study.study import Study
from preceptor.simulation.rollouts import charges


@dataclass(frozen=True, eq=False)
class Records:
    """Participants and their rounds.

    Attributes
    ----------
    participants
        Their names, (people,).
    arms
        The arm of each, (people,).
    places
        Their places, (people,); the same place of different arms has the same cases.
    finished
        Whether they completed the study, (people,).
    failed_checks
        Number of failed checks, (people,).
    shown
        Tests that were shown, (people, trials, n).
    values
        Their results, in the units that people read, (people, trials, n); NaN where hidden.
    answers
        Answers, (people, trials); NaN where there is none.
    outcomes
        Outcomes, told or not, (people, trials).
    seconds
        Answer times, (people, trials); NaN where unknown.
    """

    participants: tuple[str, ...]
    arms: npt.NDArray[np.str_]
    places: IntArray
    finished: npt.NDArray[np.bool_]
    failed_checks: IntArray
    shown: npt.NDArray[np.bool_]
    values: FloatArray
    answers: FloatArray
    outcomes: FloatArray
    seconds: FloatArray

    def __len__(self) -> int:
        return len(self.participants)

    def of(self, rows: npt.NDArray[Any]) -> Records:
        """Select people by a mask or by positions."""
        where = np.arange(len(self))[rows]
        parts = {
            name: getattr(self, name)[where]
            for name in self.__dataclass_fields__
            if name != "participants"
        }
        return replace(self, participants=tuple(self.participants[i] for i in where), **parts)

    @classmethod
    def from_rows(
        cls, study: Study, people: Iterable[Mapping[str, Any]], rounds: Iterable[Mapping[str, Any]]
    ) -> Records:
        """Make records from rows of an export.

        Parameters
        ----------
        study
            The study, with its protocol and tests.
        people
            Rows with `participant`, `arm`, `place`, `status` ("finished", or anything else) and
            `failed_checks`.
        rounds
            Rows of these people with `participant`, `trial` (from 0), `shown` and `values` (with
            semicolons between), `prediction`, `outcome` and `seconds`.

        Returns
        -------
        Records
            In the order of `people`.
        """
        world, rows = study.problem.world, list(people)
        position = {row["participant"]: i for i, row in enumerate(rows)}
        size = (len(rows), len(study.protocol.trials))
        shown = np.zeros((*size, world.size), dtype=np.bool_)
        values = np.full(shown.shape, np.nan)
        answers, outcomes, seconds = (np.full(size, np.nan) for _ in range(3))
        for row in rounds:
            at = position[row["participant"]], int(row["trial"])
            if row["shown"]:
                where = [world.labels.index(test) for test in row["shown"].split(";")]
                shown[at][where] = True
                values[at][where] = [float(value) for value in row["values"].split(";")]
            # None becomes NaN.
            answers[at], outcomes[at] = row["prediction"], row["outcome"]
            seconds[at] = row["seconds"]
        return cls(
            tuple(position),
            np.array([row["arm"] for row in rows], dtype=np.str_),
            np.array([row["place"] for row in rows], dtype=np.int64),
            np.array([row["status"] == "finished" for row in rows], dtype=np.bool_),
            np.array([row["failed_checks"] for row in rows], dtype=np.int64),
            shown,
            values,
            answers,
            outcomes,
            seconds,
        )

    def log(self, study: Study) -> Log:
        """All answered rounds as a log."""
        told = np.array([trial.feedback for trial in study.protocol.trials])
        who, t = np.nonzero(np.isfinite(self.answers))
        return Log(
            study.problem.world.labels,
            np.array(self.participants)[who],
            t,
            self.shown[who, t],
            self.values[who, t],
            self.answers[who, t],
            self.outcomes[who, t],
            told[t],
            decided=study.answer == "yes or no" if study.problem.is_binary else None,
        )


def concatenate(several: Sequence[Records]) -> Records:
    """Concatenate several records; names get the number of the record as prefix."""
    fields = [name for name in Records.__dataclass_fields__ if name != "participants"]
    names = [f"{i}-{name}" for i, each in enumerate(several) for name in each.participants]
    parts = {name: np.concatenate([getattr(each, name) for each in several]) for name in fields}
    return Records(tuple(names), **parts)


UNRELATED = "answers do not depend on the tests"


def unrelated_probability(records: Records) -> FloatArray:
    """Probability (people,) that answers do not depend on the results shown; NaN without answers.

    Two hypotheses with equal prior odds: answers scatter around a constant, or they also follow
    the results linearly, whatever the weights. Constant and scatter have Jeffreys' prior in both,
    and weights have Zellner's g-prior with the information of one answer, so that units, range
    and amount of scatter do not matter. The Bayes factor is then a function of the share of
    variance explained (Liang et al., 2008). A person who answers at random gets odds
    of 9 against this with a probability of at most 1/9 (Markov's inequality).
    """
    answered = np.isfinite(records.answers)
    count = answered.sum(axis=1)
    use = records.shown & answered[..., None]
    # Hidden results, set to the mean of those shown, explain nothing.
    results = np.where(use, records.values, np.nan)
    columns = np.where(use, results - _mean(results)[:, None], 0.0)
    length = np.sqrt(np.sum(columns**2, axis=1, keepdims=True))
    columns /= np.where(length > 0.0, length, 1.0)
    answers = np.where(answered, records.answers - _mean(records.answers)[:, None], 0.0)
    values, vectors = np.linalg.eigh(np.swapaxes(columns, 1, 2) @ columns)
    along = np.squeeze(answers[:, None] @ columns @ vectors, 1)
    # Directions in which results do not vary.
    is_there = values > 1e-9
    explained = np.sum(along**2 / np.where(is_there, values, np.inf), axis=1)
    total = np.sum(answers**2, axis=1)
    left = np.clip(1.0 - explained / np.where(total > 0.0, total, np.inf), 0.0, 1.0)
    weights = is_there.sum(axis=1)
    factor = 0.5 * ((count - 1 - weights) * np.log1p(count) - (count - 1) * np.log1p(count * left))
    return np.where(count > 0, special.expit(-factor), np.nan)


def reasons_by_rule(study: Study, records: Records) -> tuple[str, ...]:
    """Why the rules of the file exclude each participant; empty if they do not.

    Parameters
    ----------
    study
        The study, with its rules.
    records
        What participants did.

    Returns
    -------
    tuple of str
        One per participant; several reasons are separated by semicolons.
    """
    rules = study.configuration.exclusions
    found: list[list[str]] = [[] for _ in range(len(records))]
    answered = np.isfinite(records.answers)
    unrelated = unrelated_probability(records)
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
        if rules.unrelated_answers is not None and unrelated[i] >= rules.unrelated_answers:
            mine.append(UNRELATED)
    return tuple("; ".join(mine) for mine in found)


def answer_costs(study: Study, records: Records) -> FloatArray:
    """Cost of each answer by the problem's risk, (people, trials); NaN without an answer."""
    out = np.full(records.answers.shape, np.nan)
    there = np.isfinite(records.answers) & np.isfinite(records.outcomes)
    out[there] = charges(study.problem, records.answers[there], records.outcomes[there])
    return out


def trials_of(study: Study, measure: str) -> npt.NDArray[np.bool_]:
    """Trials that an error is averaged over: those of training, of test blocks, or of one."""
    blocks, only = study.configuration.block, study.configuration.analysis.block
    if measure == "training error":
        return np.array([trial.training is not None for trial in study.protocol.trials])
    return np.array(
        [
            isinstance(blocks[trial.block], Testing) and only in (None, trial.block + 1)
            for trial in study.protocol.trials
        ]
    )


def mean_error(study: Study, records: Records, measure: str = "training error") -> FloatArray:
    """Average charge over all rounds of training or of test blocks, (people,)."""
    return _mean(answer_costs(study, records)[:, trials_of(study, measure)])


def slope_change(study: Study, records: Records) -> FloatArray:
    """Change of the slope on the probed test, shown alone, from the first test block to the last.

    Shape (people,), in units of the outcome per unit of the test. NaN without answers at two values
    of the test both before and after.
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


def outcome_share(study: Study, records: Records) -> FloatArray:
    """Posterior probability (people,) of learning from outcomes; NaN without answers."""
    out = np.full(len(records), np.nan)
    if not np.isfinite(records.answers).any():
        return out
    world = study.problem.world
    crowd = candidate_learners(world, study.problem.learner.initial)
    reading = read_log(world, records.log(study), crowd, process_noise=0.0)
    shares = {person.name: person.groups[OUTCOMES] for person in reading.people}
    return np.array([shares.get(name, np.nan) for name in records.participants])


MEASURES: dict[str, Callable[[Study, Records], FloatArray]] = {
    "training error": mean_error,
    "test error": partial(mean_error, measure="test error"),
    "slope change": slope_change,
    "kind": outcome_share,
}
"""By name in `analysis.measure`: functions that return one number per participant."""


def _mean(numbers: FloatArray) -> FloatArray:
    """Mean over trials with data, (people,)."""
    count = np.isfinite(numbers).sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.where(count > 0, np.nansum(numbers, axis=1) / count, np.nan)
    return mean
