"""Types of SSA values: scalars, pointers, views, tiles and opaque handles, and as Python writes them (assembly 3).

All are frozen, compare structurally and print as canonical `.pto` text with ``str``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptokit.records import dataclass

from .dtypes import DType
from .enums import BLayout, CompactMode, PadValue, SLayout, TileType
from .tile import CUSTOM_PAD, DYNAMIC, TileSpec

# Types of SSA values: scalars, pointers, views, tiles and opaque handles (assembly section 3).


@dataclass(frozen=True, slots=True)
class Scalar:
    """``index``, ``i1``, ``i32``, ``ui8``, ``f16`` …; ``name`` is the canonical text, ``i32`` of ``si32`` too."""

    name: str
    signed: bool = False  # an integer that text says is signed

    @property
    def is_float(self) -> bool:
        """True for floating-point types."""
        return not self.is_integer

    @property
    def is_integer(self) -> bool:
        """True for integers, index and i1."""
        return self.name[0] in "ius"

    def __str__(self) -> str:
        return f"s{self.name}" if self.signed else self.name


INDEX = Scalar("index")
I1 = Scalar("i1")
I64 = Scalar("i64")
F32 = Scalar("f32")
F64 = Scalar("f64")


@dataclass(frozen=True, slots=True, eq=False)
class Ptr:
    """``!pto.ptr<f32>``: pointer to global memory, or with a space to an on-chip buffer.

    ``!pto.ptr<f32, gm>`` is the same type, and is printed as it was written.
    """

    dtype: DType
    space: str | None = None
    signed: bool = False  # elements that text says are signed: ``si32``

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ptr) or self.dtype is not other.dtype or self.signed is not other.signed:
            return False
        return (self.space or "gm") == (other.space or "gm")

    def __hash__(self) -> int:
        return hash((self.dtype, self.space or "gm"))

    def __str__(self) -> str:
        space = f", {self.space}" if self.space else ""
        return f"!pto.ptr<{element_text(self.dtype, self.signed)}{space}>"


def element_text(dtype: DType, signed: bool) -> str:
    """An element type as text; of integers that text says are signed ``si32``, where ``i32`` leaves the sign open."""
    return f"s{dtype.text}" if signed else dtype.text


def _dims(dims: tuple[int, ...], element: str) -> str:
    return "x".join([*("?" if d == DYNAMIC else str(d) for d in dims), element])


@dataclass(frozen=True, slots=True)
class TensorView:
    """``!pto.tensor_view<?x64xf16>``: a whole tensor in global memory; `DYNAMIC` prints as ``?``."""

    dims: tuple[int, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"!pto.tensor_view<{_dims(self.dims, self.dtype.text)}>"


@dataclass(frozen=True, slots=True)
class PartitionView:
    """``!pto.partition_tensor_view<16x64xf16>``: the slice of a tensor an instruction transfers."""

    dims: tuple[int, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"!pto.partition_tensor_view<{_dims(self.dims, self.dtype.text)}>"


@dataclass(frozen=True, slots=True)
class MemRef:
    """``memref<16x?xf32, strided<[?, 1], offset: 4>>``: a tensor in global memory with its strides (assembly 3.1).

    ``strides`` and ``offset`` count elements; no strides: packed, the last dimension innermost. ``space`` is empty or
    ``gm``. Memrefs of other memory, or with an affine map, are `Opaque`.
    """

    dims: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...] | None = None
    offset: int = 0
    space: str = ""

    def strides_of(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        """The stated strides, or those of a packed tensor of these sizes; `DYNAMIC` where a size below is."""
        if self.strides is not None:
            return self.strides
        out: list[int] = []
        step = 1
        for size in reversed(dims):
            out.append(step)
            step = DYNAMIC if DYNAMIC in (step, size) else step * size
        return tuple(reversed(out))

    def __str__(self) -> str:
        parts = [_dims(self.dims, self.dtype.text)]
        if self.strides is not None:
            offset = "" if self.offset == 0 else f", offset: {_number(self.offset)}"
            parts.append(f"strided<[{', '.join(map(_number, self.strides))}]{offset}>")
        if self.space:
            parts.append(f"#pto.address_space<{self.space}>")
        return f"memref<{', '.join(parts)}>"


def _number(size: int) -> str:
    return "?" if size == DYNAMIC else str(size)


@dataclass(frozen=True, slots=True)
class EventIdArray:
    """``!pto.eventid_array<N>``: local array of event numbers."""

    size: int

    def __str__(self) -> str:
        return f"!pto.eventid_array<{self.size}>"


@dataclass(frozen=True, slots=True)
class MultiTile:
    """``!pto.multi_tile_buf<!pto.tile_buf<..>, count=2>``: several slots that each hold a tile of one type."""

    slot: TileSpec
    count: int

    def __str__(self) -> str:
        return f"!pto.multi_tile_buf<{self.slot}, count={self.count}>"


@dataclass(frozen=True, slots=True)
class LocalArray:
    """``!pto.local_array<4x2xi32>``: numbers on the stack of the scalar unit."""

    dims: tuple[int, ...]
    element: Scalar

    def __str__(self) -> str:
        return f"!pto.local_array<{_dims(self.dims, self.element.name)}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """``!pto.struct<i32, !pto.struct<f16, i8>>``: a record on the stack of the scalar unit."""

    fields: tuple[Scalar | Struct, ...]

    def __str__(self) -> str:
        return f"!pto.struct<{', '.join(map(str, self.fields))}>"

    def at(self, path: Sequence[int]) -> Scalar | Struct | None:
        """The type of the field that a path of positions leads to; None if it leads nowhere."""
        found: Scalar | Struct = self
        for position in path:
            if not isinstance(found, Struct) or not 0 <= position < len(found.fields):
                return None
            found = found.fields[position]
        return found


@dataclass(frozen=True, slots=True)
class Group:
    """``!pto.group<N>``: the devices that take part in a collective operation; the number may be left out."""

    size: int | None = None

    def __str__(self) -> str:
        return "!pto.group" if self.size is None else f"!pto.group<{self.size}>"


@dataclass(frozen=True, slots=True)
class VReg:
    """``!pto.vreg<64xf32>``: a vector register of 256 bytes (vector-path 1.2)."""

    lanes: int
    dtype: DType
    signed: bool = False  # elements that text says are signed

    def __str__(self) -> str:
        return f"!pto.vreg<{self.lanes}x{element_text(self.dtype, self.signed)}>"


@dataclass(frozen=True, slots=True)
class Mask:
    """``!pto.mask<b32>``: a predicate register of 256 bits, one for each byte of a vector register.

    ``bits`` is the granularity, 8, 16 or 32; 0 where it is not stated (``!pto.mask``) and each use decides.
    """

    bits: int = 0

    def __str__(self) -> str:
        return f"!pto.mask<b{self.bits}>" if self.bits else "!pto.mask"


@dataclass(frozen=True, slots=True)
class Align:
    """``!pto.align``: the state of a stream of unaligned vector accesses."""

    def __str__(self) -> str:
        return "!pto.align"


@dataclass(frozen=True, slots=True)
class LogicalVector:
    """``!pto.vmi.vreg<128xf32>``: a vector of any length, whose registers a compiler chooses.

    ``layout`` is how it lies in them, such as ``#pto.vmi.layout<deinterleaved = 2>``; empty where that is open.
    """

    lanes: int
    dtype: DType
    layout: str = ""
    signed: bool = False  # elements that text says are signed

    def __str__(self) -> str:
        inner = element_text(self.dtype, self.signed)
        return f"!pto.vmi.vreg<{self.lanes}x{inner}{self.layout and ', '}{self.layout}>"


@dataclass(frozen=True, slots=True)
class LogicalMask:
    """``!pto.vmi.mask<128xpred>``: a predicate for each lane of a logical vector.

    ``granularity`` is ``pred``, or ``b8``, ``b16``, ``b32`` where the registers are chosen.
    """

    lanes: int
    granularity: str = "pred"
    layout: str = ""

    def __str__(self) -> str:
        return f"!pto.vmi.mask<{self.lanes}x{self.granularity}{self.layout and ', '}{self.layout}>"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A type ptokit carries without looking inside, as written: ``!pto.pipe``, ``memref<…>`` …"""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class FunctionType:
    """``(A, B) -> C``."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        return f"({inputs}) -> {result_list(self.results)}"


def result_list(types: Sequence[Type]) -> str:
    """Types after an arrow: one stands alone, unless it is a function type."""
    listed = ", ".join(map(str, types))
    return listed if len(types) == 1 and not isinstance(types[0], FunctionType) else f"({listed})"


Register = VReg | Mask | Align
Type = (
    Scalar
    | Ptr
    | TensorView
    | PartitionView
    | MemRef
    | TileSpec
    | EventIdArray
    | MultiTile
    | LocalArray
    | Struct
    | Group
    | Register
    | LogicalVector
    | LogicalMask
    | Opaque
    | FunctionType
)


def is_memref(type: Type) -> bool:
    """True for memrefs of any memory and layout; those that are not of global memory are lowered tiles."""
    return isinstance(type, MemRef) or (isinstance(type, Opaque) and type.text.startswith("memref<"))


# Types as a kernel in Python writes them: for findings, which speak the language of the program.


_MADE_BY = {
    (TileType.Right, "Zn", 512): "TileRight",
    (TileType.Acc, "Nz", 1024): "TileAcc",
    (TileType.ScaleLeft, "Zz", 32): "TileLeftScale",
    (TileType.ScaleRight, "Nn", 32): "TileRightScale",
}
"""Functions that make a tile of a place, layout and fractal size."""


def in_python(type: Any) -> str:
    """A type as a kernel writes it: ``Tile(Vec, f32, 16, 1, ColMajor)``; in words where kernels do not write it."""
    match type:
        case TileSpec():
            return _tile(type)
        case Ptr():
            return f"Ptr[{type.dtype}]" if type.space in (None, "gm") else f"a pointer to {type.dtype} in {type.space}"
        case Scalar():
            return "int" if type.name == "index" else "bool" if type.name == "i1" else type.name
        case TensorView() | PartitionView():
            return f"GlobalTensor({_sizes(type.dims)}) of {type.dtype}"
        case VReg():
            return f"a register of {type.lanes} {type.dtype}"
        case Mask():
            return f"a predicate of b{type.bits}" if type.bits else "a predicate"
        case Align():
            return "a stream of unaligned accesses"
        case LogicalVector():
            return f"a logical vector of {type.lanes} {type.dtype}"
        case LogicalMask():
            return f"a logical predicate of {type.lanes} lanes"
        case MultiTile():
            return f"{type.count} of {_tile(type.slot)}"
        case LocalArray():
            return f"an array ({_sizes(type.dims)}) of {type.element.name}"
        case Struct():
            return "a record"
    return str(type)


def _sizes(dims: tuple[int, ...]) -> str:
    return ", ".join("?" if size == DYNAMIC else str(size) for size in dims)


def _tile(spec: TileSpec) -> str:
    plain = spec.loc is TileType.Vec or not spec.boxed
    maker = None if plain else _MADE_BY.get((spec.loc, spec.layout_name, spec.fractal))
    words = [] if maker else [spec.loc.name]
    words += [spec.dtype.name, str(spec.rows), str(spec.cols)]
    if not maker and spec.blayout is not BLayout.RowMajor:
        words.append(spec.blayout.name)
    for name, valid, size in (("valid_row", spec.valid_row, spec.rows), ("valid_col", spec.valid_col, spec.cols)):
        if valid != size:
            words.append(f"{name}={'DYNAMIC' if valid == DYNAMIC else valid}")
    if not maker and spec.slayout is not SLayout.NoneBox:
        words.append(f"slayout={spec.slayout.name}")
    if not maker and spec.fractal != 512:
        words.append(f"fractal={spec.fractal}")
    if spec.pad:
        custom = spec.pad >= CUSTOM_PAD
        words.append(f"pad={f'custom_pad({spec.pad - CUSTOM_PAD:#x})' if custom else PadValue(spec.pad).name}")
    if spec.compact is not CompactMode.Null:
        words.append(f"compact={spec.compact.name}")
    return f"{maker or 'Tile'}({', '.join(words)})"
