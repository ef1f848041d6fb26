"""Verdicts: who to plan for after a log was weighed, or why nobody can be named.

One person where one kind has nearly all of the probability; else a crowd of the kinds that share
it; or a refusal, where the rounds cannot say anything about how somebody learns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import counted, labelled
from preceptor.evidence.cells import Cells
from preceptor.evidence.designs import Design, Rounds
from preceptor.evidence.families import NONE, SURE, Family
from preceptor.evidence.group import GroupWeighed
from preceptor.evidence.record import Record
from preceptor.evidence.weighed import Weighed
from preceptor.evidence.weighing import cells_of
from preceptor.people.crowd import Crowd
from preceptor.people.no_learning import NoLearning
from preceptor.people.person import Person

# Kinds below this share are left out of a crowd.
_SMALL = 0.02
# Answers that vary this many times as much as outcomes, or as little, may be in other units.
_FAR_UNITS = 10.0
# So many kinds are planned for, at most.
_MOST = 8
# With fewer rounds that were told nobody can be told from anybody.
FEWEST_TOLD = 10
# Labels of single people from fewer ordinary rounds are right in less than four of five cases.
ORDINARY = 80


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """Who to plan for.

    Attributes
    ----------
    person
        Somebody, a crowd weighted by the posterior, or None with a refusal.
    refusal
        Why nobody can be named, a sentence; empty if somebody is.
    doubts
        What to keep in mind, a sentence each.
    shares
        Probability of each kind (family and κ in words), the likeliest first.
    """

    person: Person | None
    refusal: str
    doubts: tuple[str, ...]
    shares: dict[str, float]

    def __repr__(self) -> str:
        who = self.refusal if self.person is None else self.person.learning_in_words()
        rows = [(f"{share:.2f}", name) for name, share in list(self.shares.items())[:5]]
        rows = [("plan for" if self.person is not None else "refused", who), *rows]
        return labelled("Verdict", rows + [("doubt", doubt) for doubt in self.doubts])


def verdict(weighed: Weighed) -> Verdict:
    """Who to plan for after one person was weighed.

    Parameters
    ----------
    weighed
        What their rounds say.

    Returns
    -------
    Verdict
        With first weights as estimated from the first round on.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.evidence.record import Record
    >>> from preceptor.evidence.weighing import weigh
    >>> world, none = pr.World([1.0], [[1.0]], 0.1), np.zeros(20, bool)
    >>> record = Record(world, ~none[:, None], np.ones((20, 1)), np.ones(20), np.ones(20), none)
    >>> verdict(weigh(world, record)).refusal
    'outcomes were told in 0 rounds; nothing can be said about learning from fewer than 10'
    """
    refusal = refusal_of(weighed)
    shares = _shares(weighed)
    if refusal:
        return Verdict(None, refusal, (), shares)
    doubts = []
    told = int(weighed.setting.rounds.record.told.sum())
    if told < ORDINARY:
        doubts.append(
            f"one person's kind from {counted(told, 'told round')}: wrong in one of five cases or "
            f"more; go on to {ORDINARY}, or run a diagnostic block"
        )
    if not weighed.setting.rounds.record.hides:
        doubts.append("how hidden tests are filled in cannot be told: nothing was ever hidden")
    doubts += _scatter_doubts(weighed)
    return Verdict(_planned_for([weighed]), "", tuple(doubts), shares)


def group_verdict(group: GroupWeighed) -> Verdict:
    """Who to plan for when the next person is one like those who were weighed.

    Parameters
    ----------
    group
        What everybody's rounds say together.

    Returns
    -------
    Verdict
        A crowd of kinds as common as they are among these people, each with the average person's
        numbers; refused if everybody is.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.evidence import weigh_people
    >>> from preceptor.simulation import rollout
    >>> world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=1, horizon=60)
    >>> anybody = person.acting(world, response_noise=0.2)
    >>> log = rollout(problem, pr.Stationary((0,)), 60, people=4, rng=0, human=anybody).log
    >>> found = weigh_people(world, log, families=["none", "geometric", "delta rule"], dials=[0.0])
    >>> type(group_verdict(found).person).__name__
    'DeltaRule'
    """
    people = list(group.people.values())
    refusals = [refusal_of(weighed) for weighed in people]
    kept = [weighed for weighed, reason in zip(people, refusals, strict=True) if not reason]
    shares: dict[str, float] = {}
    for weighed in people:
        for name, share in _shares(weighed).items():
            shares[name] = shares.get(name, 0.0) + share / len(people)
    shares = dict(sorted(shares.items(), key=lambda item: -item[1]))
    if not kept:
        common = max(set(refusals), key=refusals.count)
        return Verdict(None, common, (), shares)
    doubts = []
    if len(kept) < len(people):
        some = counted(len(people) - len(kept), "participant")
        doubts.append(f"{some} left out: {next(reason for reason in refusals if reason)}")
    if len(kept) == 1:
        doubts.append("one participant only: how much people differ is not known")
    return Verdict(_planned_for(kept), "", tuple(doubts), shares)


def refusal_of(weighed: Weighed) -> str:
    """Why these rounds say nothing about how somebody learns; empty if they do."""
    record = weighed.setting.rounds.record
    told = int(record.told.sum())
    if told < FEWEST_TOLD:
        return (
            f"outcomes were told in {counted(told, 'round')}; nothing can be said about learning "
            f"from fewer than {FEWEST_TOLD}"
        )
    if np.ptp(record.answers) == 0.0:
        units = record.world.units
        same = record.answers[0] + (0.0 if units is None else units.outcome_mean)
        return f"all answers are the same ({same:.4g})"
    if not _varies(record):
        return "the shown tests never vary, so answers cannot depend on them"
    best, constant = max(weighed.log_evidence.values()), constant_of(weighed)
    if best <= constant.total:
        return (
            "answers are not related to the tests: a constant describes them better than any kind "
            f"of person does ({constant.total - best:.1f} nats){_other_units(record)}"
        )
    ahead = constant.total - constant.early_total
    behind = ahead - max(weighed.held_out.values())
    if behind > 1.0:
        return (
            "the last quarter of the answers is predicted better by a constant than by any kind of "
            f"person ({behind:.1f} nats)"
        )
    return ""


def constant_of(weighed: Weighed) -> Cells:
    """Evidence of somebody who ignores all tests: answers scatter around a constant."""
    family = Family("constant", NONE, "not at all", (), _nobody, _ignores)
    one = weighed.setting.rounds
    setting = weighed.setting._replace(rounds=Rounds(one.record, one.dials[:1], one.filled[:1]))
    return cells_of(setting, family)


def _ignores(rounds: Rounds, points: FloatArray) -> Design:
    return rounds.empty(points.shape[0])


def _nobody(record: Record, initial: FloatArray, point: FloatArray, dial: float) -> Person:
    return NoLearning(np.zeros(record.world.size), dial)


def _varies(record: Record) -> bool:
    return any(
        np.ptp(record.values[record.shown[:, i], i]) > 0.0
        for i in range(record.world.size)
        if record.shown[:, i].any()
    )


def _other_units(record: Record) -> str:
    """A hint where answers vary much more, or much less, than outcomes do."""
    ratio = float(np.std(record.standard_answers))
    if 1.0 / _FAR_UNITS < ratio < _FAR_UNITS:
        return ""
    return (
        f"; answers vary {ratio:.3g} times as much as outcomes do: perhaps they are in other units"
    )


def _scatter_doubts(weighed: Weighed) -> list[str]:
    if weighed.scatter.mean < 1.5 or not weighed.setting.answers.follows_surprises:
        return []
    return [
        f"answers scatter by {weighed.scatter.mean:.1f} times the standard deviation of the "
        f"outcome: perhaps none of these kinds{_other_units(weighed.setting.rounds.record)}"
    ]


def _shares(weighed: Weighed) -> dict[str, float]:
    found: dict[str, float] = {}
    for row, cells in zip(weighed.joint, weighed.cells, strict=True):
        for dial, share in zip(cells.dials.tolist(), row.tolist(), strict=True):
            name = weighed.name_of(cells.family.name, dial)
            found[name] = found.get(name, 0.0) + share
    return dict(sorted(found.items(), key=lambda item: -item[1]))


class _Kind(NamedTuple):
    """A family with one κ: what it is called, how likely it is, and how to make somebody of it."""

    name: str
    group: str
    share: float
    make: Callable[[], Person]


def _planned_for(people: list[Weighed]) -> Person:
    """Somebody like these people, whose kinds are as common as they are likely among them."""
    joint, one = np.array([weighed.joint for weighed in people]), people[0]
    found: dict[str, _Kind] = {}
    for position, cells in enumerate(one.cells):
        for dial, kappa in enumerate(cells.dials.tolist()):
            weights, family = joint[:, position, dial], cells.family
            make = functools.partial(_averaged, people, weights, family.name, kappa)
            name, share = one.name_of(family.name, kappa), float(weights.mean())
            # κ does not matter to some: then kinds have the same name, and are one.
            kind = found.setdefault(name, _Kind(name, family.group, 0.0, make))
            found[name] = kind._replace(share=kind.share + share)
    return _one_or_crowd(list(found.values()))


def _one_or_crowd(found: list[_Kind]) -> Person:
    """Whoever is nearly certain, or a crowd in which every group has the share that it has.

    Plans take as long as a crowd is large, so only the likeliest kinds of each group are in it,
    and stand for the others of their group.
    """
    likeliest = sorted(found, key=lambda kind: -kind.share)
    if likeliest[0].share >= SURE:
        return likeliest[0].make()
    groups = {kind.group: 0.0 for kind in likeliest}
    for kind in likeliest:
        groups[kind.group] += kind.share
    counted_groups = {name for name, share in groups.items() if share >= _SMALL}
    firsts = [next(k for k in likeliest if k.group == name) for name in counted_groups]
    others = [k for k in likeliest if k.group in counted_groups and k not in firsts]
    enough = [k for k in others if k.share >= _SMALL]
    chosen = sorted([*firsts, *enough[: _MOST - len(firsts)]], key=lambda kind: -kind.share)
    inside = {name: sum(k.share for k in chosen if k.group == name) for name in counted_groups}
    return Crowd({k.name: (k.make(), groups[k.group] * k.share / inside[k.group]) for k in chosen})


def _averaged(people: list[Weighed], weights: FloatArray, family: str, kappa: float) -> Person:
    """Somebody with the numbers of these people, averaged by how likely each is of that kind."""
    from preceptor.evidence.axes import values_of

    total, first, at = float(weights.sum()), 0.0, 0.0
    for weighed, weight in zip(people, weights.tolist(), strict=True):
        numbers = weighed.numbers(family, kappa)
        first = first + weight / total * numbers[0]
        at = at + weight / total * numbers[1]
    cells = people[0].cells_of(family)
    point = values_of(cells.family.axes, np.asarray(at).reshape(1, -1))[0]
    return cells.family.person(people[0].setting.rounds.record, np.asarray(first), point, kappa)
