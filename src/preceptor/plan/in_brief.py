"""What a plan shows, in a line or two and as a timeline: how it shows itself at the prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from preceptor._base.notebook import Lane, html_timeline, stretches
from preceptor._base.words import counted, listed, times
from preceptor.policies import Policy, runs
from preceptor.problem import Problem

# Cases looked at, changes of set spelled out, sets and tests named.
_CASES, _CHANGES, _SETS, _TESTS = 10_000, 3, 3, 4
# Cases and rows of the timeline in a notebook.
_DRAWN_CASES, _DRAWN_TESTS = 400, 12


def shown_in_words(problem: Problem, policy: Policy) -> list[tuple[str, str]]:
    """What comes first, and the set that stays from then on; each part with its label."""
    length, commit, horizon = policy.exploration_length, policy.commit, problem.horizon
    if length is not None and commit is not None and (horizon is None or length < horizon):
        last = _set_in_words(problem, commit)
        if length == 0:
            return [("show", f"always {last}" if commit else "nothing, ever")]
        first = ("first", _schedule_in_words(problem, policy, length))
        return [first, ("then", f"{last} from case {length + 1:,} on")]
    if horizon is not None:
        return [("show", _schedule_in_words(problem, policy, horizon))]
    settled = policy.settles()
    if settled is None:
        first = ("first", _schedule_in_words(problem, policy, _DRAWN_CASES))
        return [first, ("then", "goes on changing: it never settles on one set")]
    before, word = settled
    parts = _most_often(problem, word, f" of {counted(len(word), 'case')}")
    if not before:
        return [("show", f"over and over: {parts}")]
    then = f"from case {len(before) + 1:,} on, over and over: {parts}"
    return [("first", _schedule_in_words(problem, policy, len(before))), ("then", then)]


def _most_often(problem: Problem, word: list[tuple[int, ...]], of_how_many: str) -> str:
    """How often each set comes in what is repeated."""
    often = Counter(word).most_common()
    parts = [
        f"{_set_in_words(problem, shown)} in {count:,}{of_how_many if i == 0 else ''}"
        for i, (shown, count) in enumerate(often[:_SETS])
    ]
    return listed([*parts, *_others(len(often))])


def _schedule_in_words(problem: Problem, policy: Policy, rounds: int) -> str:
    looked_at = min(rounds, _CASES)
    schedule = policy.schedule(looked_at)
    pieces = runs(schedule)
    if len(pieces) <= _CHANGES and looked_at == rounds:
        parts = [f"{_set_in_words(problem, s)} for {counted(k, 'case')}" for s, k in pieces]
        return ", then ".join(parts)
    often = Counter(schedule).most_common()
    parts = [f"{_set_in_words(problem, shown)} ({times(k)})" for shown, k in often[:_SETS]]
    return f"{listed([*parts, *_others(len(often))])} in {counted(looked_at, 'case')}"


def _others(sets: int) -> list[str]:
    return [counted(sets - _SETS, "other set")] if sets > _SETS else []


def _set_in_words(problem: Problem, shown: Iterable[int]) -> str:
    names = problem.world.name_of(shown)
    more = [f"{len(names) - _TESTS} more"] if len(names) > _TESTS else []
    return " + ".join([*names[:_TESTS], *more]) or "nothing"


def timeline(problem: Problem, policy: Policy) -> str:
    """Which test is shown in which case, as HTML."""
    shown = policy.schedule(_cases_drawn(problem, policy))
    return html_timeline(_lanes(problem, shown), len(shown), "Which test is shown in which case")


def _cases_drawn(problem: Problem, policy: Policy) -> int:
    """Exploration and a third more, within the horizon and what the eye can take in."""
    settled = policy.settles()
    length = policy.exploration_length or (0 if settled is None else len(settled[0]))
    return min(length + max(15, length // 3), problem.horizon or _DRAWN_CASES, _DRAWN_CASES)


def _lanes(problem: Problem, shown: list[tuple[int, ...]]) -> list[Lane]:
    """The tests that are shown most, in the order of the world, each with its stretches."""
    tests = list(zip(problem.world.tests, problem.world.blocks, strict=True))
    often = Counter(column for each in shown for column in each)
    ranked = sorted((t for t in tests if often[t[1][0]]), key=lambda t: -often[t[1][0]])
    kept = {block for _, block in ranked[:_DRAWN_TESTS]}
    return [
        (name, stretches(block[0] in each for each in shown))
        for name, block in tests
        if block in kept
    ]
