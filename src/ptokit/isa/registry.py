"""Names of instructions, each imported when it is first asked for: a program needs few of some 700."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from ptokit.diagnostics.rules import FURTHER
from ptokit.records import OnDemand

MODULES = Path(__file__).with_name("modules.txt").read_text(encoding="utf-8").splitlines()
"""The modules that define instructions, in order, each with all names of these. Made by tools/modules.py.

A module also has the names of other instructions that mean one of its own in some texts.
"""
T = TypeVar("T")
_FULL = "pto."


@cache
def modules() -> dict[str, list[str]]:
    """By name of an instruction: the modules that define it and what is written in its place."""
    found: dict[str, list[str]] = {}
    for line in MODULES:
        module, *names = line.split()
        for name in names:
            found.setdefault(name, []).append(module)
    return found


@cache
def _places() -> dict[str, int]:
    return {name: at for at, name in enumerate(modules())}


def _in_folder(folder: str, package: str) -> list[str]:
    """Every module below a package, in order of name."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name, extension = os.path.splitext(entry.name)
            if extension == ".py" and name != "__init__":
                found.append(f"{package}.{name}")
            elif not extension and name != "__pycache__" and entry.is_dir():
                found += _in_folder(entry.path, f"{package}.{name}")
    return sorted(found)


@cache
def bring_all() -> None:
    """Import what defines any instruction: the table is complete."""
    for module in _in_folder(os.path.dirname(__file__), "ptokit.isa"):
        import_module(module)


FURTHER.append(bring_all)


class Registry(OnDemand[T]):
    """Instructions by name, in the order of the modules."""

    def bring(self, name: str) -> bool:
        wanted = modules().get(name.removeprefix(_FULL), ())
        for module in wanted:
            import_module(f".{module}", __package__)
        return bool(wanted)

    def bring_all(self) -> None:
        bring_all()

    def place(self, name: str) -> int:
        return _places().get(name.removeprefix(_FULL), len(_places()))
