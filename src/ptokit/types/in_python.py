"""Types as a kernel in Python writes them: for findings, which speak the language of the program."""

from __future__ import annotations

from typing import Any

from .enums import BLayout, CompactMode, PadValue, SLayout, TileType
from .tile import CUSTOM_PAD, DYNAMIC, TileSpec
from .values import (
    Align,
    LocalArray,
    LogicalMask,
    LogicalVector,
    Mask,
    MultiTile,
    PartitionView,
    Ptr,
    Scalar,
    Struct,
    TensorView,
    VReg,
)

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
