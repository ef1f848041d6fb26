"""What a bound for somebody linear leaves behind so that others can prove it again.

Along a schedule let m be the mean of g = (errors, 1) and C the spread of the errors around it. The
certificate holds matrices Q_t and R_t, and the proof is that m'Q_t m + <R_t, C> is never more than
what rounds t, t + 1, ... cost: in no round does it exceed the loss of the round plus the discount
times its value afterwards, whichever set is shown.

    X_S = charge_S + δ (A'Q_{t+1}A + scattered_S(R_{t+1})) - Q_t + Y~ - <Z, limit> corner  ⪰ 0
    charge_S + δ spread_S(R_{t+1}) - R_t + Z  ⪰ 0,       Y, Z ⪰ 0

The multipliers Y and Z, different for each set and round, use that means and spreads stay within
limits whatever is shown: C ⪯ limit, and (e - centre)(e - centre)' ⪯ reach for mean errors e, so
that Y~ (of <Y, (e - centre)(e - centre)' - reach> as a form in g) is never positive. Matrices are
linear between knots in t, and so is everything above: it holds in all rounds between two knots if
it holds in the first and in the last of them. Over infinitely many rounds what is left must weigh
nothing in the end: within limits that is so, and without them a matrix G shows that errors grow
more slowly than discounts shrink.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.packing import pack, unpack
from preceptor._base.values import FloatArray, Value, frozen_array

# Errors may grow by this power of what discounts shrink by.
SLOWER = 0.9
_ARRAYS = (
    "mean", "spread", "centre", "reach", "limit", "mean_multipliers", "spread_multipliers",
    "growth",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class LinearCertificate(Value):
    """Quadratic functions that no schedule undercuts, and limits that no schedule leaves.

    Attributes
    ----------
    knots
        Rounds at which matrices are given, from 0; linear in between, the last one holds forever
        (or is the horizon).
    horizon
        How many rounds there are; None for infinitely many.
    discount
        What a round weighs against the one before.
    mean
        Q at the knots, shape (knots, n + 1, n + 1).
    spread
        R at the knots, shape (knots, n, n).
    centre
        Of the limits on mean errors, shape (n,).
    reach
        The limits: (e - centre)(e - centre)' ⪯ reach, shape (n, n), all 0 if there are none. A
        diagonal one whose multipliers are diagonal too is a box.
    is_box
        Whether they are: each mean error is within the root of its entry from the centre.
    limit
        Of the spread, shape (n, n).
    mean_multipliers, spread_multipliers
        Y and Z, shape (steps, sets, n, n); steps are those of `steps`.
    growth
        G, shape (n + 1, n + 1): E[Φ'GΦ] ⪯ G / discount ** `SLOWER` for all sets; 0 if not needed.
    bound
        What is proven.
    """

    knots: tuple[int, ...]
    horizon: int | None
    discount: float
    mean: FloatArray
    spread: FloatArray
    centre: FloatArray
    reach: FloatArray
    is_box: bool
    limit: FloatArray
    mean_multipliers: FloatArray
    spread_multipliers: FloatArray
    growth: FloatArray
    bound: float

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        object.__setattr__(self, "knots", tuple(int(knot) for knot in self.knots))

    def to_dict(self) -> dict[str, Any]:
        """Arrays are packed."""
        return super().to_dict() | {name: pack(getattr(self, name)) for name in _ARRAYS}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LinearCertificate:
        """Unpack."""
        fields = dict(data)
        for name in _ARRAYS:
            fields[name] = unpack(f"certificate {name}", fields.get(name))
        return super().from_dict(fields)


def steps(knots: tuple[int, ...], horizon: int | None) -> tuple[FloatArray, FloatArray]:
    """Rounds in which the inequalities must be shown, as mixtures of the matrices at knots.

    Parameters
    ----------
    knots
        Rounds at which matrices are given.
    horizon
        None if the last knot holds forever.

    Returns
    -------
    two arrays of shape (steps, knots)
        Shares of the knots in Q_t and in Q_{t+1}.

    Examples
    --------
    >>> now, later = steps((0, 1, 3), None)
    >>> now.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    >>> later.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """
    unit = np.eye(len(knots))
    now: list[FloatArray] = []
    later: list[FloatArray] = []
    for i in range(len(knots) - 1):
        length = knots[i + 1] - knots[i]
        rounds = (0,) if length == 1 else (0, length - 1)
        for t in rounds:
            now.append(unit[i] + (t / length) * (unit[i + 1] - unit[i]))
            later.append(unit[i] + ((t + 1) / length) * (unit[i + 1] - unit[i]))
    if horizon is None:
        now.append(unit[-1])
        later.append(unit[-1])
    return np.array(now), np.array(later)
