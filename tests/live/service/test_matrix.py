"""All routes by all callers: who gets in where, and what forms full of nonsense get."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import numpy as np
import pytest

from preceptor.live.bot_pages import ReadPage, read_page
from preceptor.live.service.settings import Settings
from preceptor.live.store import tokens
from preceptor.live.store.database import Store
from preceptor.live.study.opening import open_study
from preceptor.live.web.site import make_site
from tests.live.service.servers import start
from tests.live.study.opened import small_study
from tests.live.study.taking_part import GOOD

PERSON, ROUND = "/v1/people/{who}", "/v1/people/{who}/rounds/{number}"
# What a token must be allowed to do; a route that is not here fails the test.
NEEDS = {
    f"POST {PERSON}/rounds": "write",
    f"GET {ROUND}": "read",
    f"PUT {ROUND}/shown": "write",
    f"PUT {ROUND}/prediction": "write",
    f"PUT {ROUND}/outcome": "write",
    f"DELETE {ROUND}": "write",
    "GET /v1/log": "read",
    f"PUT {PERSON}": "write",
    f"GET {PERSON}": "read",
    f"GET {PERSON}/export": "admin",
    f"DELETE {PERSON}": "admin",
    "PUT /v1/plans/{sha256}": "admin",
    "GET /v1/plans/{sha256}": "read",
    "PUT /v1/cases/{name}": "admin",
    "POST /v1/recommend": "read",
    "GET /v1/studies/{study}": "read",
}
OWNERS = ("/studies", "/class")
PUBLIC = ("/s/", "/c", "/static/", "/studies/enter", "/livez", "/readyz", "/metrics", "/openapi")
RANKS = {"read": 1, "write": 2, "admin": 3}
NAMES = {"who": "ann", "number": "0", "sha256": "0" * 64, "name": "small", "study": "small"}
NAMES |= {"secret": "nonsense", "file": "preregistration.json", "test": "bmi", "part": "x"}


pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, dict[str, str]]]:
    """The whole site, and a secret of each kind."""
    path = tmp_path_factory.mktemp("matrix") / "live.db"
    with Store(str(path)) as store:
        open_study(store, small_study(recruiting={"parameter": None}))
        made = {scope: store.write(lambda c, s=scope: tokens.create(c, s)) for scope in RANKS}
        made["expired"] = store.write(lambda c: tokens.create(c, "admin", days=1e-9))
        made["revoked"] = store.write(lambda c: tokens.create(c, "admin"))
        store.write(lambda c: tokens.revoke(c, made["revoked"][1].id))
    server = start(path.parent, "--database", path, "--rate", 0, trusts=False)
    yield server.http, {name: secret for name, (secret, _) in made.items()}
    assert server.stop() == 0


def routes() -> list[tuple[str, str]]:
    made = make_site(Settings("never opened", explorer="nobody")).routes
    found = ((route, getattr(route, "methods", None) or {"GET"}) for route in made)
    return [(method, route.path) for route, many in found for method in sorted(many - {"HEAD"})]


CALLERS = ("nobody", "nonsense", "expired", "revoked", *RANKS, "session", "owner", "participant")


def credentials(
    client: httpx.Client, secrets: dict[str, str], caller: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Headers and cookies of a caller."""
    client.cookies.clear()
    if caller in ("session", "owner"):
        done = client.post("/studies/enter", data={"token": secrets["admin"]})
        [(name, value)] = done.cookies.items()
        client.cookies.clear()
        if caller == "session":  # the owner's session is no token
            return {"Authorization": f"Bearer {value}"}, {}
        return {}, {name: value}
    if caller == "participant":
        cookies = dict(client.post("/s/small", data={"recruiter": ""}).cookies)
        client.cookies.clear()
        return {}, cookies
    token = secrets.get(caller, "" if caller == "nobody" else "x" * 43)
    return ({"Authorization": f"Bearer {token}"} if token else {}), {}


