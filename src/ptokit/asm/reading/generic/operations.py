"""Generic form: ``"pto.tadd"(%a, %b, %d) <{properties}> ({regions}) {attributes} : (T, T, T) -> ()`` (assembly 2).

Operands of tile instructions stand in the order of ``ins`` and ``outs``; those with the syntax ``dps-typed`` have what
is optional last (assembly 6.3). ``operandSegmentSizes`` says which are there; without it their types do. Operations
outside the table are checked in `structure`; `module` has functions and modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.finding import suggest
from ptokit.ir import Function, Op, Operands, Value
from ptokit.ir.control import CONTROL, Control
from ptokit.isa.table import BY_TEXT, TABLE, Instr, Operand
from ptokit.types.values import FunctionType, Scalar

from ...forms.attributes import Dictionary, Written, generic_attrs, read_dictionary, unquote
from ...forms.operands import (
    DPS_WORDS,
    Form,
    Takes,
    align,
    align_forms,
    compile_form,
    operand_order,
    taken,
    takes,
    told_apart,
    trailing_operands,
)
from ...forms.operations import SEGMENTS, SHAPES, segments, shape_of
from ...text import rules
from ...text.cursor import Cursor, LimitError, OperationError, is_string
from ...text.lexer import EOF, Tokens
from ...types.parse import POISON
from ..blocks import read_region
from ..ops.forms import BODY, kind_of, read_successor
from ..ops.tile import check_result, check_type
from ..parser import QUOTED, READERS, Parser
from ..scope import NO_LABELS, Labels
from ..written import IMPLIED, INFERRED, RESULTS, dictionary_attrs
from .structure import Statement, structure


def read_generic(p: Parser, token: str, at: int) -> Op:
    """Read an operation after its quoted name, token `at`."""
    p.check_string(at)
    name = unquote(token)
    instr = BY_TEXT.get(name[4:]) if name.startswith("pto.") else None
    shape = shape_of(name)
    if instr is None and shape is None:
        known = [f"pto.{text}" for text in BY_TEXT] + [*SHAPES, *CONTROL]
        p.fail(
            rules.UNIMPLEMENTED,
            f"generic form of {name[:60] or 'nothing'} is not implemented yet",
            at,
            hint=suggest(name, known),
        )
    s = read_statement(p, name, at)
    if shape is not None:
        return structure(p, shape, s)
    assert instr is not None
    if s.regions or s.successors:
        p.fail(rules.UNEXPECTED, f"{name} has no {'regions' if s.regions else 'successors'}", at)
    return _instruction(p, instr, s)


def read_statement(p: Parser, name: str, at: int) -> Statement:
    """What follows the quoted name of an operation, token `at`."""
    s = Statement(name, at)
    p.expect("(")
    first = p.i
    s.values = p.values(")")
    p.expect(")")
    if p.accept("["):
        s.successors.append(read_successor(p))
        while p.accept(","):
            s.successors.append(read_successor(p))
        p.expect("]")
    if p.texts[p.i].startswith("<{"):
        read_properties(p, s.written)
    if p.texts[p.i] == "(":
        control = CONTROL.get(name, Control())
        hidden = p.scope.hide() if control.isolated else None
        try:
            read_regions(p, s, control)
        finally:
            if hidden is not None:
                p.scope.reveal(hidden)
    if p.texts[p.i] == "{":
        read_dictionary(p, s.written)
    p.expect(":")
    types = p.type_list()
    if len(types) != len(s.values):
        p.fail(rules.OPERANDS, f"{len(s.values)} operands are written, but {len(types)} types", at)
    for k, (value, type) in enumerate(zip(s.values, types)):
        p.match(value, type, first + 2 * k)
    p.expect("->")
    s.results = p.result_types()
    return s


def read_regions(p: Parser, s: Statement, control: Control) -> None:
    """``({ .. }, { .. })``."""
    p.expect("(")
    while True:
        s.regions.append(read_region(p, (), kind_of(control, len(s.regions), labelled=True)))
        if not p.accept(","):
            break
    p.expect(")")


def read_properties(p: Parser, into: Dictionary) -> None:
    """``<{...}>``, which is one token: its entries, all with that token's place."""
    index, text = p.i, p.texts[p.i]
    p.i += 1
    entries = p.properties.get(text)  # few texts, many times
    if entries is None:
        entries = p.properties[text] = _entries(p, text, index)
    into.update((key, Written(value, index)) for key, value in entries)


