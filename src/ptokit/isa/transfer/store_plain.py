"""Rules of stores on all targets and cpu, and of those from Vec and Mat tiles (load-store 11).

Those of the devices are in `store_plain_rules` (Vec and Mat) and `store_acc_rules`.
"""

from __future__ import annotations

from ptokit.diagnostics.rules import need, shared
from ptokit.types.dtypes import DTYPES, HALVES
from ptokit.types.enums import Layout, TileType

from ..site import Site
from .rules import (
    BASE,
    EXTENDED_TYPES,
    PLAIN,
    Message,
    broken_block,
    differs_by_blocks,
    differs_by_lines,
    disagrees,
    is_conv,
    names,  # noqa: F401
    nz_strides,
    other_rule,
    overlapping,
    partial_line,
    rule,
    too_many,
    too_small,
    unaligned_pitch,
    wrong_stride,
)

# Rules of stores from Vec and Mat tiles on a2a3 and a5, and of atomic stores there (load-store 4, 7, 11.6, 11.7).


ND, DN, NZ = PLAIN
ATOMIC_TYPES = frozenset(DTYPES[n] for n in ("f16", "bf16", "f32", "i8", "i16", "i32"))
STORED_A5 = BASE | {DTYPES[n] for n in ("e4m3", "e5m2", "hif8", "e8m0", "e2m1", "e1m2")} | HALVES.keys()


def plain(o: Site) -> bool:
    """A store from Vec or Mat."""
    return o.src.loc in (TileType.Vec, TileType.Mat)


def engine(o: Site) -> Layout | None:
    """The path that a store from Vec or Mat takes: the layout of the tile, whatever that of the view.

    None if the pair of layouts is not stored, or not known.
    """
    if not plain(o) or is_conv(o.src) or o.dst.layout is None or _pair(o):
        return None
    return {"ND": ND, "DN": DN, "Nz": NZ}.get(o.src.layout_name)


def _pair(o: Site) -> Message:
    """From Vec and Mat: ND to ND, DN to DN, Nz to NZ; tiles of one row or one column to any of them."""
    tile, layout = o.src, o.dst.layout
    if not plain(o) or layout is None:
        return None
    same = tile.layout_name == ("Nz" if layout is NZ else layout.name) or 1 in (tile.rows, tile.cols)
    if layout in PLAIN and not is_conv(tile) and same:
        return None
    name = "convolution" if is_conv(tile) else tile.layout_name
    return f"{name} {tile.loc.text} tile to a {layout.name} view; stores go ND to ND, DN to DN and Nz to NZ"


def _wide(o: Site) -> Message:
    """64-bit elements go ND to ND or DN to DN only."""
    if not plain(o) or o.src.dtype.size != 8 or o.dst.layout is None:
        return None
    if (o.dst.layout.name, o.src.layout_name) in (("ND", "ND"), ("DN", "DN")):
        return None
    return (
        f"{o.src.layout_name} to {o.dst.layout.name} with {o.src.dtype}; 64-bit elements go ND to ND or DN to DN only"
    )


@rule(
    "STORE-A3-09",
    "x: Ptr[i8]; TSTORE(GlobalTensor(x, ({3, 64)), Tile(Vec, i8, 3, 64|6, 84)), Tile(Mat, i8, 6, 96, valid_col=84}))",
    evidence="device assertion",
)
def STORE_A3_09(o: Site) -> Message:
    """From Mat: rows (DN: columns) of the view are multiples of 32 bytes."""
    kind = engine(o)
    if o.src.loc is not TileType.Mat or kind not in (ND, DN):
        return None
    return partial_line(o.dst, 4 if kind is ND else 3)


def assumed_plain(o: Site) -> Message:
    kind = engine(o)
    if kind is NZ:
        return wrong_stride(o.dst, nz_strides(o.dst), "Nz to NZ")
    if kind is None:
        return None
    return wrong_stride(o.dst, {4: 1} if kind is ND else {3: 1}, f"{kind.name} to {kind.name}")


@rule(
    "STORE-A3-D4",
    "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16){|, (0, 1)}), Tile(Vec, f32, 16, 16))",
    evidence="device",
)
def STORE_A3_D4(o: Site) -> Message:
    """From Vec and Mat: gaps between runs are not negative; from Mat every pitch is a multiple of 32 bytes."""
    kind = engine(o)
    if kind is None:
        return None
    return overlapping(o.dst, kind) or (unaligned_pitch(o.dst, kind) if o.src.loc is TileType.Mat else None)


