"""What weighing one person's rounds gave: probabilities, parameters, first weights, held-out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import labelled, unknown_names
from preceptor.errors import InvalidInput
from preceptor.evidence.answers import log_width_prior, logsumexp_rows
from preceptor.evidence.axes import Population, log_prior, values_of
from preceptor.evidence.cells import Cells, Estimate, mixture
from preceptor.evidence.families import GROUPS, kappa_in_words
from preceptor.people.person import Person

if TYPE_CHECKING:
    from preceptor.evidence.weighing import Setting


@dataclass(frozen=True, eq=False, repr=False)
class Weighed:
    """Which kind of person some rounds show.

    Attributes
    ----------
    setting
        The rounds, and what was taken for granted about them.
    cells
        The evidence of each family in boxes of its parameters, in order.
    prior
        How likely each family was before, shape (families,).
    """

    setting: Setting
    cells: tuple[Cells, ...]
    prior: FloatArray

    def under(
        self,
        families: FloatArray,
        dials: FloatArray,
        rate: Population | None = None,
        scatter: Population | None = None,
    ) -> Weighed:
        """The same rounds, of somebody from a group of people about whom more is known.

        Parameters
        ----------
        families
            How likely each family is before, shape (families,).
        dials
            How likely each κ is before, shape (dials,).
        rate, scatter
            Where these people's log rates and log scatters lie; as before if left out.

        Returns
        -------
        Weighed
            With other probabilities, from the same evidence.
        """
        with np.errstate(divide="ignore"):
            ways = np.log(dials / dials.sum())
        found = []
        for cells in self.cells:
            points = log_prior(cells.family.axes, cells.coordinates, cells.widths, rate)
            moved = cells._replace(prior=ways[:, None] + points)
            if scatter is not None:
                tilt = scatter.log_density(cells.scatter) - log_width_prior(cells.scatter)
                with np.errstate(divide="ignore"):
                    logs = np.log(cells.shares) + tilt
                more = logsumexp_rows(logs)
                moved = moved._replace(
                    log_evidence=cells.log_evidence + more,
                    early=cells.early + more,
                    shares=np.exp(logs - more[..., None]),
                )
            found.append(moved)
        setting = self.setting._replace(rate=rate)
        return Weighed(setting, tuple(found), families / families.sum())

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
        total = logsumexp_rows(logs)
        # Where errors of everybody would have run away, nothing was learned about anybody.
        return np.asarray(np.exp(logs - total)) if np.isfinite(total) else self.prior

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

    @property
    def family(self) -> str:
        """The likeliest family of the likeliest group."""
        return self._best_of(self.group)

    # --- numbers ---

    def cells_of(self, family: str | None = None) -> Cells:
        """The evidence of a family in boxes of its parameters.

        Parameters
        ----------
        family
            Its name; the likeliest one if left out.

        Returns
        -------
        Cells
            One for each κ and box.

        Raises
        ------
        InvalidInput
            A family that was not weighed.
        """
        name = self.family if family is None else family
        InvalidInput.raise_if(unknown_names("family", [name], tuple(self.log_evidence)))
        return next(cells for cells in self.cells if cells.family.name == name)

    @cached_property
    def _likely(self) -> list[tuple[Cells, FloatArray]]:
        """Families with cells that carry any weight, and the weights (dials, points) of all."""
        return [
            (cells, share * cells.posterior)
            for cells, share in zip(self.cells, self.shares.tolist(), strict=True)
            if share > 1e-6
        ]

    def _mixed(self, what: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Shares, means and standard deviations of something over all cells that matter."""
        shares, means, sds = [], [], []
        for cells, weights in self._likely:
            kept = weights > 1e-7
            shares.append(weights[kept])
            if what == "scatter":
                nodes, parts = cells.scatter[kept], cells.shares[kept]
                middle = np.sum(parts * nodes, axis=1)
                means.append(middle)
                sds.append(np.sqrt(np.sum(parts * (nodes - middle[:, None]) ** 2, axis=1)))
            else:
                means.append(cells.mean[kept])
                sds.append(cells.sds[kept])
        return np.concatenate(shares), np.concatenate(means), np.concatenate(sds)

    @cached_property
    def scatter(self) -> Estimate:
        """Width of scatter of answers, over the outcome's standard deviation, over all kinds."""
        found = mixture(*self._mixed("scatter"))
        return Estimate(*(float(np.exp(number)) for number in found))

    @cached_property
    def initial(self) -> tuple[Estimate, ...]:
        """First weights in the world's units, over all kinds."""
        record, prior = self.setting.rounds.record, self.setting.prior
        shares, means, sds = self._mixed("weights")
        found = []
        for i in range(record.world.size):
            scale = record.outcome_sd / record.test_sds[i]
            own = mixture(shares, means[:, i], sds[:, i])
            found.append(
                Estimate(*(scale * (self.setting.default[i] + prior.weights * end) for end in own))
            )
        return tuple(found)

    # --- people ---

    def person(self, family: str | None = None, dial: float | None = None) -> Person:
        """Somebody of a family at the posterior means of its parameters.

        Parameters
        ----------
        family
            Its name; the likeliest one if left out.
        dial
            κ, one of those weighed; the family's likeliest if left out.

        Returns
        -------
        Person
            Ready to be planned for from the first round.
        """
        cells = self.cells_of(family)
        inside = cells.posterior.sum(axis=1)
        kappa = float(cells.dials[int(np.argmax(inside))]) if dial is None else float(dial)
        first, at = self.numbers(cells.family.name, kappa)
        point = values_of(cells.family.axes, at[None])[0]
        return cells.family.person(self.setting.rounds.record, first, point, kappa)

    def numbers(self, family: str, dial: float) -> tuple[FloatArray, FloatArray]:
        """Means of first weights (n,), in the world's units, and of coordinates (axes,).

        Parameters
        ----------
        family
            Its name.
        dial
            κ, one of those weighed.

        Returns
        -------
        tuple of two arrays
            As if the person were of this family and κ.
        """
        cells = self.cells_of(family)
        position = int(np.argmin(np.abs(cells.dials - dial)))
        if not np.isclose(cells.dials[position], dial):
            raise InvalidInput(f"dial: {dial!r}, weighed were {cells.dials.tolist()}")
        logs = cells.prior[position] + cells.log_evidence[position]
        weights = np.exp(logs - logsumexp_rows(logs))
        record = self.setting.rounds.record
        off = weights @ cells.mean[position][:, : record.world.size]
        first = self.setting.default + self.setting.prior.weights * off
        return record.to_world(first), np.asarray(weights @ cells.coordinates)

    def name_of(self, family: str, dial: float) -> str:
        """A family and a κ in words.

        Parameters
        ----------
        family
            Its name.
        dial
            κ, from 0 to 1.

        Returns
        -------
        str
            The family alone where nothing was ever hidden, since κ then makes no difference.
        """
        if not self.setting.rounds.record.hides:
            return family
        return f"{family}, {kappa_in_words(dial)}"

    def __repr__(self) -> str:
        rows = [
            (name, f"{share:.2f}" + (f" (mostly {self._best_of(name)})" if share > 0.005 else ""))
            for name, share in self.groups.items()
        ]
        dials = ", ".join(f"{dial:g}: {share:.2f}" for dial, share in self.dials.items())
        scatter = f"{self.scatter.mean:.2f} of the outcome's standard deviation"
        rows += [("κ", dials), ("scatter", scatter)]
        return labelled(f"Weighed: {self.rounds} rounds of one person", rows)

    def _best_of(self, group: str) -> str:
        inside = [cells.family.name for cells in self.cells if cells.family.group == group]
        return max(inside, key=self.families.__getitem__)
