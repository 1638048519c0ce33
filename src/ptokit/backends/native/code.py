"""LLVM code as text: one function under construction, elements of memory as numbers and back.

Integers are ``int`` where they are known and a register name where they are not, so that sizes, strides and addresses
that are constants stay constants in the code.

f16 and bf16 are computed in f32. Conversions are exact integer arithmetic, which does not depend on the run-time
library of the compiler; NaN becomes quiet. Processors that convert f16 themselves give the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from ptokit.types.dtypes import DType

# LLVM code as text: one function under construction.


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


# Elements of memory as numbers and back, one or several at a time, as LLVM code.


F16C = False
"""Set by the compiler: the processor converts f16."""


def many(n: int, type: str) -> str:
    """The type of `n` values together."""
    return type if n == 1 else f"<{n} x {type}>"


def same(n: int, type: str, value: object) -> str:
    """A constant `n` times."""
    return str(value) if n == 1 else f"splat ({type} {value})"


def spread(code: Code, n: int, kind: str, x: str) -> str:
    """One value `n` times."""
    if n == 1:
        return x
    first = code.value(f"insertelement <{n} x {kind}> poison, {kind} {x}, i64 0")
    return code.value(f"shufflevector <{n} x {kind}> {first}, <{n} x {kind}> poison, <{n} x i32> zeroinitializer")


def storage(dtype: DType) -> str:
    """LLVM's type of an element as it lies in memory."""
    return "float" if dtype.name == "f32" else f"i{8 * dtype.size}"


def computed(dtype: DType) -> str:
    """LLVM's type of an element while it is computed with."""
    return _COMPUTED.get(dtype.name) or f"i{8 * dtype.size}"


_COMPUTED = {"f16": "float", "bf16": "float", "f32": "float", "f64": "double"}


def widened(code: Code, n: int, dtype: DType, x: str) -> str:
    """Elements of memory in the type that they are computed in."""
    if dtype.name == "bf16":
        wide = code.value(f"zext {many(n, 'i16')} {x} to {many(n, 'i32')}")
        bits = code.value(f"shl {many(n, 'i32')} {wide}, {same(n, 'i32', 16)}")
        return code.value(f"bitcast {many(n, 'i32')} {bits} to {many(n, 'float')}")
    if dtype.name == "f64":
        return code.value(f"bitcast {many(n, 'i64')} {x} to {many(n, 'double')}")
    if dtype.name != "f16":
        return x
    i, f = many(n, "i32"), many(n, "float")
    if F16C:
        half = code.value(f"bitcast {many(n, 'i16')} {x} to {many(n, 'half')}")
        return code.value(f"fpext {many(n, 'half')} {half} to {f}")

    def k(value: int) -> str:
        return same(n, "i32", value)

    wide = code.value(f"zext {many(n, 'i16')} {x} to {i}")
    size = code.value(f"shl {i} {code.value(f'and {i} {wide}, {k(0x7FFF)}')}, {k(13)}")
    scaled = code.value(
        f"fmul {f} {code.value(f'bitcast {i} {size} to {f}')}, {same(n, 'float', float_of(0x77800000))}"
    )
    bits = code.value(f"bitcast {f} {scaled} to {i}")
    special = code.value(f"icmp uge {i} {size}, {k(0x0F800000)}")
    nan = code.value(f"icmp ugt {i} {size}, {k(0x0F800000)}")
    top = code.value(f"select {many(n, 'i1')} {nan}, {i} {k(0x7FC00000)}, {i} {k(0x7F800000)}")
    finite = code.value(f"select {many(n, 'i1')} {special}, {i} {code.value(f'or {i} {size}, {top}')}, {i} {bits}")
    sign = code.value(f"shl {i} {code.value(f'and {i} {wide}, {k(0x8000)}')}, {k(16)}")
    return code.value(f"bitcast {i} {code.value(f'or {i} {finite}, {sign}')} to {f}")


