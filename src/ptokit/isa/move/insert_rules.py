"""Rules of TINSERT (compute-layout-irregular 1.4)."""

from __future__ import annotations

from ptokit.diagnostics import define, family
from ptokit.targets import A2A3, A5

from ..meaning.drains import DUAL, first_part
from ..site import Site
from .extract_checks import bad_index
from .extract_footprint import position
from .extract_rules import quantised
from .extract_rules_a2a3 import vec_nd, vec_nz, vec_types
from .extract_rules_a5 import dual_split
from .extract_text_rules import INSERT_TEXT_RULES
from .move_checks import Message, listed, outside, types_differ
from .move_facts import (
    PAIRS,
    Acc,
    Mat,
    Vec,
    arrow,
    dual,
    optional,
    pair,
    types,
)
from .move_rules import unsupported
from .move_rules_a2a3 import acc_to_mat

INSERTS = "compute-layout-irregular 1.4"
A5_TYPES = types("f16 bf16 f32 i32 e4m3 e5m2 hif8 i8 e8m0 e2m1 e1m2")


_TO_MAT = {("ND", "ND"), ("ND", "Nz"), ("Nz", "Nz"), ("Zn", "Zn")}


_rule = family(INSERTS, "INS-")


@_rule("COM-01", "16x16 at (16, 0) of 32x16", "16x16 at (24, 0) of 32x16")
def INS_COM_01(o: Site) -> Message:
    """The source fits into dst at (row, col): its valid region, on a2a3 the whole acc; on cpu into dst's valid."""
    s, d = o.src, o.dst
    size = (s.rows, s.cols) if o.target.is_a(A2A3) and s.loc is Acc else (s.vr, s.vc)
    if s.loc is Acc and optional(o, "mode") in DUAL:
        size = first_part(o.mode, s.vr, s.vc)
    extent = (d.vr, d.vc) if not o.target.is_device else (d.rows, d.cols)
    return bad_index(o, "row") or bad_index(o, "col") or outside(position(o), size, extent)


@_rule("COM-02", "acc i32 to i8", "vec f16 into f32")
def INS_COM_02(o: Site) -> Message:
    """Only accumulators are converted, between types that a move has, with words of the right sign."""
    wrong = quantised(o, o.src.vc, 0, position(o)[1])
    return wrong or (types_differ(o) if o.src.loc is not Acc else None)


@_rule("COM-03", "acc to mat", "vec to left", targets=("a2a3", "a5"))
def INS_COM_03(o: Site) -> Message:
    """The pair of buffers is one that the target inserts between; cpu inserts between all.

    Decision: ND rows go into an Nz tile of the matrix buffer as they lie in memory: the library copies them and looks
    at no layout of dst, and the assembler takes no other dst.
    """
    if o.target.is_a(A2A3):
        if pair(o) not in ((Acc, Mat), (Vec, Vec)):
            return f"a2a3 does not insert {arrow(o)}; it inserts acc to mat and vec to vec"
        if optional(o, "mode") is not None:
            return f"a2a3 has no AccToVecMode, {o.mode.name} is given"
        if pair(o) == (Vec, Vec) and (o.src.layout_name != o.dst.layout_name or o.src.layout_name not in ("ND", "Nz")):
            return f"{o.src.layout_name} into {o.dst.layout_name}; both are ND or both Nz"
    elif o.target.is_a(A5):
        if pair(o) not in o.target.entry(PAIRS) or o.src.loc is Mat:
            return f"a5 does not insert {arrow(o)}; it inserts acc to mat or vec and vec to vec or mat"
        if pair(o) == (Vec, Mat) and (o.src.layout_name, o.dst.layout_name) not in _TO_MAT:
            return f"{o.src.layout_name} into {o.dst.layout_name}; vec to mat keeps ND, Nz and Zn, or puts ND into Nz"
    return None


@_rule("A23-01", "fractal=512", "dst ND")
def INS_A23_01(o: Site) -> Message:
    """acc to mat: both Nz, dst fractal 512, rows of 32 bytes."""
    return acc_to_mat(o) if pair(o) == (Acc, Mat) else None


@_rule("A23-02", "f16 4x32 at (0, 16)", "f16 4x32 at (0, 10)")
def INS_A23_02(o: Site) -> Message:
    """vec to vec: types, sizes and alignment as TEXTRACT, with the roles exchanged.

    Decision: The manual and the assembler know acc to mat only; the header has both (D-15).
    """
    return vec_types(o) or vec_nd(o, o.src, o.dst) or vec_nz(o, o.src, o.dst)


