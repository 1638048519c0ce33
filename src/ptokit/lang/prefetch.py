"""TPREFETCH_ASYNC with the C++ library's objects: context, session and event (load-store 10)."""

from __future__ import annotations

from typing import Any

from ptokit.isa.prefetch import AsyncEvent as AsyncEvent
from ptokit.isa.prefetch import PrefetchAsyncContext as PrefetchAsyncContext
from ptokit.isa.prefetch import prefetch_async
from ptokit.isa.site import ViewInfo
from ptokit.types.tensor import right_align

from . import rules
from .intrinsics import intrinsic
from .tensors import GlobalTensor, Partition
from .trace import current
from .where import refusal


def TPREFETCH_ASYNC(
    src: GlobalTensor | Partition, ctx: PrefetchAsyncContext | None = None, *events: Any, workspace: Any = None
) -> AsyncEvent:
    """Prefetch a contiguous tensor into the L2 cache through the SDMA engine. No data changes.

    ``ctx``: ``pto.PrefetchAsyncContext(workspace)`` with a pointer to memory that the host has initialised; a bare
    ``workspace=`` makes one for this call. Text: pto.tprefetch_async.

    Returns the event of the transfer, for ``event.wait(ctx.session)`` and ``event.test(ctx.session)``. It is empty
    (handle 0, complete at once) where nothing is submitted: on cpu, without a workspace, or for a tensor that is not
    flat. Raises `DiagnosticError` (LANG-KIND); a tensor that is not flat and a missing workspace are warnings.
    """
    if ctx is None:
        ctx = PrefetchAsyncContext(workspace)
    if not isinstance(ctx, PrefetchAsyncContext):
        raise refusal(
            rules.KIND,
            f"ctx of TPREFETCH_ASYNC(src, ctx) is a prefetch context, not {ctx!r}",
            hint="ctx = pto.PrefetchAsyncContext(workspace)",
        )
    trace = current("TPREFETCH_ASYNC")
    intrinsic("TPREFETCH_ASYNC")(src, *(() if ctx.workspace is None else (ctx.workspace,)), *events)
    strides = src.strides if isinstance(src, GlobalTensor) else src.source.strides
    if not all(isinstance(n, int) for n in (*src.shape, *strides)):
        return AsyncEvent(ctx.session.submit())  # the run decides how long it is
    shape, steps = right_align(src.shape, strides)
    view = ViewInfo("src", src.dtype, tuple(shape), tuple(steps))  # type: ignore[arg-type]
    return prefetch_async(view, ctx, trace.target.name)
