"""Weigh every participant of a log, in this process, in worker processes or on a cluster.

Workers return, and checkpoints keep, the arrays of the cells; everything else follows from the
record.
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

from preceptor._base.many import chunk_for, run_many
from preceptor._base.parallel import executor_of
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.evidence_cells import EvidenceCells
from preceptor.learners.families import NONE_FAMILY
from preceptor.learners.populations import GroupWeighed, group_people
from preceptor.learners.records import Record
from preceptor.learners.weighing import Weighed, prepare, weigh
from preceptor.model.world import World

# A person takes a fraction of a second, so several are sent together; fewer than two such chunks
# are not worth starting processes for, unless the caller asks for workers.
_CHUNK = 8
# The arrays of the cells of each family.
_Arrays = list[list[FloatArray]]


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
    """Weigh every participant of a log, alone and together.

    With more than one worker a script must guard its entry with `if __name__ == "__main__":`, as
    for anything that starts processes.

    Parameters
    ----------
    world
        The world of the cases.
    log
        What people were shown and answered.
    workers
        Number of worker processes; by default one per core if there are many people.
    cluster
        A `distributed.Client`, or the address of a scheduler, to use instead.
    resume
        A checkpoint file, so that an interrupted run can continue.
    progress
        Called as people are finished.
    **options
        As in `weigh`.

    Returns
    -------
    GroupWeighed
        By participant and for all of them; the same for any number of workers.

    Raises
    ------
    InvalidInput
        An invalid option, or a log about other tests.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.simulation.rollouts import rollout
    >>> world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=1, horizon=60)
    >>> human = person.acting(world, response_noise=0.2)
    >>> log = rollout(problem, pr.Stationary((0,)), 60, people=4, rng=0, human=human).log
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
        found: list[_Arrays] = run_many(
            functools.partial(_arrays_of, options=options),
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
    for name, (setting, kinds, prior), rows in zip(log.participants, settings, found, strict=True):
        names = (*kinds, NONE_FAMILY)
        cells = [EvidenceCells(kind, *row) for kind, row in zip(names, rows, strict=True)]
        alone[name] = Weighed(setting, tuple(cells[:-1]), prior, cells[-1])
    return group_people(alone)


def _arrays_of(record: Record, options: Mapping[str, Any]) -> _Arrays:
    found = weigh(record.world, record, **options)
    return [list(cells[1:]) for cells in (*found.cells, found.none)]


def _key(record: Record, options: Mapping[str, Any]) -> str:
    """Hash of the record, the options, and the names of the arrays kept."""
    digest = hashlib.sha256(record.world.to_json().encode())
    digest.update(",".join(EvidenceCells._fields).encode())
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


def _packed(numbers: _Arrays) -> dict[str, Any]:
    arrays = {f"{i}.{j}": array for i, row in enumerate(numbers) for j, array in enumerate(row)}
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return {
        "sizes": [len(row) for row in numbers],
        "arrays": base64.b64encode(stream.getvalue()).decode("ascii"),
    }


def _unpacked(data: Any) -> _Arrays:
    try:
        stream = io.BytesIO(base64.b64decode(data["arrays"]))
        with np.load(stream, allow_pickle=False) as arrays:
            return [
                [arrays[f"{i}.{j}"] for j in range(size)] for i, size in enumerate(data["sizes"])
            ]
    except (KeyError, TypeError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"journal: a person's arrays are damaged ({error})") from error
