"""Single elements of tiles, and what a kernel says to its user (assembly 6.2; compute-layout-irregular 2.11)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, define, family
from ptokit.targets import A5
from ptokit.types.codecs import decode, encode
from ptokit.types.enums import Layout, Pipe, PrintFormat, TileType

from ..checks.compiling import Message
from ..checks.tile_types import TILE_09
from ..checks.tiles import assembler_rule
from ..machine import Machine, TileOperand
from ..meaning.moves import kind
from ..meaning.words import Refusal, Single
from ..numerics.arith import element
from ..operands import I6, F, names  # noqa: F401
from ..site import Site, TileInfo, known
from ..table import Access, Attr, Instr, Kind, Operand, Role, grammar, index, inout, instruction, scalar, src

# Single elements of tiles, and a stop (assembly 6.2).


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


# TPRINT and print: what a kernel says to its user (compute-layout-irregular 2.11, assembly 6.2).


_SOURCE = "compute-layout-irregular 2.11"
print_rule = family(_SOURCE)
_NUMBERS = {0: ("%8.4f", "%8d"), 1: ("%8.2f", "%8d"), 2: ("%10.6f", "%10d")}
_CONVERSION = re.compile(
    r"%%|%(?P<flags>[-+ #0]*)(?P<width>\d{0,3})(?P<precision>\.\d{0,3})?(?P<length>hh|h|ll|l)?"
    r"(?P<kind>[diuxXoeEfFgGc])"
)


PRINT_01 = print_rule("PRINT-01", "TPRINT(Tile(Vec, {f32|bf16}, 16, 64))", evidence="static_assert")(
    "TPRINT prints f32, f16 and integers of 8 to 32 bits.",
    "src.dtype in I6 | F",
    "{src} has element type {src.dtype}; TPRINT prints {names(I6 | F)}",
)


PRINT_02 = print_rule("PRINT-02", "TPRINT(Tile({Vec|Mat}, f32, 16, 64))", evidence="static_assert")(
    "TPRINT prints Vec, Acc and, but for a5, Mat tiles.",
    "src.loc in (Vec, Acc) or src.loc is Mat and not target.is_a(A5) if isinstance(src, TileInfo)",
    "{src} is a {src.loc.text} tile, which {target.name} does not print",
)


@assembler_rule(
    "PRINT-AS-01",
    """
        %a = pto.alloc_tile : !pto.tile_buf<{vec|mat}, 16x16xf32>
        pto.tprint ins(%a : !pto.tile_buf<{vec|mat}, 16x16xf32>)
    """,
    source="PTOAS 2026-08 PTO.cpp TPrintOp",
    covered_by=("PRINT-01", "PRINT-02"),
)
def PRINT_AS_01(o: Site) -> Message:
    """tprint prints views, vec tiles, and with a view to put them into also acc tiles, on a2a3 mat tiles."""
    if not isinstance(o.src, TileInfo):
        return f"{o:tmp} goes with tiles" if o.has("tmp") else None
    if o.src.dtype not in I6 | F:
        return f"{o:src} has element type {o.src.dtype}"
    more = (TileType.Acc, *(() if o.target.is_a(A5) else (TileType.Mat,))) if o.has("tmp") else ()
    if o.src.loc not in (TileType.Vec, *more):
        return f"src lies in {o.src.loc.text}"
    return f"{o:tmp} is no view" if isinstance(o.tmp, TileInfo) else None


@print_rule(
    "PRINT-04",
    """
        %n = arith.constant 3 : i32
        pto.print ins("{x = %d|%d %s}", %n : i32)
    """,
    source="assembly 6.2",
    evidence="ptokit",
)
def PRINT_04(o: Site) -> Message:
    """The format of print has one conversion, of a number."""
    found = [c for c in _CONVERSION.finditer(o.format or "") if c["kind"]]
    left = _CONVERSION.sub("", o.format or "")
    if "%" in left or len(found) != 1:
        return f"the format {o.format!r} has {len(found)} conversions; it takes one, as %d or %f"
    return None


PRINT_RULES = (
    PRINT_01,
    PRINT_02,
    PRINT_AS_01,
)
FORMAT_RULES = (PRINT_04,)


def _row(values: np.ndarray, shown: str, bar: int | None = None) -> str:
    words = [shown % v for v in values.tolist()]
    if bar is not None and 0 < bar < len(words):
        words.insert(bar, "|")
    return " ".join(words)


def _print(m: Machine, src: Any, tmp: Any = None, *, format: int) -> None:
    spec = getattr(src, "spec", None)
    dtype = spec.dtype if spec is not None else src.dtype
    shown = _NUMBERS.get(format, _NUMBERS[0])[dtype.is_integer]
    plain = not m.target.is_device
    if spec is None:
        m.say(_view_texts(src, shown, plain), src.buffer.shown if src.buffer is not None else "")
    else:
        m.say([_text(lines) for lines in (_valid if plain else _physical)(src, shown)], src.name)


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _valid(tile: TileOperand, shown: str) -> Iterator[list[str]]:
    """The valid region, as the library for CPUs prints it."""
    for values in tile.read():
        yield [f"TPRINT {tile.vr}x{tile.vc}", *(_row(row, shown) for row in values)]


def _physical(tile: TileOperand, shown: str) -> Iterator[list[str]]:
    """All elements, those that are not valid after bars, as the device's library prints it."""
    spec, width = tile.spec, len(shown % 0)
    rule = ["-" * width] * tile.vc + ["|"] * (0 < tile.vc < spec.cols) + ["-" * width] * (spec.cols - tile.vc)
    for values in tile.read(spec.rows, spec.cols):
        loc = f"TileType: {spec.loc.name}"
        lines = [
            f"=== [TPRINT Tile] Data Type: {_name(spec.dtype)}, Layout: {spec.layout_name}, {loc} ===",
            f"  Shape: [{spec.rows}, {spec.cols}], Valid Shape: [{tile.vr}, {tile.vc}]",
        ]
        for number, row in enumerate(values):
            lines.append(_row(row, shown, tile.vc))
            if number == tile.vr - 1 and 0 < tile.vr < spec.rows:
                lines.append(" ".join(rule))
        yield lines


