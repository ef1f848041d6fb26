"""What was compiled is discarded when a kernel that it calls has changed, in whatever file."""

from __future__ import annotations

import os
import subprocess
import sys

import numba
import pytest

INNERMOST = (
    "from preceptor._base.jit import {how}\n\n\n@{how}\ndef leaf(x):\n    return x + {more}\n"
)
MIDDLE = (
    "from preceptor._base.jit import {how}\nfrom innermost import leaf\n\n\n"
    "@{how}\ndef stem(x):\n    return 2 * leaf(x)\n"
)
OUTER = (
    "from preceptor._base.jit import jit\nfrom middle import stem\n\n\n"
    "@jit\ndef root(x):\n    return stem(x)\n\n\n"
    "print(root(1), sum(root.stats.cache_hits.values()))\n"
)


@pytest.mark.full
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize(
    "how",
    ["jit", *(pytest.param(each, marks=pytest.mark.full) for each in ("inner_jit", "hot_jit"))],
)
def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path, how):
    def told(more):
        (tmp_path / "innermost.py").write_text(INNERMOST.format(how=how, more=more))
        (tmp_path / "middle.py").write_text(MIDDLE.format(how=how))
        (tmp_path / "outer.py").write_text(OUTER)
        for name in ("innermost", "middle", "outer"):
            os.utime(tmp_path / f"{name}.py", (1e9, 1e9))  # then only sizes tell
        environment = os.environ | {
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        }  # fmt: skip
        command = [sys.executable, str(tmp_path / "outer.py")]
        done = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, cwd=tmp_path
        )
        return tuple(map(int, done.stdout.split()))

    assert told(1) == (4, 0)
    assert told(1) == (4, 1)  # from the disk
    assert told(100) == (202, 0)
    assert told(100) == (202, 1)
