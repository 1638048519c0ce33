"""Writes down which module of `ptokit.isa` defines which instruction, so that a program imports those it names.

python tools/modules.py            writes src/ptokit/isa/modules.txt
python tools/modules.py --check    says whether it is up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from ptokit.isa import table
from ptokit.isa.table import Instr, bring_all

FILE = Path(__file__).parents[1] / "src" / "ptokit" / "isa" / "modules.txt"


def defined() -> list[tuple[str, Instr]]:
    """All instructions with the modules that define them, in order. The table must still be empty."""
    found: list[tuple[str, Instr]] = []
    register = table.instruction

    def noted(instr: Instr, *more: object) -> Instr:
        frame = sys._getframe(1)
        while frame.f_code.co_name != "<module>":
            assert frame.f_back is not None
            frame = frame.f_back
        made = register(instr, *more)  # type: ignore[arg-type]
        found.append((frame.f_globals["__name__"].removeprefix("ptokit.isa."), made))
        return made

    table.instruction = noted
    bring_all()
    return found


def text() -> str:
    """The whole file."""
    names: dict[str, dict[str, None]] = {}
    for module, instr in defined():
        others = (instr.form.newest,)
        for name in (instr.name, instr.text, *instr.form.spellings, *filter(None, others)):
            names.setdefault(module, {})[name] = None
    return "".join(" ".join((module, *of)) + "\n" for module, of in names.items())


def main() -> None:
    made = text()
    if sys.argv[1:] == ["--check"]:
        if made != FILE.read_text(encoding="utf-8"):
            sys.exit(f"{FILE.name} is not as the table: run python tools/modules.py")
    else:
        FILE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
