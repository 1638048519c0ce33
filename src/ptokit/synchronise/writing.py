"""How the text of a program says flags, barriers and signals, and between which of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ptokit.diagnostics.finding import Edit, file_lines
from ptokit.ir.control import control_of, section
from ptokit.ir.core import Block, Op
from ptokit.ir.facts import constant_of
from ptokit.prove.signals import CLUSTER
from ptokit.sanitize.findings.insertion import statements
from ptokit.sanitize.findings.source_text import (
    Statement,
    Structure,
    as_statement,
    barrier_code,
    compiled_for,
    cpp_statement,
    first_line,
    flag_code,
    indent,
    last_line,
    loop_head,
    ordinal_code,
    scope_code,
)
from ptokit.sanitize.findings.texts import python_text
from ptokit.targets import Target
from ptokit.types.enums import SECOND_CORE, Pipe

from .dependences import Flag, Placed
from .placing import NoPlace, apart
from .signals import Signal, only_on

# Lines between the lines of a program, in its own language; everything else stays as it is.


NUMBERED, SET, DRAIN, PRIME, STOP, WAIT = range(6)
"""What is inserted before one line, in its order."""

RANKS = {("set", False): SET, ("wait", False): WAIT, ("set", True): PRIME, ("wait", True): DRAIN}
"""Of the lines of a flag: the verb, and whether it is outside of the loop that carries it."""


class _Line(NamedTuple):
    """``only``: the macro of the kind of cores that has it, where a place in C++ is compiled for several."""

    file: str
    before: int
    rank: int
    text: str
    only: str = ""


def _why_not(op: Op, statement: Statement | None, file: str) -> str:
    """Why no line can be inserted around an operation."""
    if statement is not None and statement.file != file:
        return "a flag belongs here, which is not in the file that is synchronised"
    if op.in_cpp:
        return "a flag belongs beside this, which shares its line, or is no statement in braces"
    return "several operations come from this line, so that no flag can be written beside one"


_MACROS = {"cube": "__DAV_CUBE__", "vector": "__DAV_VEC__"}
"""What C++ is compiled with for a kind of cores."""


class Writing:
    """Makes the edits for flags and barriers, in a file."""

    def __init__(
        self,
        structure: Structure,
        placed: Placed,
        file: str,
        compiled: dict[str, set[int]],
        scopes: Iterable[Any],
        signals: Iterable[tuple[str, Op, bool, str, Sequence[str]]] = (),
    ) -> None:
        """``compiled``: of C++, the lines that each kind of cores has; ``scopes``: before what barriers go in them;
        ``signals``: verbs, beside what they are and whether after that, which cores have them, and lines."""
        self.structure, self.file, self.compiled = structure, file, compiled
        self.lines: list[_Line] = []
        self._names = 0
        self._taken: set[str] | None = None
        self._known: dict[Any, str] = {}
        for barrier in placed.barriers:
            self._insert(barrier.before, False, STOP, barrier_code(Pipe.ALL, barrier.before))
        for op, kind in scopes:
            self._insert(op, False, STOP, scope_code(kind, op))
        for flag in placed.flags:
            self._flag(flag)
        for verb, op, after, core, lines in signals:
            alone = op.in_cpp or only_on(op, core, structure)
            code = lines if alone else section_code(core, lines, op)
            self._insert(op, after, RANKS[verb, (verb == "set") is not after], "\n".join(code))

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The lines to insert."""
        found: list[tuple[_Line, list[str]]] = []
        for line in sorted(dict.fromkeys(self.lines), key=lambda line: (line.file, line.before, line.rank)):
            if found and line.only and (*found[-1][0][:2], found[-1][0].only) == (*line[:2], line.only):
                found[-1][1].append(line.text)
            else:
                found.append((line, [line.text]))
        for line, texts in found:
            if line.only:
                texts[:] = [f"#ifdef {line.only}", *texts, "#endif"]
        return tuple(Edit(line.file, line.before, "\n".join(texts)) for line, texts in found)

    def _flag(self, flag: Flag) -> None:
        p, q = flag.pipes
        event: int | str = flag.number if flag.depth == 1 else self._rotating(flag)
        if flag.before.in_cpp and flag.around is None and last_line(flag.after, None) >= first_line(flag.before):
            raise NoPlace(_why_not(flag.before, None, ""), flag.before.location)
        if flag.at_once:
            self._insert(flag.before, False, STOP, flag_code("set", (p, q, event), flag.before))
            self._insert(flag.before, False, WAIT, flag_code("wait", (p, q, event), flag.before))
            return
        for verb, op, after in statements(flag.after, flag.before, flag.around):
            outside = op is flag.around
            rank = RANKS[verb, outside]
            if verb == "set" and ("prime" if outside else "set") in flag.told:
                for word in ("set", "wait"):
                    self._insert(op, after, rank, flag_code(word, (q, p, flag.answer), op))
            for one in range(flag.number, flag.number + flag.depth) if outside else (event,):
                self._insert(op, after, rank, flag_code(verb, (p, q, one), op))

    def _insert(self, op: Op, after: bool, rank: int, code: str) -> None:
        statement = self.structure.statement(op)
        if statement is None or not apart(op, self.structure) or statement.file != self.file:
            raise NoPlace(_why_not(op, statement, self.file), op.location)
        line = last_line(op, self.structure.following(op)) + 1 if after else first_line(op)
        self._line(op, line, rank, "\n".join(as_statement(each, op) for each in code.split("\n")))

    def _line(self, like: Op, line: int, rank: int, code: str) -> None:
        file, function = like.location.file or "", self.structure.function(like)
        core = "" if function is None or not like.in_cpp else function.core
        others = [lines for other, lines in self.compiled.items() if other != core]
        only = _MACROS.get(core, "") if others and compiled_for(like, self.structure, others) else ""
        space = indent(file, first_line(like))
        self.lines.append(_Line(file, line, rank, "\n".join(space + each for each in code.split("\n")), only))

    # --- ids in rotation -----------------------------------------------------------------------------------------

    def _rotating(self, flag: Flag) -> str:
        """The id of an iteration, as the text says it."""
        loop = flag.home
        assert loop is not None
        key = loop.location if loop.in_cpp else loop, flag.depth, flag.number
        if key not in self._known:
            if loop.in_python or loop.in_cpp:
                head = loop_head(loop)
                assert head is not None
                said = f"{ordinal_code(head, loop)} % {flag.depth}"
                said += f" + {flag.number}" if flag.number else ""
                said = f"(event_t)({said})" if loop.in_cpp else said
                self._known[key] = said if head[1:] == ("0", "1") else self._variable(loop, said)
            else:
                self._known[key] = self._computed(loop, flag.depth, flag.number)
        return self._known[key]

    def _variable(self, loop: Op, said: str) -> str:
        """A variable for a long expression, in the first line of a loop in Python or C++."""
        first = loop.regions[0].ops[0]
        at = next((op for op in loop.regions[0].ops if first_line(op) > first_line(loop)), first)
        name = self._fresh().removeprefix("%")
        begin = cpp_statement(loop)
        line = first_line(loop) if begin is None else begin.opens
        self._line(at, line + 1, NUMBERED, as_statement(f"{'event_t ' * loop.in_cpp}{name} = {said}", at))
        return name

    def _computed(self, loop: Op, depth: int, first: int) -> str:
        """Operations at the beginning of an iteration that compute its id, as far as the text has none."""
        body = loop.regions[0]
        variable, lower, _, step = control_of(loop).inductions(loop)[0]
        kind = str(variable.type)
        at, begin = body.ops[0], first_line(body.ops[0])
        name = f"%{variable.name}"
        plain = constant_of(lower) == 0 and constant_of(step) == 1
        known = self._remainder(body, depth) if plain and not first else None
        if known is not None:
            return known
        steps = []
        if constant_of(lower) != 0:
            steps.append(("arith.subi", f"%{lower.name}"))
        if constant_of(step) != 1:
            steps.append(("arith.divui", f"%{step.name}"))
        steps.append(("arith.remui", self._number(loop, depth, variable.type)))
        if first:
            steps.append(("arith.addi", self._number(loop, first, variable.type)))
        for verb, operand in steps:
            key = loop, verb, name, operand
            if key not in self._known:
                self._known[key] = made = self._fresh()
                self._line(at, begin, NUMBERED, f"{made} = {verb} {name}, {operand} : {kind}")
            name = self._known[key]
        return name

    def _remainder(self, body: Block, depth: int) -> str | None:
        """A value at the beginning of a loop's body that is the number of the iteration modulo `depth`."""
        for op in body.ops:
            if not op.name.startswith("arith."):
                return None
            a, b = op.get("lhs"), op.get("rhs")
            taken = op.name in ("arith.remui", "arith.remsi") and a is body.args[0]
            if taken and b is not None and constant_of(b) == depth and op.result.name:
                return f"%{op.result.name}"
        return None

    def _number(self, loop: Op, number: int, kind: Any) -> str:
        """A constant that is known at a loop."""
        for op in self.structure.ops:
            alike = op.name == "arith.constant" and op.attrs.get("value") == number and op.result.type == kind
            if alike and op.result.name and self.structure.defined(op.result, loop):
                return f"%{op.result.name}"
        function = self.structure.function(loop)
        key = function, number, kind
        if key not in self._known:
            assert function is not None
            assert function.body is not None
            first = function.body.ops[0]
            self._known[key] = name = self._fresh()
            self._line(first, first_line(first), NUMBERED - 1, f"{name} = arith.constant {number} : {kind}")
        return self._known[key]

    def _fresh(self) -> str:
        """A name that the program has not."""
        if self._taken is None:
            files = {op.location.file for op in self.structure.ops if op.location.file is not None}
            self._taken = {word for file in files for word in re.findall(r"\bsync\d+\b", "\n".join(file_lines(file)))}
        while f"sync{self._names}" in self._taken:
            self._names += 1
        self._names += 1
        return f"%sync{self._names - 1}"


