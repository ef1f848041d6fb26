"""What a policy costs people who do not learn by showings, found by letting many of them play.

Solvers work with what is *expected* of a person; here people *act*, case by case, and losses are
averaged. The two faces of a person share nothing but the person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.score_pairs import ScorePair
from preceptor.model.sets import SetFamily
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.crowd import Crowd
from preceptor.people.human import Sessions
from preceptor.people.person import Person
from preceptor.policies import Policy
from preceptor.problem import Problem

_PEOPLE, _GROUP = 4_000, 250
# Rounds are played until those to come weigh less than this share; the last tenth stands for them.
_LEFT = 0.01
_MOST_ROUNDS = 3_000


@dataclass(frozen=True, eq=False)
class Played:
    """Average discounted losses with standard errors, and how many people and rounds were played.

    `means` and `errors` (kinds,) are those of each kind of person; `inexact` (kinds,) says of whom
    only approximate costs are expected, and `approximate` how much of the value comes from them.
    """

    value: float
    standard_error: float
    people: int
    rounds: int
    means: FloatArray
    errors: FloatArray
    inexact: npt.NDArray[np.bool_]
    approximate: float


def played_value(problem: Problem, policy: Policy, seed: int = 0) -> Played:
    """Play a policy with simulated people of the problem's kind, or of every kind of its crowd."""
    if isinstance(problem.learner, Crowd):
        members = [(m.person, m.weight) for m in problem.learner.members]
    else:
        members = [(problem.learner, 1.0)]
    totals = [_play(problem, policy, person, seed) for person, _ in members]
    shares = np.array([weight for _, weight in members])
    means = np.array([float(each.mean()) for each in totals])
    errors = np.array([float(each.std(ddof=1) / np.sqrt(each.size)) for each in totals])
    sets = _shown(problem, policy)
    exact = [
        person.expectation(problem.world, sets, problem.start, problem.risk).exact
        for person, _ in members
    ]
    inexact = ~np.array(exact)
    return Played(
        value=float(shares @ means),
        # Everybody meets the same cases, so their errors may all point the same way.
        standard_error=float(shares @ errors),
        people=_PEOPLE // _GROUP * _GROUP,
        rounds=_rounds(problem),
        means=means,
        errors=errors,
        inexact=inexact,
        approximate=float(shares @ (means * inexact)),
    )


def _shown(problem: Problem, policy: Policy) -> SetFamily:
    """What the policy ever shows; beside nothing at all some other set, since no budget is that."""
    used, budget = list(policy.used_sets()), problem.budget
    if not any(used):
        used.append(next(shown for shown in budget.subsets(problem.size) if shown))
    return budget.listing(used).sets(problem.size)


def _rounds(problem: Problem) -> int:
    return problem.horizon or _rounds_that_count(problem.discount)


def _play(problem: Problem, policy: Policy, person: Person, seed: int) -> FloatArray:
    """Discounted loss of each person (people,)."""
    discount, horizon = problem.discount, problem.horizon
    rounds = _rounds(problem)
    schedule = policy.schedule(rounds)
    sets = tuple(dict.fromkeys(schedule))
    where = {shown: position for position, shown in enumerate(sets)}
    path = np.array([where[shown] for shown in schedule], dtype=np.int64)
    prices = problem.budget.prices(problem.size)
    charged = np.array([prices[list(shown)].sum() for shown in schedule])
    weights = discount ** np.arange(rounds)
    last = max(rounds // 10, 1)
    rng = np.random.default_rng(seed)
    totals = []
    acting = person.acting(problem.world, problem.start, risk=problem.risk)
    for _ in range(_PEOPLE // _GROUP):
        cases = problem.world.sample(_GROUP * rounds, rng)
        shape = (_GROUP, rounds)
        features = cases.features.reshape(*shape, problem.size)
        outcomes = cases.outcomes.reshape(shape)
        which = np.broadcast_to(path, shape).copy()
        shown = np.zeros((rounds, problem.size), dtype=np.bool_)
        for t, tests in enumerate(schedule):
            shown[t, list(tests)] = True
        sessions = Sessions(sets, which, np.where(shown, features, np.nan), outcomes)
        streams = [np.random.default_rng(int(s)) for s in rng.integers(2**31, size=_GROUP)]
        answers = acting.predict_many(sessions, streams)
        if isinstance(problem.risk, YesNoRisk):
            losses = problem.risk.charge(answers, outcomes) + charged
        else:
            losses = (outcomes - answers) ** 2 + charged
        total = losses @ weights
        if horizon is None:
            total += discount**rounds / (1.0 - discount) * losses[:, -last:].mean(axis=1)
        totals.append(total)
    return np.concatenate(totals)


def _rounds_that_count(discount: float) -> int:
    if discount == 0.0:
        return 1
    return min(int(np.ceil(np.log(_LEFT) / np.log(discount))), _MOST_ROUNDS)


def slow_floor(problem: Problem) -> float:
    """What no round can go below, set by set, from textbook algebra, over all rounds."""
    world = problem.world
    sigma, a = world.covariance, world.coefficients
    prices = problem.budget.prices(problem.size)
    least = np.inf
    for shown in problem.sets:
        s = list(shown)
        target = (sigma @ a)[s]
        explained = target @ np.linalg.solve(sigma[np.ix_(s, s)], target) if s else 0.0
        left = max(float(a @ sigma @ a - explained), 0.0)
        if isinstance(problem.risk, YesNoRisk):
            assert world.outcome is not None
            known = np.array([min(float(explained), world.score_variance)])
            reader = ScorePair.best_reader(
                world.outcome.from_score, world.base_score, world.score_variance, known
            )
            charge = float(problem.risk.best(reader)[0])
        else:
            charge = world.noise_variance + left
        least = min(least, charge + float(prices[s].sum()))
    discount, horizon = problem.discount, problem.horizon
    if horizon is None:
        return least / (1.0 - discount)
    return least * float(np.sum(discount ** np.arange(horizon)))
