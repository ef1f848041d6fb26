"""Tables of real cases that come with the package and need no network."""

from preceptor.datasets.body_fat import load_body_fat
from preceptor.datasets.dataset import DataSet
from preceptor.datasets.diabetes import load_diabetes

__all__ = ["DataSet", "load_body_fat", "load_diabetes"]
