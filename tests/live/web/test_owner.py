"""Owner's pages in a real browser: while bots run, by keyboard, on a phone, without JavaScript."""

from __future__ import annotations

import re
import sqlite3
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from preceptor.cli._app import app
from preceptor.live.bots import StudyBots
from preceptor.live.store import chain, participants, studies, tokens
from preceptor.live.store.database import Store
from preceptor.live.study.study import Study
from preceptor.simulation.named import human_named
from tests.commands import CliRunner
from tests.live.service.servers import Server, start
from tests.live.study.files import small_file
from tests.live.study.played import opened, play
from tests.live.study.psych_ds import psych_ds_faults
from tests.live.web.browsing import PHONE, Visitors, axe, follow, is_within, press

STUDY = "/studies/two-tests"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("owner")
    store, study = opened(made)
    play(store, study, 6, seed=1)
    play(store, study, 2, seed=2, until=study.protocol.assigned_at + 4)
    play(store, study, 1, seed=3, until=1)
    store.close()
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Server]:
    running = start(folder, "--database", folder / "live.db", "--rate", 0)
    yield running
    assert running.stop() == 0, running.log.read_text()


def number(page: Page, name: str) -> int:
    """One of the numbers at the top."""
    row = page.locator(".numbers div", has=page.get_by_text(name, exact=True))
    return int((row.locator("dd").text_content() or "").split()[0])


def test_the_page_moves_by_itself_while_fifty_bots_run(
    visitor: Visitors, site: Server, folder: Path
) -> None:
    study = Study.load(folder / "study.toml")
    page = visitor()
    page.goto(f"{STUDY}?kind=bot")
    page.evaluate("document.body.dataset.mark = 'same'")
    assert number(page, "finished") == 0
    human = human_named(study.problem, None, 0.3)
    crowd = StudyBots(f"{site.address}/s/two-tests", 50, human)
    seen = set()
    running = threading.Thread(target=lambda: crowd.play(4))
    running.start()
    while running.is_alive():
        seen.add(number(page, "finished"))
        page.wait_for_timeout(250)
    running.join()
    expect(page.locator(".numbers dd").first).to_have_text("50")
    assert page.evaluate("document.body.dataset.mark") == "same"
    assert len(seen) > 1
    expect(page.get_by_role("img", name=re.compile("plan: 25 finished"))).to_be_visible()
    expect(page.get_by_text("counted separately, never as people")).to_be_visible()
    axe(page)
    people = visitor()
    people.goto(STUDY)
    assert number(people, "finished") == 6
    expect(people.get_by_role("link", name="Bots (50)")).to_be_visible()


@pytest.mark.parametrize(("size", "dark"), [((1200, 900), False), (PHONE, True)])
def test_pages_are_accessible_on_any_screen(
    visitor: Visitors, size: tuple[int, int], dark: bool
) -> None:
    page = visitor(size=size, dark=dark)
    shown = ("/participants", "/participants?arms=yes", "/allocation", "/check")
    for path in ("", "/two-tests", *(f"/two-tests{each}" for each in shown)):
        page.goto(f"/studies{path}")
        axe(page)
        assert is_within(page)
    for path in ("/two-tests?kind=bot", "/two-tests/registration"):
        page.goto(f"/studies{path}")
        axe(page)
        assert is_within(page)


def test_without_javascript_it_is_the_same_page_reloaded(visitor: Visitors, folder: Path) -> None:
    page = visitor(javascript=False)
    page.goto(STUDY)
    before = number(page, "active now")
    with Store(str(folder / "live.db")) as store:
        play(store, Study.load(folder / "study.toml"), 1, until=1)
    page.reload()
    assert number(page, "active now") == before + 1


def test_nothing_is_sent_when_nothing_has_changed(site: Server) -> None:
    page = site.http.get(STUDY).text
    found = re.search(r'hx-get="([^"]+)"', page)
    assert found is not None
    path = found.group(1).replace("&amp;", "&")
    assert site.http.get(path).status_code == 204
    other = site.http.get(path.replace("seen=", "seen=x"))
    assert other.status_code == 200
    assert other.text.startswith('<div id="now"')


