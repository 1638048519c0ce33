"""One operation of `arith`, run on rows of bit patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.run.program import Program
from ptokit.targets import A5

KINDS: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def bits(type: str) -> int:
    return 64 if type == "index" else int(type.lstrip("bfisu"))


def compiled(text: str) -> Program:
    parsed = parse_module(text)
    assert [str(d) for d in parsed.diagnostics] == []
    return compile_program(parsed.module, A5)


def made(name: str, type: str, source: str) -> str:
    """Lines that make %name of a type from the bits in %source, an i64."""
    if type == "i64":
        return f"%{name} = arith.bitcast %{source} : i64 to i64"
    if type == "index":
        return f"%{name} = arith.index_cast %{source} : i64 to index"
    if type == "f64":
        return f"%{name} = arith.bitcast %{source} : i64 to f64"
    if type[0] == "i":
        return f"%{name} = arith.trunci %{source} : i64 to {type}"
    width = bits(type)
    return (
        f"%{name}_w = arith.trunci %{source} : i64 to i{width}\n%{name} = arith.bitcast %{name}_w : i{width} to {type}"
    )


def widened(name: str, type: str) -> str:
    """Lines that make %name_out, an i64, of the bits of %name."""
    if type in ("i64", "f64"):
        return f"%{name}_out = arith.bitcast %{name} : {type} to i64"
    if type == "index":
        return f"%{name}_out = arith.index_cast %{name} : index to i64"
    if type[0] == "i":
        return f"%{name}_out = arith.extui %{name} : {type} to i64"
    width = bits(type)
    return (
        f"%{name}_b = arith.bitcast %{name} : {type} to i{width}\n%{name}_out = arith.extui %{name}_b : i{width} to i64"
    )


def signed(pattern: int) -> int:
    """Bits as the i64 that has them."""
    return int(np.array(pattern & (1 << 64) - 1, np.uint64).view(np.int64))


def evaluate(
    line: str, types: Sequence[str], results: Sequence[str], rows: Sequence[Sequence[int]], *, uniform: bool = False
) -> list[list[int]]:
    """Bits of the results of an operation on rows of bit patterns: %a, %b, .. are its operands, %r, %s its results.

    All rows at once, one for each block; or one after the other, as arguments.
    """
    names, outs = "abc"[: len(types)], "rs"[: len(results)]
    params = "".join(f", %{n}_arg: i64" for n in names) if uniform else ""
    text = [f"func.func @f(%in: !pto.ptr<i64>, %out: !pto.ptr<i64>{params}) {{", "%id = pto.get_block_idx"]
    text += ["%at = arith.index_cast %id : i64 to index"]
    for k, (name, type) in enumerate(zip(names, types)):
        if not uniform:
            text += [
                f"%{name}_n = arith.constant {k * len(rows)} : index",
                f"%{name}_i = arith.addi %at, %{name}_n : index",
            ]
            text += [f"%{name}_arg = pto.load_scalar %in[%{name}_i] : !pto.ptr<i64> -> i64"]
        text += [made(name, type, f"{name}_arg")]
    text += [line]
    for k, (name, type) in enumerate(zip(outs, results)):
        text += [widened(name, type), f"%{name}_n = arith.constant {k * len(rows)} : index"]
        text += [f"%{name}_i = arith.addi %at, %{name}_n : index"]
        text += [f"pto.store_scalar %{name}_out, %out[%{name}_i] : !pto.ptr<i64>, i64"]
    program = compiled("\n".join([*text, "return", "}"]))
    masks = [(1 << bits(t)) - 1 for t in results]
    if uniform:
        found = []
        for row in rows:
            out = np.zeros(len(results) * len(rows), np.int64)
            program.launch([np.zeros(1, np.int64), out, *map(signed, row)])
            found.append([int(out[k * len(rows)]) & mask for k, mask in enumerate(masks)])
        return found
    out = np.zeros(len(results) * len(rows), np.int64)
    program.launch([np.array([[signed(v) for v in row] for row in rows]).T.ravel().copy(), out], len(rows))
    return [[int(out[k * len(rows) + i]) & mask for k, mask in enumerate(masks)] for i in range(len(rows))]


def number(pattern: int, width: int) -> int:
    """The signed number of a bit pattern, by its weights."""
    return sum((-1 if k == width - 1 else 1) * (1 << k) for k in range(width) if pattern >> k & 1)


def edges(width: int) -> list[int]:
    """Bit patterns."""
    top = 1 << (width - 1)
    return sorted({v % (1 << width) for v in (0, 1, 2, 3, top - 1, top, top + 1, -1, -2, -7, 100, 0x5A5A5A5A5A5A5A5A)})


def fault(line: str, types: Sequence[str], results: Sequence[str], rows: Sequence[Sequence[int]]) -> str:
    with pytest.raises(DiagnosticError) as caught:
        evaluate(line, types, results, rows)
    (found,) = caught.value.diagnostics
    return found.rule
