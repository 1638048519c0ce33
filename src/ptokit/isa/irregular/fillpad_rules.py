"""Rules of TFILLPAD, TFILLPAD_INPLACE and TFILLPAD_EXPAND (compute-layout-irregular 1.6)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.targets import A5
from ptokit.types.enums import PadValue, TileType

from ..checks.operands import DEVICES, Message
from ..site import Site
from ..unknown import known

_rule = family("compute-layout-irregular 1.6")


@_rule("FILL-COM-01", "pad=2", "pad=0")
def FILL_COM_01(o: Site) -> Message:
    """A Vec tile to fill has a pad value."""
    if o.dst.loc is not TileType.Vec or o.dst.pad != PadValue.Null:
        return None
    return f"{o:dst} has no pad value (pad=0); there is nothing to fill with"


@_rule("FILL-COM-02", "f16 both", "f16 and f32")
def FILL_COM_02(o: Site) -> Message:
    """Elements have one size of 1, 2 or 4 bytes."""
    s, d = o.src.dtype, o.dst.dtype
    if s.bits != d.bits or d.size not in (1, 2, 4) or d.packed:
        return f"{o:src} has {s.bits}-bit elements, {o:dst} {d.bits}-bit ones; both have 1, 2 or 4 bytes"
    return None


@_rule("FILL-COM-03", "16x64 both", "16x64 into 16x128")
def FILL_COM_03(o: Site) -> Message:
    """Source and destination have one shape; TFILLPAD_EXPAND: the destination is not smaller."""
    s, d = o.src, o.dst
    differs = s.rows != d.rows or s.cols != d.cols
    return (
        f"{o:src} is {s.rows}x{s.cols}, {o:dst} {d.rows}x{d.cols}; {o.instr.name} keeps the shape" if differs else None
    )


@_rule("FILL-COM-03-X", "16x64 into 32x64", "32x64 into 16x64")
def FILL_COM_03_X(o: Site) -> Message:
    """TFILLPAD_EXPAND: the destination is not smaller than the source."""
    s, d = o.src, o.dst
    smaller = d.rows < s.rows or d.cols < s.cols
    return f"{o:dst} is {d.rows}x{d.cols}, smaller than {o:src}'s {s.rows}x{s.cols}" if smaller else None


@_rule("FILL-COM-04", "dst at the address of src", "two tiles", targets=DEVICES)
def FILL_COM_04(o: Site) -> Message:
    """TFILLPAD_INPLACE fills one tile: source and destination share their bytes."""
    s, d = o.src, o.dst
    if not known(s.origin, d.origin) or s.origin == d.origin:
        return None
    return f"{o:src} and {o:dst} are different tiles; bind both to one address, or use TFILLPAD"


@_rule("FILL-COM-05", "valid 10x60 into valid 16x64", "valid 16x64 into valid 10x64")
def FILL_COM_05(o: Site) -> Message:
    """The destination's valid region covers the source's."""
    s, d = o.src, o.dst
    if (d.vr == 0 or d.vc == 0) and not o.target.is_a(A5):
        return None
    if d.vr < s.vr or d.vc < s.vc:
        return f"{o:dst} is valid in {d.vr}x{d.vc}, less than {o:src}'s {s.vr}x{s.vc}"
    return None


@_rule("FILL-COM-06", "an Nz mat tile with pad=1", "an ND mat tile")
def FILL_COM_06(o: Site) -> Message:
    """A Mat tile to fill is Nz, padded with zero, and source and destination have one type."""
    s, d = o.src, o.dst
    if d.loc is not TileType.Mat and s.loc is not TileType.Mat:
        return (
            f"{o:dst} is a {d.loc.text} tile; {o.instr.name} fills vec and mat tiles"
            if d.loc is not TileType.Vec
            else None
        )
    if d.layout_name != "Nz":
        return f"a mat tile to fill is Nz, not {d.layout_name}"
    if d.pad not in (PadValue.Null, PadValue.Zero):
        return "a mat tile is filled with zeros"
    if s.spec != d.spec:
        return f"{o:src} and {o:dst} of a mat tile have one type"
    return None


_COMMON = (FILL_COM_01, FILL_COM_02, FILL_COM_05, FILL_COM_06)
COPY_RULES = (*_COMMON, FILL_COM_03)
IN_PLACE_RULES = (*COPY_RULES, FILL_COM_04)
EXPAND_RULES = (*_COMMON, FILL_COM_03_X)
