"""What LLVM calls by itself: the least and the greatest, absolute values, rotations, counted bits, copies."""

from __future__ import annotations

import re
from collections.abc import Callable

from ptokit.ir import Value
from ptokit.types.values import Scalar as ScalarType

from ..llvm import Instruction
from ..rules import CALL, Unliftable
from .memory import Memory
from .numbers import Numbers

_IGNORED = re.compile(
    r"@(llvm\.(lifetime|dbg|assume|experimental\.noalias|donothing|prefetch|sideeffect)\b.*|__cxa_.*)"
)
_EXTREMES = {
    "smax": "maxsi",
    "smin": "minsi",
    "umax": "maxui",
    "umin": "minui",
    "maxnum": "maxnumf",
    "minnum": "minnumf",
    "maximum": "maximumf",
    "minimum": "minimumf",
}


def call(i: Instruction, numbers: Numbers, memory: Memory) -> None:
    """Lift a call of a function that is none of ptokit's headers."""
    if _IGNORED.fullmatch(i.word):
        return
    kind = i.word.split(".")[1] if i.word.startswith("@llvm.") else ""
    if kind in ("memcpy", "memmove", "memset"):
        _moved(kind, i, numbers, memory)
        return
    if kind in _EXTREMES:
        a, b = (numbers.value(operand) for operand in i.operands[:2])
        numbers.values[i.result] = numbers.binary(_EXTREMES[kind], a, b)
        return
    made = _MADE.get(kind)
    if made is None:
        raise _unknown(i)
    numbers.values[i.result] = made(i, numbers)


def _unknown(i: Instruction) -> Unliftable:
    name = i.word[1:]
    if i.word.startswith("%"):
        return Unliftable(CALL, "a function is called through a pointer", "call it by its name, or as a template")
    if name.startswith("llvm."):
        return Unliftable(CALL, f"the compiler made this a call of {name}, which has no counterpart")
    readable = demangled(name)
    return Unliftable(
        CALL,
        f"{readable} is called, and its body is not part of the kernel: it is only declared, or calls itself",
        "define it in the file, and write recursion as a loop",
    )


def demangled(name: str) -> str:
    """The last name in a mangled one: ``helper`` of ``_ZL6helperi``."""
    found = re.match(r"_ZN?L?(?:St)?((?:\d+\w+)+)", name)
    if found is None:
        return name
    rest, parts = found[1], []
    while digits := re.match(r"\d+", rest):
        size = int(digits[0])
        parts.append(rest[digits.end() : digits.end() + size])
        rest = rest[digits.end() + size :]
    return "::".join(parts)


def _moved(kind: str, i: Instruction, numbers: Numbers, memory: Memory) -> None:
    count = numbers.number(i.operands[2])
    if count is None:
        raise Unliftable(CALL, "how much is copied only the run knows", "write it as a loop over numbers")
    to = memory.pointer(i.operands[0].text)
    if kind == "memset":
        if numbers.number(i.operands[1]) != 0:
            raise Unliftable(CALL, "memory is set to bytes other than zero", "write it as a loop over numbers")
        memory.fill(to, count)
    else:
        memory.copy(to, memory.pointer(i.operands[1].text), count)


def _typed(value: Value) -> tuple[ScalarType, int]:
    assert isinstance(value.type, ScalarType)
    return value.type, int(value.type.name[1:])


def _absolute(i: Instruction, n: Numbers) -> Value:
    x = n.value(i.operands[0])
    return n.binary("maxsi", x, n.binary("subi", n.constant(0, _typed(x)[0]), x))


def _masked(n: Numbers, x: Value, sign: bool) -> Value:
    """The sign of a float, or all else of it, as an integer of its size."""
    assert isinstance(x.type, ScalarType)
    bits = int(x.type.name.lstrip("bf"))
    whole = ScalarType(f"i{bits}")
    mask = 1 << (bits - 1) if sign else (1 << (bits - 1)) - 1
    return n.binary("andi", n.same_bits(x, whole), n.constant(mask, whole))


