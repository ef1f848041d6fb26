"""Simulated participants: balanced arms, the log of a rollout, and servers that are killed."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import tomli_w

from preceptor._base.values import plain
from preceptor.cli._app import app
from preceptor.errors import InvalidInput
from preceptor.live.bots import StudyBots
from preceptor.live.store import participants
from preceptor.live.store.database import Store
from preceptor.live.study.study import protocol_of
from preceptor.simulation.named import human_named
from tests.commands import CliRunner
from tests.live.service.servers import start
from tests.live.study.opened import open_study, small_study
from tests.live.study.rollouts import differences
from tests.live.study.taking_part import Somebody

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})
MANY = pytest.mark.slow
ARMS = [
    {"name": "plan", "policy": "plan", "time_limit": 0.2},
    {"name": "fixed", "policy": "best fixed", "time_limit": 0.2},
    {"name": "chance", "policy": "random order", "time_limit": 0.2},
]


def bots_of(site, study, people, kind=None, **options):
    human = human_named(study.problem, kind, 0.5)
    return StudyBots(f"{site.address}/s/{study.id}", people, human, **options)


def everyone(database, study):
    with Store(str(database)) as store:
        return store.read(lambda c: participants.everyone(c, study.id))


def must_be_sound(database):
    checked = RUNNER.invoke(app, ["serve", "check", "--database", str(database)])
    assert checked.exit_code == 0, checked.stdout


def must_be_balanced(found):
    """Completed and active together, within one; places of an arm without gaps."""
    arms = {}
    for each in found:
        if each.arm is not None:
            arms.setdefault(each.arm, []).append(each.place)
    counts = [len(places) for places in arms.values()]
    assert max(counts) - min(counts) <= 1, counts
    for places in arms.values():
        assert sorted(places) == list(range(len(places)))


@pytest.mark.parametrize("people", [9, pytest.param(200, marks=MANY)])
def test_bots_leave_the_log_of_a_rollout_in_balanced_arms(opened, site, database, people):
    study = opened(arm=ARMS)
    crowd = bots_of(site, study, people, "delta-rule")
    attended = crowd.play(connections=4)
    assert all(attended.finished)
    assert sum(attended.answers) == people * len(study.protocol.trials)
    assert differences(crowd, attended) == []
    found = everyone(database, study)
    assert {each.kind for each in found} == {"bot"}
    assert {each.status for each in found} == {"completed"}
    must_be_balanced(found)
    must_be_sound(database)
    # The check can fail: other people would have answered otherwise.
    assert differences(bots_of(site, study, people, "bayesian"), attended)


@pytest.mark.parametrize("people", [12, pytest.param(200, marks=MANY)])
def test_arms_stay_balanced_when_people_leave(opened, site, database, people):
    study = opened()
    crowd = bots_of(site, study, people, drop_out=0.4)
    attended = crowd.play(connections=4)
    left = people - sum(attended.finished)
    assert 0 < left < people
    assert differences(crowd, attended) == []
    found = everyone(database, study)
    assert sum(each.status == "active" for each in found) == left
    must_be_balanced(found)


@pytest.mark.parametrize("people", [24, pytest.param(200, marks=MANY)])
def test_joining_at_once_gives_everybody_a_place(opened, site, database, people):
    study = opened()
    gate = threading.Barrier(people)

    def one(_):
        who = Somebody(site.address, study.id)
        gate.wait()
        title = who.join().until("Case 1 of 1").title
        who.close()
        return title

    with ThreadPoolExecutor(people) as pool:
        assert set(pool.map(one, range(people))) == {"Case 1 of 1"}
    found = everyone(database, study)
    assert len(found) == people
    must_be_balanced(found)


def test_nobody_goes_on_in_place_of_somebody_who_left(opened, site):
    study = opened()
    before = bots_of(site, study, 4, "bayesian", drop_out=0.9).play()
    assert not all(before.finished)
    with pytest.raises(InvalidInput, match="choose another prefix"):
        bots_of(site, study, 4, "bayesian").play()


@pytest.mark.full
@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=MANY)])
def test_a_server_that_is_killed_loses_nothing_and_nobody(tmp_path, kills):
    """Everybody resumes where they were; answers are there once, and those of a rollout."""
    database, people = tmp_path / "live.db", 4 * kills
    study = small_study()
    with Store(str(database)) as store:
        open_study(store, study)
    given = ("--database", database, "--rate", 0)
    server = start(tmp_path, *given)
    port = urlsplit(server.address).port
    crowd = bots_of(server, study, people)
    crowd.study  # noqa: B018 - read while the server is there
    playing = threading.Thread(target=lambda: found.append(crowd.play(connections=4)))
    found: list = []
    playing.start()
    for number in range(kills):
        wait_for_rounds(database, 8 * (number + 1))
        server.kill()
        server.http.close()
        server = start(tmp_path, *given, "--port", port)
    playing.join(timeout=120)
    [attended] = found
    assert all(attended.finished)
    assert sum(attended.answers) == people * len(study.protocol.trials)
    assert differences(crowd, attended) == []
    must_be_balanced(everyone(database, study))
    assert server.stop() == 0
    must_be_sound(database)


def wait_for_rounds(database, number):
    with Store(str(database), creates=False) as store:
        for _ in range(600):
            found = store.read(lambda c: participants.everyone(c, "small"))
            stages = sum(each.stage for each in found)
            if stages >= 6 * number:
                return
            threading.Event().wait(0.02)
    raise AssertionError("nobody gets on")


def test_the_command_plays(opened, site):
    study = opened()
    given = ["study", "bots", f"{site.address}/s/{study.id}", "--people", "3", "--noise", "0.3"]
    said = RUNNER.invoke(app, [*given, "--human", "lms", "--json"])
    assert said.exit_code == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["finished"] == 3
    again = RUNNER.invoke(app, given)
    assert again.exit_code == 2
    assert "has taken part before; choose another prefix" in again.stderr
    words = RUNNER.invoke(app, [*given, "--prefix", "other-"])
    assert "3 simulated participants (other-00001 to other-00003): 3 finished" in words.stdout
    lost = RUNNER.invoke(app, ["study", "bots", f"{site.address}/s/nowhere", "--people", "1"])
    assert lost.exit_code == 1
    assert "study: 'nowhere' is not here" in lost.stderr
    wrong = RUNNER.invoke(app, ["study", "bots", site.address])
    assert "must be the address of a study" in wrong.stderr
    nobody = RUNNER.invoke(app, ["study", "bots", "http://127.0.0.1:9/s/small"])
    assert nobody.exit_code != 0
    assert "http://127.0.0.1:9: no response" in nobody.stderr


@MANY  # a process of its own imports everything anew
def test_a_file_is_tried_on_a_site_of_its_own(tmp_path):
    small_study().problem.save(tmp_path / "problem.json")
    said = {**small_study().to_dict(), "problem": "problem.json"}
    path = tmp_path / "study.toml"
    path.write_text(tomli_w.dumps(plain(said)), "utf-8")
    found = RUNNER.invoke(app, ["study", "bots", str(path), "--people", "2", "--json"])
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["finished"] == 2
    missing = RUNNER.invoke(app, ["study", "bots", str(tmp_path / "none.toml")])
    assert missing.exit_code == 2


YES_NO = {
    "percent": {"answer": "percent"},
    "yes or no": {"answer": "yes or no"},
    "slider": {"answer": "slider", "low": -2, "high": 2.5},
}


@pytest.mark.parametrize("kind", YES_NO)
def test_every_kind_of_answer_arrives_bit_by_bit(opened, site, kind):
    import preceptor as pr
    from tests.live.service.servers import LEARNER, WORLD

    changes = {"outcome": {"unit": "", **YES_NO[kind]}}
    if kind != "slider":
        risk = pr.Decision() if kind == "yes or no" else pr.Brier()
        world = pr.World(
            WORLD.coefficients, WORLD.covariance, names=WORLD.names, outcome=pr.Binary(0.4)
        )
        problem = pr.Problem(world, LEARNER, 2, horizon=8, risk=risk)
        changes["problem"] = problem.to_dict()
    study = opened(**changes)
    crowd = StudyBots(f"{site.address}/s/{study.id}", 4)
    attended = crowd.play(connections=2)
    assert all(attended.finished)
    assert differences(crowd, attended) == []


def test_practice_with_feedback_is_gone_through(opened, site):
    blocks = [{**each} for each in small_study().to_dict()["block"]]
    blocks[2]["feedback"] = True
    study = opened(block=blocks)
    assert all(bots_of(site, study, 1).play().finished)
    assert len(protocol_of(study.configuration.block).steps) == 18
