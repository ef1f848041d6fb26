"""A session with one person as it lies on disk: state and log, whole after every round."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.files import read_json, write_text
from preceptor.errors import InvalidFile, InvalidInput, PreceptorError
from preceptor.logs import Log
from preceptor.tutoring import Tutor

FORMAT = "preceptor-session/1"
_KEYS = ("name", "seed", "table", "choices", "rounds", "tutor")


@dataclass(frozen=True)
class Played:
    """What a round has beside what the tutor remembers: the row, when it was, and the reason."""

    row: int
    when: str
    reason: str


@dataclass(frozen=True, eq=False)
class Session:
    """One person, one table: everything that is needed to go on next week.

    `table` identifies the table, `choices` are the options with which the session was begun.
    """

    name: str
    seed: int
    table: Mapping[str, Any]
    choices: Mapping[str, Any]
    tutor: Tutor
    rounds: tuple[Played, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Session:
        """Read a state file."""
        data = read_json(path)
        if data.get("format") != FORMAT:
            raise InvalidFile(
                f"{path}: is no session of `preceptor tutor` (format {data.get('format')!r}, must "
                f"be {FORMAT!r}); name another file with --state"
            )
        missing = [key for key in _KEYS if key not in data]
        if missing:
            raise InvalidFile(f"{path}: has no {', '.join(missing)}; name another --state")
        try:
            tutor = Tutor.from_dict(data["tutor"])
            rounds = tuple(Played(**each) for each in data["rounds"])
        except (PreceptorError, TypeError) as error:
            raise InvalidFile(f"{path}: cannot be read ({error})") from None
        if tutor.rounds != len(rounds):
            raise InvalidFile(
                f"{path}: {len(rounds)} rounds, but the tutor has {tutor.rounds}; it was changed "
                "by hand, name another --state"
            )
        return cls(data["name"], int(data["seed"]), data["table"], data["choices"], tutor, rounds)

    def save(self, path: Path) -> None:
        """Write the state, whole or not at all."""
        data = {
            "format": FORMAT,
            "name": self.name,
            "seed": self.seed,
            "table": dict(self.table),
            "choices": dict(self.choices),
            "rounds": [vars(each) for each in self.rounds],
            "tutor": self.tutor.to_dict(),
        }
        write_text(path, json.dumps(data, ensure_ascii=False) + "\n")

    def after(
        self,
        row: int,
        shown: tuple[int, ...],
        values: list[float],
        answer: float,
        outcome: float,
        reason: str,
    ) -> Session:
        """Once a case has been answered and the truth told."""
        played = Played(row, self._now(), reason)
        tutor = self.tutor.after(shown, values, answer, outcome)
        return replace(self, tutor=tutor, rounds=(*self.rounds, played))

    def _now(self) -> str:
        """Date and time in UTC; never before the last round, even if a clock was set back."""
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        return max(now, self.rounds[-1].when) if self.rounds else now

    # --- the log ---

    def log(self) -> Log:
        """All rounds so far; there must have been one."""
        world, record = self.tutor.problem.world, self.tutor.record
        shown = np.zeros((len(record), world.size), dtype=np.bool_)
        values = np.full(shown.shape, np.nan)
        for i, entry in enumerate(record):
            shown[i, list(entry.shown)] = True
            values[i, list(entry.shown)] = entry.values
        return Log(
            world.labels,
            [self.name] * len(record),
            np.arange(1, len(record) + 1),
            shown,
            values,
            [float("nan") if entry.answer is None else entry.answer for entry in record],
            [float("nan") if entry.outcome is None else entry.outcome for entry in record],
            [entry.outcome is not None for entry in record],
            [each.when for each in self.rounds],
        )

    def write_log(self, path: Path) -> None:
        """Put these rounds into a log; those of other people in the same file stay."""
        own = self.log()
        others = self._others(path)
        (own if others is None else _joined(others, own)).write(path)

    def check_log(self, path: Path) -> None:
        """Refuse a log that could not be written, or whose rounds of this person are others."""
        labels = self.tutor.problem.world.labels
        suffix = path.suffix.lower()
        if suffix not in (".csv", ".jsonl", ".ndjson", ".parquet"):
            raise InvalidInput(
                f"--log: {path} ends in {suffix!r}, must end in .csv, .jsonl or .parquet"
            )
        split = [name for name in labels if ";" in name]
        if suffix == ".csv" and split:
            raise InvalidInput(
                f"--log: the name {split[0]!r} has a semicolon, which a .csv log cannot hold; "
                "name a .jsonl file"
            )
        if not path.exists():
            return
        found = Log.read(path, labels)
        if self.name not in found.participants:
            return
        written = found.for_participant(self.name)
        if self.rounds and len(written) <= len(self.rounds):
            ours = self.log()
            same = slice(len(written))
            if np.array_equal(ours.prediction[same], written.prediction) and np.array_equal(
                ours.outcome[same], written.outcome, equal_nan=True
            ):
                return
        raise InvalidInput(
            f"--log: {path} has {len(written)} rounds of {self.name} that are not in the state "
            f"({len(self.rounds)} rounds); give the --state that goes with it, or another --log"
        )

    def _others(self, path: Path) -> Log | None:
        if not path.exists():
            return None
        found = Log.read(path, self.tutor.problem.world)
        others = [each for each in found.participants if each != self.name]
        return found.for_participant(*others) if others else None


def _joined(first: Log, second: Log) -> Log:
    fields = ("participant", "rounds", "shown", "values", "prediction", "outcome", "feedback")
    arrays = [
        np.concatenate([getattr(first, each), getattr(second, each)]) for each in (*fields, "when")
    ]
    return Log(first.names, *arrays)
