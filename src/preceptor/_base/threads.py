"""All cores for kernels that let go of the interpreter lock, and one for linear algebra.

Work is cut into fixed pieces, so that results do not depend on how many threads there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from preceptor._base.deadline import UNCOUNTED

_PIECE = 1024


def in_threads(work: Callable[[slice], None], size: int, piece: int = _PIECE) -> None:
    """Call `work` for slices of `piece` rows that cover `size` rows."""
    pieces = [slice(start, min(start + piece, size)) for start in range(0, size, piece)]
    workers = min(len(pieces), os.cpu_count() or 1)
    if workers <= 1:
        for part in pieces:
            work(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in pool.map(work, pieces):
            assert done is None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra on one core: our matrices are small, and threads would only wait.

    On a busy machine that waiting can take longer than the work, and it is not counted on by time
    limits.
    """
    with UNCOUNTED.within():
        import scipy.linalg  # noqa: F401  limits hold for libraries that have been loaded
        from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
