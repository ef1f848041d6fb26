"""How common kinds are: frequencies of groups, of families within them, and of κ.

All three have Dirichlet distributions, uniform before. Variational counts are quick and good means;
draws (Gibbs: everybody's kind given frequencies, then frequencies given everybody's kind) say how
far off these may be, which variational counts understate when people are hard to tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from preceptor._base.values import FloatArray, IntArray

_DRAWS, _BEFORE = 1_500, 150


class Counts(NamedTuple):
    """Dirichlet parameters: of groups, of families within their group, of κ."""

    groups: FloatArray
    families: FloatArray
    dials: FloatArray

    @classmethod
    def of(cls, shares: FloatArray, belongs: IntArray, groups: int) -> Counts:
        """From everybody's probabilities (people, families, dials); `belongs` (families,)."""
        inside = shares.sum(axis=(0, 2))
        return cls(
            np.asarray(1.0 + np.bincount(belongs, inside, minlength=groups), dtype=np.float64),
            1.0 + inside,
            1.0 + shares.sum(axis=(0, 1)),
        )

    def expected_logs(self, belongs: IntArray) -> FloatArray:
        """Expected log frequency (families, dials) of each combination."""
        totals = np.bincount(belongs, self.families)
        groups = digamma(self.groups) - digamma(self.groups.sum())
        families = digamma(self.families) - digamma(totals[belongs])
        dials = digamma(self.dials) - digamma(self.dials.sum())
        return np.asarray((groups[belongs] + families)[:, None] + dials)


class Frequencies(NamedTuple):
    """Draws from the posterior: of groups, of families (adding up to 1) and of κ, one a row."""

    groups: FloatArray
    families: FloatArray
    dials: FloatArray


def draw_frequencies(
    evidence: FloatArray, counts: Counts, belongs: IntArray, rng: np.random.Generator
) -> Frequencies:
    """Draw frequencies given what everybody's rounds say.

    Parameters
    ----------
    evidence
        Log evidence (people, families, dials).
    counts
        Where to begin.
    belongs
        Group (families,) of each family.
    rng
        Source of the draws.

    Returns
    -------
    Frequencies
        As many draws of each.
    """
    people, families, dials = evidence.shape
    flat = (evidence - evidence.max(axis=(1, 2), keepdims=True)).reshape(people, -1)
    found = Frequencies(
        np.empty((_DRAWS, counts.groups.size)),
        np.empty((_DRAWS, families)),
        np.empty((_DRAWS, dials)),
    )
    for draw in range(-_BEFORE, _DRAWS):
        groups = rng.dirichlet(counts.groups)
        each = rng.gamma(counts.families)
        each = groups[belongs] * each / np.bincount(belongs, each)[belongs]
        ways = rng.dirichlet(counts.dials)
        if draw >= 0:
            found.groups[draw], found.families[draw], found.dials[draw] = groups, each, ways
        with np.errstate(divide="ignore"):
            logs = flat + np.log(np.outer(each, ways)).ravel()
        kinds = np.argmax(logs + rng.gumbel(size=logs.shape), axis=1)
        table = np.bincount(kinds, minlength=families * dials).reshape(1, families, dials)
        counts = Counts.of(table.astype(np.float64), belongs, counts.groups.size)
    return found
