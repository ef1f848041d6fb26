"""`preceptor simulate`: play a plan with simulated people, those it was made for and others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import preceptor.cli._options as _options
from preceptor._base.discounting import rounds_until
from preceptor.advice.kinds import EVERYBODY, HUMANS
from preceptor.cli._app import app, examples
from preceptor.cli._console import check_target, echo_json, readable_errors, say, spinner
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import people_of
from preceptor.plan import Plan

if TYPE_CHECKING:
    from preceptor import Problem
    from preceptor.people.human import Human
    from preceptor.simulation import Comparison
    from preceptor.simulation.choosing import Chooser

# Rounds are played until this share of the discounted time is covered.
_COVERED, _MOST_ROUNDS = 0.95, 1_000

_EXAMPLES = examples(
    "preceptor simulate plan.json --people 200",
    "preceptor simulate plan.json --human forgets --noise 2 --log forgetful.csv",
    "preceptor simulate plan.json --human all --people 50",
)


@app.command(epilog=_EXAMPLES)
def simulate(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan file.")],
    people: _options.People = 200,
    human: Annotated[
        str | None,
        typer.Option(
            help="How the people learn, or a kind of `plan --person` (default: as those that the "
            "plan was made for).",
            metavar="|".join((*HUMANS, "all")),
            autocompletion=lambda: [*EVERYBODY, "all"],
        ),
    ] = None,
    rounds: _options.PlayedRounds = None,
    noise: _options.AnswerNoise = 0.0,
    log: Annotated[
        Path | None,
        typer.Option(help="Write a log of the plan's run: .csv, .jsonl or .parquet."),
    ] = None,
    seed: _options.PeopleSeed = 0,
    as_json: _options.AsJson = False,
) -> None:
    """Play a plan and its rivals with simulated people, and compare their losses."""
    with readable_errors():
        if log is not None:
            check_target(log, plan, endings=_options.LOG_ENDINGS)
        if human not in (None, "all", *EVERYBODY):
            raise InvalidInput(f"--human: {human!r}, must be one of {', '.join(EVERYBODY)} or all")
        if log is not None and human == "all":
            raise InvalidInput("--log: holds one kind of person; name it with --human")
        found = Plan.load(plan)
        played = rounds_worth_playing(found) if rounds is None else rounds
        from preceptor.simulation import RandomOrder, compare, most_predictive, rollout

        players = _players(found.problem, human, noise)
        rivals: dict[str, Chooser] = {
            "this plan": found,
            "most predictive": most_predictive(found.problem),
            "random order": RandomOrder.of(found.problem),
        }
        with spinner("simulating") as tell:
            table = compare(found.problem, rivals, players, played, people, rng=seed, progress=tell)
        if log is not None:
            person = _one_of(found.problem, players, noise)
            run = rollout(found.problem, found, played, people, rng=seed, human=person)
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
    """Who plays, by name: the people of the plan, or those of the cast who resemble them."""
    from preceptor.simulation import humans_of
    from preceptor.simulation.cast import acting_in
    from preceptor.simulation.named import human_named, resembled

    if human is None and not problem.learns_by_showings:
        everybody = people_of(problem).items()
        return {name: acting_in(problem, person, noise) for name, person in everybody}
    if human == "all":
        return humans_of(resembled(problem), response_noise=noise)
    name = human or "paper"
    return {HUMANS.get(name, name): human_named(problem, name, noise)}


def _one_of(problem: Problem, players: dict[str, Human], noise: float) -> Human:
    """The one who plays; for a crowd, whoever is drawn from it."""
    from preceptor.simulation.cast import acting_in

    if len(players) == 1:
        return next(iter(players.values()))
    return acting_in(problem, problem.learner, noise)


def rounds_worth_playing(plan: Plan) -> int:
    """Enough for most of the discounted weight."""
    problem = plan.problem
    if problem.horizon is not None:
        return min(problem.horizon, _MOST_ROUNDS)
    if problem.discount == 0.0:
        return 1
    return min(rounds_until(problem.discount, 1.0 - _COVERED), _MOST_ROUNDS)


def _expected(plan: Plan, table: Comparison) -> None:
    """What theory says about the person the plan was made for, over the same rounds."""
    if "paper" not in table.humans or not plan.problem.learns_by_showings:
        return
    from preceptor._base.discounting import discounted_sum
    from preceptor.evaluation.value import losses_along

    losses = losses_along(plan.problem, plan.policy.schedule(table.rounds))
    exact = discounted_sum(losses, plan.problem.discount)
    typer.echo(f"\nExact expected loss of this plan with the paper's learner: {exact:.6g}.")
