"""Predicates in the unified buffer, in whole programs: values, rules, and what the sanitizer sees."""

from __future__ import annotations

import numpy as np

from tests.each import each

from .programs import checked, found, run

PROGRAM = """\
func.func @predicates(%x: !pto.ptr<ui8, gm>, %y: !pto.ptr<ui8, gm>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 256 : i64
  %at = arith.constant 4096 : i64
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %p = pto.castptr %z : i64 -> !pto.ptr<ui8, ub>
  %q = pto.castptr %at : i64 -> !pto.ptr<ui8, ub>
  %w = pto.castptr %at : i64 -> !pto.ptr<ui32, ub>
  %h = pto.castptr %at : i64 -> !pto.ptr<ui16, ub>
  pto.mte_gm_ub %x, %p, %z, %size nburst(%one, %size, %size)
    : !pto.ptr<ui8, gm>, !pto.ptr<ui8, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
BODY
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %q, %y, %size nburst(%one, %size, %size)
    : !pto.ptr<ui8, ub>, !pto.ptr<ui8, gm>, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  return
}
"""

POINTER = "!pto.ptr<ui8, ub>"
LOAD = f'    %m = pto.plds %p[%c32], "NORM" : {POINTER}, index -> !pto.mask<b32>\n'
STORE = f'    pto.psts %m, %q[%c0], "NORM" : !pto.mask<b32>, {POINTER}, index\n'


def program(body: str, without: str = "") -> str:
    lines = PROGRAM.replace("BODY", body.rstrip("\n")).splitlines(True)
    return "".join(line for line in lines if not without or without not in line)


def data() -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, 256, dtype=np.uint8)


def bits(raw: np.ndarray) -> np.ndarray:
    return np.unpackbits(raw, bitorder="little")


def stored(body: str, blocks: int = 1) -> np.ndarray:
    y = np.zeros(256, np.uint8)
    run(program(body), data(), y, blocks=blocks)
    return y


def test_a_predicate_goes_through_memory_bit_for_bit() -> None:
    assert np.array_equal(stored(LOAD + STORE)[:32], data()[32:64])
    assert np.array_equal(stored(LOAD + STORE, blocks=3)[:32], data()[32:64])


LOADS = {
    "NORM": lambda raw: bits(raw[:32]),
    "US": lambda raw: bits(raw[:16]).repeat(2),
    "DS": lambda raw: bits(raw[:64])[::2],
}


@each("dist", LOADS)
@each(
    "form",
    [
        '%m = pto.plds %p[%c32], "{}" : {}, index -> !pto.mask<b8>',
        '%m = pto.pldi %p, 4, "{}" : {}, i32 -> !pto.mask<b8>',
        '%f = arith.constant 4 : i32\n    %m = pto.pld %p, %f, "{}" : {}, i32 -> !pto.mask<b8>',
    ],
)
def test_loads(form: str, dist: str) -> None:
    store = f'    pto.psti %m, %q[%c0], "NORM" : !pto.mask<b8>, {POINTER}, index\n'
    got = stored("    " + form.format(dist, POINTER) + "\n" + store)
    assert np.array_equal(bits(got[:32]), LOADS[dist](data()[32:]))


@each(
    "form",
    [
        'pto.psts %m, %q[%c64], "{}" : !pto.mask<b32>, {}, index',
        'pto.psti %m, %q, 8, "{}" : !pto.mask<b32>, {}, i32',
        '%e = arith.constant 8 : i32\n    pto.pst %m, %q, %e, "{}" : !pto.mask<b32>, {}, i32',
    ],
)
def test_stores(form: str) -> None:
    raw = bits(data()[32:64])
    for dist, want in (("NORM", raw), ("PK", raw[::2])):
        got = bits(stored(LOAD + "    " + form.format(dist, POINTER) + "\n"))
        assert np.array_equal(got[512 : 512 + len(want)], want)
        assert not got[:512].any()
        assert not got[512 + len(want) :].any()


