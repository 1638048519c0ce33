"""Every form of every type, and what is wrong with types (assembly 3, 13.1)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.targets import A2A3, A5
from ptokit.types import dtypes
from ptokit.types.enums import BLayout, CompactMode, SLayout, TileType
from ptokit.types.tile import CUSTOM_PAD, DYNAMIC, TileSpec
from ptokit.types.values import EventIdArray, FunctionType, MemRef, Opaque, PartitionView, Ptr, Scalar, TensorView, Type
from tests.each import each

from .reading import errors, read

VEC = TileSpec(TileType.Vec, dtypes.f32, 16, 32, 16, 32)


def type_of(text: str, target: object = None) -> Type:
    """The type a parameter of this type gets."""
    module = read(f"func.func @f(%a: {text}) {{ return }}", target)  # type: ignore[arg-type]
    return module.functions[0].params[0].type


LONG = (
    "!pto.tile_buf<loc={loc}, dtype={dtype}, rows={rows}, cols={cols}, v_row={v_row}, v_col={v_col}, "
    "blayout={blayout}, slayout={slayout}, fractal={fractal}, pad={pad}{more}>"
)
DEFAULTS = {
    "loc": "vec",
    "dtype": "f32",
    "rows": 16,
    "cols": 32,
    "v_row": 16,
    "v_col": 32,
    "blayout": "row_major",
    "slayout": "none_box",
    "fractal": 512,
    "pad": 0,
    "more": "",
}


def long(**fields: object) -> str:
    return LONG.format(**{**DEFAULTS, **fields})


@each(
    "text, wanted",
    [
        ("index", Scalar("index")),
        ("i1", Scalar("i1")),
        ("ui32", Scalar("ui32")),
        ("bf16", Scalar("bf16")),
        ("f64", Scalar("f64")),
        ("!pto.ptr<f32>", Ptr(dtypes.f32)),
        ("!pto.ptr< ui8 >", Ptr(dtypes.u8)),
        ("!pto.ptr<f8E4M3FN>", Ptr(dtypes.e4m3)),
        ("!pto.tensor_view<?x64xf16>", TensorView((DYNAMIC, 64), dtypes.f16)),
        ("!pto.tensor_view<f16>", TensorView((), dtypes.f16)),
        ("!pto.tensor_view<0x16xf16>", TensorView((0, 16), dtypes.f16)),
        ("!pto.tensor_view<1x2x3x4x5xi8>", TensorView((1, 2, 3, 4, 5), dtypes.i8)),
        ("!pto.partition_tensor_view<16 x ? x bf16>", PartitionView((16, DYNAMIC), dtypes.bf16)),
        ("!pto.eventid_array<4>", EventIdArray(4)),
        ("!pto.pipe", Opaque("!pto.pipe")),
        ("!pto.async_session", Opaque("!pto.async_session")),
        ("vector<4xi16>", Opaque("vector<4xi16>")),
        (
            "memref<16x?xf32, strided<[?, 1], offset: ?>, #pto.address_space<gm>>",
            MemRef((16, DYNAMIC), dtypes.f32, (DYNAMIC, 1), DYNAMIC, "gm"),
        ),
        ("memref<f32>", MemRef((), dtypes.f32)),
        ("memref<16x32xf32, 0>", MemRef((16, 32), dtypes.f32)),
        ("memref<4xi8, strided<[2], offset: 0>>", MemRef((4,), dtypes.i8, (2,))),
        ("memref< 4 x f16, #pto<address_space gm> >", MemRef((4,), dtypes.f16, space="gm")),
        ("!pto.memref<f16, 3>", MemRef((DYNAMIC,) * 3, dtypes.f16)),
        ("!pto.memref<f16, 2d>", MemRef((DYNAMIC,) * 2, dtypes.f16)),
        ("!pto.memref<8x16xf16>", MemRef((8, 16), dtypes.f16)),
        ("memref<4xf32, #pto.address_space<vec>>", Opaque("memref<4xf32, #pto.address_space<vec>>")),
        ("memref<4x4xf32, strided<[1]>>", Opaque("memref<4x4xf32, strided<[1]>>")),
        ("memref<4xf32, affine_map<(i) -> (i)>>", Opaque("memref<4xf32, affine_map<(i) -> (i)>>")),
        ("!pto.global<16x?xf32>", PartitionView((16, DYNAMIC), dtypes.f32)),
        ("!pto.tile_view<16xf32>", PartitionView((16,), dtypes.f32)),
        ("!pto.tile<16x32xf32>", VEC),
        ("!pto.tile<f32, 16, 32>", VEC),
        ("!pto.tile<f32, 16, 32, RowMajor>", VEC),
        ("!pto.tile<vec, f32, 16, 32, RowMajor, NoneBox, None, Null>", VEC),
        ("!pto.tile<loc=vec, f32, 16, 32, RowMajor, NoneBox, None, Zero>", replace(VEC, pad=1)),
        ("!pto.tile<loc=vec, f32, 16, 32, RowMajor, NoneBox, 512, Max>", replace(VEC, pad=2)),
        ("!pto.tile<vec, f32, 16, 32, RowMajor, NoneBox, 1024, Min>", replace(VEC, fractal=1024, pad=3)),
        ("!pto.tile<vec, 16x32xf32, valid=?x8>", VEC.with_valid(DYNAMIC, 8)),
        (long().replace("tile_buf", "tile"), VEC),
        ("(index, f32) -> i1", FunctionType((Scalar("index"), Scalar("f32")), (Scalar("i1"),))),
        ("() -> (i1, i1)", FunctionType((), (Scalar("i1"), Scalar("i1")))),
        ("!pto.tile_buf<vec, 16x32xf32>", VEC),
        ("!pto.tile_buf<\n  vec, // not a tile>\n  16 x 32 x f32\n>", VEC),
        ('!pto.tile_buf<"vec", 16x32xf32, blayout="row_major">', VEC),
        ("!pto.tile_buf<loc=vec, f32, 16, 32>", VEC),
        ("!pto.tile_buf<vec, f32, 16, 32, RowMajor, NoneBox, None, Null>", VEC),
        (long(), VEC),
        (long(more=", compact=0"), VEC),
        (long(v_row="?", v_col=-1), VEC.with_valid(DYNAMIC, DYNAMIC)),
        ("!pto.tile_buf<vec, 16x32xf32, valid=?x8>", VEC.with_valid(DYNAMIC, 8)),
        ("!pto.tile_buf<vec, 16x32xf32, pad=4294967296>", replace(VEC, pad=CUSTOM_PAD)),
        ("!pto.tile_buf<vec, 16x32xf32, pad=8589934591>", replace(VEC, pad=CUSTOM_PAD | 0xFFFFFFFF)),
        (long(pad=CUSTOM_PAD | 7), replace(VEC, pad=CUSTOM_PAD | 7)),
        ("!pto.tile_buf<vec, 16x32xf32, valid=0x5>", VEC.with_valid(0, 5)),
        (
            "!pto.tile_buf<acc, 16x32xf32, compact=2, fractal=1024, slayout=row_major, pad=3, blayout=col_major>",
            TileSpec(
                TileType.Acc,
                dtypes.f32,
                16,
                32,
                16,
                32,
                BLayout.ColMajor,
                SLayout.RowMajor,
                1024,
                3,
                CompactMode.RowPlusOne,
            ),
        ),
        (
            long(loc="right", dtype="f16", slayout="col_major"),
            TileSpec(TileType.Right, dtypes.f16, 16, 32, 16, 32, slayout=SLayout.ColMajor),
        ),
        (
            "!pto.tile_buf<mat, f16, 16, 32, ColMajor, RowMajor, NZ, Zero>",
            TileSpec(TileType.Mat, dtypes.f16, 16, 32, 16, 32, BLayout.ColMajor, SLayout.RowMajor, 512, 1),
        ),
    ],
)
def test_forms(text: str, wanted: Type) -> None:
    read_type = type_of(text)
    assert read_type == wanted
    assert type_of(str(read_type)) == wanted


@each(
    "text, canonical",
    [
        (long(), "!pto.tile_buf<vec, 16x32xf32>"),
        (
            long(
                loc="acc", blayout="col_major", slayout="row_major", fractal=1024, pad=2, v_row="?", more=", compact=1"
            ),
            "!pto.tile_buf<acc, 16x32xf32, valid=?x32, blayout=col_major, slayout=row_major, fractal=1024, pad=2, "
            "compact=1>",
        ),
        ("!pto.partition_tensor_view< 1 x 2 x si8 >", "!pto.partition_tensor_view<1x2xi8>"),
        ("memref<4xf32,\n   1>", "memref<4xf32, 1>"),
        ("si8", "si8"),
        ("i4", "i4"),
        ("f8E4M3", "f8E4M3FN"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(type_of(text)) == canonical


def test_left_tiles_take_the_layout_of_the_target() -> None:
    for written in ("", ", blayout=row_major", ", blayout=col_major"):
        text = f"!pto.tile_buf<left, 16x16xf16{written}>"
        assert type_of(text, A2A3).blayout is BLayout.RowMajor  # type: ignore[union-attr]
        assert type_of(text, A5).blayout is BLayout.ColMajor  # type: ignore[union-attr]
    assert type_of("!pto.tile_buf<mat, 16x16xf16, blayout=col_major>", A2A3).blayout is BLayout.ColMajor  # type: ignore[union-attr]


@each(
    "rule, text, wrong",
    [
        ("TY-1", "!pto.tile_buf<ub, 16x16xf32>", "ub"),
        ("TY-1", "!pto.tile_buf<vec, 16x16xf32, blayout=none_box>", "none_box"),
        ("TY-1", "!pto.tile_buf<vec, 16x16xf32, slayout=box>", "box"),
        ("TY-1", long(loc="gm"), "gm"),
        ("TY-1", long(blayout="RowMajor"), "RowMajor"),
        ("TY-2", "!pto.tile_buf<vec, 16x16xf32, pad=4>", "4"),
        ("TY-2", "!pto.tile_buf<vec, 16x16xf32, compact=3>", "3>"),
        ("TY-2", long(rows=-1), "-1"),
        ("TY-2", long(pad="max"), "max"),
        ("TY-2", "!pto.tile_buf<vec, f32, 16, 32, RowMajor, NoneBox, None, Invalid>", "Invalid"),
        ("TY-3", "!pto.tile_buf<vec, 16x16xf32, fractal=256>", "256"),
        ("TY-3", long(fractal=0), "0,"),
        ("TY-4", "!pto.tile_buf<loc=vec, dtype=f32, cols=16, rows=16>", "cols=16"),
        ("TY-4", long(more=", align=2"), "align=2"),
        ("TY-4", long().replace(", pad=0", ""), "fractal=512"),
        ("TY-4", long(more=", compact=0, compact=0"), "compact=0>"),
        ("TY-5", "!pto.tile_buf<vec, 16xf32>", "16xf32"),
        ("TY-5", "!pto.tile_buf<vec, 2x16x16xf32>", "2x16x16xf32"),
        ("TY-5", "!pto.tile_buf<vec, ?x16xf32>", "?x16xf32"),
        ("TY-5", "!pto.tile_buf<vec>", "vec"),
        ("TY-5", "!pto.tile_buf<vec, 16x16xf32, size=3>", "size=3"),
        ("TY-5", "!pto.tile_buf<vec, 16x16xf32, pad=1, pad=1>", "pad=1>"),
        ("TY-5", "!pto.tile_buf<vec, 16x16xf32, valid=16>", "16>"),
        ("TY-5", "!pto.tile_buf<vec, 16x16xf32, valid=1x2x3>", "1x2x3"),
        ("TY-6", long(v_row=-2), "-2"),
        ("TY-6", "!pto.tile_buf<vec, 16x16xf32, valid=1x-3>", "-3"),
        ("TY-7", "!pto.ptr<f32, l9>", "l9"),
        ("TY-7", "!pto.ptr<f32, >", ">"),
        ("TY-7", "!pto.ptr<f32, #pto.address_space<gm>>", "#pto"),
        ("TEXT-TYPE", "!pto.ptr<q32>", "q32"),
        ("TEXT-TYPE", "!pto.ptr", "!pto.ptr"),
        ("TEXT-TYPE", "!pto.tensor_view<4x-2xf32>", "-2"),
        ("TEXT-TYPE", "!pto.tensor_view<4xf32x>", "f32x>"),
        ("TEXT-TYPE", "!pto.tensor_view<4x>", "4x>"),
        ("TEXT-TYPE", "!pto.tensor_view<4 8xf32>", "4 8"),
        ("TEXT-TYPE", "!pto.tensorview<4xf32>", "!pto.tensorview"),
        ("TEXT-TYPE", "!pto.eventid_array<four>", "four"),
        ("TY-2", "!pto.tile_buf<vec, 16x32xf32, pad=4294967295>", "4294967295"),
        ("TY-2", "!pto.tile_buf<vec, 16x32xf32, pad=8589934592>", "8589934592"),
        ("TEXT-TYPE", "!pto.memref<f32, 6>", "f32, 6"),
        ("TEXT-TYPE", "!pto.memref<q32, 2>", "q32"),
        ("TEXT-TYPE", "!pto.memref<...>", "..."),
        ("TEXT-TYPE", "!pto.tile<q16, 16, 16>", "q16"),
        ("TY-5", "!pto.tile<16xf32>", "16xf32"),
        ("TY-2", "!pto.tile<vec, f32, 16, 16, RowMajor, NoneBox, None, Invalid>", "Invalid"),
        ("TEXT-TYPE", "!unknown", "!unknown"),
        ("TEXT-UNEXPECTED", "i", "i)"),
        ("TEXT-UNEXPECTED", "i0", "i0)"),
        ("TEXT-UNEXPECTED", "%b", "%b"),
        ("TEXT-UNCLOSED", "!pto.tensor_view<4xf32", "<4xf32"),
    ],
)
def test_wrong_types(rule: str, text: str, wrong: str) -> None:
    line = f"func.func @f(%a: {text}) {{ return }}"
    column = line.index(wrong, line.index(text)) + 1
    if text.count("pad=1") == 2 or text.count("compact=0") == 2:
        column = line.rindex(wrong) + 1
    assert errors(line) == [(rule, 1, column)]


def test_a_wrong_type_is_reported_at_each_place() -> None:
    assert errors("func.func @f(%a: !pto.ptr<q8>,\n%b: !pto.ptr<q8>) { return }") == [
        ("TEXT-TYPE", 1, 27),
        ("TEXT-TYPE", 2, 14),
    ]


@each(
    "written, space",
    [
        *((name, name) for name in "gm ub l1 l0a l0b l0c fb bt".split()),
        *zip("vec mat left right acc scaling bias".split(), "ub l1 l0a l0b l0c fb bt".split()),
    ],
)
def test_pointers_name_the_memory(written: str, space: str) -> None:
    text = f"func.func @f(%a: !pto.ptr<f32, {written}>) {{ return }}"
    (argument,) = read(text).functions[0].body.args
    assert argument.type == Ptr(dtypes.f32, space)
    assert str(argument.type) == f"!pto.ptr<f32, {space}>"
    assert errors(text.replace(f", {written}>", ", l9>")) == [("TY-7", 1, text.index(written) + 1)]


def test_a_pointer_without_a_space_points_to_global_memory() -> None:
    text = "func.func @f(%a: !pto.ptr<f32>) { %p = pto.addptr %a, %c : !pto.ptr<f32, gm> -> !pto.ptr<f32> return }"
    read(text.replace("{ ", "{ %c = arith.constant 0 : index ", 1))
    assert Ptr(dtypes.f32) == Ptr(dtypes.f32, "gm") != Ptr(dtypes.f32, "ub")
    assert hash(Ptr(dtypes.f32)) == hash(Ptr(dtypes.f32, "gm"))


@each(
    "written, printed, bits",
    [
        ("!pto.hif8", "!pto.hif8", 8),
        ("hifloat8", "!pto.hif8", 8),
        ("!pto.f8E8M0", "!pto.f8E8M0", 8),
        ("f8E8M0FNU", "!pto.f8E8M0", 8),
        ("!pto.f4E2M1x2", "!pto.f4E2M1x2", 8),
        ("!pto.f4E1M2x2", "!pto.f4E1M2x2", 8),
        ("!pto.hif8x2", "!pto.hif8x2", 16),
        ("!pto.bf16x2", "!pto.bf16x2", 32),
        ("vector<2xf32>", "vector<2xf32>", 64),
        ("vector< 4 x f8E4M3>", "vector<4xf8E4M3FN>", 32),
    ],
)
def test_elements_with_names_of_the_dialect(written: str, printed: str, bits: int) -> None:
    (argument,) = read(f"func.func @f(%a: !pto.ptr<{written}, ub>) {{ return }}").functions[0].body.args
    assert isinstance(argument.type, Ptr)
    assert str(argument.type) == f"!pto.ptr<{printed}, ub>"
    assert argument.type.dtype.bits == bits
    (again,) = read(f"func.func @f(%a: {argument.type}) {{ return }}").functions[0].body.args
    assert again.type.dtype is argument.type.dtype  # type: ignore[union-attr]


@each(
    "text",
    [
        "!pto.vreg<256x!pto.hif8>",
        "!pto.vreg<64x!pto.bf16x2>",
        "!pto.tensor_view<?x16x!pto.f8E8M0>",
        "!pto.tile_buf<vec, 16x32x!pto.hif8>",
        "memref<16x?x!pto.f4E2M1x2>",
    ],
)
def test_types_of_such_elements(text: str) -> None:
    (argument,) = read(f"func.func @f(%a: {text}) {{ return }}").functions[0].body.args
    assert str(argument.type) == text


def test_aliases_of_types_and_attributes() -> None:
    module = read(
        "!tile = !pto.tile_buf<vec, 16x16xf32>\n#nd = #pto.layout<nd>\n#space = #pto.address_space<gm>\n"
        "module { func.func @f(%t: !tile, %m: memref<4xf32, #space>, %p: !pto.ptr<f32>, %n: index) {\n"
        "%v = pto.make_tensor_view %p, shape = [%n], strides = [%n] {layout = #nd} : !pto.tensor_view<?xf32> return } }"
    )
    tile, memref, *_ = module.functions[0].params
    assert str(tile.type) == "!pto.tile_buf<vec, 16x16xf32>"
    assert str(memref.type) == "memref<4xf32, #pto.address_space<gm>>"
    assert module.functions[0].body.ops[0].attrs["layout"].text == "nd"  # type: ignore[union-attr]
