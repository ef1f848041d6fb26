"""Where nothing can move on the screen: a line now and then that says work is still going on."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

from preceptor._base.progress import Update

# The first line comes after so many seconds, the next ones at growing intervals up to a minute.
FIRST, _LONGEST = 2.0, 60.0


def known_so_far(update: Update) -> list[str]:
    """What an update knows, a few words each."""
    parts = []
    if update.done is not None:
        parts.append(f"{update.done:.0%}")
    if update.value is not None:
        parts.append(f"best {update.value:.6g}")
    if update.lower_bound is not None:
        parts.append(f"lower bound {update.lower_bound:.6g}")
    if update.gap is not None:
        parts.append(f"gap {100 * update.gap:.3g}%")
    return parts


class Waiting:
    """Says through `say` that work takes long; nothing of short work, nothing after its end."""

    def __init__(
        self,
        doing: str,
        say: Callable[[str], None],
        *,
        first: float = FIRST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.doing, self.say, self.first, self.clock = doing, say, first, clock
        self.began = self.said = clock()
        self.pause = first
        self.latest: Update | None = None
        self._stages: set[str] = set()
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> Waiting:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with self._lock:  # a line that is being said comes out whole, and is the last one
            pass

    def heard(self, update: Update) -> None:
        """Keep what is known; a new stage is spoken of as soon as the first one was."""
        stage = re.sub(r"\d+", "", update.stage)
        if stage not in self._stages:
            self._stages.add(stage)
            self.pause = self.first
        self.latest = update

    def line(self) -> str | None:
        """What to say now; None if it is too early."""
        now = self.clock()
        if now - self.said < self.pause:
            return None
        self.said, self.pause = now, min(2.0 * self.pause, _LONGEST)
        stage = known = None
        if self.latest is not None:
            stage, known = self.latest.stage, known_so_far(self.latest)
        parts = [*([stage] if stage else []), "still working", f"{now - self.began:.0f} s"]
        parts += known or []
        return f"{self.doing}: {', '.join(parts)}"

    def _watch(self) -> None:
        while not self._over.wait(max(self.said + self.pause - self.clock(), 0.05)):
            with self._lock:
                line = None if self._over.is_set() else self.line()
                if line is None:
                    continue
                try:
                    self.say(line)
                except Exception:  # nobody listens on stderr: then there is nobody to tell
                    return
