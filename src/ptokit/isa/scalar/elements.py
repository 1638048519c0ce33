"""Single elements of tiles, and a stop (assembly 6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, define, family
from ptokit.types.codecs import decode, encode
from ptokit.types.enums import Pipe, TileType

from ..checks.operands import Message
from ..checks.tile_types import TILE_09
from ..element_positions import kind
from ..machine import Machine, TileOperand
from ..meaning.words import Refusal, Single
from ..numerics.scalars import element
from ..site import Site, TileInfo
from ..table import Access, Instr, Kind, Operand, Role, grammar, index, inout, instruction, scalar, src
from ..unknown import known

rule = family("types-and-layouts 5 (derived)")


def _tile(o: Site) -> TileInfo:
    return o.tiles[0]


def _vec(o: Site) -> Message:
    t = _tile(o)
    return (
        f"a {t.loc.text} tile; single elements are read and written in vec tiles" if t.loc is not TileType.Vec else None
    )


@rule("ELEM-01", "TSETVAL(Tile(Vec, f32, 16, 64), {0|-1}, 1.0)", evidence="device")
def ELEM_01(o: Site) -> Message:
    """The offset of a single element lies inside the tile."""
    t, offset = _tile(o), o.offset.value
    if t.dtype.packed:
        return f"the tile has element type {t.dtype}, whose elements are not bytes"
    if offset < 0 or offset >= t.spec.numel:
        return f"the offset is {offset}; the tile has {t.spec.numel} elements"
    return None


RULES = (
    replace(TILE_09, check=_vec),
    ELEM_01,
)


def _places(m: Machine, tile: TileOperand, offset: Any) -> tuple[np.ndarray, Any]:
    """The elements in storage order, (blocks, elements), and the offset of each block."""
    elements = tile.raw().view(kind(tile))
    if not isinstance(offset, np.ndarray):
        return elements, offset
    at = offset.reshape(-1).astype(np.int64)
    bad = (at < 0) | (at >= elements.shape[1])
    if bad.any():
        block = int(np.argmax(bad))
        m.refuse("ELEM-01", f"the offset is {at[block]}; the tile has {elements.shape[1]} elements", block=block)
    return elements, at


def _get(m: Machine, src: TileOperand, offset: Any) -> Any:
    elements, at = _places(m, src, offset)
    values = elements[np.arange(len(elements)), at]
    if src.spec.dtype.value is None:
        values = decode(src.spec.dtype, values)
    if not src.spec.dtype.is_integer:
        values = values.astype(np.float64)
    return values[0].item() if len(values) == 1 else values[:, None]


def _set(m: Machine, dst: TileOperand, offset: Any, value: Any) -> None:
    elements, at = _places(m, dst, offset)
    dtype = dst.spec.dtype
    code = encode(dtype, np.asarray(value, np.float64)) if dtype.value is None else element(dtype, value)
    elements[np.arange(len(elements)), at] = np.reshape(code, -1)


def _footprint(o: Site) -> Iterator[Access]:
    t, operand, offset = _tile(o), o.instr.operands[0], o.offset.value
    name, write = operand.name, operand.role is not Role.IN
    if known(offset) and t.row_major and not t.boxed:
        yield Access(name, write, 1, 1, offset // t.cols, offset % t.cols)
    else:
        yield Access(name, write, t.rows, t.cols)


TSETVAL = instruction(
    Instr(
        "TSETVAL",
        "tsetval",
        "Set one element of a tile; the offset counts elements.",
        (inout(), index("offset"), scalar("value")),
        pipe=Pipe.S,
        rules=RULES,
        meaning=Single("dst", "value"),
        run=_set,
        footprint=_footprint,
        source="assembly 6.2",
    )
)
TGETVAL = instruction(
    Instr(
        "TGETVAL",
        "tgetval",
        "Read one element of a tile; the offset counts elements.",
        (src(), index("offset")),
        pipe=Pipe.S,
        rules=RULES,
        meaning=Single("src"),
        run=_get,
        footprint=_footprint,
        per_block=True,
        produces=(Operand("value", Role.OUT, Kind.SCALAR),),
        source="assembly 6.2",
        form=grammar("ins ~( %src , %offset {} : T(src) , T(offset) ) outs : R"),
    )
)

define(
    "RUN-TRAP",
    "A kernel does not reach a trap.",
    scope=Scope.RUN,
    source="assembly 6.2",
    example="""
        n: int = {0|1}
        if n > 0:
            TRAP()
    """,
)


_STOPPED = Refusal("RUN-TRAP", "the kernel has stopped itself (pto.trap)")

TRAP = instruction(
    Instr("TRAP", "trap", "Stop the kernel.", pipe=Pipe.S, meaning=_STOPPED, source="assembly 6.2", form=grammar("{}"))
)
