"""The table of docs/teach.md: cases until simulated trainees of every kind are close to an expert.

    python docs/make_teach_table.py [trainees of each kind]

They go through the pages of a course about the built-in example. "True" is computed from their
weights, which only a simulation knows; "estimated" is what the class page says.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from make_teach_pictures import site

from preceptor.advice.options import person_for
from preceptor.learners.case_choice import alone_shares
from preceptor.learners.case_rule import AloneLoss, SetMaps, alone_loss
from preceptor.live.course.course import Course, course_of, read
from preceptor.live.course.progress import CLOSE, curve_of
from preceptor.live.course.simulated import SimulatedTrainee, simulated_class
from preceptor.live.store import courses, rounds
from preceptor.live.store.database import Store
from preceptor.model.evaluation import people_of
from preceptor.model.person import Person
from preceptor.planning.candidate_sets import limited_to_candidates
from preceptor.simulation.named import person_of_kind

CASES = 60
STRANGERS = ("bayesian", "forgetful", "drifting", "indirect")


def strangers(course: Course) -> dict[str, Person]:
    """People of kinds that the tutor does not consider, with the usual half-life."""
    novice = course.problem.replace(learner=person_for(course.problem.world))
    return {f"{kind} (unknown)": person_of_kind(novice, kind, 14.0) for kind in STRANGERS}


def loss_of(course: Course, each: SimulatedTrainee) -> AloneLoss:
    """The true loss alone of a kind."""
    problem = course.problem
    sets = limited_to_candidates(problem).sets
    maps = SetMaps.of(each.human.person.imputing_covariance(problem.world), sets)
    return alone_loss(problem.world, maps, alone_shares(problem, sets, "any"))


def needed(errors: list[float]) -> float:
    """Cases until the error stays close, from errors before each case; infinite if it does not."""
    far = [i for i, error in enumerate(errors, start=1) if error > CLOSE]
    if not far:
        return 0.0
    return np.inf if far[-1] == len(errors) else float(far[-1])


def said(found: list[float]) -> str:
    """The median, or that most are not there yet."""
    middle = statistics.median(found)
    return f"{middle:.0f}" if np.isfinite(middle) else f"> {CASES}"


def main(people: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as kept, site(Path(kept)) as address:
        with Store(f"{kept}/course.db") as store:
            course = course_of(*store.read(read))
        known = people_of(course.problem) | strangers(course)
        kinds = list(known)
        names = [f"{kind} {i}" for i in range(people) for kind in kinds]
        print("| kind | true | estimated | true error after 10, 40 |")
        print("|---|---|---|---|")
        truth: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
        for each in simulated_class(course, address, names, 1, list(known.values())):
            loss = loss_of(course, each)
            errors = [loss(each.human.weights) / loss.best]
            page = each.join()
            while each.answers < CASES:
                before = each.answers
                page = each.turn(page)
                if each.answers > before:
                    errors.append(loss(each.human.weights) / loss.best)
            each.http.close()
            truth[each.name.rsplit(" ", 1)[0]].append(errors)
        with Store(f"{kept}/course.db") as store:
            everyone = store.read(courses.everyone)
            played = {e.name: store.read(lambda c, w=e.id: rounds.all_of(c, w)) for e in everyone}
        for kind in kinds:
            estimated = [
                needed([error for _, error in curve_of(course, played[f"{kind} {i}"]).alone])
                for i in range(people)
            ]
            after = [statistics.mean(one[n] for one in truth[kind]) for n in (10, 40)]
            cells = [said([needed(one) for one in truth[kind]]), said(estimated)]
            print(f"| {kind} | {' | '.join(cells)} | {after[0]:.2f}, {after[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
