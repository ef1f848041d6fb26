"""Data: tables and logs, built-in data sets, and worlds estimated from tables."""

from preceptor.data.datasets import DataSet, load_breast_cancer, load_diabetes
from preceptor.data.log import Log
from preceptor.data.opening import Reading
from preceptor.data.sheet import Cells, Sheet, read_cells, read_sheet
from preceptor.data.world_estimate import WorldBootstrap, WorldEstimate
from preceptor.data.world_fitting import fit_world

__all__ = [
    "Cells",
    "DataSet",
    "Log",
    "Reading",
    "Sheet",
    "WorldBootstrap",
    "WorldEstimate",
    "fit_world",
    "load_breast_cancer",
    "load_diabetes",
    "read_cells",
    "read_sheet",
]