@_rule("A5-01", "i8", "u8")
def INS_A5_01(o: Site) -> Message:
    """Without an accumulator: f16, bf16, f32, i32, i8, 8-bit floats, fp4."""
    if o.src.loc is not Acc and o.src.dtype not in A5_TYPES:
        return f"element type {o.src.dtype} is not inserted; {listed(A5_TYPES)} are"
    return None


@_rule("A5-02", "vec DN", "mat ND")
def INS_A5_02(o: Site) -> Message:
    """From acc: mat in Nz, vec in ND, DN or Nz; dual modes do not convert and do not write DN."""
    if o.src.loc is not Acc:
        return None
    layout = o.dst.layout_name
    if o.dst.loc is Mat and layout != "Nz":
        return f"{o:dst} has layout {layout}; acc to mat writes Nz"
    if layout not in ("ND", "DN", "Nz"):
        return f"{o:dst} has layout {layout}; acc to vec writes ND, DN or Nz"
    if dual(o) and layout == "DN":
        return f"{o.mode.name} does not write a DN tile"
    return dual_split(o)


@_rule("A5-03", "f16, row 16", "f16, row 8")
def INS_A5_03(o: Site) -> Message:
    """vec to mat in Zn: row and valid rows are whole boxes."""
    if pair(o) != (Vec, Mat) or o.dst.layout_name != "Zn":
        return None
    row, c0 = position(o)[0], o.dst.c0
    if row % c0 != 0 or o.src.vr % c0 != 0:
        return f"row {row} and {o.src.vr} valid rows; both must be multiples of {c0}"
    return None


@_rule("A5-04", "ND to ND", "ND to Nz")
def INS_A5_04(o: Site) -> Message:
    """vec to vec: both ND or both Nz, src not larger than dst."""
    if pair(o) != (Vec, Vec):
        return None
    s, d = o.src, o.dst
    if s.layout_name != d.layout_name or s.layout_name not in ("ND", "Nz"):
        return f"{s.layout_name} into {d.layout_name}; both are ND or both Nz"
    if s.cols > d.cols or (s.layout_name == "ND" and s.rows > d.rows):
        return f"{o:src} is {s.rows}x{s.cols}, larger than {o:dst} of {d.rows}x{d.cols}"
    return None


@_rule("A5-05", "SPLIT2, vec Nz to mat", "SPLIT2, vec to vec", targets=("cpu", "a5"))
def INS_A5_05(o: Site) -> Message:
    """The split modes take a vec tile in Nz to mat."""
    if optional(o, "split") is None or (pair(o) == (Vec, Mat) and o.src.layout_name == "Nz"):
        return None
    return f"{o.split.name} is for a vec tile in Nz into mat; this is {arrow(o)} from {o.src.layout_name}"


@_rule("A5-06", "f16 32 columns", "f16 24 of 32 columns")
def INS_A5_06(o: Site) -> Message:
    """vec in ND to mat: rows of whole 32-byte blocks, unless tiles are equally wide or rows shorter than a block."""
    s, d = o.src, o.dst
    if pair(o) != (Vec, Mat) or s.layout_name != "ND" or s.cols == d.cols == s.vc:
        return None
    bits = s.vc * s.dtype.bits
    if bits >= 256 and bits % 256 != 0:
        return f"{s.vc} columns of {s.dtype} are no whole 32-byte blocks; the rest of each row is not moved"
    if bits < 256 and s.vr * s.vc > s.spec.numel:
        return f"{s.vr} rows of {s.vc} columns leave the tile of {s.rows}x{s.cols}"
    return None


_ISA = (
    INS_COM_01,
    INS_COM_02,
    INS_COM_03,
    _rule("CPU-02", "f16", "e4m3", source="types-and-layouts T-01")(unsupported),
    define(
        "INS-CPU-01",
        "On cpu the split modes insert as usual, AccToVecMode and the scalar word have their effect.",
        targets=("cpu",),
        source=INSERTS,
        accepted="split=SPLIT2",
        why="Nothing can break this; it records how cpu differs from the simulator.",
    ),
    INS_A23_01,
    INS_A23_02,
    INS_A5_01,
    INS_A5_02,
    INS_A5_03,
    INS_A5_04,
    INS_A5_05,
    INS_A5_06,
)
INSERT_RULES = (*_ISA, *INSERT_TEXT_RULES)
INSERT_FP_RULES = _ISA
