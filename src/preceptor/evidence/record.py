"""One person's rounds, arranged for weighing: in the world's units, and in standard ones.

Standard units make priors mean the same everywhere: tests in their standard deviations, answers
and outcomes in standard deviations of the outcome. A weight of 1 then moves the answer by one
standard deviation of the outcome for one of the test. Where the outcome is yes or no, answers are
scores, and their unit is the standard deviation of what is compared with 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, frozen_array
from preceptor.errors import InvalidInput
from preceptor.evidence.lockstep import filled_in, last_told, mean_slope
from preceptor.logs import Log
from preceptor.logs.in_world import in_world_units, require_tests
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.no_learning import NoLearning


@dataclass(frozen=True, eq=False)
class Record:
    """What one person was shown, answered and heard, round by round.

    Whoever makes one from arrays answers for them; a `Log` has been checked (`Record.of`).

    Parameters
    ----------
    world
        Where the cases came from.
    shown
        Which tests were shown, shape (rounds, n).
    values
        Their results in the world's units, shape (rounds, n); hidden ones are not looked at.
    answers
        What the person said, shape (rounds,), in the world's units; for choices 0 or 1. Where the
        outcome is yes or no, scores without the base score, or decisions, 1 or 0.
    outcomes
        What was true, shape (rounds,); not looked at where it was not told.
    told
        Whether the person heard it, shape (rounds,). Without, nothing is learned.
    days
        When, in days since any moment, shape (rounds,); NaN, or left out, if not known.
    decided
        Whether answers are decisions about an outcome that is yes or no.

    Examples
    --------
    >>> world = World([1.0], [[4.0]], 0.0)
    >>> record = Record(world, [[True]], [[2.0]], [1.0], [2.0], [True])
    >>> record.standard(0.0).ravel(), record.standard_answers   # both in standard deviations
    (array([1.]), array([0.5]))
    """

    world: World
    shown: npt.NDArray[np.bool_]
    values: FloatArray
    answers: FloatArray
    outcomes: FloatArray
    told: npt.NDArray[np.bool_]
    days: FloatArray = field(default_factory=lambda: np.zeros(0))
    decided: bool = False

    def __post_init__(self) -> None:
        seen, heard = np.asarray(self.shown, dtype=np.bool_), np.asarray(self.told, dtype=np.bool_)
        days = self.days if np.size(self.days) else np.full(heard.size, np.nan)
        for name, array in {
            "shown": seen,
            "values": np.where(seen, self.values, 0.0),
            "answers": np.asarray(self.answers, dtype=np.float64),
            "outcomes": np.where(heard, self.outcomes, 0.0),
            "told": heard,
            "days": np.asarray(days, dtype=np.float64),
        }.items():
            object.__setattr__(self, name, frozen_array(array, array.dtype))

    @classmethod
    def of(
        cls, world: World, log: Log, participant: str | None = None, *, choices: bool = False
    ) -> Record:
        """The rounds of one participant of a log.

        Parameters
        ----------
        world
            Where the cases came from, with the tests that the log names.
        log
            What people were shown and answered.
        participant
            Who; may be left out if there is one only.
        choices
            Whether answers are choices, 0 or 1, which have no unit.

        Returns
        -------
        Record
            In the world's units.

        Raises
        ------
        InvalidInput
            The log is about other tests, or about several people and none was named.
        """
        require_tests(world, log)
        if participant is None and len(log.participants) != 1:
            raise InvalidInput(
                f"log: {len(log.participants)} participants; say whose rounds are meant "
                "(`participant=`), or weigh them all with `weigh_people`"
            )
        own = log if participant is None else log.for_participant(participant)
        rows = in_world_units(world, own, choices=choices)
        decided = world.is_binary and own.decided
        return cls(world, own.shown, *rows, own.told, own.days, decided)

    @property
    def rounds(self) -> int:
        """How many."""
        return int(self.answers.size)

    @property
    def dated(self) -> bool:
        """Whether all rounds have dates, and not all the same one."""
        return bool(self.rounds and np.all(np.isfinite(self.days)) and np.ptp(self.days) > 0)

    @property
    def hides(self) -> bool:
        """Whether any round hid anything."""
        return not bool(self.shown.all())

    @cached_property
    def gaps(self) -> FloatArray:
        """Days (rounds,) since the round before; 0 for the first, and where dates are missing."""
        if not self.dated:
            return np.zeros(self.rounds)
        return np.diff(self.days, prepend=self.days[0])

    @cached_property
    def outcome_sd(self) -> float:
        """Standard deviation of the outcome in the world: the unit of answers."""
        return float(np.sqrt(self.world.outcome_variance)) or 1.0

    @cached_property
    def test_sds(self) -> FloatArray:
        """Standard deviations (n,) of the tests."""
        return np.sqrt(np.diag(self.world.covariance))

    @cached_property
    def standard_answers(self) -> FloatArray:
        """Answers (rounds,) in standard deviations of the outcome."""
        return self.answers / self.outcome_sd

    @cached_property
    def standard_outcomes(self) -> FloatArray:
        """Outcomes (rounds,) in their standard deviations; 0 where not told."""
        return self.outcomes / self.outcome_sd

    @cached_property
    def standard_truth(self) -> FloatArray:
        """True weights (n,) in standard units."""
        return self.to_standard(self.world.coefficients)

    @cached_property
    def last_surprises(self) -> FloatArray:
        """Outcome minus answer (rounds,) of the last told round before, standardised; first 0."""
        if self.world.outcome is not None:
            share = self.world.outcome.prevalence
            unit = np.sqrt(share * (1.0 - share))
            return last_told(self.told, (self.outcomes - self.foreseen) / unit)
        return last_told(self.told, self.standard_outcomes - self.standard_answers)

    @cached_property
    def base(self) -> float:
        """What decisions have beside weights, in standard units; 0 for other answers."""
        return self.world.base_score / self.outcome_sd if self.decided else 0.0

    @cached_property
    def foreseen(self) -> FloatArray:
        """Chance of yes (rounds,) that the person saw, as they answered it."""
        assert self.world.outcome is not None
        link = self.world.outcome.from_score
        return link.probability(self.world.base_score + self.answers)

    @cached_property
    def mean_slope(self) -> float:
        """How much the chance of yes rises per unit of score, over all cases; 1 for numbers."""
        return mean_slope(self.world)

    @cached_property
    def surprising(self) -> tuple[FloatArray, FloatArray]:
        """Targets and slopes (rounds,) of surprises: target minus slope times the sum of tests.

        In standard units. For numbers the target is the outcome and the slope 1. The chance of yes
        is no line in the score: it is replaced by the line that touches it at the score that the
        person answered, which is their own up to scatter; where they only decided, by the line that
        is best over all cases.
        """
        outcome = self.world.outcome
        if outcome is None:
            return self.standard_outcomes, np.ones(self.rounds)
        link, base = outcome.from_score, self.world.base_score
        if self.decided:
            chance = np.full(self.rounds, outcome.prevalence)
            slope, at = np.full(self.rounds, self.mean_slope), np.zeros(self.rounds)
        else:
            chance, slope, at = self.foreseen, link.density(base + self.answers), self.answers
        return (self.outcomes - chance + slope * at) / self.outcome_sd, slope

    def to_standard(self, weights: npt.ArrayLike) -> FloatArray:
        """Weights of the world in standard units.

        Parameters
        ----------
        weights
            Shape (..., n), in the world's units.

        Returns
        -------
        array of shape (..., n)
            By how many standard deviations of the outcome the answer moves for one of the test.
        """
        return np.asarray(weights, dtype=np.float64) * self.test_sds / self.outcome_sd

    def to_world(self, weights: npt.ArrayLike) -> FloatArray:
        """Weights in standard units as those of the world.

        Parameters
        ----------
        weights
            Shape (..., n), in standard units.

        Returns
        -------
        array of shape (..., n)
            In the world's units.
        """
        return np.asarray(weights, dtype=np.float64) * self.outcome_sd / self.test_sds

    def filled(self, imputation: float) -> FloatArray:
        """All tests as somebody with this κ has them in mind.

        Parameters
        ----------
        imputation
            κ, from 0 (knows all correlations) to 1 (takes hidden tests to be average).

        Returns
        -------
        array of shape (rounds, n)
            In the world's units.
        """
        nobody = NoLearning(np.zeros(self.world.size), imputation)
        imputer = Imputer(nobody.imputing_covariance(self.world))
        return filled_in(imputer, self.shown, self.values)

    def standard(self, imputation: float) -> FloatArray:
        """All tests as somebody with this κ has them in mind, in standard deviations of each.

        Parameters
        ----------
        imputation
            κ, from 0 (knows all correlations) to 1 (takes hidden tests to be average).

        Returns
        -------
        array of shape (rounds, n)
            In standard deviations of each test.
        """
        return self.filled(imputation) / self.test_sds
