"""Kernels that only kernels can call: compiled with their callers, refused to Python."""

from __future__ import annotations

import gc

import numba
import numpy as np
import pytest

from preceptor._base._array_kernels import copy_into
from preceptor._base.jit import hot_jit, inner_jit
from preceptor._base.progress import UNCOUNTED
from preceptor.planning._count_dual_kernels import tangent
from tests.doors import as_python, door

compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
# The tangent of squared error at 1.
SQUARED = (0, 0.0, np.zeros((0, 3)), 1.0)


@compiled
def test_python_is_refused_instead_of_crashing():
    with pytest.raises(TypeError, match="copy_into: only kernels"):
        copy_into(np.zeros(2), np.ones(2))


@compiled
def test_it_is_refused_after_a_kernel_called_it_too():
    @numba.njit
    def caller(source):
        target = np.zeros(2)
        copy_into(target, source)
        return target

    assert caller(np.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="copy_into: only kernels"):
        copy_into(np.zeros(2), np.ones(2))
    assert gc.isenabled()  # which it is not while something is compiled


@compiled
@pytest.mark.parametrize("outer", [inner_jit, hot_jit])
@pytest.mark.parametrize("inner", [inner_jit, hot_jit])
def test_kernels_without_doors_call_each_other(outer, inner):
    @inner
    def next_one(x):
        return x + 1

    @outer
    def after_two(x):
        return next_one(next_one(x))

    @numba.njit
    def caller(x):
        return after_two(x) * next_one(x)

    assert caller(3) == 20
    assert caller(0.5) == 3.75
    with pytest.raises(TypeError, match="after_two: only kernels"):
        after_two(3)


def test_a_door_leads_to_the_same_as_plain_python():
    target = np.zeros(2)
    door(copy_into)(target, np.ones(2))
    assert target.tolist() == [1.0, 1.0]
    assert door(tangent) is tangent
    assert as_python(tangent)(*SQUARED) == (1.0, 2.0, 2.0)


@compiled
def test_loading_a_kernel_from_disk_stops_the_clock():
    tangent(*SQUARED)
    (types,) = tangent.signatures[:1]
    before = UNCOUNTED.so_far
    tangent._cache.load_overload(types, tangent.targetctx)
    assert UNCOUNTED.so_far > before
