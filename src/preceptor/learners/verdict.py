"""Verdicts: the person to plan for once a log has been weighed, or why there is none.

One person where one kind has nearly all of the probability; else a crowd of the likely kinds; or a
refusal, where the rounds say nothing about how the person learns.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import counted, first_few, labelled, listed
from preceptor.learners.evidence_cells import Estimate, EvidenceCells
from preceptor.learners.families import FAMILIES, NONE, SURE, FilledRounds, grid_boxes, values_of
from preceptor.learners.populations import GroupWeighed
from preceptor.learners.posterior import NONE_OF_THESE, PRIOR
from preceptor.learners.records import Record
from preceptor.learners.weighing import Weighed, cells_of
from preceptor.model.person import Person
from preceptor.people.crowd import Crowd

# Kinds below this share are left out of a crowd.
_SMALL = 0.02
# Answers that vary this many times as much as outcomes, or as little, may be in other units.
_FAR_UNITS = 10.0
# The largest number of kinds in a crowd.
_MOST = 8
# With fewer told rounds no kind can be told from another.
FEWEST_TOLD = 10
# Labels of single people from fewer ordinary rounds are right in less than four of five cases.
ORDINARY = 80


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """The person to plan for.

    Attributes
    ----------
    person
        A person, a crowd weighted by the posterior, or None with a refusal.
    refusal
        Why there is no person to plan for; empty if there is one.
    doubts
        Caveats, one sentence each.
    shares
        Probability of each kind (family and κ in words) if one of them is right, the likeliest
        first.
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
    """Return the person or crowd to plan for once one person has been weighed.

    Parameters
    ----------
    weighed
        Posterior over kinds of this person.

    Returns
    -------
    Verdict
        With estimated first weights, so that plans start at the first round.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.learners.records import Record
    >>> from preceptor.learners.weighing import weigh
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
            f"more; continue to {ORDINARY}, or run a diagnostic block"
        )
    if not weighed.setting.rounds.record.hides:
        doubts.append("how hidden tests are filled in cannot be told: nothing was ever hidden")
    doubts += [*_scatter_doubts(weighed), *_none_doubts(weighed.none_of_these)]
    return Verdict(_planned_for([weighed]), "", tuple(doubts), shares)


def group_verdict(group: GroupWeighed) -> Verdict:
    """Return the person or crowd to plan for when the next person is from the same population.

    Parameters
    ----------
    group
        All people weighed together.

    Returns
    -------
    Verdict
        A crowd of kinds with their frequencies among these people, each with average parameters;
        refused if every person is.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.learners.populations import weigh_people
    >>> from preceptor.simulation.rollouts import rollout
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
    doubts += _none_doubts(group.none_of_these)
    return Verdict(_planned_for(kept), "", tuple(doubts), shares)


def refusal_of(weighed: Weighed) -> str:
    """Why these rounds say nothing about how the person learns; empty if they do."""
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


def constant_of(weighed: Weighed) -> EvidenceCells:
    """Evidence of a person who ignores all tests: answers scatter around a constant."""
    family = dataclasses.replace(
        FAMILIES[NONE], name="constant", build=lambda rounds, at: rounds.empty(at.shape[0])
    )
    one = weighed.setting.rounds
    rounds = FilledRounds(one.record, one.dials[:1], one.filled[:1])
    setting = weighed.setting._replace(rounds=rounds)
    return cells_of(setting, family, *grid_boxes(()))


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


def _none_doubts(share: float) -> list[str]:
    if share <= 0.5:
        return []
    return [
        f"none of the kinds explains the answers (probability {share:.2f}): weights that drift at "
        "random describe them better"
    ]


def _shares(weighed: Weighed) -> dict[str, float]:
    found: dict[str, float] = {}
    for row, cells in zip(weighed.joint, weighed.cells, strict=True):
        for dial, share in zip(cells.dials.tolist(), row.tolist(), strict=True):
            name = weighed.name_of(cells.family.name, dial)
            found[name] = found.get(name, 0.0) + share
    return dict(sorted(found.items(), key=lambda item: -item[1]))


class _Kind(NamedTuple):
    """A family with one κ: its name, group and probability, and how to make such a person."""

    name: str
    group: str
    share: float
    make: Callable[[], Person]


def _planned_for(people: list[Weighed]) -> Person:
    """A person or crowd like these people, with the mean probability of each kind."""
    joint, one = np.array([weighed.joint for weighed in people]), people[0]
    found: dict[str, _Kind] = {}
    for position, cells in enumerate(one.cells):
        for dial, kappa in enumerate(cells.dials.tolist()):
            weights, family = joint[:, position, dial], cells.family
            make = functools.partial(_averaged, people, weights, family.name, kappa)
            name, share = one.name_of(family.name, kappa), float(weights.mean())
            # Where κ does not matter, kinds have the same name and are merged.
            kind = found.setdefault(name, _Kind(name, family.group, 0.0, make))
            found[name] = kind._replace(share=kind.share + share)
    return _one_or_crowd(list(found.values()))


