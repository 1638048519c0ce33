"""TMOV and TMOV_FP: between tiles of the same or different buffers (tmov, move-gather-scatter 2 to 7)."""

from __future__ import annotations

from typing import Any

from ptokit.targets import A5
from ptokit.types.conv import ConvSpec
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import AccToVecMode, MxGroupAxis, Pipe, ReluPreMode, STPhase, TileType

from ..machine import Machine, TileOperand
from ..meaning.expressions import Convert, Element, Expr, Extent, Least, Reinterpret
from ..meaning.moving import put
from ..meaning.words import Drain, Move, Python, Word
from ..site import Site
from ..table import TENSOR, Attr, Instr, TextForm, dst, instruction, scalar, src, tmp
from .fractal_z import weights
from .move_checks import TypeTable
from .move_facts import (
    Acc,
    Bias,
    Left,
    Mat,
    Right,
    Scaling,
    Vec,
    copies_bits,
    home,
    operand_layout,
    words,
)
from .move_footprint import move_footprint
from .move_parts import to_operand
from .move_rules import FP_RULES, MOVE_RULES
from .move_rules_a2a3 import A23_ACC_TYPES
from .move_rules_a5 import ACC_TYPES
from .move_vec import rearrange, to_zz, vec_to_mat

RELU = Attr("relu", ReluPreMode, ReluPreMode.NoRelu, "reluPreMode", "relu_pre_mode")
MODE = Attr("mode", AccToVecMode, None, "accToVecMode", "acc_to_vec_mode")
PHASE = Attr("phase", STPhase, STPhase.Unspecified, "stPhase", "st_phase")


def by_words(types: TypeTable) -> TypeTable:
    """Those of the form with a tile of quantisation words."""
    return {"vector": types["vector"]}


def move_pipe(site: Site) -> Pipe:
    """Pipe by the pair of tile types (memory-model-and-sync 2.1)."""
    source, target = site.src.loc, home(site.dst)
    if source is TileType.Mat:
        return Pipe.FIX if target is TileType.Scaling else Pipe.MTE1
    if source is TileType.Acc:
        return Pipe.FIX
    return Pipe.MTE3 if target is TileType.Mat else Pipe.V


def has_words(site: Site) -> bool:
    """True if the instruction reads quantisation words, which its rules look at."""
    return words(site) is not None


def _meaning(o: Site) -> Word:
    """``dst[r, c] = src[r, c]``, quantised on the way out of an accumulator.

    A move out of the matrix buffer covers dst's valid region, any other what is valid in src (and dst). The phase
    orders the move after its matrix product and changes no value.
    """
    s, d = o.src.spec, o.dst.spec
    source, target = s.loc, home(d)
    plain = o.mode is None and o.relu is ReluPreMode.NoRelu and s.dtype is d.dtype
    if source is Acc:
        words = next((name for name in ("fp", "quant") if o.has(name)), "")
        return Move(X, *size("src")) if plain and not words else Drain(X, *size("src"), words, o.relu, o.mode)
    if o.has("tmp") or o.has("fp") or isinstance(s, ConvSpec):
        return Python(tmov)
    if source is Mat and o.target.is_device:
        if target is Scaling and o.target.templates and s.dtype.name == "f32":
            return Move(X, *size("dst"))
        if target in (Bias, Scaling):  # the valid columns do not count (4.9, 4.10)
            return Move(_copied(s.dtype, d.dtype), 1, Extent("dst", "cols"))
        turned = target in (Left, Right) and operand_layout(s, d) not in (None, s.layout_name)
        return Python(tmov) if turned else Move(X, *size("dst"))
    if o.target.is_a(A5):
        if target is Mat:
            return Python(tmov)
        if source is target is Vec and (s.layout_name, d.layout_name) in (("ND", "Nz"), ("ND", "Zn")):
            return Python(tmov)
    if source is target is Vec:
        (vr, vc), (rows, cols) = size("src"), size("dst")
        bits = Reinterpret(X, "dst") if copies_bits(o) else X
        return Move(bits, Least((vr, rows)), Least((vc, cols)))
    return Move(_copied(s.dtype, d.dtype), *size("src"))


X = Element("src")


def size(name: str) -> tuple[Extent, Extent]:
    """The valid rows and columns of an operand."""
    return Extent(name, "vr"), Extent(name, "vc")


def _copied(source: DType, target: DType) -> Expr:
    """A float of another type becomes f32 exactly (bias tables)."""
    return X if source is target else Convert(X, DTYPES["f32"])


def tmov(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    fp: TileOperand | None = None,
    quant: Any = None,
    tmp: TileOperand | None = None,
    *,
    grp_axis: int = 1,
    **_: Any,
) -> None:
    """Moves that address memory in a way of their own."""
    if tmp is not None or fp is not None:
        to_zz(m, dst, src, grp_axis)
    elif isinstance(src.spec, ConvSpec):
        put(dst, weights(src, 0, 0, dst.vr, dst.vc))
    elif dst.spec.loc in (Left, Right):
        to_operand(dst, src, dst.vr, dst.vc)
    elif dst.spec.loc is Mat:
        vec_to_mat(m, dst, src)
    else:
        rearrange(dst, src)


TMOV = instruction(
    Instr(
        "TMOV",
        "tmov",
        "Copy a tile to another of the same or another buffer; accumulators are converted on the way.",
        (dst(), src(), src("fp", optional=True), scalar("quant", optional=True, type="i64"), tmp(optional=True)),
        (RELU, MODE, PHASE, Attr("grp_axis", MxGroupAxis, MxGroupAxis.Axis1, "grpAxis", "mx_group_axis")),
        pipe=move_pipe,
        rules=MOVE_RULES,
        meaning=_meaning,
        footprint=move_footprint,
        value_rules=has_words,
        drained={"a2a3": A23_ACC_TYPES, **ACC_TYPES},
        form=TextForm(
            "dps-typed",
            carried=(TENSOR,),
            spellings=("tmov.m2l", "tmov.m2r", "tmov.m2b", "tmov.m2s", "tmov.a2v", "tmov.v2v", "tmov.s2d"),
            misfits={**dict.fromkeys(("dst", "src", "fp"), "MO-1")},
        ),
        halves=True,
        source="tmov; move-gather-scatter 2 to 6",
    )
)


TMOV_FP = instruction(
    Instr(
        "TMOV_FP",
        "tmov.fp",
        "Move an accumulator with one quantisation word per column.",
        (dst(), src(), src("fp")),
        (RELU, PHASE),
        pipe=Pipe.FIX,
        rules=FP_RULES,
        meaning=lambda o: Drain(X, *size("src"), "fp", o.relu),
        footprint=move_footprint,
        value_rules=has_words,
        drained={target: by_words(types) for target, types in {"a2a3": A23_ACC_TYPES, **ACC_TYPES}.items()},
        form=TextForm(misfits={**dict.fromkeys(("dst", "src", "fp"), "MF-1")}),
        source="tmov; move-gather-scatter 2, 4.12, 6",
    )
)
