"""Folds, counts and lanes by number give the same bytes as machine code and with NumPy, whatever the lanes hold."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native.program import prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.types.dtypes import DType, dtype
from tests.isa.vector.lines import spelled, split

from .test_registers import SLOT, both, compiled, kernel, same

INTS, FLOATS = ("i16", "ui16", "i32", "ui32"), ("f16", "f32")
WIDER = {"i8": "i16", "ui8": "ui16", "i16": "i32", "ui16": "ui32"}


def bits(type: str) -> int:
    return 8 * dtype(type).size


def on(name: str, type: str, to: str = "") -> str:
    return f"%r = pto.{name} %a, %m : ${type}, $b{bits(type)} -> ${to or type}"


LINES = [
    *(on("vcadd", type, WIDER.get(type, type)) for type in ("i8", "ui8", *INTS, *FLOATS)),
    *(on(name, type) for name in ("vcmax", "vcmin", "vcgadd", "vcgmax", "vcgmin", "vsqz") for type in (*INTS, *FLOATS)),
    *(
        f"%r, %k = pto.{name} %a, %m : ${type}, $b{bits(type)} -> ${type}, $b{bits(type)}"
        for name in ("vcbmax", "vcbmin")
        for type in ("i8", "ui8", *INTS, *FLOATS)
    ),
    *(on("vusqz", type) for type in ("i8", "i16", "i32")),
    *(on("vcpadd", type) for type in FLOATS),
    *(
        f"%r = pto.{name} %a, %b : ${type}, ${index} -> ${type}"
        for name, type, index in (("vselr", "f16", "ui16"), ("vselr", "i8", "ui8"), ("vperm", "f32", "i32"))
    ),
    *(f"%r = pto.{name} %a, %b, %m, %s : $ui16, $ui8, $b8, i32 -> $ui16" for name in ("chistv2", "dhistv2")),
]


def special(of: DType, count: int, rng: np.random.Generator) -> np.ndarray:
    """Elements of which many are equal, zeros of both signs, the least and greatest, infinite, NaN or denormal."""
    random = rng.integers(0, 1 << of.bits, count, np.uint64).astype(of.storage)
    top = 1 << (of.bits - 1)
    chosen = [0, 1, top, top - 1, (1 << of.bits) - 1]
    if of.is_float:
        assert of.value is not None
        values = np.array([1, -1, 2, np.inf, -np.inf, 0.1], of.value)
        chosen = [0, 1, top, top + 1, *values.view(of.storage).tolist(), *[0] * 4, *[top] * 4]
        plain = rng.standard_normal(count).astype(of.value).view(of.storage)
        random = np.where(rng.random(count) < rng.choice([0.9, 1.0]), plain, random)
    few = rng.choice(np.array(chosen, of.storage), count)
    return np.where(rng.random(count) < rng.random(), few, random).astype(of.storage)


@pytest.mark.parametrize("part", range(2))
def test_special_lanes(part: int) -> None:
    lines = LINES[part::2]
    program = compiled(kernel(lines))
    assert prepare(program).made.module.called == set()
    rng = np.random.default_rng(part)
    wrong = set()
    for _ in range(12):
        x = rng.integers(0, 256, SLOT * len(lines), np.uint8)
        for k, line in enumerate(lines):
            sources = split(spelled(line))[1]
            for i, type in enumerate(sources):
                at = slice(SLOT * k + 256 * i, SLOT * k + 256 * (i + 1))
                if type.startswith("!pto.vreg"):
                    of = dtype(type[type.index("x") + 1 : -1])
                    x[at].view(of.storage)[...] = special(of, 256 // of.size, rng)
                else:
                    x[at] = rng.choice([0x00, 0x01, 0x55, 0xFF, *rng.integers(0, 256, 4)], 256)
                    x[at] *= np.uint8(rng.random() < 0.8)
        native, plain = both(program, x, SLOT * len(lines))
        for k, line in enumerate(lines):
            for i, type in enumerate(split(spelled(line))[2]):
                at = slice(SLOT * k + 256 * i, SLOT * k + 256 * (i + 1))
                of = dtype(type[type.index("x") + 1 : -1]) if type.startswith("!pto.vreg") else None
                if not same(native[at], plain[at], of):
                    wrong.add(line)
    assert wrong == set()


SHIFTS = [
    f"%r = pto.{name} %a, %b, %m : ${type}, ${type}, $b{bits(type)} -> ${type}"
    for name in ("vshl", "vshr")
    for type in ("i8", "ui8", *INTS)
]


def test_counts_of_shifts() -> None:
    program = compiled(kernel(SHIFTS))
    assert {step.op.name for step in prepare(program).made.module.called} == set()
    rng = np.random.default_rng(3)
    for wrong in (False, True):
        x = rng.integers(0, 256, SLOT * len(SHIFTS), np.uint8)
        for k, line in enumerate(SHIFTS):
            of = dtype(split(spelled(line))[2][0].partition("x")[2][:-1])
            counts = x[SLOT * k + 256 : SLOT * k + 512].view(of.storage)
            counts[...] = rng.integers(0, of.bits, len(counts))
            if wrong and k == 3:
                x[SLOT * k + 512 : SLOT * k + 768], counts[5] = 0xFF, of.bits
        if not wrong:
            native, plain = both(program, x, SLOT * len(SHIFTS))
            assert (native == plain).all()
            continue
        said = []
        for backend in ("native", "numpy"):
            with pytest.raises(DiagnosticError, match="lane 5 is shifted by 16") as found:
                program.launch([x, np.zeros_like(x)], backend=backend)
            said.append([(d.rule, d.message, d.location) for d in found.value.diagnostics])
        assert said[0] == said[1]
