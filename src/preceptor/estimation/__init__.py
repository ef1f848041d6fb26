"""People and worlds from data: `fit_world` and `fit_learner`."""

from preceptor.estimation.bootstrap import WorldBootstrap
from preceptor.estimation.learner import LearnerEstimator, fit_learner
from preceptor.estimation.world import fit_world
from preceptor.estimation.world_estimate import WorldEstimate

__all__ = [
    "LearnerEstimator",
    "WorldBootstrap",
    "WorldEstimate",
    "fit_learner",
    "fit_world",
]
