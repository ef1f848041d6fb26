"""Who is planned for: beliefs and learning speed from options, or a fitted learner from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from preceptor.beliefs import BELIEFS
from preceptor.cli._tables import read_json, read_named_numbers
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.problem.curves import Geometric
from preceptor.problem.learner import Learner
from preceptor.problem.world import World

LEARNER_FORMAT = "preceptor-learner/1"
DEFAULT_HALF_LIFE = 14.0


def learner_from_options(
    world: World,
    *,
    beliefs: str | None,
    standardised: bool,
    half_life: float | None,
    alpha: float | None,
) -> Learner:
    """Somebody who starts with these beliefs and learns at this speed."""
    if half_life is not None and alpha is not None:
        raise InvalidInput("--half-life and --alpha say the same thing; give one of them")
    if alpha is not None:
        curve = Geometric(alpha)
    else:
        curve = Geometric.from_half_life(DEFAULT_HALF_LIFE if half_life is None else half_life)
    named = beliefs or "zero"
    if named in BELIEFS:
        if standardised:
            raise InvalidInput("--standardised: is about a file of weights; give --beliefs FILE")
        return Learner(BELIEFS[named](world), curve)
    path = Path(named)
    if path.suffix.lower() not in (".csv", ".json"):
        raise InvalidInput(
            f"--beliefs: {named!r}, must be {', '.join(BELIEFS)}, or a .csv or .json file"
        )
    return Learner(_weights_from_file(path, world, standardised), curve)


def _weights_from_file(path: Path, world: World, standardised: bool) -> Any:
    weights = np.zeros(world.size)
    found = read_named_numbers(path, ("weight",), world.labels)["weight"]
    for name, weight in found.items():
        weights[world.labels.index(name)] = weight
    if standardised:
        return weights / np.sqrt(np.diag(world.covariance))
    return weights if world.units is None else weights * world.units.scales


def learner_to_data(fitted: dict[str, Any], world: World) -> dict[str, Any]:
    """What `fit` writes: the estimate, and what is needed to read its weights elsewhere."""
    scales = np.ones(world.size) if world.units is None else world.units.scales
    head = {"format": LEARNER_FORMAT, "tests": list(world.labels), "scales": scales.tolist()}
    return head | fitted


def learner_from_file(path: Path, world: World, participant: str | None) -> Learner:
    """The learner in a file of `fit`, everybody pooled or one participant, for this world."""
    data = read_json(path)
    if data.get("format") != LEARNER_FORMAT:
        raise InvalidFile(
            f"{path}: format {data.get('format')!r}, must be {LEARNER_FORMAT!r}; "
            "`preceptor fit` writes such files"
        )
    missing = [key for key in ("tests", "scales", "learner") if key not in data]
    if missing:
        raise InvalidFile(f"{path}: {', '.join(missing)} missing; fit the log again")
    chosen = data["learner"]
    if participant is not None:
        people = data.get("learners", {})
        if participant not in people:
            raise InvalidInput(
                f"--participant: {participant!r} is not in {path}; there are {', '.join(people)}"
            )
        chosen = people[participant]
    learner = Learner.from_data(chosen)
    if tuple(data["tests"]) != world.labels:
        raise InvalidFile(
            f"{path}: about the tests {', '.join(data['tests'])}, but the table has "
            f"{', '.join(world.labels)}; fit the log with the same table"
        )
    # Weights are for one standard deviation of the table that the log was fitted with.
    scales = np.ones(world.size) if world.units is None else world.units.scales
    initial = learner.initial * scales / np.asarray(data["scales"], dtype=np.float64)
    return Learner(initial, learner.curves, learner.imputation)
