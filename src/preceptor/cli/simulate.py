"""`preceptor simulate`: play a plan with simulated people and compare it with its rivals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import preceptor.cli._options as _options
from preceptor._base.numerics import discounted_sum, rounds_until
from preceptor.cli._app import app, examples
from preceptor.cli._console import argument, check_target, echo_json, option, say, spinner
from preceptor.errors import InvalidInput
from preceptor.model.evaluation import losses_along, people_of
from preceptor.model.plan import Plan
from preceptor.simulation.named import (
    EXEMPLAR,
    HUMAN_NAMES,
    HUMANS,
    acting_in,
    human_named,
    humans_of,
    resembled,
)

if TYPE_CHECKING:
    from preceptor import Problem
    from preceptor.people.human import Human
    from preceptor.simulation.choosing import Chooser
    from preceptor.simulation.comparison import Comparison

# Play rounds until this share of the discounted weight is covered.
_COVERED, _MOST_ROUNDS = 0.95, 1_000
# People per cell; an assistant that looks at cases takes some milliseconds for every decision.
_PEOPLE, _FEW = 200, 20
_CASE_AWARE = "case-aware"
_POLICIES = ("plan", _CASE_AWARE)

_EXAMPLES = examples(
    "preceptor simulate plan.json --people 200",
    "preceptor simulate plan.json --human forgets --noise 2 --log forgetful.csv",
    "preceptor simulate plan.json --human all --people 50",
    "preceptor simulate plan.json --policy case-aware --tau 30 --human lms --noise 2",
)


@app.command(epilog=_EXAMPLES)
def simulate(
    plan: Annotated[Path, argument("Plan file.", "PLAN")],
    people: Annotated[
        int | None,
        option(f"Number of simulated people (default: {_PEOPLE}; {_FEW} with case-aware).", min=1),
    ] = None,
    policy: Annotated[
        str,
        option(
            "What is compared with its rivals: the plan, or an assistant that looks at each case.",
            words=_POLICIES,
        ),
    ] = "plan",
    tau: Annotated[
        float | None,
        option(
            "With case-aware: cases decided alone that one aided case is worth; inf for teaching "
            "only (default: 30 if it knows anything of the case).",
            min=0,
        ),
    ] = None,
    knows: Annotated[
        list[str] | None,
        option(
            "With case-aware: a test whose result it knows before it chooses; repeatable "
            "(default: all).",
            metavar="TEST",
        ),
    ] = None,
    human: Annotated[
        str | None,
        option(
            "Kind of learner, or a kind of `plan --person` (default: the plan's own person).",
            words=(*HUMAN_NAMES, "all"),
            metavar="|".join((*HUMANS, EXEMPLAR, "all")),
        ),
    ] = None,
    rounds: _options.PlayedRounds = None,
    noise: _options.AnswerNoise = 0.0,
    log: Annotated[
        Path | None, option("Write the rounds played under the policy: .csv, .jsonl or .parquet.")
    ] = None,
    seed: _options.PeopleSeed = 0,
    as_json: _options.AsJson = False,
) -> None:
    """Play a plan and its rivals with simulated people, and compare their losses."""
    check_target(log, plan, endings=_options.LOG_ENDINGS)
    known = (*HUMAN_NAMES, "all")
    if human not in (None, *known):
        raise InvalidInput(f"--human: {human!r}, must be one of {', '.join(known)}")
    if policy not in _POLICIES:
        raise InvalidInput(f"--policy: {policy!r}, must be one of {', '.join(_POLICIES)}")
    if policy == "plan" and (tau is not None or knows):
        raise InvalidInput("--tau, --knows: describe --policy case-aware; add it")
    if log is not None and human == "all":
        raise InvalidInput("--log: records one kind of person; choose it with --human")
    found = Plan.load(plan)
    played = rounds_worth_playing(found) if rounds is None else rounds
    aware = policy == _CASE_AWARE
    people = people or (_FEW if aware else _PEOPLE)
    from preceptor.learners.case_policy import CaseAware
    from preceptor.simulation.choosing import RandomOrder, most_predictive
    from preceptor.simulation.comparison import compare
    from preceptor.simulation.rollouts import rollout

    players = _players(found.problem, human, noise)
    asked: Chooser = CaseAware(tau, tuple(knows) if knows else "case") if aware else found
    rivals: dict[str, Chooser] = {
        **({policy: asked} if aware else {}),
        "this plan": found,
        "most predictive": most_predictive(found.problem),
        "random order": RandomOrder.of(found.problem),
    }
    with spinner("simulating") as tell:
        table = compare(found.problem, rivals, players, played, people, rng=seed, progress=tell)
    if log is not None:
        person = _one_of(found.problem, players, noise)
        run = rollout(found.problem, asked, played, people, rng=seed, human=person)
        run.log.write(log, world=found.problem.world)
        say(f"Wrote {people * played:,} rounds to {log}")
    if as_json:
        head = {"people": people, "rounds": played, "weight": table.weight, "seed": table.seed}
        echo_json(head | {"rows": table.rows()})
    else:
        typer.echo(str(table))
        if noise == 0.0:
            _expected(found, table)


def _players(problem: Problem, human: str | None, noise: float) -> dict[str, Human]:
    """Simulated people by name: those of the plan, or similar people of other kinds."""
    if human is None and not problem.learns_by_showings:
        members = people_of(problem).items()
        return {name: acting_in(problem, person, noise) for name, person in members}
    if human == "all":
        cast = humans_of(resembled(problem), response_noise=noise)
        return (
            cast if problem.is_binary else cast | {EXEMPLAR: human_named(problem, EXEMPLAR, noise)}
        )
    name = human or "paper"
    return {HUMANS.get(name, name): human_named(problem, name, noise)}


def _one_of(problem: Problem, players: dict[str, Human], noise: float) -> Human:
    """The simulated person; for a crowd, one drawn from it."""
    if len(players) == 1:
        return next(iter(players.values()))
    return acting_in(problem, problem.learner, noise)


def rounds_worth_playing(plan: Plan) -> int:
    """Number of rounds that cover most of the discounted weight."""
    problem = plan.problem
    if problem.horizon is not None:
        return min(problem.horizon, _MOST_ROUNDS)
    if problem.discount == 0.0:
        return 1
    return min(rounds_until(problem.discount, 1.0 - _COVERED), _MOST_ROUNDS)


def _expected(plan: Plan, table: Comparison) -> None:
    """Print the exact expected loss for the plan's own person over the same rounds."""
    if "paper" not in table.humans or not plan.problem.learns_by_showings:
        return
    losses = losses_along(plan.problem, plan.policy.schedule(table.rounds))
    exact = discounted_sum(losses, plan.problem.discount)
    typer.echo(f"\nExact expected loss of this plan with the paper's learner: {exact:.6g}.")
