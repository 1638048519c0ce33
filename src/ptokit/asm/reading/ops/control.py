"""Constants, selections, control flow, calls and sections (assembly 2, 10, 11)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ptokit.ir import Block, Op, Value
from ptokit.ir.control import TERMINATORS
from ptokit.ir.launch import SIMT_SIZES
from ptokit.types.values import I1, INDEX, Scalar, Type

from ...forms.attributes import UNIT, read_attrs
from ...forms.operations import constant_value
from ...text import rules
from ...types.parse import POISON
from ..blocks import read_region
from ..parser import READERS, Parser
from ..result_types import check_select, read_flags
from .forms import EXECUTED, LABELLED, SECTION, Kind, Successor, branch_to, read_successor

# Control flow, calls and sections (assembly 10, 11).


_SIZES = re.compile(r"<<<\s*(\d{1,9})\s*,\s*(\d{1,9})\s*,\s*(\d{1,9})\s*>>>\Z", re.ASCII)


def read_for(p: Parser, name: str, at: int) -> Op:
    """``%i = %lb to %ub step %s (iter_args(%x = %init, ..) -> (T, ..))? (: T)? { .. }``."""
    variable = p.name()
    p.expect("=")
    first = p.i
    lower = p.value()
    p.expect("to")
    upper = p.value()
    p.expect("step")
    step = p.value()
    carried: list[int] = []
    init: list[Value] = []
    types: list[Type] = []
    if p.accept("iter_args"):
        carried, init, places = _bindings(p)
        p.expect("->")
        types = p.typed_list(init, places, "carried", single=True)
    type: Type = p.type() if p.accept(":") else INDEX
    check_counts(p, type)
    for k, bound in enumerate((lower, upper, step)):
        p.match(bound, type, first + 2 * k)
    body = read_region(p, [(variable, type), *zip(carried, types)])
    check_yield(p, body, types, name, at)
    operands: dict[str, Any] = {"lower": lower, "upper": upper, "step": step, "init": init}
    return Op(name, operands, read_attrs(p), [Value(t) for t in types], [body])


def _bindings(p: Parser) -> tuple[list[int], list[Value], list[int]]:
    """``(%x = %init, ..)``: the names' tokens, the values, and the values' tokens."""
    names: list[int] = []
    values: list[Value] = []
    places: list[int] = []
    p.expect("(")
    while not p.accept(")"):
        if names:
            p.expect(",")
        names.append(p.name())
        p.expect("=")
        places.append(p.i)
        values.append(p.value())
    return names, values, places


def check_counts(p: Parser, type: Type, at: int | None = None) -> None:
    """The type of a loop variable (TEXT-TYPE): MLIR compares signless integers and index, as signed numbers."""
    if not (isinstance(type, Scalar) and type.is_integer):
        p.fail(rules.TYPE, f"a loop variable cannot be of type {type}", at)
    if type.signed or type.name.startswith("ui"):
        signless = type.name.lstrip("u")
        p.fail(rules.TYPE, f"a loop variable cannot be of type {type}; it is signless", at, hint=f"use {signless}")


def check_yield(p: Parser, region: Block, types: Sequence[Type], name: str, at: int) -> None:
    """Blocks yield what the operation declares (TEXT-YIELD); scf.yield may be missing if that is nothing."""
    for block in region.blocks:
        last = block.ops[-1] if block.ops else None
        if last is None or last.name not in TERMINATORS:
            if types and block not in p.broken and not region.more:
                p.error(rules.YIELD, f"the region of {name} must end with scf.yield of {_listed(types)}", at)
        elif last.name == "scf.yield":
            yielded = [v.type for v in last.group("values")]
            if not same_types(yielded, types):
                message = f"{name} declares {_listed(types)}, but its region yields {_listed(yielded)}"
                p.error(rules.YIELD, message, last.location)


def same_types(given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    """True if the types agree one by one; those of undefined values agree with all."""
    return len(given) == len(wanted) and all(a is POISON or b is POISON or a == b for a, b in zip(given, wanted))


def _listed(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})" if types else "nothing"


def read_if(p: Parser, name: str, at: int) -> Op:
    """``%c (-> (T, ..))? { .. } (else { .. })?``."""
    first = p.i
    condition = p.value()
    p.match(condition, I1, first)
    types = _result_types(p)
    regions = [read_region(p)]
    check_yield(p, regions[0], types, name, at)
    if p.accept("else"):
        regions.append(read_region(p))
        check_yield(p, regions[1], types, name, at)
    elif types:
        p.error(rules.YIELD, "scf.if with results needs an else region", at)
    return Op(name, {"condition": condition}, read_attrs(p), [Value(t) for t in types], regions)


def read_while(p: Parser, name: str, at: int) -> Op:
    """``(%x = %init, ..) : (T, ..) -> (T, ..) { .. scf.condition(%c) .. } do { ^bb0(%y : T): .. }``."""
    names, init, places = _bindings(p) if p.texts[p.i] == "(" else ([], [], [])
    p.expect(":")
    types = p.typed_list(init, places, "carried", single=True)
    p.expect("->")
    results = p.result_types()
    before = read_region(p, list(zip(names, types)), Kind(("scf.condition",)))
    check_condition(p, before, results, at)
    p.expect("do")
    after = read_region(p, (), LABELLED)
    if not same_types([v.type for v in after.args], results):
        p.error(rules.YIELD, f"the second region of scf.while takes {_listed(results)}", at)
    check_yield(p, after, types, name, at)
    return Op(name, {"init": init}, read_attrs(p), [Value(t) for t in results], [before, after])


def check_condition(p: Parser, before: Block, results: Sequence[Type], at: int) -> None:
    """The first region of scf.while passes values of these types on (TEXT-YIELD)."""
    last = before.ops[-1] if before.ops else None
    if last is None or last.name != "scf.condition":
        if before in p.broken or (last is not None and last.name in TERMINATORS):  # something was said of it
            return
        p.error(rules.YIELD, "the first region of scf.while must end with scf.condition", at)
    elif not same_types([v.type for v in last.group("values")], results):
        p.error(rules.YIELD, f"scf.condition passes other types than {_listed(results)}", last.location)


def _result_types(p: Parser) -> list[Type]:
    """``-> T`` or ``-> (T, ..)``, or nothing."""
    return p.result_types() if p.accept("->") else []


def read_execute_region(p: Parser, name: str, at: int) -> Op:
    """``(no_inline)? (-> T)? { .. }``: a region that runs once, in its place."""
    attrs = {"no_inline": UNIT} if p.accept("no_inline") else {}
    types = _result_types(p)
    region = read_region(p, (), EXECUTED)
    check_yield(p, region, types, name, at)
    return Op(name, {}, {**attrs, **read_attrs(p)}, [Value(t) for t in types], [region])


def read_index_switch(p: Parser, name: str, at: int) -> Op:
    """``%i (-> T)? case 2 { .. } .. default { .. }``. The default region is the operation's first."""
    first = p.i
    index = p.value()
    p.match(index, INDEX, first)
    attrs = read_attrs(p)
    types = _result_types(p)
    cases: list[int] = []
    seen: set[int] = set()
    regions: list[Block] = []
    while p.accept("case"):
        cases.append(p.integer("the number of a case"))
        check_cases(p, cases[-1:], seen, p.i - 1)
        regions.append(read_region(p))
        check_yield(p, regions[-1], types, name, at)
    p.expect("default")
    regions.insert(0, read_region(p))
    check_yield(p, regions[0], types, name, at)
    return Op(name, {"index": index}, {"cases": cases, **attrs, **read_attrs(p)}, [Value(t) for t in types], regions)


