"""A diagnosis: the block of rounds that tells most about how somebody learns, and how surely.

Candidates are the decisive designs for the pairs of tests that fold most, variants that also teach
the hidden test, and what a search makes of the best of them, round by round. They are compared by
how far apart they drive the kinds (`block_search.py`); the winner is then played by people of every
kind, with first weights of their own, and read as a real log would be: that gives how often one is
right, undecided and wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.values import FloatArray, Value
from preceptor._base.words import listed
from preceptor.diagnosis.block_search import best_rounds
from preceptor.diagnosis.blocks import Block, BlockRound, summary
from preceptor.diagnosis.courses import drawn
from preceptor.diagnosis.kind_posterior import (
    SURE,
    Reading,
    labels_of,
    posterior_over,
    usual_prior,
)
from preceptor.diagnosis.log_reading import read_log
from preceptor.diagnosis.suspects import OUTCOMES, require_number, shares, suspects
from preceptor.errors import InvalidInput
from preceptor.evidence.folding import USUAL_SCATTER
from preceptor.evidence.lockstep import played, together
from preceptor.logs import Log
from preceptor.model.budgets import Budget
from preceptor.model.world import World
from preceptor.people.crowd import Crowd
from preceptor.people.person import Person

_FEWEST_ROUNDS = 8
_MOST_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Verdicts(Value):
    """Of people of one group: shares that are found out, left open, and taken for another group.

    `question` are the same three for the question whether they learn from outcomes or not.
    """

    group: str
    right: float
    undecided: float
    wrong: float
    question: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Diagnosis(Value):
    """A block and what it will tell.

    Attributes
    ----------
    world
        How tests and outcomes come about.
    people
        Whom the block tells apart.
    scatter
        Standard deviation of answers around what weights say, in units of the outcome.
    block
        What to show, in order.
    verdicts
        How often people of each group will be found out (probability of at least 0.9).
    group_bits
        Expected information about the group, in bits.
    bits
        Expected information about group and way to fill in, together.
    fills_right
        Share of people whose way to fill in is found out.
    simulated
        How many people played the block for these numbers.
    """

    world: World
    people: Crowd
    scatter: float
    block: Block
    verdicts: tuple[Verdicts, ...]
    group_bits: float
    bits: float
    fills_right: float
    simulated: int

    @property
    def bits_per_round(self) -> float:
        """Information per round."""
        return self.bits / len(self.block)

    def in_words(self) -> str:
        """What to do, what it will tell and how surely."""
        lines = [f"A diagnostic block of {summary(self.block)}:", self.block.in_words(), ""]
        by_outcomes = {each.group == OUTCOMES: each.question for each in self.verdicts}
        if len(by_outcomes) == 2:
            right = listed(
                [
                    f"{self._question(True)[0]:.0%} of people who do",
                    f"{self._question(False)[0]:.0%} of people who do not",
                ]
            )
            wrong = max(self._question(True)[2], self._question(False)[2])
            few = "fewer than 1%" if wrong < 0.005 else f"at most {wrong:.0%}"
            lines.append(
                f"Whether somebody learns from outcomes will be decided rightly for {right}, and "
                f"wrongly for {few}; the others stay open."
            )
        each = [f"{v.right:.0%} of those {_who(v.group)}" for v in self.verdicts]
        lines.append(f"The very group will be found out for {listed(each)}.")
        lines.append(
            f"Expected information: {self.group_bits:.2f} bits about how they learn, "
            f"{self.bits:.2f} with how they fill in ({self.bits_per_round:.3f} per round), by "
            f"{self.simulated:,} simulated people."
        )
        return "\n".join(lines)

    def _question(self, outcomes: bool) -> tuple[float, ...]:
        """Average of right, undecided, wrong over the groups that do or do not."""
        found = [v.question for v in self.verdicts if (v.group == OUTCOMES) == outcomes]
        return tuple(np.mean(found, axis=0).tolist())


def _who(group: str) -> str:
    return "who do not learn" if group == "none" else f"who learn {group}"


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
    """Choose what to show to find out how somebody learns.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    people
        Whom to tell apart; if left out, people who do not learn, learn by showings or learn from
        outcomes, at the rates of published experiments, knowing or ignoring correlations.
    rounds
        How many, probes included.
    budget
        What may be shown in a teaching round; any one or two tests if left out. Probes may show two
        tests.
    scatter
        Standard deviation of answers around what weights say, in units of the outcome; 0.6 standard
        deviations of the outcome if left out.
    initial
        First weights that are expected, shape (n,), if `people` are left out; 0 if left out too.
    simulated
        How many people play the block to say how surely it tells.
    search
        Whether to improve the best ready-made block round by round.
    seed
        Of everything random.

    Returns
    -------
    Diagnosis
        With the block.

    Raises
    ------
    InvalidInput
        Values that make no sense; or no test goes with another, so that nothing can be told.
    NotApplicable
        The outcome is yes or no.

    Examples
    --------
    >>> world = World.equicorrelated([0.0, 1.0], 0.8, 0.1, names=["weak", "strong"])
    >>> found = diagnose(world, rounds=24, simulated=60, search=False)
    >>> found.block.probes, found.block.rounds[10].show     # taught is what hides something strong
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
    if not is_count(simulated, least=1):
        faults.append(f"simulated: {simulated!r}, must be a whole number of at least 1")
    InvalidInput.raise_if(faults)
    spread = USUAL_SCATTER * math.sqrt(world.outcome_variance) if scatter is None else scatter
    crowd = suspects(world, initial) if people is None else people
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
    """Play a block with people of every kind and read their answers.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    people
        Whom the reading tells apart.
    rounds
        The block.
    scatter
        Standard deviation of answers.
    simulated
        How many people play.
    truths
        Who plays, by name; members of the crowd, by weight, if left out.
    first_spread
        How far first weights scatter, as a share of what the reading expects.
    seed
        Of everything random.

    Returns
    -------
    Diagnosis
        With shares of people found out.
    """
    rng = np.random.default_rng(seed)
    prior = usual_prior(world, scatter)
    groups, fills = labels_of(world, people)
    players = people if truths is None else Crowd(dict(truths))
    true_groups, true_fills = labels_of(world, players)
    answers, truth = [], []
    for index, (member, share) in enumerate(zip(players.members, _shares(players), strict=True)):
        count = max(round(simulated * share), 1)
        first = member.person.initial + first_spread * prior.spread * rng.standard_normal(
            (count, world.size)
        )
        answers.append(
            played(world, member.person, drawn(world, rounds, count, rng), first, scatter, rng)
        )
        truth += [index] * count
    posterior = posterior_over(world, people, together(answers), prior)
    by_group, by_fill = shares(groups, posterior), shares(fills, posterior)
    weights = players.weights[truth] / np.bincount(truth)[truth]
    verdicts = _verdicts(by_group, [true_groups[i] for i in truth], weights)
    labels = [f"{group}, {fill}" for group, fill in zip(groups, fills, strict=True)]
    true_labels = [f"{g}, {f}" for g, f in zip(true_groups, true_fills, strict=True)]
    about_group = _bits(groups, people.weights, posterior, [true_groups[i] for i in truth], weights)
    about_both = _bits(
        list(labels), people.weights, posterior, [true_labels[i] for i in truth], weights
    )
    told = [by_fill[str(true_fills[i])][p] for p, i in enumerate(truth) if true_fills[i] in by_fill]
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


