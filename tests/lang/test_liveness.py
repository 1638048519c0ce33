"""What may be read after a statement: of random functions, compared with a search through the graph of their steps."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence

import pytest

from ptokit.lang.syntax.carry import Liveness, assigned, falls_through, jumps

NAMES = "abcdef"


class Step:
    """One thing that a function does: variables it reads, then variables it writes, then one of the next steps."""

    def __init__(self, reads: Sequence[str] = (), writes: Sequence[str] = ()) -> None:
        self.reads, self.writes = set(reads), set(writes)
        self.next: list[Step] = []

    def to(self, *steps: Step) -> Step:
        self.next += steps
        return self

    def live(self) -> set[str]:
        """The variables that some way from here reads before it writes them."""
        return {name for name in NAMES if self._read(name)}

    def _read(self, name: str) -> bool:
        seen: set[int] = set()
        todo = [self]
        while todo:
            step = todo.pop()
            if id(step) in seen:
                continue
            seen.add(id(step))
            if name in step.reads:
                return True
            if name not in step.writes:
                todo += step.next
        return False

    def reaches(self, wanted: Step) -> bool:
        seen: set[int] = set()
        todo = [self]
        while todo:
            step = todo.pop()
            if step is wanted:
                return True
            if id(step) not in seen:
                seen.add(id(step))
                todo += step.next
        return False


class Graph:
    """The steps of a function: where each statement ends, each jump leads to and each loop begins an iteration."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.end: dict[ast.stmt, Step] = {}
        self.heads: dict[ast.stmt, Step] = {}
        self.jumps: dict[ast.stmt, Step] = {}
        self.block(body, Step(), None, None)

    def block(self, body: Sequence[ast.stmt], after: Step, out: Step | None, again: Step | None) -> Step:
        for statement in reversed(body):
            self.end[statement] = after
            after = self.statement(statement, after, out, again)
        return after

    def statement(self, s: ast.stmt, after: Step, out: Step | None, again: Step | None) -> Step:
        match s:
            case ast.Assign([ast.Name(name)], ast.Lambda()) | ast.FunctionDef(name):
                return Step((), name).to(after)
            case ast.Assign([ast.Subscript() as target], value):
                return Step([*names(target), *names(value)]).to(after)
            case ast.Assign([target], value):
                return Step(names(value), names(target)).to(after)
            case ast.AugAssign(target, _, value):
                return Step([*names(target), *names(value)], names(target)).to(after)
            case ast.Delete([target]):
                return Step((), names(target)).to(after)
            case ast.Import([ast.alias(_, name)]):
                return Step((), name or "").to(after)
            case ast.Expr(value) | ast.Assert(value):
                return Step(names(value)).to(after)
            case ast.Return(value):
                self.jumps[s] = Step()
                return Step(names(value))
            case ast.Raise(value):
                return Step(names(value))
            case ast.Break() | ast.Continue():
                to = out if isinstance(s, ast.Break) else again
                assert to is not None
                self.jumps[s] = to
                return Step().to(to)
            case ast.If(test, body, orelse):
                ways = self.block(body, after, out, again), self.block(orelse, after, out, again)
                return Step(names(test)).to(*ways)
            case ast.While(test, body):
                head = self.heads[s] = Step(names(test))
                return head.to(after, self.block(body, head, after, head))
            case ast.For(target, iterable, body):
                head = self.heads[s] = Step()
                first = Step((), names(target))
                head.to(after, first)
                first.to(self.block(body, head, after, head))
                return Step(names(iterable)).to(head)
            case ast.With([item], body):
                entered = Step(names(item.context_expr), names(item.optional_vars))
                return entered.to(after, self.block(body, after, out, again))  # a condition may skip the body
        raise AssertionError(ast.dump(s))


def names(node: ast.AST | None) -> list[str]:
    return [] if node is None else [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]


