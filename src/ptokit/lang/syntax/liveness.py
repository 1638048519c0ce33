"""Which variables are assigned by statements, and which are read behind them before they are assigned again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

Names = frozenset[str]
NONE: Names = frozenset()

_ASSIGNED, _LOADED = "·assigned", "·loaded"  # kept at nodes, which are asked again and again and do not change

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(nodes: Iterable[ast.AST]) -> Names:
    """The variables that statements assign, in whatever is nested in them, functions apart."""
    return NONE.union(*map(_assigned_by, nodes))


def _assigned_by(node: ast.AST) -> Names:
    known: Names | None = node.__dict__.get(_ASSIGNED)
    if known is None:
        found: set[str] = set()
        _assigned(node, found)
        known = node.__dict__[_ASSIGNED] = frozenset(found)
    return known


def _assigned(node: ast.AST, found: set[str]) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        found.add(node.name)
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        found.add(node.id)
    elif isinstance(node, ast.alias):
        found.add((node.asname or node.name).split(".")[0])
    if isinstance(node, _COMPREHENSIONS):  # its variables are its own
        inner: set[str] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr) and isinstance(part.target, ast.Name):
                inner.add(part.target.id)
        found.update(inner)
        return
    for child in ast.iter_child_nodes(node):
        _assigned(child, found)


def loaded(node: ast.AST) -> list[ast.Name]:
    """The variables that a statement or expression reads, in whatever is nested in it."""
    known: list[ast.Name] | None = node.__dict__.get(_LOADED)
    if known is None:
        known = [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        node.__dict__[_LOADED] = known
    return known


def jumps(nodes: Iterable[ast.AST], *, loop: bool = False) -> list[ast.stmt]:
    """The statements that lead out of `nodes`: return, and break and continue of loops around them.

    ``loop``: the nodes stand in a loop of their own, which break and continue belong to.
    """
    found: list[ast.stmt] = []
    for node in nodes:
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not loop):
            found.append(node)
        elif isinstance(node, (ast.For, ast.While)):
            found += jumps(node.body, loop=True) + jumps(node.orelse, loop=loop)
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found += jumps(ast.iter_child_nodes(node), loop=loop)
    return found


def falls_through(nodes: Sequence[ast.stmt]) -> bool:
    """False if control surely leaves the statements before their end."""
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            return False
        if isinstance(node, ast.If) and node.orelse and not falls_through(node.body) and not falls_through(node.orelse):
            return False
    return True


class Liveness:
    """For each statement of a function the variables that may be read behind it before they are assigned."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._after: dict[int, Names] = {}
        self._jumps: dict[int, Names] = {}  # where a jump leads to
        self._heads: dict[int, Names] = {}  # of loops: what is live where the next turn begins
        self._always = frozenset(  # nested functions read variables whenever they are called
            name.id
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, _FUNCTIONS)
            for name in loaded(node)
        )
        self._block(body, NONE, NONE, NONE)

    def after(self, node: ast.stmt) -> Names:
        """What is live behind a statement."""
        return self._after.get(id(node), NONE) | self._always

    def jumped(self, statements: Iterable[ast.stmt] | None) -> Names:
        """What is live where the jumps in statements lead to, or any jump of the function (None)."""
        if statements is None:
            return self._always.union(*self._jumps.values())
        return self._always.union(*(self._jumps.get(id(jump), NONE) for jump in jumps(statements)))

    def head(self, loop: ast.stmt) -> Names:
        """What is live where a turn of the loop begins."""
        return self._heads.get(id(loop), NONE) | self._always

    def _block(self, nodes: Sequence[ast.stmt], out: Names, on_break: Names, on_continue: Names) -> Names:
        live = out
        for node in reversed(nodes):
            self._after[id(node)] = self._after.get(id(node), NONE) | live
            live = self._statement(node, live, on_break, on_continue)
        return live

    def _statement(self, node: ast.stmt, out: Names, on_break: Names, on_continue: Names) -> Names:
        match node:
            case ast.Return() | ast.Raise():
                return _reads(node)
            case ast.Break() | ast.Continue():
                there = on_break if isinstance(node, ast.Break) else on_continue
                self._jumps[id(node)] = self._jumps.get(id(node), NONE) | there
                return there
            case ast.If(test, body, orelse):
                either = self._block(body, out, on_break, on_continue) | self._block(orelse, out, on_break, on_continue)
                return either | _reads(test)
            case ast.While(test, body, orelse):
                behind = self._block(orelse, out, on_break, on_continue)
                return self._loop(node, body, behind, out, _reads(test), NONE)
            case ast.For(target, iterable, body, orelse):
                behind = self._block(orelse, out, on_break, on_continue)
                return self._loop(node, body, behind, out, NONE, assigned([target])) | _reads(iterable)
            case ast.With(items, body):
                live = self._block(body, out, on_break, on_continue) | out  # pto.if_ may skip it
                for item in reversed(items):
                    live = (live - assigned([item])) | _reads(item)
                return live
            case ast.AugAssign(target):
                return out | _reads(node) | {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            case ast.Assign() | ast.AnnAssign() | ast.FunctionDef() | ast.Import() | ast.ImportFrom() | ast.Delete():
                return (out - assigned([node])) | _reads(node)
        return out | _reads(node)

    def _loop(
        self, node: ast.stmt, body: list[ast.stmt], behind: Names, after: Names, test: Names, targets: Names
    ) -> Names:
        head = behind | test
        while True:  # until what the next turn reads is known at the end of the body
            live = (self._block(body, head, after, head) - targets) | head
            if live == head:
                self._heads[id(node)] = head
                return head
            head = live


def _reads(node: ast.AST) -> Names:
    return frozenset(name.id for name in loaded(node))
