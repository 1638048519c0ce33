"""TPREFETCH and TPREFETCH_ASYNC: what the tile holds, rules, contexts and events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import Scope
from ptokit.isa.site import ScalarInfo, Site
from ptokit.isa.transfer.load import (
    TPREFETCH,
    TPREFETCH_ASYNC,
    AsyncEvent,
    AsyncSession,
    PrefetchAsyncContext,
    flat,
    prefetch_async,
)
from ptokit.machine.lanes import Fault
from ptokit.run.program import Single
from ptokit.targets import A2A3, A5, CPU, target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import Layout

from .transfer_sites import broken, mat, packed, site, spec, vec, view

F32 = DTYPES["f32"]
N = 16384

CASES: list[tuple[str, str, Any, Any, str]] = [
    ("LS-COM-03", "a5", (vec("f32", 4, 8), view("f32", 4, 8)), (vec("f32", 4, 8), view("f32", 0, 8)), "dimension 3"),
    (
        "LS-COM-05",
        "a5",
        (vec("f32", 4, 8), view("f32", 4, 8)),
        (vec("f32", 4, 8), view("f32", 4, 8, stride=(0, 0, 0, -8, 1))),
        "-8",
    ),
    ("PREF-01", "cpu", (vec("f32", 4, 8), view("f32", 4, 8)), (vec("f32", 4, 8), view("i32", 4, 8)), "i32"),
    ("PREF-02", "a5", (mat("f32", 4, 8), view("f32", 4, 8)), (spec("Left", "f32", 4, 8), view("f32", 4, 8)), "left"),
    ("PREF-03", "a2a3", (vec("u8", 4, 32), view("i8", 4, 32)), (vec("f32", 4, 8), view("f16", 4, 8)), "f16"),
    (
        "PREF-04",
        "a5",
        (vec("f32", 4, 8), view("f32", 4, 8, stride=(0, 0, 0, 20, 1))),
        (vec("f32", 4, 8), view("f32", 4, 8, stride=(0, 0, 0, 20, 2))),
        "2",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_rule(case: tuple[str, str, Any, Any, str]) -> None:
    rule, on, good, bad, text = case
    assert broken(site("TPREFETCH", on, *good)) == {}
    assert text in broken(site("TPREFETCH", on, *bad))[rule]


def test_every_rule_has_a_case() -> None:
    assert {r.id for r in TPREFETCH.rules if r.scope is Scope.ISA} == {c[0] for c in CASES}


def run(on: str, rows: int, cols: int, shape: tuple[int, ...], valid: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The tile after a prefetch of a row-major view with a row pitch of 40, and what the view holds."""
    machine = Single(target(on))
    memory = np.arange(4096, dtype=np.float32)
    tile = machine.tile(vec("f32", rows, cols, valid=valid), bytes(rows * cols * 4))
    stride = (800, 400, 200, 40, 1)
    machine.execute(TPREFETCH, {"dst": tile, "src": machine.view(F32, memory, shape, stride, Layout.ND)})
    index = sum(np.arange(n).reshape([-1 if d == e else 1 for e in range(5)]) * stride[d] for d, n in enumerate(shape))
    return tile.read()[0], memory[index].reshape(-1, shape[4])


@pytest.mark.parametrize(
    ("on", "shape", "valid", "holds"),
    [
        ("cpu", (1, 1, 1, 4, 16), (4, 16), True),
        ("cpu", (1, 1, 2, 2, 13), (4, 13), True),
        ("a2a3", (1, 1, 1, 4, 16), (4, 16), True),
        ("a2a3", (1, 1, 1, 4, 13), (4, 13), True),  # rows are rounded up to the tile's 64 bytes
        ("a2a3", (1, 1, 1, 4, 5), (4, 5), False),
        ("a2a3", (1, 1, 2, 2, 16), (4, 16), False),  # the second plane comes to the start of the tile
        ("a5", (1, 1, 1, 4, 16), (4, 16), True),
        ("a5", (1, 1, 1, 4, 13), (4, 13), False),
        ("a5", (1, 1, 1, 3, 16), (4, 16), False),
    ],
)
def test_contents(on: str, shape: tuple[int, ...], valid: tuple[int, int], holds: bool) -> None:
    got, want = run(on, 8, 16, shape, valid)
    assert (got.shape == want.shape and np.array_equal(got, want)) == holds


def test_a_view_that_leaves_its_memory_is_refused() -> None:
    machine = Single(target("a5"))
    tile = machine.tile(vec("f32", 8, 16))
    g = machine.view(F32, np.zeros(100, np.float32), (1, 1, 1, 8, 16), (128, 128, 128, 16, 1), Layout.ND, name="x")
    with pytest.raises(Fault) as fault:
        machine.execute(TPREFETCH, {"dst": tile, "src": g})
    assert fault.value.rule == "GM-OOB"


