"""Registries that forget what was entered for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import preceptor as pr
from preceptor.loss import LossModel
from preceptor.planning import SOLVERS

FAMILIES = (pr.Curve, pr.Budget, pr.Risk, pr.Policy, pr.Person, LossModel)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Afterwards every registry of kinds and solvers holds what it held before."""
    registries = [SOLVERS, *(family.registry for family in FAMILIES)]
    before = [dict(registry) for registry in registries]
    try:
        yield
    finally:
        for registry, entries in zip(registries, before, strict=True):
            registry.clear()
            registry.update(entries)
