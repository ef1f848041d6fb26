"""Others who call the service: a jsPsych page, an oTree app, a client made from the document."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import httpx
import pytest
from jsonschema import Draft202012Validator

from preceptor.live.client import Client
from preceptor.live.service.app import make_app
from preceptor.live.service.settings import Settings

pytestmark = pytest.mark.full

EXAMPLES = Path(__file__).parents[3] / "examples"
JSPSYCH, OTREE = EXAMPLES / "jspsych", EXAMPLES / "otree"
PACKAGES = JSPSYCH / "node_modules"
CASES = [
    {"values": {"bmi": 0.5 * i, "bp": 1.0 - i, "age": 0.25}, "outcome": 100.0 + i} for i in range(5)
]
# Seconds that a browser or oTree may take on a busy machine.
PATIENCE = 120


def need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def need_packages(*names: str) -> None:
    if not all((PACKAGES / name).is_dir() for name in names):
        pytest.skip("run `npm install` in examples/jspsych first")


@pytest.fixture(scope="module")
def client(server):
    with Client(server.address) as made:
        made.put_cases("five", CASES)
        yield made


@pytest.fixture(scope="module")
def document():
    return make_app(Settings("unused.db")).openapi()


def test_calls_of_the_examples_are_in_the_document(document):
    """In both, a call is `call(method, path)` below one person."""
    documented = {
        (method.upper(), re.sub(r"\{\w+\}", "{}", path.removeprefix("/v1/people/{who}")))
        for path, methods in document["paths"].items()
        for method in methods
    }
    for path, called in ((JSPSYCH / "service.js", 3), (OTREE / "training/service.py", 4)):
        text = path.read_text("utf-8")
        calls = re.findall(r"\.call\(\"(\w+)\", f?[\"`]([^\"`]*)[\"`]", text)
        assert len(calls) == called
        for method, below in calls:
            assert (method, re.sub(r"\$?\{[\w.]+\}", "{}", below)) in documented, (method, below)


def test_the_page_s_client_runs_in_node(client):
    node = need("node")
    client.enrol("node", cases="five")
    script = f"""
        import {{ Service }} from {json.dumps((JSPSYCH / "service.js").as_uri())};
        const service = new Service("{client.url}/v1/people/node");
        let round;
        while ((round = await service.next())) {{
            const told = await service.answer(round.round, 7.5);
            console.log(JSON.stringify([round.outcome, round.values, told.outcome]));
        }}
    """
    done = subprocess.run(
        [node, "--input-type=module", "-e", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert [told for _, _, told in rounds] == [case["outcome"] for case in CASES]
    for (before, values, _), case in zip(rounds, CASES, strict=True):
        assert before is None
        assert values.items() <= case["values"].items()
        assert len(values) == 2


@pytest.fixture
def page(client, tmp_path):
    """Where the page is served."""
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps(CASES))
    command = [sys.executable, JSPSYCH / "serve.py", "--service", client.url, "--port", "0"]
    process = subprocess.Popen(
        [*command, "--cases", cases], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    yield process.stdout.readline().split()[-1]
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_participant_reaches_their_own_rounds_and_nothing_else(client, page):
    with httpx.Client(base_url=page) as visitor:
        assert visitor.post("/v1/people/me/rounds").status_code == 403
        assert visitor.get("/").status_code == 200
        assert visitor.post("/v1/people/me/rounds").json()["round"] == 0
        shown = visitor.put("/v1/people/me/rounds/0/shown", json={}).json()
        assert len(shown["values"]) == 2
        assert shown["outcome"] is None
        for method, path in (
            ("GET", "/v1/people/me/export"),
            ("GET", "/v1/people/me/../node"),
            ("PUT", "/v1/people/me/rounds/0/outcome"),
            ("PUT", "/v1/people/me"),
            ("POST", "/v1/people/node/rounds"),
            ("GET", "/serve.py"),
            ("GET", "/package.json"),
            ("GET", "/node_modules/"),
            ("GET", "/../jspsych/serve.py"),
            ("HEAD", "/serve.py"),
        ):
            assert visitor.request(method, path).status_code in (403, 404, 405), path
        told = visitor.put("/v1/people/me/rounds/0/prediction", json={"prediction": 1.0}).json()
        assert told["outcome"] == CASES[0]["outcome"]


def test_the_page_runs_in_a_browser(client, page, tmp_path):
    browser = need("chromium")
    need_packages("jspsych", "@jspsych/plugin-html-button-response")
    before = {row["participant"] for row in client.log()}
    done = subprocess.run(
        [
            browser,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--no-first-run", f"--user-data-dir={tmp_path / 'profile'}"),
            *("--virtual-time-budget=60000", "--dump-dom", f"{page}/?simulate"),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert 'data-finished="5"' in done.stdout, done.stdout + done.stderr[-2000:]
    rows = [row for row in client.log() if row["participant"] not in before]
    assert [row["outcome"] for row in rows] == [case["outcome"] for case in CASES]
    assert all(0 <= row["prediction"] <= 350 for row in rows)
    assert len({row["participant"] for row in rows}) == 1


# --- oTree -------------------------------------------------------------------------------------


class _Anything:
    def __init__(self, *_, **__):
        pass


@pytest.fixture
def training(monkeypatch):
    """The app with a stand-in for oTree, which pins packages that we cannot live with."""
    names = ("BaseConstants", "BaseGroup", "BasePlayer", "BaseSubsession", "Page")
    api = types.ModuleType("otree.api")
    vars(api).update({name: type(name, (), {}) for name in names})
    fields = ("LongStringField", "FloatField")
    api.models = types.SimpleNamespace(**dict.fromkeys(fields, _Anything))
    for name, module in {"otree": types.ModuleType("otree"), "otree.api": api}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.syspath_prepend(str(OTREE))
    yield importlib.import_module("training")
    for name in [each for each in sys.modules if each.partition(".")[0] == "training"]:
        del sys.modules[name]


def test_the_app_s_calls_go_through(client, training):
    session = types.SimpleNamespace(config={"service": client.url, "cases": "five"})
    participant = types.SimpleNamespace(code="abc123")
    for number in range(1, training.C.NUM_ROUNDS + 1):
        player = types.SimpleNamespace(
            session=session, participant=participant, round_number=number, prediction=7.5 + number
        )
        seen = training.Decide.vars_for_template(player)
        assert training.Decide.vars_for_template(player) == seen  # as on a reload
        assert len(seen["results"]) == 2
        training.Decide.before_next_page(player, timeout_happened=False)
        assert player.outcome == CASES[number - 1]["outcome"]
    rows = list(client.log(person="otree-abc123"))
    assert [row["prediction"] for row in rows] == [8.5, 9.5, 10.5, 11.5, 12.5]
    with pytest.raises(RuntimeError, match="all 5 of 'five' have been"):
        training.service_of(player).open_round()


def test_the_app_runs_in_otree(client, tmp_path):
    """`PRECEPTOR_OTREE` names an `otree` in an environment of its own: see examples/otree."""
    otree = os.environ.get("PRECEPTOR_OTREE")
    if otree is None:
        pytest.skip(
            "PRECEPTOR_OTREE names no `otree` (pip install otree requests, in its own environment)"
        )
    project = tmp_path / "project"
    shutil.copytree(OTREE, project)
    settings = {"PRECEPTOR_URL": client.url, "PRECEPTOR_CASES": "five"}
    done = subprocess.run(
        [otree, "test", "training", "2"],
        cwd=project,
        env={**os.environ, **settings, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [row for row in client.log() if re.fullmatch(r"otree-\w{8}", row["participant"])]
    assert len(rows) == 2 * 5
    assert {row["outcome"] for row in rows} == {case["outcome"] for case in CASES}


# --- a client in TypeScript ---------------------------------------------------------------------


def test_the_document_is_sound(document):
    """Schemas are schemas, references lead somewhere, examples fit, names differ."""
    parts = document["components"]["schemas"]
    for part in parts.values():
        whole = {**part, "components": document["components"]}
        Draft202012Validator.check_schema(whole)
        for example in part.get("examples", ()):
            Draft202012Validator(whole).validate(example)
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= set(parts)
    calls = [
        (path, call)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
    ]
    ids = [call["operationId"] for _, call in calls]
    assert len(set(ids)) == len(ids)
    for path, call in calls:
        given = [each["name"] for each in call.get("parameters", ()) if each["in"] == "path"]
        assert sorted(given) == sorted(re.findall(r"\{(\w+)\}", path)), path


def test_a_typescript_client_can_be_generated(document, tmp_path):
    node = need("node")
    need_packages("openapi-typescript", "typescript")
    described = tmp_path / "openapi.json"
    described.write_text(json.dumps(document))
    made = tmp_path / "service.ts"
    tools = PACKAGES / ".bin"
    for command in (
        [node, tools / "openapi-typescript", described, "-o", made],
        [node, tools / "tsc", "--noEmit", "--strict", "--skipLibCheck", made],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr
    assert '"/v1/people/{who}/rounds/{number}/prediction"' in made.read_text()