def _view_texts(view: Any, shown: str, plain: bool) -> list[str]:
    layout = view.layout_for(True)
    head = [
        f"=== [TPRINT GlobalTensor] Data Type: {_name(view.dtype)}, Layout: {Layout(layout).name} ===",
        f"  Shape: [{', '.join(map(str, view.shape))}]",
    ]
    if plain:
        head = ["TPRINT " + "x".join(map(str, view.extent(layout)))]
    if 0 in view.shape:
        return [_text([*head, "(empty)"])]
    view.check_bounds()
    return [_text([*head, *(_row(row, shown) for row in values)]) for values in view.load(layout)]


def _name(dtype: Any) -> str:
    return {"f": "float", "i": "int", "u": "uint"}[dtype.name[0]] + dtype.name[1:]


TPRINT = instruction(
    Instr(
        "TPRINT",
        "tprint",
        "Print a tile or a view, after a line with its name, block and place.",
        (Operand("src", Role.IN, also=(Kind.VIEW,)), Operand("tmp", Role.SCRATCH, optional=True, also=(Kind.VIEW,))),
        (Attr("format", PrintFormat, PrintFormat.Width8_Precision4, "printFormat", "print_format", older="format"),),
        pipe=Pipe.S,
        rules=PRINT_RULES,
        run=_print,
        source=_SOURCE,
        cpp="TPRINT<format?>(src, tmp?)",
    )
)


def _print_number(m: Machine, value: Any, *, format: str | None) -> None:
    numbers = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else [value]
    m.say([formatted(format or "", number) for number in numbers])


def formatted(text: str, number: float) -> str:
    """A format of printf with its one conversion, filled in.

    An integer conversion of a float takes its integer part. NaN and infinities are words in any conversion.
    """
    return _CONVERSION.sub(lambda conversion: _converted(conversion, number), text)


def _converted(found: re.Match[str], number: float) -> str:
    kind = found["kind"]
    if kind is None:
        return "%"
    flags, width, precision = found["flags"], found["width"], found["precision"] or ""
    if not math.isfinite(number):
        sign = "+" if "+" in flags else " " if " " in flags else ""
        words = format(float(number), f"{sign}f")
        return f"%{flags.replace('0', '').replace('#', '')}{width}s" % (words.upper() if kind in "FEG" else words)
    if kind in "eEfFgG":
        return f"%{flags}{width}{precision}{kind}" % float(number)
    whole = int(number)
    if kind == "c":
        return f"%{flags}{width}c" % (whole & 0xFF)
    if kind in "uxXo" and whole < 0:  # the bits, of an int unless the format or the number is longer
        bits = {"hh": 8, "h": 16, "l": 64, "ll": 64}.get(found["length"] or "", 32)
        whole &= (1 << (bits if whole >= -1 << (bits - 1) else 64)) - 1
    if kind == "o" and "#" in flags:
        return f"%{flags.replace('#', '')}{width}s" % f"0{whole:o}"
    return f"%{flags}{width}{precision}{'d' if kind == 'u' else kind}" % whole


PRINT = instruction(
    Instr(
        "PRINT",
        "print",
        "Print a number after a format as of printf.",
        (scalar("value"),),
        (Attr("format", str, None, "format"),),
        pipe=Pipe.S,
        rules=FORMAT_RULES,
        run=_print_number,
        source="assembly 6.2",
        form=grammar("ins ~( N(format) , %value {} : T(value) )"),
    )
)
