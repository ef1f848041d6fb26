"""Commands that tests call in their own process, hundreds of times."""

import functools

import typer.testing
from typer.testing import CliRunner

__all__ = ["CliRunner", "command_of"]

# Typer builds every command anew for each call, which takes longer than most calls.
command_of = functools.cache(typer.main.get_command)
typer.testing._get_command = command_of
