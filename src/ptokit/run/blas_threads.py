"""One BLAS thread while tiles are multiplied (docs/decisions/0016-one-blas-thread.md)."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # kernels without products start without it

    return ThreadpoolController()  # finds the loaded libraries, which takes milliseconds


class _Limit:
    """The limit of this process: set by the first thread that wants it, lifted by the last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limits = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1 and any(library["num_threads"] != 1 for library in _controller().info()):
                self._limits.enter_context(_controller().limit(limits=1, user_api="blas"))

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limits.close()


_LIMIT = _Limit()


def one_blas_thread(wanted: bool) -> AbstractContextManager[object]:
    """A context in which BLAS works in the calling thread only; nothing if not `wanted`."""
    return _LIMIT if wanted else nullcontext()
