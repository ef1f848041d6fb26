"""Certificates: data from which a lower bound can be proven again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from preceptor._base.packing import pack, unpack
from preceptor._base.schema import faults_as_made
from preceptor._base.values import FloatArray, IntArray, Value, frozen_array
from preceptor.errors import InvalidInput

# Errors may grow at most by this power of the rate at which discounts shrink.
SLOWER = 0.9
# Divisor of the count in the first function of a potential.
COUNT_UNIT = 50.0
# The largest count considered for the last round, which repeats forever.
LONGEST = 50_000


class _Packed(Value):
    """A value whose arrays, over hundreds of rounds and tests, are packed in files."""

    _arrays: ClassVar[Mapping[str, type]]

    def _freeze(self) -> None:
        for name, kind in self._arrays.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), kind))

    def to_dict(self) -> dict[str, Any]:
        """Plain data with packed arrays."""
        return super().to_dict() | {name: pack(getattr(self, name)) for name in self._arrays}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        fields = dict(data)
        for name in cls._arrays:
            fields[name] = unpack(f"certificate {name}", fields.get(name))
        return super().from_dict(fields)


@dataclass(frozen=True, eq=False)
class Certificate(_Packed):
    """Potentials of the counts, round by round, that prove a bound for any convex loss.

    With r_i(m) the share of test i's error at the problem's start that is left after m more
    showings, and counts read as min(m, cap_i),

        φ_t(m) = Σ_i θ_ti · (m_i / 50, 1 - r_i(m_i), 1 - r_i(m_i)²).

    Rounds are 0 to T - 1; over infinitely many rounds θ_T repeats forever, at the end of a finite
    horizon T it is 0. If g_t is at most L_S(m) + δ φ_{t+1}(m + 1_S) - φ_t(m) for every set that
    shows something and every count m_i <= t, then going on from counts m in round t costs at least
    φ_t(m) + C_t with C_t = min(g_t + δ C_{t+1}, stopping - max φ_t) and C_T = g_T / (1 - δ) or 0.
    Stopping, where nothing may be shown, is nothing from then on: showing nothing changes no count,
    so it can wait until the end.

    A round is minimised over counts test by test after the loss, convex in the deviation y =
    shift + D e, is replaced by its tangent at some y0. Errors beyond a cap lie between that at the
    cap and their limit.

    Where each showing divides an error by α, log r = -m log α, so that these potentials are all
    mixtures of log r, r and r², up to a constant of each round.

    Attributes
    ----------
    potentials
        θ, shape (T + 1, n, 3).
    caps
        Count of each test beyond which it no longer matters, shape (n,).
    round_minima
        The g_t that are claimed, shape (T,), or (T + 1,) over infinitely many rounds.
    dual_bound
        C_0 + φ_0(0): what the potentials prove by themselves.
    beam_width, beam_layers, beam_bound
        A beam of `beam_width` states over `beam_layers` rounds, ranked by the potentials, proves
        `beam_bound` (0 layers: no beam). Counts of tests whose error never changes beyond their cap
        are merged there.
    """

    _arrays: ClassVar = {"potentials": np.float64, "caps": np.int64, "round_minima": np.float64}
    potentials: FloatArray
    caps: IntArray
    round_minima: FloatArray
    dual_bound: float
    beam_width: int = 0
    beam_layers: int = 0
    beam_bound: float = 0.0

    def __post_init__(self) -> None:
        self._freeze()
        InvalidInput.raise_if(f"certificate {fault}" for fault in faults_as_made(self))

    def with_beam(self, width: int, layers: int, bound: float) -> Certificate:
        """A copy with the bound of a beam."""
        return replace(self, beam_width=width, beam_layers=layers, beam_bound=bound)


@dataclass(frozen=True, eq=False)
class LinearCertificate(_Packed):
    """Quadratic functions that no schedule undercuts, and limits that no schedule leaves.

    The certificate of a bound for linear people. Along a schedule let m be the mean of g =
    (errors, 1) and C the spread of the errors around it. The certificate holds matrices Q_t and
    R_t, and the proof is that m'Q_t m + <R_t, C> is never more than what rounds t, t + 1, ...
    cost: in no round does it exceed the loss of the round plus the discount times its value
    afterwards, whichever set is shown.

        X_S = charge_S + δ (A'Q_{t+1}A + scattered_S(R_{t+1})) - Q_t + Y~ - <Z, limit> corner  ⪰ 0
        charge_S + δ spread_S(R_{t+1}) - R_t + Z  ⪰ 0,       Y, Z ⪰ 0

    The multipliers Y and Z, different for each set and round, use that means and spreads stay
    within limits whatever is shown: C ⪯ limit, and (e - centre)(e - centre)' ⪯ reach for mean
    errors e, so that Y~ (of <Y, (e - centre)(e - centre)' - reach> as a form in g) is never
    positive. Matrices are linear between knots in t, and so is everything above: it holds in
    all rounds between two knots if it holds in the first and in the last of them. Over
    infinitely many rounds what is left must weigh nothing in the end: within limits that is so,
    and without them a matrix G shows that errors grow more slowly than discounts shrink.

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

    _arrays: ClassVar = dict.fromkeys(
        (
            "mean", "spread", "centre", "reach", "limit", "mean_multipliers",
            "spread_multipliers", "growth",
        ),
        np.float64,
    )  # fmt: skip
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
        self._freeze()
        object.__setattr__(self, "knots", tuple(int(knot) for knot in self.knots))


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
