"""Participants over HTTP: from the link to the code, and whatever comes twice, late or wrong."""

from __future__ import annotations

import re

import httpx
import pytest
from sqlalchemy import select

from preceptor.cli._app import app
from preceptor.live.store import chain, participants, rounds, studies, tokens
from preceptor.live.store.checking import export as export_person
from preceptor.live.store.database import Store
from preceptor.live.store.tables import event, participant_link, person, round_, withdrawn
from preceptor.live.study.cases import case_list
from tests.commands import CliRunner
from tests.live.service.servers import start
from tests.live.study.opened import open_study, small_study

TITLES = [
    "Consent",
    "Instructions",
    "Instructions",
    "A few questions",
    "Case 1 of 1",
    "Cases",
    "Case 1 of 3",
    "Case 1 of 3: the outcome",
    "A short question",
    "Case 2 of 3",
    "Case 2 of 3: the outcome",
    "A break",
    "Case 3 of 3",
    "Case 3 of 3: the outcome",
    "Case 1 of 1",
    "What this study was about",
    "Thank you",
]


def read(database, work):
    with Store(str(database)) as store:
        return store.read(work)


@pytest.mark.smoke
def test_from_the_link_to_the_code_with_a_reload_at_every_step(somebody):
    who = somebody().join()
    seen = [who.title]
    while who.stage is not None:
        before = who.text
        assert who.get().text == before, f"a reload changes {who.title}"
        for code in ("DONE-1", "OUT-2", "NO-3"):
            assert code not in who.text
        seen.append(who.skip_outcome().title)
    assert seen == TITLES
    assert "DONE-1" in who.text
    assert "https://recruiter.example/back?cc=DONE-1" in who.text
    assert who.get().title == "Thank you"
    assert who.get("").title == "Guess the score"
    assert "You have already started" in who.text


def test_truth_and_hidden_results_come_only_after_the_answer(somebody, database):
    who = somebody().join().until("Case 1 of 3")
    me = read(database, lambda c: participants.everyone(c, "small"))[-1]
    study = small_study()
    cases = case_list(study, me.place)
    truth, values = repr(float(cases.truths[1])), cases.values[1].tolist()
    labels = dict(zip(("Body mass index", "Blood pressure", "age"), values, strict=True))
    assert len(who.page.results) == 2
    for label, value in labels.items():
        if label in who.page.results:
            assert who.page.results[label] == value
        else:
            assert repr(value) not in who.text
    assert truth not in who.text
    who.fill(answer="1,5")
    assert who.page.data | {"said": "1.5", "truth": truth} == who.page.data
    assert f"You were {abs(1.5 - float(truth)):.1f} points too" in who.text
    assert who.text.index("What was known") < who.text.index("It was")


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("", "the field is empty"),
        ("twelve", "“twelve” is no number that can be used here"),
        ("1,234", "“1,234” could be two numbers"),
        ("nan", "“nan” is no number that can be used here"),
        ("inf", "“inf” is no number that can be used here"),
        ("1e400", "“1e400” is no number that can be used here"),
        ("1e300", "“1e300” is far from any possible value"),
        ("<script>", "“&lt;script&gt;” is no number that can be used here"),
    ],
)
def test_what_is_not_a_number_is_said_and_kept_in_the_field(somebody, typed, complaint):
    who = somebody().join().until("Case 1 of 3").fill(answer=typed)
    assert who.answer.status_code == 422
    assert complaint in who.text
    assert who.text.count('aria-invalid="true"') == 1
    assert 'aria-describedby="answer-fault' in who.text
    assert who.page.form.values["answer"] == typed
    assert who.fill(answer=" −2,5 ").title == "Case 1 of 3: the outcome"
    assert who.page.data["said"] == "-2.5"


def test_a_form_that_comes_twice_or_late_changes_nothing(somebody):
    who = somebody().join().until("Case 1 of 3")
    old = who.page.form.filled(answer="2")
    assert who.fill(answer="2").title == "Case 1 of 3: the outcome"
    again = who.post(**old)
    assert again.title == "Case 1 of 3: the outcome"
    assert "answered already" not in again.text  # a double click: nothing to say
    other = who.post(**{**old, "answer": "9"})
    assert other.title == "Case 1 of 3: the outcome"
    assert "That was answered already, perhaps in another tab" in other.text
    assert other.page.data["said"] == "2.0"
    who.get().until("Case 2 of 3").post(**old)
    assert "That was answered already" in who.text
    assert who.title == "Case 2 of 3"
    ahead = who.page.form.filled(answer="2") | {"step": "99"}
    assert who.post(**ahead).title == "Case 2 of 3"
    assert "nothing was changed" in who.text


