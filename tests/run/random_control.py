"""Random programs of loops, branches and calls that store at any place, and the same programs walked in Python.

Every block works on slots of its own in global memory, `SLOTS` whole numbers and a row of floats.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SLOTS = 4
LANES = 8
_TILE = f"!pto.tile_buf<vec, 1x{LANES}xf32>"
_VIEW = "!pto.tensor_view<?x?xf32>"
_PART = f"!pto.partition_tensor_view<1x{LANES}xf32>"
_PARAMS = "%p: !pto.ptr<i64>, %z: !pto.ptr<f32>, %b: index, %x: i64"


class _Left(Exception):
    """The walk leaves a function early."""


@dataclass
class State:
    """What one block has: its number, its slots, and how often its row was raised by one."""

    block: int
    slots: list[int]
    raised: int = 0


Value = tuple[str, Callable[[State, dict[str, int]], int]]
"""The name of an i64 in the text, and the same number in the walk."""
Walk = Callable[[State, dict[str, int]], None]


def _always(state: State, known: dict[str, int]) -> int:
    return True


class ControlProgram:
    """``text`` is the kernel ``@k(slots, rows, x)``; `walk` is what it does to one block."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0
        self.depth = 0
        self.quiet = self.rng.choice([0, 3, 10])  # stores are rarer in some programs: there blocks may run together
        self.deepest = self.rng.randint(1, 3)
        self.functions: list[tuple[list[str], Walk]] = []
        for _ in range(self.rng.choice([0, 0, 1, 3])):
            self.functions.append(self.function())  # each may call those before it
        self.functions.append(self.function())
        self.text = "module {\n" + "".join(self.shown(k) for k in range(len(self.functions))) + "}\n"

    def walk(self, state: State, x: int) -> None:
        self.functions[-1][1](state, {"x": x})

    def shown(self, k: int) -> str:
        body = "\n".join(self.functions[k][0])
        if k < len(self.functions) - 1:
            return f"func.func @f{k}({_PARAMS}) {{\n{body}\n}}\n"
        params = _PARAMS.replace("%b: index, ", "")
        start = "%b64 = pto.get_block_idx\n%b = arith.index_cast %b64 : i64 to index"
        return f"func.func @k({params}) attributes {{pto.entry}} {{\n{start}\n{body}\n}}\n"

    # --- values --------------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def define(self, out: list[str], right: str) -> str:
        name = self.fresh()
        out.append(f"%{name} = {right}")
        return name

    def constant(self, out: list[str], number: int, type: str = "i64") -> str:
        return self.define(out, f"arith.constant {number} : {type}")

    def place(self, out: list[str], k: int) -> str:
        first = self.define(out, f"arith.muli %b, %{self.constant(out, SLOTS, 'index')} : index")
        return self.define(out, f"arith.addi %{first}, %{self.constant(out, k, 'index')} : index")

    def value(self, out: list[str], scope: list[str]) -> Value:
        """A number from 0 to 15: of all blocks, of this block, or out of memory."""
        kind = self.rng.choice(["constant", "block", "block", "slot", "scope", "scope", "sum"])
        if kind == "constant":
            n = self.rng.randint(0, 5)
            return self.constant(out, n), lambda state, known: n
        if kind == "block":
            return self.define(out, "arith.index_cast %b : index to i64"), lambda state, known: state.block
        if kind == "slot":
            k = self.rng.randrange(SLOTS)
            at = self.place(out, k)
            loaded = self.define(out, f"pto.load_scalar %p[%{at}] : !pto.ptr<i64> -> i64")
            return loaded, lambda state, known: state.slots[k]
        if kind == "scope":
            name = self.rng.choice(scope)
            return name, lambda state, known: known[name]
        (a, left), (b, right) = self.value(out, scope), self.value(out, scope)
        total = self.define(out, f"arith.addi %{a}, %{b} : i64")
        kept = self.define(out, f"arith.andi %{total}, %{self.constant(out, 15)} : i64")
        return kept, lambda state, known: (left(state, known) + right(state, known)) & 15

    def small(self, out: list[str], scope: list[str]) -> Value:
        """A number from 0 to 3."""
        name, number = self.value(out, scope)
        kept = self.define(out, f"arith.andi %{name}, %{self.constant(out, 3)} : i64")
        return kept, lambda state, known: number(state, known) & 3

    def condition(self, out: list[str], scope: list[str]) -> Value:
        (a, left), (b, right) = self.value(out, scope), self.value(out, scope)
        return self.define(out, f"arith.cmpi slt, %{a}, %{b} : i64"), lambda s, known: left(s, known) < right(s, known)

    # --- statements ----------------------------------------------------------------------------------------------

    def function(self) -> tuple[list[str], Walk]:
        out: list[str] = []
        rows, cols, one, zero = (self.constant(out, n, "index") for n in (64, LANES, 1, 0))
        shape = f"shape = [%{rows}, %{cols}], strides = [%{cols}, %{one}]"
        out.append(f"%zv = pto.make_tensor_view %z, {shape} : {_VIEW}")
        part = f"offsets = [%b, %{zero}], sizes = [%{one}, %{cols}] : {_VIEW} -> {_PART}"
        out += [f"%zp = pto.partition_view %zv, {part}", f"%t = pto.alloc_tile : {_TILE}"]
        out.append("%onef = arith.constant 1.0 : f32")
        if self.rng.random() < 0.3:
            return out, self.early(out)
        body = self.statements(out, ["x"])
        out.append("return")
        return out, body

    def early(self, out: list[str]) -> Walk:
        """A body of several blocks, which may be left between any two of them."""
        parts: list[tuple[Walk, Callable[[State, dict[str, int]], int]]] = []
        for _ in range(self.rng.randint(1, 3)):
            work = self.statements(out, ["x"])
            name, test = self.condition(out, ["x"])
            label = self.fresh()
            out += [f"cf.cond_br %{name}, ^exit{label}, ^go{label}", f"^exit{label}:", "return", f"^go{label}:"]
            parts.append((work, test))
        last = self.statements(out, ["x"])
        out.append("return")

        def walk(state: State, known: dict[str, int]) -> None:
            for work, test in parts:
                work(state, known)
                if test(state, known):
                    return
            last(state, known)

        return walk

    def statements(self, out: list[str], scope: list[str]) -> Walk:
        self.depth += 1
        effects = self.rng.choices(["store", "raise", "quiet"], [1, 1, self.quiet], k=2)
        flow = ["if", "for", "while", "switch", "blocks", *["call"] * 3]
        kinds = effects if self.depth > self.deepest else [self.rng.choice(effects), *self.rng.choices(flow, k=2)]
        chosen = self.rng.choices(kinds, k=self.rng.choice([1, 1, 1, 2, 3]))
        steps = [getattr(self, f"{kind}_")(out, scope) for kind in chosen]
        self.depth -= 1

        def walk(state: State, known: dict[str, int]) -> None:
            for step in steps:
                step(state, known)

        return walk

    def store_(self, out: list[str], scope: list[str]) -> Walk:
        k = self.rng.randrange(SLOTS)
        name, number = self.value(out, scope)
        at = self.place(out, k)
        old = self.define(out, f"pto.load_scalar %p[%{at}] : !pto.ptr<i64> -> i64")
        more = self.define(out, f"arith.addi %{old}, %{name} : i64")
        more = self.define(out, f"arith.addi %{more}, %{self.constant(out, 1)} : i64")
        kept = self.define(out, f"arith.andi %{more}, %{self.constant(out, 15)} : i64")
        out.append(f"pto.store_scalar %{kept}, %p[%{at}] : !pto.ptr<i64>, i64")

        def walk(state: State, known: dict[str, int]) -> None:
            state.slots[k] = (state.slots[k] + number(state, known) + 1) & 15

        return walk

    def quiet_(self, out: list[str], scope: list[str]) -> Walk:
        return lambda state, known: None

    def raise_(self, out: list[str], scope: list[str]) -> Walk:
        out.append(f"pto.tload ins(%zp : {_PART}) outs(%t : {_TILE})")
        out.append(f"pto.tadds ins(%t, %onef : {_TILE}, f32) outs(%t : {_TILE})")
        out.append(f"pto.tstore ins(%t : {_TILE}) outs(%zp : {_PART})")

        def walk(state: State, known: dict[str, int]) -> None:
            state.raised += 1

        return walk

    def if_(self, out: list[str], scope: list[str]) -> Walk:
        name, test = self.condition(out, scope)
        out.append(f"scf.if %{name} {{")
        then = self.statements(out, scope)
        other: Walk | None = None
        if self.rng.random() < 0.5:
            out.append("} else {")
            other = self.statements(out, scope)
        out.append("}")

        def walk(state: State, known: dict[str, int]) -> None:
            if test(state, known):
                then(state, known)
            elif other is not None:
                other(state, known)

        return walk

    def for_(self, out: list[str], scope: list[str]) -> Walk:
        (low, first), (high, last) = self.small(out, scope), self.small(out, scope)
        bounds = [self.define(out, f"arith.index_cast %{n} : i64 to index") for n in (low, high)]
        i, one = self.fresh(), self.constant(out, 1, "index")
        out.append(f"scf.for %{i} = %{bounds[0]} to %{bounds[1]} step %{one} {{")
        turn = self.define(out, f"arith.index_cast %{i} : index to i64")
        body = self.statements(out, [*scope, turn])
        out.append("}")

        def walk(state: State, known: dict[str, int]) -> None:
            for k in range(first(state, known), last(state, known)):
                body(state, {**known, turn: k})

        return walk

    def while_(self, out: list[str], scope: list[str]) -> Walk:
        """Counts down; ends early where memory says so. Either region may store."""
        start, first = self.small(out, scope)
        r, n, m, zero = self.fresh(), self.fresh(), self.fresh(), self.constant(out, 0)
        out.append(f"%{r} = scf.while (%{n} = %{start}) : (i64) -> i64 {{")
        before = self.store_(out, [*scope, n]) if self.rng.random() < 0.1 else None
        more = self.define(out, f"arith.cmpi sgt, %{n}, %{zero} : i64")
        test = _always
        if self.rng.random() < 0.3:
            name, test = self.condition(out, [*scope, n])
            more = self.define(out, f"arith.andi %{more}, %{name} : i1")
        out += [f"scf.condition(%{more}) %{n} : i64", "} do {", f"^bb0(%{m}: i64):"]
        body = self.statements(out, [*scope, m])
        less = self.define(out, f"arith.subi %{m}, %{self.constant(out, 1)} : i64")
        out += [f"scf.yield %{less} : i64", "}"]

        def walk(state: State, known: dict[str, int]) -> None:
            left = first(state, known)
            while True:
                if before is not None:
                    before(state, {**known, n: left})
                going = test(state, {**known, n: left})
                if not (left > 0 and going):
                    return
                body(state, {**known, m: left})
                left -= 1

        return walk

    def switch_(self, out: list[str], scope: list[str]) -> Walk:
        name, number = self.small(out, scope)
        chosen = self.define(out, f"arith.index_cast %{name} : i64 to index")
        out.append(f"scf.index_switch %{chosen}")
        cases: dict[int, Walk] = {}
        for case in self.rng.sample(range(4), self.rng.randint(1, 2)):
            out.append(f"case {case} {{")
            cases[case] = self.statements(out, scope)
            out += ["scf.yield", "}"]
        out.append("default {")
        default = self.statements(out, scope)
        out += ["scf.yield", "}"]

        def walk(state: State, known: dict[str, int]) -> None:
            cases.get(number(state, known), default)(state, known)

        return walk

    def call_(self, out: list[str], scope: list[str]) -> Walk:
        if not self.functions:
            return self.quiet_(out, scope)
        k = self.rng.randrange(len(self.functions))
        name, number = self.value(out, scope)
        types = "!pto.ptr<i64>, !pto.ptr<f32>, index, i64"
        out.append(f"func.call @f{k}(%p, %z, %b, %{name}) : ({types}) -> ()")
        callee = self.functions[k][1]
        return lambda state, known: callee(state, {"x": number(state, known)})

    def blocks_(self, out: list[str], scope: list[str]) -> Walk:
        """A loop of branches, left in its middle."""
        start, first = self.small(out, scope)
        tag, n, zero, one = self.fresh(), self.fresh(), self.constant(out, 0), self.constant(out, 1)
        out += ["scf.execute_region {", f"cf.br ^head{tag}(%{start} : i64)", f"^head{tag}(%{n}: i64):"]
        work = self.statements(out, [*scope, n])
        more = self.define(out, f"arith.cmpi sgt, %{n}, %{zero} : i64")
        less = self.define(out, f"arith.subi %{n}, %{one} : i64")
        out += [f"cf.cond_br %{more}, ^body{tag}, ^exit{tag}", f"^body{tag}:"]
        after = self.statements(out, [*scope, n])
        name, test = self.condition(out, [*scope, n])
        out += [f"cf.cond_br %{name}, ^exit{tag}, ^head{tag}(%{less} : i64)", f"^exit{tag}:", "scf.yield", "}"]

        def walk(state: State, known: dict[str, int]) -> None:
            left = first(state, known)
            while True:
                work(state, {**known, n: left})
                if left <= 0:
                    return
                after(state, {**known, n: left})
                if test(state, {**known, n: left}):
                    return
                left -= 1

        return walk


def expected(program: ControlProgram, slots: np.ndarray, x: int) -> tuple[np.ndarray, np.ndarray]:
    """What slots and rows hold in the end, by the walk; ``slots`` (blocks, SLOTS) as they are in the beginning."""
    blocks = len(slots)
    after, rows = slots.copy(), np.zeros((64, LANES), np.float32)
    for block in range(blocks):
        state = State(block, slots[block].tolist())
        program.walk(state, x)
        after[block], rows[block] = state.slots, state.raised
    return after, rows
