"""A tutor follows one person, infers which kind they are, and recommends what to show next."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import check_level, is_count, is_number
from preceptor._base.values import FloatArray, Value, frozen_array
from preceptor.data.log import Log, require_tests
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.learners.case_choice import CasePool, KnownResults, Plausibility, kind_shares
from preceptor.learners.families import GROUPS
from preceptor.learners.filter_bank import FilterBank
from preceptor.learners.posterior import NONE_OF_THESE, PRIOR, PROCESS_NOISE
from preceptor.learners.tutor_record import (
    TutorRound,
    after_answer,
    after_outcome,
    check_plausible,
    round_by_round,
    round_faults,
    tests_shown,
)
from preceptor.model.evaluation import people_of, weights_of
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision
from preceptor.people.crowd import Crowd
from preceptor.people.own_person import OwnPerson

if TYPE_CHECKING:
    from preceptor.learners.recommendations import Recommendation
    from preceptor.model.plan import Plan


@dataclass(frozen=True, eq=False)
class Tutor(Value):
    """Teach one person with an exact filter per kind; choose blindly, or with the case in view.

    A tutor is a value: `after` returns a new one, and `to_json` keeps it between sessions. Its
    recommendations depend on the problem, the record and the case alone. `next()` chooses before
    anything is known about the case; `next(case=...)` looks at its results first; `next(pool=...)`
    also chooses the case, for training. Choosing blindly can pay where answers scatter little; at
    the scatter of real people it was no better on average than a fixed plan (`docs/tutor.md`).

    Parameters
    ----------
    problem
        World, budget, discount or horizon, and the crowd of possible kinds.
    spread
        Standard deviation of the person's first weights around those of each kind: one number, or
        one for each test (n,); 0 if they are known. Default: that of a fit (`posterior.PRIOR`),
        half a standard deviation of the outcome per standard deviation of a test.
    none_of_these
        Prior probability that none of the kinds is right, from 0 to 1.
    level
        Whether answers may have a constant bias and may follow the last surprise.
    tau
        How many cases decided alone one aided case is worth: 0 counts only this decision, infinity
        only teaching. Default: infinity with a pool, 30 for a case. Without a case the assistant is
        taken to stay: what is learned counts with the most predictive set, for as long as each kind
        of person remembers it.
    alone
        How the person will work later: "any" of the largest sets alike, the "best" (most
        predictive) set, or shares by set.
    plausible
        Which cases of a pool may be chosen.
    process_noise
        Variance added to every weight per told round, as a share of its prior variance: insurance
        against filters that believe that a person has learned.
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
    none_of_these: float = PRIOR.none_of_these
    level: bool = True
    tau: float | None = None
    alone: str | tuple[tuple[TestSet, float], ...] = "any"
    plausible: Plausibility = dataclasses.field(default_factory=Plausibility)
    process_noise: float = PROCESS_NOISE
    record: tuple[TutorRound, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.alone, Mapping):
            object.__setattr__(self, "alone", tuple(self.alone.items()))
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
            fields["record"] = tuple(TutorRound.from_dict(r) for r in rounds)
        if isinstance(fields.get("plausible"), Mapping):
            fields["plausible"] = Plausibility.from_dict(fields["plausible"])
        if isinstance(fields.get("alone"), list):
            fields["alone"] = tuple((tuple(s), share) for s, share in fields["alone"])
        if fields.get("tau") == "inf":
            fields["tau"] = math.inf
        return super().from_dict(fields)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; an infinite `tau` is written as "inf"."""
        data = super().to_dict()
        if self.tau is not None and math.isinf(self.tau):
            data["tau"] = "inf"
        return data

    # --- events ---

    def answered(
        self, shown: Sequence[int | str], values: npt.ArrayLike, answer: float | None
    ) -> Tutor:
        """Return the tutor after an answer, before the person is told the outcome.

        Parameters
        ----------
        shown
            Tests shown, by name or index; not necessarily those that `next` recommended.
        values
            Their results, in the same order and in the units that the person read.
        answer
            The person's answer; None if there was none.

        Returns
        -------
        Tutor
            A new one; this one does not change.

        Raises
        ------
        InvalidInput
            An unknown test, the same test twice, or a number that is not finite.
        """
        entry = TutorRound.checked(self.problem.world, shown, values, answer)
        return self._followed_by((*self.record, entry), after_answer(self.bank, entry))

    def told(self, outcome: float, round: int | None = None) -> Tutor:
        """Return the tutor after the person is told the outcome of a round, however late.

        Parameters
        ----------
        outcome
            What was true, in the units that the person reads.
        round
            Index of the round, from 0; the last one by default.

        Returns
        -------
        Tutor
            A new one; this one does not change.

        Raises
        ------
        InvalidInput
            A round that has not been played, or whose outcome was told before.
        """
        which = len(self.record) - 1 if round is None else round
        if not is_count(which, least=0) or which >= len(self.record):
            played = len(self.record)
            raise InvalidInput(
                f"round: {round!r}, must be from 0 to {played - 1}, the rounds played so far"
                if played
                else "round: none has been played yet; first call `answered`"
            )
        if self.record[which].outcome is not None:
            raise InvalidInput(
                f"round: the outcome of round {which} was told before "
                f"({self.record[which].outcome:g})"
            )
        if not is_number(outcome):
            raise InvalidInput(f"outcome: {outcome!r}, must be a finite number")
        check_plausible(self.problem.world, "outcome", outcome)
        known = dataclasses.replace(
            self.record[which], outcome=float(outcome), heard=len(self.record)
        )
        record = (*self.record[:which], known, *self.record[which + 1 :])
        if any(later.heard == len(record) for later in record[which + 1 :]):
            # A record does not say in which order outcomes were told between two rounds, so the
            # filters always take them in the order of their rounds.
            return dataclasses.replace(self, record=record)
        return self._followed_by(record, after_outcome(self.bank, known))

    def after(
        self,
        shown: Sequence[int | str],
        values: npt.ArrayLike,
        answer: float | None = None,
        outcome: float | None = None,
        case: int | None = None,
    ) -> Tutor:
        """Return the tutor after a whole round.

        Parameters
        ----------
        shown
            Tests shown, by name or index.
        values
            Their results, in the same order and in the units that the person read.
        answer
            The person's answer; None if there was none.
        outcome
            What was true; None if the person was not told: such a round is a probe and teaches
            nothing.
        case
            Position of the case in the pool, if `next(pool=...)` chose it.

        Returns
        -------
        Tutor
            A new one; this one does not change.

        Raises
        ------
        InvalidInput
            An unknown test, the same test twice, or a number that is not finite.
        """
        if outcome is not None and not is_number(outcome):
            raise InvalidInput(f"outcome: {outcome!r}, must be a finite number, or None")
        tutor = self.answered(shown, values, answer)
        if case is not None:
            last = dataclasses.replace(tutor.record[-1], case=int(case))
            tutor = tutor._followed_by((*self.record, last), tutor.bank)
        return tutor if outcome is None else tutor.told(outcome)

    def through(self, log: Log) -> Tutor:
        """Return the tutor after all rounds of a log.

        Parameters
        ----------
        log
            Rounds of one participant, with the tests of the world.

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
        """Number of rounds played."""
        return len(self.record)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the kinds."""
        return tuple(people_of(self.problem))

    @property
    def kinds(self) -> dict[str, float]:
        """Probability of each kind, and that none of them is right."""
        return dict(zip((*self.names, NONE_OF_THESE), self.bank.kinds.tolist(), strict=True))

    @property
    def groups(self) -> dict[str, float]:
        """Probability of each way of learning, and of none of these, as `fit_learner` gives them.

        `kinds` weighs the people of the problem, at their own rates, to choose what to show. Here
        they are families whose rates are unknown, from equal shares: the probabilities of a fit or
        of `diagnose --read` of the same rounds. Rounds without an answer are left out; an outcome
        that was told late counts as not told.
        """
        found: dict[str, float] | None = self.__dict__.get("_groups_memory")
        if found is None:
            found = self.__dict__["_groups_memory"] = _weighed_groups(self)
        return dict(found)

    @property
    def bank(self) -> FilterBank:
        """The filters, one per kind; derived from the record, and never saved."""
        self.catch_up()
        bank: FilterBank = self.__dict__["_bank_memory"]
        return bank

    def catch_up(self, seconds: float = math.inf) -> bool:
        """Follow the record for some time; the next call continues.

        Thousands of rounds take seconds. A process that serves several people can follow a long
        record piece by piece.

        Parameters
        ----------
        seconds
            About how long, at most.

        Returns
        -------
        bool
            Whether all of the record is followed.
        """
        memory, end = self.__dict__, time.monotonic() + seconds
        if "_bank_memory" in memory:
            return True
        if "_catching_up" in memory:
            rest, bank = memory["_catching_up"]
        else:
            bank = _first_bank(self)
            rest = round_by_round(bank, self.record)
        for bank in rest:
            if time.monotonic() >= end:
                memory["_catching_up"] = rest, bank
                return False
        memory["_bank_memory"] = bank
        memory.pop("_catching_up", None)
        return True

    @property
    def coefficients(self) -> FloatArray:
        """Posterior mean of the person's present weights over all kinds, shape (n,)."""
        shares = self.bank.kinds
        means = [self.bank.posterior_weights(kind)[0] for kind in range(shares.size)]
        return np.asarray(shares @ np.array(means))

    def intervals(self, level: float = 0.95) -> FloatArray:
        """Credible intervals of the present weights over all kinds.

        Parameters
        ----------
        level
            The probability, between 0 and 1.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends, in the world's units.
        """
        from preceptor._base.numerics import mixture_quantiles

        check_level(level)
        bank = self.bank
        means = np.array([each.weights for each in bank.followers])
        spreads = np.array(
            [np.diagonal(f.weights_covariance, axis1=-2, axis2=-1) for f in bank.followers]
        )
        ends = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
        columns = [
            mixture_quantiles(
                bank.joint.ravel(), means[..., i].ravel(), spreads[..., i].ravel(), ends
            )
            for i in range(self.problem.size)
        ]
        return np.array(columns)

    @property
    def scatter(self) -> float:
        """Standard deviation of answers around what the weights predict, in outcome units."""
        return float(np.exp(self.bank.scatter @ np.log(np.sqrt(self.bank.scatters))))

    # --- what to do ---

    @overload
    def next(
        self, available: Sequence[int | str] | None = None, *, case: KnownResults | None = None
    ) -> TestSet: ...
    @overload
    def next(
        self, available: Sequence[int | str] | None = None, *, pool: CasePool
    ) -> tuple[int, TestSet]: ...
    def next(
        self,
        available: Sequence[int | str] | None = None,
        *,
        case: KnownResults | None = None,
        pool: CasePool | None = None,
    ) -> TestSet | tuple[int, TestSet]:
        """Return the tests to show in the next round, by index; with a pool, also the case.

        Parameters
        ----------
        available
            Tests that can be shown for this case, by name or index; all by default.
        case
            Results of the case that are known before choosing: by name, or an array (n,) with NaN
            where unknown.
        pool
            Past cases with outcomes: choose one of them too.

        Returns
        -------
        tuple of int, or position in the pool and tuple of int
            Tests in ascending order; `world.name_of` names them.

        Raises
        ------
        InvalidInput
            An unknown test.
        NotApplicable
            No set that the budget allows is available.
        """
        found = self.recommendation(available, case=case, pool=pool)
        return found.shown if found.case is None else (found.case, found.shown)

    def recommendation(
        self,
        available: Sequence[int | str] | None = None,
        *,
        case: KnownResults | None = None,
        pool: CasePool | None = None,
    ) -> Recommendation:
        """Return what to show in the next round, and why.

        Parameters
        ----------
        available
            Tests that can be shown for this case, by name or index; all by default.
        case
            Results of the case that are known before choosing, as in `next`.
        pool
            Past cases with outcomes: choose one of them too.

        Returns
        -------
        Recommendation
            Tests, the reason in words, and the probability of each kind.
        """
        from preceptor.learners.recommendations import choose

        tests = None
        if available is not None:
            tests = set(tests_shown(self.problem.world, available))
        if case is not None and pool is not None:
            raise InvalidInput("case: give either a case or a pool of cases")
        return choose(self, tests, case, pool)

    def present_problem(self) -> Problem:
        """Return the problem from here on: each kind with its present weights and probability.

        Returns
        -------
        Problem
            With a crowd as learner, or one person if only one kind is likely; without `start`.
        """
        bank, shares = self.bank, kind_shares(self.bank)
        people = {
            self.names[kind]: (
                bank.followers[kind].now(bank.posterior_moving(kind)[0]),
                float(shares[kind]),
            )
            for kind in np.flatnonzero(shares).tolist()
        }
        left = None
        if self.problem.horizon is not None:
            left = max(self.problem.horizon - self.rounds, 1)
        person: Any = Crowd(people)
        if len(people) == 1:
            ((person, _),) = people.values()
        return self.problem.replace(learner=person, start=None, horizon=left)

    def plan(self, method: str = "auto", **options: Any) -> Plan:
        """Make a fixed plan from here on, for when answers are no longer followed.

        Parameters
        ----------
        method
            As in `solve`.
        **options
            As in `solve`.

        Returns
        -------
        Plan
            For `present_problem`.
        """
        from preceptor.planning.solvers import solve

        return solve(self.present_problem(), method, **options)

    def doubts(self) -> tuple[str, ...]:
        """List what speaks against trusting the posterior, one sentence each.

        Returns
        -------
        tuple of str
            Empty if there are no doubts.
        """
        from preceptor.learners.recommendations import doubts_about

        return doubts_about(self)

    def __repr__(self) -> str:
        from preceptor.learners.recommendations import in_short

        return in_short(self)

    def _followed_by(self, record: tuple[TutorRound, ...], bank: FilterBank) -> Tutor:
        """Return a tutor with a longer record, keeping what was validated and computed."""
        new = object.__new__(type(self))
        kept = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        new.__dict__.update(kept, record=record, _bank_memory=bank)
        return new


