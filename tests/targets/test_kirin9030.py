"""Kirin 9030: what its headers accept and refuse, and what its accumulators hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit import targets
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.ir.verify import verify
from ptokit.isa.check import rules_of
from ptokit.isa.table import TABLE
from ptokit.run.program import compile_program
from ptokit.targets import A5, KIRIN9030, TARGETS
from ptokit.types.enums import AtomicType, TileType
from tests.isa import move_cases
from tests.isa.fake import site as plain_site
from tests.isa.fake import spec
from tests.isa.rule_cases import broken
from tests.isa.transfer_sites import acc, mat, site, vec, view
from tests.isa.transfer_sites import broken as broken_at
from tests.isa.transfer_sites import spec as tile_type

KIB = 1024


def found(text: str) -> list[str]:
    """Rules that a text for kirin9030 breaks."""
    module = parse_module('module attributes {pto.target_arch = "kirin9030"} {\n' + text + "\n}").module
    return [d.rule for d in verify(module, KIRIN9030)]


def tile(body: str) -> str:
    return f"func.func @f() {{\n%t = pto.alloc_tile : !pto.tile_buf<{body}>\nreturn\n}}"


@pytest.mark.parametrize(
    ("space", "size"),
    [*zip((space.name for space in TileType), (128, 512, 32, 32, 64, 1, 7, 0, 0), strict=False)],
)
def test_capacities(space: str, size: int) -> None:
    assert KIRIN9030.capacity[TileType[space]] == size * KIB


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("vec, 256x128xf32", []),
        ("vec, 257x128xf32", ["UB-CAPACITY"]),
        ("vec, 16x64xbf16", ["TYPE-ABSENT"]),
        ("vec, 16x64xf8E4M3FN", ["TYPE-ABSENT"]),
        ("vec, 16x64x!pto.hif8", ["TYPE-ABSENT"]),
        ("vec, 16x64xf4E2M1FN", ["TYPE-ABSENT"]),
        ("vec, 16x64xi64", []),
        ("left, 64x256xf16, blayout=col_major, slayout=row_major", []),
        ("left, 64x512xf16, blayout=col_major, slayout=row_major", ["L0A-CAPACITY"]),
        ("acc, 128x128xi32, blayout=col_major, slayout=row_major, fractal=1024", []),
        ("acc, 128x144xi32, blayout=col_major, slayout=row_major, fractal=1024", ["L0C-CAPACITY"]),
    ],
)
def test_tiles(body: str, rules: list[str]) -> None:
    assert found(tile(body)) == rules


def test_a_register_of_an_absent_type_is_reported_once() -> None:
    text = """func.func @f(%p: !pto.ptr<bf16, ub>) {
    %z = arith.constant 0 : index
    %m = pto.pset_b16 "PAT_ALL" : !pto.mask<b16>
    %v = pto.vlds %p[%z] : !pto.ptr<bf16, ub> -> !pto.vreg<128xbf16>
    pto.vsts %v, %p[%z], %m : !pto.vreg<128xbf16>, !pto.ptr<bf16, ub>, !pto.mask<b16>
    return
    }"""
    assert [id for id in found(text) if id != "VEC-A5-02-LINT"] == ["TYPE-ABSENT"]


@pytest.mark.parametrize("name", ["TPRINT", "MGATHER", "TPUSH", "SYNCALL", "TQUANT_MX", "TMATMUL_MX", "TPairReduceSum"])
def test_instructions_that_its_library_has_not(name: str) -> None:
    assert [rule.id for rule in rules_of(TABLE[name], KIRIN9030)] == ["INSTR-ABSENT"]
    assert "INSTR-ABSENT" not in [rule.id for rule in rules_of(TABLE[name], A5)]


def test_what_is_absent_names_the_targets_that_have_it() -> None:
    module = parse_module(
        "func.func @f() {\n%t = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf32>\n"
        "pto.tprint ins(%t : !pto.tile_buf<vec, 16x64xf32>)\nreturn\n}"
    ).module
    (absent,) = verify(module, KIRIN9030)
    assert (absent.rule, absent.location.line) == ("INSTR-ABSENT", 3)
    assert absent.message == "TPRINT: kirin9030 has no such instruction"
    assert absent.hint == "cpu, a2a3 and a5 have it"


@pytest.mark.parametrize(
    ("types", "legal"),
    [
        ("f16 f16 f16", True),
        ("i32 i8 i8", True),
        ("f32 f16 f16", False),
        ("f32 bf16 bf16", False),
        ("f32 f32 f32", False),
        ("f32 e4m3 e4m3", False),
    ],
)
def test_products(types: str, legal: bool) -> None:
    c, a, b = types.split()
    left, right = tile_type("Left", a, 32, 32, "Nz"), tile_type("Right", b, 32, 32, "Zn")
    rules = broken("TMATMUL", "kirin9030", {"dst": acc(c, 32, 32), "lhs": left, "rhs": right})
    assert ("MAT-COM-02" in rules) is not legal


@pytest.mark.parametrize(
    ("tile", "g", "rules"),
    [
        (mat("f16", 32, 32, "Nz"), view("f16", 32, 32), set()),
        (mat("f16", 32, 32, "Nz"), view("f16", 32, 32, layout="DN"), {"K90-01"}),
        (vec("f16", 32, 32, "DN"), view("f16", 32, 32, layout="DN"), set()),
    ],
)
def test_loads(tile: object, g: object, rules: set[str]) -> None:
    assert broken_at(site("TLOAD", "kirin9030", tile, g)).keys() == rules
    assert not broken_at(site("TLOAD", "a5", tile, g))


@pytest.mark.parametrize(
    ("tile", "g", "more", "rules"),
    [
        (acc("i32", 32, 32), view("i32", 32, 32), {}, set()),
        (acc("f16", 32, 32), view("f16", 32, 32), {}, set()),
        (acc("f32", 32, 32), view("f32", 32, 32), {}, {"STORE-A5-08"}),
        (acc("i32", 32, 32), view("i32", 32, 32), {"atomic": AtomicType.AtomicAdd}, {"K90-02"}),
        (vec("f32", 32, 32), view("f32", 32, 32), {"atomic": AtomicType.AtomicAdd}, {"K90-02"}),
        (acc("i32", 32, 32), view("i32", 1, 4, 8, 32, layout="NHWC"), {}, {"K90-03"}),
        (acc("f16", 32, 32), view("f32", 32, 32), {}, {"STORE-A5-12"}),
        (acc("i32", 32, 32), view("i8", 32, 32), {"quant": 1 << 46}, set()),
        (acc("f16", 32, 32), view("i8", 32, 32), {"quant": 1 << 46}, set()),
        (acc("i32", 32, 32), view("bf16", 32, 32), {"quant": 0}, {"STORE-A5-13"}),
    ],
)
def test_stores(tile: object, g: object, more: dict, rules: set[str]) -> None:
    more = {"atomic": AtomicType.AtomicNone, **more}
    assert broken_at(site("TSTORE", "kirin9030", tile, g, **more)).keys() == rules


@pytest.mark.parametrize(
    ("name", "text", "rules"),
    [
        ("TMOV", "left f16 32x32 Nz <- mat f16 32x32 Nz", set()),
        ("TMOV", "left i8 32x32 Nz <- mat i8 32x32 Nz", set()),
        ("TMOV", "left f32 32x32 Nz <- mat f32 32x32 Nz", {"K90-05"}),
        ("TEXTRACT", "right f32 16x16 Zn <- mat f32 32x32 Nz; row=0; col=0", {"K90-05"}),
        ("TMOV", "bias f16 1x64 ND <- mat f16 1x64 ND", set()),
        ("TMOV", "bias f32 1x64 ND <- mat f16 1x64 ND", {"K90-05", "TMOV-A5-B1"}),
        ("TMOV", "mat f16 32x32 Nz <- acc f16 32x32 Nz", set()),
        ("TMOV", "mat i32 32x32 Nz <- acc i32 32x32 Nz", set()),
        ("TMOV", "mat f16 32x32 Nz <- acc f32 32x32 Nz", {"TMOV-A5-A1"}),
        ("TMOV", "vec i16 32x32 ND <- acc i32 32x32 Nz; quant=0x40003F800000", set()),
    ],
)
def test_moves(name: str, text: str, rules: set[str]) -> None:
    assert move_cases.messages(move_cases.site(name, "kirin9030", text)).keys() == rules


def test_narrow_elements() -> None:
    for name in ("TSUBS", "TREM", "TGATHER"):
        operands = [o.name for o in TABLE[name].operands if o.name.startswith(("dst", "src"))]
        for dtype, wide in (("i64", True), ("i32", False)):
            given = dict.fromkeys(operands, spec(dtype, 16, 64))
            assert ("K90-04" in broken(name, "kirin9030", given)) is wide


def test_the_tf32_mode_stays_off() -> None:
    for enable in (True, False):
        o = replace(plain_site("SETTF32MODE", "kirin9030"), attrs={"enable": enable, "mode": "CAST_RINT"})
        assert ("K90-06" in broken_at(o)) is enable


@pytest.mark.parametrize(
    ("src", "dst", "legal"),
    [("f32", "f16", True), ("i16", "u32", True), ("i32", "i64", False), ("f32", "i64", False), ("u8", "i32", False)],
)
def test_conversions(src: str, dst: str, legal: bool) -> None:
    rules = broken(
        "TCVT", "kirin9030", {"dst": spec(dst, 16, 64), "src": spec(src, 16, 64), "attrs": {"mode": pto.RoundMode.RINT}}
    )
    assert ("TCVT-01" in rules) is not legal


@pytest.mark.parametrize(
    ("dst", "src", "value", "word", "result"),
    [
        ("i8", "f16", 2.5, 0x000040003F800000, 2),
        ("u8", "f16", 300, 0x000000003F800000, 255),
        ("i16", "f16", 1000, 0x0000400042000000, 32000),
        ("i16", "f16", 2000, 0x0000400042000000, 32767),
        ("i16", "i32", -70000, 0x0000402040000000, -32768),
        ("i16", "i32", 7, 0x000040203F000000, 5),  # 3.5 to 4, plus the offset 1
        ("f16", "i32", 70000, 0x000000003F800000, 65504),
    ],
)
def test_quantised_accumulators(dst: str, src: str, value: float, word: int, result: float) -> None:
    kinds = {"f16": np.float16, "i32": np.int32, "i8": np.int8, "u8": np.uint8, "i16": np.int16}
    full = np.full((16, 16), value, kinds[src])
    got = move_cases.run(
        "TMOV", "kirin9030", f"vec {dst} 16x32[16x16] ND <- acc {src} 16x16 Nz; quant={word}", src=full
    )
    assert (got["dst"].view(kinds[dst]).reshape(16, 32)[:, :16] == result).all()


PRODUCT = """!a1 = !pto.tile_buf<mat, 32x64xf16, blayout=col_major, slayout=row_major>
!b1 = !pto.tile_buf<mat, 64x32xf16, blayout=col_major, slayout=row_major>
!a0 = !pto.tile_buf<left, 32x64xf16, blayout=col_major, slayout=row_major>
!b0 = !pto.tile_buf<right, 64x32xf16, slayout=col_major>
!sum = !pto.tile_buf<acc, 32x32xf16, blayout=col_major, slayout=row_major, fractal=1024>
!gm = !pto.tensor_view<?x?xf16>
!as = !pto.partition_tensor_view<32x64xf16>
!bs = !pto.partition_tensor_view<64x32xf16>
!cs = !pto.partition_tensor_view<32x32xf16>
module attributes {pto.target_arch = "kirin9030"} {
  func.func @product(%a: !pto.ptr<f16>, %b: !pto.ptr<f16>, %c: !pto.ptr<f16>) {
    %r = arith.constant 32 : index
    %k = arith.constant 64 : index
    %z = arith.constant 0 : index
    %o = arith.constant 1 : index
    %av = pto.make_tensor_view %a, shape = [%r, %k], strides = [%k, %o] : !gm
    %bv = pto.make_tensor_view %b, shape = [%k, %r], strides = [%r, %o] : !gm
    %cv = pto.make_tensor_view %c, shape = [%r, %r], strides = [%r, %o] : !gm
    %as = pto.partition_view %av, offsets = [%z, %z], sizes = [%r, %k] : !gm -> !as
    %bs = pto.partition_view %bv, offsets = [%z, %z], sizes = [%k, %r] : !gm -> !bs
    %cs = pto.partition_view %cv, offsets = [%z, %z], sizes = [%r, %r] : !gm -> !cs
    %a1 = pto.alloc_tile : !a1
    %b1 = pto.alloc_tile : !b1
    %a0 = pto.alloc_tile : !a0
    %b0 = pto.alloc_tile : !b0
    %s = pto.alloc_tile : !sum
    pto.tload ins(%as : !as) outs(%a1 : !a1)
    pto.tload ins(%bs : !bs) outs(%b1 : !b1)
    pto.tmov ins(%a1 : !a1) outs(%a0 : !a0)
    pto.tmov ins(%b1 : !b1) outs(%b0 : !b0)
    pto.tmatmul ins(%a0, %b0 : !a0, !b0) outs(%s : !sum)
    pto.tstore ins(%s : !sum) outs(%cs : !cs)
    return
  }
}
"""


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_sums_of_f16_are_rounded_once(backend: str) -> None:
    """Exact in integers, whose sum is rounded to the nearest f16, ties to even."""
    random = np.random.default_rng(9)
    a, b = random.integers(-50, 50, (32, 64)), random.integers(-50, 50, (64, 32))
    c = np.zeros((32, 32), np.float16)
    program = compile_program(parse_module(PRODUCT).module, KIRIN9030)
    program.launch((a.astype(np.float16), b.astype(np.float16), c), backend=backend)
    exact = a.astype(object) @ b.astype(object)
    assert max(abs(n) for n in exact.flat) > 2048  # where f16 has no longer all integers
    nearest = [min(_neighbours(int(n)), key=lambda x: (abs(x - n), x // _step(n) % 2)) for n in exact.flat]
    assert c.astype(int).ravel().tolist() == nearest


def _step(n: int) -> int:
    """Distance of neighbouring f16 at an integer."""
    return 1 << max(0, abs(n).bit_length() - 11)


def _neighbours(n: int) -> tuple[int, int]:
    step = _step(n)
    return n // step * step, -(-n // step) * step


def test_a_kernel_with_an_f32_accumulator_is_refused() -> None:
    gemm = (Path(__file__).parents[2] / "examples" / "pto" / "gemm.pto").read_text()
    found = {d.rule for d in verify(parse_module(gemm).module, KIRIN9030)}
    assert "MAT-COM-02" in found
    with pytest.raises(DiagnosticError):
        compile_program(parse_module(gemm).module, KIRIN9030)


def test_flags_and_barriers() -> None:
    @pto.kernel(target="kirin9030")
    def barriers(x: pto.Ptr[pto.f32]) -> None:
        pto.TSYNC(op="TMATMUL")
        pto.TSYNC(op="TADD")

    with pytest.raises(DiagnosticError) as refused:
        barriers.to_pto()
    assert refused.value.diagnostics[0].rule == "TSYNC-A5-01"
    assert "TADD" in str(refused.value)
    assert "PIPE_M," in str(refused.value)


def test_it_is_the_only_target_without_bf16() -> None:
    assert [t.name for t in TARGETS.values() if t.lost] == ["kirin9030"]


def test_it_is_short() -> None:
    """What is new in the world, rules and names of instructions, apart."""
    text = (
        (Path(targets.__file__).parent / "like_a5.py").read_text().partition("\nKIRIN9030 = ")[2].partition("\n)\n")[0]
    )
    assert 10 < len(text.splitlines()) < 40