@each("dist, unit", [("NORM", 32), ("US", 16), ("DS", 32)])
def test_an_immediate_offset_counts_what_the_mode_says(dist: str, unit: int) -> None:
    store = f'    pto.psti %m, %q[%c0], "NORM" : !pto.mask<b8>, {POINTER}, index\n'
    load = f'    %m = pto.pldi %p[%c3], "{dist}" : {POINTER}, index -> !pto.mask<b8>\n'
    got = stored("    %c3 = arith.constant 3 : index\n" + load + store)
    assert np.array_equal(bits(got[:32]), LOADS[dist](data()[3 * unit :]))


STREAM = """\
    %a = pto.init_align : !pto.align
    %m, %r = pto.plt_b{b} %count : i32 -> !pto.mask<b{b}>, i32
    %b, %e = pto.pstu %a, %m, %{p} : !pto.align, !pto.mask<b{b}>, !pto.ptr<ui{b}, ub> -> !pto.align, !pto.ptr<ui{b}, ub>
    %n = pto.pset_b{b} "PAT_M4" : !pto.mask<b{b}>
    %c, %f = pto.pstu %b, %n, %e : !pto.align, !pto.mask<b{b}>, !pto.ptr<ui{b}, ub> -> !pto.align, !pto.ptr<ui{b}, ub>
    pto.vstas %c, %f, %zero : !pto.align, !pto.ptr<ui{b}, ub>, i32
"""


@each("width, pointer", [(32, "w"), (16, "h")])
def test_a_stream_has_one_bit_for_each_lane(width: int, pointer: str) -> None:
    count = "    %count = arith.constant 13 : i32\n"
    got = bits(stored(count + STREAM.format(b=width, p=pointer)))
    lanes = 256 * 8 // width
    want = [i < 13 for i in range(lanes)] + [i % 4 == 0 for i in range(lanes)]
    assert got[: 2 * lanes].tolist() == want
    assert not got[2 * lanes :].any()


def test_the_pointer_of_a_stream_fits_the_predicate() -> None:
    count = "    %count = arith.constant 13 : i32\n"
    good = program(count + STREAM.format(b=32, p="w"))
    assert checked(good) == []
    bad = good.replace("!pto.ptr<ui32, ub>", "!pto.ptr<ui16, ub>").replace("%m, %w", "%m, %h")
    bad = bad.replace("%w = pto.castptr %at : i64 -> !pto.ptr<ui16, ub>", "")
    places = [i for i, line in enumerate(bad.splitlines(), 1) if "pto.pstu" in line]
    assert [(d.rule, d.location.line) for d in checked(bad)] == [("PRD-A5-05", line) for line in places]


def filling(mask: str) -> str:
    """Stores that write all that goes to global memory."""
    return "".join(
        f"    %k{i} = arith.constant {32 * i} : index\n"
        f'    pto.psts %{mask}, %q[%k{i}], "NORM" : !pto.mask<b32>, {POINTER}, index\n'
        for i in range(8)
    )


def findings(body: str, without: str = "") -> list[tuple[str, str]]:
    return found(program(body, without), data(), np.zeros(256, np.uint8))


def test_the_sanitizer_sees_predicates_in_memory() -> None:
    fill = filling("m")
    assert findings(LOAD + fill) == []
    assert ("RACE-RAW", "pto.plds") in findings(LOAD + fill, 'wait_flag["PIPE_MTE2"')
    assert ("RACE-RAW", "pto.mte_ub_gm") in findings(LOAD + fill, 'wait_flag["PIPE_V"')
    assert findings(LOAD + STORE) == [("UNINIT-READ", "pto.mte_ub_gm")]


def test_operations_on_registers_touch_no_memory() -> None:
    """A register that is read long after its load needs no order with what overwrites the memory it came from."""
    refill = (
        '    pto.set_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]\n'
        '    pto.wait_flag["PIPE_V", "PIPE_MTE2", "EVENT_ID1"]\n'
        "    pto.mte_gm_ub %x, %p, %z, %size nburst(%one, %size, %size)"
        " : !pto.ptr<ui8, gm>, !pto.ptr<ui8, ub>, i64, i64, i64, i64, i64\n"
    )
    compute = "    %n = pto.pnot %m, %m : !pto.mask<b32>, !pto.mask<b32> -> !pto.mask<b32>\n"
    assert findings(LOAD + refill + compute + filling("n")) == []
