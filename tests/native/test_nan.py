"""Which bits of a NaN both backends share, as docs/backends.md states it."""

from __future__ import annotations

import itertools
import platform
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native.primitives import known
from ptokit.isa.compute.vector_unit import computed
from ptokit.isa.meaning.expressions import Apply, Const, Element, Expr
from ptokit.isa.meaning.primitives import PRIMITIVES
from ptokit.isa.operands import FB, types
from ptokit.isa.table import BY_OPERATION, BY_TEXT, TABLE, dst, src
from ptokit.run import Program, compile_program
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES

ROWS, COLS = 13, 61
PATTERNS = {
    "f32": (0, 0x3F800000, 0x3FC00000, 1, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FC12345, 0x7F800001, 0x7FA00007),
    "f16": (0, 0x3C00, 0x3E00, 1, 0x7BFF, 0x7C00, 0x7E00, 0x7E15, 0x7C01, 0x7D07),
    "bf16": (0, 0x3F80, 0x3FC0, 1, 0x7F7F, 0x7F80, 0x7FC0, 0x7FD5, 0x7F81, 0x7FA7),
}
"""Zero, numbers, the least denormal, infinity, two quiet NaNs and two signalling ones; each with both signs."""

NAMES = ("src0", "src1", "src2")
COMPUTED = sorted(
    name for name, p in PRIMITIVES.items() if not p.gives_condition and name != "select" and known(name, DTYPES["f32"])
)
PAGE = Path(__file__).parents[2] / "docs" / "backends.md"


def stated() -> set[str]:
    """The primitives of which the page says that their NaNs may differ."""
    (found,) = re.findall(
        r"\nThe bits of a NaN may differ where one of these gives it:(.*?)\.\n", PAGE.read_text(), re.S
    )
    return set(re.findall(r"`(\w+)`", found))


def arity(name: str) -> int:
    return 1 + max(k for k in range(3) if f"{{{k}}}" in PRIMITIVES[name].words)


def forms(name: str) -> Iterator[Expr]:
    """A primitive by itself, with its sign flipped or cleared, of a flipped argument, and of constants."""
    elements = tuple(map(Element, NAMES[: arity(name)]))
    plain = Apply(name, elements)
    yield from (plain, Apply("neg", (plain,)), Apply("abs", (plain,)))
    yield Apply(name, (Apply("neg", (elements[0],)), *elements[1:]))
    if len(elements) == 2:
        for number in (0.0, -0.0, 1.0, -1.0, 2.0):
            yield Apply(name, (elements[0], Const(number, elements[0])))
            yield Apply(name, (Const(number, elements[0]), elements[0]))


def elements_of(expr: Expr) -> set[str]:
    if isinstance(expr, Element):
        return {expr.name}
    return set().union(*map(elements_of, expr.args)) if isinstance(expr, Apply) else set()


class Instructions:
    """Instructions that exist for one test."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def add(self, expr: Expr) -> tuple[str, int]:
        """The text name, and how many sources it takes."""
        name, count = f"TNAN{next(_NUMBERS)}", len(elements_of(expr))
        computed(name, expr, (dst(), *map(src, NAMES[:count])), types(FB, FB))
        self.made.append(name)
        return name.lower(), count

    def remove(self) -> None:
        for name in self.made:
            del TABLE[name], BY_TEXT[name.lower()], BY_OPERATION[f"pto.{name.lower()}"]


_NUMBERS = itertools.count()


@pytest.fixture
def instructions() -> Iterator[Instructions]:
    made = Instructions()
    yield made
    made.remove()


def program(made: list[tuple[str, int]], dtype: str, blocks: int = 1) -> Program:
    """Each instruction on %a, %b, %c, one after the other into the block's part of %y."""
    tile = f"!pto.tile_buf<vec, 16x64x{dtype}, valid={ROWS}x{COLS}>"
    view, part = f"!pto.tensor_view<?x?x{dtype}>", f"!pto.partition_tensor_view<{ROWS}x{COLS}x{dtype}>"
    lines = [f"func.func @k({', '.join(f'%{x}: !pto.ptr<{dtype}>' for x in 'abcy')}) {{"]
    rows = [ROWS * k for k in range(len(made) + 1)]
    lines += [f"%k{n} = arith.constant {n} : index" for n in sorted({*rows, 0, 1, ROWS, COLS})]
    lines += [f"%all = arith.constant {rows[-1] * blocks} : index", "%b64 = pto.get_block_idx"]
    lines += ["%block = arith.index_cast %b64 : i64 to index", f"%base = arith.muli %block, %k{rows[-1]} : index"]
    for x in "abcy":
        shape = f"shape = [{'%all' if x == 'y' else f'%k{ROWS}'}, %k{COLS}], strides = [%k{COLS}, %k1]"
        lines.append(f"%{x}v = pto.make_tensor_view %{x}, {shape} : {view}")
        lines.append(f"%{x}t = pto.alloc_tile : {tile}")
    for x in "abc":
        place = f"offsets = [%k0, %k0], sizes = [%k{ROWS}, %k{COLS}]"
        lines.append(f"%{x}p = pto.partition_view %{x}v, {place} : {view} -> {part}")
        lines.append(f"pto.tload ins(%{x}p : {part}) outs(%{x}t : {tile})")
    for k, (name, count) in enumerate(made):
        sources = ", ".join(f"%{x}t" for x in "abc"[:count])
        lines.append(f"pto.{name} ins({sources} : {', '.join([tile] * count)}) outs(%yt : {tile})")
        lines.append(f"%r{k} = arith.addi %base, %k{rows[k]} : index")
        place = f"offsets = [%r{k}, %k0], sizes = [%k{ROWS}, %k{COLS}]"
        lines.append(f"%y{k} = pto.partition_view %yv, {place} : {view} -> {part}")
        lines.append(f"pto.tstore ins(%yt : {tile}) outs(%y{k} : {part})")
    read = parse_module("\n".join([*lines, "return", "}"]), target=A5)
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, A5)


