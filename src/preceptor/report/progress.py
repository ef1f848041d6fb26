"""A progress bar for anything that reports how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from preceptor._base.progress import Progress, Update
from preceptor.errors import MissingExtra


@contextmanager
def progress_bar(title: str = "planning") -> Iterator[Progress]:
    """A bar on stderr with time left; give what it yields to `solve` or `solve_many`.

    >>> import preceptor as pr
    >>> with progress_bar("nobody") as progress:
    ...     pr.solve_many([], progress=progress)
    []
    """
    try:
        from rich.console import Console
        from rich.progress import Progress as Bar
    except ImportError:
        raise MissingExtra("rich", "cli", "A progress bar") from None

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)

        def tell(update: Update) -> None:
            gap = "" if update.gap is None else f", gap {100 * update.gap:.3g}%"
            bar.update(task, description=f"{title}: {update.stage}{gap}", completed=update.done)

        yield tell
