"""What pages say of lanes that the predicate leaves out, and what registers hold there."""

from __future__ import annotations

import numpy as np

import ptokit as pto
from ptokit.isa.reference import facts, inactive
from ptokit.isa.table import TABLE, Kind
from tests.each import each


@each(
    "name, said",
    [
        ("vadd", "are 0 in dst"),
        ("vcvt", "are 0 in dst"),
        ("vdup", "are 0 in dst"),
        ("vgather2", "are 0 in dst"),
        ("vaddc", "are 0 in dst; are 0 in carry"),
        ("vcmp", "are 0 in dst"),
        ("vsel", "have src1 in dst"),
        ("vcadd", "take no part"),
        ("vcmax", "take no part"),
        ("vcpadd", "count as 0"),
        ("vsqz", "are left out of dst"),
        ("vsts", "are not written"),
        ("vscatter", "are not written"),
        ("vlds", ""),
        ("TADD", ""),
    ],
)
def test_a_page_says_what_inactive_lanes_hold(name: str, said: str) -> None:
    assert inactive(TABLE[name]) == said
    assert facts(TABLE[name]).get("inactive", "") == (f"lanes that the predicate leaves out {said}" if said else "")


def test_every_instruction_with_a_predicate_over_a_register_says_it() -> None:
    silent = {
        instr.name
        for instr in TABLE.values()
        if any(o.name in ("mask", "seed") and o.kind is Kind.MASK for o in instr.operands)
        and any(o.kind is Kind.VREG for o in (*instr.operands, *instr.produces))
        and not inactive(instr)
    }
    assert silent == {"vstsx2"}  # writes all lanes, whatever the predicate


@pto.kernel(target="a5")
def lanes(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):
    p = pto.castptr(0, pto.f32)
    pto.mte_gm_ub(x, p, 0, 256, 1, 256, 256)
    pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, 0)
    pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, 0)
    with pto.vecscope():
        few, every = pto.pset_b32("PAT_VL8"), pto.pset_b32("PAT_ALL")
        v = pto.vlds(p, 0)
        twice = pto.vadd(v, v, every)
        pto.vsts(twice, p, 64, every)
        pto.vsts(pto.vabs(v, few), p, 128, every)
        pto.vsts(pto.vsel(v, twice, few), p, 192, every)
        pto.vsts(pto.vcadd(v, few, dtype=pto.f32), p, 256, every)
        pto.vsts(pto.vsqz(v, few), p, 320, every)
        pto.vsts(v, p, 64, few)
    pto.set_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)
    pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)
    pto.mte_ub_gm(pto.castptr(256, pto.f32), y, 1280, 1, 1280, 1280)


def test_registers_hold_what_the_pages_say() -> None:
    x = np.arange(1, 65, dtype=np.float32)
    y = np.zeros(320, np.float32)
    lanes[1](x, y)
    stored, zeros, chosen, total, front = y.reshape(5, 64)
    on = np.arange(64) < 8
    assert np.array_equal(stored, np.where(on, x, 2 * x))
    assert np.array_equal(zeros, np.where(on, x, 0))
    assert np.array_equal(chosen, np.where(on, x, 2 * x))
    assert total[0] == x[:8].sum()
    assert np.array_equal(front, np.where(on, x, 0))