def _weighed_groups(tutor: Tutor) -> dict[str, float]:
    """Weigh the families of `fit_learner` given the tutor's record."""
    from preceptor.learners.weighing import weigh

    problem, world = tutor.problem, tutor.problem.world
    answered = [each for each in enumerate(tutor.record, 1) if each[1].answer is not None]
    if not answered:
        before = (1.0 - PRIOR.none_of_these) / len(GROUPS)
        return dict.fromkeys(GROUPS, before) | {NONE_OF_THESE: PRIOR.none_of_these}
    shape = (len(answered), world.size)
    shown, values = np.zeros(shape, dtype=np.bool_), np.full(shape, np.nan)
    told, outcomes = np.zeros(shape[0], dtype=np.bool_), np.full(shape[0], np.nan)
    for row, (number, entry) in enumerate(answered):
        shown[row, list(entry.shown)] = True
        values[row, list(entry.shown)] = entry.values
        if entry.heard == number and entry.outcome is not None:
            told[row], outcomes[row] = True, entry.outcome
    answers = np.array([entry.answer for _, entry in answered], dtype=np.float64)
    numbers = [number for number, _ in answered]
    names = ["the person"] * len(answered)
    log = Log(world.labels, names, numbers, shown, values, answers, outcomes, told)
    above = problem.risk.yes_above if isinstance(problem.risk, Decision) else 0.5
    first = problem.learner.initial[: world.size]
    return weigh(world, log, default=first, yes_above=above).groups


