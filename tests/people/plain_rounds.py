"""A slow, obvious twin of what people with known errors cost: dense algebra, round by round."""

from __future__ import annotations

import numpy as np


def loss(world, omega, errors, shown, price=0.0):
    """Expected squared error of somebody with these errors who is shown these tests."""
    a, sigma, s = world.coefficients, world.covariance, list(shown)
    read = np.zeros(world.size)
    if s:
        fill = np.linalg.inv(omega[np.ix_(s, s)]) @ omega[s]
        read[s] = fill @ (a - errors)
    gap = a - read
    return world.noise_variance + gap @ sigma @ gap + price


def discounted(losses, discount):
    return sum(discount**t * cost for t, cost in enumerate(losses))
