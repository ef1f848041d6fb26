"""Exact posteriors over kinds: against the filters, brute-force regression and simulated people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import preceptor as pr
from preceptor.learners.diagnostic_blocks import (
    BlockRound,
    draw_cases,
    probe,
    teaching_round,
)
from preceptor.learners.families import GROUPS, NONE, OUTCOMES, SHOWINGS
from preceptor.learners.filter_bank import FilterBank
from preceptor.learners.kind_posterior import (
    IGNORING,
    KNOWING,
    candidate_learners,
    fills_in,
    group_of,
    posterior_over,
    read_log,
    shares,
)
from preceptor.learners.posterior import PRIOR, first_spread
from preceptor.learners.records import affine_in_first_weights, filled_in, simulate_answers
from preceptor.people.acting import Imputer

WORLD = pr.World([0.1, 1.0, 0.4], [[1.0, 0.8, 0.2], [0.8, 1.0, 0.1], [0.2, 0.1, 2.0]], 0.3)
FIRST = np.array([0.3, -0.2, 0.1])
PEOPLE = [
    pr.NoLearning(FIRST, 1.0),
    pr.Learner(FIRST, pr.Geometric(1.1, floor=0.1), 0.5),
    pr.DeltaRule(FIRST, 0.08),
    pr.DeltaRule(FIRST, 0.08, 1.0, decay=0.5),
    pr.Bayesian(FIRST, 1.0, 0.5),
    pr.Forgetful(FIRST, pr.Geometric(1.1)),
    pr.Folding(FIRST, pr.Geometric(1.1), 1.0),
    pr.WithLevel(pr.DeltaRule([*FIRST, 0.4], 0.08)),
    pr.WithLevel(pr.Bayesian([*FIRST, -0.3], 1.0, 0.5)),
    pr.WithLevel(pr.NoLearning([*FIRST, 0.4]), rate=0.1),
]


@pytest.fixture(scope="module")
def rounds():
    block = [
        teaching_round(WORLD, (0,)),
        teaching_round(WORLD, (1, 2)),
        probe(WORLD, (0, 1), (2.0, -2.0)),
        teaching_round(WORLD, (0, 2)),
        BlockRound((WORLD.labels[1],), False),
    ] * 4
    cases = draw_cases(WORLD, block, 3, 0)
    return simulate_answers(WORLD, pr.DeltaRule(FIRST, 0.1), cases, scatter=0.5, rng=1)


def last_surprises(rounds):
    """Outcome minus answer of the last told round, one round after the other."""
    surprises, last = np.zeros(rounds.answers.shape), np.zeros(rounds.answers.shape[:-1])
    for t in range(len(rounds)):
        surprises[..., t] = last
        if rounds.told[t]:
            last = rounds.outcomes[..., t] - rounds.answers[..., t]
    return surprises


CROWD = pr.Crowd({p.kind + str(i): (p, 1.0 + i) for i, p in enumerate(PEOPLE)})


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_posterior_is_that_of_a_tutor(rounds, noise):
    """Batch and online: two implementations of one posterior, none of these included."""
    found = posterior_over(WORLD, CROWD, rounds, first_spread(WORLD), noise)
    for who in range(3):
        bank = FilterBank.begin(WORLD, PEOPLE, CROWD.weights, process_noise=noise)
        for t in range(len(rounds)):
            seen = tuple(np.flatnonzero(rounds.shown[t]).tolist())
            values, answer = rounds.values[who, t, list(seen)], float(rounds.answers[who, t])
            bank = bank.answered(seen, values, answer)
            if rounds.told[t]:
                bank = bank.told(seen, values, float(rounds.outcomes[who, t]), answer)
        np.testing.assert_allclose(found[who], bank.kinds, rtol=1e-8)


def dense_log_evidence(rounds, who, mean, spread):
    """One normal distribution of all answers, integrated over widths on a fine grid."""
    unit, surprise = np.sqrt(WORLD.outcome_variance), last_surprises(rounds)[who]
    left = rounds.answers[who] - mean - 0.2 * surprise
    spread = spread + (0.25 * unit) ** 2 + 0.3**2 * np.outer(surprise, surprise)
    widths = np.linspace(np.log(0.02), np.log(4.4), 250)
    logs = [
        multivariate_normal.logpdf(left, None, spread + (np.exp(u) * unit) ** 2 * np.eye(left.size))
        for u in widths
    ]
    prior = norm.logpdf(widths, np.log(0.5), 0.6)
    return logsumexp(logs + prior) + np.log(widths[1] - widths[0])


def test_the_posterior_is_that_of_brute_force_regression(rounds):
    scale = np.sqrt(WORLD.outcome_variance / np.diag(WORLD.covariance))
    two = pr.Crowd({"a": (PEOPLE[1], 0.3), "b": (PEOPLE[2], 0.7)})
    found = posterior_over(WORLD, two, rounds, first_spread(WORLD))
    for who in range(3):
        logs = []
        for member in two.members:
            design, *_ = affine_in_first_weights(WORLD, member.person, rounds)
            mean = simulate_answers(WORLD, member.person, rounds).answers[who]
            columns = 0.5 * design[who] * scale
            logs.append(dense_log_evidence(rounds, who, mean, columns @ columns.T))
        logs.append(dense_log_evidence(rounds, who, *strangers_answers(rounds, who, scale)))
        logs += np.log([0.95 * 0.3, 0.95 * 0.7, 0.05])
        np.testing.assert_allclose(found[who], np.exp(logs - logsumexp(logs)), atol=1e-4)


def strangers_answers(rounds, who, scale):
    """Mean and covariance of the answers of none of these, from draws of nothing: by definition."""
    unit, sds = np.sqrt(WORLD.outcome_variance), np.sqrt(np.diag(WORLD.covariance))
    filled = filled_in(
        Imputer(pr.NoLearning(np.zeros(3), 0.5).imputing_covariance(WORLD)),
        rounds.shown, rounds.values[who],
    )  # fmt: skip
    length = len(rounds)
    weights = [0.5 * s * e for s, e in zip(scale, np.eye(3), strict=True)]
    columns = [filled @ w for w in weights]
    for step in np.flatnonzero(rounds.told):
        later = np.arange(length) > step
        columns += [later * (filled @ (PRIOR.drift * s * e))
                    for s, e in zip(scale, np.eye(3), strict=True)]  # fmt: skip
    memory, push, z = np.zeros(length), np.zeros(length), rounds.values[who] / sds
    for t in range(length):
        total = weight = 0.0
        for s in range(t):
            if rounds.told[s]:
                seen = rounds.shown[t]
                similar = np.exp(-1.5 * np.abs(z[t, seen] - z[s, seen]).sum())
                total += similar * rounds.outcomes[who, s] / unit
                weight += similar
                off = (rounds.outcomes[who, s] - rounds.answers[who, s]) / unit
                push[t] += min(max(off, -0.5), 0.5) * z[s] @ (filled[t] / sds)
        memory[t] = total / weight if weight else 0.0
    columns += [unit * memory, 0.1 * unit * push]
    design = np.column_stack(columns)
    return filled @ FIRST, design @ design.T


def test_groups_are_found_by_how_weights_move():
    groups = [group_of(WORLD, person) for person in PEOPLE]
    assert groups[:7] == [NONE, SHOWINGS, OUTCOMES, OUTCOMES, OUTCOMES, SHOWINGS, OUTCOMES]
    assert groups[7:] == [OUTCOMES, OUTCOMES, NONE]
    assert [fills_in(PEOPLE[i]) for i in (0, 1, 2)] == [IGNORING, None, KNOWING]
    everybody = candidate_learners(WORLD)
    prior = shares([group_of(WORLD, p) for p in everybody.people.values()], everybody.weights)
    assert {g: round(float(share), 9) for g, share in prior.items()} == dict.fromkeys(
        GROUPS, round(1 / 3, 9)
    )


@pytest.mark.full
def test_a_log_reads_the_same_wherever_and_goes_on_after_a_stop(tmp_path):
    from preceptor.simulation.choosing import RandomOrder
    from preceptor.simulation.rollouts import rollout

    world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    problem = pr.Problem(world, person, budget=1, horizon=12)
    human = person.acting(world, response_noise=0.2)
    order = RandomOrder([(0,), (1,)])
    log = rollout(problem, order, 12, people=10, rng=0, human=human).log
    here = read_log(world, log)
    journal = tmp_path / "read.jsonl"
    assert read_log(world, log, workers=2, resume=journal) == here
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:30])
    assert read_log(world, log, resume=journal) == here
    assert len(journal.read_text().splitlines()) == len(lines)
    assert [p.name for p in here.people] == list(log.participants)
