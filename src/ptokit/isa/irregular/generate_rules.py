"""Rules of TCI, TTRI and TRANDOM (compute-layout-irregular 2.7, 2.8, 2.10; compute-reduce-matrix 8)."""

from __future__ import annotations

from functools import partial

from ptokit.diagnostics import Severity, define

from ..operands import Message
from ..site import Site
from ..tile_checks import boxed_or_columns, in_types, missing, not_vec
from ..typesets import types_of
from ..unknown import known

_ci = partial(define, source="compute-layout-irregular 2.7")
_tri = partial(define, source="compute-layout-irregular 2.8")
_random = partial(define, source="compute-layout-irregular 2.10")


def _one_row(o: Site) -> Message:
    return not_vec(o, "dst") or (f"dst has {o.dst.rows} rows; TCI fills a tile of one row" if o.dst.rows != 1 else None)


def _start_type(o: Site) -> Message:
    d = o.dst.dtype
    legal = ("", d.text, f"i{d.bits}" if d.is_integer else d.text)
    return f"the start is {o.start.type}, dst has element type {d}" if o.start.type not in legal else None


def _ci_types(o: Site) -> Message:
    if o.target.name == "a2a3" and o.has("tmp") and not o.dst.dtype.is_integer:
        return f"dst has element type {o.dst.dtype}; with tmp TCI makes integers"
    return in_types(o)


def _ci_tmp(o: Site) -> Message:
    t = o.tmp
    if t is None:
        return None
    need = 768 if o.dst.dtype.size == 4 else 1792
    if t.dtype.size != 4 or t.spec.nbytes < need:
        return f"tmp has {t.spec.nbytes} bytes of {t.dtype}; TCI uses {need} bytes of a 4-byte type"
    return None


def _ci_descending(o: Site) -> Message:
    if not (o.has("tmp") and o.descending and known(o.start.value)) or o.start.value == 0:
        return None
    return f"the library computes -({o.start.value} + k) with tmp, not {o.start.value} - k"


CI_RULES = (
    _ci("GEN-CI-01", "TCI fills a Vec tile of one row.", _one_row, accepted="1x64", rejected="2x64"),
    _ci("CI-01", "The start has dst's element type.", _start_type, accepted="i32 into i32", rejected="i16 into i32"),
    _ci(
        "CI-02",
        "TCI makes 16- and 32-bit integers; on a2a3 without tmp floats too.",
        _ci_types,
        accepted="i16",
        rejected="i8",
    ),
    _ci(
        "CI-02-T",
        "The scratch tile has a 4-byte type and 768 bytes, for 16-bit elements 1792.",
        _ci_tmp,
        targets=("a2a3",),
        accepted="1x192xi32 for i32",
        rejected="1x64xi32",
    ),
    _ci(
        "CI-03",
        "A descending sequence with tmp starts at 0 on a2a3.",
        _ci_descending,
        targets=("a2a3",),
        severity=Severity.WARNING,
        why="The library computes -(start + k) there.",
        accepted="start 0",
        rejected="start 5, descending, with tmp",
        decision="The executor computes start - k.",
    ),
)


def _flag(o: Site) -> Message:
    return f"upperOrLower is {o.upper_or_lower}; 0 is lower, 1 upper" if o.upper_or_lower not in (0, 1) else None


TRI_RULES = (
    _tri("GEN-TRI-01", "upperOrLower is 0 or 1.", _flag, accepted="1", rejected="2"),
    _tri(
        "TRI-01",
        "TTRI fills a row-major Vec tile.",
        lambda o: not_vec(o, "dst") or boxed_or_columns(o, "dst"),
        accepted="an ND tile",
        rejected="blayout=col_major",
    ),
    _tri("TRI-02", "TTRI has a form for the element type.", in_types, accepted="f32", rejected="bf16 on a2a3"),
)
_32_BITS = types_of("i32 u32")


def _word(o: Site) -> Message:
    return f"dst has element type {o.dst.dtype}; TRANDOM makes i32 or u32" if o.dst.dtype not in _32_BITS else None


def _rounds(o: Site) -> Message:
    return f"rounds is {o.rounds}; TRANDOM has 7 and 10" if o.rounds not in (7, 10) else None


RANDOM_RULES = (
    _random("RAND-01", "TRANDOM makes 32-bit integers.", _word, accepted="u32", rejected="f32"),
    _random("RAND-02", "There are 7 or 10 rounds.", _rounds, accepted="7", rejected="8"),
    _random(
        "RAND-03",
        "TRANDOM fills a row-major Vec tile.",
        lambda o: not_vec(o, "dst") or boxed_or_columns(o, "dst"),
        accepted="an ND tile",
        rejected="blayout=col_major",
    ),
    _random(
        "RAND-04",
        "TRANDOM exists on a5 and cpu.",
        missing,
        targets=("a2a3",),
        accepted="on a5",
        rejected="on a2a3",
        decision="Every target uses the order of A5; the simulator's differs.",
    ),
)
