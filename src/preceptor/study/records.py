"""What participants did, as the analysis takes it: one row a person, one column a trial.

Real and simulated people end in the same arrays, so that power is computed by the very analysis
that is registered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.logs import Log
from preceptor.study.study import Study


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
        Their places, (people,): whoever has the same one in another arm met the same cases.
    finished
        Whether they came to the end, (people,).
    failed_checks
        How many, (people,).
    shown
        Which tests, (people, trials, n).
    values
        Their results as people read them, (people, trials, n); NaN where hidden.
    answers
        As people gave them, (people, trials); NaN where there is none.
    outcomes
        What was true, told or not, (people, trials).
    seconds
        How long an answer took, (people, trials); NaN where nobody knows.
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
        """Some of the people: a mask, or positions."""
        where = np.arange(len(self))[rows]
        parts = {
            name: getattr(self, name)[where]
            for name in self.__dataclass_fields__
            if name != "participants"
        }
        return replace(self, participants=tuple(self.participants[i] for i in where), **parts)

    @classmethod
    def from_rows(
        cls,
        study: Study,
        people: Iterable[Mapping[str, Any]],
        rounds: Iterable[Mapping[str, Any]],
    ) -> Records:
        """From rows of an export.

        Parameters
        ----------
        study
            Whose protocol and tests are meant.
        people
            Rows with `participant`, `arm`, `place`, `status` ("finished", or anything else) and
            `failed_checks`.
        rounds
            Rows of these people with `participant`, `trial` (from 0), `shown` and `values` (with
            semicolons between), `prediction`, `outcome` and `seconds`.

        Returns
        -------
        Records
            People in the order of their table.
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
        """All answered rounds as a log: outcomes, and whether they were told."""
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


def together(several: Sequence[Records]) -> Records:
    """People of several records, one after the other; their names get a number in front."""
    fields = [name for name in Records.__dataclass_fields__ if name != "participants"]
    names = [f"{i}-{name}" for i, each in enumerate(several) for name in each.participants]
    parts = {name: np.concatenate([getattr(each, name) for each in several]) for name in fields}
    return Records(tuple(names), **parts)
