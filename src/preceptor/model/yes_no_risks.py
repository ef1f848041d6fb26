"""Risks of yes-or-no answers: misses and false alarms, the Brier score, the log loss.

A person adds up tests to a score and turns it into an answer: a probability, or a decision. With
Gaussian tests the score and the true one are a pair of normals, and what answers cost on average
follows from three of their moments (`ScorePair`): in closed form for decisions, by one sum over the
score for probabilities.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.fields import Limits, Positive
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.links import Link
from preceptor.model.risks import Risk
from preceptor.model.score_pairs import ScorePair

# The code by which kernels know that a charge is read off a surface.
SURFACE_CODE = 3
# The least distance of a probability from 1 that can be told from none.
_SUREST = 2.0**-53

Belief = Annotated[
    float | None,
    Limits(above=0, below=1),
    "How common the person takes yes to be. Left out: as common as it is.",
]


@dataclass(frozen=True, eq=False)
class YesNoRisk(Risk):
    """How answers to a yes-or-no question come out of scores, and what they cost.

    How somebody turns a score into an answer goes with the risk, because a decision needs a
    threshold, and that comes from what mistakes cost.

    Parameters
    ----------
    believed_prevalence
        How common the person takes yes to be; as common as it is if left out.

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

    def __post_init__(self) -> None:
        faults = self._faults()
        believed = self.believed_prevalence
        if believed is not None and not (is_number(believed) and 0.0 < believed < 1.0):
            faults.append(f"believed_prevalence: {believed!r}, must be above 0 and below 1")
        InvalidProblem.raise_if(faults)

    def _faults(self) -> list[str]:
        """What is wrong with the fields of a subclass."""
        return []

    @property
    @abstractmethod
    def largest(self) -> float:
        """No case is charged more; infinite if there is no limit."""

    @abstractmethod
    def answer(self, link: Link, scores: FloatArray) -> FloatArray:
        """Answers of somebody with these scores.

        Parameters
        ----------
        link
            How scores become probabilities.
        scores
            What the shown and filled-in tests add up to, base included, any shape.

        Returns
        -------
        array
            Probabilities of yes, or 1 for yes and 0 for no, of the same shape.
        """

    @abstractmethod
    def charge(self, answer: FloatArray, outcome: FloatArray) -> FloatArray:
        """What an answer costs when the truth is known, elementwise.

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
        """What answers cost on average.

        Parameters
        ----------
        pair
            How the person's scores and the truth go together, for any number of states.

        Returns
        -------
        array
            One expected charge for each state.
        """

    @abstractmethod
    def best(self, pair: ScorePair) -> FloatArray:
        """What the best use of the shown tests would cost: nobody who is shown them costs less.

        Parameters
        ----------
        pair
            Of the best reader: `ScorePair.best_reader`.

        Returns
        -------
        array
            One charge for each set.
        """


@dataclass(frozen=True, eq=False)
class Decision(YesNoRisk):
    """Misses and false alarms, each at its cost; 1 and 1 is the share of wrong decisions.

    Parameters
    ----------
    miss
        What it costs to say no when the truth is yes, above 0.
    false_alarm
        What it costs to say yes when the truth is no, above 0.
    threshold
        The probability above which the person says yes; if left out, the one that suits the costs:
        false_alarm / (miss + false_alarm).
    believed_prevalence
        How common the person takes yes to be; as common as it is if left out.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> Decision(miss=5, false_alarm=1).yes_above
    0.16666666666666666
    >>> Decision(5, 1).charge(np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0])).tolist()
    [5.0, 1.0, 0.0]
    """

    kind: ClassVar[str] = "decision"
    decides: ClassVar[bool] = True

    miss: Annotated[Positive, "What saying no costs when the truth is yes."] = 1.0
    false_alarm: Annotated[Positive, "What saying yes costs when the truth is no."] = 1.0
    threshold: Annotated[
        float | None,
        Limits(above=0, below=1),
        "Probability above which the person says yes. Left out: what suits the costs.",
    ] = None

    def _faults(self) -> list[str]:
        faults = [
            f"{name}: {cost!r}, must be a cost above 0"
            for name, cost in (("miss", self.miss), ("false_alarm", self.false_alarm))
            if not is_number(cost) or not 0.0 < cost < 1e50
        ]
        if self.threshold is not None and not (
            is_number(self.threshold) and 0.0 < self.threshold < 1.0
        ):
            faults.append(f"threshold: {self.threshold!r}, must be a probability above 0, below 1")
        return faults

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
        """The dearer mistake."""
        return max(self.miss, self.false_alarm)

    def in_words(self) -> str:
        """The two costs, or what they come to if equal."""
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
        """The cost of a mistake, or nothing."""
        missed = self.miss * outcome * (1.0 - answer)
        return np.asarray(missed + self.false_alarm * (1.0 - outcome) * answer)

    def expected(self, pair: ScorePair) -> FloatArray:
        """Miss x P(yes, but said no) + false alarm x P(no, but said yes)."""
        misses, alarms = self.mistakes(pair)
        return np.asarray(self.miss * misses + self.false_alarm * alarms)

    def mistakes(self, pair: ScorePair) -> tuple[FloatArray, FloatArray]:
        """Shares of all cases that are missed, and that are false alarms.

        Parameters
        ----------
        pair
            How the person's scores and the truth go together, for any number of states.

        Returns
        -------
        tuple of two arrays
            P(yes, but said no) and P(no, but said yes), one for each state.
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
        """What an answer with each score costs if the truth is yes, and if it is no.

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
        """One sum over the person's score."""

        def charge(scores: FloatArray, chance: FloatArray) -> FloatArray:
            if_yes, if_no = self.charges(pair.link, scores)
            return np.asarray(chance * if_yes + (1.0 - chance) * if_no)

        return pair.mean(charge)

    def best(self, pair: ScorePair) -> FloatArray:
        """Answers that are right on average: the chance itself."""
        return pair.mean(lambda scores, chance: self._at_best(chance))

    @abstractmethod
    def _at_best(self, chance: FloatArray) -> FloatArray:
        """What an answer that equals the chance of yes costs on average."""


