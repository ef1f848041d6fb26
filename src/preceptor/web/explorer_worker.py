"""The process at a desk of the explorer (`python -m preceptor.web.explorer_worker`)."""

from __future__ import annotations

from preceptor.explorer.tasks import TASKS
from preceptor.service.worker import main

if __name__ == "__main__":
    main(TASKS)
