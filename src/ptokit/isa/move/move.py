"""TMOV and TMOV_FP: between tiles of the same or different buffers (tmov, move-gather-scatter 4 to 7).

Where the addresses agree with the layouts of both tiles they are plain copies by row and column.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, define
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import AccToVecMode, BLayout, MxGroupAxis, Pipe, ReluPreMode, SLayout, STPhase, TileType
from ptokit.types.tensor import ConvSpec
from ptokit.types.tile import TileSpec, element_offset

from ..machine import Machine, TileOperand
from ..meaning.expressions import Convert, Element, Expr, Extent, Least, Reinterpret
from ..meaning.moves import put, store_at, stored, window
from ..meaning.words import Drain, Move, Python, Word
from ..site import Site
from ..table import TENSOR, Attr, Instr, TextForm, dst, instruction, scalar, src, tmp
from .checks import (
    MX_SCALES,
    Acc,
    Bias,
    Left,
    Mat,
    Right,
    Scaling,
    TypeTable,
    Vec,
    copies_bits,
    drained_rows,
    home,
    nz_pitch,
    operand_layout,
    weights,
    words,
)
from .footprint import move_footprint
from .rules import A23_ACC_TYPES, FP_RULES, MOVE_RULES
from .rules_a5 import ACC_TYPES

# Tiles whose bytes count in another order than their type says.


def to_operand(dst: TileOperand, src: TileOperand, rows: int, cols: int) -> None:
    """``dst[r, c] = src[r, c]``, where the bytes of src count as Nz or Zn, whatever its type says.

    What lies after the tile is zero.
    """
    nz = operand_layout(src.spec, dst.spec) == "Nz"
    outer, inner = (BLayout.ColMajor, SLayout.RowMajor) if nz else (BLayout.RowMajor, SLayout.ColMajor)
    seen = replace(src.spec, blayout=outer, slayout=inner, fractal=512)
    where = element_offset(seen, np.arange(rows)[:, None], np.arange(cols)[None, :])
    codes = stored(src)[:, np.minimum(where, seen.numel - 1)]
    codes[:, where >= seen.numel] = 0
    dst.write(codes if seen.dtype.packed else codes.view(seen.dtype.value or seen.dtype.storage), rows, cols)


# The spellings tmov.m2l, tmov.a2v …: one instruction, whose suffix restates the buffers (assembly 5, rule 4).


_SUFFIXES: dict[str, tuple[TileType, tuple[TileType, ...]]] = {
    "tmov.m2l": (Mat, (Left,)),
    "tmov.m2r": (Mat, (Right,)),
    "tmov.m2b": (Mat, (Bias,)),
    "tmov.m2s": (Mat, (Scaling, *MX_SCALES)),
    "tmov.a2v": (Acc, (Vec,)),
    "tmov.v2v": (Vec, (Vec,)),
}


def suffix_mismatch(spelling: str, src: Any, dst: Any) -> str | None:
    """What is wrong with a spelling such as ``pto.tmov.m2l`` for values with these tile types; None if it agrees."""
    source, targets = _SUFFIXES.get(spelling.removeprefix("pto."), (None, ()))
    a, b = getattr(src, "type", None), getattr(dst, "type", None)
    if source is None or not isinstance(a, TileSpec) or not isinstance(b, TileSpec):
        return None
    if a.loc is source and b.loc in targets:
        return None
    return f"{spelling} is written for a move from {a.loc.text} to {b.loc.text}"


SUFFIX = define(
    "TMOV-SUFFIX",
    "The suffix of a tmov spelling agrees with the buffers of its tiles.",
    scope=Scope.TEXT,
    source="assembly 5; move-gather-scatter 8",
    example="pto.tmov.v2v ins(%s : !pto.tile_buf<vec, 16x16xf16, blayout=col_major, slayout=row_major>) "
    "outs(%d : !pto.tile_buf<{vec|mat}, 16x16xf16, blayout=col_major, slayout=row_major>)",
    why="The reader of `.pto` text reports it: a program no longer knows how a move was spelled.",
)


# Moves out of the unified buffer that address memory in their own way on a5 (move-gather-scatter 4.4 to 4.6).


def rearrange(dst: TileOperand, src: TileOperand) -> None:
    """ND to Nz and ND to Zn."""
    if dst.spec.layout_name == "Nz":
        pitch = nz_pitch(dst.spec, dst.vr)
        assert isinstance(pitch, int)
        nd_to_nz(dst, src, src.vr, dst.vc, pitch)
    else:
        nd_to_zn(dst, src)


def nd_to_nz(dst: TileOperand, src: TileOperand, rows: int, cols: int, pitch: int, row: int = 0, col: int = 0) -> None:
    """The window at (row, col) of an ND source; column blocks of the destination lie `pitch` rows apart."""
    spec = dst.spec
    if pitch == spec.rows and rows <= pitch and spec.fractal == 512:
        put(dst, window(src, row, col, rows, cols))
        return
    r, c = np.arange(rows)[:, None], np.arange(cols)[None, :]
    where = (c // spec.c0) * pitch * spec.c0 + r * spec.c0 + c % spec.c0
    store_at(dst, where, stored(src)[:, (row + r) * src.spec.cols + col + c])


def nd_to_zn(dst: TileOperand, src: TileOperand) -> None:
    """Boxes of c0 x 16 elements, transposed inside; the pitches are the destination's valid columns."""
    c0, blocks = dst.spec.c0, dst.vc // 16
    k, n = np.arange(dst.vr // c0 * c0)[:, None], np.arange(16 * blocks)[None, :]
    where = ((k // c0 * blocks + n // 16) * 16 + n % 16) * c0 + k % c0
    store_at(dst, where, stored(src)[:, k * dst.vc + n])


# Exponents for the matrix unit ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _zz_from_rows(rows: int, cols: int) -> np.ndarray:
    """Source offsets in destination order: boxes of 16 rows x 2 columns (group axis 1)."""
    blocks, pairs = -(-rows // 16), cols // 2
    rb, p, i, q = np.ogrid[:blocks, :pairs, :16, :2]
    return ((16 * rb + i) * cols + 2 * p + q).reshape(-1)


@lru_cache(maxsize=64)
def _zz_from_columns(rows: int, cols: int) -> np.ndarray:
    """Source offsets in destination order where the exponents of a column lie in consecutive rows (group axis 0)."""
    cb, p, q, e = np.ogrid[: cols // 16, : rows // 2, :16, :2]
    return ((2 * p + e) * cols + 16 * cb + q).reshape(-1)


def to_zz(m: Machine, dst: TileOperand, src: TileOperand, grp_axis: int) -> None:
    """Exponents in the order of the scale buffers (4.5).

    With group axis 1 the device first clears the source's rows up to a multiple of 16, and so does this for a5.
    """
    codes = stored(src)
    if grp_axis == 0:
        where = _zz_from_columns(src.vr, src.vc)
    else:
        where = _zz_from_rows(dst.vr, dst.vc)
        end = min(len(where), codes.shape[1])
        padding = slice(dst.vr * dst.vc, end)
        codes[:, padding] = 0
        if len(where) > end:
            codes = np.pad(codes, ((0, 0), (0, len(where) - end)))
        if m.target.is_a(A5) and end > dst.vr * dst.vc:
            store_at(src, padding, codes[:, padding])
    store_at(dst, slice(0, len(where)), codes[:, where])


# To the matrix buffer ------------------------------------------------------------------------------------------------


def vec_to_mat(m: Machine, dst: TileOperand, src: TileOperand, row: int = 0, col: int = 0) -> None:
    """A window at (row, col) of the source goes to (0, 0) of the destination, in whole 32-byte blocks on a5 (4.6)."""
    assert dst.spec.loc is TileType.Mat
    a, b = src.spec, dst.spec
    size = a.dtype.bits
    nz = a.layout_name == "Nz"
    if nz:
        pitch, start = 16 * -(-dst.vr // 16), a.rows * a.c0 * (col // a.c0) + row * a.c0 + col % a.c0
        extent = pitch, min(a.c0 * -(-dst.vc // a.c0), a.cols)
        boxes = b.layout_name == "Nz" and (a.fractal, b.fractal) == (512, 512)
        same = boxes and pitch == b.rows <= a.rows and not (row or col)
    else:
        start, extent = row * src.vc + col, (dst.vr, dst.vc)
        same = b.layout_name == "ND" and a.cols == b.cols == dst.vc and dst.vr * dst.vc * size % 256 == 0 and not start
    if same:
        dst.take(src, *extent)
        return
    if nz:
        block = np.arange(-(-dst.vc // a.c0))[:, None]
        lanes = np.arange(pitch * a.c0)[None, :]
        read = start + block * (pitch + a.rows - b.rows) * a.c0 + lanes
        where = (block * pitch * a.c0 + lanes).reshape(-1)
    else:
        whole = dst.vr * dst.vc * size // 256 * 256 // size  # a partial last block is dropped
        read, where = start + np.arange(whole), np.arange(whole)
    read = read.reshape(-1)
    inside = (read < a.numel) & (read >= 0) & (where < b.numel)
    store_at(dst, where[inside], stored(src)[:, read[inside]])


# TMOV and TMOV_FP: between tiles of the same or different buffers (tmov, move-gather-scatter 2 to 7).


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
        if plain and not words and drained_rows(o).what == "vr":
            return Move(X, *size("src"))
        return Drain(X, drained_rows(o), Extent("src", "vc"), words, o.relu, o.mode)
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
        cpp=(
            "TMOV<phase?, ^dst, ^src, mode?, relu?>(dst, src, quant?) | "
            "TMOV<phase?, ^dst, ^src, ^fp, mode, relu?>(dst, src, fp) | "
            "TMOV_FP<phase?, ^dst, ^src, ^fp, relu?>(dst, src, fp) | "
            "TMOV<grp_axis:int?>(dst, src, tmp)"
        ),
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
        meaning=lambda o: Drain(X, drained_rows(o), Extent("src", "vc"), "fp", o.relu),
        footprint=move_footprint,
        value_rules=has_words,
        drained={target: by_words(types) for target, types in {"a2a3": A23_ACC_TYPES, **ACC_TYPES}.items()},
        form=TextForm(misfits={**dict.fromkeys(("dst", "src", "fp"), "MF-1")}),
        source="tmov; move-gather-scatter 2, 4.12, 6",
        cpp="TMOV_FP<phase?, ^dst, ^src, ^fp, relu?>(dst, src, fp)",
    )
)