def both(exprs: list[Expr], dtype: str, instructions: Instructions) -> list[np.ndarray]:
    """The bits of all results on NumPy and in machine code."""
    kind = DTYPES[dtype].value
    unsigned = np.dtype(f"u{DTYPES[dtype].size}")
    sign = 1 << (8 * unsigned.itemsize - 1)
    patterns = np.array([p | s for p in PATTERNS[dtype] for s in (0, sign)], unsigned)
    pairs = np.random.default_rng(1).permutation(np.array(list(itertools.product(patterns, repeat=2))))
    pairs = np.resize(pairs, (ROWS * COLS, 2))
    third = np.random.default_rng(2).choice(patterns, ROWS * COLS)
    arrays = [np.ascontiguousarray(x).reshape(ROWS, COLS).view(kind) for x in (pairs[:, 0], pairs[:, 1], third)]
    made = program([instructions.add(expr) for expr in exprs], dtype)
    found = []
    for backend in ("numpy", "native"):
        y = np.zeros((ROWS * len(exprs), COLS), kind)
        made.launch([*(x.copy() for x in arrays), y], 1, backend=backend)
        found.append(y.view(unsigned).reshape(len(exprs), ROWS, COLS))
    return found


def is_nan(bits: np.ndarray, dtype: str) -> np.ndarray:
    infinity = bits.dtype.type(PATTERNS[dtype][5])
    return (bits & bits.dtype.type((1 << (8 * bits.itemsize - 1)) - 1)) > infinity


def check(name: str, dtype: str, exprs: list[Expr], instructions: Instructions) -> None:
    plain, native = both(exprs, dtype, instructions)
    nan = is_nan(plain, dtype)
    assert (nan == is_nan(native, dtype)).all()
    assert (plain == native)[~nan].all()
    if name not in stated():
        assert (plain == native).all()
    elif dtype == "f32" and platform.machine() == "x86_64":
        assert (plain != native).any(), f"{name} has the same NaNs: docs/backends.md may say so"


@pytest.mark.parametrize("name", COMPUTED)
def test_f32(name: str, instructions: Instructions) -> None:
    check(name, "f32", list(forms(name)), instructions)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_16_bits(dtype: str, instructions: Instructions) -> None:
    """All primitives by themselves."""
    exprs = [Apply(name, tuple(map(Element, NAMES[: arity(name)]))) for name in COMPUTED]
    plain, native = both(exprs, dtype, instructions)
    nan = is_nan(plain, dtype)
    assert (nan == is_nan(native, dtype)).all()
    assert (plain == native)[~nan].all()
    for k, name in enumerate(COMPUTED):
        assert name in stated() or (plain[k] == native[k]).all(), name


@pytest.mark.campaign
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", COMPUTED)
def test_all_forms(name: str, dtype: str, instructions: Instructions) -> None:
    check(name, dtype, list(forms(name)), instructions)


def test_the_page_names_primitives() -> None:
    assert stated() <= set(COMPUTED)


ROW, COL = "!pto.tile_buf<vec, 16x1x{}, blayout=col_major>", "!pto.tile_buf<vec, 1x64x{}>"
FOLDS = {
    "trowsum": (ROW, "ins(%a, %b : TILE, TILE)", False),
    "trowprod": (ROW, "ins(%a, %b : TILE, TILE)", False),
    "trowmax": (ROW, "ins(%a, %b : TILE, TILE)", False),
    "trowmin": (ROW, "ins(%a, %b : TILE, TILE)", False),
    "tcolsum": (COL, "ins(%a : TILE)", False),
    "tcolprod": (COL, "ins(%a : TILE)", False),
    "tcolmax": (COL, "ins(%a : TILE)", True),
    "tcolmin": (COL, "ins(%a : TILE)", True),
}
"""What is folded into, the operands, and whether the bits of a NaN are the same."""

