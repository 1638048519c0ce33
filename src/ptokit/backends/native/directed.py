"""Roundings of f32 and i32 that are not to nearest even, in integer arithmetic; conversions to integers that wrap.

A number loses its last bits after something has been added to them: half of what they count (ties away from zero), all
of it but one (away from zero), or nothing (towards zero). Which of these a mode is may depend on the sign.
"""

from __future__ import annotations

from ptokit.types.dtypes import DType
from ptokit.types.enums import RoundMode

from .code import double
from .elements import storage
from .primitives import Elements, Maker


class _Bits:
    """Arithmetic on 32 bits."""

    def __init__(self, m: Maker, rounding: RoundMode, negative: str) -> None:
        self.m, self.rounding, self.negative = m, rounding, negative
        self.type, self.truth = m.type("i32"), m.type("i1")

    def constant(self, value: int) -> str:
        return self.m.same("i32", value)

    def do(self, word: str, a: str, b: str | int) -> str:
        b = self.constant(b) if isinstance(b, int) else b
        return self.m.value(f"{word} {self.type} {a}, {b}")

    def compare(self, word: str, a: str, b: int) -> str:
        return self.m.value(f"icmp {word} {self.type} {a}, {self.constant(b)}")

    def select(self, condition: str, yes: str | int, no: str | int) -> str:
        a, b = (self.constant(x) if isinstance(x, int) else x for x in (yes, no))
        return self.m.value(f"select {self.truth} {condition}, {self.type} {a}, {self.type} {b}")

    def by_mode(self, half: str | int, away: str | int) -> str | int:
        """What the mode asks for: `half` of ties away from zero, `away` or 0 of the others."""
        match self.rounding:
            case RoundMode.ROUND:
                return half
            case RoundMode.FLOOR:
                return self.select(self.negative, away, 0)
            case RoundMode.CEIL:
                return self.select(self.negative, 0, away)
        return 0

    def dropped(self, x: str, count: int) -> str:
        """Without its last `count` bits, rounded."""
        return self.do("lshr", self.do("add", x, self.by_mode(1 << (count - 1), (1 << count) - 1)), count)

    def dropped_by(self, x: str, count: str) -> str:
        """The same for counts that differ."""
        whole = self.do("shl", self.constant(1), count)
        add = self.by_mode(self.do("lshr", whole, 1), self.do("sub", whole, 1))
        return self.do("lshr", self.do("add", x, add), count)


def narrowed(m: Maker, target: DType, rounding: RoundMode, x: str) -> str:
    """An f32 number that is no NaN as f16 or bf16."""
    bits = m.value(f"bitcast {m.type('float')} {x} to {m.type('i32')}")
    b = _Bits(m, rounding, m.value(f"icmp slt {m.type('i32')} {bits}, {m.same('i32', 0)}"))
    size = b.do("and", bits, 0x7FFFFFFF)
    if target.name == "bf16":
        found = b.dropped(size, 16)
    else:
        normal = b.dropped(b.do("sub", size, 112 << 23), 13)
        over = b.by_mode(0x7C00, 0x7C00)
        beyond = over if isinstance(over, str) else b.constant(over or 0x7BFF)
        if isinstance(over, str):
            beyond = b.select(b.compare("eq", over, 0), 0x7BFF, over)
        normal = b.select(b.compare("uge", normal, 0x7C00), beyond, normal)
        exponent, fraction = b.do("lshr", size, 23), b.do("and", size, 0x7FFFFF)
        digits = b.select(b.compare("eq", exponent, 0), fraction, b.do("or", fraction, 0x800000))
        count = b.do("sub", b.constant(126), exponent)
        count = b.select(b.compare("ugt", count, 25), 25, count)
        tiny = b.dropped_by(digits, count)
        found = b.select(b.compare("ult", size, 113 << 23), tiny, normal)
        found = b.select(b.compare("eq", size, 0x7F800000), 0x7C00, found)
    sign = b.do("and", b.do("lshr", bits, 16), 0x8000)
    return m.value(f"trunc {m.type('i32')} {b.do('or', found, sign)} to {m.type('i16')}")


def of_integer(m: Maker, rounding: RoundMode, x: str) -> str:
    """An i32 number as f32."""
    negative = m.value(f"icmp slt {m.type('i32')} {x}, {m.same('i32', 0)}")
    b = _Bits(m, rounding, negative)
    size = b.select(negative, b.do("sub", b.constant(0), x), x)
    name = f"v{m.n}i32" if m.n > 1 else "i32"
    zeros = m.value(f"call {b.type} @llvm.ctlz.{name}({b.type} {size}, i1 false)")
    count = b.do("sub", b.constant(8), zeros)
    count = b.select(b.compare("slt", count, 0), 0, count)
    whole = b.do("shl", b.dropped_by(size, count), count)
    f = m.type("float")
    found = m.value(f"uitofp {b.type} {whole} to {f}")
    return m.value(f"select {b.truth} {negative}, {f} {m.value(f'fneg {f} {found}')}, {f} {found}")


def wrapped(m: Maker, source: DType, target: DType, whole: str, x: str) -> Elements:
    """The low bits of a float rounded by `whole`; all ones of +inf, 0 of -inf and NaN."""
    f, c = m.type("float"), m.type("i1")
    lanes = f"v{m.n}" if m.n > 1 else ""
    rounded = m.value(f"call {f} @llvm.{whole}.{lanes}f32({f} {x})")
    wide = "i32" if source.name == "f16" else "i64"
    t, kind = m.type(wide), m.type(storage(target))
    found = m.value(f"call {t} @llvm.fptosi.sat.{lanes}{wide}.{lanes}f32({f} {rounded})")
    if wide != storage(target):
        found = m.value(f"trunc {t} {found} to {kind}")
    limit = m.same("float", double(2.0**63))
    size = m.value(f"call {f} @llvm.fabs.{lanes}f32({f} {rounded})")
    large = m.value(f"fcmp oge {f} {size}, {limit}")  # a multiple of what the low bits count
    zero, ones = m.same(storage(target), 0), m.same(storage(target), -1)
    found = m.value(f"select {c} {large}, {kind} {zero}, {kind} {found}")
    infinite = m.value(f"fcmp oeq {f} {x}, {m.same('float', double(float('inf')))}")
    return m.narrow(target, m.value(f"select {c} {infinite}, {kind} {ones}, {kind} {found}"))
