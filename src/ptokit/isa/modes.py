"""Rounding of f32 operands of the cube unit (compute-reduce-matrix 11)."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from .table import Attr, Instr, instruction


def _mode(name: str, summary: str) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (),
            (Attr("enable", bool, True, "enable"), Attr("mode", str, "CAST_ROUND", "mode")),
            pipe=Pipe.S,
            syntax="mode",
            implemented=False,
            source="compute-reduce-matrix 11",
        )
    )


SETHF32MODE = _mode("SETHF32MODE", "Round f32 operands of the cube unit to 11 bits of mantissa (A2/A3), or stop it.")
SETTF32MODE = _mode("SETTF32MODE", "Round f32 operands of the cube unit to 10 bits of mantissa (A5), or stop it.")
