"""Rules of TCI, TTRI and TRANDOM (compute-layout-irregular 2.7, 2.8, 2.10; compute-reduce-matrix 8)."""

from __future__ import annotations

from ptokit.diagnostics import family

from ..checks.operands import Message
from ..checks.tiles import boxed_or_columns, in_types, missing, not_vec
from ..site import Site
from ..typesets import types_of

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
