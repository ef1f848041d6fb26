"""Parameter axes: one parameter of a kind, its grid of values, and its prior.

The grid is even in a coordinate (the logarithm of a rate, the log-odds of a share) in which
posteriors are close to normal, so that sums over even steps are nearly exact integrals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor._base.words import repeated, unknown_name_faults
from preceptor.errors import InvalidInput
from preceptor.learners.posterior import NONE_OF_THESE, logsumexp_rows
from preceptor.learners.records import AnswerDesign, Record
from preceptor.model.person import Person
from preceptor.people.by_showings import Learner
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.curves import Geometric, PowerLaw
from preceptor.people.forgetful import Forgetful
from preceptor.people.outcome_learners import Bayesian, DeltaRule
from preceptor.people.with_level import WithLevel


@dataclass(frozen=True)
class GridAxis:
    """One parameter: name, range, and prior.

    Parameters
    ----------
    name
        Name of the person's parameter.
    lowest, highest
        Range of values to try.
    points
        Number of grid points.
    median, spread
        Prior: the coordinate is normal around that of `median`; uniform if `spread` is 0.
    beta
        For shares from 0 to 1: the parameters of a Beta prior instead. The coordinate is then the
        log-odds; otherwise it is the logarithm.
    """

    name: str
    lowest: float
    highest: float
    points: int
    median: float = 1.0
    spread: float = 0.0
    beta: tuple[float, float] | None = None

    def coordinate(self, value: npt.ArrayLike) -> FloatArray:
        """Coordinates of values."""
        at = np.asarray(value, dtype=np.float64)
        return np.log(at / (1.0 - at)) if self.beta else np.log(at)

    def value(self, coordinate: npt.ArrayLike) -> FloatArray:
        """Values at coordinates."""
        at = np.asarray(coordinate, dtype=np.float64)
        return 1.0 / (1.0 + np.exp(-at)) if self.beta else np.exp(at)

    @property
    def ends(self) -> tuple[float, float]:
        """Coordinates of the lowest and highest value."""
        return float(self.coordinate(self.lowest)), float(self.coordinate(self.highest))

    @property
    def grid(self) -> FloatArray:
        """Grid coordinates (points,): midpoints of equal parts of the range."""
        (low, high), half = self.ends, 0.5 * self.step
        return np.linspace(low + half, high - half, self.points)

    @property
    def step(self) -> float:
        """Length of such a part of the range."""
        low, high = self.ends
        return (high - low) / self.points

    def log_density(self, coordinate: npt.ArrayLike) -> FloatArray:
        """Log prior density of coordinates."""
        at = np.asarray(coordinate, dtype=np.float64)
        if self.beta:
            from scipy.special import betaln

            p, q = self.beta
            share = self.value(at)
            return np.asarray(p * np.log(share) + q * np.log1p(-share) - betaln(p, q))
        if not self.spread:
            low, high = self.ends
            return np.where(
                (at >= low - 1e-9) & (at <= high + 1e-9), -math.log(high - low), -np.inf
            )
        return Population(float(self.coordinate(self.median)), self.spread).log_density(at)


class Boxes(NamedTuple):
    """Boxes of parameters: midpoints and side lengths in coordinates, both (points, axes)."""

    coordinates: FloatArray
    widths: FloatArray


def grid_boxes(axes: tuple[GridAxis, ...]) -> Boxes:
    """All combinations of grid points; one empty row if there are no axes."""
    if not axes:
        return Boxes(np.zeros((1, 0)), np.zeros((1, 0)))
    sides = np.meshgrid(*(axis.grid for axis in axes), indexing="ij")
    points = np.stack([side.ravel() for side in sides], axis=-1)
    return Boxes(points, np.tile([axis.step for axis in axes], (len(points), 1)))


class Population(NamedTuple):
    """Normal distribution of coordinates in a population of people."""

    mean: float
    spread: float

    def log_density(self, coordinate: FloatArray, step: FloatArray | None = None) -> FloatArray:
        """Log density, averaged over grid steps that may be wider than the population."""
        away = (coordinate - self.mean) / self.spread
        if step is None:
            constant = math.log(self.spread * math.sqrt(2.0 * math.pi))
            return np.asarray(-0.5 * away**2 - constant)
        from scipy.special import ndtr

        half = 0.5 * step / self.spread
        # Measured from the nearer tail, so that nothing cancels far out.
        mass = ndtr(half - np.abs(away)) - ndtr(-half - np.abs(away))
        return np.asarray(np.log(np.maximum(mass, 1e-300) / step))


def log_prior(
    axes: tuple[GridAxis, ...],
    coordinates: FloatArray,
    widths: FloatArray,
    rate: Population | None = None,
) -> FloatArray:
    """Log prior probability of boxes, given that the truth is in one of them.

    Parameters
    ----------
    axes
        Axes of the family.
    coordinates
        Midpoints (points, axes) of the boxes.
    widths
        Their side lengths (points, axes).
    rate
        Population of log rates, if known.

    Returns
    -------
    array of shape (points,)
        Logarithms of numbers that add up to 1.
    """
    total = np.zeros(coordinates.shape[0])
    for axis, at, side in zip(axes, coordinates.T, widths.T, strict=True):
        if rate is not None and axis.name == "rate":
            total += rate.log_density(at, side) + np.log(side)
        else:
            total += axis.log_density(at) + np.log(side)
    return total - logsumexp_rows(total)


def values_of(axes: tuple[GridAxis, ...], coordinates: FloatArray) -> FloatArray:
    """Parameters (points, axes) at rows of coordinates."""
    columns = [axis.value(at) for axis, at in zip(axes, coordinates.T, strict=True)]
    return np.stack(columns, axis=-1) if axes else coordinates


# -------------------------------------------------------------------------------------------------
# Designs: answers of a person of a given kind as an affine function of their first weights.
#
# With the record of a person and the parameters of a kind, each answer is a row of numbers times
# the first weights, plus an offset, plus scatter. `lockstep.affine_in_first_weights` does the
# same, slowly, for any `Person`.


@dataclass(frozen=True, eq=False)
class FilledRounds:
    """A record with hidden tests filled in for several κ (dials): the input of the builders."""

    record: Record
    dials: FloatArray
    filled: FloatArray  # (dials, rounds, n), standard

    @classmethod
    def of(cls, record: Record, dials: Sequence[float] | FloatArray) -> FilledRounds:
        """Fill in hidden tests, once for each dial."""
        filled = np.array([record.standard(float(dial)) for dial in dials])
        return cls(record, np.asarray(dials, dtype=np.float64), filled)

    @property
    def scale(self) -> FloatArray:
        """Steps (n,) of standard weights for a rate of 1.

        A delta rule has one rate for all tests in the world's units. Here it is scaled so that it
        is the share of an error that a showing removes, averaged over tests.
        """
        variances = self.record.test_sds**2
        return variances * np.mean(1.0 / variances)

    def empty(self, points: int) -> AnswerDesign:
        """Design filled with zeros: rows (dials, points, rounds, n), in standard units.

        Builders set offsets to NaN where errors diverge.
        """
        dials, rounds, n = self.filled.shape
        rows = np.zeros((dials, points, rounds, n))
        return AnswerDesign(rows, np.zeros((dials, points, rounds)))


def no_learning(rounds: FilledRounds, points: FloatArray) -> AnswerDesign:
    """Design of weights that never change."""
    design = rounds.empty(points.shape[0])
    design.rows[:] = rounds.filled[:, None]
    return design


def by_exposure(rounds: FilledRounds, points: FloatArray, *, power: bool = False) -> AnswerDesign:
    """Points (points, 4): speed, floor, fading per round, fading per day."""
    from preceptor.learners._evidence_kernels import exposure_rows

    record, design = rounds.record, rounds.empty(points.shape[0])
    exposure_rows(
        rounds.filled, record.shown, record.told, record.gaps, record.standard_truth,
        np.ascontiguousarray(points), power, *design[:2],
    )  # fmt: skip
    return design


def by_surprise(rounds: FilledRounds, points: FloatArray) -> AnswerDesign:
    """Points (points, 3): rate, decay, leak."""
    from preceptor.learners._evidence_kernels import surprise_rows

    record, design = rounds.record, rounds.empty(points.shape[0])
    # A rate is the share of an error that a showing removes; a surprise in probability of yes is
    # only a share of the surprise in scores.
    surprise_rows(
        rounds.filled, record.shown, record.told, *record.surprising,
        rounds.scale / record.mean_slope, np.ascontiguousarray(points), *design[:2],
    )  # fmt: skip
    return design


def by_certainty(rounds: FilledRounds, points: FloatArray) -> AnswerDesign:
    """Points (points, 2): prior variance and drift, over the noise variance."""
    from preceptor.learners._evidence_kernels import certainty_rows

    record, design = rounds.record, rounds.empty(points.shape[0])
    certainty_rows(
        rounds.filled, record.told, record.standard_outcomes, rounds.scale,
        np.ascontiguousarray(points), *design[:2],
    )  # fmt: skip
    return design


def level_by_surprise(rounds: FilledRounds, points: FloatArray) -> AnswerDesign:
    """Points (points, 1): rate. Weights stay; the level moves by this share of every surprise."""
    from preceptor.learners._evidence_kernels import surprise_rows

    # A delta rule with a constant as the only test that is shown.
    record, (dials, length, n) = rounds.record, rounds.filled.shape
    inputs = np.concatenate([rounds.filled, np.ones((dials, length, 1))], axis=-1)
    moved = np.zeros((length, n + 1), dtype=np.bool_)
    moved[:, n] = True
    rows, offsets = np.zeros((dials, len(points), length, n + 1)), rounds.empty(len(points)).offsets
    surprise_rows(
        inputs, moved, record.told, *record.surprising, np.full(n + 1, 1.0 / record.mean_slope),
        _four(points[:, 0])[:, :3], rows, offsets,
    )  # fmt: skip
    return AnswerDesign(rows[..., :n], offsets, rows[..., n])


# --- Families of learners that a log is weighed against, with their parameters and priors ----
#
# Priors come from published experiments (quoted at each axis). A family belongs to a group: people
# whose weights stay, who learn them by showings (regardless of outcomes), or by outcomes.

NONE, SHOWINGS, OUTCOMES = "none", "by showings", "by outcomes"
GROUPS = (NONE, SHOWINGS, OUTCOMES)
LEVEL_ONLY = "level only"
# From this probability on, a person is said to be of a kind, and planned for as such.
SURE = 0.9

# --- parameters: grids and priors from published experiments ---

# A decaying rate is compared with a constant one at this round.
REFERENCE_ROUND = 20.0

# Share of an error that one showing removes. ln rate ~ N(ln 0.05, 1.1): a median half-life of 14
# showings.
RATE = GridAxis("rate", 0.003, 0.7, 12, 0.05, 1.1)
FEW_RATES = GridAxis("rate", 0.004, 0.6, 9, 0.05, 1.1)
# Share of the error that remains however often a test is shown: 10, 50 and 90 % points .12, .40, 1.
FLOOR = GridAxis("floor", 0.07, 0.85, 5, beta=(2.0, 3.0))
# The error falls as (1 + m)^-power; the median leaves as much after 20 showings as a rate of 0.05.
POWER = GridAxis("power", 0.03, 3.0, 10, 0.34, 1.0)
# Share of exposure lost in a round, or in a day. Half of people do not forget at all (the families
# without fading); else log-uniform.
FADING = GridAxis("forgetting", 0.003, 0.1, 4)
DAILY = GridAxis("forgetting", 0.003, 0.3, 5)
# Share by which weights return to the first ones in a round.
LEAK = GridAxis("leak", 0.003, 0.1, 4)
# Exponent by which steps fall with time; the rate is the step at the reference round.
DECAY = GridAxis("decay", 0.25, 1.0, 3)
# Prior variance of weights over the noise that the person expects. After m showings about
# 1 / (1 + ratio m) of an error is left: half after 14, in the median.
RATIO = GridAxis("certainty", 0.003, 6.0, 10, 0.07, 1.3)
FEW_RATIOS = GridAxis("certainty", 0.004, 5.0, 7, 0.07, 1.3)
# Variance added each round, over the noise. In the long run a Bayesian with drift moves like a
# delta rule of rate sqrt(drift).
DRIFT = GridAxis("drift", 1e-4, 4e-2, 4)

Make = Callable[[Record, FloatArray, FloatArray, float], Person]
Build = Callable[[FilledRounds, FloatArray], AnswerDesign]


@dataclass(frozen=True, eq=False)
class LearnerFamily:
    """A kind of learner with parameters to try.

    Parameters
    ----------
    name
        Unique among families.
    group
        "none", "by showings" or "by outcomes".
    axes
        Their parameters.
    make
        Makes the person from the record, first weights (n,) in the world's units, parameters and
        κ.
    build
        Compiled builder of designs from parameters (points, axes).
    dated
        Whether the family needs dates.
    hiding
        Whether the family equals another one unless tests are hidden.
    numbers
        Whether the family is restricted to numeric outcomes.
    named
        Whether the family is weighed only if it is named.
    """

    name: str
    group: str
    axes: tuple[GridAxis, ...]
    make: Make
    build: Build
    dated: bool = False
    hiding: bool = False
    numbers: bool = False
    named: bool = False

    def design(self, rounds: FilledRounds, coordinates: FloatArray) -> AnswerDesign:
        """Designs at rows of coordinates (points, axes), for every dial."""
        return self.build(rounds, values_of(self.axes, coordinates))

    def person(
        self, record: Record, initial: FloatArray, point: Sequence[float] | FloatArray,
        imputation: float, level: float = 0.0,
    ) -> Person:  # fmt: skip
        """Make a person of this kind.

        Parameters
        ----------
        record
            Record of the person; it gives the world, and days per round.
        initial
            First weights (n,) in the world's units.
        point
            A value for each axis.
        imputation
            κ from 0 to 1.
        level
            First level in the world's units, of families that learn it.

        Returns
        -------
        Person
            Ready to act, to be planned for and to be followed.
        """
        made = self.make(record, initial, np.asarray(point, dtype=np.float64), imputation)
        return made.at_level(level) if isinstance(made, WithLevel) else made

    def __reduce__(self) -> Any:
        # Lambdas cannot be pickled; worker processes look families up by name.
        if _BY_NAME.get(self.name) is self:
            return _family_named, (self.name,)
        return super().__reduce__()


def _four(speed: Any, floor: Any = 0.0, fading: Any = 0.0, daily: Any = 0.0) -> FloatArray:
    """Kernel parameters (points, 4); other kernels take the first columns under other names."""
    columns = np.broadcast_arrays(speed, floor, fading, daily)
    return np.stack(columns, axis=-1).astype(np.float64)


def _speed(rate: FloatArray) -> FloatArray:
    return np.asarray(-np.log1p(-rate))


def _curve(rate: float, floor: float = 0.0) -> Geometric:
    return Geometric(1.0 / (1.0 - rate), floor=floor**2)


def _delta(
    record: Record, initial: FloatArray, rate: float, dial: float, **more: float
) -> DeltaRule:
    scaled = float(rate * np.mean(1.0 / record.test_sds**2) / record.mean_slope)
    return DeltaRule(initial, scaled, dial, **more)  # type: ignore[arg-type]


def _bayesian(
    record: Record, initial: FloatArray, ratio: float, dial: float, drift: float = 0.0
) -> Bayesian:
    """Only ratios are known; the noise is assumed to be half of the outcome's variance."""
    noise = 0.5 * record.outcome_sd**2
    drift = float(drift * noise * np.mean(1.0 / record.test_sds**2))
    return Bayesian(initial, ratio * noise / record.test_sds**2, noise, dial, drift=drift)


