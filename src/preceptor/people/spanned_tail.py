"""The cost of a word repeated forever, worked out in the few directions that it can depend on.

One turn of a word charges errors only along the weights it shows, along what the person reads off
them (the rows of U), and along the constant: whatever the world's size, these few rows span a space
that a turn never leaves. Within it the adjoint Q = V' C V is a small linear system, where adding up
turns until they weigh nothing takes thousands of rounds of n by n matrices. Names
as in `moments.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.people.expected import Tail

if TYPE_CHECKING:
    from preceptor.people.moments import Moments

# Words that span more directions than this are left to be summed.
MOST_DIRECTIONS = 24
# Directions shorter than this share of the longest are rounding.
_ROUNDING = 1e-10


def directions_of(person: Moments, tail: Tail) -> FloatArray:
    """Orthonormal rows (d, n + 1) that span all a turn of the word can charge."""
    _members, _sizes, omega, _variance, solved, offset, *_ = person.arrays
    size = person.start.shape[0]
    rows = [np.eye(size)[-1:]]
    for s in dict.fromkeys(tail):
        shown = list(person.sets[s])
        rows.append(np.eye(size)[shown])
        k = len(shown)
        rows.append(np.column_stack([solved[s, :k, :k] @ omega[shown], offset[s, :k]]))
    everything = np.concatenate(rows)
    lengths = np.linalg.norm(everything, axis=1, keepdims=True)
    _, sizes, spanned = np.linalg.svd(everything / lengths, full_matrices=False)
    return np.ascontiguousarray(spanned[sizes > _ROUNDING * sizes[0]])


def spanned_tail(
    person: Moments, spanned: FloatArray, tail: Tail, discount: float
) -> FloatArray | None:
    """Q with <Q, P> = cost of repeating the word from P; None if errors never settle.

    `spanned` are the word's `directions_of`.
    """
    width = spanned.shape[0]
    rows, columns = np.tril_indices(width)

    def turn(within: FloatArray) -> FloatArray:
        adjoint = np.ascontiguousarray(spanned.T @ within @ spanned)
        for s in reversed(tail):
            adjoint = person.back(adjoint, person.start, s, 1.0, discount)
        return np.asarray(spanned @ adjoint @ spanned.T)

    nothing = turn(np.zeros((width, width)))
    matrix = np.empty((rows.size, rows.size))
    for position, (i, j) in enumerate(zip(rows, columns, strict=True)):
        unit = np.zeros((width, width))
        unit[i, j] = unit[j, i] = 1.0
        matrix[:, position] = (turn(unit) - nothing)[rows, columns]
    # Charging errors as well as the round tells whether they settle.
    charges = np.stack([nothing[rows, columns], np.eye(width)[rows, columns]], axis=1)
    try:
        solutions = np.linalg.solve(np.eye(rows.size) - matrix, charges)
    except np.linalg.LinAlgError:
        return None
    found, witness = np.zeros((width, width)), np.zeros((width, width))
    for target, values in ((found, solutions[:, 0]), (witness, solutions[:, 1])):
        target[rows, columns] = values
        target[columns, rows] = values
    if not np.linalg.eigvalsh(witness)[0] > 0.0:
        return None
    return np.asarray(spanned.T @ found @ spanned)
