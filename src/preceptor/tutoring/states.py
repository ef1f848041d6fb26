"""What a kind of person remembers besides weights, as plain data and back.

States are arrays, numbers, and tuples of these, with names or without. A file keeps their contents;
what they were is read off somebody of that kind who has not played yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preceptor._base.values import frozen_array, plain
from preceptor.errors import InvalidFile
from preceptor.model.world import World
from preceptor.people.person import Person


def state_to_plain(state: Any) -> Any:
    """Numbers and lists, for JSON.

    Parameters
    ----------
    state
        Of one person, as `Person.fresh` and `Person.learn` give it.

    Returns
    -------
    list or number
        What `state_from_plain` reads.

    Raises
    ------
    NotSerializable
        A kind of one's own that remembers something else than numbers.
    """
    return plain(state)


def state_from_plain(person: Person, world: World, data: Any) -> Any:
    """The state that was written.

    Parameters
    ----------
    person
        Whose state it is; their kind says what it is made of.
    world
        How tests and outcomes come about.
    data
        What `state_to_plain` gave.

    Returns
    -------
    Any
        As `Person.learn` takes it; nobody can change its arrays.

    Raises
    ------
    InvalidFile
        It does not look like the state of somebody of this kind.

    Examples
    --------
    >>> import preceptor as pr
    >>> person, world = pr.DeltaRule([0.0], rate=0.1), pr.World([1.0], [[1.0]])
    >>> state_from_plain(person, world, [[0.5], 3])
    Progressed(weights=array([0.5]), rounds=3)
    """
    return _like(person.fresh(world, (), None), data, f"state of {type(person).__name__}")


def frozen_state(state: Any) -> Any:
    """The same state, whose arrays nobody can change.

    Parameters
    ----------
    state
        Of one person.

    Returns
    -------
    Any
        A copy.
    """
    if isinstance(state, np.ndarray):
        return frozen_array(state, state.dtype)
    if isinstance(state, tuple):
        return _tuple_of(state, [frozen_state(item) for item in state])
    return state


def _like(pattern: Any, data: Any, where: str) -> Any:
    if isinstance(pattern, np.ndarray):
        try:
            array = frozen_array(data, pattern.dtype)
        except (TypeError, ValueError):
            raise InvalidFile(f"{where}: {data!r}, must be numbers") from None
        if array.shape != pattern.shape:
            raise InvalidFile(f"{where}: shape {array.shape}, must be {pattern.shape}")
        return array
    if isinstance(pattern, tuple):
        if not isinstance(data, (list, tuple)) or len(data) != len(pattern):
            raise InvalidFile(f"{where}: {data!r}, must be a list of {len(pattern)}")
        return _tuple_of(pattern, [_like(*pair, where) for pair in zip(pattern, data, strict=True)])
    if isinstance(pattern, (bool, int, float, np.generic)):
        number = isinstance(data, (bool, int, float, np.generic))
        if not number:
            raise InvalidFile(f"{where}: {data!r}, must be a number")
        return type(pattern)(data)
    return data


def _tuple_of(pattern: tuple[Any, ...], items: list[Any]) -> Any:
    """A tuple of the same type; those with names take one argument each."""
    return type(pattern)(*items) if hasattr(pattern, "_fields") else tuple(items)
