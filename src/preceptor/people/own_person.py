"""People of one's own, given by how they act: anybody who answers and learns can be planned for.

Nothing is known about how their weights move, so they cannot be followed or fitted, and what is
expected of them is played by copies (`sampled.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never

import numpy.typing as npt

from preceptor._base.checks import is_count
from preceptor._base.values import FloatArray
from preceptor._base.words import labelled
from preceptor.errors import InvalidProblem, NotApplicable, NotSerializable
from preceptor.model.risks import Risk
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.human import Human
from preceptor.people.person import Affine, Person, size_faults

if TYPE_CHECKING:
    from preceptor.people.sampled import Sampled


@dataclass(frozen=True, eq=False, repr=False)
class OwnPerson(Person):
    """Somebody of your own, given by how they act; plans are made by playing copies of them.

    Parameters
    ----------
    human
        Any object with `reset`, `predict` and `feedback` (and `predict_many`, if it can answer for
        a crowd at once: much faster). Copies are made with `copy.deepcopy`.
    initial
        One number for each test, shape (n,): says how many tests there are, no more.
    copies
        How many people play.
    seed
        From which their cases and all chance in their answers come.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> class Guesser:
    ...     def reset(self, rng=None): ...
    ...     def predict(self, shown, values): return 0.0
    ...     def feedback(self, shown, values, outcome): ...
    >>> from preceptor import AtMost
    >>> world = World([1.0, 0.8], [[1.0, 0.0], [0.0, 1.0]], 0.5)
    >>> expected = OwnPerson(Guesser(), [0.0, 0.0], copies=2000).expected(world, AtMost(1).sets(2))
    >>> bool(abs(expected.losses([1]).item() - world.outcome_variance) < 0.1)
    True
    """

    human: Human
    initial: Any
    copies: int
    seed: int

    def __init__(
        self, human: Human, initial: npt.ArrayLike, copies: int = 200, seed: int = 0
    ) -> None:
        # Nobody knows how they fill in. At 0 the floor of a set is that of the best use of it,
        # which holds for everybody.
        faults = self.fill_in(initial, 0.0)
        missing = [name for name in ("reset", "predict", "feedback") if not hasattr(human, name)]
        if missing:
            faults.append(
                f"human: {human!r} has no {', '.join(missing)}; a person needs reset(rng), "
                "predict(shown, values) and feedback(shown, values, outcome)"
            )
        if not is_count(copies, least=2):
            faults.append(f"copies: {copies!r}, must be a whole number of at least 2")
        if not is_count(seed, least=0):
            faults.append(f"seed: {seed!r}, must be a whole number of at least 0")
        InvalidProblem.raise_if(faults)
        set_field = object.__setattr__
        set_field(self, "human", human)
        set_field(self, "copies", int(copies))
        set_field(self, "seed", int(seed))

    def to_dict(self) -> dict[str, Any]:
        """Not possible: a class of your own is Python.

        Raises
        ------
        NotSerializable
            Always.
        """
        raise NotSerializable(
            f"{type(self.human).__name__} cannot be written to a file: it is a Python object. "
            "Keep the problem in Python, or use one of the built-in kinds of people."
        )

    def acting(  # type: ignore[override]
        self,
        world: World,
        start: Sequence[int] | None = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> Human:
        """The human themselves.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        start
            Showings before; must be none.
        response_noise
            Must be 0: slips are the human's own business.
        risk
            Not asked: so is how they answer.

        Returns
        -------
        Human
            The one that was given.

        Raises
        ------
        InvalidProblem
            Showings or slips were asked for, or the sizes differ.
        """
        faults = size_faults(self.size, world.size) + self.start_faults(start)
        if response_noise:
            faults.append(
                f"response_noise: {response_noise!r}, but slips are the person's own business; "
                "let `predict` make them"
            )
        InvalidProblem.raise_if(faults)
        return self.human

    def start_faults(self, start: Sequence[int] | None) -> list[str]:
        """Showings before mean nothing to somebody of whom nothing is known."""
        if start is None or not any(start):
            return []
        return [
            f"start: {tuple(start)}, but nobody can tell what showings before did to "
            f"{type(self.human).__name__}; let `reset` bring them to where they stand"
        ]

    def expected(
        self, world: World, sets: SetFamily, start: Sequence[int] | None = None
    ) -> Sampled:
        """What a crowd of copies costs.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        sets
            What may be shown.
        start
            Showings before; must be none.

        Returns
        -------
        Sampled
            Means over copies who meet fixed cases.
        """
        from preceptor.people.sampled import Sampled

        InvalidProblem.raise_if(size_faults(self.size, world.size) + self.start_faults(start))
        return Sampled(self.human, world, sets, self.copies, self.seed)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: Sequence[int] | None = None
    ) -> Sampled:
        """What the answers of a crowd of copies cost."""
        from preceptor.people.sampled import Sampled

        InvalidProblem.raise_if(size_faults(self.size, world.size) + self.start_faults(start))
        return Sampled(self.human, world, sets, self.copies, self.seed, risk)

    def fresh(self, world: World, people: tuple[int, ...], start: Sequence[int] | None) -> Never:
        """Not known."""
        raise self._closed("state")

    def weights_of(self, world: World, state: Any) -> FloatArray:
        """Not known."""
        raise self._closed("weights")

    def learn(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> Never:
        """Not known."""
        raise self._closed("way to learn")

    def moves(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> Affine:
        """Not known."""
        raise self._closed("way to learn")

    def from_here(self, world: World, state: Any, weights: FloatArray) -> Never:
        """Not known."""
        raise self._closed("state")

    def _closed(self, what: str) -> NotApplicable:
        return NotApplicable(
            f"{type(self.human).__name__} is given by how they act, so their {what} cannot be "
            "looked into; planning and simulation work, following and fitting need a built-in kind"
        )

    def learning_in_words(self) -> str:
        """Whose business it is."""
        return f"as {type(self.human).__name__} does; known by playing {self.copies} copies"

    def imputation_in_words(self) -> str:
        """Whose business it is."""
        return f"as {type(self.human).__name__} takes them"

    def beliefs_in_words(self, world: World) -> str:
        """Whose business it is."""
        return f"those of {type(self.human).__name__}"

    def __repr__(self) -> str:
        rows = [
            ("learning", self.learning_in_words()),
            ("unseen tests", self.imputation_in_words()),
        ]
        return labelled(f"Somebody of your own, {type(self.human).__name__}", rows)
