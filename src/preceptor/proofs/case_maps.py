"""How errors move when a set is shown, from what a person does with a case.

The person's rule for a known case (`Person.moves`) is averaged over Gaussian cases by a product of
Gauss-Hermite rules. Rules that are quadratic in the case are averaged exactly by three points per
dimension; if five give a different result, the rule is not quadratic. Then many equally spaced
points are used: the error of such a sum falls exponentially with their number, that of
Gauss-Hermite rules only with its root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.person import Person
from preceptor.model.world import World

# Relative difference that rounding may cause between two computations of the same sum or mean.
ROUNDING = 1e-9
# Up to _FEW points are a Gauss-Hermite rule; more are spread over _REACH standard deviations. Moves
# are linear in the outcome, so few points are enough for it.
_FEW, _REACH = 5, 8.5


@dataclass(frozen=True, eq=False)
class CaseMaps:
    """A set: charge (N, N), maps Φ of g for each case (cases, N, N), and weights of the cases.

    g = (e, 1) are the errors of the person's weights and a 1, so that N = n + 1.
    """

    charge: FloatArray
    maps: FloatArray
    weights: FloatArray

    @property
    def mean(self) -> FloatArray:
        """E[Φ]."""
        return np.asarray(np.einsum("c,cij->ij", self.weights, self.maps))

    def back(self, Q: FloatArray) -> FloatArray:
        """E[Φ'QΦ]."""
        return np.asarray(np.einsum("c,cki,kl,clj->ij", self.weights, self.maps, Q, self.maps))

    def forth(self, P: FloatArray) -> FloatArray:
        """E[ΦPΦ']."""
        half = self.weights[:, None, None] * (self.maps @ P)
        return np.asarray(np.tensordot(half, self.maps, axes=([0, 2], [0, 2])))


def case_maps(
    person: Person,
    world: World,
    shown: tuple[int, ...],
    price: float,
    start: Sequence[int] | None,
    points: int,
    played: int,
) -> CaseMaps:
    """Maps of a set for a person who has had `played` rounds with it."""
    rows, truth, sigma = list(shown), world.coefficients, world.covariance
    k, n = len(rows), world.size
    omega = person.imputing_covariance(world)
    rules = [_normal_rule(each) for each in [points] * k + [min(points, _FEW)]]
    grid = np.array(np.meshgrid(*[x for x, _ in rules], indexing="ij")).reshape(k + 1, -1).T
    chances = np.meshgrid(*[weights for _, weights in rules], indexing="ij")
    chance = np.array(chances).reshape(k + 1, -1).prod(0)
    block = sigma[np.ix_(rows, rows)]
    slopes = np.linalg.solve(block, sigma[rows] @ truth)
    rest = world.noise_variance + truth @ sigma @ truth - slopes @ block @ slopes
    results = grid[:, :k] @ np.linalg.cholesky(block).T
    outcome = results @ slopes + math.sqrt(max(float(rest), 0.0)) * grid[:, k]
    filled = results @ np.linalg.solve(omega[np.ix_(rows, rows)], omega[rows])
    filled[:, rows] = results
    mask = np.zeros((chance.size, n), dtype=np.bool_)
    mask[:, rows] = True
    state = person.fresh(world, (chance.size,), start)
    for _ in range(played):
        state = person.learn(world, state, filled, mask, outcome)
    turn, push = person.moves(world, state, filled, mask, outcome)
    maps = np.zeros((chance.size, n + 1, n + 1))
    maps[:, :n, :n] = turn
    maps[:, :n, n] = truth - turn @ truth - push
    maps[:, n, n] = 1.0
    # The surprise is e·x̂ plus the error of the true weights.
    surprise = np.column_stack([filled, outcome - filled @ truth])
    charge = np.einsum("c,ci,cj->ij", chance, surprise, surprise)
    charge[n, n] += price
    return CaseMaps(charge, maps, chance)


def _normal_rule(points: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for a standard normal."""
    if points <= _FEW:
        places, weights = np.polynomial.hermite_e.hermegauss(points)
    else:
        places = np.linspace(-_REACH, _REACH, points)
        weights = np.exp(-0.5 * places**2)
    return places, weights / weights.sum()


def same_moments(one: CaseMaps, other: CaseMaps) -> bool:
    """Whether two averages agree on first and second moments of the map."""
    n = one.charge.shape[0]
    probes = np.random.default_rng(0).standard_normal((3, n, n))
    pairs = [(one.mean, other.mean)]
    pairs += [(one.forth(probe + probe.T), other.forth(probe + probe.T)) for probe in probes]
    return all(np.abs(a - b).max() <= ROUNDING * max(np.abs(a).max(), 1.0) for a, b in pairs)