def test_every_route_lets_in_whom_it_should_and_nobody_else(site) -> None:
    client, secrets = site
    listed = {f"{m} {p}" for m, p in routes() if p.startswith("/v1/")}
    assert listed == NEEDS.keys()
    wrong = []
    for caller in CALLERS:
        headers, cookies = credentials(client, secrets, caller)
        for method, path in routes():
            if method == "POST" and path in ("/studies/leave", "/s/{study}/withdraw"):
                continue  # these would end the caller's own visit
            sent = "; ".join(f"{name}={value}" for name, value in cookies.items())
            given = {**headers, "Cookie": sent, "Accept": "text/html"}
            got = client.request(method, path.format(**NAMES), headers=given)
            client.cookies.clear()
            if not _as_expected(caller, method, path, got):
                wrong.append((caller, method, path, got.status_code))
    assert wrong == []


def _as_expected(caller: str, method: str, path: str, got: httpx.Response) -> bool:
    if got.status_code >= 500 and path != "/readyz":
        return False
    if path.startswith("/v1/"):
        if caller not in RANKS:
            return got.status_code == 401
        may = RANKS[caller] >= RANKS[NEEDS[f"{method} {path}"]]
        return (got.status_code == 403) != may and got.status_code != 401
    if path.startswith(OWNERS) and path != "/studies/enter":
        turned_away = got.status_code in (401, 403) or "/studies/enter" in got.headers.get(
            "location", ""
        )
        return turned_away != (caller == "owner")
    return path == "/" or path.startswith(PUBLIC)


_NONSENSE = ["", "0", "-1", "1e400", "nan", "inf", "1,234", "９", "\u202e1", "x" * 5000, "<b>", "∞"]
_NONSENSE += ["\x00", "\ud800", "1e-400", "0x10", "1_0", "٣", "%00", "${7*7}", "=1+1", "'--"]


def test_forms_full_of_nonsense_are_answered_and_change_nothing_in_between(site) -> None:
    """At every step of a study, in every field: no failure, and the right answer still counts."""
    client, _ = site
    client.cookies.clear()
    rng, sent = np.random.default_rng(0), 0
    page = _page(client.post("/s/small", data={"recruiter": ""}, follow_redirects=True))
    while page.stage is not None:
        form = page.form
        assert form is not None
        asks = "answer" in form.values | form.choices
        good = form.filled(**GOOD.get(page.title, {"answer": "1.5"} if asks else {}))
        for name, bad in itertools.product(good, _NONSENSE):
            if name == "choice" or rng.random() < 0.5:
                continue
            fields = {**good, name: bad}
            if _would_pass(page.title, name, bad):
                continue
            got = client.post(form.action, content=_encoded(fields), headers=_FORM)
            assert got.status_code < 500, (page.title, name, bad, got.text)
            assert got.status_code in (303, 403, 413, 422), (page.title, name, bad)
            sent += 1
            now = _page(client.get("/s/small/now"))
            assert now.stage == page.stage, (page.title, name, bad)
        page = _page(client.post(form.action, data=good, follow_redirects=True))
    assert page.title == "Thank you"
    assert sent > 100


_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _would_pass(title: str, name: str, bad: str) -> bool:
    """Whether a step takes this: it asks for nothing, or for any text, or that is a number."""
    if name in ("csrf", "step"):
        return False
    if not title.startswith(("Consent", "A few questions", "Case", "A short question")):
        return True
    if name == "agree":
        return bool(bad.strip("\x00 "))
    if name.startswith("question"):
        return bad in ("0", "-1")
    return name != "answer" or bad in ("0", "-1", "９", "1e-400", "٣", "1_0") or "outcome" in title


def _encoded(fields: dict[str, str]) -> bytes:
    return "&".join(
        f"{name}={quote(value, errors='surrogatepass')}" for name, value in fields.items()
    ).encode()


def _page(got: httpx.Response) -> ReadPage:
    return read_page(got.text)
