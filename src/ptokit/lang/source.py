"""The source of functions as syntax trees, with the lines and columns of their files."""

from __future__ import annotations

import ast
import inspect
from functools import lru_cache
from types import CodeType


def tree_of(code: CodeType) -> ast.Module | None:
    """The statements that hold a function; None if its source cannot be read."""
    return _tree_of(code, code.co_filename)


@lru_cache(maxsize=256)
def _tree_of(code: CodeType, file: str) -> ast.Module | None:  # codes of two files may be equal
    try:
        lines, start = inspect.getsourcelines(code)
        text = "".join(lines)
        indented = text[:1] in (" ", "\t")
        tree = ast.parse(f"if True:\n{text}" if indented else text)  # as it stands: columns and texts stay right
    except (OSError, TypeError, SyntaxError):
        return None
    ast.increment_lineno(tree, max(start, 1) - 1 - indented)
    block = tree.body[0]
    return ast.Module(block.body, []) if indented and isinstance(block, ast.If) else tree
