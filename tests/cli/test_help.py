"""Help pages of every command, word for word."""

import pytest

from preceptor.cli._app import BriefCommand, app
from tests.commands import command_of


def commands(command, path=()):
    """Every command and every group of commands, with the words that call it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands(command_of(app)))
BRIEF = [path for path, command in COMMANDS.items() if isinstance(command, BriefCommand)]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help(run, snapshot, path):
    result = run(*path, "--help")
    assert result.exit_code == 0
    snapshot(path[0] if path else "preceptor", result.stdout)


@pytest.mark.parametrize("path", BRIEF, ids=" ".join)
def test_complete_help(run, snapshot, path):
    brief, complete = run(*path, "--help"), run(*path, "--help-all")
    assert complete.exit_code == 0
    assert "--help-all also lists" in brief.stdout
    assert "--help-all also lists" not in complete.stdout
    assert len(complete.stdout) > len(brief.stdout)
    snapshot(path[0], complete.stdout)