@rule(
    "STORE-A5-05",
    "x: Ptr[f16]; TSTORE(GlobalTensor(x, (1, 1, 1, 1, {32|8})), "
    "Tile(Vec, f16, 1, {32|8, ColMajor, slayout=SLayout.ColMajor}))",
    evidence="static_assert",
)
def STORE_A5_05(o: Site) -> Message:
    """From Vec: rows of the tile (DN: columns; for vectors, the vector) are multiples of 32 bytes."""
    tile, layout = o.src, o.dst.layout
    if tile.loc is not TileType.Vec or layout not in (ND, DN) or is_conv(tile) or _pair(o):
        return None
    row, col = tile.cols * tile.dtype.size, tile.rows * tile.dtype.size
    if (layout is ND and (row % 32 == 0 or (tile.cols == 1 and col % 32 == 0))) or (
        layout is DN and (col % 32 == 0 or (tile.rows == 1 and row % 32 == 0))
    ):
        return None
    what, size = ("rows", row) if layout is ND else ("columns", col)
    return f"the tile has {what} of {size} bytes; a store to {layout.name} needs multiples of 32"


@rule(
    "STORE-A5-06",
    "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({4|15}, 16)), Tile(Vec, f32, {4|16}, 16))",
    evidence="device assertion",
)
def STORE_A5_06(o: Site) -> Message:
    """From an ND or DN tile: the view has the shape of the valid region."""
    kind = engine(o)
    if kind not in (ND, DN):
        return None
    return differs_by_lines(o, kind) if kind is o.dst.layout else disagrees(o.src, o.dst, kind)


@rule(
    "STORE-A5-07",
    """
        x: Ptr[bf16]
        TSTORE(GlobalTensor(x, (1, {2|4}, 3, 16, {16|8}), layout=Layout.NZ), Tile(Vec, bf16, 48, 32, ColMajor,
            slayout=SLayout.RowMajor))
    """,
    evidence="static_assert device",
)
def STORE_A5_07(o: Site) -> Message:
    """From an Nz tile: g3 = 16, g4 = 32 bytes of elements (i32 and f32 also 16), shape of the valid region."""
    if engine(o) is not NZ:
        return None
    allowed = {"i32": (8, 16), "f32": (8, 16)}.get(o.dst.dtype.name, (o.dst.dtype.c0,))
    block = None if o.target.templates else broken_block(o.dst, *allowed)
    return block or differs_by_blocks(o)


def _differs(o: Site, layout: Layout) -> Message:
    """A message if valid region and view differ; of columns of a2a3, the gap in UB follows from the view's."""
    in_ub = layout is DN and o.src.vr != o.dst.shape[3]
    if o.src.loc is TileType.Vec and layout is o.dst.layout and not in_ub:
        return differs_by_lines(o, layout)
    return disagrees(o.src, o.dst, layout)


atomic_types = shared(
    "Atomic stores combine f16, bf16, f32, i8, i16 and i32.",
    "dst.dtype in ATOMIC_TYPES if atomic is not AtomicType.AtomicNone",
    "atomicType={atomic.text} on {dst.dtype}; memory is combined as {names(ATOMIC_TYPES)}",
)


