"""Paying participants: bonuses, the list for the recruiter, and who took part, without arms."""

from __future__ import annotations

import csv
import json
import re

import pytest

from preceptor.cli._app import app
from preceptor.errors import InvalidInput
from preceptor.live.store import participants, rounds, studies
from preceptor.live.store.database import Store
from preceptor.live.store.rounds import StoredRound
from preceptor.live.study.arms import make_arms
from preceptor.live.study.payment import PaymentRow, bonus, payments, payments_table
from preceptor.live.study.registration import freeze, markdown
from tests.commands import CliRunner
from tests.live.study.opened import open_study, small_study

RULE = {"most": 4.0, "none_at": 2.0, "currency": "EUR"}
PAID = {"payment": RULE, "recruiting": {"parameter": "PROLIFIC_PID", "payments": True}}


def answered(number: int, error: float) -> StoredRound:
    return StoredRound("p", number, "untold", "", "plan", {}, prediction=1.0 + error, outcome=1.0)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [({4: 0.0}, 4.0), ({4: 0.5}, 3.0), ({4: -1.5, 0: 9.0}, 1.0), ({4: 2.5}, 0.0), ({0: 0.0}, None)],
)
def test_a_bonus_is_in_proportion_to_the_error_in_the_test(errors, expected):
    """The fifth round, number 4, is the only one of the test block."""
    study = small_study(**PAID)
    assert bonus(study, [answered(*each) for each in errors.items()]) == expected
    assert bonus(small_study(), [answered(4, 0.0)]) is None


def test_from_consent_to_the_list(tmp_path, database, opened, somebody):
    study = opened(**PAID)
    who = somebody(study.id).join("=ann")
    assert "match your name at the site" in who.text
    while who.stage is not None:
        who.skip_outcome()
    other = somebody(study.id).join("bob")
    left = somebody(study.id).join("eve")
    left.get("/withdraw").fill()
    with Store(str(database)) as store:
        kept = store.read(lambda c: studies.find(c, study.id))
        names = ["=ann", "bob", "eve", "zoe", "bob"]
        found = store.read(lambda c: payments(c, kept, study, names))
        hashed = participants.recruiters_name(kept.key, "=ann")
        ann = store.read(lambda c: participants.by_recruiter(c, study.id, "real", hashed))
        played = store.read(lambda c: rounds.all_of(c, ann.id))
    worth = bonus(study, played)
    assert found == [
        PaymentRow("=ann", "completed", "DONE-1", worth),
        PaymentRow("bob", "active", "", None),
        PaymentRow("eve", "withdrawn", "", None),
        PaymentRow("zoe", "unknown", "", None),
    ]
    assert f"Your bonus: {worth:.2f} EUR" in who.text
    ids = tmp_path / "ids.csv"
    ids.write_text("=ann,2026\nbob,2026\n")
    made = tmp_path / "payments.csv"
    command = ["study", "payments", str(ids), "--study", study.id, "--database", str(database)]
    done = CliRunner().invoke(app, [*command, "--output", str(made)])
    assert done.exit_code == 0, done.stderr
    assert made.stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(made.read_text().splitlines()))
    assert [row["recruiter_id"] for row in rows] == ["'=ann", "bob"]
    again = CliRunner().invoke(app, [*command, "--output", str(made)])
    assert again.exit_code == 2
    # The database has no name, and the list of participants no arm.
    assert b"=ann" not in database.read_bytes()
    assert other.title == "Consent"


def test_a_list_that_was_not_announced_is_refused(tmp_path):
    with Store(str(tmp_path / "live.db")) as store:
        study = open_study(store, small_study())
        kept = store.read(lambda c: studies.find(c, study.id))
        with pytest.raises(InvalidInput, match="were told that their names cannot be matched"):
            store.read(lambda c: payments(c, kept, study, ["ann"]))
    with pytest.raises(InvalidInput, match="without a parameter"):
        small_study(recruiting={"payments": True, "parameter": None})


def test_the_table_and_the_registration():
    assert payments_table([PaymentRow("a", "completed", "C", 1.5)]).splitlines() == [
        "recruiter_id,status,code,bonus", "a,completed,C,1.5"
    ]  # fmt: skip
    study = small_study(**PAID)
    text = markdown(freeze(study, make_arms(study)))
    assert "A bonus of 4 EUR without errors" in text


def test_the_owner_lists_participants_and_renews_a_lost_link(database, opened, somebody):
    study = opened(recruiting={"parameter": None})
    who = somebody(study.id).join("").until("What this study")
    who.fill(comment="It was\nfun")
    there = somebody(study.id).join("").until("Case 1 of 3")
    run = CliRunner().invoke
    common = [study.id, "--database", str(database)]
    listed = run(app, ["study", "status", *common, "--participants", "--json"])
    rows = json.loads(listed.stdout)
    assert [row["comment"] for row in rows if row["status"] == "completed"] == ["It was\nfun"]
    assert {key for row in rows for key in row}.isdisjoint({"arm", "place"})
    words = run(app, ["study", "status", *common, "--participants"]).stdout
    assert "It was fun" in words
    assert not re.search(r"\bplan\b|\bfixed\b", words)
    (active,) = (row["participant"] for row in rows if row["status"] == "active")
    made = run(app, ["study", "links", *common, "--for", active])
    assert made.exit_code == 0, made.stderr
    path = "/p/" + made.stdout.strip().rsplit("/", 1)[1]
    assert there.get().title == "Guess the score"  # the lost link is no longer of use
    assert somebody(study.id).get(path).post(path).title == "Case 1 of 3"
    (done,) = (row["participant"] for row in rows if row["status"] == "completed")
    assert "is not under way" in run(app, ["study", "links", *common, "--for", done]).stderr
    assert "either --people, or --for" in run(app, ["study", "links", *common]).stderr
