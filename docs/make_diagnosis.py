"""Tables about finding out how somebody learns, as Markdown: python docs/make_diagnosis.py [NAME].

`decisive`: how often the decisive design tells learning from outcomes from learning by showings,
beside practice that always shows both tests. `body_fat`: the block for the built-in example.
`push`: size and power of the push test.
"""

from __future__ import annotations

import sys

import numpy as np

import preceptor as pr
from preceptor.evidence._rounds import Rounds, played
from preceptor.evidence.courses import Step, course_of, decisive, drawn, ordinary
from preceptor.evidence.diagnosis import confirm, diagnose
from preceptor.evidence.push import pushed
from preceptor.evidence.suspects import NONE, group_of, suspects
from preceptor.people.crowd import Crowd
from preceptor.people.person import Person

RATE, SCATTER = 0.05, 0.6


def novices(n: int) -> dict[str, Person]:
    """Learners by showings and from outcomes, who fill in and who do not, all at one rate."""
    found: dict[str, Person] = {}
    for kappa in (0.0, 1.0):
        curve = pr.Geometric(1.0 / (1.0 - RATE))
        found[f"by showings, {kappa:g}"] = pr.Learner(np.zeros(n), curve, kappa)
        found[f"by outcomes, {kappa:g}"] = pr.DeltaRule(np.zeros(n), RATE, kappa)
    return found


def decisive_table(people: int = 600, lengths: tuple[int, ...] = (20, 40, 80)) -> str:
    """Right, undecided and wrong about learning from outcomes, by design, rounds and reader."""
    world = pr.World.equicorrelated([0.0, 1.0], 0.8, 0.1)
    scatter = SCATTER * world.outcome_variance**0.5
    everybody = suspects(world)
    learners = Crowd(
        {
            m.name: (m.person, m.weight)
            for m in everybody.members
            if group_of(world, m.person) != NONE
        }
    )
    lines = ["| shown | told apart | first weights | rounds | right | undecided | wrong |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for design in ("decisive", "both always shown"):
        for who, crowd in (("showings, outcomes", learners), ("also no learning", everybody)):
            for spread, first in ((0.0, "novice"), (1.0, "anything")):
                for rounds in lengths:
                    steps = (
                        decisive((0,), (1,), rounds)
                        if design == "decisive"
                        else ordinary((0, 1), rounds)
                    )
                    found = confirm(
                        world, crowd, steps, scatter,
                        simulated=people, truths=novices(2), first_spread=spread,
                    )  # fmt: skip
                    means = np.mean([v.question for v in found.verdicts], axis=0)
                    shares = " | ".join(f"{share:.2f}" for share in means)
                    lines.append(f"| {design} | {who} | {first} | {rounds} | {shares} |")
    return "\n".join(lines)


def body_fat_table(people: int = 400) -> str:
    """The block for the built-in example, and how surely it tells."""
    from preceptor.datasets import load_body_fat
    from preceptor.estimation.sources import fit_source

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
    lines = ["| people | shown | one person: push ± error, rejected | twenty people | placebo |",
             "|---|---|---|---|---|"]  # fmt: skip
    for name, person in novices(4).items():
        for shown, steps in (("one pair", [Step((0, 1), True)] * 80),
                             ("random pairs", [Step(p, True) for p in pairs])):  # fmt: skip
            cases = drawn(world, course_of(world, steps), 20 * repeats // 4, rng)
            done = played(world, person, cases, None, scatter, rng)
            each = [Rounds(done.shown, done.told, *parts) for parts in
                    zip(done.values, done.answers, done.outcomes, strict=True)]  # fmt: skip
            alone = [pushed(world, [r]) for r in each[: 2 * repeats]]
            many = [pushed(world, each[i : i + 20]) for i in range(0, len(each), 20)]
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


TABLES = {"decisive": decisive_table, "body_fat": body_fat_table, "push": push_table}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or list(TABLES):
        print(f"\n## {wanted}\n\n{TABLES[wanted]()}")
