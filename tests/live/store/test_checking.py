"""What is kept follows from what happened, and whoever changes some of it is found out."""

from __future__ import annotations

import shutil

import pytest
from sqlalchemy import delete, update

import preceptor as pr
from preceptor.cli._app import app
from preceptor.errors import InvalidInput
from preceptor.live.store import chain, people, plans, rounds
from preceptor.live.store.checking import PlanColumns, check, erase
from preceptor.live.store.database import Store, back_up, url_of
from preceptor.live.store.rounds import Offer
from preceptor.live.store.tables import event, person, plan, round_
from tests.commands import CliRunner
from tests.live.service.servers import small_problem

LABELS = ["bmi", "bp", "age"]
RUN = CliRunner()


COLUMNS = PlanColumns(
    lambda labels: [int(each in labels) for each in LABELS],
    lambda by_test: [(by_test or {}).get(each, 0) for each in LABELS],
)
BODY = pr.solve(small_problem()).to_json() + "\n"


def columns_of(connection, name):
    plans.body_of(connection, name)
    return COLUMNS


def lived(store: Store) -> None:
    """Two people with every kind of round."""
    first, _ = store.write(lambda c: plans.keep(c, BODY))
    for who, start in (("ann", {"bp": 2}), ("bob", None)):
        said = {"plan": first, "policy": "plan"} | ({} if start is None else {"start": start})
        counts = COLUMNS.start(start)
        store.write(
            lambda c, who=who, said=said, counts=counts: people.enrol(
                c, who, plan=first, policy="plan", counts=counts, case_list=None, is_bot=False,
                enrolled_with=said,
            )
        )  # fmt: skip
        for number in range(8):
            store.write(lambda c, who=who, number=number: _round(c, who, number))


def _round(c, who, number):
    """What becomes of a round goes by its number."""
    labels, taught = ["bmi", "bp"], [1, 1, 0]

    def now():
        return people.find(c, who, to_change=True)

    there = rounds.offer(
        c, now(), Offer(labels, "because", {"feedback": number != 3}, feedback=number != 3)
    )
    if number == 1:
        return rounds.abandon(c, now(), there)
    there = rounds.show(
        c, now(), there, labels, [0.1 + 0.2, -1 / 3], "why" if number == 2 else None
    )
    if number == 7:
        return rounds.abandon(c, now(), there)
    held = 0.25 if number == 4 else None
    there = rounds.predict(c, now(), there, 0.5, taught, held)
    if number in (0, 2):
        return rounds.tell(c, now(), there, 0.75, taught, told=True)
    if number == 5:  # they were going to hear the truth, and are not
        return rounds.tell(c, now(), there, 0.75, taught, told=False)
    return there


def found(store: Store) -> tuple[str, ...]:
    return store.read(lambda c: check(c, columns_of)).faults


def test_whatever_happens_in_the_ordinary_way_follows(store):
    lived(store)
    checked = store.read(lambda c: check(c, columns_of))
    assert checked.faults == ()
    assert (checked.people, checked.rounds) == (2, 16)
    ann = store.read(lambda c: people.find(c, "ann"))
    assert (ann.counts, ann.position, ann.answers) == ([4, 6, 0], 4, 6)
    bob = store.read(lambda c: people.find(c, "bob"))
    assert (bob.counts, bob.position, bob.answers) == ([4, 4, 0], 4, 6)
    # Erasing is the ordinary way, too.
    store.write(lambda c: erase(c, "ann"))
    assert found(store) == ()


