"""The eager session behind `Core`: a trace that executes each operation at once instead of recording it.

Tiles, tensors and instructions of the front end are the same as in a kernel; here every value holds what it stands for
(`core_held`), so they work on data directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.ir import Op, Value
from ptokit.machine.buffers import Buffer
from ptokit.machine.chunk import Chunk
from ptokit.machine.global_memory import Pointer as Address
from ptokit.run.single import Single
from ptokit.targets import Target
from ptokit.types.dtypes import DType, from_numpy
from ptokit.types.values import Ptr, Type
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .arrays import as_array
from .core_execute import execute
from .core_held import Held
from .core_tile import CoreTile
from .eager_loops import loops_around
from .eager_numbers import typed
from .tensors import Pointer
from .trace import Region, Trace
from .where import here, refusal, target_name


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
        """Execute an operation; its results hold what they stand for. Raises `DiagnosticError`."""
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
