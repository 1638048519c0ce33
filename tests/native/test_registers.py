"""Operations on vector registers give the same bytes as machine code and with NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native.program import NativeProgram
from ptokit.isa.vector.access.load_store import LOAD_MODES, MERGES, SPLITS, STORE_MODES
from ptokit.run import Program, compile_program
from ptokit.targets import target
from ptokit.types.dtypes import DType, dtype
from tests.isa.vector.lines import program, spelled, split
from tests.isa.vector.programs import read
from tests.isa.vector.test_text import LINES

SLOT = 2048
"""Bytes of the output for each line."""

MORE = [
    *(f"%r = pto.{n} %a, %b, %m : $f32, $f32, $b32 -> $f32" for n in ("vadd", "vmax", "vmin", "vdiv", "vand")),
    *(f"%r = pto.{n} %a, %b, %m : $i32, $i32, $b32 -> $i32" for n in ("vadd", "vmax", "vmul")),
    *(f"%r = pto.{n} %a, %m : $f16, $b16 -> $f16" for n in ("vexp", "vsqrt", "vrec")),
    *(f'%r = pto.vcvt %a, %m {{part = "{part}"}} : $ui8, $b8 -> $ui32' for part in ("P0", "P3")),
    '%r = pto.vcvt %a, %m {rnd = "Z", sat = "SAT", part = "ODD"} : $f32, $b32 -> $si16',
    '%r = pto.vcvt %a, %m {rnd = "R", sat = "SAT", part = "EVEN"} : $f32, $b32 -> $bf16',
    '%r = pto.vcvt %a, %m {part = "ODD"} : $bf16, $b16 -> $f32',
    '%r = pto.vcvt %a, %m {sat = "NOSAT", part = "ODD"} : $si32, $b32 -> $si16',
    '%r = pto.vexpdif %a, %b, %m, "ODD" : $f16, $f16, $b16 -> $f32',
    "%r = pto.vadds %a, %s, %m : $f16, f16, $b16 -> $f16",
    '%r = pto.vdup %a, %m {position = "HIGHEST"} : $f16, $b16 -> $f16',
    "%r = pto.vci %s : i8 -> $si8",
    '%r = pto.vci %s {order = "DESC"} : i8 -> $i8',
]


def kernel(lines: list[str]) -> str:
    """Each line with inputs of its own and its results in a slot of its own."""
    out = ["func.func @many(%in: !pto.ptr<ui8, gm>, %out: !pto.ptr<ui8, gm>) {"]
    pointer = "!pto.ptr<ui8, gm>"
    for k, line in enumerate(lines):
        rows = program(line).splitlines()[1:-2]
        text = re.sub(r"%(\w+)", rf"%\1_{k}", "\n".join(rows))
        out.append(f"%step_{k} = arith.constant {SLOT * k} : index")
        out.append(f"%in_{k} = pto.addptr %in, %step_{k} : {pointer} -> {pointer}")
        out.append(f"%out_{k} = pto.addptr %out, %step_{k} : {pointer} -> {pointer}")
        out.append(text)
    return "\n".join([*out, "return", "}", ""])


def compiled(text: str) -> Program:
    return compile_program(read(text), target("a5"))


def random_bytes(count: int, seed: int) -> np.ndarray:
    """Bytes that are often those of ordinary numbers of f32 and f16."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, count, np.uint8)
    words = x.view(np.uint32).reshape(-1, 16)
    words[::3] = rng.standard_normal(words[::3].shape).astype(np.float32).view(np.uint32)
    halves = words[1::3]
    halves[...] = rng.standard_normal((len(halves), 32)).astype(np.float16).view(np.uint32)
    return x


def both(program: Program, x: np.ndarray, count: int) -> list[np.ndarray]:
    """The output of both backends."""
    found = []
    for backend in ("native", "numpy"):
        y = np.zeros(count, np.uint8)
        program.launch([x, y], backend=backend)
        found.append(y)
    return found


def same(a: np.ndarray, b: np.ndarray, of: DType | None) -> bool:
    """True if results are equal; NaN has any bits."""
    if of is None or of.value is None or not of.is_float:
        return bool((a == b).all())
    x, y = a.view(of.value).astype(np.float32), b.view(of.value).astype(np.float32)
    equal = (a.view(of.storage) == b.view(of.storage)) | (np.isnan(x) & np.isnan(y))
    return bool(equal.all())


ALL = [line for line in (*LINES, *MORE) if "!pto.align" not in spelled(line) and "=" in line]


def native_lines() -> list[str]:
    """Those of the lines that `lines.program` can put into a kernel; random counts of shifts would be refused."""
    return [line for line in ALL if "ptr" not in line and not re.search(r"pto\.vsh[lr] ", line)]


