"""Unit flags of the accumulator: which an instruction uses, what it waits for in words, and flags that are left set."""

from __future__ import annotations

from functools import partial

from ptokit.types.enums import Pipe

from ..findings.folded import Draft, Findings
from ..memory.footprints import Touch
from ..memory.gm import Memory
from ..simulation.core import Core
from ..simulation.events import Work
from ..simulation.units import UNIT, Use, units_of

_ACCUMULATOR = "L0C"


def unit_flags(pipe: Pipe, flag: str, touches: list[Touch]) -> Use | None:
    """The unit flags that a product or a drain looks at and changes."""
    here = [t for t in touches if not isinstance(t.space, Memory) and t.space.name == _ACCUMULATOR]
    units = sorted({unit for touch in here for unit in units_of(touch.where)})
    return Use(tuple(units), until_set=pipe is Pipe.FIX, changes=flag != "check_only") if units else None


def unit_text(core: Core, work: Work) -> str:
    """What an instruction waits for."""
    unit = core.units.missing(work.use)[0]
    where = f"L0C bytes {unit * UNIT:#x}..{(unit + 1) * UNIT - 1:#x}"
    setter = core.units.setters.get(unit)
    if setter is None:
        return f"the unit flag of {where}, which no product before it has set"
    return f"the unit flag of {where}, set in line {setter.op.location.line}, to be cleared"


def unit_hint(core: Core, work: Work) -> str:
    """How to mend that."""
    if work.use.until_set:
        return "let the last product before it say unit_flag(check_and_set), or leave out its unit flag"
    return "let the last drain of what is there say unit_flag(check_and_clear)"


def left_set(core: Core, findings: Findings) -> None:
    """UNIT-FLAG-LEFT: flags that are set when a core has ended."""
    for work in dict.fromkeys(core.units.setters.values()):
        findings.add("UNIT-FLAG-LEFT", work.op, core, work, partial(_left, work))


def _left(work: Work) -> Draft:
    message = f"the unit flags that {work.name} sets are still set when the kernel ends"
    return Draft(message, work.op.location, "let the last drain say unit_flag(check_and_clear)")
