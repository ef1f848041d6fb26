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

import math
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple, Protocol

import numpy as np

from preceptor._base.discounting import discounted_sum, weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.expected import Tail

DAMPING = 0.3
# A tail is played until what is left of it weighs less than this share of all rounds...
_NEGLIGIBLE = 1e-9
# ... but never for more rounds than so many; from then on its last pass repeats itself.
_LONGEST_TAIL = 3000


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


class BayesianExpectation:
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
    exact_prices: bool = False
    accuracy: str = (
        "What a Bayesian costs is approximate, and mostly too low: over 60 random problems, totals "
        "were between 56% below and 13% above those of a simulated crowd, four in five of them "
        "between 15% below and right, half of them at least 2.6% below. They were lowest where "
        "cases are few and the person expects outcomes to scatter little."
    )

    def __init__(
        self, person: Inferring, world: World, sets: SetFamily, drift: float = 0.0
    ) -> None:
        self._omega = omega = person.imputing_covariance(world)
        error = np.append(omega @ (world.coefficients - person.initial), 1.0)
        self._unsure = unsure_of_cases(person, omega)  # (n, n)
        self._moments = np.outer(error, error)  # (N, N)
        self._sets = bayesian_sets(world, omega, sets)
        self._prices = sets.prices
        self._wander: FloatArray = drift * omega @ omega
        self._numbers = (float(person.noise_variance), DAMPING)

    def with_spread(self, covariance: FloatArray) -> BayesianExpectation:
        """The same person; their errors begin with a second moment that has this on top."""
        wider = copy(self)
        wider._moments = self._moments.copy()
        wider._moments[:-1, :-1] += self._omega @ covariance @ self._omega
        return wider

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Expected loss of each round."""
        return self._play(self._unsure.copy(), self._moments.copy(), _positions(schedule))

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus expected weight before each round, shape (rounds, n)."""
        path = _positions(schedule)
        unsure, moments = self._unsure.copy(), self._moments.copy()
        seen = np.empty((path.size, self._omega.shape[0]))
        for t in range(path.size):
            seen[t] = moments[:-1, -1]
            self._play(unsure, moments, path[t : t + 1])
        # What is kept are errors of what tests say (Ω e), not of weights.
        return np.asarray(np.linalg.solve(self._omega, seen.T).T)

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted loss of a schedule and its tail."""
        state = self._unsure.copy(), self._moments.copy()
        return self._to_the_end(*state, _positions(schedule), discount, tail)

    def walk(self, rounds: int, discount: float) -> BayesianWalk:
        """Room for schedules of so many rounds."""
        return BayesianWalk(self, rounds, discount)

    def floors(self) -> FloatArray:
        """What the best weights would cost with each set, price included, shape (sets,)."""
        return np.asarray(self._sets.r2 + self._prices)

    def _play(self, unsure: FloatArray, moments: FloatArray, schedule: IntArray) -> FloatArray:
        """Losses, prices included; the state moves on in place."""
        from preceptor.people._bayesian_kernels import replay

        errors = np.empty(schedule.size)
        replay(unsure, moments, schedule, *self._sets, *self._numbers, self._wander, errors)
        return np.asarray(errors + self._prices[schedule])

    def _to_the_end(
        self, unsure: FloatArray, moments: FloatArray, now: IntArray, discount: float, tail: Tail
    ) -> float:
        """Total of some rounds and a tail after them, from a state that moves on in place."""
        if tail and discount >= 1.0:
            return math.inf
        played = np.concatenate([now, played_tail(tail, discount)])
        losses = self._play(unsure, moments, played)
        return discounted_sum(losses * counted_times(played.size, discount, tail), discount)


class BayesianWalk:
    """One schedule of a Bayesian on which changes are priced.

    Made by `BayesianExpectation.walk`. States of all rounds are kept, the tail's included. When
    another set than the laid one is taken in, everything after it is played again, so prices are
    always first order around the schedule as it stands.
    """

    def __init__(self, expected: BayesianExpectation, rounds: int, discount: float) -> None:
        self._expected, self._rounds, self._discount = expected, rounds, discount
        self._played: IntArray
        self._errors: FloatArray  # (rounds,), expected squared errors, without prices
        self._times: FloatArray
        self._so_far: FloatArray  # (rounds + 1,), costs of all rounds before each
        self._prices_so_far: FloatArray  # (rounds + 1,), what prices have in these
        self._unsure: FloatArray  # (rounds + 1, n, n), C of the kernels
        self._moments: FloatArray  # (rounds + 1, N, N), P of the kernels
        self._on_unsure: FloatArray  # (n, n), Y
        self._on_moments: FloatArray  # (N, N), Q
        self._tail: Tail = ()
        self._changed = 0  # the first round that may differ from what was laid
        self._make_room(_positions([0] * rounds))

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward."""
        if tail and self._discount >= 1.0:
            return math.inf
        since, self._changed = min(since, self._changed), self._rounds
        ahead = played_tail(tail, self._discount)
        if self._rounds + ahead.size != self._played.size:
            kept = self._unsure[: since + 1].copy(), self._moments[: since + 1].copy()
            earlier = self._errors[:since].copy()
            self._make_room(np.concatenate([_positions(schedule), ahead]))
            self._unsure[: since + 1], self._moments[: since + 1] = kept
            self._errors[:since] = earlier
        self._tail = tail
        self._played[since : self._rounds] = schedule[since:]
        self._played[self._rounds :] = ahead
        self._times = counted_times(self._played.size, self._discount, tail)
        self._forward(since)
        self._backward(self._rounds)
        return self._before(self._played.size)

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """What the whole schedule costs with each of these sets in round t, to first order."""
        from preceptor.people._bayesian_kernels import prices

        C, P = self._unsure[t], self._moments[t]
        A = self._unsure[t + 1] - self._expected._wander  # before weights wander again
        Q, Y = self._on_moments, self._on_unsure
        QC = Q[:, :-1] @ C
        after = float(np.vdot(Q, P) + 0.5 * np.vdot(Y, C - A))
        products = C @ QC[:-1], P @ QC, C @ Y @ C, A @ Y @ A, after
        answers = np.empty(len(positions))
        expected = self._expected
        prices(
            C, P, self._played[t], _positions(positions), *products, *expected._sets,
            *expected._numbers, self._discount, answers,
        )  # fmt: skip
        # The kernel knows squared errors only.
        later = self._prices_so_far[-1] - self._prices_so_far[t + 1]
        answers += expected._prices[positions]
        return np.asarray(self._before(t) + self._discount**t * answers + later)

    def back(self, t: int, position: int) -> None:
        """Take in what is shown in round t."""
        if self._played[t] == position:
            self._backward(t, t + 1)
            return
        self._played[t] = position
        self._changed = min(self._changed, t)
        self._forward(t)
        self._backward(t)

    def block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs with these sets from round t on, by playing it."""
        now = self._played[t : self._rounds].copy()
        now[: len(positions)] = positions
        state = self._unsure[t].copy(), self._moments[t].copy()
        rest = self._expected._to_the_end(*state, now, self._discount, self._tail)
        return self._before(t) + self._discount**t * rest

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the laid schedule costs with each of these tails."""
        none = _positions([])
        ends = [(self._unsure[self._rounds].copy(), self._moments[self._rounds].copy())
                for _ in tails]  # fmt: skip
        rest = [
            self._expected._to_the_end(*end, none, self._discount, tail)
            for end, tail in zip(ends, tails, strict=True)
        ]
        return self._before(self._rounds) + self._discount**self._rounds * np.array(rest)

    def _make_room(self, played: IntArray) -> None:
        n = self._expected._unsure.shape[0]
        self._played = played
        self._errors = np.zeros(played.size)
        self._times = np.ones(played.size)
        self._unsure = np.empty((played.size + 1, n, n))
        self._moments = np.empty((played.size + 1, n + 1, n + 1))
        self._unsure[0], self._moments[0] = self._expected._unsure, self._expected._moments

    def _forward(self, since: int) -> None:
        from preceptor.people._bayesian_kernels import forward

        expected = self._expected
        forward(
            self._unsure, self._moments, self._played, since, *expected._sets,
            *expected._numbers, expected._wander, self._errors,
        )  # fmt: skip
        counted = self._times * weights(self._discount, self._played.size)
        prices = expected._prices[self._played] * counted
        self._prices_so_far = np.append(0.0, np.cumsum(prices))
        self._so_far = np.append(0.0, np.cumsum(self._errors * counted + prices))

    def _backward(self, first: int, after: int | None = None) -> None:
        """Derivatives of all that comes from round `first` on; from those at `after` if given."""
        from preceptor.people._bayesian_kernels import backward

        if after is None:
            n = self._unsure.shape[1]
            self._on_moments, self._on_unsure = np.zeros((n + 1, n + 1)), np.zeros((n, n))
            after = self._played.size
        expected = self._expected
        backward(
            self._unsure, self._moments, self._played[:after], first, self._on_moments,
            self._on_unsure, *expected._sets, *expected._numbers, self._discount, self._times,
        )  # fmt: skip

    def _before(self, t: int) -> float:
        return float(self._so_far[t])


