"""Which contents to look at: ``acc``, ``acc@12``, ``@12``, ``acc@12:block=0,i=3``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from ptokit.ir.core import Module
from ptokit.machine.observer import Moment
from ptokit.records import dataclass

_FORM = re.compile(r"%?(?P<name>[\w.$-]*(?:\[\d+\])*)(?:@(?P<line>\d+))?(?::(?P<when>[^:]*))?")
_FIXED = re.compile(r"(?P<name>[\w.$-]+)\s*=\s*(?P<value>-?\d+)")


class SelectionError(ValueError):
    """A text that selects nothing, with what is wrong about it."""


@dataclass(frozen=True)
class Selection:
    """One choice: a tile, view or register by name, a line, or both; and when.

    Without a line: after every instruction that writes or returns the named one. Without a name: what the
    instructions in that line write and return. With both: what the named one holds after each instruction in that
    line, whoever has written it. ``when`` has the values that ``block`` and loop variables must have.
    """

    name: str
    line: int | None = None
    when: Mapping[str, int] = field(default_factory=dict)
    text: str = ""

    @staticmethod
    def of(text: str) -> Selection:
        """Read one. Raises `SelectionError`."""
        match = _FORM.fullmatch(text.strip())
        if match is None or not (match["name"] or match["line"]):
            raise SelectionError(f"{text!r} is not NAME, NAME@LINE or @LINE, perhaps with :block=0,i=3 behind it")
        when = {}
        for part in (match["when"] or "").split(",") if match["when"] is not None else ():
            fixed = _FIXED.fullmatch(part.strip())
            if fixed is None:
                raise SelectionError(f"{part!r} in {text!r} is not block=NUMBER or VARIABLE=NUMBER")
            when[fixed["name"]] = int(fixed["value"])
        return Selection(match["name"], int(match["line"]) if match["line"] else None, when, text.strip())

    def at(self, moment: Moment) -> bool:
        """True at a step that stands in the line, at a moment that fits."""
        if self.line is not None and moment.location.line != self.line:
            return False
        if not self.when:
            return True
        now = {**dict(moment.loops), "block": moment.block, "core": moment.core, "rank": moment.machine.rank}
        return all(now.get(name) == value for name, value in self.when.items())

    def missing(self, module: Module) -> str:
        """What the module lacks that the choice names; empty if it has all of it."""
        names, lines = set(), set()
        for function in module.functions:
            for op in function.body.walk() if function.body is not None else ():
                lines.add(op.location.line)
                names |= {value.name for value in (*op.values, *op.results)}
        if self.line is not None and self.line not in lines:
            after = min((line for line in lines if line > self.line), default=None)
            near = "" if after is None else f"; the next one is in line {after}"
            return f"there is no operation in line {self.line}{near}"
        if self.name and self.name not in names:
            return f"nothing is called {self.name!r}{_near(self.name, names)}"
        return ""


def _near(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [n for n in names if n and not n.isdigit()], 3)
    return f"; did you mean {', '.join(close)}?" if close else ""