def written(rng: random.Random, depth: int, loop: bool) -> Iterator[str]:
    """The lines of a few statements."""
    for _ in range(rng.randint(1, 3)):
        a, b, c = rng.choices(NAMES, k=3)
        simple = [
            f"{a} = {b}",
            f"{a} = {b} + {c}",
            f"{a}, {b} = {c}, 1",
            f"{a} += {b}",
            f"{a}[{b}] = {c}",
            f"{a}({b})",
            f"assert {a}",
            f"del {a}",
            f"import m as {a}",
        ]
        kind = rng.random()
        if kind < 0.45 or depth == 0:
            yield rng.choice(simple)
        elif kind < 0.55:
            yield rng.choice(["break", "continue", f"return {a}", "return", f"raise {a}"][0 if loop else 2 :])
        elif kind < 0.58:
            yield rng.choice([f"{a} = lambda: {b}", f"def {a}(): return {b}"])
        else:
            head = rng.choice([f"if {a}:", f"if {a}:", f"while {a}:", f"for {a} in {b}:", f"with {a}({b}) as {c}:"])
            inside = loop or head.startswith(("while", "for"))
            yield head
            yield from (f"    {line}" for line in written(rng, depth - 1, inside))
            if head.startswith("if") and rng.random() < 0.5:
                yield "else:"
                yield from (f"    {line}" for line in written(rng, depth - 1, loop))


def compare(seed: int) -> None:
    text = "\n".join(written(random.Random(seed), 3, False))
    body = ast.parse(text).body
    graph, found = Graph(body), Liveness(body)
    whole = [node for statement in body for node in ast.walk(statement)]
    functions = [n for n in whole if isinstance(n, (ast.Lambda, ast.FunctionDef))]
    always = {name for f in functions for name in names(f.body if isinstance(f, ast.Lambda) else f.body[0])}
    for statement, end in graph.end.items():
        place = f"{text}\nline {statement.lineno}"
        assert found.after(statement) == end.live() | always, place
        leaving = [jump for jump in inner(statement, ast.stmt) if jump in graph.jumps and leaves(jump, statement)]
        assert set(map(id, jumps([statement]))) == set(map(id, leaving)), place
        ends = [graph.jumps[jump].live() for jump in leaving if not isinstance(jump, ast.Return)]
        assert found.jumped([statement]) | always == always.union(*ends), place
        alone = Step()
        assert falls_through([statement]) == Graph([]).block([statement], alone, Step(), Step()).reaches(alone), place
    for loop, head in graph.heads.items():
        assert found.head(loop) == head.live() | always, text


def inner(node: ast.AST, kind: type) -> list[ast.AST]:
    """Statements in a statement, itself too; not those of functions."""
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return [node] if isinstance(node, kind) else []
    below = [n for child in ast.iter_child_nodes(node) for n in inner(child, kind)]
    return [node, *below] if isinstance(node, kind) else below


def leaves(jump: ast.AST, statement: ast.AST) -> bool:
    """True if a jump leads out of a statement: no loop between them takes it."""
    loops = [n for n in inner(statement, ast.stmt) if isinstance(n, (ast.For, ast.While))]
    return isinstance(jump, ast.Return) or not any(jump in inner(loop, ast.stmt) for loop in loops)


def test_it_is_what_some_way_reads() -> None:
    for seed in range(400):
        compare(seed)


@pytest.mark.campaign
def test_it_is_what_some_way_reads_of_many() -> None:
    for seed in range(1000, 21000):
        compare(seed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, (b, *c) = d", "abc"),
        ("a[b] = c", ""),
        ("a.b += c", ""),
        ("for a in b:\n    c = d", "ac"),
        ("with a as b:\n    c = d", "bc"),
        ("def f(x):\n    b = x", "f"),
        ("class F:\n    b = 1", "F"),
        ("f = lambda x: (b := x)", "f"),
        ("a = [b for b in c]", "a"),
        ("a = [(b := c) for c in d]", "ab"),
        ("a = {b: (e := c) for b, c in d}", "ae"),
        ("import a.b", "a"),
        ("import b.c as a", "a"),
        ("from b import a", "a"),
        ("if (a := b):\n    pass", "a"),
        ("del a", "a"),
    ],
)
def test_what_statements_assign(text: str, expected: str) -> None:
    assert assigned(ast.parse(text).body) == set(expected)
