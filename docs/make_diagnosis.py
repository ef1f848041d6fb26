"""Tables about diagnosing how a person learns, as Markdown: python docs/make_diagnosis.py [NAME].

`decisive`: how often the decisive design distinguishes learning from outcomes and by showings,
compared with practice that always shows both tests. `weak`: the same for other weights of the weak
test, on which it depends. `body_fat`: the block for the body-fat table. `push`: size and power of
the push test.

The order of probes was chosen by simulation; `decisive` and `weak` use other simulated people.
"""

from __future__ import annotations

import sys

import numpy as np

import preceptor as pr
from preceptor.learners.diagnosis import confirm, diagnose
from preceptor.learners.diagnostic_blocks import (
    BlockRound,
    decisive_design,
    draw_cases,
    teaching_round,
)
from preceptor.learners.families import NONE
from preceptor.learners.kind_posterior import candidate_learners, group_of
from preceptor.learners.push_test import push_test_of_rounds
from preceptor.learners.records import AnsweredRounds, simulate_answers
from preceptor.model.person import Person
from preceptor.people.crowd import Crowd

RATE, SCATTER = 0.05, 0.6
# Seeds that no choice of design has seen.
FRESH = (101, 102, 103)


def novices(n: int) -> dict[str, Person]:
    """Learners by showings and from outcomes, who fill in and who do not, all at one rate."""
    found: dict[str, Person] = {}
    for kappa in (0.0, 1.0):
        curve = pr.Geometric(1.0 / (1.0 - RATE))
        found[f"by showings, {kappa:g}"] = pr.Learner(np.zeros(n), curve, kappa)
        found[f"by outcomes, {kappa:g}"] = pr.DeltaRule(np.zeros(n), RATE, kappa)
    return found


def pair(weak: float) -> pr.World:
    """Two tests that go together, the first of this weight."""
    return pr.World.equicorrelated([weak, 1.0], 0.8, 0.1)


def told_apart(
    world: pr.World, steps: list[BlockRound], *, none: bool, spread: float, people: int
) -> tuple[float, float, float]:
    """Right, undecided, wrong about learning from outcomes; `none`: some may not learn at all."""
    crowd = Crowd(
        {
            m.name: (m.person, m.weight)
            for m in candidate_learners(world).members
            if none or group_of(world, m.person) != NONE
        }
    )
    found = [
        confirm(
            world, crowd, steps, SCATTER * world.outcome_variance**0.5,
            simulated=people // len(FRESH), truths=novices(2), first_spread=spread, seed=seed,
        )
        for seed in FRESH
    ]  # fmt: skip
    right, open_, wrong = np.mean([v.question for d in found for v in d.verdicts], axis=0)
    return float(right), float(open_), float(wrong)


def decisive_table(people: int = 900, lengths: tuple[int, ...] = (20, 40, 80)) -> str:
    """By design, rounds, who is told apart, and first weights; the weak test has no weight."""
    lines = ["| shown | told apart | first weights | rounds | right | undecided | wrong |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    world = pair(0.0)
    for design in ("decisive", "both always shown"):
        for none, who in ((False, "showings, outcomes"), (True, "also no learning")):
            for spread, first in ((0.0, "novice"), (1.0, "anything")):
                for rounds in lengths:
                    ready = decisive_design(world, (0,), (1,), rounds)
                    steps = (
                        ready if design == "decisive" else [teaching_round(world, (0, 1))] * rounds
                    )
                    shares = told_apart(world, steps, none=none, spread=spread, people=people)
                    cells = " | ".join(f"{share:.2f}" for share in shares)
                    lines.append(f"| {design} | {who} | {first} | {rounds} | {cells} |")
    return "\n".join(lines)


def weak_table(people: int = 3000) -> str:
    """Forty rounds of the decisive design with novices, by the weight of the weak test."""
    lines = ["| weight of the weak test | told apart | right | undecided | wrong |",
             "|---|---|---|---|---|"]  # fmt: skip
    for weak in (-0.2, 0.0, 0.1, 0.2, 0.3):
        for none, who in ((False, "showings, outcomes"), (True, "also no learning")):
            world = pair(weak)
            steps = decisive_design(world, (0,), (1,), 40)
            shares = told_apart(world, steps, none=none, spread=0.0, people=people)
            cells = " | ".join(f"{share:.3f}" for share in shares)
            lines.append(f"| {weak:g} | {who} | {cells} |")
    return "\n".join(lines)


def body_fat_table(people: int = 400) -> str:
    """The block for the table of thirteen tests, and how surely it tells."""
    from body_fat import load_body_fat

    from preceptor.data.world_fitting import fit_source

    world = fit_source(load_body_fat(), None).world
    found = diagnose(world, budget=3, simulated=people)
    lines = [found.in_words(), "", "| group | right | undecided | wrong |", "|---|---|---|---|"]
    lines += [f"| {v.group} | {v.right:.2f} | {v.undecided:.2f} | {v.wrong:.2f} |"
              for v in found.verdicts]  # fmt: skip
    return "\n".join(lines)


def push_table(repeats: int = 100) -> str:
    """How often the push test rejects at 5%, for one person and for twenty, 80 rounds each."""
    world = pr.World.equicorrelated([0.6, 0.4, 0.5, -0.3], 0.5, 0.3)
    scatter = SCATTER * world.outcome_variance**0.5
    rng = np.random.default_rng(0)
    pairs = [tuple(sorted(rng.choice(4, 2, replace=False).tolist())) for _ in range(80)]
    one_person = "one person: push ± error, share rejected"
    lines = [f"| people, κ | shown | {one_person} | twenty people | placebo |",
             "|---|---|---|---|---|"]  # fmt: skip
    for name, person in novices(4).items():
        for shown, steps in (
            ("one pair", [teaching_round(world, (0, 1))] * 80),
            ("random pairs", [teaching_round(world, p) for p in pairs]),
        ):
            cases = draw_cases(world, steps, 20 * repeats // 4, rng)
            done = simulate_answers(world, person, cases, None, scatter, rng)
            each = [AnsweredRounds(done.shown, done.told, *parts) for parts in
                    zip(done.values, done.answers, done.outcomes, strict=True)]  # fmt: skip
            alone = [push_test_of_rounds(world, [r]) for r in each[: 2 * repeats]]
            many = [push_test_of_rounds(world, each[i : i + 20]) for i in range(0, len(each), 20)]
            push = np.mean([t.past.coefficient for t in alone if t.past])
            error = np.mean([t.past.error for t in alone if t.past])
            one, twenty, placebo = (
                np.mean([p.p < 0.05 for p in found if p is not None])
                for found in (
                    [t.past for t in alone], [t.past for t in many], [t.future for t in alone],
                )
            )  # fmt: skip
            lines.append(f"| {name} | {shown} | {push:.3f} ± {error:.3f}, {one:.2f} | {twenty:.2f} "
                         f"| {placebo:.2f} |")  # fmt: skip
    return "\n".join(lines)


TABLES = {
    "decisive": decisive_table,
    "weak": weak_table,
    "body_fat": body_fat_table,
    "push": push_table,
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or list(TABLES):
        print(f"\n## {wanted}\n\n{TABLES[wanted]()}")
