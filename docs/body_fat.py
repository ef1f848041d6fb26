"""The table of thirteen tests that some pages are measured on; it lies beside the tests.

The scripts in this folder run by themselves, so the folder above must be named.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.body_fat import load_body_fat as load_body_fat
