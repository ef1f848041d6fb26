"""What is expected of a Bayesian, approximately: a damped recursion of averages.

Given the cases, a Bayesian's weights are known; averaged over cases there is no finite closed
recursion, because the precision depends on which results came up. Planning takes one *average*
case at a time. With M the second moment of what the person has in mind, C their uncertainty, and
s = noise + damping · tr(M C), it adds M/s to the precision, and M/s² times r2 + damping ·
(loss - r2) to the noise, r2 being what the best weights would still miss. With damping 0 every
case counts in full, as if weights never followed chance (too good: a case settles one direction,
not a share of all of them); with 1 it counts too little at first.

Given C's path all losses are linear in second moments of the error, so their adjoint is exact;
what a change does to later gains is priced to first order (`exact_prices` is false).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple, Protocol

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.expected import positions_of
from preceptor.people.first_order_walk import Stepwise
from preceptor.people.set_readings import readings_of

DAMPING = 0.3


class Inferring(Protocol):
    """What must be known of a Bayesian: the fields of `Bayesian`."""

    @property
    def initial(self) -> FloatArray:
        """Weights at first, shape (n,)."""

    @property
    def prior_variance(self) -> FloatArray:
        """How unsure they are of each weight (n,), or a covariance (n, n); 0 never moves."""

    @property
    def noise_variance(self) -> float:
        """How far outcomes scatter, they think, around what they would predict."""

    def imputing_covariance(self, world: World) -> FloatArray:
        """The covariance from which they fill in, shape (n, n)."""


class BayesianSets(NamedTuple):
    """All sets as the kernels take them; letters as in `_bayesian_kernels`."""

    members: IntArray  # (sets, widest)
    sizes: IntArray  # (sets,)
    B: FloatArray  # (sets, widest, widest)
    G: FloatArray  # (sets, widest, widest)
    c: FloatArray  # (sets, widest)
    r2: FloatArray  # (sets,)


class BayesianExpectation(Stepwise):
    """Expected losses of a Bayesian, by a recursion of averages with damping 0.3.

    Parameters
    ----------
    person
        First beliefs, how unsure of them, expected scatter, and imputation.
    world
        How tests and outcomes come about.
    sets
        What may be shown.
    drift
        Variance by which weights wander in a round, they think.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> from preceptor.people.bayesian import Bayesian
    >>> person = Bayesian([0.2, 1.3], prior_variance=1.0, noise_variance=0.3)
    >>> sets = pr.Exactly(1).sets(2)
    >>> BayesianExpectation(person, world, sets).losses([0, 0, 1]).round(3).tolist()
    [0.391, 0.375, 0.499]
    """

    exact: bool = False
    accuracy: str = (
        "What a Bayesian costs is approximate, and mostly too low: over 60 random problems, totals "
        "were between 56% below and 13% above those of a simulated crowd, four in five of them "
        "between 15% below and right, half of them at least 2.6% below. They were lowest where "
        "cases are few and the person expects outcomes to scatter little."
    )

    def __init__(
        self, person: Inferring, world: World, sets: SetFamily, drift: float = 0.0
    ) -> None:
        self.sets = sets
        self._omega = omega = np.array(person.imputing_covariance(world))
        error = np.append(omega @ (world.coefficients - person.initial), 1.0)
        unsure = unsure_of_cases(person, omega)
        self.start = np.concatenate([unsure.ravel(), np.outer(error, error).ravel()])
        self._numbers = (*bayesian_sets(world, omega, sets), float(person.noise_variance), DAMPING)
        self._wander: FloatArray = drift * omega @ omega

    def with_spread(self, covariance: FloatArray) -> BayesianExpectation:
        """The same person; their errors begin with a second moment that has this on top."""
        wider = copy(self)
        wider.start = self.start.copy()
        _, moments = self._parts(wider.start)
        moments[:-1, :-1] += self._omega @ covariance @ self._omega
        return wider

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus expected weight before each round, shape (rounds, n)."""
        _, states = self.play(self.start, positions_of(schedule), 0)
        seen = np.array([self._parts(state)[1][:-1, -1] for state in states[:-1]])
        # What is kept are errors of what tests say (Ω e), not of weights.
        return np.asarray(np.linalg.solve(self._omega, seen.reshape(-1, len(self._omega)).T).T)

    def floors(self) -> FloatArray:
        """What is left of each set's loss when nothing more can be learned."""
        sets = BayesianSets(*self._numbers[:-2])
        return np.asarray(sets.r2 + self.sets.prices)

    def _parts(self, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        """C and P of a state, or Y and Q of an adjoint."""
        n = len(self._omega)
        return state[: n * n].reshape(n, n), state[n * n :].reshape(n + 1, n + 1)

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path, and the states before each round and after the last."""
        from preceptor.people._bayesian_kernels import forward

        states, losses = np.empty((path.size + 1, state.size)), np.empty(path.size)
        states[0] = state
        forward(states, path, self.sets.prices, losses, *self._numbers, self._wander)
        return losses, states

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """Slopes of what is left of the cost at every state of a path, given those at the last."""
        from preceptor.people._bayesian_kernels import backward

        out = np.empty((path.size + 1, end.size))
        out[-1] = end
        backward(states, path, out, discount, *self._numbers, self._wander)
        return out

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Losses, and how far what is to come differs from that with the set that is laid."""
        from preceptor.people._bayesian_kernels import prices

        C, P = self._parts(state)
        Y, Q = self._parts(adjoint)
        _, states = self.play(state, positions[-1:], t)
        A = self._parts(states[-1])[0] - self._wander  # before weights wander again
        QC = Q[:, :-1] @ C
        products = C @ QC[:-1], P @ QC, C @ Y @ C, A @ Y @ A
        out = np.empty(positions.size)
        prices(C, P, positions[-1], positions, *products, *self._numbers, discount, out)
        return out + self.sets.prices[positions]


def bayesian_sets(world: World, omega: FloatArray, sets: SetFamily) -> BayesianSets:
    """What the kernels read of every set.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    omega
        The covariance from which the person fills in, shape (n, n).
    sets
        What may be shown.

    Returns
    -------
    BayesianSets
        Arrays padded to the widest set.
    """
    read = readings_of(world, omega, sets)
    G = _symmetric(read.solved @ read.variance @ read.solved)
    filling = omega[read.members[:, :, None], read.members[:, None, :]]
    c = np.einsum("mij,mj->mi", filling, read.offset)
    beyond = np.eye(G.shape[1]) * (np.arange(G.shape[1]) >= sets.sizes[:, None])[:, :, None]
    B = _symmetric(np.asarray(np.linalg.inv(G + beyond) - beyond))
    return BayesianSets(read.members, sets.sizes, B, G, c, read.residual)


def unsure_of_cases(person: Inferring, omega: FloatArray) -> FloatArray:
    """What somebody is unsure of as kernels take it: ΩCΩ, shape (n, n)."""
    prior = person.prior_variance
    unsure: FloatArray = (omega * prior if prior.ndim == 1 else omega @ prior) @ omega
    return unsure


def _symmetric(matrices: FloatArray) -> FloatArray:
    half: FloatArray = (matrices + np.swapaxes(matrices, -1, -2)) / 2
    return half