def _one_or_crowd(found: list[_Kind]) -> Person:
    """The kind that is nearly certain, or a crowd that keeps the probability of every group.

    Planning time grows with the crowd, so only the likeliest kinds of each group are in it, and
    represent the others of their group.
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
    """A person with the parameters of these people, averaged by their probability of the kind."""
    total, first, at = float(weights.sum()), 0.0, 0.0
    for weighed, weight in zip(people, weights.tolist(), strict=True):
        numbers = weighed.numbers(family, kappa)
        first = first + weight / total * numbers[0]
        at = at + weight / total * numbers[1]
    cells = people[0].cells_of(family)
    point = values_of(cells.family.axes, np.asarray(at).reshape(1, -1))[0]
    return cells.family.person(people[0].setting.rounds.record, np.asarray(first), point, kappa)


# --- How people learn according to a log, in words and as plain data -------------------------

_Name = TypeVar("_Name", str, float)
_NAMED = 3
# Smaller shares are not mentioned.
_LEAST_MENTIONED = 0.005


def kinds_in_words(found: GroupWeighed, who: Verdict) -> list[str]:
    """Describe groups, families, κ, rates, held-out answers and the person to plan for.

    Parameters
    ----------
    found
        All people weighed together.
    who
        The person to plan for.

    Returns
    -------
    list of str
        One sentence each.
    """
    groups, families, dials = _shares_of(found)
    families = {name: share for name, share in families.items() if name != NONE_OF_THESE}
    alone = len(found.alone) == 1
    how = "How likely each way of learning is" if alone else "How common each way of learning is"
    said = [f"{name} {share:.2f}" for name, share in groups.items()]
    if not alone:
        said = [f"{name} {share}" for name, share in found.groups.items()]
        said.append(f"{NONE_OF_THESE} {found.none_of_these:.2f}")
    best = sorted(families, key=lambda name: -families[name])[:_NAMED]
    lines = [
        f"{how} (the first three equally likely before, {NONE_OF_THESE} "
        f"{PRIOR.none_of_these:g}): {', '.join(said)}.",
        f"  Mostly {listed([f'{name} {families[name]:.2f}' for name in best])}.",
    ]
    hides = any(weighed.setting.rounds.record.hides for weighed in found.alone.values())
    if hides and len(dials) > 1:
        shares = ", ".join(f"{dial:g}: {share:.2f}" for dial, share in dials.items())
        lines.append(f"  Filling in what is hidden, from 0 (knows) to 1 (ignores): {shares}.")
    if not alone:
        rate = [f"{np.exp(end):.2g}" for end in found.rate.mean]
        lines.append(
            f"  A showing removes a share of {rate[0]} of an error ({rate[1]} to {rate[2]}) in the "
            "median of people who learn."
        )
    lines += _ahead(found)
    if who.person is None:
        return [*lines, f"  There is no person to plan for: {who.refusal}."]
    lines.append(f"  Plan for a person who learns {_learning(who)}.")
    lines += _left_out(who)
    return [*lines, *(f"  Doubt: {doubt}." for doubt in who.doubts)]


def kinds_data(found: GroupWeighed, who: Verdict) -> dict[str, Any]:
    """Return the same as plain data: shares of groups, families and κ, by person too, and doubts.

    Parameters
    ----------
    found
        All people weighed together.
    who
        The person to plan for.

    Returns
    -------
    dict
        Plain data, ready for JSON.
    """
    groups, families, dials = _shares_of(found)
    return {
        "groups": dict(groups),
        "families": dict(families),
        "imputation": {f"{dial:g}": share for dial, share in dials.items()},
        "people": {name: dict(weighed.groups) for name, weighed in found.people.items()},
        "log_evidence": dict(found.log_evidence),
        "held_out": dict(found.held_out),
        "doubts": list(who.doubts),
    }


def shares_data(who: Verdict) -> dict[str, float]:
    """Probability of each kind, named as in the crowd to plan for.

    Parameters
    ----------
    who
        The person to plan for.

    Returns
    -------
    dict
        The likeliest first; kinds below half a percent are left out.
    """
    return {name: share for name, share in who.shares.items() if share >= _LEAST_MENTIONED}


def _left_out(who: Verdict) -> list[str]:
    """Describe likely kinds that are not in the crowd to plan for."""
    if isinstance(who.person, Crowd):
        inside = {each.name for each in who.person.members}
    else:
        inside = {next(iter(who.shares))}
    gone = {name: s for name, s in shares_data(who).items() if name not in inside}
    if not gone:
        return []
    names = [f"{_called(name)} ({share:.2f})" for name, share in gone.items()]
    return [
        f"  Left out, {sum(gone.values()):.2f} together (likelier kinds that learn in the same way "
        f"represent them): {first_few(names, 2 * _NAMED, separator='; ')}."
    ]


def _shares_of(
    found: GroupWeighed,
) -> tuple[dict[str, float], dict[str, float], dict[float, float]]:
    """Shares of groups, families and κ: probabilities for one person, frequencies for several."""
    if len(found.alone) == 1:
        one = next(iter(found.alone.values()))
        return one.groups, one.families, one.dials
    return _means(found.groups), _means(found.families), _means(found.dials)


def _means(shares: Mapping[_Name, Estimate]) -> dict[_Name, float]:
    return {name: share.mean for name, share in shares.items()}


def _ahead(found: GroupWeighed) -> list[str]:
    ahead = found.held_out
    if "none" not in ahead or len(ahead) < 2:
        return []
    best = max(ahead, key=ahead.__getitem__)
    if best == "none":
        return ["  One step ahead, the last quarter of the answers shows no learning."]
    return [
        f"  One step ahead, the last quarter of the answers is likeliest under {best}: "
        f"{ahead[best] - ahead['none']:+.1f} nats against no learning."
    ]


def _learning(who: Verdict) -> str:
    """The likeliest kinds, with their shares."""
    if not isinstance(who.person, Crowd):
        name, share = next(iter(who.shares.items()))
        return f"like {_called(name)} ({share:.2f})"
    names = [f"{_called(each.name)} ({each.weight:.2f})" for each in who.person.members]
    # Semicolons, because names of kinds contain commas.
    return f"like one of these: {first_few(names, 2 * _NAMED, separator='; ')}"


def _called(name: str) -> str:
    """Say "not learning" instead of "none"."""
    return f"not learning{name.removeprefix(NONE)}" if name.startswith(NONE) else name
