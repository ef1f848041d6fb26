"""Threads for kernels, and executors for batches: this process, local processes or Dask.

Threads: all cores for kernels that release the interpreter lock, one for linear algebra. Work is
cut into pieces of fixed size, so that results do not depend on the number of threads.

Executors: run a function on batches in this process, in local processes or on a Dask cluster. All
three yield each batch with its answer, in the order in which they finish. If a worker dies, the
batches it was working on are run again.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, Protocol, Self, TypeVar

from preceptor._base.checks import count_faults
from preceptor._base.extensions import from_extra
from preceptor._base.progress import UNCOUNTED
from preceptor.errors import InvalidInput, NotApplicable


def in_threads(work: Callable[[slice], None], size: int, piece: int = 1024) -> None:
    """Call `work` on slices of `piece` rows that together cover `size` rows."""
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
    """Run linear algebra on one core: matrices here are small, so threads mostly wait.

    On a busy machine that waiting can take longer than the work, which time limits do not expect.
    """
    with UNCOUNTED.within():
        import scipy.linalg  # noqa: F401  limits apply to loaded libraries only
        from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


Batch = TypeVar("Batch")
Answer = TypeVar("Answer")
Work = Callable[[Batch], Answer]
Done = Iterator[tuple[Batch, Answer]]

# Workers may die this often with nothing finished in between; then the work itself is blamed.
_MOST_LOSSES = 3


class Executor(Protocol):
    """Runs a function on batches."""

    @property
    def workers(self) -> int:
        """How many batches run at once."""

    def run(self, work: Work[Batch, Answer], batches: Sequence[Batch]) -> Done[Batch, Answer]:
        """Yield each batch with its answer, in the order in which they finish."""


class Serial:
    """Runs one batch after another in this process."""

    workers = 1

    def run(self, work: Work[Batch, Answer], batches: Sequence[Batch]) -> Done[Batch, Answer]:
        """Yield the batches in order."""
        for batch in batches:
            yield batch, work(batch)


class LocalProcesses:
    """Worker processes on this machine, by default one per core."""

    def __init__(self, workers: int | None = None) -> None:
        InvalidInput.raise_if(count_faults(1, or_none=True, workers=workers))
        self.workers = workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def run(self, work: Work[Batch, Answer], batches: Sequence[Batch]) -> Done[Batch, Answer]:
        """Yield batches as they finish; a pool whose worker died is replaced."""
        waiting, losses = dict.fromkeys(range(len(batches))), 0
        while waiting:
            pool = self._pool or self._start()
            try:
                # Submitting raises BrokenProcessPool if a worker died since the last call.
                futures = {pool.submit(work, batches[index]): index for index in waiting}
                for future in as_completed(futures):
                    index = futures[future]
                    answer = future.result()
                    del waiting[index]
                    losses = 0
                    yield batches[index], answer
            except BrokenProcessPool:
                self.close()
                losses += 1
                if losses > _MOST_LOSSES:
                    raise NotApplicable(
                        "workers: worker processes keep dying. A script that starts them must "
                        'do so below `if __name__ == "__main__":`; or memory is short, and '
                        "workers=1 runs everything in this process"
                    ) from None

    def close(self) -> None:
        """Stop the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _start(self) -> ProcessPoolExecutor:
        # "spawn": a fork would copy threads and locks of compiled code in an unknown state.
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=get_context("spawn"), initializer=_end_with_parent
        )
        return self._pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end_with_parent() -> None:
    """In a worker: exit when the parent process ends, however it ends."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class DaskCluster:
    """The workers of a `distributed.Client`; a batch whose worker dies is sent to another."""

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def workers(self) -> int:
        """Threads of all workers that are connected now."""
        return max(sum(int(threads) for threads in self.client.nthreads().values()), 1)

    def run(self, work: Work[Batch, Answer], batches: Sequence[Batch]) -> Done[Batch, Answer]:
        """Yield batches as the scheduler finishes them."""
        from distributed import CancelledError
        from distributed import as_completed as as_dask_completes

        futures = {
            self.client.submit(work, batch, pure=False, retries=_MOST_LOSSES): index
            for index, batch in enumerate(batches)
        }
        try:
            for future in as_dask_completes(list(futures)):
                yield batches[futures[future]], future.result()
        except CancelledError:
            raise NotApplicable(
                "cluster: the scheduler is gone. Start it and run the same command again; answers "
                "kept in a file are not computed twice"
            ) from None
        finally:
            if self.client.status == "running":
                self.client.cancel(list(futures))


def connect(address: str, seconds: float = 10.0) -> DaskCluster:
    """Connect to the cluster whose scheduler listens at this address."""
    dask = from_extra("distributed", "cluster", "Running on a cluster")
    try:
        return DaskCluster(dask.Client(address, timeout=seconds))
    except (OSError, ValueError, AssertionError) as error:
        # Distributed asserts the scheduler's first message, so something else answered.
        why = str(error) or "another program answered"
    # A client that could not connect closes itself when it is collected. If that happens while the
    # next client is made, the two wait for each other forever; so collect it now.
    gc.collect()
    raise InvalidInput(
        f"cluster: no scheduler answers at {address!r} ({why}); give an address such as "
        "tcp://127.0.0.1:8786, as printed by `dask scheduler`"
    )


@contextmanager
def executor_of(workers: int | None = None, cluster: Any = None) -> Iterator[Executor]:
    """Yield the cluster if one is given, else local processes, and stop what was started here.

    `cluster` is a `distributed.Client`, which stays open, the address of a scheduler, or an
    executor, so that several calls share processes. One worker is this process; None means one per
    core.
    """
    if isinstance(cluster, (Serial, LocalProcesses, DaskCluster)):
        yield cluster
    elif isinstance(cluster, str):
        connected = connect(cluster)
        try:
            yield connected
        finally:
            connected.client.close()
    elif cluster is not None:
        if not hasattr(cluster, "submit"):
            raise InvalidInput(
                f"cluster: {cluster!r}, must be a distributed.Client or the address of a scheduler"
            )
        yield DaskCluster(cluster)
    elif workers == 1:
        yield Serial()
    else:
        with LocalProcesses(workers) as processes:
            yield processes
