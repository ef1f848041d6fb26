"""Expected losses of a Bayesian learner, approximated by a damped recursion of averages.

Given the cases, a Bayesian's weights are known; averaged over cases there is no finite closed
recursion, because the precision depends on the results observed. Planning uses one *average* case
at a time. With M the second moment of the imputed results, C the posterior covariance, and
s = noise + damping · tr(M C), a case adds M/s to the precision, and M/s² times r2 + damping ·
(loss - r2) to the noise, where r2 is the residual variance under the best weights. With damping 0
every case counts in full, as if weights never followed chance (too good: a case informs about one
direction, not about a share of all of them); with 1 it counts too little at first.

Given C's path all losses are linear in second moments of the error, so their adjoint is exact;
the effect of a change on later gains is priced to first order (`exact_prices` is false).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import positions_of
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.first_order_walk import Stepwise
from preceptor.people.set_readings import set_readings

if TYPE_CHECKING:
    from preceptor.people.outcome_learners import Bayesian

DAMPING = 0.3


class BayesianExpectation(Stepwise):
    """Expected losses of a Bayesian, by a recursion of averages with damping 0.3.

    Parameters
    ----------
    person
        Prior, assumed noise, assumed drift, and imputation.
    world
        Model of tests and outcomes.
    sets
        Sets of tests that may be shown.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> from preceptor.people.outcome_learners import Bayesian
    >>> person = Bayesian([0.2, 1.3], prior_variance=1.0, noise_variance=0.3)
    >>> sets = pr.Exactly(1).sets(2)
    >>> BayesianExpectation(person, world, sets).losses([0, 0, 1]).round(3).tolist()
    [0.391, 0.375, 0.499]
    """

    exact: bool = False
    accuracy: str = (
        "Expected losses of a Bayesian are approximate, and mostly too low: over 60 random "
        "problems, totals were between 56% below and 13% above those of a simulated crowd, four in "
        "five of them between 15% below and correct, half of them at least 2.6% below. They were "
        "lowest where there are few cases and the person assumes little noise."
    )

    def __init__(self, person: Bayesian, world: World, sets: SetFamily) -> None:
        self.sets = sets
        self._omega = omega = np.array(person.imputing_covariance(world))
        error = np.append(omega @ (world.coefficients - person.initial), 1.0)
        prior = omega @ person.prior_covariance @ omega
        self.start = np.concatenate([prior.ravel(), np.outer(error, error).ravel()])
        read = set_readings(world, omega, sets)
        self._residual = read.residual
        # What kernels take, named as there: members, sizes, B, G, c, r2, noise, damping.
        G = _symmetric(read.solved @ read.variance @ read.solved)
        blocks = omega[read.members[:, :, None], read.members[:, None, :]]
        beyond = np.eye(G.shape[1]) * (np.arange(G.shape[1]) >= sets.sizes[:, None])[:, :, None]
        self._numbers = (
            read.members, sets.sizes, _symmetric(np.linalg.inv(G + beyond) - beyond), G,
            np.einsum("mij,mj->mi", blocks, read.offset), read.residual, person.noise_variance,
            DAMPING,
        )  # fmt: skip
        self._drift: FloatArray = person.drift * omega @ omega

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """True minus expected weights before each round, shape (rounds, n)."""
        _, states = self.play(self.start, positions_of(schedule), 0)
        # States hold Ω x errors, not errors.
        scaled = np.array([self._parts(state)[1][:-1, -1] for state in states[:-1]])
        return np.asarray(np.linalg.solve(self._omega, scaled.reshape(-1, len(self._omega)).T).T)

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included."""
        return np.asarray(self._residual + self.sets.prices)

    def _parts(self, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Split a state into C and P, or an adjoint into Y and Q."""
        n = len(self._omega)
        return state[: n * n].reshape(n, n), state[n * n :].reshape(n + 1, n + 1)

    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in losses and states along a path."""
        from preceptor.people._bayesian_kernels import forward

        forward(states, path, self.sets.prices, losses, *self._numbers, self._drift)

    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in gradients of the remaining cost at every state of a path."""
        from preceptor.people._bayesian_kernels import backward

        backward(states, path, adjoints, discount, *self._numbers, self._drift)

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return each set's loss plus its effect on later rounds, relative to the present set."""
        from preceptor.people._bayesian_kernels import prices

        C, P = self._parts(state)
        Y, Q = self._parts(adjoint)
        _, states = self.play(state, positions[-1:], t)
        A = self._parts(states[-1])[0] - self._drift  # before the drift of this round
        QC = Q[:, :-1] @ C
        products = C @ QC[:-1], P @ QC, C @ Y @ C, A @ Y @ A
        out = np.empty(positions.size)
        prices(C, P, positions[-1], positions, *products, *self._numbers, discount, out)
        return out + self.sets.prices[positions]


def _symmetric(matrices: FloatArray) -> FloatArray:
    return np.asarray((matrices + np.swapaxes(matrices, -1, -2)) / 2)
