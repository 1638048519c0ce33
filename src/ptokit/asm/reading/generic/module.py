"""Functions and modules in generic form (assembly 2): their names, types and attributes stand in properties."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Diagnostics
from ptokit.ir import Function, Value
from ptokit.types.values import FunctionType

from ...forms.attributes import Dictionary, Written, generic_attrs, read_dictionary, unquote
from ...text import rules
from ...text.cursor import Cursor, LimitError, OperationError, is_string
from ...text.lexer import EOF, Tokens
from ..blocks import read_region
from ..labels import NO_LABELS, Labels
from ..parser import Parser
from ..regions import BODY
from .operations import read_properties

MODULE_WORD = '"builtin.module"'


def read_function(p: Parser, at: int) -> tuple[Function, int]:
    """Read a function behind its quoted name, token `at`. Also returns the token to blame for its name."""
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

    They stand behind its region but decide how types in it are read.
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