@pytest.mark.parametrize("part", range(4))
def test_lines(part: int) -> None:
    lines = native_lines()[part::4]
    assert len(lines) > 15
    program = compiled(kernel(lines))
    x = random_bytes(SLOT * len(lines), part)
    native, plain = both(program, x, SLOT * len(lines))
    wrong = []
    for k, line in enumerate(lines):
        for i, type in enumerate(split(spelled(line))[2]):
            at = slice(SLOT * k + 256 * i, SLOT * k + 256 * (i + 1))
            of = dtype(type[type.index("x") + 1 : -1]) if type.startswith("!pto.vreg") else None
            if not same(native[at], plain[at], of):
                wrong.append(line)
    assert wrong == []


LEFT_TO_PYTHON = {
    "vmulscvt",  # a product in binary64
    "vaddreluconv",
    "vmulconv",
}
"""Operations on registers that have no native form."""


def test_the_others_are_native() -> None:
    program = compiled(kernel(native_lines()))
    made = NativeProgram(program)
    called = {step.op.name.removeprefix("pto.") for step in made.module.called}
    assert called == LEFT_TO_PYTHON


POINTERS = """\
func.func @access(%in: !pto.ptr<ui8, gm>, %out: !pto.ptr<ui8, gm>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %size = arith.constant 8192 : i64
  %at = arith.constant 8192 : i64
  %long = arith.constant LONG : i64
  %ub = pto.castptr %z : i64 -> !pto.ptr<ui8, ub>
  %res = pto.castptr %at : i64 -> !pto.ptr<ui8, ub>
  %k32 = arith.constant 32 : index
  %k512 = arith.constant 512 : index
  %lanes = arith.constant 37 : i32
  pto.mte_gm_ub %in, %ub, %z, %size nburst(%one, %size, %size)
    : !pto.ptr<ui8, gm>, !pto.ptr<ui8, ub>, i64, i64, i64, i64, i64
  pto.vecscope {
    %a = pto.vlds %ub[%k32] : !pto.ptr<ui8, ub> -> !pto.vreg<256xui8>
    %b = pto.vlds %ub[%k512] : !pto.ptr<ui8, ub> -> !pto.vreg<256xui8>
BODY
  }
  pto.mte_ub_gm %res, %out, %long nburst(%one, %long, %long)
    : !pto.ptr<ui8, ub>, !pto.ptr<ui8, gm>, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  return
}
"""
REGISTER = "!pto.vreg<256xui8>"


def accesses(body: list[str], slots: int) -> str:
    return POINTERS.replace("BODY", "\n".join(body)).replace("LONG", str(512 * slots))


def test_modes_of_loads() -> None:
    body = []
    names = []
    for k, dist in enumerate(LOAD_MODES):
        body.append(f'    %v{k} = pto.vlds %ub[%k512] {{dist = "{dist}"}} : !pto.ptr<ui8, ub> -> {REGISTER}')
        names.append(f"%v{k}")
    for k, dist in enumerate(SPLITS):
        results = f"%l{k}, %h{k}"
        body.append(
            f'    {results} = pto.vldsx2 %ub[%k512], "{dist}" : !pto.ptr<ui8, ub>, index -> {REGISTER}, {REGISTER}'
        )
        names += [f"%l{k}", f"%h{k}"]
    for k, name in enumerate(names):
        body.append(f"    %o{k} = arith.constant {512 * k} : index")
        body.append(f"    pto.vsts {name}, %res[%o{k}] : {REGISTER}, !pto.ptr<ui8, ub>")
    program = compiled(accesses(body, len(names)))
    native, plain = both(program, random_bytes(8192, 5), 512 * len(names))
    assert plain.any()
    wrong = (native != plain).reshape(len(names), 512).any(axis=1)
    assert [name for name, bad in zip(names, wrong) if bad] == []


def test_modes_of_stores() -> None:
    body = []
    modes = [name for name, mode in STORE_MODES.items() if mode.merge is None]
    for bits in (8, 16, 32):
        body.append(f"    %m{bits}, %r{bits} = pto.plt_b{bits} %lanes : i32 -> !pto.mask<b{bits}>, i32")
    for k, dist in enumerate(modes):
        bits = 8 * min(4, STORE_MODES[dist].width)
        body.append(f"    %o{k} = arith.constant {512 * k} : index")
        given = f'%a, %res[%o{k}], %m{bits} {{dist = "{dist}"}}'
        body.append(f"    pto.vsts {given} : {REGISTER}, !pto.ptr<ui8, ub>, !pto.mask<b{bits}>")
    for k, dist in enumerate(MERGES, len(modes)):
        body.append(f"    %o{k} = arith.constant {512 * k} : index")
        given = f'%a, %b, %res[%o{k}], "{dist}", %m8'
        body.append(f"    pto.vstsx2 {given} : {REGISTER}, {REGISTER}, !pto.ptr<ui8, ub>, index, !pto.mask<b8>")
    slots = len(modes) + len(MERGES)
    native, plain = both(compiled(accesses(body, slots)), random_bytes(8192, 6), 512 * slots)
    assert plain.any()
    wrong = (native != plain).reshape(slots, 512).any(axis=1)
    assert [name for name, bad in zip([*modes, *MERGES], wrong) if bad] == []
