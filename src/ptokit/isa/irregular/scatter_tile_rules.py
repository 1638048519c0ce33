"""Rules of TSCATTER (compute-layout-irregular 2.4)."""

from __future__ import annotations

from ptokit.diagnostics import define, family
from ptokit.targets import A5
from ptokit.types.enums import MaskAxis

from ..checks.operands import DEVICES, Message
from ..checks.tiles import differ, not_of, not_vec, overlapping
from ..site import Site
from ..typesets import BF16, I6, INT16_32, INT64, F

_rule = family("compute-layout-irregular 2.4")
_WIDTHS = {4: 4, 2: 2, 1: 2, 8: 4}


@_rule("TSCAT-COM-01", "f16 both", "f16 and f32")
def TSCAT_COM_01(o: Site) -> Message:
    """dst and src have one type: 8-, 16-, 32-bit integers, f16, bf16, f32; on a5 64-bit integers."""
    allowed = I6 | F | BF16 | (INT64 if o.target.is_a(A5) else frozenset())
    return differ(o, "dst", "src") or not_of(o, allowed, "dst")


@_rule("TSCAT-COM-02", "f32 by i32", "f32 by i16")
def TSCAT_COM_02(o: Site) -> Message:
    """Indices have 4 bytes for 4- and 8-byte elements, 2 bytes for smaller ones."""
    if not o.has("idx"):
        return None
    wanted = _WIDTHS.get(o.dst.dtype.size)
    if o.idx.dtype.size != wanted:
        return f"{o:idx} has element type {o.idx.dtype}; {o.dst.dtype} elements take {wanted}-byte indices"
    return not_of(o, INT16_32, "idx")


@_rule("TSCAT-COM-05", "P0101: 4x16 into 4x32", "P0101: 4x16 into 4x16")
def TSCAT_COM_05(o: Site) -> Message:
    """By mask, dst is valid in the source's region, spread by the mask's period along its axis."""
    if o.has("idx"):
        return None
    if o.mask is None:
        return "neither an index tile nor a mask pattern says where the elements go"
    s, d, times = o.src, o.dst, o.mask.period
    wanted = (times * s.vr, s.vc) if o.axis is MaskAxis.Col else (s.vr, times * s.vc)
    if d.vr != wanted[0] or d.vc != wanted[1]:
        return (
            f"{o:src} is valid in {s.vr}x{s.vc}; with {o.mask.name} {o:dst} is {wanted[0]}x{wanted[1]}, not "
            f"{d.vr}x{d.vc}"
        )
    return None


@_rule("TSCAT-CPU-01", "f16", "u8")
def TSCAT_CPU_01(o: Site) -> Message:
    """By mask, the simulator scatters elements of 2 and 4 bytes."""
    if o.has("idx") or o.dst.dtype.size in (2, 4):
        return None
    return f"{o:dst} has element type {o.dst.dtype}; the simulator scatters by mask elements of 2 and 4 bytes"


@_rule("TSCAT-COM-03", "vec tiles", "a mat destination")
def TSCAT_COM_03(o: Site) -> Message:
    """All tiles are Vec tiles."""
    return not_vec(o, "dst", "src", "idx")


RULES = (
    TSCAT_COM_01,
    TSCAT_COM_02,
    TSCAT_COM_03,
    define(
        "TSCAT-COM-04",
        "Indices are element offsets inside the destination tile.",
        source="compute-layout-irregular 2.4",
        accepted="0..1023 for 16x64",
        rejected="1024",
        decision="The simulator passes over others; on the devices they are an error.",
    ),
    TSCAT_COM_05,
    _rule(
        "TSCAT-COM-07",
        "three tiles",
        "dst at the address of src",
        what="dst does not overlap the source or the indices: it is cleared first.",
        targets=DEVICES,
    )(overlapping),
    TSCAT_CPU_01,
)
