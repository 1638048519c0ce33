"""Rounding of f32 operands of the cube unit (compute-reduce-matrix 11)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.types.enums import Pipe

from ..checks.operands import Message
from ..meaning.contract import ROUNDING
from ..meaning.words import Keep
from ..site import Site
from ..table import CALLED, Attr, Instr, grammar, instruction

rule = family("compute-reduce-matrix 11")

_MODES = ("CAST_ROUND", "CAST_RINT")


@rule("MODE-01", "SETTF32MODE(mode='{CAST_RINT|CAST_FLOOR}')", evidence="static_assert")
def MODE_01(o: Site) -> Message:
    """Operands are rounded with ties away from zero (CAST_ROUND) or to even (CAST_RINT).

    Decision: Both names set the one state of the unit; the target says how many bits it keeps.
    """
    return f"the mode is {o.mode}; it is {' or '.join(_MODES)}" if o.mode not in _MODES else None


def _mode(name: str, summary: str) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (),
            (Attr("enable", bool, True, "enable"), Attr("mode", str, "CAST_ROUND", "mode")),
            pipe=Pipe.S,
            form=grammar(*CALLED),
            rules=(MODE_01,),
            meaning=lambda o: Keep(ROUNDING, o.mode if o.enable else None),
            source="compute-reduce-matrix 11",
        )
    )


SETHF32MODE = _mode("SETHF32MODE", "Round f32 operands of the cube unit to 11 bits of mantissa (A2/A3), or stop it.")
SETTF32MODE = _mode("SETTF32MODE", "Round f32 operands of the cube unit to 10 bits of mantissa (A5), or stop it.")
