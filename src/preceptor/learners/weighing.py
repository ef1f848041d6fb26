"""Weighing: the posterior over families, their parameters and κ, given one person's answers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.parallel import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor._base.words import labelled, unknown_name_faults
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.evidence_cells import Estimate, EvidenceCells, mixture, split_where_narrow
from preceptor.learners.families import (
    GROUPS,
    NONE_FAMILY,
    FilledRounds,
    LearnerFamily,
    Population,
    grid_boxes,
    kappa_in_words,
    log_prior,
    select_families,
    values_of,
)
from preceptor.learners.posterior import (
    ANSWERS,
    NONE_OF_THESE,
    PRIOR,
    STRANGERS_KAPPA,
    Gaussian,
    NuisancePrior,
    Scatter,
    ToldRounds,
    log_width_prior,
    logsumexp_rows,
    stranger_rows,
    with_nuisances,
)
from preceptor.learners.records import Record, outcome_units
from preceptor.model.person import Person
from preceptor.model.world import World
from preceptor.people.crowd import Crowd
from preceptor.people.with_level import first_level


def family_priors(
    families: Sequence[LearnerFamily], given: Mapping[str, float] | None
) -> FloatArray:
    """Return the prior probability of each family.

    Groups have equal weights unless `given` says otherwise, and a group's weight is divided equally
    among its families; families named themselves keep the weight given.

    Parameters
    ----------
    families
        In order.
    given
        Weights by name of a group or family, on any scale. Families that are not named, nor their
        group, get 0.

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
    faults = unknown_name_faults("prior", unknown, (*GROUPS, *names))
    faults += [
        f"prior: {name} has {weight!r}, must be a number of at least 0"
        for name, weight in given.items()
        if not (is_number(weight) and weight >= 0)
    ]
    InvalidInput.raise_if(faults)
    # "none" is a group and a family.
    own = {name for name in names if name in given and name not in GROUPS}
    found = np.zeros(len(names))
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        if name in own:
            found[i] = given[name]
        else:
            sharing = sum(g == group and n not in own for g, n in zip(groups, names, strict=True))
            found[i] = given.get(group, 0.0) / sharing
    if not found.sum() > 0:
        raise InvalidInput("prior: all weights are 0; give some family a positive weight")
    return np.asarray(found / found.sum())


# -------------------------------------------------------------------------------------------------
# The result of weighing one person: probabilities, parameters, first weights, held-out density.


