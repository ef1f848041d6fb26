"""A learner from a log of what people predicted.

Options are given to the constructor; `fit` takes the log, and what it finds are attributes with a
trailing underscore, as in scikit-learn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import check_level, is_count, is_number
from preceptor._base.journal import Journal
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.estimation.learner_answers import Answers
from preceptor.estimation.learner_comparison import FamilyScore, baselines, compare, folds_of
from preceptor.estimation.learner_doubts import doubts_of
from preceptor.estimation.learner_fit import FamilyFit, fit_family
from preceptor.estimation.learner_intervals import Uncertainty
from preceptor.estimation.learner_limits import LimitedFit, fit_limits
from preceptor.estimation.learner_model import FAMILIES, Family, Model, chosen_families
from preceptor.estimation.learner_refusals import curve_refusal, log_refusals
from preceptor.estimation.world_estimate import WorldEstimate
from preceptor.evidence.everybody import weigh_people
from preceptor.evidence.folding import cannot_tell
from preceptor.evidence.group import GroupWeighed
from preceptor.evidence.push import PushTest, contradicts, push_test
from preceptor.evidence.verdict import Verdict, group_verdict, verdict
from preceptor.evidence.weighed import Weighed
from preceptor.evidence.weighing import ANSWERS, DIALS
from preceptor.logs import Log
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.person import Person


def fit_learner(world: World | WorldEstimate, log: Log, **options: Any) -> LearnerEstimator:
    """Estimate the person, or the people, behind a log.

    Parameters
    ----------
    world
        Where the cases came from, with the tests that the log names. Given as `fit_world` gives it,
        with its table, the log is compared with that first.
    log
        What they were shown, what they answered, what was true.
    **options
        As of `LearnerEstimator`.

    Returns
    -------
    LearnerEstimator
        Fitted: `learner_`, `person_` and `people_` are ready for `Problem`.

    Raises
    ------
    InvalidInput
        The log has too few rows, or is not about these tests or this table, or an option makes no
        sense.

    Examples
    --------
    >>> world = World([1.0, 0.5], [[1.0, 0.3], [0.3, 1.0]], names=["bmi", "bp"])
    >>> cases, rng = world.sample(200, rng=1), np.random.default_rng(2)
    >>> known = 1.0 - np.outer(1.05 ** -np.arange(200.0), [1.0, 1.0])   # a novice who learns
    >>> answers = np.sum(cases.features * world.coefficients * known, axis=1)
    >>> log = Log(world.names, ["ann"] * 200, range(200), np.ones((200, 2), bool), cases.features,
    ...           answers + 0.1 * rng.standard_normal(200), cases.outcomes)
    >>> fitted = fit_learner(world, log)
    >>> fitted.family_, round(fitted.learner_.curves.alpha, 2)
    ('geometric', 1.05)
    """
    if not isinstance(world, WorldEstimate):
        return LearnerEstimator(world, **options).fit(log)
    InvalidInput.raise_if(f"log: {fault}" for fault in log_refusals(world, log))
    return LearnerEstimator(world.world, **options).fit(log)


@dataclass(eq=False, repr=False)
class LearnerEstimator:
    """Beliefs, learning curve, response noise and imputation of the people in a log.

    A person answers with a weighted sum of the tests they see and fill in, plus a constant bias,
    plus normal noise. Weights move from the first ones toward the truth along one curve for all
    tests. Options are checked in `fit`.

    Where the outcome is yes or no, all of this is about scores. A probability p that somebody
    answers is the score that has this chance, and of 0 and 1 only that it was beyond those of 0.005
    and 0.995; a decision is yes with probability Φ(score / noise), by maximum likelihood
    (`learner_limits.py` says what decisions can tell). Single people are not told apart by their
    decisions.

    Parameters
    ----------
    world
        Where the cases came from.
    families
        Curves to compare, of "none", "geometric", "power-law", "geometric-floor" and
        "power-law-floor"; "none" (no learning) is always among them.
    imputation
        κ from 0 to 1 if known, None to estimate it.
    biased
        Whether answers may be off by a constant. A `Learner` has no such thing, so a bias is kept
        out of the weights and reported, and plans do not know of it.
    default
        Beliefs, shape (n,), that are kept where the log says nothing; zero, a novice, if left out.
    folds
        In how many parts people are left out in turn (of one person, the last rounds are).
    answers
        How answers scatter when kinds of person are compared: "gaussian", "t" (with slips) or
        "choices" (0 or 1).
    workers
        In how many processes people's kinds are weighed; None is one for each core.
    cluster
        A `distributed.Client`, or the address of a scheduler, to weigh them on instead.
    resume
        A file that keeps who has been weighed, so that a run that was stopped goes on.
    random_state
        Seed of the split into folds.

    Attributes
    ----------
    learner_
        Everybody pooled, in the world's units, ready for `Problem`.
    family_
        The family of curves that was chosen, by Akaike's criterion.
    curve_
        The curve itself.
    initial_
        First weights, shape (n,).
    imputation_
        κ as estimated or given.
    bias_
        By how much answers are off whatever is shown, in units of the outcome.
    noise_sd_
        Standard deviation of an answer, or of the score behind it, around the model.
    decided_
        Whether answers are decisions, yes or no.
    intervals_
        95% intervals by name.
    comparison_
        How well each family does.
    baselines_
        How well answers are predicted without any of this.
    doubts_
        What the log cannot tell, a sentence each.
    kinds_
        How common each kind of person is among these people, by exact evidence; worked out when
        first asked for, as are the next four.
    people_kinds_
        The same by participant, each as one of these people.
    person_
        Whom to plan for: a person, a crowd weighted by the posterior, or None.
    refusal_
        Why nobody can be named, if so.
    verdict_
        The last two, with doubts and shares.
    """

    world: World
    families: Sequence[str] | str = dataclasses.field(default=tuple(FAMILIES), kw_only=True)
    imputation: float | None = dataclasses.field(default=None, kw_only=True)
    biased: bool = dataclasses.field(default=True, kw_only=True)
    default: npt.ArrayLike | None = dataclasses.field(default=None, kw_only=True)
    folds: int = dataclasses.field(default=5, kw_only=True)
    answers: str = dataclasses.field(default="gaussian", kw_only=True)
    workers: int | None = dataclasses.field(default=1, kw_only=True)
    cluster: Any = dataclasses.field(default=None, kw_only=True)
    resume: str | Path | None = dataclasses.field(default=None, kw_only=True)
    random_state: int | np.random.Generator | None = dataclasses.field(default=0, kw_only=True)

    def fit(self, log: Log) -> Self:
        """Estimate everything.

        Parameters
        ----------
        log
            What people were shown and what they answered.

        Returns
        -------
        LearnerEstimator
            Itself, with the attributes that end in an underscore.

        Raises
        ------
        InvalidInput
            The log has too few rows or is not about these tests, or an option makes no sense.
        """
        with one_blas_thread():
            return self._fit(log)

    def _fit(self, log: Log) -> Self:
        families = self._checked()
        if self.resume is not None:  # needed last of all, but nobody wants to hear it only then
            Journal(self.resume).check()
        answers = Answers.of(self.world, log)
        self.log_ = log
        self._kinds: tuple[GroupWeighed, Verdict] | None = None
        self._push: PushTest | None = None
        self.participants_ = log.participants
        self.rows_ = len(log)
        models = self._models(answers, families)
        fits: Sequence[FamilyFit | LimitedFit]
        if answers.is_limited:
            fits = [fit_limits(model) for model in models]
        else:
            fits = [fit_family(model) for model in models]
        folds = folds_of(answers, self.folds, np.random.default_rng(self.random_state))
        self.comparison_: tuple[FamilyScore, ...] = tuple(compare(fits, folds))
        self.baselines_ = baselines(models[0], folds)
        self.decided_ = answers.decided
        self.fit_: FamilyFit | LimitedFit = fits[
            int(np.argmin([score.aic for score in self.comparison_]))
        ]
        self.uncertainty_ = Uncertainty.of(self.fit_)
        self.intervals_ = self.intervals()
        self._read_off()
        self.doubts_: tuple[str, ...] = doubts_of(self)
        return self

    def predict(self, log: Log) -> FloatArray:
        """What these people would answer, by the numbers that they have in common.

        Parameters
        ----------
        log
            What they are shown; its answers are not looked at.

        Returns
        -------
        array of shape (rows,)
            In the units of the log; where the outcome is yes or no, probabilities of yes: those
            that they would answer, or that of deciding so.
        """
        self._must_be_fitted()
        model = self.fit_.model.on(Answers.of(self.world, log))
        if self.decided_:
            return self.fit_.expected(model)
        found = model.mean(self.fit_.bias, self.fit_.initial, self.fit_.point)
        if self.world.outcome is not None:
            return self.world.outcome.from_score.probability(self.world.base_score + found)
        return found if self.world.units is None else self.world.units.uncentre(found)

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals by name: bias, "initial <test>", rate, floor, imputation and noise.

        `rate` and `floor` are as the families are fitted: the logarithm of alpha (or half the
        exponent), and the share of the error that stays.

        Parameters
        ----------
        level
            Probability that an interval covers the truth, between 0 and 1.

        Returns
        -------
        dict of str to two floats
            Lower and upper ends.
        """
        self._must_be_fitted()
        check_level(level)
        return self.uncertainty_.intervals(level)

    @property
    def kinds_(self) -> GroupWeighed:
        """How common each kind of person is among these people."""
        return self._weighed()[0]

    @property
    def people_kinds_(self) -> dict[str, Weighed]:
        """Each participant's kind, as one of these people."""
        return self.kinds_.people

    @property
    def verdict_(self) -> Verdict:
        """Whom to plan for, or why nobody can be named; doubts and shares."""
        return self._weighed()[1]

    @property
    def person_(self) -> Person | None:
        """Whom to plan for: a person, a crowd weighted by the posterior, or None."""
        return self.verdict_.person

    @property
    def people_(self) -> dict[str, Person]:
        """Whom to plan for, by participant; those whose rounds say nothing are left out."""
        verdicts = self.verdicts_
        return {name: found.person for name, found in verdicts.items() if found.person is not None}

    @property
    def verdicts_(self) -> dict[str, Verdict]:
        """The same with doubts and shares, by participant; empty if nobody can be named."""
        if self.verdict_.person is None:
            return {}
        if len(self.participants_) == 1:
            return dict.fromkeys(self.participants_, self.verdict_)
        return {name: verdict(each) for name, each in self.kinds_.people.items()}

    @property
    def refusal_(self) -> str:
        """Why nobody can be named; empty if somebody is."""
        return self.verdict_.refusal

    @property
    def push_(self) -> PushTest:
        """Whether answers follow the outcomes before them, without a model of learning."""
        self._must_be_fitted()
        if self._push is None:
            self._push = push_test(self.world, self.log_)
        return self._push

    @property
    def cannot_tell_(self) -> tuple[str, ...]:
        """What this log cannot tell about learning from outcomes, and what to show instead."""
        self._must_be_fitted()
        if self.world.is_binary:  # what hidden tests fold into is worked out for numbers only
            return ()
        scatter = max(self.noise_sd_, 1e-6 * float(np.sqrt(self.world.outcome_variance)))
        return cannot_tell(self.world, self.log_, self.initial_, scatter)

    def _weighed(self) -> tuple[GroupWeighed, Verdict]:
        self._must_be_fitted()
        if self._kinds is None:
            dials = DIALS if self.imputation is None else (float(self.imputation),)
            found = weigh_people(
                self.world, self.log_, workers=self.workers, cluster=self.cluster,
                resume=self.resume, answers="choices" if self.decided_ else self.answers,
                default=self.default, dials=dials,
            )  # fmt: skip
            alone = next(iter(found.alone.values()))
            who = verdict(alone) if len(found.alone) == 1 else group_verdict(found)
            doubt = contradicts(self.push_, found.by_outcomes)
            if doubt:
                who = dataclasses.replace(who, doubts=(*who.doubts, doubt))
            refusal = "" if who.person is None else curve_refusal(self)
            if refusal:
                who = dataclasses.replace(who, person=None, refusal=refusal)
            self._kinds = found, who
        return self._kinds

    def summary(self) -> str:
        """The fit in words, with a table of the families and what is doubtful.

        Returns
        -------
        str
            What `preceptor fit` prints.
        """
        from preceptor.estimation.learner_words import summary_of

        self._must_be_fitted()
        return summary_of(self)

    def to_dict(self) -> dict[str, Any]:
        """The results as plain data, for a file or `--json`.

        Returns
        -------
        dict
            Numbers, text, lists and tables.
        """
        from preceptor.estimation.learner_words import data_of

        self._must_be_fitted()
        return data_of(self)

    def __repr__(self) -> str:
        fitted = f", fitted to {self.rows_} rows: {self.family_}" if hasattr(self, "fit_") else ""
        return f"LearnerEstimator({', '.join(self.world.labels)}{fitted})"

    def _models(self, answers: Answers, families: list[Family]) -> list[Model]:
        default = np.zeros(self.world.size)
        if self.default is not None:
            default = np.asarray(self.default, dtype=np.float64)
        dial = self.imputation
        if dial is None and not answers.depends_on_imputation:
            dial = 0.0
        free = np.any(answers.shown, axis=0)
        if not np.any(answers.counts):
            families = families[:1]
        models = [Model(answers, f, free, default, dial, bool(self.biased)) for f in families]
        enough = [model for model in models if len(answers) > len(model.names)]
        if not enough:
            raise InvalidInput(
                f"log: {len(answers)} rows cannot tell {len(models[0].names)} numbers apart "
                f"({', '.join(models[0].names)}); gather more rows, or fix what is known (the "
                "arguments `imputation` and `biased`)"
            )
        return enough

    def _read_off(self) -> None:
        model = self.fit_.model
        parameters, dial = model.split(self.fit_.point)
        self.family_ = model.family.name
        self.curve_ = model.family.curve(parameters)
        self.initial_ = self.fit_.initial
        self.imputation_ = dial
        self.bias_ = self.fit_.bias
        self.noise_sd_ = self.fit_.noise_sd
        self.learner_ = Learner(self.initial_, self.curve_, self._planned_dial)

    @property
    def _planned_dial(self) -> float:
        """0 where the log does not tell κ from 0: plans for such people can be proven good."""
        low, _ = self.intervals_.get("imputation", (self.imputation_, self.imputation_))
        return 0.0 if low <= 0.0 else self.imputation_

    def _must_be_fitted(self) -> None:
        if not hasattr(self, "fit_"):
            raise InvalidInput("this estimator has not seen a log yet; call fit(log) first")

    def _checked(self) -> list[Family]:
        """The families to compare, once all options have been checked."""
        faults: list[str] = []
        families: list[Family] = []
        try:
            families = chosen_families(self.families)
        except InvalidInput as error:
            faults += error.faults
        if not isinstance(self.world, World):
            raise InvalidInput(f"world: is of type {type(self.world).__name__}, must be a World")
        dial = self.imputation
        if dial is not None and not (is_number(dial) and 0.0 <= dial <= 1.0):
            faults.append(f"imputation: {dial!r}, must be from 0 to 1, or None to estimate it")
        if self.default is not None and np.shape(self.default) != (self.world.size,):
            faults.append(
                f"default: shape {np.shape(self.default)}, must be one belief for each of the "
                f"{self.world.size} tests"
            )
        if self.answers not in ANSWERS:
            faults.append(f"answers: {self.answers!r}, must be one of {', '.join(ANSWERS)}")
        if self.workers is not None and not is_count(self.workers, least=1):
            faults.append(f"workers: {self.workers!r}, must be at least 1, or None")
        if not is_count(self.folds, least=2):
            faults.append(f"folds: {self.folds!r}, must be a whole number of at least 2")
        InvalidInput.raise_if(faults)
        return families
