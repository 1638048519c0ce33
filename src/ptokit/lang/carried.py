"""Finds Python variables that a traced loop or branch changes for code outside of it (LANG-CARRIED).

A body is traced once. A variable that it reads before it assigns it (``off = off + 64``), or that a branch assigns and
later code reads, would silently keep the value of that one pass. The analysis goes by the order of names in the source
and is skipped where the source cannot be read.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from ptokit.diagnostics import Location

from . import rules
from .source import tree_of
from .where import location_of, refusal, user_frame

Use = tuple[str, bool, int]  # name, stored, line


class _Uses(ast.NodeVisitor):
    """Names in the order in which Python evaluates them; `lambda` and nested functions count as reads."""

    def __init__(self) -> None:
        self.uses: list[Use] = []

    def visit_Name(self, node: ast.Name) -> None:
        self.uses.append((node.id, isinstance(node.ctx, ast.Store), node.lineno))

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.uses.append((node.target.id, False, node.lineno))
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)


def _uses(nodes: list[ast.stmt]) -> list[Use]:
    visitor = _Uses()
    for node in nodes:
        visitor.visit(node)
    return visitor.uses


def _read_first(uses: list[Use]) -> set[str]:
    """Names whose first appearance is a read."""
    first: dict[str, bool] = {}
    for name, stored, _ in uses:
        first.setdefault(name, stored)
    return {name for name, stored in first.items() if not stored}


def _stored(uses: list[Use]) -> dict[str, int]:
    """Names that are assigned, with the line of their last assignment."""
    return {name: line for name, stored, line in uses if stored}


@dataclass(frozen=True)
class _Body:
    """A statement with a body: its lines, and what names to watch."""

    first: int
    last: int
    watched: dict[str, int]


@lru_cache(maxsize=256)
def _bodies(code: CodeType) -> tuple[list[_Body], list[_Body]]:
    """Loops and with-statements of a function; empty if its source is not available."""
    tree = tree_of(code)
    if tree is None:
        return [], []
    everything = _uses(tree.body[0].body if isinstance(tree.body[0], ast.FunctionDef) else tree.body)
    loops, branches = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            uses = _uses(node.body)
            stored = _stored(uses)
            watched = {name: stored[name] for name in _read_first(uses) if name in stored}
            loops.append(_Body(node.lineno, node.end_lineno or node.lineno, watched))
        elif isinstance(node, ast.With):
            end = node.end_lineno or node.lineno
            after = _read_first([use for use in everything if use[2] > end])
            stored = _stored(_uses(node.body))
            watched = {name: line for name, line in stored.items() if name in after}
            branches.append(_Body(node.lineno, end, watched))
    return loops, branches


@dataclass
class Snapshot:
    """The variables that a body must not change, as they were when it began."""

    frame: FrameType | None = None
    kind: str = ""
    before: dict[str, tuple[Any, int]] = field(default_factory=dict)  # value and line of its assignment

    @classmethod
    def of_loop(cls) -> Snapshot:
        """For the loop over the iterator that the user's code asks for now."""
        return cls._take("loop", 0)

    @classmethod
    def of_branch(cls) -> Snapshot:
        """For the with-statement whose context manager the user's code makes now."""
        return cls._take("branch", 1)

    @classmethod
    def _take(cls, kind: str, which: int) -> Snapshot:
        frame = user_frame()
        if frame is None:
            return cls()
        line = location_of(frame).line
        around = [body for body in _bodies(frame.f_code)[which] if body.first <= line <= body.last]
        if not around:
            return cls()
        body = max(around, key=lambda b: b.first)
        variables = frame.f_locals
        return cls(frame, kind, {name: (variables[name], at) for name, at in body.watched.items() if name in variables})

    def check(self) -> None:
        """Refuse if a watched variable is another one now."""
        if self.frame is None or not self.before:
            return
        variables = self.frame.f_locals
        for name, (value, line) in self.before.items():
            if not _same(variables.get(name), value):
                column = 1
                raise refusal(
                    rules.CARRIED,
                    f"the traced {self.kind} changes {name!r}, which "
                    + ("its next iteration reads" if self.kind == "loop" else "the code after it reads"),
                    location=Location(self.frame.f_code.co_filename, line, column),
                    hint=_HINTS[self.kind],
                )


_HINTS = {
    "loop": "the body is traced once: compute it from the loop variable, or keep it in a tile; range() unrolls",
    "branch": "the branch is always traced: use pto.select, or keep the result in a tile",
}


def _same(a: object, b: object) -> bool:
    return a is b or (isinstance(a, int | float | str) and type(a) is type(b) and a == b)
