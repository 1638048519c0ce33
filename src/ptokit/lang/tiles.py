"""Tiles in a kernel: allocation, binding to addresses, aliases, and the valid region."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, overload

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir import Op, Value
from ptokit.types import dtypes
from ptokit.types.dtypes import DType
from ptokit.types.enums import BLayout, CompactMode, PadValue, SLayout, TileType
from ptokit.types.tile import CUSTOM_PAD, DYNAMIC, TileSpec, declared
from ptokit.types.values import I64, INDEX

from . import rules
from .eager import Index, fixed
from .mistakes import NoArithmetic, shown
from .rules import refusal
from .scalar import Scalar, is_number, materialize, plain
from .trace import Tracked, current

_SETTING = dict.fromkeys(
    ("valid_row", "valid_col", "valid_rows", "valid_cols", "shape"),
    "{0}.set_valid(rows, cols) sets the valid region of a tile made with pto.DYNAMIC",
)
E = TypeVar("E", TileType, BLayout, SLayout, CompactMode, PadValue)


class Tile(NoArithmetic):
    """A tile buffer; parameters in the order of the C++ template ``Tile``. Sizes count elements.

    ``valid_row``/``valid_col`` are Python integers, traced numbers, or `DYNAMIC`: a dynamic dimension begins with all
    of the tile valid and can be changed with `set_valid`. ``addr`` is a byte address in the tile's buffer; without it
    ptokit places the tile. ``fractal`` is the box size in bytes; ``pad`` a `PadValue` or `custom_pad`.

    The object is a tile of the kernel: `TASSIGN`, `TRESHAPE` and `TSUBVIEW` bind it to other storage.
    Raises `DiagnosticError` (LANG-TILE).
    """

    def __new__(cls, *args: Any, **named: Any) -> Tile:
        return super().__new__(current("Tile").tile_type or cls)

    @overload
    def __init__(
        self,
        loc: TileType,
        dtype: DType,
        rows: int,
        cols: int,
        blayout: BLayout = ...,
        valid_row: Any = ...,
        valid_col: Any = ...,
        slayout: SLayout = ...,
        fractal: int = ...,
        pad: PadValue | int = ...,
        compact: CompactMode = ...,
        *,
        addr: Any = ...,
    ) -> None: ...
    @overload  # ``**NZ``, a dictionary whose values are of several types
    def __init__(self, loc: TileType, dtype: DType, rows: int, cols: int, *, _unpacked: Any, **more: Any) -> None: ...
    def __init__(  # type: ignore[misc]  # no call gives _unpacked
        self,
        loc: TileType,
        dtype: DType,
        rows: int,
        cols: int,
        blayout: BLayout = BLayout.RowMajor,
        valid_row: Any = None,
        valid_col: Any = None,
        slayout: SLayout = SLayout.NoneBox,
        fractal: int = 512,
        pad: PadValue | int = PadValue.Null,
        compact: CompactMode = CompactMode.Null,
        *,
        addr: Any = None,
    ) -> None:
        current("Tile")
        vr, vc = _valid(valid_row, "valid_row"), _valid(valid_col, "valid_col")
        rows, cols = _size(rows, "rows"), _size(cols, "cols")
        stated = TileSpec(
            _member(TileType, loc),
            _dtype(dtype),
            rows,
            cols,
            _static(rows if vr is None else vr),
            _static(cols if vc is None else vc),
            _member(BLayout, blayout),
            _member(SLayout, slayout),
            _fractal(fractal),
            _pad(pad),
            _member(CompactMode, compact),
        )
        spec = declared(stated)
        dynamic = [_initial(v, size) for v, size in ((vr, rows), (vc, cols))]
        self._allocate(spec, dynamic, addr)

    def _allocate(self, spec: TileSpec, dynamic: list[Any], addr: Any) -> None:
        operands: dict[str, Value | list[Value] | None] = {}
        if addr is not None:
            operands["addr"] = _address(addr)
        for name, size in zip(("valid_row", "valid_col"), dynamic):
            if size is not None:
                operands[name] = materialize(size, INDEX)
        op = current("Tile").emit("pto.alloc_tile", operands, results=[spec])
        valid = tuple(static if d is None else d for static, d in zip((spec.valid_row, spec.valid_col), dynamic))
        self._begin(op.result, valid, op)

    def _begin(self, value: Value, valid: tuple[Any, ...], allocation: Op | None) -> None:
        trace = current("a tile")
        self._binding = Tracked(trace, f"the address of tile {value.shown}", value)
        self._valid = Tracked(trace, "the valid region of the tile", valid)
        self._origin = value
        self._allocation = allocation  # while no operation has used it
        self._home = trace.region
        assert isinstance(value.type, TileSpec)
        self.spec = value.type

    @classmethod
    def _alias(cls, value: Value, valid: tuple[Any, ...]) -> Tile:
        tile = cls.__new__(cls)
        tile._begin(value, valid, None)
        return tile

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("_") or name in ("spec", "merged")):
            raise self._refused(
                f"has no {name} that can be set", _SETTING.get(name, "keep it in a variable of its own")
            )
        super().__setattr__(name, value)

    @property
    def value(self) -> Value:
        """The tile as an operand; from now on it counts as used."""
        current("a tile")
        self._allocation = None
        return self._binding.get()

    @property
    def placed(self) -> Value:
        """The tile as the operand of an instruction that gives it its place."""
        allocation = self._allocation
        if allocation is not None and not allocation.operands:
            allocation.name = "pto.declare_tile"  # nothing has used its own place
        return self.value

    @property
    def name(self) -> str:
        """Its name in `.pto` text, or an empty string."""
        return self._origin.name

    def _named(self) -> str:
        return self._origin.shown

    def take_name(self, name: str, called: str) -> None:
        """Have this name in `.pto` text, and be called so in findings, unless the tile has a name already."""
        if not self._origin.name:
            self._origin.name, self._origin.called = current("a tile").unique(name), called

    @property
    def loc(self) -> TileType:
        """The buffer that the tile is in."""
        return self.spec.loc

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.spec.dtype

    @property
    def rows(self) -> int:
        """Physical rows."""
        return self.spec.rows

    @property
    def cols(self) -> int:
        """Physical columns."""
        return self.spec.cols

    @property
    def valid_row(self) -> Any:
        """Valid rows: a Python integer, or a traced number."""
        return self._valid.get()[0]

    @property
    def valid_col(self) -> Any:
        """Valid columns: a Python integer, or a traced number."""
        return self._valid.get()[1]

    def set_valid(self, rows: Any, cols: Any) -> None:
        """Set both valid dimensions, in elements; both must be `DYNAMIC` in the type."""
        if (self.spec.valid_row, self.spec.valid_col) != (DYNAMIC, DYNAMIC):
            raise refusal(
                rules.TILE,
                f"the valid region of {shown(self)} is part of its type",
                hint="make the tile with valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC",
            )
        self._say_valid(rows, cols)
        self._valid.set(tuple(size if isinstance(size, Index) else plain(size) for size in (rows, cols)))

    def _say_valid(self, rows: Any, cols: Any) -> None:
        operands = {"tile": self.value, "valid_row": materialize(rows, INDEX), "valid_col": materialize(cols, INDEX)}
        current("set_valid").emit("pto.set_validshape", operands)

    def reshape(
        self,
        rows: int,
        cols: int,
        blayout: BLayout = BLayout.RowMajor,
        slayout: SLayout | None = None,
        *,
        valid_row: Any = None,
        valid_col: Any = None,
        dtype: DType | None = None,
        fractal: int | None = None,
    ) -> Tile:
        """The same bytes as another tile (TRESHAPE): new shape and layout, the rest as here unless given.

        ``valid_row`` and ``valid_col``, in elements, may be numbers of the run; without them all of it is valid.
        """
        rows, cols = _size(rows, "rows"), _size(cols, "cols")
        vr = rows if valid_row is None else _valid(valid_row, "valid_row")
        vc = cols if valid_col is None else _valid(valid_col, "valid_col")
        by_run = not (fixed(vr) and fixed(vc))
        spec = replace(
            self.spec,
            dtype=self.dtype if dtype is None else _dtype(dtype),
            rows=rows,
            cols=cols,
            valid_row=DYNAMIC if by_run else vr,
            valid_col=DYNAMIC if by_run else vc,
            blayout=_member(BLayout, blayout),
            slayout=self.spec.slayout if slayout is None else _member(SLayout, slayout),
            fractal=self.spec.fractal if fractal is None else _fractal(fractal),
        )
        op = current("reshape").emit("pto.treshape", {"src": self.value}, results=[spec])
        tile = Tile._alias(op.result, (vr, vc))
        if by_run:
            tile._say_valid(vr, vc)
        return tile

    def bitcast(self, dtype: DType) -> Tile:
        """The same bytes as another element type of the same size."""
        spec = replace(self.spec, dtype=_dtype(dtype))
        op = current("bitcast").emit("pto.bitcast", {"src": self.value}, results=[spec])
        return Tile._alias(op.result, self._valid.get())

    def subview(self, row: Any, col: Any, rows: int, cols: int) -> Tile:
        """A window of `rows` x `cols` elements at (row, col) that shares this tile's storage."""
        rows, cols = _size(rows, "rows"), _size(cols, "cols")
        vr, vc = _static(self.spec.valid_row), _static(self.spec.valid_col)
        spec = replace(
            self.spec,
            rows=rows,
            cols=cols,
            valid_row=_remaining(vr, row, rows),
            valid_col=_remaining(vc, col, cols),
        )
        op = current("subview").emit(
            "pto.subset",
            {"source": self.value, "offsets": [materialize(row, INDEX), materialize(col, INDEX)]},
            {"sizes": [rows, cols]},
            [spec],
        )
        valid = tuple(
            _remaining(v, at, size) if fixed(v) and fixed(at) else size
            for v, at, size in zip(self._valid.get(), (row, col), (rows, cols))
        )
        return Tile._alias(op.result, valid)

    def assign(self, address: Any) -> None:
        """Bind the tile to a byte address of its buffer (TASSIGN), also in place of an earlier one."""
        trace = current("TASSIGN")
        addr = _address(address)
        allocation = self._allocation
        if allocation is not None and trace.region is self._home:
            # Nothing has used the tile: allocate it at this address, which is known from here on.
            block = trace.region.block
            block.ops.remove(allocation)
            rest = {name: v for name, v in allocation.operands.items() if name != "addr"}
            allocation.operands = {"addr": addr, **rest}
            block.add(allocation)
            return
        if allocation is not None and not allocation.operands:
            allocation.name = "pto.declare_tile"  # every use is after this or another binding
        self._allocation = None
        value = self._binding.known() or self._origin
        op = trace.emit("pto.tassign", {"tile": value, "addr": addr}, results=[self.spec], hint=value.name)
        self._binding.set(op.result)

    def seen_spec(self) -> TileSpec:
        """The type of other storage seen as this tile, whose valid region `take_storage` can set."""
        return self.spec.with_valid(DYNAMIC, DYNAMIC) if self.spec.dynamic else self.spec

    def see_part(self, src: Tile, row: Any, col: Any) -> None:
        """Become the tile of this type that begins at (row, col) of `src`, a tile of the same layout (TSUBVIEW)."""
        spec = self.spec
        along, across = ("cols", "rows") if spec.row_major else ("rows", "cols")
        length, lines = getattr(spec, along), getattr(spec, across)
        pitch = getattr(src.spec, along)
        first, inside = (row, col) if spec.row_major else (col, row)
        if fixed(first) and fixed(inside) and not spec.boxed:
            first, inside = first + inside // pitch, inside % pitch
        single = lines == (spec.box.rows if spec.row_major else spec.box.cols)
        if spec.boxed and not (fixed(inside) and inside == 0):
            message = f"{inside} elements after the beginning of a line is inside the boxes of {src!r}"
            raise refusal(rules.TILE, f"TSUBVIEW adds to the address, and {message}", hint="use Tile.subview")
        row, col = (first, inside) if spec.row_major else (inside, first)
        if length == pitch or single:
            self._bind(src.part(row, col, spec, self._valid.get(), self.name))
            return
        whole, rest = divmod(spec.numel, pitch)
        if spec.boxed or inside != 0 or rest:
            message = f"lines of {self!r} are {length} elements long, those of {src!r} {pitch}"
            raise refusal(
                rules.TILE,
                f"{message}: TSUBVIEW binds the address only, so that elements after the first line would be others",
                hint=f"give dst {along} = {pitch} and a valid region, or use src.subview(row, col, rows, cols)",
            )
        rows, cols = (whole, pitch) if spec.row_major else (pitch, whole)
        part = src.part(row, col, spec, (rows, cols))
        op = current("TSUBVIEW").emit("pto.treshape", {"src": part}, results=[self.seen_spec()], hint=self.name)
        self.take_storage(op.result)

    def part(self, row: Any, col: Any, spec: TileSpec, valid: tuple[Any, Any], name: str = "") -> Value:
        """A window of this tile at (row, col) with that valid region.

        It is as large as what is valid; where only the run knows that, as `spec`, of what there is.
        """
        rows, cols = (
            v if fixed(v) else min(size, whole - at) if fixed(at) else size
            for v, size, whole, at in zip(valid, (spec.rows, spec.cols), (self.rows, self.cols), (row, col))
        )
        given: dict[str, Value | list[Value] | None] = {}
        if not (fixed(valid[0]) and fixed(valid[1])):
            given = {name: materialize(v, INDEX) for name, v in zip(("valid_row", "valid_col"), valid)}
        static = [_static(v) for v in valid]
        made = replace(self.spec, rows=rows, cols=cols, valid_row=static[0], valid_col=static[1])
        given |= {"source": self.value, "offsets": [materialize(row, INDEX), materialize(col, INDEX)]}
        return current("TSUBVIEW").emit("pto.subview", given, {"sizes": [rows, cols]}, [made], hint=name).result

    def take_storage(self, value: Value) -> None:
        """Become a name for the storage of `value`, an alias of type `seen_spec`, and keep the valid region."""
        self._bind(value)
        if self.spec.dynamic:
            self._say_valid(*self._valid.get())

    def _bind(self, value: Value) -> None:
        trace = current("an alias")
        if self._allocation is not None and trace.region is self._home:
            trace.region.block.ops.remove(self._allocation)
            self._origin = value
        self._allocation = None
        self._binding.set(value)
        assert isinstance(value.type, TileSpec)
        self.spec = value.type

    def numpy(self, *, valid: bool = True, codes: bool = False) -> np.ndarray:
        """The elements, in an eager session or an interpreted kernel (`CoreTile.numpy`).

        Raises `DiagnosticError` (LANG-CONTEXT) while a kernel is compiled.
        """
        raise _no_contents()

    def set(self, values: Any, *, valid: bool = True, codes: bool = False) -> Tile:
        """Overwrite the elements, in an eager session or an interpreted kernel (`CoreTile.set`)."""
        raise _no_contents()

    def bytes(self) -> bytes:
        """The physical tile, in an eager session or an interpreted kernel; see `numpy`."""
        raise _no_contents()

    def __repr__(self) -> str:
        s = self.spec
        layout = "" if s.layout_name == "ND" else f" {s.layout_name}"
        return f"<Tile {s.loc.name} {s.rows}x{s.cols} {s.dtype}{layout}>"


