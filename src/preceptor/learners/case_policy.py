"""`CaseAware`: the rule of `case_rule` as a policy that simulations and studies can follow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from preceptor._base.values import FloatArray, Value, remembered
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.learners.case_choice import Plausibility
from preceptor.learners.posterior import PROCESS_NOISE
from preceptor.learners.recommendations import TAU
from preceptor.learners.tutor import Tutor
from preceptor.learners.tutor_record import outcome_in_reading_units, results_in_reading_units
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.crowd import Crowd


@dataclass(frozen=True, eq=False)
class CaseAware(Value):
    """Choose the set that minimises the error now plus `tau` times the error alone afterwards.

    An assistant with this policy looks at the case before it chooses, and follows each person with
    a filter per kind. Rollouts and comparisons take it like any other policy. It always considers
    several kinds: where the problem has one person, the default crowd with their first weights
    joins them, because one kind with a wrong rate throws most of the gain away.

    Parameters
    ----------
    tau
        How many cases decided alone one aided case is worth: 0 counts only this decision, infinity
        only teaching. Default: as of `Tutor`, depending on what is known.
    knows
        What is known about a case before choosing: "case" (all results), "nothing", or the tests
        whose results are known, by name.
    alone
        How the person will work later: "any" of the largest sets alike, or the "best" set.
    process_noise
        As of `Tutor`.
    plausible
        Also pick the case, from a pool of past cases: which of them may be picked. Default: cases
        come as they come. Rollouts have no pool; arms of studies do.

    Raises
    ------
    InvalidInput
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.DeltaRule([0.2, 1.3], rate=0.1), 1, horizon=40)
    >>> played = pr.simulation.rollout(problem, CaseAware(), 40, people=5, rng=0, alone=20)
    >>> played.losses.shape, played.alone.shape
    ((5, 40), (5, 20))
    """

    kind: ClassVar[str] = "case-aware"

    tau: float | None = None
    knows: str | tuple[str, ...] = "case"
    alone: str = "any"
    process_noise: float = PROCESS_NOISE
    plausible: Plausibility | None = None

    def __post_init__(self) -> None:
        faults = []
        tau = 0.0 if self.tau is None else self.tau
        if isinstance(tau, bool) or not isinstance(tau, (int, float)) or not tau >= 0:
            faults.append(f"tau: {tau!r}, must be at least 0 (infinity for teaching only)")
        if isinstance(self.knows, str) and self.knows not in ("case", "nothing"):
            faults.append(f'knows: {self.knows!r}, must be "case", "nothing" or names of tests')
        if self.alone not in ("any", "best"):
            faults.append(f'alone: {self.alone!r}, must be "any" or "best"')
        if self.plausible is not None and self.knows != "case":
            faults.append(f"knows: {self.knows!r}, but cases of a pool are known; leave it out")
        InvalidInput.raise_if(faults)
        if not isinstance(self.knows, str):
            object.__setattr__(self, "knows", tuple(self.knows))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain data; an infinite `tau` is written as "inf"."""
        fields = {name: value for name, value in data.items() if name != "kind"}
        if fields.get("tau") == "inf":
            fields["tau"] = math.inf
        if isinstance(fields.get("plausible"), Mapping):
            fields["plausible"] = Plausibility.from_dict(fields["plausible"])
        return super().from_dict(fields)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        tau = "inf" if self.tau is not None and math.isinf(self.tau) else self.tau
        return {"kind": self.kind, **super().to_dict(), "tau": tau}

    def in_words(self) -> str:
        """Describe the policy as part of a sentence."""
        tau = self.tau
        if tau is None and self.plausible is not None:
            tau = math.inf
        elif tau is None and self.knows != "nothing":
            tau = TAU
        if tau is None:
            aim = "for as long as what is learned is remembered"
        elif tau == 0:
            aim = "for this decision only"
        elif math.isinf(tau):
            aim = "for what the person learns only"
        else:
            aim = f"with one aided case worth {tau:g} cases decided alone"
        later = {"any": "any of the largest sets", "best": "the most predictive set"}[self.alone]
        if self.plausible is not None:
            return f"picks {self.plausible.in_words()} and its tests, {aim} (alone: {later})"
        known = {"case": "having seen the case", "nothing": "before seeing the case"}
        sees = known.get(str(self.knows), f"having seen {', '.join(self.knows)}")
        return f"chooses tests {sees}, {aim} (alone: {later})"

    def start(self, problem: Problem) -> CaseAwareSession:
        """Begin with a new person.

        Parameters
        ----------
        problem
            World, budget, risk, and the kinds of person considered.

        Returns
        -------
        CaseAwareSession
            Before the first case.
        """
        if self.plausible is not None:
            raise NotApplicable(
                "plausible: cases can be picked only from a pool, and here they come as they come; "
                "leave it out, or use Tutor.next(pool=...)"
            )
        return CaseAwareSession(self.tutor(problem), self)

    def tutor(self, problem: Problem) -> Tutor:
        """Return the tutor of a new person; it considers several kinds.

        Parameters
        ----------
        problem
            World, budget, risk, and the kinds of person considered.

        Returns
        -------
        Tutor
            Before the first case.
        """
        several = remembered(problem, "with several kinds", lambda: _with_several_kinds(problem))
        tau = None if self.tau is None else float(self.tau)
        return Tutor(
            several,
            tau=tau,
            alone=self.alone,
            process_noise=self.process_noise,
            plausible=self.plausible or Plausibility(),
        )

    def known(self, world: World, results: FloatArray) -> FloatArray | None:
        """Return what is known of a case before choosing.

        Parameters
        ----------
        world
            Names the tests.
        results
            All results of the case (n,).

        Returns
        -------
        array of shape (n,) or None
            NaN where unknown; None if nothing is known.
        """
        if self.knows == "nothing":
            return None
        if self.knows == "case":
            return results
        columns = list(world.columns_of(self.knows))
        seen = np.full(world.size, np.nan)
        seen[columns] = results[columns]
        return seen


def _with_several_kinds(problem: Problem) -> Problem:
    """The problem with a crowd: its own, or the default crowd and its person, equally likely."""
    person = problem.learner
    if isinstance(person, Crowd):
        return problem
    state = person.fresh(problem.world, (), problem.start)
    weights = person.weights_of(problem.world, state)
    tests = len(problem.budget.maximise(np.ones(problem.size)))
    others = Crowd.default(problem.world, weights, tests=tests)
    kinds = {each.name: (each.person, 0.5 * each.weight) for each in others.members}
    kinds["as planned for"] = (person.from_here(problem.world, state, weights), 0.5)
    return problem.replace(learner=Crowd(kinds), start=None)


class CaseAwareSession:
    """One person under a `CaseAware` policy: chooses, then hears answer and outcome."""

    def __init__(self, tutor: Tutor, policy: CaseAware) -> None:
        self.tutor, self._policy = tutor, policy

    def choose(self, results: FloatArray) -> TestSet:
        """Return the set to show, given the results (n,) of the case in the world's units."""
        world = self.tutor.problem.world
        everything = tuple(range(world.size))
        read = results_in_reading_units(world, everything, results)
        return self.tutor.next(case=self._policy.known(world, read))

    def after(self, shown: TestSet, values: FloatArray, answer: float, outcome: float) -> None:
        """Record a round; results (shown,), answer and outcome in the world's units."""
        world = self.tutor.problem.world
        self.tutor = self.tutor.after(
            shown,
            results_in_reading_units(world, shown, values),
            outcome_in_reading_units(world, answer),
            outcome_in_reading_units(world, outcome),
        )
