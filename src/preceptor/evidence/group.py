"""Many people: how common each kind is among them, where their rates lie, and each one again.

People need not be of one kind (random-effects model selection): frequencies of kinds and the
population of rates are drawn from their posterior (`populations.py`), and with their means
everybody is weighed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import counted, labelled
from preceptor.errors import InvalidInput
from preceptor.evidence.answers import MEDIAN, SPREAD, logsumexp_rows
from preceptor.evidence.axes import Population
from preceptor.evidence.cells import Cells, Estimate
from preceptor.evidence.families import GROUPS, OUTCOMES, RATE
from preceptor.evidence.populations import Draws, PopulationFit, draw_group, fit_population
from preceptor.evidence.weighed import Weighed

_AXIS = np.linspace(*RATE.ends, 81)
_RATES = Population(float(np.log(RATE.median)), RATE.spread)


@dataclass(frozen=True, eq=False, repr=False)
class GroupWeighed:
    """What many people's rounds show, together.

    Attributes
    ----------
    people
        Each person, weighed again as one of these people.
    alone
        Each person by themselves.
    groups, families, dials
        How common each group, family and κ is, with intervals.
    rate
        Where log rates lie (of people and kinds that have one), and how far they spread.
    scatter
        The same of the log width of scatter, over the outcome's standard deviation.
    """

    people: dict[str, Weighed]
    alone: dict[str, Weighed]
    groups: dict[str, Estimate]
    families: dict[str, Estimate]
    dials: dict[float, Estimate]
    rate: PopulationFit
    scatter: PopulationFit

    @property
    def log_evidence(self) -> dict[str, float]:
        """By family: log density of all answers of all people, were all of them of that family."""
        return _added([weighed.log_evidence for weighed in self.alone.values()])

    @property
    def by_outcomes(self) -> float:
        """Probability, or share of these people, that learns from outcomes."""
        if len(self.alone) == 1:
            return next(iter(self.alone.values())).groups.get(OUTCOMES, 0.0)
        found = self.groups.get(OUTCOMES)
        return 0.0 if found is None else found.mean

    @property
    def held_out(self) -> dict[str, float]:
        """The same of everybody's last quarter, one step ahead."""
        return _added([weighed.held_out for weighed in self.alone.values()])

    def __repr__(self) -> str:
        rows = [
            (name, f"{share.mean:.2f} ({share.low:.2f} to {share.high:.2f})")
            for name, share in self.groups.items()
        ]
        rows += [
            (f"κ = {dial:g}", f"{share.mean:.2f} ({share.low:.2f} to {share.high:.2f})")
            for dial, share in self.dials.items()
        ]
        middle = [f"{np.exp(end):.3g}" for end in self.rate.mean]
        rows.append(("median rate", f"{middle[0]} ({middle[1]} to {middle[2]})"))
        return labelled(f"Weighed: {counted(len(self.people), 'participant')}", rows)


def together(alone: Mapping[str, Weighed], *, seed: int = 0) -> GroupWeighed:
    """Frequencies and populations of people who were weighed one by one.

    Parameters
    ----------
    alone
        By name; all weighed with the same κ.
    seed
        Of the draws behind frequencies.

    Returns
    -------
    GroupWeighed
        With everybody weighed again.

    Raises
    ------
    InvalidInput
        Nobody, or people weighed with different κ, or without a family in common.
    """
    if not alone:
        raise InvalidInput("people: nobody; weigh at least one person first")
    # Draws follow the order of people; the order of rows in a log must not matter.
    order = list(alone)
    alone = dict(sorted(alone.items()))
    everybody = _in_common(list(alone.values()))
    families = [cells.family for cells in everybody[0].cells]
    groups = [name for name in GROUPS if any(family.group == name for family in families)]
    belongs = np.array([groups.index(family.group) for family in families])
    evidence = np.array([[_along_rates(cells) for cells in w.cells] for w in everybody])
    has_rate = np.array([any(axis.name == "rate" for axis in f.axes) for f in families])
    drawn = draw_group(evidence, _AXIS, has_rate, belongs, _RATES, np.random.default_rng(seed))
    rate = _population(drawn)
    scatter = _scatters(everybody)
    people = {
        name: weighed.under(
            drawn.families.mean(axis=0),
            drawn.dials.mean(axis=0),
            rate.predictive,
            scatter.predictive,
        )
        for name, weighed in zip(alone, everybody, strict=True)
    }
    names = [family.name for family in families]
    dials = everybody[0].setting.rounds.dials.tolist()
    return GroupWeighed(
        {name: people[name] for name in order},
        {name: alone[name] for name in order},
        dict(zip(groups, _estimates(drawn.groups), strict=True)),
        dict(zip(names, _estimates(drawn.families), strict=True)),
        dict(zip(dials, _estimates(drawn.dials), strict=True)),
        rate,
        scatter,
    )


