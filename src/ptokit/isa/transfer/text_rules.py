"""What the reference assembler refuses of tload, tprefetch, tstore and tstore_fp (assembly 13).

Sizes are those of the types: the assembler does not look at constants here. Where a rule of the instruction says the
same, that one is reported. Some lists of element types are narrower than the instruction's: those are warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod  # noqa: F401
from typing import Any

from ptokit.diagnostics import RuleDecorator, Scope, define
from ptokit.diagnostics.rules import first, shared
from ptokit.targets import A2A3
from ptokit.types.dtypes import DTYPES, PACKED
from ptokit.types.enums import TileType
from ptokit.types.tile import DYNAMIC

from ..checks.tiles import assembler_rule
from ..site import Site, Size, TileInfo, ViewInfo
from .rules import Message, names, sides, tile_name  # noqa: F401

MOVED_A5 = frozenset((DTYPES | PACKED)[n] for n in "e4m3 e5m2 e8m0 hif8 hif8x2 bf16x2 e2m1x2 e1m2x2".split())
MOVED = frozenset(DTYPES[n] for n in "i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32".split())
_SMALL_FLOATS, MOVED_A5 = MOVED_A5, MOVED | MOVED_A5
_PTO = "PTOAS 2026-08 PTO.cpp"
QUANT = {
    "a2a3": {"i32": ("i8", "f16"), "f32": ("i8",)},
    "a5": {"i32": ("i8", "f16", "bf16"), "f32": ("i8", "f16", "bf16", "f32", "hif8", "e4m3")},
}
_COLUMNS = 4095
_ZERO_PADS = (0, 1)
_ACC_TYPES = ("i32", "f32")
_WORDS = ("i32", "u32", "f32")
_PLAIN_RESULTS = ("i32", "f32", "f16", "bf16")


def _rule(id: str, example: str, **more: Any) -> RuleDecorator:
    return assembler_rule(id, example, **{"source": "assembly 13.5" if id[0] == "S" else "assembly 13.4", **more})


_MORE_TYPES = "The instruction takes more types than the assembler; text that uses them is run, with a warning."
_ANY_SIGN = "The assembler's messages list integers without sign; its examples use, and its code takes, any."
_SHAPE_RULES = (
    "LS-COM-09 STORE-CPU-02 STORE-A3-06 STORE-A3-07 STORE-A3-08 STORE-A3-19 STORE-A3-20 STORE-A3-21 STORE-A5-06 "
    "STORE-A5-07 STORE-A5-13 STORE-A5-14 STORE-A5-15"
)


# Shapes --------------------------------------------------------------------------------------------------------------


def written_dims(view: ViewInfo) -> tuple[Size, ...]:
    """The dimensions of the view as its type has them; what a run knows where there is no type."""
    return view.shape if view.dims is None else view.dims


def written_valid(tile: TileInfo) -> tuple[int, int]:
    """Valid rows and columns as the tile's type has them, `DYNAMIC` where it leaves them open."""
    return tile.spec.valid_row, tile.spec.valid_col


def _empty_view(o: Site) -> Message:
    """No dimension of the view is 0."""
    _, view = sides(o)
    wrong = next((d for d in written_dims(view) if d == 0), None)
    return None if wrong is None else f"a dimension of the view is {wrong}"


def _columns(o: Site) -> Message:
    """An accumulator has 1..4095 columns, and no more valid ones."""
    tile: TileInfo = o.src
    if tile.loc is not TileType.Acc:
        return None
    for what, cols, least in (("columns", tile.cols, 1), ("valid columns", tile.spec.valid_col, 0)):
        if cols != DYNAMIC and not least <= cols <= _COLUMNS:
            return f"the accumulator has {cols} {what}, not {least}..{_COLUMNS}"
    return None


# Element types -------------------------------------------------------------------------------------------------------


def _sizes(o: Site) -> Message:
    """Elements of tile and view have one size."""
    tile, view = sides(o)
    if tile.dtype.bits == view.dtype.bits:
        return None
    return f"the tile has elements of {tile.dtype.bits} bits ({tile.dtype}), the view of {view.dtype.bits}"


def _wants_layout(o: Site, *, lines: bool = False) -> Message:
    """A vec tile on a5 that is neither ND nor DN nor Nz. ``lines``: one row or column may be anything."""
    tile, _ = sides(o)
    if not isinstance(tile, TileInfo) or tile.loc is not TileType.Vec or tile.layout_name in ("ND", "DN", "Nz"):
        return None
    return None if lines and 1 in (tile.rows, tile.cols) else f"{o:{tile_name(o)}} has layout {tile.layout_name}"