A3 = (
    rule(
        "STORE-A3-01",
        "x: Ptr[{f32|f16}]; TSTORE(GlobalTensor(x, (16, 16)), Tile({Mat|Left}, {f32|f16}, 16, 16))",
        evidence="static_assert",
    )(
        "Stores come from Vec, Mat and Acc.",
        "src.loc is Acc if not plain(o)",
        "{src} is a {src.loc.text} tile; stores come from vec, mat and acc tiles",
    ),
    rule(
        "STORE-A3-03",
        "x: Ptr[{bf16|e5m2}]; TSTORE(GlobalTensor(x, (4, 32)), Tile(Vec, {bf16|e5m2}, 4, 32))",
        evidence="static_assert",
    )(
        "From Vec and Mat: integers of 8 to 64 bits, f16, bf16, f32 (of the view's element size: LS-COM-04).",
        "src.dtype in BASE if plain(o)",
        "the tile has element type {src.dtype}; a2a3 stores {names(BASE)}",
    ),
    rule(
        "STORE-A3-04",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16)), Tile(Vec, f32, 16, 16{|, ColMajor}))",
        evidence="static_assert",
    )(_pair),
    rule(
        "STORE-A3-05",
        "x: Ptr[u64]; TSTORE(GlobalTensor(x, ({1, 1, 1, 4, 16)), Tile(Vec, u64, 4, 16|2, 1, 16, 4), "
        "layout=Layout.NZ), Tile(Vec, u64, 16, 8, ColMajor, slayout=SLayout.RowMajor}))",
        evidence="static_assert",
    )(_wide),
    rule(
        "STORE-A3-06",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({16|15}, 16)), Tile(Vec, f32, 16, 16))",
        evidence="device assertion",
    )(
        "From an ND tile: Cv = g4, Rv = g0*g1*g2*g3, g3 < 4096.",
        lambda o: too_many(o.dst, 3, 4096) or _differs(o, ND) if engine(o) is ND else None,
    ),
    rule(
        "STORE-A3-07",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (16, {3|4}), (1, 16), layout=Layout.DN), Tile(Vec, f16, 16, 3, ColMajor))",
        evidence="device assertion",
    )(
        "From a DN tile: Rv = g3, Cv = g0*g1*g2*g4, g4 < 4096.",
        lambda o: too_many(o.dst, 4, 4096) or _differs(o, DN) if engine(o) is DN else None,
    ),
    rule(
        "STORE-A3-08",
        "x: Ptr[i8]; TSTORE(GlobalTensor(x, ({2|4}, 3, 16, {32|16}), layout=Layout.NZ), "
        "Tile(Vec, i8, 48, 64, ColMajor, slayout=SLayout.RowMajor))",
        evidence="static_assert device",
    )(
        "From an Nz tile: g3 = 16, g4 = 32 bytes of elements, Rv = g2*g3, Cv = g0*g1*g4, g1 < 4096.",
        "if engine(o) is NZ",
        lambda o: broken_block(o.dst, o.dst.dtype.c0),
        differs_by_blocks,
        lambda o: too_many(o.dst, 1, 4096),
    ),
    STORE_A3_09,
    rule(
        "STORE-A3-22",
        "x: Ptr[{f32|u16}]; TSTORE(GlobalTensor(x, (4, 16)), "
        "Tile(Vec, {f32|u16}, 4, 16){|, atomic=AtomicType.AtomicAdd})",
        evidence="static_assert",
    )(atomic_types),
    rule(
        "STORE-A3-25",
        "x: Ptr[{i8|f32}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), "
        "{70369801142272|atomic=AtomicType.AtomicMax})",
        evidence="static_assert",
    )(
        "There is no atomic maximum or minimum on a2a3.",
        "atomic not in (AtomicType.AtomicMax, AtomicType.AtomicMin)",
        "atomicType={atomic.text}; a2a3 has atomic_add only",
    ),
    STORE_A3_D4,
)


