"""What is expected of people whose errors follow from how often each test was shown.

The state is the exposure m to each test: one more when it is shown, a share f less when it is
hidden (none for people who do not forget), and the errors are those of the person's curves at m.
Expected losses are exact. So are prices if nothing is forgotten, whatever the curves: another set
in one round moves each exposure by at most one showing from then on, and what that changes later
is a quadratic form in who gains and who loses one. With forgetting a difference in exposure fades,
by how much depends on the exposure, and the form is good to first order: a planner confirms what it
says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.coordinates import Coordinates
from preceptor.people.curves import Geometric, OneShot, PowerLaw, Tabulated
from preceptor.people.deviations import deviations_of
from preceptor.people.expected import Expected, Tail, check_endless, positions_of
from preceptor.people.person import size_faults

if TYPE_CHECKING:
    from preceptor.people.by_showings import Learner
    from preceptor.people.exposed import Exposed
    from preceptor.people.exposure_walk import ExposureWalk

# How kernels know a curve: two closed forms, and a table of errors for all others.
_GEOMETRIC, _POWER_LAW, _TABLE = 0, 1, 2
# Rounds that weigh less than this are never played (as `_SMALL` in the kernels).
_SMALL = 1e-14
# Showings beyond which a curve without a formula is taken to have come to its end.
_LONGEST_TABLE = 100_000
# Variances below this share of the largest are rounding.
_NO_SPREAD = 1e-14

Arrays: TypeAlias = tuple[
    float, IntArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray,
    FloatArray, IntArray, IntArray, FloatArray, FloatArray, FloatArray,
]  # fmt: skip


def by_showings(
    person: Learner, world: World, sets: SetFamily, start: Sequence[int] | None = None
) -> Expected:
    """What is expected of somebody who learns by showings and forgets nothing.

    Parameters
    ----------
    person
        First beliefs, curves, imputation.
    world
        How tests and outcomes come about.
    sets
        What may be shown.
    start
        Showings of each test before; none if left out.

    Returns
    -------
    Expected
        By coordinates if every showing takes the same share of an error, else by exposures.
    """
    ratios = [curve.ratio for curve in person.curve_of]
    constant = [ratio for ratio in ratios if ratio is not None]
    if len(constant) < len(ratios):
        return Exposures(person, world, sets, start)
    errors = person.errors(world, np.zeros(world.size) if start is None else start)
    keep = np.where(sets.membership, np.array(constant), 1.0)
    covariance = person.imputing_covariance(world)
    return Coordinates(world, sets, errors, keep, np.zeros(keep.shape), covariance)


class Exposures:
    """`Expected` of people who count showings, and may forget: exact losses.

    Parameters
    ----------
    person
        First beliefs, curves, imputation.
    world
        How tests and outcomes come about.
    sets
        What may be shown.
    start
        Showings of each test before, or exposure to it; none if left out.
    forgetting
        Share of its exposure that a test loses in a round in which it is hidden, from 0 to 1.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> world, sets = pr.World([1.0], [[1.0]], 0.5), pr.AtMost(1).sets(1)   # () and (0,)
    >>> person = Exposures(pr.Learner([0.0], pr.PowerLaw(2.0)), world, sets)
    >>> person.losses([1, 1, 1]).round(4).tolist()   # errors 1, 1/2, 1/3
    [1.5, 0.75, 0.6111]
    """

    def __init__(
        self,
        person: Exposed,
        world: World,
        sets: SetFamily,
        start: Sequence[int] | FloatArray | None = None,
        forgetting: float = 0.0,
    ) -> None:
        faults = size_faults(person.size, world.size)
        if not (is_number(forgetting) and 0.0 <= forgetting <= 1.0):
            faults.append(f"forgetting: {forgetting!r}, must be a share of exposure from 0 to 1")
        if start is not None and len(start) != world.size:
            faults.append(f"start: {len(start)} showings, but the world has {world.size} tests")
        InvalidProblem.raise_if(faults)
        self.person = person
        self.sets = sets
        self.forgetting = float(forgetting)
        self.start = np.zeros(world.size) if start is None else np.array(start, dtype=np.float64)
        self.first: FloatArray = np.array(world.coefficients - person.initial)
        self.deviations = deviations_of(world, sets, person.imputing_covariance(world))
        curves = person.curve_of
        # Whole exposures are looked up; only fractions need a formula.
        self._code = np.full(world.size, _TABLE, dtype=np.int64)
        self._rate = np.zeros(world.size)
        for i, curve in enumerate(curves if self.forgetting else ()):
            if type(curve) is Geometric:
                self._code[i], self._rate[i] = _GEOMETRIC, math.log(curve.alpha)
            elif type(curve) is PowerLaw:
                self._code[i], self._rate[i] = _POWER_LAW, curve.exponent / 2.0
        self.has_tables = bool(np.any(self._code == _TABLE))
        self._root = np.sqrt(np.array([curve.floor for curve in curves]))
        self._ends = self.first * np.sqrt(np.array([curve.limit for curve in curves]))
        self._table = np.empty((world.size, 0))
        self.exact_prices = self.forgetting == 0.0
        known = (Geometric, PowerLaw, Tabulated, OneShot)
        self.exact = self.exact_prices or all(type(curve) in known for curve in curves)
        self.accuracy = (
            ""
            if self.exact
            else "after forgetting, curves of one's own are read at the whole number of showings "
            "below: the person is expected to learn up to one showing too late"
        )

    def arrays(self, rounds: int) -> Arrays:
        """Everything that kernels ask, in their order, enough for so many rounds.

        Parameters
        ----------
        rounds
            After the start.

        Returns
        -------
        tuple of arrays
            Share of exposure kept, the curves, what a round costs.
        """
        most = int(self.start.max(initial=0.0)) + rounds + 2
        if self.has_tables and self._table.shape[1] < most:
            columns = np.arange(2 * most, dtype=np.float64)
            left = np.array([curve.retention(columns) for curve in self.person.curve_of])
            self._table = np.ascontiguousarray(self.first[:, None] * left)
        return (
            1.0 - self.forgetting, self._code, self._rate, self._root, self.first, self._ends,
            self._table, *self.deviations.arrays,
        )  # fmt: skip

    def errors_at(self, exposures: FloatArray) -> FloatArray:
        """Errors of the weights after some exposure.

        Parameters
        ----------
        exposures
            To each test, shape (n,); infinity is allowed.

        Returns
        -------
        array of shape (n,)
            Truth minus weight.
        """
        return self._read(exposures, 0.0)

    def smoothed_errors(self, exposures: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Errors and their slopes, with steps read as straight lines between whole showings.

        Parameters
        ----------
        exposures
            To each test, shape (n,).

        Returns
        -------
        errors of shape (n,)
            Truth minus weight.
        slopes of shape (n,)
            Change of each error per unit of exposure.
        """
        from preceptor.people._exposure_kernels import slopes_at

        errors = self.errors_at(exposures)
        slopes = np.empty(errors.size)
        slopes_at(exposures, errors, *self.arrays(0)[1:5], slopes)
        steps = self._code == _TABLE
        step = np.where(steps, self._read(exposures, 1.0) - errors, 0.0)
        fraction = np.where(step != 0.0, exposures, 0.0) % 1.0  # infinity has none, and no step
        return errors + step * fraction, np.where(steps, step, slopes)

    def _read(self, exposures: FloatArray, shift: float) -> FloatArray:
        from preceptor.people._exposure_kernels import errors_at

        finite = exposures[np.isfinite(exposures)]
        reach = int(min(finite.max(initial=0.0), _LONGEST_TABLE))
        out = np.empty(exposures.size)
        errors_at(np.asarray(exposures, dtype=np.float64), shift, *self.arrays(reach)[1:7], out)
        return out

    def with_spread(self, covariance: FloatArray) -> Expected:
        """The same person, whose errors now have this covariance (n, n) around the start.

        Costs are quadratic in the first errors. So each direction in which weights may lie adds
        what somebody would cost whose first errors are that direction and who has nothing else
        to get wrong.
        """
        from preceptor.people.added_up import AddedUp

        left = self.person.retention(self.start)
        sizes, directions = np.linalg.eigh(covariance)
        parts: list[Expected] = [self]
        for size, direction in zip(sizes, directions.T, strict=True):
            if size > _NO_SPREAD * sizes[-1]:
                now = np.sqrt(size) * direction
                # Where no error is left, however wrong a first belief was, there is no doubt.
                parts.append(self._alone(np.divide(now, left, np.zeros_like(now), where=left != 0)))
        return AddedUp(parts)

    def _alone(self, first: FloatArray) -> Exposures:
        """Somebody with these first errors, whose loss is what they do to answers and no more."""
        alone = copy(self)
        limits = np.sqrt(np.array([curve.limit for curve in self.person.curve_of]))
        alone.first, alone._ends = first, first * limits
        alone._table = np.empty((first.size, 0))
        given = self.deviations
        alone.deviations = replace(
            given, least=np.zeros_like(given.least), bend=np.zeros_like(given.bend)
        )
        return alone

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Expected loss of each round, from the start."""
        from preceptor.people._exposure_kernels import replay

        sets = positions_of(schedule)
        out = np.empty(sets.size)
        replay(sets, 0, 1.0, *self.arrays(sets.size), self.start.copy(), out)
        return out

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus weight before each round, shape (rounds, n)."""
        sets = positions_of(schedule)
        self.arrays(sets.size)  # curves are tabulated as far as they are needed
        shown = self.sets.membership
        errors = np.empty((sets.size, self.start.size))
        exposures = self.start
        for t, position in enumerate(sets):
            errors[t] = self.errors_at(exposures)
            hidden = (1.0 - self.forgetting) * exposures
            exposures = np.where(shown[position], exposures + 1.0, hidden)
        return errors

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted loss of a schedule and of its tail repeated forever."""
        from preceptor.people._exposure_kernels import replay

        sets = positions_of(schedule)
        exposures = self.start.copy()
        arrays = self.arrays(sets.size)
        played = float(replay(sets, 0, float(discount), *arrays, exposures, np.empty(sets.size)))
        return played + discount**sets.size * self.tail_value(exposures, discount, tail, sets.size)

    def tail_value(
        self, exposures: FloatArray, discount: float, tail: Tail, rounds: int = 0
    ) -> float:
        """What repeating a word forever costs from some exposures on.

        Parameters
        ----------
        exposures
            Before the first round of the tail, shape (n,); left as they are.
        discount
            What a round weighs against the one before.
        tail
            Positions of sets; none costs nothing.
        rounds
            No exposure is further than this from the start.

        Returns
        -------
        float
            Discounted to the first round of the tail; nothing that weighs is left out.
        """
        from preceptor.people._exposure_kernels import play_word, show_forever

        if not tail:
            return 0.0
        check_endless(discount)
        arrays = self.arrays(rounds + rounds_that_weigh(discount) + len(tail))
        nothing = np.empty((0, exposures.size))
        if len(tail) == 1 and self.exact_prices:
            no_prices = (False, nothing, np.empty((0, 0, 0)))
            return float(show_forever(tail[0], float(discount), *arrays, exposures, *no_prices))
        played = play_word(positions_of(tail), float(discount), *arrays, exposures.copy(), nothing)
        return float(played[0])

    def orbit_losses(self, word: Tail) -> FloatArray:
        """Losses of a word's rounds once it has been repeated for very long.

        Parameters
        ----------
        word
            Positions of sets.

        Returns
        -------
        array of shape (len(word),)
            Round by round. Their mean is what a round costs in the long run.
        """
        from preceptor.people._deviation_kernels import losses_of_all
        from preceptor.people._exposure_kernels import limit_orbit

        sets = positions_of(word)
        orbit = np.empty((sets.size, self.start.size))
        omega, members, sizes, least, bend, factor = self.deviations.arrays
        limit_orbit(sets, 1.0 - self.forgetting, self.start, members, sizes, orbit)
        out = np.empty(sets.size)
        for t in range(sets.size):
            q = omega @ self.errors_at(orbit[t])
            part = slice(t, t + 1)
            losses_of_all(sets[part], q, members, sizes, least, bend, factor, out[part])
        return out

    def walk(self, rounds: int, discount: float) -> ExposureWalk:
        """Room for schedules of so many rounds."""
        from preceptor.people.exposure_walk import ExposureWalk

        return ExposureWalk(self, rounds, discount)

    def floors(self) -> FloatArray:
        """Loss of the best reader of each set, price included, shape (sets,)."""
        return self.deviations.least.copy()


def rounds_that_weigh(discount: float) -> int:
    """Rounds of a tail that are played at most, but for the end of the last repetition."""
    return 2 if discount <= 0.0 else math.ceil(math.log(_SMALL / 2.0) / math.log(discount)) + 2
