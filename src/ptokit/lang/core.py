"""`Core`: instructions executed one by one as they are called, for notebooks and experiments.

Tiles, tensors and instructions of the front end are the same as in a kernel; here every value holds its contents
(`core_held`), so they work on data directly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar, cast

import numpy as np

from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.ir import Op, Value
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.machine import tiles as run
from ptokit.machine.buffers import Buffer
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import Pointer as Address
from ptokit.run import MATMUL_MODES
from ptokit.run.program import Single
from ptokit.targets import TARGETS, Target
from ptokit.targets import target as find_target
from ptokit.types.codecs import decode, encode
from ptokit.types.dtypes import DType, from_numpy
from ptokit.types.enums import Layout, TileType
from ptokit.types.values import Ptr, Type
from ptokit.types.values import Scalar as ScalarType

from . import functions, intrinsics, rules, tiles
from .core_execute import execute, loops_around
from .eager import Held, held, typed
from .intrinsics import Namespace, beginnings, intrinsic, names
from .params import as_array, refuses
from .rules import CONTENTS, here, refusal, target_name
from .tensors import GlobalTensor, Pointer
from .tiles import Tile
from .trace import Region, Trace, current

__all__ = ["Core", "CoreTile"]


# Tiles of an eager session: they have contents to look at.


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


# The eager session of `Core`: a trace that executes each operation at once instead of recording it.


class Session(Trace):
    """Executes operations for one block, in the order of the calls."""

    eager = True
    tile_type = CoreTile

    def __init__(self, target: Target, *, extended: bool, matmul: str, chunk: Chunk | None = None) -> None:
        super().__init__("core", target, UNKNOWN_LOCATION)
        self.single = Single(target, extended=extended, matmul=matmul, chunk=chunk)
        self.of_kernel = chunk is not None  # which is interpreted
        self.kind = ""  # of core, where several kinds run one program
        self.pause: Callable[[], None] | None = None  # lets other cores go on
        self.waits_at: Op | None = None  # what has waited for another core last
        self.root.open = True
        self.regions.append(self.root)

    def result(self, type: Type, name: str, op: Op) -> Held:
        """A result, which holds nothing yet."""
        return Held(type, name, op, op.location, name, session=self)

    def take(self, op: Op) -> None:
        """Execute an operation; its results hold their contents. Raises `DiagnosticError`."""
        if self.single.chunk.observer is not None:
            self.single.chunk.nest.loops = loops_around()
        execute(self, op)

    def constant(self, value: bool | int | float, type: ScalarType, *, computed: bool = False) -> Value:
        """A number; the session keeps nothing of it."""
        return Held(type, called=repr(value), session=self, held=typed(value, type), stated=not computed)

    def visible(self, value: Value) -> bool:
        """True for values of this session; they last as long as somebody has them."""
        return isinstance(value, Held) and value.session is self

    def check_scope(self, value: Value, location: Location | None = None) -> None:
        """Refuse a value of a kernel or of another core (LANG-SCOPE)."""
        if not self.visible(value):
            raise refusal(
                rules.SCOPE,
                "this value belongs to another core, or to a kernel",
                location=location,
                hint="make it on this core; data moves between cores in arrays",
            )

    def enter(self, region: Region) -> None:
        """An eager session has no regions: loops are those of Python."""

    def leave(self, region: Region) -> None:
        """And none to leave."""

    def argument_pointer(self, name: str, array: Any, element: DType) -> Pointer:
        """A pointer to an array that is used in place, as a parameter of a kernel is."""
        return self.pointer_to(name, Address(Buffer(name, array, element), 0, element))

    def pointer_to(self, name: str, address: Address) -> Pointer:
        """The pointer that an address in memory is."""
        return Pointer(Held(Ptr(address.dtype), name, None, here(), name, session=self, held=address))

    def pointer(self, memory: Any, dtype: DType | None = None) -> Any:
        """A pointer to the first element of an array, which is used in place; a pointer comes back as it is.

        ``dtype``: the element type, where the array's own does not say it: arrays of unsigned integers can hold the
        codes of any type of their width. Raises `DiagnosticError` (LANG-ARG).
        """
        if isinstance(memory, Pointer) or self.of_kernel:
            return memory
        name = target_name(here()) or "memory"
        array = as_array(name, memory)
        own = from_numpy(array.dtype)
        element = own if dtype is None else dtype
        if element is None or (element is not own and array.dtype != element.storage):
            wanted = "" if element is None else f", which does not hold {element}"
            raise refusal(
                rules.ARGUMENT,
                f"the array has NumPy type {array.dtype}{wanted}",
                hint="take the NumPy or ml_dtypes type of the elements, or unsigned integers of their width and dtype=",
            )
        if not array.flags.c_contiguous:
            raise refusal(
                rules.ARGUMENT, "the array is not contiguous in memory", hint="numpy.ascontiguousarray(x) copies it"
            )
        return self.argument_pointer(name, array, element)


# `Core`: instructions executed one by one as they are called, for notebooks, experiments and tests.


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        tiles.Tile,
        functions.TileLeft,
        functions.TileRight,
        functions.TileAcc,
        functions.TileLeftScale,
        functions.TileRightScale,
        functions.TASSIGN,
        functions.TRESHAPE,
        functions.TSUBVIEW,
        functions.SET_VALIDSHAPE,
        functions.TSYNC,
        intrinsics.TPREFETCH_ASYNC,
        functions.ConvTile,
    )
}


class Core:
    """One core of a target, without a kernel: every call is checked and executed at once.

    ``core.TLOAD(t, g)`` calls an instruction; inside ``with core:`` the plain names ``pto.TLOAD``, ``pto.Tile``,
    ``pto.GlobalTensor`` … do the same. Tiles without an address have memory of their own, tiles at addresses share
    the bytes of their buffer. On-chip memory begins as zeros.

    ``target``: ``cpu``, ``a2a3`` or ``a5``. ``extended`` lets the cpu target run device-only element types.
    ``matmul``: ``exact``, ``fast`` or ``ref``, see `Program.launch`. Raises `DiagnosticError` at the call that breaks
    a rule; nothing has been changed then.
    """

    def __init__(self, target: str | Target | None = None, *, extended: bool = False, matmul: str = "exact") -> None:
        if matmul not in MATMUL_MODES:
            raise refusal(rules.TARGET, f"matmul is one of {', '.join(MATMUL_MODES)}, not {matmul!r}")
        self.target = _profile(target)
        self.extended = extended
        self._session = Session(self.target, extended=extended, matmul=matmul)
        self._running: list[Any] = []

    def __enter__(self) -> Core:
        running = self._session.running()
        running.__enter__()
        self._running.append(running)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._running.pop().__exit__(kind, error, tb)

    def GlobalTensor(
        self,
        memory: Any,
        shape: Any = None,
        strides: Any = None,
        layout: Layout = Layout.ND,
        *,
        dtype: DType | None = None,
    ) -> GlobalTensor:
        """A tensor over the memory of an array, which is used in place; the array's own shape unless given.

        ``dtype`` names the element type of an array of codes, see `pointer`. Raises `DiagnosticError` (LANG-ARG,
        LANG-VIEW).
        """
        with self:
            pointer = self._session.pointer(memory, dtype)
            own = getattr(memory, "shape", None) if shape is None else shape
            if own is None:
                raise refusal(rules.VIEW, "a tensor over a pointer needs a shape")
            return GlobalTensor(pointer, tuple(own) if shape is None else own, strides, layout)

    def pointer(self, memory: Any, dtype: DType | None = None) -> Pointer:
        """A pointer to the first element of an array.

        ``dtype``: the element type, where the array's own does not say it: arrays of unsigned integers can hold the
        codes of any type of their width, two per byte for 4-bit types. Raises `DiagnosticError` (LANG-ARG).
        """
        with self:
            pointer: Pointer = self._session.pointer(memory, dtype)
            return pointer

    def __getattr__(self, name: str) -> Any:
        """An instruction, or a tile constructor, that runs on this core."""
        if name in beginnings():
            return Namespace(name, self.__getattr__)
        function = _FUNCTIONS.get(name)
        if function is None:
            try:
                function = intrinsic(name)
            except KeyError:
                raise AttributeError(f"a core has no instruction {name!r}") from None
        call = self._bound(function)
        setattr(self, name, call)
        return call

    def _bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @refuses
        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            with self:
                return function(*args, **named)

        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_FUNCTIONS, *(n for n in names() if "." not in n), *beginnings()})

    def __repr__(self) -> str:
        return f"<core of {self.target.name}>"


def _profile(target: Any) -> Target:
    hint = f'pto.Core("...") with one of {", ".join(TARGETS)}'
    if target is None:
        raise refusal(rules.TARGET, "the core names no target", hint=hint)
    try:
        return find_target(target)
    except (KeyError, AttributeError):
        raise refusal(rules.TARGET, f"there is no target {target!r}", hint=hint) from None
