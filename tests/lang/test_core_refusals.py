"""What an eager session refuses: at the call, with the rule, and before anything has changed."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import BLayout, DiagnosticError, SLayout, TileType
from ptokit.diagnostics import CATALOGUE, Diagnostic

VEC, MAT = TileType.Vec, TileType.Mat

Run = Callable[[], Any]


def findings(run: Run) -> list[Diagnostic]:
    """What `run` is refused for: rules of the catalogue, in this file."""
    with pytest.raises(DiagnosticError) as caught:
        run()
    for finding in caught.value.diagnostics:
        assert finding.rule in CATALOGUE
        assert finding.location.file == __file__
    return caught.value.diagnostics


def source(finding: Diagnostic) -> str:
    """The expression that the finding points at."""
    at = finding.location
    line = linecache.getline(__file__, at.line)
    return line[at.column - 1 : at.column - 1 + at.length]


def vec(core: pto.Core, dtype: Any = pto.f32, rows: int = 16, cols: int = 64, **more: Any) -> pto.Tile:
    return core.Tile(VEC, dtype, rows, cols, **more)


def refuse(run: Run, rule: str, *words: str) -> Diagnostic:
    """The finding with this rule id, whose message or hint contains `words`."""
    found = findings(run)
    (finding,) = [d for d in found if d.rule == rule]
    for word in words:
        assert word in f"{finding.message} {finding.hint}"
    return finding


# --- instructions ----------------------------------------------------------------------------------------------------


def test_a_broken_rule_points_at_the_argument_and_at_the_tiles() -> None:
    core = pto.Core("a5")
    narrow = core.Tile(VEC, pto.f16, 16, 64)
    wide = core.Tile(VEC, pto.f32, 16, 64)
    finding = refuse(lambda: core.TADD(wide, wide, narrow), "EW-04", "f16", "f32")
    assert source(finding) == "narrow"
    assert {source(note_as_finding(note)) for note in finding.notes} == {
        "core.Tile(VEC, pto.f16, 16, 64)",
        "core.Tile(VEC, pto.f32, 16, 64)",
    }


def note_as_finding(note: Any) -> Diagnostic:
    return Diagnostic("", next(iter(CATALOGUE.values())).severity, note.message, note.location)


def test_all_broken_rules_are_reported() -> None:
    core = pto.Core("a5")
    dst, src = vec(core, pto.i64, 16, 32), vec(core, pto.f32, 8, 64)
    assert len({d.rule for d in findings(lambda: core.TADD(dst, src, src))}) > 1


def test_a_refused_instruction_changes_nothing() -> None:
    core, x = pto.Core("a5"), np.ones((8, 64), np.float32)
    t = vec(core).set(3)
    refuse(lambda: core.TLOAD(t, core.GlobalTensor(x)), "LOAD-A5-05", "8x64")
    assert (t.numpy() == 3).all()


def test_targets_differ() -> None:
    x = np.ones((16, 64), np.float32)
    for target, rule in (("cpu", "STORE-CPU-04"), ("a2a3", None), ("a5", None)):
        core = pto.Core(target)
        t, g = vec(core).set(1), core.GlobalTensor(x)

        def add(core: pto.Core = core, t: pto.Tile = t, g: pto.GlobalTensor = g) -> None:
            core.TSTORE(g, t, pto.AtomicType.AtomicAdd)

        if rule:
            refuse(add, rule, "atomic_add")
        else:
            add()
    assert (x == 3).all()


def test_extended_lets_the_cpu_run_device_types() -> None:
    codes = np.zeros((8, 64), np.uint8)
    strict, free = pto.Core("cpu"), pto.Core("cpu", extended=True)
    t, g = vec(strict, pto.e4m3, 8), strict.GlobalTensor(codes, dtype=pto.e4m3)
    refuse(lambda: strict.TLOAD(t, g), "LOAD-CPU-07", "e4m3")
    free.TLOAD(vec(free, pto.e4m3, 8), free.GlobalTensor(codes, dtype=pto.e4m3))


@pytest.mark.parametrize(
    ("call", "rule", "words"),
    [
        (lambda c, t, x: c.TADD(t, t), "LANG-CALL", "lacks src1"),
        (lambda c, t, x: c.TLOAD(t, x), "LANG-KIND", "an array of shape (16, 64)"),
        (lambda c, t, x: c.TSTORE(x, t), "LANG-KIND", "GlobalTensor"),
        (lambda c, t, x: c.TLOAD(t, t), "LANG-KIND", "view of global memory"),
        (lambda c, t, x: c.TADDS(t, t, "1"), "LANG-KIND", "'1'"),
        (lambda c, t, x: c.TSTORE(c.GlobalTensor(x), t, atomic="sum"), "LANG-ATTR", "'sum'"),
        (lambda c, t, x: c.TSYNC(3), "LANG-SYNC", "3"),
    ],
)  # fmt: skip
def test_calls_are_checked_as_in_kernels(call: Callable[..., Any], rule: str, words: str) -> None:
    core, x = pto.Core("a5"), np.ones((16, 64), np.float32)
    t = vec(core)
    finding = refuse(lambda: call(core, t, x), rule, words)
    assert "\n" not in finding.message


# --- tiles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "make", "rule", "words"),
    [
        ("a5", lambda c: c.Tile(VEC, pto.f32, 16, 63), "TILE-05", "252 bytes"),
        ("a5", lambda c: c.Tile(MAT, pto.f16, 15, 16, BLayout.ColMajor, slayout=SLayout.RowMajor), "TILE-03", "15"),
        ("a5", lambda c: c.Tile(MAT, pto.f16, 1, 64, slayout=SLayout.ColMajor), "TILE-D3", "1 rows of a Zn tile"),
        ("a2a3", lambda c: c.Tile(VEC, pto.f32, 1024, 64), "SA-0352", "262144"),
        ("a5", lambda c: c.Tile(VEC, pto.f32, 16, 64, addr=17), "ADDR-ALIGN", "0x11"),
        ("a2a3", lambda c: c.Tile(VEC, pto.f32, 16, 64, addr=196608 - 2048), "UB-CAPACITY", "196608"),
        ("a2a3", lambda c: c.TileLeftScale(pto.e8m0, 16, 2), "SA-0351", "scale_left"),
        ("a5", lambda c: c.Tile(VEC, pto.f32, 16, 64, valid_row=17), "TILE-01", "17 valid rows"),
        ("a5", lambda c: c.Tile(VEC, "f33", 16, 64), "LANG-TILE", "f33"),
        ("a5", lambda c: c.Tile(VEC, pto.f32, 0, 64), "LANG-TILE", "positive"),
    ],
)  # fmt: skip
def test_illegal_tiles(target: str, make: Callable[[pto.Core], Any], rule: str, words: str) -> None:
    core = pto.Core(target)
    refuse(lambda: make(core), rule, words)


def test_illegal_addresses_of_tassign() -> None:
    core = pto.Core("a2a3")
    t = vec(core, addr=0).set(4)
    assert source(refuse(lambda: core.TASSIGN(t, 8), "ADDR-ALIGN", "0x8")) == "core.TASSIGN(t, 8)"
    refuse(lambda: t.assign(0x30000), "UB-CAPACITY", "0x30000")
    refuse(lambda: core.TASSIGN(t, 0.5), "LANG-TILE", "0.5")
    assert t.address == 0
    assert (t.numpy() == 4).all()


def test_illegal_views_of_tiles() -> None:
    core = pto.Core("a5")
    t = vec(core)
    refuse(lambda: t.reshape(16, 32), "RS-1", "2048")
    refuse(lambda: t.bitcast(pto.f32), "BC-1", "f32")
    refuse(lambda: t.subview(17, 0, 16, 64), "SS-1", "16x64")
    refuse(lambda: t.set_valid(3, 3), "LANG-TILE", "valid region")
    dynamic = vec(core, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
    refuse(lambda: dynamic.set_valid(17, 3), "VS-3", "17")
    refuse(lambda: core.TSUBVIEW(vec(core, rows=8, cols=32), vec(core, pto.f16), 0, 0), "LANG-TILE", "differs")


def test_what_cannot_be_put_into_a_tile() -> None:
    core = pto.Core("a5")
    t, bits = vec(core, pto.f32, 8, 8), vec(core, pto.u8, 1, 32)
    for values in (np.zeros((8, 9)), np.zeros((2, 8)), np.zeros(63), np.zeros((2, 4, 8, 2)), [[1, 2], [3]]):
        refuse(lambda values=values: t.set(values), "LANG-CONTENTS", "does not fit the 8x8")
    refuse(lambda: t.set("abc"), "LANG-CONTENTS", "cannot be put")
    refuse(lambda: t.set(np.zeros((8, 8), complex)), "LANG-CONTENTS", "complex128")
    refuse(lambda: bits.set(300), "LANG-CONTENTS", "300 at (0, 0)")
    refuse(lambda: bits.set([-1, *range(31)]), "LANG-CONTENTS", "-1 at (0, 0)")
    refuse(lambda: bits.set([*range(31), 1.5]), "LANG-CONTENTS", "1.5 at (0, 31)")
    refuse(lambda: bits.set(np.nan), "LANG-CONTENTS", "nan")
    refuse(lambda: bits.set(256, codes=True), "LANG-CONTENTS", "0 to 255")
    refuse(lambda: bits.set(0.5, codes=True), "LANG-CONTENTS", "0 to 255")
    refuse(lambda: vec(core, pto.e2m1, 1).set(16, codes=True), "LANG-CONTENTS", "0 to 15")
    assert not t.numpy().any()
    assert not bits.numpy().any()


def test_a_window_has_no_bytes_of_its_own() -> None:
    core = pto.Core("a5")
    window = vec(core).subview(0, 8, 4, 8)
    refuse(window.bytes, "LANG-CONTENTS", "lie apart")


# --- global memory ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "dtype", "words"),
    [
        (np.zeros((4, 4), np.float32).T[:, :2], None, "not contiguous"),
        (np.zeros(4), None, "float64"),
        (np.zeros(4, np.float32), pto.f16, "float32"),
        (np.zeros(4, np.uint16), pto.e4m3, "uint16"),
        ([1.0, 2.0], None, "list"),
        (None, None, "NoneType"),
    ],
)
def test_memory_that_a_tensor_cannot_have(memory: Any, dtype: Any, words: str) -> None:
    core = pto.Core("a5")
    refuse(lambda: core.GlobalTensor(memory, (4,), dtype=dtype), "LANG-ARG", words)
    refuse(lambda: core.pointer(memory, dtype), "LANG-ARG", words)


def test_views_that_leave_their_tensor_or_its_memory() -> None:
    core, x = pto.Core("a5"), np.zeros((16, 64), np.float32)
    t, g = vec(core), core.GlobalTensor(x)
    refuse(lambda: core.TLOAD(t, g[8:24]), "GM-OOB", "[8, 24)")
    large = core.GlobalTensor(x, (32, 64))
    refuse(lambda: core.TLOAD(t, large[16:32]), "GM-OOB", "1024 elements")
    refuse(lambda: core.TSTORE(large[16:32], t), "GM-OOB", "1024 elements")
    refuse(lambda: core.GlobalTensor(x, (16, 64), (64,)), "LANG-VIEW", "2 and 1")
    refuse(lambda: core.GlobalTensor(core.pointer(x)), "LANG-VIEW", "shape")
    refuse(lambda: core.GlobalTensor(x, layout="ND"), "LANG-VIEW", "'ND'")


def test_read_only_arrays_are_not_written() -> None:
    core, x = pto.Core("a5"), np.zeros((16, 64), np.float32)
    x.flags.writeable = False
    t, g, p = vec(core).set(1), core.GlobalTensor(x), core.pointer(x)
    core.TLOAD(t, g)
    refuse(lambda: core.TSTORE(g, t), "LANG-WRITE", "read-only")
    with core:
        refuse(lambda: p.__setitem__(0, 1.0), "LANG-WRITE", "read-only")
        refuse(lambda: p[1024], "GM-OOB", "1024")
    assert not x.any()


# --- sessions --------------------------------------------------------------------------------------------------------


def test_cores_do_not_share_tiles() -> None:
    a, b = pto.Core("a5"), pto.Core("a5")
    mine, yours = vec(a), vec(b)
    refuse(lambda: a.TADD(mine, mine, yours), "LANG-SCOPE", "another core")
    refuse(lambda: a.TLOAD(mine, b.GlobalTensor(np.zeros((16, 64), np.float32))), "LANG-SCOPE", "another core")


def test_traced_control_flow_is_for_kernels() -> None:
    core = pto.Core("a5")

    def branch() -> None:
        with core, pto.if_(True):
            pass

    def otherwise() -> None:
        with core, pto.else_():
            pass

    refuse(branch, "LANG-CONTEXT", "pto.if_", "Python's own")
    refuse(otherwise, "LANG-CONTEXT", "pto.else_", "Python's own")


def test_a_core_counts_through_the_range_of_a_kernel() -> None:
    with pto.Core("a5"):
        assert list(pto.range(1, 6, 2)) == [1, 3, 5]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "names no target"),
        ({"target": "a9"}, "'a9'"),
        ({"target": 5}, "5"),
        ({"target": "a5", "matmul": "quick"}, "'quick'"),
    ],
)
def test_a_core_needs_a_target(options: dict[str, Any], words: str) -> None:
    refuse(lambda: pto.Core(**options), "LANG-TARGET", words)
