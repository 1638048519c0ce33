"""What a PTOAS checkout has and ptokit's instruction table lacks or spells differently.

    python tools/upstream.py CHECKOUT [--verdicts] [--all]

It reads the definitions in ``include/PTO/IR/*.td``: operations, how many operands they have and which attributes, and
the words of enumerations. Each difference is a line; ``--all`` lists them instead of counting. Names of operands are
not compared, since text does not have them. ``--verdicts`` adds the summary of ``tools/corpus.py``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import ptokit.types.enums as enums
from ptokit.asm.forms.attributes import WORDS
from ptokit.asm.reading.parser import READERS
from ptokit.isa.table import BY_TEXT, Instr, Operand

_BLOCK = re.compile(r"^(?=def\s|class\s|//===)", re.MULTILINE)
_HEAD = re.compile(r'def\s+\w+\s*:\s*(\w+)<\s*"([\w.]+)"')
_ARGUMENT = re.compile(r"([\w:<>,\s\"]+?):\$(\w+)")
_ENUMERATION = re.compile(r'def\s+PTO_(\w+?)(?:_?Enum)\s*:\s*\w+<\s*"(\w+)".*?\[(.*?)\]', re.DOTALL)
_CASE = re.compile(r'I32EnumAttrCase<\s*"(\w+)",\s*\d+(?:,\s*"([\w.]+)")?')
_CASE_OF = re.compile(r'def\s+(\w+)\s*:\s*I32EnumAttrCase<\s*"(\w+)",\s*\d+(?:,\s*"([\w.]+)")?')
_ATTRIBUTE = re.compile(r"Attr\b|Attr[<>,]|PTO_\w+Attr")


class Operation(NamedTuple):
    """One operation of the reference."""

    name: str
    operands: int
    attributes: list[str]
    known: bool  # its arguments are written in its own definition


def operations(text: str, prefix: str) -> Iterator[Operation]:
    """The operations that a definition file has."""
    for block in _BLOCK.split(text):
        head = _HEAD.match(block)
        if head is None:
            continue
        arguments = re.search(r"let\s+arguments\s*=\s*\(ins(.*?)\);", block, re.DOTALL)
        found = _ARGUMENT.findall(arguments[1]) if arguments is not None else []
        attributes = [name for type, name in found if _ATTRIBUTE.search(type)]
        yield Operation(prefix + head[2], len(found) - len(attributes), attributes, arguments is not None)


def enumerations(text: str) -> dict[str, list[str]]:
    """The words of each enumeration, by its name."""
    cases = {name: word or case for name, case, word in _CASE_OF.findall(text)}
    found = {}
    for _, name, body in _ENUMERATION.findall(text):
        words = [word or case for case, word in _CASE.findall(body)]
        words += [cases[name] for name in re.findall(r"\b\w+\b", body) if name in cases]
        found[name] = words
    return found


def _known_words() -> set[str]:
    words = {word for group in WORDS.values() for word in group}
    for kind in vars(enums).values():
        if isinstance(kind, type) and issubclass(kind, Enum):
            words |= {str(getattr(member, "text", member.name)) for member in kind} | {m.name for m in kind}
    for instr in BY_TEXT.values():
        words |= {word for attr in instr.attrs for word in attr.words}
    return words


def _operands(instr: Instr) -> int:
    """How many operands text can give an operation, in whichever of its forms."""
    same = [instr, *(other for other in BY_TEXT.values() if other.form.newest == instr.text)]
    return max(len(each.operands) + sum(isinstance(e, Operand) for e in each.form.trailing) for each in same)


def differences(root: Path) -> dict[str, list[str]]:
    """By kind of difference: what the reference has and the table lacks."""
    out: dict[str, list[str]] = defaultdict(list)
    folder = root / "include/PTO/IR"
    seen = 0
    for path in sorted(folder.glob("*Ops.td")):
        prefix = "vmi." if path.name.startswith("VMI") else ""
        for op in operations(path.read_text(encoding="utf-8"), prefix):
            seen += 1
            instr = BY_TEXT.get(op.name)
            if instr is None:
                if f"pto.{op.name}" not in READERS:
                    out["operations"].append(f"{op.name} ({path.name})")
                continue
            if not op.known:
                continue
            keys = {key for a in instr.text_attrs.values() for key in (a.key, a.older, a.name)}
            out["attributes"] += [f"{op.name}: {name}" for name in op.attributes if name not in keys]
            if not any(o.variadic for o in instr.operands) and op.operands > (have := _operands(instr)):
                out["operands"].append(f"{op.name}: {op.operands}, the table has {have}")
    known = _known_words()
    for name, words in enumerations((folder / "PTOAttrs.td").read_text(encoding="utf-8")).items():
        out["enumerators"] += [f"{name}: {word}" for word in words if word not in known]
    out["seen"] = [str(seen)]
    return out


def main(arguments: list[str]) -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--verdicts", action="store_true", help="the verdicts of tools/corpus.py as well")
    parser.add_argument("--all", action="store_true", help="every difference")
    given = parser.parse_args(arguments)
    found = differences(given.checkout)
    print(f"{found.pop('seen')[0]} operations in the definitions")
    for kind in ("operations", "operands", "attributes", "enumerators"):
        print(f"{len(found[kind]):4} {kind} that the table lacks or spells differently")
        for line in found[kind] if given.all else ():
            print(f"     {line}")
    if given.verdicts:
        import corpus

        return corpus.main([str(given.checkout), "--top", "0"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
