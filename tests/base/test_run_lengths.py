"""Tables as runs: the same entries, in small files, and nothing unfolded that nobody asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from preceptor._base import packing
from preceptor._base.packing import MOST_ENTRIES, RunTable, pack
from preceptor.errors import InvalidFile


@given(
    table=arrays(np.uint8, array_shapes(max_dims=3, max_side=6), elements=st.integers(0, 3)),
    chunk=st.integers(1, 9),
)
def test_runs_hold_every_entry(table, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_CHUNK", chunk)
        runs = RunTable.of(table)
    assert np.array_equal(runs.unfolded(), table)
    assert all(runs.at(where) == table[where] for where in np.ndindex(table.shape))
    assert np.all(runs.values[1:] != runs.values[:-1])
    again = RunTable.unpacked("it", runs.packed())
    assert np.array_equal(again.unfolded(), table)
    assert again.unfolded().dtype == table.dtype


def packed(shape=(2, 3), values=(1, 0), lengths=(4, 2), kind="<u4"):
    return {
        "shape": list(shape),
        "values": pack(np.array(values, dtype=np.uint8)),
        "lengths": pack(np.array(lengths, dtype=kind)),
    }


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"shape": [2]}, "needs shape, values and lengths"),
        (packed(shape=(2, -3)), "whole numbers of at least 1"),
        (packed() | {"shape": "x"}, "whole numbers of at least 1"),
        (packed() | {"shape": []}, "whole numbers of at least 1"),
        (packed(shape=(MOST_ENTRIES, 2)), "entries, at most"),
        (packed(lengths=(4,)), "2 values for 1 runs"),
        (packed(lengths=(4, 1)), "do not fill"),
        (packed(lengths=(6, 0)), "do not fill"),
        (packed(lengths=(-1, 7), kind="<i4"), "must be whole numbers"),
        (packed(lengths=(2**64 - 1, 7), kind="<u8"), "must be whole numbers"),
        (packed() | {"values": {"shape": [2], "type": "|u1", "zlib": "!"}}, "damaged"),
    ],
)
def test_what_is_no_table_is_refused(data, complaint):
    with pytest.raises(InvalidFile, match=complaint):
        RunTable.unpacked("it", data)