# Signals.


def signal_code(verb: str, pipe: Pipe, number: int, like: Op, target: Target) -> str:
    """A signal between the cores of a cluster, or a wait for it (``verb``), in the program of `like`."""
    if like.in_python:
        package = python_text(like.location.file or "").package
        return f"{package}.sync.{verb}({package}.{pipe.text}, {number})"
    if like.in_cpp and target.flags_name_subcore:
        return f"{verb}_intra_block({pipe.text}, {number})"
    if like.in_cpp:
        given = f"ffts_cross_core_sync({pipe.text}, getFFTSMsg({CLUSTER}, {number}))"
        return given if verb == "set" else f"wait_flag_dev({number})"
    return f"pto.sync.{verb} <{pipe.text}>, {number}"


def section_code(core: str, lines: Sequence[str], like: Op) -> list[str]:
    """Lines that only cores of a kind execute, in text or Python."""
    if like.in_python:
        package = python_text(like.location.file or "").package
        return [f"with {package}.{core}_section():", *(f"    {line}" for line in lines)]
    return [f"{section(core, like.location).name} {{", *(f"  {line}" for line in lines), "}"]


def of_signal(signal: Signal, vectors: int, target: Target) -> Iterator[tuple[str, Op, bool, str, list[str]]]:
    """What a signal takes, in the order of the text: verb, operation beside which it is, whether after it, core, lines.

    ``vectors``: so many vector cores a cluster has.
    """

    def lines(verb: str, side: int, like: Op, count: int = 1) -> list[str]:
        subs = vectors if target.flags_name_subcore and signal.cores[side] == "cube" else 1
        ids = [signal.number + SECOND_CORE * sub for sub in range(subs)]
        return [signal_code(verb, signal.pipes[side], k, like, target) for k in ids] * count

    first, second = signal.cores
    if signal.around is not None:
        mine, theirs = signal.around
        yield "set", mine, False, first, lines("set", 0, mine, signal.depth)
    yield "wait", signal.before, False, second, lines("wait", 1, signal.before)
    yield "set", signal.after, True, first, lines("set", 0, signal.after)
    if signal.around is not None:
        yield "wait", theirs, True, second, lines("wait", 1, theirs, signal.depth)
