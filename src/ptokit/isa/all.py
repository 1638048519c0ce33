"""The complete instruction table: importing this module registers every instruction of the package."""

from __future__ import annotations

import os
from importlib import import_module


def _modules(folder: str, package: str) -> list[str]:
    """Every module below a package, in order of name."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name, extension = os.path.splitext(entry.name)
            if extension == ".py" and name != "__init__":
                found.append(f"{package}.{name}")
            elif not extension and name != "__pycache__" and entry.is_dir():
                found += _modules(entry.path, f"{package}.{name}")
    return sorted(found)


for _module in _modules(os.path.dirname(__file__), __package__):
    if _module != __name__:
        import_module(_module)
