"""Operations of ub. against loops over their repeats, blocks and elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ptokit.types.dtypes import DTYPES
from tests.each import each

from .programs import checked, found, run

SIZE = 4096
"""Bytes of each of the three regions of the unified buffer."""

RNG = np.random.default_rng(21)
NUMBERS = {"one": 1, "two": 2, "three": 3, "zero": 0, "eight": 8}
STRIDES = {"binary": "dst_block src0_block src1_block dst_repeat src0_repeat src1_repeat", "unary": "d s D S"}


def program(dtype: str, body: list[tuple[str, list[int]]], *, used: int = 3) -> str:
    """A kernel that copies three regions in, does what `body` says (``$`` numbers follow) and copies them out."""
    constants: dict[int, str] = {}

    def name(value: int) -> str:
        return constants.setdefault(value, f"%n{len(constants)}")

    ptr, gm = f"!pto.ptr<{dtype}, ub>", f"!pto.ptr<{dtype}, gm>"
    moves_in, moves_out = [], []
    for k in range(used):
        start = f"%p{k} = pto.castptr {name(k * SIZE)} : i64 -> {ptr}"
        moves = f"{name(SIZE)}\n nburst({name(1)}, {name(SIZE)}, {name(SIZE)})"
        moves_in += [start, f"pto.mte_gm_ub %g{k}, %p{k}, {name(0)}, {moves} : {gm}, {ptr}, i64, i64, i64, i64, i64"]
        moves_out.append(f"pto.mte_ub_gm %p{k}, %g{k}, {moves} : {ptr}, {gm}, i64, i64, i64, i64")
    lines = []
    for text, values in body:
        op, _, operands = text.partition(" ")
        pointers = [f"%p{c}" for c in operands]
        listed = ", ".join((*pointers, *(name(v) for v in values)))
        types = ", ".join((*(ptr for _ in pointers), *("i64" for _ in values)))
        lines.append(f"pto.ub.{op} {listed} : {types}" if types else f"pto.ub.{op}")
    sync = (
        'pto.set_flag["PIPE_{0}", "PIPE_{1}", "EVENT_ID0"]\npto.wait_flag["PIPE_{0}", "PIPE_{1}", "EVENT_ID0"]'.format
    )
    head = [f"{n} = arith.constant {v} : i64" for v, n in constants.items()]
    args = ", ".join(f"%g{k}: {gm}" for k in range(used))
    inner = [*head, *moves_in, sync("MTE2", "V"), *lines, sync("V", "MTE3"), *moves_out, "return"]
    return f"func.func @k({args}) {{\n" + "\n".join(inner) + "\n}\n"


def regions(dtype: str) -> list[np.ndarray]:
    kind = np.dtype(DTYPES[dtype].value)
    count = SIZE // kind.itemsize
    if kind.kind == "f":
        return [(RNG.standard_normal(count) * 4).astype(kind) for _ in range(3)]
    info = np.iinfo(kind)
    return [RNG.integers(info.min, info.max, count, kind, endpoint=True) for _ in range(3)]


def model(
    memory: list[np.ndarray],
    operands: str,
    value: Callable[..., object],
    repeats: int,
    strides: list[int],
    on: Callable[[int, int], bool],
) -> None:
    """The operation, one element after the other."""
    width = memory[0].itemsize
    per, count = 32 // width, len(operands)
    blocks, steps = strides[:count], strides[count:]
    for r in range(repeats):
        before = [m.copy() for m in memory]
        for b in range(8):
            for e in range(per):
                if on(r, b * per + e):
                    at = [(s * r + t * b) * per + e for s, t in zip(steps, blocks, strict=True)]
                    given = [before[int(c)][i] for c, i in zip(operands[1:], at[1:], strict=True)]
                    with np.errstate(all="ignore"):
                        memory[int(operands[0])][at[0]] = value(*given)


def compare(dtype: str, body: list[tuple[str, list[int]]], given: list[np.ndarray], want: list[np.ndarray]) -> None:
    text = program(dtype, body)
    for on in ("a2a3", "a5"):
        got = [g.copy() for g in given]
        run(text, *got, on=on)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)
    assert found(text, *(g.copy() for g in given)) == []


BINARY: dict[str, tuple[str, Callable[..., object]]] = {
    "vadd": ("i16 i32 f16 f32", lambda x, y: x + y),
    "vsub": ("i16 i32 f16 f32", lambda x, y: x - y),
    "vmul": ("i16 i32 f16 f32", lambda x, y: x * y),
    "vdiv": ("f16 f32", lambda x, y: x / y),
    "vmax": ("i16 i32 f16 f32", max),
    "vmin": ("i16 i32 f16 f32", min),
    "vand": ("i16 i32", lambda x, y: x & y),
    "vor": ("i16 i32", lambda x, y: x | y),
    "vaddrelu": ("i16 f16 f32", lambda x, y: max(x + y, 0)),
}
UNARY: dict[str, tuple[str, Callable[..., object]]] = {
    "vnot": ("i16 i32", lambda x: ~x),
    "vabs": ("f16 f32", abs),
    "vrelu": ("i32 f16 f32", lambda x: max(x, 0)),
    "vexp": ("f16 f32", lambda x: type(x)(np.exp(np.float64(x)))),
    "vln": ("f16 f32", lambda x: type(x)(np.log(np.float64(x)))),
    "vsqrt": ("f16 f32", lambda x: np.sqrt(x)),
    "vrsqrt": ("f16 f32", lambda x: type(x)(1 / np.sqrt(np.float64(x)))),
}
SCALAR: dict[str, Callable[..., object]] = {
    "vadds": lambda x, s: x + s,
    "vmuls": lambda x, s: x * s,
    "vmaxs": max,
    "vmins": min,
}


def cases(table: dict[str, tuple[str, Callable[..., object]]]) -> list[tuple[str, str]]:
    return [(name, dtype) for name, (types, _) in table.items() for dtype in types.split()]


@each("name, dtype", cases(BINARY))
def test_two_sources(name: str, dtype: str) -> None:
    given = regions(dtype)
    want = [g.copy() for g in given]
    strides = [1, 2, 0, 8, 16, 1]
    model(want, "012", BINARY[name][1], 3, strides, lambda r, k: True)
    compare(dtype, [(f"{name} 012", [3, *strides])], given, want)


@each("name, dtype", cases(UNARY))
def test_one_source(name: str, dtype: str) -> None:
    given = regions(dtype)
    if name in ("vln", "vsqrt", "vrsqrt"):
        given = [abs(g) for g in given]
    want = [g.copy() for g in given]
    strides = [2, 1, 16, 8]
    model(want, "01", UNARY[name][1], 4, strides, lambda r, k: True)
    compare(dtype, [(f"{name} 01", [4, *strides])], given, want)


@each("dtype", ["i16", "i32", "f16", "f32"])
@each("name", SCALAR)
def test_a_number_comes_as_its_bits(name: str, dtype: str) -> None:
    given = regions(dtype)
    want = [g.copy() for g in given]
    scalar = given[0].dtype.type(3 if dtype[0] == "i" else -2.5)
    bits = int(scalar.view(f"i{scalar.itemsize}"))
    model(want, "01", lambda x: SCALAR[name](x, scalar), 2, [1, 1, 8, 8], lambda r, k: True)
    compare(dtype, [(f"{name} 01", [bits, 2, 1, 1, 8, 8])], given, want)


@each("dtype", ["i16", "i32"])
@each("by", [0, 3, 40])
def test_shifts_are_those_of_unsigned_numbers(dtype: str, by: int) -> None:
    given = regions(dtype)
    kind, bits = given[0].dtype, DTYPES[dtype].bits
    ones = (1 << bits) - 1

    def moved(x: int) -> np.ndarray:
        return np.array(x & ones if by < bits else 0, f"u{kind.itemsize}").view(kind)

    for name, value in (("vshl", lambda x: moved(int(x) << by)), ("vshr", lambda x: moved((int(x) & ones) >> by))):
        want = [g.copy() for g in given]
        model(want, "01", value, 2, [1, 1, 8, 8], lambda r, k: True)
        compare(dtype, [(f"{name} 01", [by, 2, 1, 1, 8, 8])], given, want)


@each("dtype", ["i16", "f16", "i32", "f32"])
def test_a_number_everywhere(dtype: str) -> None:
    given = regions(dtype)
    want = [g.copy() for g in given]
    scalar = given[0].dtype.type(7)
    model(want, "0", lambda: scalar, 3, [2, 16], lambda r, k: True)
    bits = int(scalar.view(f"i{scalar.itemsize}"))
    compare(dtype, [("vdup 0", [bits, 3, 2, 1, 16, 0])], given, want)


@each("dtype", ["i16", "f32"])
def test_bits_choose_elements_of_every_repeat(dtype: str) -> None:
    low, high = int(RNG.integers(-(2**63), 2**63)), int(RNG.integers(-(2**63), 2**63))
    bits = low & (2**64 - 1) | (high & (2**64 - 1)) << 64
    given = regions(dtype)
    want = [g.copy() for g in given]
    model(want, "012", lambda x, y: x + y, 2, [1, 1, 1, 8, 8, 8], lambda r, k: bool(bits >> k & 1))
    model(want, "1", lambda: 1, 1, [1, 8], lambda r, k: True)
    body = [
        ("set_mask", [low, high]),
        ("vadd 012", [2, 1, 1, 1, 8, 8, 8]),
        ("set_mask", [-1, -1]),
        ("vdup 1", [int(want[0].dtype.type(1).view(f"i{want[0].itemsize}")), 1, 1, 1, 8, 0]),
    ]
    compare(dtype, body, given, want)


@each("count", [0, 1, 64, 100, 336])
@each("repeat", [0, 1])
def test_a_count_says_how_many_elements_there_are(count: int, repeat: int) -> None:
    given = regions("f32")
    want = [g.copy() for g in given]
    model(want, "012", lambda x, y: x * y, -(-count // 64), [1, 1, 1, 8, 8, 8], lambda r, k: r * 64 + k < count)
    model(want, "2", lambda: 0, 1, [1, 8], lambda r, k: bool(count >> k & 1))
    body = [
        ("set_mask_count", []),
        ("set_mask", [count, 0]),
        ("vmul 012", [repeat, 1, 1, 1, 8, 8, 8]),
        ("set_mask_norm", []),
        ("vdup 2", [0, 1, 1, 1, 8, 0]),
    ]
    compare("f32", body, given, want)


def test_a_repeat_sees_what_the_one_before_it_wrote() -> None:
    given = regions("i32")
    want = [g.copy() for g in given]
    sums, chain = [1, 1, 1, 0, 0, 8], [1, 1, 8, 8]
    model(want, "001", lambda x, y: x + y, 9, sums, lambda r, k: True)
    compare("i32", [("vadd 001", [9, *sums])], given, want)
    np.testing.assert_array_equal(want[0][:64], given[0][:64] + given[1][: 9 * 64].reshape(9, 64).sum(0, np.int32))
    want = [g.copy() for g in given]
    model(want, "22", lambda x: x + 5, 4, chain, lambda r, k: True)
    compare("i32", [("vadds 22", [5, 4, *chain])], given, want)


def test_random_operations() -> None:
    for _ in range(40):
        dtype = str(RNG.choice(["i16", "i32", "f32"]))
        given = regions(dtype)
        want = [g.copy() for g in given]
        strides = [int(RNG.integers(0, high)) for high in (3, 3, 3, 12, 12, 12)]
        if strides[0] == 0 or strides[3] == 0:
            strides[0] = strides[0] or 1
        repeats, bits = int(RNG.integers(0, 7)), int(RNG.integers(-(2**63), 2**63))
        operands = "".join(str(k) for k in RNG.integers(0, 3, 3))
        chosen = bits & (2**64 - 1) | (2**64 - 1) << 64
        model(want, operands, lambda x, y: x - y, repeats, strides, lambda r, k, on=chosen: bool(on >> k & 1))
        compare(dtype, [("set_mask", [bits, -1]), (f"vsub {operands}", [repeats, *strides])], given, want)


def test_reads_and_writes_outside_the_buffer_and_wrong_types_are_refused() -> None:
    text = program("f32", [("vabs 01", [255, 8, 1, 255, 8])])
    with pytest.raises(Exception, match="PTR-A5-02"):
        run(text, *regions("f32"))
    assert [d.rule for d in checked(program("f32", [("vnot 01", [1, 1, 1, 8, 8])]))] == ["VEC-A5-07"]
    assert [d.rule for d in checked(program("i16", [("vexp 01", [1, 1, 1, 8, 8])]))] == ["VEC-A5-07"]
    head, _, tail = program("f32", [("vabs 01", [1, 1, 1, 8, 8])]).partition("pto.ub.vabs %p0")
    half = "!pto.ptr<f16, ub>"
    wrong = f"%q = pto.castptr %n0 : i64 -> {half}\npto.ub.vabs %q" + tail.replace("!pto.ptr<f32, ub>", half, 1)
    assert [d.rule for d in checked(head + wrong)] == ["VEC-A5-06"]


def test_a_missing_flag_is_found() -> None:
    text = program("f32", [("vabs 01", [1, 1, 1, 8, 8])])
    first = text.index("pto.set_flag")
    lines = text[first:].splitlines()[2:]
    rules = {rule for rule, _ in found(text[:first] + "\n".join(lines) + "\n", *regions("f32"))}
    assert any(rule.startswith("RACE") for rule in rules)
