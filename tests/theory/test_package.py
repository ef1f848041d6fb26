"""What the package exports, and what it imports."""

import subprocess
import sys

from preceptor import theory


def test_exports_are_sorted_and_there():
    assert theory.__all__ == sorted(theory.__all__)
    assert all(hasattr(theory, name) for name in theory.__all__)


def test_importing_the_package_needs_neither_theory_nor_networkx():
    code = (
        "import sys, preceptor; assert 'preceptor.theory' not in sys.modules; "
        "import preceptor.theory; assert 'networkx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
