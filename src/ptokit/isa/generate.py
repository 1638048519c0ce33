"""TCI, TTRI and TRANDOM: tiles made of numbers (compute-layout-irregular 2.7, 2.8, 2.10)."""

from __future__ import annotations

from .table import Attr, Instr, dst, instruction, scalar, tmp

TCI = instruction(
    Instr(
        "TCI",
        "tci",
        "dst[0,k] = start + k, or start - k",
        (dst(), scalar("start"), tmp(optional=True)),
        (Attr("descending", bool, False, "descending"),),
        syntax="dps-attrs-in",
        implemented=False,
        source="compute-layout-irregular 2.7",
    )
)
TTRI = instruction(
    Instr(
        "TTRI",
        "ttri",
        "A triangle of ones: at and below a diagonal, or at and above it.",
        (dst(), scalar("diagonal", type="i32")),
        (Attr("upper_or_lower", int, 0, "upperOrLower"),),
        syntax="dps-attrs-in",
        implemented=False,
        source="compute-layout-irregular 2.8",
    )
)
TRANDOM = instruction(
    Instr(
        "TRANDOM",
        "trandom",
        "Random 32-bit words of a key and a counter (Philox4x32).",
        (
            dst(),
            *(scalar(name, type="i32") for name in ("key0", "key1", "counter0", "counter1", "counter2", "counter3")),
        ),
        (Attr("rounds", int, 10, "rounds"),),
        syntax="dps-attrs-in",
        implemented=False,
        source="compute-layout-irregular 2.10",
    )
)
