"""Follow one person round by round, and plan again from where they are.

Given how somebody learns, weights move by known affine maps and answers are linear in them. So what
is known about a person is a normal distribution, and each answer updates it exactly
(`people/followed.py`). After every round the result is what Bayesian linear regression on all
rounds so far would give. Where outcomes are yes or no, that is so for probabilities and people who
learn by showings; decisions, and people who learn from outcomes, are followed approximately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import check_level, is_count, is_number
from preceptor._base.values import FloatArray, IntArray, Value, frozen_array, remembered
from preceptor.errors import InvalidInput
from preceptor.logs import Log
from preceptor.model.budgets import Budget
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.by_showings import Learner
from preceptor.people.crowd import Crowd
from preceptor.people.followed import Followed
from preceptor.people.person import Person
from preceptor.problem import Problem
from preceptor.tutoring.cases import (
    chance_told,
    outcome_read,
    outcome_told,
    results_read,
    rounds_in,
    score_read,
    tests_shown,
    yes_no_fault,
)
from preceptor.tutoring.states import frozen_state, state_to_plain
from preceptor.tutoring.tracker_parts import (
    OpenRound,
    array_of,
    counts_of,
    left_of_a_belief,
    number_faults,
    open_round_of,
    spread_of,
    state_of,
)

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

    A tracker is a value: `after` returns a new one, and `to_json` keeps it between sessions. Where
    truths come late, `answered` begins a round and `told` ends it.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    learner
        What was known before the first round: a person of any kind, whose way to learn and to fill
        in is taken as given.
    noise_sd
        Standard deviation of an answer around the model, above 0, in units of the outcome; where
        that is yes or no, of the score behind the answer.
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
        Truth minus belief at present, shape (n,); follows from the state if left out.
    covariance
        Covariance of the present errors, shape (n, n), in place of `spread`.
    rounds
        How many rounds the person has been followed.
    state
        What their kind keeps besides weights, as `Person.learn` gives it or as plain data; that of
        somebody with these counts if left out.
    open_round
        The case that waits for its truth, if there is one.
    decides
        Where the outcome is yes or no: whether answers are decisions (1 for yes, 0 for no) instead
        of probabilities.
    threshold
        The probability above which they decide for yes.

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
    learner: Person
    noise_sd: float
    counts: IntArray
    errors: FloatArray
    covariance: FloatArray
    bias: float = 0.0
    drift: float = 0.0
    rounds: int = 0
    state: Any = None
    open_round: OpenRound | None = None
    decides: bool = False
    threshold: float = 0.5

    def __init__(
        self,
        world: World,
        learner: Person,
        noise_sd: float,
        *,
        spread: npt.ArrayLike | None = None,
        bias: float = 0.0,
        drift: float = 0.0,
        counts: npt.ArrayLike | None = None,
        errors: npt.ArrayLike | None = None,
        covariance: npt.ArrayLike | None = None,
        rounds: int = 0,
        state: Any = None,
        open_round: OpenRound | Mapping[str, Any] | None = None,
        decides: bool = False,
        threshold: float = 0.5,
    ) -> None:
        if not isinstance(world, World) or not isinstance(learner, Person):
            raise InvalidInput("world and learner: must be a World and a Learner or another Person")
        if isinstance(learner, Crowd):
            raise InvalidInput(
                "learner: a crowd, but a tracker follows one; take one of its people"
            )
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
        if not isinstance(decides, (bool, np.bool_)) or (decides and not world.is_binary):
            faults.append(
                f"decides: {decides!r}, must be true or false, and false where the outcome is a "
                "number"
            )
        if not is_number(threshold) or not 0.0 < threshold < 1.0:
            faults.append(f"threshold: {threshold!r}, must be a probability above 0 and below 1")
        seen = counts_of(counts, world.size, faults)
        if spread is not None and covariance is not None:
            faults.append("spread and covariance: give one of them, not both")
        InvalidInput.raise_if(faults)
        started = state_of(learner, world, seen, state, faults)
        InvalidInput.raise_if(faults)
        now = world.coefficients - learner.weights_of(world, started)
        mean = now if errors is None else array_of("errors", errors, (world.size,), faults)
        if covariance is None:
            left = left_of_a_belief(learner, world, seen)
            matrix: FloatArray = np.diag((spread_of(world, spread, faults) * left) ** 2)
        else:
            matrix = array_of("covariance", covariance, (world.size, world.size), faults)
            if not faults and np.linalg.eigvalsh(matrix)[0] < -1e-9 * np.abs(matrix).max():
                faults.append("covariance: has a negative eigenvalue, must be a covariance")
        waiting = open_round_of(world, open_round)
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
        set_field(self, "state", frozen_state(started))
        set_field(self, "open_round", waiting)
        set_field(self, "decides", bool(decides))
        set_field(self, "threshold", float(threshold))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the state as its kind writes it."""
        data = super().to_dict()
        data["state"] = state_to_plain(self.state)
        if self.open_round is not None:
            shown, values = self.open_round
            data["open_round"] = {"shown": list(shown), "values": list(values)}
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tracker:
        """Rebuild from plain data."""
        fields = dict(data)
        for name, kind in (("world", World), ("learner", Person)):
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

        check_level(level)
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
            The expected `answer` and its standard `deviation`, in the units that the person reads;
            of decisions, the probability of yes.
        """
        seen = tests_shown(self.world, shown)
        followed = self._followed()
        filled = followed.filled(seen, results_read(self.world, seen, values))
        mean, variance = followed.awaited(filled)
        if self.world.is_binary:
            return self._expected_answer(float(mean), float(variance) + self.noise_sd**2)
        answer = outcome_told(self.world, self.bias + float(mean))
        return Expected(answer, float(np.sqrt(variance + self.noise_sd**2)))

    def _expected_answer(self, added_up: float, variance: float) -> Expected:
        """The probability, or that of deciding for yes, with a normal score."""
        if not self.decides:
            return Expected(*chance_told(self.world, self.bias + added_up, variance))
        from scipy.special import ndtr

        at = self.world.base_score + self.bias + added_up - self._above
        yes = float(ndtr(at / np.sqrt(variance)))
        return Expected(yes, float(np.sqrt(yes * (1.0 - yes))))

    def after(
        self,
        shown: Sequence[int | str],
        values: npt.ArrayLike,
        prediction: float | None = None,
        outcome: float | None = None,
    ) -> Tracker:
        """The tracker after one more whole round: `answered`, then `told`.

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
        faults = number_faults(prediction=prediction, outcome=outcome)
        InvalidInput.raise_if(faults or self._faults(prediction, outcome))
        return self.answered(shown, values, prediction).told(outcome)

    def answered(
        self, shown: Sequence[int | str], values: npt.ArrayLike, prediction: float | None = None
    ) -> Tracker:
        """The tracker once somebody has answered a case; the round stays open for its truth.

        If another round is still open, nobody was told its truth, and it ends here.

        Parameters
        ----------
        shown
            Tests by name or index.
        values
            Their results, in the same order and in the units that the person read.
        prediction
            The person's answer; without it nothing is inferred.

        Returns
        -------
        Tracker
            A new one, which waits for `told`.

        Raises
        ------
        InvalidInput
            A test that is not known or is shown twice, or a number that is not finite.
        """
        InvalidInput.raise_if(
            number_faults(prediction=prediction) or self._faults(prediction, None)
        )
        seen = tests_shown(self.world, shown)
        read = results_read(self.world, seen, values)
        before = self if self.open_round is None else self.told(None)
        followed = before._followed()
        if prediction is not None:
            followed = self._heard(followed, followed.filled(seen, read), float(prediction))
        opened = OpenRound(seen, tuple(read.tolist()))
        return before._with(followed, before.counts, self.rounds + 1, opened)

    def told(self, outcome: float | None) -> Tracker:
        """The tracker once the truth of the open round has been told, however late.

        Parameters
        ----------
        outcome
            What was true; None if the person is not going to be told.

        Returns
        -------
        Tracker
            A new one, with no round open.

        Raises
        ------
        InvalidInput
            No round is open, or the number is not finite.
        """
        faults = number_faults(outcome=outcome) or self._faults(None, outcome)
        if self.open_round is None:
            faults.append("told: no round is open; say what was `answered` first, or use `after`")
        InvalidInput.raise_if(faults)
        assert self.open_round is not None
        seen, values = self.open_round
        followed, counts = self._followed(), np.array(self.counts)
        if outcome is not None:
            shown = np.zeros(self.world.size, dtype=np.bool_)
            shown[list(seen)] = True
            filled = followed.filled(seen, np.array(values))
            followed = followed.told(filled, shown, outcome_read(self.world, outcome))
            counts += shown
        if self.drift:
            followed = followed.wandered(self.drift)
        return self._with(followed, counts, self.rounds, None)

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
        if self.world.is_binary and log.decided != self.decides:
            is_a, wanted = ("decisions", "probabilities")[:: 1 if log.decided else -1]
            raise InvalidInput(
                f"log: its answers are {is_a}, but this tracker follows {wanted}; make it with "
                f"decides={log.decided}"
            )
        tracker = self
        for played in rounds_in(self.world, log, "a tracker follows one"):
            tracker = tracker.after(*played)
        return tracker

    def present_learner(self) -> Person:
        """The person as they are now, for plans from here on.

        Somebody who learns by showings goes along curves that count from the first showing ever,
        so their present errors are written as the first ones that would have led here, to be used
        with `Problem(start=tracker.counts)`. Where nothing is left of an error (as after
        `OneShot`), the first one cannot be told any more and does not matter. Everybody else is
        met in the middle (`Person.from_here`) and needs no `start`.

        Returns
        -------
        Person
            Of the same kind.
        """
        if not isinstance(self.learner, Learner):
            return self._followed().now()
        left = self.learner.retention(self.counts)
        before = self.world.coefficients - self.learner.initial
        known = np.abs(left) > _FORGOTTEN
        at_first = np.divide(self.errors, left, out=before, where=known)
        initial = self.world.coefficients - at_first
        return Learner(initial, self.learner.curves, self.learner.imputation)

    @property
    def _start(self) -> IntArray | None:
        """The showings that `present_learner` counts from."""
        return self.counts if isinstance(self.learner, Learner) else None

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
            Starts where the person is.
        """
        person = self.present_learner()
        return Problem(self.world, person, budget, discount, start=self._start, **options)

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

        return solve(problem.replace(learner=self.present_learner(), start=self._start), **options)

    @property
    def _above(self) -> float:
        """The score, base included, above which they decide for yes."""
        assert self.world.outcome is not None
        return float(self.world.outcome.from_score.score(self.threshold))

    def _heard(self, followed: Followed, filled: FloatArray, answer: float) -> Followed:
        """The filter once an answer has been given."""
        scatter = self.noise_sd**2
        if self.decides:
            return followed.decided(filled, answer == 1.0, scatter, self._above - self.bias)[0]
        read = score_read if self.world.is_binary else outcome_read
        return followed.answered(filled, read(self.world, answer) - self.bias, scatter)[0]

    def _faults(self, prediction: float | None, outcome: float | None) -> list[str]:
        """What cannot be an answer or an outcome where these are yes or no."""
        if not self.world.is_binary:
            return []
        return [
            *yes_no_fault("prediction", prediction, decided=self.decides),
            *yes_no_fault("outcome", outcome, decided=True),
        ]

    def _followed(self) -> Followed:
        """The filter, as it stands."""
        mean = self.coefficients
        imputer = remembered(
            self, "imputer", lambda: Imputer(self.learner.imputing_covariance(self.world))
        )
        return Followed(self.learner, self.world, self.state, mean, self.covariance, imputer)

    def _with(
        self, followed: Followed, counts: IntArray, rounds: int, open_round: OpenRound | None
    ) -> Tracker:
        """A copy in another state; what was checked when this one was made is not checked again."""
        copy = object.__new__(Tracker)
        errors, spread = self.world.coefficients - followed.mean, followed.covariance
        for name in ("world", "learner", "noise_sd", "bias", "drift", "decides", "threshold"):
            object.__setattr__(copy, name, getattr(self, name))
        object.__setattr__(copy, "counts", frozen_array(counts, np.int64))
        object.__setattr__(copy, "errors", frozen_array(errors))
        object.__setattr__(copy, "covariance", frozen_array((spread + spread.T) / 2))
        object.__setattr__(copy, "rounds", rounds)
        object.__setattr__(copy, "state", frozen_state(followed.state))
        object.__setattr__(copy, "open_round", open_round)
        remembered(copy, "imputer", lambda: followed.imputer)
        return copy