def test_a_second_device_goes_on_and_the_first_is_told(somebody, site):
    first, second = somebody().join().until("Case 1 of 3"), somebody()
    stale = first.page.form.filled(answer="2")
    first.get("/link")
    link = re.search(r'id="address">([^<]+)<', first.fill().text).group(1)
    assert link.startswith(f"{site.address}/s/small/p/")
    path = link.removeprefix(f"{site.address}/s/small")
    assert second.get(path).title == "Guess the score"
    assert second.fill().title == "Case 1 of 3"
    assert second.page.results == first.get().page.results
    second.skip_outcome().skip_outcome()
    assert second.title == "A short question"
    first.post(**stale)
    assert first.title == "A short question"
    assert "The study has moved on" in first.text


def test_a_link_that_leads_nowhere_says_so(somebody):
    assert somebody().get("/p/nonsense").title == "This link does not lead anywhere"
    assert somebody().post("/p/nonsense").answer.status_code == 404
    assert somebody().get("/now").title == "A part of the address is missing"  # nobody is known
    assert somebody("nowhere").get("").answer.status_code == 404


def test_forms_need_their_token_and_their_origin(somebody):
    who = somebody().join()
    form = who.page.form.filled(agree="yes")
    assert who.post(**{**form, "csrf": "0" * 64}).title == "Consent"
    assert who.post(**{**form, "csrf": "é"}).title == "Consent"
    assert who.post(**{**form, "step": "9" * 5000}).title == "Consent"
    assert "nothing was changed" in who.text
    who.http.headers["Sec-Fetch-Site"] = "cross-site"
    assert who.join("x").answer.status_code == 403


def test_the_quiz_sends_back_and_then_away(somebody):
    who = somebody().join().until("A few questions").fill(**{"question-0": "1"})
    assert who.answer.status_code == 422
    assert "Question 2 has no answer yet." in who.text
    assert "checked" in who.text
    who.fill(**{"question-0": "1", "question-1": "1"})
    assert who.title == "Instructions"
    assert "Not all answers were correct" in who.text
    assert "What do you see?" in who.text
    assert "What do you say?" not in who.text
    who.skip_outcome().skip_outcome().fill(**{"question-0": "2", "question-1": "2"})
    assert who.title == "The study ends here for you"
    assert "OUT-2" in who.text
    assert who.get().title == "The study ends here for you"


def test_whoever_does_not_agree_gets_their_code(somebody):
    who = somebody().join().fill(choice="yes")
    assert who.answer.status_code == 422
    assert "Tick the box" in who.text
    assert who.fill(choice="no").title == "You did not agree"
    assert "NO-3" in who.text


def test_a_failed_check_is_kept_and_cannot_be_undone(somebody, database):
    who = somebody().join().until("A short question")
    wrong = who.page.form.filled(answer="8")
    assert who.fill(answer="8").title == "Case 2 of 3"
    who.post(**{**wrong, "answer": "7"})
    assert who.title == "Case 2 of 3"

    def failed(connection):
        everyone = participants.everyone(connection, "small")
        said = [a for w in everyone for a in participants.answers_of(connection, w.id)]
        return [a.answer for a in said if a.what == "check" and a.is_right is False]

    assert read(database, failed) == [8.0]


def test_comments_are_kept_as_they_are(somebody, database):
    who = somebody().join().until("What this study was about").fill(comment="  Fine & <good>  ")
    assert who.title == "Thank you"

    def comments(connection):
        everyone = participants.everyone(connection, "small")
        said = [a for w in everyone for a in participants.answers_of(connection, w.id)]
        return [a.answer for a in said if a.what == "comment"]

    assert read(database, comments) == ["Fine & <good>"]


def test_everything_about_a_participant_can_be_had(somebody, database):
    somebody().join("export-1").until("Case 2 of 3")
    me = read(database, lambda c: participants.everyone(c, "small"))[-1]
    kept = read(database, lambda c: export_person(c, me.id))
    assert kept["participant"]["stage"] == me.stage
    assert [each["what"] for each in kept["said"]] == ["consent", "quiz", "check"]
    assert len(kept["rounds"]) == 3
    somebody().join("export-2")
    other = read(database, lambda c: participants.everyone(c, "small"))[-1]
    kept = read(database, lambda c: export_person(c, other.id))
    assert kept["person"] is None
    assert [each["kind"] for each in kept["events"]] == ["joined"]