def narrowed(code: Code, n: int, dtype: DType, x: str) -> str:
    """Elements as they lie in memory, of what was computed: rounded to nearest, ties to even."""
    if dtype.name == "f64":
        return code.value(f"bitcast {many(n, 'double')} {x} to {many(n, 'i64')}")
    if dtype.name not in ("f16", "bf16"):
        return x
    i, f, b = many(n, "i32"), many(n, "float"), many(n, "i1")

    def k(value: int) -> str:
        return same(n, "i32", value)

    def op(word: str, a: str, c: str) -> str:
        return code.value(f"{word} {i} {a}, {c}")

    bits = code.value(f"bitcast {f} {x} to {i}")
    if dtype.name == "bf16":
        odd = op("and", op("lshr", bits, k(16)), k(1))
        near = op("lshr", op("add", bits, op("add", odd, k(0x7FFF))), k(16))
        nan = code.value(f"fcmp uno {f} {x}, {x}")
        quiet = op("or", op("and", op("lshr", bits, k(16)), k(0x8000)), k(0x7FC0))
        chosen = code.value(f"select {b} {nan}, {i} {quiet}, {i} {near}")
        return code.value(f"trunc {i} {chosen} to {many(n, 'i16')}")
    if F16C:
        half = code.value(f"fptrunc {f} {x} to {many(n, 'half')}")
        return code.value(f"bitcast {many(n, 'half')} {half} to {many(n, 'i16')}")
    size = op("and", bits, k(0x7FFFFFFF))
    odd = op("and", op("lshr", size, k(13)), k(1))
    normal = op("lshr", op("add", op("add", size, k(0xC8000FFF - (1 << 32))), odd), k(13))
    magic = 126 << 23
    shifted = code.value(f"fadd {f} {code.value(f'bitcast {i} {size} to {f}')}, {same(n, 'float', float_of(magic))}")
    tiny = op("sub", code.value(f"bitcast {f} {shifted} to {i}"), k(magic))
    small = code.value(f"icmp ult {i} {size}, {k(113 << 23)}")
    finite = code.value(f"select {b} {small}, {i} {tiny}, {i} {normal}")
    large = code.value(f"icmp uge {i} {size}, {k(143 << 23)}")
    nan = code.value(f"icmp ugt {i} {size}, {k(0x7F800000)}")
    payload = op("or", op("and", op("lshr", size, k(13)), k(0x3FF)), k(0x7E00))
    special = code.value(f"select {b} {nan}, {i} {payload}, {i} {k(0x7C00)}")
    chosen = code.value(f"select {b} {large}, {i} {special}, {i} {finite}")
    sign = op("and", op("lshr", bits, k(16)), k(0x8000))
    return code.value(f"trunc {i} {op('or', chosen, sign)} to {many(n, 'i16')}")


# Products and sums in binary64 that a later rounding turns into the correctly rounded result, as LLVM code.


def fused(code: Code, n: int, a: str, b: str, c: str) -> str:
    """``a * b + c`` of floats that hold f32, f16 or bf16, as doubles.

    An inexact sum is made odd (see `ptokit.isa.numerics.arith`): rounding it again gives what rounding the exact
    value would.
    """
    f, d, i, t = many(n, "float"), many(n, "double"), many(n, "i64"), many(n, "i1")
    suffix = "f64" if n == 1 else f"v{n}f64"
    zero, inf = same(n, "double", double(0.0)), same(n, "double", double(float("inf")))
    one, none = same(n, "i64", 1), same(n, "i64", 0)

    def op(word: str, p: str, q: str) -> str:
        return code.value(f"{word} {d} {p}, {q}")

    def int_(word: str, p: str, q: str) -> str:
        return code.value(f"{word} {i} {p}, {q}")

    x, y, z = (code.value(f"fpext {f} {e} to {d}") for e in (a, b, c))
    product = op("fmul", x, y)
    total = op("fadd", product, z)
    rest = op("fsub", total, product)
    error = op("fadd", op("fsub", product, op("fsub", total, rest)), op("fsub", z, rest))
    size = code.value(f"call {d} @llvm.fabs.{suffix}({d} {total})")
    finite = code.value(f"fcmp olt {d} {size}, {inf}")
    some = code.value(f"fcmp one {d} {error}, {zero}")
    inexact = code.value(f"and {t} {finite}, {some}")
    bits = code.value(f"bitcast {d} {total} to {i}")
    even = int_("xor", int_("and", bits, one), one)
    below = [code.value(f"fcmp olt {d} {value}, {zero}") for value in (error, total)]
    toward = code.value(f"xor {t} {below[0]}, {below[1]}")
    step = code.value(f"select {t} {toward}, {i} {int_('sub', none, even)}, {i} {even}")
    odd = int_("add", bits, code.value(f"select {t} {inexact}, {i} {step}, {i} {none}"))
    return code.value(f"bitcast {i} {odd} to {d}")