def check_cases(p: Parser, cases: Sequence[int], seen: set[int], at: int) -> None:
    """No case stands twice (TEXT-CASE); `seen` are those before."""
    for case in cases:
        if case in seen:
            p.error(rules.CASE, f"case {case} is written twice", at)
        seen.add(case)


def read_section(p: Parser, name: str, at: int) -> Op:
    """``pto.section.cube { .. }``: one block without a terminator."""
    block = read_region(p, (), SECTION)
    return Op(name, {}, read_attrs(p), [], [block])


def read_simt(p: Parser, name: str, at: int) -> Op:
    """``pto.section.simt<<<32, 1, 1>>> { .. }``: what so many threads do."""
    m = _SIZES.match(p.texts[p.i])
    if m is None:
        p.unexpected("'<<<x, y, z>>>'")
    p.i += 1
    op = read_section(p, name, at)
    op.attrs.update(zip(SIMT_SIZES, map(int, m.groups())))
    return op


def read_strict_scope(p: Parser, name: str, at: int) -> Op:
    """``(%a, ..) { ^bb0(%x: T, ..): .. } : (T, ..) -> ()``: what is inside sees its arguments only."""
    p.expect("(")
    first = p.i
    captured = p.values(")")
    p.expect(")")
    hidden = p.scope.hide()
    try:
        block = read_region(p, (), SECTION._replace(labelled=True))
    finally:  # an error in what stands before the brace leaves the values as they were
        p.scope.reveal(hidden)
    p.expect(":")
    types = p.typed_list(captured, first, "captured")
    if p.accept("->"):
        p.type_list()
    if not same_types([v.type for v in block.args], types):
        p.error(rules.OPERANDS, f"the region of {name} takes {_listed(types)}", at)
    return Op(name, {"captured": list(captured)}, read_attrs(p), [], [block])


