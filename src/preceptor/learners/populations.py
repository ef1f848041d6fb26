"""Many people: weighed one by one, and the population that they are from.

Population models have frequencies of kinds, and means and spreads of log rates and log scatters.

Frequencies of groups, of families within them and of κ have uniform Dirichlet priors; log rates are
normal around an unknown mean with an unknown spread. Gibbs sampling alternates between each
person's kind and rate given these, and these given all kinds and rates, which carries over the
uncertainty about people who are hard to classify.

Scatter is known for each person whatever their kind: mean and spread of its logarithm are summed
over a grid.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from preceptor._base.many import chunk_for, run_many
from preceptor._base.packing import pack, unpack
from preceptor._base.parallel import executor_of
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted, labelled
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.evidence_cells import ENDS, Estimate, EvidenceCells, mixture
from preceptor.learners.families import GROUPS, NONE_FAMILY, OUTCOMES, RATE, Population
from preceptor.learners.posterior import MEDIAN, SPREAD, logsumexp_rows
from preceptor.learners.records import Record
from preceptor.learners.weighing import Weighed, prepare, weigh
from preceptor.model.world import World

_DRAWS, _BEFORE = 2_000, 300
# Spreads of log rates that are drawn, and of any axis that are summed over.
_DRAWN_SPREADS = np.geomspace(0.07, 2.5, 48)
_RATIO = float(np.log(_DRAWN_SPREADS[1] / _DRAWN_SPREADS[0]))
_MEANS, _SPREADS = 61, np.geomspace(0.05, 2.0, 16)


class Draws(NamedTuple):
    """One draw per row: frequencies of groups, families and κ; mean and spread of log rates."""

    groups: FloatArray
    families: FloatArray
    dials: FloatArray
    mean: FloatArray
    spread: FloatArray


def draw_group(
    evidence: FloatArray,
    axis: FloatArray,
    has_rate: Any,
    belongs: IntArray,
    prior: Population,
    rng: np.random.Generator,
) -> Draws:
    """Draw frequencies and the population of rates.

    Parameters
    ----------
    evidence
        Log evidence (people, families, dials, points) at each log rate.
    axis
        These log rates (points,), evenly spaced.
    has_rate
        Whether each family (families,) has a rate; else its evidence is the same at all points.
    belongs
        Group of each family (families,).
    prior
        Prior of the mean log rate. The spread has a log-uniform prior, cut off softly above 1.
    rng
        Random generator.

    Returns
    -------
    Draws
        From the posterior.
    """
    people, families, dials = evidence.shape[:3]
    likely = np.exp(evidence - evidence.max(axis=(1, 2, 3), keepdims=True))
    numbers, step = np.arange(people), float(axis[1] - axis[0])
    groups = int(belongs.max()) + 1
    found = Draws(
        np.empty((_DRAWS, groups)),
        np.empty((_DRAWS, families)),
        np.empty((_DRAWS, dials)),
        np.empty(_DRAWS),
        np.empty(_DRAWS),
    )
    counts = np.zeros((families, dials))
    mean, spread = prior.mean, 0.7
    for draw in range(-_BEFORE, _DRAWS):
        inside = counts.sum(axis=1)
        common = rng.dirichlet(1.0 + np.bincount(belongs, inside, minlength=groups))
        each = rng.gamma(1.0 + inside)
        each = common[belongs] * each / np.bincount(belongs, each)[belongs]
        ways = rng.dirichlet(1.0 + counts.sum(axis=0))
        bell = np.exp(-0.5 * ((axis - mean) / spread) ** 2)
        bell /= bell.sum()
        kinds = _one_of((likely @ bell * np.outer(each, ways)).reshape(people, -1), rng)
        table = np.bincount(kinds, minlength=families * dials).astype(np.float64)
        counts = table.reshape(families, dials)
        family, dial = np.divmod(kinds, dials)
        learners = has_rate[family]
        at = likely[numbers[learners], family[learners], dial[learners]] * bell
        rates = axis[_one_of(at, rng)] + step * (rng.random(at.shape[0]) - 0.5)
        mean, spread = _draw_population(rates, spread, prior, rng)
        if draw >= 0:
            for kept, value in zip(found, (common, each, ways, mean, spread), strict=True):
                kept[draw] = value
    return found


def _one_of(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a column for each row, with probabilities in proportion to the weights."""
    below = np.cumsum(weights, axis=1)
    mark = rng.random((weights.shape[0], 1)) * below[:, -1:]
    return np.asarray(np.minimum((below < mark).sum(axis=1), weights.shape[1] - 1))


