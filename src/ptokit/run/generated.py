"""Generated Python: its text, the names it refers to, and where each line comes from."""

from __future__ import annotations

from typing import Any

from ptokit.ir.core import Module, Op
from ptokit.ir.launch import Launch
from ptokit.types.enums import TileType
from ptokit.types.integers import wrap
from ptokit.types.tile import TileSpec

from .fault import Fault
from .lanes import column, settled, spread, uniform
from .loop_batching import NotSteadyError
from .memory import View, as_view
from .simt.code import Bodies
from .tile import Tile


class Generated:
    """Source text, the names it refers to, and the operation behind each line."""

    def __init__(self, launch: Launch, module: Module) -> None:
        self.launch = launch
        self.bodies = Bodies(module)  # functions as threads execute them
        self.threads = False  # the code has operations of threads
        self.lines: list[str] = []
        self.ops: dict[int, Op] = {}
        self.loops: dict[str, str] = {}  # Python name of a loop variable -> its name in the program
        self.names: dict[str, Any] = {
            "View": View,
            "Tile": Tile,
            "uniform": uniform,
            "spread": spread,
            "column": column,
            "settled": settled,
            "NotSteadyError": NotSteadyError,
            "Fault": Fault,
            "as_view": as_view,
            "wrapped": wrap,
        }
        self.footprint = 0  # bytes a block works on
        self._functions: dict[str, str] = {}

    def function(self, name: str) -> str:
        """Python name of a function: a number, for Python takes some names that differ for the same."""
        return self._functions.setdefault(name, f"f_{len(self._functions)}")

    @property
    def source(self) -> str:
        return "\n".join(self.lines) + "\n"


def working_bytes(spec: TileSpec) -> int:
    """Host memory a tile takes part with: cube operands are decoded, L1 tiles stand for what they were loaded from."""
    if spec.loc is TileType.Mat:
        return 0
    return 4 * spec.numel if spec.loc in (TileType.Left, TileType.Right) else spec.nbytes
