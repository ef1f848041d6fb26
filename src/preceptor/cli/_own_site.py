"""A site of one's own for a while: a study in a database that is thrown away at the end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from preceptor.cli._console import spinner
from preceptor.cli._serving import opened
from preceptor.errors import PreceptorError

if TYPE_CHECKING:
    from preceptor.store import Store
    from preceptor.study import Study

_SAYS = "Listening at "


def open_draft(store: Store, study: Study) -> None:
    """Open a study that may still have places to fill in: nobody registers it."""
    from preceptor.study import opening
    from preceptor.study.arms import make_arms
    from preceptor.study.freezing import freeze

    with spinner("Solving") as progress:
        arms = make_arms(study, progress)
    registration = freeze(study, arms, is_draft=True)
    store.write(lambda c: opening.keep(c, study, arms, registration))


@contextmanager
def own_site(study: Study) -> Iterator[str]:
    """The study's address on a site that ends with the block; nothing of it is kept."""
    with tempfile.TemporaryDirectory(prefix="preceptor-") as folder:
        database = str(Path(folder) / "bots.db")
        with opened(database) as store:
            open_draft(store, study)
        command = [sys.executable, "-m", "preceptor", "serve", "--port", "0", "--rate", "0"]
        said = Path(folder) / "said.txt"
        with said.open("w") as file:
            serving = subprocess.Popen([*command, "--database", database], stderr=file)
        try:
            yield f"{_address(serving, said)}/s/{study.id}"
        finally:
            serving.terminate()
            serving.wait()


def _address(serving: subprocess.Popen[bytes], said: Path) -> str:
    """Where it listens, once it says so: whoever calls from then on is not refused."""
    while True:
        heard = said.read_text()
        if serving.poll() is not None:
            raise PreceptorError(f"the service did not start: {heard.strip()}")
        said_at = heard.partition(_SAYS)[2]
        if "\n" in said_at:
            return said_at.split()[0]
        time.sleep(0.05)
