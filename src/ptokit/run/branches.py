"""Regions that run once: scf.execute_region, and scf.index_switch as ``if`` and ``elif`` (assembly 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.ir.core import Op

if TYPE_CHECKING:
    from .codegen import FunctionWriter


def execute_region(writer: FunctionWriter, op: Op) -> None:
    """A region in its place."""
    names = [writer.bind(r) for r in op.results]
    writer.line("if True:", op)
    writer.region(op.regions[0], names)


def index_switch(writer: FunctionWriter, op: Op) -> None:
    """One of several regions, by a number on which all blocks agree."""
    names = [writer.bind(r) for r in op.results]
    chosen = writer.fresh("c")
    writer.line(f"{chosen} = {writer.uniform(op['index'])}", op)
    for k, (case, region) in enumerate(zip(op.attrs["cases"], op.regions[1:])):
        writer.line(f"{'elif' if k else 'if'} {chosen} == {case}:")
        writer.region(region, names)
    writer.line("else:" if op.attrs["cases"] else "if True:")
    writer.region(op.regions[0], names)
