"""`preceptor serve`: what is refused before anything listens, and tokens by the command line."""

import pytest

from preceptor.cli._app import app
from tests.commands import CliRunner

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})


def run(*arguments):
    return RUNNER.invoke(app, [str(a) for a in arguments])


@pytest.fixture
def database(tmp_path):
    return tmp_path / "live.db"


def test_tokens_are_made_listed_and_revoked(database):
    made = run("serve", "token", "create", "--scope", "read", "--name", "x", "--database", database)
    assert made.exit_code == 0
    secret = made.stdout.strip()
    assert secret.startswith("pr_")
    listed = run("serve", "token", "list", "--database", database).stdout
    assert secret not in listed
    name = listed.split()[0]
    assert "live" in listed
    assert run("serve", "token", "revoke", name, "--database", database).exit_code == 0
    assert "revoked" in run("serve", "token", "list", "--database", database).stdout


@pytest.mark.parametrize(
    "words",
    [
        "token create --scope root",
        "token create --scope read --days 0",
        "token revoke 00000000",
        "--host 0.0.0.0 --trust-this-machine",
        "--plan missing.json",
    ],
)
def test_what_makes_no_sense_is_refused(keeps, words):
    assert keeps("serve", *words.split(), "--database", "live.db").exit_code in (1, 2)


def test_a_file_that_is_no_database_is_refused_and_left_alone(database):
    database.write_text("my thesis\n" * 500)
    refused = run("serve", "token", "list", "--database", database)
    assert refused.exit_code == 1
    assert "is not a SQLite database" in refused.stderr
    assert database.read_text() == "my thesis\n" * 500


def test_a_port_that_is_taken_is_said(database):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = run("serve", "--port", port, "--database", database)
    assert refused.exit_code == 2
    assert f"--port: cannot listen at 127.0.0.1:{port}" in refused.stderr
