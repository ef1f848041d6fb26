"""User-defined people, given by how they act: any object that answers and learns will do.

Nothing is known about how their weights move, so they cannot be filtered or fitted, and their
expected loss is estimated by simulating copies (`sampled.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Never

import numpy.typing as npt

from preceptor._base.schema import Index, Limits
from preceptor._base.values import FloatArray
from preceptor._base.words import labelled
from preceptor.errors import InvalidProblem, NotApplicable, NotSerializable
from preceptor.model.person import Affine, Person, ShownBefore, size_faults
from preceptor.model.risks import Risk
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.human import Human
from preceptor.people.sampled import Sampled


@dataclass(frozen=True, eq=False, repr=False)
class OwnPerson(Person):
    """A user-defined person, given by how they act; plans are made by simulating copies.

    Parameters
    ----------
    human
        Any object with `reset`, `predict` and `feedback` (and `predict_many`, if it can answer for
        a crowd in one call: much faster). Copies are made with `copy.deepcopy`.
    initial
        One number per test, shape (n,); only its length matters.
    copies
        Number of copies.
    seed
        Seed of the cases and of all randomness in the answers.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

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
    copies: Annotated[int, Limits(at_least=2)]
    seed: Index

    def __init__(
        self, human: Human, initial: npt.ArrayLike, copies: int = 200, seed: int = 0
    ) -> None:
        # Their imputation is unknown. At 0 the floor of a set is that of the best weights, which
        # bounds every person's loss.
        faults = self.fill_in(initial, 0.0, copies=copies, seed=seed)
        missing = [name for name in ("reset", "predict", "feedback") if not hasattr(human, name)]
        if missing:
            faults.append(
                f"human: {human!r} has no {', '.join(missing)}; a person needs reset(rng), "
                "predict(shown, values) and feedback(shown, values, outcome)"
            )
        InvalidProblem.raise_if(faults)
        self.set_fields(human=human)

    def to_dict(self) -> dict[str, Any]:
        """Raise: a user-defined class is Python code.

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
        start: ShownBefore = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> Human:
        """Return the human that was given.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        start
            Must be zero or None.
        response_noise
            Must be 0: the human makes its own noise.
        risk
            Ignored.

        Returns
        -------
        Human
            The one that was given.

        Raises
        ------
        InvalidProblem
            Initial showings or noise were requested, or the sizes differ.
        """
        faults = size_faults(self.size, world.size) + self.start_faults(start)
        if response_noise:
            faults.append(
                f"response_noise: {response_noise!r}, must be 0; let `predict` add the noise"
            )
        InvalidProblem.raise_if(faults)
        return self.human

    def start_faults(self, start: ShownBefore) -> list[str]:
        """Refuse initial showings, whose effect on a user-defined person is unknown."""
        if start is None or not any(start):
            return []
        return [
            f"start: {tuple(start)}, but the effect of earlier showings on "
            f"{type(self.human).__name__} is unknown; let `reset` account for them"
        ]

    def expected(self, world: World, sets: SetFamily, start: ShownBefore = None) -> Sampled:
        """Return means over simulated copies who meet fixed cases.

        Parameters
        ----------
        world
            Model of tests and outcomes.
        sets
            Sets of tests that may be shown.
        start
            Must be zero or None.

        Returns
        -------
        Sampled
            An estimate with a standard error.
        """
        return self._sampled(world, sets, None, start)

    def expected_answers(
        self, world: World, sets: SetFamily, risk: YesNoRisk, start: ShownBefore = None
    ) -> Sampled:
        """Return means over simulated copies, charged by the risk."""
        return self._sampled(world, sets, risk, start)

    def _sampled(
        self, world: World, sets: SetFamily, risk: YesNoRisk | None, start: ShownBefore
    ) -> Sampled:
        InvalidProblem.raise_if(size_faults(self.size, world.size) + self.start_faults(start))
        return Sampled(self.human, world, sets, self.copies, self.seed, risk)

    def fresh(self, world: World, people: tuple[int, ...], start: ShownBefore) -> Never:
        """Raise: the state is unknown."""
        raise self._unknown("state")

    def weights_of(self, world: World, state: Any) -> FloatArray:
        """Raise: the weights are unknown."""
        raise self._unknown("weights")

    def learn(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> Never:
        """Raise: the learning rule is unknown."""
        raise self._unknown("learning rule")

    def moves(self, world: World, state: Any, filled: Any, shown: Any, outcome: Any) -> Affine:
        """Raise: the learning rule is unknown."""
        raise self._unknown("learning rule")

    def from_here(self, world: World, state: Any, weights: FloatArray) -> Never:
        """Raise: the state is unknown."""
        raise self._unknown("state")

    def _unknown(self, what: str) -> NotApplicable:
        return NotApplicable(
            f"{type(self.human).__name__} is given by how they act, so their {what} is unknown; "
            "planning and simulation work, filtering and fitting need a built-in kind"
        )

    def learning_in_words(self) -> str:
        """Name the class of the human."""
        return f"as {type(self.human).__name__} does; estimated from {self.copies} copies"

    def imputation_in_words(self) -> str:
        """Name the class of the human."""
        return f"as {type(self.human).__name__} takes them"

    def beliefs_in_words(self, world: World) -> str:
        """Name the class of the human."""
        return f"those of {type(self.human).__name__}"

    def __repr__(self) -> str:
        rows = [
            ("learning", self.learning_in_words()),
            ("unseen tests", self.imputation_in_words()),
        ]
        return labelled(f"User-defined person, {type(self.human).__name__}", rows)