def _absolute_float(i: Instruction, n: Numbers) -> Value:
    x = n.value(i.operands[0])
    assert isinstance(x.type, ScalarType)
    return n.same_bits(_masked(n, x, sign=False), x.type)


def _with_sign(i: Instruction, n: Numbers) -> Value:
    x, y = (n.value(operand) for operand in i.operands)
    assert isinstance(x.type, ScalarType)
    return n.same_bits(n.binary("ori", _masked(n, x, sign=False), _masked(n, y, sign=True)), x.type)


def _funnel(i: Instruction, n: Numbers) -> Value:
    """The upper bits of two numbers together, shifted to the left; or the lower ones, to the right."""
    a, b = (n.value(operand) for operand in i.operands[:2])
    type, bits = _typed(a)
    amount = n.number(i.operands[2])
    if amount is None:
        raise _unknown(i)
    left = amount % bits if ".fshl." in i.word else bits - amount % bits
    if left in (0, bits):
        return b if left else a
    high = n.binary("shli", a, n.constant(left, type))
    return n.binary("ori", high, n.binary("shrui", b, n.constant(bits - left, type)))


def _ones(n: Numbers, x: Value) -> Value:
    """How many bits are set: added up in pairs, in groups of four, in bytes."""
    type, bits = _typed(x)
    if bits not in (8, 16, 32, 64):
        raise Unliftable(CALL, f"bits of a number of {bits} bits are counted")

    def every(pattern: int, width: int) -> Value:
        return n.constant(sum(pattern << k for k in range(0, bits, width)), type)

    def right(value: Value, amount: int) -> Value:
        return n.binary("shrui", value, n.constant(amount, type))

    x = n.binary("subi", x, n.binary("andi", right(x, 1), every(1, 2)))
    x = n.binary("addi", n.binary("andi", x, every(3, 4)), n.binary("andi", right(x, 2), every(3, 4)))
    x = n.binary("andi", n.binary("addi", x, right(x, 4)), every(15, 8))
    return right(n.binary("muli", x, every(1, 8)), bits - 8) if bits > 8 else x


def _counted(i: Instruction, n: Numbers) -> Value:
    return _ones(n, n.value(i.operands[0]))


def _trailing(i: Instruction, n: Numbers) -> Value:
    """Zeros below the lowest bit that is set: the ones in that bit less one."""
    x = n.value(i.operands[0])
    type, _ = _typed(x)
    lowest = n.binary("andi", x, n.binary("subi", n.constant(0, type), x))
    return _ones(n, n.binary("subi", lowest, n.constant(1, type)))


def _leading(i: Instruction, n: Numbers) -> Value:
    """Zeros above the highest bit that is set: those that are left when all below it are set."""
    x = n.value(i.operands[0])
    type, bits = _typed(x)
    step = 1
    while step < bits:
        x = n.binary("ori", x, n.binary("shrui", x, n.constant(step, type)))
        step *= 2
    return n.binary("subi", n.constant(bits, type), _ones(n, x))


def _difference(i: Instruction, n: Numbers) -> Value:
    a, b = (n.value(operand) for operand in i.operands)
    return n.binary("subi", n.binary("maxui", a, b), b)


def _sum(i: Instruction, n: Numbers) -> Value:
    a, b = (n.value(operand) for operand in i.operands)
    room = n.binary("xori", b, n.constant(-1, _typed(b)[0]))
    return n.binary("addi", n.binary("minui", a, room), b)


_MADE: dict[str, Callable[[Instruction, Numbers], Value]] = {
    "abs": _absolute,
    "fabs": _absolute_float,
    "copysign": _with_sign,
    "fshl": _funnel,
    "fshr": _funnel,
    "ctpop": _counted,
    "cttz": _trailing,
    "ctlz": _leading,
    "usub": _difference,  # .sat
    "uadd": _sum,  # .sat
}
