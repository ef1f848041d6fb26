"""Compiling everything that plans, from nothing, by two processes that share what they compile."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

from benchmarks.measure import Row, one_time

# What each process compiles, about half of it: kernels that both need are compiled twice.
SEARCHING = """
from preceptor.planning.warm_up import compile_search
import preceptor as pr
from benchmarks.instances import instance
from preceptor.planning.streamed_floors import least_round
compile_search()
problem = instance(2, 1, 0.5, discount=0.5)
pr.solve(problem, "search", max_kicks=1, time_limit=1.0)
pr.solve(problem.replace(risk=pr.Huber(1.0)), "search", max_kicks=1, time_limit=1.0)
pr.solve(problem, "beam", width=2, layers=2)
least_round(problem)
"""
PROVING = """
from preceptor.planning.warm_up import compile_proof
import preceptor as pr
from benchmarks.instances import instance
compile_proof()
problem = instance(2, 1, 0.5, discount=0.5)
pr.solve(problem, "lattice", edge_seconds=0.0)
pr.solve(problem, "truncated", length=3)
pr.solve(problem.replace(risk=pr.Huber(1.0)), "truncated", length=3)
pr.solve(problem.replace(horizon=3), "finite")
"""
SECONDS = 20.0


def cold() -> Row:
    """Wall clock, so that a busy machine takes longer; the processors' own time is a detail."""

    def compile_everything() -> None:
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            halves = [
                subprocess.Popen(
                    [sys.executable, "-c", program], env=environment, stderr=subprocess.DEVNULL
                )
                for program in (SEARCHING, PROVING)
            ]
            ends = [half.wait() for half in halves]
            if any(ends):
                raise RuntimeError("compiling failed")

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, _ = one_time(compile_everything)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Row(
        work="compiling everything, two processes, nothing on disk",
        against=f"{SECONDS:g} s: that over ours",
        ratio=SECONDS / seconds,
        wanted=1.0,
        details={"seconds": seconds, "cpu_seconds": after.ru_utime - before.ru_utime},
    )


ROWS = {"compiling": cold}
