"""Tables of real cases that need no network."""

from preceptor.datasets.dataset import DataSet
from preceptor.datasets.diabetes import load_diabetes

__all__ = ["DataSet", "load_diabetes"]
