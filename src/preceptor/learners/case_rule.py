"""The value of showing a set with the case in view: error now, and error alone afterwards.

The tutor chooses the set (in training: the case and the set) that minimises

    now + tau x E[ loss of the person alone, after this round ].

That is the exact optimum of "the assistant leaves after this case, and the person then decides tau
cases alone". Letters: Σ covariance of tests, a true weights, F (k, n) what the person reads into
the shown tests (identity on shown ones), w weights with posterior N(w̄, C). A person who is shown
set S a share ν_S of the time loses alone

    alone(w) = Σ ν_S E(y - x_S'F_S w)² = w'Hw - 2g'w + c,
    H = Σ ν_S F_S'Σ_SS F_S,  g = Σ ν_S F_S'(Σa)_S,  c = var y.

A surprise moves weights to w + B x (y - x'F w) / d(x) (`SurpriseStep`), so with ē = E y - x'u,
u = F w̄, p = B'(Hw̄ - g), Q = B'HB, G = F C F', T = B'HCF',

    E alone(w+) - E alone(w) = 2 ē p'x/d + (ē² + Var y + x'Gx) x'Qx/d² - 2 x'Tx/d.

If results are only partly known, x is normal given what is known, and fourth moments of normals
(Isserlis) give the same expectation in closed form where d = 1. With nothing known, the error now
is the paper's expected loss. Where outcomes are yes or no, alone is the expected log loss, replaced
by its second-order expansion at w̄, and the error now is the Brier score.

The level of people who learn it (`people/with_level.py`) is the weight of one more test that is
always shown and always 1. Its mean is 1 and its variance 0, so that the formulas for normal results
with a mean hold for it as they stand, and its second moment of 1 enters H.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor.model.person import Person, SurpriseStep
from preceptor.model.sets import SetFamily, Shown
from preceptor.model.world import World
from preceptor.people.with_level import with_one

# Draws over which prices are averaged where they have no closed form; half of them mirrored.
_DRAWS = 32
# Cases that stand for later ones where outcomes are yes or no.
_REFERENCES = 256


class Prices(NamedTuple):
    """For every case and set: expected error now, and expected change of the loss alone."""

    now: FloatArray  # (cases, sets)
    change: FloatArray  # (cases, sets)


@dataclass(frozen=True, eq=False)
class SetMaps:
    """How a person reads each set: F (sets, k, n), padded with zero rows to the largest set."""

    members: IntArray  # (sets, k)
    sizes: IntArray  # (sets,)
    inside: FloatArray  # (sets, k): 1 for members, 0 for padding
    reading: FloatArray  # (sets, k, n)

    @classmethod
    def of(cls, omega: FloatArray, sets: SetFamily) -> SetMaps:
        """Return the maps of a person who imputes hidden tests from the covariance `omega`."""
        widest = max(int(sets.sizes.max(initial=0)), 1)
        members = np.zeros((len(sets), widest), dtype=np.int64)
        members[:, : sets.members.shape[1]] = np.maximum(sets.members, 0)
        inside = np.arange(widest) < sets.sizes[:, None]
        both = inside[:, :, None] & inside[:, None, :]
        block = np.where(both, omega[members[:, :, None], members[:, None, :]], np.eye(widest))
        rows = np.where(inside[:, :, None], omega[members], 0.0)
        return cls(members, sets.sizes, inside.astype(np.float64), np.linalg.solve(block, rows))

    def block(self, matrix: FloatArray) -> FloatArray:
        """Rows and columns of each set (sets, k, k), 0 beyond its size."""
        whole = matrix[self.members[:, :, None], self.members[:, None, :]]
        blocks: FloatArray = whole * self.inside[:, :, None] * self.inside[:, None, :]
        return blocks

    def read(self, matrix: FloatArray) -> FloatArray:
        """F M (sets, k, n) for a matrix M (n, n): one large product instead of many small ones."""
        sets, k, n = self.reading.shape
        through: FloatArray = (self.reading.reshape(sets * k, n) @ matrix).reshape(sets, k, n)
        return through

    def entries(self, vector: FloatArray) -> FloatArray:
        """Entries (..., sets, k) of a vector (..., n), 0 beyond the size of a set."""
        picked: FloatArray = vector[..., self.members] * self.inside
        return picked


@dataclass(frozen=True, eq=False)
class AloneLoss:
    """Loss of a person without the assistant, w'Hw - 2g'w + c; a local expansion for yes/no."""

    hessian: FloatArray  # (n, n): H
    slope: FloatArray  # (n,): g
    constant: float

    def __call__(self, weights: FloatArray, covariance: FloatArray | float = 0.0) -> float:
        """Expected loss for weights with this mean and covariance."""
        quadratic = weights @ self.hessian @ weights - 2.0 * self.slope @ weights
        return float(quadratic + np.sum(self.hessian * covariance)) + self.constant

    @cached_property
    def best(self) -> float:
        """The least loss that any weights reach: an expert who reads the tests the same way."""
        weights = np.linalg.pinv(self.hessian) @ self.slope
        return self(weights)


def alone_loss(world: World, maps: SetMaps, shares: FloatArray) -> AloneLoss:
    """Return the quadratic loss of a person who is shown each set a share (sets,) of the time."""
    through = np.einsum("skl,sln->skn", maps.block(world.covariance), maps.reading)
    target = maps.entries(world.covariance @ world.coefficients)
    often = shares[:, None, None] * maps.reading
    return AloneLoss(
        np.tensordot(often, through, axes=((0, 1), (0, 1))),
        np.tensordot(often, target, axes=((0, 1), (0, 1))),
        world.outcome_variance,
    )


def alone_log_loss(
    world: World, maps: SetMaps, shares: FloatArray, weights: FloatArray
) -> AloneLoss:
    """Return the expansion at `weights` (n,) of the expected log loss of yes/no answers.

    Also at weights and level (n + 1,), where the maps have the constant as their last test.
    """
    assert world.outcome is not None
    link = world.outcome.from_score
    x = remembered(world, "reference cases", lambda: world.sample(_REFERENCES, rng=0).features)
    truth = link.probability(world.base_score + x @ world.coefficients)
    shown = maps.entries(x if weights.size == world.size else with_one(x))  # (cases, sets, k)
    score = world.base_score + np.einsum("csk,sk->cs", shown, maps.reading @ weights)
    answer = np.clip(link.probability(score), 1e-9, 1.0 - 1e-9)
    density = link.density(score)
    informative = density / (answer * (1.0 - answer))
    weight = shares / x.shape[0]
    error = (answer - truth[:, None]) * informative * weight
    pull = np.einsum("cs,csk->sk", error, shown)
    gradient = np.tensordot(pull, maps.reading, axes=((0, 1), (0, 1)))
    curvature = density * informative * weight
    outer = np.einsum("csk,csl->skl", curvature[:, :, None] * shown, shown)
    through = np.einsum("skl,sln->skn", outer, maps.reading)
    hessian = 0.5 * np.tensordot(maps.reading, through, axes=((0, 1), (0, 1)))
    lost = -truth[:, None] * np.log(answer) - (1.0 - truth[:, None]) * np.log1p(-answer)
    slope = hessian @ weights - 0.5 * gradient
    found = AloneLoss(hessian, slope, 0.0)
    return AloneLoss(hessian, slope, float(np.sum(lost * weight)) - found(weights))


class SurpriseTerms(NamedTuple):
    """Letters of the module for every set; what the kernel takes, in its order."""

    u: FloatArray  # (sets, k)
    G: FloatArray  # (sets, k, k)
    p: FloatArray  # (sets, k)
    Q: FloatArray  # (sets, k, k)
    T: FloatArray  # (sets, k, k)
    D: FloatArray  # (sets, k, k): d(x) = d0 + x'Dx
    d0: float


def surprise_terms(
    maps: SetMaps, alone: AloneLoss, step: SurpriseStep, mean: FloatArray, covariance: FloatArray
) -> SurpriseTerms:
    """Return the per-set arrays for weights N(mean, covariance)."""
    reading, hessian = maps.reading, alone.hessian
    slope, toward = hessian @ mean - alone.slope, hessian @ covariance
    normaliser = np.zeros((*maps.members.shape, maps.members.shape[1]))
    if step.covariance is None and not step.all_weights:  # B picks the shown weights
        rows = step.rate * maps.inside
        p = rows * slope[maps.members]
        Q = step.rate**2 * maps.block(hessian)
        T = _outer(rows[:, :, None] * toward[maps.members], reading)
    else:
        direction = np.eye(mean.size) if step.covariance is None else step.covariance
        direction = step.rate * direction
        p = reading @ (direction @ slope)
        Q = _outer(maps.read(direction @ hessian @ direction), reading)
        T = _outer(maps.read(direction @ toward), reading)
        if step.covariance is not None:
            normaliser = _outer(maps.read(direction), reading)
    G = _outer(maps.read(covariance), reading)
    return SurpriseTerms(reading @ mean, G, p, Q, T, normaliser, step.noise)


def _outer(left: FloatArray, right: FloatArray) -> FloatArray:
    """Products (sets, k, k) of all rows of a set: left, right (sets, k, n)."""
    product: FloatArray = np.einsum("skn,sln->skl", left, right)
    return product


class CaseKnowledge(NamedTuple):
    """What is known about one case: moments of its results (n,) and of its outcome (or score)."""

    mean: FloatArray  # (n,)
    covariance: FloatArray  # (n, n); 0 for known results
    outcome: float
    outcome_variance: float
    with_outcome: FloatArray  # (n,) covariance of results and outcome

    @classmethod
    def of(cls, world: World, results: FloatArray) -> CaseKnowledge:
        """Condition a world on the known results (n,) of a case; NaN where unknown."""
        known = np.flatnonzero(~np.isnan(results))
        sigma = world.covariance
        mean, covariance = np.zeros(world.size), sigma.copy()
        if known.size:
            gain = np.linalg.solve(sigma[np.ix_(known, known)], sigma[known]).T
            mean = gain @ results[known]
            covariance = sigma - gain @ sigma[known]
            mean[known] = results[known]
            covariance[known] = covariance[:, known] = 0.0
        with_outcome = covariance @ world.coefficients
        variance = float(world.coefficients @ with_outcome) + world.noise_variance
        return cls(mean, covariance, float(world.coefficients @ mean), variance, with_outcome)

    def with_constant(self) -> CaseKnowledge:
        """Return the same with a constant of 1 as one more test."""
        return self._replace(
            mean=np.append(self.mean, 1.0),
            covariance=np.pad(self.covariance, (0, 1)),
            with_outcome=np.append(self.with_outcome, 0.0),
        )

    def draws(self) -> FloatArray:
        """Complete results (draws, n) given what is known, in mirrored pairs; always the same."""
        half = np.random.default_rng(0).standard_normal((_DRAWS // 2, self.mean.size))
        values, vectors = np.linalg.eigh(self.covariance)
        away = half @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        drawn: FloatArray = self.mean + np.concatenate([away, -away])
        return drawn


def closed_form_prices(maps: SetMaps, terms: SurpriseTerms, case: CaseKnowledge) -> Prices:
    """Price every set for one case of which any results are known; outcomes are numbers, d is 1."""
    m, V = maps.entries(case.mean), maps.block(case.covariance)
    y_with = maps.entries(case.with_outcome)
    u, G, p, Q, T = terms[:5]
    Vu = np.einsum("skl,sl->sk", V, u)
    error = case.outcome - np.sum(m * u, axis=1)
    b = y_with - Vu  # covariance of results and surprise
    variance = case.outcome_variance - np.sum(u * (2.0 * y_with - Vu), axis=1)

    def expected(form: FloatArray) -> FloatArray:
        """E x'Ax for each set."""
        mean: FloatArray = np.einsum("sk,skl,sl->s", m, form, m) + np.sum(form * V, axis=(1, 2))
        return mean

    squared, spread, curved = error**2 + variance, expected(G), expected(Q)
    Qb, GV = np.einsum("skl,sl->sk", Q, b), G @ V
    first = error * np.sum(p * m, axis=1) + np.sum(p * b, axis=1)
    second = squared * curved + np.sum((4.0 * error[:, None] * m + 2.0 * b) * Qb, axis=1)
    seen, felt = np.einsum("sk,skl->sl", m, GV), np.einsum("skl,sl->sk", Q, m)
    fourth = spread * curved + 4.0 * np.sum(seen * felt, axis=1)
    fourth += 2.0 * np.einsum("skl,slk->s", GV, Q @ V)
    change = 2.0 * first + second + fourth - 2.0 * expected(T)
    return Prices((squared + spread)[None, :], change[None, :])


