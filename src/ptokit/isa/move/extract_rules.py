"""Rules of TEXTRACT on every target and on cpu (compute-layout-irregular 1.3, assembly 13.9)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import family
from ptokit.targets import A2A3, A5

from ..site import Site
from .extract_checks import bad_index, pair_of_layouts
from .extract_footprint import position
from .extract_rules_a2a3 import A23_PAIR_RULES, A23_RULES
from .extract_rules_a5 import A5_PAIR_RULES, A5_RULES
from .extract_text_rules import EXTRACT_TEXT_RULES
from .fractal_z import is_conv, refused
from .move_checks import (
    Message,
    acc_types,
    blocks_overflow,
    columns_of_words,
    outside,
    parameter_tile,
    signedness,
    types_differ,
)
from .move_facts import (
    Acc,
    Mat,
    Vec,
    dual,
    pair,
    relu,
    word,
    words,
)
from .move_rules import unsupported
from .move_rules_a2a3 import A23_ACC_TYPES, acc_to_mat
from .move_rules_a5 import ACC_TYPES

EXTRACTS = "compute-layout-irregular 1.3"


_rule = family(EXTRACTS)


_CPU = {"targets": ("cpu",)}


@_rule(
    "EXTR-COM-02",
    "TEXTRACT(Tile(Vec, f16, 6, 32), Tile(Vec, f16, 11, 64), row={0|6}, col=0)",
    evidence="device assertion",
    on="cpu",
)
def EXTR_COM_02(o: Site) -> Message:
    """The window lies in the source: all of dst for mat and acc sources, its valid region for vec sources and cpu."""
    s, d = o.src, o.dst
    row, col = position(o)
    if is_conv(s):
        return None
    if not o.target.is_device:
        size = (s.vr, s.vc) if dual(o) and s.loc is Acc else (d.vr, d.vc)
        return outside((row, col), size, (s.vr, s.vc))
    size = (d.vr, d.vc) if s.loc is Vec else (d.rows, d.cols)
    return outside((row, col), size, (s.rows, s.cols))


def quantised(o: Site, cols: Any, first: Any, to: Any = 0) -> Message:
    """Types, words and form of a move out of an accumulator: columns [first, first + cols) to column `to` of dst."""
    if o.src.loc is not Acc:
        asked = "relu" if relu(o) else "a quantisation word" if word(o) else "quantisation words" if words(o) else None
        return f"{asked} needs an acc source, {o:src} is a {o.src.loc.text} tile" if asked else None
    fp = words(o)
    wrong = parameter_tile(o, fp) if fp is not None else None
    if o.target.is_a(A2A3) and pair(o) == (Acc, Mat):
        wrong = wrong or acc_to_mat(o) or acc_types(o, A23_ACC_TYPES)
    elif o.target.is_a(A5):
        wrong = wrong or acc_types(o, o.target.entry(ACC_TYPES))
    wrong = wrong or columns_of_words(o, cols, first) or signedness(o, cols, first)
    return wrong or blocks_overflow(o, cols, to)


COMMON_RULES = (
    _rule(
        "EXTR-COM-01",
        "TEXTRACT(Tile(Vec, f16, 6, 32), Tile(Vec, f16, 11, 64), row={0|-1}, col=0)",
        evidence="device",
        on="cpu",
    )(
        "Indices are 0 to 65535.",
        lambda o: bad_index(o, "row"),
        lambda o: bad_index(o, "col"),
    ),
    EXTR_COM_02,
    _rule(
        "EXTR-COM-03",
        "TEXTRACT(Tile(Vec, {u16|f32}, 8, {16|8}), Tile(Vec, {u16|f16}, 8, 16), row=0, col=0)",
        evidence="static_assert",
        on="a2a3",
    )(
        "Only accumulators are converted.",
        lambda o: types_differ(o) if o.src.loc is not Acc else None,
    ),
    _rule(
        "EXTR-COM-04",
        "TEXTRACT_FP(Tile(Mat, i8, 16, 32, ColMajor, slayout=SLayout.RowMajor), TileAcc(i32, 32, 96), "
        "Tile({Scaling|Vec}, u64, 1, 32), 0, 0)",
        source="move-gather-scatter 5.4, 6.1",
        evidence="device",
        on="cpu",
    )(
        "From acc: a pair of types that a move has, words of the right sign for every column; otherwise no words.",
        lambda o: quantised(o, o.dst.vc, position(o)[1]),
    ),
    _rule(
        "EXTR-COM-05",
        "TEXTRACT(Tile(Vec, f16, 16, 16, ColMajor{, slayout=SLayout.RowMajor|}), "
        "Tile(Vec, f16, 48, 48, ColMajor{, slayout=SLayout.RowMajor|}), row=0, col=0)",
        evidence="static_assert",
        on="a2a3",
    )(
        """The pair of buffers and layouts is one that the target extracts between.

        Decision: cpu extracts between all tiles. Of convolution tiles, FRACTAL_Z goes to right tiles on every target.
        """,
        lambda o: refused(o, position(o)) if is_conv(o.src) else None,
        lambda o: pair_of_layouts(o) if o.target.is_device else None,
    ),
)
CPU_RULES = (
    _rule(
        "EXTR-CPU-02",
        "TEXTRACT(Tile(Left, {f16|e4m3}, 16, {16|32}, ColMajor, slayout=SLayout.RowMajor), "
        "Tile(Mat, {f16|e4m3}, 16, {16|32}, ColMajor, slayout=SLayout.RowMajor), row=0, col=0)",
        source="types-and-layouts T-01",
        **_CPU,
        evidence="simulator",
    )(unsupported),
)


@_rule(
    "EXTR-PAIR-01",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor), Tile(Vec, f16, 32, 64), 0, 0, 16, {48|49})",
    evidence="device",
    on="a2a3",
)
def EXTR_PAIR_01(o: Site) -> Message:
    """Both windows lie in the source."""
    for k in "01":
        for name in (f"row{k}", f"col{k}"):
            if wrong := bad_index(o, name):
                return wrong
        at, d = position(o, f"row{k}", f"col{k}"), o.operands[f"dst{k}"]
        if wrong := outside(at, (d.vr, d.vc), (o.src.rows, o.src.cols)):  # type: ignore[union-attr]
            return f"window {k}: {wrong}"
    return None


@_rule(
    "EXTR-PAIR-02",
    "TEXTRACT2(Tile(Vec, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor), "
    "Tile(Vec, {f16|bf16}, 16, 16, ColMajor, slayout=SLayout.RowMajor), Tile(Vec, f16, 32, 64), 0, 0, 16, 48)",
    evidence="static_assert",
    on="a2a3",
)
def EXTR_PAIR_02(o: Site) -> Message:
    """Two windows: vec ND to vec Nz of one type."""
    if o.src.layout_name != "ND" or o.src.loc is not Vec:
        return f"{o:src} is a {o.src.loc.text} tile in {o.src.layout_name}, not vec ND"
    for name in ("dst0", "dst1"):
        d: Any = o.operands[name]
        if d.loc is not Vec or d.layout_name != "Nz":
            return f"{o:{name}} is a {d.loc.text} tile in {d.layout_name}, not vec Nz"
        if d.dtype is not o.src.dtype:
            return f"{o:{name}} has element type {d.dtype}, {o:src} has {o.src.dtype}"
    return None


EXTRACT_RULES = (*COMMON_RULES, *CPU_RULES, *A23_RULES, *A5_RULES, *EXTRACT_TEXT_RULES)
EXTRACT_FP_RULES = (*COMMON_RULES, *CPU_RULES, *A23_RULES, *A5_RULES)
PAIR_RULES = (
    _rule(
        "EXTR-CPU-01",
        "TEXTRACT{(Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor)|2(Tile(Vec, f16, 16, 16, ColMajor, "
        "slayout=SLayout.RowMajor), Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor)}, "
        "Tile(Vec, f16, 32, 64), 0, 0{|, 16, 48})",
        decision="Extended mode runs it; AccToVecMode and the scalar word have their effect on cpu too.",
        **_CPU,
        evidence="static_assert",
    )(
        "The form with two destinations exists on the devices only.",
        "extended",
        "cpu has no TEXTRACT with two destinations",
    ),
    EXTR_PAIR_01,
    EXTR_PAIR_02,
    *A23_PAIR_RULES,
    *A5_PAIR_RULES,
)