def _along_rates(cells: Cells) -> FloatArray:
    """Log evidence (dials, points of _AXIS) of a family, its other parameters summed out.

    That of a point is averaged over a step of the axis: a posterior may be narrower than that.
    """
    logs, names = cells.prior + cells.log_evidence, [axis.name for axis in cells.family.axes]
    if "rate" not in names:
        total = logsumexp_rows(logs) - logsumexp_rows(cells.prior)
        return np.repeat(np.asarray(total)[:, None], _AXIS.size, axis=1)
    position = names.index("rate")
    middles, widths = cells.coordinates[:, position], cells.widths[:, position]
    starts, ends = (middles + side * widths for side in (-0.5, 0.5))
    half = 0.5 * (_AXIS[1] - _AXIS[0])
    steps = np.clip(_AXIS, starts.min() + half, ends.max() - half)
    common = np.minimum.outer(ends, steps + half) - np.maximum.outer(starts, steps - half)
    parts = np.maximum(common, 0.0) / widths[:, None]
    top = np.max(logs, axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.exp(logs - top) @ parts) + top - np.log(np.exp(cells.prior) @ parts)
    # Rates at which errors run away have no evidence at all; draws need a number there.
    finite = np.where(np.isfinite(found), found, -np.inf).max()
    return np.asarray(np.maximum(found, finite - 200.0))


def _population(drawn: Draws) -> PopulationFit:
    means, spreads = _estimates(np.stack([drawn.mean, drawn.spread], axis=1))
    variance = float(np.var(drawn.mean) + np.mean(drawn.spread**2))
    return PopulationFit(means, spreads, Population(means.mean, float(np.sqrt(variance))))


def _scatters(everybody: list[Weighed]) -> PopulationFit:
    """From each person's own posterior, with its prior divided out."""
    axis = np.linspace(np.log(0.05), np.log(4.0), 161)
    prior = Population(float(np.log(MEDIAN)), SPREAD)
    likelihoods = []
    for weighed in everybody:
        low, high = np.log(weighed.scatter.low), np.log(weighed.scatter.high)
        own = Population(float(np.log(weighed.scatter.mean)), float(max((high - low) / 3.92, 0.02)))
        logs = own.log_density(axis) - prior.log_density(axis)
        likelihoods.append(np.exp(logs - logs.max()))
    return fit_population(axis, np.array(likelihoods), prior)


def _estimates(draws: FloatArray) -> list[Estimate]:
    """Mean and 95 % interval of each column."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    ends = zip(draws.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return [Estimate(*each) for each in ends]


def _in_common(everybody: list[Weighed]) -> list[Weighed]:
    """The same people with the families that all of them were weighed against."""
    dials = everybody[0].setting.rounds.dials
    if any(not np.array_equal(w.setting.rounds.dials, dials) for w in everybody):
        raise InvalidInput("people: weighed with different κ; weigh all with the same `dials`")
    names = set.intersection(*({c.family.name for c in w.cells} for w in everybody))
    if not names:
        raise InvalidInput("people: no family in common; weigh all with the same `families`")
    found = []
    for weighed in everybody:
        kept = [i for i, cells in enumerate(weighed.cells) if cells.family.name in names]
        prior = weighed.prior[kept]
        cells = tuple(weighed.cells[i] for i in kept)
        found.append(Weighed(weighed.setting, cells, prior / prior.sum()))
    return found


def _added(tables: list[dict[str, float]]) -> dict[str, float]:
    names = [name for name in tables[0] if all(name in table for table in tables)]
    return {name: sum(table[name] for table in tables) for name in names}