def test_withdrawal_erases_everything(somebody, database):
    who = somebody().join("prolific-1").until("Case 2 of 3").get("/withdraw")
    assert "erased at once" in who.text
    before = read(database, lambda c: len(c.execute(select(round_)).all()))
    assert who.fill().title == "You have withdrawn"
    assert who.get().title == "A part of the address is missing"
    assert not who.http.cookies
    after = read(database, lambda c: len(c.execute(select(round_)).all()))
    assert after == before - 3
    hashes = read(database, lambda c: c.execute(select(withdrawn)).all())
    assert len(hashes) == 1
    assert "prolific-1" not in str(hashes)
    again = somebody().get("?PROLIFIC_PID=prolific-1")
    assert again.title == again.join("prolific-1").title == "You have withdrawn"
    assert somebody().join("prolific-2").title == "Consent"


def test_withdrawal_may_keep_what_was_said_without_who_said_it(opened, somebody, database):
    study = opened(privacy={"withdrawal": "keep anonymous"})
    who = somebody(study.id).join("prolific-1").until("Case 2 of 3").get("/withdraw").fill()
    assert "nothing in them identifies you" in who.text
    assert who.get().title == "A part of the address is missing"
    [kept] = read(database, lambda c: participants.everyone(c, study.id))
    assert (kept.status, kept.recruiter) == ("withdrawn", None)
    links = read(database, lambda c: c.execute(select(participant_link)).all())
    assert all(each.revoked for each in links if each.participant == kept.id)
    assert somebody(study.id).join("prolific-1").title == "You have withdrawn"
    assert len(read(database, lambda c: participants.everyone(c, study.id))) == 1


def test_the_recruiters_name_is_needed_once_the_study_file_names_it(opened, somebody, database):
    for address in ("", "?PROLIFIC_PID=", "?pid=7"):
        assert somebody().get(address).title == "A part of the address is missing"
    before = read(database, lambda c: len(participants.everyone(c, "small")))
    refused = somebody().join("")
    assert (refused.title, refused.answer.status_code) == ("A part of the address is missing", 400)
    assert read(database, lambda c: len(participants.everyone(c, "small"))) == before
    assert somebody().get("?PROLIFIC_PID=pid-9").fill().title == "Consent"
    free = opened(recruiting={"parameter": None})
    assert somebody(free.id).get("").fill().title == "Consent"


def test_a_recruiters_name_is_one_person_and_no_key(somebody, database):
    first = somebody().join("pid-7")
    assert somebody().join("pid-7").title == "Consent"  # has nothing to lose yet
    first.until("Case 1 of 1")
    other = somebody().get("?PROLIFIC_PID=pid-7")
    assert other.fill().title == "You have already started"
    assert first.get("?PROLIFIC_PID=pid-7").title == "Guess the score"
    assert "You have already started" in first.text
    assert first.join("pid-7").title == "Case 1 of 1"
    assert first.join("pid-8").title == "Consent"  # somebody else at this browser
    rows = read(database, lambda c: c.execute(select(person.c.recruiter)).scalars().all())
    assert "pid-7" not in rows
    for table in (event, person):
        text = str(read(database, lambda c, t=table: c.execute(select(t)).all()))
        assert "pid-7" not in text
        assert "Mozilla" not in text
        assert "127.0.0.1" not in text


def test_a_study_that_is_full_or_closed_says_so(opened, somebody, database):
    study, here = opened(people=1), "?PROLIFIC_PID=x"
    assert somebody(study.id).get(here).title == "Guess the score"
    late, waiting = somebody(study.id).join(), somebody(study.id).join()
    first = somebody(study.id).join().until("Case 1 of 1")
    assert first.title == "Case 1 of 1"
    assert somebody(study.id).get(here).title == "No more people are needed"
    assert somebody(study.id).join().title == "No more people are needed"
    assert first.get("").title == "Guess the score", "who is in may continue"
    assert late.skip_outcome().title == "No more people are needed"
    assert "OUT-2" in late.text
    with Store(str(database)) as store:
        store.write(lambda c: studies.close(c, study.id, "enough"))
    assert somebody(study.id).get(here).title == "This study is over"
    assert somebody(study.id).join().title == "This study is over"
    assert waiting.skip_outcome().title == "No more people are needed"