def _first_bank(tutor: Tutor) -> FilterBank:
    """The filters before the first answer."""
    problem = tutor.problem
    return FilterBank.begin(
        problem.world,
        list(people_of(problem).values()),
        weights_of(problem),
        start=problem.start,
        spread=tutor.spread,
        none_of_these=tutor.none_of_these,
        level=tutor.level,
        risk=problem.risk,
        process_noise=tutor.process_noise,
    )


def _faults(tutor: Tutor) -> list[str]:
    """List faults, one sentence each; raise `NotApplicable` for people who cannot be followed."""
    faults = []
    if not isinstance(tutor.problem, Problem):
        return [f"problem: {tutor.problem!r}, must be a Problem"]
    own = [n for n, p in people_of(tutor.problem).items() if isinstance(p, OwnPerson)]
    if own:
        raise NotApplicable(
            f"problem: {', '.join(own)} can only act and cannot be followed; use a kind that "
            "defines how its weights move"
        )
    if tutor.spread is not None:
        wide = np.asarray(tutor.spread, dtype=object)
        shaped = wide.shape in ((), (tutor.problem.size,))
        if not shaped or not all(is_number(x) and x >= 0 for x in wide.ravel().tolist()):
            faults.append(
                f"spread: {tutor.spread!r}, must be one number of at least 0, or one for each of "
                f"the {tutor.problem.size} tests"
            )
    if not is_number(tutor.none_of_these) or not 0.0 <= tutor.none_of_these < 1.0:
        faults.append(f"none_of_these: {tutor.none_of_these!r}, must be at least 0 and below 1")
    if not isinstance(tutor.level, (bool, np.bool_)):
        faults.append(f"level: {tutor.level!r}, must be true or false")
    if tutor.tau is not None and not (
        isinstance(tutor.tau, (int, float)) and not isinstance(tutor.tau, bool) and tutor.tau >= 0
    ):
        faults.append(f"tau: {tutor.tau!r}, must be at least 0 (infinity for teaching only)")
    if not is_number(tutor.process_noise) or not 0.0 <= tutor.process_noise <= 1.0:
        faults.append(f"process_noise: {tutor.process_noise!r}, must be a share from 0 to 1")
    if not isinstance(tutor.record, (list, tuple)) or not all(
        isinstance(entry, TutorRound) for entry in tutor.record
    ):
        return [*faults, "record: must be a list of rounds"]
    for index, entry in enumerate(tutor.record):
        found = round_faults(entry, index, len(tutor.record), tutor.problem.size)
        faults += [f"record, round {index}: {fault}" for fault in found]
    return faults
