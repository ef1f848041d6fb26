"""The experiments of the paper: each is a sweep, a figure, and statements to compare.

>>> import preceptor as pr
>>> frame = pr.paper.run("stationary", draws=2, rho=[0.5, 0.99], workers=1)
>>> bool((frame["retained"] <= 100.0 + 1e-9).all())
True
"""

from preceptor.paper.convergence import Converged, run_until_converged
from preceptor.paper.experiment import Agreement, Assumptions, Experiment, Finding, Scale
from preceptor.paper.reproduction import EXPERIMENTS, reproduce, run
from preceptor.paper.sweep import Sweep, run_sweeps

__all__ = [
    "EXPERIMENTS",
    "Agreement",
    "Assumptions",
    "Converged",
    "Experiment",
    "Finding",
    "Scale",
    "Sweep",
    "reproduce",
    "run",
    "run_sweeps",
    "run_until_converged",
]
