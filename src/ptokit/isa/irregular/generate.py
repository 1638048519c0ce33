"""TCI, TTRI and TRANDOM: tiles made of numbers (compute-layout-irregular 2.7, 2.8, 2.10)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.dtypes import DTYPES, i32, i64
from ptokit.types.enums import Pipe

from ..checks.assembler import A5_ONLY
from ..element_positions import kind
from ..machine import Machine, TileOperand
from ..meaning.expressions import (
    Code,
    Const,
    Coordinate,
    Expr,
    Once,
    Scalar,
    apply,
    greater_equal,
    less_equal,
    select,
)
from ..meaning.words import Lane, Meaning, Python, Write, lane
from ..numerics.philox import counter_of, random_row
from ..numerics.scalars import element
from ..scratch import on_a2a3
from ..site import Site
from ..table import Attr, Instr, TextForm, dst, instruction, scalar, tmp
from ..typesets import BF16, I8, INT16_32, F, Types, types, types_of
from .generate_rules import CI_RULES, RANDOM_RULES, TRI_RULES
from .irregular_text_rules import RN_1
from .scratch_text_rules import CI_AS_01

KEYS = ("key0", "key1")
WORD = DTYPES["u32"]
COUNTERS = ("counter0", "counter1", "counter2", "counter3")


def _sequence(o: Site) -> Lane:
    """Floats are rounded once."""
    op, start = "sub" if o.descending else "add", Scalar("start", "dst")
    if o.dst.dtype.is_float:
        value: Expr = Once(op, (start, Coordinate("column", i32)), "dst")
    else:
        value = apply(op, start, Coordinate("column", "dst"))
    return Lane((Write("dst", value, rows=1),))


def _triangle(o: Site) -> Lane:
    edge = Coordinate("row", i64) + Scalar("diagonal", i64)
    inside = (greater_equal if o.upper_or_lower else less_equal)(Coordinate("column", i64), edge)
    one, zero = (Const(number, Code(0, "dst")) for number in (1, 0))
    return lane(select(inside, one, zero))


def _random(m: Machine, dst: TileOperand, *words: Any, rounds: int = 10) -> None:
    """Blocks get streams of their own where a key or counter differs between them."""
    if not dst.vc:
        return
    blocks = max([len(w) for w in words if isinstance(w, np.ndarray)], default=1)
    values = np.empty((blocks, dst.vr, dst.vc), np.uint32)
    for block in range(blocks):
        own = [int(element(WORD, w[min(block, len(w) - 1), 0, 0] if isinstance(w, np.ndarray) else w)) for w in words]
        counter = counter_of(own[2:])
        for row in range(dst.vr):
            values[block, row], counter = random_row(counter, own[:2], dst.vc, rounds)
    dst.write(values.view(kind(dst)), dst.vr, dst.vc)


CI_TYPES = types(INT16_32 | F | BF16, INT16_32)
TRI_TYPES = types(INT16_32 | F, I8 | F | BF16, cpu=INT16_32 | F | BF16)
WORDS = types(types_of(""), types_of("i32 u32"))


def _generator(
    name: str, summary: str, operands: tuple[Any, ...], attr: Attr, meaning: Meaning, types: Types, **more: Any
) -> Instr:
    """An instruction that makes a tile out of scalars; its attribute stands inside ``ins``."""
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            operands,
            (attr,),
            meaning=meaning,
            types=types,
            form=TextForm("dps-attrs-in"),
            **more,
        )
    )


TCI = _generator(
    "TCI",
    "dst[0,k] = start + k, or start - k",
    (dst(), scalar("start"), tmp(optional=True, needed=on_a2a3())),
    Attr("descending", bool, False, "descending"),
    _sequence,
    CI_TYPES,
    pipe=lambda o: Pipe.V if o.has("tmp") else Pipe.S,  # a loop of scalar stores, or vector instructions
    rules=(*CI_RULES, CI_AS_01),
    source="compute-layout-irregular 2.7; memory-model-and-sync 2.1",
)
TTRI = _generator(
    "TTRI",
    "A triangle of ones: at and below a diagonal, or at and above it.",
    (dst(), scalar("diagonal", type="i32")),
    Attr("upper_or_lower", int, 0, "upperOrLower"),
    _triangle,
    TRI_TYPES,
    rules=TRI_RULES,
    source="compute-layout-irregular 2.8",
)
TRANDOM = _generator(
    "TRANDOM",
    "Random 32-bit words of a key and a counter (Philox4x32).",
    (dst(), *(scalar(name, type="i32") for name in (*KEYS, *COUNTERS))),
    Attr("rounds", int, 10, "rounds"),
    Python(_random),
    WORDS,
    rules=(*RANDOM_RULES, A5_ONLY, RN_1),
    source="compute-layout-irregular 2.10",
)