@dataclass(frozen=True, eq=False, repr=False)
class Weighed:
    """Posterior over kinds given one person's rounds.

    Attributes
    ----------
    setting
        The rounds and the assumptions about them.
    cells
        The evidence of each family in boxes of its parameters, in order.
    prior
        Prior probability of each family if one of them is right, shape (families,).
    none
        The evidence of none of these.
    """

    setting: WeighingSetting
    cells: tuple[EvidenceCells, ...]
    prior: FloatArray
    none: EvidenceCells

    def under(
        self,
        families: FloatArray,
        dials: FloatArray,
        rate: Population | None = None,
        scatter: Population | None = None,
    ) -> Weighed:
        """Weigh the same rounds again with the priors of a population.

        Parameters
        ----------
        families
            Prior probability of each family, shape (families,).
        dials
            Prior probability of each κ, shape (dials,).
        rate, scatter
            Populations of log rates and log scatters; unchanged by default.

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
            found.append(_rescattered(cells._replace(prior=ways[:, None] + points), scatter))
        setting = self.setting._replace(rate=rate)
        none = _rescattered(self.none, scatter)
        return Weighed(setting, tuple(found), families / families.sum(), none)

    @property
    def rounds(self) -> int:
        """Number of rounds weighed."""
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
    def _logs(self) -> FloatArray:
        """Log prior plus log evidence (families,), if one of the families is right."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.prior) + np.array(list(self.log_evidence.values())))

    @cached_property
    def shares(self) -> FloatArray:
        """Posterior probabilities (families,) if one of the families is right."""
        total = logsumexp_rows(self._logs)
        # Where errors diverge in every family, the posterior is the prior.
        return np.asarray(np.exp(self._logs - total)) if np.isfinite(total) else self.prior

    @cached_property
    def none_of_these(self) -> float:
        """Probability that no family is right."""
        before = self.setting.prior.none_of_these
        if before == 0.0:
            return 0.0
        odds = logsumexp_rows(self._logs) - self.none.total
        return float(1.0 / (1.0 + np.exp(np.clip(odds, -700.0, 700.0)) * (1.0 - before) / before))

    @property
    def families(self) -> dict[str, float]:
        """Probability of each family, and last that none of them is right."""
        each = (1.0 - self.none_of_these) * self.shares
        found = dict(zip(self.log_evidence, each.tolist(), strict=True))
        return found | {NONE_OF_THESE: self.none_of_these}

    @property
    def groups(self) -> dict[str, float]:
        """Probability of each group: none, by showings, by outcomes; and of none of these."""
        found = dict.fromkeys(GROUPS, 0.0)
        for cells in self.cells:
            found[cells.family.group] += self.families[cells.family.name]
        return found | {NONE_OF_THESE: self.none_of_these}

    @property
    def group(self) -> str:
        """The likeliest group of those in the list."""
        return max(GROUPS, key=self.groups.__getitem__)

    @cached_property
    def joint(self) -> FloatArray:
        """Probability (families, dials) of each family with each κ, if one of them is right."""
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

    def cells_of(self, family: str | None = None) -> EvidenceCells:
        """Return the evidence cells of a family.

        Parameters
        ----------
        family
            Its name; the likeliest one if left out.

        Returns
        -------
        EvidenceCells
            Log evidence by cell of the family's parameters.

        Raises
        ------
        InvalidInput
            The family was not weighed.
        """
        name = self.family if family is None else family
        InvalidInput.raise_if(unknown_name_faults("family", [name], tuple(self.log_evidence)))
        return next(cells for cells in self.cells if cells.family.name == name)

    @cached_property
    def _likely(self) -> list[tuple[EvidenceCells, FloatArray]]:
        """Families with noticeable probability, and the probabilities (dials, points) of cells."""
        return [
            (cells, share * cells.posterior)
            for cells, share in zip(self.cells, self.shares.tolist(), strict=True)
            if share > 1e-6
        ]

    def _over_cells(self, *names: str) -> list[FloatArray]:
        """Probabilities of all cells that matter, and these fields of the cells."""
        kept = [(cells, weights, weights > 1e-7) for cells, weights in self._likely]
        fields = [[getattr(cells, name)[mask] for cells, _, mask in kept] for name in names]
        return [np.concatenate(part) for part in ([w[mask] for _, w, mask in kept], *fields)]

    @cached_property
    def scatter(self) -> Estimate:
        """Scatter of answers over the outcome's standard deviation, averaged over kinds."""
        found = mixture(*self._over_cells("scatter", "scatter_sd"))
        return Estimate(*(float(np.exp(number)) for number in found))

    @cached_property
    def initial(self) -> tuple[Estimate, ...]:
        """First weights in the world's units, averaged over kinds."""
        record = self.setting.rounds.record
        middle, scale = self.setting.default, self.setting.prior.weights
        return tuple(
            self._of_theta(i, middle[i], scale, record.outcome_sd / record.test_sds[i])
            for i in range(record.world.size)
        )

    @cached_property
    def bias(self) -> Estimate:
        """Constant bias of answers in the world's units, averaged over kinds."""
        record = self.setting.rounds.record
        return self._of_theta(record.world.size, 0.0, self.setting.prior.bias, record.outcome_sd)

    @cached_property
    def follow(self) -> Estimate:
        """Share of the last surprise that answers follow, averaged over kinds."""
        prior, size = self.setting.prior, self.setting.rounds.record.world.size
        return self._of_theta(size + 1, prior.follow_mean / prior.follow, 1.0, prior.follow)

    def _of_theta(self, column: int, middle: float, scale: float, unit: float) -> Estimate:
        shares, means, sds = self._over_cells("mean", "sds")
        own = mixture(shares, means[:, column], sds[:, column])
        return Estimate(*(unit * (middle + scale * end) for end in own))

    # --- people ---

    def person(self, family: str | None = None, dial: float | None = None) -> Person:
        """Make a person of a family at the posterior means of its parameters.

        Parameters
        ----------
        family
            Name of the family; by default the likeliest.
        dial
            κ, one of those weighed; by default the family's likeliest.

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
        return cells.family.person(
            self.setting.rounds.record, first, point, kappa, self._first_level(cells, kappa)
        )

    def numbers(self, family: str, dial: float) -> tuple[FloatArray, FloatArray]:
        """Posterior means, given that the person is of this family and has this κ.

        Parameters
        ----------
        family
            Name of the family.
        dial
            κ, one of those weighed.

        Returns
        -------
        tuple of arrays
            First weights (n,) in the world's units, and coordinates (axes,).
        """
        cells = self.cells_of(family)
        weights, means = self._shares_of(cells, dial)
        record = self.setting.rounds.record
        off = weights @ means[:, : record.world.size]
        first = self.setting.default + self.setting.prior.weights * off
        return record.to_world(first), np.asarray(weights @ cells.coordinates)

    def _shares_of(self, cells: EvidenceCells, dial: float) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the cells (points,) given κ, and their means (points, p) of θ."""
        position = int(np.argmin(np.abs(cells.dials - dial)))
        if not np.isclose(cells.dials[position], dial):
            raise InvalidInput(f"dial: {dial!r}, must be one of {cells.dials.tolist()}")
        logs = cells.prior[position] + cells.log_evidence[position]
        return np.exp(logs - logsumexp_rows(logs)), cells.mean[position]

    def _first_level(self, cells: EvidenceCells, dial: float) -> float:
        """Posterior mean of the first level in the world's units, for families that learn it."""
        weights, means = self._shares_of(cells, dial)
        record = self.setting.rounds.record
        off = float(weights @ means[:, record.world.size])
        return record.outcome_sd * (self.setting.level + self.setting.prior.bias * off)

    def name_of(self, family: str, dial: float) -> str:
        """Name a family and a κ.

        Parameters
        ----------
        family
            Name of the family.
        dial
            κ.

        Returns
        -------
        str
            The family alone where nothing was ever hidden.
        """
        if not self.setting.rounds.record.hides:
            return family
        return f"{family}, {kappa_in_words(dial)}"

    def crowd(self) -> Crowd:
        """Return all hypotheses as a crowd with their prior weights.

        Returns
        -------
        Crowd
            One person for each family, κ and box of parameters. A tutor with this crowd and the
            same record gives the same probabilities.
        """
        record, people = self.setting.rounds.record, {}
        first = record.to_world(self.setting.default)
        level = record.outcome_sd * self.setting.level
        for cells, share in zip(self.cells, self.prior.tolist(), strict=True):
            points = values_of(cells.family.axes, cells.coordinates)
            for (dial, point), prior in np.ndenumerate(cells.prior):
                kappa = float(cells.dials[dial])
                person = cells.family.person(record, first, points[point], kappa, level)
                people[f"{cells.family.name}, {kappa:g}, {point}"] = person, share * np.exp(prior)
        return Crowd(people)

    def __repr__(self) -> str:
        mostly = {
            name: f" (mostly {self._best_of(name)})" for name in GROUPS if self.groups[name] > 0.005
        }
        rows = [(name, f"{share:.2f}{mostly.get(name, '')}") for name, share in self.groups.items()]
        dials = ", ".join(f"{dial:g}: {share:.2f}" for dial, share in self.dials.items())
        scatter = f"{self.scatter.mean:.2f} of the outcome's standard deviation"
        rows += [("κ", dials), ("scatter", scatter)]
        return labelled(f"Weighed: {self.rounds} rounds of one person", rows)

    def _best_of(self, group: str) -> str:
        inside = [cells.family.name for cells in self.cells if cells.family.group == group]
        return max(inside, key=self.families.__getitem__)


