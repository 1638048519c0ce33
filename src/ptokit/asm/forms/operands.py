"""Notation of written forms, and an instruction's operands: how many, in which order, what each is (assembly 5, 10).

| notation | means |
|---|---|
| ``%x`` | operand x; ``%x:index`` if its type is never written |
| ``%x*`` | operands x with commas between, possibly none |
| ``T(x)`` | the types of operand x; ``T~(x)`` if a pointer may be written by its angle part only |
| ``T(x,y)`` | the type of both operands; ``T+(x)`` the types of operands x, in parentheses |
| ``T?(x)`` | the same after a comma, which older texts do not have |
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
| ``{}`` | the other attributes, possibly none; ``{?}``: they may stand here, too, but are not printed here |
| ``<? .. ?>`` | may be missing |
| ``<* .. *>`` | any number of times |
| ``<& a .. ; ! b .. &>`` | clauses in any order with commas between, each beginning with a word; ``!``: required |
| other words | themselves; ``~`` before one: no blank when printed |

Operations of control flow (`ptokit.ir.control`) have these, too:

| notation | means |
|---|---|
| ``G`` | the next region; ``G^`` if its label names its arguments; ``G<``: it is the first of the operation |
| ``X(x)`` | the names of arguments of the next region, with commas between: those that are not carried |
| ``U(x)`` | further ones with the operands x that they begin as: ``%a = %b, ..`` |
| ``O(x)`` | the types of operands x, in parentheses; ``O!(x)``: the results have them, too |
| ``I(x,y)`` | ``: T``, the type of operands x and y, with which one counts; it is index where that is missing |
| ``H(x)`` | the type of operand x, an integer other than index |
| ``R!`` | as ``R+``, and the parentheses are printed always |
| ``J+(x)`` | as ``J(x)``, one of several: attribute `SIZES` has how many values each passes |
| ``C(x)`` | the number of a case, one more in attribute x |
| ``K(x)`` | the word x, an attribute without a value; or nothing |
| ``Z`` | how many threads there are, attributes: ``<<<32, 1, 1>>>`` |
| ``/`` | nothing; a new line when printed |

Constants and selections have readers and printers of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ptokit.ir import Operands, Value
from ptokit.ir.launch import SIMT_SIZES
from ptokit.isa.scalar.arithmetic import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)
from ptokit.isa.table import ALSO, GENERIC, LEVEL1, SHARED, TABLE, Attr, Instr, Kind, Operand, Role
from ptokit.types.tile import TileSpec
from ptokit.types.values import (
    Align,
    Group,
    LogicalMask,
    LogicalVector,
    Mask,
    MemRef,
    Opaque,
    PartitionView,
    Ptr,
    Scalar,
    TensorView,
    Type,
    VReg,
)

from ..types.parse import POISON

# The notation of written forms, and its parts.


_ELEMENT = re.compile(
    r"%(\w+)(\*?)(?::(\w+))?\Z|"
    r"([TANLWBDSQMYJXUOIHCK])([~!?+]?)\((\w+(?:,\w+)*)\)\Z|(R)([~*>+,!]?)(?:=(\w+)|:(tile|group))?\Z"
)


class Element(NamedTuple):
    """One part of a form. ``kind`` is a letter of the notation, ``=`` for a literal, ``?`` and ``*`` for a group.

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
        elif word == "<*":
            stack.append([])
        elif word == "*>":
            group = stack.pop()
            stack[-1].append(Element("*", group=tuple(group)))
        elif word in ("{}", "{?}", "F", "Z", "/", "G", "G^", "G<"):
            stack[-1].append(Element(word[0], flag=word[1:].rstrip("}")))
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


SIZES = "sizes"
"""How many of the operands belong to each of several blocks."""


def placed_attributes(form: Form) -> list[str]:
    """Attributes that have a place of their own in the form, in its order."""
    out: list[str] = []
    for e in form:
        if e.kind in "ANLWSQMYKC":
            out.append(e.name)
        elif e.kind in "?&*":
            out += placed_attributes(e.group)
        elif e.kind == "Z":
            out += SIMT_SIZES
        elif e.kind == "J" and e.flag:
            out.append(SIZES)
    return out


def elements(form: Form) -> Iterator[Element]:
    """The parts of a form, those of groups in place of them."""
    for e in form:
        yield from elements(e.group) if e.group else (e,)


# How operations outside of the instruction table are written, in the notation of forms (assembly 10, 11).


_PAIR = "%lhs , %rhs F {} : T(lhs,rhs)"

