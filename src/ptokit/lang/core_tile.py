"""Tiles of an eager session: they have contents to look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from ptokit.ir import Op, Value
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.machine import tiles as run
from ptokit.types.codecs import decode, encode
from ptokit.types.enums import TileType

from .core_held import held
from .rules import CONTENTS
from .tiles import Tile
from .trace import current
from .where import refusal

F = TypeVar("F", bound=Callable[..., Any])


def _at_home(method: F) -> F:
    """The method, executed by the tile's own core wherever it is called."""

    @wraps(method)
    def call(self: CoreTile, *args: Any, **named: Any) -> Any:
        with self._core.running():
            return method(self, *args, **named)

    return cast(F, call)


class CoreTile(Tile):
    """A tile of a `Core`: `numpy`, `bytes` and `set` reach its contents, printing shows them."""

    def _begin(self, value: Value, valid: tuple[Any, ...], allocation: Op | None) -> None:
        super()._begin(value, valid, None)
        self._core = current("a tile")

    @property
    def _run(self) -> run.Tile:
        tile: run.Tile = held(self._binding.get())
        return tile

    set_valid = _at_home(Tile.set_valid)
    reshape = _at_home(Tile.reshape)
    bitcast = _at_home(Tile.bitcast)
    subview = _at_home(Tile.subview)
    assign = _at_home(Tile.assign)

    @property
    def address(self) -> int | None:
        """Byte address in its buffer; None for a tile without one, which has memory of its own."""
        return self._run.address

    def numpy(self, *, valid: bool = True, codes: bool = False) -> np.ndarray:
        """A copy of the elements as (rows, cols): the valid region, or the whole tile with ``valid=False``.

        The dtype is that of the element type, float32 for types that NumPy and ml_dtypes lack (hif8, fp4), int8 for
        int4. ``codes=True`` gives the bits instead, as unsigned integers, one per element.
        """
        rows, cols = self._extent(valid)
        values = self._run.read(rows, cols)[0]
        if codes:
            return values.view(self.dtype.storage).copy()
        return decode(self.dtype, values).copy() if self.dtype.value is None else values.copy()

    def bytes(self) -> bytes:
        """The physical tile, all of it, in the order of its layout.

        Raises `DiagnosticError` for a window of another tile, whose bytes do not lie together.
        """
        tile = self._run
        if tile.spec != tile.type:
            message = f"the rows of {self!r} lie apart, with those of the tile that it is a part of"
            raise refusal(CONTENTS, message, hint="tile.numpy() gives its elements")
        data: bytes = tile.raw()[0].tobytes()
        return data

    def set(self, values: Any, *, valid: bool = True, codes: bool = False) -> CoreTile:
        """Overwrite the valid region, or the whole tile with ``valid=False``, and return the tile.

        ``values``: an array of that shape, or a number for every element. Floats are rounded to the nearest value of
        the element type; integers must fit (LANG-CONTENTS). With ``codes=True`` they are bits, as `numpy` gives them.
        """
        rows, cols = self._extent(valid)
        try:
            array = np.asarray(values)
            given = np.broadcast_to(array, (rows, cols)) if array.ndim in (0, 2) else array.reshape(rows, cols)
        except ValueError as error:
            shape = f"an array of shape {array.shape}" if "array" in locals() else f"{type(values).__name__}: {error}"
            raise refusal(CONTENTS, f"{shape} does not fit the {rows}x{cols} elements of {self!r}") from None
        self._run.write(self._elements(given, codes)[None], rows, cols)
        self._run.storage.flush()
        return self

    def _extent(self, valid: bool) -> tuple[int, int]:
        return (self._run.vr, self._run.vc) if valid else (self.rows, self.cols)

    def _elements(self, values: np.ndarray, codes: bool) -> np.ndarray:
        """`values` in the dtype in which the storage keeps elements."""
        dtype, kept = self.dtype, self.dtype.value or self.dtype.storage
        if dtype.value is not None and values.dtype == dtype.value and not codes:
            return values.astype(kept)
        if values.dtype.kind not in "biuf" and not str(values.dtype).startswith(("bfloat", "float")):
            raise refusal(CONTENTS, f"elements of NumPy type {values.dtype} cannot be put into {self!r}")
        limit = 16 if dtype.bits == 4 else 1 << dtype.bits
        if codes:
            if values.dtype.kind not in "iu" or (values.size and not 0 <= values.min() <= values.max() < limit):
                raise refusal(CONTENTS, f"codes of {dtype} are integers from 0 to {limit - 1}")
            return np.ascontiguousarray(values.astype(dtype.storage)).view(kept)
        bits = encode(dtype, values, saturate=False)
        if dtype.is_integer:
            wrong = decode(dtype, bits) != values
            if wrong.any():
                row, col = np.argwhere(wrong)[0]
                raise refusal(CONTENTS, f"{values[row, col]} at ({row}, {col}) is not a value of {dtype}")
        return np.ascontiguousarray(bits).view(kept)

    # --- for people ------------------------------------------------------------------------------------------------

    def _headline(self) -> str:
        s, tile = self.spec, self._run
        buffer = "?" if s.loc is TileType.Ctrl else buffer_name(s.loc)
        place = f"in {buffer}, no address" if tile.address is None else f"at {tile.address:#x} of {buffer}"
        name = f"{self.name}: " if self.name else ""
        return f"{name}{s.loc.text} {s.rows}x{s.cols}x{s.dtype} {s.layout_name}, valid {tile.vr}x{tile.vc}, {place}"

    def _shown(self) -> np.ndarray:
        values = self.numpy()
        return values.astype(np.float32) if self.dtype.is_float else values

    def __repr__(self) -> str:
        flat = self._shown().reshape(-1)
        style = ".4g" if flat.dtype.kind == "f" else "d"
        some = [f"{x:{style}}" for x in (flat if flat.size <= 6 else flat[:4])]
        preview = " ".join(some) + (f" … {flat[-1]:{style}}" if flat.size > 6 else "")
        return f"<Tile {self._headline()}: {preview}>"

    def __str__(self) -> str:
        values = self._shown()
        plain = bool((np.abs(values[values != 0]) >= 1e-3).all())  # no number that would show as 0
        table = np.array2string(values, max_line_width=88, threshold=64, edgeitems=3, precision=4, suppress_small=plain)
        return f"{self._headline()}\n{table}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What a notebook shows."""
        printer.text(repr(self) if cycle else str(self))