def _draw_population(
    rates: FloatArray, spread: float, prior: Population, rng: np.random.Generator
) -> tuple[float, float]:
    """Draw the mean given the spread, then the spread given the mean."""
    precision = 1.0 / prior.spread**2 + rates.size / spread**2
    centre = (prior.mean / prior.spread**2 + rates.sum() / spread**2) / precision
    mean = float(centre + rng.standard_normal() / np.sqrt(precision))
    squares = float(np.sum((rates - mean) ** 2))
    logs = (
        -rates.size * np.log(_DRAWN_SPREADS)
        - 0.5 * squares / _DRAWN_SPREADS**2
        - 0.5 * _DRAWN_SPREADS**2
    )
    at = _one_of(np.exp(logs - logs.max())[None], rng)[0]
    return mean, float(_DRAWN_SPREADS[at] * np.exp(_RATIO * (rng.random() - 0.5)))


class PopulationFit(NamedTuple):
    """Mean and spread of logarithms with intervals, and the predictive of a further person."""

    mean: Estimate
    spread: Estimate
    predictive: Population


def fit_population(axis: FloatArray, likelihoods: FloatArray, prior: Population) -> PopulationFit:
    """Fit mean and spread of a population, given the likelihood of each person's position.

    Parameters
    ----------
    axis
        Positions (points,), evenly spaced.
    likelihoods
        Likelihood of each person at each position, shape (people, points).
    prior
        Prior of the mean. The spread has a log-uniform prior, cut off softly above 1.

    Returns
    -------
    PopulationFit
        Intervals have 95 % probability.
    """
    means = np.linspace(axis[0], axis[-1], _MEANS)
    away = (axis[None, None, :] - means[:, None, None]) / _SPREADS[None, :, None]
    bells = np.exp(-0.5 * away**2)
    bells /= bells.sum(axis=-1, keepdims=True)
    logs = prior.log_density(means)[:, None] - 0.5 * _SPREADS**2
    with np.errstate(divide="ignore"):
        each = np.log(bells.reshape(-1, axis.size) @ likelihoods.T)
    logs = logs + each.sum(axis=1).reshape(logs.shape)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    over_means, over_spreads = shares.sum(axis=1), shares.sum(axis=0)
    step = float(means[1] - means[0])
    # Grid points are smoothed by half a step, so that interval ends do not snap to the grid.
    mean = mixture(over_means, means, np.full(means.size, 0.5 * step))
    ratio = float(np.log(_SPREADS[1] / _SPREADS[0]))
    spread = mixture(over_spreads, np.log(_SPREADS), np.full(_SPREADS.size, 0.5 * ratio))
    variance = float(over_spreads @ _SPREADS**2) + float(over_means @ (means - mean.mean) ** 2)
    return PopulationFit(
        mean,
        Estimate(*(float(np.exp(end)) for end in spread)),
        Population(mean.mean, float(np.sqrt(variance))),
    )


# -------------------------------------------------------------------------------------------------
# Many people together: frequencies of kinds, the population of rates, and each person again.
#
# People need not be of one kind (random-effects model selection): frequencies of kinds and the
# population of rates are drawn from their posterior (`populations.py`), and their means become the
# prior with which each person is weighed again.

_AXIS = np.linspace(*RATE.ends, 81)
_RATES = Population(float(np.log(RATE.median)), RATE.spread)


@dataclass(frozen=True, eq=False, repr=False)
class GroupWeighed:
    """Posterior over kinds for many people together.

    Attributes
    ----------
    people
        Each person, weighed with the population as prior; a single person as alone.
    alone
        Each person weighed alone.
    groups, families, dials
        Frequency of each group, family and κ, with intervals.
    rate
        Population of log rates (of kinds that have one).
    scatter
        Population of the log width of scatter, over the outcome's standard deviation.
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
        """By family: log density of all answers, if all people were of that family."""
        return _added([weighed.log_evidence for weighed in self.alone.values()])

    @property
    def by_outcomes(self) -> float:
        """Probability (of one person) or share (of several) of learning from outcomes."""
        if len(self.alone) == 1:
            return next(iter(self.alone.values())).groups.get(OUTCOMES, 0.0)
        found = self.groups.get(OUTCOMES)
        return 0.0 if found is None else found.mean

    @property
    def none_of_these(self) -> float:
        """Mean probability over people that none of the families is right."""
        return float(np.mean([weighed.none_of_these for weighed in self.people.values()]))

    @property
    def held_out(self) -> dict[str, float]:
        """The same for the last quarter of each person's answers, one step ahead."""
        return _added([weighed.held_out for weighed in self.alone.values()])

    def __repr__(self) -> str:
        rows = [(name, str(share)) for name, share in self.groups.items()]
        rows += [(f"κ = {dial:g}", str(share)) for dial, share in self.dials.items()]
        middle = [f"{np.exp(end):.3g}" for end in self.rate.mean]
        rows.append(("median rate", f"{middle[0]} ({middle[1]} to {middle[2]})"))
        return labelled(f"Weighed: {counted(len(self.people), 'participant')}", rows)


