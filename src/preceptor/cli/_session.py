"""A session with one person: a tutor, and the log that is whole on the disk after every round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from preceptor.errors import InvalidFile, InvalidInput
from preceptor.logs import Log
from preceptor.logs.levels import Tests
from preceptor.logs.reading import other_columns
from preceptor.tutoring import Tutor

_FIELDS = (
    *("participant", "rounds", "shown", "values"),
    *("prediction", "outcome", "feedback", "when"),
)


@dataclass(frozen=True, eq=False)
class Session:
    """One person and their tutor; the log is all that is kept, and says where to go on.

    `log` and `content` are those of the file as this session last read or wrote it, None if there
    was none; the log may hold other people's rounds too. `reasons` are those of the rounds that
    were played now.
    """

    name: str
    path: Path
    tutor: Tutor
    log: Log | None = None
    content: bytes | None = None
    reasons: tuple[str, ...] = ()

    @classmethod
    def resumed(cls, name: str, path: Path, tutor: Tutor) -> Session:
        """The session after all rounds of this person in the log; a new one if there are none."""
        world = tutor.problem.world
        split = [label for label in world.labels if ";" in label]
        if path.suffix.lower() == ".csv" and split:
            raise InvalidInput(
                f"--log: the name {split[0]!r} has a semicolon, which a .csv log cannot hold; "
                "name a .jsonl file"
            )
        if not path.exists():
            return cls(name, path, tutor)
        log = Log.read(path, world)
        lost = other_columns(path, Tests.of(world))
        if lost:
            raise InvalidInput(
                f"--log: {path} has other columns ({', '.join(lost)}), which would be lost; give "
                "--log another file"
            )
        if name in log.participants:
            tutor = tutor.through(log.for_participant(name))
        return cls(name, path, tutor, log, path.read_bytes())

    def after(
        self,
        shown: tuple[int, ...],
        values: list[float],
        answer: float,
        outcome: float,
        reason: str,
    ) -> Session:
        """Once a case has been answered: the round is in the log before this returns."""
        there = self.path.read_bytes() if self.path.exists() else None
        if there != self.content:
            raise InvalidFile(
                f"{self.path}: was changed by another program while this session went on; this "
                "answer is not kept, begin again"
            )
        tutor = self.tutor.after(shown, values, answer, outcome)
        log = self._with_round(shown, values, answer, outcome)
        log.write(self.path, world=tutor.problem.world)
        return replace(
            self,
            tutor=tutor,
            log=log,
            content=self.path.read_bytes(),
            reasons=(*self.reasons, reason),
        )

    def _with_round(
        self, shown: tuple[int, ...], values: list[float], answer: float, outcome: float
    ) -> Log:
        """The log with one more round of this person."""
        problem = self.tutor.problem
        row, results = np.zeros(problem.size, dtype=np.bool_), np.full(problem.size, np.nan)
        row[list(shown)], results[list(shown)] = True, values
        when = np.datetime64(datetime.now(UTC).replace(tzinfo=None), "s")
        number = 1
        if self.log is not None and self.name in self.log.participants:
            own = self.log.for_participant(self.name)
            number = int(own.rounds[-1]) + 1
            # Dates never run backward, even if a clock was set back.
            when = np.fmax(when, own.when[-1])
        decided = getattr(problem.risk, "decides", None) if problem.is_binary else None
        new = Log(
            problem.world.labels,
            *([self.name], [number], [row], [results], [answer], [outcome], [True], [when]),
            decided=decided,
        )
        if self.log is None:
            return new
        parts = (np.concatenate([getattr(each, f) for each in (self.log, new)]) for f in _FIELDS)
        return Log(new.names, *parts, decided=decided)
