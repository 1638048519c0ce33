"""TCI, TTRI, TRANDOM, TFILLPAD: tiles made of numbers, padding (compute-layout-irregular 1.6, 2.7, 2.8, 2.10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptokit.diagnostics import Rule, family
from ptokit.types.dtypes import DTYPES, i32, i64
from ptokit.types.enums import PadValue, Pipe, TileType
from ptokit.types.tensor import pad_bits

from ..checks.compiling import DEVICES, Message
from ..checks.tiles import A5_ONLY, boxed_or_columns, in_types, missing, not_vec
from ..machine import Machine, TileOperand
from ..meaning.expressions import (
    Code,
    Const,
    Coordinate,
    Element,
    Expr,
    Extent,
    Once,
    Scalar,
    apply,
    greater_equal,
    less_equal,
    select,
)
from ..meaning.moves import kind
from ..meaning.words import Fill, Lane, Meaning, Move, Python, Write, lane
from ..numerics.arith import counter_of, element, random_row
from ..operands import BF16, I8, INT16_32, F, Types, types, types_of
from ..scratch import on_a2a3
from ..site import Site, known
from ..table import Access, Attr, Instr, TextForm, dst, instruction, scalar, src, tmp
from .text_rules import CI_AS_01, FP_1, RN_1

# Rules of TCI, TTRI and TRANDOM (compute-layout-irregular 2.7, 2.8, 2.10; compute-reduce-matrix 8).


_ci = family("compute-layout-irregular 2.7")
_tri = family("compute-layout-irregular 2.8")
_random = family("compute-layout-irregular 2.10")


@_ci("CI-01", "{|n: i16; }TCI(Tile(Vec, i32, 1, 64), {5|n})", evidence="static_assert")
def CI_01(o: Site) -> Message:
    """The start has dst's element type."""
    d = o.dst.dtype
    legal = ("", d.text, f"i{d.bits}" if d.is_integer else d.text)
    return f"the start is {o.start.type}, {o:dst} has element type {d}" if o.start.type not in legal else None


CI_RULES = (
    _ci("GEN-CI-01", "TCI(Tile(Vec, i32, {1|2}, 64), 5)", evidence="static_assert")(
        "TCI fills a Vec tile of one row.",
        lambda o: not_vec(o, "dst"),
        "dst.rows == 1",
        "{dst} has {dst.rows} rows; TCI fills a tile of one row",
    ),
    CI_01,
    _ci("CI-02", "TCI(Tile(Vec, {i32|i8}, 1, 64), 5)", evidence="static_assert")(
        "TCI makes 16- and 32-bit integers; on a2a3 without tmp floats too.",
        "dst.dtype.is_integer if tmp and target.is_a(A2A3)",
        "{dst} has element type {dst.dtype}; with {tmp} TCI makes integers",
        in_types,
    ),
    _ci(
        "CI-02-T",
        "TCI(Tile(Vec, i32, 1, 64), 5, Tile(Vec, i32, 1, {192|64}))",
        targets=("a2a3",),
        evidence="static_assert",
    )(
        "The scratch tile has a 4-byte type and 768 bytes, for 16-bit elements 1792.",
        "need = 768 if dst.dtype.size == 4 else 1792",
        "tmp.dtype.size == 4 and tmp.spec.nbytes >= need",
        "{tmp} has {tmp.spec.nbytes} bytes of {tmp.dtype}; TCI uses {need} bytes of a 4-byte type",
    ),
    _ci(
        "CI-03",
        "TCI(Tile(Vec, i32, 1, 64), {0|5}, Tile(Vec, i32, 1, 192), descending=True)",
        targets=("a2a3",),
        evidence="legal",
    )(
        """A descending sequence with tmp starts at 0 on a2a3.

        The library computes -(start + k) there.

        Decision: The executor computes start - k.
        """,
        "start.value == 0 if tmp and descending and known(start.value)",
        "the library computes -({start.value} + k) with {tmp}, not {start.value} - k",
    ),
)


TRI_RULES = (
    _tri("GEN-TRI-01", "TTRI(Tile(Vec, f32, 16, 64), 0, upper_or_lower={1|2})", evidence="static_assert")(
        "upperOrLower is 0 or 1.",
        "upper_or_lower in (0, 1)",
        "upperOrLower is {upper_or_lower}; 0 is lower, 1 upper",
    ),
    _tri("TRI-01", "TTRI(Tile(Vec, f32, 16, 64{|, ColMajor}), 0)", evidence="static_assert", on="a2a3")(
        "TTRI fills a row-major Vec tile.",
        lambda o: not_vec(o, "dst"),
        lambda o: boxed_or_columns(o, "dst"),
    ),
    _tri(
        "TRI-02",
        "TTRI(Tile(Vec, {f32|bf16}, 16, 64), 0)",
        what="TTRI has a form for the element type.",
        evidence="static_assert",
        on="a2a3",
    )(in_types),
)
_32_BITS = types_of("i32 u32")