def test_caps_and_closed_arms_are_kept_to(opened, somebody, database):
    plan = {"name": "plan", "policy": "plan", "time_limit": 0.2, "cap": 1}
    fixed = {"name": "fixed", "policy": "best fixed", "time_limit": 0.2}
    study = opened(arm=[plan, fixed])
    for _ in range(4):
        somebody(study.id).join().until("Case 1 of 1")
    places = read(database, lambda c: participants.filled(c, study.id, "real"))
    assert {arm: len(taken) for arm, taken in places.items()} == {"plan": 1, "fixed": 3}
    reading = somebody(study.id).join().until("A few")
    with Store(str(database)) as store:
        store.write(lambda c: studies.close_arm(c, study.id, "fixed", "broken"))
    assert reading.skip_outcome().title == "No more people are needed"
    for kind in ("join", "get"):
        assert getattr(somebody(study.id), kind)("").title == "No more people are needed"


def test_an_own_code_for_everybody_where_none_is_given(opened, somebody):
    study = opened(completion={"code": None, "redirect": None})
    codes = {somebody(study.id).join().until("Thank you").page.data["code"] for _ in range(2)}
    assert len(codes) == 2
    assert all(re.fullmatch("[0-9A-F]{10}", code) for code in codes)


def test_studies_by_invitation_need_a_link(opened, somebody, database):
    study = opened(recruiting={"entry": "links"})
    assert somebody(study.id).get("").title == "A study by invitation"
    assert somebody(study.id).join("").title == "A study by invitation"

    def invite(connection):
        who = participants.join(connection, study.id, kind="preview")
        return participants.new_link(connection, who)

    with Store(str(database)) as store:
        secret = store.write(invite)
    who = somebody(study.id).get(f"/p/{secret}").fill()
    assert who.title == "Consent"
    assert "Preview: your answers do not count." in who.text
    assert who.until("Thank you")


BACK = {"resume": "Case 2 of 3", "block": "Too long ago"}


@pytest.mark.parametrize("policy", BACK)
def test_whoever_comes_back_late_goes_on_as_the_file_says(opened, somebody, database, policy):
    study = opened(recruiting={"resume": policy, "drop_after": 0.5})
    who = somebody(study.id).join("pid").until("Case 2 of 3")

    def long_ago(connection):
        [found] = participants.everyone(connection, study.id)
        participants.change(connection, found, seen_at="2020-01-01T00:00:00.000000Z")

    with Store(str(database)) as store:
        store.write(long_ago)
    other = somebody(study.id).join().until("Case 1 of 1")  # takes the place: they lapsed
    assert who.get().title == BACK[policy]
    everyone = read(database, lambda c: participants.everyone(c, study.id))
    assert everyone[0].is_lapsed
    if policy == "resume":
        assert who.until("Thank you")
        assert (everyone[0].place, everyone[1].place) == (0, 0)
    places = read(database, lambda c: participants.filled(c, study.id, "real"))
    assert sum(map(len, places.values())) == 1
    assert other.get().title == "Case 1 of 1"


def test_somebody_who_lapsed_counts_again_if_the_place_is_free(opened, somebody, database):
    study = opened(recruiting={"drop_after": 0.5})
    who = somebody(study.id).join().until("Case 1 of 1")
    [found] = read(database, lambda c: participants.everyone(c, study.id))
    with Store(str(database)) as store:
        store.write(
            lambda c: participants.change(
                c, found, is_lapsed=True, seen_at="2020-01-01T00:00:00.000000Z"
            )
        )
    who.get()
    [found] = read(database, lambda c: participants.everyone(c, study.id))
    assert not found.is_lapsed


def _silent(database, study, minutes, *, number=0):
    """As if this participant had done nothing for so many minutes."""

    def work(connection):
        found = participants.everyone(connection, study)[number]
        participants.change(connection, found, seen_at=chain.later(-60.0 * minutes))

    with Store(str(database)) as store:
        store.write(work)


