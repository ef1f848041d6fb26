"""Why a tutor recommends a set, and what speaks against trusting it, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import counted, labelled, listed
from preceptor.learners.case_choice import (
    CaseChoice,
    CasePool,
    CaseRule,
    KnownResults,
    case_from,
    choose_case,
    choose_set,
    weighting_in_words,
)
from preceptor.learners.families import SURE
from preceptor.learners.tutor_record import outcome_in_world_units
from preceptor.model.sets import TestSet
from preceptor.planning.candidate_sets import limited_to_candidates

if TYPE_CHECKING:
    from preceptor.learners.tutor import Tutor

# Default number of cases alone that one aided case is worth. Of six values it has the least product
# of aided error and error alone on the two tables where it was chosen, whether all results of the
# case are known or a random half of them (`docs/cases.md`).
TAU = 30.0


class Recommendation(NamedTuple):
    """What to show next: tests by index and by name, the reason, and how likely each kind is.

    `case` is the position of the case in the pool, if there was one, `now` the expected squared
    error of the answer (Brier score for yes/no), `alone_before` and `alone_after` the expected loss
    of the person alone before and after this round (with the most predictive set, if nothing was
    known about the case), and `expert` that of an expert.
    """

    shown: TestSet
    names: tuple[str, ...]
    reason: str
    kinds: dict[str, float]
    case: int | None
    now: float
    alone_before: float
    alone_after: float
    expert: float


def doubts_about(tutor: Tutor) -> tuple[str, ...]:
    """List what speaks against trusting the probabilities of kinds."""
    found, bank = [], tutor.bank
    none = bank.kinds[-1]
    if none > 0.5:
        found.append(
            f"None of the kinds explains the answers (probability {none:.2f}): weights that drift "
            "at random predict them better. Choices weight the kinds as before the first answer."
        )
    if bank.answers < 20 and len(tutor.names) > 1 and max(bank.kinds[:-1]) > SURE:
        few = counted(bank.answers, "answer")
        found.append(f"Only {few} so far: the probabilities of kinds may still change.")
    if tutor.scatter > 1.5 * np.sqrt(bank.world.outcome_variance):
        found.append(
            "Answers scatter more than outcomes do: check units, and whether the person answers "
            "the question that is asked."
        )
    return tuple(found)


def in_short(tutor: Tutor) -> str:
    """Return the `repr` of a tutor: kinds by probability."""
    shares = sorted(tutor.kinds.items(), key=lambda item: -item[1])
    rows = [(f"{share:.0%}", name) for name, share in shares if share >= 0.005]
    return labelled(f"Tutor after {counted(tutor.rounds, 'round')}", rows)


def choose(
    tutor: Tutor, available: set[int] | None, case: KnownResults | None, pool: CasePool | None
) -> Recommendation:
    """Choose by the rule of `case_rule`: error now, and error afterwards; say why."""
    problem, world = tutor.problem, tutor.problem.world
    sets = limited_to_candidates(problem).sets
    blind = case is None and pool is None and tutor.tau is None
    alone = tutor.alone if isinstance(tutor.alone, str) else dict(tutor.alone)
    rule = CaseRule(problem, tutor.bank, sets, "best" if blind else alone, tutor.rounds)
    wanted = None
    if pool is not None:
        told = [
            outcome_in_world_units(world, each.outcome)
            for each in tutor.record
            if each.outcome is not None
        ]
        used = [each.case for each in tutor.record if each.case is not None]
        tau = math.inf if tutor.tau is None else tutor.tau
        found = choose_case(rule, pool, tau, tutor.plausible, told, used)
    else:
        results = np.full(world.size, np.nan) if case is None else case_from(world, case)
        worth = None if blind else TAU if tutor.tau is None else tutor.tau
        wanted = found = choose_set(rule, results, worth)
        if available is not None and not available.issuperset(wanted.shown):
            found = choose_set(rule, results, worth, sorted(available))
    names = tuple(world.name_of(found.shown))
    if wanted is None or wanted.shown == found.shown:
        reason = _reason(tutor, found, rule.weights, "with the best tests" if blind else "alone")
    else:
        missing = listed(list(world.name_of(wanted.shown)))
        reason = f"Show {listed(list(names))}: {missing} would be better, but cannot be shown now."
    return Recommendation(
        found.shown, names, reason, tutor.kinds,
        found.case, found.now, found.alone_before, found.alone_after, found.expert,
    )  # fmt: skip


def _reason(tutor: Tutor, found: CaseChoice, weights: FloatArray, later: str) -> str:
    """Say what to show, what it is expected to do, and which weight it corrects."""
    world = tutor.problem.world
    names = listed(list(world.name_of(found.shown))) if found.shown else "nothing"
    of_case = "" if found.case is None else " of this case"
    before, after = (x / found.expert for x in (found.alone_before, found.alone_after))
    effect = (
        f"expected to bring the error {later} from {before:.2f} to {after:.2f} times an expert's"
        if after < before - 0.005
        else f"expected to leave the error {later} at {after:.2f} times an expert's"
    )
    off = math.sqrt(found.now / (1.0 if world.is_binary else world.outcome_variance))
    unit = "in probability" if world.is_binary else "standard deviations of the outcome"
    why = weighting_in_words(world, weights, found.shown)
    because = f", because {why}" if why and after < before - 0.005 else ""
    return (
        f"Show {names}{of_case}{because}: {effect}; this answer is expected to be off by "
        f"{off:.2g} {unit}."
    )
