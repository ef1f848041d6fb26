"""The command line: a thin layer that reads files, calls the library and prints.

One file per command; each registers with `app` when it is imported here.
"""

from __future__ import annotations

try:
    import rich  # noqa: F401
    import typer  # noqa: F401
except ImportError as missing:
    raise SystemExit(
        f"The command line needs {missing.name}. Install it with: pip install 'preceptor[cli]'"
    ) from None

from preceptor._base.starting import loaded
from preceptor.cli import (
    diagnose,
    examples,
    explain,
    explore,
    fit,
    next,
    plan,
    reproduce,
    serve,
    serve_backup,
    serve_bots,
    serve_check,
    serve_token,
    simulate,
    solve,
    study,
    study_bots,
    study_check,
    study_close,
    study_export,
    study_links,
    study_new,
    study_open,
    study_power,
    study_preview,
    study_raise,
    study_serve,
    study_status,
    study_unblind,
    tutor,
)
from preceptor.cli._app import app
from preceptor.cli._net import run

__all__ = [
    "app",
    "diagnose",
    "examples",
    "explain",
    "explore",
    "fit",
    "main",
    "next",
    "plan",
    "reproduce",
    "serve",
    "serve_backup",
    "serve_bots",
    "serve_check",
    "serve_token",
    "simulate",
    "solve",
    "study",
    "study_bots",
    "study_check",
    "study_close",
    "study_export",
    "study_links",
    "study_new",
    "study_open",
    "study_power",
    "study_preview",
    "study_raise",
    "study_serve",
    "study_status",
    "study_unblind",
    "tutor",
]


def main() -> None:
    """Entry point of the `preceptor` command."""
    loaded()
    run(app)
