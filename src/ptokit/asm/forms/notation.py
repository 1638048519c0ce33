"""The notation of written forms, and the forms of operations outside of the instruction table (assembly 10, 11).

| notation | stands for |
|---|---|
| ``%x`` | operand x; ``%x:index`` if its type is never written |
| ``%x*`` | operands x with commas between, possibly none |
| ``T(x)`` | the types of operand x; ``T~(x)`` if a pointer may be written by its angle part only |
| ``T(x,y)`` | the type of both operands; ``T+(x)`` the types of operands x, in parentheses |
| ``T?(x)`` | the same behind a comma, which older texts do not have |
| ``R`` | the type of the result; ``R~`` as above; ``R:tile`` or ``R:group`` if it must be one |
| ``R=index`` | nothing: the result's type is never written; ``R=subset``: it is inferred; ``R=same``: as before |
| ``R>=subview`` | ``-> T``, the type of the result; inferred where that is missing |
| ``R*`` | the types of the results, with commas between, possibly none |
| ``R+`` | the types of the results, in parentheses unless it is one |
| ``A(x)`` | attribute x of an enumeration in its place, in any spelling; ``A!(x)`` if the kind cannot be left out |
| ``N(x)`` | attribute x, a number, switch, string or symbol, in its place |
| ``W(x)`` | attribute x, one of the bare words of its kind, or any word |
| ``B(x)`` | attribute x of an enumeration as a bare word; read only |
| ``L(x)`` | attribute x, integers with commas between |
| ``Q(x)`` | attribute x, a string |
| ``D(x)`` | operands x, three sizes of a launch: ``<<<%a, %b, %c>>>`` |
| ``S(x)`` | attribute x, a symbol: ``@name`` |
| ``Y(x)`` | attribute x, a type |
| ``M(x)`` | integers (attribute x) and values (operands x) with commas between; ``M!(x)``: with types elsewhere |
| ``J(x)`` | a block to branch to, and operands x that are passed: ``^bb1(%a : T)`` |
| ``F`` | the flags of an operation of `arith` |
| ``{}`` | the other attributes, possibly none |
| ``<? .. ?>`` | may be missing |
| ``<& a .. ; ! b .. &>`` | clauses in any order with commas between, each beginning with a word; ``!``: required |
| other words | themselves; ``~`` before one: no blank when printed |

Those with regions, constants, selections and switches have readers and printers of their own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ptokit.isa.scalar.arithmetic import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)
from ptokit.isa.table import Attr, Instr

# The notation of written forms, and its parts.


_ELEMENT = re.compile(
    r"%(\w+)(\*?)(?::(\w+))?\Z|"
    r"([TANLWBDSQMYJ])([~!?+]?)\((\w+(?:,\w+)*)\)\Z|(R)([~*>+,]?)(?:=(\w+)|:(tile|group))?\Z"
)


class Element(NamedTuple):
    """One part of a form. ``kind`` is a letter of the notation, ``=`` for a literal, ``?`` for an optional group.

    The ``flag`` of a group is ``T`` if it has types of operands that stand outside of it.
    """

    kind: str
    name: str = ""
    flag: str = ""
    more: str = ""
    group: tuple[Element, ...] = ()


Form = tuple[Element, ...]


@cache
def compile_form(text: str) -> Form:
    """The parts of a form."""
    stack: list[list[Element]] = [[]]
    for word in text.split():
        if word == "<?":
            stack.append([])
        elif word == "?>":
            group = stack.pop()
            kinds = {e.kind for e in group}
            stack[-1].append(Element("?", flag="T" if "T" in kinds and "%" not in kinds else "", group=tuple(group)))
        elif word == "<&":
            stack += [[], []]
        elif word in (";", "&>"):
            clause = stack.pop()
            required = clause[0].name == "!"
            stack[-1].append(Element("?", flag="!" if required else "", group=tuple(clause[required:])))
            if word == ";":
                stack.append([])
            else:
                stack[-2].append(Element("&", group=tuple(stack.pop())))
        elif word in ("{}", "F"):
            stack[-1].append(Element(word[0]))
        elif m := _ELEMENT.match(word):
            if m[1]:
                stack[-1].append(Element("%", m[1], m[2], m[3] or ""))
            elif m[4]:
                stack[-1].append(Element(m[4], m[6].partition(",")[0], m[5], m[6]))
            else:
                stack[-1].append(Element("R", m[10] or "", m[8], m[9] or ""))
        else:
            stack[-1].append(Element("=", word.lstrip("~"), word[0] if word[0] == "~" and len(word) > 1 else ""))
    return tuple(stack[0])


def attr_named(instr: Instr, name: str) -> Attr:
    """The attribute an instruction declares under this name."""
    return next(a for a in instr.attrs if a.name == name)


def placed_attributes(form: Form) -> list[str]:
    """Attributes that have a place of their own in the form, in its order."""
    out: list[str] = []
    for e in form:
        if e.kind in "ANLWSQMY":
            out.append(e.name)
        elif e.kind in "?&":
            out += placed_attributes(e.group)
    return out


# How operations outside of the instruction table are written, in the notation of forms (assembly 10, 11).


_PASSED = "<? %values* : T(values) ?>"
_PAIR = "%lhs , %rhs F {} : T(lhs,rhs)"

FORMS: dict[str, str] = {
    **dict.fromkeys(sorted(ARITH_BINARY), f"{_PAIR} R=same"),
    **dict.fromkeys(sorted(ARITH_UNARY), "%in F {} : T(in) R=same"),
    **dict.fromkeys(sorted(ARITH_CASTS), "%in F {} : T(in) to R"),
    **dict.fromkeys(sorted(ARITH_EXTENDED), f"{_PAIR} R=same R=same"),
    "arith.addui_extended": f"{_PAIR} R=same R,=truth",
    "arith.cmpi": f"W(predicate) , {_PAIR} R=truth",
    "arith.cmpf": f"W(predicate) , {_PAIR} R=truth",
    "scf.yield": _PASSED,
    "func.return": _PASSED,
    "scf.condition": f"~( %condition:i1 ) {_PASSED}",
    "func.call": "S(callee) ~( %args* ) {} : T+(args) -> R+",
    "cf.br": "J(args) {}",
    "cf.cond_br": "%condition:i1 <? weights ~( [ L(branch_weights) ] ) ?> , J(true) , J(false) {}",
    "cf.assert": "%condition:i1 , Q(msg) {}",
    "memref.alloc": "~( %sizes*:index ) {} : R",
    "memref.alloca": "~( %sizes*:index ) {} : R",
    "memref.dealloc": "%in {} : T(in)",
    "memref.reinterpret_cast": "%in to offset ~: [ M(offset) ] , sizes ~: [ M(sizes) ] , strides ~: [ M(strides) ] {} "
    ": T(in) to R",
    "memref.subview": "%in ~[ M(offsets) ] [ M(sizes) ] [ M(strides) ] {} : T(in) to R",
    "builtin.unrealized_conversion_cast": "<? %in* : T(in) ?> to R* {}",
    # of the `llvm` dialect, what texts of threads have: memory on the stack, and bits; nothing runs them
    "llvm.alloca": "%count x Y(element) {} : ( T(count) ) -> R",
    "llvm.getelementptr": "%base ~[ M!(places) ] {} : ( T(base) T?(places) ) -> R , Y(element)",
    "llvm.extractelement": "%vector ~[ %lane : T(lane) ] {} : T(vector) R=element",
    "llvm.load": "%in {} : T(in) -> R",
    "llvm.store": "%args* {} : T(args)",
    **dict.fromkeys(("llvm.bitcast", "llvm.inttoptr", "llvm.ptrtoint"), "%in {} : T(in) to R"),
}
"""By full name."""

PREDICATES = {"arith.cmpi": tuple(INTEGER_PREDICATES), "arith.cmpf": tuple(FLOAT_PREDICATES)}
