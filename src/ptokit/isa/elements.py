"""Single elements of tiles, and what a kernel says to its user (assembly 6.2, compute-layout-irregular 2.11)."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from .table import Attr, Instr, Operand, Role, index, inout, instruction, scalar, src

TSETVAL = instruction(
    Instr(
        "TSETVAL",
        "tsetval",
        "Set one element of a tile; the offset counts elements.",
        (inout(), index("offset"), scalar("value")),
        pipe=Pipe.S,
        implemented=False,
        source="assembly 6.2",
    )
)
TGETVAL = instruction(
    Instr(
        "TGETVAL",
        "tgetval",
        "Read one element of a tile; the offset counts elements.",
        (src(), index("offset")),
        pipe=Pipe.S,
        syntax="tgetval",
        results=1,
        implemented=False,
        source="assembly 6.2",
    )
)
TPRINT = instruction(
    Instr(
        "TPRINT",
        "tprint",
        "Print a tile or a view.",
        (Operand("src", Role.IN, or_view=True),),
        pipe=Pipe.S,
        implemented=False,
        source="compute-layout-irregular 2.11",
    )
)
PRINT = instruction(
    Instr(
        "PRINT",
        "print",
        "Print a number.",
        (scalar("value"),),
        (Attr("format", str, None, "format"),),
        pipe=Pipe.S,
        syntax="print",
        implemented=False,
        source="assembly 6.2",
    )
)
TRAP = instruction(
    Instr("TRAP", "trap", "Stop the kernel.", pipe=Pipe.S, syntax="trap", implemented=False, source="assembly 6.2")
)
