"""One instruction at a time, on operands made from bytes: for the eager session, conformance cases and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.isa.site import Info
from ptokit.isa.table import Instr
from ptokit.machine.buffers import Buffer
from ptokit.machine.calls import check_operands
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import View
from ptokit.machine.observer import done
from ptokit.machine.storage import Arena
from ptokit.machine.tiles import Tile
from ptokit.plan.steps import Step
from ptokit.targets import Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tile import DYNAMIC, TileSpec

from .outcome import Printed


class Single:
    """A machine with one block that executes single instructions."""

    def __init__(
        self, target: Target, *, extended: bool = False, matmul: str = "exact", chunk: Chunk | None = None
    ) -> None:
        self.chunk = chunk or Chunk(target, 1, 1, matmul, extended=extended)
        self.target, self.extended = target, extended

    def tile(
        self,
        spec: TileSpec,
        data: Any = None,
        *,
        valid: tuple[int, int] | None = None,
        name: str = "",
        address: int | None = None,
    ) -> Tile:
        """A tile with memory of its own, or at a byte address of its buffer.

        ``data``: bytes of the physical tile; ``valid``: valid rows and columns where the type leaves them open.
        """
        storage = Arena(1, spec.nbytes).window(spec, 0) if address is None else self.chunk.at(address, spec)
        rows, cols = valid or (spec.valid_row, spec.valid_col)
        rows, cols = (spec.rows if rows == DYNAMIC else rows), (spec.cols if cols == DYNAMIC else cols)
        tile = Tile(storage, spec, rows, cols, name, address)
        if data is not None:
            tile.raw()[0] = np.frombuffer(bytes(data), np.uint8)
        return tile

    def view(
        self,
        dtype: DType,
        array: np.ndarray,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        layout: Layout | None = None,
        *,
        offset: int = 0,
        name: str = "",
    ) -> View:
        """A view of the memory of `array` (contiguous; written in place). Sizes and offset count elements."""
        buffer = Buffer(name, array, dtype)
        buffer.written = True
        return View(buffer, offset, tuple(shape), tuple(stride), dtype, layout)

    def execute(
        self,
        instr: Instr,
        operands: Mapping[str, Any],
        attrs: Mapping[str, Any] | None = None,
        op: Op | None = None,
        stated: Mapping[str, Info | None] | None = None,
    ) -> Any:
        """Check and run one instruction; absent optional operands may be left out. Returns the scalar it yields.

        ``op``: its place in a program, which the machine's observer is told; ``stated``: what the types of its operands
        say, which those do not tell.
        Raises `ptokit.machine.lanes.Fault` for the first rule that is broken.
        """
        assert instr.run is not None
        given = {o.name: operands.get(o.name) for o in instr.operands}
        complete = instr.attributes(attrs or {})
        check_operands(instr, self.target, given, complete, extended=self.extended, stated=stated)
        try:
            with np.errstate(all="ignore"):
                if op is None:
                    return instr.run(self.chunk, *given.values(), **complete)
                step = Step(op, "instruction", names=tuple(given), instr=instr, attrs=complete)
                return done(step, self.chunk, tuple(given.values()))
        finally:
            printed = Printed()
            printed.add(0, self.chunk.printed[0])
            printed.flush()
            self.chunk.printed[0].clear()
