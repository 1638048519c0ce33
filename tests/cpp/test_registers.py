"""Vector registers in C++: what loops carry on, registers read as other types, masks, and accesses that advance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit
from ptokit.cpp.lift.library import OF_LANGUAGE
from ptokit.diagnostics import DiagnosticError
from ptokit.isa.table import TABLE

pytestmark = pytest.mark.usefixtures("compiler")

KERNEL = """
#include <pto/pto-inst.hpp>
using namespace pto;
using Buffer = Tile<TileType::Vec, uint16_t, 1, 1024>;
using View = GlobalTensor<uint16_t, Shape<1, 1, 1, 1, 1024>, Stride<1, 1, 1, 1024, 1>>;
__global__ AICORE void k(__gm__ uint16_t* x, __gm__ uint16_t* y, int32_t n) {
    Buffer in, out;
    TASSIGN(in, 0x0);
    TASSIGN(out, 0x2000);
    View from(x), to(y);
    TLOAD(in, from);
    TLOAD(out, to);
    PtoSetWaitFlag<PIPE_MTE2, PIPE_V>();
    __ubuf__ uint16_t* p = in.data();
    __ubuf__ uint16_t* q = out.data();
    __VEC_SCOPE__ {
        %s
    }
    PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();
    TSTORE(to, out);
}
"""


def launched(
    tmp_path: Path, body: str, x: np.ndarray, n: int = 4, backends: tuple[str, ...] = ("numpy", "native")
) -> np.ndarray:
    """What a body makes of 2048 bytes, on each backend."""
    path = tmp_path / "registers.cpp"
    path.write_text(KERNEL % body)
    kernel = ptokit.cpp(path, target="a5")["k"]
    assert not kernel.check()
    made = []
    for backend in backends:
        y = np.arange(1024, dtype=np.uint16)
        kernel(x.view(np.uint16).copy(), y, n, backend=backend)
        made.append(y)
    assert all(each.tobytes() == made[0].tobytes() for each in made)
    found = kernel.sanitize(x.view(np.uint16).copy(), made[0], n).diagnostics
    assert not found.errors, found
    return made[0]


def test_a_loop_carries_registers_on(tmp_path: Path) -> None:
    """As an accumulator, and set in one iteration for those after it."""
    body = """
        MaskReg all = pset_b32(PAT_ALL);
        vector_f32 sum, two, x;
        vdup(sum, 0.5f, all, MODE_ZEROING);
        for (uint16_t k = 0; k < uint16_t(n); k++) {
            if (k == 0) vdup(two, 2.0f, all);
            vlds(x, (__ubuf__ float*)p, k * 64, NORM);
            vmul(x, x, two, all);
            vadd(sum, sum, x, all);
            vmula(sum, x, two, all);
        }
        vsts(sum, (__ubuf__ float*)q, 0, NORM_B32, all);
    """
    x = np.random.default_rng(1).integers(-9, 9, 512).astype(np.float32)
    for n in (0, 4):
        found = launched(tmp_path, body, x, n).view(np.float32)[:64]
        assert (found == 0.5 + 6 * x[: 64 * n].reshape(n, 64).sum(0)).all()


def test_registers_are_read_as_other_types(tmp_path: Path) -> None:
    """The largest magnitudes of groups of 16, by the bits of bf16, and their bytes in another order."""
    body = """
        MaskReg all = pset_b16(PAT_ALL), bytes = pset_b8(PAT_ALL), eight = pset_b16(PAT_VL8);
        vector_u16 magnitude, v;
        vdup(magnitude, (uint16_t)0x7fff, all, MODE_ZEROING);
        vlds(v, p, 0, NORM);
        vand(v, v, magnitude, all);
        vcgmax((vector_s16&)v, (vector_s16&)v, all);
        vsts(v, q, 0, NORM_B16, eight);
        vector_u8 index, one;
        vci((vector_s8&)index, (int8_t)0, INC_ORDER);
        vdup(one, (uint8_t)1, bytes, MODE_ZEROING);
        vxor(index, index, one, bytes);
        vlds(v, p, 128, NORM);
        vselr((vector_u8&)v, (vector_u8&)v, index);
        vsts(v, q, 128, NORM_B16, all);
    """
    x = np.random.default_rng(2).integers(0, 65536, 1024).astype(np.uint16)
    found = launched(tmp_path, body, x)
    assert (found[:8] == (x[:128] & 0x7FFF).reshape(8, 16).max(1)).all()
    assert (found[8:128] == np.arange(8, 128)).all()
    assert (found[128:256] == x[128:256].byteswap()).all()


def test_masks_choose_lanes(tmp_path: Path) -> None:
    """By comparisons; lanes that take no part are zero, or keep what was there."""
    body = """
        MaskReg all = pset_b32(PAT_ALL), large, small, both;
        vector_s32 x, kept, cut, chosen;
        vlds(x, (__ubuf__ int32_t*)p, 0, NORM);
        vcmps_gt(large, x, 10, all);
        vcmps_lt(small, x, n, all);
        por(both, large, small, all);
        vdup(kept, -1, all, MODE_ZEROING);
        vadds(kept, x, 100, both, MODE_MERGING);
        vadds(cut, x, 100, both, MODE_ZEROING);
        vsel(chosen, x, kept, large);
        vsts(kept, (__ubuf__ int32_t*)q, 0, NORM_B32, all);
        vsts(cut, (__ubuf__ int32_t*)q, 64, NORM_B32, all);
        vsts(chosen, (__ubuf__ int32_t*)q, 128, NORM_B32, small);
    """
    x = np.random.default_rng(3).integers(-20, 30, 512).astype(np.int32)
    found, lanes = launched(tmp_path, body, x, -4).view(np.int32).reshape(8, 64), x[:64]
    both = (lanes > 10) | (lanes < -4)
    assert (found[0] == np.where(both, lanes + 100, -1)).all()
    assert (found[1] == np.where(both, lanes + 100, 0)).all()
    old = np.arange(1024, dtype=np.uint16).view(np.int32)[128:192]
    assert (found[2] == np.where(lanes < -4, lanes + 100, old)).all()


def test_accesses_go_on_by_themselves(tmp_path: Path) -> None:
    """With POST_UPDATE a pointer is where the next access begins; unaligned ones are a stream."""
    body = """
        vector_u16 v;
        uint32_t left = 128 * 3 - 20;
        for (uint16_t k = 0; k < 3; k++) {
            MaskReg some = plt_b16(left, POST_UPDATE);
            vlds(v, p, 128, NORM, POST_UPDATE);
            vsts(v, q, 128, NORM_B16, some, POST_UPDATE);
        }
        UnalignReg from, to;
        p += 3;
        vldas(from, p);
        for (uint16_t k = 0; k < 2; k++) {
            vldus(v, from, p, 128, POST_UPDATE);
            vstus(to, (uint32_t)50, v, q, POST_UPDATE);
        }
        vstas(to, q, 0, POST_UPDATE);
    """
    x = np.random.default_rng(4).integers(0, 65536, 1024).astype(np.uint16)
    found, want = launched(tmp_path, body, x, backends=("numpy",)), np.arange(1024, dtype=np.uint16)
    want[: 3 * 128 - 20] = x[: 3 * 128 - 20]
    want[384:484] = [*x[387:437], *x[515:565]]
    assert (found == want).all()


def test_numbers_become_of_the_type_of_lanes(tmp_path: Path) -> None:
    """Conversions in parts, and numbers that only the run knows."""
    body = """
        MaskReg all = pset_b32(PAT_ALL), half_lanes = pset_b16(PAT_ALL);
        vector_f32 x;
        vector_s32 whole;
        vector_bf16 b;
        vlds(x, (__ubuf__ float*)p, 0, NORM);
        vmuls(x, x, n, all);
        vtrc(x, x, ROUND_F, all);
        vcvt(whole, x, all, ROUND_R, RS_ENABLE);
        vadds(whole, whole, n, all);
        vsts(whole, (__ubuf__ int32_t*)q, 0, NORM_B32, all);
        vcvt(b, x, all, ROUND_R, RS_DISABLE, PART_EVEN);
        vsts(b, (__ubuf__ bfloat16_t*)q, 128, PK_B32, all);
    """
    x = np.random.default_rng(5).normal(0, 4, 512).astype(np.float32)
    found, floors = launched(tmp_path, body, x, 3), np.floor(x[:64] * np.float32(3))
    assert (found.view(np.int32)[:64] == floors + 3).all()
    assert (found[128:192] == floors.view(np.uint32) >> 16).all()  # small integers are exact in bf16


def test_what_is_no_register_is_refused(tmp_path: Path) -> None:
    for body, message in (
        ("vector_f32 x; vadd(x, x, 1, pset_b32(PAT_ALL));", "not the operands of vadd"),
        ("vector_f32 x; vlds(x, (__ubuf__ float*)p, 0, ONEPT_B32);", "ONEPT_B32"),
        ("vector_f32 x, y; vabs(x, y, y, pset_b32(PAT_ALL));", "not the operands of vabs"),
        ("vector_f32 x; vadd(x, x, x, pset_b32(PAT_ALL), POST_UPDATE);", "vadd has no POST_UPDATE"),
        ("vector_u32 x, y; vmull(x, y, x, y, pset_b32(PAT_ALL), MODE_MERGING);", "no lanes to keep"),
        ("vector_u16 x; vlds(x, p, 0, NORM); vabs(x, x, (MaskReg&)x);", "a register of type !pto.mask is needed"),
        (
            "vector_u16 x[4]; for (int k = 0; k < 4; k++) vlds(x[k], p, k * 128, NORM);"
            "vsts(x[n & 3], q, 0, NORM_B16, pset_b16(PAT_ALL));",
            "is kept in memory",
        ),
        ("vector_u16 x; __ubuf__ uint16_t* const r = p; vlds(x, r, 9, NORM, POST_UPDATE);", "this one is const"),
    ):
        with pytest.raises(DiagnosticError, match=message):
            launched(tmp_path, body, np.zeros(512, np.float32))


def test_streams_of_stores_are_one_line(tmp_path: Path) -> None:
    """A loop carries the state on, and it is flushed once, whichever block does it."""
    path = tmp_path / "registers.cpp"
    loop = "vector_u16 v; UnalignReg to; for (int k = 0; k < n; k++) {{ vlds(v, p, 0, NORM); vstus(to, 9u, v, q); {} }}"
    ends = "vstas(to, q, 0);"
    for inside, after, twice in (("", ends, 0), (ends, "", 1), ("", 2 * ends, 1)):
        path.write_text(KERNEL % (loop.format(inside) + after))
        found = ptokit.cpp(path, target="a5")["k"].check()
        assert [d.rule for d in found.errors] == ["VEC-A5-13"] * twice


def test_words_of_registers_are_those_of_the_table() -> None:
    """What C++ has enumerators for is what the instructions take."""
    said = {name for names in OF_LANGUAGE.values() for name in names}
    for attr in ("dist", "pattern", "round_mode", "kind"):
        words = {
            word
            for instr in TABLE.values()
            if instr.typed or instr.name == "mem_bar"
            for each in instr.attrs
            if each.name == attr and "." not in instr.name
            for word in each.words
        }
        assert {word for word in words if word[0].isalpha()} <= said, attr
