"""What happens to a participant at each step of a study, as a function of one transaction.

An answer is one transaction: it records what was said, tells the outcome where the case has
feedback, moves to the next step, assigns an arm at the first case, and opens the round of the case
that comes next. Only where a tutor has to plan first is that round opened by a second transaction.
Pages and forms are `web`'s; rows are `store`'s.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from preceptor.learners.tutor import Tutor
from preceptor.live.ai_advice import ENOUGH, WrongWeight, ai_advice, follower, wrong_weights
from preceptor.live.service.guides import PlanGuide
from preceptor.live.service.live import RoundAdvice, Snapshot
from preceptor.live.service.tutors import Tutors
from preceptor.live.store import participants, people, plans, rounds, studies
from preceptor.live.store.chain import later, seconds_until
from preceptor.live.store.participants import Holding, Participant
from preceptor.live.store.plans import HeldCase
from preceptor.live.store.rounds import Offer
from preceptor.live.store.tables import Conflict
from preceptor.live.study.arms import Arm
from preceptor.live.study.cases import ArmDraw, Filled, case_list, draw, pool_rows
from preceptor.live.study.config import Instructions, Testing, Training
from preceptor.live.study.study import Protocol, Step, Study, Trial
from preceptor.live.wording import Words
from preceptor.simulation.choosing import RandomOrder


@dataclass(frozen=True, eq=False)
class LiveStudy:
    """A study that people take part in; nothing in it changes once the study is open.

    Attributes
    ----------
    study
        The study as its file describes it.
    arms
        Its policies by name, in the order of the file.
    plans
        The hash of each arm's plan, by name.
    guide
        The first arm's plan; all arms have the same tests.
    key
        Key of the hashes of recruiters' names for participants.
    """

    study: Study
    arms: dict[str, Arm]
    plans: dict[str, str]
    guide: PlanGuide
    key: str

    @property
    def id(self) -> str:
        """Its name in addresses."""
        return self.study.id

    @property
    def words(self) -> Words:
        """The words of its pages."""
        return self.study.words

    @property
    def protocol(self) -> Protocol:
        """The steps that participants go through."""
        return self.study.protocol

    @cached_property
    def holding(self) -> Holding:
        """Who holds a place."""
        said = self.study.configuration.recruiting
        return Holding(self.protocol.agreed_at, said.drop_after, said.release_after)

    def step(self, stage: int) -> Step:
        """The step of that number."""
        return self.protocol.steps[stage]

    def trial(self, step: Step) -> Trial:
        """The trial whose case a step asks about, or whose outcome it tells."""
        return self.protocol.trials[step.index]

    @cached_property
    def _schedules(self) -> dict[tuple[str, int], list[tuple[int, ...]]]:
        return {}

    def settled(self, who: Participant, trial: Trial) -> RoundAdvice | None:
        """What a participant with an arm is shown in a trial; None where a tutor decides."""
        if trial.show is not None:
            columns = tuple(sorted(self.study.columns(trial.show)))
            return RoundAdvice(columns, "The same in every arm.")
        assert who.arm is not None
        assert who.place is not None
        assert trial.training is not None
        own = self.arms[who.arm]
        if own.is_adaptive:
            return None
        chance = own.chooser if isinstance(own.chooser, RandomOrder) else None
        key = (who.arm, -1 if chance is None else who.place)
        if key not in self._schedules:
            seed, length = self.study.configuration.seed, self.study.training_rounds
            made = own.schedule(length, seed, who.place)
            assert made is not None
            self._schedules[key] = made
        propensity = 1.0 if chance is None else 1.0 / len(chance.sets)
        reason = f"Arm {who.arm}, round {trial.training + 1} of training."
        return RoundAdvice(self._schedules[key][trial.training], reason, propensity)

    def looking(self, connection: Connection, who: Participant, asked: Snapshot) -> Snapshot:
        """What a participant's tutor is asked, with the results it may look at, if it may."""
        own, person = None if who.arm is None else self.arms[who.arm], asked.person
        if own is None or own.in_view is None or person.case_list is None:
            return asked
        policy = own.in_view
        if own.pool is not None:
            cases = plans.cases_of(connection, person.case_list)
            pool = {row: cases[row] for row in pool_rows(self.study, own.pool)}
            return replace(asked, policy=policy.to_dict(), pool=pool)
        held = plans.case_of(connection, person.case_list, person.rounds).values
        results = np.array([np.nan if each is None else float(each) for each in held])
        seen = policy.known(self.study.problem.world, results)
        known = None if seen is None else tuple(None if np.isnan(x) else float(x) for x in seen)
        return replace(asked, known=known, policy=policy.to_dict())

    def advice(self, who: Participant, trial: Trial) -> str:
        """What kind of advice the page of a trial has."""
        if trial.training is None or who.arm is None:
            return "none"
        return next(a.advice for a in self.study.configuration.arm if a.name == who.arm)

    def needs_contrast(self, who: Participant) -> bool:
        """Whether the page of a participant's case says what they weigh wrongly."""
        step = self.step(who.stage)
        return step.kind == "ask" and self.advice(who, self.trial(step)) == "contrast"

    @cached_property
    def _followers(self) -> Tutors:
        return Tutors()

    @cached_property
    def _follower(self) -> Tutor:
        return follower(self.study.problem)

    def contrast(self, asked: Snapshot) -> list[WrongWeight]:
        """Tests that a participant seems to weigh wrongly; takes longer than a look-up."""
        record = asked.record.rounds
        if len(record) < ENOUGH:
            return []
        who = asked.person
        return wrong_weights(self._followers.of(lambda: self._follower, who.plan, who.id, record))

    def forget(self, who: str) -> None:
        """Drop everything about an erased participant from memory."""
        self._followers.forget(who)

    def needs_tutor(self, who: Participant) -> bool:
        """Whether a tutor decides what the case of a participant's step shows."""
        step = self.step(who.stage)
        if step.kind != "ask" or who.arm is None or not who.is_active:
            return False
        return self.settled(who, self.trial(step)) is None


