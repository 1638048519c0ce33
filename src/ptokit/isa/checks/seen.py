"""What a message says was seen where a comparison does not hold: "src has 16 valid rows, dst has 8"."""

from __future__ import annotations

import ast

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
    """A template of a message for a comparison, or several, of which it shows the first.

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