# --- Weighing: the evidence of every family, κ, rate and scatter, given a person's answers ---
#
# The unknown first weights, a constant bias, and how far answers follow the last surprise are
# integrated out exactly; parameters and scatter are summed over grids that become finer where the
# posterior is narrow.

DIALS = (0.0, 0.5, 1.0)
# Approximate scatters leave out directions in which the answers of a stranger vary by less.
_LEAST_VARIANCE = 0.01


class WeighingSetting(NamedTuple):
    """Everything needed to compute evidence from a design.

    `default` are the expected first weights (n,) in standard units, `held_out` the number of rounds
    at the end that `early` evidence leaves out, `rate` the population of log rates where known,
    `yes_above` the probability above which a decision is yes.
    """

    rounds: FilledRounds
    answers: Scatter
    default: FloatArray
    prior: NuisancePrior
    held_out: int
    rate: Population | None = None
    yes_above: float = 0.5

    @property
    def level(self) -> float:
        """Expected first level of people who learn it, in standard units.

        They expect the true average or prevalence, given what they know of the tests.
        """
        record = self.rounds.record
        return first_level(record.world, record.to_world(self.default)) / record.outcome_sd

    @property
    def base(self) -> float:
        """Score of an average case above the threshold of decisions; 0 for other answers."""
        record = self.rounds.record
        if not record.decided:
            return 0.0
        assert record.world.outcome is not None
        above = float(record.world.outcome.from_score.score(self.yes_above))
        return (record.world.base_score - above) / record.outcome_sd


