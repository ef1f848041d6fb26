"""Follow one person round by round, and plan again from where they are.

Given the curve, coefficients move by known factors and answers are linear in them. So what is known
about a person is a normal distribution, and each answer updates it exactly: a Kalman filter. After
every round the result is what Bayesian linear regression on all rounds so far would give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.values import FloatArray, IntArray, Value, frozen_array
from preceptor.errors import InvalidInput
from preceptor.logs import Log
from preceptor.model.budgets import Budget
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.problem import Problem

if TYPE_CHECKING:
    from preceptor.plan import Plan

# Below this share of the initial error, what is left no longer says what the error was at first.
_FORGOTTEN = 1e-12


class Expected(NamedTuple):
    """The answer that is expected, and its standard deviation."""

    answer: float
    deviation: float


@dataclass(frozen=True, eq=False)
class Tracker(Value):
    """What is known about one person now: a normal distribution of their weights.

    A tracker is a value: `after` returns a new one, and `to_json` keeps it between sessions.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    learner
        What was known before the first round; curves and imputation are taken as given.
    noise_sd
        Standard deviation of an answer around the model, above 0, in units of the outcome.
    spread
        Standard deviation of the first weights around `learner.initial`, one number or one for each
        test (n,); as wide as the true weights if left out.
    bias
        By how much answers are off whatever is shown, in units of the outcome.
    drift
        Standard deviation by which each weight wanders from round to round.
    counts
        Showings with feedback so far, shape (n,).
    errors
        Truth minus belief at present, shape (n,); follows from learner and counts if left out.
    covariance
        Covariance of the present errors, shape (n, n), in place of `spread`.
    rounds
        How many rounds the person has been followed.

    Raises
    ------
    InvalidInput
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> from preceptor.people.curves import Geometric
    >>> world = World([1.0, 0.5], [[1.0, 0.3], [0.3, 1.0]], names=["bmi", "bp"])
    >>> tracker = Tracker(world, Learner([0.0, 0.0], Geometric(1.1)), noise_sd=0.1)
    >>> tracker = tracker.after(["bmi"], [2.0], prediction=1.0, outcome=1.8)
    >>> tracker.counts.tolist(), tracker.coefficients.round(2).tolist()
    ([1, 0], [0.51, 0.14])
    """

    world: World
    learner: Learner
    noise_sd: float
    counts: IntArray
    errors: FloatArray
    covariance: FloatArray
    bias: float = 0.0
    drift: float = 0.0
    rounds: int = 0

    def __init__(
        self,
        world: World,
        learner: Learner,
        noise_sd: float,
        *,
        spread: npt.ArrayLike | None = None,
        bias: float = 0.0,
        drift: float = 0.0,
        counts: npt.ArrayLike | None = None,
        errors: npt.ArrayLike | None = None,
        covariance: npt.ArrayLike | None = None,
        rounds: int = 0,
    ) -> None:
        if not isinstance(world, World) or not isinstance(learner, Learner):
            raise InvalidInput("world and learner: must be a World and a Learner")
        faults: list[str] = []
        if learner.size != world.size:
            faults.append(f"learner: of {learner.size} tests, but the world has {world.size}")
        if not is_number(noise_sd) or noise_sd <= 0:
            faults.append(f"noise_sd: {noise_sd!r}, must be positive; nobody answers exactly")
        if not is_number(bias):
            faults.append(f"bias: {bias!r}, must be a finite number")
        if not is_number(drift) or drift < 0:
            faults.append(f"drift: {drift!r}, must be a finite number of at least 0")
        if not is_count(rounds, least=0):
            faults.append(f"rounds: {rounds!r}, must be a whole number of at least 0")
        seen = _counts(counts, world.size, faults)
        if spread is not None and covariance is not None:
            faults.append("spread and covariance: give one of them, not both")
        InvalidInput.raise_if(faults)
        left = learner.retention(seen)
        now = (world.coefficients - learner.initial) * left
        mean = now if errors is None else _array("errors", errors, (world.size,), faults)
        if covariance is None:
            wide = _spread(world, spread, faults) * left
            matrix: FloatArray = np.diag(wide**2)
        else:
            matrix = _array("covariance", covariance, (world.size, world.size), faults)
            if not faults and np.linalg.eigvalsh(matrix)[0] < -1e-9 * np.abs(matrix).max():
                faults.append("covariance: has a negative eigenvalue, must be a covariance")
        InvalidInput.raise_if(faults)
        set_field = object.__setattr__
        set_field(self, "world", world)
        set_field(self, "learner", learner)
        set_field(self, "noise_sd", float(noise_sd))
        set_field(self, "bias", float(bias))
        set_field(self, "drift", float(drift))
        set_field(self, "counts", frozen_array(seen, np.int64))
        set_field(self, "errors", frozen_array(mean))
        set_field(self, "covariance", frozen_array((matrix + matrix.T) / 2))
        set_field(self, "rounds", int(rounds))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tracker:
        """Rebuild from plain data."""
        fields = dict(data)
        for name, kind in (("world", World), ("learner", Learner)):
            if isinstance(fields.get(name), Mapping):
                fields[name] = kind.from_dict(fields[name])
        return super().from_dict(fields)

    @property
    def coefficients(self) -> FloatArray:
        """Best estimate of the person's present weights, shape (n,)."""
        return self.world.coefficients - self.errors

    @property
    def standard_deviations(self) -> FloatArray:
        """How sure that estimate is, shape (n,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def intervals(self, level: float = 0.95) -> FloatArray:
        """Where each present weight is with this probability.

        Parameters
        ----------
        level
            The probability, between 0 and 1.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends, in the world's units.
        """
        from scipy.special import ndtri

        if not (is_number(level) and 0.0 < level < 1.0):
            raise InvalidInput(f"level: {level!r}, must be between 0 and 1")
        reach = float(ndtri(0.5 + level / 2.0)) * self.standard_deviations
        return np.stack([self.coefficients - reach, self.coefficients + reach], axis=1)

    def expected(self, shown: Sequence[int | str], values: npt.ArrayLike) -> Expected:
        """What this person would answer now.

        Parameters
        ----------
        shown
            Tests by name or index.
        values
            Their results, in the same order and in the units that the person reads.

        Returns
        -------
        Expected
            The expected `answer` and its standard `deviation`, in the units that the person reads.
        """
        filled = self._fill_in(self._indices(shown), values)
        answer = self.bias + float(filled @ self.coefficients)
        variance = float(filled @ self.covariance @ filled) + self.noise_sd**2
        if self.world.units is not None:
            answer = float(self.world.units.uncentre(answer))
        return Expected(answer, float(np.sqrt(variance)))

    def after(
        self,
        shown: Sequence[int | str],
        values: npt.ArrayLike,
        prediction: float | None = None,
        outcome: float | None = None,
    ) -> Tracker:
        """The tracker after one more round; costs n² + k³ operations for k tests shown.

        Parameters
        ----------
        shown
            Tests by name or index.
        values
            Their results, in the same order and in the units that the person read.
        prediction
            The person's answer; without it nothing is inferred.
        outcome
            What was true; without it the person was told nothing and so learns nothing.

        Returns
        -------
        Tracker
            A new one; this one stays as it is.

        Raises
        ------
        InvalidInput
            A test that is not known or is shown twice, or a number that is not finite.
        """
        seen = self._indices(shown)
        filled = self._fill_in(seen, values)
        errors, covariance = self.errors, self.covariance
        InvalidInput.raise_if(
            f"{name}: {given!r}, must be a finite number, or None"
            for name, given in (("prediction", prediction), ("outcome", outcome))
            if given is not None and not is_number(given)
        )
        if prediction is not None:
            errors, covariance = self._informed(filled, float(prediction))
        counts = np.array(self.counts)
        if outcome is not None and seen:
            counts[seen] += 1
            factors = _ratio(self.learner.retention(counts), self.learner.retention(self.counts))
            errors, covariance = errors * factors, covariance * np.outer(factors, factors)
        if self.drift:
            covariance = covariance + self.drift**2 * np.eye(self.world.size)
        return self._with(counts, errors, covariance)

    def through(self, log: Log) -> Tracker:
        """The tracker after all rounds of a log.

        Parameters
        ----------
        log
            Rounds of one participant, about the tests of the world.

        Returns
        -------
        Tracker
            A new one.

        Raises
        ------
        InvalidInput
            Several participants, or other tests.
        """
        if len(log.participants) != 1:
            raise InvalidInput(
                f"log: {len(log.participants)} participants, a tracker follows one; "
                "use log.for_participant(name)"
            )
        if log.names != self.world.labels:
            raise InvalidInput(
                f"log: its tests are {', '.join(log.names)}, those of the world are "
                f"{', '.join(self.world.labels)}"
            )
        tracker = self
        for i in range(len(log)):
            seen = np.flatnonzero(log.shown[i]).tolist()
            outcome = float(log.outcome[i]) if log.told[i] else None
            tracker = tracker.after(seen, log.values[i, seen], float(log.prediction[i]), outcome)
        return tracker

    def present_learner(self) -> Learner:
        """The person as a `Learner`: with `Problem(start=counts)`, who they are now.

        Curves count from the first showing ever, so the present errors are written as the first
        ones that would have led here. Where nothing is left of an error (as after `OneShot`), the
        first one cannot be told any more and does not matter.

        Returns
        -------
        Learner
            To be used with `start=tracker.counts`.
        """
        left = self.learner.retention(self.counts)
        before = self.world.coefficients - self.learner.initial
        at_first = np.where(left > _FORGOTTEN, self.errors / np.maximum(left, _FORGOTTEN), before)
        initial = self.world.coefficients - at_first
        return Learner(initial, self.learner.curves, self.learner.imputation)

    def problem(self, budget: Budget | int = 1, discount: float = 0.99, **options: Any) -> Problem:
        """The planning problem from where the person is now.

        Parameters
        ----------
        budget
            Which sets may be shown, as for `Problem`.
        discount
            What a case one round later is worth.
        **options
            Further parameters of `Problem`.

        Returns
        -------
        Problem
            Starts at the present counts.
        """
        person = self.present_learner()
        return Problem(self.world, person, budget, discount, start=self.counts, **options)

    def replan(self, problem: Problem, **options: Any) -> Plan:
        """Solve a problem again for the person as they are now.

        Parameters
        ----------
        problem
            Whose budget, discount, horizon, risk and loss are kept.
        **options
            As of `solve`.

        Returns
        -------
        Plan
            From the present round on.
        """
        from preceptor.planning import solve

        return solve(problem.replace(learner=self.present_learner(), start=self.counts), **options)

    def _informed(self, filled: FloatArray, prediction: float) -> tuple[FloatArray, FloatArray]:
        """Errors and their covariance given one answer: the Kalman update for one number."""
        answer = prediction
        if self.world.units is not None:
            answer = float(self.world.units.centre(prediction))
        surprise = answer - self.bias - float(filled @ self.coefficients)
        reading = self.covariance @ filled
        variance = float(filled @ reading) + self.noise_sd**2
        # An answer above what was expected means a coefficient above it: a smaller error.
        errors = self.errors - reading * (surprise / variance)
        return errors, self.covariance - np.outer(reading, reading) / variance

    def _with(self, counts: IntArray, errors: FloatArray, covariance: FloatArray) -> Tracker:
        """A copy in another state; what was checked when this one was made is not checked again."""
        copy = object.__new__(Tracker)
        for name in ("world", "learner", "noise_sd", "bias", "drift"):
            object.__setattr__(copy, name, getattr(self, name))
        object.__setattr__(copy, "counts", frozen_array(counts, np.int64))
        object.__setattr__(copy, "errors", frozen_array(errors))
        object.__setattr__(copy, "covariance", frozen_array((covariance + covariance.T) / 2))
        object.__setattr__(copy, "rounds", self.rounds + 1)
        return copy

    def _fill_in(self, seen: list[int], values: npt.ArrayLike) -> FloatArray:
        """All tests (n,) as the person has them in mind: shown ones, and the rest imputed."""
        given = np.asarray(values, dtype=np.float64)
        if given.shape != (len(seen),) or not np.all(np.isfinite(given)):
            raise InvalidInput(
                f"values: {given.tolist()}, must be one finite number for each test shown"
            )
        filled = np.zeros(self.world.size)
        if not seen:
            return filled
        if self.world.units is not None:
            units = self.world.units
            given = (given - units.means[seen]) / units.scales[seen]
        if len(seen) == self.world.size:
            filled[seen] = given
            return filled
        omega = self.learner.imputing_covariance(self.world)
        imputed: FloatArray = omega[:, seen] @ np.linalg.solve(omega[np.ix_(seen, seen)], given)
        return imputed

    def _indices(self, shown: Sequence[int | str]) -> list[int]:
        labels = self.world.labels
        found, unknown = [], []
        for test in [shown] if isinstance(shown, str) else shown:
            if isinstance(test, str) and test in labels:
                found.append(labels.index(test))
            elif is_count(test, least=0) and int(test) < self.world.size:
                found.append(int(test))
            else:
                unknown.append(repr(test))
        if unknown:
            raise InvalidInput(
                f"shown: {', '.join(unknown)} not known; tests are {', '.join(labels)}, "
                f"or indices 0 to {self.world.size - 1}"
            )
        if len(set(found)) != len(found):
            raise InvalidInput(f"shown: {list(shown)}, a test can be shown once in a round")
        return found


def _ratio(after: FloatArray, before: FloatArray) -> FloatArray:
    """What one more showing leaves of the present error; nothing of one that is gone."""
    return np.divide(after, before, out=np.zeros_like(after), where=before > 0.0)


def _counts(given: npt.ArrayLike | None, size: int, faults: list[str]) -> IntArray:
    if given is None:
        return np.zeros(size, dtype=np.int64)
    counts = np.asarray(given)
    whole = counts.shape == (size,) and np.issubdtype(counts.dtype, np.integer)
    if not whole or counts.min() < 0:
        faults.append(f"counts: {counts.tolist()}, must be one whole number for each test")
        return np.zeros(size, dtype=np.int64)
    return counts.astype(np.int64)


def _array(
    name: str, given: npt.ArrayLike, shape: tuple[int, ...], faults: list[str]
) -> FloatArray:
    array = np.asarray(given, dtype=np.float64)
    if array.shape != shape or not np.all(np.isfinite(array)):
        faults.append(f"{name}: shape {array.shape}, must be finite numbers of shape {shape}")
        return np.zeros(shape)
    return array


def _spread(world: World, given: npt.ArrayLike | None, faults: list[str]) -> FloatArray:
    if given is None:
        typical = float(np.sqrt(np.mean(world.coefficients**2)))
        return np.full(world.size, typical if typical > 0.0 else 1.0)
    spread = np.asarray(given, dtype=np.float64)
    if spread.shape not in ((), (world.size,)) or not np.all(spread >= 0.0):
        faults.append(f"spread: {given!r}, must be one number of at least 0, or one for each test")
        return np.zeros(world.size)
    return np.broadcast_to(spread, (world.size,)).astype(np.float64)
