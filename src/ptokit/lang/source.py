"""The source of functions as syntax trees, with the lines and columns of their files."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import lru_cache
from types import CodeType


@lru_cache(maxsize=256)
def tree_of(code: CodeType) -> ast.Module | None:
    """The statements that hold a function; None if its source cannot be read. Columns are right for statements."""
    try:
        lines, start = inspect.getsourcelines(code)
        text = textwrap.dedent("".join(lines))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        return None
    ast.increment_lineno(tree, max(start, 1) - 1)
    indent = len(lines[0]) - len(text.splitlines(keepends=True)[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            node.col_offset += indent
    return tree
