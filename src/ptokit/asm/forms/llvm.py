"""The few operations of the `llvm` dialect that texts of threads have: their names and attributes."""

from __future__ import annotations

ELEMENT = "element"
PLACES = "places"
PLAIN = ("llvm.load", "llvm.store", "llvm.bitcast", "llvm.inttoptr", "llvm.ptrtoint")
OPERATIONS = ("llvm.alloca", "llvm.getelementptr", "llvm.extractelement", *PLAIN)


def arrow(name: str) -> str:
    """What stands before the type of the result of one of `PLAIN`."""
    return "->" if name == "llvm.load" else "to"
