"""Conversions of elements agree with those of the NumPy backend, for every pair that has native code."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native import code as llvm
from ptokit.backends.native import compiler, conversions
from ptokit.backends.native.code import Code
from ptokit.backends.native.conversions import by_table, table_of
from ptokit.backends.native.primitives import Maker
from ptokit.isa.numerics.unary import converter
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import RoundMode

LANES = 8
HEAD = "define i32 @ptokit_{}(ptr %to, i64 %count, i64 %unused, ptr %from) {{"
TYPES = [DTYPES[name] for name in "f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64".split()]
MODES = [RoundMode.RINT, RoundMode.TRUNC, RoundMode.FLOOR, RoundMode.CEIL, RoundMode.ROUND]


def numbers(dtype: DType) -> np.ndarray:
    """Codes: all of 8 and 16 bits, some of wider types."""
    if dtype.bits <= 16:
        return np.arange(1 << dtype.bits, dtype=dtype.storage)
    rng = np.random.default_rng(5)
    random = rng.integers(0, 1 << dtype.bits, 1 << 12, dtype=dtype.storage)
    if dtype.is_float:
        near = (rng.integers(-70000, 70000, 1 << 12) / 2).astype(np.float32)
        odd = np.nextafter(near, rng.choice([-9e9, 9e9], 1 << 12).astype(np.float32))
        edges = np.resize(np.array([np.inf, -np.inf, np.nan, -np.nan, -0.0, 65519.9, 65520, 3.4e38], np.float32), 16)
        tiny = (rng.integers(-(1 << 12), 1 << 12, 1 << 12) * 2.0**-26).astype(
            np.float32
        )  # around what f16 denormals are
        ties = [random >> k + 1 << k + 1 | 1 << k for k in (12, 15)]  # of f16 and bf16
        random = np.concatenate([random, *ties, *(x.view(np.uint32) for x in (near, odd, edges, tiny))])
    elif dtype.bits == 32:
        ties = [random >> k + 1 << k + 1 | 1 << k for k in range(8)]
        edges = np.array([0, 1, 2**31, 2**31 - 1, 2**31 + 1, 2**24, 2**24 + 1, 2**32 - 1], np.uint32).astype(
            dtype.storage
        )
        random = np.concatenate([random, *ties, edges])
    return random


def native(source: DType, target: DType, rounding: RoundMode, saturate: bool, codes: np.ndarray) -> np.ndarray:
    code, helpers, kept = Code(), dict[str, str](), list[np.ndarray]()

    def table(*key: Any) -> str:
        kept.append(table_of(*key))
        return f"inttoptr (i64 {kept[-1].ctypes.data} to ptr)"

    maker = Maker(code, LANES, helpers.setdefault, table)
    with code.loop("%count", LANES) as i:
        kind = llvm.many(LANES, llvm.storage(source))
        x = maker.narrow(source, code.load(kind, code.at("%from", code.mul(i, source.size)), source.size))
        y = conversions.convert(maker, source, target, rounding, saturate, x).narrow
        kind = llvm.many(LANES, llvm.storage(target))
        code.store(kind, y, code.at("%to", code.mul(i, target.size)), target.size)
    code.leave("ret i32 0")
    text = "\n".join([*helpers.values(), *(code.text(HEAD.format(n)) for n in ("run", "scan"))])
    loaded = compiler.Loaded(compiler.object_code(text + '\n!0 = !{!"branch_weights", i32 9, i32 1}\n'))
    out = np.zeros(len(codes), target.storage)
    loaded.call(out.ctypes.data, len(codes), 0, codes.ctypes.data)
    return out


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("source", TYPES, ids=str)
def test_every_pair(source: DType, every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third mode of a pair, which differs from pair to pair: a compilation for each takes long."""
    monkeypatch.setattr(llvm, "F16C", compiler.has("f16c"))
    codes = numbers(source)
    first = TYPES.index(source) % every
    for target, rounding, saturate in list(itertools.product(TYPES, MODES, (False, True)))[first::every]:
        if source is target or not conversions.known(source, target, rounding, saturate):
            continue
        assert source.value is not None
        with np.errstate(all="ignore"):
            values = converter(source, target, rounding, saturate)(codes.view(source.value).reshape(1, 1, -1))
        wanted = np.ascontiguousarray(values).reshape(-1).view(target.storage)
        found = native(source, target, rounding, saturate, codes)
        different = np.flatnonzero(found != wanted)
        shown = [(hex(codes[k]), hex(found[k]), hex(wanted[k])) for k in different[:4]]
        assert not shown, (source, target, rounding, saturate)


SMALL = [DTYPES[name] for name in "e4m3 e5m2 e8m0 hif8 e2m1 e1m2".split()]


def wanted_of(source: DType, target: DType, rounding: RoundMode, saturate: bool, codes: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        values = converter(source, target, rounding, saturate)(codes.view(source.value or source.storage))
    return np.ascontiguousarray(values).reshape(-1).view(target.storage)


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_small_floats(small: DType) -> None:
    for other in [DTYPES[name] for name in ("f32", "f16", "bf16", "i8", "hif8")]:
        for source, target in ((small, other), (other, small)):
            if source is target:
                continue
            assert by_table(source, target) is not ((source.name, target.name) == ("f32", "e8m0"))
            if not by_table(source, target):
                continue
            codes = numbers(source)
            for saturate in (False, True):
                found = native(source, target, RoundMode.RINT, saturate, codes)
                assert np.array_equal(found, wanted_of(source, target, RoundMode.RINT, saturate, codes)), (
                    other,
                    source,
                )


@pytest.mark.parametrize("rounding", RoundMode)
def test_small_floats_by_way_of_odd_halves(rounding: RoundMode) -> None:
    codes = numbers(DTYPES["f32"])
    odd = (codes >> 16 | ((codes & 0xFFFF) != 0)).astype(np.uint16)
    for target, saturate in itertools.product(SMALL, (False, True)):
        if not by_table(DTYPES["f32"], target):
            continue
        wanted = wanted_of(DTYPES["f32"], target, rounding, saturate, codes)
        found = table_of("convert", DTYPES["bf16"], target, rounding, saturate)[odd].view(target.storage)
        different = np.flatnonzero(found != wanted)
        assert not different.size, (target, saturate, hex(codes[different[0]]))