def test_results_are_blinded_until_it_is_logged_why(visitor: Visitors, folder: Path) -> None:
    page = visitor()
    page.goto(STUDY)
    expect(page.get_by_text("All arms pooled until the study is unblinded")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("all arms: "))).to_be_visible()
    assert page.get_by_role("link", name="Download, anonymous").count() == 0
    assert page.request.get(f"{STUDY}/export.zip").status == 422
    given = ["--reason", "all are there", "--database", str(folder / "live.db")]
    told = page.get_by_text("preceptor study unblind two-tests --reason")
    expect(told).to_be_visible()
    assert CliRunner().invoke(app, ["study", "unblind", "two-tests", *given]).exit_code == 0
    page.reload()
    expect(told).not_to_be_visible()
    expect(page.get_by_role("img", name=re.compile("by round. plan: .* fixed: "))).to_be_visible()
    with Store(str(folder / "live.db")) as store:
        kept = store.read(lambda c: studies.find(c, "two-tests"))
        assert kept.unblinded is not None
        assert store.read(chain.verify).faults == ()
    with sqlite3.connect(folder / "live.db") as raw:
        said = raw.execute("SELECT payload FROM event WHERE kind = 'unblinded'").fetchone()[0]
    raw.close()
    assert "all are there" in said
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download, anonymous").click()
    target = folder / "downloaded"
    with zipfile.ZipFile(waiting.value.path()) as packed:
        packed.extractall(target)
    assert psych_ds_faults(target / "two-tests-data") == []


def test_participants_are_listed_without_arms_and_get_new_links(
    tmp_path: Path, visitor: Visitors
) -> None:
    store, study = opened(tmp_path)
    play(store, study, 2)
    stage = study.protocol.assigned_at + 3
    asked = sum(step.kind == "ask" for step in study.protocol.steps[:stage])
    (under_way,) = play(store, study, 1, until=stage)
    who = store.read(lambda c: participants.find(c, under_way))
    lost = store.write(lambda c: participants.new_link(c, who))
    store.write(lambda c: participants.say(c, who, "comment", "Too <fast>"))
    running = start(tmp_path, "--database", tmp_path / "live.db", "--rate", 0)
    try:
        page = visitor(address=running.address)
        page.goto(STUDY)
        follow(page, "All participants")
        expect(page.locator("tbody tr")).to_have_count(3)
        row = page.locator("tr", has_text=under_way)
        expect(row).to_contain_text("active")
        expect(row.locator(".number")).to_have_text(str(asked))
        expect(row.locator("time")).to_have_text("just now")
        expect(row).to_contain_text("Too <fast>")
        expect(page.locator("tbody")).not_to_contain_text("plan")
        expect(page.locator("tbody")).not_to_contain_text("fixed")
        expect(page.get_by_role("button")).to_have_count(1)  # those who have finished need no link
        follow(page, "Show arms")
        expect(row.get_by_role("cell", name=who.arm, exact=True)).to_be_visible()
        expect(page.get_by_text("Too <fast>")).to_have_count(0)
        store.write(lambda c: studies.unblind(c, study.id, "me", "all are there"))
        page.reload()
        expect(row).to_contain_text("Too <fast>")
        follow(page, "Hide arms")
        expect(page.locator("tbody")).not_to_contain_text(who.arm)
        press(page, f"New link for {under_way}")
        address = page.locator(".address code").text_content()
        axe(page)
        theirs = visitor(address=running.address)
        theirs.goto(address)
        press(theirs, "Continue")
        expect(theirs.get_by_role("heading", level=1)).to_contain_text(f"Case {asked} of 6")
        assert running.http.get(f"/s/{study.id}/p/{lost}").status_code == 404
        from_elsewhere = {"Sec-Fetch-Site": "cross-site"}
        path = f"{STUDY}/participants"
        got = running.http.post(path, data={"who": under_way}, headers=from_elsewhere)
        assert got.status_code == 403
        assert running.http.post(path, data={"who": "nobody"}).status_code == 404
    finally:
        for each in (page, theirs):
            each.context.close()
        running.stop()
        store.close()


