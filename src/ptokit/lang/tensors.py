"""Global memory in a kernel: pointers, GlobalTensor, slices of it, helpers for shapes and strides, and `TPipe`.

The instructions on it (TPUSH, TPOP, TFREE, TALLOC) are those of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptokit.ir import Value
from ptokit.types import tensor
from ptokit.types.dtypes import DType
from ptokit.types.enums import Direction, Layout
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import INDEX, Opaque, PartitionView, TensorView
from ptokit.types.values import Ptr as PtrType
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .eager import Index, fixed
from .mistakes import shown
from .rules import here, refusal
from .scalar import Scalar, is_number, materialize, number, plain
from .trace import current

# Global memory in a kernel: pointers, GlobalTensor, slices of it, and the C++ helpers for shapes and strides.


class Indexed:
    """What has elements or parts by number, and no last one that Python could ask for."""

    __slots__ = ()

    __iter__ = None  # Python would ask for one element after the other without end


class Pointer(Indexed):
    """A pointer to memory: ``p + n`` advances by elements, ``p[i]`` reads and ``p[i] = x`` writes one."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def dtype(self) -> DType:
        """Element type."""
        type = self.value.type
        assert isinstance(type, PtrType)
        return type.dtype

    @property
    def space(self) -> str:
        """The memory it points to: ``gm``, or an on-chip buffer such as ``ub``."""
        type = self.value.type
        assert isinstance(type, PtrType)
        return type.space or "gm"

    def __add__(self, offset: Any) -> Pointer:
        if not is_number(offset):
            message = f"a pointer moves by a number of elements, not by {shown(offset)}"
            raise refusal(rules.KIND, message, hint="tiles are added: load both with TLOAD, then pto.TADD")
        operands = {"ptr": self.value, "offset": materialize(offset, INDEX)}
        return Pointer(current("pointer arithmetic").emit("pto.addptr", operands, results=[self.value.type]).result)

    def __getitem__(self, index: Any) -> Scalar:
        if isinstance(index, slice | tuple):
            message = "a pointer has single elements, x[i], and no slices"
            raise refusal(rules.KIND, message, hint="pto.GlobalTensor(x, shape) has slices, which TLOAD takes")
        operands = {"ptr": self.value, "index": materialize(index, INDEX)}
        op = current("a scalar load").emit("pto.load_scalar", operands, results=[ScalarType(self.dtype.text)])
        return number(op.result)

    def __setitem__(self, index: Any, value: Any) -> None:
        operands = {"value": materialize(value, ScalarType(self.dtype.text)), "ptr": self.value}
        current("a scalar store").emit("pto.store_scalar", {**operands, "index": materialize(index, INDEX)})

    def __repr__(self) -> str:
        return f"<pointer {self.value.shown} to {self.dtype}>"


class Shape(tuple[Any, ...]):
    """Sizes of a tensor in elements, outermost first: ``Shape(1, 1, 1, rows, 64)``."""

    def __new__(cls, *sizes: Any) -> Shape:
        return super().__new__(cls, sizes)


class Stride(tuple[Any, ...]):
    """Strides of a tensor in elements, outermost first."""

    def __new__(cls, *strides: Any) -> Stride:
        return super().__new__(cls, strides)


def BaseShape2D(dtype: DType, rows: Any, cols: Any, layout: Layout = Layout.ND) -> Stride:
    """Strides of a packed 2-D tensor in a layout (types-and-layouts 9.2)."""
    try:
        return Stride(*tensor.base_shape_2d(dtype, rows, cols, layout))
    except ValueError as error:
        raise refusal(rules.VIEW, str(error)) from None


