"""Launches of threads as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.asm import parse_module
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

TEXT = """\
module attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
func.func @k({params}) attributes {{pto.kernel}} {{
  %sx = arith.constant {x} : i32
  %sy = arith.constant {y} : i32
  %sz = arith.constant {z} : i32
{before}
  pto.simt_launch @body<<<%sx, %sy, %sz>>>({names}) : ({types}) -> ()
{later}
  pto.barrier #pto.pipe<PIPE_ALL>
  return
}}
func.func @body({params}) attributes {{pto.simt_entry}} {{
  %tx = pto.get_tid_x : i32
  %i = arith.index_castui %tx : i32 to index
{body}
  return
}}
{more}
}}
"""


def launch(
    body: str,
    sizes: tuple[int, int, int] = (32, 1, 1),
    before: str = "",
    later: str = "",
    more: str = "",
    **kinds: str,
) -> str:
    """A kernel whose pointer arguments, by name and element type, go to a body with ``%tx`` and ``%i``."""
    pointers = {name: f"!pto.ptr<{kind}, gm>" for name, kind in kinds.items()}
    return TEXT.format(
        params=", ".join(f"%{n}: {t}" for n, t in pointers.items()),
        names=", ".join(f"%{n}" for n in pointers),
        types=", ".join(pointers.values()),
        x=sizes[0],
        y=sizes[1],
        z=sizes[2],
        before=before,
        later=later,
        body=body,
        more=more,
    )


def run(text: str, *args: Any, blocks: int = 1, backend: str = "numpy") -> None:
    """Read, check and launch."""
    result = parse_module(text, "t.pto")
    assert [str(d) for d in result.diagnostics] == []
    compile_program(result.module, target("a5")).launch(list(args), blocks=blocks, backend=backend)


def found(text: str, *args: Any) -> list[tuple[str, int]]:
    """Rules and lines of what the sanitizer finds."""
    result = parse_module(text, "t.pto")
    report = sanitize(result.module, "a5", list(args))
    return [(d.rule, d.location.line) for d in report.symptoms]


def store(value: str, kind: str = "i32", to: str = "%out", at: str = "%i") -> str:
    """A store of a body."""
    return f"  pto.store {value}, {to}[{at}] : !pto.ptr<{kind}, gm>, {kind}\n"


def load(name: str, source: str, kind: str = "i32", at: str = "%i") -> str:
    """A load of a body."""
    return f"  {name} = pto.load {source}[{at}] : !pto.ptr<{kind}, gm> -> {kind}\n"


def numbers(count: int, dtype: Any = np.int32) -> np.ndarray:
    return np.arange(count).astype(dtype)
