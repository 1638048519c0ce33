"""Results that go to global memory at once: the same bytes, whoever reads the tile again."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.native import direct_stores
from ptokit.native.program import NativeProgram
from ptokit.run import Program, compile_program
from ptokit.targets import target

ROWS, WIDTH, TURNS = 8, 40, 3
VIEW, PART = "!pto.tensor_view<?x?xf32>", "!pto.partition_tensor_view<8x{}xf32>"
TILE, TURNED = "!pto.tile_buf<vec, 8x40xf32, valid=8x{}>", "!pto.tile_buf<vec, 10x32xf32>"


def program(body: list[str], cols: int = WIDTH) -> Program:
    """Tiles %t and %u; parts %ap, %bp (read), %yp, %zp (written), of one turn each or, with a capital, of all."""
    tile, part = TILE.format(cols), PART.format(cols)
    lines = ["func.func @k(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, TURNS, ROWS, ROWS * TURNS, WIDTH, cols)]
    lines += ["%half = arith.constant 0.5 : f32"]
    lines += [f"%{x} = pto.alloc_tile : {tile}" for x in "tu"]
    for x in "abyz":
        shape = f"shape = [%k{ROWS * TURNS}, %k{WIDTH}], strides = [%k{WIDTH}, %k1]"
        lines.append(f"%{x}v = pto.make_tensor_view %{x}, {shape} : {VIEW}")
        sizes = f"sizes = [%k{ROWS}, %k{cols}] : {VIEW} -> {part}"
        lines.append(f"%{x.upper()}p = pto.partition_view %{x}v, offsets = [%k0, %k0], {sizes}")
    turn = [f"scf.for %i = %k0 to %k{TURNS} step %k1 {{", f"%r = arith.muli %i, %k{ROWS} : index"]
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
    arrays = [rng.standard_normal((ROWS * TURNS, WIDTH)).astype(np.float32) for _ in "abyz"]
    made.launch(arrays, backend=backend)
    return [x.tobytes() for x in arrays]


AT_ONCE = {
    "loaded, computed, stored": ["loop", load("t", "a"), add("t", "t", "t"), store("t", "y"), "}"],
    "written twice": ["loop", load("t", "a"), add("t", "t", "t"), halve("t", "t"), store("t", "y"), "}"],
    "not loaded": ["loop", load("t", "a"), halve("t", "u"), store("u", "y"), store("t", "z"), "}"],
    "read on the way": [
        *("loop", load("t", "a"), add("t", "t", "u"), halve("u", "t"), add("t", "u", "u"), store("u", "y"), "}")
    ],
}
BY_TILE = {
    "read behind the store": ["loop", load("t", "a"), add("t", "t", "t"), store("t", "y"), store("t", "z"), "}"],
    "added up over the turns": [load("t", "A"), "loop", load("u", "a"), add("t", "u", "t"), store("t", "y"), "}"],
    "read by the next turn first": [
        "loop",
        add("u", "u", "t"),
        load("u", "a"),
        add("u", "t", "u"),
        store("u", "y"),
        "}",
    ],
    "read behind the loop": ["loop", load("t", "a"), add("t", "t", "t"), store("t", "y"), "}", store("t", "Z")],
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
    found, real = [], direct_stores.pitch
    monkeypatch.setattr(direct_stores, "pitch", lambda *args: found.append(real(*args)) or found[-1])
    NativeProgram(program({**AT_ONCE, **BY_TILE}[name]))
    assert (WIDTH in found) == (name in AT_ONCE)


@pytest.mark.parametrize("backend", ["native", "numpy"])
def test_a_store_that_leaves_its_tensor_writes_nothing(backend: str) -> None:
    made = program(AT_ONCE["loaded, computed, stored"])
    arrays = [np.ones((ROWS * TURNS, WIDTH), np.float32) for _ in "ab"]
    short = np.zeros((ROWS * TURNS - 1, WIDTH), np.float32)
    with pytest.raises(DiagnosticError, match="GM-OOB"):
        made.launch([*arrays, short, arrays[1]], backend=backend)
    assert not short[ROWS * (TURNS - 1) :].any()


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
