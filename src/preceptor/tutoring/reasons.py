"""Why a tutor advises what it does, and what speaks against it, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from preceptor._base.words import counted, labelled, listed
from preceptor.evidence.families import SURE
from preceptor.model.sets import TestSet
from preceptor.tutoring.lookout import UNLIKELY

if TYPE_CHECKING:
    from preceptor.tutoring.tutor import Tutor

# Kinds that share a wish are named until they have this share of it.
_NAMED = 0.8


class Recommendation(NamedTuple):
    """What to show next: tests by index and by name, why, and how likely each kind is."""

    shown: TestSet
    names: tuple[str, ...]
    reason: str
    kinds: dict[str, float]


def reason_for(tutor: Tutor, shown: TestSet, *, wanted: TestSet, friends: list[int]) -> str:
    """A sentence: what to show and why; `friends` are the kinds that the wanted set suits best."""
    world = tutor.problem.world
    names = listed(list(world.name_of(shown))) if shown else "nothing"
    again = bool(tutor.record) and tutor.record[-1].shown == shown
    what = f"Show {names}{' again' if again else ''}"
    if shown != wanted:
        missing = listed(list(world.name_of(wanted)))
        return f"{what}: {missing} would be better, but cannot be shown now."
    return f"{what} {_because(tutor, friends)}"


def _because(tutor: Tutor, friends: list[int]) -> str:
    """What speaks for it: which kinds it suits best, and how likely they are."""
    kinds, names = tutor.bank.kinds, tutor.names
    if len(names) == 1:
        return f"because that is best now for somebody who learns like this: {names[0]}."
    share = float(sum(kinds[kind] for kind in friends))
    if share < UNLIKELY:
        return f"as a compromise until it is clearer who this is: {_likeliest(tutor)}."
    if len(friends) == len(tutor.outlook.kinds):
        whom = "them best" if len(friends) == 1 else "every kind that they may be of best"
        return f"because it suits {whom} now; {_likeliest(tutor)}."
    called = _few(friends, kinds.tolist(), names)
    if share < 0.5:
        return (
            f"because it suits some kinds that they may be of best ({called}: {share:.2f}); "
            f"{_likeliest(tutor)}."
        )
    sure = "are very likely" if share >= SURE else "are probably"
    return f"because they {sure} of a kind whom it suits best ({called}): {share:.2f}."


def _few(friends: list[int], kinds: list[float], names: tuple[str, ...]) -> str:
    """The likeliest of those who share a wish; not all of a long list."""
    ordered = sorted(friends, key=lambda kind: -kinds[kind])
    total, found = sum(kinds[kind] for kind in ordered), 0.0
    few = []
    for kind in ordered:
        few.append(names[kind])
        found += kinds[kind]
        if found >= _NAMED * total:
            break
    rest = len(ordered) - len(few)
    # Names of kinds have commas of their own.
    return "; ".join(few) + (f" and {rest} more" if rest else "")


def _likeliest(tutor: Tutor) -> str:
    name, share = max(tutor.kinds.items(), key=lambda item: item[1])
    return f"likeliest is {name} ({share:.2f})"


def doubts_about(tutor: Tutor) -> tuple[str, ...]:
    """What speaks against believing the shares of kinds."""
    from preceptor.tutoring.tutor import NONE_OF_THESE

    found = []
    none = tutor.kinds[NONE_OF_THESE]
    if none > 0.5:
        found.append(
            f"None of the kinds explains the answers (probability {none:.2f}): weights that wander "
            "at random predict them better. Plans treat everybody as equally likely as at first."
        )
    answers = tutor.bank.answers
    if answers < 20 and len(tutor.names) > 1 and max(tutor.bank.kinds[:-1]) > SURE:
        few = counted(answers, "answer")
        found.append(f"Only {few} so far: the shares of kinds may still turn round.")
    at_ends = tutor.bank.scatter[[0, -1]]
    if at_ends[1] > 0.5:
        found.append(
            "Answers scatter more than outcomes do: check units, and whether the person answers "
            "the question that is asked."
        )
    return tuple(found)


def in_short(tutor: Tutor) -> str:
    """A few lines for whoever looks at a tutor."""
    shares = sorted(tutor.kinds.items(), key=lambda item: -item[1])
    rows = [(f"{share:.0%}", name) for name, share in shares if share >= 0.005]
    rounds = tutor.rounds
    return labelled(f"Tutor after {rounds} round{'' if rounds == 1 else 's'}", rows)