def _no_contents() -> DiagnosticError:
    message = "a tile has no contents while the kernel is compiled"
    return refusal(rules.CONTEXT, message, hint="run it with kernel.interpret to look into it")


def custom_pad(bits: int) -> int:
    """A pad value with these 32 bits (narrow types use the low ones) for the ``pad`` of a tile."""
    return CUSTOM_PAD | (bits & 0xFFFF_FFFF)


def _member(kind: type[E], value: Any) -> E:
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        try:
            return kind.from_text(value)
        except KeyError:
            pass
    raise refusal(rules.TILE, f"{value!r} is not a {kind.__name__}", hint=f"one of {', '.join(m.name for m in kind)}")


def _dtype(value: Any) -> DType:
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and dtypes.is_dtype(value):
        return dtypes.dtype(value)
    found = None
    if isinstance(value, type | np.dtype) and value is not object:
        found = dtypes.from_numpy(np.dtype(value))
    if found is None:
        raise refusal(rules.TILE, f"{value!r} is not an element type", hint="pto.f32, pto.f16, pto.bf16, pto.i32, …")
    return found


def _size(value: Any, name: str) -> int:
    value = plain(value)
    if isinstance(value, Scalar):
        raise refusal(
            rules.TILE,
            f"{name} of a tile must be a Python integer, not {value!r}",
            hint="make the tile as large as needed and set its valid region; or annotate the parameter with pto.Static",
        )
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise refusal(rules.TILE, f"{name} of a tile must be a positive integer, not {value!r}")
    return value