def take(connection: Connection, here: LiveStudy, who: str, stage: int, said: Any) -> Participant:
    """Record what a participant said at a step, and move on.

    Parameters
    ----------
    connection
        Of a transaction that may write.
    here
        The study.
    who
        The participant.
    stage
        The step that the form names.
    said
        As the form of that kind of step was read.

    Returns
    -------
    Participant
        At the next step, or ended.

    Raises
    ------
    Conflict
        They are at another step; nothing was written.
    """
    found = participants.find(connection, who, to_change=True)
    participants.must_be_at(found, stage)
    if is_back(here, found):
        found = arrive(connection, here, found)
        if not found.is_active:
            return found
    step = here.step(stage)
    return _ANSWERS[step.kind](connection, here, found, step, said)


def _consent(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, agrees: bool
) -> Participant:
    """Consent reserves a place, so that no client that only joins can take one."""
    participants.say(connection, who, "consent", agrees)
    if not agrees:
        code = here.study.configuration.completion.no_consent
        return participants.end(connection, who, "no consent", code)
    if not _finds_place(connection, here, who):
        return _screen_out(connection, here, who)
    return advance(connection, here, who)


def _continue(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, said: None
) -> Participant:
    return advance(connection, here, who)


def _quiz(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, chosen: list[int]
) -> Participant:
    """Right: continue. Wrong: back to the instructions; too often: screened out."""
    block = here.study.configuration.block[step.block]
    assert isinstance(block, Instructions)
    right = chosen == [each.right for each in block.question]
    said = participants.answers_of(connection, who.id)
    before = sum(each.stage == who.stage for each in said)
    participants.say(connection, who, "quiz", chosen, attempt=before, is_right=right)
    if right:
        return advance(connection, here, who)
    who = participants.change(connection, who, quizzes=who.quizzes + 1)
    if before + 1 >= block.attempts:
        return _screen_out(connection, here, who)
    return advance(connection, here, who, who.stage - len(block.pages))


class CaseAnswer(NamedTuple):
    """An answer to a case, and what came with it: confidence, and seconds by the browser."""

    value: float
    sent_with: dict[str, Any]


def _case(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, given: CaseAnswer
) -> Participant:
    """The answer to a case; its outcome is looked up, and told if the trial has feedback."""
    person = people.find(connection, who.id)
    there = rounds.find(connection, who.id, step.index)
    assert person.case_list is not None
    assert there.case_number is not None
    outcome = plans.case_of(connection, person.case_list, there.case_number).outcome
    taught = here.guide.words.counted(there.shown or ())
    rounds.predict(connection, person, there, given.value, taught, outcome, given.sent_with)
    return advance(connection, here, who)


def _wait(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, said: None
) -> Participant:
    """Go on if it is time; before that, `Conflict`."""
    due = due_at(connection, who)
    if seconds_until(due) > 0.0:
        raise Conflict(f"step: {who.stage} begins at {due}", who)
    return advance(connection, here, who)


def due_at(connection: Connection, who: Participant) -> str:
    """When a participant whose step is to wait may go on."""
    said = participants.answers_of(connection, who.id)
    return str(next(each.answer for each in said if each.stage == who.stage))


