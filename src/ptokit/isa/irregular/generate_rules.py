"""Rules of TCI, TTRI and TRANDOM (compute-layout-irregular 2.7, 2.8, 2.10; compute-reduce-matrix 8)."""

from __future__ import annotations

from ptokit.diagnostics import Severity, family
from ptokit.targets import A2A3

from ..checks.operands import Message
from ..checks.tiles import boxed_or_columns, in_types, missing, not_vec
from ..site import Site
from ..typesets import types_of
from ..unknown import known

_ci = family("compute-layout-irregular 2.7")
_tri = family("compute-layout-irregular 2.8")
_random = family("compute-layout-irregular 2.10")


@_ci("GEN-CI-01", "1x64", "2x64")
def GEN_CI_01(o: Site) -> Message:
    """TCI fills a Vec tile of one row."""
    return not_vec(o, "dst") or (
        f"{o:dst} has {o.dst.rows} rows; TCI fills a tile of one row" if o.dst.rows != 1 else None
    )


@_ci("CI-01", "i32 into i32", "i16 into i32")
def CI_01(o: Site) -> Message:
    """The start has dst's element type."""
    d = o.dst.dtype
    legal = ("", d.text, f"i{d.bits}" if d.is_integer else d.text)
    return f"the start is {o.start.type}, {o:dst} has element type {d}" if o.start.type not in legal else None


@_ci("CI-02", "i16", "i8")
def CI_02(o: Site) -> Message:
    """TCI makes 16- and 32-bit integers; on a2a3 without tmp floats too."""
    if o.target.is_a(A2A3) and o.has("tmp") and not o.dst.dtype.is_integer:
        return f"{o:dst} has element type {o.dst.dtype}; with {o:tmp} TCI makes integers"
    return in_types(o)


@_ci("CI-02-T", "1x192xi32 for i32", "1x64xi32", targets=("a2a3",))
def CI_02_T(o: Site) -> Message:
    """The scratch tile has a 4-byte type and 768 bytes, for 16-bit elements 1792."""
    t = o.tmp
    if t is None:
        return None
    need = 768 if o.dst.dtype.size == 4 else 1792
    if t.dtype.size != 4 or t.spec.nbytes < need:
        return f"{o:tmp} has {t.spec.nbytes} bytes of {t.dtype}; TCI uses {need} bytes of a 4-byte type"
    return None


@_ci("CI-03", "start 0", "start 5, descending, with tmp", targets=("a2a3",), severity=Severity.WARNING)
def CI_03(o: Site) -> Message:
    """A descending sequence with tmp starts at 0 on a2a3.

    The library computes -(start + k) there.

    Decision: The executor computes start - k.
    """
    if not (o.has("tmp") and o.descending and known(o.start.value)) or o.start.value == 0:
        return None
    return f"the library computes -({o.start.value} + k) with {o:tmp}, not {o.start.value} - k"


CI_RULES = (
    GEN_CI_01,
    CI_01,
    CI_02,
    CI_02_T,
    CI_03,
)


@_tri("GEN-TRI-01", "1", "2")
def GEN_TRI_01(o: Site) -> Message:
    """upperOrLower is 0 or 1."""
    return f"upperOrLower is {o.upper_or_lower}; 0 is lower, 1 upper" if o.upper_or_lower not in (0, 1) else None


@_tri("TRI-01", "an ND tile", "blayout=col_major")
def TRI_01(o: Site) -> Message:
    """TTRI fills a row-major Vec tile."""
    return not_vec(o, "dst") or boxed_or_columns(o, "dst")


TRI_RULES = (
    GEN_TRI_01,
    TRI_01,
    _tri("TRI-02", "f32", "bf16 on a2a3", what="TTRI has a form for the element type.")(in_types),
)
_32_BITS = types_of("i32 u32")


@_random("RAND-01", "u32", "f32")
def RAND_01(o: Site) -> Message:
    """TRANDOM makes 32-bit integers."""
    return f"{o:dst} has element type {o.dst.dtype}; TRANDOM makes i32 or u32" if o.dst.dtype not in _32_BITS else None


@_random("RAND-02", "7", "8")
def RAND_02(o: Site) -> Message:
    """There are 7 or 10 rounds."""
    return f"rounds is {o.rounds}; TRANDOM has 7 and 10" if o.rounds not in (7, 10) else None


@_random("RAND-03", "an ND tile", "blayout=col_major")
def RAND_03(o: Site) -> Message:
    """TRANDOM fills a row-major Vec tile."""
    return not_vec(o, "dst") or boxed_or_columns(o, "dst")


RANDOM_RULES = (
    RAND_01,
    RAND_02,
    RAND_03,
    _random(
        "RAND-04",
        "on a5",
        "on a2a3",
        what="TRANDOM exists on a5 and cpu.",
        targets=("a2a3",),
        decision="Every target uses the order of A5; the simulator's differs.",
    )(missing),
)
