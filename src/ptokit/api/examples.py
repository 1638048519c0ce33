"""An example of every instruction, with concrete types: functions in the `.pto` texts of `ptokit/isa/examples`.

`tools/examples.py` finds them.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from pathlib import Path

from ptokit.isa import table
from ptokit.isa.table import TABLE, Instr
from ptokit.records import dataclass

FOLDER = Path(table.__file__).parent / "examples"
TARGETS = ("a5", "a2a3", "cpu")
"""Targets in the order in which they are preferred; each has a file."""


@dataclass(frozen=True)
class Example:
    """A function with one instruction. ``lines``: of the function; ``statement``: the instruction."""

    target: str
    lines: list[str]
    statement: str

    @property
    def text(self) -> str:
        """The function as it stands in the file."""
        return "\n".join(self.lines)


def symbol(instr: Instr) -> str:
    """The name of the function."""
    return instr.name.replace(".", "__")


@cache
def functions(target: str) -> dict[str, list[str]]:
    """The functions of a file by name, as lines."""
    file = FOLDER / f"{target}.pto"
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    starts = [i for i, line in enumerate(lines) if line.startswith("  func.func @")]
    return {lines[i].split("@")[1].split("(")[0]: lines[i : lines.index("  }", i) + 1] for i in starts}


@cache
def python_by_hand() -> dict[str, list[str]]:
    """Kernels in Python of instructions that have no function of their own name, by symbol, as lines."""
    text = (FOLDER / "kernels.txt").read_text(encoding="utf-8")
    parts = [part.rstrip().split("\n") for part in re.split(r"\n\n\n(?=@pto\.kernel)", text)[1:]]
    return {lines[1].removeprefix("def ").split("(")[0]: lines for lines in parts}


def examples() -> dict[str, Example]:
    """Those that there are, by the name of the instruction."""
    found = {instr.name: example_of(instr) for instr in TABLE.values()}
    return {name: example for name, example in found.items() if example is not None}


def example_of(instr: Instr) -> Example | None:
    """The example of an instruction: the function of that name, else one that uses it."""
    return _example_of(instr.name)


@cache
def _example_of(name: str) -> Example | None:
    instr = TABLE[name]
    own = ((target, functions(target).get(symbol(instr), [])) for target in TARGETS)
    others = ((target, lines) for target in TARGETS for lines in functions(target).values())
    for target, lines in chain(own, others):
        if statement := _statement(lines, instr):
            return Example(target, lines, statement)
    return None


def _statement(lines: list[str], instr: Instr) -> str:
    """The operation of the instruction, which stands in a line of its own; "" if it is not there."""
    spelled = {instr.text, instr.shown, instr.form.newest or instr.text}
    if not any(f"pto.{name}" in line for line in lines for name in spelled):
        return ""
    names = "|".join(map(re.escape, spelled))
    operation = re.compile(rf'(?:%[\w, %:]+ = )?"?pto\.(?:{names})(?![\w.])')
    return next((line.strip() for line in lines[1:-1] if operation.match(line.strip())), "")