def group_people(alone: Mapping[str, Weighed], *, seed: int = 0) -> GroupWeighed:
    """Estimate frequencies and populations from people who were weighed one by one.

    Parameters
    ----------
    alone
        By name; all weighed with the same κ.
    seed
        Seed of the draws.

    Returns
    -------
    GroupWeighed
        With each person weighed again.

    Raises
    ------
    InvalidInput
        No people, or people weighed with different κ, or without a family in common.
    """
    if not alone:
        raise InvalidInput("people: none; weigh at least one person first")
    # Draws depend on the order of people; the order of rows in a log must not matter.
    order = list(alone)
    alone = dict(sorted(alone.items()))
    weighed = _in_common(list(alone.values()))
    families = [cells.family for cells in weighed[0].cells]
    groups = [name for name in GROUPS if any(family.group == name for family in families)]
    belongs = np.array([groups.index(family.group) for family in families])
    evidence = np.array([[_along_rates(cells) for cells in w.cells] for w in weighed])
    has_rate = np.array([any(axis.name == "rate" for axis in f.axes) for f in families])
    drawn = draw_group(evidence, _AXIS, has_rate, belongs, _RATES, np.random.default_rng(seed))
    rate = _rate_population(drawn)
    scatter = _scatters(weighed)
    common, kappas = drawn.families.mean(axis=0), drawn.dials.mean(axis=0)
    people = dict(alone)
    if len(people) > 1:
        for name, each in zip(alone, weighed, strict=True):
            people[name] = each.under(common, kappas, rate.predictive, scatter.predictive)
    names = [family.name for family in families]
    dials = weighed[0].setting.rounds.dials.tolist()
    return GroupWeighed(
        {name: people[name] for name in order},
        {name: alone[name] for name in order},
        dict(zip(groups, _estimates(drawn.groups), strict=True)),
        dict(zip(names, _estimates(drawn.families), strict=True)),
        dict(zip(dials, _estimates(drawn.dials), strict=True)),
        rate,
        scatter,
    )


def _along_rates(cells: EvidenceCells) -> FloatArray:
    """Log evidence (dials, points of _AXIS) of a family, with its other parameters summed out.

    The evidence is averaged over each step of the axis, since a posterior may be narrower.
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
    # Rates at which errors diverge have no evidence at all; draws need a number there.
    finite = np.where(np.isfinite(found), found, -np.inf).max()
    return np.asarray(np.maximum(found, finite - 200.0))


def _rate_population(drawn: Draws) -> PopulationFit:
    means, spreads = _estimates(np.stack([drawn.mean, drawn.spread], axis=1))
    variance = float(np.var(drawn.mean) + np.mean(drawn.spread**2))
    return PopulationFit(means, spreads, Population(means.mean, float(np.sqrt(variance))))


def _scatters(people: list[Weighed]) -> PopulationFit:
    """Population of log scatters, from each person's posterior with its prior divided out."""
    axis = np.linspace(np.log(0.05), np.log(4.0), 161)
    prior = Population(float(np.log(MEDIAN)), SPREAD)
    likelihoods = []
    for weighed in people:
        low, high = np.log(weighed.scatter.low), np.log(weighed.scatter.high)
        own = Population(float(np.log(weighed.scatter.mean)), float(max((high - low) / 3.92, 0.02)))
        logs = own.log_density(axis) - prior.log_density(axis)
        likelihoods.append(np.exp(logs - logs.max()))
    return fit_population(axis, np.array(likelihoods), prior)


def _estimates(draws: FloatArray) -> list[Estimate]:
    """Mean and 95 % interval of each column."""
    columns = np.stack([draws.mean(axis=0), *np.quantile(draws, ENDS, axis=0)], axis=1)
    return [Estimate(*column) for column in columns.tolist()]