def test_places_are_reserved_at_consent_and_released_without_an_answer(opened, somebody, database):
    """Somebody who only joins, a hundred times, takes no place; consent takes one for minutes."""
    study, here = opened(people=2), "?PROLIFIC_PID=x"
    for number in range(5):
        somebody(study.id).join(f"takes-all-{number}")
    first = somebody(study.id).join("first").until("Instructions")
    second = somebody(study.id).join("second").until("Case 1 of 1")
    third = somebody(study.id).join("third")
    assert third.title == "No more people are needed"
    assert somebody(study.id).get(here).title == "No more people are needed"
    _silent(database, study.id, 9.0, number=5)
    assert somebody(study.id).get(here).title == "No more people are needed"
    _silent(database, study.id, 11.0, number=5)
    assert somebody(study.id).get(here).title == "Guess the score"
    third = somebody(study.id).join("third").until("Instructions")
    assert first.get().title == "No more people are needed", "their place is gone"
    _silent(database, study.id, 11.0, number=6)  # at the first case, which they have not answered
    fourth = somebody(study.id).join("fourth").until("Instructions")
    assert second.get().title == "Case 1 of 1"
    assert third.until("Case 1 of 3").title == "Case 1 of 3"
    assert fourth.until("Case 1 of 3").title == "Case 1 of 3"
    everyone = read(database, lambda c: participants.everyone(c, study.id))
    counted = [each for each in everyone if each.arm and not each.is_lapsed]
    assert len(counted) == study.configuration.people
    _silent(database, study.id, 11.0, number=7)  # has answered a case: kept for an hour
    assert somebody(study.id).get(here).title == "No more people are needed"


def test_who_was_invited_long_ago_is_not_late(opened, somebody, database):
    study = opened(recruiting={"entry": "links", "resume": "block"})

    def invite(connection):
        return participants.new_link(
            connection, participants.join(connection, study.id, kind="real")
        )

    with Store(str(database)) as store:
        secret = store.write(invite)
    _silent(database, study.id, 10_000.0)
    assert somebody(study.id).get(f"/p/{secret}").fill().title == "Consent"


def test_everything_that_a_draw_depended_on_is_written_down(opened, somebody, database):
    study = opened()
    somebody(study.id).join().until("Case 1 of 1")
    [who] = read(database, lambda c: participants.everyone(c, study.id))
    asked = select(event.c.payload).where(event.c.subject == who.id, event.c.kind == "assigned")
    [payload] = read(database, lambda c: c.execute(asked).scalars().all())
    for name in ("arm", "place", "draw", "seed", "order", "filled", "caps", "open"):
        assert f'"{name}":' in payload


def test_nobody_is_a_bot_by_accident(tmp_path, somebody):
    with Store(str(tmp_path / "live.db")) as store:
        open_study(store, small_study())
        made = store.write(lambda c: [tokens.create(c, s) for s in ("read", "write")])
    secrets = [secret for secret, _ in made]
    server = start(tmp_path, "--database", tmp_path / "live.db", "--rate", 5)
    try:
        with httpx.Client(base_url=server.address, follow_redirects=True) as http:
            bot = {"kind": "bot", "recruiter": "bot-1"}
            assert http.post("/s/small", data=bot).status_code == 401
            for secret, status in zip(secrets, (403, 200), strict=True):
                headers = {"Authorization": f"Bearer {secret}"}
                answer = http.post("/s/small", data=bot, headers=headers)
                assert answer.status_code == status, answer.text
            assert "A simulated participant" in answer.text
            statuses = [http.get("/s/small/now").status_code for _ in range(40)]
        assert statuses[0] == 200
        assert statuses[-1] == 429
    finally:
        assert server.stop() == 0


def test_programs_neither_move_nor_look_at_participants(somebody, opened, database, site):
    study = opened().id
    who = somebody(study).join().until("Case 1 of 3")
    [name] = [each.id for each in read(database, lambda c: participants.everyone(c, study))]
    number = read(database, lambda c: rounds.open_of(c, name)).number
    there = f"{site.address}/v1/people/{name}"
    calls = [
        httpx.get(there),
        httpx.get(f"{there}/rounds/{number}"),
        httpx.post(f"{there}/rounds"),
        httpx.put(f"{there}/rounds/{number}/prediction", json={"prediction": 55.0}),
    ]
    assert [call.status_code for call in calls] == [409] * len(calls)
    assert "only its pages move them" in calls[0].json()["errors"][0]
    assert who.skip_outcome().title == "Case 1 of 3: the outcome"
    log = httpx.get(f"{site.address}/v1/log", params={"person": name}).text
    assert log == ""  # it would say who is in which arm
    assert name not in httpx.get(f"{site.address}/v1/log", params={"limit": 10_000}).text


def test_the_store_follows_from_what_happened(somebody, database):
    """Last of the file: after all of the above."""
    checked = CliRunner().invoke(app, ["serve", "check", "--database", str(database)])
    assert checked.exit_code == 0, checked.stdout
