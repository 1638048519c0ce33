"""A tile that holds a NumPy array, for tests of semantics without the executor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ptokit.isa.compute import compare, convert, elementwise, expand, partial, reduce
from ptokit.isa.site import ScalarInfo, Site, TileInfo
from ptokit.isa.table import TABLE
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.tile import tile as tile_spec

FAMILIES = (compare, convert, elementwise, expand, partial, reduce)
"""The modules whose instructions these tests are about."""


class FakeTile:
    """A tile without boxes: ``array`` is (blocks, rows, cols) in the value type (codes where there is none)."""

    def __init__(self, spec: TileSpec, vr: int, vc: int, data: bytes | np.ndarray | None = None, blocks: int = 1):
        self.spec, self.vr, self.vc = spec, vr, vc
        kind = spec.dtype.value or spec.dtype.storage
        shape = (spec.rows, spec.cols) if spec.row_major else (spec.cols, spec.rows)
        if isinstance(data, np.ndarray):
            stored = np.empty((blocks, *shape), kind)
            self.array = stored if spec.row_major else stored.transpose(0, 2, 1)
            self.array[...] = data
        else:
            raw = np.frombuffer(data or bytes(spec.nbytes), kind).reshape(1, *shape)
            stored = np.repeat(raw, blocks, axis=0)
            self.array = stored if spec.row_major else stored.transpose(0, 2, 1)
        self.stored = stored

    def region(self, rows: int | None, cols: int | None) -> tuple[int, int]:
        rows, cols = (self.vr if rows is None else rows), (self.vc if cols is None else cols)
        assert rows <= self.spec.rows
        assert cols <= self.spec.cols
        return rows, cols

    def read(self, rows: int | None = None, cols: int | None = None) -> np.ndarray:
        view = self.array[:, : self.vr if rows is None else rows, : self.vc if cols is None else cols]
        view.flags.writeable = False
        return view

    def out(self, rows: int | None = None, cols: int | None = None) -> np.ndarray | None:
        return self.array[:, : self.vr if rows is None else rows, : self.vc if cols is None else cols]

    def write(self, values: np.ndarray, rows: int | None = None, cols: int | None = None) -> None:
        assert values.dtype == self.array.dtype, (values.dtype, self.array.dtype)
        self.out(rows, cols)[...] = values

    def raw(self) -> np.ndarray:
        return np.ascontiguousarray(self.stored).view(np.uint8).reshape(len(self.stored), -1)


class BoxedTile(FakeTile):
    """As `FakeTile`, but without direct access to its storage."""

    def out(self, rows: int | None = None, cols: int | None = None) -> None:
        return None

    def write(self, values: np.ndarray, rows: int | None = None, cols: int | None = None) -> None:
        assert values.dtype == self.array.dtype, (values.dtype, self.array.dtype)
        FakeTile.out(self, rows, cols)[...] = values


@dataclass
class FakeMachine:
    """The running chunk."""

    target: Any
    blocks: int = 1
    matmul_mode: str = "exact"


def run(name: str, on: str, *operands: Any, **attrs: Any) -> None:
    """Execute an instruction on operands in table order."""
    with np.errstate(all="ignore"):
        TABLE[name].run(FakeMachine(target(on)), *operands, **attrs)


def spec(dtype: str, rows: int, cols: int, vr: int | None = None, vc: int | None = None, **more: Any) -> TileSpec:
    """A Vec tile type; ``dn=True`` for col_major, ``boxed=True`` for NZ, ``loc`` for another buffer."""
    loc = more.pop("loc", TileType.Vec)
    if more.pop("dn", False):
        more["blayout"] = BLayout.ColMajor
    if more.pop("boxed", False):
        more.update(blayout=BLayout.ColMajor, slayout=SLayout.RowMajor)
    return tile_spec(loc, DTYPES[dtype], rows, cols, vr, vc, **more)


def fake(dtype: str, values: Any) -> FakeTile:
    """A fully valid tile holding the 2-D `values`, converted to the type."""
    array = np.asarray(values)
    array = array.reshape((1,) * (2 - array.ndim) + array.shape)
    return FakeTile(spec(dtype, *array.shape), *array.shape, data=array.astype(DTYPES[dtype].value)[None])


def site(name: str, on: str, attrs: dict[str, Any] | None = None, **operands: Any) -> Site:
    """A site whose operands are tile types, `TileInfo`, or scalars (type, value)."""
    infos: dict[str, Any] = {}
    for op in TABLE[name].operands:
        given = operands.pop(op.name, None)
        if isinstance(given, TileSpec):
            given = TileInfo.static(op.name, given)
        elif isinstance(given, tuple):
            given = ScalarInfo(op.name, *given)
        elif given is not None and not isinstance(given, TileInfo):
            given = ScalarInfo(op.name, "", given)
        infos[op.name] = given
    assert not operands, operands
    return Site(TABLE[name], target(on), infos, attrs or {})