def _in_common(people: list[Weighed]) -> list[Weighed]:
    """Restrict people to the families that all of them were weighed against."""
    dials = people[0].setting.rounds.dials
    if any(not np.array_equal(w.setting.rounds.dials, dials) for w in people):
        raise InvalidInput("people: weighed with different κ; weigh all with the same `dials`")
    names = set.intersection(*({c.family.name for c in w.cells} for w in people))
    if not names:
        raise InvalidInput("people: no family in common; weigh all with the same `families`")
    found = []
    for weighed in people:
        kept = [i for i, cells in enumerate(weighed.cells) if cells.family.name in names]
        prior = weighed.prior[kept]
        cells = tuple(weighed.cells[i] for i in kept)
        found.append(Weighed(weighed.setting, cells, prior / prior.sum(), weighed.none))
    return found


def _added(tables: list[dict[str, float]]) -> dict[str, float]:
    names = [name for name in tables[0] if all(name in table for table in tables)]
    return {name: sum(table[name] for table in tables) for name in names}


# -------------------------------------------------------------------------------------------------
# Every participant of a log, in this process, in worker processes or on a cluster. Workers return,
# and checkpoints keep, the arrays of the cells; everything else follows from the record.

# A person takes a fraction of a second, so several are sent together; fewer than two such chunks
# are not worth starting processes for, unless the caller asks for workers.
_CHUNK = 8
# The arrays of the cells of each family.
_Arrays = list[list[FloatArray]]


def weigh_people(
    world: World,
    log: Log,
    *,
    workers: int | None = None,
    cluster: Any = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> GroupWeighed:
    """Weigh every participant of a log, alone and together.

    With more than one worker a script must guard its entry with `if __name__ == "__main__":`, as
    for anything that starts processes.

    Parameters
    ----------
    world
        The world of the cases.
    log
        What people were shown and answered.
    workers
        Number of worker processes; by default one per core if there are many people.
    cluster
        A `distributed.Client`, or the address of a scheduler, to use instead.
    resume
        A checkpoint file, so that an interrupted run can continue.
    progress
        Called as people are finished.
    **options
        As in `weigh`.

    Returns
    -------
    GroupWeighed
        By participant and for all of them; the same for any number of workers.

    Raises
    ------
    InvalidInput
        An invalid option, or a log about other tests.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.simulation.rollouts import rollout
    >>> world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=1, horizon=60)
    >>> human = person.acting(world, response_noise=0.2)
    >>> log = rollout(problem, pr.Stationary((0,)), 60, people=4, rng=0, human=human).log
    >>> found = weigh_people(world, log, families=["none", "geometric", "delta rule"], dials=[0.0])
    >>> max(found.families, key=lambda name: found.families[name].mean)
    'delta rule'
    """
    choices = options.get("answers") == "choices"
    records = [Record.of(world, log, name, choices=choices) for name in log.participants]
    settings = [prepare(world, record, **options) for record in records]
    if workers is None and len(records) < 2 * _CHUNK:
        workers = 1
    with executor_of(workers, cluster) as executor:
        found: list[_Arrays] = run_many(
            functools.partial(_arrays_of, options=options),
            records,
            executor=executor,
            journal=resume,
            key=functools.partial(_key, options=options),
            pack=_packed,
            unpack=_unpacked,
            progress=progress,
            chunk=chunk_for(len(records), executor, _CHUNK),
            noun="people",
        )
    alone = {}
    for name, (setting, kinds, prior), rows in zip(log.participants, settings, found, strict=True):
        names = (*kinds, NONE_FAMILY)
        cells = [EvidenceCells(kind, *row) for kind, row in zip(names, rows, strict=True)]
        alone[name] = Weighed(setting, tuple(cells[:-1]), prior, cells[-1])
    return group_people(alone)


def _arrays_of(record: Record, options: Mapping[str, Any]) -> _Arrays:
    found = weigh(record.world, record, **options)
    return [list(cells[1:]) for cells in (*found.cells, found.none)]


def _key(record: Record, options: Mapping[str, Any]) -> str:
    """Hash of the record, the options, and the names of the arrays kept."""
    digest = hashlib.sha256(record.world.to_json().encode())
    digest.update(",".join(EvidenceCells._fields).encode())
    for name in ("shown", "values", "answers", "outcomes", "told", "days"):
        digest.update(np.ascontiguousarray(getattr(record, name)).tobytes())
    digest.update(json.dumps(dict(options), sort_keys=True, default=_plain).encode())
    return digest.hexdigest()


def _plain(option: Any) -> Any:
    return option.tolist() if isinstance(option, np.ndarray) else repr(option)


def _packed(numbers: _Arrays) -> list[list[dict[str, Any]]]:
    return [[pack(array) for array in row] for row in numbers]


def _unpacked(data: Any) -> _Arrays:
    return [[unpack("journal", array) for array in row] for row in data]
