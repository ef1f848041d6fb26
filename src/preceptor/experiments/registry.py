"""All experiments, in the order of the paper."""

from preceptor.experiments import (
    action_map,
    beam,
    exploration,
    misspecification,
    stationary,
    theorems,
    truncation,
    variants,
)
from preceptor.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        stationary,
        action_map,
        exploration,
        truncation,
        beam,
        misspecification,
        variants,
        theorems,
    )
}
"""Every experiment by its name, in the order of the paper."""
