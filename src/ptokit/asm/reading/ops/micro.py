"""Operations on registers and pointers: ``%r = pto.name %a, %p[%i], "TOKEN" {attributes} : types -> types``.

After the instruction table, for the syntax word ``micro`` (vector-path 2). Further ways of writing one:

| written | read as |
|---|---|
| ``vlds %r, %p[%i]`` | results first, where ``pto.`` and ``=`` are left out |
| ``copy_ubuf_to_gm(%u, %g, ..);`` | operands in parentheses |
| ``pto.vci ins(%i : i32) outs(%v : V)`` | the result %v |
| ``: T -> T`` with several operands | the type of all registers |
| no types | those of the values; results take the type the table says |
| ``%p[4]``, ``%p, 4`` | a constant |
| ``rows(%a)`` | operand `rows`, where it stands |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cache
from typing import Any, NoReturn

from ptokit.ir import Op, Operands, Value
from ptokit.isa.table import ALSO, TABLE, Instr, Kind, Operand
from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES
from ptokit.types.values import INDEX, Align, LogicalMask, LogicalVector, Mask, Ptr, Scalar, Type, VReg, is_memref

from ...forms.attributes import Dictionary, Written, declared_value, read_dictionary
from ...text import rules
from ...types.parse import FREE, POISON
from ..parser import Expansion, Parser
from ..statements.sync import constant
from ..written import dictionary_attrs

VREG_BYTES = 256
_KINDS: dict[Kind, Any] = {
    Kind.VREG: VReg,
    Kind.MASK: Mask,
    Kind.ALIGN: Align,
    Kind.PTR: Ptr,
    Kind.SCALAR: Scalar,
    Kind.VECTOR: LogicalVector,
    Kind.LANES: LogicalMask,
    Kind.LOGICAL: (LogicalVector, LogicalMask),
    Kind.PART: (VReg, Mask),
}


@dataclass(slots=True)
class _Item:
    """A value or a number at token `index`, with what stands in brackets after it."""

    index: int
    value: Value | None
    number: int = 0
    offset: _Item | None = None
    name: str = ""  # of the operand, where that is written

    @property
    def type(self) -> Type | None:
        """Type of the value; None for a number."""
        return None if self.value is None else self.value.type


@dataclass(slots=True)
class _Statement:
    items: list[_Item] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    groups: list[tuple[str, int, list[_Item]]] = field(default_factory=list)
    written: Dictionary = field(default_factory=dict)
    types: list[Type] | None = None
    results: list[Type] | None = None
    outs: list[int] = field(default_factory=list)  # names of results that stand among the operands


def read_micro(p: Parser, instr: Instr, at: int, named: int) -> Op:
    """Read an operation after its name, token `at`; `named` results stand in front of it."""
    return _Reader(p, instr, at, named).read()


class _Reader:
    """Reads one operation."""

    def __init__(self, p: Parser, instr: Instr, at: int, named: int) -> None:
        self.p, self.instr, self.at, self.named = p, instr, at, named
        self.before = Expansion()
        self.s = _Statement()
        self.groups, self.names = _words(instr.name)

    def read(self) -> Op:
        p, instr, s = self.p, self.instr, self.s
        if not self.named and not p.texts[self.at].startswith("pto."):
            self._results_first()
        self._operands()
        self._types()
        operands = self._assign()
        attrs: dict[str, Any] = {}
        dictionary_attrs(p, instr, s.written, attrs)
        self._tokens(attrs)
        ordered: Operands = {o.name: operands[o.name] for o in instr.operands if o.name in operands}
        op = Op(f"pto.{instr.text}", ordered, attrs, [Value(t) for t in self._results(ordered)])
        for index, value in zip(s.outs, op.results):
            value.name, value.location = p.texts[index][1:], p.location(index)
            p.bind(p.texts[index], value, index)
        if self.before.before:
            p.expansion = self.before
        return op

    def misfit(self, message: str, index: int | None = None, hint: str | None = None) -> NoReturn:
        """Give up: what is written is not what the instruction takes."""
        rule = self.instr.form.misfits.get("", rules.OPERANDS)
        self.p.fail(rule, f"pto.{self.instr.text} {message}", self.at if index is None else index, hint=hint)

    # -------------------------------------------------------------- statement

    def _results_first(self) -> None:
        """The names of the results, where no ``=`` precedes the operation."""
        p = self.p
        for k in range(len(self.instr.returned)):
            if k:
                p.expect(",")
            self.s.outs.append(p.name())
        if self.s.outs:
            p.accept(",")

    def _operands(self) -> None:
        p, s = self.p, self.s
        texts = p.texts
        called = p.accept("(")
        more = True
        while True:
            token = texts[p.i]
            if token in self.groups and texts[p.i + 1] == "(":
                self._group()
            elif token in self.names and texts[p.i + 1] == "(":
                p.i += 2
                s.items.append(self._item())
                s.items[-1].name = token
                p.expect(")")
            elif token in ("ins", "outs") and texts[p.i + 1] == "(":
                self._destination_style(token)
            elif not more:
                break
            elif token[0] == '"':
                p.check_string()
                s.tokens.append(p.i)
                p.i += 1
            elif not self.instr.operands:
                break
            elif token[0] == "%" or token[0].isdigit() or (token[0] == "-" and token[1:2].isdigit()):
                s.items.append(self._item())
            else:
                break
            more = p.accept(",")
        if called:
            p.expect(")")
        if texts[p.i] == "{":
            read_dictionary(p, s.written)

    def _item(self) -> _Item:
        p = self.p
        index = p.i
        if p.texts[index][0] != "%":
            return _Item(index, None, p.integer("an operand"))
        item = _Item(index, p.value())
        if p.accept("["):
            item.offset = self._item()
            p.expect("]")
        return item

    def _group(self) -> None:
        p = self.p
        index = p.i
        p.i += 2
        items: list[_Item] = []
        while not p.accept(")"):
            if items:
                p.expect(",")
            items.append(self._item())
        self.s.groups.append((self.groups[p.texts[index]], index, items))

    def _destination_style(self, word: str) -> None:
        """``ins(%a, %b : T, T)`` or ``outs(%r : T)``."""
        p, s = self.p, self.s
        p.i += 2
        first = p.i
        if word == "outs":
            s.outs.append(p.name())
            while p.accept(","):
                s.outs.append(p.name())
        else:
            s.items.append(self._item())
            while p.accept(","):
                s.items.append(self._item())
        p.expect(":")
        types = [p.type()]
        while p.accept(","):
            types.append(p.type())
        p.expect(")")
        if word == "outs":
            s.results = types
        else:
            for item, type in zip(s.items, types):
                self._match(item, type)
        if len(types) != len(s.outs if word == "outs" else s.items):
            self.misfit(f"has {len(types)} types in {word}", first)

    # ------------------------------------------------------------------ types

    def _types(self) -> None:
        p, s = self.p, self.s
        if not p.accept(":"):
            return
        if p.texts[p.i] != "->":
            s.types = self._type_list()
        if p.accept("->"):
            s.results = self._type_list()
        elif not s.items and self.instr.produces:
            s.types, s.results = None, s.types
        if s.types is not None:
            self._match_types(s.types)

    def _type_list(self) -> list[Type]:
        """``T, T``, ``(T, T)`` or ``T x3``; the word of a group may precede its types."""
        p = self.p
        if p.texts[p.i] == "(":
            return p.type_list()
        out: list[Type] = []
        while True:
            if p.texts[p.i] in self.groups:
                p.i += 1
            out.append(p.type())
            times = p.texts[p.i]
            if times[0] == "x" and times[1:].isdecimal() and len(times) < 4:
                out += [out[-1]] * (int(times[1:]) - 1)
                p.i += 1
            if not p.accept(","):
                return out

    def _match_types(self, types: list[Type]) -> None:
        """Compare the written types with those of the values; a value that has none takes it."""
        s = self.s
        plain = [*s.items, *(item for _, _, items in s.groups for item in items)]
        whole = [part for item in plain for part in (item, item.offset) if part is not None]
        values = [item for item in plain if item.value is not None]
        telling = [item for item in values if not isinstance(item.type, Scalar)]
        for written in (plain, whole, values, telling):
            if len(written) == len(types):
                for item, type in zip(written, types):
                    self._match(item, type)
                return
        if len(types) == 1:
            for item in plain:
                if item.type is FREE or item is plain[0]:
                    self._match(item, types[0])
            return
        if not s.groups:  # of grouped forms public texts list any number of the scalars
            self.misfit(f"has {len(plain)} operands, but {len(types)} types are written")
        for item, type in zip(plain, types):
            if isinstance(type, Ptr):
                self._match(item, type)

    def _match(self, item: _Item, type: Type) -> None:
        have = item.type
        if item.value is None:
            return
        if isinstance(have, Mask) and isinstance(type, Mask) and 0 in (have.bits, type.bits):
            return
        self.p.match(item.value, type, item.index)

    # --------------------------------------------------------------- operands

    def _assign(self) -> dict[str, Value | list[Value]]:
        """The written operands by name."""
        instr, s = self.instr, self.s
        if instr.form.choices:
            orders = [instr.chosen(form, instr.operands) for form in instr.form.choices]
        else:
            orders = [[o for o in instr.operands if not o.form.offset and not o.form.group]]
            orders += [order] if (order := instr.in_order(ALSO)) else []
        named = any(item.name for item in s.items)
        for spaces in (True, False):
            for order in orders:
                if named:  # they may stand in any order
                    places = {o.name: k for k, o in enumerate(order)}
                    s.items.sort(key=lambda item: places.get(item.name, -1))
                chosen = _align(order, s.items, spaces=spaces)
                if chosen is not None:
                    got = self._values(order, chosen)
                    self._grouped(got)
                    return got
        known = [", ".join(f"[{o.name}]" if o.optional else o.name for o in order) for order in orders]
        listed = " or ".join(f"({names})" for names in known)
        types = ", ".join(item.name or ("a number" if item.value is None else str(item.type)) for item in s.items)
        return self.misfit(f"takes {listed}, not ({types})", hint=self._hint())

    def _hint(self) -> str | None:
        first = self.s.items[0].type if self.s.items else None
        loads = self.instr.produces and self.instr.operands and self.instr.operands[0].kind is Kind.PTR
        if loads and isinstance(first, VReg):
            return f"pto.{self.instr.text} is a load; a store of a register is written with vsts or vsst"
        return None

    def _values(self, order: Sequence[Operand], chosen: list[int]) -> dict[str, Value | list[Value]]:
        got: dict[str, Value | list[Value]] = {}
        place = 0
        names = [o.name for o in self.instr.operands]
        for operand, count in zip(order, chosen):
            for item in self.s.items[place : place + count]:
                got[operand.name] = self._value(item, operand)
                if item.offset is None:
                    continue
                following = self.instr.operands[names.index(operand.name) + 1 :][:1]
                if not following or not following[0].form.offset:
                    self.misfit(f"takes no offset after '{operand.name}'", item.offset.index)
                got[following[0].name] = self._value(item.offset, following[0])
            place += count
        return got

    def _value(self, item: _Item, operand: Operand) -> Value:
        if item.value is None:
            return constant(
                self.before, item.number, Scalar(operand.number_type) if operand.number_type else self._element()
            )
        if item.value.type is FREE:
            item.value.type = self._default(operand)
            if item.value.type is POISON:
                self.p.error(
                    rules.TY_9,
                    f"value %{item.value.name} is not defined, and no type list says what it is",
                    item.index,
                    hint="write the types of the operands after ':'",
                )
        return item.value

    def _element(self) -> Scalar:
        """Type of a number without one: that of the elements it meets."""
        register = next((i.type for i in self.s.items if isinstance(i.type, VReg)), None)
        return Scalar("i64") if register is None else Scalar(register.dtype.text)

    def _default(self, operand: Operand) -> Type:
        """Type of a value that a listing uses and nothing defines."""
        match operand.kind:
            case Kind.SCALAR:
                return INDEX if operand.form.offset else Scalar(operand.type or "i64")
            case Kind.PTR:
                return Ptr(DTYPES["u8"], operand.space or "ub")
            case Kind.MASK:
                return Mask(operand.bits)
            case Kind.ALIGN:
                return Align()
            case _:
                return POISON

    def _grouped(self, got: dict[str, Value | list[Value]]) -> None:
        """The operands of ``nburst(..)`` and its like."""
        for word, index, items in self.s.groups:
            wanted = [o for o in self.instr.operands if o.form.group == word]
            if not wanted:
                self.misfit(f"has no {word}(...)", index)
            if wanted[0].variadic:
                if len(items) != wanted[0].variadic:
                    self.misfit(f"takes {wanted[0].variadic} values in {word}(...), not {len(items)}", index)
                more = [self._value(item, wanted[0]) for item in items]
                have = got.get(wanted[0].name)
                got[wanted[0].name] = [*(have if isinstance(have, list) else []), *more]
                continue
            least = max(1, sum(not o.optional for o in wanted))
            if len(items) not in (least, len(wanted)) or wanted[0].name in got:
                names = ", ".join(o.name for o in wanted)
                self.misfit(f"takes one {word}({names}), not {len(items)} values", index)
            for operand, item in zip(wanted, items):
                got[operand.name] = self._value(item, operand)
        for operand in self.instr.operands:
            if operand.form.group and not operand.optional and not operand.variadic and operand.name not in got:
                self.misfit(f"needs {operand.form.group}(...)")

    # ------------------------------------------------------ tokens and results

    def _tokens(self, attrs: dict[str, Any]) -> None:
        p = self.p
        free = [a for a in self.instr.attrs if a.token] or [a for a in self.instr.attrs if a.kind is str]
        if len(self.s.tokens) > len(free):
            p.fail(
                rules.ATTRIBUTE, f"pto.{self.instr.text} has no place for {p.found(self.s.tokens[len(free)])}", self.at
            )
        for index, attr in zip(self.s.tokens, free):
            value = declared_value(p, attr, Written(p.texts[index], index))
            if attr.name in attrs:
                p.error(rules.ATTRIBUTE, f"'{attr.name}' is written twice", index)
            elif value is not None:
                attrs[attr.name] = value

    def _results(self, operands: Operands) -> list[Type]:
        produces, written = self.instr.produces, self.s.results
        least = sum(not o.optional for o in produces)
        if written is None or (not written and not produces):
            return [self._inferred(o, operands) for o in produces[: max(least, self.named or len(self.s.outs))]]
        if not least <= len(written) <= len(produces):
            self.p.fail(
                rules.RESULTS, f"pto.{self.instr.text} has {len(produces)} results, not {len(written)}", self.at
            )
        for operand, type in zip(produces, written):
            if not _fits(operand, type, spaces=False):
                self.misfit(f"cannot have a result of type {type}")
        return written

    def _inferred(self, result: Operand, operands: Operands) -> Type:
        like = operands.get(result.like)
        if isinstance(like, Value):
            if isinstance(like.type, Ptr) and result.kind is Kind.VREG:
                return VReg(VREG_BYTES // like.type.dtype.size, like.type.dtype, like.type.signed)
            return like.type
        if result.kind is Kind.VREG:
            if all(item.type is not POISON for item in self.s.items):
                self.p.error(
                    rules.RESULTS,
                    f"pto.{self.instr.text} does not say what register it makes",
                    self.at,
                    hint="write '->' and the type of the result after the types of the operands",
                )
            return POISON
        return Scalar(result.type) if result.kind is Kind.SCALAR else self._default(result)


@cache
def _words(name: str) -> tuple[dict[str, str], frozenset[str]]:
    """Words before parentheses: of groups, by what they are called in the table, and of single operands."""
    instr = TABLE[name]
    groups = {o.form.group: o.form.group for o in instr.operands if o.form.group}
    if "loop" in groups:
        groups |= {"loop1": "loop", "loop2": "loop"}
    return groups, frozenset(o.name for o in instr.operands) if instr.form.choices else frozenset()


def _fits(operand: Operand, type: Type | None, *, spaces: bool) -> bool:
    """True if a value of this type (None: a number) can stand there. `spaces`: pointers to the right memory only."""
    if type is None:
        return operand.kind is Kind.SCALAR
    if type is FREE or type is POISON:
        return True
    if operand.form.implied and isinstance(type, Scalar):
        return type.name == operand.type
    if Kind.VREG in operand.also and isinstance(type, VReg | LogicalVector):
        return True
    if Kind.VIEW in operand.also and is_memref(type):
        return True
    if not isinstance(type, _KINDS.get(operand.kind, type.__class__)):
        return False
    checked = spaces and isinstance(type, Ptr) and bool(operand.space)
    return not checked or (isinstance(type, Ptr) and (type.space or "gm") == operand.space)


def _align(wanted: Sequence[Operand], items: Sequence[_Item], *, spaces: bool) -> list[int] | None:
    """How many of the items each operand takes, 0 or 1; None if they do not fit."""
    if not wanted:
        return None if items else []
    first, rest = wanted[0], wanted[1:]
    if items and items[0].name in ("", first.name) and _fits(first, items[0].type, spaces=spaces):
        tail = _align(rest, items[1:], spaces=spaces)
        if tail is not None:
            return [1, *tail]
    if first.optional:
        tail = _align(rest, items, spaces=spaces)
        if tail is not None:
            return [0, *tail]
    return None
