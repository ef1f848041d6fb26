"""What weighing one person's rounds gave: probabilities, parameters, first weights, held-out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.evidence.answers import logsumexp_rows
from preceptor.evidence.families import GROUPS, Family

if TYPE_CHECKING:
    from preceptor.evidence.weighing import Setting


class Cells(NamedTuple):
    """One family on a grid: a cell for each dial (κ) and point (parameters).

    `prior` (dials, points) adds up to 1 (as logarithms), `log_evidence` and `early` (of the first
    three quarters of the rounds) are (dials, points). `scatter` and `shares` (dials, points, nodes)
    are log widths and their posterior; `mean` and `covariance` are those of whitened first weights
    and nuisances.
    """

    family: Family
    coordinates: FloatArray
    dials: FloatArray
    prior: FloatArray
    log_evidence: FloatArray
    early: FloatArray
    scatter: FloatArray
    shares: FloatArray
    mean: FloatArray
    covariance: FloatArray

    @property
    def total(self) -> float:
        """Log evidence of the family."""
        return float(logsumexp_rows((self.prior + self.log_evidence).ravel()))

    @property
    def early_total(self) -> float:
        """The same of the first three quarters."""
        return float(logsumexp_rows((self.prior + self.early).ravel()))

    @property
    def posterior(self) -> FloatArray:
        """Probabilities (dials, points) within the family."""
        total = self.total
        if not np.isfinite(total):
            return np.exp(self.prior)
        return np.asarray(np.exp(self.prior + self.log_evidence - total))


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Weighed:
    """Which kind of person some rounds show.

    Made by `weigh`. `cells` are the families in order, `prior` (families,) how likely each was
    before.
    """

    setting: Setting
    cells: tuple[Cells, ...]
    prior: FloatArray

    @property
    def rounds(self) -> int:
        """How many rounds were weighed."""
        return self.setting.rounds.record.rounds

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """By family: log density of all answers, in nats."""
        return {cells.family.name: cells.total for cells in self.cells}

    @cached_property
    def held_out(self) -> dict[str, float]:
        """By family: log density of the last quarter, one step ahead, given the rounds before."""
        return {cells.family.name: cells.total - cells.early_total for cells in self.cells}

    @cached_property
    def shares(self) -> FloatArray:
        """Posterior probabilities (families,)."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.prior) + np.array(list(self.log_evidence.values()))
        return np.asarray(np.exp(logs - logsumexp_rows(logs)))

    @property
    def families(self) -> dict[str, float]:
        """Probability of each family."""
        return dict(zip(self.log_evidence, self.shares.tolist(), strict=True))

    @property
    def groups(self) -> dict[str, float]:
        """Probability of each group: none, by showings, by outcomes."""
        found = dict.fromkeys(GROUPS, 0.0)
        for cells, share in zip(self.cells, self.shares.tolist(), strict=True):
            found[cells.family.group] += share
        return found

    @property
    def group(self) -> str:
        """The likeliest group."""
        return max(self.groups, key=self.groups.__getitem__)

    @cached_property
    def joint(self) -> FloatArray:
        """Probability (families, dials) of each family with each κ."""
        inside = np.array([cells.posterior.sum(axis=1) for cells in self.cells])
        return np.asarray(self.shares[:, None] * inside)

    @property
    def dials(self) -> dict[float, float]:
        """Probability of each κ."""
        dials = self.setting.rounds.dials.tolist()
        return dict(zip(dials, self.joint.sum(axis=0).tolist(), strict=True))
