"""A tutor: follows one person, works out who they may be, and says what to show next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import check_level, is_count, is_number
from preceptor._base.values import FloatArray, Value, frozen_array
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.evaluation.expectations import people_of
from preceptor.logs.in_world import require_tests
from preceptor.model.sets import TestSet
from preceptor.people.crowd import Crowd
from preceptor.people.own_person import OwnPerson
from preceptor.problem import Problem
from preceptor.tutoring.bank import Bank
from preceptor.tutoring.lookout import (
    Outlook,
    first_bank,
    likely_kinds,
    look_out,
    people_now,
    planning_shares,
)
from preceptor.tutoring.rounds import (
    Round,
    check_size,
    round_faults,
    tests_shown,
)
from preceptor.tutoring.standing import Standing, after_answer, after_truth, replayed

if TYPE_CHECKING:
    from preceptor.logs import Log
    from preceptor.plan import Plan
    from preceptor.tutoring.reasons import Recommendation

NONE_OF_THESE = "none of these"


@dataclass(frozen=True, eq=False)
class Tutor(Value):
    """Teaches one person: one exact filter a kind, and a plan that is made anew as answers come.

    A tutor is a value: `after` returns a new one, and `to_json` keeps it between sessions. What it
    advises follows from the problem and the record alone. It can pay where answers scatter
    little; at the scatter of real people it was no better on average than a plan on paper
    (`docs/tutor.md`).

    Parameters
    ----------
    problem
        World, budget, discount or horizon, and the crowd of kinds that the person may be of.
    spread
        Standard deviation of the person's first weights around those of each kind: one number, or
        one for each test (n,); 0 if they are known. If left out, 0.3 times the typical error of
        the first weights.
    none_of_these
        How likely it is, before the first answer, that none of the kinds is right; from 0 to 1.
    level
        Whether answers may be off by a constant, and may follow the last surprise.
    record
        The rounds so far.

    Raises
    ------
    InvalidInput
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> crowd = pr.Crowd({"by showings": pr.Learner([0.2, 1.3], pr.Geometric(1.1)),
    ...                   "by outcomes": pr.DeltaRule([0.2, 1.3], rate=0.1)})
    >>> tutor = pr.Tutor(pr.Problem(world, crowd, budget=1, horizon=50))
    >>> tutor = tutor.after(["bmi"], [1.0], answer=1.2, outcome=2.0)
    >>> world.name_of(tutor.next()), sorted(tutor.kinds)
    (('bmi',), ['by outcomes', 'by showings', 'none of these'])
    """

    problem: Problem
    spread: FloatArray | float | None = None
    none_of_these: float = 0.05
    level: bool = True
    record: tuple[Round, ...] = ()

    def __post_init__(self) -> None:
        InvalidInput.raise_if(_faults(self))
        if self.spread is not None:
            wide = np.asarray(self.spread, dtype=np.float64)
            object.__setattr__(self, "spread", frozen_array(wide) if wide.ndim else float(wide))
        object.__setattr__(self, "record", tuple(self.record))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data."""
        fields = dict(data)
        if isinstance(fields.get("problem"), Mapping):
            fields["problem"] = Problem.from_dict(fields["problem"])
        rounds = fields.get("record", ())
        if isinstance(rounds, Sequence) and all(isinstance(r, Mapping) for r in rounds):
            fields["record"] = tuple(Round.from_dict(r) for r in rounds)
        return super().from_dict(fields)

    # --- what happens ---

    def answered(
        self, shown: Sequence[int | str], values: npt.ArrayLike, answer: float | None
    ) -> Tutor:
        """The tutor once the person has answered a case; they have not heard the truth yet.

        Parameters
        ----------
        shown
            Tests that they saw, by name or index; not necessarily those that `next` advised.
        values
            Their results, in the same order and in the units that the person read.
        answer
            What they said; None if they did not answer.

        Returns
        -------
        Tutor
            A new one; this one stays as it is.

        Raises
        ------
        InvalidInput
            A test that is not known or is shown twice, or a number that is not finite.
        """
        entry = Round.checked(self.problem.world, shown, values, answer)
        return self._followed_by((*self.record, entry), after_answer(self.bank, entry))

    def told(self, outcome: float, round: int | None = None) -> Tutor:
        """The tutor once the person has heard what was true, however late.

        Parameters
        ----------
        outcome
            What was true, in the units that the person reads.
        round
            Of which round, from 0; of the last one if left out.

        Returns
        -------
        Tutor
            A new one; this one stays as it is.

        Raises
        ------
        InvalidInput
            A round that there was not, or whose truth was told before.
        """
        which = len(self.record) - 1 if round is None else round
        if not is_count(which, least=0) or which >= len(self.record):
            played = len(self.record)
            raise InvalidInput(
                f"round: {round!r}, but there have been {played}; give a number from 0 to "
                f"{played - 1}"
                if played
                else "round: there has been none yet; first say what was answered"
            )
        if self.record[which].outcome is not None:
            raise InvalidInput(
                f"round: the outcome of round {which} was told before "
                f"({self.record[which].outcome:g})"
            )
        if not is_number(outcome):
            raise InvalidInput(f"outcome: {outcome!r}, must be a finite number")
        check_size(self.problem.world, "outcome", outcome)
        heard = dataclasses.replace(
            self.record[which], outcome=float(outcome), heard=len(self.record)
        )
        record = (*self.record[:which], heard, *self.record[which + 1 :])
        if any(later.heard == len(record) for later in record[which + 1 :]):
            # The record keeps truths that are heard between two rounds in the order of their
            # rounds, whatever order they were told in; so they are followed in that order.
            return dataclasses.replace(self, record=record)
        return self._followed_by(record, after_truth(self.bank, heard))

    def after(
        self,
        shown: Sequence[int | str],
        values: npt.ArrayLike,
        answer: float | None = None,
        outcome: float | None = None,
    ) -> Tutor:
        """The tutor after a whole round.

        Parameters
        ----------
        shown
            Tests that they saw, by name or index.
        values
            Their results, in the same order and in the units that the person read.
        answer
            What they said; None if they did not answer.
        outcome
            What was true; None if they were not told: such a round teaches nothing, and is a probe.

        Returns
        -------
        Tutor
            A new one; this one stays as it is.

        Raises
        ------
        InvalidInput
            A test that is not known or is shown twice, or a number that is not finite.
        """
        if outcome is not None and not is_number(outcome):
            raise InvalidInput(f"outcome: {outcome!r}, must be a finite number, or None")
        tutor = self.answered(shown, values, answer)
        return tutor if outcome is None else tutor.told(outcome)

    def through(self, log: Log) -> Tutor:
        """The tutor after all rounds of a log.

        Parameters
        ----------
        log
            Rounds of one participant, about the tests of the world.

        Returns
        -------
        Tutor
            A new one.

        Raises
        ------
        InvalidInput
            Several participants, or other tests.
        """
        if len(log.participants) != 1:
            raise InvalidInput(
                f"log: {len(log.participants)} participants, a tutor teaches one; use "
                "log.for_participant(name)"
            )
        require_tests(self.problem.world, log)
        tutor = self
        for i in range(len(log)):
            seen = np.flatnonzero(log.shown[i]).tolist()
            outcome = float(log.outcome[i]) if log.told[i] else None
            tutor = tutor.after(seen, log.values[i, seen], float(log.prediction[i]), outcome)
        return tutor

    # --- what is known ---

    @property
    def rounds(self) -> int:
        """How many rounds there have been."""
        return len(self.record)

    @property
    def names(self) -> tuple[str, ...]:
        """What the kinds are called."""
        return tuple(people_of(self.problem))

    @property
    def kinds(self) -> dict[str, float]:
        """How likely each kind is, and that none of them is right."""
        return dict(zip((*self.names, NONE_OF_THESE), self.bank.kinds.tolist(), strict=True))

    @property
    def bank(self) -> Bank:
        """The filters, one a kind."""
        return self._standing.bank

    @property
    def coefficients(self) -> FloatArray:
        """Best estimate of the person's present weights, whatever their kind, shape (n,)."""
        shares = self.bank.kinds
        means = np.array([self.bank.believed(kind)[0] for kind in range(shares.size)])
        mean: FloatArray = shares @ means
        return mean

    def intervals(self, level: float = 0.95) -> FloatArray:
        """Where each present weight is with this probability, whatever the kind.

        Parameters
        ----------
        level
            The probability, between 0 and 1.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends, in the world's units.
        """
        from preceptor._base.mixtures import mixture_quantiles

        check_level(level)
        bank = self.bank
        joint = bank.prior[:, None] + bank.likelihood
        shares = np.exp(joint - np.logaddexp.reduce(joint, axis=None))
        means = np.array([each.weights for each in bank.followers])
        spreads = np.array(
            [np.diagonal(f.weights_covariance, axis1=-2, axis2=-1) for f in bank.followers]
        )
        ends = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
        size = self.problem.size
        columns = [
            mixture_quantiles(shares.ravel(), means[..., i].ravel(), spreads[..., i].ravel(), ends)
            for i in range(size)
        ]
        return np.array(columns)

    @property
    def scatter(self) -> float:
        """Standard deviation of answers around what weights say, in units of the outcome."""
        return float(np.exp(self.bank.scatter @ np.log(np.sqrt(self.bank.scatters))))

    # --- what to do ---

    def next(self, available: Sequence[int | str] | None = None) -> TestSet:
        """The tests to show in the next round, by index.

        Parameters
        ----------
        available
            Tests that can be shown to this case, by name or index; all if left out.

        Returns
        -------
        tuple of int
            In ascending order; `world.name_of` names them.

        Raises
        ------
        InvalidInput
            A test that is not known.
        NotApplicable
            None of the sets that may be shown is available.
        """
        return self.recommendation(available).shown

    def recommendation(self, available: Sequence[int | str] | None = None) -> Recommendation:
        """What to show in the next round, and why.

        Parameters
        ----------
        available
            Tests that can be shown to this case, by name or index; all if left out.

        Returns
        -------
        Recommendation
            Tests, the reason in words, and how likely each kind is.
        """
        from preceptor.tutoring.choosing import choose

        tests = None
        if available is not None:
            tests = set(tests_shown(self.problem.world, available))
        return choose(self, tests)

    @property
    def outlook(self) -> Outlook:
        """The likely kinds when ways were last found, and how each would go on."""
        standing = self._standing
        if standing.outlook is None:
            standing.outlook = look_out(self.problem, standing.due_bank, standing.due)
        return standing.outlook

    def present_problem(self) -> Problem:
        """The problem from here: everybody as they would be by now, with what the answers say.

        Returns
        -------
        Problem
            Its learner is a crowd, or one person if there is only one kind; it needs no `start`.
        """
        shares = planning_shares(self.bank)
        likely = likely_kinds(shares)
        everybody = people_now(self.bank, likely)
        left = None
        if self.problem.horizon is not None:
            left = max(self.problem.horizon - self.rounds, 1)
        if len(everybody) == 1:
            person: Any = everybody[0][0]
        else:
            person = Crowd(
                {
                    self.names[kind]: (who, float(shares[kind]))
                    for kind, (who, _covariance) in zip(likely, everybody, strict=True)
                }
            )
        return self.problem.replace(learner=person, start=None, horizon=left)

    def plan(self, method: str = "auto", **options: Any) -> Plan:
        """A plan on paper from here, for when answers will no longer be looked at.

        Parameters
        ----------
        method
            As of `solve`.
        **options
            As of `solve`.

        Returns
        -------
        Plan
            For the person as they are by now, as far as that is known.
        """
        from preceptor.planning import solve

        return solve(self.present_problem(), method, **options)

    def doubts(self) -> tuple[str, ...]:
        """What speaks against believing all this, a sentence each.

        Returns
        -------
        tuple of str
            Empty if nothing does.
        """
        from preceptor.tutoring.reasons import doubts_about

        return doubts_about(self)

    def __repr__(self) -> str:
        from preceptor.tutoring.reasons import in_short

        return in_short(self)

    # --- derived from the record, and never written ---

    @property
    def _standing(self) -> Standing:
        standing: Standing | None = self.__dict__.get("_standing_memory")
        if standing is None:
            first = first_bank(self.problem, self.spread, self.none_of_these, self.level)
            standing = replayed(first, self.record)
            self.__dict__["_standing_memory"] = standing
        return standing

    def _followed_by(self, record: tuple[Round, ...], bank: Bank) -> Tutor:
        """A tutor with a longer record; what was checked and worked out is kept."""
        new = object.__new__(type(self))
        for field in dataclasses.fields(self):
            object.__setattr__(new, field.name, getattr(self, field.name))
        object.__setattr__(new, "record", record)
        new.__dict__["_standing_memory"] = self._standing.moved_to(bank, len(record))
        return new


