"""Kinds in words: what a log says about how people learn, for summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from preceptor._base.words import first_few, listed
from preceptor.evidence.cells import Estimate
from preceptor.evidence.families import NONE
from preceptor.evidence.group import GroupWeighed
from preceptor.evidence.verdict import Verdict
from preceptor.people.crowd import Crowd

_Name = TypeVar("_Name", str, float)
_NAMED = 3
# Smaller shares are not worth a word.
_SMALL = 0.005


def kinds_in_words(found: GroupWeighed, who: Verdict) -> list[str]:
    """Lines about groups, families, κ, rates, held-out answers and whom to plan for.

    Parameters
    ----------
    found
        Everybody weighed.
    who
        What follows for planning.

    Returns
    -------
    list of str
        A sentence each.
    """
    groups, families, dials = _shares(found)
    alone = len(found.alone) == 1
    how = "How likely each way of learning is" if alone else "How common each way of learning is"
    said = [f"{name} {share:.2f}" for name, share in groups.items()]
    if not alone:
        ends = found.groups.values()
        said = [
            f"{text} ({each.low:.2f} to {each.high:.2f})"
            for text, each in zip(said, ends, strict=True)
        ]
    best = sorted(families, key=lambda name: -families[name])[:_NAMED]
    lines = [
        f"{how} (all three equally likely before): {', '.join(said)}.",
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
        return [*lines, f"  Whom to plan for cannot be said: {who.refusal}."]
    lines.append(f"  Plan for somebody who learns {_learning(who)}.")
    lines += _left_out(who)
    return [*lines, *(f"  Doubt: {doubt}." for doubt in who.doubts)]


def kinds_data(found: GroupWeighed, who: Verdict) -> dict[str, Any]:
    """The same as plain data: shares of groups, families and κ, by person too, and doubts.

    Parameters
    ----------
    found
        Everybody weighed.
    who
        What follows for planning.

    Returns
    -------
    dict
        Numbers, text, lists and tables.
    """
    groups, families, dials = _shares(found)
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
    """How likely each kind is by the log, named as in the crowd that is planned for.

    Parameters
    ----------
    who
        What follows for planning.

    Returns
    -------
    dict
        The likeliest first; below half a percent none is named.
    """
    return {name: share for name, share in who.shares.items() if share >= _SMALL}


def _left_out(who: Verdict) -> list[str]:
    """Kinds that the log allows for and the plan does not, with their shares."""
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
        f"stand for them): {first_few(names, 2 * _NAMED, separator='; ')}."
    ]


def _shares(found: GroupWeighed) -> tuple[dict[str, float], dict[str, float], dict[float, float]]:
    """Shares of groups, families and κ: how likely for one person, how common among several."""
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
    # Names of kinds have commas of their own.
    return f"like one of these: {first_few(names, 2 * _NAMED, separator='; ')}"


def _called(name: str) -> str:
    """Somebody who does not learn is not called "none"."""
    return f"not learning{name.removeprefix(NONE)}" if name.startswith(NONE) else name
