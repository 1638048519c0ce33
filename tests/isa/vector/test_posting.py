"""Accesses that also give the pointer, advanced: as the plain access at the pointer, and an addptr after it."""

from __future__ import annotations

import numpy as np

from ptokit.isa.table import TABLE
from tests.each import each

from .programs import read, run

PROGRAM = """\
func.func @f(%x: !pto.ptr<ui8, gm>, %y: !pto.ptr<ui8, gm>) {{
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 2048 : i64
  %o = arith.constant 4096 : i64
  %c0 = arith.constant 0 : index
  %c0_i16 = arith.constant 0 : i16
  %c0_i32 = arith.constant 0 : i32
  %step = arith.constant {step} : {kind}
  %moved = arith.constant {moved} : index
  %in = pto.castptr %z : i64 -> !pto.ptr<ui8, ub>
  %from = pto.castptr %z : i64 -> $p
  %to = pto.castptr %o : i64 -> $p
  %out = pto.castptr %o : i64 -> !pto.ptr<ui8, ub>
  pto.mte_gm_ub %x, %in, %z, %size nburst(%one, %size, %size)
    : !pto.ptr<ui8, gm>, !pto.ptr<ui8, ub>, i64, i64, i64, i64, i64
  pto.vecscope {{
    %m = pto.pset_b32 "PAT_M3" : !pto.mask<b32>
    %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %v = pto.vlds %from[%c0] : $p -> $v
{body}
  }}
  pto.mte_ub_gm %out, %y, %size nburst(%one, %size, %size)
    : !pto.ptr<ui8, ub>, !pto.ptr<ui8, gm>, i64, i64, i64, i64
  return
}}
"""

# Plain form and posted form of an access; ``{at}`` is a step of 0 in its unit, ``%n`` the pointer advanced; then what
# is done with it. Step in the unit of the access, type of the step, and elements of f32 that it comes to.
LOADED = "    pto.vsts {v}, %to[%c0], %all : $v, $p, $k"
SECOND = """\
    %w = pto.vlds %n[%c0] : $p -> $v
    %k64 = arith.constant 64 : index
    pto.vsts %w, %to[%k64], %all : $v, $p, $k"""
STORED = "    pto.vsts %v, %n[%c0], %all : $v, $p, $k"
CASES = {
    "vlds": ("%r{n} = pto.vlds %from[{at}] : $p -> $v{t}", f"{LOADED.format(v='%r')}\n{SECOND}", 24, "index", 24),
    "vldsx2": (
        '%r, %h{n} = pto.vldsx2 %from[{at}], "DINTLV_B32" : $p, index -> $v, $v{t}',
        f"{LOADED.format(v='%h')}\n{SECOND}",
        16,
        "index",
        16,
    ),
    "vsldb": (
        "%r{n} = pto.vsldb %from, %c0_i16, {at}, %m : $p, i16, i16, $k -> $v{t}",
        f"{LOADED.format(v='%r')}\n{SECOND}",
        3,
        "i16",
        24,
    ),
    "plds": (
        '%r{n} = pto.plds %from[{at}], "NORM" : $p, index -> $k{t}',
        '    pto.psts %r, %to[%c0], "NORM" : $k, $p, index\n' + SECOND,
        96,
        "index",
        24,
    ),
    "pldi": (
        '%r{n} = pto.pldi %from[{at}], "US" : $p, index -> $k{t}',
        '    pto.psts %r, %to[%c0], "NORM" : $k, $p, index\n' + SECOND,
        6,
        "index",
        24,
    ),
    "vsts": ("{n}pto.vsts %v, %to[{at}], %m : $v, $p, $k{t}", STORED, 64, "index", 64),
    "vsstb": ("{n}pto.vsstb %v, %to, %c0_i16, {at}, %m : $v, $p, i16, i16, $k{t}", STORED, 8, "i16", 64),
    "psts": ('{n}pto.psts %m, %to[{at}], "NORM" : $k, $p, index{t}', STORED, 32, "index", 8),
    "psti": ('{n}pto.psti %m, %to[{at}], "PK" : $k, $p, index{t}', STORED, 2, "index", 8),
    "sprsti": ('{n}pto.sprsti "AR", %to[{at}] : $p, i32{t}', STORED, 8, "i32", 8),
    "sprsts": ('{n}pto.sprsts "AR", %to[{at}] : $p, i32{t}', STORED, 32, "i32", 8),
}
for _old, _new in (("pld", "plds"), ("pst", "psts")):
    CASES[_old] = (CASES[_new][0].replace(_new, _old), *CASES[_new][1:])


def text(line: str, after: str, step: int, kind: str, moved: int, posted: bool) -> str:
    zero = "%c0" if kind == "index" else f"%c0_{kind}"
    results = line.startswith("%")
    if posted:
        made = line.format(n=", %n" if results else "%n = ", at="%step", t=", $p" if results else " -> $p")
        body = f"    {made}\n{after}"
    else:
        add = "    %n = pto.addptr %" + ("from" if results else "to") + ", %moved : $p -> $p"
        body = f"    {line.format(n='', at=zero, t='')}\n{add}\n{after}"
    whole = PROGRAM.format(step=step, kind=kind, moved=moved, body=body)
    types = {"$p": "!pto.ptr<i32, ub>", "$v": "!pto.vreg<64xi32>", "$k": "!pto.mask<b32>"}
    for short, long in types.items():
        whole = whole.replace(short, long)
    return whole


@each("name", CASES)
def test_the_access_is_at_the_pointer_and_the_result_behind_it(name: str) -> None:
    data = np.random.default_rng(len(name)).integers(0, 256, 2048).astype(np.uint8)
    results = []
    for posted in (False, True):
        y = np.zeros(2048, np.uint8)
        run(text(*CASES[name], posted), data, y)
        results.append(y)
    assert results[0].any()
    assert np.array_equal(*results)


def test_every_access_of_that_kind_has_a_case() -> None:
    streams = {"vstas"}  # its pointer is that of the stream it ends
    posted = {name for name, instr in TABLE.items() if any(o.posted for o in instr.produces)}
    assert posted == set(CASES) | streams


def test_the_step_is_not_a_result_unless_it_is_asked_for() -> None:
    plain = read(text(*CASES["vlds"], False))
    assert [len(op.results) for op in plain.functions[0].body.walk() if op.name == "pto.vlds"] == [1, 1, 1]
    posted = read(text(*CASES["vlds"], True))
    assert [len(op.results) for op in posted.functions[0].body.walk() if op.name == "pto.vlds"] == [1, 2, 1]


def test_an_unaligned_stream_goes_on_behind_its_increment() -> None:
    body = """\
    %a = pto.vldas %from : $p -> !pto.align
    %r, %a1, %n = pto.vldus %from, %a, %step : $p, !pto.align, index -> $v, !pto.align, $p
    %s, %a2, %n2 = pto.vldus %n, %a1, %step : $p, !pto.align, index -> $v, !pto.align, $p
    pto.vsts %s, %to[%c0], %all : $v, $p, $k"""
    whole = PROGRAM.format(step=48, kind="index", moved=0, body=body)
    for short, long in {"$p": "!pto.ptr<i32, ub>", "$v": "!pto.vreg<64xi32>", "$k": "!pto.mask<b32>"}.items():
        whole = whole.replace(short, long)
    x, y = np.arange(2048, dtype=np.uint8), np.zeros(2048, np.uint8)
    run(whole, x, y)
    assert np.array_equal(y[:256], x[192:448])