def test_other_sites_see_nothing(site: Server) -> None:
    for headers in ({"Origin": "https://elsewhere.example"}, {"Host": "elsewhere.example"}):
        assert site.http.get(STUDY, headers=headers).status_code == 403


def test_tampering_is_shown(tmp_path: Path, visitor: Visitors) -> None:
    store, study = opened(tmp_path)
    play(store, study, 2)
    store.close()
    with sqlite3.connect(tmp_path / "live.db") as raw:
        raw.execute("UPDATE round SET prediction = 0.5 WHERE number = 0")
    raw.close()
    running = start(tmp_path, "--database", tmp_path / "live.db")
    try:
        page = visitor(address=running.address)
        page.goto(f"{STUDY}/check")
        expect(page.get_by_role("alert")).to_contain_text("prediction is 0.5, but the events")
    finally:
        page.context.close()
        running.stop()


def test_an_admin_token_opens_the_door(tmp_path: Path, visitor: Visitors) -> None:
    small_file(tmp_path)
    store, _ = opened(tmp_path)
    reader, _ = store.write(lambda c: tokens.create(c, "read"))
    secret, made = store.write(lambda c: tokens.create(c, "admin"))
    running = start(tmp_path, "--database", tmp_path / "live.db")
    visitor.forgive("status of 403")
    try:
        page = visitor(address=running.address)
        page.goto(f"{STUDY}/registration")
        expect(page).to_have_url(re.compile("/studies/enter"))
        axe(page)
        for wrong, sentence in (("pr_nonsense", "is not known"), (reader, "may only read")):
            page.get_by_label("Admin token").fill(wrong)
            press(page, "Sign in")
            expect(page.get_by_role("alert")).to_contain_text(sentence)
        page.get_by_label("Admin token").fill(secret)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Pre-registration", level=1)).to_be_visible()
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert page.evaluate("document.cookie") == ""
        page.goto(STUDY)
        press(page, "Sign out")
        expect(page.get_by_label("Admin token")).to_be_visible()
        page.goto(STUDY)
        expect(page).to_have_url(re.compile("/studies/enter"))
        with httpx.Client(base_url=running.address, cookies={"owner": secret}) as http:
            assert http.get(STUDY).status_code == 303, "a token is no session"
        with httpx.Client(base_url=running.address, cookies={"owner": cookie["value"]}) as http:
            assert http.get(STUDY).status_code == 303, "signing out ends the session"
        with httpx.Client(base_url=running.address) as http:
            http.post("/studies/enter", data={"token": secret})
            assert http.get(STUDY).status_code == 200
            bearer = {"Authorization": f"Bearer {http.cookies['owner']}"}
            assert httpx.get(f"{running.address}/v1/log", headers=bearer).status_code == 401
            store.write(lambda c: tokens.revoke(c, made.id))
            running.http.post("/studies/enter", data={"token": "x"})  # tokens are read anew
            assert http.get(STUDY).status_code == 303
            moved = http.get(f"{STUDY}/now", headers={"HX-Request": "true"})
            assert (moved.status_code, moved.headers["HX-Redirect"]) == (401, "/studies/enter")
    finally:
        page.context.close()
        running.stop()
        store.close()


@pytest.mark.parametrize(
    "back", ["https://elsewhere.example", "//elsewhere.example", "/studies/../x"]
)
def test_nobody_is_sent_elsewhere(site: Server, back: str) -> None:
    answer = site.http.get("/studies/enter", params={"back": back})
    assert answer.headers["location"] == "/studies"
