"""From conditions of rules (`ptokit.diagnostics.conditions`) to functions of a site.

One function is made of all conditions of a rule, as text: it looks for what *breaks* each, so that comparisons with
`UNKNOWN` find nothing. Messages are compiled when a site breaks a rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

from ptokit.diagnostics import Doubt
from ptokit.diagnostics.conditions import Check, Conditions, Found, Need, When

from .seen import seen
from .words import PYTHON, WORDS

_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_EACH = {"data": "o.data_tiles", "sources": "o.sources", "tiles": "all_tiles(o)"}
_LOCAL = frozenset(("o", "t", "name"))


class Named(Protocol):
    """An instruction, as far as conditions look at it."""

    @property
    def names(self) -> Mapping[str, str]:
        """What conditions may name: ``operand``, ``optional`` (one that may be absent), ``attribute`` or ``field``."""
        ...


class _Part(NamedTuple):
    """A condition that was read: what has to be known, and what breaks it; the names in both.

    Operands must be there, but those of which the condition itself asks whether they are (``maybe``).
    """

    need: Need | When
    each: str
    asked: str
    broken: str
    names: tuple[str, ...]
    maybe: frozenset[str]


@cache
def compiled(check: Check, instr: Named) -> Check:
    """`check` as a function of the sites of an instruction. What is no condition stays as it is."""
    if not isinstance(check, Conditions):
        return check
    names, parts = _read(check)
    return _function(check, parts, tuple((name, instr.names.get(name, "")) for name in names))


@cache
def _read(check: Conditions) -> tuple[tuple[str, ...], tuple[_Part | Check, ...]]:
    parts = tuple(_part(each) if isinstance(each, Need | When) else each for each in check.parts)
    names = dict.fromkeys(name for part in parts if isinstance(part, _Part) for name in part.names)
    return tuple(names), parts


def _part(need: Need | When) -> _Part:
    must, each, asked = clauses(_expanded(need.condition, need)) if isinstance(need, Need) else ("False", "", "")
    asked = " and ".join(f"({known})" for known in (_expanded(need.asked, need), asked) if known)
    tree = _parsed(must)
    names: dict[str, None] = {}
    other, maybe = set(_LOCAL), set[str]()
    for each_tree in (tree, *((_parsed(asked),) if asked else ())):
        _names(each_tree, names, other, maybe)
    found = tuple(name for name in names if name not in other and name not in WORDS)
    return _Part(need, each, asked, opposite(tree, must), found, frozenset(maybe))


def _expanded(text: str, need: Need | When) -> str:
    """An expression with what its names stand for."""
    for name, expression in reversed(need.where):
        if name in text:
            text = re.sub(rf"(?<![\w.'\"]){name}\b", f"({expression})", text)
    return text


def clauses(condition: str) -> tuple[str, str, str]:
    """What must hold, of which tiles, and what must be known to be so for that."""
    must, _, asked = condition.rpartition(" if ")
    if not must or " else " in asked or asked.count("(") != asked.count(")"):
        must, asked = condition, ""  # no clause, but a choice, or inside of a call
    start, _, each = must.rpartition(" for t in ")
    return (start, each, asked) if start and each.count("(") == each.count(")") else (must, "", asked)


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _names(tree: ast.AST, names: dict[str, None], other: set[str], maybe: set[str]) -> None:
    """Collect names in an expression that may be those of the site; ``other`` are called or local, of ``maybe`` it is
    asked whether they are there.
    """
    match tree:
        case ast.Name():
            names[tree.id] = None
            if isinstance(tree.ctx, ast.Store):
                other.add(tree.id)
            return
        case ast.Constant():
            return
        case ast.Call(ast.Name(function)):
            other.add(function)
        case ast.Compare(ast.Name(operand), [ast.Is() | ast.IsNot()], [ast.Constant(None)]):
            maybe.add(operand)
    for field in tree._fields:
        value = getattr(tree, field)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.expr | ast.comprehension):
                _names(child, names, other, maybe)


def opposite(tree: ast.expr, text: str) -> str:
    """The condition that breaks one, of the part `tree` of its `text`; comparisons with `UNKNOWN` stay false."""
    match tree:
        case ast.BoolOp(op, values):
            word = " or " if isinstance(op, ast.And) else " and "
            return f"({word.join(opposite(value, text) for value in values)})"
        case ast.Compare(left, ops, comparators):
            sides = [_source(side, text) for side in (left, *comparators)]
            pairs = [f"{a} {_OPPOSITE[type(op)]} {b}" for a, op, b in zip(sides, ops, sides[1:])]
            if isinstance(ops[0], ast.In):
                pairs[0] += f" and known({sides[0]})"
            return pairs[0] if len(pairs) == 1 else f"({' or '.join(pairs)})"
        case ast.UnaryOp(ast.Not(), operand):
            return _source(operand, text)
        case ast.IfExp(test, body, orelse):
            return f"({opposite(body, text)} if {_source(test, text)} else {opposite(orelse, text)})"
    return f"not {_source(tree, text)}"


def _source(tree: ast.expr, text: str) -> str:
    found = text[tree.col_offset : tree.end_col_offset]
    return found if isinstance(tree, ast.Name | ast.Attribute | ast.Constant | ast.Call) else f"({found})"


@cache
def _function(check: Conditions, parts: tuple[_Part | Check, ...], kinds: tuple[tuple[str, str], ...]) -> Check:
    """One function that goes through the parts. `kinds` says what the instruction has by each name."""
    kind = {name: kind or ("module" if name in check.module or name in PYTHON else "") for name, kind in kinds}
    has = {**check.module, **PYTHON, **WORDS}
    lines = ["def check(o):"]
    lines += [f" {n} = o.{n}" for n, k in kind.items() if k in ("operand", "attribute", "field")]
    lines += [f" {n} = o.operands.get({n!r})" for n, k in kind.items() if k in ("optional", "")]
    for number, part in enumerate(parts):
        if isinstance(part, _Part):
            if all(kind[name] or name in part.maybe for name in part.names):
                lines += _statement(part, number, kind)
                asked = part.need
                say = partial(said, asked, check.module) if isinstance(asked, Need) else asked.check
                has[f"_say{number}"] = say
        else:
            lines += [f" found = _check{number}(o)", " if found: return found"]
            has[f"_check{number}"] = part
    if len(lines) == 1:
        return _nothing
    exec("\n".join(lines), has)  # of conditions in this package
    found: Check = has["check"]
    return found


def _nothing(_: Any) -> None:
    """For an instruction that has none of the operands of a rule."""


def _statement(part: _Part, number: int, kind: Mapping[str, str]) -> Iterator[str]:
    present = [f"{name} is not None" for name in part.names if kind[name] == "optional" and name not in part.maybe]
    asked = [part.asked] if part.asked else []
    test = " and ".join([*present, *asked, f"({part.broken})"])
    if part.each:
        names = re.findall(r"\w+", part.each)
        yield f" for name, t in {_EACH.get(part.each) or f'tiles_named(o, *{names})'}:"
        yield f"  if {test}: return _say{number}(o, name, t)"
    elif isinstance(part.need, When):
        yield f" if {test} and (found := _say{number}(o)): return found"
    else:
        yield f" if {test}: return _say{number}(o)"


# ----------------------------------------------------------------------- messages


def said(need: Need, module: Mapping[str, Any], o: Any, name: str = "", t: Any = None) -> Found:
    """What is said at a site that breaks a condition; of several tiles, at the operand `name`, which is `t`."""
    template = need.message
    if not template or template.startswith("; "):
        must = clauses(_expanded(need.condition, need))[0]
        template = seen(_parsed(must), must) + template

    def value(text: str) -> Any:
        code = _code(text)
        has = {**module, **PYTHON, **WORDS, "o": o, "name": name, "t": t}
        for word in code.co_names:
            if word in where:
                has[word] = value(where[word])
            elif word not in WORDS and word not in _LOCAL and f"{word}(" not in text and hasattr(o, word):
                has[word] = getattr(o, word)
        return eval(code, has)  # of messages in this package

    where, operands = dict(need.where), getattr(o, "operands", {})
    message = value(_marked(template, operands, name))
    if need.doubt and value(need.doubt):
        message = Doubt(message)
    return (message, value(_marked(need.hint, operands, name))) if need.hint else message


def _marked(template: str, operands: Mapping[str, Any], each: str) -> str:
    """A template as an f-string, in which names of operands are those of the finding."""

    def named(found: re.Match[str]) -> str:
        word = each if found[2] == "t" and each else found[2]
        return f"{{o:{found[1]}{word}}}" if word in operands else found[0]

    return "f" + repr(re.sub(r"(?<!\{)\{(%?)(\w+)\}", named, template))


@cache
def _code(text: str) -> Any:
    return compile(text, "<condition>", "eval")
