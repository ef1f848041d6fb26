"""How much of a schedule is searched by prices."""

from __future__ import annotations

from dataclasses import dataclass

from preceptor._base.discounting import rounds_until
from preceptor.problem import Problem

# Rounds that are searched, at most; what comes later is repeated.
_MOST_ROUNDS = 400
_MOST_FINITE_ROUNDS = 1_000
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class SearchedRounds:
    """How many rounds are searched, and whether something is repeated after them."""

    rounds: int
    infinite: bool

    @classmethod
    def of(cls, problem: Problem) -> SearchedRounds:
        """All rounds of a short horizon; else until later ones weigh next to nothing."""
        if problem.horizon is not None:
            return cls(min(problem.horizon, _MOST_FINITE_ROUNDS), infinite=False)
        if problem.discount == 0.0:
            return cls(1, infinite=True)
        rounds = min(max(rounds_until(problem.discount, _NEGLIGIBLE), 20), _MOST_ROUNDS)
        return cls(rounds, infinite=True)
