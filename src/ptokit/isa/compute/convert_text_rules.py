"""What the reference assembler refuses of tcvt."""

from __future__ import annotations

from functools import partial

from ptokit.targets import A2A3
from ptokit.types.dtypes import DTYPES, HALVES, PACKED, DType
from ptokit.types.enums import SaturationMode
from ptokit.types.tile import DYNAMIC

from ..checks.assembler import assembler_rule
from ..checks.operands import Message
from ..checks.tiles import small, vec_rows
from ..site import Site
from ..unknown import known

_rule = partial(assembler_rule, source="PTOAS 2026-08 PTO.cpp TCvtOp")
_PAIRS_OF_4 = frozenset(HALVES.values())
_BYTES = frozenset(DTYPES[n] for n in ("e4m3", "e5m2", "hif8"))
_SMALL = _PAIRS_OF_4 | _BYTES | {DTYPES["e8m0"], PACKED["hif8x2"], PACKED["bf16x2"]}
_FROM = {"f32": _BYTES, "f16": frozenset([DTYPES["hif8"]]), "bf16": _PAIRS_OF_4}
"""Small floats that a5 makes of each wider type; it goes back to f32 and bf16."""


@_rule(
    "CV-1",
    "pto.tcvt ins(%a : !pto.tile_buf<vec, {16x64xf32|16x128xf32}, valid=16x64>) "
    "outs(%b : !pto.tile_buf<vec, 16x64xf16>)",
)
def CV_1(o: Site) -> Message:
    """tcvt: equal shapes, and valid regions where the types fix them; a pair of 4-bit floats counts as two numbers."""
    for what in ("rows", "cols", "valid_row", "valid_col"):
        x, y = getattr(o.src.spec, what), getattr(o.dst.spec, what)
        if x != y and DYNAMIC not in (x, y):
            return f"{o:src} has {what} = {x}, {o:dst} {y}"
    return None


CV_2 = _rule(
    "CV-2",
    "%a = pto.alloc_tile : !pto.tile_buf<vec, {16x32xf32|16x32xf16}>\n"
    "pto.tcvt ins(%a {rmode = #pto<round_mode RINT>} : !pto.tile_buf<vec, {16x32xf32|16x32xf16}>) "
    "outs(%b : !pto.tile_buf<vec, 16x32xf8E4M3FN>)",
    covered_by=("TCVT-01",),
)(
    "tcvt of 4- and 8-bit floats exists on a5: f32 to and from those of 8 bits, f16 to hif8, bf16 to and from "
    "pairs of 4 bits.",
    "not target.is_a(A2A3) and _known_pair(src.dtype, dst.dtype) if src.dtype in _SMALL or dst.dtype in _SMALL",
    "{src.dtype} to {dst.dtype}",
)


def _known_pair(s: DType, d: DType) -> bool:
    if s in _SMALL:
        return d.name == ("f32" if s in _BYTES else "bf16" if s in _PAIRS_OF_4 else "")
    return d in _FROM.get(s.name, ())


@_rule(
    "CV-3",
    "pto.tcvt ins(%a, %b {rmode = #pto<round_mode RINT>} : !pto.tile_buf<vec, 16x32xf32, valid=13x21, "
    "blayout=col_major>, !pto.tile_buf<vec, 16x32xf32, valid=13x21, blayout={row_major|col_major}>) "
    "outs(%c : !pto.tile_buf<vec, 16x32xf32, valid=13x21>)",
    covered_by=("TCVT-A3-01",),
)
def CV_3(o: Site) -> Message:
    """tcvt: tmp is a row-major vec tile. On a2a3 it has room for what conversions of floats to narrower integers
    without saturation keep there.
    """
    wrong = vec_rows(o, "tmp")
    narrows = (o.src.dtype.name, o.dst.dtype.bits) in (("f32", 16), ("f16", 16), ("f16", 8)) and o.dst.dtype.is_integer
    if wrong or o.tmp is None or not o.target.is_a(A2A3) or not narrows or o.sat_mode is SaturationMode.ON:
        return wrong
    rows, cols = o.dst.vr, o.dst.vc
    if not known(rows, cols):
        return f"{o:dst} has an open valid region; with {o:tmp} the assembler wants it stated"
    if o.src.dtype.name == "f32":
        head, rest = 256 * min(cols // 64, 255), cols % 64
        tail = 32 * ((min(rows, 255) - 1) * (o.src.cols // 8) + -(-rest // 8)) if rest else 0
        return small(o, "tmp", max(head, tail) if rows and cols else 0)
    width = min(cols, 64)
    halves = 32 * -(-width // 8)
    bytes_ = max(halves, 128 + 32 * -(-width // 16))
    return small(o, "tmp", (bytes_ if o.dst.dtype.bits == 8 else halves) if cols else 0)
