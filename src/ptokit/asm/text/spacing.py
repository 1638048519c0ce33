"""Blanks between the tokens of one line, as the printer sets them."""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.isa.table import BY_OPERATION

_LISTS = frozenset(("offset", "sizes", "strides"))  # memref.reinterpret_cast: ``offset: [..]``
_SPACED = {"scf.while", "to", "attributes", "private", "public", "nested", "return", "else", "do"}
"""Words with a blank before an opening bracket, as instructions whose form begins with one have it."""


def join(tokens: Sequence[str], glued: Sequence[bool | None], *, header: bool) -> str:
    """The line of `tokens`; ``glued[i]`` decides whether a blank stands before token i, None leaves it to the rules.

    ``header``: the line is the head of a function or a block label, whose parentheses hold ``%name: type``.
    """
    results = _result_list(tokens)
    parts: list[str] = []
    brackets: list[str] = []
    for i, token in enumerate(tokens):
        if i:
            keep = glued[i]
            names = header and (brackets[-1:] == ["("] or (tokens[0][0] == "^" and not brackets))
            blank = _blank(tokens, i, tight_colon=names or i <= results) if keep is None else not keep
            parts.append(" " * blank)
        parts.append(token)
        if token in ("(", "[", "{"):
            brackets.append(token)
        elif token in (")", "]", "}") and brackets:
            brackets.pop()
    return "".join(parts)


def _result_list(tokens: Sequence[str]) -> int:
    """Index of the ``=`` behind the results that the line starts with; 0 if there are none."""
    if tokens[0][0] != "%":
        return 0
    for i, token in enumerate(tokens):
        if token == "=":
            return i
        if not (token[0] == "%" or token in (",", ":") or token.isdecimal()):
            break
    return 0


def _spaced(word: str) -> bool:
    instr = BY_OPERATION.get(word)
    return "".join(instr.form.grammar[:1]).startswith("[") if instr is not None else word in _SPACED


def _blank(tokens: Sequence[str], i: int, *, tight_colon: bool) -> bool:
    """True if a blank stands before token i."""
    left, right = tokens[i - 1], tokens[i]
    if right in (",", ")", "]") or left in ("(", "["):
        return False
    if left == "{" or right == "}":
        return False  # of a dictionary: a region's braces end their line or start it
    before_label = tokens[i + 1 : i + 2] and tokens[i + 1][0] == "^"
    if right == "[" and before_label:
        return left != ")"
    if right in ("(", "["):
        if right == "[" and left[0].isalpha():  # ``sizes [``, but ``pto.set_flag[``
            return _spaced(left) if "." in left else i > 1
        return _spaced(left) or not (left[0].isalnum() or left[0] in '_@%^"]')
    if right == ":":
        return not (tight_colon or left in _LISTS or before_label)
    if left == ":":
        return not (tight_colon and right.isdecimal())
    if right == "=" and left[0] == "#":  # ``#atomic=add``, but ``#alias = 1``
        return i == 1
    return not (left == "=" and i > 2 and tokens[i - 2][0] == "#")
