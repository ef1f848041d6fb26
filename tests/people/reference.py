"""What is expected of linear people, slowly: every map is a dense matrix, every price a replay.

Nothing here is shared with the package's kernels. A person's round with a set is written down as
the table of the second-moment recursion has it (B, K, M, N2), and turned into one matrix that acts
on all entries of P = E[gg'], g = (errors, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Matrix = Any


@dataclass
class Round:
    """One round with one set: the loss is `loss` . p, then p becomes `step` @ p."""

    loss: Matrix
    step: Matrix


@dataclass
class Setting:
    """What all linear people need to know of a world, for one set that is shown."""

    shown: list[int]
    a: Matrix  # truth (n,)
    V: Matrix  # covariance of what is shown (k, k)
    F: Matrix  # how hidden tests are filled in (k, n)
    U: Matrix  # surprise = U g . x + rest (k, n + 1)
    r2: float  # variance of the rest
    M: Matrix  # part of the covariance that the shown tests explain (n, n)
    sigma: Matrix

    @property
    def rows(self) -> Matrix:
        """Unit columns of the shown tests (n, k)."""
        return np.eye(len(self.a))[:, self.shown]


def settings(
    coefficients: Matrix,
    covariance: Matrix,
    noise: float,
    sets: Iterable[Sequence[int]],
    ignored: float = 0.0,
) -> list[Setting]:
    """One for each set; `ignored` is the share of the correlation that people leave out."""
    a, sigma = np.asarray(coefficients, float), np.asarray(covariance, float)
    omega = (1 - ignored) * sigma + ignored * np.diag(np.diag(sigma))
    made = []
    for members in sets:
        shown = list(members)
        V = sigma[np.ix_(shown, shown)]
        F = np.linalg.solve(omega[np.ix_(shown, shown)], omega[shown])
        beta = np.linalg.solve(V, sigma[shown] @ a)
        M = sigma[:, shown] @ np.linalg.solve(V, sigma[shown])
        U = np.column_stack([F, beta - F @ a])
        made.append(Setting(shown, a, V, F, U, noise + a @ (sigma - M) @ a, M, sigma))
    return made


def round_of(s: Setting, B: Matrix, K: Matrix, M: Callable[[Matrix], Matrix], N2: Matrix) -> Round:
    """P' = APA' + B (M[UPU'] + N2) B', A = I - BK, as a matrix on the entries of P."""
    n = len(s.a)
    wide = np.vstack([B, np.zeros((1, B.shape[1]))])
    A = np.eye(n + 1) - wide @ K
    size = (n + 1) ** 2
    step = np.zeros((size, size))
    for j in range(size):
        P = np.zeros(size)
        P[j] = 1.0
        P = P.reshape(n + 1, n + 1)
        new = A @ P @ A.T + wide @ (M(s.U @ P @ s.U.T) + N2 * P[n, n]) @ wide.T
        step[:, j] = new.ravel()
    loss = s.U.T @ s.V @ s.U
    loss[n, n] += s.r2
    return Round(loss.ravel(), step)


def nothing(W: Matrix) -> Matrix:
    """No noise in the step."""
    return np.zeros_like(W)


def paper(s: Setting, ratio: float) -> Round:
    """Shown errors become `ratio` times themselves."""
    k = len(s.shown)
    K = (1 - ratio) * np.column_stack([s.rows.T, np.zeros(k)])
    return round_of(s, s.rows, K, nothing, np.zeros((k, k)))


def delta_rule(s: Setting, rate: float, all_weights: bool = False) -> Round:
    """Weights move by rate x surprise x result."""
    V = s.V

    def noise(W: Matrix) -> Matrix:
        return rate**2 * (V @ W @ V + np.trace(V @ W) * V)

    B = s.F.T if all_weights else s.rows
    return round_of(s, B, rate * V @ s.U, noise, rate**2 * s.r2 * V)


def folding(s: Setting, ratio: float, share: float) -> Round:
    """Shown weights move towards the truth plus a share of what hidden errors project on them."""
    k = len(s.shown)
    own = np.column_stack([s.rows.T, np.zeros(k)])
    K = (1 - ratio) * (own + share * (s.U - own))
    return round_of(s, s.rows, K, nothing, np.zeros((k, k)))


def indirect(s: Setting, ratio: float, share: float) -> Round:
    """A hidden weight learns too, at a share of what the shown tests tell of its variance."""
    n = len(s.a)
    times = share * np.diag(s.M) / np.diag(s.sigma)
    times[s.shown] = 1.0
    K = np.column_stack([np.diag(1 - ratio**times), np.zeros(n)])
    return round_of(s, np.eye(n), K, lambda W: np.zeros((n, n)), np.zeros((n, n)))


def drifting(s: Setting, ratio: float, share: float, e0: Matrix) -> Round:
    """Hidden weights go back to the first beliefs by a share."""
    n = len(s.a)
    K = np.zeros((n, n + 1))
    for i in range(n):
        if i in s.shown:
            K[i, i] = 1 - ratio
        else:
            K[i, i], K[i, n] = share, -share * e0[i]
    return round_of(s, np.eye(n), K, lambda W: np.zeros((n, n)), np.zeros((n, n)))


class Reference:
    """An `Expected` made of rounds."""

    exact = True
    exact_prices = True
    accuracy = ""

    def __init__(self, rounds: Sequence[Round], errors: Matrix, floors: Matrix = None) -> None:
        self.rounds = list(rounds)
        g = np.append(np.asarray(errors, float), 1.0)
        self.start = np.outer(g, g).ravel()
        self._floors = floors

    def losses(self, schedule: Any) -> Matrix:
        p, losses = self.start, []
        for s in schedule:
            losses.append(self.rounds[s].loss @ p)
            p = self.rounds[s].step @ p
        return np.array(losses)

    def total(self, schedule: Any, discount: float, tail: tuple[int, ...]) -> float:
        p, cost, weight = self.start, 0.0, 1.0
        for s in schedule:
            cost += weight * (self.rounds[s].loss @ p)
            p, weight = self.rounds[s].step @ p, weight * discount
        return float(cost + weight * self.tail_cost(p, discount, tail))

    def tail_cost(self, p: Matrix, discount: float, tail: tuple[int, ...]) -> float:
        """A word forever, by one linear system for the discounted sum of all its starts."""
        if not tail:
            return 0.0
        size = p.size
        word, once, weight = np.eye(size), np.zeros(size), 1.0
        for s in tail:
            once = once + weight * (self.rounds[s].loss @ word)
            word, weight = self.rounds[s].step @ word, weight * discount
        if weight * max(abs(np.linalg.eigvals(word))) >= 1:
            return np.inf
        return float(once @ np.linalg.solve(np.eye(size) - weight * word, p))

    def walk(self, rounds: int, discount: float) -> ReferenceWalk:
        return ReferenceWalk(self, rounds, discount)

    def floors(self) -> Matrix:
        return np.zeros(len(self.rounds)) if self._floors is None else self._floors


class ReferenceWalk:
    """A walk that plays the whole schedule again for every price, and refuses to be misused."""

    def __init__(self, person: Any, rounds: int, discount: float) -> None:
        self.person, self.rounds, self.discount = person, rounds, discount
        self.laid: list[int] = []
        self.after: list[int] = []
        self.tail: tuple[int, ...] = ()
        self.at = -1

    def _total(self, schedule: Any) -> float:
        return self.person.total([int(s) for s in schedule], self.discount, self.tail)

    def forward(self, schedule: Any, tail: tuple[int, ...], since: int = 0) -> float:
        new = [int(s) for s in schedule]
        assert len(new) == self.rounds
        assert new[:since] == self.laid[:since], "rounds before `since` have changed"
        self.laid, self.tail = new, tuple(tail)
        self.after, self.at = [], self.rounds
        return self._total(new)

    def prices(self, t: int, positions: Any) -> Matrix:
        assert t == self.at - 1, (t, self.at)
        return np.array([self._total([*self.laid[:t], s, *self.after]) for s in positions])

    def step_back(self, t: int, position: int) -> None:
        assert t == self.at - 1, (t, self.at)
        self.after.insert(0, int(position))
        self.at = t

    def replace_block(self, t: int, positions: Any) -> float:
        assert t + len(positions) == self.at, (t, len(positions), self.at)
        return self._total([*self.laid[:t], *positions, *self.after])

    def tails(self, tails: Any) -> Matrix:
        return np.array([self.person.total(self.laid, self.discount, tuple(t)) for t in tails])


class Rough(Reference):
    """The same person, whose prices miss up to a share of every change."""

    exact_prices = False

    def __init__(self, person: Reference, share: float = 0.3, seed: int = 0) -> None:
        self.rounds, self.start, self._floors = person.rounds, person.start, None
        self.share, self.rng = share, np.random.default_rng(seed)

    def walk(self, rounds: int, discount: float) -> ReferenceWalk:
        return RoughWalk(self, rounds, discount)


class RoughWalk(ReferenceWalk):
    """Prices with an error in proportion to the change."""

    def prices(self, t: int, positions: Any) -> Matrix:
        right = super().prices(t, positions)
        now = self._total([*self.laid[: t + 1], *self.after])
        wrong = 1 + self.person.share * self.person.rng.uniform(-1, 1, right.size)
        return now + wrong * (right - now)


def all_costs(person: Reference, rounds: int, discount: float) -> Matrix:
    """Cost of every schedule, in the order of `itertools.product`, shape (sets ** rounds,)."""
    states, costs, weight = person.start[None, :], np.zeros(1), 1.0
    losses = np.array([r.loss for r in person.rounds])
    steps = np.array([r.step for r in person.rounds])
    for _ in range(rounds):
        costs = (costs[:, None] + weight * states @ losses.T).ravel()
        states = np.einsum("sij,pj->psi", steps, states).reshape(costs.size, -1)
        weight *= discount
    return costs


def draw(seed: int, tests: int = 3) -> tuple[Matrix, Matrix, Matrix]:
    """Truth, first beliefs and a covariance."""
    rng = np.random.default_rng(seed)
    truth, beliefs = rng.random(tests), rng.random(tests)
    factor = rng.normal(size=(tests, 2 * tests)) + 0.8 * rng.normal(size=(1, 2 * tests))
    covariance = factor @ factor.T
    scale = np.sqrt(np.diag(covariance))
    return truth, beliefs, covariance / np.outer(scale, scale)


def cast(seed: int, sets: Sequence[Sequence[int]], tests: int = 3) -> dict[str, Reference]:
    """One of each linear kind in one world."""
    truth, beliefs, covariance = draw(seed, tests)
    e0 = truth - beliefs
    knows = settings(truth, covariance, 0.05, sets)
    ignores = settings(truth, covariance, 0.05, sets, ignored=1.0)
    half = settings(truth, covariance, 0.05, sets, ignored=0.5)
    kinds = {
        "paper": [paper(s, 1 / 1.3) for s in knows],
        "paper, ignores": [paper(s, 1 / 1.3) for s in ignores],
        "delta rule": [delta_rule(s, 0.15) for s in knows],
        "delta rule, ignores": [delta_rule(s, 0.15) for s in ignores],
        "delta rule, half": [delta_rule(s, 0.1) for s in half],
        "delta rule, all": [delta_rule(s, 0.1, all_weights=True) for s in knows],
        "folding": [folding(s, 1 / 1.3, 0.5) for s in knows],
        "folding fully": [folding(s, 1 / 1.3, 1.0) for s in knows],
        "indirect": [indirect(s, 1 / 1.3, 0.5) for s in knows],
        "drifting": [drifting(s, 1 / 1.3, 0.1, e0) for s in knows],
    }
    return {name: Reference(rounds, e0) for name, rounds in kinds.items()}
