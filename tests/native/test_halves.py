"""f16 and bf16 to f32 and back, with and without the processor's own conversion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native import code as llvm
from ptokit.backends.native import compiler
from ptokit.backends.native.code import Code
from ptokit.types.dtypes import DTYPES

LANES = 8
HEAD = "define i32 @ptokit_{}(ptr %to, i64 %count, i64 %unused, ptr %from) {{"


def function(
    type: str, name: str, own: bool, monkeypatch: pytest.MonkeyPatch
) -> Callable[[np.ndarray, np.ndarray], None]:
    """Converts arrays: ``widen`` 16-bit elements to f32, or ``narrow`` them."""
    monkeypatch.setattr(llvm, "F16C", own)
    code, dtype = Code(), DTYPES[type]
    small, large = llvm.many(LANES, "i16"), llvm.many(LANES, "float")
    with code.loop("%count", LANES) as i:
        if name == "widen":
            x = code.load(small, code.at("%from", code.mul(i, 2)), 2)
            code.store(large, llvm.widened(code, LANES, dtype, x), code.at("%to", code.mul(i, 4)), 4)
        else:
            x = code.load(large, code.at("%from", code.mul(i, 4)), 4)
            code.store(small, llvm.narrowed(code, LANES, dtype, x), code.at("%to", code.mul(i, 2)), 2)
    code.leave("ret i32 0")
    text = "\n".join(code.text(HEAD.format(n)) for n in ("run", "scan"))
    loaded = compiler.Loaded(compiler.object_code(text + '\n!0 = !{!"branch_weights", i32 9, i32 1}\n'))
    return lambda to, frm: loaded.call(to.ctypes.data, len(frm), 0, frm.ctypes.data)


def ways() -> list[tuple[str, bool]]:
    return [("f16", False), ("bf16", False), *([("f16", True)] if compiler.has("f16c") else [])]


@pytest.mark.parametrize(("type", "own"), ways())
def test_every_code_is_widened_exactly(type: str, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.arange(65536, dtype=np.uint16)
    found = np.zeros(65536, np.float32)
    function(type, "widen", own, monkeypatch)(found, codes)
    wanted = codes.view(DTYPES[type].value).astype(np.float32)
    nan = np.isnan(wanted)
    assert (np.isnan(found) == nan).all()
    assert (found.view(np.uint32) == wanted.view(np.uint32))[~nan].all()
    assert type != "f16" or (found.view(np.uint32)[nan] & 0x00400000 != 0).all()


@pytest.mark.parametrize(("type", "own"), ways())
def test_numbers_are_rounded_to_nearest_even(type: str, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dtype = DTYPES[type].value
    exact = np.arange(65536, dtype=np.uint16).view(dtype).astype(np.float32)
    exact = np.sort(exact[np.isfinite(exact)])
    middle = ((exact[:-1].astype(np.float64) + exact[1:]) / 2).astype(np.float32)
    random = np.random.default_rng(2).integers(0, 1 << 32, 1 << 17, dtype=np.uint32).view(np.float32)
    values = np.concatenate(
        [exact, middle, np.nextafter(middle, np.float32(9)), np.nextafter(middle, np.float32(-9)), random]
    )
    edges = np.array([np.inf, -np.inf, 65504, 65519.996, 65520, 3.39e38, 1e-45, -0.0], np.float32)
    values = np.concatenate([values, edges])[: (len(values) + len(edges)) // LANES * LANES]
    values = values[~np.isnan(values)][: np.count_nonzero(~np.isnan(values)) // LANES * LANES]
    found = np.zeros(len(values), np.uint16)
    function(type, "narrow", own, monkeypatch)(found, values)
    with np.errstate(all="ignore"):
        assert (found == values.astype(dtype).view(np.uint16)).all()
