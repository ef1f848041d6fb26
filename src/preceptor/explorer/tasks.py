"""What is worked out for the explorer beside its pages: plain data in, plain data out."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import parse_qsl

from preceptor.errors import InvalidInput
from preceptor.explorer.choice import Choice, first_choice, read_choice
from preceptor.explorer.ground import Ground, as_text, from_text, ground_of_table
from preceptor.explorer.losers import losers
from preceptor.explorer.picture import picture, proven_plan, quick_plan
from preceptor.explorer.presets import FIRST, preset
from preceptor.plan import Plan
from preceptor.tables.opening import TABLE_SUFFIXES


def ready() -> dict[str, Any]:
    """Say that the process has begun, with kernels compiled."""
    ground = preset(FIRST)
    choice = first_choice(ground)
    picture(ground, choice, quick_plan(ground, choice), is_proven=False)
    return {}


def draw(preset: str, carried: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """A plan that is found in a moment, for wherever the sliders are."""
    ground, choice = _asked(preset, carried, said)
    return picture(ground, choice, quick_plan(ground, choice), is_proven=False)


def prove(preset: str, carried: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """The plan of a few seconds, with its proof."""
    ground, choice = _asked(preset, carried, said)
    plan = _proven(preset, carried, choice.to_query(preset))
    return picture(ground, choice, plan, is_proven=True)


def lose(preset: str, carried: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """Who would lose by that plan."""
    ground, choice = _asked(preset, carried, said)
    return losers(ground, choice, _proven(preset, carried, choice.to_query(preset)))


def read(name: str, content: str, outcome: str, drop: Sequence[str]) -> dict[str, Any]:
    """A table that somebody sent, as text that their page carries from then on.

    Readers of tables read files, so it is one for as long as that takes.
    """
    called = PureWindowsPath(PurePosixPath(name).name).name or "table.csv"
    suffix = Path(called).suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise InvalidInput(
            f"table: {called!r} ends in {suffix!r}, must end in {', '.join(TABLE_SUFFIXES)}"
        )
    with tempfile.TemporaryDirectory(prefix="preceptor-") as folder:
        path = Path(folder) / f"table{suffix}"
        path.write_bytes(base64.b64decode(content))
        ground = ground_of_table(path, outcome, called=called, drop=drop)
    return {"carried": as_text(ground)}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (ready, draw, prove, lose, read)
}


def _asked(name: str, carried: str | None, said: Mapping[str, str]) -> tuple[Ground, Choice]:
    ground = _ground(name, carried)
    return ground, read_choice(said, ground)


def _ground(name: str, carried: str | None) -> Ground:
    return preset(name) if carried is None else from_text(carried)


@lru_cache(maxsize=32)
def _proven(name: str, carried: str | None, query: str) -> Plan:
    """Remembered for those who also ask who would lose by it; `query` says where sliders are."""
    ground = _ground(name, carried)
    return proven_plan(ground, read_choice(dict(parse_qsl(query)), ground))