def weigh(
    world: World,
    rounds: Record | Log,
    *,
    families: Sequence[str] | None = None,
    answers: str | Scatter = "gaussian",
    default: npt.ArrayLike | None = None,
    dials: Sequence[float] = DIALS,
    prior: Mapping[str, float] | None = None,
    spread: NuisancePrior | None = None,
    yes_above: float = 0.5,
) -> Weighed:
    """Weigh all families of learners given the rounds of one person.

    Parameters
    ----------
    world
        The world of the cases.
    rounds
        A `Record`, or a log of one participant.
    families
        Families to weigh, by name; all by default.
    answers
        How answers scatter: "gaussian", "t" (with slips) or "choices" (0 or 1). Where the outcome
        is yes or no, probabilities scatter on the scale of scores, and decisions are choices.
    default
        Expected first weights (n,), in the world's units; zero by default.
    dials
        Values of κ to weigh, with equal priors.
    prior
        Prior weight of each group ("none", "by showings", "by outcomes") or family, on any scale;
        equal thirds by group by default.
    spread
        Prior standard deviations of first weights and nuisances.
    yes_above
        Probability above which people decide yes, where answers are decisions: `yes_above` of the
        `Decision` whose costs they know.

    Returns
    -------
    Weighed
        Probabilities of groups, families and κ; parameters with intervals; held-out densities.

    Raises
    ------
    InvalidInput
        An invalid option, or a log of several people.

    Examples
    --------
    >>> world = World.equicorrelated([0.6, 0.3, 0.0], 0.5, 0.4)
    >>> rng = np.random.default_rng(0)
    >>> shown = np.array([[t % 3 != i for i in range(3)] for t in range(80)])
    >>> values, truths = world.sample(80, rng)
    >>> record = Record(world, shown, values, rng.normal(size=80), truths, np.ones(80, bool))
    >>> max(weigh(world, record).groups.values()) > 0.4    # random answers
    True
    """
    setting, kinds, priors = prepare(
        world, rounds, families=families, answers=answers, default=default, dials=dials,
        prior=prior, spread=spread, yes_above=yes_above,
    )  # fmt: skip
    with one_blas_thread():
        cells = tuple(integrate_family(setting, family) for family in kinds)
        return Weighed(setting, cells, priors, none_of_these(setting))


def prepare(
    world: World,
    rounds: Record | Log,
    *,
    families: Sequence[str] | None = None,
    answers: str | Scatter = "gaussian",
    default: npt.ArrayLike | None = None,
    dials: Sequence[float] = DIALS,
    prior: Mapping[str, float] | None = None,
    spread: NuisancePrior | None = None,
    yes_above: float = 0.5,
) -> tuple[WeighingSetting, tuple[LearnerFamily, ...], FloatArray]:
    """Validate the options of `weigh`; return the setting, the families and their priors."""
    if isinstance(answers, str) and answers not in ANSWERS:
        raise InvalidInput(f"answers: {answers!r}, must be one of {', '.join(ANSWERS)}")
    scatter = ANSWERS[answers] if isinstance(answers, str) else answers
    record = rounds
    if not isinstance(record, Record):
        record = Record.of(world, record, choices=not scatter.follows_surprises)
    if record.decided and scatter is ANSWERS["gaussian"]:
        scatter = ANSWERS["choices"]
    kinds = select_families(families, record)
    faults = [
        f"dials: {dial!r}, must be numbers from 0 to 1" for dial in dials if not 0 <= dial <= 1
    ]
    first = np.zeros(world.size) if default is None else np.asarray(default, dtype=np.float64)
    if first.shape != (world.size,):
        faults.append(f"default: shape {first.shape}, must be ({world.size},), one for each test")
    if not len(dials):
        faults.append("dials: none; name at least one value of κ")
    if record.world != world:
        faults.append("rounds: the record belongs to another world")
    if world.is_binary and record.decided != (not scatter.follows_surprises):
        faults.append(
            f"answers: {scatter.name!r}, but the log has "
            f"{'decisions' if record.decided else 'probabilities'}; leave `answers` out"
        )
    if not is_number(yes_above) or not 0.0 < yes_above < 1.0:
        faults.append(f"yes_above: {yes_above!r}, must be a probability between 0 and 1")
    faults += scatter.faults(record.answers)
    InvalidInput.raise_if(faults)
    setting = WeighingSetting(
        FilledRounds.of(record, dials),
        scatter,
        record.to_standard(first),
        spread or PRIOR,
        record.rounds // 4,
        yes_above=float(yes_above),
    )
    return setting, kinds, family_priors(kinds, prior)


def integrate_family(setting: WeighingSetting, family: LearnerFamily) -> EvidenceCells:
    """Evidence of one family, on boxes small enough for its posterior."""
    evaluate = functools.partial(cells_of, setting, family)
    return split_where_narrow(evaluate(*grid_boxes(family.axes)), evaluate, setting.rate)


