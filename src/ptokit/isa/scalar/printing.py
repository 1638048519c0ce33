"""TPRINT and print: what a kernel says to its user (compute-layout-irregular 2.11, assembly 6.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ptokit.diagnostics import family
from ptokit.targets import A5
from ptokit.types.enums import Layout, Pipe, PrintFormat, TileType

from ..checks.assembler import assembler_rule
from ..checks.operands import Message
from ..machine import Machine, TileOperand
from ..operands import Kind
from ..site import Site, TileInfo
from ..table import Attr, Instr, Operand, Role, grammar, instruction, scalar
from ..typesets import I6, F, names

_SOURCE = "compute-layout-irregular 2.11"
rule = family(_SOURCE)
_NUMBERS = {0: ("%8.4f", "%8d"), 1: ("%8.2f", "%8d"), 2: ("%10.6f", "%10d")}
_CONVERSION = re.compile(
    r"%%|%(?P<flags>[-+ #0]*)(?P<width>\d{0,3})(?P<precision>\.\d{0,3})?(?P<length>hh|h|ll|l)?"
    r"(?P<kind>[diuxXoeEfFgGc])"
)


@rule("PRINT-01", "TPRINT(Tile(Vec, {f32|bf16}, 16, 64))", evidence="static_assert")
def PRINT_01(o: Site) -> Message:
    """TPRINT prints f32, f16 and integers of 8 to 32 bits."""
    dtype = o.src.dtype
    return f"{o:src} has element type {dtype}; TPRINT prints {names(I6 | F)}" if dtype not in I6 | F else None


@rule("PRINT-02", "TPRINT(Tile({Vec|Mat}, f32, 16, 64))", evidence="static_assert")
def PRINT_02(o: Site) -> Message:
    """TPRINT prints Vec, Acc and, but for a5, Mat tiles."""
    if not isinstance(o.src, TileInfo):
        return None
    legal = [TileType.Vec, TileType.Acc, *([TileType.Mat] if not o.target.is_a(A5) else [])]
    return (
        f"{o:src} is a {o.src.loc.text} tile, which {o.target.name} does not print" if o.src.loc not in legal else None
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


@rule(
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


RULES = (
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
    """All elements, those that are not valid behind bars, as the device's library prints it."""
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
        rules=RULES,
        run=_print,
        source=_SOURCE,
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
