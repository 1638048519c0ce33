"""The progress bar of long runs."""

from __future__ import annotations

import sys
import time
from threading import Lock, Timer
from types import TracebackType
from typing import Any

from ptokit.diagnostics.render import visible_name

from .console import is_terminal

_QUIET_SECONDS = 0.5  # runs shorter than this show nothing
_REDRAW_SECONDS = 0.1


class Progress:
    """A bar on stderr, drawn on a terminal once a run takes longer than half a second.

    The object is called with (units done, units in all) and is a context manager that removes the bar at the end.
    """

    def __init__(self, title: str, unit: str = "blocks", *, speed: bool = False, waits: bool = False) -> None:
        """``speed``: show units per second, too. ``waits``: draw it though no unit is done, with the time so far."""
        self._title, self._unit, self._speed = visible_name(title), unit, speed
        self._began = time.monotonic()
        self._first: int | None = None  # units that were done before
        self._next = self._began + _QUIET_SECONDS if is_terminal(sys.stderr) else float("inf")
        self._bar: Any = None
        self._task: Any = None
        self._lock, self._over = Lock(), False
        self._timer: Timer | None = None
        if waits and is_terminal(sys.stderr):
            self._timer = Timer(_QUIET_SECONDS, self._start, (None,))
            self._timer.daemon = True

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.start()
        return self

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        if now < self._next:
            return
        self._next = now + _REDRAW_SECONDS
        self._start(total)
        rate = (done - self._first) / max(1e-9, now - self._began)
        self._bar.update(self._task, completed=done, total=total, rate=f"{rate:.3g}/s")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()

    def _start(self, total: int | None) -> None:
        with self._lock:
            if self._bar is None and not self._over:
                self._draw(total)

    def _draw(self, total: int | None) -> None:
        from rich import progress
        from rich.console import Console

        columns: list[progress.ProgressColumn] = [
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            *([] if total is None else [progress.TextColumn(f"{{task.completed}}/{{task.total}} {self._unit}")]),
            *([progress.TextColumn("{task.fields[rate]}")] if self._speed else []),
            progress.TimeElapsedColumn() if total is None else progress.TimeRemainingColumn(),
        ]
        self._bar = progress.Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._title, total=total, rate="")
        self._bar.start()
