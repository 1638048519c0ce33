"""TPREFETCH_ASYNC with context, session and event."""

import numpy as np
import pytest

import ptokit as pto


def context(core: pto.Core) -> pto.PrefetchAsyncContext:
    return pto.PrefetchAsyncContext(core.pointer(np.zeros(64, np.uint8)))


def test_events_complete_in_the_order_of_their_session() -> None:
    core = pto.Core("a5")
    ctx = context(core)
    n = 4096
    flat = core.GlobalTensor(np.zeros(n, np.float32), (1, 1, 1, 1, n), (n, n, n, n, 1))
    first, second = core.TPREFETCH_ASYNC(flat, ctx), core.TPREFETCH_ASYNC(flat, ctx)
    assert (first.handle, second.handle) == (1, 2)
    assert not first.test(ctx.session)
    assert second.wait(ctx.session)
    assert first.test(ctx.session)


@pytest.mark.parametrize(
    ("target", "workspace", "stride"),
    [("cpu", True, 64), ("a5", False, 64), ("a5", True, 1)],
    ids=["no engine on cpu", "no workspace", "not flat"],
)
def test_nothing_is_submitted(target: str, workspace: bool, stride: int) -> None:
    core = pto.Core(target)
    ctx = context(core) if workspace else pto.PrefetchAsyncContext(None)
    x = core.GlobalTensor(np.zeros(64, np.float32), (1, 1, 1, 1, 64), (stride, stride, stride, stride, 1))
    event = core.TPREFETCH_ASYNC(x, ctx)
    assert event.handle == 0
    assert event.test(ctx.session)
    assert ctx.session.submitted == 0


def test_the_context_is_asked_for() -> None:
    core = pto.Core("a5")
    with pytest.raises(pto.DiagnosticError) as caught:
        core.TPREFETCH_ASYNC(core.GlobalTensor(np.zeros(64, np.float32)), 7)
    assert caught.value.diagnostics[0].rule == "LANG-KIND"
    assert caught.value.diagnostics[0].location.file == __file__


def test_in_a_kernel() -> None:
    seen = []

    @pto.kernel(target="a5")
    def warm(x: pto.Ptr[pto.f32], ws: pto.Ptr[pto.u8], n: int) -> None:
        ctx = pto.PrefetchAsyncContext(ws)
        event = pto.TPREFETCH_ASYNC(pto.GlobalTensor(x, (1, 1, 1, 1, n), (n, n, n, n, 1)), ctx)
        seen.append(event.wait(ctx.session))

    warm(np.zeros(256, np.float32), np.zeros(64, np.uint8), 256)
    assert seen == [True]
    assert "pto.tprefetch_async" in warm.to_pto()
