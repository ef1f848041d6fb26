"""The process at a desk of the explorer (`python -m preceptor.web.explorer_worker`).

Told `quick`, it takes as much of the machine as whoever answers requests: somebody waits for it.
"""

from __future__ import annotations

import sys

from preceptor.explorer.tasks import TASKS
from preceptor.service.worker import main

if __name__ == "__main__":
    if sys.argv[1:] == ["quick"]:
        main(TASKS, nice=0)
    main(TASKS)
