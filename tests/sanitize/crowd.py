"""Random launches of many cores on few rows of global memory, and their races by transitive closure.

Nothing here has clocks or remembers accesses. A program becomes a graph: every operation of every core has a node where
it begins and one where it has completed, and an edge says that one of these comes before another. Two accesses race if
no path leads from the end of one to the begin of the other (memory-model-and-sync 5, 6; strict order).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptokit.asm import parse_module
from ptokit.sanitize import Report, sanitize
from ptokit.targets import target as target_named

ROWS = 8
COLUMNS = 8
WIDE = 3  # rows of a wide access, which begins at row 0
_TILE = f"!pto.tile_buf<vec, 1x{COLUMNS}xf32>"
_VIEW = f"!pto.partition_tensor_view<1x{COLUMNS}xf32>"
_WIDE_TILE = f"!pto.tile_buf<vec, {WIDE}x{COLUMNS}xf32>"
_WIDE_VIEW = f"!pto.partition_tensor_view<{WIDE}x{COLUMNS}xf32>"
_SLOT = "!pto.partition_tensor_view<1x1xi32>"

Who = tuple[str, int]
"""Which cores do something: ("all", 0), ("one", k), ("not", k), ("below", k)."""
Row = tuple[str, int]
"""Which row: ("fixed", r), ("own", k): (block + k) mod 8, ("wide", 0): the first three."""


@dataclass(eq=False)
class Step:
    """One operation of the text. ``line`` is set when the text is written."""

    verb: str
    row: Row = ("fixed", 0)
    tile: int = 0
    pipes: tuple[str, str] = ("", "")
    slots: Who = ("all", 0)  # of wait-slots
    line: int = 0


@dataclass
class Part:
    """Steps of some of the cores."""

    who: Who
    steps: list[Step] = field(default_factory=list)


def chosen(who: Who, core: int) -> bool:
    word, k = who
    return {"all": True, "one": core == k, "not": core != k, "below": core < k}[word]


def rows(row: Row, core: int) -> range:
    """The rows of an access."""
    word, k = row
    if word == "wide":
        return range(WIDE)
    first = k if word == "fixed" else (core + k) % ROWS
    return range(first, first + 1)


class Crowd:
    """A random program of `cores` blocks."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.target = rng.choice(("a2a3", "a5"))
        self.cores = rng.randint(17, 40)
        self.tidy = rng.random() < 0.8  # full barriers around the accesses of a core
        self.parts: list[Part] = []
        for _ in range(rng.randint(1, 3)):
            rng.choice((self._gathering, self._gathering, self._meeting, self._apart))()
        self.text = self._text()

    # --- drawing -------------------------------------------------------------------------------------------------

    def _row(self) -> Row:
        return self.rng.choice((("fixed", self.rng.randrange(2)), ("own", self.rng.randrange(3)), ("wide", 0)))

    def _who(self) -> Who:
        return self.rng.choice((("all", 0), ("one", self.core()), ("not", self.core()), ("below", self.core())))

    def core(self) -> int:
        return self.rng.randrange(self.cores)

    def _access(self, row: Row | None = None) -> list[Step]:
        """A load or a store, often between barriers."""
        rng = self.rng
        verb = rng.choice(("load", "load", "store", "update"))
        step = Step(verb, row or self._row(), rng.randrange(2))
        fences = [[Step("barrier")] if self.tidy or rng.random() < 0.5 else [] for _ in range(2)]
        return [*fences[0], step, *fences[1]]

    def _apart(self) -> None:
        self.parts.append(Part(self._who(), self._access()))

    def _gathering(self) -> None:
        """Many cores touch a row and say so, each in a slot of its own; some wait for all of them, or all but one."""
        rng, row = self.rng, self._row()
        first, lost = self._who(), self.core()
        flush = [Step("barrier")] if rng.random() < 0.9 else []
        self.parts.append(Part(first, [*self._access(row), *flush]))
        self.parts.append(Part(("all", 0), [Step("notify")]))
        slots: Who = ("not", lost) if rng.random() < 0.5 else ("all", 0)
        if rng.random() < 0.3:
            slots = ("below", self.core())
        then: Who = rng.choice((("one", self.core()), ("below", rng.randint(1, 3)), ("one", lost)))
        self.parts.append(
            Part(then, [Step("wait-slots", slots=slots), *self._access(row if rng.random() < 0.8 else None)])
        )

    def _meeting(self) -> None:
        rng, row = self.rng, self._row()
        self.parts.append(Part(self._who(), self._access(row)))
        if rng.random() < 0.5:
            self.parts.append(Part(("all", 0), [Step("syncall")]))
        else:
            pipes = rng.choice(("MTE2", "MTE3", "V")), rng.choice(("MTE2", "MTE3"))
            self.parts.append(Part(("all", 0), [Step("meet", pipes=pipes)]))
        self.parts.append(Part(self._who(), self._access(row)))

    # --- text ----------------------------------------------------------------------------------------------------

    def _text(self) -> str:
        numbers = sorted({0, 1, WIDE, ROWS, COLUMNS, *range(self.cores + 1)})
        lines = [
            "module {",
            "func.func @k(%x: !pto.ptr<f32>, %sig: !pto.ptr<i32>) "
            "attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {",
            *(f"%c{n} = arith.constant {n} : index" for n in numbers),
            *(f"%n{n} = arith.constant {n} : i32" for n in (1, 2, 3)),
            "%blk = pto.get_block_idx",
            "%block = arith.index_cast %blk : i64 to index",
            *(f"%a{i} = arith.constant {i * 32 * COLUMNS} : i64" for i in range(2)),
            f"%f = pto.alloc_tile addr = %a0 : {_TILE}",
            f"%t0 = pto.alloc_tile addr = %a0 : {_TILE}",
            f"%t1 = pto.alloc_tile addr = %a1 : {_TILE}",
            f"%w0 = pto.alloc_tile addr = %a0 : {_WIDE_TILE}",
            f"%w1 = pto.alloc_tile addr = %a1 : {_WIDE_TILE}",
            f"%xv = pto.make_tensor_view %x, shape = [%c{ROWS}, %c{COLUMNS}], strides = [%c{COLUMNS}, %c1] : "
            "!pto.tensor_view<?x?xf32>",
            f"%sv = pto.make_tensor_view %sig, shape = [%c1, %c{self.cores}], strides = [%c{self.cores}, %c1] : "
            "!pto.tensor_view<?x?xi32>",
            "%one = arith.constant 1.0 : f32",
            f"pto.texpands ins(%one : f32) outs(%w0 : {_WIDE_TILE})",
            f"pto.texpands ins(%one : f32) outs(%w1 : {_WIDE_TILE})",
            "pto.barrier <PIPE_ALL>",
        ]
        self._names = self._notified = 0
        for part in self.parts:
            word, k = part.who
            if word != "all":
                compare = {"one": "eq", "not": "ne", "below": "slt"}[word]
                lines.append(f"%{self._name()} = arith.cmpi {compare}, %block, %c{k} : index")
                lines.append(f"scf.if %v{self._names} {{")
            for step in part.steps:
                self._write(step, lines)
            if word != "all":
                lines.append("}")
        return "\n".join([*lines, "return", "}}"])

    def _name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    def _write(self, step: Step, lines: list[str]) -> None:
        match step.verb:
            case "barrier":
                lines.append("pto.barrier <PIPE_ALL>")
            case "syncall":
                lines.append("pto.syncall")
            case "meet":
                event = len(lines) % 4
                lines.append(f"pto.sync.set <PIPE_{step.pipes[0]}>, {event} {{ffts_mode = 0 : i32}}")
                lines.append(f"pto.sync.wait <PIPE_{step.pipes[1]}>, {event}")
            case "notify":
                self._notified += 1
                view = self._slot("%block", lines)
                lines.append(f"pto.tnotify(%{view}, %n1 : {_SLOT}, i32) {{notifyOp = #pto<notify_op atomic_add>}}")
            case "wait-slots":
                word, k = step.slots
                lines.append(f"scf.for %i{len(lines)} = %c0 to %c{k if word == 'below' else self.cores} step %c1 {{")
                iv = f"%i{len(lines) - 1}"
                if word == "not":
                    lines.append(f"%{self._name()} = arith.cmpi ne, {iv}, %c{k} : index")
                    lines.append(f"scf.if %v{self._names} {{")
                view = self._slot(iv, lines)
                lines.append(f"pto.twait(%{view}, %n{self._notified} : {_SLOT}, i32) {{cmpMode = #pto<cmp ge>}}")
                lines += ["}"] * (2 if word == "not" else 1)
            case _:
                self._transfer(step, lines)
        step.line = len(lines)

    def _slot(self, at: str, lines: list[str]) -> str:
        name = self._name()
        lines.append(
            f"%{name} = pto.partition_view %sv, offsets = [%c0, {at}], sizes = [%c1, %c1] : "
            f"!pto.tensor_view<?x?xi32> -> {_SLOT}"
        )
        return name

    def _transfer(self, step: Step, lines: list[str]) -> None:
        word, k = step.row
        wide = word == "wide"
        view, tile, count = (_WIDE_VIEW, _WIDE_TILE, WIDE) if wide else (_VIEW, _TILE, 1)
        at = f"%c{k}"
        if word == "own":
            lines.append(f"%{self._name()} = arith.addi %block, %c{k} : index")
            lines.append(f"%{self._name()} = arith.remui %v{self._names - 1}, %c{ROWS} : index")
            at = f"%v{self._names}"
        name = self._name()
        lines.append(
            f"%{name} = pto.partition_view %xv, offsets = [{at}, %c0], sizes = [%c{count}, %c{COLUMNS}] : "
            f"!pto.tensor_view<?x?xf32> -> {view}"
        )
        t = f"%{'w' if wide else 't'}{step.tile}"
        if step.verb == "load":
            lines.append(f"pto.tload ins(%{name} : {view}) outs({t} : {tile})")
        else:
            kind = " {atomicType = #pto<atomic_type atomic_add>}" if step.verb == "update" else ""
            lines.append(f"pto.tstore ins({t} : {tile}) outs(%{name} : {view}){kind}")

    def sanitize(self) -> Report:
        result = parse_module(self.text, "k.pto", target=target_named(self.target))
        result.diagnostics.raise_if_errors()
        args = [np.ones((ROWS, COLUMNS), np.float32), np.zeros(self.cores, np.int32)]
        return sanitize(result.module, self.target, args, self.cores, causes=False)

    # --- what races ----------------------------------------------------------------------------------------------

    def races(self) -> set[tuple[str, int, int]]:
        """(rule, line of the first access, line of the second)."""
        return Closure(self).races()


