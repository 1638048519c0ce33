"""What the pointers of a function may point into, before it is lifted, and how its blocks follow each other."""

from __future__ import annotations

import re
from typing import NamedTuple

from ptokit.ir import Value

from .. import llvm
from ..llvm import Instruction, Module
from ..rules import POINTER, Unliftable

CHOSEN = "write the instruction once for each, in the branches of an if, or pass one array with an offset"
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class Root(NamedTuple):
    """What a pointer points into: an ``argument``, a ``local`` or ``global`` variable, a ``tile``'s memory, nothing.

    Of an ``address`` only the run knows into which argument it points.
    """

    kind: str
    name: str = ""
    position: int = -1


class Pointer(NamedTuple):
    """A place in memory: bytes from the beginning of its root, as a number and values times numbers."""

    root: Root
    bytes: int = 0
    terms: tuple[tuple[Value, int], ...] = ()

    def plus(self, bytes: int, terms: tuple[tuple[Value, int], ...] = ()) -> Pointer:
        """The place so many bytes further on."""
        return Pointer(self.root, self.bytes + bytes, self.terms + terms)


NULL, ADDRESS = Root("nothing"), Root("address")
IN_GM = ("argument", "address")


def one_of(roots: set[Root]) -> Root:
    """What a pointer points into that may point into several things, which are all global memory, or one."""
    others = roots - {NULL}
    if others != roots:  # address 0
        roots = others if any(root.kind in ("local", "global") for root in others) else {*others, Root("tile")}
    if len(roots) == 1:
        return next(iter(roots))
    if roots and all(root.kind in (*IN_GM, "tile") for root in roots):
        return ADDRESS
    raise Unliftable(POINTER, "a pointer points into one of several variables, and which only the run knows", CHOSEN)


def accessed(instruction: Instruction) -> list[tuple[str, str, bool]]:
    """The memory that an instruction accesses: the pointer, with which type, and whether it is written.

    A pointer in memory is its address.
    """
    type = "i64" if instruction.type == "ptr" else instruction.type
    if instruction.op == "load":
        return [(instruction.operands[0].text, type, False)]
    if instruction.op == "store":
        return [(instruction.operands[1].text, type, True)]
    if instruction.op == "call" and instruction.word.startswith(("@llvm.memcpy", "@llvm.memmove")):
        return [(instruction.operands[0].text, "", True), (instruction.operands[1].text, "", False)]
    if instruction.op == "call" and instruction.word.startswith("@llvm.memset"):
        return [(instruction.operands[0].text, "", True)]
    return []


class Roots:
    """What the pointers of a function may point into, and how its blocks follow each other."""

    def __init__(self, function: llvm.Function, order: list[str]) -> None:
        self.function, self.order = function, order
        self.after = {label: list(dict.fromkeys(function.blocks[label][-1].labels)) for label in order}
        self.before: dict[str, list[str]] = {label: [] for label in order}
        for label in order:
            for to in self.after[label]:
                self.before[to].append(label)
        names = [text[1:].strip('"') for _, text in function.params]
        named = [name if IDENTIFIER.fullmatch(name) else f"arg{k}" for k, name in enumerate(names)]
        self._of: dict[str, set[Root]] = {
            text: {Root("argument", name, k)}
            for k, ((type, text), name) in enumerate(zip(function.params, named))
            if type == "ptr"
        }
        changed = True
        while changed:
            changed = sum(self._learn(i) for label in order for i in function.blocks[label]) > 0

    def _learn(self, i: Instruction) -> bool:
        sources: list[str] = []
        if i.op == "alloca":
            found = {Root("local", i.result)}
        elif i.op == "inttoptr":
            found = {Root("tile")}
        elif i.op == "load" and i.type == "ptr":
            found = {ADDRESS}
        elif i.op == "getelementptr":
            found, sources = set(), [i.operands[0].text]
        elif i.op in ("phi", "freeze") and i.type == "ptr":
            found, sources = set(), [operand.text for operand in i.operands]
        elif i.op == "select" and i.type == "ptr":
            found, sources = set(), [operand.text for operand in i.operands[1:]]
        else:
            return False
        for text in sources:
            found |= self.of(text)
        old = self._of.get(i.result, set())
        self._of[i.result] = old | found
        return len(self._of[i.result]) != len(old)

    def of(self, text: str) -> set[Root]:
        """What an operand may point into."""
        if text in self._of:
            return self._of[text]
        if text == "null":
            return {NULL}
        named = re.match(r'[^@]*@("[^"]*"|[-\w$.]+)', text) if "@" in text else None
        if named is not None:
            return {Root("global", named[1].strip('"'))}
        return {Root("tile")} if text.startswith("inttoptr") else set()

    def direct(self, module: Module, written: object) -> dict[Root, tuple[set[str], set[int]]]:
        """The global variables that are met by loads and stores only, at places that are known: types and offsets."""
        found: dict[Root, tuple[set[str], set[int]]] = {}
        escaped: set[str] = set()
        for label in self.order:
            for i in self.function.blocks[label]:
                pointed = [text for text, type, _ in accessed(i) if type]
                for operand in i.operands:
                    if "@" not in operand.text:
                        continue
                    root = next(iter(self.of(operand.text)))
                    offset = _constant_offset(operand.text)
                    if operand.text in pointed and operand.type == "ptr" and offset is not None:
                        types, offsets = found.setdefault(root, (set(), set()))
                        types.add(i.type)
                        offsets.add(offset)
                    else:
                        escaped.add(root.name)
        return {
            root: uses
            for root, uses in found.items()
            if root.name not in escaped and root in written and "ptr" not in uses[0]  # type: ignore[operator]
        }

    def copied(self) -> set[Root]:
        """What is copied as a whole, or to."""
        calls = (i for label in self.order for i in self.function.blocks[label] if i.op == "call")
        copies = (i for i in calls if i.word.startswith(("@llvm.memcpy", "@llvm.memmove")))
        return {root for i in copies for operand in i.operands[:2] for root in self.of(operand.text)}

    def leading_to(self, labels: set[str]) -> set[str]:
        """These blocks, and all from which they can be reached."""
        found, pending = set(labels), list(labels)
        while pending:
            new = set(self.before[pending.pop()]) - found
            found |= new
            pending += new
        return found

    def between(self, head: str, latch: str) -> set[str]:
        """The blocks of a loop, from its head to a block that leads back to it."""
        inside, pending = {head, latch}, [latch] if latch != head else []
        while pending:
            for each in self.before[pending.pop()]:
                if each not in inside:
                    inside.add(each)
                    pending.append(each)
        return inside


def _constant_offset(text: str) -> int | None:
    """How many bytes an operand is after a global: nothing, or as ``getelementptr`` of bytes counts."""
    if text.startswith("@"):
        return 0
    counted = re.fullmatch(r"getelementptr (?:(?:inbounds|nuw|nusw) )*\(i8, ptr @[^,]*, i64 (\d+)\)", text)
    return int(counted[1]) if counted else None
