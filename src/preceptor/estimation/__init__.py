"""People and worlds from data: `fit_world`, `fit_learner` and `Tracker`."""

from preceptor.estimation.bootstrap import WorldBootstrap
from preceptor.estimation.learner import LearnerEstimator, fit_learner
from preceptor.estimation.world import fit_world
from preceptor.estimation.world_estimate import WorldEstimate
from preceptor.tutoring.tracking import Tracker

__all__ = [
    "LearnerEstimator",
    "Tracker",
    "WorldBootstrap",
    "WorldEstimate",
    "fit_learner",
    "fit_world",
]
