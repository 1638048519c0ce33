"""Functions of a kernel that are no instructions, events, and TSYNC, which waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ptokit.diagnostics import DiagnosticError, lookup
from ptokit.ir import Op, Value
from ptokit.ir.facts import instr_of
from ptokit.ir.functions import assume as keep
from ptokit.isa.numerics.quant import Word
from ptokit.isa.order.sync_rules import between_cores, tag_pipe
from ptokit.isa.site import Info, ScalarInfo, Site, TileInfo
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import EVENT_ID_COUNT, SECOND_CORE, BLayout, Layout, Pipe, SLayout, TileType
from ptokit.types.tensor import ConvState, conv_tile
from ptokit.types.tile import TileSpec
from ptokit.types.values import F32, I1, I64, INDEX
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .rules import refusal
from .scalar import Scalar, binary, cast, common_type, integer, materialize, number, number_type, plain
from .tensors import GlobalTensor, Partition
from .tiles import Tile
from .trace import Trace, current

# Functions that choose between numbers or round them: minimum, maximum, cdiv, select.


def _extreme(name: str, what: str, choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if number_type(a) is None and number_type(b) is None:
        return choose(plain(a), plain(b))
    if isinstance(a, Scalar) and isinstance(b, Scalar) and a.value is b.value:
        return a
    if common_type(a, b, what).is_float:
        return binary(f"arith.{name}imumf", what, a, b)
    return binary(f"arith.{name}si", what, a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers; NaN if one is."""
    return _extreme("min", "pto.minimum", min, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers; NaN if one is."""
    return _extreme("max", "pto.maximum", max, a, b)


def cdiv(a: Any, b: Any) -> Any:
    """Quotient of two integers, rounded up."""
    if number_type(a) is None and number_type(b) is None:
        return -(-plain(a) // plain(b))
    return integer("arith.ceildivsi", "pto.cdiv", a, b)


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; both are computed."""
    if number_type(condition) is None:
        return plain(a if condition else b)
    if number_type(condition) != I1:
        kind = number_type(condition)
        raise refusal(rules.SCALAR, f"pto.select needs a condition, not {kind}", hint="compare it: x != 0")
    type = _selected_type(a, b)
    operands = {"condition": materialize(condition, I1), "true": materialize(a, type), "false": materialize(b, type)}
    return number(current("pto.select").emit("arith.select", operands, results=[type]).result)


def _selected_type(a: Any, b: Any) -> ScalarType:
    if number_type(a) is not None or number_type(b) is not None:
        return common_type(a, b, "pto.select")
    return F32 if isinstance(plain(a), float) or isinstance(plain(b), float) else INDEX


# Functions with C++ names for what tiles do to their storage, and the queries of the running block.


def _tile(what: str, name: str, value: Any) -> Tile:
    if not isinstance(value, Tile):
        raise refusal(rules.KIND, f"{name} of {what} is a tile, not {value!r}")
    return value


def TASSIGN(tile: Tile, addr: Any) -> None:
    """Bind a tile to a byte address of its buffer. A tile can be bound again; the object then means the new place."""
    _tile("TASSIGN(tile, addr)", "tile", tile).assign(addr)


def TRESHAPE(dst: Tile, src: Tile) -> None:
    """Let `dst` see the bytes of `src` with its own shape, layout and valid region; see also `Tile.reshape`."""
    what = "TRESHAPE(dst, src)"
    dst, src = _tile(what, "dst", dst), _tile(what, "src", src)
    op = current("TRESHAPE").emit("pto.treshape", {"src": src.value}, results=[dst.seen_spec()], hint=dst.name)
    dst.take_storage(op.result)


def TSUBVIEW(dst: Tile, src: Tile, row: Any, col: Any) -> None:
    """Let `dst` begin at element (row, col) of `src`, with its own shape and valid region; see also `Tile.subview`.

    As in C++ this binds the address only, `dst` counts its elements by its own rows and columns. So it is the window of
    `src` there where both have lines of one length, or `dst` has a single one. A column (in col_major tiles: a row)
    beyond the line counts on in the next one.
    """
    what = "TSUBVIEW(dst, src, row, col)"
    dst, src = _tile(what, "dst", dst), _tile(what, "src", src)
    kept = ("loc", "dtype", "blayout", "slayout", "fractal", "pad", "compact")
    differs = [name for name in kept if getattr(dst.spec, name) != getattr(src.spec, name)]
    if differs:
        raise refusal(
            rules.TILE,
            f"a part of {src!r} differs from {dst!r} in {' and '.join(differs)}",
            hint="location, element type and layout of a window are those of its source",
        )
    dst.see_part(src, row, col)


def SET_VALIDSHAPE(tile: Tile, rows: Any, cols: Any) -> None:
    """Set both valid dimensions of a tile, in elements; see `Tile.set_valid`."""
    _tile("SET_VALIDSHAPE(tile, rows, cols)", "tile", tile).set_valid(rows, cols)


def _query(name: str) -> Any:
    return cast(number(current(name).emit(f"pto.{name}", results=[I64]).result), INDEX)


def get_block_idx() -> Scalar:
    """Index of the running block, 0 .. blocks - 1."""
    return _query("get_block_idx")


def get_block_num() -> Scalar:
    """Number of blocks of the launch."""
    return _query("get_block_num")


def get_subblock_idx() -> Scalar:
    """Index of the vector sub-core in its cluster."""
    return _query("get_subblock_idx")


def get_subblock_num() -> Scalar:
    """Number of vector sub-cores in a cluster."""
    return _query("get_subblock_num")


def assume(*conditions: str) -> None:
    """What launches of the kernel keep: ``pto.assume("n % 16 == 0", "blocks <= 8", "x is y")``.

    Comparisons of parameters, ``blocks``, ``rank`` and ``ranks``, and ``x is y`` of arrays that are one, as texts;
    ``x is y[rank + 1]`` is the array of the next rank. A comparison with an array of integers holds for each of its
    elements: ``"0 <= tokens < n"``. A launch that breaks one is refused before
    anything runs (RUN-ASSUME), a proof takes them for granted. They are about the caller's numbers and cost nothing on
    a device; what the kernel computes is checked by ``assert``.
    """
    trace = current("assume")
    for text in conditions:
        if not isinstance(text, str):
            raise refusal(
                rules.KIND,
                "pto.assume takes texts about the kernel's parameters",
                hint='pto.assume("n % 16 == 0"); an assert checks what the kernel computes',
            )
    if trace.of_kernel and not trace.eager:
        keep(trace.function, conditions)


# Quantisation words of the fix-pipe, from what is in them.


def quant(scale: Any, zero: Any = 0, *, signed: bool = True, shift: Any = 1) -> Any:
    """The quantisation word of TSTORE, TMOV and TEXTRACT: ``pto.TSTORE(c, acc, pto.quant(0.125))``.

    | bits | field | counts for |
    |---|---|---|
    | 31..0 | ``scale`` as f32; of a word in a Scaling tile the upper 19 bits only | all but shifts |
    | 35..32 | ``shift`` - 1, with ``shift`` 1 to 16 | i32 to i16 |
    | 45..37 | ``zero``, 0 to 511, added after rounding | 8-bit results |
    | 46 | ``signed``: results are -128..127, else 0..255 | 8-bit results |

    The others are 0. A number gives an int. Arrays give an array of uint64, one word for each column, for a Scaling
    tile. Raises `DiagnosticError` (LANG-CALL) for a value that its field cannot hold, and for one that only a run
    knows. Source: load-store 6.2, move-gather-scatter 6.1.
    """
    if any(isinstance(value, Scalar) for value in (scale, zero, shift)):
        message = "the fields of a quantisation word are numbers that are known before the kernel runs"
        raise refusal(rules.CALL, message, hint="make the word outside of the kernel, and give it as an argument")
    try:
        words = Word.make(scale, zero, signed, shift)
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal(rules.CALL, f"quant: {error}") from None
    return int(words) if words.ndim == 0 else np.ascontiguousarray(words)


# Tiles of matrix products, each in the one layout that its buffer has.


def TileLeft(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Left operand of a matrix product in L0A, in the layout of the kernel's target (types-and-layouts 7)."""
    blayout = current("TileLeft").target.left_blayout
    return Tile(TileType.Left, dtype, rows, cols, blayout, valid_row, valid_col, SLayout.RowMajor, **more)


def TileRight(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Right operand of a matrix product in L0B."""
    return Tile(TileType.Right, dtype, rows, cols, BLayout.RowMajor, valid_row, valid_col, SLayout.ColMajor, **more)


def TileAcc(dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any) -> Tile:
    """Accumulator of a matrix product in L0C."""
    return Tile(TileType.Acc, dtype, rows, cols, BLayout.ColMajor, valid_row, valid_col, SLayout.RowMajor, 1024, **more)


def TileLeftScale(
    dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any
) -> Tile:
    """Block scales of a left operand (MX formats)."""
    return Tile(
        TileType.ScaleLeft, dtype, rows, cols, BLayout.RowMajor, valid_row, valid_col, SLayout.RowMajor, 32, **more
    )


def TileRightScale(
    dtype: DType, rows: int, cols: int, valid_row: Any = None, valid_col: Any = None, **more: Any
) -> Tile:
    """Block scales of a right operand (MX formats)."""
    return Tile(
        TileType.ScaleRight, dtype, rows, cols, BLayout.ColMajor, valid_row, valid_col, SLayout.ColMajor, 32, **more
    )


# Convolution tiles: the C++ template ``ConvTile`` (types-and-layouts 8).


def ConvTile(
    loc: TileType,
    dtype: DType,
    buffer_bytes: int | None,
    layout: Layout,
    shape: Sequence[int],
    *,
    addr: Any = None,
    state: ConvState | None = None,
) -> Tile:
    """A tile of 1 to 6 dimensions for convolutions; parameters in the order of the C++ template.

    ``layout``: NC1HWC0, NDC1HWC0, FRACTAL_Z or FRACTAL_Z_3D; ``shape``: outermost first, in elements, stored densely;
    ``buffer_bytes``: bytes of the buffer, None for as many as the shape needs; ``state``: the filter and the sizes that
    TIMG2COL takes patches with. As a tile it has one row: ``numpy()``
    gives it flat. Raises `DiagnosticError` (LANG-TILE).
    """
    try:
        if not isinstance(dtype, DType) or not isinstance(layout, Layout):
            raise ValueError(f"{dtype!r} and {layout!r} are not an element type and a layout")
        if not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(f"the sizes {tuple(shape)!r} are not all positive integers")
        spec = conv_tile(TileType(loc), dtype, layout, tuple(shape), buffer_bytes=buffer_bytes, state=state)
    except (ValueError, TypeError) as wrong:
        raise refusal(rules.TILE, f"ConvTile: {wrong}") from None
    tile = Tile.__new__(Tile)
    tile._allocate(spec, [None, None], addr)
    return tile


# Events: what an instruction returns, `Event` objects with flags of their own, and TSYNC, which waits for either.


class RecordEvent:
    """Handle of a recorded instruction. `TSYNC` orders what follows after it.

    An event is recorded as the operands that its instruction wrote, because that is what ``pto.tsync`` names. An
    instruction takes events as trailing arguments too: ``TADD(z, x, y, e0, e1)`` waits for them first.
    """

    def __init__(self, name: str, written: Sequence[Value], op: Op | None = None) -> None:
        self.name = name
        self.written = list(written)
        self.op = op

    def wait(self) -> None:
        """Same as ``TSYNC(event)``."""
        TSYNC(self)

    def __repr__(self) -> str:
        return f"<event of {self.name}>"


class _Counters:
    """Event ids in turn for every ordered pair of pipes, per kernel (memory-model-and-sync 5.1)."""

    def __init__(self) -> None:
        self._next: WeakKeyDictionary[Trace, dict[tuple[Pipe, Pipe], int]] = WeakKeyDictionary()

    def take(self, trace: Trace, pair: tuple[Pipe, Pipe]) -> int:
        """The next id of a pair; after seven comes zero."""
        counts = self._next.setdefault(trace, {})
        number = counts.get(pair, 0)
        counts[pair] = (number + 1) % EVENT_ID_COUNT
        return number


_COUNTERS = _Counters()


class Event(RecordEvent):
    """The library's ``Event<SrcOp, DstOp>``: a flag from the pipe of one operation to that of another.

    ``Event("TLOAD", "TADD")`` or ``Event["TLOAD", "TADD"]()``. The event id is the next of eight for the pair of pipes,
    fixed when the object is made; ``event_id`` chooses it. `Record` sets the flag after what the source pipe has been
    given, `Wait` (or `TSYNC`, or the event as a trailing argument) lets the destination pipe wait for it. Between
    operations of one pipe, waiting is a barrier, on a5 for MTE2 and MTE3 only.

    Raises `DiagnosticError`: EVENT-PIPE, EVENT-ORDER, EVENT-XCORE, FLAG-RANGE.
    """

    def __init__(self, src_op: Any, dst_op: Any, event_id: int | None = None) -> None:
        trace = current("Event")
        super().__init__("Event", [])
        self.src_op, self.dst_op = _tag(src_op), _tag(dst_op)
        self.src_pipe, self.dst_pipe = _pipe(self.src_op), _pipe(self.dst_op)
        self.crosses = between_cores(self.src_op, self.dst_pipe, trace.target)
        if self.crosses and event_id is None:
            message = f"an event from {self.src_op} to {self.dst_op} crosses cores and needs an id of its own"
            raise _refused("EVENT-XCORE", message, hint=f'Event("{self.src_op}", "{self.dst_op}", 0)')
        if event_id is not None and not 0 <= event_id < EVENT_ID_COUNT and not self.crosses:
            raise _refused("FLAG-RANGE", f"event id {event_id} is outside 0..{EVENT_ID_COUNT - 1}")
        pair = (self.src_pipe, self.dst_pipe)
        self.event_id = _COUNTERS.take(trace, pair) if event_id is None else event_id
        self.recorded = False

    def __class_getitem__(cls, ops: tuple[Any, Any]) -> Callable[..., Event]:
        return lambda event_id=None: cls(*ops, event_id)

    def Record(self, handle: RecordEvent | None = None) -> Event:
        """Set the flag once the source pipe has done what it was given; ``handle``: the instruction meant."""
        trace = current("Event.Record")
        if handle is not None and handle.op is not None:
            pipe = pipe_of(handle.op, trace.target)
            if pipe is not None and pipe is not self.src_pipe:
                message = f"{handle.name} runs on {pipe.text}, the event records {self.src_op} on {self.src_pipe.text}"
                raise _refused("EVENT-PIPE", message)
        self.recorded = True
        if self.crosses:
            self._signal(trace)
        elif self.src_pipe is not self.dst_pipe and self._has_flag(trace.target):
            trace.emit("pto.set_flag", {}, self._flag())
        return self

    Init = Record

    def Wait(self) -> None:
        """Let the destination pipe wait for the flag."""
        trace = current("Event.Wait")
        if not self.recorded:
            raise _refused("EVENT-ORDER", f"{self!r} is waited for before it is recorded", hint="call Record() first")
        if self.crosses:
            trace.emit("pto.sync.wait", {}, {"pipe": self.dst_pipe, "event_id": self.event_id})
        elif self.src_pipe is self.dst_pipe:
            if _has_barrier(trace.target, self.src_pipe):
                trace.emit("pto.barrier", {}, {"pipe": self.src_pipe})
        elif self._has_flag(trace.target):
            trace.emit("pto.wait_flag", {}, self._flag())
        else:
            trace.emit("pto.barrier", {}, {"pipe": Pipe.ALL})

    def wait(self) -> None:
        """Same as `Wait`."""
        self.Wait()

    def _has_flag(self, target: Target) -> bool:
        """True if the event is a flag; elsewhere all pipes wait where it is waited for."""
        pipes = target.event_pipes
        return pipes is None or {self.src_pipe.name, self.dst_pipe.name} <= pipes

    def _flag(self) -> dict[str, Any]:
        return {"src_pipe": self.src_pipe, "dst_pipe": self.dst_pipe, "event_id": self.event_id}

    def _signal(self, trace: Trace) -> None:
        ids = [self.event_id, self.event_id + SECOND_CORE] if trace.target.flags_name_subcore else [self.event_id]
        for id in ids:
            trace.emit("pto.sync.set", {}, {"pipe": self.src_pipe, "event_id": id, "ffts_mode": 2})

    def __repr__(self) -> str:
        return f"<Event {self.src_op} to {self.dst_op}, id {self.event_id}>"


def pipe_of(op: Op, target: Target) -> Pipe | None:
    """The pipe that executes a recorded instruction."""
    instr = instr_of(op)
    if instr is None:
        return None
    infos: dict[str, Info | None] = {}
    for operand in instr.operands:
        value = op.get(operand.name)
        if value is None:
            infos[operand.name] = None
        elif isinstance(value.type, TileSpec):
            infos[operand.name] = TileInfo.static(value.shown, value.type)
        else:
            infos[operand.name] = ScalarInfo(value.shown, str(value.type))
    return instr.pipe_of(Site(instr, target, infos, op.attrs))


def _tag(op: Any) -> str:
    """An operation tag: a string, or the function of an instruction."""
    return op if isinstance(op, str) else getattr(op, "__name__", repr(op))


def _pipe(tag: str) -> Pipe:
    pipe = tag_pipe(tag)
    if pipe is None:
        hint = "instructions of several pipes have several tags: TSTORE_VEC, TMOV_M2L, …"
        raise _refused("EVENT-PIPE", f"{tag} is no operation with one pipe", hint=hint)
    return pipe


def _refused(rule: str, message: str, *, hint: str | None = None) -> DiagnosticError:
    return refusal(lookup(rule), message, hint=hint)


def TSYNC(*events: Any, op: Any = None) -> None:
    """Wait for the instructions of the given events, or those that wrote the given tiles and views.

    ``TSYNC(op="TLOAD")`` is the library's ``TSYNC<Op>()``: a barrier on the pipe of an operation. Without anything to
    wait for it orders nothing (TSYNC-EMPTY). Raises `DiagnosticError` (LANG-SYNC, TSYNC-A5-01).
    """
    trace = current("TSYNC")
    if op is not None:
        _barrier(trace, op)
        if not events:
            return
    written: dict[Value, None] = {}
    waited = False
    for event in events:
        if isinstance(event, Event):
            event.Wait()
            waited = True
        elif isinstance(event, RecordEvent):
            written.update(dict.fromkeys(event.written))
        elif isinstance(event, Tile | Partition):
            written[event.value] = None
        elif isinstance(event, GlobalTensor):
            written[event.whole().value] = None
        else:
            raise refusal(rules.SYNC, f"TSYNC waits for events, tiles and views, not {event!r}")
    if written or not waited:
        trace.emit("pto.tsync", {"events": list(written)})


def _has_barrier(target: Target, pipe: Pipe) -> bool:
    return target.barrier_pipes is None or pipe.name in target.barrier_pipes


def _barrier(trace: Trace, op: Any) -> None:
    """TSYNC<Op>: some libraries have it for some pipes only, and for all of them together."""
    pipe = Pipe.ALL if op is Pipe.ALL else op if isinstance(op, Pipe) else _pipe(_tag(op))
    if pipe is not Pipe.ALL and not _has_barrier(trace.target, pipe):
        had = ", ".join(f"PIPE_{name}" for name in sorted(trace.target.barrier_pipes or ()))
        message = f"TSYNC<{_tag(op)}> is a barrier on {pipe.text}; {trace.target.name} has it for {had} and PIPE_ALL"
        raise _refused("TSYNC-A5-01", message)
    trace.emit("pto.barrier", {}, {"pipe": pipe})
