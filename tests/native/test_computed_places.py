"""Reads at computed places see what a copy has brought, whoever carries them out."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import target

REG, BITS = "!pto.vreg<64xi32>", "!pto.mask<b32>"
POINTER = "!pto.ptr<i32, ub>"
BODIES = {
    "gather": f"""
    %i = pto.vci %n63 {{order = "DESC"}} : i32 -> {REG}
    %m = pto.pset_b32 "PAT_ALL" : {BITS}
    %v = pto.vgather2 %in, %i, %m : {POINTER}, {REG}, {BITS} -> {REG}
    pto.vsts %v, %out[%c0], %m : {REG}, {POINTER}, {BITS}""",
    "a stride": f"""
    %m = pto.pset_b32 "PAT_ALL" : {BITS}
    %v = pto.vsld %in[%c0], "STRIDE_S2_B64" : {POINTER} -> {REG}
    pto.vsts %v, %out[%c0], %m : {REG}, {POINTER}, {BITS}""",
    "several lanes to one place": f"""
    %i = pto.vci %n63 {{order = "DESC"}} : i32 -> {REG}
    %m = pto.pset_b32 "PAT_M3" : {BITS}
    %j = pto.vshrs %i, %n2, %m : {REG}, i16, {BITS} -> {REG}
    %v = pto.vlds %in[%c0] : {POINTER} -> {REG}
    pto.vscatter %v, %out, %j, %m : {REG}, {POINTER}, {REG}, {BITS}""",
    "blocks that are loaded apart": f"""
    %some = pto.pset_b32 "PAT_VL32" : {BITS}
    %m = pto.pset_b32 "PAT_ALL" : {BITS}
    %v = pto.vsldb %in, %n2, %n1, %some : {POINTER}, i16, i16, {BITS} -> {REG}
    pto.vsts %v, %out[%c0], %m : {REG}, {POINTER}, {BITS}""",
    "blocks with a control word": f"""
    %m = pto.pset_b32 "PAT_ALL" : {BITS}
    %v = pto.vsldb %in, %word, %m : {POINTER}, i32, {BITS} -> {REG}
    pto.vsts %v, %out[%c0], %m : {REG}, {POINTER}, {BITS}""",
    "blocks that are stored apart": f"""
    %some = pto.pset_b32 "PAT_VL32" : {BITS}
    %v = pto.vlds %in[%c0] : {POINTER} -> {REG}
    pto.vsstb %v, %out, %n1, %n2, %some : {REG}, {POINTER}, i16, i16, {BITS}""",
    "squeezed lanes": f"""
    %m = pto.pset_b32 "PAT_ALL" : {BITS}
    %some = pto.pset_b32 "PAT_M3" : {BITS}
    %v = pto.vlds %in[%c0] : {POINTER} -> {REG}
    %s = pto.vsqz %v, %some : {REG}, {BITS} -> {REG}
    pto.vsts %s, %out[%c0], %m : {REG}, {POINTER}, {BITS}""",
}


def kernel(body: str) -> str:
    return f"""\
func.func @f(%x: !pto.ptr<i32, gm>, %y: !pto.ptr<i32, gm>) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %half = arith.constant 512 : i64
  %len = arith.constant 256 : i64
  %o = arith.constant 4096 : i64
  %c0 = arith.constant 0 : index
  %n63 = arith.constant 63 : i32
  %n2 = arith.constant 2 : i16
  %n1 = arith.constant 1 : i16
  %word = arith.constant 65537 : i32
  %in = pto.castptr %z : i64 -> {POINTER}
  %out = pto.castptr %o : i64 -> {POINTER}
  pto.mte_gm_ub %x, %in, %z, %half nburst(%one, %half, %half)
    : !pto.ptr<i32, gm>, {POINTER}, i64, i64, i64, i64, i64
  pto.vecscope {{{body}
  }}
  pto.mte_ub_gm %out, %y, %len nburst(%one, %len, %len)
    : {POINTER}, !pto.ptr<i32, gm>, i64, i64, i64, i64
  return
}}
"""


@pytest.mark.parametrize("body", BODIES)
def test_both_backends_read_the_same(body: str) -> None:
    read = parse_module(kernel(BODIES[body]), target=target("a5"))
    read.diagnostics.raise_if_errors()
    program = compile_program(read.module, target("a5"))
    found = []
    for backend in ("native", "numpy"):
        x, y = np.arange(128, dtype=np.int32) * 3 + 1, np.zeros(64, np.int32)
        program.launch([x, y], backend=backend)
        found.append(y.tolist())
    assert any(found[1])
    assert found[0] == found[1]
