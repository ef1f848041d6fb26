"""Arms in which a tutor decides, played beforehand: a bank of people that simulations draw from."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from preceptor._base.executors import Executor
from preceptor._base.many import run_many
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray
from preceptor.model.sets import TestSet
from preceptor.people.human import CanGoOn
from preceptor.study.allocation import Chance
from preceptor.study.assumed import Assumption
from preceptor.study.playing import Bank, Stage
from preceptor.tutoring import Tutor

# People of every kind at every place; simulations draw among them.
_DRAWS = 3


def with_banks(
    stage: Stage,
    kinds: Sequence[Assumption],
    seed: int,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Stage:
    """A stage whose arms with a tutor have been played; the same stage if it has none.

    Parameters
    ----------
    stage
        What everybody meets.
    kinds
        Whom people are taken for.
    seed
        Of their answers.
    executor
        Where people are played; here if left out.
    progress
        Told how far it is.

    Returns
    -------
    Stage
        Ready for `played`.
    """
    adaptive = [arm for arm in range(len(stage.arms)) if stage.is_adaptive(arm)]
    places = stage.which.shape[1]
    sets = {shown: i for i, shown in enumerate(stage.sets)}
    banks = {}
    for arm in adaptive:
        shape = (len(kinds), places, _DRAWS)
        items = [(arm, *(int(i) for i in where)) for where in np.ndindex(shape)]
        done = run_many(
            functools.partial(_taught, stage=stage, kinds=tuple(kinds), seed=seed),
            items,
            executor=executor,
            progress=progress,
            noun="people with a tutor",
        )
        which = np.array([[sets.setdefault(s, len(sets)) for s in shown] for shown, _ in done])
        answers = np.array([given for _, given in done])
        banks[arm] = Bank(which.reshape(*shape, -1), answers.reshape(*shape, -1))
    return replace(stage, sets=tuple(sets), bank=banks) if banks else stage


def _taught(
    item: tuple[int, int, int, int], stage: Stage, kinds: tuple[Assumption, ...], seed: int
) -> tuple[list[TestSet], FloatArray]:
    """One person through the whole protocol: what was shown, and their answers."""
    arm, kind, place, number = item
    key = (Chance.TUTORED, kind, place, number)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    members = kinds[kind].members
    human = members[int(rng.choice(len(members), p=[m.share for m in members]))].human
    human.reset(rng)
    problem = stage.study.problem
    units, tutor = problem.world.units, Tutor(problem)
    all_shown, answers = [], np.empty(stage.trials)
    for t in range(stage.trials):
        position = int(stage.which[arm, place, t])
        shown = tutor.next() if position < 0 else stage.sets[position]
        values, rows = stage.features[place, t, list(shown)], list(shown)
        answers[t] = human.predict(shown, values)
        read = answers[t] if units is None else float(units.uncentre(answers[t]))
        tutor = tutor.answered(shown, stage.values[place, t, rows], read)
        if stage.told[t]:
            human.feedback(shown, values, float(stage.outcomes[place, t]))
            tutor = tutor.told(float(stage.truths[place, t]))
        elif isinstance(human, CanGoOn):
            human.go_on()
        all_shown.append(shown)
    return all_shown, answers