A5 = (
    rule(
        "STORE-A5-01",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({4|16}, 16)), Tile({Vec|Mat}, f32, {4|16}, 16))",
        evidence="static_assert",
    )(
        "Stores come from Vec and Acc.",
        "src.loc in (Vec, Acc)",
        "{src} is a {src.loc.text} tile; stores come from vec and acc tiles on a5",
    ),
    rule(
        "STORE-A5-03",
        "x: Ptr[{bf16|int4}]; TSTORE(GlobalTensor(x, (4, 32)), Tile(Vec, {bf16|int4}, 4, 32))",
        evidence="static_assert",
    )(
        "From Vec: integers of 8 to 64 bits, f16, bf16, f32, FP8, e8m0, HiFloat8, FP4.",
        "src.dtype in STORED_A5 if src.loc is Vec",
        "the tile has element type {src.dtype}; a5 stores {names(STORED_A5)}",
    ),
    rule(
        "STORE-A5-04",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, {128|16})), Tile(Vec, f32, 16, {128|16}, {addr=16384|ColMajor}))",
        evidence="static_assert",
    )(
        "From Vec: ND to ND, DN to DN, Nz to NZ; tiles of one row or one column to any of them.",
        lambda o: _pair(o) if o.src.loc is TileType.Vec else None,
    ),
    STORE_A5_05,
    STORE_A5_06,
    STORE_A5_07,
    rule(
        "STORE-A5-16",
        "x: Ptr[{f32|u16}]; TSTORE(GlobalTensor(x, (4, 16)), "
        "Tile(Vec, {f32|u16}, 4, 16){|, atomic=AtomicType.AtomicAdd})",
        evidence="static_assert",
    )(atomic_types),
    rule(
        "STORE-A5-18",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({4|16}, 16)), "
        "Tile(Vec, f32, {4|16}, 16){|, atomic=AtomicType.AtomicMax})",
        evidence="document",
    )(
        """Atomic maximum and minimum come from accumulators.

        What is known: the manual has them on a5, and there from accumulators only; a device suite stores an accumulator
        with both at the micro level; the C++ library's TSTORE has neither. Copies from UB take the mode that
        set_atomic_max and set_atomic_min set; no device result of it is published.

        Decision: They combine elements as from an accumulator.
        """,
        "src.loc is Acc if atomic in (AtomicType.AtomicMax, AtomicType.AtomicMin)",
        "atomicType={atomic.text} from a {src.loc.text} tile; the manual has it from accumulators only",
    ),
    rule(
        "STORE-A5-19",
        """
            x: Ptr[u64]
            TSTORE(GlobalTensor(x, ({1, 1, 1, 16, 8|1, 2, 1, 16, 4}), layout=Layout.{ND|NZ}), Tile(Vec, u64, 16, 8{|,
                ColMajor, slayout=SLayout.RowMajor}))
        """,
        evidence="document",
    )(
        "64-bit elements go ND to ND or DN to DN only.",
        lambda o: _wide(o) if o.src.loc is TileType.Vec else None,
    ),
    rule(
        "STORE-A5-20",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, {4080|4096})), TileAcc(f32, 16, {4080|4096}))",
        evidence="device",
    )(
        "From Acc: at most 4095 valid columns (positive sizes: LS-COM-03).",
        "src.vc <= 4095 if src.loc is Acc",
        "{src.vc} valid columns; an accumulator is stored with at most 4095",
    ),
    rule(
        "STORE-A5-D4",
        """
            x: Ptr[i32]
            TSTORE(GlobalTensor(x, (1, {2|1}, 3, 16, {8|16}), layout=Layout.NZ), Tile(Vec, i32, 48, 16, ColMajor,
                slayout=SLayout.RowMajor))
        """,
        evidence="device",
    )(
        "From an Nz tile: g4 is the 32-byte block of the tile.",
        "dst.shape[4] != 16 if engine(o) is NZ and dst.dtype.size == 4",
        "dimension 4 of the view is {dst.shape[4]}; the blocks of the tile have {dst.dtype.c0} elements",
    ),
)


_QUANTISED = "Relu, quantisation words and TSTORE_FP go with accumulators."
for _id, _what, _rests, _where in (
    ("STORE-A3-02", "All dimensions of the view and the valid region are positive.", "device", "LS-COM-03"),
    ("STORE-A3-23", _QUANTISED, "static_assert", "LS-COM-07 LS-COM-08"),
    ("STORE-A5-02", "From Vec: tile and view have elements of one size.", "static_assert", "LS-COM-04"),
    ("STORE-A5-17", _QUANTISED, "static_assert", "LS-COM-07 LS-COM-08"),
):
    other_rule(_id, _what, evidence=_rests, reported_as=_where)


# Rules of TSTORE and TSTORE_FP for all targets and for cpu (load-store 11.1, 11.5).


CPU_LAYOUTS = (*PLAIN, Layout.NC1HWC0, Layout.NDC1HWC0)

# all targets ---------------------------------------------------------------------------------------------------------

LS_COM_07 = rule(
    "LS-COM-07",
    "x: Ptr[{f32|i8}]; TSTORE_FP(GlobalTensor(x, (16, 16)), {TileAcc|Tile}({|Vec, }f32, 16, 16), "
    "Tile(Scaling, u64, 1, 16))",
    evidence="static_assert",
)(
    "TSTORE_FP stores accumulators.",
    "src.loc is Acc",
    "{src} is a {src.loc.text} tile; only accumulators pass the fix-pipe",
)