@dataclass
class _Access:
    """``places``: rows of memory, or bytes of the core's buffer."""

    core: int
    place: int  # in the program of the core
    pipe: str
    line: int
    begin: int
    end: int
    reads: set[Any]
    writes: set[Any]
    atomic: bool


class Closure:
    """The graph of a program."""

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.before: list[list[int]] = []
        self.accesses: list[_Access] = []
        self._meetings: dict[Any, int] = {}
        self._slots: dict[tuple[int, int], int] = {}  # (notification, core): when its slot is set
        self._waits: list[tuple[int, int, Callable[[int], bool]]] = []
        for core in range(crowd.cores):
            self._core(core)
        for node, times, wanted in self._waits:
            self.before[node] += [n for (k, core), n in self._slots.items() if k == times and wanted(core)]

    def node(self, before: Iterable[int] = ()) -> int:
        self.before.append(list(before))
        return len(self.before) - 1

    def _core(self, core: int) -> None:
        self.issue = self.node()  # where the scalar unit is
        self.last: dict[str, int] = {}  # end of the last operation of each pipe
        self.holds: dict[str, int] = {}  # what later operations of a pipe wait for
        steps = [step for part in self.crowd.parts if chosen(part.who, core) for step in part.steps]
        times = meets = 0
        for place, step in enumerate(steps):
            match step.verb:
                case "barrier":
                    self._drain()
                case "syncall":
                    self._drain()
                    together = self._meeting((step.line, "all"))
                    self.before[together].append(self.issue)
                    self.issue = self.node([together])
                case "meet":
                    meets += 1
                    out, into = step.pipes
                    together = self._meeting((step.line, meets))
                    self.before[together] += [self.issue, *self._pipe(out)]
                    if self.crowd.target == "a5":
                        self.holds[into] = self.node([self.issue, together, *self._pipe(into)])
                    else:
                        self.issue = self.node([self.issue, together])
                case "notify":
                    self._slots[times, core] = self.issue
                    times += 1
                    self._drain()
                case "wait-slots":
                    self.issue = self.node([self.issue])
                    self._waits.append((self.issue, times - 1, lambda c, who=step.slots: chosen(who, c)))  # type: ignore[misc]
                case _:
                    self._transfer(core, place, step)

    def _meeting(self, key: Any) -> int:
        if key not in self._meetings:
            self._meetings[key] = self.node()
        return self._meetings[key]

    def _pipe(self, pipe: str) -> list[int]:
        return [n for n in (self.last.get(pipe), self.holds.get(pipe)) if n is not None]

    def _drain(self) -> None:
        self.issue = self.node([self.issue, *self.last.values(), *self.holds.values()])

    def _transfer(self, core: int, place: int, step: Step) -> None:
        pipe = "MTE2" if step.verb == "load" else "MTE3"
        begin = self.node([self.issue, *self._pipe(pipe)])
        end = self.last[pipe] = self.node([begin])
        memory = {("x", row) for row in rows(step.row, core)}
        tile = {(core, step.tile, row) for row in range(WIDE if step.row[0] == "wide" else 1)}
        reads, writes = (memory, tile) if step.verb == "load" else (tile, memory)
        self.accesses.append(_Access(core, place, pipe, step.line, begin, end, reads, writes, step.verb == "update"))

    def races(self) -> set[tuple[str, int, int]]:
        above: dict[int, int] = {}  # by node: what comes before it, as bits
        for node in self._sorted():
            bits = 0
            for other in self.before[node]:
                bits |= above[other] | 1 << other
            above[node] = bits
        out = set()
        for i, a in enumerate(self.accesses):
            for b in self.accesses[i + 1 :]:
                if above[b.begin] >> a.end & 1 or above[a.begin] >> b.end & 1:
                    continue
                for kind in self._kinds(a, b):
                    out.add((f"RACE-{'' if a.core == b.core else 'XCORE-'}{kind}", a.line, b.line))
        return out

    @staticmethod
    def _kinds(a: _Access, b: _Access) -> set[str]:
        """How two accesses conflict; `a` comes first."""
        out = set()
        if a.writes & b.reads:
            out.add("RAW")
        if a.reads & b.writes:
            out.add("WAR")
        if a.writes & b.writes and not (a.atomic and b.atomic):
            out.add("WAW")
        return out

    def _sorted(self) -> list[int]:
        """The nodes, each after those before it."""
        after: list[list[int]] = [[] for _ in self.before]
        open_edges = [len(nodes) for nodes in self.before]
        for node, nodes in enumerate(self.before):
            for other in nodes:
                after[other].append(node)
        ready = [node for node, n in enumerate(open_edges) if not n]
        out = []
        while ready:
            node = ready.pop()
            out.append(node)
            for other in after[node]:
                open_edges[other] -= 1
                if not open_edges[other]:
                    ready.append(other)
        assert len(out) == len(self.before)
        return out
