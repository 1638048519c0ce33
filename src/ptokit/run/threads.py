"""One BLAS thread while tiles are multiplied (docs/decisions/0016-one-blas-thread.md)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # kernels without products start without it

    return ThreadpoolController()  # finds the loaded libraries, which takes milliseconds


def one_blas_thread(wanted: bool) -> AbstractContextManager[object]:
    """A context in which BLAS works in the calling thread only; nothing if not `wanted`."""
    if not wanted or all(library["num_threads"] == 1 for library in _controller().info()):
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")
