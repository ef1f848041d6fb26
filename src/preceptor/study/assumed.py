"""Whom a study takes people for: kinds by name, each with the rates that people have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from preceptor.diagnosis.suspects import OUTCOMES, USUAL_RATES, group_of
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.people.human import Human
from preceptor.people.person import Person
from preceptor.simulation.cast import acting_in
from preceptor.simulation.named import person_named, resembled
from preceptor.study.config import Kind
from preceptor.study.study import WITHOUT_RATE, Study

# Without a log: a judgment, the same as that of `Crowd.default`. Most people learn from outcomes.
USUAL_KINDS = (
    Kind(human="delta-rule", weight=0.7),
    Kind(human="by-showings", weight=0.2),
    Kind(human="no-learning", weight=0.1),
)


@dataclass(frozen=True)
class Member:
    """Somebody of a kind: one rate, with the share of the kind who have it."""

    human: Human
    share: float
    group: str


@dataclass(frozen=True)
class Assumption:
    """A kind of people: its name, how common it is, and its members by rate."""

    name: str
    weight: float
    members: tuple[Member, ...]

    @property
    def group(self) -> str:
        """How they learn: none, by showings, by outcomes."""
        return self.members[0].group


def assumptions(study: Study) -> tuple[Assumption, ...]:
    """Everybody whom the study file assumes; a usual mixture where it names nobody.

    Parameters
    ----------
    study
        Whose `assumed` is meant.

    Returns
    -------
    tuple of Assumption
        With weights that add up to 1.

    Raises
    ------
    InvalidInput
        A name that is not known.

    Examples
    --------
    >>> from preceptor._base.parsing import parse_toml
    >>> from preceptor.study.beginning import begun
    >>> study = Study.from_dict(parse_toml(begun("decisive", "try", 1)))
    >>> [(kind.name, round(kind.weight, 2), kind.group) for kind in assumptions(study)]
    [('delta-rule 0.05', 0.7, 'by outcomes'), ('by-showings 0.05', 0.3, 'by showings')]
    """
    kinds: Sequence[Kind] = study.configuration.assumed.kind or USUAL_KINDS
    total = sum(kind.weight for kind in kinds)
    return tuple(
        Assumption(_name(kind), kind.weight / total, tuple(_members(study, kind))) for kind in kinds
    )


def _name(kind: Kind) -> str:
    rate = "" if kind.rate is None else f" {kind.rate:g}"
    fills = "" if kind.imputation is None else f", imputation {kind.imputation:g}"
    return f"{kind.human}{rate}{fills}"


def _members(study: Study, kind: Kind) -> list[Member]:
    problem = resembled(study.problem)
    world = problem.world
    # Where the outcome is yes or no, people slip in the score behind it.
    deviation = (world.score_variance if world.is_binary else world.outcome_variance) ** 0.5
    noise = study.configuration.assumed.scatter * deviation
    rates: Sequence[float | None] = (kind.rate,) if kind.rate is not None else USUAL_RATES
    if kind.human in WITHOUT_RATE:
        rates = (None,)
    found = []
    for rate in rates:
        person = problem.by_showings
        curves = person.curves if rate is None else Geometric(1.0 / (1.0 - rate))
        fills = person.imputation if kind.imputation is None else kind.imputation
        like = problem.replace(learner=Learner(person.initial, curves, fills))
        somebody = person_named(like, kind.human)
        human = acting_in(like, somebody, noise)
        found.append(Member(human, 1.0 / len(rates), _group(study, somebody)))
    return found


def _group(study: Study, person: Person) -> str:
    if study.problem.is_binary:
        return OUTCOMES
    return group_of(study.problem.world, person)
