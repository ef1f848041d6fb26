"""Where work is run: in this process, in local processes, or on a Dask cluster.

All three take a function and batches, and give back batches with their answers in whatever order
they finish. A worker that dies costs the batches it was working on, which are run again.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, Protocol, Self, TypeVar

from preceptor._base.checks import is_count
from preceptor.errors import InvalidInput, MissingExtra, NotApplicable

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")

# How often workers may die with nothing finished in between, before the work is taken to kill them.
_MOST_LOSSES = 3


class Executor(Protocol):
    """Runs a function on batches."""

    @property
    def workers(self) -> int:
        """How many batches are worked on at once."""

    def run(
        self, function: Callable[[Batch], Answer], batches: Sequence[Batch]
    ) -> Iterator[tuple[Batch, Answer]]:
        """Each batch with its answer, in the order in which they finish."""


class Serial:
    """One batch after another, here."""

    workers = 1

    def run(
        self, function: Callable[[Batch], Answer], batches: Sequence[Batch]
    ) -> Iterator[tuple[Batch, Answer]]:
        """In order."""
        for batch in batches:
            yield batch, function(batch)


class LocalProcesses:
    """That many processes on this machine (default: one for each core)."""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and not is_count(workers, least=1):
            raise InvalidInput(f"workers: {workers!r}, must be a whole number of at least 1")
        self.workers = workers or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def run(
        self, function: Callable[[Batch], Answer], batches: Sequence[Batch]
    ) -> Iterator[tuple[Batch, Answer]]:
        """By whichever process is free; a pool whose worker died is replaced."""
        waiting, losses = dict.fromkeys(range(len(batches))), 0
        while waiting:
            pool = self._pool or self._start()
            try:
                # A worker may have died since the last sweep; submitting is how that shows.
                futures = {pool.submit(function, batches[index]): index for index in waiting}
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
                        "workers=1 runs everything here"
                    ) from None

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _start(self) -> ProcessPoolExecutor:
        # "spawn": a fork would copy compiled code's threads and locks in an unknown state.
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=get_context("spawn"), initializer=_end_with_parent
        )
        return self._pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end_with_parent() -> None:
    """In a worker: do not outlive the process that started us, however it ends."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class DaskCluster:
    """The workers of a `distributed.Client`; a batch whose worker dies goes to another one."""

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def workers(self) -> int:
        """Threads of all workers that are there at the moment."""
        return max(sum(int(threads) for threads in self.client.nthreads().values()), 1)

    def run(
        self, function: Callable[[Batch], Answer], batches: Sequence[Batch]
    ) -> Iterator[tuple[Batch, Answer]]:
        """As the scheduler sees fit."""
        from distributed import CancelledError
        from distributed import as_completed as as_dask_completes

        futures = {
            self.client.submit(function, batch, pure=False, retries=_MOST_LOSSES): index
            for index, batch in enumerate(batches)
        }
        try:
            for future in as_dask_completes(list(futures)):
                yield batches[futures[future]], future.result()
        except CancelledError:
            raise NotApplicable(
                "cluster: the scheduler is gone. Start it and run the same again; what was kept in "
                "a file is not worked out twice"
            ) from None
        finally:
            if self.client.status == "running":
                self.client.cancel(list(futures))


def connect(address: str, seconds: float = 10.0) -> DaskCluster:
    """The cluster whose scheduler listens at that address."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("distributed", "cluster", "Running on a cluster") from None
    try:
        return DaskCluster(Client(address, timeout=seconds))
    except (OSError, ValueError, AssertionError) as error:
        # Distributed asserts what a scheduler's first words are, so something else answered.
        why = str(error) or "what answers there is something else"
    # A client that could not connect closes itself when it is thrown away. Left to chance, that may
    # happen while the next one is made, and each would wait for the other for ever.
    gc.collect()
    raise InvalidInput(
        f"cluster: no scheduler answers at {address!r} ({why}); give an address such as "
        "tcp://127.0.0.1:8786, as printed by `dask scheduler`"
    )


@contextmanager
def executor_of(workers: int | None = None, cluster: Any = None) -> Iterator[Executor]:
    """The cluster if there is one, else local processes; what is started here is ended here.

    `cluster` is a `distributed.Client`, which stays open, or the address of a scheduler; or an
    executor, so that several calls share their processes. One worker is this process; None is one
    for each core.
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
