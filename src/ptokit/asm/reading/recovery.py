"""Going on after an operation that could not be read: where the next one starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from ptokit.ir import Block
from ptokit.isa.table import BY_TEXT

from ..text.cursor import OperationError
from ..text.lexer import EOF
from .parser import Parser

_DOTTED = re.compile(r"(?:pto|arith|scf|func|memref|builtin|cf|math|affine|vector)\.[A-Za-z]", re.ASCII)
FUNCTION_WORDS = frozenset(("func.func", '"func.func"'))
_BARE = frozenset(("return", "module", "call"))


def starts_operation(p: Parser, i: int) -> bool:
    """True if an operation seems to start at token `i`.

    At the start of a line a name or a result list is enough; elsewhere ``%x = dialect.name`` or a dotted name.
    """
    texts = p.texts
    token = texts[i]
    if token is EOF:
        return False
    following = texts[i + 1]
    if token[0] == "%":
        if following == "=":
            return bool(_DOTTED.match(texts[i + 2])) or p.tokens.starts_line(i)
        return following in (":", ",") and p.tokens.starts_line(i) and _result_list(p, i)
    if token[0] == '"':
        return following == "(" and p.tokens.starts_line(i)
    if following in ("=", ",", "}", ")", ":"):  # a key, a word in a list
        return token in _BARE and p.tokens.starts_line(i) and following == "}"
    return bool(_DOTTED.match(token)) or ((token in _BARE or token in BY_TEXT) and p.tokens.starts_line(i))


def _result_list(p: Parser, i: int) -> bool:
    """True if ``%a, %b:2, .. =`` stands at token `i`."""
    texts = p.texts
    for k in range(i, min(i + 64, len(texts))):
        token = texts[k]
        if token == "=":
            return True
        if not (token[0] == "%" or token in (",", ":") or token.isdecimal()):
            return False
    return False


def recover(p: Parser, start: int, names: Sequence[int], read_ops: Callable[[Parser, Block], None]) -> None:
    """Skip the rest of an operation that began at token `start`.

    Its results become poisoned values. A region that belongs to it is still read, with the unknown names of its head
    poisoned, so that errors inside are found.
    """
    texts = p.texts
    for index in names:
        if texts[index] not in p.scope.values:
            p.poison(index)
    p.i = start if texts[start] == "{" else max(p.i, start + 1)
    while True:
        token = texts[p.i]
        if token is EOF or token == "}" or token in FUNCTION_WORDS or (token[0] == "^" and p.i in p.labels.places):
            return
        if token == "{":
            if texts[p.i + 1][0] == "^" or starts_operation(p, p.i + 1):
                _region(p, start, read_ops)
            else:
                _braces(p)
        elif starts_operation(p, p.i):
            return
        else:
            p.i += 1


def _region(p: Parser, start: int, read_ops: Callable[[Parser, Block], None]) -> None:
    """Read the region at the brace for its errors only."""
    p.scope.enter()
    for index in range(start, p.i):
        token = p.texts[index]
        if token[0] == "%" and token not in p.scope.values:
            p.poison(index)
    opening = p.expect("{")
    p.enter()
    read_ops(p, Block())
    p.leave()
    p.scope.leave()
    with suppress(OperationError):
        p.closed(opening)


def _braces(p: Parser) -> None:
    """Step over ``{ .. }``, or up to an operation at the start of a line: then a brace is missing."""
    depth = 0
    while True:
        token = p.texts[p.i]
        if token is EOF:
            return
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                p.i += 1
                return
        elif depth == 1 and p.tokens.starts_line(p.i) and starts_operation(p, p.i):
            return
        p.i += 1
