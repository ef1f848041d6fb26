"""What makes an answer come sooner without changing it.

Most of the time of a short command goes into loading libraries. Loading them lets go of the
interpreter lock often enough that the next ones can be loaded while something else is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread


@contextmanager
def in_background(work: Callable[[], object]) -> Iterator[Thread]:
    """Start at once; `join` waits, and so does the end of the block: no thread outlives it.

    What goes wrong there goes wrong again, with a message, where it is needed.
    """

    def quietly() -> None:
        with suppress(Exception):
            work()

    thread = Thread(target=quietly)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


def load_solvers() -> None:
    """Numba and the compiled search and proof, from its cache on disk."""
    from preceptor.planning.warm_up import compile_everything

    compile_everything()


def load_report() -> None:
    """Matplotlib and Jinja, as the report uses them."""
    import jinja2  # noqa: F401
    import matplotlib.backends.backend_svg
    import matplotlib.figure  # noqa: F401

    import preceptor.report.html  # noqa: F401
