"""The complete instruction table: importing this module registers every instruction of the package."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import ptokit.isa

for _module in sorted(m.name for m in pkgutil.walk_packages(ptokit.isa.__path__, "ptokit.isa.")):
    if _module != __name__:
        import_module(_module)
