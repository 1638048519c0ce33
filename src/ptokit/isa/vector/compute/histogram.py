"""Extrema with the lanes that have them, and histograms (PTOAS e32488c9, micro-isa 10)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.types.dtypes import DTYPES, i64, u8, u16

from ...checks.compiling import Message
from ...meaning.expressions import Bit, Counted, Element, Place, Scalar
from ...meaning.words import lane
from ...site import Site, VregInfo
from ...table import Instr
from ..registers import VREG_BYTES
from ..words import VEC_06, mask, micro, number, out_vreg, types, vreg

SOURCE = "PTOAS e32488c9, micro-isa 10"


def _shapes(o: Site) -> Message:
    wanted = {"acc": "u16", "src": "u8", "dst": "u16"}
    for name, kind in wanted.items():
        info = o.operands.get(name)
        if isinstance(info, VregInfo) and info.dtype is not DTYPES[kind]:
            return f"{info.name} has lanes of {info.dtype}; {name} has {DTYPES[kind].text}"
    return None


def _histogram(text: str, what: str, *, cumulative: bool) -> Instr:
    first = (Scalar("bin", i64) & 1) << 7  # half of the values
    samples, on = Element("src", dtype=u8), Bit("mask", width=1)
    count = Counted(samples, Place(i64) + first, on, u16, VREG_BYTES, cumulative)
    return micro(
        text,
        f"dst = acc + how many active samples {what} the value of the lane; bin 1: values from 128.",
        (vreg("acc"), vreg(), mask(optional=False, bits=8), number("bin", "i32")),
        (out_vreg(like="acc"),),
        None,
        replace(VEC_06, check=_shapes),
        meaning=lane(Element("acc") + count, over="acc"),
        types=types("u8 u16"),
        source=SOURCE,
        decision="bin 0 counts values 0..127, bin 1 those from 128; a cumulative count includes all smaller values.",
    )


CHISTV2 = _histogram("chistv2", "have at most", cumulative=True)
DHISTV2 = _histogram("dhistv2", "have", cumulative=False)
