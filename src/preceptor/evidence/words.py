"""Kinds in words: what a log says about how people learn, for summaries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from preceptor._base.words import listed
from preceptor.evidence.group import GroupWeighed
from preceptor.evidence.refining import Estimate
from preceptor.evidence.verdict import Verdict

_NAMED = 3


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
    one = next(iter(found.alone.values())) if len(found.alone) == 1 else None
    if one is not None:
        groups = ", ".join(f"{name} {share:.2f}" for name, share in one.groups.items())
        families, dials = one.families, one.dials
    else:
        groups = ", ".join(
            f"{name} {share.mean:.2f} ({share.low:.2f} to {share.high:.2f})"
            for name, share in found.groups.items()
        )
        families = _means(found.families)
        dials = {dial: share.mean for dial, share in found.dials.items()}
    how = "How likely each way of learning is" if one else "How common each way of learning is"
    best = sorted(families, key=lambda name: -families[name])[:_NAMED]
    lines = [
        f"{how} (all three equally likely before): {groups}.",
        f"  Mostly {listed([f'{name} {families[name]:.2f}' for name in best])}.",
    ]
    hides = any(weighed.setting.rounds.record.hides for weighed in found.alone.values())
    if hides and len(dials) > 1:
        shares = ", ".join(f"{dial:g}: {share:.2f}" for dial, share in dials.items())
        lines.append(f"  Filling in what is hidden, from 0 (knows) to 1 (ignores): {shares}.")
    if one is None:
        rate = [f"{np.exp(end):.2g}" for end in found.rate.mean]
        lines.append(
            f"  A showing removes a share of {rate[0]} of an error ({rate[1]} to {rate[2]}) in the "
            "median of people who learn."
        )
    lines += _ahead(found)
    if who.person is None:
        return [*lines, f"  Whom to plan for cannot be said: {who.refusal}."]
    lines.append(f"  Plan for somebody who learns {_learning(who)}.")
    return [*lines, *(f"  Doubt: {doubt}." for doubt in who.doubts)]


def _means(shares: Mapping[str, Estimate]) -> dict[str, float]:
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
    names = [f"{name} ({share:.2f})" for name, share in who.shares.items() if share >= 0.02]
    shown = names[: 2 * _NAMED]
    rest = "" if len(names) == len(shown) else f" and {len(names) - len(shown)} more"
    return f"like one of these: {', '.join(shown)}{rest}" if len(names) > 1 else f"like {names[0]}"