def TileShape2D(dtype: DType, rows: Any, cols: Any, layout: Layout = Layout.ND) -> Shape:
    """Shape of a 2-D tensor in a layout (types-and-layouts 9.2)."""
    if layout is Layout.NZ and (isinstance(rows, Scalar) or isinstance(cols, Scalar)):
        c0 = 32 // dtype.size
        return Shape(1, cols // c0, rows // 16, 16, c0)
    try:
        return Shape(*tensor.tile_shape_2d(dtype, rows, cols, layout))
    except ValueError as error:
        raise refusal(rules.VIEW, str(error)) from None


def _sizes(values: Any, what: str) -> tuple[Any, ...]:
    given = tuple(values) if isinstance(values, Sequence) else (values,)
    items = tuple(v if isinstance(v, Index) else plain(v) for v in given)
    for item in items:
        if not is_number(item) or isinstance(item, float) or (isinstance(item, Scalar) and item.type.is_float):
            raise refusal(rules.VIEW, f"{what} needs integers, not {item!r}")
    return items


def _dims(sizes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(size if fixed(size) else DYNAMIC for size in sizes)


def _group(sizes: Sequence[Any]) -> list[Value]:
    return [materialize(size, INDEX) for size in sizes]


class GlobalTensor(Indexed):
    """A tensor in global memory: pointer, shape and strides in elements (1 to 5 dimensions), layout.

    Without strides the tensor is packed, last dimension fastest. Sizes and strides are Python integers or traced ones.
    Slicing (``g[r:r + 64, 0:128]``) or `partition` gives the part that an instruction moves; a whole GlobalTensor
    is all of it. Nothing is moved or copied. An element type in place of the pointer declares a packed
    tensor that gets its memory from an instruction: TALLOC or TPOP. Raises `DiagnosticError` (LANG-VIEW, LANG-KIND).
    """

    def __init__(self, ptr: Pointer | DType, shape: Any, strides: Any = None, layout: Layout = Layout.ND) -> None:
        trace = current("GlobalTensor")
        if isinstance(ptr, DType):
            self._declare(ptr, shape, strides, layout)
            return
        ptr = trace.pointer(ptr)
        if not isinstance(ptr, Pointer):
            name = ptr.value.shown if isinstance(ptr, Scalar) else "x"
            hint = f"a parameter that is an array has the annotation {name}: pto.Ptr[pto.f32]"
            raise refusal(rules.KIND, f"GlobalTensor needs a pointer, not {shown(ptr)}", hint=hint)
        if not isinstance(layout, Layout):
            raise refusal(rules.VIEW, f"{layout!r} is not a layout", hint="pto.Layout.ND, DN, NZ, …")
        self.ptr: Pointer | None = ptr
        self.shape = _sizes(shape, "the shape of a GlobalTensor")
        if strides is not None and not isinstance(strides, Sequence):
            message = f"the strides of a GlobalTensor are a tuple, one for each dimension, not {shown(strides)}"
            raise refusal(rules.VIEW, message, hint="its sizes are one argument: (rows, cols)")
        self.strides = _packed(self.shape) if strides is None else _sizes(strides, "the strides of a GlobalTensor")
        self.layout = layout
        if not 1 <= len(self.shape) <= 5 or len(self.strides) != len(self.shape):
            raise refusal(
                rules.VIEW,
                f"a tensor has 1 to 5 sizes with one stride each, not {len(self.shape)} and {len(self.strides)}",
            )
        # Packed tensors of fewer than 5 dimensions are read as ND anyway; 5-D ones might be taken for NZ.
        implied = strides is None and layout is Layout.ND and len(self.shape) < 5
        op = trace.emit(
            "pto.make_tensor_view",
            {"ptr": ptr.value, "shape": _group(self.shape), "strides": _group(self.strides)},
            {} if implied else {"layout": layout},
            [TensorView(_dims(self.shape), ptr.dtype)],
        )
        self.dtype = ptr.dtype
        self.value = op.result

    def _declare(self, dtype: DType, shape: Any, strides: Any, layout: Layout) -> None:
        self.shape = _sizes(shape, "the shape of a GlobalTensor")
        if not all(map(fixed, self.shape)) or strides is not None or layout is not Layout.ND:
            message = "a tensor that gets its memory from an instruction is packed, and has sizes known in advance"
            raise refusal(rules.VIEW, message, hint="give the sizes as Python integers, and nothing else")
        self.dtype, self.ptr, self.strides, self.layout = dtype, None, _packed(self.shape), layout
        made = current("GlobalTensor").emit("pto.declare_global", results=[TensorView(_dims(self.shape), dtype)])
        self.value = made.result

    @property
    def placed(self) -> Value:
        """The tensor as the operand of an instruction that gives it its memory."""
        return self.value

    def partition(self, offsets: Any, sizes: Any) -> Partition:
        """The part that begins at `offsets` and has `sizes`, both in elements, one per dimension."""
        return Partition(self, _sizes(offsets, "offsets"), _sizes(sizes, "sizes"))

    def whole(self) -> Partition:
        """All of the tensor as a partition."""
        return Partition(self, (0,) * len(self.shape), self.shape)

    def __getitem__(self, key: Any) -> Partition:
        return self.whole()[key]

    def __repr__(self) -> str:
        return f"<GlobalTensor {_text(self.shape)} of {self.dtype}, strides {_text(self.strides)}, {self.layout.name}>"


class Partition(Indexed):
    """A slice of a `GlobalTensor`, as movement instructions take it. Slices of it are slices of the tensor."""

    def __init__(self, source: GlobalTensor, offsets: tuple[Any, ...], sizes: tuple[Any, ...]) -> None:
        if not len(offsets) == len(sizes) == len(source.shape):
            raise refusal(
                rules.VIEW,
                f"{len(offsets)} offsets and {len(sizes)} sizes do not fit a tensor of {len(source.shape)} dimensions",
            )
        self.source = source
        self.offsets = offsets
        self.shape = sizes
        self._location = here()
        self._value: Value | None = None

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.source.dtype

    @property
    def value(self) -> Value:
        """The view, recorded when an instruction first needs it."""
        trace = current("a slice of a GlobalTensor")
        if self._value is None or not trace.visible(self._value):
            op = trace.emit(
                "pto.partition_view",
                {"source": self.source.value, "offsets": _group(self.offsets), "sizes": _group(self.shape)},
                results=[PartitionView(_dims(self.shape), self.dtype)],
                location=self._location,
            )
            self._value = op.result
        return self._value

    def __getitem__(self, key: Any) -> Partition:
        keys = key if isinstance(key, tuple) else (key,)
        rank = len(self.shape)
        if len(keys) > rank:
            raise refusal(rules.VIEW, f"{len(keys)} slices for a tensor of {rank} dimensions")
        keys += (slice(None),) * (rank - len(keys))
        parts = [_part(k, size) for k, size in zip(keys, self.shape)]
        offsets = tuple(base + start for base, (start, _) in zip(self.offsets, parts))
        return Partition(self.source, offsets, tuple(size for _, size in parts))

    def __repr__(self) -> str:
        at = _text(self.offsets, ", ")
        return f"<slice {_text(self.shape)} of {self.dtype} at {at}>"


def _part(key: Any, size: Any) -> tuple[Any, Any]:
    """Offset and size of one dimension of a slice. Negative Python integers count from the end of a static size."""
    if not isinstance(key, slice):
        (start,) = _sizes(key, "an index of a tensor")
        return _from_start(start, size), 1
    if key.step is not None and (isinstance(key.step, Scalar) or key.step != 1):
        raise refusal(
            rules.VIEW, "slices of a tensor have a step of 1", hint="give the GlobalTensor other strides instead"
        )
    start, stop = _sizes((0 if key.start is None else key.start, size if key.stop is None else key.stop), "a slice")
    start, stop = _from_start(start, size), _from_start(stop, size)
    if isinstance(start, int) and start == 0:
        return 0, stop
    return start, stop - start


def _from_start(position: Any, size: Any) -> Any:
    if not fixed(position) or position >= 0:
        return position
    if not fixed(size):
        message = f"the position {position} counts from the end of a size that only the run knows"
        raise refusal(rules.VIEW, message, hint=f"write it as a difference: rows - {-position}")
    return size + position


def _packed(shape: Sequence[Any]) -> tuple[Any, ...]:
    strides: list[Any] = [1] if shape else []
    for size in reversed(shape[1:]):
        strides.insert(0, size * strides[0])
    return tuple(strides)


def _text(sizes: Sequence[Any], between: str = "x") -> str:
    return between.join(f"{s.value.shown}" if isinstance(s, Scalar) else str(s) for s in sizes)


# `TPipe`: a ring of slots through which the cube core and the vector cores of a block exchange tiles.


_BOTH = 3


class TPipe:
    """A pipe between cores: parameters of the C++ template ``TPipe`` in their order, then those of its constructor.

    It is made where both kinds of core come by, outside of their sections. ``FlagID``: the first of the flags that it
    uses, two for each direction, 0 to 15 for all pipes of a kernel. ``SlotSize``: bytes of one entry, halves of both
    vector cores together. ``LocalSlotNum``: slots in the consumer's buffer, where a pipe leads through global memory.
    ``gm_slot_buffer``: that memory, a pointer or the `GlobalTensor` of its first slot. ``c2v_consumer_buf``,
    ``v2c_consumer_buf``: byte addresses of the slots in UB and L1. Raises `DiagnosticError` (LANG-PIPE).
    """

    def __init__(
        self,
        FlagID: int,
        DirType: Direction,
        SlotSize: int,
        SlotNum: int,
        LocalSlotNum: int = 2,
        IsNoSplit: bool = False,
        *,
        gm_slot_buffer: Pointer | GlobalTensor | None = None,
        c2v_consumer_buf: Scalar | int | None = None,
        v2c_consumer_buf: Scalar | int | None = None,
    ) -> None:
        trace = current("TPipe")
        if not isinstance(DirType, Direction):
            raise _wrong(f"DirType is a pto.Direction, not {DirType!r}")
        mask = DirType & _BOTH
        through = gm_slot_buffer is not None
        if through and not isinstance(gm_slot_buffer, Pointer | GlobalTensor):
            raise _wrong(f"gm_slot_buffer is a pointer or a GlobalTensor, not {gm_slot_buffer!r}")
        if through != (not trace.target.pipes_are_local or DirType > _BOTH):
            where = f"{DirType.name} on {trace.target.name} {'lacks' if not through else 'has no'} gm_slot_buffer"
            raise _wrong(where, "the DIR_*_GM directions, and all pipes of a2a3, lead through global memory")
        attrs: dict[str, Any] = {
            "dir_mask": mask,
            "slot_size": _whole("SlotSize", SlotSize),
            "slot_num": _whole("SlotNum", SlotNum),
        }
        if through and not isinstance(gm_slot_buffer, GlobalTensor):
            attrs["local_slot_num"] = min(_whole("LocalSlotNum", LocalSlotNum), attrs["slot_num"])
        if IsNoSplit:
            attrs["nosplit"] = True
        attrs["flag_base"] = _whole("FlagID", FlagID)
        buffers = {
            name: _buffer(name, address, needed=bool(mask & bit), optional=isinstance(gm_slot_buffer, GlobalTensor))
            for bit, name, address in (
                (Direction.DIR_C2V, "c2v_consumer_buf", c2v_consumer_buf),
                (Direction.DIR_V2C, "v2c_consumer_buf", v2c_consumer_buf),
            )
        }
        given = [buffer for buffer in buffers.values() if buffer is not None]
        operands: dict[str, Value | list[Value] | None] = {}
        if gm_slot_buffer is not None:
            operands["gm"] = gm_slot_buffer.value
        operands |= dict(zip(("local", "peer"), given))
        name = "pto.initialize_l2g2l_pipe" if through else "pto.initialize_l2l_pipe"
        self.direction = DirType
        self._value = trace.emit(name, operands, attrs, [Opaque("!pto.pipe")]).result

    @property
    def value(self) -> Value:
        """The pipe as an operand."""
        return self._value

    def __repr__(self) -> str:
        return f"<TPipe {self._value.shown} {self.direction.name}>"


def _buffer(name: str, address: Any, *, needed: bool, optional: bool) -> Value | None:
    if address is None:
        if needed and not optional:
            raise _wrong(f"the pipe lacks {name}", "the byte address of the slots in the buffer of the core that pops")
        return None
    if not needed:
        raise _wrong(f"the pipe has {name}, and no entries that lead there")
    if not is_number(address) or isinstance(address, float):
        raise _wrong(f"{name} is a byte address, not {address!r}")
    return materialize(address, ScalarType("i32"))


def _whole(name: str, value: Any) -> int:
    value = plain(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(f"{name} of a pipe is a Python integer, not {value!r}")
    return value


def _wrong(message: str, hint: str | None = None) -> Any:
    return refusal(rules.PIPE, message, hint=hint)
