"""The table of thirteen tests that some pages use; it is stored with the tests.

Scripts in this folder run on their own, so the parent folder is added to the path.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.body_fat import load_body_fat as load_body_fat
