"""A study with another world or another length: what a design search changes, one thing each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from preceptor.errors import InvalidInput, NotApplicable
from preceptor.model.world import World
from preceptor.study.study import Study


class Setting(NamedTuple):
    """What is changed; None leaves it as it is.

    `correlation` is that of every two tests; `weight` that of the tried test, as a share of the
    largest other one; `noise` the share of the outcome's variance that no test explains; `rounds`
    those of training.
    """

    correlation: float | None = None
    weight: float | None = None
    noise: float | None = None
    rounds: int | None = None


def tried_test(study: Study) -> int:
    """The column whose weight is varied: that of the probed test, else the first."""
    probe = study.configuration.analysis.probe
    return 0 if probe is None else int(study.columns([probe])[0])


def varied(study: Study, setting: Setting) -> Study:
    """The study with this setting.

    Parameters
    ----------
    study
        What is changed.
    setting
        What to change.

    Returns
    -------
    Study
        Checked as any other.

    Raises
    ------
    InvalidInput
        A setting that no world has, such as too strong a correlation.
    NotApplicable
        Tests that are not jointly normal, or an outcome that is yes or no.
    """
    data = study.to_dict()
    if setting[:3] != (None, None, None):
        world = _world(study, setting)
        data["problem"] = study.problem.replace(world=world).to_dict()
    if setting.rounds is not None:
        data["problem"] = _longer(data, study, setting.rounds)
    return Study.from_dict(data)


def _world(study: Study, setting: Setting) -> World:
    world = study.problem.world
    if world.is_binary or not world.is_gaussian:
        raise NotApplicable(
            "design: worlds are varied where tests are jointly normal and the outcome is a number"
        )
    coefficients, covariance = world.coefficients.copy(), np.array(world.covariance)
    if setting.correlation is not None:
        scale = np.sqrt(np.diag(covariance))
        covariance = np.full(covariance.shape, setting.correlation) * np.outer(scale, scale)
        covariance[np.diag_indices(world.size)] = scale**2
    if setting.weight is not None:
        tried = tried_test(study)
        others = np.abs(np.delete(coefficients, tried))
        coefficients[tried] = setting.weight * float(others.max())
    noise = world.noise_variance
    if setting.noise is not None:
        explained = float(coefficients @ covariance @ coefficients)
        noise = explained * setting.noise / (1.0 - setting.noise)
    return World(
        coefficients, covariance, noise, world.names, units=world.units, groups=world.groups
    )


def _longer(data: dict[str, Any], study: Study, rounds: int) -> Mapping[str, Any]:
    """Change rounds of training in the blocks, arms of sets and the horizon; gives the problem."""
    blocks = [dict(block) for block in data["block"]]
    training = [block for block in blocks if block["kind"] == "training"]
    if len(training) != 1:
        raise InvalidInput(
            f"rounds: there are {len(training)} blocks of training; one can be made longer"
        )
    training[0]["rounds"] = rounds
    share = rounds / study.training_rounds
    for check in training[0].get("check", ()):
        check["after"] = min(max(round(check["after"] * share), 1), rounds - 1)
    data["block"] = blocks
    for arm in data["arm"]:
        if arm.get("sets"):
            ends = np.round(np.cumsum([each.get("rounds", 1) for each in arm["sets"]]) * share)
            lengths = np.diff(np.concatenate([[0], ends])).astype(int).tolist()
            arm["sets"] = [
                {**each, "rounds": length}
                for each, length in zip(arm["sets"], lengths, strict=True)
                if length > 0
            ]
    problem = dict(data["problem"])
    if problem.get("horizon") is not None:
        problem["horizon"] = rounds
    return problem
