"""`Core`: instructions executed one by one as they are called, for notebooks, experiments and tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any

from ptokit.run import MATMUL_MODES
from ptokit.targets import TARGETS, Target
from ptokit.targets import target as find_target
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout

from . import conv, events, matrix_tiles, memory, prefetch, rules, tiles
from .core_session import Session
from .core_tile import CoreTile
from .intrinsics import intrinsic, names
from .namespaces import Namespace, beginnings
from .tensors import GlobalTensor, Pointer
from .tracebacks import refuses
from .where import refusal

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        tiles.Tile,
        matrix_tiles.TileLeft,
        matrix_tiles.TileRight,
        matrix_tiles.TileAcc,
        matrix_tiles.TileLeftScale,
        matrix_tiles.TileRightScale,
        memory.TASSIGN,
        memory.TRESHAPE,
        memory.TSUBVIEW,
        memory.SET_VALIDSHAPE,
        events.TSYNC,
        prefetch.TPREFETCH_ASYNC,
        conv.ConvTile,
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


__all__ = ["Core", "CoreTile"]
