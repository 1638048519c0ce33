"""ptokit: write, check, run and debug PTO tile programs on any machine.

``import ptokit as pto`` gives the Python front end: `pto.kernel`, `pto.Tile`, `pto.GlobalTensor`, and every
instruction under its ISA name. `read`, `check`, `run`, `diff`, `sanitize`, `format`, `convert`, `explain` and `isa` are
what the command does, for tools (docs/library.md). All of it is loaded when it is first used.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module

TYPE_CHECKING = False  # as of typing, which takes as long to import as all of the rest
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ptokit.api.check import CheckReport as CheckReport
    from ptokit.api.check import check as check
    from ptokit.api.check import convert as convert
    from ptokit.api.check import format as format
    from ptokit.api.check import read as read
    from ptokit.api.files import cpp as cpp
    from ptokit.api.instruction import InstructionPage as InstructionPage
    from ptokit.api.instruction import isa as isa
    from ptokit.api.launch import RunResult as RunResult
    from ptokit.api.launch import run as run
    from ptokit.api.launch import time as time
    from ptokit.api.program import Source as Source
    from ptokit.api.prove import prove as prove
    from ptokit.api.rule import RulePage as RulePage
    from ptokit.api.rule import explain as explain
    from ptokit.api.sanitize import DiffReport as DiffReport
    from ptokit.api.sanitize import compare_order as compare_order
    from ptokit.api.sanitize import diff as diff
    from ptokit.api.sanitize import sanitize as sanitize
    from ptokit.api.synchronise import synchronise as synchronise
    from ptokit.api.tune import Tuned as Tuned
    from ptokit.api.tune import tune as tune
    from ptokit.diagnostics import UsageError as UsageError
    from ptokit.ir import Module
    from ptokit.targets import Target
else:
    ModuleType = type(sys)

_TOOLS = {
    "CheckReport": "api.check",
    "DiffReport": "api.sanitize",
    "InstructionPage": "api.instruction",
    "RulePage": "api.rule",
    "RunResult": "api.launch",
    "Source": "api.program",
    "UsageError": "diagnostics",
    "check": "api.check",
    "cpp": "api.files",
    "convert": "api.check",
    "diff": "api.sanitize",
    "compare_order": "api.sanitize",
    "explain": "api.rule",
    "format": "api.check",
    "isa": "api.instruction",
    "prove": "api.prove",
    "read": "api.check",
    "run": "api.launch",
    "sanitize": "api.sanitize",
    "synchronise": "api.synchronise",
    "time": "api.launch",
    "tune": "api.tune",
    "Tuned": "api.tune",
}
"""Functions for tools and what they return, with the module of the package that has them."""

_PARTS = ("pypto", "testing", "torch")
"""Modules that ``import ptokit`` gives, too, once they are named."""

__version__ = "0.2.0"


def _print(module: Module, target: Target) -> str:
    from ptokit.asm.convert import kernel_text

    return kernel_text(module, target)


def _write(module: Module, target: Target) -> str:
    from ptokit.cpp.writing.file import cpp_text

    return cpp_text(module, target)


def _distribute(*args: Any, **options: Any) -> None:
    from ptokit.launches.launch import launch

    launch(*args, **options)


def _prove(module: Module, target: Target, **options: Any) -> Any:
    from ptokit.api.prove import prove_module

    return prove_module(module, target, **options)


def _tune(*args: Any, **options: Any) -> Any:
    from ptokit.api.tune import tune

    return tune(*args, **options)


def _synchronise(*given: Any, **options: Any) -> Any:
    from ptokit.api.synchronise import synchronise

    return synchronise(*given, **options)


@cache
def _front_end() -> ModuleType:
    """The Python front end, connected with what it does not know by itself: texts, other processes, proofs."""
    kernels: Any = import_module("ptokit.lang.kernels")
    kernels.printer, kernels.writer, kernels.distribute = _print, _write, _distribute
    kernels.prover, kernels.tuner, kernels.synchroniser = _prove, _tune, _synchronise
    return import_module("ptokit.lang")


class _Package(ModuleType):
    """This package. Some functions for tools are called like parts of it, and keep their names when those are
    imported: ``ptokit.run`` is the function, ``from ptokit.run import Program`` imports from the part.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _TOOLS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


@cache
def _modules() -> frozenset[str]:
    from pkgutil import iter_modules  # imports much, and this module is the first that a command imports

    return frozenset(module.name for module in iter_modules(__path__))


def __getattr__(name: str) -> Any:
    if name in _TOOLS:
        value = getattr(import_module(f"ptokit.{_TOOLS[name]}"), name)
        globals()[name] = value
        return value
    if name in _PARTS:
        return import_module(f"ptokit.{name}")
    if name in _modules() or (name.startswith("_") and name != "__all__"):  # other tools look for such names
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    front_end = _front_end()
    if name == "__all__":  # a star import must not hide Python's own range
        return [n for n in dir(front_end) if n != "range"]
    try:
        value = getattr(front_end, name)
    except AttributeError as error:
        error.__traceback__ = None  # a bare raise adds no frame of this function
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({"__version__", *_TOOLS, *dir(_front_end())})