# asynchronous --------------------------------------------------------------------------------------------------------


def tensor(shape: tuple[int, ...], stride: tuple[int, ...] | None = None) -> Any:
    memory = np.zeros(1 << 20, np.float32)
    return Single(target("a5")).view(F32, memory, shape, stride or packed(shape, Layout.ND), Layout.ND)


@pytest.mark.parametrize(
    ("shape", "stride", "expected"),
    [
        ((1, 1, 1, 1, N), (N, N, N, N, 1), True),
        ((1, 1, 1, 1, N), (1, 1, 1, 1, 1), False),  # the strides of a documented example: nothing is prefetched
        ((1, 1, 1, 2, N), (2 * N, 2 * N, 2 * N, N, 1), False),
        ((1, 1, 1, 1, N), (N, N, N, N, 2), False),
    ],
)
def test_flat(shape: Any, stride: Any, expected: bool) -> None:
    assert flat(shape, stride) is expected
    event = prefetch_async(tensor(shape, stride), PrefetchAsyncContext("workspace"), A5)
    assert (event.handle != 0) is expected
    o = Site(TPREFETCH_ASYNC, target("a5"), {"src": view("f32", *shape, stride=stride), "workspace": None})
    assert ("PREFA-01" in broken(o)) is not expected


def test_a_packed_square_is_no_row() -> None:
    """It is contiguous, and not flat: the library looks for one row."""
    o = Site(TPREFETCH_ASYNC, target("a5"), {"src": view("f32", 16, 16), "workspace": None})
    message = broken(o)["PREFA-01"]
    assert "is not flat" in message
    assert "contiguous" not in message


def test_events_complete_in_order() -> None:
    context = PrefetchAsyncContext("workspace")
    first = prefetch_async(tensor((1, 1, 1, 1, N)), context, A2A3)
    second = prefetch_async(tensor((1, 1, 1, 1, N)), context, A2A3)
    session = context.session
    assert not first.test(session)
    assert not second.test(session)
    assert second.wait(session)
    assert first.test(session)
    assert second.test(session)


def test_an_empty_event_is_complete() -> None:
    session = AsyncSession()
    for context, on in ((PrefetchAsyncContext(None, session), A5), (PrefetchAsyncContext("w", session), CPU)):
        event = prefetch_async(tensor((1, 1, 1, 1, N)), context, on)
        assert event == AsyncEvent()
        assert event.test(session)
        assert event.wait(session)


def test_sessions_can_be_shared() -> None:
    session = AsyncSession()
    one, two = PrefetchAsyncContext("w", session), PrefetchAsyncContext("w", session)
    prefetch_async(tensor((1, 1, 1, 1, N)), one, A5)
    last = prefetch_async(tensor((1, 1, 1, 1, N)), two, A5)
    assert last.handle == 2


def test_large_tensors_take_several_operations() -> None:
    n = 3 * 64 * 1024 * 1024 // 4 + 1
    machine = Single(target("a5"))
    g = machine.view(F32, np.zeros(16, np.float32), (1, 1, 1, 1, n), (n, n, n, n, 1), Layout.ND)
    assert prefetch_async(g, PrefetchAsyncContext("w"), A5).handle == 4


def test_a_missing_workspace_is_a_warning() -> None:
    g = view("f32", 1, N)
    o = Site(TPREFETCH_ASYNC, target("a5"), {"src": g, "workspace": None})
    assert "workspace" in broken(o)["PREFA-02"]
    o = Site(TPREFETCH_ASYNC, target("a5"), {"src": g, "workspace": ScalarInfo("w", "!pto.ptr<ui8>")})
    assert broken(o) == {}


def test_the_instruction_changes_nothing_but_checks_its_tensor() -> None:
    machine = Single(target("a5"))
    memory = np.arange(64, dtype=np.float32)
    g = machine.view(F32, memory, (1, 1, 1, 1, 64), (64, 64, 64, 64, 1), Layout.ND)
    machine.execute(TPREFETCH_ASYNC, {"src": g})
    assert np.array_equal(memory, np.arange(64))
    bad = machine.view(F32, memory, (1, 1, 1, 1, 65), (65, 65, 65, 65, 1), Layout.ND)
    with pytest.raises(Fault) as fault:
        machine.execute(TPREFETCH_ASYNC, {"src": bad})
    assert fault.value.rule == "GM-OOB"