def _entries(p: Parser, text: str, index: int) -> list[tuple[str, str]]:
    """Keys and values of ``<{...}>``."""
    inner = Cursor(Tokens(p.expand(text[1:-1])), p.file, Diagnostics())
    inside: Dictionary = {}
    with suppress(OperationError, LimitError):  # what they report is among the diagnostics
        read_dictionary(inner, inside)
    found = list(inner.diagnostics)
    if found or inner.texts[inner.i] is not EOF:
        message = found[0].message if found else f"{inner.found()} follows the properties"
        p.fail(rules.ATTRIBUTE, message, index)
    return [(key, value.text) for key, value in inside.items()]


def _instruction(p: Parser, instr: Instr, s: Statement) -> Op:
    instr = told_apart(instr, s.values[0].type if s.values else None)
    plan = _plan(instr.name)
    stated = segments(p, s.written.pop(SEGMENTS, None))
    attrs: dict[str, Any] = {}
    got: Operands | None = None
    if stated is None and plan.takes is not None and len(s.values) == len(plan.takes):
        got = taken(plan.takes, s.values)
    if got is None:
        got = _operands(p, instr, s, stated, attrs)
    if not plan.least <= len(s.results) <= plan.most and instr.results >= 0:
        p.fail(rules.RESULTS, f"pto.{instr.text} has {plan.most} results, not {len(s.results)}", s.at)
    for type in s.results if instr.form.tensor else ():
        check_result(p, instr, type, s.at)
    errors = p.errors
    for operand in plan.extra:
        if isinstance(value := got.get(operand.name), Value):
            check_type(p, operand, value.type, s.at)
    dictionary_attrs(p, instr, s.written, attrs)
    if p.errors > errors:
        raise OperationError
    operands: Operands = {name: got[name] for name in plan.order if name in got}
    op = Op(plan.name, operands, attrs, [Value(t) for t in s.results])
    if plan.form:
        _agree(p, op, plan.form, s.at)
    return op


class _Plan(NamedTuple):
    """What reading an instruction in generic form needs to know of it, found once."""

    name: str  # in full
    takes: Takes | None  # its operands and the types they can have, if all are always there
    order: tuple[str, ...]  # operands as in the table
    extra: list[Operand]  # those that are only carried
    least: int  # results
    most: int
    form: Form  # what its own form requires or implies


@cache
def _plan(name: str) -> _Plan:
    """The plan of the instruction with this name in the table."""
    instr = TABLE[name]
    order = operand_order(instr)
    extra = trailing_operands(instr)
    fixed = not instr.form.choices and not any(o.optional or o.variadic for o in order)
    most = len(instr.produces) or instr.results or int(instr.form.tensor)
    forms = instr.form.grammar
    return _Plan(
        f"pto.{instr.text}",
        takes(order) if fixed else None,
        tuple(o.name for o in (*instr.operands, *extra)),
        extra,
        0 if instr.form.tensor else most - sum(o.optional for o in instr.produces),
        most,
        _demands(compile_form(forms[0])) if forms else (),
    )


def _demands(form: Form) -> Form:
    """The parts of a form that require or imply something without writing it."""
    return tuple(e for e in form if e.kind in "?&ANL" or (e.kind in "%R" and (e.more or e.kind == "R")))


