"""Compiling everything that plans, from nothing, by two processes that share what they compile."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.measure import Row, one_time

# What each process compiles, about half of it: kernels that both need are compiled twice.
SEARCHING = """
from preceptor.planning.warm_up import compile_exact, compile_search
import preceptor as pr
from benchmarks.instances import instance
compile_search()
compile_exact()
problem = instance(2, 1, 0.5, discount=0.5)
pr.solve(problem, "search", max_kicks=1, time_limit=1.0)
pr.solve(problem, "beam", width=2, layers=2)
"""
PROVING = """
import preceptor as pr
from preceptor.planning.warm_up import compile_counts, compile_proof
from benchmarks.instances import instance
from preceptor.planning.streamed_floors import least_round
compile_proof()
compile_counts()
problem = instance(2, 1, 0.5, discount=0.5)
least_round(problem)
pr.solve(problem, "truncated", length=3)
pr.solve(problem.replace(risk=pr.Huber(1.0)), "truncated", length=3)
"""
REPORTING = """
import time
print(time.process_time())
"""
SECONDS = 20.0


def cold() -> Row:
    """Wall clock, so that a busy machine takes longer; the processors' own time is a detail."""

    def compile_everything() -> list[float]:
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            halves = [
                subprocess.Popen(
                    [sys.executable, "-c", program + REPORTING],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
                for program in (SEARCHING, PROVING)
            ]
            said = [half.communicate()[0] for half in halves]
            if any(half.returncode for half in halves):
                raise RuntimeError("compiling failed")
            return [float(processor) for processor in said]

    seconds, processors = one_time(compile_everything)
    return Row(
        work="compiling everything, two processes, nothing on disk",
        against=f"{SECONDS:g} s: that over ours",
        ratio=SECONDS / seconds,
        wanted=1.0,
        details={
            "seconds": seconds,
            "searching_cpu_seconds": processors[0],
            "proving_cpu_seconds": processors[1],
        },
    )


ROWS = {"compiling": cold}
