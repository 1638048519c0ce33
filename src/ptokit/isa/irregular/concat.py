"""TCONCAT, TINTERLEAVE, TDEINTERLEAVE and TPACK (compute-layout-irregular 1.5, 1.8, 1.9)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, Doubt, family
from ptokit.diagnostics.rules import need
from ptokit.targets import A2A3
from ptokit.types.dtypes import dtype, i32

from ..checks.compiling import DEVICES, Message
from ..checks.tiles import (
    A5_ONLY,
    boxed_or_columns,
    differ,
    missing,
    not_of,
    not_plain,
    not_vec,
    overlapping,
    valid_differs,
)
from ..machine import Machine, TileOperand
from ..meaning.expressions import (
    Axis,
    Convert,
    Coordinate,
    Element,
    Expr,
    Index,
    Reinterpret,
    equal,
    less,
    select,
)
from ..meaning.moves import for_all_blocks
from ..meaning.words import Lane, Write, lane
from ..operands import BF16, I6, F
from ..site import Site, known
from ..table import LEVEL2, Access, Instr, Operand, Role, TextForm, dst, instruction, src
from .text_rules import CC_1, CC_2

# Rules of TCONCAT (compute-layout-irregular 1.5).


_rule = family("compute-layout-irregular 1.5")
_INDICES = ("idx0", "idx1")


@_rule(
    "CONC-COM-01",
    "TCONCAT(Tile(Vec, f32, 16, 32), Tile(Vec, f32, 16, 16), Tile(Vec, {f32|i32}, 16, 16))",
    evidence="static_assert",
)
def CONC_COM_01(o: Site) -> Message:
    """dst and sources are Vec tiles of one type: 8-, 16-, 32-bit integers, f16, bf16, f32."""
    data = ("dst", "src0", "src1")
    return not_vec(o, *data) or differ(o, *data) or not_of(o, I6 | F | BF16, *data)


CONC_COM_02 = _rule(
    "CONC-COM-02",
    "t = Tile(Vec, f32, 16, 64); TCONCAT(Tile(Vec, f32, {16|24}, 128), t, t)",
    evidence="device assertion",
    on="a2a3",
)(
    "dst and sources have the same valid rows.",
    need(
        "t.vr == dst.vr for t in (src0, src1)", doubt="target.is_device and all(dst.vr <= t.rows for t in (src0, src1))"
    ),
)


def _together(o: Site) -> Message:
    """A message if the columns of the sources are not those of dst; a doubt where they fit: the device moves all."""
    total = o.src0.vc + o.src1.vc
    says = f"{o:src0} and {o:src1} have {total} valid columns together, {o:dst} has "
    if total > o.dst.cols:
        return says + str(o.dst.cols)
    if o.target.is_a(A2A3) or not known(total, o.dst.vc) or total == o.dst.vc:
        return None
    return Doubt(says + str(o.dst.vc)) if o.target.is_device else says + str(o.dst.vc)


RULES = (
    CONC_COM_01,
    CONC_COM_02,
    _rule(
        "CONC-COM-03",
        "t = Tile(Vec, f32, 16, 16); TCONCATIDX(Tile(Vec, f32, 16, 32), t, t, Tile(Vec, {i32|f32}, 16, 8), "
        "Tile(Vec, i32, 16, 8))",
        evidence="static_assert",
    )(
        "Index tiles are of one integer type of 8, 16 or 32 bits; the result counts are one column.",
        "didx.vc == 1 if idx0",
        "{didx} has {didx.vc} valid columns; there is one count per row",
        "if idx0 is not None",
        lambda o: not_of(o, I6, *_INDICES, "didx"),
        lambda o: differ(o, "idx0", "idx1", "didx"),
    ),
    _rule(
        "CONC-A23-01",
        "t = Tile(Vec, f32, 16, 64); TCONCAT(Tile(Vec, f32, 16, {128|120}), t, t)",
        targets=ALL_TARGETS,
        evidence="device assertion",
        on="a2a3",
    )(
        "The valid columns of the sources together are those of dst; on a2a3 they must fit its columns.",
        "if idx0 is None",
        _together,
    ),
    _rule(
        "CONC-A5-01",
        "TCONCAT(Tile(Vec, f32, 16, 32), Tile(Vec, f32, 16, 16{|, ColMajor}), Tile(Vec, f32, 16, 16))",
        targets=DEVICES,
        evidence="static_assert",
    )(
        "dst and sources are row-major without boxes on the devices.",
        lambda o: boxed_or_columns(o, "dst", "src0", "src1"),
    ),
)


# TCONCAT: rows of two tiles side by side (compute-layout-irregular 1.5).


def _concat(
    m: Machine,
    dst: TileOperand,
    a: TileOperand,
    b: TileOperand,
    didx: TileOperand | None = None,
    idx0: TileOperand | None = None,
    idx1: TileOperand | None = None,
) -> None:
    if idx0 is None or idx1 is None:
        rows = dst.vr  # the devices copy them whatever is valid in the sources
        dst.write(np.concatenate(for_all_blocks(a.read(rows, a.vc), b.read(rows, b.vc)), axis=2), rows, a.vc + b.vc)
        return
    size = idx0.spec.dtype.size
    want0, want1 = (i.read(dst.vr, 1).astype(np.int64) // size for i in (idx0, idx1))  # (blocks, rows, 1)
    n0 = np.clip(want0, 0, dst.vc)
    n1 = np.clip(want1, 0, dst.vc - n0)
    x, y = a.read(dst.vr, a.spec.cols), b.read(dst.vr, b.spec.cols)
    col = np.arange(dst.vc).reshape(1, 1, -1)
    first = np.take_along_axis(*for_all_blocks(x, np.minimum(col, x.shape[2] - 1) + 0 * n0), axis=2)
    second = np.take_along_axis(*for_all_blocks(y, np.clip(col - n0, 0, y.shape[2] - 1)), axis=2)
    old = dst.read(dst.vr, dst.vc)
    result = np.where(col < n0, first, np.where(col < n0 + n1, second, old))
    dst.write(result, dst.vr, dst.vc)
    if didx is not None:
        count = want0 + want1 if not m.target.is_device else np.minimum(want0 + want1, dst.vc)
        didx.write((count * size).astype(didx.spec.dtype.value), dst.vr, 1)


def _footprint(o: Site) -> Iterator[Access]:
    yield Access("src0", False, o.dst.vr, o.src0.vc)
    yield Access("src1", False, o.dst.vr, o.src1.vc)
    for name in ("idx0", "idx1"):
        if o.has(name):
            yield Access(name, False, o.dst.vr, 1)
    by_index = o.has("idx0")
    yield Access("dst", True, o.dst.vr, o.dst.vc if by_index else o.src0.vc + o.src1.vc, kept=by_index)
    if o.has("didx"):
        yield Access("didx", True, o.dst.vr, 1)


def _concat_by_index(
    m: Machine, dst: TileOperand, a: TileOperand, b: TileOperand, idx0: TileOperand, idx1: TileOperand
) -> None:
    _concat(m, dst, a, b, None, idx0, idx1)


TCONCATIDX = instruction(
    Instr(
        "TCONCATIDX",
        "tconcatidx",
        "As TCONCAT with index tiles, which say how many bytes of each row are taken.",
        (dst(), src("src0"), src("src1"), src("idx0"), src("idx1")),
        cpp="TCONCAT",
        rules=(*RULES, CC_2),
        run=_concat_by_index,
        footprint=_footprint,
        source="PTOAS 2026-08 PTOOps.td; compute-layout-irregular 1.5",
    )
)
TCONCAT = instruction(
    Instr(
        "TCONCAT",
        "tconcat",
        "Each row of dst is the row of src0 followed by that of src1; index tiles say how much of them.",
        (
            dst(),
            src("src0"),
            src("src1"),
            Operand("didx", Role.OUT, optional=True),
            src("idx0", optional=True),
            src("idx1", optional=True),
        ),
        form=TextForm(choices=("dst src0 src1", "dst src0 src1 idx0 idx1", "dst src0 src1 didx idx0 idx1")),
        rules=(*RULES, CC_1),
        run=_concat,
        footprint=_footprint,
        source="compute-layout-irregular 1.5",
    )
)


# Rules of TINTERLEAVE, TDEINTERLEAVE and TPACK (compute-layout-irregular 1.8, 1.9).


_rule = family("compute-layout-irregular 1.8")
_pack = family("compute-layout-irregular 1.9")
_TILES = ("dst0", "dst1", "src0", "src1")


INTLV_03 = _rule(
    "INTLV-03",
    "TDEINTERLEAVE(Tile(Vec, f32, 16, {32|64}), Tile(Vec, f32, 16, 32), src0=Tile(Vec, f32, 16, 64))",
    evidence="device assertion",
)(
    """
    Of one source, each destination is valid in half of its columns.

    Decision: The manual also asks for equal valid regions, which contradicts this.
    """,
    "if src1 is None",
    "src0.vc % 2 == 0",
    "{src0} has {src0.vc} valid columns; they must be even",
    "t.vr == src0.vr and 2 * t.vc == src0.vc for t in (dst0, dst1)",
    "{t} is valid in {t.vr}x{t.vc}, {src0} in {src0.vr}x{src0.vc}; it takes half of it",
)


def _odd(o: Site) -> Message:
    """A message for an odd number of columns; a doubt where the device does what the instruction says."""
    if not (o.has("src1") and known(o.src0.vc) and o.src0.vc % 2):
        return None
    message = f"{o.src0.vc} valid columns are no pairs"
    return Doubt(message) if o.target.is_device else message


INTERLEAVE_RULES = (
    _rule(
        "INTLV-01",
        "TINTERLEAVE(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64), "
        "Tile(Vec, f32, 16, 64))",
        evidence="static_assert",
    )(
        "All tiles are row-major Vec tiles of one type: 8-, 16-, 32-bit integers, f16, bf16, f32.",
        not_plain,
        lambda o: differ(o, *_TILES),
        lambda o: not_of(o, I6 | F | BF16, *_TILES),
    ),
    _rule(
        "INTLV-02",
        "TINTERLEAVE(Tile(Vec, f32, 16, 64{|, valid_col=62}), Tile(Vec, f32, 16, 64), "
        "Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64))",
        evidence="device assertion",
        on="cpu",
    )(
        "Sources and destinations have equal valid regions with an even number of columns.",
        lambda o: valid_differs(o, *_TILES) if o.has("src1") else None,
        _odd,
    ),
    _rule(
        "INTLV-04",
        """
            t = Tile(Vec, f32, 16, 64)
            TINTERLEAVE(Tile(Vec, f32, 16, 64), {Tile(Vec, f32, 16, 64)|t}, Tile(Vec, f32, 16, 64), t)
        """,
        what="No two tiles overlap.",
        evidence="device",
    )(overlapping),
    _rule(
        "INTLV-NPU",
        "t = Tile(Vec, f32, 16, 64); {TADD(t, t, t)|TINTERLEAVE(Tile(Vec, f32, 16, 64), "
        "Tile(Vec, f32, 16, 64), t, Tile(Vec, f32, 16, 64))}",
        what="A2/A3 have no interleaving.",
        targets=("a2a3",),
        evidence="static_assert",
    )(missing),
)
DE_RULES = (
    *INTERLEAVE_RULES,
    INTLV_03,
)


PACK_RULES = (
    _pack(
        "PACK-01",
        "{TMOV|TPACK}(Tile(Vec, u16, 16, 64), Tile(Vec, {u16|u32}, 16, 64))",
        what="TPACK exists on a5.",
        targets=("a2a3",),
        evidence="static_assert",
    )(missing),
    _pack(
        "PACK-02",
        "TPACK(Tile(Vec, i16, 16, 64), Tile(Vec, i32, 16, 64{|, ColMajor}))",
        what="Both tiles are row-major Vec tiles.",
        evidence="static_assert",
    )(not_plain),
    _pack("PACK-03", "TPACK(Tile(Vec, i16, 16, 64), Tile(Vec, i32, 16, 64{|, valid_col=60}))", evidence="device")(
        "Both tiles have one valid region.",
        lambda o: valid_differs(o, "dst", "src"),
    ),
    _pack("PACK-04", "TPACK(Tile(Vec, i16, 16, 64), Tile(Vec, {i32|i16}, 16, 64))", evidence="static_assert")(
        """Elements of 4 bytes become 2 or 1, of 2 bytes 1.

        Decision: Float sources are packed by their bits, too.
        """,
        "(src.dtype.size, dst.dtype.size) in ((4, 2), (4, 1), (2, 1))",
        "{src.dtype} does not become {dst.dtype}",
    ),
    _pack("PACK-05", "TPACK(Tile(Vec, {i16|int4}, 16, 64), Tile(Vec, i32, 16, 64))", evidence="ptokit")(
        "dst has elements of whole bytes.",
        "dst.dtype.bits >= 8",
        "no public source says how {src.dtype} become {dst.dtype}",
    ),
)


# TINTERLEAVE and TDEINTERLEAVE: alternate the elements of two rows (compute-layout-irregular 1.8).


_ROW, _J = Axis(i=1), Coordinate("column", i32)


def _interleaved(o: Site) -> Lane | None:
    """Both halves begin with src0, the second one at half of the columns, rounded down."""
    cols = o.src0.vc
    if not known(cols):
        return None

    def half(start: int) -> Expr:
        at = Index(_ROW, Axis(j=1, plus=start, over=2))
        return select(equal(_J & 1, 1), Element("src1", at), Element("src0", at))

    return Lane((Write("dst0", half(0)), Write("dst1", half(cols // 2 * 2))), over="dst0")


def _apart(o: Site) -> Lane | None:
    cols = o.src0.vc
    if not known(cols):
        return None

    def every_second(first: int) -> Expr:
        at = Index(_ROW, Axis(j=2, plus=first, cycle=cols))
        if not o.has("src1"):
            return Element("src0", at)
        return select(less(_J, cols // 2), Element("src0", at), Element("src1", at))

    return Lane((Write("dst0", every_second(0)), Write("dst1", every_second(1))), over="dst0")


TINTERLEAVE = instruction(
    Instr(
        "TINTERLEAVE",
        "tinterleave",
        "Elements of src0 and src1 alternately: the first half in dst0, the second in dst1.",
        (dst("dst1"), dst("dst0"), src("src1"), src("src0")),
        form=TextForm(orders={LEVEL2: "src0 src1 -> dst0 dst1"}),
        rules=INTERLEAVE_RULES,
        meaning=_interleaved,
        source="compute-layout-irregular 1.8",
    )
)
TDEINTERLEAVE = instruction(
    Instr(
        "TDEINTERLEAVE",
        "tdeinterleave",
        "Elements at even places in dst0, at odd ones in dst1, of src0 and then src1.",
        (dst("dst1"), dst("dst0"), src("src1", optional=True), src("src0")),
        form=TextForm(choices=("dst1 dst0 src1 src0", "dst1 dst0 src0"), orders={LEVEL2: "src0 src1 -> dst0 dst1"}),
        rules=DE_RULES,
        meaning=_apart,
        source="compute-layout-irregular 1.8",
    )
)


# TPACK: the low bits of wider elements (compute-layout-irregular 1.9).


def _low_bits(o: Site) -> Lane:
    wide, narrow = (dtype(f"u{t.dtype.bits}") for t in (o.src, o.dst))
    return lane(Reinterpret(Convert(Reinterpret(Element("src"), wide), narrow), "dst"), over="src")


TPACK = instruction(
    Instr(
        "TPACK",
        "tpack",
        "dst = low bits of src's wider elements",
        (dst(), src()),
        rules=(*PACK_RULES, A5_ONLY),
        meaning=_low_bits,
        source="compute-layout-irregular 1.9",
    )
)
