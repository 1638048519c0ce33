"""From conditions of rules (`ptokit.diagnostics.rules`) to functions of a site, and what conditions may name.

One function is made of all conditions of a rule, as text: it looks for what *breaks* each, so that comparisons with
`UNKNOWN` find nothing. Messages are compiled when a site breaks a rule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from enum import EnumType
from functools import cache, partial
from types import CodeType
from typing import Any, NamedTuple, Protocol, get_args

from ptokit.diagnostics import Doubt, rule
from ptokit.diagnostics.rules import Check, Conditions, Found, Need, When
from ptokit.targets import A2A3, A5, CPU
from ptokit.types import enums
from ptokit.types.enums import TileType

from ..operands import Role
from ..operands import names as type_names
from ..site import Info, Site, TileInfo, known, least, product

# What a message says was seen where a comparison does not hold: "src has 16 valid rows, dst has 8".


_COUNTED = {
    "vr": "valid rows",
    "vc": "valid columns",
    "rows": "rows",
    "cols": "columns",
    "lanes": "lanes",
}
_SAID = {"dtype": "element type", "slayout": "slayout", "blayout": "blayout"}
_THAN = {ast.LtE: "more than", ast.Lt: "not fewer than", ast.GtE: "fewer than", ast.Gt: "not more than"}


def seen(tree: ast.expr, text: str) -> str:
    """A template of a message for a comparison, or several; it shows the first of them.

    Raises `ValueError` for what has no words here: the rule has to give its message.
    """
    match tree:
        case ast.Compare(ast.Attribute(ast.Name(a), x), _, [ast.Attribute(ast.Name(b), y)]) if x == y:
            return f"{_has(a, x)}, {_has(b, x, again=True)}"
        case ast.Compare(ast.Attribute(ast.Name(a), "loc"), [ast.Is()], [ast.Name(place)]):
            return f"{_has(a, 'loc')}, not {place.lower()}"
        case ast.Compare(ast.Attribute(ast.Name(a), x), [ast.Eq() | ast.Is()], [limit]):
            return f"{_has(a, x)}, not {_shown(limit, text)}"
        case ast.Compare(ast.Attribute(ast.Name(a), x), [op], [limit]) if type(op) in _THAN:
            return f"{_has(a, x)}, {_THAN[type(op)]} {_shown(limit, text)}"
        case ast.Compare(ast.BinOp(ast.Attribute(ast.Name(a), x), ast.Mod(), unit), [ast.Eq()], [ast.Constant(0)]):
            return f"{_has(a, x)}, no multiple of {_shown(unit, text)}"
    raise ValueError(f"{text!r} needs a message")


def _has(operand: str, field: str, *, again: bool = False) -> str:
    if field == "loc":
        return f"{{{operand}}} is a {{{operand}.loc.text}} tile"
    if field in _SAID:
        words = "" if again else f"{_SAID[field]} "
        return f"{{{operand}}} has {words}{{{operand}.{field}}}"
    if field in _COUNTED:
        words = "" if again else f" {_COUNTED[field]}"
        return f"{{{operand}}} has {{{operand}.{field}}}{words}"
    raise ValueError(f"no words for {field}")


def _shown(value: ast.expr, text: str) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    return f"{{{text[value.col_offset : value.end_col_offset]}}}"


# Questions that rules ask about the tiles of a site.


DEVICES = ("a2a3", "a5")
Message = str | tuple[str, str] | None


def all_tiles(o: Site) -> list[tuple[str, TileInfo]]:
    """Every tile operand that is present, with its name."""
    return [(n, t) for n, t in o.operands.items() if isinstance(t, TileInfo)]


def same_tile(a: TileInfo, b: TileInfo) -> bool:
    """True if both operands are known to be one tile: the same value, or address, type and pitch.

    Tiles without an address, as slots of a buffer that has none, are at one place if they begin in the same memory.
    """
    if a is b or (a.data is not None and a.data is b.data):
        return True
    together = a.addr == b.addr if known(a.addr, b.addr) else known(a.origin) and a.origin == b.origin
    return together and (a.loc, a.dtype, a.cols, a.blayout) == (b.loc, b.dtype, b.cols, b.blayout)


def overlap(a: TileInfo, b: TileInfo, *, whole: bool = False) -> bool:
    """True if the bytes of two tiles are known to intersect: those up to the last valid elements, or ``whole`` tiles.

    Scratch is used whatever of it is valid.
    """
    if same_tile(a, b):
        return True
    if a.loc is not b.loc or not known(a.addr, b.addr):
        return False
    sizes = [t.spec.nbytes if whole else _reached(t) for t in (a, b)]
    return bool(a.addr < b.addr + sizes[1] and b.addr < a.addr + sizes[0])


def _reached(t: TileInfo) -> int:
    """Bytes up to the last valid element, as far as that is known, where rows lie one after the other."""
    if not is_nd(t) or not known(t.vr):
        return t.spec.nbytes
    cols = t.vc if known(t.vc) else t.cols
    return t.dtype.nbytes((t.vr - 1) * t.cols + cols) if t.vr and cols else 0


def sharing(o: Site, *names: str) -> Message:
    """Two of the operands whose bytes are known to intersect."""
    tiles = [(name, t) for name in names if isinstance(t := o.operands.get(name), TileInfo)]
    for k, (name, a) in enumerate(tiles):
        for other, b in tiles[k + 1 :]:
            scratch = Role.SCRATCH in (o.instr.operand(name).role, o.instr.operand(other).role)
            if overlap(a, b, whole=scratch) or (a.origin == b.origin and known(a.origin)):
                return f"{o:{name}} and {o:{other}} share bytes"
    return None


def is_dn1(t: TileInfo) -> bool:
    """A column vector: col_major, no boxes, one column."""
    return not t.row_major and not t.boxed and t.cols == 1


def is_nd(t: TileInfo) -> bool:
    """Row-major without boxes."""
    return t.row_major and not t.boxed


def layout(o: Site, name: str) -> str:
    """Description of the layout of a tile operand for messages."""
    t = o.operands[name]
    assert isinstance(t, TileInfo)
    return f"{o:{name}} is {layout_text(t)}"


def layout_text(t: TileInfo) -> str:
    """Layout and size of a tile for messages: ``Nz 16x64``."""
    return f"{t.layout_name} {t.rows}x{t.cols}"


# Words of conditions: what they may name beside the site and the module of the rule.


def tiles_named(o: Site, *operands: str) -> list[tuple[str, TileInfo]]:
    """The operands that are there and are tiles, with their names."""
    return [(name, t) for name in operands if isinstance(t := o.operands.get(name), TileInfo)]


WORDS: dict[str, Any] = {
    **{kind.name: kind for kind in TileType},
    **{name: word for name, word in vars(enums).items() if isinstance(word, EnumType)},
    **{info.__name__: info for info in get_args(Info)},
    "A2A3": A2A3,
    "A5": A5,
    "CPU": CPU,
    "nd": is_nd,
    "dn1": is_dn1,
    "overlap": overlap,
    "same": same_tile,
    "known": known,
    "least": least,
    "product": product,
    "layout_text": layout_text,
    "type_names": type_names,
    "tiles_named": tiles_named,
    "all_tiles": all_tiles,
}
"""What conditions and messages may name beside operands, attributes and the site."""

PYTHON: dict[str, Any] = {
    function.__name__: function
    for function in (
        abs,
        all,
        any,
        bool,
        float,
        getattr,
        int,
        isinstance,
        len,
        max,
        min,
        next,
        range,
        set,
        sorted,
        str,
        sum,
    )
}
"""Functions of Python that conditions may call."""


# From conditions of rules (`ptokit.diagnostics.rules`) to functions of a site.


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

    Operands must be there, but those whose presence the condition itself asks for (``maybe``).
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
    """An expression with the values of its names."""
    for name, expression in reversed(need.where):
        if name in text:
            text = re.sub(rf"(?<![\w.'\"]){name}\b", f"({expression})", text)
    return text


def clauses(condition: str) -> tuple[str, str, str]:
    """What must hold, for which tiles, and what must be known to be so for that."""
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
        code, names = _code(text)
        has = {**module, **PYTHON, **WORDS, "o": o, "name": name, "t": t}
        for word in names:
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
def _code(text: str) -> tuple[CodeType, tuple[str, ...]]:
    """An expression, and the names in it, those in its comprehensions too."""
    code = compile(text, "<condition>", "eval")
    return code, tuple(dict.fromkeys(_names_of(code)))


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_of(inner)


# The check of attributes that an instruction cannot be without.


@rule(
    "ATTR-1",
    """
        pto.vecscope {
        %m = pto.pset_b32 {"PAT_ALL" |}: !pto.mask<b32>
        }
    """,
    source="the attributes that VPTOOps.td and VMIOps.td declare",
    evidence="assembler ptokit",
)
def REQUIRED(o: Site) -> str | None:
    """Attributes that say what is computed, and have no default, are given: patterns, comparisons, counts of groups."""
    missing = [attr.name for attr in o.instr.attrs if attr.required and o.attrs.get(attr.name) is None]
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing" if missing else None
