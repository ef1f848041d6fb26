"""Tasks of a worker process for tests: one that takes several turns, and one that takes one."""

from __future__ import annotations

import itertools
from typing import Any

_TURNS = itertools.count(1)


def ready() -> dict[str, Any]:
    """Confirm that the worker has started."""
    return {}


def long(left: int) -> dict[str, Any]:
    """Go on until nothing is left; then say in which turn that was."""
    turn = next(_TURNS)
    return {"more": {"left": left - 1}} if left else {"turn": turn}


def short() -> dict[str, Any]:
    """Say in which turn this is."""
    return {"turn": next(_TURNS)}


TASKS = {each.__name__: each for each in (ready, long, short)}
