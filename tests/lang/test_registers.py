"""Vector registers, predicates and pointers to on-chip memory in Python kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import DiagnosticError, Ptr, f16, f32, i8, i32, u8, u16
from ptokit.asm import parse_module, print_module

from .support import finding_of, kernel

N = 256


def whole(body: Any) -> Any:
    """A kernel that loads 256 numbers into the unified buffer, works on them with `body(src, dst)`, and stores them."""

    def run(x: Ptr[f32], y: Ptr[f32]):
        src, dst = pto.castptr(0, f32), pto.castptr(4096, f32)
        pto.mte_gm_ub(x, src, 0, 4 * N, 1, 4 * N, 4 * N)
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, 0)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, 0)
        with pto.vecscope():
            body(src, dst)
        pto.set_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)
        pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)
        pto.mte_ub_gm(dst, y, 4 * N, 1, 4 * N, 4 * N)

    return pto.kernel(target="a5")(run)


def computed(body: Any, blocks: int = 1) -> np.ndarray:
    made = whole(body)
    x, y = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    made[blocks](x, y)
    text = made.to_pto(x, y)
    module = parse_module(text)
    assert list(module.diagnostics) == []
    assert print_module(module.module) == text
    return y


def test_a_loop_over_registers() -> None:
    def body(src, dst):
        for i in pto.range(0, N, 64):
            v = pto.vlds(src, i)
            pto.vsts(pto.vadd(v, v), dst, i)

    assert np.array_equal(computed(body, blocks=3), 2 * np.arange(N))


def test_masks_numbers_words_and_results() -> None:
    def body(src, dst):
        for i in pto.range(0, N, 64):
            v = pto.vlds(src, i)
            m, rest = pto.plt_b32(pto.cast(pto.maximum(100 - i, 0), i32))
            assert isinstance(rest, pto.Scalar)
            low = pto.vcmps(v, 10.0, m, "lt")
            pto.vsts(pto.vsel(pto.vmuls(v, -1.0), pto.vadds(v, 1), low), dst, i, m)

    x = np.arange(N)
    assert np.array_equal(computed(body), np.where(x < 10, -x, np.where(x < 100, x + 1, 0)))


def test_conversions_take_the_type_of_their_result() -> None:
    def body(src, dst):
        even, odd = (
            pto.vcvt(pto.vlds(src, at), rnd="R", part=part, dtype=f16) for at, part in ((0, "EVEN"), (64, "ODD"))
        )
        both = pto.vor(even, odd)
        assert (both.dtype, both.lanes) == (f16, 128)
        pto.vsts(pto.vcvt(both, part="ODD", dtype=f32), dst, 0)

    assert np.array_equal(computed(body)[:64], np.arange(64, 128))


def test_handles_say_what_they_are() -> None:
    def f(x: Ptr[f32]):
        p = pto.castptr(64, u8)
        assert (p.dtype, p.space, x.space) == (u8, "ub", "gm")
        q = pto.castptr(p + 4, f16)
        assert (q.dtype, q.space) == (f16, "ub")
        with pto.vecscope():
            v = pto.vbr(3, dtype=u16)
            assert repr(v) == "<register v of 128 u16>"
            m = pto.pset_b16("PAT_VL8")
            assert (repr(m), m.bits) == ("<predicate m of b16>", 16)
            lo, hi = pto.vintlv(v, v)
            assert (lo.dtype, hi.lanes) == (u16, 128)
            assert pto.vcmp(v, v, None, "eq").bits == 16
            assert pto.vcadd(pto.vbr(1, dtype=i8), dtype=pto.i16).lanes == 128
            total, carry = pto.vaddc(pto.vbr(1, dtype=i32), pto.vbr(2, dtype=i32))
            assert (total.dtype, carry.bits) == (i32, 32)
            a = pto.init_align()
            assert repr(a) == "<stream a>"

    kernel(f).trace()


def faults(body: Any) -> tuple[str, str]:
    """Rule and marked source line of the first fault."""
    made = whole(body)
    x = np.zeros(N, np.float32)
    with pytest.raises(DiagnosticError) as error:
        made(x, x.copy())
    d = error.value.diagnostics[0]
    assert d.location.file == __file__
    with open(__file__) as file:
        return d.rule, file.read().splitlines()[d.location.line - 1].strip()


def test_rules_point_to_the_call() -> None:
    def wrong_mask(src, dst):
        m = pto.pset_b16("PAT_ALL")
        pto.vneg(pto.vlds(src), m)

    def wrong_result(src, dst):
        pto.vcadd(pto.vbr(1, dtype=i8))

    def no_part(src, dst):
        pto.vcvt(pto.vlds(src), dtype=f16)

    def wrong_word(src, dst):
        pto.pset_b32("PAT_NONE")

    assert faults(wrong_mask) == ("VEC-A5-05", "pto.vneg(pto.vlds(src), m)")
    assert faults(wrong_result) == ("VEC-A5-06", "pto.vcadd(pto.vbr(1, dtype=i8))")
    assert faults(no_part) == ("VEC-A5-16", "pto.vcvt(pto.vlds(src), dtype=f16)")
    assert faults(wrong_word) == ("PRD-A5-01", 'pto.pset_b32("PAT_NONE")')


def test_misuse_is_refused() -> None:
    def not_a_register(src, dst):
        pto.vneg(src)

    def no_type(src, dst):
        pto.vbr(1.0)

    def unknown(src, dst):
        pto.vadd(pto.vlds(src), pto.vlds(src), dtype=f32)

    def no_pattern(src, dst):
        pto.pset_b32()

    assert faults(not_a_register) == ("LANG-KIND", "pto.vneg(src)")
    assert faults(no_type) == ("LANG-CALL", "pto.vbr(1.0)")
    assert faults(unknown)[0] == "LANG-ATTR"
    assert faults(no_pattern) == ("LANG-CALL", "pto.pset_b32()")


def test_registers_end_with_their_scope() -> None:
    kept: list[Any] = []

    def f(x: Ptr[f32]):
        src = pto.castptr(0, f32)
        with pto.vecscope():
            kept.append(pto.vlds(src))
        pto.vsts(kept[0], src)

    d = finding_of(lambda: kernel(f).trace())
    assert d.rule == "LANG-SCOPE"
    assert "vector scope" in d.message


def test_registers_belong_to_kernels_and_cores() -> None:
    assert finding_of(lambda: pto.vbr(1.0, dtype=f32)).rule == "LANG-CONTEXT"
    with pto.Core("a5"):
        v = pto.vadd(pto.vbr(1.0, dtype=f32), pto.vbr(2.0, dtype=f32))
        assert (v.numpy() == 3).all()


def test_the_sanitizer_watches_python_kernels() -> None:
    def body(src, dst):
        for i in pto.range(0, N, 64):
            pto.vsts(pto.vlds(src, i), dst, i)

    x = np.zeros(N, np.float32)
    assert list(whole(body).sanitize(x, x.copy()).diagnostics) == []

    def racy(x: Ptr[f32]):
        src = pto.castptr(0, f32)
        pto.mte_gm_ub(x, src, 0, 256, 1, 256, 256)
        with pto.vecscope():
            pto.vsts(pto.vlds(src), src + 64)
        pto.set_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)
        pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)

    assert [d.rule for d in pto.kernel(target="a5")(racy).sanitize(x).diagnostics] == ["RACE-RAW"]


def test_a_predicate_from_memory_of_4_bit_elements_has_a_granularity() -> None:
    def f():
        with pto.vecscope():
            pto.psts(pto.plds(pto.castptr(0, pto.e2m1)), pto.castptr(64, pto.u32), 0)

    text = kernel(f).to_pto()
    assert "!pto.mask<b8>" in text
    assert print_module(parse_module(text).module) == text


def test_a_step_is_needed_where_a_pointer_is_to_move() -> None:
    def f():
        with pto.vecscope():
            pto.vlds_post(pto.castptr(0, f32))

    assert "lacks step" in finding_of(kernel(f).trace).message
