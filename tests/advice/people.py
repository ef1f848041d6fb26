"""A small crowd and its plan, for tests of advice and of the report."""

import functools

import numpy as np

import preceptor as pr
from preceptor.model.world import Units
from preceptor.people.crowd import Crowd

INITIAL = [0.2, 1.3, -0.4]
WORLD = pr.World(
    [1.0, 0.8, 0.5],
    pr.World.equicorrelated([1, 1, 1], 0.6).covariance,
    0.5,
    names=["bmi", "bp", "age"],
    units=Units([25, 90, 3], [4, 10, 1], "risk", 19.0),
)
CROWD = Crowd(
    {
        "ann": (pr.DeltaRule(INITIAL, 0.2, 1.0), 0.4),
        "by showings": (pr.Learner(INITIAL, pr.Geometric(1.3)), 0.3),
        "by showings, with a floor": (pr.Learner(INITIAL, pr.Geometric(1.3, floor=0.2)), 0.2),
        "not learning": (pr.NoLearning(INITIAL), 0.1),
    }
)
PROBLEM = pr.Problem(WORLD, CROWD, 1, 0.9)


@functools.cache
def crowd_plan():
    """The best common plan; the clock decides nothing."""
    return pr.solve(PROBLEM, "search", time_limit=None, max_kicks=0)


def second_moment_costs(problem, person, schedule):
    """Losses of a delta rule by plain recursion on mean and second moment of the errors."""
    world, n = problem.world, problem.size
    sigma, theta = world.covariance, world.coefficients
    fill = person.imputing_covariance(world)
    mean, second = theta - person.initial, None
    second = np.outer(mean, mean)
    losses = []
    for shown in schedule:
        s = list(shown)
        # Every test as filled in is a linear map of the shown ones, z = A x_s.
        a = np.zeros((n, len(s)))
        if s:
            a = fill[:, s] @ np.linalg.inv(fill[np.ix_(s, s)])
        ss = sigma[np.ix_(s, s)]
        # y - h'z = theta'x - (theta - e)'A x_s + noise; split x into its projection and the rest.
        project = sigma[:, s] @ np.linalg.inv(ss) if s else np.zeros((n, 0))
        rest = theta @ (sigma - project @ sigma[s, :]) @ theta + world.noise_variance
        c = theta @ (project - a)  # coefficient of x_s that no weight explains
        # loss = E (c x + e'A x)^2 + rest
        g = a @ ss @ a.T
        losses.append(float(c @ ss @ c + 2 * c @ ss @ a.T @ mean + np.sum(g * second) + rest))
        # e' = e - rate * (surprise) * x_s on shown coordinates
        pick = np.zeros((n, len(s)))
        pick[s, range(len(s))] = 1.0
        mean_step = pick @ ss @ (c + a.T @ mean)
        # second moments with Gaussian x_s: E[x x' (u'x)^2] = ss (u'ss u) + 2 ss u u' ss
        # where u = c + A'e and averages over e enter through E[u u'].
        uu = np.outer(c, c) + np.outer(c, a.T @ mean) + np.outer(a.T @ mean, c)
        uu = uu + a.T @ second @ a
        fourth = ss * np.sum(ss * uu) + 2 * ss @ uu @ ss
        cross = pick @ ss @ (np.outer(c, mean) + a.T @ second)
        rate = person.rate
        second = (
            second - rate * (cross + cross.T) + rate**2 * (pick @ (fourth + rest * ss) @ pick.T)
        )
        mean = mean - rate * mean_step
    return np.array(losses)
