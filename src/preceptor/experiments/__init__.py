"""The experiments of the paper, each a sweep, a figure and statements to compare.

>>> import preceptor as pr
>>> frame = pr.experiments.run("stationary", draws=2, rho=[0.5, 0.99], workers=1)
>>> bool((frame["retained"] <= 100.0 + 1e-9).all())
True
"""

from preceptor.experiments.assumptions import Assumptions
from preceptor.experiments.convergence import Converged, run_until_converged
from preceptor.experiments.experiment import Experiment, Finding, Scale, Verdict
from preceptor.experiments.reproduction import EXPERIMENTS, reproduce, run
from preceptor.experiments.sweep import Sweep, run_sweeps

__all__ = [
    "EXPERIMENTS",
    "Assumptions",
    "Converged",
    "Experiment",
    "Finding",
    "Scale",
    "Sweep",
    "Verdict",
    "reproduce",
    "run",
    "run_sweeps",
    "run_until_converged",
]
