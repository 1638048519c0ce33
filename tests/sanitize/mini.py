"""Short programs for tests of the sanitizer: one word per operation, one line per operation of the `.pto` text.

| line | operation |
|---|---|
| ``load T X``, ``store T X``, ``add-store T X`` | TLOAD, TSTORE (atomic add) of the whole tensor X |
| ``adds A B``, ``add A B C`` | B = A + 1; C = A + B |
| ``fill A``, ``mov A B`` | A = 1; B = A |
| ``set P Q N``, ``wait P Q N``, ``barrier P`` | flags and barriers, pipes without PIPE_ |
| ``get C N``, ``rls C N`` | buffer tokens, by operation class |
| ``for N``, ``end`` | a loop |
| ``first``, ``other``, ``else`` | only in block 0; only in other blocks |
| anything else | `.pto` text as it is |

Tiles are 16x32 f32: ``tiles`` gives their addresses. Tensors are 16x32 f32 arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError, Severity
from ptokit.sanitize import Report, sanitize, uninit
from ptokit.targets import target as target_named
from ptokit.types.dtypes import DTYPES

TILE = "!pto.tile_buf<vec, 16x32xf32>"
VIEW = "!pto.partition_tensor_view<16x32xf32>"
TILES = {"a": 0, "b": 4096, "c": 8192}
TENSORS = ("x", "y")


class Mini:
    """A program. ``lines`` maps a line of the body (from 1) to a line of the text."""

    def __init__(
        self,
        body: str,
        *,
        tiles: Mapping[str, int | str] = TILES,
        tensors: Sequence[str] = TENSORS,
        kind: str = "vector",
        params: str = "",
    ) -> None:
        pointers = ", ".join([*(f"%{t}: !pto.ptr<f32>" for t in tensors), *([params] if params else [])])
        attributes = f" attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}}" if kind else ""
        head = [
            "module {",
            f"func.func @k({pointers}){attributes} {{",
            *(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 4, 8, 16, 32, 64)),
            "%one = arith.constant 1.0 : f32",
            "%blk = pto.get_block_idx",
            "%block = arith.index_cast %blk : i64 to index",
            "%first = arith.cmpi eq, %block, %c0 : index",
            "%other = arith.cmpi ne, %block, %c0 : index",
        ]
        for name, where in tiles.items():
            if isinstance(where, str):
                head.append(f"%{name} = {where}")
            elif where < 0:
                head.append(f"%{name} = pto.alloc_tile : {TILE}")
            else:
                head.append(f"%{name}_addr = arith.constant {where} : i64")
                head.append(f"%{name} = pto.alloc_tile addr = %{name}_addr : {TILE}")
        for t in tensors:
            head.append(
                f"%{t}_v = pto.make_tensor_view %{t}, shape = [%c16, %c32], strides = [%c32, %c1] "
                ": !pto.tensor_view<?x?xf32>"
            )
            head.append(
                f"%{t}_p = pto.partition_view %{t}_v, offsets = [%c0, %c0], sizes = [%c16, %c32] "
                f": !pto.tensor_view<?x?xf32> -> {VIEW}"
            )
        self.first = len(head) + 1
        self._loops = 0
        self.tensors = tuple(tensors)
        self.text = "\n".join(
            [*head, *(self._line(line.split()) for line in body.strip().splitlines()), "return", "}}"]
        )

    def _line(self, words: list[str]) -> str:
        match words:
            case ["load", t, x]:
                return f"pto.tload ins(%{x}_p : {VIEW}) outs(%{t} : {TILE})"
            case ["store", t, x]:
                return f"pto.tstore ins(%{t} : {TILE}) outs(%{x}_p : {VIEW})"
            case ["add-store", t, x]:
                atomic = "{atomicType = #pto<atomic_type atomic_add>}"
                return f"pto.tstore ins(%{t} : {TILE}) outs(%{x}_p : {VIEW}) {atomic}"
            case ["adds", a, b]:
                return f"pto.tadds ins(%{a}, %one : {TILE}, f32) outs(%{b} : {TILE})"
            case ["add", a, b, c]:
                return f"pto.tadd ins(%{a}, %{b} : {TILE}, {TILE}) outs(%{c} : {TILE})"
            case ["fill", a]:
                return f"pto.texpands ins(%one : f32) outs(%{a} : {TILE})"
            case ["mov", a, b]:
                return f"pto.tmov ins(%{a} : {TILE}) outs(%{b} : {TILE})"
            case ["set" | "wait" as verb, p, q, n]:
                return f"pto.{verb}_flag[<PIPE_{p}>, <PIPE_{q}>, <EVENT_ID{n}>]"
            case ["barrier", p]:
                return f"pto.barrier <PIPE_{p}>"
            case ["get" | "rls" as verb, c, n]:
                return f"pto.{verb}_buf [#pto.pipe_event_type<{c}>, {n}]"
            case ["for", n]:
                self._loops += 1
                return f"scf.for %i{self._loops} = %c0 to %c{n} step %c1 {{"
            case ["first" | "other" as which]:
                return f"scf.if %{which} {{"
            case ["else"]:
                return "} else {"
            case ["end"]:
                return "}"
            case _:
                return " ".join(words)

    def sanitize(
        self, target: str = "a2a3", *, args: Mapping[str, Any] | None = None, blocks: int = 1, **options: Any
    ) -> Report:
        """Run it on `values` of ``args``."""
        result = parse_module(self.text, "k.pto", target=target_named(target))
        if any(d.severity == "error" for d in result.diagnostics):
            raise DiagnosticError(result.diagnostics)
        return sanitize(result.module, target_named(target), self.values(args), blocks, **options)

    def values(self, args: Mapping[str, Any] | None = None) -> list[Any]:
        """Arguments. Tensors start as ones; ``args`` gives others, and values of further parameters."""
        given = dict(args or {})
        values = [given.pop(t, None) for t in self.tensors]
        values = [np.ones((16, 32), np.float32) if v is None else v for v in values]
        return [*values, *given.values()]

    def found(self, target: str = "a2a3", **launch: Any) -> dict[str, list[set[int]]]:
        """Errors and warnings: rule → the lines of the body that each finding names."""
        report = self.sanitize(target, **launch)
        out: dict[str, list[set[int]]] = {}
        for d in (each for each in report.symptoms if each.severity is not Severity.NOTE):
            lines = {d.location.line, *(n.location.line for n in d.notes if n.location.line)}
            out.setdefault(d.rule, []).append({line - self.first + 1 for line in lines if line >= self.first})
        return out


def output() -> Any:
    """An output-only tensor."""
    return uninit((16, 32), DTYPES["f32"])
