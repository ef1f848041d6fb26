"""What is thought before any answer: first weights, nuisances, and how likely each kind is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray
from preceptor._base.words import unknown_names
from preceptor.errors import InvalidInput
from preceptor.evidence.families import GROUPS, Family


@dataclass(frozen=True)
class Prior:
    """Spreads of what is integrated out, over the standard deviation of the outcome.

    Parameters
    ----------
    weights
        Of each first weight around what one would expect, in standard units.
    bias
        Of a constant by which all answers are off.
    follow, follow_mean
        Spread and mean of how far an answer follows the surprise of the round before. In
        experiments that was .4; here it is a nuisance, and wide.
    """

    weights: float = 0.5
    bias: float = 0.25
    follow: float = 0.3
    follow_mean: float = 0.2


def family_priors(families: Sequence[Family], given: Mapping[str, float] | None) -> FloatArray:
    """How likely each family is before, adding up to 1.

    Groups share equally unless told otherwise, and a group's families share what it has; families
    that are named themselves keep what they were given.

    Parameters
    ----------
    families
        In order.
    given
        By name of a group or family, on any scale. What is not named gets nothing, unless its
        group is.

    Returns
    -------
    array of shape (families,)
        Probabilities.
    """
    groups = [family.group for family in families]
    names = [family.name for family in families]
    if given is None:
        given = dict.fromkeys(GROUPS, 1.0)
    unknown = [name for name in given if name not in (*GROUPS, *names)]
    faults = unknown_names("prior", unknown, (*GROUPS, *names))
    faults += [
        f"prior: {name} has {weight!r}, must be a number of at least 0"
        for name, weight in given.items()
        if not (is_number(weight) and weight >= 0)
    ]
    InvalidInput.raise_if(faults)
    # "none" is a group and a family; it is one kind either way.
    own = {name for name in names if name in given and name not in GROUPS}
    found = np.zeros(len(names))
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        if name in own:
            found[i] = given[name]
        else:
            sharing = sum(g == group and n not in own for g, n in zip(groups, names, strict=True))
            found[i] = given.get(group, 0.0) / sharing
    if not found.sum() > 0:
        raise InvalidInput("prior: nothing is possible; give some family a positive weight")
    return np.asarray(found / found.sum())
