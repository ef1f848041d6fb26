"""Compiling everything that plans, from nothing, by two processes that share what they compile."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.measure import Row, one_time

# What each process compiles, about half of it: kernels that both need are compiled twice.
SEARCHING = """
import preceptor as pr
from benchmarks.instances import instance
problem = instance(2, 1, 0.5, discount=0.5)
for risk in (pr.SquaredError(), pr.Huber(1.0)):
    other = problem.replace(risk=risk)
    pr.solve(other, "search", max_kicks=1, time_limit=1.0)
    pr.solve(other, "beam", width=2, layers=2)
    pr.solve(other, "lattice")
    pr.solve(other.replace(horizon=3), "finite")
"""
PROVING = """
import preceptor as pr
from benchmarks.instances import instance
from preceptor.planning.bounds import least_round
problem = instance(2, 1, 0.5, discount=0.5)
least_round(problem)
steps = {"max_iterations": 1, "width": 8, "time_limit": None, "target_gap": 0.0}
pr.solve(problem, "certified", **steps)
slower = pr.Learner(problem.learner.initial, pr.PowerLaw(0.5))
pr.solve(problem.replace(learner=slower, discount=0.99), "certified", memory_limit=2**16, **steps)
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
