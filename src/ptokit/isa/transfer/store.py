"""TSTORE and TSTORE_FP: from tiles to global memory, accumulators converted on the way (load-store 4 to 8)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import AtomicType, Layout, Pipe, ReluPreMode, STPhase, TileType
from ptokit.types.tensor import ConvSpec

from ..machine import Machine, TileOperand, ViewOperand
from ..meaning.expressions import Convert, Element, Expr, Extent, greater, select
from ..meaning.moves import by_blocks, by_lines
from ..meaning.primitives import PRIMITIVES
from ..meaning.words import COMBINING, Move, Python, Word
from ..numerics.quant import quantize, store_mode
from ..site import Site
from ..table import TENSOR, Attr, Instr, Role, TextForm, in_text, instruction, scalar, src, view
from . import conv_transfer, store_acc, store_plain, text_rules
from .conv_transfer import store_conv
from .rules import COMMON, extent
from .store_acc import BYTES, channel_block, drained

Combine = Callable[..., np.ndarray]

COMBINE: dict[AtomicType, Combine] = {kind: PRIMITIVES[op].numpy for kind, op in COMBINING.items() if op}


def store_pipe(site: Site) -> Pipe:
    """The fix-pipe drains accumulators, MTE3 stores the rest (load-store 1)."""
    return Pipe.FIX if site.src.loc is TileType.Acc else Pipe.MTE3


def drain(
    values: np.ndarray,
    source: DType,
    dst: DType,
    relu: ReluPreMode,
    target: Target,
    form: str,
    words: int | np.ndarray = 0,
) -> np.ndarray:
    """Accumulator elements as the fix-pipe hands them to memory: quantised or cast, then ReLU (load-store 5.1).

    ``form`` is ``cast``, ``scalar`` or ``vector``. The result has ``dst.value``, or codes where that is None.
    """
    relued = relu is ReluPreMode.NormalRelu
    if form == "cast" and (source is dst or (source.is_float and dst.name in ("f16", "bf16"))):
        if relued:  # a cast keeps signs and zeros, so ReLU may as well come first
            values = np.where(values > 0, values, values.dtype.type(0))
        if source is dst:
            return values
        if relued or not np.isnan(values).any():  # NumPy may leave NaN signalling
            return values.astype(dst.value)
    mode = store_mode(target, form, source, dst)
    return quantize(values, dst, mode, words, relu=relued, target=target)


def _put(blocks: int, atomic: AtomicType, memory: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """Write or combine flat elements; no block has a place twice."""
    if atomic is AtomicType.AtomicNone:
        memory[places] = values
        return
    for where, value in zip(places.reshape(blocks, -1), values.reshape(blocks, -1)):
        memory[where] = COMBINE[atomic](memory[where], value)


def _device_places(dst: ViewOperand, src: TileOperand, layout: Layout) -> np.ndarray | None:
    """Element offsets (1, rows, cols) where the fix-pipe's C0 or row count differs from that of the view."""
    if layout is Layout.NDC1HWC0:
        c0 = channel_block(dst.dtype, split=src.spec.dtype.name == "f32")
        if c0 == dst.dtype.c0:
            return None
        g, t = dst.shape, dst.stride
        rows, cols = np.arange(src.vr)[:, None], np.arange(src.vc)[None, :]
        block, inner = cols // c0, cols % c0
        position = rows // (g[3] * g[4]) * t[0] + rows // g[4] % g[3] * t[3] + rows % g[4] * t[4]
        return (position + block // g[2] * t[1] + block % g[2] * t[2] + inner)[None]
    if layout is Layout.NCDHW and (src.vr, src.vc) != dst.extent(layout):
        return (np.arange(src.vc)[None, :] * dst.stride[1] + np.arange(src.vr)[:, None])[None]
    return None


def _store(
    m: Machine, dst: ViewOperand, src: TileOperand, layout: Layout, atomic: AtomicType, values: np.ndarray
) -> None:
    """Write or combine values of dst's element type."""
    if layout is not Layout.ND and src.spec.loc is TileType.Acc and m.target.is_device:
        places = _device_places(dst, src, layout)
        if places is not None:
            put = partial(_put, m.blocks, atomic)
            dst.scatter(places, values, put, m.blocks, lambda block, row, col: f"element ({row}, {col})")
            return
    if atomic is AtomicType.AtomicNone:
        dst.store(values, layout)
    else:
        dst.update(values, layout, COMBINE[atomic], m.blocks)


def _meaning(o: Site) -> Word | None:
    """``dst[r, c] = src[r, c]`` over the valid region of src; the phase has no effect on values."""
    x = Element("src")
    if o.src.loc is TileType.Acc:
        value = _cast(o, x)
        if value is None:
            return Python(tstore)
    elif isinstance(o.src.spec, ConvSpec):
        return Python(tstore)
    else:
        value = x
    return Move(value, *_lines(o), combine=COMBINING[o.atomic])


def _lines(o: Site) -> tuple[Any, Any]:
    """The rows and columns that are stored: the valid ones, or as many lines as a view has that is known to differ."""
    rows, cols = Extent("src", "vr"), Extent("src", "vc")
    blocks = by_blocks(o.src.spec, o.dst.layout, o.target)
    if not blocks and not by_lines(o.src.spec, o.dst.layout, o.target):
        return rows, cols
    theirs = extent(o.dst, o.dst.layout)
    if blocks:
        return rows, (theirs[1] if theirs[0] != o.src.vr and theirs[1] != o.src.vc else cols)
    if o.dst.layout is Layout.ND:
        return (theirs[0] if theirs[0] != o.src.vr else rows), cols
    return rows, (theirs[1] if theirs[1] != o.src.vc else cols)


def _cast(o: Site, x: Expr) -> Expr | None:
    """The value of an accumulator that is stored in rows without a quantisation word; None for all others."""
    a, b = o.src.dtype, o.dst.dtype
    if o.has("quant") or (o.target.is_device and o.dst.layout is not Layout.ND):
        return None
    positive = select(greater(x, 0), x, 0) if o.relu is ReluPreMode.NormalRelu else x
    if a is b:
        return positive
    return Convert(positive, b) if a.is_float and b.name in ("f16", "bf16") else None


def tstore(
    m: Machine,
    dst: ViewOperand,
    src: TileOperand,
    quant: int | None,
    *,
    phase: STPhase,
    atomic: AtomicType,
    relu: ReluPreMode,
) -> None:
    """Convolution tiles, and accumulators, which are converted on the way."""
    dst.begin_store()
    spec = src.spec
    layout = dst.layout_for(spec.takes_rows)
    if isinstance(spec, ConvSpec):
        store_conv(m, dst, src, spec, layout, partial(_put, m.blocks, atomic))
        return
    form = "cast" if quant is None else "scalar"
    values = drain(src.read(), spec.dtype, dst.dtype, relu, m.target, form, 0 if quant is None else quant)
    element = dst.dtype.value or dst.dtype.storage
    _store(m, dst, src, layout, atomic, values if values.dtype == element else values.view(element))


def tstore_fp(
    m: Machine, dst: ViewOperand, src: TileOperand, fp: TileOperand, *, atomic: AtomicType, relu: ReluPreMode
) -> None:
    """``dst[r, c] = quantise(src[r, c]; fp[0, c])``: one parameter word per column."""
    dst.begin_store()
    layout = dst.layout_for(src.spec.takes_rows)
    words = fp.read(1, src.vc)
    values = drain(src.read(), src.spec.dtype, dst.dtype, relu, m.target, "vector", words)
    _store(m, dst, src, layout, atomic, values)


_ATOMIC = Attr("atomic", AtomicType, AtomicType.AtomicNone, "atomicType", "atomic_type")
_RELU = Attr("relu", ReluPreMode, ReluPreMode.NoRelu, "reluPreMode", "relu_pre_mode")
_RULES = (
    *store_plain.CPU,
    *conv_transfer.STORE_CPU,
    *store_plain.A3,
    *store_acc.A3,
    *store_plain.A5,
    *store_acc.A5,
)

TSTORE = instruction(
    Instr(
        "TSTORE",
        "tstore",
        "Store the valid region of a tile to global memory; accumulators are converted on the way.",
        (view("dst", Role.OUT), src(), scalar("quant", optional=True, type="i64")),
        (Attr("phase", STPhase, STPhase.Unspecified, "stPhase", "st_phase"), _ATOMIC, _RELU),
        pipe=store_pipe,
        rules=(*COMMON, store_plain.LS_COM_08, *_RULES, *text_rules.STORE),
        meaning=_meaning,
        drained=drained("cast", "scalar"),
        form=TextForm("dps-typed", carried=(TENSOR,), misfits={"dst": "ST-1", "src": "ST-1"}),
        source="tstore; load-store 4, 5",
        cpp="TSTORE<phase?, ^src, ^dst, atomic, relu?>(dst, src, quant?)",
    )
)

TSTORE_FP = instruction(
    Instr(
        "TSTORE_FP",
        "tstore_fp",
        "Store an accumulator quantised with one parameter word per column.",
        (view("dst", Role.OUT), src(), in_text(src("fp"), word="fp")),
        (_ATOMIC, _RELU),
        pipe=Pipe.FIX,
        rules=(*COMMON, store_plain.LS_COM_07, *_RULES, *text_rules.STORE_FP),
        run=tstore_fp,
        drained=drained("vector"),
        form=TextForm(
            "dps-typed", spellings=("tstore.fp",), newest="tstore", misfits={"dst": "SF-2", "src": "SF-1", "fp": "SF-1"}
        ),
        source="memory-and-data-movement; load-store 6, 8",
        value_rules=lambda o: o.target.is_device and o.dst.dtype in BYTES,
        cpp="TSTORE_FP<^src, ^dst, ^fp, atomic, relu?>(dst, src, fp)",
    )
)
