"""Yes-or-no outcomes: a diagnosis instead of a number.

The tests add up to a score, and the outcome is yes if the score plus chance is above 0 (a liability
threshold). How often that happens is the prevalence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from preceptor._base.checks import is_number
from preceptor._base.fields import Limits, OneOf
from preceptor._base.values import Value
from preceptor.errors import InvalidProblem
from preceptor.model.links import LINKS, PROBIT, Link, link_of


@dataclass(frozen=True, eq=False)
class Binary(Value):
    """An outcome that is yes or no, and how common yes is.

    Parameters
    ----------
    prevalence
        Share of cases whose outcome is yes, above 0 and below 1.
    link
        How a score becomes a probability: "probit" (chance is normal with variance 1) or
        "logistic".

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World([1.0, 0.8], [[1.0, 0.5], [0.5, 1.0]], outcome=Binary(prevalence=0.2))
    >>> world.is_binary, world.sample(5, rng=0).outcomes.tolist()
    (True, [0.0, 1.0, 0.0, 1.0, 0.0])
    """

    prevalence: Annotated[
        float, Limits(above=0, below=1), "Share of cases whose outcome is yes."
    ] = 0.5
    link: Annotated[str, OneOf(*LINKS), "How a score becomes a probability."] = PROBIT

    def __post_init__(self) -> None:
        faults = []
        if not is_number(self.prevalence) or not 0.0 < self.prevalence < 1.0:
            faults.append(
                f"prevalence: {self.prevalence!r}, must be a share above 0 and below 1; where "
                "everybody has the same outcome there is nothing to predict"
            )
        if self.link not in LINKS:
            faults.append(f"link: {self.link!r}, must be {' or '.join(map(repr, LINKS))}")
        InvalidProblem.raise_if(faults)
        object.__setattr__(self, "prevalence", float(self.prevalence))

    @property
    def from_score(self) -> Link:
        """How scores become probabilities."""
        return link_of(self.link)

    def base_score(self, spread: float, prevalence: float | None = None) -> float:
        """The score of an average case at which yes is as common as the prevalence says.

        Parameters
        ----------
        spread
            Variance of the score over cases.
        prevalence
            Another prevalence than that of the outcome, if given.

        Returns
        -------
        float
            b with P(b + score + chance > 0) = prevalence.
        """
        share = self.prevalence if prevalence is None else prevalence
        link = self.from_score
        if self.link == PROBIT:
            return float(link.score(share)) * math.sqrt(1.0 + spread)
        from scipy.optimize import brentq

        # Steeper than the probit of the same spread at first, flatter beyond: both are brackets.
        edge = abs(float(link.score(share))) * math.sqrt(1.0 + spread) + 1.0
        return float(brentq(lambda b: float(link.mean_probability(b, spread)) - share, -edge, edge))
