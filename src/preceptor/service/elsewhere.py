"""/v1/people/{id}/log: rounds that were done elsewhere, in the library's log format."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.errors import InvalidInput
from preceptor.service.answers import REFUSALS, AddedAnswer
from preceptor.service.guides import Guide
from preceptor.service.live import live_of
from preceptor.service.of_studies import must_be_free
from preceptor.service.schemas import Logged, LoggedRound, Who
from preceptor.service.scopes import needs
from preceptor.service.views import answer
from preceptor.store import elsewhere, people
from preceptor.store.clock import written
from preceptor.store.elsewhere import Done

router = APIRouter(prefix="/v1/people/{who}", tags=["log"], responses=REFUSALS)


@router.post("/log", response_model=AddedAnswer, dependencies=[needs("write")])
async def add(request: Request, who: Who, said: Logged) -> Response:
    """Add rounds by their number; those that are there already change nothing."""
    live = live_of(request)

    def work(connection: Connection) -> dict[str, object]:
        person = must_be_free(people.find(connection, who, to_change=True))
        guide = live.book.guide(connection, person.plan)
        new, after = elsewhere.add(connection, person, _done(guide, said.rounds))
        return {
            "person": who,
            "added": new,
            "rounds": after.rounds,
            "counts": guide.words.by_test(after.counts),
        }

    return answer(await live.store.writing(work))


def _done(guide: Guide, given: list[LoggedRound]) -> list[Done]:
    """Rounds in the words of the world, all of their faults at once."""
    found, faults = [], []
    for each in given:
        try:
            found.append(_one(guide, each))
        except InvalidInput as error:
            faults += [f"round {each.round}, {fault}" for fault in error.faults]
    numbers = [each.round for each in given]
    if len(set(numbers)) != len(numbers):
        faults.append("rounds: a number comes twice; each round has a number of its own")
    InvalidInput.raise_if(faults[:20])
    return found


def _one(guide: Guide, given: LoggedRound) -> Done:
    if len(given.shown) != len(given.values):
        raise InvalidInput(f"values: {len(given.values)} for {len(given.shown)} tests shown")
    words = guide.words
    seen = words.seen(given.shown, dict(zip(given.shown, given.values, strict=False)))
    feedback = given.outcome is not None if given.feedback is None else given.feedback
    if feedback and given.outcome is None:
        raise InvalidInput("feedback: true, but there is no outcome")
    return Done(
        number=given.round,
        shown=seen.labels,
        values=seen.values,
        prediction=words.answer(given.prediction),
        outcome=None if given.outcome is None else words.outcome(given.outcome),
        feedback=feedback,
        when=None if given.when is None else written(given.when),
        taught=words.counted(seen.labels),
    )