def _send_home(
    connection: Connection, here: LiveStudy, who: Participant, step: Step
) -> Participant:
    """Record when a participant may come back; bots and previews need not wait.

    Until the last day on which they may, they count as seen, so that they keep their place.
    """
    block = here.study.configuration.block[step.block]
    assert isinstance(block, Testing)
    days = block.after_days if who.kind == "real" else None
    due = 86_400.0 * (days or 0.0)
    participants.say(connection, who, "wait", later(due))
    return participants.change(connection, who, seen_at=later(due + 86_400.0 * block.within_days))


def _check(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, given: float
) -> Participant:
    """Recorded whether right or not; failing ends nothing, and there is no second chance."""
    block = here.study.configuration.block[step.block]
    assert isinstance(block, (Training, Testing))
    right = given == block.check[step.index].answer
    participants.say(connection, who, "check", given, is_right=right)
    return advance(connection, here, who)


def _survey(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, said: dict[str, Any]
) -> Participant:
    """Answers by name of the question; None where an optional one was left out."""
    participants.say(connection, who, "survey", said)
    return advance(connection, here, who)


def _debrief(
    connection: Connection, here: LiveStudy, who: Participant, step: Step, comment: str
) -> Participant:
    if comment:
        participants.say(connection, who, "comment", comment)
    return advance(connection, here, who)


_ANSWERS: dict[str, Callable[[Connection, LiveStudy, Participant, Step, Any], Participant]] = {
    "consent": _consent,
    "page": _continue,
    "quiz": _quiz,
    "ask": _case,
    "told": _continue,
    "wait": _wait,
    "check": _check,
    "break": _continue,
    "survey": _survey,
    "debrief": _debrief,
}


def advance(
    connection: Connection,
    here: LiveStudy,
    who: Participant,
    to: int | None = None,
    planned: RoundAdvice | None = None,
    wrong: Sequence[WrongWeight] | None = None,
) -> Participant:
    """Move a participant to the next step, or to step `to`.

    The last step ends the study for them. The first case assigns an arm in the same transaction, so
    that no place is given twice. A case is opened, unless a tutor has to plan first, or its page
    says what they weigh wrongly: then `planned` and `wrong` bring it later.
    """
    who = participants.change(connection, who, stage=who.stage + 1 if to is None else to)
    step = here.step(who.stage)
    if step.kind == "end":
        code = here.study.configuration.completion.code or secrets.token_hex(5).upper()
        return participants.end(connection, who, "completed", code)
    if step.kind == "wait":
        return _send_home(connection, here, who, step)
    if step.kind != "ask":
        return who
    if who.arm is None:
        who = _assigned(connection, here, who)
        if not who.is_active:
            return who
    _open_case(connection, here, who, here.trial(step), planned, wrong)
    return who


def reach(
    connection: Connection,
    here: LiveStudy,
    who: str,
    stage: int,
    planned: RoundAdvice | None,
    wrong: Sequence[WrongWeight] | None = None,
) -> Participant:
    """Open the case of the step that a participant is at; `Conflict` if they are at another.

    Needed where a tutor had to plan first, and where a study begins with a case.
    """
    found = participants.find(connection, who, to_change=True)
    participants.must_be_at(found, stage)
    return advance(connection, here, found, stage, planned, wrong)


def _open_case(
    connection: Connection,
    here: LiveStudy,
    who: Participant,
    trial: Trial,
    planned: RoundAdvice | None,
    wrong: Sequence[WrongWeight] | None,
) -> None:
    """Open the round of a trial and record what it shows, once."""
    person = people.find(connection, who.id)
    kind = here.advice(who, trial)
    if person.rounds > trial.number or (kind == "contrast" and wrong is None):
        return
    advice = here.settled(who, trial)
    if advice is None:
        if planned is None or planned.version != person.version:
            return
        advice = planned
    labels = here.guide.words.labels_of(advice.columns)
    case_number = trial.number if advice.case_number is None else advice.case_number
    assert person.case_list is not None
    values = plans.case_of(connection, person.case_list, case_number).values
    seen = [float(values[i] or 0.0) for i in advice.columns]
    said = ai_advice(here.study.problem.world, kind, advice.columns, seen, wrong)
    offer = Offer(
        recommended=labels,
        reason=advice.reason,
        opened_with={"feedback": trial.feedback, **({} if said is None else {"advice": said})},
        feedback=trial.feedback,
        case_number=case_number,
        propensity=advice.propensity,
    )
    opened = rounds.offer(connection, person, offer)
    rounds.show(connection, person, opened, labels, seen, None)


def _screen_out(connection: Connection, here: LiveStudy, who: Participant) -> Participant:
    code = here.study.configuration.completion.screened_out
    return participants.end(connection, who, "screened out", code)


