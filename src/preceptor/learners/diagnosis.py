"""Search for the most informative block: ready-made candidates, then exchanges of rounds.

All kinds play the same drawn cases and answer exactly. Two kinds whose expected answers differ by d
are apart by

    D² = d' (s² + C C')⁻¹ d,

where s is the scatter and C holds what unknown first weights and a constant bias could explain as
well. Two normal distributions at that distance overlap by exp(-D²/8) (Bhattacharyya), and a person
of kind k is taken for kind l in proportion to the overlap: that gives the value of a block in bits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.checks import count_faults, is_count, is_number
from preceptor._base.values import FloatArray, Value
from preceptor._base.words import listed
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.diagnostic_blocks import (
    Block,
    BlockRound,
    decisive_design,
    draw_cases,
    pairs,
    probes,
    summary,
    teaching_round,
)
from preceptor.learners.families import NONE, OUTCOMES, SURE
from preceptor.learners.folding import USUAL_SCATTER, allowed_sets
from preceptor.learners.kind_posterior import (
    Labels,
    LogReading,
    candidate_learners,
    labels_of,
    posterior_over,
    read_log,
    require_number,
    shares,
)
from preceptor.learners.posterior import PRIOR
from preceptor.learners.posterior import first_spread as spread_of
from preceptor.learners.records import affine_in_first_weights, simulate_answers, together
from preceptor.model.budgets import Budget
from preceptor.model.person import Person
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.crowd import Crowd

# Shares of teaching rounds tried, and shares of these that show the strong test.
_TAUGHT = (0.75, 0.6)
_STRONG = (0.0, 0.3, 0.5)
# The search exchanges rounds in this number of stretches, for at most this number of sweeps.
_STRETCHES = 8
_SWEEPS = 2
# The largest number of members of the crowd that judge candidates, and cases drawn for each; all
# blocks are judged by the same ones.
_JUDGES, _DRAWS = 14, 6
# Weight of everything but learning from outcomes: it changes plans less, but is often easier to
# find out, and would otherwise take up most of the rounds.
_ALL_ELSE = 0.25


class Screen(NamedTuple):
    """The kinds that a block has to separate: a crowd and the labels of its members.

    `follows` says of each member whether they learn from outcomes; `labels` are group and
    imputation.
    """

    world: World
    people: Crowd
    follows: tuple[bool, ...]
    labels: tuple[str, ...]
    scatter: float
    seed: int = 0

    def bits(self, rounds: Sequence[BlockRound]) -> float:
        """Approximate information of a block, above all about learning from outcomes."""
        overlap = np.exp(-distances(self, rounds) / 8.0) * self.people.weights
        question, all_of_it = self._bits(overlap, self.follows), self._bits(overlap, self.labels)
        return question + _ALL_ELSE * (all_of_it - question)

    def _bits(self, overlap: FloatArray, names: Sequence[object]) -> float:
        same = np.array([[a == b for b in names] for a in names])
        right = np.sum(overlap * same, axis=-1) / np.sum(overlap, axis=-1)
        before = same @ self.people.weights
        return float(np.mean(np.log2(right / before) @ self.people.weights))


def distances(screen: Screen, rounds: Sequence[BlockRound]) -> FloatArray:
    """D² between every two members (draws, members, members), with C of the first."""
    world = screen.world
    spread = spread_of(world)
    cases = draw_cases(world, rounds, _DRAWS, screen.seed)
    designs, means = [], []
    bias = PRIOR.bias * math.sqrt(world.outcome_variance)
    for member in screen.people.members:
        person = member.person
        design, offset, level = affine_in_first_weights(world, person, cases)
        start = person.fresh(world, (), None)
        constant = np.ones(offset.shape) if level is None else level
        designs.append(np.concatenate([design * spread, bias * constant[..., None]], axis=-1))
        first = person.level_of(world, start)
        means.append(design @ person.weights_of(world, start) + first * constant + offset)
    mean = np.stack(means, axis=1)  # (draws, members, T)
    apart = np.empty((_DRAWS, len(designs), len(designs)))
    for k, nuisance in enumerate(designs):  # (draws, T, c)
        inner = np.swapaxes(nuisance, -1, -2) @ nuisance
        inner[..., range(inner.shape[-1]), range(inner.shape[-1])] += screen.scatter**2
        d = mean - mean[:, [k]]
        along = np.swapaxes(d @ nuisance, -1, -2)  # (draws, c, members)
        explained = np.sum(along * np.linalg.solve(inner, along), axis=-2)
        apart[:, k] = (np.sum(d * d, axis=-1) - explained) / screen.scatter**2
    return np.maximum(apart, 0.0)


def best_rounds(
    world: World,
    people: Crowd,
    rounds: int,
    budget: Budget | int | None,
    scatter: float,
    *,
    search: bool = True,
    seed: int = 0,
) -> list[BlockRound]:
    """Return the block that separates kinds best, of all that are tried.

    Raises
    ------
    InvalidInput
        No allowed set is correlated with a hidden test.
    """
    found = pairs(world, [block for block in world.blocks if _allowed(world, budget, block)])
    if not found:
        raise InvalidInput(
            "world: no test that may be shown alone is correlated with a hidden one, so learning "
            "from outcomes and by showings are the same; there is nothing to find out"
        )
    screen = screen_of(world, people, scatter, seed)
    candidates = [
        (weak, strong, decisive_design(world, weak, strong, rounds, strong_share=part, share=share))
        for weak, strong in found
        for share in _TAUGHT
        for part in (_STRONG if _allowed(world, budget, strong) else _STRONG[:1])
    ]
    scores = [screen.bits(block) for _, _, block in candidates]
    best = int(np.argmax(scores))
    weak, strong, block = candidates[best]
    if not search:
        return block
    both = tuple(sorted((*weak, *strong)))
    shown = [each for each in (weak, strong, both) if _allowed(world, budget, each)]
    teaching = [teaching_round(world, each) for each in shown]
    return _improve_by_exchange(screen, block, scores[best], teaching, probes(world, weak, strong))


def _improve_by_exchange(
    screen: Screen,
    block: list[BlockRound],
    score: float,
    teaching: list[BlockRound],
    asked: list[BlockRound],
) -> list[BlockRound]:
    """Replace one stretch of rounds after another while that adds information."""
    edges = np.linspace(0, len(block), min(_STRETCHES, len(block)) + 1).astype(int)
    for _ in range(_SWEEPS):
        before = score
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            length = end - begin
            others = [[each] * length for each in teaching]
            others.append([asked[i % len(asked)] for i in range(length)])
            for other in others:
                changed = block[:begin] + other + block[end:]
                if changed != block and (bits := screen.bits(changed)) > score + 1e-9:
                    block, score = changed, bits
        if score == before:
            break
    return block


def _allowed(world: World, budget: Budget | int | None, shown: TestSet) -> bool:
    return budget is None or allowed_sets(world, budget).allows(shown)


def screen_of(world: World, people: Crowd, scatter: float, seed: int = 0) -> Screen:
    """Return the judges of candidates: the crowd, thinned out evenly within each label."""
    found = labels_of(world, people)
    labels = found.both
    totals = shares(labels, people.weights)
    most = max(_JUDGES // len(totals), 1)
    kept: list[int] = []
    for name in totals:
        those = [i for i, label in enumerate(labels) if label == name]
        if len(those) > most:
            those = [those[j] for j in np.linspace(0, len(those) - 1, most + 2)[1:-1].astype(int)]
        kept += those
    counts = Counter(labels[i] for i in kept)
    share = {name: float(total) / counts[name] for name, total in totals.items()}
    members = {people.names[i]: (people.members[i].person, share[labels[i]]) for i in kept}
    return Screen(
        world,
        Crowd(members),
        tuple(found.groups[i] == OUTCOMES for i in kept),
        tuple(labels[i] for i in kept),
        scatter,
        seed,
    )


# -------------------------------------------------------------------------------------------------
# A diagnosis: the most informative block of rounds about how a person learns, and its accuracy.
#
# Candidates are the decisive designs for the pairs of tests that fold most, variants that also
# teach the hidden test, and improvements of the best of them found by search. They are compared by
# how well they separate the kinds (`block_search.py`); the winner is then played by simulated
# people of every kind, with random first weights, and read like a real log: that gives the rates
# of correct, undecided and wrong readings.

_FEWEST_ROUNDS = 8
_MOST_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class GroupAccuracy(Value):
    """For people of one group: shares that are identified, undecided, and misidentified.

    `question` has the same three shares for the question whether they learn from outcomes.
    """

    group: str
    right: float
    undecided: float
    wrong: float
    question: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Diagnosis(Value):
    """A block and how informative it is.

    Attributes
    ----------
    world
        Joint distribution of tests and outcome.
    people
        The candidate learners.
    scatter
        Standard deviation of answers around what the weights predict, in units of the outcome.
    block
        What to show, in order.
    verdicts
        How often people of each group are identified (probability of at least 0.9).
    group_bits
        Expected information about the group, in bits.
    bits
        Expected information about group and imputation together.
    fills_right
        Share of people whose imputation is identified.
    simulated
        Number of simulated people behind these numbers.
    """

    world: World
    people: Crowd
    scatter: float
    block: Block
    verdicts: tuple[GroupAccuracy, ...]
    group_bits: float
    bits: float
    fills_right: float
    simulated: int

    @property
    def bits_per_round(self) -> float:
        """Information per round."""
        return self.bits / len(self.block)

    def in_words(self) -> str:
        """What to do, what it will reveal, and how accurately."""
        lines = [f"A diagnostic block of {summary(self.block)}:", self.block.in_words(), ""]
        if {each.group == OUTCOMES for each in self.verdicts} == {True, False}:
            do, do_not = self._question(True), self._question(False)
            wrong = max(do[2], do_not[2])
            few = "fewer than 1%" if wrong < 0.005 else f"at most {wrong:.0%}"
            lines.append(
                f"Whether a person learns from outcomes will be decided correctly for {do[0]:.0%} "
                f"of people who do and {do_not[0]:.0%} of people who do not, and wrongly for "
                f"{few}; the rest stay undecided."
            )
        each = [f"{v.right:.0%} of those {_who(v.group)}" for v in self.verdicts]
        lines.append(f"The exact group will be identified for {listed(each)}.")
        lines.append(
            f"Expected information: {self.group_bits:.2f} bits about how they learn, "
            f"{self.bits:.2f} including how they fill in hidden tests "
            f"({self.bits_per_round:.3f} per round), from {self.simulated:,} simulated people."
        )
        return "\n".join(lines)

    def _question(self, outcomes: bool) -> tuple[float, ...]:
        """Mean correct, undecided and wrong shares over groups that learn from outcomes or not."""
        found = [v.question for v in self.verdicts if (v.group == OUTCOMES) == outcomes]
        return tuple(np.mean(found, axis=0).tolist())


def _who(group: str) -> str:
    return "who do not learn" if group == NONE else f"who learn {group}"


def diagnose(
    world: World,
    people: Crowd | None = None,
    *,
    rounds: int = 40,
    budget: Budget | int | None = None,
    scatter: float | None = None,
    initial: FloatArray | None = None,
    simulated: int = 240,
    search: bool = True,
    seed: int = 0,
) -> Diagnosis:
    """Choose what to show to find out how a person learns.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    people
        The candidate learners; by default people who do not learn, learn by showings or learn from
        outcomes, at the rates of published experiments, knowing or ignoring correlations.
    rounds
        Number of rounds, probes included.
    budget
        What may be shown in a teaching round; by default any one or two tests. Probes may show two
        tests.
    scatter
        Standard deviation of answers around what the weights predict, in units of the outcome; by
        default 0.6 standard deviations of the outcome.
    initial
        Expected first weights of the default `people`, shape (n,); by default 0.
    simulated
        Number of simulated people who play the block to measure its accuracy.
    search
        Whether to improve the best ready-made block by search.
    seed
        Seed of all random draws.

    Returns
    -------
    Diagnosis
        With the block.

    Raises
    ------
    InvalidInput
        Invalid values; or no two tests are correlated, so that nothing can be told.
    NotApplicable
        The outcome is yes or no.

    Examples
    --------
    >>> world = World.equicorrelated([0.0, 1.0], 0.8, 0.1, names=["weak", "strong"])
    >>> found = diagnose(world, rounds=24, simulated=60, search=False)
    >>> found.block.probes, found.block.rounds[10].show     # A is taught while B is hidden
    (10, ('weak',))
    """
    require_number(world)
    faults = []
    if not is_count(rounds, least=_FEWEST_ROUNDS) or rounds > _MOST_ROUNDS:
        faults.append(
            f"rounds: {rounds!r}, must be a whole number from {_FEWEST_ROUNDS} to {_MOST_ROUNDS}"
        )
    if scatter is not None and not (is_number(scatter) and scatter > 0):
        faults.append(f"scatter: {scatter!r}, must be a positive standard deviation")
    if people is not None and not isinstance(people, Crowd):
        faults.append(f"people: {people!r}, must be a Crowd")
    elif people is not None and people.size != world.size:
        faults.append(f"people: about {people.size} tests, but the world has {world.size}")
    InvalidInput.raise_if(faults + count_faults(1, simulated=simulated))
    spread = USUAL_SCATTER * math.sqrt(world.outcome_variance) if scatter is None else scatter
    crowd = candidate_learners(world, initial) if people is None else people
    block = best_rounds(world, crowd, rounds, budget, spread, search=search, seed=seed)
    return confirm(world, crowd, block, spread, simulated=simulated, seed=seed)


def confirm(
    world: World,
    people: Crowd,
    rounds: Sequence[BlockRound],
    scatter: float,
    *,
    simulated: int = 240,
    truths: dict[str, Person] | None = None,
    first_spread: float = 1.0,
    seed: int = 0,
) -> Diagnosis:
    """Simulate people of every kind who play a block, and read their answers.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    people
        The candidate learners of the reading.
    rounds
        The block.
    scatter
        Standard deviation of answers.
    simulated
        Number of simulated people.
    truths
        The people who play, by name; by default members of the crowd, by weight.
    first_spread
        Standard deviation of first weights, as a share of the reading's prior.
    seed
        Seed of all random draws.

    Returns
    -------
    Diagnosis
        With the accuracy of the block.
    """
    rng = np.random.default_rng(seed)
    players = people if truths is None else Crowd(dict(truths))
    # Kinds that are rare still get enough people for their row to be readable.
    counts = np.maximum(players.weights, 0.5 / len(players.members))
    counts = simulated * (counts / counts.sum())
    answers, truth = [], []
    for index, (member, share) in enumerate(zip(players.members, counts, strict=True)):
        count = max(round(share), 1)
        noise = rng.standard_normal((count, world.size))
        first = member.person.initial + first_spread * spread_of(world) * noise
        cases = draw_cases(world, rounds, count, rng)
        answers.append(simulate_answers(world, member.person, cases, first, scatter, rng))
        truth += [index] * count
    posterior = posterior_over(world, people, together(answers), spread_of(world))
    weights = players.weights[truth] / np.bincount(truth)[truth]
    assumed, actual = labels_of(world, people), labels_of(world, players)
    true = Labels([actual.groups[i] for i in truth], [actual.fills[i] for i in truth])
    members = posterior[..., :-1]
    verdicts = _accuracy(shares(assumed.groups, members), true.groups, weights)
    about_group, about_both = (
        _bits(names, people.weights, members, labels, weights)
        for names, labels in ((assumed.groups, true.groups), (assumed.both, true.both))
    )
    by_fill = shares(assumed.fills, members)
    told = [by_fill[str(fill)][i] for i, fill in enumerate(true.fills) if fill in by_fill]
    return Diagnosis(
        world,
        people,
        scatter,
        Block(world.labels, tuple(rounds)),
        verdicts,
        about_group,
        about_both,
        float(np.mean(np.array(told) >= SURE)) if told else math.nan,
        len(truth),
    )


def read(diagnosis: Diagnosis, log: Log) -> LogReading:
    """Compute the posterior over kinds for every participant of a log of the block.

    Parameters
    ----------
    diagnosis
        The block and the candidate learners. The default ones only plan the block; a log is then
        read with the families that they stand for, as `fit_learner` reads it.
    log
        The answers.

    Returns
    -------
    LogReading
        A posterior for every person.

    Raises
    ------
    InvalidInput
        The log is about other tests.

    Examples
    --------
    A log in which all answers are the same:

    >>> world = World.equicorrelated([0.0, 1.0], 0.8, 0.1, names=["weak", "strong"])
    >>> found = diagnose(world, rounds=24, simulated=60, search=False)
    >>> rounds = found.block.rounds
    >>> shown = np.array([[name in each.show for name in world.labels] for each in rounds])
    >>> log = Log(world.labels, ["ann"] * 24, range(24), shown, np.where(shown, 1.0, np.nan),
    ...           np.zeros(24), [1.0 if each.feedback else np.nan for each in rounds])
    >>> [person.name for person in read(found, log).people]
    ['ann']
    """
    world, people = diagnosis.world, diagnosis.people
    usual = people == candidate_learners(world, people.initial)
    block = diagnosis.block
    if usual:
        return read_log(world, log, block=block)
    return read_log(world, log, people, block=block, process_noise=0.0)


def _bits(
    names: Sequence[str | None],
    before: FloatArray,
    after: FloatArray,
    truth: Sequence[str | None],
    weights: FloatArray,
) -> float:
    """Mean gain in log2 probability of the truth; 0 if the truth is not among the names."""
    prior, posterior = shares(names, before), shares(names, after)
    known = [(i, name) for i, name in enumerate(truth) if name is not None and name in prior]
    if not known:
        return 0.0
    gains = [np.log2(max(posterior[name][i], 1e-12) / prior[name]) for i, name in known]
    return float(np.average(gains, weights=weights[[i for i, _ in known]]))


def _accuracy(
    by_group: dict[str, FloatArray], truth: list[str], weights: FloatArray
) -> tuple[GroupAccuracy, ...]:
    found = []
    outcomes = by_group.get(OUTCOMES, np.zeros(len(truth)))
    for group in dict.fromkeys(truth):
        rows = np.array([g == group for g in truth])
        share = weights[rows] / weights[rows].sum()
        mine = by_group.get(group, np.zeros(len(truth)))[rows]
        others = [by_group[other][rows] for other in by_group if other != group]
        most = np.max(others, axis=0) if others else np.zeros(mine.shape)
        right, wrong = float(share @ (mine >= SURE)), float(share @ (most >= SURE))
        said = outcomes[rows] if group == OUTCOMES else 1.0 - outcomes[rows]
        yes, no = float(share @ (said >= SURE)), float(share @ (said <= 1.0 - SURE))
        question = (yes, 1.0 - yes - no, no)
        found.append(GroupAccuracy(group, right, 1.0 - right - wrong, wrong, question))
    return tuple(found)