CHANGES = [
    (update(person).where(person.c.id == "bob").values(counts=[9, 9, 9]), "'bob': counts is [9"),
    (update(person).where(person.c.id == "bob").values(position=1), "'bob': position is 1"),
    (update(person).where(person.c.id == "bob").values(answers=1), "'bob': answers is 1"),
    (update(person).where(person.c.id == "bob").values(rounds=99), "'bob': rounds is 99"),
    (update(person).where(person.c.id == "ann").values(enrolled_with={}), "'ann': enrolled_with"),
    (update(round_).where(round_.c.number == 2).values(prediction=0.6), "round 2: prediction is"),
    (update(round_).where(round_.c.number == 2).values(outcome=0.6), "round 2: outcome is 0.6"),
    (update(round_).where(round_.c.number == 2).values(values=[1, 2]), "round 2: values is [1, 2]"),
    (update(round_).where(round_.c.number == 1).values(status="told"), "round 1: status is 'told'"),
    (update(round_).values(outcome_known_at=1), "outcome_known_at is 1, but"),
    (delete(round_).where(round_.c.number == 6), "round 6: is missing, though it was predicted"),
    (update(round_).where(round_.c.number == 6).values(number=60), "round 60: is there, but"),
    (update(plan).values(body="{}"), "is not the file that was stored"),
    (update(event).where(event.c.seq == 9).values(payload='{"round":1}'), "event 9: its payload"),
    (update(event).where(event.c.seq == 9).values(kind="untold"), "event 9: was changed"),
    (update(event).where(event.c.seq == 9).values(subject="eve"), "'eve': has events, but is not"),
    (delete(event).where(event.c.seq == 9), "event 9: is missing"),
]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Lived once, copied for each change."""
    path = tmp_path_factory.mktemp("lived") / "live.db"
    with Store(str(path)) as store:
        lived(store)
    return path


@pytest.mark.parametrize(("change", "fault"), CHANGES)
def test_whoever_changes_something_behind_the_others_back_is_found_out(
    template, tmp_path, change, fault
):
    path = tmp_path / "live.db"
    shutil.copy(template, path)
    with Store(str(path)) as store:
        store.write(lambda c: c.execute(change) and None)
        assert any(fault in each for each in found(store)), found(store)


def test_the_command_says_what_does_not_follow(template, tmp_path):
    path = tmp_path / "live.db"
    shutil.copy(template, path)
    named = ["serve", "check", "--database", str(path)]
    good = RUN.invoke(app, named)
    assert good.exit_code == 0, good.output
    with Store(str(path)) as store:
        head = store.read(chain.verify).head
        store.write(lambda c: erase(c, "ann"))
    assert good.stdout.strip() == head
    later = RUN.invoke(app, [*named, "--after", head])
    assert later.exit_code == 0, later.output
    cut = RUN.invoke(app, [*named, "--after", "f" * 64])
    assert (cut.exit_code, "events were removed" in cut.stdout) == (1, True)
    with Store(str(path)) as store:
        store.write(lambda c: c.execute(update(round_).values(prediction=9.0)) and None)
    bad = RUN.invoke(app, named)
    assert bad.exit_code == 1
    assert "person 'bob', round 2: prediction is 9.0, but the events make it 0.5" in bad.stdout
    missing = RUN.invoke(app, ["serve", "check", "--database", str(tmp_path / "none.db")])
    assert (missing.exit_code, (tmp_path / "none.db").exists()) == (2, False)


def test_a_backup_is_the_store_at_one_moment_while_somebody_writes(template, tmp_path):
    path, copy = tmp_path / "live.db", tmp_path / "copy.db"
    shutil.copy(template, path)
    with Store(str(path)) as store:
        store.write(lambda c: erase(c, "ann"))  # still in the log of changes only
        done = RUN.invoke(app, ["serve", "backup", str(copy), "--database", str(path)])
        assert done.exit_code == 0, done.output
        head = store.read(chain.verify).head
        store.write(lambda c: erase(c, "bob"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "live.db"]
    with Store(str(copy), creates=False) as restored:
        checked = restored.read(lambda c: check(c, columns_of))
    assert (checked.faults, checked.head, checked.people) == ((), head, 1)


def test_a_backup_never_takes_the_place_of_another_file(template, tmp_path):
    there = tmp_path / "there.db"
    there.write_text("precious")
    refused = RUN.invoke(app, ["serve", "backup", str(there), "--database", str(template)])
    assert (refused.exit_code, there.read_text()) == (2, "precious")
    with pytest.raises(InvalidInput, match="does not exist"):
        back_up(url_of(str(tmp_path / "none.db")), tmp_path / "copy.db")
    with pytest.raises(InvalidInput, match=r"folder .* does not exist"):
        back_up(url_of(str(template)), tmp_path / "nowhere" / "copy.db")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    bad = RUN.invoke(app, ["serve", "backup", str(tmp_path / "x.db"), "--database", str(damaged)])
    assert (bad.exit_code != 0, (tmp_path / "x.db").exists()) == (True, False)


def test_postgres_is_backed_up_by_its_own_program(tmp_path):
    with pytest.raises(InvalidInput) as refused:
        back_up(url_of("postgresql://ann:secret@db/live"), tmp_path / "x.dump")
    assert "pg_dump --format=custom" in str(refused.value)
    assert "secret" not in str(refused.value)
