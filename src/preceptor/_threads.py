"""Both cores for kernels that let go of the interpreter lock.

Work is cut into fixed pieces, so that results do not depend on how many threads there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

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