@dataclass(frozen=True, eq=False)
class Brier(ProbabilityRisk):
    """Squared distance between the stated probability and what came: from 0 to 1.

    Parameters
    ----------
    believed_prevalence
        How common the person takes yes to be; as common as it is if left out.

    Examples
    --------
    >>> Brier().charge(np.array([0.8, 0.8]), np.array([1.0, 0.0])).round(2).tolist()
    [0.04, 0.64]
    """

    kind: ClassVar[str] = "brier"
    error_name: ClassVar[str] = "Brier score"

    @property
    def largest(self) -> float:
        """Sure, and wrong."""
        return 1.0

    def in_words(self) -> str:
        """Its name."""
        return "Brier score: squared distance of stated probabilities from what came"

    def charge(self, answer: FloatArray, outcome: FloatArray) -> FloatArray:
        """(y - p)²."""
        return np.asarray((outcome - answer) ** 2)

    def charges(self, link: Link, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Squares of what was left to 1, and to 0."""
        return link.probability(-scores) ** 2, link.probability(scores) ** 2

    def _at_best(self, chance: FloatArray) -> FloatArray:
        return chance * (1.0 - chance)


@dataclass(frozen=True, eq=False)
class LogLoss(ProbabilityRisk):
    """-log of the probability that was given to what came: being sure and wrong is dear.

    Parameters
    ----------
    believed_prevalence
        How common the person takes yes to be; as common as it is if left out.

    Examples
    --------
    >>> LogLoss().charge(np.array([0.5]), np.array([1.0])).round(4).tolist()
    [0.6931]
    """

    kind: ClassVar[str] = "log-loss"
    error_name: ClassVar[str] = "log loss"

    @property
    def largest(self) -> float:
        """There is no limit."""
        return math.inf

    def in_words(self) -> str:
        """Its name."""
        return "log loss of stated probabilities"

    def charge(self, answer: FloatArray, outcome: FloatArray) -> FloatArray:
        """-log p if yes, -log(1 - p) if no; nobody is surer than numbers can tell."""
        given = np.where(outcome > 0.5, answer, 1.0 - answer)
        return np.asarray(-np.log(np.maximum(given, _SUREST)))

    def charges(self, link: Link, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Without underflow, however sure somebody is."""
        return -link.log_probability(scores), -link.log_probability(-scores)

    def _at_best(self, chance: FloatArray) -> FloatArray:
        from scipy.special import entr

        return np.asarray(entr(chance) + entr(1.0 - chance))
