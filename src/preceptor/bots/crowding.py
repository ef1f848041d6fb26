"""What all crowds of simulated people share: names, playing at once, rounds as a log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from preceptor.logs import Log
from preceptor.model.world import World

# Seconds between two looks at how far everybody is.
_LOOK = 0.2


def numbered(prefix: str, people: int) -> tuple[str, ...]:
    """Names of a crowd: the prefix and a number of five digits, or more where they are needed.

    >>> numbered("p", 2)
    ('p00001', 'p00002')
    """
    width = max(5, len(str(people)))
    return tuple(f"{prefix}{who:0{width}d}" for who in range(1, people + 1))


def play_at_once(
    one: Callable[[int, Callable[[], bool]], None],
    people: int,
    connections: int,
    tell: Callable[[int], None],
) -> None:
    """Let everybody play; if one of them fails, the others stop as well.

    Parameters
    ----------
    one
        Plays the person of a number, until the function that it is given says stop.
    people
        How many there are.
    connections
        How many play at once.
    tell
        Told now and then how many are done.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(connections, thread_name_prefix="bot") as pool:
        futures = [pool.submit(one, number, stop.is_set) for number in range(people)]
        left = set(futures)
        try:
            while left:
                done, left = wait(left, timeout=_LOOK, return_when=FIRST_EXCEPTION)
                for each in done:
                    each.result()
                tell(people - len(left))
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def rows_as_log(world: World, rows: Sequence[dict[str, Any]], participant: Sequence[str]) -> Log:
    """Rounds as the service writes them, with these names, as `simulation.rollout` gives a log."""
    position = {label: i for i, label in enumerate(world.labels)}
    shown = np.zeros((len(rows), world.size), dtype=np.bool_)
    values = np.full((len(rows), world.size), np.nan)
    for number, row in enumerate(rows):
        columns = [position[name] for name in row["shown"]]
        shown[number, columns] = True
        values[number, columns] = row["values"]
    return Log(
        names=world.labels,
        participant=participant,
        rounds=[row["round"] for row in rows],
        shown=shown,
        values=values,
        prediction=[row["prediction"] for row in rows],
        outcome=[row["outcome"] for row in rows],
        feedback=[row["feedback"] for row in rows],
    )
