"""Functions with C++ names for what tiles do to their storage, and the queries of the running block."""

from __future__ import annotations

from typing import Any

from ptokit.types.values import I64, INDEX

from . import rules
from .scalar import Scalar, cast, number
from .tiles import Tile
from .trace import current
from .where import refusal


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
