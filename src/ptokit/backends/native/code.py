"""LLVM code as text: one function under construction.

Integers are ``int`` where they are known and a register name where they are not, so that sizes, strides and addresses
that are constants stay constants in the code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

Num = int | str
"""A 64-bit integer: known now, or the name of what holds it."""


def double(x: float) -> str:
    """A float constant, exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def float_of(bits: int) -> str:
    """The f32 constant with these bits."""
    value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return double(value)


def unsigned64(x: int) -> int:
    """The same 64 bits as a number from -2**63 on, as LLVM text writes it."""
    return (x + (1 << 63)) % (1 << 64) - (1 << 63)


class Code:
    """The body of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.slots: list[str] = []
        self._scratch: dict[str, list[str]] = {}  # slots by type that operations use one after the other
        self._taken: dict[str, int] = {}  # how many of them the operation has that is being written
        self._names = 0
        self.open = True  # the block that is being written has no end yet

    # --- lines ---------------------------------------------------------------------------------------------------

    def fresh(self, prefix: str = "t") -> str:
        self._names += 1
        return f"%{prefix}{self._names}"

    def value(self, text: str) -> str:
        """A new register that holds the result of an instruction."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, prefix: str) -> str:
        """A name for a block that is still to be written."""
        return self.fresh(prefix)

    def place(self, label: str) -> None:
        """Here begins a block."""
        if self.open:
            self.jump(label)
        self.lines.append(f"{label[1:]}:")
        self.open = True

    def jump(self, label: str) -> None:
        self.do(f"br label {label}")
        self.open = False

    def branch(self, condition: str, yes: str, no: str, *, rare: bool = False) -> None:
        """``rare``: the second way is hardly ever taken."""
        self.do(f"br i1 {condition}, label {yes}, label {no}{', !prof !0' if rare else ''}")
        self.open = False

    def leave(self, text: str) -> None:
        """The end of a block: ``ret …`` or the like."""
        self.do(text)
        self.open = False

    # --- memory --------------------------------------------------------------------------------------------------

    def slot(self, type: str, align: int = 8) -> str:
        """Memory on the stack of the function."""
        name = self.fresh("s")
        self.slots.append(f"  {name} = alloca {type}, align {align}")
        return name

    def scratch(self, type: str) -> str:
        """Memory on the stack that other operations use, too: see `begin_operation`."""
        found, taken = self._scratch.setdefault(type, []), self._taken.get(type, 0)
        if taken == len(found):
            found.append(self.slot(type, 64))
        self._taken[type] = taken + 1
        return found[taken]

    def begin_operation(self) -> None:
        """What `scratch` has given so far may be used again."""
        self._taken.clear()

    def load(self, type: str, pointer: str, align: int | None = None) -> str:
        return self.value(f"load {type}, ptr {pointer}" + (f", align {align}" if align else ""))

    def store(self, type: str, value: object, pointer: str, align: int | None = None) -> None:
        self.do(f"store {type} {value}, ptr {pointer}" + (f", align {align}" if align else ""))

    def at(self, pointer: str, offset: Num) -> str:
        """The address `offset` bytes further on."""
        if offset == 0:
            return pointer
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    # --- 64-bit integers -----------------------------------------------------------------------------------------

    def add(self, a: Num, b: Num) -> Num:
        if isinstance(a, int) and isinstance(b, int):
            return unsigned64(a + b)
        if a == 0:
            return b
        return a if b == 0 else self.value(f"add i64 {a}, {b}")

    def sub(self, a: Num, b: Num) -> Num:
        if isinstance(a, int) and isinstance(b, int):
            return unsigned64(a - b)
        return a if b == 0 else self.value(f"sub i64 {a}, {b}")

    def mul(self, a: Num, b: Num) -> Num:
        if isinstance(a, int) and isinstance(b, int):
            return unsigned64(a * b)
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        return a if b == 1 else self.value(f"mul i64 {a}, {b}")

    def compare(self, predicate: str, a: Num, b: Num) -> str:
        """An i1; ``predicate`` is one of icmp's."""
        if isinstance(a, int) and isinstance(b, int):
            return str(_KNOWN[predicate](a, b)).lower()
        return self.value(f"icmp {predicate} i64 {a}, {b}")

    def both(self, *conditions: str) -> str:
        """The conjunction of conditions."""
        left = [c for c in conditions if c != "true"]
        if "false" in left:
            return "false"
        if not left:
            return "true"
        out = left[0]
        for c in left[1:]:
            out = self.value(f"and i1 {out}, {c}")
        return out

    # --- loops ---------------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, count: Num, step: int = 1, start: Num = 0, name: str = "i") -> Iterator[Num]:
        """Code for start, start + step .. below `count`; without a loop where that is once."""
        if isinstance(count, int) and isinstance(start, int) and start < count <= start + step:
            yield start
            return
        head, body, done = self.label("head"), self.label("body"), self.label("done")
        slot = self.slot("i64")
        self.store("i64", start, slot)
        self.place(head)
        now = self.load("i64", slot)
        self.branch(self.value(f"icmp slt i64 {now}, {count}"), body, done)
        self.place(body)
        yield now
        after = self.value(f"add nsw i64 {now}, {step}")
        self.store("i64", after, slot)
        self.jump(head)
        self.place(done)

    def text(self, head: str) -> str:
        """The function, whose first line is ``define … {``."""
        return "\n".join([head, "entry:", *self.slots, *self.lines, "}"])


_KNOWN = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}
