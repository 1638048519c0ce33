"""Single MGATHER and MSCATTER calls on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.transfer.gather import MGATHER
from ptokit.isa.transfer.scatter import MSCATTER
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES, from_numpy
from ptokit.types.enums import Layout, TileType

from .fake import spec


class Bench:
    """A machine with one block, and operands made from arrays."""

    def __init__(self, on: str, *, extended: bool = False) -> None:
        self.machine = Single(target(on), extended=extended)

    def tile(self, values: Any, dtype: str = "", **more: Any) -> Any:
        """A fully valid tile of the array's shape, its rows padded to 32 bytes."""
        array = np.asarray(values)
        kind = DTYPES[dtype] if dtype else from_numpy(array.dtype)
        assert kind is not None
        rows, cols = array.shape
        padded = -(-cols // kind.c0) * kind.c0
        dn = more.get("dn", False)
        shape = (-(-rows // kind.c0) * kind.c0, cols) if dn else (rows, padded)
        more.setdefault("vr", rows)
        more.setdefault("vc", cols)
        tile = self.machine.tile(spec(kind.name, *shape, **more))
        tile.patch(array[None].view(kind.value or kind.storage), 0, 0)
        return tile

    def mat(self, dtype: str, rows: int, cols: int, vr: int | None = None, vc: int | None = None) -> Any:
        """An NZ tile in L1 whose elements are all 9."""
        tile = self.machine.tile(spec(dtype, rows, cols, vr, vc, loc=TileType.Mat, boxed=True))
        kind = DTYPES[dtype]
        tile.patch(np.full((1, rows, cols), 9).astype(kind.value or kind.storage), 0, 0)
        return tile

    def view(self, array: np.ndarray, *shape: int, dtype: str = "", **more: Any) -> Any:
        """A packed ND tensor in the memory of `array`, by default of its shape."""
        kind = DTYPES[dtype] if dtype else from_numpy(array.dtype)
        assert kind is not None
        shape = shape or array.shape
        five = (1,) * (5 - len(shape)) + tuple(shape)
        stride = more.pop("stride", None) or tuple(int(np.prod(five[i + 1 :])) for i in range(5))
        return self.machine.view(kind, array, five, stride, more.pop("layout", Layout.ND), name="table", **more)

    def gather(self, dst: Any, src: Any, idx: Any, scratch: Any = None, **attrs: Any) -> np.ndarray:
        """Run MGATHER; the whole tile afterwards."""
        self.machine.execute(MGATHER, {"dst": dst, "src": src, "idx": idx, "scratch": scratch}, attrs)
        return dst.read(dst.spec.rows, dst.spec.cols)[0]

    def scatter(self, dst: Any, src: Any, idx: Any, **attrs: Any) -> None:
        """Run MSCATTER."""
        self.machine.execute(MSCATTER, {"dst": dst, "src": src, "idx": idx}, attrs)
