"""Registries that forget what was entered for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import preceptor as pr
from preceptor.model.loss import LossModel
from preceptor.planning.solvers import SOLVERS

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


@contextlib.contextmanager
def only_ours() -> Iterator[None]:
    """Without the kinds that modules of tests entered when they were imported."""
    with restored():
        for family in FAMILIES:
            for name, kind in [*family.registry.items()]:
                if not kind.__module__.startswith("preceptor."):
                    del family.registry[name]
        yield
