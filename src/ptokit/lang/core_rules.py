"""Rules of the eager session."""

from __future__ import annotations

from ptokit.diagnostics import Scope, define

CONTENTS = define(
    "LANG-CONTENTS",
    "What is put into a tile has the shape of its valid region, and numbers that its element type holds.",
    scope=Scope.RUN,
    why="Floats are rounded to the element type; an integer has no nearest value that would not surprise.",
    accepted="t.set(numpy.zeros((16, 64)))  # a 16x64 f16 tile",
    rejected="t.set([300])  # a u8 tile",
)