def known_case_prices(
    world: World,
    maps: SetMaps,
    terms: SurpriseTerms,
    results: FloatArray,
    outcome: FloatArray,
    outcome_variance: FloatArray,
) -> Prices:
    """Price every set for cases whose results (cases, n) are all known."""
    from preceptor.learners._case_kernels import price_pairs

    now = np.empty((results.shape[0], maps.sizes.size))
    change = np.empty_like(now)
    link = 0
    if world.outcome is not None:
        link = 1 if world.outcome.link == "probit" else 2
    base = world.base_score if world.is_binary else 0.0
    price_pairs(
        np.ascontiguousarray(results), outcome, outcome_variance,
        maps.members, maps.sizes, *terms, base, link, now, change,
    )  # fmt: skip
    return Prices(now, change)


def moves_change(
    world: World,
    person: Person,
    state: Any,
    alone: AloneLoss,
    mean: FloatArray,
    covariance: FloatArray,
    filled: FloatArray,
    shown: Shown,
    outcome: FloatArray,
) -> FloatArray:
    """Change of the loss alone (...) by `Person.moves`, for any kind: filled, shown (..., n)."""
    here = person.at_weights(state, mean)
    turn, push = person.moves(world, here, filled, shown, outcome)
    after = np.squeeze(turn @ mean[:, None], -1) + push
    H = alone.hessian
    quadratic = np.sum((after @ H) * after, axis=-1) - 2.0 * after @ alone.slope
    # tr(H A C A') for every map A.
    spread = np.sum((H @ turn) * (turn @ covariance), axis=(-2, -1))
    change: FloatArray = quadratic + spread + alone.constant - alone(mean, covariance)
    return change
