"""A plan in words that somebody who has never seen the model can follow.

Short schedules are spelled out. Long or interleaved ones are cut into phases, each with a few
sets and how often each is shown: of all ways to cut, the one that takes the fewest bits to
write down (sets and counts of each phase, then the order within it).
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from preceptor.evaluation import evaluate, losses_along, negligible_after
from preceptor.plan import Plan, Status
from preceptor.policies import Alternating, CountPolicy, Policy, Stationary, TestSet
from preceptor.tails import geometric_sum

WIDTH = 88

_TOGETHER = "\N{NO-BREAK SPACE}"  # never broken, and printed as a plain space
Row = tuple[str, str]  # of a table: label and text

# Up to so many runs of equal sets fit in one sentence; more become a table of phases.
_SENTENCE_RUNS = 5
_MAX_PHASES = 8
# Phases may begin at so many places; longer schedules are looked at more coarsely.
_MAX_CUTS = 400
# Rounds that stand for a policy which never settles.
_SAMPLE_ROUNDS = 60
# The costs of a fixed set are only worth adding when they take no time.
_MAX_SUMMED_ROUNDS = 5_000
# Sets that can be listed in no time.
_MAX_LISTED = 200_000
# Gaps up to this are rounding; a plan that was proven to a tolerance says how close it is.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Phase:
    """A stretch of rounds: where it begins (from 0), how often each set comes, longest run."""

    begin: int
    counts: dict[TestSet, int]
    longest_run: int

    @property
    def length(self) -> int:
        """Rounds in this phase."""
        return sum(self.counts.values())


def explain(plan: Plan) -> str:
    """What to show, what that costs, how sure we are and how it was found, as plain text.

    >>> import preceptor as pr
    >>> world = pr.World([1.0, 0.5], [[1.0, 0.0], [0.0, 1.0]], names=["bmi", "bp"])
    >>> problem = pr.Problem(world, pr.Learner([0.8, 0.0], pr.Geometric(1.1)), 1)
    >>> print(explain(pr.solve(problem)).split("\\n\\n")[1])
    What to show
      Always show bmi.
    """
    sections: list[tuple[str, Sequence[str | Row]]] = [
        ("", [_setting(plan)]),
        ("What to show", _what_to_show(plan)),
        ("What it costs", _what_it_costs(plan)),
        ("How sure that is", [_certainty(plan)]),
        ("How it was found", [_how_found(plan)]),
        ("Notes", list(plan.notes)),
    ]
    return "\n\n".join(_section(title, body) for title, body in sections if body)


def runs(schedule: Iterable[TestSet]) -> list[tuple[TestSet, int]]:
    """Equal neighbours counted: [(set, rounds), ...].

    >>> runs([(0,), (0,), (1,)])
    [((0,), 2), ((1,), 1)]
    """
    return [(shown, sum(1 for _ in same)) for shown, same in groupby(schedule)]


def phases(schedule: Sequence[TestSet]) -> list[Phase]:
    """At most eight phases that describe a schedule briefly; together they cover it."""
    pieces = runs(schedule)
    if not pieces:
        return []
    step = math.ceil(len(pieces) / _MAX_CUTS)
    chunks = [pieces[i : i + step] for i in range(0, len(pieces), step)]
    bits_for_a_set = math.log2(len(schedule) + 1)
    while True:
        bounds = _cheapest_cuts(chunks, bits_for_a_set)
        if len(bounds) - 1 <= _MAX_PHASES:
            break
        bits_for_a_set *= 1.5
    found, begin = [], 0
    for first, last in pairwise(bounds):
        inside = [piece for chunk in chunks[first:last] for piece in chunk]
        phase = Phase(begin, _tally(inside), max(length for _, length in inside))
        found.append(phase)
        begin += phase.length
    return found


def _cheapest_cuts(chunks: list[list[tuple[TestSet, int]]], bits_for_a_set: float) -> list[int]:
    """Boundaries of the phases, by dynamic programming over where the last phase begins.

    The order within a phase is charged by how hard it is to guess each set from the one before
    it, so strict alternation costs as little as repetition.
    """
    best, came_from = [0.0], [0]
    for end in range(1, len(chunks) + 1):
        follows: dict[TestSet, Counter[TestSet]] = {}
        following: TestSet | None = None
        options = []
        for begin in range(end - 1, -1, -1):
            for shown, length in reversed(chunks[begin]):
                after = follows.setdefault(shown, Counter())
                after[shown] += length - 1
                if following is not None:
                    after[following] += 1
                following = shown
            order = sum(_bits(after) for after in follows.values())
            options.append((best[begin] + order + bits_for_a_set * len(follows), begin))
        cost, begin = min(options)
        best.append(cost)
        came_from.append(begin)
    bounds = [len(chunks)]
    while bounds[-1]:
        bounds.append(came_from[bounds[-1]])
    return bounds[::-1]


def _bits(counts: Counter[TestSet]) -> float:
    total = counts.total()
    return sum(c * math.log2(total / c) for c in counts.values() if c)


def _tally(pieces: Iterable[tuple[TestSet, int]]) -> dict[TestSet, int]:
    counts: Counter[TestSet] = Counter()
    for shown, length in pieces:
        counts[shown] += length
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


# --- sections -------------------------------------------------------------------------------------


def _setting(plan: Plan) -> str:
    problem = plan.problem
    if problem.horizon is None:
        span = f"with no end (each case counts {problem.discount:.6g} as much as the one before)"
    else:
        span = f"over {_cases(problem.horizon)}"
        if problem.discount < 1.0:
            span += f" (each case counts {problem.discount:.6g} as much as the one before)"
    text = f"A plan for {_count(problem.size, 'test')} {span}."
    seen = [
        f"{name} {_times(count)}"
        for name, count in zip(problem.world.labels, problem.start_counts, strict=True)
        if count
    ]
    if seen:
        text += f" The person has already seen {_listed(seen)}."
    return text


def _what_to_show(plan: Plan) -> list[str | Row]:
    policy, horizon = plan.policy, plan.problem.horizon
    length, commit = policy.exploration_length, policy.commit
    if horizon is not None and (length is None or length >= horizon):
        return _schedule_words(plan, policy.schedule(horizon), "", total=horizon)
    if length is None or commit is None:
        return _endless_words(plan, policy)
    if not commit:
        closing = "show nothing any more" if length else "show nothing, ever"
    elif horizon is None or length == 0:
        closing = f"always show {_joined(plan, commit)}"
    else:
        closing = f"show {_joined(plan, commit)} for the remaining {_cases(horizon - length)}"
    if length == 0:
        lines: list[str | Row] = [_sentence(closing)]
    else:
        lines = _schedule_words(plan, policy.schedule(length), closing, total=horizon)
    if isinstance(policy, CountPolicy):
        lines.append(_TABLE_HINT)
    return lines


_TABLE_HINT = (
    "This is what somebody who starts now and follows the plan sees; for anybody else, "
    "plan.policy.recommend(counts) says what to show next."
)


def _schedule_words(
    plan: Plan, schedule: list[TestSet], closing: str, *, total: int | None
) -> list[str | Row]:
    """The schedule, then `closing`: one sentence if short, else a summary and its phases."""
    pieces = runs(schedule)
    if len(pieces) <= _SENTENCE_RUNS:
        parts = [
            f"{_joined(plan, shown)} for {_cases(length) if i == 0 else length}"
            for i, (shown, length) in enumerate(pieces)
        ]
        parts += [closing] if closing else []
        return [_sentence("show " + ", then ".join(parts))]
    counts = _tally(pieces)
    many = f"of the {total:,} " if total is not None and total > len(schedule) else ""
    opening = f"for the first {len(schedule):,} {many}cases" if closing else "throughout"
    mix = _mix(plan, counts)
    summary = f"{opening} mix {_count(len(counts), 'set')}: {mix}"
    lines: list[str | Row] = [_sentence(f"{summary}; then {closing}" if closing else summary)]
    found = phases(schedule)
    if len(found) > 1 or (len(counts) == 2 and found[0].longest_run <= 3):
        lines += _table(plan, found, closing)
    lines.append(f"Case by case: plan.policy.schedule({len(schedule)}).")
    return lines


def _table(plan: Plan, found: list[Phase], closing: str) -> list[Row]:
    """One row a phase: its cases, and what is shown in them."""
    labels = []
    for phase in found:
        first, last = phase.begin + 1, phase.begin + phase.length
        labels.append(f"case {first}" if first == last else f"cases {first} to {last}")
    texts = [_phase_words(plan, phase) for phase in found]
    if closing:
        labels.append(f"from case {found[-1].begin + found[-1].length + 1}")
        texts.append(closing)
    return list(zip(labels, texts, strict=True))


def _phase_words(plan: Plan, phase: Phase) -> str:
    """E.g. "bmi + bp 11 times and s5 7 times, taking turns"."""
    (most, often), *others = phase.counts.items()
    if not others:
        return _plus(plan, most)
    if often >= 0.8 * phase.length:
        rare = _mix(plan, dict(others))
        return f"mostly {_plus(plan, most)} ({_times(often)}), now and then {rare}"
    mix = _mix(plan, phase.counts)
    if len(phase.counts) == 2 and phase.longest_run <= 3:
        return mix + (", taking turns" if phase.longest_run == 1 else ", roughly taking turns")
    return mix + ", mixed"


def _mix(plan: Plan, counts: dict[TestSet, int]) -> str:
    return _listed([f"{_plus(plan, shown)} {_times(count)}" for shown, count in counts.items()])


def _endless_words(plan: Plan, policy: Policy) -> list[str | Row]:
    """A policy that never settles on one set."""
    if isinstance(policy, Alternating) and len(runs(policy.cycle)) <= _SENTENCE_RUNS:
        parts = [
            _joined(plan, shown) + (f" for {_cases(length)}" if length > 1 else "")
            for shown, length in runs(policy.cycle)
        ]
        return [_sentence(f"go round for ever: {', then '.join(parts)}, then again from the start")]
    if isinstance(policy, Alternating):
        lines = _schedule_words(plan, list(policy.cycle), "", total=None)
        return [f"Go round a cycle of {_cases(len(policy.cycle))} for ever.", *lines]
    lines = _schedule_words(plan, policy.schedule(_SAMPLE_ROUNDS), "", total=None)
    head = "The plan never settles on one set."
    lines = [f"{head} Its first {_SAMPLE_ROUNDS} cases:", *lines]
    return [*lines, _TABLE_HINT] if isinstance(policy, CountPolicy) else lines


def _what_it_costs(plan: Plan) -> list[str]:
    problem, policy = plan.problem, plan.policy
    weight = float(geometric_sum(np.array(problem.discount), problem.horizon))
    text = f"Expected loss {plan.value:.6g} in total"
    if problem.discount < 1.0:
        text = f"Expected discounted loss {plan.value:.6g} in total"
    lines = [f"{text}, which is {plan.value / weight:.4g} a case on average."]
    lines.append(_along_the_way(plan))
    commit, length = policy.commit, plan.exploration_length
    summed = problem.horizon or negligible_after(problem.discount)
    if commit is not None and length and summed <= _MAX_SUMMED_ROUNDS:
        fixed = evaluate(problem, Stationary(commit))
        lines.append(
            f"Showing {_joined(plan, commit)} from the first case on would cost {fixed:.6g}"
            f"{_how_much_more(fixed, plan.value)}."
        )
    return lines


def _how_much_more(other: float, value: float) -> str:
    if value <= 0.0 or other < 1.0005 * value:
        return ""
    ratio = other / value
    return f", {ratio - 1.0:.1%} more" if ratio < 2.0 else f", {ratio:.1f} times as much"


def _along_the_way(plan: Plan) -> str:
    """Loss of the first case, of the one where the plan settles, and of a late one."""
    problem = plan.problem
    length = plan.exploration_length or 0
    if problem.horizon is not None:
        rounds = min(problem.horizon, length + 2_000)
    else:
        # Cases further away than this count a hundredth or less.
        matter = math.ceil(math.log(100.0) / max(1.0 - problem.discount, 1e-3))
        rounds = length + min(matter, 2_000)
    losses = losses_along(problem, plan.policy.schedule(rounds))
    marks = sorted({1, min(length + 1, rounds), rounds})
    parts = [f"{losses[case - 1]:.4g} for case {case:,}" for case in marks]
    text = f"Loss of a single case: {_listed(parts)}."
    floor = least_loss(plan)
    if floor is not None and floor > 0.0:
        text += f" Even somebody who knows everything cannot get below {floor:.4g} a case."
    return text


def least_loss(plan: Plan) -> float | None:
    """A loss that no case ever goes below; None if there are too many sets to look at."""
    problem = plan.problem
    if problem.budget.count(problem.size) > _MAX_LISTED:
        return None
    return float(problem.oracle.floors().min())


def how_sure(plan: Plan) -> str:
    """Status and gap in a few words."""
    if plan.status is Status.OPTIMAL and plan.gap <= _ROUNDING:
        return "no plan can do better"
    if not math.isfinite(plan.gap):
        return "how much better another plan could be is not known"
    return f"at most {_percent(plan.gap)} above the best possible"


def _certainty(plan: Plan) -> str:
    if plan.gap <= _ROUNDING or not math.isfinite(plan.gap):
        return _sentence(how_sure(plan))
    bound = f"no plan whatsoever can cost less than {plan.lower_bound:.6g}"
    return _sentence(f"{how_sure(plan)}: {bound}")


def _how_found(plan: Plan) -> str:
    text = f"Method: {plan.method}"
    if plan.reason:
        text += f" ({plan.reason})"
    work = f"{plan.seconds:.2g} seconds"
    if plan.states:
        work = f"{_count(plan.states, 'state')} in {work}"
    ended = {
        Status.TIME_LIMIT: "; it stopped because the time was up",
        Status.INTERRUPTED: "; it was interrupted, and this is the best found until then",
    }
    return f"{text}; {work}{ended.get(plan.status, '')}."


# --- words ----------------------------------------------------------------------------------------


def _section(title: str, body: Sequence[str | Row]) -> str:
    """Wrapped paragraphs and table rows under a title."""
    indent = "  " if title else ""
    lines = [title] if title else []
    width = max((len(part[0]) for part in body if isinstance(part, tuple)), default=0)
    for part in body:
        if isinstance(part, tuple):
            label, text = part
            lines += _wrap(text, f"    {label:<{width}}  ", " " * (width + 6))
        else:
            lines += _wrap(part, indent, indent)
    return "\n".join(lines)


def _wrap(text: str, first: str, rest: str) -> list[str]:
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_TOGETHER, " ") for line in lines]


def _joined(plan: Plan, shown: TestSet) -> str:
    """For sentences: "bmi and bp"."""
    return _listed([plan.problem.world.labels[i] for i in shown]) if shown else "nothing"


def _plus(plan: Plan, shown: TestSet) -> str:
    """For lists of sets: "bmi + bp"; short ones are kept on one line."""
    text = " + ".join(plan.problem.world.labels[i] for i in shown) if shown else "nothing"
    return text.replace(" ", _TOGETHER) if len(text) <= WIDTH // 2 else text


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _cases(number: int) -> str:
    return _count(number, "case")


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,}{_TOGETHER}times")


def _percent(share: float) -> str:
    """Rounded up to a tenth of a percent or one digit, so that "at most" stays true."""
    if 0.0 < share < 0.001:
        digits = -math.floor(math.log10(max(100.0 * share, 1e-8)))
        return f"{math.ceil(100.0 * share * 10**digits - 1e-9) / 10**digits:.{digits}f}%"
    tenths = math.ceil(1000.0 * share - 1e-9)
    return f"{tenths / 10:.1f}%" if tenths < 1000 else f"{math.ceil(tenths / 10):,}%"
