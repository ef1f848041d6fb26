"""Published experiments in a folder: each as a world and logs of its participants.

The files belong to others. They are read where they lie and never shipped; `EXPERIMENTS` names
them, with their sources and terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.data.estimators import BinaryRidge
from preceptor.data.log import Log
from preceptor.data.sheet import read_cells
from preceptor.data.world_fitting import fit_world
from preceptor.errors import InvalidFile
from preceptor.model.outcomes import Binary
from preceptor.model.world import Units, World

_CUES = ("f1", "f2", "f3")
_FACTS = ("age", "female", "priors", "juvenile_felonies", "juvenile_misdemeanors", "felony")
_CARDS = ("card1", "card2", "card3", "card4")
_Cells = dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class ExperimentArm:
    """Participants who were treated alike.

    Attributes
    ----------
    name
        Experiment and arm.
    world
        Estimated from the cases of the file; test results as participants read them.
    log
        What they were shown, answered and were told.
    imputation
        What hidden tests count for: 1 if they add nothing. Irrelevant where none is hidden.
    untaught
        Answers of participants who were never told an outcome, if there are any: they show what
        people believe at first.
    """

    name: str
    world: World
    log: Log
    imputation: float = 1.0
    untaught: Log | None = None


class PublicExperiment(NamedTuple):
    """A file that can be read: its name, what it holds, source, terms, columns and reader."""

    file: str
    title: str
    source: str
    terms: str
    columns: tuple[str, ...]
    read: Callable[[_Cells], list[ExperimentArm]]


def arms_in(folder: Path) -> dict[str, list[ExperimentArm]]:
    """Read the published experiments in a folder.

    Parameters
    ----------
    folder
        Where the files lie, under the names of `EXPERIMENTS`.

    Returns
    -------
    dict
        The arms of each file that is there, by name of the file.

    Raises
    ------
    InvalidFile
        None of the files is there, or one lacks a column or has an unreadable number.
    """
    found = {
        each.file: _read(folder / each.file, each)
        for each in EXPERIMENTS
        if (folder / each.file).is_file()
    }
    if not found:
        names = ", ".join(each.file for each in EXPERIMENTS)
        raise InvalidFile(f"{folder}: has none of the files {names}; put at least one there")
    return found


def _read(path: Path, experiment: PublicExperiment) -> list[ExperimentArm]:
    columns = read_cells(path).columns
    lacking = [name for name in experiment.columns if name not in columns]
    if lacking:
        raise InvalidFile(f"{path}: lacks the columns {', '.join(lacking)}")
    try:
        return experiment.read({name: list(map(str, columns[name])) for name in experiment.columns})
    except ValueError as error:
        raise InvalidFile(f"{path}: {error}") from error


def _numbers(cells: _Cells, *names: str) -> FloatArray:
    """Columns as numbers (rows, names)."""
    return np.array([[float(cell) for cell in cells[name]] for name in names]).T


def _numbered(names: list[str]) -> list[int]:
    """Number the rows of each participant from 1."""
    seen: dict[str, int] = {}
    rounds = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        rounds.append(seen[name])
    return rounds


def _albrecht(cells: _Cells) -> list[ExperimentArm]:
    """Training only. The world is the best weighted sum of the items, which repeat."""
    training = np.flatnonzero(np.array(cells["phase"]) == "training")
    values = _numbers(cells, *_CUES)[training]
    answers, outcomes = _numbers(cells, "prediction", "outcome")[training].T
    items = np.unique(np.column_stack([values, outcomes]), axis=0)
    x, y = items[:, :-1], items[:, -1]
    units = Units(x.mean(axis=0), x.std(axis=0), "points", float(y.mean()))
    standard, centred = units.standardise(x), units.centre(y)
    weights = np.linalg.lstsq(standard, centred, rcond=None)[0]
    left = float(np.mean((centred - standard @ weights) ** 2))
    world = World(weights, standard.T @ standard / len(y), left, names=_CUES, units=units)
    names = [cells["participant"][row] for row in training]
    shown = np.ones_like(values, dtype=np.bool_)
    log = Log(_CUES, names, _numbered(names), shown, values, answers, outcomes)
    return [ExperimentArm("Albrecht 2019", world, log)]


def _lin(cells: _Cells) -> list[ExperimentArm]:
    """Two experiments with two arms each; the cases of both arms give the world."""
    arms = []
    facts, numbers = _numbers(cells, *_FACTS), _numbers(cells, "answer_percent", "outcome", "round")
    experiments, told = np.array(cells["experiment"]), _numbers(cells, "feedback")[:, 0] == 1.0
    for experiment in dict.fromkeys(cells["experiment"]):
        rows = experiments == experiment
        cases = dict(zip(_FACTS, facts[rows].T, strict=True))
        world = fit_world(cases, numbers[rows, 1], outcome="arrest").world
        logs = []
        for feedback in (True, False):
            own = np.flatnonzero(rows & (told == feedback))
            answers, outcomes, rounds = numbers[own].T
            shown = np.ones((own.size, len(_FACTS)), dtype=np.bool_)
            names = [cells["participant"][row] for row in own]
            logs.append(
                Log(
                    _FACTS, names, rounds.astype(np.int64), shown, facts[own], answers / 100.0,
                    outcomes, told[own], decided=False,
                )
            )  # fmt: skip
        for log, words in zip(logs, ("told", "not told"), strict=True):
            arms.append(
                ExperimentArm(f"Lin 2020 {experiment}, {words}", world, log, untaught=logs[1])
            )
    return arms


def _weather(cells: _Cells) -> list[ExperimentArm]:
    """Cards on the table are the shown tests, with result 1; other cards add nothing.

    So tests are not centred, and the world has mean products in place of covariances.
    """
    cards, occasion = _numbers(cells, *_CARDS), _numbers(cells, "occasion")[:, 0]
    fine = np.array([[word == "Fine" for word in cells[name]] for name in ("answer", "outcome")])
    outcome = Binary(float(fine[1].mean()))
    weights = BinaryRidge().fit(cards, fine[1].astype(np.float64)).coef_
    world = World(weights, cards.T @ cards / len(cards), names=_CARDS, outcome=outcome)
    arms = []
    for number, words in ((1.0, "first day"), (2.0, "second day")):
        own = np.flatnonzero(occasion == number)
        names = [cells["participant"][row] for row in own]
        shown, (answers, outcomes) = cards[own] == 1.0, fine[:, own].astype(np.float64)
        rounds = _numbers(cells, "trial")[own, 0].astype(np.int64)
        values = np.where(shown, 1.0, np.nan)
        log = Log(_CARDS, names, rounds, shown, values, answers, outcomes, decided=True)
        arms.append(ExperimentArm(f"weather prediction, {words}", world, log))
    return arms


EXPERIMENTS = (
    PublicExperiment(
        "albrecht2019.csv",
        "a number from three cues, all shown; six items repeat",
        "Albrecht and others (2019), experiment 1; R package cognitivemodels 0.0.12",
        "MIT licence",
        ("participant", "phase", *_CUES, "prediction", "outcome"),
        _albrecht,
    ),
    PublicExperiment(
        "lin2020_compas.csv",
        "the probability of an arrest from six facts, all shown; arms with and without feedback",
        "Lin, Jung, Goel and Skeem, Science Advances 2020; "
        "github.com/stanford-policylab/recidivism-predictions",
        "no licence stated: analyse and cite, never ship",
        ("experiment", "participant", "feedback", "round", *_FACTS, "answer_percent", "outcome"),
        _lin,
    ),
    PublicExperiment(
        "weather_prediction.csv",
        "fine or rainy from one to three of four cards; decisions with feedback",
        "Speekenbrink and others (2010); R package hmmr",
        "GPL 2 or later: analyse and cite, never ship",
        ("participant", "occasion", "trial", *_CARDS, "outcome", "answer"),
        _weather,
    ),
)
"""Published experiments that can be read, by file."""
