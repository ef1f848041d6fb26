"""A crowd: a person of whom one does not know which of several kinds they are.

Planning for a crowd means one plan for all of its people, judged by what it costs each of them
beyond that person's own best plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.fields import Items, Positive
from preceptor._base.values import FloatArray, Value
from preceptor._base.words import counted, labelled, listed, repeated
from preceptor.errors import InvalidFile, InvalidProblem, NotApplicable
from preceptor.model.risks import Risk
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.matched import matched_delta_rate
from preceptor.people.person import Affine, Person

if TYPE_CHECKING:
    from preceptor.people.acting import Acting, ActingCrowd
    from preceptor.people.expected import Expected

# Half of all people learn at rates within this factor of the median (log-normal, spread 1.1).
_QUARTILE = 2.1
# Share of the error that is never learned away, in the median of people who learn by showings.
_FLOOR = 0.4
_HALF_LIFE = 14.0
# Whoever learns faster than this knows everything after one showing.
_SHORTEST = 0.2
# Each of them is planned for; of more kinds than that nobody could be told from another.
_MOST_PEOPLE = 500


@dataclass(frozen=True, eq=False)
class Member(Value):
    """One of the people that somebody may be, and how likely that is."""

    name: Annotated[str, "What this kind of person is called."]
    person: Person
    weight: Annotated[Positive, "How likely it is that the person is of this kind; any scale."]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Member:
        """Rebuild the person too."""
        if not isinstance(data, Mapping):
            raise InvalidFile(f"member: got {data!r}, expected a table with name, person, weight")
        fields = dict(data)
        if "person" in fields:
            fields["person"] = Person.from_dict(fields["person"])
        return super().from_dict(fields)


@dataclass(frozen=True, eq=False)
class Crowd(Person):
    """Several people, one of whom it is; each with a weight that says how likely.

    Parameters
    ----------
    people
        By name: a person and a weight, or a person alone (weight 1). All have beliefs about the
        same tests.

    Raises
    ------
    InvalidProblem
        No people, people about different tests, weights that are not positive.

    Examples
    --------
    >>> import preceptor as pr
    >>> crowd = Crowd({"by showings": (pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 0.25),
    ...                "by outcomes": (pr.DeltaRule([0.2, 1.3], rate=0.1), 0.75)})
    >>> crowd.names, crowd.weights.tolist()
    (('by showings', 'by outcomes'), [0.25, 0.75])
    """

    kind: ClassVar[str] = "crowd"

    members: Annotated[tuple[Member, ...], Items(at_least=1), "The people whom it may be."]

    def __init__(
        self, people: Mapping[str, Person | tuple[Person, float]] | Sequence[Member]
    ) -> None:
        members, faults = _members(people)
        InvalidProblem.raise_if(faults)
        total = sum(float(member.weight) for member in members)
        shares = tuple(Member(m.name, m.person, float(m.weight) / total) for m in members)
        object.__setattr__(self, "members", shares)

    @classmethod
    def default(
        cls,
        world: World,
        initial: npt.ArrayLike | None = None,
        *,
        half_life: float = _HALF_LIFE,
        tests: int | None = None,
    ) -> Crowd:
        """Whom to plan for when nothing is known about how somebody learns.

        Most people follow outcomes (0.7; most of them take hidden tests to be average), some learn
        by showings up to a floor (0.2), some do not learn (0.1): these weights are a judgment.
        Rates and the floor are measured: each of the learners is slow or fast, at the quartiles of
        published experiments. `docs/people.md` names them.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        initial
            First weights of all of them, shape (n,); zero if left out.
        half_life
            Showings after which half of a weight's error is gone, in the median.
        tests
            How many tests are shown at once, at most, so that no rate is too large; all of them if
            left out.

        Returns
        -------
        Crowd
            Seven people.

        Examples
        --------
        >>> import preceptor as pr
        >>> crowd = Crowd.default(pr.World.equicorrelated([1.0, 0.8], 0.8))
        >>> print(", ".join(crowd.names[:2]))
        by outcomes, ignoring correlations, slow, by outcomes, ignoring correlations, fast
        """
        from preceptor.people.no_learning import NoLearning

        first = np.zeros(world.size) if initial is None else np.asarray(initial, dtype=np.float64)
        if not is_number(half_life) or half_life <= 0:
            raise InvalidProblem(f"half_life: {half_life!r}, must be a positive number of showings")
        half_life = max(float(half_life), _SHORTEST)
        people: dict[str, tuple[Person, float]] = {}
        for how, kappa, weight in (("ignoring", 1.0, 0.25), ("knowing", 0.0, 0.1)):
            for pace, factor in (("slow", _QUARTILE), ("fast", 1.0 / _QUARTILE)):
                rate = _delta_rate(world, factor * half_life, tests)
                person = DeltaRule(first, rate, kappa)
                people[f"by outcomes, {how} correlations, {pace}"] = (person, weight)
        for pace, factor in (("slow", _QUARTILE), ("fast", 1.0 / _QUARTILE)):
            curve = Geometric.from_half_life(factor * half_life, floor=_FLOOR**2)
            people[f"by showings, {pace}"] = (Learner(first, curve), 0.1)
        people["not learning"] = (NoLearning(first), 0.1)
        return cls(people)

    @property
    def names(self) -> tuple[str, ...]:
        """What its people are called."""
        return tuple(member.name for member in self.members)

    @property
    def weights(self) -> FloatArray:
        """How likely each of them is, adding up to 1."""
        return np.array([member.weight for member in self.members])

    @property
    def people(self) -> dict[str, Person]:
        """Its people by name."""
        return {member.name: member.person for member in self.members}

    @property
    def size(self) -> int:
        """How many tests they have beliefs about."""
        return self.members[0].person.size

    @property
    def initial(self) -> FloatArray:
        """First weights, averaged over the crowd."""
        mean: FloatArray = self.weights @ np.array([m.person.initial for m in self.members])
        return mean

    @property
    def imputation(self) -> float:
        """0: a crowd as such fills in nothing; its people do."""
        return 0.0

    def start_faults(self, start: Sequence[int] | None) -> list[str]:
        """What is wrong for any of its people."""
        return [
            f"{member.name}: {fault}"
            for member in self.members
            for fault in member.person.start_faults(start)
        ]

    def acting(  # type: ignore[override]
        self,
        world: World,
        start: Sequence[int] | None = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> ActingCrowd:
        """Somebody who turns out to be one of the people, drawn by weight.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        start
            Showings of each test before, for kinds that count them; none if left out.
        response_noise
            Standard deviation of a slip added to every answer, in units of the outcome; where
            that is yes or no, to the score behind it.
        risk
            How scores become answers, where the outcome is yes or no.

        Returns
        -------
        ActingCrowd
            Before the first round.
        """
        from preceptor.people.acting import ActingCrowd

        acts: list[Acting] = [
            member.person.acting(world, start, response_noise, risk) for member in self.members
        ]
        return ActingCrowd(acts, self.weights)

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Expected:
        """Refused: a crowd is planned for person by person."""
        self._refuse("expect anything of")

    def fresh(self, world: World, people: tuple[int, ...], start: Sequence[int] | None) -> Any:
        """The first weights, averaged; what happens next depends on who it is."""
        return np.broadcast_to(self.initial, (*people, self.size)).copy()

    def weights_of(self, world: World, state: Any) -> FloatArray:
        """Of `fresh` only."""
        weights: FloatArray = state
        return weights

    def learn(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> NoReturn:
        """Refused: somebody has to be drawn first."""
        self._refuse("teach")

    def moves(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> Affine:
        """Refused: somebody has to be drawn first."""
        self._refuse("follow")

    def from_here(self, world: World, state: Any, weights: FloatArray) -> NoReturn:
        """Refused: somebody has to be drawn first."""
        self._refuse("go on from the middle with")

    def _refuse(self, what: str) -> NoReturn:
        raise NotApplicable(
            f"crowd: one cannot {what} all of {listed(list(self.names))} at once; "
            "take one of `crowd.people`"
        )

    def learning_in_words(self) -> str:
        """How many people, and the likeliest."""
        likeliest = max(self.members, key=lambda member: member.weight)
        return (
            f"not known: one of {counted(len(self.members), 'kind')} of person "
            f"(likeliest, at {likeliest.weight:.0%}: {likeliest.name})"
        )

    def imputation_in_words(self) -> str:
        """That it depends."""
        return "filled in as each kind of person does"

    def __repr__(self) -> str:
        rows = [
            (f"{member.weight:.0%}", f"{member.name}: {member.person.learning_in_words()}")
            for member in self.members
        ]
        return labelled(f"Crowd of {counted(len(self.members), 'kind')} of person", rows)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Crowd:
        """Files list the members."""
        given = fields.get("members")
        if set(fields) != {"members"} or not isinstance(given, (list, tuple)):
            raise InvalidFile(f"crowd: takes a list of members, got {sorted(fields)}")
        return cls([Member.from_dict(item) for item in given])


def _members(people: object) -> tuple[list[Member], list[str]]:
    """Members, and what is wrong with them."""
    members, faults = [], []
    if isinstance(people, Mapping):
        for name, given in people.items():
            person, weight = given if isinstance(given, tuple) and len(given) == 2 else (given, 1.0)
            members.append(Member(str(name), person, weight))
    elif isinstance(people, Sequence) and all(isinstance(item, Member) for item in people):
        members = list(people)
    else:
        return [], [f"people: {people!r}, must be people by name, each with a weight"]
    if not members:
        return [], ["people: none, a crowd needs at least one person"]
    if len(members) > _MOST_PEOPLE:
        return [], [f"people: {len(members):,}, a crowd has at most {_MOST_PEOPLE}"]
    names = [member.name for member in members]
    faults += [f"people: name {n!r}, must be text" for n in names if not isinstance(n, str)][:1]
    twice = [] if faults else repeated(names)[:1]
    faults += [f"people: {name!r} is there twice" for name in twice]
    for name, person, weight in ((m.name, m.person, m.weight) for m in members):
        if not isinstance(person, Person) or isinstance(person, Crowd):
            given = "a crowd" if isinstance(person, Crowd) else f"{person!r}"
            faults.append(f"{name}: {given}, must be one person; use Learner, DeltaRule, ...")
        elif isinstance(members[0].person, Person) and person.size != members[0].person.size:
            faults.append(
                f"{name}: beliefs about {person.size} tests, but {names[0]} has them about "
                f"{members[0].person.size}; all must be about the same tests"
            )
        if not is_number(weight) or weight <= 0:
            faults.append(f"{name}: weight {weight!r}, must be a positive number")
    return members, faults


def _delta_rate(world: World, half_life: float, tests: int | None) -> float:
    """The rate at which a test shown alone loses half of its error in so many showings.

    Averaged over tests, with as many shown at once as may be.
    """
    widest = np.argsort(-np.diag(world.covariance), kind="stable")[
        : world.size if tests is None else tests
    ]
    return matched_delta_rate(world, 1.0 - 0.5 ** (1.0 / half_life), widest.tolist())
