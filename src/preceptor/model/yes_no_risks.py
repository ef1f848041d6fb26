"""Risks of yes-or-no answers: misses and false alarms, the Brier score, the log loss.

A person adds up tests to a score and turns it into an answer: a probability or a decision. With
Gaussian tests this score and the true one are jointly normal, and the expected cost of answers
follows from three of their moments (`ScorePair`): in closed form for decisions, by an integral over
the score for probabilities.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from preceptor._base.schema import Limits
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.outcomes import Link
from preceptor.model.risks import Risk
from preceptor.model.score_pairs import ScorePair

# The code that tells kernels to interpolate a surface.
SURFACE_CODE = 3

Cost = Annotated[float, Limits(above=0, below=1e50)]
Belief = Annotated[
    float | None,
    Limits(above=0, below=1),
    "The prevalence that the person believes in. Left out: the true one.",
]


@dataclass(frozen=True, eq=False)
class YesNoRisk(Risk):
    """How scores become answers to a yes-or-no question, and what those cost.

    Turning a score into an answer belongs to the risk, because a decision needs a threshold, which
    depends on the cost of mistakes.

    Parameters
    ----------
    believed_prevalence
        The prevalence that the person believes in; the true one if left out.

    Examples
    --------
    >>> isinstance(Brier(), YesNoRisk), Brier.decides, Decision.decides
    (True, False, True)
    """

    is_binary: ClassVar[bool] = True
    code: ClassVar[int] = SURFACE_CODE
    # Whether an answer is yes or no; otherwise it is a probability.
    decides: ClassVar[bool] = False

    believed_prevalence: Belief = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def largest(self) -> float:
        """Largest charge of a case; infinite if there is no limit."""

    @abstractmethod
    def answer(self, link: Link, scores: FloatArray) -> FloatArray:
        """Answers of a person with these scores.

        Parameters
        ----------
        link
            How scores become probabilities.
        scores
            Weighted sums of shown and imputed tests, base score included, any shape.

        Returns
        -------
        array
            Probabilities of yes, or 1 for yes and 0 for no, of the same shape.
        """

    @abstractmethod
    def charge(self, answer: FloatArray, outcome: FloatArray) -> FloatArray:
        """Charge of an answer given the outcome, elementwise.

        Parameters
        ----------
        answer
            A probability of yes; or a decision, 1 for yes and 0 for no.
        outcome
            1 for yes, 0 for no, of the same shape.

        Returns
        -------
        array
            Charges, at least 0.
        """

    @abstractmethod
    def expected(self, pair: ScorePair) -> FloatArray:
        """Expected charge of the answers.

        Parameters
        ----------
        pair
            The joint distribution of the person's and the true scores, for any number of states.

        Returns
        -------
        array
            One expected charge per state.
        """

    @abstractmethod
    def best(self, pair: ScorePair) -> FloatArray:
        """Expected charge of the best use of the shown tests: a lower bound for any person.

        Parameters
        ----------
        pair
            Of the best reader: `ScorePair.best_reader`.

        Returns
        -------
        array
            One charge per set.
        """


@dataclass(frozen=True, eq=False)
class Decision(YesNoRisk):
    """Misses and false alarms, each at its cost; 1 and 1 gives the share of wrong decisions.

    Parameters
    ----------
    miss
        Cost of saying no when the truth is yes, above 0.
    false_alarm
        Cost of saying yes when the truth is no, above 0.
    threshold
        The probability above which the person says yes; if left out, the optimal one for the costs:
        false_alarm / (miss + false_alarm).
    believed_prevalence
        The prevalence that the person believes in; the true one if left out.

    Raises
    ------
    InvalidProblem
        Invalid values, all in one message.

    Examples
    --------
    >>> Decision(miss=5, false_alarm=1).yes_above
    0.16666666666666666
    >>> Decision(5, 1).charge(np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0])).tolist()
    [5.0, 1.0, 0.0]
    """

    kind: ClassVar[str] = "decision"
    decides: ClassVar[bool] = True

    miss: Annotated[Cost, "Cost of saying no when the truth is yes."] = 1.0
    false_alarm: Annotated[Cost, "Cost of saying yes when the truth is no."] = 1.0
    threshold: Annotated[
        float | None,
        Limits(above=0, below=1),
        "Probability above which the person says yes. Left out: optimal for the costs.",
    ] = None

    @property
    def right_threshold(self) -> float:
        """The probability above which yes is the cheaper answer."""
        return self.false_alarm / (self.miss + self.false_alarm)

    @property
    def yes_above(self) -> float:
        """The probability above which the person says yes."""
        return self.right_threshold if self.threshold is None else float(self.threshold)

    @property
    def largest(self) -> float:
        """The more expensive mistake."""
        return max(self.miss, self.false_alarm)

    def in_words(self) -> str:
        """The two costs, or a name if both are 1."""
        if self.miss == self.false_alarm == 1.0:
            text = "share of wrong decisions"
        else:
            text = f"decisions: a miss costs {self.miss:g}, a false alarm {self.false_alarm:g}"
        if self.threshold is not None:
            text += f"; yes above a probability of {self.threshold:g}"
        return text

    def answer(self, link: Link, scores: FloatArray) -> FloatArray:
        """1 where the probability is above the threshold."""
        return np.where(scores > link.score(self.yes_above), 1.0, 0.0)

    def charge(self, answer: FloatArray, outcome: FloatArray) -> FloatArray:
        """The cost of the mistake, if any."""
        missed = self.miss * outcome * (1.0 - answer)
        return np.asarray(missed + self.false_alarm * (1.0 - outcome) * answer)

    def expected(self, pair: ScorePair) -> FloatArray:
        """Miss x P(yes, said no) + false alarm x P(no, said yes)."""
        misses, alarms = self.mistakes(pair)
        return np.asarray(self.miss * misses + self.false_alarm * alarms)

    def mistakes(self, pair: ScorePair) -> tuple[FloatArray, FloatArray]:
        """Shares of all cases that are misses and false alarms.

        Parameters
        ----------
        pair
            The joint distribution of the person's and the true scores, for any number of states.

        Returns
        -------
        tuple of two arrays
            P(yes, said no) and P(no, said yes), one per state.
        """
        return pair.mistakes(pair.link.score(self.yes_above))

    def best(self, pair: ScorePair) -> FloatArray:
        """Yes wherever that is the cheaper answer."""
        misses, alarms = pair.mistakes(pair.score_at(self.right_threshold))
        return np.asarray(self.miss * misses + self.false_alarm * alarms)


@dataclass(frozen=True, eq=False)
class ProbabilityRisk(YesNoRisk):
    """Base of risks whose answers are probabilities."""

    def answer(self, link: Link, scores: FloatArray) -> FloatArray:
        """The link of the score."""
        return link.probability(np.asarray(scores))

    @abstractmethod
    def charges(self, link: Link, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Charge of the answer to each score if the truth is yes, and if it is no.

        Parameters
        ----------
        link
            How scores become probabilities.
        scores
            Any shape.

        Returns
        -------
        tuple of two arrays
            Charges of the same shape.
        """

    def expected(self, pair: ScorePair) -> FloatArray:
        """Integrate over the person's score."""

        def charge(scores: FloatArray, chance: FloatArray) -> FloatArray:
            if_yes, if_no = self.charges(pair.link, scores)
            return np.asarray(chance * if_yes + (1.0 - chance) * if_no)

        return pair.mean(charge)

    def best(self, pair: ScorePair) -> FloatArray:
        """The charge of calibrated answers."""
        return pair.mean(lambda scores, chance: self._at_best(chance))

    @abstractmethod
    def _at_best(self, chance: FloatArray) -> FloatArray:
        """Expected charge of an answer that equals P(yes)."""