def _prefetched(o: Site) -> Message:
    """On a2a3 neither side has floats of 4 or 8 bits; on a5 both have types that loads take."""
    if o.target.is_a(A2A3):
        wrong = next((t.dtype for t in sides(o) if t.dtype in _SMALL_FLOATS), None)
    else:
        wrong = next((t.dtype for t in sides(o) if t.dtype not in MOVED_A5), None)
    return None if wrong is None else f"an element type is {wrong}, which {o.target.name} does not prefetch"


def _is_plain(o: Site) -> bool:
    return o.src.loc is TileType.Vec or (o.src.loc is TileType.Mat and o.target.is_a(A2A3))


ST_9 = _rule(
    "ST-9",
    "pto.tstore ins(%t : !pto.tile_buf<vec, {16x32xi8|16x32xf8E4M3FN}>) "
    "outs(%v : !pto.partition_tensor_view<16x32xf8E4M3FN>)",
    covered_by=("STORE-A3-03",),
    decision=_ANY_SIGN + " The instruction takes more types on a5; text that uses them is run, with a warning.",
    on="a2a3",
)(
    "The element type of a vec tile to store (on a2a3 also mat) is an integer of 8 to 64 bits, f16, bf16 or f32.",
    "src.dtype in (MOVED if target.is_a(A2A3) else MOVED_A5) if _is_plain(o)",
    "the tile has element type {src.dtype}; the assembler stores {names(MOVED)}",
)


_quantised = shared(
    "With a quantisation word i32 goes to i8 or f16, f32 to i8.",
    "allowed = target.entry(QUANT).get(src.dtype.name)",
    "dst.dtype.name in allowed if quant and src.loc is Acc and allowed is not None",
    "{src.dtype} to {dst.dtype} with a quantisation word; the assembler takes {', '.join(allowed)}",
)


_word_sized = first("src.dtype.name in _WORDS", "{src} has element type {src.dtype}, not f32 or a 32-bit integer")


# Places --------------------------------------------------------------------------------------------------------------


def _in(*locs: TileType) -> Callable[[Site], Message]:
    def check(o: Site) -> Message:
        tile, _ = sides(o)
        if tile.loc in locs:
            return None
        return f"{o:{tile_name(o)}} lies in {tile.loc.text}, not {' or '.join(loc.text for loc in locs)}"

    return check


def _is_acc(o: Site) -> bool:
    return o.src.loc is TileType.Acc


def _of_tiles(check: Callable[[Site], Message]) -> Callable[[Site], Message]:
    """The assembler leaves lowered accumulators alone, where it checks views that are memrefs."""
    return lambda o: check(o) if isinstance(o.src, TileInfo) and isinstance(o.fp, TileInfo) else None


# The rules -----------------------------------------------------------------------------------------------------------

_VEC, _MAT, _ACC = TileType.Vec, TileType.Mat, TileType.Acc


_POSITIVE = ("LS-COM-03",)

for _id in ("LD-4", "ST-4"):
    define(
        _id,
        "The valid region of the tile may be empty.",
        scope=Scope.ASSEMBLER,
        source="PTOAS 2026-08 PTO.cpp TLoadOp, TStoreOp",
        enforced=False,
        example="{0x16: nothing is transferred|nothing: the assembler of April refused 0x16}",
        unrun="nothing breaks it",
        decision="The assembler of April refused empty regions.",
    )

