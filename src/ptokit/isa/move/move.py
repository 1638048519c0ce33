"""TMOV and TMOV_FP: between tiles of the same or different buffers (tmov, move-gather-scatter 2 to 7)."""

from __future__ import annotations

from typing import Any

from ptokit.targets import A5
from ptokit.types.conv import ConvSpec
from ptokit.types.enums import AccToVecMode, Pipe, ReluPreMode, STPhase, TileType

from ..machine import Machine, TileOperand
from ..site import Site
from ..table import Attr, Instr, dst, instruction, scalar, src, tmp
from .fractal_z import weights
from .move_acc import drain
from .move_facts import Acc, Bias, Left, Mat, Right, Scaling, Vec, words
from .move_footprint import move_footprint
from .move_parts import copy, put, to_operand
from .move_rules import FP_RULES, MOVE_RULES
from .move_vec import to_zz, vec_to_mat, vec_to_vec

RELU = Attr("relu", ReluPreMode, ReluPreMode.NoRelu, "reluPreMode", "relu_pre_mode")
MODE = Attr("mode", AccToVecMode, None, "accToVecMode", "acc_to_vec_mode")
PHASE = Attr("phase", STPhase, STPhase.Unspecified, "stPhase", "st_phase")


def move_pipe(site: Site) -> Pipe:
    """Pipe by the pair of tile types (memory-model-and-sync 2.1)."""
    source, target = site.src.loc, site.dst.loc
    if source is TileType.Mat:
        return Pipe.FIX if target is TileType.Scaling else Pipe.MTE1
    if source is TileType.Acc:
        return Pipe.FIX
    return Pipe.MTE3 if target is TileType.Mat else Pipe.V


def has_words(site: Site) -> bool:
    """True if the instruction reads quantisation words, which its rules look at."""
    return words(site) is not None


def tmov(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    fp: TileOperand | None = None,
    quant: Any = None,
    tmp: TileOperand | None = None,
    *,
    relu: ReluPreMode = ReluPreMode.NoRelu,
    mode: AccToVecMode | None = None,
    phase: STPhase = STPhase.Unspecified,
    grp_axis: int = 1,
) -> None:
    """``dst[r, c] = src[r, c]``, quantised on the way out of an accumulator.

    A move out of the matrix buffer covers dst's valid region, any other what is valid in src (and dst). The phase
    orders the move after its matrix product and changes no value.
    """
    source, target = src.spec.loc, dst.spec.loc
    if source is Acc:
        drain(m, dst, src, (0, 0, src.vr, src.vc), fp=fp, quant=quant, relu=relu, mode=mode)
    elif tmp is not None or fp is not None:
        to_zz(m, dst, src, grp_axis)
    elif isinstance(src.spec, ConvSpec):
        put(dst, weights(src, 0, 0, dst.vr, dst.vc))
    elif source is Mat and m.target.is_device:
        if target in (Bias, Scaling):
            copy(dst, src, 1, dst.spec.cols)  # the valid columns do not count (4.9, 4.10)
        elif target in (Left, Right):
            to_operand(dst, src, dst.vr, dst.vc)
        else:
            dst.take(src, dst.vr, dst.vc)
    elif m.target.is_a(A5) and target is Mat:
        vec_to_mat(m, dst, src)
    elif source is target is Vec:
        vec_to_vec(m, dst, src)
    else:
        copy(dst, src, src.vr, src.vc)


TMOV = instruction(
    Instr(
        "TMOV",
        "tmov",
        "Copy a tile to another of the same or another buffer; accumulators are converted on the way.",
        (dst(), src(), src("fp", optional=True), scalar("quant", optional=True, type="i64"), tmp(optional=True)),
        (RELU, MODE, PHASE, Attr("grp_axis", int, 1, "grpAxis")),
        pipe=move_pipe,
        rules=MOVE_RULES,
        run=tmov,
        footprint=move_footprint,
        value_rules=has_words,
        syntax="dps-typed",
        tensor=True,
        kinds=dict.fromkeys(("dst", "src", "fp"), "MO-1"),
        spellings=("tmov.m2l", "tmov.m2r", "tmov.m2b", "tmov.m2s", "tmov.a2v", "tmov.v2v", "tmov.s2d"),
        source="tmov; move-gather-scatter 2 to 6",
    )
)


def tmov_fp(
    m: Machine,
    dst: TileOperand,
    src: TileOperand,
    fp: TileOperand,
    *,
    relu: ReluPreMode = ReluPreMode.NoRelu,
    phase: STPhase = STPhase.Unspecified,
) -> None:
    """``dst[r, c] = q(src[r, c])`` with the word of column c."""
    drain(m, dst, src, (0, 0, src.vr, src.vc), fp=fp, relu=relu)


TMOV_FP = instruction(
    Instr(
        "TMOV_FP",
        "tmov.fp",
        "Move an accumulator with one quantisation word per column.",
        (dst(), src(), src("fp")),
        (RELU, PHASE),
        pipe=Pipe.FIX,
        rules=FP_RULES,
        run=tmov_fp,
        footprint=move_footprint,
        value_rules=has_words,
        kinds=dict.fromkeys(("dst", "src", "fp"), "MF-1"),
        source="tmov; move-gather-scatter 2, 4.12, 6",
    )
)
