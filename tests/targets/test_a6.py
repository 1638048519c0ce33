"""A6: what its headers accept and refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit import targets
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError, Scope
from ptokit.ir.verify import verify
from ptokit.isa.check import rules_of
from ptokit.isa.table import TABLE
from ptokit.run.program import Single, compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import A5, A6
from tests.isa.rule_cases import broken
from tests.isa.transfer_sites import acc
from tests.isa.transfer_sites import spec as tile_type

HAS = """TASSIGN TADD TLOAD TSTORE TSTORE_FP TEXTRACT TEXTRACT_FP TMATMUL TMATMUL_ACC TMATMUL_BIAS TMATMUL_MX
    TMATMUL_MX_ACC TMATMUL_MX_BIAS TGEMV TGEMV_ACC TGEMV_BIAS TGEMV_MX TGEMV_MX_ACC TGEMV_MX_BIAS TRESHAPE TQUANT
    TQUANT_MX TSYNC SYNCALL""".split()
NO_CALLS = """
    ADDPTR ALLOC_TILE BITCAST CASTPTR DECLARE_TILE GET_BLOCK_IDX GET_BLOCK_NUM GET_SUBBLOCK_IDX GET_SUBBLOCK_NUM
    GET_TENSOR_VIEW_DIM GET_TENSOR_VIEW_STRIDE GET_VALIDSHAPE INTTOPTR LOAD_SCALAR MAKE_TENSOR_VIEW
    PARTITION_VIEW PRINT PTRTOINT SET_VALIDSHAPE STORE_SCALAR SUBSET SUBVIEW TGETVAL TILE_VALID_COLS
    TILE_VALID_ROWS TRAP TSETVAL