READERS.update(
    {
        "scf.for": read_for,
        "scf.if": read_if,
        "scf.while": read_while,
        "scf.execute_region": read_execute_region,
        "scf.index_switch": read_index_switch,
        "pto.section.cube": read_section,
        "pto.section.vector": read_section,
        "pto.section.simt": read_simt,
        "pto.vecscope": read_section,
        "pto.strict_vecscope": read_strict_scope,
    }
)


# Constants and selections (assembly 11).


def read_constant(p: Parser, name: str, at: int) -> Op:
    """``N : T``, ``true``, ``false``, ``1.5e-01 : f32``, ``dense<..> : vector<..>``."""
    attrs = read_attrs(p)
    index = p.i
    token = p.texts[index]
    if not (token[0].isalnum() or token[0] in '-[@"#'):
        p.unexpected("a constant")
    if token in ("true", "false"):
        p.i += 1
        if p.accept(":"):
            p.type()
        return Op(name, {}, {"value": token == "true", **attrs}, [Value(I1)])
    p.i += 1
    p.expect(":")
    type = p.type()
    return Op(name, {}, {"value": constant_value(p, token, type, index), **attrs}, [Value(type)])


def read_select(p: Parser, name: str, at: int) -> Op:
    """``%c, %a, %b : T``."""
    first = p.i
    condition = p.value()
    p.expect(",")
    true = p.value()
    p.expect(",")
    false = p.value()
    attrs = read_flags(p, name)
    attrs.update(read_attrs(p))
    p.expect(":")
    type = p.type()
    written = type is not POISON and p.accept(",")  # type of the condition, type of the result
    if written:
        p.match(condition, type, first)
        type = p.type()
    p.match(true, type, first + 2)
    p.match(false, type, first + 4)
    op = Op(name, {"condition": condition, "true": true, "false": false}, attrs, [Value(type)])
    if written:
        check_select(p, op, first)
    else:
        p.match(condition, I1, first)
    return op


READERS.update({"arith.constant": read_constant, "arith.select": read_select})


# The switch between the blocks of a region (assembly 2), in the spelling of MLIR's `cf` dialect.


def read_switch(p: Parser, name: str, at: int) -> Op:
    """``%i : T, [default: ^bb1(%a : T), 2: ^bb2, ..]``."""
    first = p.i
    flag = p.value()
    p.expect(":")
    type_at = p.i
    p.match(flag, p.type(), first)
    check_flag(p, flag.type, type_at)
    p.expect(",")
    p.expect("[")
    p.expect("default")
    p.expect(":")
    default = read_successor(p)
    cases: list[Successor] = []
    numbers: list[int] = []
    seen: set[int] = set()
    while p.accept(","):
        numbers.append(p.integer("the number of a case"))
        check_cases(p, numbers[-1:], seen, p.i - 1)
        p.expect(":")
        cases.append(read_successor(p))
    p.expect("]")
    operands: dict[str, Any] = {
        "flag": flag,
        "default": default.values,
        "cases": [v for case in cases for v in case.values],
    }
    attrs = {"values": numbers, "sizes": [len(case.values) for case in cases], **read_attrs(p)}
    return Op(name, operands, attrs, successors=[branch_to(p, to, to.values) for to in (default, *cases)])


def check_flag(p: Parser, type: object, at: int) -> None:
    """cf.switch chooses by an integer other than index (TEXT-TYPE)."""
    if type is not POISON and not (isinstance(type, Scalar) and type.is_integer and type.name != "index"):
        p.fail(rules.TYPE, f"cf.switch chooses by an integer like i32, not by {type}", at)


READERS["cf.switch"] = read_switch
