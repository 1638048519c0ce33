"""Operations of `arith` as LLVM code, with the results of `ptokit.run.machine.scalars`.

Integers are registers of their width, ``index`` is i64. A float is the integer of its bits, so that moving it changes
none; arithmetic is carried out in binary64 and rounded once to the type. A NaN that it makes is the positive quiet one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.plan.steps import Operand, Step, without_form
from ptokit.types.integers import width
from ptokit.types.values import Scalar

from .maths import from_double, to_double
from .values import NotNativeError

if TYPE_CHECKING:
    from .function import Writer

_PLAIN = {"addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor"}
_EXTREMES = {"maxsi": "smax", "minsi": "smin", "maxui": "umax", "minui": "umin"}
_SHIFTS = {"shli": "shl", "shrsi": "ashr", "shrui": "lshr"}
_FLOATS = {"addf": "fadd", "subf": "fsub", "mulf": "fmul", "divf": "fdiv"}
FLOATS = {"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64"}
_CHANGES_SIGN = {"i16": -0x8000, "i32": -0x80000000, "i64": -(1 << 63)}


def llvm_type(name: str) -> str:
    """LLVM's type of a scalar."""
    return FLOATS.get(name) or f"i{width(name)}"


def type_of(operand: Operand) -> str:
    """LLVM's type of an operand that is a scalar."""
    return llvm_type(_name_of(operand))


def _name_of(operand: Operand) -> str:
    type = without_form(operand).type
    if not isinstance(type, Scalar):
        raise NotNativeError(str(type), "arithmetic on what is no number")
    return type.name


def write(w: Writer, step: Step) -> None:
    """Arithmetic on numbers."""
    name, kind, result = step.name, _name_of(step.operands[0]), _name_of(step.results[0])
    args = [w.text(operand) for operand in step.operands]
    if name.endswith("_extended"):
        low, high = _extended(w, name, kind, args)
        w.set(step.results[0], low)
        w.set(step.results[1], high)
        return
    if name == "select":
        w.set(step.result, w.code.value(f"select i1 {args[0]}, {_pair(result, args[1])}, {_pair(result, args[2])}"))
    elif name == "cmpi":
        w.set(step.result, w.code.value(f"icmp {step.attrs['predicate']} {llvm_type(kind)} {args[0]}, {args[1]}"))
    elif name == "cmpf":
        a, b = (to_double(w, x, kind) for x in args)
        w.set(step.result, w.code.value(f"fcmp {step.attrs['predicate']} double {a}, {b}"))
    elif name == "negf":
        t = llvm_type(kind)
        w.set(step.result, w.code.value(f"xor {t} {args[0]}, {_CHANGES_SIGN[t]}"))
    elif name == "bitcast":
        w.set(step.result, args[0])
    elif len(args) == 2:
        w.set(step.result, _float(w, step, name, kind, args) if kind in FLOATS else _integer(w, step, name, kind, args))
    else:
        w.set(step.result, _cast(w, step, name, kind, result, args[0]))


def _pair(type: str, value: str) -> str:
    return f"{llvm_type(type)} {value}"


def _integer(w: Writer, step: Step, name: str, kind: str, args: list[str]) -> str:
    code, t, bits = w.code, llvm_type(kind), width(kind)
    a, b = args
    if name in _PLAIN:
        return code.value(f"{_PLAIN[name]} {t} {a}, {b}")
    if name in _EXTREMES:
        return code.value(f"call {t} @llvm.{_EXTREMES[name]}.{t}({t} {a}, {t} {b})")
    if name in _SHIFTS:
        w.refuse_if(code.value(f"icmp uge {t} {b}, {bits}") if bits > 1 else code.value(f"icmp ne i1 {b}, false"), step)
        return code.value(f"{_SHIFTS[name]} {t} {a}, {b}")
    w.refuse_if(code.value(f"icmp eq {t} {b}, {'false' if bits == 1 else 0}"), step)
    if name in ("divui", "remui", "ceildivui"):
        if name == "remui":
            return code.value(f"urem {t} {a}, {b}")
        quotient = code.value(f"udiv {t} {a}, {b}")
        if name == "divui":
            return quotient
        left = code.value(f"icmp ne {t} {code.value(f'urem {t} {a}, {b}')}, 0") if bits > 1 else "false"
        return code.value(f"add {t} {quotient}, {code.value(f'zext i1 {left} to {t}')}") if bits > 1 else quotient
    return _signed_division(w, name, t, bits, a, b)