LOAD = (
    _rule(
        "LD-3",
        "pto.tload ins(%v : !pto.partition_tensor_view<{1|0}x16xf32>) outs(%t : !pto.tile_buf<vec, 16x16xf32>)",
        covered_by=_POSITIVE,
    )(_empty_view),
    _rule(
        "LD-5",
        "pto.tload ins(%v : !pto.partition_tensor_view<16x32xf8E4M3FN>) "
        "outs(%t : !pto.tile_buf<vec, {16x32xi8|16x32xf8E4M3FN}>)",
        targets=("a2a3",),
        covered_by=("LOAD-A3-01",),
        decision=_ANY_SIGN,
    )(
        "The element type of a loaded tile is an integer of 8 to 64 bits, f16, bf16 or f32.",
        "dst.dtype in MOVED",
        "the tile has element type {dst.dtype}; the assembler loads {names(MOVED)}",
    ),
    _rule(
        "LD-6",
        "pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) "
        "outs(%t : !pto.tile_buf<{vec|acc}, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>)",
        what="Loads go to vec and mat.",
        targets=("a2a3",),
        covered_by=("LOAD-A3-02",),
    )(_in(_VEC, _MAT)),
    _rule(
        "LD-7",
        "pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) "
        "outs(%t : !pto.tile_buf<vec, {16x16xf32|16x16xf16}>)",
        covered_by=("LS-COM-04",),
    )(_sizes),
    _rule(
        "LD-8",
        "pto.tload ins(%v : !pto.partition_tensor_view<16x64x{i8|f4E2M1FN}>) "
        "outs(%t : !pto.tile_buf<vec, 16x64x{i8|f4E2M1FN}>)",
        targets=("a5",),
        decision=_MORE_TYPES,
    )(
        "Elements have 1, 2, 4 or 8 bytes.",
        "dst.dtype.bits in (8, 16, 32, 64)",
        "elements of {dst.dtype} have {dst.dtype.bits} bits",
    ),
    _rule(
        "LD-9",
        "pto.tload ins(%v : !pto.partition_tensor_view<16x16xi64>) outs(%t : !pto.tile_buf<vec, 16x16xi64, pad={1|2}>)",
        targets=("a5",),
        covered_by=("LOAD-A5-02",),
    )(
        "A tile of 64-bit integers has pad null or zero.",
        "dst.spec.pad in _ZERO_PADS if dst.dtype.name in ('i64', 'u64')",
        "a tile of {dst.dtype} with pad={dst.spec.pad}; null and zero are possible",
    ),
    _rule(
        "LD-10",
        "pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) "
        "outs(%t : !pto.tile_buf<{mat|vec}, 16x16xf32, slayout=row_major>)",
        what="A vec tile to load has layout ND, DN or Nz.",
        targets=("a5",),
        source=f"{_PTO} TLoadOp",
        covered_by=("LOAD-A5-03", "LOAD-A5-04"),
    )(_wants_layout),
)


