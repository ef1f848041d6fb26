"""A session with one person as it lies on disk: state and log, whole after every round."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.files import json_in, read_text, write_text
from preceptor.cli._state_faults import record_faults, state_faults
from preceptor.errors import InvalidFile, InvalidInput, PreceptorError
from preceptor.logs import Log
from preceptor.logs.checks import shorten
from preceptor.logs.levels import Tests
from preceptor.logs.reading import other_columns
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
    `seen` is a digest of the state file as this session last read or wrote it, None if there was
    none: whatever else is there by now comes from somebody else.
    """

    name: str
    seed: int
    table: Mapping[str, Any]
    choices: Mapping[str, Any]
    tutor: Tutor
    rounds: tuple[Played, ...] = ()
    seen: str | None = None

    @classmethod
    def load(cls, path: Path) -> Session:
        """Read a state file."""
        text = read_text(path)
        data = json_in(text, path)
        if data.get("format") != FORMAT:
            raise InvalidFile(
                f"{path}: is no session of `preceptor tutor` (format {data.get('format')!r}, must "
                f"be {FORMAT!r}); name another file with --state"
            )
        missing = [key for key in _KEYS if key not in data]
        if missing:
            raise InvalidFile(f"{path}: has no {', '.join(missing)}; name another --state")
        _refuse(path, state_faults(data))
        try:
            tutor = Tutor.from_dict(data["tutor"])
        except PreceptorError as error:
            faults = error.faults if isinstance(error, InvalidInput) else (str(error),)
            _refuse(path, (f"tutor: {fault}" for fault in faults))
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            # Nobody can foresee what people make of a file.
            _refuse(path, [f"tutor: {type(error).__name__}, {error}"])
        rounds = tuple(Played(**each) for each in data["rounds"])
        _refuse(path, record_faults(tutor, len(rounds)))
        session = cls(
            data["name"], data["seed"], data["table"], data["choices"], tutor, rounds, _digest(text)
        )
        if rounds:
            try:
                session.log()
            except InvalidInput as error:
                _refuse(path, error.faults)
        return session

    def check_unchanged(self, path: Path, lost: str) -> None:
        """Refuse to write over what this session has not read; `lost` says what that means."""
        there = _digest(read_text(path)) if path.exists() else None
        if there == self.seen:
            return
        if there is None:
            raise InvalidFile(
                f"{path}: was removed while this session went on; nothing was written, begin again"
            )
        raise InvalidFile(f"{path}: another session is using {path.name}; {lost}")

    def save(self, path: Path) -> Session:
        """Write the state, whole or not at all; gives the session that knows what is there now."""
        self.check_unchanged(path, "its answers are kept, yours from this round is not")
        data = {
            "format": FORMAT,
            "name": self.name,
            "seed": self.seed,
            "table": dict(self.table),
            "choices": dict(self.choices),
            "rounds": [vars(each) for each in self.rounds],
            "tutor": self.tutor.to_dict(),
        }
        text = json.dumps(data, ensure_ascii=False) + "\n"
        write_text(path, text, private=True)
        return replace(self, seen=_digest(text))

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
        found = self._found(path)
        others = [] if found is None else [p for p in found.participants if p != self.name]
        if found is not None and others:
            own = _joined(found.for_participant(*others), own)
        own.write(path, world=self.tutor.problem.world)

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
        self._found(path)

    def _found(self, path: Path) -> Log | None:
        """The log that is there, if all of it can be written again; None if there is none."""
        if not path.exists():
            return None
        world = self.tutor.problem.world
        found = Log.read(path, world)
        lost = other_columns(path, Tests.of(world))
        if lost:
            raise InvalidInput(
                f"--log: {path} has other columns ({', '.join(lost)}), which would be lost; give "
                "--log another file"
            )
        if self.name in found.participants:
            self._check_own(found.for_participant(self.name), path)
        return found

    def _check_own(self, written: Log, path: Path) -> None:
        """What the log has of this person must be how the state begins."""
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


def _joined(first: Log, second: Log) -> Log:
    fields = ("participant", "rounds", "shown", "values", "prediction", "outcome", "feedback")
    arrays = [
        np.concatenate([getattr(first, each), getattr(second, each)]) for each in (*fields, "when")
    ]
    return Log(first.names, *arrays)


def _refuse(path: Path, faults: Iterable[str]) -> None:
    found = shorten(list(faults))
    if found:
        raise InvalidFile(
            f"{path}: was changed by hand or damaged ({'; '.join(found)}); mend it, or name "
            "another --state"
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
