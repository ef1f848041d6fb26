"""Estimate how the people behind a log learn.

As in scikit-learn, options go to the constructor, `fit` takes the log, and results are attributes
with a trailing underscore.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.many import Journal
from preceptor.data.log import Log
from preceptor.data.world_estimate import WorldEstimate
from preceptor.errors import InvalidInput
from preceptor.learners.evidence_cells import Estimate, mean_of
from preceptor.learners.folding import cannot_tell
from preceptor.learners.learner_report import data_of, doubts_of, log_refusals, summary_of
from preceptor.learners.populations import GroupWeighed, weigh_people
from preceptor.learners.posterior import ANSWERS
from preceptor.learners.push_test import PushTest, contradicts, push_test
from preceptor.learners.verdict import Verdict, group_verdict, verdict
from preceptor.learners.weighing import DIALS, Weighed
from preceptor.model.person import Person
from preceptor.model.world import World


def fit_learner(world: World | WorldEstimate, log: Log, **options: Any) -> LearnerEstimator:
    """Estimate the person or people behind a log.

    Parameters
    ----------
    world
        The world of the cases, with the tests that the log names. If it is a `WorldEstimate`, the
        log is first compared with its table.
    log
        Tests shown, answers and outcomes.
    **options
        Options of `LearnerEstimator`.

    Returns
    -------
    LearnerEstimator
        The fitted estimator; `person_` and `people_` can be used in `Problem`.

    Raises
    ------
    InvalidInput
        The log does not match the tests or the table, or an option is invalid.

    Examples
    --------
    >>> world = World([1.0, 0.5], [[1.0, 0.3], [0.3, 1.0]], names=["bmi", "bp"])
    >>> cases, rng = world.sample(200, rng=1), np.random.default_rng(2)
    >>> known = 1.0 - np.outer(1.05 ** -np.arange(200.0), [1.0, 1.0])   # a novice who learns
    >>> answers = np.sum(cases.features * world.coefficients * known, axis=1)
    >>> log = Log(world.names, ["ann"] * 200, range(200), np.ones((200, 2), bool), cases.features,
    ...           answers + 0.1 * rng.standard_normal(200), cases.outcomes)
    >>> fitted = fit_learner(world, log, families=["none", "geometric", "delta rule"])
    >>> fitted.people_kinds_["ann"].family, round(fitted.person_.curves.alpha, 2)
    ('geometric', 1.05)
    """
    if not isinstance(world, WorldEstimate):
        return LearnerEstimator(world, **options).fit(log)
    InvalidInput.raise_if(f"log: {fault}" for fault in log_refusals(world, log))
    return LearnerEstimator(world.world, **options).fit(log)


@dataclass(eq=False, repr=False)
class LearnerEstimator:
    """Posterior over kinds, rates, first weights, scatter and imputation of the people in a log.

    An answer is a weighted sum of the tests seen and imputed, plus a constant bias and a share of
    the last surprise, plus scatter. How weights change depends on the kind. Where the outcome is
    yes or no, the model is about scores: an answer p is the score with that probability, and a
    decision is yes if the score, with its scatter, is above 0. `learners.weigh` says more.

    Parameters
    ----------
    world
        The world of the cases.
    families
        Names of the families to weigh; all by default.
    imputation
        κ from 0 to 1 if known; None to estimate it.
    default
        Expected first weights, shape (n,); by default 0, a novice.
    answers
        How answers scatter: "gaussian", "t" (with slips) or "choices" (0 or 1).
    yes_above
        Probability above which people decide yes, where answers are decisions.
    workers
        Worker processes; None for one per core.
    cluster
        A `distributed.Client` or the address of a scheduler to use instead.
    resume
        A checkpoint file, from which an interrupted run resumes.

    Attributes
    ----------
    kinds_
        Posterior shares of kinds of person among these people.
    people_kinds_
        Posterior over kinds by participant.
    person_
        The person to plan for, or a crowd weighted by the posterior, or None.
    refusal_
        Why there is no such person; empty if there is one.
    verdict_
        The last two, with doubts and shares of kinds.
    initial_
        First weights in the world's units, each with its 95 % interval; of several people, their
        average.
    scatter_
        Standard deviation of answers, or of the scores behind them, in units of the outcome.
    bias_
        Constant offset of answers, in units of the outcome; plans ignore it.
    decided_
        Whether answers are decisions.
    doubts_
        What the log does not identify, as sentences.
    """

    world: World
    families: Sequence[str] | str | None = dataclasses.field(default=None, kw_only=True)
    imputation: float | None = dataclasses.field(default=None, kw_only=True)
    default: npt.ArrayLike | None = dataclasses.field(default=None, kw_only=True)
    answers: str = dataclasses.field(default="gaussian", kw_only=True)
    yes_above: float = dataclasses.field(default=0.5, kw_only=True)
    workers: int | None = dataclasses.field(default=1, kw_only=True)
    cluster: Any = dataclasses.field(default=None, kw_only=True)
    resume: str | Path | None = dataclasses.field(default=None, kw_only=True)

    def fit(self, log: Log) -> Self:
        """Weigh the kinds of person behind a log.

        Parameters
        ----------
        log
            Tests shown, answers and outcomes.

        Returns
        -------
        LearnerEstimator
            The estimator itself, with its results.

        Raises
        ------
        InvalidInput
            The log has other tests, or an option is invalid.
        """
        self._check()
        if self.resume is not None:
            Journal(self.resume).check()
        self.log_ = log
        self.participants_ = log.participants
        self.rows_ = len(log)
        self.decided_ = self.world.is_binary and log.decided
        self.kinds_: GroupWeighed = weigh_people(
            self.world, log, workers=self.workers, cluster=self.cluster, resume=self.resume,
            answers="choices" if self.decided_ else self.answers, default=self.default,
            families=[self.families] if isinstance(self.families, str) else self.families,
            dials=DIALS if self.imputation is None else (float(self.imputation),),
            yes_above=self.yes_above,
        )  # fmt: skip
        people = list(self.kinds_.people.values())
        who = verdict(people[0]) if len(people) == 1 else group_verdict(self.kinds_)
        doubt = contradicts(self.push_, self.kinds_.by_outcomes)
        self.verdict_: Verdict = (
            dataclasses.replace(who, doubts=(*who.doubts, doubt)) if doubt else who
        )
        unit = float(np.sqrt(self.world.outcome_variance))
        firsts = zip(*(weighed.initial for weighed in people), strict=True)
        self.initial_: tuple[Estimate, ...] = tuple(mean_of(each) for each in firsts)
        self.bias_: Estimate = mean_of([weighed.bias for weighed in people])
        scatter = mean_of([weighed.scatter for weighed in people])
        self.scatter_: Estimate = Estimate(*(unit * number for number in scatter))
        self.doubts_: tuple[str, ...] = doubts_of(self)
        return self

    @property
    def people_kinds_(self) -> dict[str, Weighed]:
        """Posterior over kinds of each participant."""
        return self.kinds_.people

    @property
    def person_(self) -> Person | None:
        """The person to plan for, or a crowd weighted by the posterior, or None."""
        return self.verdict_.person

    @property
    def people_(self) -> dict[str, Person]:
        """The person to plan for, by participant; uninformative participants are left out."""
        verdicts = self.verdicts_
        return {name: found.person for name, found in verdicts.items() if found.person is not None}

    @cached_property
    def verdicts_(self) -> dict[str, Verdict]:
        """Verdicts by participant; empty if `person_` is None."""
        if self.verdict_.person is None:
            return {}
        if len(self.participants_) == 1:
            return dict.fromkeys(self.participants_, self.verdict_)
        return {name: verdict(each) for name, each in self.kinds_.people.items()}

    @property
    def refusal_(self) -> str:
        """Why `person_` is None; empty if it is not."""
        return self.verdict_.refusal

    @cached_property
    def push_(self) -> PushTest:
        """Model-free test of whether answers follow the preceding outcomes."""
        return push_test(self.world, self.log_)

    @cached_property
    def cannot_tell_(self) -> tuple[str, ...]:
        """What the log does not identify about learning from outcomes, and what to show instead."""
        if self.world.is_binary:  # folding of hidden tests is implemented for numbers only
            return ()
        first = np.array([each.mean for each in self.initial_])
        return cannot_tell(self.world, self.log_, first, self.scatter_.mean)

    def summary(self) -> str:
        """Describe the fit as text.

        Returns
        -------
        str
            What `preceptor fit` prints.
        """
        self._must_be_fitted()
        return summary_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain data, for a file or `--json`.

        Returns
        -------
        dict
            Numbers, text, lists and dicts.
        """
        self._must_be_fitted()
        return data_of(self)

    def __repr__(self) -> str:
        fitted = f", fitted to {self.rows_} rows" if hasattr(self, "kinds_") else ""
        return f"LearnerEstimator({', '.join(self.world.labels)}{fitted})"

    def _must_be_fitted(self) -> None:
        if not hasattr(self, "kinds_"):
            raise InvalidInput("this estimator is not fitted; call fit(log) first")

    def _check(self) -> None:
        """Validate the options that `weigh` does not, or would name differently."""
        if not isinstance(self.world, World):
            raise InvalidInput(f"world: is of type {type(self.world).__name__}, must be a World")
        faults, kappa = [], self.imputation
        if kappa is not None and not (is_number(kappa) and 0.0 <= kappa <= 1.0):
            faults.append(f"imputation: {kappa!r}, must be from 0 to 1, or None to estimate it")
        if self.default is not None and np.shape(self.default) != (self.world.size,):
            faults.append(
                f"default: shape {np.shape(self.default)}, must be one belief for each of the "
                f"{self.world.size} tests"
            )
        if self.answers not in ANSWERS:
            faults.append(f"answers: {self.answers!r}, must be one of {', '.join(ANSWERS)}")
        if self.workers is not None and not is_count(self.workers, least=1):
            faults.append(f"workers: {self.workers!r}, must be at least 1, or None")
        InvalidInput.raise_if(faults)