""".split()
"""What is no call of the library that a header has to define."""


def test_the_instructions_of_its_library() -> None:
    calls = {name for name in TABLE if name[0].isupper()} - set(NO_CALLS)
    assert {name for name in calls if name not in A6.missing} == set(HAS)
    for name in calls - set(HAS):
        assert [rule.id for rule in rules_of(TABLE[name], A6)] == ["INSTR-ABSENT"]


def test_what_is_like_a5() -> None:
    assert dict(A6.capacity) == dict(A5.capacity)
    assert A6.dtypes >= A5.dtypes


def test_it_has_registers() -> None:
    assert A6.vector_registers
    assert rules_of(TABLE["vadd"], A6) == tuple(
        r for r in rules_of(TABLE["vadd"], A5) if r.scope is not Scope.ASSEMBLER
    )


@pytest.mark.parametrize(
    ("types", "legal"),
    [
        ("f32 f16 f16", True),
        ("f32 f16 i8", True),
        ("f32 bf16 i8", True),
        ("f32 f16 int4", True),
        ("f32 bf16 int4", True),
        ("i32 i8 int4", True),
        ("f32 i8 int4", False),
        ("i32 int4 int4", False),
        ("f32 f32 int4", False),
        ("f32 f16 e4m3", True),
        ("f32 bf16 e4m3", True),
        ("f32 f16 e5m2", False),
        ("f32 i8 f16", False),
        ("f32 bf16 f16", False),
        ("i32 i8 i8", True),
        ("f32 hif8 hif8", True),
        ("f16 f16 f16", False),
    ],
)
def test_products(types: str, legal: bool) -> None:
    c, a, b = types.split()
    left, right = tile_type("Left", a, 32, 64, "Nz"), tile_type("Right", b, 64, 32, "Zn")
    rules = broken("TMATMUL", "a6", {"dst": acc(c, 32, 32), "lhs": left, "rhs": right})
    assert ("MAT-COM-02" in rules) is not legal


TEXT = """module attributes {pto.target_arch = "a6"} {
  func.func @f() {
    pto.set_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.set_flag[<PIPE_M>, <PIPE_FIX>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_M>, <PIPE_FIX>, <EVENT_ID0>]
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    return
  }
}"""


def test_flags_are_between_some_pipes() -> None:
    found = [(d.rule, d.location.line) for d in verify(parse_module(TEXT).module, A6)]
    assert found == [("A6-01", 7), ("A6-01", 8)]
    assert list(verify(parse_module(TEXT).module, A5)) == []


@pto.kernel(target="a6")
def double(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    loaded, added = pto.Event("TLOAD", "TADD"), pto.Event("TADD", "TSTORE_VEC")
    loaded.Record(pto.TLOAD(tile, pto.GlobalTensor(x, (16, 64))))
    loaded.Wait()
    added.Record(pto.TADD(tile, tile, tile))
    added.Wait()
    pto.TSTORE(pto.GlobalTensor(y, (16, 64)), tile)


def test_events_of_other_pipes_are_barriers() -> None:
    text = double.to_pto()
    assert "set_flag" not in text
    assert text.count("PIPE_ALL") == 2
    x = np.arange(1024, dtype=np.float32)
    y = np.zeros_like(x)
    double(x, y)
    assert (y == 2 * x).all()
    assert sanitize(parse_module(text).module, A6, (x, y), 1).clean


def test_barriers() -> None:
    @pto.kernel(target="a6")
    def on_m(x: pto.Ptr[pto.f32]) -> None:
        pto.TSYNC(op="TLOAD")
        pto.TSYNC(op="TMATMUL")

    with pytest.raises(DiagnosticError) as refused:
        on_m.to_pto()
    assert refused.value.diagnostics[0].rule == "TSYNC-A5-01"


def test_no_rule_of_the_assembler_binds() -> None:
    assert not [rule.id for instr in TABLE.values() for rule in rules_of(instr, A6) if rule.scope is Scope.ASSEMBLER]


PRODUCT = """
!left = !pto.tile_buf<left, 16x32xf16, blayout=col_major, slayout=row_major>
!right = !pto.tile_buf<right, 32x32xi8, slayout=col_major>
!sum = !pto.tile_buf<acc, 16x32xf32, blayout=col_major, slayout=row_major, fractal=1024>
!a1 = !pto.tile_buf<mat, 16x32xf16, blayout=col_major, slayout=row_major>
!b1 = !pto.tile_buf<mat, 32x32xi8, blayout=col_major, slayout=row_major>
!ag = !pto.partition_tensor_view<16x32xf16>
!bg = !pto.partition_tensor_view<32x32xi8>
!cg = !pto.partition_tensor_view<16x32xf32>
module attributes {pto.target_arch = "a6"} {
  func.func @product(%a: !pto.ptr<f16>, %b: !pto.ptr<i8>, %c: !pto.ptr<f32>) {
    %z = arith.constant 0 : index
    %o = arith.constant 1 : index
    %m = arith.constant 16 : index
    %k = arith.constant 32 : index
    %av = pto.make_tensor_view %a, shape = [%m, %k], strides = [%k, %o] : !pto.tensor_view<?x?xf16>
    %bv = pto.make_tensor_view %b, shape = [%k, %k], strides = [%k, %o] : !pto.tensor_view<?x?xi8>
    %cv = pto.make_tensor_view %c, shape = [%m, %k], strides = [%k, %o] : !pto.tensor_view<?x?xf32>
    %ap = pto.partition_view %av, offsets = [%z, %z], sizes = [%m, %k] : !pto.tensor_view<?x?xf16> -> !ag
    %bp = pto.partition_view %bv, offsets = [%z, %z], sizes = [%k, %k] : !pto.tensor_view<?x?xi8> -> !bg
    %cp = pto.partition_view %cv, offsets = [%z, %z], sizes = [%m, %k] : !pto.tensor_view<?x?xf32> -> !cg
    %a1 = pto.alloc_tile : !a1
    %b1 = pto.alloc_tile : !b1
    %a0 = pto.alloc_tile : !left
    %b0 = pto.alloc_tile : !right
    %s = pto.alloc_tile : !sum
    pto.tload ins(%ap : !ag) outs(%a1 : !a1)
    pto.tload ins(%bp : !bg) outs(%b1 : !b1)
    pto.textract ins(%a1, %z, %z : !a1, index, index) outs(%a0 : !left)
    pto.textract ins(%b1, %z, %z : !b1, index, index) outs(%b0 : !right)
    pto.tmatmul ins(%a0, %b0 : !left, !right) outs(%s : !sum)
    pto.tstore ins(%s : !sum) outs(%cp : !cg)
    return
  }
}"""


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_product_of_halves_and_integers(backend: str) -> None:
    random = np.random.default_rng(6)
    a, b = random.integers(-99, 99, (16, 32)), random.integers(-128, 128, (32, 32))
    c = np.zeros((16, 32), np.float32)
    module = parse_module(PRODUCT).module
    assert list(verify(module, A6)) == []
    compile_program(module, A6).launch((a.astype(np.float16), b.astype(np.int8), c), backend=backend)
    assert (c == a @ b).all()


def test_a_product_with_int4() -> None:
    random = np.random.default_rng(4)
    a, b = random.integers(-128, 128, (16, 64)), random.integers(-8, 8, (64, 16))
    machine = Single(A6)
    tiles = {
        "dst": machine.tile(acc("i32", 16, 16)),
        "lhs": machine.tile(tile_type("Left", "i8", 16, 64, "Nz")),
        "rhs": machine.tile(tile_type("Right", "int4", 64, 16, "Zn")),
    }
    tiles["lhs"].write(a.astype(np.int8)[None])
    tiles["rhs"].write(b.astype(np.int8)[None])
    machine.execute(TABLE["TMATMUL"], tiles, {})
    assert (tiles["dst"].read()[0] == a @ b).all()


def test_it_is_short() -> None:
    """What is new in the world, rules and names of instructions, apart."""
    text = (Path(targets.__file__).parent / "like_a5.py").read_text().partition("\nA6 = ")[2].partition("\n)\n")[0]
    assert 10 < len(text.splitlines()) < 40
