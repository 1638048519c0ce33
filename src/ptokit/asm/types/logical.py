"""The written forms of logical vectors and their predicates (PTOAS e32488c9, VMITypeDefs)."""

from __future__ import annotations

import re

from ptokit.types.values import LogicalMask, LogicalVector

from ..text import rules
from ..text.faults import TypeFaultError, element, is_signed

LOGICAL = frozenset(("vmi.vreg", "vmi.mask"))
"""Mnemonics of their types."""

GRANULARITIES = ("pred", "b8", "b16", "b32")

_BODY = re.compile(r"\s*(\d{1,9})\s*x\s*([!\w.]+)\s*(?:,\s*(#.*))?\Z", re.ASCII | re.DOTALL)
_LAYOUT = re.compile(
    r"#pto(?:\.vmi\.layout\s*<|<\s*vmi\.layout\s*<?)\s*(\w+)\s*(?:=\s*(-?\d+)\s*)?((?:,\s*\w+\s*=\s*-?\d+\s*)*)>+\s*\Z",
    re.ASCII,
)
_FIELD = re.compile(r",\s*(\w+)\s*=\s*(-?\d+)")
_FIELDS = {
    "contiguous": ("lane_stride",),
    "deinterleaved": ("lane_stride",),
    "block_deinterleaved": (),
    "num_groups": ("slots", "lane_stride"),
}


def logical(name: str, body: str | None, at: int) -> LogicalVector | LogicalMask:
    """The type ``!pto.name<body>``; `at` is the place of the body. Raises `TypeFaultError`."""
    m = _BODY.match(body or "")
    if m is None or int(m[1]) == 0:
        hint = f"write for example !pto.{name}<128x{'f32' if name == 'vmi.vreg' else 'pred'}>"
        raise TypeFaultError(
            rules.VMI_1, f"!pto.{name} has a number of lanes and what they hold", at, len(body or "") or 1, hint
        )
    lanes, place = int(m[1]), at + m.start(2)
    layout = _layout(m[3], at + m.start(3), lanes if name == "vmi.vreg" else 0) if m[3] else ""
    if name == "vmi.mask":
        if m[2] not in GRANULARITIES:
            known = ", ".join(GRANULARITIES)
            raise TypeFaultError(rules.VMI_1, f"'{m[2]}' is not a granularity: {known}", place, len(m[2]))
        if m[2] == "pred" and layout:
            raise TypeFaultError(rules.VMI_1, "a predicate without a granularity has no layout", place, len(m[2]))
        return LogicalMask(lanes, m[2], layout)
    inner = element(m[2], place)
    if inner.bits not in (8, 16, 32):
        message = f"a lane has 8, 16 or 32 bits, not the {inner.bits} of {inner.text}"
        raise TypeFaultError(rules.VMI_1, message, place, len(m[2]))
    return LogicalVector(lanes, inner, layout, is_signed(m[2]))


def _layout(text: str, at: int, lanes: int) -> str:
    """A layout in its usual spelling; `lanes` are those of a vector, 0 for a predicate. Raises `TypeFaultError`."""
    m = _LAYOUT.match(text.strip())
    message = ""
    if m is None or m[1] not in _FIELDS:
        message = "a layout is contiguous, deinterleaved, block_deinterleaved or num_groups"
    elif (m[2] is None) != (m[1] == "contiguous"):
        message = f"{m[1]} is written {'alone' if m[2] else 'with a number'}"
    if message or m is None:
        raise TypeFaultError(rules.VMI_1, message, at, len(text))
    kind, number = m[1], int(m[2] or 1)
    fields = {key: int(value) for key, value in _FIELD.findall(m[3])}
    unknown = [key for key in fields if key not in _FIELDS[kind]]
    if unknown:
        message = f"{kind} has no field '{unknown[0]}'"
    elif fields.get("lane_stride", 1) <= 0 or fields.get("slots", 0) < 0:
        message = "strides and slots are positive"
    elif kind.endswith("deinterleaved") and number not in (2, 4):
        message = f"{kind} takes 2 or 4, not {number}"
    elif kind == "num_groups" and (number <= 0 or (lanes and lanes != number)):
        message = f"a layout of {number} groups is that of a vector with a lane for each group"
    if message:
        raise TypeFaultError(rules.VMI_1, message, at, len(text))
    shown = [kind if kind == "contiguous" else f"{kind} = {number}"]
    if fields.get("slots"):
        shown.append(f"slots = {fields['slots']}")
    if fields.get("lane_stride", 1) != 1:
        shown.append(f"lane_stride = {fields['lane_stride']}")
    return f"#pto.vmi.layout<{', '.join(shown)}>"
