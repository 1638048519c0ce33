"""Programs of the cube unit on pointers: matrices in, one product or one copy, the result out; and models of memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.asm import parse_module
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES, DType

ORDER = '  pto.set_flag["{0}", "{1}", "EVENT_ID0"]\n  pto.wait_flag["{0}", "{1}", "EVENT_ID0"]\n'


def up(value: int, unit: int) -> int:
    """Rounded up to whole units."""
    return -(-value // unit) * unit


class Program:
    """Lines of a kernel that hands its arguments on by name; numbers become constants where they are first used."""

    def __init__(self, **arguments: str) -> None:
        self.arguments = arguments
        self.lines: list[str] = []
        self.constants: dict[str, str] = {}

    def number(self, value: int | float, type: str = "i64") -> str:
        """The name of a constant."""
        name = f"%c{len(self.constants)}"
        return self.constants.setdefault(f"{value} : {type}" if type else str(value), name)

    def pointer(self, space: str, address: int, element: str) -> str:
        """A pointer into a buffer."""
        name = f"%p{len(self.lines)}"
        self.lines.append(f"  {name} = pto.castptr {self.number(address)} : i64 -> !pto.ptr<{element}, {space}>\n")
        return name

    def add(self, text: str) -> None:
        """A line."""
        self.lines.append(f"  {text}\n")

    def order(self, first: str, second: str) -> None:
        """A flag from pipe to pipe, waited for at once."""
        self.lines.append(ORDER.format(f"PIPE_{first}", f"PIPE_{second}"))

    def text(self) -> str:
        """The module."""
        params = ", ".join(f"%{name}: !pto.ptr<{kind}, gm>" for name, kind in self.arguments.items())
        constants = "".join(f"  {name} = arith.constant {value}\n" for value, name in self.constants.items())
        body = "".join(self.lines)
        return (
            "module attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {\n"
            f"func.func @k({params}) {{\n{constants}{body}  pto.barrier #pto.pipe<PIPE_ALL>\n  return\n}}\n}}\n"
        )

    def run(self, *arrays: np.ndarray) -> None:
        """Launch one block; the arrays are changed in place."""
        result = parse_module(self.text(), "k.pto")
        assert not result.diagnostics, [d.message for d in result.diagnostics]
        compile_program(result.module, target("a5")).launch(list(arrays))

    def findings(self, *arrays: np.ndarray) -> list[str]:
        """The ids of the rules that the sanitizer says are broken."""
        result = parse_module(self.text(), "k.pto")
        return [d.rule for d in sanitize(result.module, "a5", list(arrays)).errors]


def load_fractals(p: Program, source: str, dst: str, element: str, n: int, d: int, *, pitch: int, kind: str) -> None:
    """mte_gm_l1_frac of a dense matrix; ``pitch``: rows of a column block."""
    size = DTYPES_BY_TEXT[element].size
    inner = (d if kind == "nd2nz" else n) * size
    c = [p.number(x) for x in (n, d, inner, 1, 1, pitch, 0, 0)]
    false = p.number("false", "")
    p.add(
        f"pto.mte_gm_l1_frac %{source}, {dst}, {kind}, shape({c[0]}, {c[1]}), src_layout({c[2]}), "
        f"dst_group({c[3]}, {c[4]}, {c[5]}, {c[6]}), ctrl({c[7]}, {false}) : !pto.ptr<{element}, gm>, "
        f"!pto.ptr<{element}, l1>, {kind}, shape i64, i64, src_layout(i64), dst_group i64, i64, i64, i64, ctrl i64, i1"
    )


DTYPES_BY_TEXT: dict[str, DType] = {d.text: d for d in DTYPES.values()}


def numbers(rng: np.random.Generator, dtype: DType, *shape: int) -> np.ndarray:
    """Small numbers of a type, exact in all of them."""
    assert dtype.value is not None
    return rng.integers(-4, 5, shape).astype(np.float32).astype(dtype.value)


def product_program(
    dtype: DType,
    m: int,
    n: int,
    k: int,
    *,
    kind: str = "nd2nz",
    right_turned: bool = False,
    left_turned: bool = False,
    words: str = "",
    out: str = "f32",
    drain: Any = None,
    extra: str = "",
) -> Program:
    """``c = a @ b`` by fractal loads, operand loads, mad and a drain in rows."""
    t = dtype.text
    p = Program(a=t, b=t, c=out)
    side = max(16, dtype.c0)
    l1a, l1b = p.pointer("l1", 0, t), p.pointer("l1", 1 << 17, t)
    l0a, l0b = p.pointer("l0a", 0, t), p.pointer("l0b", 0, t)
    acc = "i32" if dtype.is_integer else "f32"
    l0c = p.pointer("l0c", 0, acc)
    if left_turned:
        load_fractals(p, "a", l1a, t, k, m, pitch=up(k, side), kind="dn2nz")
    else:
        load_fractals(p, "a", l1a, t, m, k, pitch=up(m, 16), kind=kind)
    if right_turned:
        load_fractals(p, "b", l1b, t, n, k, pitch=up(n, 16), kind="dn2nz")
    else:
        load_fractals(p, "b", l1b, t, k, n, pitch=up(k, side), kind="nd2nz")
    p.order("MTE2", "MTE1")
    size = {x: p.number(x) for x in (m, n, k, 0)}
    turn = ("", " {transpose = true}")
    p.add(
        f"pto.mte_l1_l0a {l1a}, {l0a}, {size[m]}, {size[k]}, {size[0]}, {size[0]}{turn[left_turned]}"
        f" : !pto.ptr<{t}, l1>, !pto.ptr<{t}, l0a>, i64, i64, i64, i64"
    )
    p.add(
        f"pto.mte_l1_l0b {l1b}, {l0b}, {size[k]}, {size[n]}, {size[0]}, {size[0]}{turn[not right_turned]}"
        f" : !pto.ptr<{t}, l1>, !pto.ptr<{t}, l0b>, i64, i64, i64, i64"
    )
    p.order("MTE1", "M")
    p.add(
        f"pto.mad {l0a}, {l0b}, {l0c}, {size[m]}, {size[n]}, {size[k]} disable_gemv {words}"
        f" : !pto.ptr<{t}, l0a>, !pto.ptr<{t}, l0b>, !pto.ptr<{acc}, l0c>, i64, i64, i64"
    )
    p.order("M", "FIX")
    (drain or drain_rows)(p, l0c, "%c", acc, out, m, n, extra)
    return p


def drain_rows(
    p: Program, l0c: str, dst: str, acc: str, out: str, m: int, n: int, extra: str = "", types: str = ""
) -> None:
    """mte_l0c_gm into dense rows."""
    c = [p.number(x) for x in (m, n, up(m, 16), n, 0)]
    p.add(
        f"pto.mte_l0c_gm {l0c}, {dst}, {c[0]}, {c[1]}, {c[2]}, {c[3]}, {c[4]}, {c[4]}{extra}, nz2nd"
        f" : !pto.ptr<{acc}, l0c>, !pto.ptr<{out}, gm>, i64, i64, i64, i64, i64, i64{types}"
    )
