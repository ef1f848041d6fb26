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
from preceptor.errors import InvalidInput
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
        """From tables as the export has them; cells may be text.

        Parameters
        ----------
        study
            Whose protocol and tests are meant.
        people
            Rows with `participant`, `arm`, `place`, `status` ("finished", or anything else) and
            `failed_checks`.
        rounds
            Rows with `participant`, `trial` (from 0), `shown` (names, or text with semicolons),
            `values` (likewise), `prediction`, `outcome` and `seconds`.

        Returns
        -------
        Records
            People in the order of their table.

        Raises
        ------
        InvalidInput
            Rows about people, trials, arms or tests that are not there; all of them at once.
        """
        world, trials = study.problem.world, len(study.protocol.trials)
        rows = list(people)
        names = [str(row["participant"]) for row in rows]
        position = {name: i for i, name in enumerate(names)}
        known = {arm.name for arm in study.configuration.arm}
        faults = [
            f"participant {name!r}: arm {row['arm']!r} is not one of the study's"
            for name, row in zip(names, rows, strict=True)
            if str(row["arm"]) not in known
        ]
        size = (len(rows), trials)
        shown = np.zeros((*size, world.size), dtype=np.bool_)
        values = np.full(shown.shape, np.nan)
        answers, outcomes, seconds = (np.full(size, np.nan) for _ in range(3))
        columns = {label: i for i, label in enumerate(world.labels)}
        for row in rounds:
            who, t = str(row["participant"]), int(row["trial"])
            tests = _parts(row["shown"])
            strange = [test for test in tests if test not in columns]
            if who not in position or not 0 <= t < trials or strange:
                faults.append(f"round {t} of {who!r}: no such person, trial or test ({tests})")
                continue
            at = position[who], t
            where = [columns[test] for test in tests]
            shown[at][where] = True
            values[at][where] = [_number(each) for each in _parts(row["values"])]
            answers[at] = _number(row["prediction"])
            outcomes[at] = _number(row["outcome"])
            seconds[at] = _number(row.get("seconds"))
        InvalidInput.raise_if(faults[:20])
        return cls(
            tuple(names),
            np.array([str(row["arm"]) for row in rows]),
            np.array([int(row["place"]) for row in rows], dtype=np.int64),
            np.array([str(row["status"]) == "finished" for row in rows], dtype=np.bool_),
            np.array([int(row.get("failed_checks") or 0) for row in rows], dtype=np.int64),
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


def _parts(cell: Any) -> Sequence[Any]:
    if isinstance(cell, str):
        return [part.strip() for part in cell.split(";") if part.strip()]
    return list(cell)


def _number(cell: Any) -> float:
    return np.nan if cell is None or cell == "" else float(cell)