def _signed_division(w: Writer, name: str, t: str, bits: int, a: str, b: str) -> str:
    """Quotient or remainder; the least number divided by -1 wraps."""
    code = w.code
    if bits == 1:  # the only divisor is -1, the only other number 0: nothing is left, and 1 / 1 wraps to itself
        return "false" if name == "remsi" else a
    minus = code.value(f"icmp eq {t} {b}, -1")
    safe = code.value(f"select i1 {minus}, {t} 1, {t} {b}")
    negated = code.value(f"sub {t} 0, {a}")
    quotient = code.value(f"select i1 {minus}, {t} {negated}, {t} {code.value(f'sdiv {t} {a}, {safe}')}")
    if name == "divsi":
        return quotient
    left = code.value(f"srem {t} {a}, {safe}")
    if name == "remsi":
        return left
    inexact = code.value(f"icmp ne {t} {left}, 0")
    unlike = code.value(f"icmp slt {t} {code.value(f'xor {t} {left}, {b}')}, 0")
    if name == "ceildivsi":
        up = code.value(f"and i1 {inexact}, {code.value(f'xor i1 {unlike}, true')}")
        return code.value(f"add {t} {quotient}, {code.value(f'zext i1 {up} to {t}')}")
    down = code.value(f"and i1 {inexact}, {unlike}")
    return code.value(f"sub {t} {quotient}, {code.value(f'zext i1 {down} to {t}')}")


def _extended(w: Writer, name: str, kind: str, args: list[str]) -> tuple[str, str]:
    code, t, bits = w.code, llvm_type(kind), width(kind)
    wide = f"i{2 * bits}"
    extend = "sext" if name == "mulsi_extended" else "zext"
    a, b = (code.value(f"{extend} {t} {x} to {wide}") for x in args)
    whole = code.value(f"{'add' if name == 'addui_extended' else 'mul'} {wide} {a}, {b}")
    low = code.value(f"trunc {wide} {whole} to {t}")
    above = code.value(f"lshr {wide} {whole}, {bits}")
    return low, code.value(f"trunc {wide} {above} to {'i1' if name == 'addui_extended' else t}")


def _float(w: Writer, step: Step, name: str, kind: str, args: list[str]) -> str:
    code = w.code
    if name not in _FLOATS and name not in ("maximumf", "minimumf"):
        return w.compute(step, llvm_type(kind))
    a, b = (to_double(w, x, kind) for x in args)
    if name in _FLOATS:
        return from_double(w, code.value(f"{_FLOATS[name]} double {a}, {b}"), kind)
    greater = name == "maximumf"
    nan = code.value(f"fadd double {a}, {b}")
    sign = code.value(f"icmp slt i64 {code.value(f'bitcast double {a} to i64')}, 0")
    if greater:
        sign = code.value(f"xor i1 {sign}, true")
    equal = code.value(f"select i1 {sign}, double {a}, double {b}")
    ordered = code.value(f"fcmp {'ogt' if greater else 'olt'} double {a}, {b}")
    better = code.value(f"select i1 {ordered}, double {a}, double {b}")
    chosen = code.value(f"select i1 {code.value(f'fcmp oeq double {a}, {b}')}, double {equal}, double {better}")
    unordered = code.value(f"fcmp uno double {a}, {b}")
    return from_double(w, code.value(f"select i1 {unordered}, double {nan}, double {chosen}"), kind)


def _cast(w: Writer, step: Step, name: str, kind: str, result: str, a: str) -> str:
    code = w.code
    if kind in FLOATS or result in FLOATS:
        if name in ("sitofp", "uitofp") and width(kind) <= 53:
            exact = code.value(f"{name} {llvm_type(kind)} {a} to double")
            return from_double(w, exact, result)
        return w.compute(step, llvm_type(result))
    small, large = width(kind), width(result)
    if small == large:
        return a
    word = "trunc" if small > large else "zext" if name in ("extui", "index_castui") else "sext"
    return code.value(f"{word} i{small} {a} to i{large}")