def _valid(value: Any, name: str) -> Any:
    if value is None or isinstance(value, Index) or (isinstance(value, Scalar) and value.type.is_integer):
        return value
    value = plain(value)
    return value if isinstance(value, int) and value == DYNAMIC else _size(value, name)


def _static(size: Any) -> int:
    return size if fixed(size) else DYNAMIC


def _initial(valid: Any, size: int) -> Any:
    """Operand of alloc_tile for a valid dimension: None if it is static."""
    if not fixed(valid):
        return valid
    return size if valid == DYNAMIC else None


def _fractal(value: Any) -> int:
    if value not in (512, 1024, 32):
        raise refusal(rules.TILE, f"the fractal size of a tile is 512, 1024 or 32 bytes, not {value!r}")
    return int(value)


def _pad(value: Any) -> int:
    if isinstance(value, str):
        return _member(PadValue, value)
    if isinstance(value, int) and (value in list(PadValue) or value >= CUSTOM_PAD):
        return value
    raise refusal(rules.TILE, f"{value!r} is not a pad value", hint="a pto.PadValue, or pto.custom_pad(bits)")


def _address(value: Any) -> Value:
    if not is_number(value) or isinstance(value, float):
        raise refusal(rules.TILE, f"the address of a tile is an integer, not {value!r}")
    return materialize(value, I64)


def _remaining(valid: Any, start: Any, size: int) -> int:
    """Valid elements of a window: what remains of the source's valid region after its start."""
    if not fixed(valid) or valid == DYNAMIC or not fixed(start):
        return DYNAMIC if fixed(valid) and valid == DYNAMIC else size
    return max(0, min(size, valid - start))