def _per_round(record: Record, daily: float) -> float:
    """Convert forgetting per day to forgetting per round, by the mean gap between rounds."""
    return float(1.0 - (1.0 - daily) ** max(float(np.mean(record.gaps[1:])), 0.0))


FAMILIES: dict[str, LearnerFamily] = {
    family.name: family
    for family in (
        LearnerFamily(
            "none", NONE, (),
            lambda record, first, at, dial: NoLearning(first, dial),
            no_learning,
        ),
        # Weights stay, and the level of all answers follows surprises.
        LearnerFamily(
            LEVEL_ONLY, NONE, (RATE,),
            lambda record, first, at, dial: WithLevel(
                NoLearning(np.append(first, 0.0), dial), float(at[0] / record.mean_slope)
            ),
            level_by_surprise,
            named=True,
        ),
        # Each showing removes the same share of the error.
        LearnerFamily(
            "geometric", SHOWINGS, (RATE,),
            lambda record, first, at, dial: Learner(first, _curve(at[0]), dial),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]))),
        ),
        # The same, down to an error that remains.
        LearnerFamily(
            "floor", SHOWINGS, (RATE, FLOOR),
            lambda record, first, at, dial: Learner(first, _curve(at[0], at[1]), dial),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]), at[:, 1])),
        ),
        # Fast at first and then ever slower.
        LearnerFamily(
            "power law", SHOWINGS, (POWER,),
            lambda record, first, at, dial: Learner(first, PowerLaw(2.0 * at[0]), dial),
            lambda rounds, at: by_exposure(rounds, _four(at[:, 0]), power=True),
        ),
        # Forgetting tests that are not shown.
        LearnerFamily(
            "forgetful", SHOWINGS, (FEW_RATES, FADING),
            lambda record, first, at, dial: Forgetful(first, _curve(at[0]), float(at[1]), dial),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]), fading=at[:, 1])),
            hiding=True,
        ),
        # Forgetting with the days that pass.
        LearnerFamily(
            "forgetful by days", SHOWINGS, (FEW_RATES, DAILY),
            lambda record, first, at, dial: Forgetful(
                first, _curve(at[0]), _per_round(record, at[1]), dial
            ),
            lambda rounds, at: by_exposure(rounds, _four(_speed(at[:, 0]), daily=at[:, 1])),
            dated=True,
        ),
        # Steps of constant size.
        LearnerFamily(
            "delta rule", OUTCOMES, (RATE,),
            lambda record, first, at, dial: _delta(record, first, at[0], dial),
            lambda rounds, at: by_surprise(rounds, _four(at[:, 0])[:, :3]),
        ),
        # Steps that become smaller.
        LearnerFamily(
            "decaying delta rule", OUTCOMES, (FEW_RATES, DECAY),
            lambda record, first, at, dial: _delta(
                record, first, at[0] * REFERENCE_ROUND ** at[1], dial, decay=float(at[1])
            ),
            lambda rounds, at: by_surprise(
                rounds, _four(at[:, 0] * REFERENCE_ROUND ** at[:, 1], at[:, 1])[:, :3]
            ),
        ),
        # With a pull back to the first weights.
        LearnerFamily(
            "leaking delta rule", OUTCOMES, (FEW_RATES, LEAK),
            lambda record, first, at, dial: _delta(record, first, at[0], dial, leak=float(at[1])),
            lambda rounds, at: by_surprise(rounds, _four(at[:, 0], 0.0, at[:, 1])[:, :3]),
        ),
        # Bayesian regression: the surer, the smaller the steps.
        LearnerFamily(
            "bayesian", OUTCOMES, (RATIO,),
            lambda record, first, at, dial: _bayesian(record, first, at[0], dial),
            lambda rounds, at: by_certainty(rounds, _four(at[:, 0])[:, :2]),
            numbers=True,
        ),
        # Bayesian regression that is never quite sure.
        LearnerFamily(
            "drifting bayesian", OUTCOMES, (FEW_RATIOS, DRIFT),
            lambda record, first, at, dial: _bayesian(record, first, at[0], dial, drift=at[1]),
            by_certainty,
            numbers=True,
        ),
    )
}  # fmt: skip