def _operands(p: Parser, instr: Instr, s: Statement, stated: list[int] | None, attrs: dict[str, Any]) -> Operands:
    """The operands by name, where some are optional or lists: by the stated sizes, else by their types."""
    order = operand_order(instr)
    given = s.values
    types = [v.type for v in given]
    counts = align_forms(instr, order, types) if stated is None else _fitting(order, stated, len(given))
    dps = instr.form.syntax in DPS_WORDS
    if counts is None and stated is not None and dps:  # the dialect has some optional ones last
        order = sorted(order, key=lambda o: o.optional)
        counts = _fitting(order, stated, len(given))
    if counts is None and stated is None and not dps:  # their own forms take any type
        counts = align(order, [POISON for _ in types])
    if counts is None and instr.form.syntax == "dps-either" and len(types) > 1 and isinstance(types[0], Scalar):
        given = [given[1], given[0], *given[2:]]
        counts = align(order, [v.type for v in given])
        attrs["scalar_first"] = True
    if counts is None:
        listed = ", ".join(f"[{o.name}]" if o.optional else o.name for o in order)
        shown = ", ".join(map(str, types))
        p.fail(rules.OPERANDS, f"pto.{instr.text} takes ({listed}), not ({shown})", s.at)
    got: Operands = {}
    position = 0
    for operand, count in zip(order, counts):
        part = given[position : position + count]
        position += count
        if operand.variadic and (part or not operand.form.group):
            got[operand.name] = list(part)
        elif part:
            got[operand.name] = part[0]
    return got


def _agree(p: Parser, op: Op, form: Form, at: int) -> None:
    """What the operation's own form requires or implies without writing it: attributes, types."""
    results = iter(op.results)
    for e in form:
        result = next(results, None) if e.kind == "R" and e.flag != "*" else None
        if e.kind == "&":
            _agree(p, op, tuple(inner for clause in e.group if clause.flag for inner in clause.group), at)
        elif e.kind == "?":
            if any(op.operands.get(inner.name) for inner in e.group if inner.kind == "%"):
                _agree(p, op, e.group, at)
        elif e.kind in "ANL" and op.attrs.get(e.name) is None:
            p.fail(rules.ATTRIBUTE, f"the attribute '{e.name}' of {op.name} is missing", at)
        elif e.kind == "%" and e.more:
            for value in op.group(e.name):
                p.match(value, IMPLIED[e.more], at)
        elif result is None:
            continue
        elif e.more in IMPLIED and result.type != IMPLIED[e.more]:
            p.fail(rules.TYPE, f"the result of {op.name} is {IMPLIED[e.more]}, not {result.type}", at)
        elif e.more in INFERRED and e.flag != ">":
            _inferred(p, op, e.more, at)
        elif e.name and not isinstance(result.type, RESULTS[e.name][0]):
            p.fail(rules.TYPE, f"the result of {op.name} is a {e.name}, not {result.type}", at)


def _inferred(p: Parser, op: Op, how: str, at: int) -> None:
    """The result has the type that the operation's own form would give it."""
    wanted = INFERRED[how](p, op.operands, op.attrs)
    if wanted != op.result.type:
        p.fail(rules.TYPE, f"the result of {op.name} is {wanted}, not {op.result.type}", at)


def _fitting(order: Sequence[Operand], stated: list[int], total: int) -> list[int] | None:
    """The segment sizes, if the operands can have them; of operands there that ptokit does not have, none is given."""
    sizes = [*stated, *(0 for _ in order[len(stated) :])]
    fit = sum(stated) == total == sum(sizes[: len(order)])
    fit = fit and all(o.variadic or n == 1 or (n == 0 and o.optional) for o, n in zip(order, sizes))
    return sizes[: len(order)] if fit else None


READERS[QUOTED] = read_generic


# Functions and modules in generic form (assembly 2): their names, types and attributes stand in properties.


MODULE_WORD = '"builtin.module"'


