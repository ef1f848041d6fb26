"""Everybody in a log: each person weighed, here, in other processes or on a cluster.

What travels back, and what a journal keeps, are the numbers of the cells; everything else follows
from the record.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.executors import executor_of
from preceptor._base.many import chunk_for, run_many
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.evidence.cells import Cells
from preceptor.evidence.group import GroupWeighed, together
from preceptor.evidence.record import Record
from preceptor.evidence.weighed import Weighed
from preceptor.evidence.weighing import prepare, weigh
from preceptor.logs import Log
from preceptor.model.world import World

# A person takes a fraction of a second, so several travel together; and fewer than two such
# companies are not worth starting processes for, unless somebody asks for them.
_CHUNK = 8
# By family the arrays of its cells.
_Numbers = list[list[FloatArray]]


def weigh_people(
    world: World,
    log: Log,
    *,
    workers: int | None = None,
    cluster: Any = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> GroupWeighed:
    """Weigh everybody in a log, alone and together.

    With more than one worker a script must guard its entry with `if __name__ == "__main__":`, as
    for anything that starts processes.

    Parameters
    ----------
    world
        Where the cases came from.
    log
        What people were shown and answered.
    workers
        How many processes; one for each core if left out and people are many.
    cluster
        A `distributed.Client`, or the address of a scheduler, to work on instead.
    resume
        A file that keeps who is finished, so that a run that was stopped goes on from there.
    progress
        Called as people are finished.
    **options
        As of `weigh`.

    Returns
    -------
    GroupWeighed
        By participant and for all of them; the same wherever it was worked out.

    Raises
    ------
    InvalidInput
        An option that makes no sense, or a log about other tests.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.simulation import rollout
    >>> world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=1, horizon=60)
    >>> anybody = person.acting(world, response_noise=0.2)
    >>> log = rollout(problem, pr.Stationary((0,)), 60, people=4, rng=0, human=anybody).log
    >>> found = weigh_people(world, log, families=["none", "geometric", "delta rule"], dials=[0.0])
    >>> max(found.families, key=lambda name: found.families[name].mean)
    'delta rule'
    """
    choices = options.get("answers") == "choices"
    records = [Record.of(world, log, name, choices=choices) for name in log.participants]
    settings = [prepare(world, record, **options) for record in records]
    if workers is None and len(records) < 2 * _CHUNK:
        workers = 1
    with executor_of(workers, cluster) as executor:
        found: list[_Numbers] = run_many(
            functools.partial(_numbers_of, options=options),
            records,
            executor=executor,
            journal=resume,
            key=functools.partial(_key, options=options),
            pack=_packed,
            unpack=_unpacked,
            progress=progress,
            chunk=chunk_for(len(records), executor, _CHUNK),
            noun="people",
        )
    alone = {}
    for name, (setting, kinds, prior), numbers in zip(
        log.participants, settings, found, strict=True
    ):
        cells = tuple(Cells(family, *arrays) for family, arrays in zip(kinds, numbers, strict=True))
        alone[name] = Weighed(setting, cells, prior)
    return together(alone)


def _numbers_of(record: Record, options: Mapping[str, Any]) -> _Numbers:
    return [list(cells[1:]) for cells in weigh(record.world, record, **options).cells]


def _key(record: Record, options: Mapping[str, Any]) -> str:
    """Covers the record, the options, and which arrays are kept."""
    digest = hashlib.sha256(record.world.to_json().encode())
    digest.update(",".join(Cells._fields).encode())
    for name in ("shown", "values", "answers", "outcomes", "told", "days"):
        digest.update(np.ascontiguousarray(getattr(record, name)).tobytes())
    for name in sorted(options):
        digest.update(f"{name}={_plain(options[name])};".encode())
    return digest.hexdigest()


def _plain(option: Any) -> str:
    if isinstance(option, np.ndarray):
        return repr(option.tolist())
    if isinstance(option, Sequence) and not isinstance(option, str):
        return repr([_plain(item) for item in option])
    return repr(option)


def _packed(numbers: _Numbers) -> dict[str, Any]:
    arrays = {f"{i}.{j}": array for i, row in enumerate(numbers) for j, array in enumerate(row)}
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return {
        "sizes": [len(row) for row in numbers],
        "arrays": base64.b64encode(stream.getvalue()).decode("ascii"),
    }


def _unpacked(data: Any) -> _Numbers:
    try:
        stream = io.BytesIO(base64.b64decode(data["arrays"]))
        with np.load(stream, allow_pickle=False) as arrays:
            return [
                [arrays[f"{i}.{j}"] for j in range(size)] for i, size in enumerate(data["sizes"])
            ]
    except (KeyError, TypeError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"journal: a person's numbers are damaged ({error})") from error