# None of the others; `weighing.none_of_these` has its likelihood.
NONE_FAMILY = LearnerFamily(NONE_OF_THESE, NONE_OF_THESE, (), FAMILIES[NONE].make, no_learning)
_BY_NAME = FAMILIES | {NONE_OF_THESE: NONE_FAMILY}


def _family_named(name: str) -> LearnerFamily:
    return _BY_NAME[name]


def select_families(families: Sequence[str] | None, record: Record) -> tuple[LearnerFamily, ...]:
    """Return the families to weigh, of those that this record allows.

    Parameters
    ----------
    families
        Names; all by default.
    record
        Without dates, families that forget by days are left out; where nothing was ever hidden,
        those that forget hidden tests are left out unless named; where outcomes are yes or no,
        Bayesian families are left out, which can hardly be told from a delta rule. People who learn
        only the level are left out unless named.

    Returns
    -------
    tuple of LearnerFamily
        In the order given.

    Raises
    ------
    InvalidInput
        An unknown name, or the same name twice.
    """
    names = tuple(FAMILIES) if families is None else tuple(families)
    faults = unknown_name_faults("families", names, tuple(FAMILIES))
    faults += [f"families: {name!r} is named twice" for name in repeated(names)]
    InvalidInput.raise_if(faults)
    binary, found = record.world.is_binary, [FAMILIES[name] for name in names]
    if families is not None:
        InvalidInput.raise_if(
            f"families: {family.name!r} needs a numeric outcome, not yes or no; leave it out"
            for family in found
            if binary and family.numbers
        )
    kept = tuple(
        family
        for family in found
        if (record.dated or not family.dated)
        and (record.hides or not family.hiding or families is not None)
        and not (binary and family.numbers)
        and (not family.named or families is not None)
    )
    if not kept:
        raise InvalidInput("families: none left; name at least one that needs no dates")
    return kept


def kappa_in_words(dial: float) -> str:
    """What a person with this κ does with hidden tests."""
    if math.isclose(dial, 0.0, abs_tol=1e-9):
        return "knowing correlations"
    return "ignoring correlations" if math.isclose(dial, 1.0) else "knowing correlations in part"
