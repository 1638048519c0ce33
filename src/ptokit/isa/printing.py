"""TPRINT and print: what a kernel says to its user (compute-layout-irregular 2.11, assembly 6.2)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ptokit.diagnostics import rule
from ptokit.targets import A5
from ptokit.types.enums import Layout, Pipe, TileType

from .machine import Machine, TileOperand
from .operands import Message
from .site import Site, TileInfo
from .table import Attr, Instr, Operand, Role, instruction, scalar
from .typesets import I6, F, names

_SOURCE = "compute-layout-irregular 2.11"
_NUMBERS = {0: ("%8.4f", "%8d"), 1: ("%8.2f", "%8d"), 2: ("%10.6f", "%10d")}
_CONVERSION = re.compile(r"%%|%[-+ #0]*\d{0,3}(?:\.\d{0,3})?(?:hh|h|ll|l)?([diuxXoeEfFgGc])")


@rule("PRINT-01", source=_SOURCE, accepted="f32", rejected="bf16")
def PRINT_01(o: Site) -> Message:
    """TPRINT prints f32, f16 and integers of 8 to 32 bits."""
    dtype = o.src.dtype
    return f"src has element type {dtype}; TPRINT prints {names(I6 | F)}" if dtype not in I6 | F else None


@rule("PRINT-02", source=_SOURCE, accepted="a vec tile", rejected="a left tile")
def PRINT_02(o: Site) -> Message:
    """TPRINT prints Vec, Acc and, but for a5, Mat tiles."""
    if not isinstance(o.src, TileInfo):
        return None
    legal = [TileType.Vec, TileType.Acc, *([TileType.Mat] if not o.target.is_a(A5) else [])]
    return f"src is a {o.src.loc.text} tile, which {o.target.name} does not print" if o.src.loc not in legal else None


@rule("PRINT-04", source="assembly 6.2", accepted='"x = %d"', rejected='"%d %s"')
def PRINT_04(o: Site) -> Message:
    """The format of print has one conversion, of a number."""
    found = [c for c in _CONVERSION.finditer(o.format or "") if c[1]]
    left = _CONVERSION.sub("", o.format or "")
    if "%" in left or len(found) != 1:
        return f"the format {o.format!r} has {len(found)} conversions; it takes one, as %d or %f"
    return None


RULES = (
    PRINT_01,
    PRINT_02,
)
FORMAT_RULES = (PRINT_04,)


def _row(values: np.ndarray, shown: str, bar: int | None = None) -> str:
    words = [shown % v for v in values.tolist()]
    if bar is not None and 0 < bar < len(words):
        words.insert(bar, "|")
    return " ".join(words)


def _print(m: Machine, src: Any, *, format: int) -> None:
    """The text of every block, first block first."""
    spec = getattr(src, "spec", None)
    dtype = spec.dtype if spec is not None else src.dtype
    shown = _NUMBERS.get(format, _NUMBERS[0])[dtype.is_integer]
    if spec is None:
        _print_view(src, shown, not m.target.is_device)
    elif not m.target.is_device:
        for values in src.read():
            print(f"TPRINT {src.vr}x{src.vc}", *(_row(row, shown) for row in values), sep="\n")
    else:
        _print_tile(src, shown)


def _print_tile(tile: TileOperand, shown: str) -> None:
    spec, width = tile.spec, len(shown % 0)
    for values in tile.read(spec.rows, spec.cols):
        loc = f"TileType: {spec.loc.name}"
        print(f"=== [TPRINT Tile] Data Type: {_name(spec.dtype)}, Layout: {spec.layout_name}, {loc} ===")
        print(f"  Shape: [{spec.rows}, {spec.cols}], Valid Shape: [{tile.vr}, {tile.vc}]")
        for number, row in enumerate(values):
            print(_row(row, shown, tile.vc))
            if number == tile.vr - 1 and 0 < tile.vr < spec.rows:
                print(
                    " ".join(
                        ["-" * width] * tile.vc
                        + ["|"] * (0 < tile.vc < spec.cols)
                        + ["-" * width] * (spec.cols - tile.vc)
                    )
                )


def _print_view(view: Any, shown: str, plain: bool) -> None:
    layout = view.layout_for(True)
    view.check_bounds()
    for values in view.load(layout):
        if plain:
            print("TPRINT " + "x".join(map(str, values.shape)))
        else:
            print(f"=== [TPRINT GlobalTensor] Data Type: {_name(view.dtype)}, Layout: {Layout(layout).name} ===")
            print(f"  Shape: [{', '.join(map(str, view.shape))}]")
        print(*(_row(row, shown) for row in values), sep="\n")


def _name(dtype: Any) -> str:
    return {"f": "float", "i": "int", "u": "uint"}[dtype.name[0]] + dtype.name[1:]


TPRINT = instruction(
    Instr(
        "TPRINT",
        "tprint",
        "Print a tile or a view.",
        (Operand("src", Role.IN, or_view=True),),
        (Attr("format", int, 0, "format"),),
        pipe=Pipe.S,
        rules=RULES,
        run=_print,
        source=_SOURCE,
    )
)


def _print_number(m: Machine, value: Any, *, format: str | None) -> None:
    """One line or part of a line for every block whose number differs."""
    conversion = next(c[1] for c in _CONVERSION.finditer(format or "") if c[1])
    plain = re.sub(r"(hh|h|ll|l)(?=[diuxXo])", "", format or "")
    for number in value.reshape(-1).tolist() if isinstance(value, np.ndarray) else [value]:
        print(plain % (float(number) if conversion in "eEfFgG" else int(number)), end="")


PRINT = instruction(
    Instr(
        "PRINT",
        "print",
        "Print a number after a format as of printf.",
        (scalar("value"),),
        (Attr("format", str, None, "format"),),
        pipe=Pipe.S,
        syntax="print",
        rules=FORMAT_RULES,
        run=_print_number,
        source="assembly 6.2",
    )
)