RANDOM_RULES = (
    _random("RAND-01", "TRANDOM(Tile(Vec, {u32|f32}, 16, 64), 1, 1, 1, 1, 1, 1)", evidence="static_assert")(
        "TRANDOM makes 32-bit integers.",
        "dst.dtype in _32_BITS",
        "{dst} has element type {dst.dtype}; TRANDOM makes i32 or u32",
    ),
    _random("RAND-02", "TRANDOM(Tile(Vec, u32, 16, 64), 1, 1, 1, 1, 1, 1, rounds={7|8})", evidence="static_assert")(
        "There are 7 or 10 rounds.",
        "rounds in (7, 10)",
        "rounds is {rounds}; TRANDOM has 7 and 10",
    ),
    _random(
        "RAND-03", "TRANDOM(Tile(Vec, u32, 16, 64{|, ColMajor}), 1, 1, 1, 1, 1, 1)", evidence="static_assert", on="cpu"
    )(
        "TRANDOM fills a row-major Vec tile.",
        lambda o: not_vec(o, "dst"),
        lambda o: boxed_or_columns(o, "dst"),
    ),
    _random(
        "RAND-04",
        "{TEXPANDS(Tile(Vec, u32, 16, 64), 1)|TRANDOM(Tile(Vec, u32, 16, 64), 1, 2, 3, 4, 5, 6)}",
        what="TRANDOM exists on a5 and cpu.",
        targets=("a2a3",),
        decision="Every target uses the order of A5; the simulator's differs.",
        evidence="static_assert",
    )(missing),
)


# TCI, TTRI and TRANDOM: tiles made of numbers (compute-layout-irregular 2.7, 2.8, 2.10).


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


def _random_numbers(m: Machine, dst: TileOperand, *words: Any, rounds: int = 10) -> None:
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
    cpp="TCI<^dst, ^tmp?, ^start, !descending:int>(dst, start, tmp?)",
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
    cpp="TTRI<^dst, !upper_or_lower>(dst, diagonal)",
)
TRANDOM = _generator(
    "TRANDOM",
    "Random 32-bit words of a key and a counter (Philox4x32).",
    (dst(), *(scalar(name, type="i32") for name in (*KEYS, *COUNTERS))),
    Attr("rounds", int, 10, "rounds"),
    Python(_random_numbers),
    WORDS,
    rules=(*RANDOM_RULES, A5_ONLY, RN_1),
    source="compute-layout-irregular 2.10",
    cpp=("TRANDOM<rounds?>(dst, TRandomKey{key0 key1}, TRandomCounter{counter0 counter1 counter2 counter3})"),
)


# Rules of TFILLPAD, TFILLPAD_INPLACE and TFILLPAD_EXPAND (compute-layout-irregular 1.6).


_rule = family("compute-layout-irregular 1.6")


@_rule("FILL-COM-06", "t = Tile({Vec|Mat}, f32, 16, 16, pad=PadValue.Zero); TFILLPAD(t, t)", evidence="static_assert")
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