CONVERTED = [("f32", "f16"), ("f32", "bf16"), ("f16", "f32"), ("bf16", "f32")]


def through(text: str, dtype: str, tile: str, shape: tuple[int, int], of: str, seldom: bool) -> list[np.ndarray]:
    """What one instruction makes of a tile %a of NaNs, or of one in which they are rare, with %b for its use."""
    whole, views = f"!pto.tile_buf<vec, 16x64x{dtype}>", {"x": (dtype, (16, 64)), "y": (of, shape)}
    lines = [f"func.func @k(%x: !pto.ptr<{dtype}>, %y: !pto.ptr<{of}>) {{"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 16, 64)]
    parts = {}
    for name, (kind, (rows, cols)) in views.items():
        view, parts[name] = f"!pto.tensor_view<?x?x{kind}>", f"!pto.partition_tensor_view<{rows}x{cols}x{kind}>"
        sizes = f"[%k{rows}, %k{cols}]"
        lines.append(f"%{name}v = pto.make_tensor_view %{name}, shape = {sizes}, strides = [%k{cols}, %k1] : {view}")
        place = f"offsets = [%k0, %k0], sizes = {sizes}"
        lines.append(f"%{name}p = pto.partition_view %{name}v, {place} : {view} -> {parts[name]}")
    lines += [f"%{name} = pto.alloc_tile : {type}" for name, type in (("a", whole), ("b", whole), ("c", tile))]
    lines.append(f"pto.tload ins(%xp : {parts['x']}) outs(%a : {whole})")
    lines.append(f"{text.replace('TILE', whole)} outs(%c : {tile})")
    lines += [f"pto.tstore ins(%c : {tile}) outs(%yp : {parts['y']})", "return", "}"]
    read = parse_module("\n".join(lines), target=A5)
    read.diagnostics.raise_if_errors()
    made, unsigned = compile_program(read.module, A5), np.dtype(f"u{DTYPES[dtype].size}")
    patterns = np.array([p | s for p in PATTERNS[dtype] for s in (0, 1 << (8 * unsigned.itemsize - 1))], unsigned)
    rng = np.random.default_rng(3)
    x = rng.choice(patterns, (16, 64))
    if seldom:
        x = np.where(rng.random(x.shape) < 0.01, x, patterns[2])
    found = []
    for backend in ("numpy", "native"):
        y = np.zeros(shape, DTYPES[of].value)
        made.launch([x.view(DTYPES[dtype].value), y], 1, backend=backend)
        found.append(y.view(f"u{DTYPES[of].size}"))
    return found


@pytest.mark.parametrize("seldom", [False, True])
@pytest.mark.parametrize("name", FOLDS)
def test_folds(name: str, seldom: bool) -> None:
    tile, operands, same = FOLDS[name]
    shape = (16, 1) if tile is ROW else (1, 64)
    plain, native = through(f"pto.{name} {operands}", "f32", tile.format("f32"), shape, "f32", seldom)
    nan = is_nan(plain, "f32")
    assert (nan == is_nan(native, "f32")).all()
    assert (plain == native)[~nan].all()
    assert not same or (plain == native).all()


@pytest.mark.parametrize(("source", "result"), CONVERTED)
def test_conversions(source: str, result: str) -> None:
    tile = f"!pto.tile_buf<vec, 16x64x{result}>"
    plain, native = through("pto.tcvt ins(%a : TILE)", source, tile, (16, 64), result, seldom=False)
    assert is_nan(plain, result).any()
    assert (plain == native).all()


def test_any_number_of_threads(instructions: Instructions) -> None:
    """Machine code, whose blocks are given to threads, has one answer for each block."""
    a, b = (Element(name) for name in NAMES[:2])
    chain = Apply("neg", (Apply("mul", (Apply("add", (a, b)), b)),))
    made = program([instructions.add(expr) for expr in (chain, Apply("mul", (a, b)))], "f32", blocks=8)
    patterns = np.array([p | s for p in PATTERNS["f32"] for s in (0, 1 << 31)], np.uint32)
    arrays = [np.random.default_rng(k).choice(patterns, (ROWS, COLS)).view(np.float32) for k in range(3)]
    found: set[bytes] = set()
    for threads in (1, 2, 8):
        y = np.zeros((8, 2 * ROWS, COLS), np.float32)
        made.launch([*arrays, y.reshape(-1, COLS)], 8, backend="native", threads=threads)
        found |= {block.tobytes() for block in y}
    assert len(found) == 1
