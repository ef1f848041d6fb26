"""Losses of a Bayesian, often closer to a crowd than the recursion that plans are made with.

A deterministic equivalent from the theory of random matrices: after N_S cases with each set S,

    C = (C_0^-1 + Σ N_S M_S / (noise + τ_S))^-1,   τ_S = tr(M_S C)

is what the person's uncertainty comes down to, and errors follow by differentiating that fixed
point. Only how often a set was shown matters, not when. It has no cheap adjoint along a schedule,
so plans are searched with `BayesianExpectation`, and so are the values that they come with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.bayesian_expectation import (
    BayesianSets,
    Inferring,
    bayesian_sets,
    unsure_of_cases,
)

_CLOSE = 1e-12
_MOST_STEPS = 100


def reported_losses(
    person: Inferring, world: World, sets: SetFamily, schedule: Sequence[int] | IntArray
) -> FloatArray:
    """Expected loss of each round of a schedule, approximately.

    Parameters
    ----------
    person
        First beliefs, how unsure of them, expected scatter, and imputation.
    world
        How tests and outcomes come about.
    sets
        What may be shown.
    schedule
        Positions of sets, round by round.

    Returns
    -------
    array of shape (rounds,)
        In squared units of the outcome.
    """
    positions = np.asarray(schedule, dtype=np.int64)
    used, which = np.unique(positions, return_inverse=True)
    omega = person.imputing_covariance(world)
    arrays = bayesian_sets(world, omega, _chosen(sets, used))
    unsure = unsure_of_cases(person, omega)
    error = np.asarray(omega @ (world.coefficients - person.initial))
    noise = float(person.noise_variance)
    counts = np.zeros(used.size)
    learned = _traces(unsure, arrays)  # τ; at no cases, what the prior says
    losses = np.empty(positions.size)
    for t, shown in enumerate(which):
        now, learned = _settled(unsure, arrays, counts, learned, noise)
        losses[t] = _losses(unsure, now, error, arrays, counts, learned, noise)[shown]
        counts[shown] += 1.0
    return losses


def _chosen(sets: SetFamily, which: IntArray) -> SetFamily:
    return SetFamily(sets.members[which], sets.sizes[which], sets.prices[which], sets.tests)


def _settled(
    unsure: FloatArray, sets: BayesianSets, counts: FloatArray, guess: FloatArray, noise: float
) -> tuple[FloatArray, FloatArray]:
    """C (n, n) and τ (sets,) after so many cases, by Newton's method.

    One case more makes every τ smaller, and τ - tr(M C(τ)) is convex, so from the τ of the round
    before steps go down to the solution and never past it.
    """
    tau = guess
    for _ in range(_MOST_STEPS):
        now = _uncertainty(unsure, sets, counts / (noise + tau))
        off = tau - _traces(now, sets)
        slopes = np.eye(tau.size) - _overlaps(now, sets) * (counts / (noise + tau) ** 2)
        change = np.linalg.solve(slopes, off)
        tau = np.maximum(tau - change, 0.0)
        if np.all(np.abs(change) <= _CLOSE * (noise + tau)):
            break
    return _uncertainty(unsure, sets, counts / (noise + tau)), tau


def _losses(
    unsure: FloatArray,
    now: FloatArray,
    error: FloatArray,
    sets: BayesianSets,
    counts: FloatArray,
    tau: FloatArray,
    noise: float,
) -> FloatArray:
    """Loss of every set (sets,) in the next round; noise feeds on losses, so a linear system."""
    share = counts / (noise + tau)
    pushed = np.einsum("sab,sb->sa", sets.G, error[sets.members] + sets.c)
    push = np.zeros(error.size)
    np.add.at(push, sets.members, share[:, None] * pushed)
    mean = error - now @ push
    off = mean[sets.members] + sets.c
    without_noise = sets.r2 + np.einsum("sa,sab,sb->s", off, sets.G, off)
    fed = _overlaps(now, sets) * (counts / (noise + tau) ** 2)
    losses: FloatArray = np.linalg.solve(np.eye(tau.size) - fed, without_noise)
    return losses


def _uncertainty(unsure: FloatArray, sets: BayesianSets, share: FloatArray) -> FloatArray:
    """(C_0^-1 + Σ share_S M_S)^-1, also where C_0 has no inverse."""
    added = np.zeros_like(unsure)
    rows = sets.members
    np.add.at(added, (rows[:, :, None], rows[:, None, :]), share[:, None, None] * sets.G)
    return np.asarray(np.linalg.solve(np.eye(len(unsure)) + unsure @ added, unsure))


def _traces(unsure: FloatArray, sets: BayesianSets) -> FloatArray:
    """tr(M_S C) of every set (sets,); rows of padding have a G of 0."""
    rows = sets.members
    blocks = unsure[rows[:, :, None], rows[:, None, :]]
    traces: FloatArray = np.sum(sets.G * blocks, axis=(1, 2))
    return traces


def _overlaps(unsure: FloatArray, sets: BayesianSets) -> FloatArray:
    """tr(M_S C M_T C) of every two sets (sets, sets)."""
    rows = sets.members
    blocks = unsure[rows[:, None, :, None], rows[None, :, None, :]]
    turned = np.einsum("sab,stbc->stac", sets.G, blocks)
    overlaps: FloatArray = np.einsum("stac,tcd,stad->st", turned, sets.G, blocks)
    return overlaps
