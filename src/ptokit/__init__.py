"""ptokit: write, check, run and debug PTO tile programs on any machine.

``import ptokit as pto`` gives the Python front end: `pto.kernel`, `pto.Tile`, `pto.GlobalTensor`, and every
instruction under its ISA name. It is loaded when a name of it is first used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

TYPE_CHECKING = False  # as of typing, which takes as long to import as all of the rest
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ptokit.ir import Module

__version__ = "0.1.0"


def _print(module: Module) -> str:
    from ptokit.asm import print_module

    return print_module(module)


@cache
def _front_end() -> ModuleType:
    """The Python front end, connected with the printer of the text form, which it does not know by itself."""
    import_module("ptokit.lang.kernels").printer = _print  # type: ignore[attr-defined]
    return import_module("ptokit.lang")


@cache
def _modules() -> frozenset[str]:
    from pkgutil import iter_modules  # imports much, and this module is the first that a command imports

    return frozenset(module.name for module in iter_modules(__path__))


def __getattr__(name: str) -> Any:
    if name in _modules() or (name.startswith("__") and name != "__all__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    front_end = _front_end()
    if name == "__all__":  # a star import must not hide Python's own range
        return [n for n in dir(front_end) if n != "range"]
    value = getattr(front_end, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_modules(), *dir(_front_end())})
