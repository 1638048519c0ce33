"""Control flow of operations: their edges by hand, and beside what steps of the plan hand on."""

from __future__ import annotations

from pathlib import Path

from ptokit.asm import parse_module, print_module
from ptokit.backends.native.analyses import Flows
from ptokit.diagnostics import DiagnosticError
from ptokit.ir import Module, Value
from ptokit.ir.control import call_edges, called_from, callee, control_of, decides, edges, is_loop, sources
from ptokit.ir.core import Block, Op
from ptokit.run import compile_program
from ptokit.targets import target
from tests.each import each

ROOT = Path(__file__).parents[2]
TEXTS = [path for folder in ("examples/pto", "tests/data") for path in sorted((ROOT / folder).rglob("*.pto"))]


def module(body: str) -> Module:
    text = f"""func.func @g(%p: index) -> index {{
      return %p : index
    }}
    func.func @k(%n: index, %c: i1) attributes {{pto.entry}} {{
      {body}
      return
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    return read.module


def operation(body: str, name: str) -> Op:
    kernel = module(body).functions[1].body
    assert kernel is not None
    return next(op for op in kernel.walk() if op.name == name)


def shown(op: Op) -> list[str]:
    """Edges as ``given>taken@to``; ``to`` is the number of a region or label of a block, or ``out``."""

    def place(to: Block | None) -> str:
        return "out" if to is None else str(op.regions.index(to)) if to in op.regions else to.label

    names = [(tuple(v.name for v in e.given), tuple(v.name for v in e.taken), place(e.to)) for e in edges(op)]
    return [f"{','.join(given)}>{','.join(taken)}@{to}" for given, taken, to in names]


FOR = "%r = scf.for %i = %n to %n step %n iter_args(%x = %n) -> (index) {\n%y = arith.addi %x, %i : index\n"
WHILE = "%r = scf.while (%x = %n) : (index) -> index {\nscf.condition(%c) %x : index\n} do {\n^bb0(%y: index):\n"
SCOPE = "pto.strict_vecscope(%n) {\n^bb0(%x: index):\n} : (index) -> ()"
IF = "%r = scf.if %c -> (index) {\nscf.yield %n : index\n} else {\n%y = arith.addi %n, %n : index\n"


@each(
    "body, name, expected, loop, deciding",
    [
        (FOR + "scf.yield %y : index\n}", "scf.for", "n>x@0 n>r@out y>x@0 y>r@out", True, "lower upper step"),
        ("scf.for %i = %n to %n step %n {\n}", "scf.for", ">@0 >@out >@0 >@out", True, "lower upper step"),
        (WHILE + "scf.yield %y : index\n}", "scf.while", "n>x@0 x>y@1 x>r@out y>x@0", True, ""),
        (WHILE + "scf.yield %y : index\n}", "scf.condition", "", False, "condition"),
        (IF + "scf.yield %y : index\n}", "scf.if", ">@0 >@1 n>r@out y>r@out", False, "condition"),
        ("scf.if %c {\n}", "scf.if", ">@0 >@out >@out", False, "condition"),
        (
            "%r = scf.execute_region -> index {\nscf.yield %n : index\n}",
            "scf.execute_region",
            ">@0 n>r@out",
            False,
            "",
        ),
        (
            "%r = scf.index_switch %n -> index\ncase 1 {\nscf.yield %n : index\n}\ndefault {\n"
            "%y = arith.addi %n, %n : index\nscf.yield %y : index\n}",
            "scf.index_switch",
            ">@0 >@1 y>r@out n>r@out",
            False,
            "index",
        ),
        (
            "pto.strict_vecscope(%n) {\n^bb0(%x: index):\n} : (index) -> ()",
            "pto.strict_vecscope",
            "n>x@0 >@out",
            False,
            "",
        ),
        ("pto.section.vector {\n}", "pto.section.vector", ">@0 >@out", False, ""),
        ("cf.br ^l(%n : index)\n^l(%x: index):", "cf.br", "n>x@l", False, ""),
        (
            "cf.cond_br %c, ^l(%n : index), ^o\n^l(%x: index):\ncf.br ^o\n^o:",
            "cf.cond_br",
            "n>x@l >@o",
            False,
            "condition",
        ),
        ("%r = arith.addi %n, %n : index", "arith.addi", "", False, ""),
    ],
)
def test_edges(body: str, name: str, expected: str, loop: bool, deciding: str) -> None:
    op = operation(body, name)
    assert " ".join(shown(op)) == expected
    assert is_loop(op) == loop
    assert " ".join(decides(op)) == deciding


def test_an_operation_with_regions_that_nothing_is_known_of_may_execute_none_or_repeat_them() -> None:
    op = Op("some.thing", regions=[Block()])
    assert is_loop(op)
    assert {edge.to for edge in control_of(op).entered(op)} == {op.regions[0], None}


def test_a_loop_counts_from_its_lower_bound() -> None:
    op = operation(FOR + "scf.yield %y : index\n}", "scf.for")
    ((arg, lower, upper, step),) = control_of(op).inductions(op)
    assert (arg.name, lower, upper, step) == ("i", op["lower"], op["upper"], op["step"])


def test_calls() -> None:
    read = module("%r = func.call @g(%n) : (index) -> index")
    g, k = read.functions
    assert k.body is not None
    op = k.body.ops[0]
    assert callee(op, read) is g
    found = [([v.name for v in e.given], [v.name for v in e.taken]) for e in call_edges(op, g)]
    assert found == [(["n"], ["p"]), (["p"], ["r"])]
    assert called_from(read, k) == [k, g]
    assert callee(k.body.ops[-1], read) is None


def origins(sources: dict[Value, list[Value]], value: Value) -> set[Value]:
    """What has no sources of its own, of all that a value may be."""
    found: set[Value] = set()
    todo = [value]
    while todo:
        now = todo.pop()
        if now not in found:
            found.add(now)
            todo += sources.get(now, [])
    return {v for v in found if v not in sources}


def unfolded(values: set[Value]) -> set[Value]:
    """Those that are no constants, which steps have as data."""
    return {v for v in values if not (isinstance(v.owner, Op) and v.owner.name == "arith.constant")}


@each("path", TEXTS, ids=lambda path: path.stem)
def test_edges_hand_on_what_the_plan_does(path: Path) -> None:
    """Steps are the planner's own reading of the same operations."""
    read = parse_module(path.read_text()).module
    for entry in read.entries():
        try:
            made = compile_program(read, target("a5"), entry=entry.name).plan
        except DiagnosticError:
            continue  # an example of what is refused, or of another target
        functions = [f for f in read.functions if f.name in made.functions and f.body is not None]
        ops = [op for f in functions for op in f.body.walk()]
        called = [e for op in ops if (f := callee(op, read)) is not None for e in call_edges(op, f)]
        mine, theirs = sources(ops, called), Flows(made).sources
        assert theirs.keys() <= mine.keys()
        for value in theirs:
            constants = {
                v for v in origins(mine, value) if isinstance(v.owner, Op) and v.owner.name == "arith.constant"
            }
            assert origins(mine, value) - constants == origins(theirs, value) - constants, value


def test_attributes_of_a_strict_scope_are_read_where_they_are_printed() -> None:
    first = module("pto.strict_vecscope(%n) {\n^bb0(%x: index):\n} {a = 1 : i32} : (index) -> ()")
    printed = print_module(first)
    assert "} {a = 1 : i32} : (index) -> ()" in printed
    again = parse_module(printed)
    assert [str(d) for d in again.diagnostics] == []
    assert print_module(again.module) == printed


@each("names", ["%i, %j", "%i, %j, %l"])
def test_a_loop_names_one_variable(names: str) -> None:
    read = parse_module(f"func.func @k(%n: index) {{\nscf.for {names} = %n to %n step %n {{\n}}\nreturn\n}}")
    (found,) = read.diagnostics
    assert (found.rule, found.location.line, found.location.column) == ("TEXT-YIELD", 2, 9)
