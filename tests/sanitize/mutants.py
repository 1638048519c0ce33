"""Kernels that are clean, and what becomes of them by one mistake with a flag: removed, moved, doubled, another id."""

from __future__ import annotations

import json
import linecache
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

import numpy as np

import ptokit as pto
from ptokit.asm import read_module
from ptokit.conformance.programs import Buffer, SyncSuite
from ptokit.sanitize import Report, sanitize
from ptokit.sanitize import uninit as unwritten
from ptokit.targets import target as target_named
from ptokit.types.dtypes import DTYPES

from . import test_pairs

ROOT = Path(__file__).parents[2]
EXAMPLES, CASES = ROOT / "examples", ROOT / "tests" / "data" / "sync-cases"

Values = Callable[[], Sequence[Any]]


class Kernel(NamedTuple):
    """A clean kernel. ``python``: the name of the kernel in a Python text, "" for `.pto`."""

    name: str
    text: str
    target: str
    args: Values
    blocks: int = 1
    order: str = "strict"
    python: str = ""

    def write(self, folder: Path, text: str | None = None) -> Path:
        """A file with this text, or another version of it."""
        path = folder / f"{self.name}.{'py' if self.python else 'pto'}"
        path.write_text(self.text if text is None else text, encoding="utf-8")
        return path

    def launch(self, path: Path) -> tuple[Report, list[bytes]]:
        """What the sanitizer finds in a file, and the arguments afterwards. Raises where the text is no kernel."""
        args = list(self.args())
        if self.python:
            names: dict[str, Any] = {"__name__": "mutant", "__file__": str(path)}
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
            kernel: pto.Kernel = names[self.python]
            report = kernel.sanitize(*args, blocks=self.blocks, order=self.order)
        else:
            on = target_named(self.target)
            read = read_module(str(path), target=on)
            read.diagnostics.raise_if_errors()
            report = sanitize(read.module, on, args, self.blocks, order=self.order)
        return report, [np.asarray(arg).tobytes() for arg in args if isinstance(arg, np.ndarray)]


class Mutant(NamedTuple):
    """A kernel with one mistake: what was done, in which line, and the text."""

    how: str
    line: int
    text: str


_FLAG = re.compile(r"^\s*pto\.(set|wait)_flag\b")
_ID = re.compile(r"(EVENT_ID)(\d)|(, )(\d)(\)\s*(?:#.*)?$)|(, )(\w+)(\)\s*(?:#.*)?$)")


def mutants(kernel: Kernel) -> Iterator[Mutant]:
    """Every kernel that differs by one mistake: a flag left out, doubled, with another id, moved by a statement."""
    lines = kernel.text.split("\n")
    for i, line in enumerate(lines):
        if not _FLAG.match(line):
            continue
        blank = [re.sub(r"\S.*", "pass", line)] if kernel.python and _only(lines, i) else []
        yield Mutant("remove", i + 1, _joined(lines[:i], blank, lines[i + 1 :]))
        yield Mutant("duplicate", i + 1, _joined(lines[: i + 1], lines[i:]))
        other = _ID.sub(_next_id, line, count=1)
        if other != line:
            yield Mutant("id", i + 1, _joined(lines[:i], [other], lines[i + 1 :]))
        for step in (-1, 1):
            j = i + step
            while 0 <= j < len(lines) and _bare(lines[j], kernel):
                j += step
            if blank or not 0 <= j < len(lines) or _indent(lines[j]) != _indent(line) or _keeps(lines[j]):
                continue
            first, last = min(i, j), max(i, j)
            swapped = [line, *lines[j:i]] if step < 0 else [*lines[i + 1 : j + 1], line]
            yield Mutant("up" if step < 0 else "down", i + 1, _joined(lines[:first], swapped, lines[last + 1 :]))


def _joined(*parts: Sequence[str]) -> str:
    return "\n".join(line for part in parts for line in part)


def _next_id(match: re.Match[str]) -> str:
    if match[1]:
        return f"{match[1]}{(int(match[2]) + 1) % 8}"
    if match[3]:
        return f"{match[3]}{(int(match[4]) + 1) % 8}{match[5]}"
    return f"{match[6]}{match[7]} + 1{match[8]}"


def _bare(line: str, kernel: Kernel) -> bool:
    """A line that moving past it changes nothing: empty, a comment, or of another kind than an instruction."""
    text = line.strip()
    if not text or text.startswith(("//", "#")):
        return True
    return not kernel.python and text.startswith("%") and " = arith." in text