LS_COM_08 = rule(
    "LS-COM-08",
    "x: Ptr[{f32|i8}]; TSTORE(GlobalTensor(x, (32, 32)), Tile(Vec, {f32|i32}, 32, 32){|, 70369801142272})",
    evidence="static_assert",
)(
    "A quantisation word and relu go with accumulators.",
    "src.loc is Acc if quant",
    "a quantisation word with a {src.loc.text} tile; only accumulators are quantised",
    "relu is not ReluPreMode.NormalRelu if src.loc is not Acc",
    "relu with a {src.loc.text} tile; only accumulators pass the fix-pipe",
)


# cpu -----------------------------------------------------------------------------------------------------------------


STORE_CPU_07 = rule(
    "STORE-CPU-07",
    "x: Ptr[{f16|e5m2}]; TSTORE(GlobalTensor(x, (4, 32)), Tile(Vec, {f16|e5m2}, 4, 32))",
    evidence="simulator",
)(
    "The cpu target stores no FP8, HiFloat8 and FP4 (unless --extended).",
    need(
        "target.supports(src.dtype, extended=o.extended)",
        "the tile has element type {src.dtype}, which cpu does not store",
        EXTENDED_TYPES,
    ),
    need(
        "target.supports(dst.dtype, extended=o.extended)",
        "the view has element type {dst.dtype}, which cpu does not store",
        EXTENDED_TYPES,
    ),
)


CPU = (
    rule(
        "STORE-CPU-01",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16){|, layout=Layout.NHWC}), Tile(Vec, f32, 16, 16))",
        evidence="static_assert",
    )(
        "The view is ND, DN, NZ, NC1HWC0 or NDC1HWC0.",
        "is_conv(src) if dst.layout is not None and dst.layout not in CPU_LAYOUTS",
        "the view has layout {dst.layout.name}; stores on cpu go to {', '.join((x.name for x in CPU_LAYOUTS))}",
    ),
    rule(
        "STORE-CPU-02",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (2, 2, 16, 16), layout=Layout.NZ), "
        "Tile(Vec, f16, {32|16}, 32, ColMajor, slayout=SLayout.RowMajor))",
        evidence="simulator",
    )(
        "An NZ view has the shape of the valid region: Rv = g2*g3, Cv = g0*g1*g4.",
        lambda o: disagrees(o.src, o.dst, NZ) if o.dst.layout is NZ and (not is_conv(o.src)) else None,
    ),
    rule(
        "STORE-CPU-03",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({1|2}, {128|3})), Tile(Vec, f32, {1|44}, {128|8}))",
        evidence="simulator",
    )(
        """Other views have room for the valid region: g0*g1*g2*g3*g4*C0 >= Rv*Cv.

        Decision: A view of another shape that has room is refused as LS-COM-09.
        """,
        lambda o: too_small(o.src, o.dst) if o.dst.layout not in (None, NZ) and (not is_conv(o.src)) else None,
    ),
    rule(
        "STORE-CPU-04",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16)), Tile(Vec, f32, 16, 16){|, atomic=AtomicType.AtomicAdd})",
        evidence="simulator",
    )(
        """The cpu target has no atomic stores (unless --extended).

        Decision: The seed excludes them; the simulator has atomic add.
        """,
        "dst.dtype in BASE if extended and atomic is not AtomicType.AtomicNone",
        "atomicType={atomic.text} on {dst.dtype}; it takes {names(BASE)}",
        need(
            "atomic is AtomicType.AtomicNone if not extended",
            "atomicType={atomic.text} on cpu, which has no atomic stores",
            hint="run with --extended to let the cpu target combine as the devices do",
        ),
    ),
    rule(
        "STORE-CPU-05",
        "x: Ptr[i8]; TSTORE_FP(GlobalTensor(x, (32, 32)), TileAcc(i32, 32, 32), Tile(Scaling, u64, 1, {32|16}))",
        evidence="simulator",
    )(
        """Quantising stores take accumulators (reported as LS-COM-07 or LS-COM-08) and one 64-bit word per column.

        Decision: The simulator would read past the end of a short parameter tile.
        """,
        "fp.dtype.size == 8 and fp.dtype.is_integer",
        "the parameters have element type {fp.dtype}; they are 64-bit words",
        "fp.vc >= src.vc",
        "{fp.vc} parameter words for {src.vc} valid columns; every column needs one",
    ),
    STORE_CPU_07,
)