FORMS: dict[str, str] = {
    **dict.fromkeys(sorted(ARITH_BINARY), f"{_PAIR} R=same"),
    **dict.fromkeys(sorted(ARITH_UNARY), "%in F {} : T(in) R=same"),
    **dict.fromkeys(sorted(ARITH_CASTS), "%in F {} : T(in) to R"),
    **dict.fromkeys(sorted(ARITH_EXTENDED), f"{_PAIR} R=same R=same"),
    "arith.addui_extended": f"{_PAIR} R=same R,=truth",
    "arith.cmpi": f"W(predicate) , {_PAIR} R=truth",
    "arith.cmpf": f"W(predicate) , {_PAIR} R=truth",
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
"""By full name; `ptokit.ir.control` has those of control flow."""

PREDICATES = {"arith.cmpi": tuple(INTEGER_PREDICATES), "arith.cmpf": tuple(FLOAT_PREDICATES)}


# How many operands an instruction has, and which of the written values is which.


Takes = tuple[tuple[str, tuple[type, ...]], ...]
"""Operands by name, and the types they can have."""


DPS_WORDS = frozenset(("dps", "dps-attrs-in", "dps-comma", "dps-typed", "dps-either"))


_DATA = (TileSpec, PartitionView, TensorView, MemRef, Opaque)
_KINDS: dict[Kind, tuple[type, ...]] = {
    Kind.TILE: _DATA,
    Kind.VIEW: _DATA,
    Kind.SCALAR: (Scalar,),
    Kind.PTR: (Ptr, MemRef, Opaque),
    Kind.RECORD: (Opaque,),
    Kind.VREG: (VReg,),
    Kind.MASK: (Mask,),
    Kind.ALIGN: (Align,),
    Kind.GROUP: (Group,),
    Kind.PIPE: (Opaque,),
    Kind.VECTOR: (LogicalVector,),
    Kind.LANES: (LogicalMask,),
    Kind.LOGICAL: (LogicalVector, LogicalMask),
    Kind.PART: (VReg, Mask),
}


def fits(operand: Operand, type: Type) -> bool:
    """True if a value of this type can stand there (assembly 6): tiles, views and memrefs are told apart by rules."""
    return isinstance(type, _KINDS[operand.kind]) or type is POISON


def told_apart(instr: Instr, first: Type | None) -> Instr:
    """The instruction that a text name means where the first operand is of this type."""
    return SHARED.get(instr.text, instr) if isinstance(first, Group) else instr


class Beside(NamedTuple):
    """What may stand in ``ins`` beside values and their types."""

    operands: dict[str, Operand]  # that follow a word
    absent: dict[str, Operand]  # that a word says are not there
    beside: Attr | None  # a string after the types
    variant: Instr | None  # what the instruction is with such an operand, if it has none itself


NOTHING_BESIDE = Beside({}, {}, None, None)


@cache
def beside_values(name: str) -> Beside:
    instr = TABLE[name]
    own = any(o.form.word for o in instr.operands)
    others = (i for i in TABLE.imported() if i.form.newest == instr.text and any(o.form.word for o in i.operands))
    variant = None if own else next(others, None)
    listed = (*instr.operands, *(variant.operands if variant is not None else ()))
    beside = next((a for a in instr.attrs if a.beside), None)
    return Beside(
        {o.form.word: o for o in listed if o.form.word},
        {o.form.absent: o for o in listed if o.form.absent},
        beside,
        variant,
    )


def takes(operands: Sequence[Operand]) -> Takes:
    """Names of operands, and the types they can have."""
    return tuple((o.name, _KINDS[o.kind]) for o in operands)


def taken(takes: Takes, given: Sequence[Value]) -> Operands | None:
    """Operands and values one by one; None if one does not fit."""
    got: Operands = {}
    for (name, types), value in zip(takes, given):
        if not isinstance(value.type, types) and value.type is not POISON:
            return None
        got[name] = value
    return got


@cache
def operands_of(name: str) -> tuple[tuple[Operand, ...], tuple[Operand, ...], bool]:
    """Operands in ``ins`` and in ``outs``, and whether none of them is a list."""
    instr = TABLE[name]
    return tuple(instr.ins), tuple(instr.outs), not any(o.variadic for o in instr.operands)


def align_forms(instr: Instr, wanted: Sequence[Operand], types: Sequence[Type]) -> list[int] | None:
    """As `align`; of an instruction with forms the operands of one of them must be there, and no others."""
    if not instr.form.choices:
        return align(wanted, types)
    for form in instr.form.choices:
        chosen = instr.chosen(form, wanted)
        if align(chosen, types) is not None:
            names = {o.name for o in chosen}
            return [int(o.name in names) for o in wanted]
    return None


def align(wanted: Sequence[Operand], types: Sequence[Type]) -> list[int] | None:
    """How many of the values each operand takes (0 or 1; any number if variadic), or None if they do not fit."""
    if not wanted:
        return None if types else []
    first, rest = wanted[0], wanted[1:]
    counts: Sequence[int] = (1,)
    if first.variadic:
        counts = range(len(types), -1, -1)
    elif first.optional:
        counts = (1, 0)
    for count in counts:
        if count <= len(types) and all(fits(first, t) for t in types[:count]):
            tail = align(rest, types[count:])
            if tail is not None:
                return [count, *tail]
    return None


def trailing_operands(instr: Instr) -> list[Operand]:
    """The values among what follows ``outs``; the order is also that of generic form."""
    return [e for e in instr.form.trailing if isinstance(e, Operand)]


@cache
def keys_of(name: str) -> dict[str, Operand | Attr]:
    """What follows ``outs`` of the instruction of this name, by the word in front of ``=``, in order."""
    return {(e.key or e.name) if isinstance(e, Attr) else e.name: e for e in TABLE[name].form.trailing}


def operand_order(instr: Instr) -> list[Operand]:
    """The operands of an instruction in the order of generic form."""
    if instr.form.syntax not in DPS_WORDS:
        return list(instr.operands)
    ins, outs, _ = operands_of(instr.name)
    extra = trailing_operands(instr)
    if order := instr.in_order(GENERIC):
        return [*order, *extra]
    if instr.form.syntax == "dps-typed":
        return [
            *(o for o in ins if not o.optional),
            *outs,
            *sorted(_optional(ins), key=lambda o: o.role is not Role.IN),
            *extra,
        ]
    return [*ins, *outs, *extra]


def _optional(operands: Sequence[Operand]) -> list[Operand]:
    return [o for o in operands if o.optional]


# Which operands of an instruction a statement writes, and in which order (assembly 5).


@cache
def operand_groups(name: str) -> tuple[list[Operand], list[Operand], list[Operand]]:
    """Operands of ``ins``; tiles and records, and views, of ``outs``."""
    ins, outs, _ = operands_of(name)
    return list(ins), [o for o in outs if o.kind in RESULTS], [o for o in outs if o.kind is Kind.VIEW]


def first_source(instr: Instr, operands: Operands, kind: Kind = Kind.TILE) -> Value | None:
    """The first tile, or other operand of a `kind`, that an instruction reads."""
    for operand in instr.ins:
        value = operands.get(operand.name)
        if operand.kind is kind and operand.role is Role.IN and isinstance(value, Value):
            return value
    return None


def orders(instr: Instr, valued: bool) -> list[list[Operand]]:
    """The sequences of operands that the written ones may be; ``valued``: what it writes is not among them."""
    ins, destinations, stores = operand_groups(instr.name)
    if stores:
        also = instr.in_order(ALSO)
        return [instr.in_order(LEVEL1) or [*ins, *stores], *([also] if also else ())]
    if not valued:
        return [[*destinations, *ins]]
    kept = [o for o in destinations if o.role is Role.INOUT]
    return [[*kept, *ins], ins] if kept else [ins]


def fit(
    instr: Instr, ordered: list[list[Operand]], types: Sequence[Type]
) -> tuple[list[Operand], list[int], bool] | None:
    """The sequence that values of these types are, how many each operand takes, and whether the last two change
    places; None if there is none."""
    attempts = [(order, types) for order in ordered]
    if instr.form.syntax == "dps-either":
        scalars = [k for k, type in enumerate(types) if isinstance(type, Scalar)]
        if scalars and scalars[0] == len(types) - 2:
            attempts.append((ordered[0], [*types[:-2], types[-1], types[-2]]))
    for order, written in attempts:
        counts = align_forms(instr, order, written)
        if counts is not None and _apart(order, counts, written):
            return order, counts, written is not types
    return None


def _apart(order: Sequence[Operand], counts: Sequence[int], given: Sequence[Type]) -> bool:
    """True if tiles are for tiles and views for views: `align` takes both for both, as level 2 does."""
    position = 0
    for operand, count in zip(order, counts):
        for type in given[position : position + count]:
            if (
                operand.kind is Kind.TILE
                and Kind.VIEW not in operand.also
                and isinstance(type, (MemRef, PartitionView))
            ):
                return False
            if operand.kind is Kind.VIEW and Kind.TILE not in operand.also and isinstance(type, TileSpec):
                return False
        position += count
    return True


RESULTS = (Kind.TILE, Kind.RECORD)
"""What a statement can have as its results."""
