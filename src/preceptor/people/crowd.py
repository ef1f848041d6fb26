"""A crowd: a person of unknown kind, with a probability for each candidate.

Planning for a crowd means one plan for all of its members, judged by its excess loss for each of
them over that member's own best plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.schema import Items, Positive, faults_as_made
from preceptor._base.values import FloatArray, Value
from preceptor._base.words import counted, labelled, listed, repeated
from preceptor.errors import InvalidFile, InvalidProblem, NotApplicable
from preceptor.model.expected import Expected
from preceptor.model.person import Affine, Person, ShownBefore
from preceptor.model.risks import Risk
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.curves import Geometric
from preceptor.people.matched import DEFAULT_HALF_LIFE, matched_delta_rate
from preceptor.people.outcome_learners import DeltaRule
from preceptor.people.with_level import WithLevel

if TYPE_CHECKING:
    from preceptor.people.acting import ActingCrowd

# Half of all people learn at rates within this factor of the median (log-normal, spread 1.1).
_QUARTILE = 2.1
# Share of the error that is never learned, in the median of people who learn by showings.
_FLOOR = 0.4
# Each member is planned for separately; more kinds than this could not be told apart.
_MOST_PEOPLE = 500


@dataclass(frozen=True, eq=False)
class Member(Value):
    """One candidate in a crowd, and its probability."""

    name: Annotated[str, "Name of this kind of person."]
    person: Person
    weight: Annotated[Positive, "Probability of this kind, on any scale."]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Member:
        """Rebuild from plain data, the person included."""
        if not isinstance(data, Mapping):
            raise InvalidFile(f"member: got {data!r}, expected a table with name, person, weight")
        fields = dict(data)
        if "person" in fields:
            fields["person"] = Person.from_dict(fields["person"])
        return super().from_dict(fields)


@dataclass(frozen=True, eq=False)
class Crowd(Person):
    """Several candidates with probabilities; the actual person is one of them.

    Parameters
    ----------
    people
        By name: a person and a weight, or a person alone (weight 1). All have weights for the same
        tests.

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

    members: Annotated[tuple[Member, ...], Items(at_least=1), "The candidates."]

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
        half_life: float = DEFAULT_HALF_LIFE,
        tests: int | None = None,
    ) -> Crowd:
        """Return the crowd to plan for when nothing is known about how a person learns.

        Most people learn from outcomes (0.7; most of them take hidden tests to be average), some
        learn by showings up to a floor (0.2), some do not learn (0.1). The table of
        `docs/published_people.md` agrees with these weights where shown sets vary (weather
        prediction: 0.68, 0.19, 0.13), within wide intervals; how hidden tests are filled in is a
        judgment. Rates and the floor are measured: each learner is slow or fast, at the quartiles
        of published experiments, which `docs/people.md` names. Where outcomes are yes/no they also
        learn how common yes is; as novices they answer with the prevalence.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        initial
            Initial weights of all members, shape (n,); zero if omitted.
        half_life
            Median number of showings that halve the error of a weight.
        tests
            Largest number of tests shown at once, which limits the rates; all of them if omitted.

        Returns
        -------
        Crowd
            With seven members.

        Examples
        --------
        >>> import preceptor as pr
        >>> crowd = Crowd.default(pr.World.equicorrelated([1.0, 0.8], 0.8))
        >>> print(", ".join(crowd.names[:2]))
        by outcomes, ignoring correlations, slow, by outcomes, ignoring correlations, fast
        """
        first = np.zeros(world.size) if initial is None else np.asarray(initial, dtype=np.float64)
        if not is_number(half_life) or half_life <= 0:
            raise InvalidProblem(f"half_life: {half_life!r}, must be a positive number of showings")
        half_life = max(float(half_life), 0.2)  # shorter ones all mean one-shot learning
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
        crowd = cls(people)
        return crowd.with_levels(world) if world.is_binary else crowd

    def with_levels(self, world: World, first: float | None = None) -> Crowd:
        """Return the same people, who also learn the average outcome, or how common yes is.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        first
            The first belief, as in `WithLevel.of`; by default the truth.

        Returns
        -------
        Crowd
            With the same names and weights; members who learn it already stay as they are.
        """
        return Crowd(
            {
                m.name: (
                    m.person if m.person.has_level else WithLevel.of(m.person, world, first),
                    m.weight,
                )
                for m in self.members
            }
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(member.name for member in self.members)

    @property
    def weights(self) -> FloatArray:
        """Probability of each member, summing to 1."""
        return np.array([member.weight for member in self.members])

    @property
    def people(self) -> dict[str, Person]:
        """The members' persons by name."""
        return {member.name: member.person for member in self.members}

    def is_default_crowd(self, world: World) -> bool:
        """Whether all of its people are among those of `default`."""
        return set(self.names) <= set(Crowd.default(world).names)

    @property
    def size(self) -> int:
        """Number of tests, n."""
        return self.members[0].person.size

    @property
    def initial(self) -> FloatArray:
        """Initial weights, averaged over the crowd."""
        return np.asarray(self.weights @ np.array([m.person.initial for m in self.members]))

    @property
    def imputation(self) -> float:
        """0; only the members impute."""
        return 0.0

    def start_faults(self, start: ShownBefore) -> list[str]:
        """Return the faults of all members."""
        return [
            f"{member.name}: {fault}"
            for member in self.members
            for fault in member.person.start_faults(start)
        ]

    def acting(  # type: ignore[override]
        self,
        world: World,
        start: ShownBefore = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> ActingCrowd:
        """Return a simulated person who is a random member of the crowd.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        start
            Exposure counts before the first round, for kinds that use them; zero if omitted.
        response_noise
            Standard deviation of the noise added to every answer, in units of the outcome; to the
            score behind the answer where outcomes are yes/no.
        risk
            How scores become answers, where outcomes are yes/no.

        Returns
        -------
        ActingCrowd
            In the state before the first round.
        """
        from preceptor.people.acting import ActingCrowd

        people = [m.person.acting(world, start, response_noise, risk) for m in self.members]
        return ActingCrowd(people, self.weights)

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Expected:
        """Raise: a crowd is planned for member by member."""
        self._refuse("compute the expected loss of")

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> Any:
        """Return the mean initial weights; later states depend on the member."""
        return np.broadcast_to(self.initial, (*people, self.size)).copy()

    def weights_of(self, world: World, state: Any) -> FloatArray:
        """Return the state, which `fresh` made."""
        return np.asarray(state)

    def learn(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> NoReturn:
        """Raise: a member has to be drawn first."""
        self._refuse("teach")

    def moves(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> Affine:
        """Raise: a member has to be drawn first."""
        self._refuse("filter")

    def from_here(self, world: World, state: Any, weights: FloatArray) -> NoReturn:
        """Raise: a member has to be drawn first."""
        self._refuse("continue")

    def _refuse(self, what: str) -> NoReturn:
        raise NotApplicable(
            f"crowd: cannot {what} {listed(list(self.names))} at once; use one of `crowd.people`"
        )

    def learning_in_words(self) -> str:
        """Give the number of members, and the most probable one."""
        likeliest = max(self.members, key=lambda member: member.weight)
        return (
            f"not known: one of {counted(len(self.members), 'kind')} of person "
            f"(most probable, at {likeliest.weight:.0%}: {likeliest.name})"
        )

    def imputation_in_words(self) -> str:
        """Say that it depends on the member."""
        return "imputed as each kind of person does"

    def __repr__(self) -> str:
        rows = [
            (f"{member.weight:.0%}", f"{member.name}: {member.person.learning_in_words()}")
            for member in self.members
        ]
        return labelled(f"Crowd of {counted(len(self.members), 'kind')} of person", rows)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Crowd:
        """Rebuild from plain data, which lists the members."""
        given = fields.get("members")
        if set(fields) != {"members"} or not isinstance(given, (list, tuple)):
            raise InvalidFile(f"crowd: takes a list of members, got {sorted(fields)}")
        return cls([Member.from_dict(item) for item in given])


def _members(people: object) -> tuple[list[Member], list[str]]:
    """Members, and their faults."""
    members = []
    if isinstance(people, Mapping):
        for name, given in people.items():
            person, weight = given if isinstance(given, tuple) and len(given) == 2 else (given, 1.0)
            members.append(Member(str(name), person, weight))
    elif isinstance(people, Sequence) and all(isinstance(item, Member) for item in people):
        members = list(people)
    else:
        return [], [f"people: {people!r}, must map names to people, each with a weight"]
    if not members:
        return [], ["people: none, a crowd needs at least one person"]
    if len(members) > _MOST_PEOPLE:
        return [], [f"people: {len(members):,}, a crowd has at most {_MOST_PEOPLE}"]
    faults = [f"{each.name}: {fault}" for each in members for fault in faults_as_made(each)]
    if faults:
        return [], faults
    first = members[0]
    twice = repeated(member.name for member in members)[:1]
    faults += [f"people: {name!r} is there twice" for name in twice]
    for name, person in ((member.name, member.person) for member in members):
        if isinstance(person, Crowd):
            faults.append(f"{name}: a crowd, must be one person; use Learner, DeltaRule, ...")
        elif person.size != first.person.size:
            faults.append(
                f"{name}: weights for {person.size} tests, but {first.name} has them for "
                f"{first.person.size}; all members must have the same tests"
            )
    return members, faults


def _delta_rate(world: World, half_life: float, tests: int | None) -> float:
    """Rate at which a test shown alone loses half of its error in `half_life` showings.

    Averaged over tests, and limited by the largest set that may be shown.
    """
    widest = np.argsort(-np.diag(world.covariance), kind="stable")[
        : world.size if tests is None else tests
    ]
    return matched_delta_rate(world, 1.0 - 0.5 ** (1.0 / half_life), widest.tolist())