STORE = (
    _rule(
        "ST-3",
        "pto.tstore ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%v : !pto.partition_tensor_view<{16|0}x16xf32>)",
        covered_by=_POSITIVE,
    )(_empty_view),
    _rule(
        "ST-5",
        "pto.tstore ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%v : !pto.partition_tensor_view<{8x32xf32|8x16xf32}>)",
        covered_by=tuple(_SHAPE_RULES.split()),
    )(
        """View and valid region have as many elements, where their types give all sizes.

        Only the counts must agree here; the shape rule of the path asks for more.
        """,
        "there = prod((d for d in written_dims(dst) if isinstance(d, int)))",
        "prod(written_valid(src)) in (0, there) if DYNAMIC not in written_valid(src) and known(*written_dims(dst)) "
        "and DYNAMIC not in written_dims(dst)",
        "the valid region has {prod(written_valid(src))} elements, the view {there}",
    ),
    _rule(
        "ST-6",
        "pto.tstore ins(%t : !pto.tile_buf<{vec|mat}, 16x16xf16>) outs(%v : !pto.partition_tensor_view<16x16xf16>)",
        covered_by=("STORE-A3-01", "STORE-A5-01"),
    )(
        "Stores come from vec and acc, on a2a3 also from mat.",
        lambda o: _in(_VEC, _MAT, _ACC)(o) if o.target.is_a(A2A3) else _in(_VEC, _ACC)(o),
    ),
    _rule(
        "ST-7",
        "pto.tstore ins(%t, %q : !pto.tile_buf<{acc, 16x16xf32, blayout=col_major, "
        "slayout=row_major, fractal=1024|vec, 16x16xf32}>, i64) outs(%v : "
        "!pto.partition_tensor_view<16x16xf16>)",
        covered_by=("LS-COM-08",),
    )(
        "A quantisation word goes with acc.",
        "_is_acc(o) if quant",
        "a quantisation word with a {src.loc.text} tile",
    ),
    _rule(
        "ST-8",
        "pto.tstore ins(%t : !pto.tile_buf<{acc|vec}, 16x16xf32>) "
        "outs(%v : !pto.partition_tensor_view<16x16xf32>){reluPreMode = #pto<relu_pre_mode normal_relu>}",
        covered_by=("LS-COM-08",),
    )(
        "reluPreMode goes with acc.",
        "_is_acc(o) if relu is not ReluPreMode.NoRelu",
        "reluPreMode with a {src.loc.text} tile",
    ),
    ST_9,
    _rule(
        "ST-10",
        "pto.tstore ins(%t : !pto.tile_buf<vec, 16x16xf16>) "
        "outs(%v : !pto.partition_tensor_view<{16x16xf16|16x16xf32}>)",
        covered_by=("LS-COM-04",),
    )(
        "A vec tile (on a2a3 also mat) and its view have elements of one size.",
        lambda o: _sizes(o) if _is_plain(o) else None,
    ),
    _rule(
        "ST-11",
        "pto.tstore ins(%t : !pto.tile_buf<{vec|acc}, 16x16xf16, blayout=col_major, slayout=row_major, "
        "fractal=1024>) outs(%v : !pto.partition_tensor_view<16x16xf16>)",
        covered_by=("STORE-A3-11", "STORE-A5-08"),
    )(
        "An accumulator is i32 or f32.",
        "src.dtype.name in _ACC_TYPES if src.loc is Acc",
        "the accumulator has element type {src.dtype}, not i32 or f32",
    ),
    _rule(
        "ST-12",
        "pto.tstore ins(%t, %q : !pto.tile_buf<acc, 16x16x{i32|f32}, blayout=col_major, "
        "slayout=row_major, fractal=1024>, i64) outs(%v : !pto.partition_tensor_view<16x16xf16>)",
        decision=_MORE_TYPES,
        targets=("a2a3",),
    )(_quantised),
    _rule(
        "ST-13",
        "pto.tstore ins(%t, %q : !pto.tile_buf<acc, 16x16x{f32|i32}, blayout=col_major, "
        "slayout=row_major, fractal=1024>, i64) outs(%v : !pto.partition_tensor_view<16x16xf32>)",
        what="With a quantisation word i32 goes to i8, f16 or bf16, f32 to i8, f16, bf16, f32, hif8 or f8E4M3FN.",
        decision=_MORE_TYPES,
        targets=("a5",),
    )(_quantised),
    _rule(
        "ST-14",
        "pto.tstore ins(%t : !pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>) "
        "outs(%v : !pto.partition_tensor_view<{16x16xf32|16x16xi8}>)",
        covered_by=("STORE-A3-12", "STORE-A5-11"),
    )(
        "Without a quantisation word an accumulator goes to i32, f32, f16 or bf16.",
        "dst.dtype.name in _PLAIN_RESULTS if src.loc is Acc and quant is None",
        "{src.dtype} to {dst.dtype} without a quantisation word; it goes to {', '.join(_PLAIN_RESULTS)}",
    ),
    _rule(
        "ST-15",
        "pto.tstore ins(%t : !pto.tile_buf<{vec|acc}, 16x4096xf32, blayout=col_major, slayout=row_major, "
        "fractal=1024>) outs(%v : !pto.partition_tensor_view<16x4096xf32>)",
        targets=("a2a3",),
        covered_by=("STORE-A3-15", "STORE-A3-17"),
    )(_columns),
    _rule(
        "ST-16",
        "pto.tstore ins(%t : !pto.tile_buf<{acc|vec}, 16x16xf32, slayout=row_major>) "
        "outs(%v : !pto.partition_tensor_view<16x16xf32>)",
        what="A vec tile to store has layout ND, DN or Nz, or one row or column.",
        targets=("a5",),
        source=f"{_PTO} TStoreOp",
        covered_by=("STORE-A5-05",),
    )(partial(_wants_layout, lines=True)),
)
STORE_FP = (
    _rule(
        "SF-2",
        "pto.tstore_fp ins(%t, %fp : !pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, "
        "fractal=1024>, !pto.tile_buf<scaling, 1x16xui64>) "
        "outs(%v : !pto.partition_tensor_view<{1x16xi8|0x16xi8}>)",
        what="tstore_fp takes a partition_tensor_view (or memref); no dimension of it is 0.",
        always=True,
        covered_by=_POSITIVE,
    )(_of_tiles(_empty_view)),
    _rule(
        "SF-3",
        "pto.tstore_fp ins(%t, %fp : !pto.tile_buf<{acc|vec}, 16x16xf32>, !pto.tile_buf<scaling, 1x16xui64>) "
        "outs(%v : !pto.partition_tensor_view<16x16xi8>)",
        what="tstore_fp stores acc.",
        always=True,
        covered_by=("LS-COM-07",),
    )(_of_tiles(_in(_ACC))),
    _rule(
        "SF-4",
        "pto.tstore_fp ins(%t, %fp : !pto.tile_buf<acc, {16x16xf32|16x16xf16}, blayout=col_major, "
        "slayout=row_major, fractal=1024>, !pto.tile_buf<scaling, 1x16xui64>) "
        "outs(%v : !pto.partition_tensor_view<16x16xi8>)",
        what="The accumulator is f32 or a 32-bit integer.",
        always=True,
        covered_by=("STORE-A3-11", "STORE-A5-08"),
        on="a2a3",
    )(_of_tiles(_word_sized)),
    _rule(
        "SF-5",
        "pto.tstore_fp ins(%t, %fp : !pto.tile_buf<acc, {16x16xf32|16x4096xf32}, blayout=col_major, "
        "slayout=row_major, fractal=1024>, !pto.tile_buf<scaling, 1x16xui64>) "
        "outs(%v : !pto.partition_tensor_view<16x4096xi8>)",
        what="An accumulator has 1..4095 columns, and no more valid ones.",
        targets=("a2a3",),
        always=True,
        covered_by=("STORE-A3-15", "STORE-A3-17"),
    )(_of_tiles(_columns)),
)
PREFETCH = (
    _rule(
        "PF-1",
        "pto.tprefetch ins(%v : !pto.partition_tensor_view<{1|0}x16xf32>) outs(%t : !pto.tile_buf<vec, 16x16xf32>)",
        what="tprefetch reads a partition_tensor_view (or memref) without a dimension of 0.",
        always=True,
        covered_by=_POSITIVE,
    )(_empty_view),
    _rule(
        "PF-3",
        "pto.tprefetch ins(%v : !pto.partition_tensor_view<16x16xf32>) "
        "outs(%t : !pto.tile_buf<{vec|acc}, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>)",
        what="Prefetch goes to vec and mat.",
        always=True,
        covered_by=("PREF-02",),
    )(_in(_VEC, _MAT)),
    _rule(
        "PF-4",
        "pto.tprefetch ins(%v : !pto.partition_tensor_view<16x16xi32>) "
        "outs(%t : !pto.tile_buf<vec, {16x16xf32|16x16xf16}>)",
        always=True,
        covered_by=("PREF-03",),
        on="a2a3",
    )(_sizes),
    _rule(
        "PF-5",
        "pto.tprefetch ins(%v : !pto.partition_tensor_view<16x32x{i8|!pto.hif8}>) outs(%t : "
        "!pto.tile_buf<vec, 16x32xi8>)",
        source=f"{_PTO} TPrefetchOp",
        on="a2a3",
    )(_prefetched),
)