def _faults(tutor: Tutor) -> list[str]:
    """Each fault as one sentence; raises `NotApplicable` for people who cannot be followed."""
    faults = []
    if not isinstance(tutor.problem, Problem):
        return [f"problem: {tutor.problem!r}, must be a Problem"]
    own = [n for n, p in people_of(tutor.problem).items() if isinstance(p, OwnPerson)]
    if own:
        raise NotApplicable(
            f"problem: {', '.join(own)} can only act and cannot be followed; use a kind that says "
            "how its weights move"
        )
    if tutor.spread is not None:
        wide = np.asarray(tutor.spread, dtype=object)
        numbers = [*wide.ravel().tolist()]
        shaped = wide.shape in ((), (tutor.problem.size,))
        if not shaped or not all(is_number(x) and x >= 0 for x in numbers):
            faults.append(
                f"spread: {tutor.spread!r}, must be one number of at least 0, or one for each of "
                f"the {tutor.problem.size} tests"
            )
    if not is_number(tutor.none_of_these) or not 0.0 <= tutor.none_of_these < 1.0:
        faults.append(f"none_of_these: {tutor.none_of_these!r}, must be at least 0 and below 1")
    if not isinstance(tutor.level, (bool, np.bool_)):
        faults.append(f"level: {tutor.level!r}, must be true or false")
    if not isinstance(tutor.record, (list, tuple)) or not all(
        isinstance(entry, Round) for entry in tutor.record
    ):
        return [*faults, "record: must be a list of rounds"]
    for index, entry in enumerate(tutor.record):
        found = round_faults(entry, index, len(tutor.record), tutor.problem.size)
        faults += [f"record, round {index}: {fault}" for fault in found]
    return faults