@dataclass(frozen=True, eq=False)
class Brier(ProbabilityRisk):
    """Squared distance of the stated probability from the outcome: from 0 to 1.

    Parameters
    ----------
    believed_prevalence
        The prevalence that the person believes in; the true one if left out.

    Examples
    --------
    >>> Brier().charge(np.array([0.8, 0.8]), np.array([1.0, 0.0])).round(2).tolist()
    [0.04, 0.64]
    """

    kind: ClassVar[str] = "brier"
    error_name: ClassVar[str] = "Brier score"
    title: ClassVar[str] = "Brier score: squared distance of stated probabilities from the outcome"

    @property
    def largest(self) -> float:
        """Certain and wrong."""
        return 1.0

    def charge(self, answer: FloatArray, outcome: FloatArray) -> FloatArray:
        """(y - p)²."""
        return np.asarray((outcome - answer) ** 2)

    def charges(self, link: Link, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Squared distances from 1 and from 0."""
        return link.probability(-scores) ** 2, link.probability(scores) ** 2

    def _at_best(self, chance: FloatArray) -> FloatArray:
        return chance * (1.0 - chance)


@dataclass(frozen=True, eq=False)
class LogLoss(ProbabilityRisk):
    """-log of the probability given to the outcome: being certain and wrong is expensive.

    Parameters
    ----------
    believed_prevalence
        The prevalence that the person believes in; the true one if left out.

    Examples
    --------
    >>> LogLoss().charge(np.array([0.5]), np.array([1.0])).round(4).tolist()
    [0.6931]
    """

    kind: ClassVar[str] = "log-loss"
    error_name: ClassVar[str] = "log loss"
    title: ClassVar[str] = "log loss of stated probabilities"

    @property
    def largest(self) -> float:
        """There is no limit."""
        return math.inf

    def charge(self, answer: FloatArray, outcome: FloatArray) -> FloatArray:
        """-log p if yes, -log(1 - p) if no; p is kept within double precision of 0 and 1."""
        given = np.where(outcome > 0.5, answer, 1.0 - answer)
        return np.asarray(-np.log(np.maximum(given, np.finfo(np.float64).epsneg)))

    def charges(self, link: Link, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Computed without underflow at extreme scores."""
        return -link.log_probability(scores), -link.log_probability(-scores)

    def _at_best(self, chance: FloatArray) -> FloatArray:
        from scipy.special import entr

        return np.asarray(entr(chance) + entr(1.0 - chance))


def as_yes_no_risk(risk: Risk | None) -> YesNoRisk:
    """The risk by which yes-or-no answers are charged; None means the share of wrong decisions.

    Raises
    ------
    InvalidProblem
        The risk charges numeric outcomes.
    """
    if risk is None:
        return Decision()
    if not isinstance(risk, YesNoRisk):
        raise InvalidProblem(
            f"risk: {type(risk).__name__} charges numeric outcomes, but this one is yes or no; "
            " use Decision(), Brier() or LogLoss()"
        )
    return risk
