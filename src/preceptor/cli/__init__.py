"""The command line: a thin layer that reads files, calls the library and prints.

Each command registers with `app` when its module is imported here.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

try:
    import rich  # noqa: F401
    import typer  # noqa: F401
except ImportError as missing:
    raise SystemExit(
        f"The command line needs {missing.name}. Install it with: pip install 'preceptor[cli]'"
    ) from None

from preceptor.cli._app import app
from preceptor.cli._console import run

__all__ = ["app", "main"]

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")


def main() -> None:
    """Entry point of the `preceptor` command."""
    run(app)