def read_function(p: Parser, at: int) -> tuple[Function, int]:
    """Read a function after its quoted name, token `at`. Also returns the token to blame for its name."""
    p.expect("(")
    p.expect(")")
    place = p.i
    written: Dictionary = {}
    if p.texts[p.i].startswith("<{"):
        read_properties(p, written)
    p.expect("(")
    empty = p.texts[p.i : p.i + 2] == ["{", "}"]
    body = read_region(p, (), BODY._replace(labelled=True)) if not empty else None
    if body is None:
        p.i += 2
    p.expect(")")
    if p.texts[p.i] == "{":
        read_dictionary(p, written)
    closing(p)
    name = _string(p, written, "sym_name", place)
    visibility = _string(p, written, "sym_visibility", place) if "sym_visibility" in written else ""
    type = _function_type(p, written.pop("function_type", None), place)
    param_attrs = _attributes(p, written.pop("arg_attrs", None))
    result_attrs = _attributes(p, written.pop("res_attrs", None))
    params = [Value(t) for t in type.inputs] if body is None else body.args
    if body is not None and tuple(v.type for v in params) != type.inputs:
        given = ", ".join(str(v.type) for v in params)
        p.error(rules.YIELD, f"@{name} has the type {type}, but its block takes ({given})", place)
    attrs = generic_attrs(p, written)
    return Function(
        name,
        params,
        list(type.results),
        attrs,
        body,
        visibility,
        param_attrs,
        p.location(at),
        result_attrs=result_attrs,
    ), place


def closing(p: Parser) -> None:
    """``: () -> ()``, the type of functions and modules."""
    for token in (":", "(", ")", "->", "(", ")"):
        p.expect(token)
    p.skip_location()


def module_attributes(p: Parser) -> tuple[str, dict[str, Any]]:
    """Name and attributes of the module whose quoted name stands before the cursor, which stays where it is.

    They follow its region but decide how types in it are read.
    """
    start = p.i
    written: Dictionary = {}
    quiet, p.diagnostics = p.diagnostics, Diagnostics()  # what is wrong there is reported in its place
    errors = p.errors
    try:
        p.expect("(")
        p.expect(")")
        if p.texts[p.i].startswith("<{"):
            read_properties(p, written)
        p.expect("(")
        p.i = _closing_brace(p, p.i) + 1
        p.expect(")")
        if p.texts[p.i] == "{":
            read_dictionary(p, written)
        name = written.pop("sym_name", None)
        return unquote(name.text) if name is not None and is_string(name.text) else "", generic_attrs(p, written)
    except (OperationError, LimitError):
        return "", {}
    finally:
        p.i, p.diagnostics, p.errors = start, quiet, errors


def _closing_brace(p: Parser, i: int) -> int:
    """The token of the brace that closes the one at token `i`, or the last token."""
    if p.texts[i] != "{":
        return i
    labels = Labels(p.texts) if p.labels is NO_LABELS else p.labels
    return labels.ends.get(i, len(p.texts) - 2)


def _string(p: Parser, written: Dictionary, key: str, at: int) -> str:
    found = written.pop(key, None)
    if found is None or not is_string(found.text):
        p.fail(rules.ATTRIBUTE, f"'{key}' of a function is a string", at if found is None else found.place)
    return unquote(found.text)


def _function_type(p: Parser, written: Written | None, at: int) -> FunctionType:
    if written is None:
        p.fail(rules.ATTRIBUTE, "the attribute 'function_type' is missing", at)
    inner = p.inside(p.expand(written.text))
    try:
        type = inner.type()
        if isinstance(type, FunctionType) and inner.texts[inner.i] is EOF and not list(inner.diagnostics):
            return type
    except (OperationError, LimitError):
        pass
    found = list(inner.diagnostics)
    message = found[0].message if found else f"'function_type' is not a function type: '{written.text[:40]}'"
    p.error(found[0].rule if found else rules.ATTRIBUTE, message, written.place)
    raise OperationError


def _attributes(p: Parser, written: Written | None) -> list[dict[str, Any]]:
    """``[{..}, {..}]``."""
    if written is None:
        return []
    inner = Cursor(Tokens(written.text), p.file, Diagnostics())
    out: list[dict[str, Any]] = []
    try:
        inner.expect("[")
        while not inner.accept("]"):
            if out:
                inner.expect(",")
            out.append(generic_attrs(inner, read_dictionary(inner)))
        if inner.texts[inner.i] is EOF and not list(inner.diagnostics):
            return out if any(out) else []
    except (OperationError, LimitError):
        pass
    p.error(rules.ATTRIBUTE, f"'{written.text[:40]}' is not a list of attribute dictionaries", written.place)
    raise OperationError