def _keeps(line: str) -> bool:
    """A line that a flag does not move past: a definition, the end of a block, a brace, the head of a loop."""
    text = line.strip()
    return text.startswith(("return", "}", "def ", "@", "module", "func", "else", "with ", "for ", "if ", "scf."))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _only(lines: list[str], i: int) -> bool:
    """True if a statement is the only one of its block of Python."""
    before = next(line for line in reversed(lines[:i]) if line.strip())
    after = next((line for line in lines[i + 1 :] if line.strip()), "")
    return _indent(before) < _indent(lines[i]) and _indent(after) < _indent(lines[i])


# --- the kernels -----------------------------------------------------------------------------------------------------


@cache
def kernels() -> list[Kernel]:
    """All of them, by name."""
    found = [*_examples(), *_cases(), *_pairs(), *_gemms(), *_softmaxes()]
    return [kernel for kernel in found if any(_FLAG.match(line) for line in kernel.text.split("\n"))]


def _random(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def _out(*shape: int) -> np.ndarray:
    return unwritten(shape, DTYPES["f32"])


def _attention() -> list[Any]:
    return [*(_random(n, 64, dtype=np.float16) for n in (64, 128, 128)), _out(64, 64), 64, 128]


def _attention_a2a3() -> list[Any]:
    q, k, v, o, rows, n = _attention()
    return [q, k, v, o, np.zeros(2 * 32 * 64 * 4 * 4, np.float32), rows, n]


def _split_k() -> list[Any]:
    return [
        _random(32, 256, dtype=np.float16),
        _random(256, 64, dtype=np.float16),
        _random(32, 64),
        _out(32, 64),
        256,
        64,
    ]


def _examples() -> Iterator[Kernel]:
    def text(name: str) -> str:
        return (EXAMPLES / name).read_text(encoding="utf-8")

    def gemm() -> list[Any]:
        return [_random(128, 256, dtype=np.float16), _random(256, 128, dtype=np.float16), _out(128, 128), 128, 256, 128]

    rows = lambda: [_random(40, 512), _out(40, 512), 40]  # noqa: E731
    yield Kernel("pto_flash_attention", text("pto/flash_attention.pto"), "a5", _attention)
    yield Kernel("pto_split_k", text("pto/split_k.pto"), "a5", _split_k)
    yield Kernel("pto_vector_softmax", text("pto/vector_softmax.pto"), "a5", rows)
    yield Kernel("gemm", text("python/gemm_double_buffered.py"), "a2a3", gemm, 2, python="gemm")
    yield Kernel("flash_attention", text("python/flash_attention.py"), "a5", _attention, python="flash_attention")
    yield Kernel(
        *("flash_attention_a2a3", text("python/flash_attention.py"), "a2a3", _attention_a2a3),
        python="flash_attention_a2a3",
    )
    yield Kernel("split_k", text("python/split_k.py"), "a5", _split_k, python="split_k")
    yield Kernel("vector_softmax", text("python/vector_softmax.py"), "a5", rows, python="softmax")
    saxpy = lambda: [_random(5120), _random(5120), 5120, 0.5]  # noqa: E731
    yield Kernel("saxpy", text("python/saxpy_registers.py"), "a5", saxpy, python="saxpy")
    copy = (ROOT / "tests/data/programs/kernels/double_buffer_copy.pto").read_text(encoding="utf-8")
    yield Kernel("copy", copy, "a2a3", lambda: [_random(256, 256), _out(256, 256), 4])


def _cases() -> Iterator[Kernel]:
    suite = SyncSuite.read(CASES, json.loads((CASES / "manifest.json").read_text()))
    for case in suite.cases:
        on = next((name for name in case.targets if not case.expect[name] and not case.may), None)
        if on is not None:
            text = (CASES / case.file).read_text(encoding="utf-8")
            args = lambda given=case.args: [a.make() if isinstance(a, Buffer) else a for a in given]  # noqa: E731
            yield Kernel(f"case_{case.name}", text, on, args, case.blocks, case.order)


def _pairs() -> Iterator[Kernel]:
    for number, pair in enumerate(test_pairs.PAIRS):
        good = test_pairs.program(pair, good=True)
        more = {"target": "a2a3", **test_pairs.launch(pair)}
        if more.keys() <= {"target", "args", "blocks", "order"}:
            given = more.get("args")
            args = lambda good=good, given=given: good.values(given)  # noqa: E731
            blocks, order = more.get("blocks", 1), more.get("order", "strict")
            yield Kernel(f"pair_{number}", good.text, more["target"], args, blocks, order)


_HEAD = """import ptokit as pto

NZ = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
MTE1, MTE2, MTE3 = pto.PIPE_MTE1, pto.PIPE_MTE2, pto.PIPE_MTE3
V, M, FIX = pto.PIPE_V, pto.PIPE_M, pto.PIPE_FIX

"""

_PIPELINE = """
@pto.kernel(target="a2a3")
def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], rows: int):
    gx, gy = pto.GlobalTensor(x, (rows, 64)), pto.GlobalTensor(y, (rows, 64))
    TILES
    for i in pto.static_range(DEPTH):
        pto.set_flag(V, MTE2, i)
        pto.set_flag(MTE3, V, i)
    LOOP
    for i in pto.static_range(DEPTH):
        pto.wait_flag(V, MTE2, i)
        pto.wait_flag(MTE3, V, i)
"""

_STEP = """
pto.wait_flag(V, MTE2, i)
pto.TLOAD(SOURCE, gx[at : at + 16])
pto.set_flag(MTE2, V, i)
pto.wait_flag(MTE2, V, i)
pto.wait_flag(MTE3, V, i)
WORK
pto.set_flag(V, MTE2, i)
pto.set_flag(V, MTE3, i)
pto.wait_flag(V, MTE3, i)
pto.TSTORE(gy[at : at + 16], RESULT)
pto.set_flag(MTE3, V, i)
"""

_UNROLLED = {
    "TILES": """
ins = [pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=i * 4096) for i in range(DEPTH)]
outs = [pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=(DEPTH + i) * 4096) for i in range(DEPTH)]
tmp = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=2 * DEPTH * 4096)
row = pto.Tile(pto.TileType.Vec, pto.f32, 16, 1, pto.BLayout.ColMajor, addr=(2 * DEPTH + 1) * 4096)
""",
    "LOOP": """
for top in range(0, rows, 16 * DEPTH):
    for i in pto.static_range(DEPTH):
        at = top + i * 16
        STEP
""",
    "STEP": _STEP,
    "SOURCE": "ins[i]",
    "RESULT": "outs[i]",
}
"""The iterations of one round of the buffers in the text."""

_COUNTED = {
    "TILES": """
source = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
result = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
""",
    "LOOP": """
for n in range(0, rows // 16):
    i = n % DEPTH
    at = n * 16
    pto.TASSIGN(source, i * 4096)
    pto.TASSIGN(result, (DEPTH + i) * 4096)
    STEP
""",
    "STEP": _STEP,
    "SOURCE": "source",
    "RESULT": "result",
}
"""Buffer and event id are computed from the number of the iteration."""

_STRAIGHT = """
@pto.kernel(target="a2a3")
def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], rows: int):
    gx, gy = pto.GlobalTensor(x, (rows, 64)), pto.GlobalTensor(y, (rows, 64))
    source = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=0)
    result = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=4096)
    pto.TLOAD(source, gx[0:16])
    pto.set_flag(MTE2, V, DEPTH)
    pto.wait_flag(MTE2, V, DEPTH)
    WORK
    pto.set_flag(V, MTE3, DEPTH)
    pto.wait_flag(V, MTE3, DEPTH)
    pto.TSTORE(gy[0:16], result)
    for n in range(1, rows // 16):
        pto.set_flag(V, MTE2, DEPTH)
        pto.wait_flag(V, MTE2, DEPTH)
        pto.TLOAD(source, gx[n * 16 : n * 16 + 16])
        pto.set_flag(MTE2, V, DEPTH)
        pto.set_flag(MTE3, V, DEPTH)
        pto.wait_flag(MTE2, V, DEPTH)
        pto.wait_flag(MTE3, V, DEPTH)
        WORK
        pto.set_flag(V, MTE3, DEPTH)
        pto.wait_flag(V, MTE3, DEPTH)
        pto.TSTORE(gy[n * 16 : n * 16 + 16], result)
"""

_SOFTMAX = (
    "pto.TROWMAX(row, SOURCE, tmp)",
    "pto.TROWEXPANDSUB(SOURCE, SOURCE, row)",
    "pto.TEXP(SOURCE, SOURCE)",
    "pto.TROWSUM(row, SOURCE, tmp)",
    "pto.TROWEXPANDDIV(RESULT, SOURCE, row)",
)
_SCALE = ("pto.TMULS(RESULT, SOURCE, 2.0)",)
_SQUARE = ("pto.TMUL(RESULT, SOURCE, SOURCE)", "pto.TADDS(RESULT, RESULT, 1.0)")


def _filled(template: str, parts: Mapping[str, str], work: Sequence[str], depth: int) -> str:
    """A kernel of a template, whose words in capitals are filled in; a line of one word becomes several."""
    known, text = {**parts, "WORK": "\n".join(work)}, template
    for name in ("TILES", "LOOP", "STEP", "WORK", "SOURCE", "RESULT"):
        part = known[name]
        text = re.sub(rf"^( *){name}$", lambda found, part=part: indent(part.strip("\n"), found[1]), text, flags=re.M)
        text = text.replace(name, part)
    return _HEAD + text.lstrip("\n").replace("DEPTH", str(depth))


def _softmaxes() -> Iterator[Kernel]:
    """Loads, arithmetic and stores that overlap, with one to three of every buffer."""
    args = lambda: [_random(192, 64), _out(192, 64), 192]  # noqa: E731
    for depth in (1, 2, 3):
        for name, work in (("softmax", _SOFTMAX), ("scale", _SCALE), ("square", _SQUARE)):
            text = _filled(_PIPELINE, _UNROLLED, work, depth)
            yield from _both(Kernel(f"unrolled_{name}_{depth}", text, "a2a3", args, python="k"))
            if name != "softmax":
                text = _filled(_PIPELINE, _COUNTED, work, depth)
                yield from _both(Kernel(f"counted_{name}_{depth}", text, "a2a3", args, python="k"))
    for name, work in (("scale", _SCALE), ("square", _SQUARE)):
        yield from _both(Kernel(f"straight_{name}", _filled(_STRAIGHT, _COUNTED, work, 3), "a2a3", args, python="k"))


_GEMM = """
@pto.kernel(target="a2a3")
def k(a: pto.Ptr[pto.f16], b: pto.Ptr[pto.f16], c: pto.Ptr[pto.f32], m: int, depth: int, n: int):
    ga, gb = pto.GlobalTensor(a, (m, depth)), pto.GlobalTensor(b, (depth, n))
    gc = pto.GlobalTensor(c, (m, n))
    in_a = [pto.Tile(pto.TileType.Mat, pto.f16, 32, 32, addr=4096 * i, **NZ) for i in range(OUTER)]
    in_b = [pto.Tile(pto.TileType.Mat, pto.f16, 32, 32, addr=4096 * i + 2048, **NZ) for i in range(OUTER)]
    left = [pto.TileLeft(pto.f16, 32, 32, addr=2048 * i) for i in range(INNER)]
    right = [pto.TileRight(pto.f16, 32, 32, addr=2048 * i) for i in range(INNER)]
    acc = pto.TileAcc(pto.f32, 32, 32, addr=0)
    for i in pto.static_range(OUTER):
        pto.set_flag(MTE1, MTE2, i)
    for i in pto.static_range(INNER):
        pto.set_flag(M, MTE1, i)
    pto.set_flag(FIX, M, 7)
    for row in range(0, m, 32):
        for col in range(0, n, 32):
            pto.wait_flag(FIX, M, 7)
            for p in range(0, depth, 64):
                for step in pto.static_range(2):
                    i, j = step % OUTER, step % INNER
                    at = p + step * 32
                    pto.wait_flag(MTE1, MTE2, i)
                    pto.TLOAD(in_a[i], ga[row : row + 32, at : at + 32])
                    pto.TLOAD(in_b[i], gb[at : at + 32, col : col + 32])
                    pto.set_flag(MTE2, MTE1, i)
                    pto.wait_flag(MTE2, MTE1, i)
                    pto.wait_flag(M, MTE1, j)
                    pto.TMOV(left[j], in_a[i])
                    pto.TMOV(right[j], in_b[i])
                    pto.set_flag(MTE1, MTE2, i)
                    pto.set_flag(MTE1, M, j)
                    pto.wait_flag(MTE1, M, j)
                    if at == 0:
                        pto.TMATMUL(acc, left[j], right[j])
                    else:
                        pto.TMATMUL_ACC(acc, acc, left[j], right[j])
                    pto.set_flag(M, MTE1, j)
            pto.set_flag(M, FIX, 7)
            pto.wait_flag(M, FIX, 7)
            pto.TSTORE(gc[row : row + 32, col : col + 32], acc)
            pto.set_flag(FIX, M, 7)
    for i in pto.static_range(OUTER):
        pto.wait_flag(MTE1, MTE2, i)
    for i in pto.static_range(INNER):
        pto.wait_flag(M, MTE1, i)
    pto.wait_flag(FIX, M, 7)
"""


def _gemms() -> Iterator[Kernel]:
    """Products with one or two of every buffer in L1 and in L0."""
    args = lambda: [_random(64, 128, dtype=np.float16), _random(128, 32, dtype=np.float16), _out(64, 32), 64, 128, 32]  # noqa: E731
    for outer in (1, 2):
        for inner in (1, 2):
            text = _HEAD + _GEMM.lstrip("\n").replace("OUTER", str(outer)).replace("INNER", str(inner))
            yield from _both(Kernel(f"gemm_{outer}_{inner}", text, "a2a3", args, python="k"))


def _both(kernel: Kernel) -> Iterator[Kernel]:
    """A kernel in Python, and the same as `.pto` text."""
    yield kernel
    names: dict[str, Any] = {"__name__": "mutant"}
    path = f"{kernel.name}.py"
    linecache.cache[path] = len(kernel.text), None, kernel.text.splitlines(keepends=True), path
    exec(compile(kernel.text, path, "exec"), names)
    yield kernel._replace(name=f"{kernel.name}_text", text=names[kernel.python].to_pto(), python="")