_COMMON = (
    _rule(
        "FILL-COM-01",
        "TFILLPAD(Tile(Vec, f32, 16, 16{, pad=PadValue.Zero|}), Tile(Vec, f32, 16, 16, valid_row=8))",
        evidence="static_assert",
    )(
        "A Vec tile to fill has a pad value.",
        "dst.pad != PadValue.Null if dst.loc is Vec",
        "{dst} has no pad value (pad=0); there is nothing to fill with",
    ),
    _rule(
        "FILL-COM-02",
        "TFILLPAD(Tile(Vec, f32, 16, 16, pad=PadValue.Zero), Tile(Vec, {f32|f16}, 16, 16, valid_row=8))",
        evidence="static_assert",
    )(
        "Elements have one size of 1, 2 or 4 bytes; those of tiles in L1 may have 4 bits.",
        "src.dtype.bits == dst.dtype.bits and dst.dtype.size in (1, 2, 4) and (not dst.dtype.packed or dst.loc is Mat)",
        "{src} has {src.dtype.bits}-bit elements, {dst} {dst.dtype.bits}-bit ones; both have 1, 2 or 4 bytes",
    ),
    _rule(
        "FILL-COM-05",
        "TFILLPAD(Tile(Vec, f32, 16, 64, {|valid_row=9, valid_col=60, }pad=PadValue.Max), "
        "Tile(Vec, f32, 16, 64, valid_row=10, valid_col=60))",
        evidence="device",
    )(
        "The destination's valid region covers the source's.",
        "dst.vr >= src.vr and dst.vc >= src.vc if dst.vr != 0 and dst.vc != 0 or target.is_a(A5)",
        "{dst} is valid in {dst.vr}x{dst.vc}, less than {src}'s {src.vr}x{src.vc}",
    ),
    FILL_COM_06,
)
COPY_RULES = (
    *_COMMON,
    _rule(
        "FILL-COM-03",
        "TFILLPAD(Tile(Vec, f32, {16|8}, 16, pad=PadValue.Zero), Tile(Vec, f32, 16, 16, valid_row=8))",
        evidence="static_assert",
        on="a2a3",
    )(
        "Source and destination have one shape; TFILLPAD_EXPAND: the destination is not smaller.",
        "src.rows == dst.rows and src.cols == dst.cols",
        "{src} is {src.rows}x{src.cols}, {dst} {dst.rows}x{dst.cols}; {instr.name} keeps the shape",
    ),
)
IN_PLACE_RULES = (
    *COPY_RULES,
    _rule(
        "FILL-COM-04",
        "TFILLPAD_INPLACE(Tile(Vec, f32, 16, 64, pad=PadValue.Zero, addr=0), "
        "Tile(Vec, f32, 16, 64, valid_col=60, addr={0|4096}))",
        targets=DEVICES,
        evidence="device",
    )(
        "TFILLPAD_INPLACE fills one tile: source and destination share their bytes.",
        "src.origin == dst.origin if known(src.origin, dst.origin)",
        "{src} and {dst} are different tiles; bind both to one address, or use TFILLPAD",
    ),
)
EXPAND_RULES = (
    *_COMMON,
    _rule(
        "FILL-COM-03-X",
        "TFILLPAD_EXPAND(Tile(Vec, f32, {32|8}, 16, pad=PadValue.Max), Tile(Vec, f32, 16, 16, valid_row=8))",
        evidence="static_assert",
    )(
        "TFILLPAD_EXPAND: the destination is not smaller than the source.",
        "dst.rows >= src.rows and dst.cols >= src.cols",
        "{dst} is {dst.rows}x{dst.cols}, smaller than {src}'s {src.rows}x{src.cols}",
    ),
)


# TFILLPAD and its relatives: copy, and fill what lies outside the valid region (compute-layout-irregular 1.6).


VR, VC = Extent("src", "vr"), Extent("src", "vc")


def _meaning(o: Site) -> Move | None:
    """Keep the valid elements of src; the pad value beside and below them."""
    spec, on_cpu = o.dst.spec, not o.target.is_device
    if not on_cpu and not known(o.dst.vr, o.dst.vc):
        return None
    if not on_cpu and not (o.dst.vr and o.dst.vc):
        return Move(Element("src"), 0, 0)
    if spec.loc is TileType.Mat and not on_cpu:
        filled = _filled(o)
        below = Fill(o.dst.vr, spec.rows, 0, filled, 0)
        return Move(Element("src"), VR, VC, fills=(Fill(0, spec.rows, filled, spec.cols, 0), below))
    bits = pad_bits(spec.dtype, spec.pad, wide=o.target.pads_64_bits, finite=o.target.templates)
    below = Fill(VR, spec.rows if on_cpu else o.dst.vr, 0, spec.cols, bits)
    return Move(Element("src"), VR, VC, fills=(Fill(0, VR, VC, spec.cols, bits), below))


def _filled(o: Site) -> Any:
    """The column of L1 from which on all rows are filled: the rest of the last block of c0 stays as it is."""
    return -(-o.dst.vc // o.dst.spec.c0) * o.dst.spec.c0


def _pipe(o: Site) -> Pipe:
    return Pipe.MTE2 if o.dst.loc is TileType.Mat else Pipe.V


def _footprint(o: Site) -> Iterator[Access]:
    d, in_l1 = o.dst, o.dst.loc is TileType.Mat
    if in_l1 and o.target.is_device and known(o.src.origin, d.origin) and o.src.origin == d.origin:
        filled = _filled(o)
        yield Access("dst", True, d.rows - d.vr, filled, row=d.vr)  # what is valid, devices leave alone
        yield Access("dst", True, d.rows, d.cols - filled, col=filled)
        return
    yield Access("src", False, o.src.vr, o.src.vc)
    yield Access("dst", True, d.rows if in_l1 or not o.target.is_device else d.vr, d.cols)


def _fillpad(name: str, summary: str, rules: tuple[Rule, ...]) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (dst(), src()),
            pipe=_pipe,
            rules=rules,
            meaning=_meaning,
            footprint=_footprint,
            source="compute-layout-irregular 1.6",
        )
    )


TFILLPAD = _fillpad("TFILLPAD", "dst = src, padded with dst's pad value.", (*COPY_RULES, FP_1))
TFILLPAD_INPLACE = _fillpad(
    "TFILLPAD_INPLACE", "Pad a tile where it lies; src and dst share their bytes.", (*IN_PLACE_RULES, FP_1)
)
TFILLPAD_EXPAND = _fillpad("TFILLPAD_EXPAND", "dst = src, padded up to a larger tile.", (*EXPAND_RULES, FP_1))