def read(diagnosis: Diagnosis, log: Log) -> Reading:
    """What a log of the block says about the kind of everybody in it.

    Parameters
    ----------
    diagnosis
        The block, and whom it tells apart.
    log
        What people answered.

    Returns
    -------
    Reading
        An exact posterior for everybody.

    Raises
    ------
    InvalidInput
        A log about other tests.

    Examples
    --------
    A log in which somebody always answers the same:

    >>> world = World.equicorrelated([0.0, 1.0], 0.8, 0.1, names=["weak", "strong"])
    >>> found = diagnose(world, rounds=24, simulated=60, search=False)
    >>> rounds = found.block.rounds
    >>> shown = np.array([[name in each.show for name in world.labels] for each in rounds])
    >>> log = Log(world.labels, ["ann"] * 24, range(24), shown, np.where(shown, 1.0, np.nan),
    ...           np.zeros(24), [1.0 if each.feedback else np.nan for each in rounds])
    >>> [person.name for person in read(found, log).people]
    ['ann']
    """
    return read_log(
        diagnosis.world, log, diagnosis.people, scatter=diagnosis.scatter, block=diagnosis.block
    )


def _shares(players: Crowd) -> FloatArray:
    """Shares of simulated people: as many of every kind that is rare as keeps its row readable."""
    weights = np.maximum(players.weights, 0.5 / len(players.members))
    shares_of: FloatArray = weights / weights.sum()
    return shares_of


def _bits(
    names: list[str | None],
    before: FloatArray,
    after: FloatArray,
    truth: Sequence[str | None],
    weights: FloatArray,
) -> float:
    """How much likelier the truth has become on average, in bits; 0 if it was never thought of."""
    prior, posterior = shares(names, before), shares(names, after)
    known = [(i, name) for i, name in enumerate(truth) if name is not None and name in prior]
    if not known:
        return 0.0
    gains = [np.log2(max(posterior[name][i], 1e-12) / prior[name]) for i, name in known]
    return float(np.average(gains, weights=weights[[i for i, _ in known]]))


def _verdicts(
    by_group: dict[str, FloatArray], truth: list[str | None], weights: FloatArray
) -> tuple[Verdicts, ...]:
    found = []
    outcomes = by_group.get(OUTCOMES, np.zeros(len(truth)))
    for group in dict.fromkeys(g for g in truth if g is not None):
        rows = np.array([g == group for g in truth])
        share = weights[rows] / weights[rows].sum()
        mine = by_group.get(group, np.zeros(len(truth)))[rows]
        others = [by_group[other][rows] for other in by_group if other != group]
        most = np.max(others, axis=0) if others else np.zeros(mine.shape)
        right, wrong = float(share @ (mine >= SURE)), float(share @ (most >= SURE))
        said = outcomes[rows] if group == OUTCOMES else 1.0 - outcomes[rows]
        yes, no = float(share @ (said >= SURE)), float(share @ (said <= 1.0 - SURE))
        found.append(Verdicts(group, right, 1.0 - right - wrong, wrong, (yes, 1.0 - yes - no, no)))
    return tuple(found)
