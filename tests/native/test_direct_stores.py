"""Results that go to global memory at once: the same bytes, whoever reads the tile again."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native import elided_copies
from ptokit.backends.native.program import NativeProgram
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target

ROWS, WIDTH, ITERATIONS = 8, 40, 3
VIEW, PART = "!pto.tensor_view<?x?xf32>", "!pto.partition_tensor_view<8x{}xf32>"
TILE, TURNED = "!pto.tile_buf<vec, 8x40xf32, valid=8x{}>", "!pto.tile_buf<vec, 10x32xf32>"

SMALL = "!pto.tile_buf<vec, 8x8xf32>"


def program(body: list[str], cols: int = WIDTH) -> Program:
    """Tiles %t and %u; parts %ap, %bp (read), %yp, %zp (written), of one turn each or, with a capital, of all."""
    tile, part = TILE.format(cols), PART.format(cols)
    lines = ["func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, ITERATIONS, ROWS, ROWS * ITERATIONS, WIDTH, cols)]
    lines += ["%half = arith.constant 0.5 : f32"]
    lines += [f"%{x} = pto.alloc_tile : {tile}" for x in "tu"]
    for x in "abyz":
        shape = f"shape = [%k{ROWS * ITERATIONS}, %k{WIDTH}], strides = [%k{WIDTH}, %k1]"
        lines.append(f"%{x}v = pto.make_tensor_view %{x}, {shape} : {VIEW}")
        sizes = f"sizes = [%k{ROWS}, %k{cols}] : {VIEW} -> {part}"
        lines.append(f"%{x.upper()}p = pto.partition_view %{x}v, offsets = [%k0, %k0], {sizes}")
    turn = [f"scf.for %i = %k0 to %k{ITERATIONS} step %k1 {{", f"%r = arith.muli %i, %k{ROWS} : index"]
    turn += [f"%{x}p = pto.partition_view %{x}v, offsets = [%r, %k0], {sizes}" for x in "abyz"]
    text = "\n".join(
        [*dict.fromkeys(lines), *[line if line != "loop" else "\n".join(turn) for line in body], "return", "}"]
    )
    read = parse_module(text.replace("TILE", tile).replace("PART", part), target=target("a5"))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target("a5"))


def load(tile: str, part: str) -> str:
    return f"pto.tload ins(%{part}p : PART) outs(%{tile} : TILE)"


def store(tile: str, part: str) -> str:
    return f"pto.tstore ins(%{tile} : TILE) outs(%{part}p : PART)"


def add(a: str, b: str, to: str) -> str:
    return f"pto.tadd ins(%{a}, %{b} : TILE, TILE) outs(%{to} : TILE)"


def halve(a: str, to: str) -> str:
    return f"pto.tmuls ins(%{a}, %half : TILE, f32) outs(%{to} : TILE)"


def launched(made: Program, backend: str) -> list[bytes]:
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((ROWS * ITERATIONS, WIDTH)).astype(np.float32) for _ in "abyz"]
    made.launch(arrays, backend=backend)
    return [x.tobytes() for x in arrays]


AT_ONCE = {
    "loaded, computed, stored": ["loop", load("t", "a"), add("t", "t", "t"), store("t", "y"), "}"],
    "written twice": ["loop", load("t", "a"), add("t", "t", "t"), halve("t", "t"), store("t", "y"), "}"],
    "not loaded": ["loop", load("t", "a"), halve("t", "u"), store("u", "y"), store("t", "z"), "}"],
    "a triangle": [
        "%diagonal = arith.constant 3 : i32",
        *("loop", "pto.ttri ins(%diagonal {upper_or_lower = 0} : i32) outs(%t : TILE)", store("t", "y"), "}"),
    ],
    "read on the way": [
        *("loop", load("t", "a"), add("t", "t", "u"), halve("u", "t"), add("t", "u", "u"), store("u", "y"), "}")
    ],
}
BY_TILE = {
    "another one is computed before": [
        *("loop", load("t", "a"), load("u", "b"), halve("u", "u"), store("t", "y"), store("u", "z"), "}"),
    ],
    "added to": ["loop", "pto.tadds ins(%t, %half : TILE, f32) outs(%t : TILE)", store("t", "y"), "}"],
    "added up without being named as a source": [
        *("loop", load("u", "a"), "pto.taxpy ins(%u, %half : TILE, f32) outs(%t : TILE)", store("t", "y"), "}")
    ],
    "read before it is loaded": [
        *("loop", halve("t", "u"), load("t", "a"), halve("t", "t"), store("t", "y"), store("u", "z"), "}")
    ],
    "written in part": [
        f"%s = pto.alloc_tile : {SMALL}\npto.texpands ins(%half : f32) outs(%s : {SMALL})",
        *("loop", f"pto.tinsert ins(%s, %k0, %k0 : {SMALL}, index, index) outs(%t : TILE)"),
        *("pto.tadds ins(%t, %half : TILE, f32) outs(%t : TILE)", store("t", "y"), "}"),
    ],
    "read after the store": ["loop", load("t", "a"), add("t", "t", "t"), store("t", "y"), store("t", "z"), "}"],
    "added up over the turns": [load("t", "A"), "loop", load("u", "a"), add("t", "u", "t"), store("t", "y"), "}"],
    "read by the next turn first": [
        "loop",
        add("u", "u", "t"),
        load("u", "a"),
        add("u", "t", "u"),
        store("u", "y"),
        "}",
    ],
    "read after the loop": ["loop", load("t", "a"), add("t", "t", "t"), store("t", "y"), "}", store("t", "Z")],
    "written in a branch": [
        *("loop", "%first = arith.cmpi eq, %i, %k0 : index", "scf.if %first {", load("t", "a"), "}"),
        *(add("t", "t", "t"), store("t", "y"), "}"),
    ],
    "known by another name": [
        *("loop", load("t", "a"), add("t", "t", "t"), f"%o = pto.treshape %t : TILE -> {TURNED}"),
        *(store("t", "y"), f"pto.tadd ins(%o, %o : {TURNED}, {TURNED}) outs(%o : {TURNED})", store("t", "z"), "}"),
    ],
}


@pytest.mark.parametrize("cols", [WIDTH, 37])
@pytest.mark.parametrize("name", [*AT_ONCE, *BY_TILE])
def test_backends_agree(name: str, cols: int) -> None:
    if "TILE -> " in str(BY_TILE.get(name)) and cols != WIDTH:
        pytest.skip("a tile that is not wholly valid has no other shape")
    made = program({**AT_ONCE, **BY_TILE}[name], cols)
    assert launched(made, "native") == launched(made, "numpy")


@pytest.mark.parametrize("name", [*AT_ONCE, *BY_TILE])
def test_what_nobody_reads_again_is_not_kept(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, real = [], elided_copies.pitch
    monkeypatch.setattr(elided_copies, "pitch", lambda *args: found.append(real(*args)) or found[-1])
    NativeProgram(program({**AT_ONCE, **BY_TILE}[name]))
    assert (WIDTH in found) == (name in AT_ONCE)


SHAPES = {
    "rows in two groups": ("8x32xf32", "2x4x32xf32", "[%k2, %k4, %k32]", "[%k256, %k40, %k1]"),
    "columns apart": ("8x32xf32", "8x32xf32", "[%k8, %k32]", "[%k40, %k2]"),
    "a row of the run": ("8x32xf32", "8x32xf32", "[%k8, %k32]", "[%n, %k1]"),
    "columns": ("8x32xf32, blayout=col_major", "8x32xf32", "[%k8, %k32]", "[%k1, %k8]"),
    "one column": ("8x8xf32, valid=8x1", "?x?xf32", "[%k8, %m]", "[%n, %k1]"),
    "one column, rows known": ("8x8xf32, valid=8x1", "?x?xf32", "[%k8, %m]", "[%k40, %k1]"),
}
"""Tiles and views: what is stored one after the other lies apart, or in another order, or elsewhere."""


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str) -> None:
    tile, part, sizes, strides = SHAPES[name]
    view = f"!pto.tensor_view<{'x'.join('?' * sizes.count('%'))}xf32>"
    tile, part = f"!pto.tile_buf<vec, {tile}>", f"!pto.partition_tensor_view<{part}>"
    layout = " {layout = #pto.layout<dn>}" if name == "columns" else ""
    lines = ["func.func @k(%y: !pto.ptr<f32>, %n: index, %m: index) {", f"%t = pto.alloc_tile : {tile}"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 2, 4, 8, 32, 40, 64, 256)]
    lines += [f"%yv = pto.make_tensor_view %y, shape = {sizes}, strides = {strides}{layout} : {view}"]
    corner = ", ".join(["%k0"] * sizes.count("%"))
    lines += [f"%yp = pto.partition_view %yv, offsets = [{corner}], sizes = {sizes} : {view} -> {part}"]
    lines += ["%half = arith.constant 0.5 : f32", f"pto.texpands ins(%half : f32) outs(%t : {tile})"]
    text = "\n".join([*lines, f"pto.tstore ins(%t : {tile}) outs(%yp : {part})", "return", "}"])
    on = target("cpu" if name == "columns apart" else "a5")
    read = parse_module(text, target=on)
    read.diagnostics.raise_if_errors()
    made, found = compile_program(read.module, on), []
    for backend in ("native", "numpy"):
        y = np.zeros(512, np.float32)
        made.launch([y, 40, 1], backend=backend)
        found.append(y.tolist())
    assert found[0] == found[1]
    assert any(found[0])


def test_bits_that_do_not_fill_their_tile() -> None:
    """A comparison writes some bytes of a row only."""
    bits, floats, view = "!pto.tile_buf<vec, 8x64xi8>", "!pto.tile_buf<vec, 8x64xf32>", "!pto.tensor_view<?x?xi8>"
    part = "!pto.partition_tensor_view<8x64xi8>"
    lines = [f"func.func @k(%y: !pto.ptr<i8>) {{\n%b = pto.alloc_tile : {bits}\n%f = pto.alloc_tile : {floats}"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 3, 8, 24, 64)]
    lines += ["%half = arith.constant 0.5 : f32\n%one = arith.constant 1 : i8", "scf.for %i = %k0 to %k3 step %k1 {"]
    lines += [
        f"%yv = pto.make_tensor_view %y, shape = [%k24, %k64], strides = [%k64, %k1] : {view}",
        "%r = arith.muli %i, %k8 : index",
        f"%yp = pto.partition_view %yv, offsets = [%r, %k0], sizes = [%k8, %k64] : {view} -> {part}",
        f"pto.tcmps ins(%f, %half {{cmpMode = #pto<cmp lt>}} : {floats}, f32) outs(%b : {bits})",
        f"pto.tadds ins(%b, %one : {bits}, i8) outs(%b : {bits})",
        f"pto.tstore ins(%b : {bits}) outs(%yp : {part})\n}}\nreturn\n}}",
    ]
    read = parse_module("\n".join(lines), target=target("a5"))
    read.diagnostics.raise_if_errors()
    made, found = compile_program(read.module, target("a5")), []
    for backend in ("native", "numpy"):
        y = np.zeros((24, 64), np.int8)
        made.launch([y], backend=backend)
        found.append(y.tolist())
    assert found[0] == found[1]
    assert found[1][8][8:] == [2] * 56


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_a_store_that_leaves_its_tensor_writes_nothing(backend: str) -> None:
    made = program(AT_ONCE["loaded, computed, stored"])
    arrays = [np.ones((ROWS * ITERATIONS, WIDTH), np.float32) for _ in "ab"]
    short = np.zeros((ROWS * ITERATIONS - 1, WIDTH), np.float32)
    with pytest.raises(DiagnosticError, match="GM-OOB"):
        made.launch([*arrays, short, arrays[1]], backend=backend)
    assert not short[ROWS * (ITERATIONS - 1) :].any()


def random_body(random: Random) -> list[str]:
    def some(count: int) -> list[str]:
        lines = []
        for _ in range(count):
            a, b, to = (random.choice("tu") for _ in range(3))
            kept = store(a, random.choice("yyza"))
            made = [load(to, random.choice("abyz")), add(a, b, to), halve(a, to), halve(a, to)]
            lines.append(random.choice([kept, *made]))
        return lines

    def now_and_then(line: str) -> list[str]:
        return [line] if random.random() < 0.15 else []

    first, last = random.choice("tu"), random.choice("tu")
    outside = now_and_then(load("t", "A")), now_and_then(store("t", "Z"))
    begin = [*now_and_then(halve("t", "u")), load(first, "a"), halve(first, "tu".replace(first, ""))]
    end = [halve(random.choice("tu"), last), store(last, "y"), *now_and_then(store("u", "z"))]
    return [*outside[0], "loop", *begin, *some(random.randrange(4)), *end, "}", *outside[1]]


def check_random(seed: int) -> None:
    random = Random(seed)
    made = program(random_body(random), random.choice([WIDTH, 32, 37]))
    assert launched(made, "native") == launched(made, "numpy"), seed


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed: int) -> None:
    check_random(seed)


@pytest.mark.campaign
def test_more_random_bodies() -> None:
    for seed in range(100, 1100):
        check_random(seed)