def cells_of(
    setting: WeighingSetting, family: LearnerFamily, coordinates: FloatArray, widths: FloatArray
) -> EvidenceCells:
    """Evidence of one family in boxes of its parameters.

    Parameters
    ----------
    setting
        Setting of the person.
    family
        The family.
    coordinates
        Midpoints (points, axes) of the boxes.
    widths
        Their side lengths (points, axes).

    Returns
    -------
    EvidenceCells
        One for each dial and point.
    """
    rows, known, good = _prepared(setting, family, coordinates)
    priors = log_prior(family.axes, coordinates, widths, setting.rate)
    dials = setting.rounds.dials
    shape = (dials.size, coordinates.shape[0])
    found = _integrated(setting, rows, known)
    for logs in found[:2]:
        logs[~good] = -np.inf
    arrays = [array.reshape(*shape, *array.shape[1:]) for array in found]
    prior = np.tile(priors - np.log(dials.size), (dials.size, 1))
    return EvidenceCells(family, coordinates, widths, dials, prior, *arrays)


def none_of_these(setting: WeighingSetting) -> EvidenceCells:
    """Evidence of none of these: one cell."""
    record = setting.rounds.record
    mean, sd = outcome_units(record.world)
    rounds = ToldRounds(
        record.values / record.test_sds, (record.outcomes - mean) / sd, record.surprises
    )
    least = 0.0 if isinstance(setting.answers, Gaussian) else _LEAST_VARIANCE
    filled = record.standard(STRANGERS_KAPPA)
    rows = stranger_rows(
        rounds, record.shown, record.told, filled, setting.prior.weights, setting.prior, least
    )
    rows = with_nuisances(rows, _surprises(setting), setting.prior)
    known = filled @ setting.default + _known(setting)
    arrays = [array[None] for array in _integrated(setting, rows[None], known[None])]
    return EvidenceCells(NONE_FAMILY, *grid_boxes(()), np.zeros(1), np.zeros((1, 1)), *arrays)


def _surprises(setting: WeighingSetting) -> FloatArray:
    record = setting.rounds.record
    return record.last_surprises if setting.answers.follows_surprises else np.zeros(record.rounds)


def _known(setting: WeighingSetting) -> FloatArray:
    """The part of the answers (rounds,) that all kinds have in common."""
    return np.asarray(setting.prior.follow_mean * _surprises(setting) + setting.base)


def _prepared(
    setting: WeighingSetting, family: LearnerFamily, at: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Whitened rows (cells, rounds, p), known parts (cells, rounds), and finite cells (cells,)."""
    rows, offsets, level = family.design(setting.rounds, at)
    known = offsets + rows @ setting.default + _known(setting)
    if level is not None:
        known += level * setting.level
    rows = with_nuisances(rows * setting.prior.weights, _surprises(setting), setting.prior, level)
    rows = rows.reshape(-1, *rows.shape[2:])
    known = known.reshape(-1, known.shape[-1])
    good = np.asarray(np.isfinite(known).all(axis=-1))
    known[~good] = 0.0
    return rows, known, good


def _integrated(
    setting: WeighingSetting, rows: FloatArray, known: FloatArray
) -> tuple[FloatArray, ...]:
    """Fields of the cells from `log_evidence` on, one row for each cell."""
    record = setting.rounds.record
    answers = record.standard_answers if setting.answers.follows_surprises else record.answers
    early = slice(0, record.rounds - setting.held_out)
    whole = setting.answers.integrate(rows, known, answers)
    before = setting.answers.integrate(rows[:, early], known[:, early], answers[early])
    return (whole.log_evidence, before.log_evidence, *whole[1:])


# Nodes of a normal distribution, in standard deviations.
_NODES = 0.85 * np.arange(-5.0, 6.0)


def _rescattered(cells: EvidenceCells, scatter: Population | None) -> EvidenceCells:
    """The same cells with this population of log widths as the prior."""
    if scatter is None:
        return cells
    nodes = cells.scatter[..., None] + cells.scatter_sd[..., None] * _NODES
    tilt = scatter.log_density(nodes) - log_width_prior(nodes)
    logs = tilt - 0.5 * _NODES**2 - logsumexp_rows(-0.5 * _NODES**2)
    more = logsumexp_rows(logs)
    shares = np.exp(logs - more[..., None])
    mean = np.sum(shares * nodes, axis=-1)
    variance = np.sum(shares * (nodes - mean[..., None]) ** 2, axis=-1)
    return cells._replace(
        log_evidence=cells.log_evidence + more,
        early=cells.early + more,
        scatter=mean,
        scatter_sd=np.sqrt(variance),
    )