_TILES, _TRANSFERS, _MOVES = "assembly 13.2", "assembly 13.4, 13.5", "assembly 13.6"
_KIND = "Looked at before the other rules of the operation, which need operands of the right kind."
_TILE, _VIEW = "!pto.tile_buf<vec, 16x16xf32>", "!pto.partition_tensor_view<16x16xf32>"
_SLICE = "!pto.{partition_tensor_view|tensor_view}<16x16xf32>"
_EITHER = f"{{{_TILE}|{_VIEW}}}"
for _id, _what, _where, _example in (
    (
        "TC-1",
        "Where an instruction takes a tile, it is a tile (or a memref of rank 2).",
        _TILES,
        f"pto.tabs ins(%a : {_EITHER}) outs(%b : {_TILE})",
    ),
    (
        "LD-1",
        "tload takes a partition_tensor_view and a tile.",
        _TRANSFERS,
        f"pto.tload ins(%v : {_SLICE}) outs(%t : {_TILE})",
    ),
    ("PF-2", "tprefetch writes a tile.", _TRANSFERS, f"pto.tprefetch ins(%v : {_VIEW}) outs(%t : {_EITHER})"),
    (
        "ST-1",
        "tstore takes a tile and a partition_tensor_view.",
        _TRANSFERS,
        f"pto.tstore ins(%t : {_TILE}) outs(%v : {_SLICE})",
    ),
    (
        "SF-1",
        "tstore_fp takes two tiles.",
        _TRANSFERS,
        "pto.tstore_fp ins(%t, %f : !pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, "
        "fractal=1024>, {!pto.tile_buf<scaling, 1x16xui64>|!pto.partition_tensor_view<1x16xui64>}) "
        "outs(%v : !pto.partition_tensor_view<16x16xi8>)",
    ),
    (
        "MO-1",
        "tmov takes tiles, which pass the checks of tiles.",
        _MOVES,
        f"pto.tmov ins(%a : {_EITHER}) outs(%b : {_TILE})",
    ),
):
    define(_id, _what, scope=Scope.ASSEMBLER, source=_where, why=_KIND, example=_example, evidence="ptokit")
for _id, _name in (("LD-2", "tload"), ("ST-2", "tstore")):
    define(
        _id,
        f"The operands of {_name} pass the checks of tiles.",
        scope=Scope.ASSEMBLER,
        source=_TRANSFERS,
        reported_as="TC-1 TC-3",
    )
