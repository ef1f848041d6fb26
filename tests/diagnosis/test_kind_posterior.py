"""Exact posteriors over kinds: against the filters, brute-force regression and simulated people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor.diagnosis.blocks import BlockRound
from preceptor.diagnosis.courses import decisive, drawn, probe, taught
from preceptor.diagnosis.kind_posterior import (
    Prior,
    log_evidence,
    posterior_over,
    usual_prior,
)
from preceptor.diagnosis.suspects import (
    GROUPS,
    IGNORING,
    KNOWING,
    NONE,
    OUTCOMES,
    SHOWINGS,
    fills_in,
    group_of,
    shares,
    suspects,
)
from preceptor.evidence.lockstep import affine_in_first_weights, played
from preceptor.people.followed import Followed

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
]


@pytest.fixture(scope="module")
def rounds():
    block = [taught(WORLD, (0,)), taught(WORLD, (1, 2)), probe(WORLD, (0, 1), (2.0, -2.0)),
             taught(WORLD, (0, 2)), BlockRound((WORLD.labels[1],), False)] * 4  # fmt: skip
    cases = drawn(WORLD, block, 3, 0)
    return played(WORLD, pr.DeltaRule(FIRST, 0.1), cases, scatter=0.5, rng=1)


def last_surprises(rounds):
    """Outcome minus answer of the last told round, one round after the other."""
    surprises, last = np.zeros(rounds.answers.shape), np.zeros(rounds.answers.shape[:-1])
    for t in range(len(rounds)):
        surprises[..., t] = last
        if rounds.told[t]:
            last = rounds.outcomes[..., t] - rounds.answers[..., t]
    return surprises


@pytest.mark.parametrize("person", PEOPLE, ids=lambda p: p.kind)
def test_evidence_is_the_product_of_the_filters_densities(person, rounds):
    prior = usual_prior(WORLD)
    found = log_evidence(WORLD, person, rounds, prior)
    surprises = last_surprises(rounds)
    for who in range(2):
        followed = Followed.begin(
            WORLD, person, prior.spread, extra_spread=(prior.constant, prior.level[1]),
            filters=prior.scatters.shape,
        )  # fmt: skip
        total = np.zeros(prior.scatters.size)
        for t in range(len(rounds)):
            seen = tuple(np.flatnonzero(rounds.shown[t]).tolist())
            filled = followed.filled(seen, rounds.values[who, t, list(seen)])
            surprise = surprises[who, t]
            answer = rounds.answers[who, t] - prior.level[0] * surprise
            extra = np.array([1.0, surprise])
            followed, density = followed.answered(filled, answer, prior.scatters**2, extra)
            total += density
            if rounds.told[t]:
                followed = followed.told(filled, rounds.shown[t], rounds.outcomes[who, t])
        np.testing.assert_allclose(found[who], total, rtol=1e-8)


def test_evidence_is_that_of_brute_force_regression(rounds):
    person, prior = PEOPLE[2], usual_prior(WORLD)
    design, offset = affine_in_first_weights(WORLD, person, rounds)
    surprise = last_surprises(rounds)
    mean = design @ FIRST + offset + prior.level[0] * surprise
    np.testing.assert_allclose(design @ FIRST + offset, played(WORLD, person, rounds).answers)
    for who in range(3):
        spread = design[who] * prior.spread
        covariance = spread @ spread.T + prior.constant**2
        covariance += prior.level[1] ** 2 * np.outer(surprise[who], surprise[who])
        for s, scatter in enumerate(prior.scatters):
            whole = covariance + scatter**2 * np.eye(len(rounds))
            left = rounds.answers[who] - mean[who]
            logdet = np.linalg.slogdet(2 * np.pi * whole)[1]
            density = -0.5 * (left @ np.linalg.solve(whole, left) + logdet)
            found = log_evidence(WORLD, person, rounds, prior)[who, s]
            assert found == pytest.approx(density)


def test_groups_are_found_by_how_weights_move():
    groups = [group_of(WORLD, person) for person in PEOPLE]
    assert groups == [NONE, SHOWINGS, OUTCOMES, OUTCOMES, OUTCOMES, SHOWINGS, OUTCOMES]
    assert [fills_in(PEOPLE[i]) for i in (0, 1, 2)] == [IGNORING, None, KNOWING]
    everybody = suspects(WORLD)
    prior = shares([group_of(WORLD, p) for p in everybody.people.values()], everybody.weights)
    assert {g: round(float(share), 9) for g, share in prior.items()} == dict.fromkeys(
        GROUPS, round(1 / 3, 9)
    )


def test_the_posterior_is_right_as_often_as_it_says():
    """People drawn from the prior: of those given a probability p, a share p are what it says."""
    world = pr.World.equicorrelated([0.0, 1.0], 0.8, 0.1)
    people, prior = suspects(world), usual_prior(world)
    groups = [group_of(world, p) for p in people.people.values()]
    rng = np.random.default_rng(2)
    block = decisive(world, (0,), (1,), 40)
    said, true = [], []
    for member, group in zip(people.members, groups, strict=True):
        count = max(round(600 * member.weight), 1)
        first = prior.spread * rng.standard_normal((count, 2))
        scatter = rng.choice(prior.scatters, p=prior.weights)
        cases = drawn(world, block, count, rng)
        answered = _with_nuisance(world, member.person, cases, first, scatter, prior, rng)
        said.append(answered)
        true.append(np.full(count, group == OUTCOMES))
    together = replace(
        said[0],
        **{f: np.concatenate([getattr(r, f) for r in said])
           for f in ("values", "answers", "outcomes")},
    )  # fmt: skip
    probability = shares(groups, posterior_over(world, people, together, prior))[OUTCOMES]
    truth = np.concatenate(true)
    for low, high in ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0)):
        within = (probability >= low) & (probability <= high)
        spread = np.sqrt(np.sum(probability[within] * (1 - probability[within])))
        assert abs(np.sum(truth[within] - probability[within])) < 4.5 * spread


def _with_nuisance(world, person, cases, first, scatter, prior: Prior, rng):
    """Answers with a constant and a level that follows the last surprise, as the prior has it."""
    count = first.shape[0]
    plain = played(world, person, cases, first).answers
    level = prior.level[0] + prior.level[1] * rng.standard_normal(count)
    constant = prior.constant * rng.standard_normal(count)
    answers, last = np.empty(plain.shape), np.zeros(count)
    for t in range(plain.shape[1]):
        answers[:, t] = plain[:, t] + constant + level * last
        answers[:, t] += scatter * rng.standard_normal(count)
        if cases.told[t]:
            last = cases.outcomes[:, t] - answers[:, t]
    return replace(cases, answers=answers)


def test_a_log_reads_the_same_wherever_and_goes_on_after_a_stop(tmp_path):
    from preceptor.diagnosis.log_reading import read_log
    from preceptor.simulation import RandomOrder, rollout

    world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    problem = pr.Problem(world, person, budget=1, horizon=12)
    human = person.acting(world, response_noise=0.2)
    order = RandomOrder([(0,), (1,)])
    log = rollout(problem, order, 12, people=40, rng=0, human=human).log
    here = read_log(world, log)
    journal = tmp_path / "read.jsonl"
    assert read_log(world, log, workers=2, resume=journal) == here
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:30])
    assert read_log(world, log, resume=journal) == here
    assert len(journal.read_text().splitlines()) == len(lines)
    assert [p.name for p in here.people] == list(log.participants)
