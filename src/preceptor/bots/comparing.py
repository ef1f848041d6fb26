"""The log out of the service beside that of a rollout: the same bits, or what differs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor.bots.crowding import rows_as_log
from preceptor.client import Client
from preceptor.logs import Log
from preceptor.model.world import World

_FIELDS = ("participant", "rounds", "shown", "values", "prediction", "outcome", "feedback")


def log_of(client: Client, world: World, people: Sequence[str]) -> Log:
    """The rounds of these people as the service has them.

    Parameters
    ----------
    client
        Calls the service.
    world
        Whose tests they saw.
    people
        Pseudonyms, in the order in which they shall come.

    Returns
    -------
    Log
        As `simulation.rollout` gives one.
    """
    rows = []
    for name in people:
        # A round whose truth came later comes twice; the last row holds.
        last = {row["round"]: row for row in client.log(person=name)}
        rows += [last[number] for number in sorted(last)]
    return rows_as_log(world, rows, [row["participant"] for row in rows])


def differences(ours: Log, theirs: Log) -> list[str]:
    """What two logs do not share to the last bit, a sentence each.

    Parameters
    ----------
    ours
        One of them.
    theirs
        The other one.

    Returns
    -------
    list of str
        Empty if they are the same.

    Examples
    --------
    >>> log = Log(["x1"], ["ann"], [0], [[True]], [[1.0]], [0.5], [0.25])
    >>> differences(log, log)
    []
    """
    if len(ours.rounds) != len(theirs.rounds):
        return [f"rounds: {len(ours.rounds):,} of them, not {len(theirs.rounds):,}"]
    found = []
    for field in _FIELDS:
        one, other = np.asarray(getattr(ours, field)), np.asarray(getattr(theirs, field))
        if _bits(one) == _bits(other):
            continue
        same = (one == other) | ((one != one) & (other != other))
        rows = np.flatnonzero(~same.reshape(len(one), -1).all(axis=1))
        where = f", first in row {rows[0]}" if rows.size else ""
        found.append(f"{field}: {rows.size:,} of {len(one):,} rows differ{where}")
    return found


def _bits(column: np.ndarray) -> bytes:
    """Names are compared as text, whatever room their array has for longer ones."""
    if column.dtype.kind in "UO":
        return "\n".join(map(str, column)).encode()
    return column.tobytes()
