"""TPREFETCH_ASYNC with the C++ library's objects: context, session and event (load-store 10)."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from ptokit.isa.machine import AsyncEvent as AsyncEvent
from ptokit.isa.machine import AsyncSession
from ptokit.isa.site import ViewInfo
from ptokit.isa.transfer.load import PrefetchAsyncContext as PrefetchAsyncContext
from ptokit.isa.transfer.load import prefetch_async
from ptokit.records import dataclass
from ptokit.types.tensor import right_align

from . import rules
from .intrinsics import intrinsic
from .tensors import GlobalTensor, Partition
from .trace import Trace, current, tracing
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
    session, number = _SESSIONS.number(trace, ctx.session)
    names = {} if ctx.workspace is None else {"session": session, "event": number}
    intrinsic("TPREFETCH_ASYNC")(src, *(() if ctx.workspace is None else (ctx.workspace,)), *events, **names)
    strides = src.strides if isinstance(src, GlobalTensor) else src.source.strides
    if not all(isinstance(n, int) for n in (*src.shape, *strides)):
        return PrefetchEvent(ctx.session.submit(), number=(session, number))  # the run decides how long it is
    shape, steps = right_align(src.shape, strides)
    view = ViewInfo("src", src.dtype, tuple(shape), tuple(steps))  # type: ignore[arg-type]
    event = prefetch_async(view, ctx, trace.target)
    return PrefetchEvent(event.handle, event.engine, (session, number)) if event.handle else event


@dataclass(frozen=True)
class PrefetchEvent(AsyncEvent):
    """An event of a recorded prefetch; ``number`` names session and event in the program."""

    number: tuple[int, int] = (0, 0)

    def wait(self, session: AsyncSession) -> bool:
        """Wait for the transfer and all before it in the session. True when it is complete."""
        session_number, event = self.number
        trace = tracing()
        if trace is not None:
            trace.emit("pto.prefetch_wait", {}, {"session": session_number, "event": event})
        return super().wait(session)


class _Sessions:
    """Numbers of the sessions and events of a kernel."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Trace, list[tuple[AsyncSession, int]]] = WeakKeyDictionary()

    def number(self, trace: Trace, session: AsyncSession) -> tuple[int, int]:
        """(number of a session, number of its next event)."""
        known = self._known.setdefault(trace, [])
        for i, (other, count) in enumerate(known):
            if other is session:
                known[i] = session, count + 1
                return i, count
        known.append((session, 1))
        return len(known) - 1, 0


_SESSIONS = _Sessions()