def played_tail(tail: Tail, discount: float) -> IntArray:
    """Rounds of a tail that are played one by one, in whole passes."""
    if not tail or discount >= 1.0:
        return _positions([])
    rounds = 1.0 if discount <= 0.0 else math.log(_NEGLIGIBLE) / math.log(discount)
    passes = math.ceil(min(max(rounds, 1.0), _LONGEST_TAIL) / len(tail))
    return np.tile(_positions(tail), passes)


def counted_times(rounds: int, discount: float, tail: Tail) -> FloatArray:
    """How often each loss counts: once, but the last pass of a tail goes on forever."""
    times = np.ones(rounds)
    if tail:
        times[rounds - len(tail) :] = 1.0 / (1.0 - discount ** len(tail))
    return times


def _positions(schedule: Sequence[int] | IntArray) -> IntArray:
    return np.asarray(schedule, dtype=np.int64)


def bayesian_sets(world: World, omega: FloatArray, sets: SetFamily) -> BayesianSets:
    """What the kernels must know of every set, for somebody who fills in from `omega`."""
    sigma, truth = world.covariance, world.coefficients
    with_outcome, believed = sigma @ truth, omega @ truth
    count, widest = sets.members.shape
    B, G = np.zeros((count, widest, widest)), np.zeros((count, widest, widest))
    c, r2 = np.zeros((count, widest)), np.full(count, world.outcome_variance)
    for k in np.unique(sets.sizes[sets.sizes > 0]):
        which = np.flatnonzero(sets.sizes == k)
        rows = sets.members[which, :k]
        block = rows[:, :, None], rows[:, None, :]
        V, filling = sigma[block], omega[block]
        best = np.linalg.solve(V, with_outcome[rows][..., None])  # the regression on S
        B[which, :k, :k] = _symmetric(filling @ np.linalg.solve(V, filling))
        G[which, :k, :k] = _symmetric(np.asarray(np.linalg.inv(B[which, :k, :k]), dtype=np.float64))
        c[which, :k] = (filling @ best)[..., 0] - believed[rows]
        r2[which] -= np.sum(with_outcome[rows] * best[..., 0], axis=1)
    return BayesianSets(
        _positions(sets.members), _positions(sets.sizes), B, G, c, np.maximum(r2, 0.0)
    )


def unsure_of_cases(person: Inferring, omega: FloatArray) -> FloatArray:
    """What somebody is unsure of as kernels take it: ΩCΩ, shape (n, n)."""
    prior = person.prior_variance
    unsure: FloatArray = (omega * prior if prior.ndim == 1 else omega @ prior) @ omega
    return unsure


def _symmetric(matrices: FloatArray) -> FloatArray:
    half: FloatArray = (matrices + np.swapaxes(matrices, -1, -2)) / 2
    return half
