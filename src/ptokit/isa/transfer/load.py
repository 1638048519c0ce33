"""TLOAD, TPREFETCH and TPREFETCH_ASYNC: from global memory into tiles, and on the way there (load-store 3, 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from ptokit.diagnostics.rules import need
from ptokit.records import dataclass
from ptokit.targets import A2A3, Target
from ptokit.types.enums import Layout, PadValue, Pipe, TileType
from ptokit.types.tensor import HIF4_PAIRS, ConvSpec, Dims5, pad_bits
from ptokit.types.tile import TileSpec

from ..machine import AsyncEvent, AsyncSession, Machine, TileOperand, ViewOperand
from ..meaning.expressions import Element, Extent, Least, Up
from ..meaning.words import Fill, Move, Ordering, Python, Word
from ..site import Site, ViewInfo
from ..table import (
    CALLED,
    TENSOR,
    Attr,
    Instr,
    Kind,
    Operand,
    Order,
    Role,
    TextForm,
    dst,
    grammar,
    handle,
    index,
    instruction,
    ptr,
    scalar,
    view,
)
from . import conv_transfer, text_rules
from .conv_transfer import load_conv
from .load_rules import A3, CPU
from .load_rules_a5 import A5
from .rules import COMMON, DEVICES, other_rule, rule, shape_text  # noqa: F401
from .text_rules import PREFETCH

# TLOAD: from global memory into tiles (load-store 3).


VR, VC = Extent("dst", "vr"), Extent("dst", "vc")


def padding(spec: TileSpec, layout: Layout, target: Target) -> Iterator[Fill]:
    """What TLOAD writes beyond the valid region (load-store 3.6)."""
    rows, cols, c0 = spec.rows, spec.cols, spec.c0
    bits = pad_bits(spec.dtype, spec.pad, wide=target.pads_64_bits)
    if target.pads_whole_tile:
        yield Fill(0, VR, VC, cols, bits)
        yield Fill(VR, rows, 0, cols, bits)
        return
    if layout is Layout.NZ or (spec.loc is TileType.Vec and spec.pad == PadValue.Null):
        return
    if spec.boxed:
        yield from _box_tail(spec, bits)
        return
    if spec.loc is TileType.Mat and target.is_a(A2A3):
        bits = 0
    yield _right(spec, c0, bits) if spec.row_major else _below(spec, c0, bits)


def _box_tail(spec: TileSpec, bits: int) -> Iterator[Fill]:
    """The rest of the last 32-byte groups becomes zero: of 16 rows or columns for MX scales.

    A single row of scales is contiguous and gets the pad value up to the next 32 bytes (load-store 3.5).
    """
    ir, ic = spec.box
    if spec.fractal == 32 and spec.rows == 1 and spec.layout_name == "Zz":
        yield Fill(0, 1, VC, Least((spec.cols, Up(VC, spec.c0))), bits)
    elif spec.fractal == 32:
        yield _below(spec, ir, 0)
        yield _right(spec, ic, 0)
    elif spec.slayout.name == "RowMajor":
        yield _right(spec, ic, 0)
    else:
        yield _below(spec, ir, 0)


def _right(spec: TileSpec, step: int, bits: int) -> Fill:
    """The columns after the valid ones, up to a multiple of `step`."""
    return Fill(0, VR, VC, Least((spec.cols, Up(VC, step))), bits)


def _below(spec: TileSpec, step: int, bits: int) -> Fill:
    """The rows after the valid ones, up to a multiple of `step`."""
    return Fill(VR, Least((spec.rows, Up(VR, step))), 0, VC, bits)


def _meaning(o: Site) -> Word | None:
    """``dst[r, c] = src[r, c]`` over the valid region of dst, bits unchanged, and the padding around it."""
    spec = o.dst.spec
    if isinstance(spec, ConvSpec):
        return Python(_load_conv)
    if o.src.layout is None:
        return None
    if o.src.layout in HIF4_PAIRS:
        return Python(_load_groups)
    whole = (o.dst.vr, o.dst.vc) == (spec.rows, spec.cols)
    return Move(Element("src"), VR, VC, fills=() if whole else tuple(padding(spec, o.src.layout, o.target)))


def _load_conv(m: Machine, dst: TileOperand, src: ViewOperand) -> None:
    assert isinstance(dst.spec, ConvSpec)
    load_conv(dst, src, dst.spec, src.layout_for(dst.spec.takes_rows))


def _load_groups(m: Machine, dst: TileOperand, src: ViewOperand) -> None:
    """Scales of HiFloat4, whose groups no strides of a view describe."""
    dst.load(src, src.layout_for(dst.spec.row_major))


TRAILING = (
    Attr("pad_mode", str, None, "pad_mode", "padmode", dotted=True),
    scalar("pad_value", optional=True),
    index("left_padding_num", optional=True),
    Attr("init_out_buffer", bool, False, "init_out_buffer"),
    scalar("right_padding_num", optional=True),
    scalar("init_condition", optional=True),
)
"""Words of the text whose meaning no public document gives (assembly 6.3): what is padded, the type of dst says."""

TLOAD = instruction(
    Instr(
        "TLOAD",
        "tload",
        "Load a rectangle of global memory, as large as the tile's valid region, into a tile.",
        (dst(), view("src")),
        pipe=Pipe.MTE2,
        rules=(
            *COMMON,
            *CPU,
            *conv_transfer.LOAD_CPU,
            *A3,
            *conv_transfer.LOAD_A3,
            *A5,
            *conv_transfer.LOAD_A5,
            *text_rules.LOAD,
        ),
        meaning=_meaning,
        form=TextForm(
            carried=(
                *TRAILING,
                TENSOR,
            ),
            misfits={"dst": "LD-1", "src": "LD-1"},
        ),
        source="tload; load-store 3",
    )
)


# TPREFETCH and TPREFETCH_ASYNC: global memory on its way to a scratch tile or to the L2 cache (load-store 9, 10).


BLOCK_BYTES = 64 * 1024 * 1024  # one cache operation covers at most this many bytes


def line_pitch(length: int, target: Target) -> int:
    """Bytes from one prefetched row to the next in the tile: rounded up to 32 on a2a3, exact on a5."""
    return -(-length // 32) * 32 if target.is_a(A2A3) else length


def defined(dst: TileOperand, src: ViewOperand, target: Target) -> bool:
    """True if the tile holds ``dst[r, c] = src[r, c]`` afterwards; else its contents are undefined.

    The devices copy every plane of the view to the start of the tile, row by row: one plane of ND whose rows lie as far
    apart as the tile's. The cpu profile follows the seed: any ND view with the shape of the valid region.
    """
    spec, g = dst.spec, src.shape
    if spec.layout_name != "ND" or src.layout_for(True) is not Layout.ND or src.dtype.size != spec.dtype.size:
        return False
    if src.extent(Layout.ND) != (dst.vr, dst.vc):
        return False
    if not target.is_device:
        return True
    return g[0] * g[1] * g[2] == 1 and line_pitch(src.dtype.nbytes(g[4]), target) == spec.dtype.nbytes(spec.cols)


def tprefetch(m: Machine, dst: TileOperand, src: ViewOperand) -> None:
    """Read the view; the tile is scratch, and holds the data only where `defined` says so."""
    if defined(dst, src, m.target):
        dst.load(src, Layout.ND)
    else:
        src.check_bounds()


PREF_01 = rule(
    "PREF-01",
    "x: Ptr[{f32|i32}]; TPREFETCH(Tile(Vec, f32, 4, 8), GlobalTensor(x, (4, 8)))",
    targets=("cpu",),
    evidence="static_assert",
)(
    "Tile and view have one element type.",
    "dst.dtype is src.dtype",
    "the tile has element type {dst.dtype}, the view {src.dtype}; cpu prefetches one type",
)


PREF_02 = rule(
    "PREF-02", "x: Ptr[f32]; TPREFETCH(Tile({Mat|Left}, f32, 4, 8), GlobalTensor(x, (4, 8)))", evidence="device"
)(
    "The tile is in UB (Vec); Mat is taken too.",
    "dst.loc in (Vec, Mat)",
    "{dst} is a {dst.loc.text} tile; prefetch takes a vec tile (the assembler also a mat tile)",
)


PREF_03 = rule(
    "PREF-03",
    "x: Ptr[{f32|f16}]; TPREFETCH(Tile(Vec, f32, {16|4}, 16), GlobalTensor(x, ({16|4}, 16)))",
    targets=DEVICES,
    evidence="document",
)(
    "Elements of tile and view have one size; all sizes are positive (LS-COM-03).",
    "dst.dtype.size == src.dtype.size",
    "the tile has {dst.dtype.size}-byte elements ({dst.dtype}), the view {src.dtype.size} ({src.dtype})",
)


PREF_04 = rule(
    "PREF-04",
    "x: Ptr[f32]; TPREFETCH(Tile(Vec, f32, 4, 8), GlobalTensor(x, (4, 8), (20, {1|2})))",
    targets=DEVICES,
    evidence="device",
)(
    """
    Rows of the view are contiguous (t4 = 1).

    Decision: On a5 the tile can be read afterwards only if its rows have the length of the view's, on a2a3 if they
    are as long rounded up to 32 bytes; else its contents are undefined.
    """,
    "src.stride[4] == 1 if src.shape[4] > 1",
    "stride 4 of the view is {src.stride[4]}; prefetch copies contiguous rows",
)


_POSITIVE = next(r for r in COMMON if r.id == "LS-COM-03")
_FORWARD = next(r for r in COMMON if r.id == "LS-COM-05")

TPREFETCH = instruction(
    Instr(
        "TPREFETCH",
        "tprefetch",
        "Read global memory ahead of time into a scratch tile; nothing waits for it.",
        (dst(), view("src")),
        pipe=Pipe.MTE2,
        rules=(
            _POSITIVE,
            _FORWARD,
            PREF_01,
            PREF_02,
            PREF_03,
            PREF_04,
            *PREFETCH,
        ),
        run=tprefetch,
        form=TextForm(misfits={"dst": "PF-2", "src": "PF-1"}),
        source="memory-and-data-movement; load-store 9",
    )
)


def flat(shape: Dims5, stride: Dims5) -> bool:
    """True for the one-dimensional contiguous tensors that the asynchronous prefetch takes (load-store 10)."""
    g, t = shape, stride
    packed = t[4] == 1 and t[3] == g[4] and t[2] == g[3] * t[3] and t[1] == g[2] * t[2] and t[0] == g[1] * t[1]
    return g[:4] == (1, 1, 1, 1) and packed


@dataclass
class PrefetchAsyncContext:
    """Context of asynchronous prefetches: a workspace in global memory that the host has initialised, and a session
    (its own unless one is given). Its 256-byte scratch tile lies at the start of UB."""

    workspace: Any
    session: AsyncSession = field(default_factory=AsyncSession)


def prefetch_async(src: ViewOperand | ViewInfo, context: PrefetchAsyncContext, target: Target) -> AsyncEvent:
    """Submit a prefetch of a flat tensor into L2; no data changes.

    An empty event comes back where nothing is submitted: on cpu, without workspace, or for a tensor that is not flat.
    """
    if not target.is_device or context.workspace is None or not flat(src.shape, src.stride):  # type: ignore[arg-type]
        return AsyncEvent()
    size = src.dtype.nbytes(src.shape[4])  # type: ignore[arg-type]
    return AsyncEvent(context.session.submit(-(-size // BLOCK_BYTES)))


PREFA_01 = rule(
    "PREFA-01",
    """
        x: Ptr[f32]
        w: Ptr[u8]
        TPREFETCH_ASYNC(GlobalTensor(x, (1, 1, 1, 1, 1024){|, (1, 1, 1, 1, 1)}), PrefetchAsyncContext(w))
    """,
    evidence="legal",
)(
    """
    The tensor is flat: g = (1, 1, 1, 1, n), t = (n, n, n, n, 1).

    Anything else silently prefetches nothing and gives an empty event.
    """,
    need(
        "flat(src.shape, src.stride) if known(*src.shape, *src.stride)",
        "the view {shape_text(src)} with strides {src.stride} is not flat, which is what the library looks for; "
        "nothing is prefetched",
        "shape (1, 1, 1, 1, n) with strides (n, n, n, n, 1)",
    ),
)


PREFA_02 = rule(
    "PREFA-02",
    """
        x: Ptr[f32]
        w: Ptr[u8]
        TPREFETCH_ASYNC(GlobalTensor(x, (1, 1, 1, 1, 1024)), PrefetchAsyncContext({w|None}))
    """,
    evidence="legal",
)(
    """
    The context has a workspace that the host has initialised.

    Without it nothing is prefetched and the event is empty.
    """,
    "workspace is not None",
    "no workspace; nothing is prefetched",
)


def tprefetch_async(m: Machine, src: ViewOperand, workspace: Any, **_: Any) -> None:
    """Validate; no architectural effect."""
    src.check_bounds()


_QUEUED = Order(queued=True)

TPREFETCH_ASYNC = instruction(
    Instr(
        "TPREFETCH_ASYNC",
        "tprefetch_async",
        "Prefetch a contiguous tensor into the L2 cache through the SDMA engine.",
        (view("src"), Operand("workspace", Role.IN, Kind.PTR, optional=True)),
        attrs=(Attr("session", int, None, "session"), Attr("event", int, None, "event")),
        pipe=Pipe.S,
        rules=(
            PREFA_01,
            PREFA_02,
        ),
        meaning=Ordering(tprefetch_async),
        order=_QUEUED,
        source="memory-and-data-movement; load-store 10",
        cpp="",
    )
)

PREFETCH_WAIT = instruction(
    Instr(
        "prefetch_wait",
        "prefetch_wait",
        "Wait for an asynchronous prefetch and those before it in its session.",
        attrs=(Attr("session", int, None, "session"), Attr("event", int, None, "event")),
        pipe=Pipe.S,
        meaning=Ordering(),
        order=_QUEUED,
        form=grammar(*CALLED),
        source="memory-model-and-sync 5.5",
    )
)

for _id, _what, _good, _bad in (
    (
        "PREFA-03",
        "Contexts that share a workspace run one after another; shared channel groups share a session.",
        "two contexts with one session",
        "two sessions on one workspace",
    ),
    (
        "PREFA-04",
        "The event is waited for before the load that depends on it.",
        "event.wait(session), then TLOAD",
        "TLOAD right after TPREFETCH_ASYNC",
    ),
):
    other_rule(
        _id,
        _what,
        example=f"{{{_good}|{_bad}}}",
        unrun="nothing breaks it",
        evidence="device",
        why="A matter of order between contexts: not decided per call.",
        enforced=False,
    )

# --- the same in text, where context, session and event are values ------------------------------------------------


def make_context(m: Machine, workspace: Any) -> PrefetchAsyncContext:
    """A context with a session of its own."""
    return PrefetchAsyncContext(workspace)


def prefetch_in_context(m: Machine, src: ViewOperand, ctx: PrefetchAsyncContext | AsyncSession) -> AsyncEvent:
    """Submit the prefetch; no architectural effect but its event. C++ names the session of its context."""
    src.check_bounds()
    ctx = PrefetchAsyncContext(m, ctx) if isinstance(ctx, AsyncSession) else ctx
    return prefetch_async(src, ctx, m.target)


def session_of(m: Machine, ctx: PrefetchAsyncContext) -> AsyncSession:
    """The session of a context."""
    return ctx.session


_TEXT = "PTOAS 2026-08 PTOOps.td; load-store 10"

instruction(
    Instr(
        "make_prefetch_async_context",
        "make_prefetch_async_context",
        "A context of prefetches, made of a workspace in global memory.",
        (ptr("workspace"),),
        pipe=Pipe.S,
        run=make_context,
        form=grammar("~( %workspace : T(workspace) ) {} -> R", in_python=False),
        source=_TEXT,
    )
)
instruction(
    Instr(
        "prefetch_async",
        "prefetch_async",
        "Prefetch global memory into the L2 cache in the background; gives the event.",
        (view("src"), handle("ctx")),
        pipe=Pipe.S,
        run=prefetch_in_context,
        order=_QUEUED,
        form=grammar("~( %src , %ctx : T(src) , T(ctx) ) {} -> R", newest="tprefetch_async", in_python=False),
        source=_TEXT,
    )
)
instruction(
    Instr(
        "get_prefetch_async_session",
        "get_prefetch_async_session",
        "The session of a prefetch context.",
        (handle("ctx"),),
        pipe=Pipe.S,
        run=session_of,
        form=grammar("%ctx {} : T(ctx) -> R", in_python=False),
        source=_TEXT,
    )
)