def _assigned(connection: Connection, here: LiveStudy, who: Participant) -> Participant:
    """Assign an arm and a place, or screen the participant out if there is none."""
    drawn = _drawn(connection, here, who)
    if drawn is None:
        return _screen_out(connection, here, who)
    found, arms = drawn
    own = here.arms[found.arm]
    return participants.assign(
        connection,
        who,
        arm=found.arm,
        place=found.place,
        number=found.number,
        drawn_from={
            "seed": here.study.configuration.seed,
            "order": list(found.order),
            "filled": {arm.name: sorted(arm.places) for arm in arms},
            "caps": {arm.name: arm.cap for arm in arms},
            "open": [arm.name for arm in arms if arm.is_open],
        },
        plan=here.plans[found.arm],
        policy="tutor" if own.is_adaptive else own.policy,
        columns=here.study.problem.size,
        cases=_cases(connection, here, found.place),
    )


def _drawn(
    connection: Connection, here: LiveStudy, who: Participant
) -> tuple[ArmDraw, list[Filled]] | None:
    """The next arm and place, with what they were drawn from; None if there is no place."""
    if not _finds_place(connection, here, who):
        return None
    own = (connection, here.id, who.kind)
    taken = participants.filled(*own)
    arms = [
        Filled(arm.name, taken.get(arm.name, frozenset()))
        if who.kind == "preview"
        else Filled(arm.name, taken.get(arm.name, frozenset()), arm.cap, arm.is_open)
        for arm in studies.arms_of(connection, here.id)
    ]
    seed = here.study.configuration.seed
    found = draw(arms, participants.assigned_before(*own), seed)
    return None if found is None else (found, arms)


def places_left(
    connection: Connection, here: LiveStudy, kind: str, but: str | None = None
) -> float:
    """Places that participants of a kind can still get: 0 or less if the study is full or closed.

    Participant `but` is not counted. Only real ones fill the planned number.
    """
    kept = studies.find(connection, here.id)
    if not kept.is_open:
        return 0
    held = here.holding.held(connection, here.id, kind, but)
    left = sum(
        math.inf if arm.cap is None else max(arm.cap - held.get(arm.name, 0), 0)
        for arm in studies.arms_of(connection, here.id)
        if arm.is_open
    )
    left -= held.get(None, 0)
    return min(left, kept.people - sum(held.values())) if kind == "real" else left


def _finds_place(connection: Connection, here: LiveStudy, who: Participant) -> bool:
    """Whether there is a place for a participant, after those of inactive ones are released."""
    if who.kind == "preview":  # always gets an arm, however full the study is
        return True
    studies.find(connection, here.id, to_change=True)
    here.holding.let_lapse(connection, here.id, who.kind)
    return places_left(connection, here, who.kind, who.id) > 0


def _cases(connection: Connection, here: LiveStudy, place: int) -> str:
    """Name of the list of cases of a place, which is kept when the place is first taken."""
    drawn = case_list(here.study, place)
    rows = [
        HeldCase(values, outcome)
        for values, outcome in zip(drawn.values.tolist(), drawn.truths.tolist(), strict=True)
    ]
    text = json.dumps([[list(row.values), row.outcome] for row in rows])
    name, first = f"{here.id}.{place}", next(iter(here.plans.values()))
    plans.keep_cases(connection, name, first, plans.sha256_of(text), rows)
    return name


def is_back(here: LiveStudy, who: Participant) -> bool:
    """Whether a participant was inactive for long enough that `arrive` has to look at it.

    That is a twentieth of the time after which they lose their place.
    """
    after = min(here.holding.drop_after / 20.0, here.holding.release_after)
    return who.is_active and -seconds_until(who.seen_at) > 60.0 * after


def arrive(connection: Connection, here: LiveStudy, who: Participant) -> Participant:
    """Let a participant who was inactive continue, or not, as the study file says.

    `who` was found `to_change`.
    """
    if not who.is_active:
        return who
    holds = who.arm is not None or who.stage > here.holding.agreed
    late = holds and -seconds_until(who.seen_at) > 60.0 * here.holding.drop_after
    blocks = here.study.configuration.recruiting.resume == "block" and who.kind != "preview"
    lapsed = who.is_lapsed and not _is_free(connection, here, who)
    if (late and blocks) or (lapsed and (blocks or who.arm is None)):
        who = participants.change(connection, who, is_lapsed=True)
        return _screen_out(connection, here, who)
    return participants.change(connection, who, is_lapsed=lapsed)


def _is_free(connection: Connection, here: LiveStudy, who: Participant) -> bool:
    """Whether a participant who lapsed can have their place again, or one at all."""
    if not _finds_place(connection, here, who):
        return False
    if who.arm is None:
        return True
    taken = participants.filled(connection, here.id, who.kind).get(who.arm, frozenset())
    arms = {arm.name: arm for arm in studies.arms_of(connection, here.id)}
    cap = arms[who.arm].cap
    return who.place not in taken and (cap is None or len(taken) < cap)
