"""Programs whose numbers are constants, and the same programs with arguments in their place.

A program is the example of an instruction as a kernel of its own: tiles, views, pointers and registers are made from
numbers, so that valid regions, sizes of views and addresses are among them. What the check finds of constants, a launch
has to find of arguments.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ptokit.api.examples import examples
from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Diagnostic, DiagnosticError, Scope, Severity, lookup
from ptokit.ir import Module
from ptokit.ir.facts import Facts
from ptokit.ir.verify import verify
from ptokit.isa.check import open_rules
from ptokit.run import Program
from ptokit.sanitize import sanitize
from ptokit.sanitize.observe import REGIONS
from ptokit.targets import Target, target
from ptokit.types.dtypes import DTYPES

_HEADER = re.compile(r"func\.func @\w+\((.*)\) \{", re.ASCII)
_TILE = re.compile(r"!pto\.tile_buf<(\w+), (\d+)x(\d+)x(\w+)((?:, \w+=[\w?]+)*)>", re.ASCII)
_VIEW = re.compile(r"!pto\.partition_tensor_view<((?:\d+x)+)(\w+)>", re.ASCII)
_POINTER = re.compile(r"!pto\.ptr<(\w+), (\w+)>", re.ASCII)
_VREG = re.compile(r"!pto\.vreg<\d+x(\w+)>", re.ASCII)
_MASK = re.compile(r"!pto\.mask<b(\d+)>", re.ASCII)
_SCALAR = re.compile(r"(?:index|[su]?i\d+|f16|bf16|f32)\Z", re.ASCII)

NUMBERS = (-1, 0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 256, 1 << 15, 65535, (1 << 31) - 1)
FLOATS = (0.0, 1.0, -1.0, 2.5, -0.0, 1e9)
PRINTING = ("TPRINT", "PRINT", "TTRACE")


class Number(NamedTuple):
    """A number of a program: a name, its type and value."""

    name: str
    type: str
    value: float


class Drawn(Protocol):
    """A program with numbers that a generator has drawn."""

    target: Target
    numbers: list[Number]

    def module(self, given: frozenset[str]) -> tuple[Module, int] | None:
        """The program, where those numbers are arguments, and its last line; None if it cannot be read."""

    def arguments(self, given: frozenset[str]) -> list[Any]:
        """Those of a launch."""


class Sample:
    """The example of one instruction as a kernel, with numbers that a generator has drawn."""

    def __init__(self, name: str, seed: int) -> None:
        self.rng = random.Random(f"{name} {seed}")
        example = examples()[name]
        self.target = target(example.target)
        self.numbers: list[Number] = []
        self.pointers: list[tuple[str, str]] = []
        self.lines: list[str] = []
        self.registers: list[str] = []
        self.together: list[list[str]] = []  # strides of one view: those that text states decide its layout
        self.address = 0
        found = _HEADER.search(example.lines[0])
        if found is None:
            raise LookupError("no function of its own")
        self.body = example.lines[1:-2]
        self.changed = self.rng.random() < 0.9
        self.open = self.rng.choice((0.0, 0.0, 0.6))  # how often sizes are open
        for param in re.findall(r"%(\w+): ([^%]+?)(?:, (?=%)|\Z)", found[1]):
            self.parameter(*param)
        self.settle()

    def drawn(self, likely: float, type: str) -> float:
        """Mostly the number that the example has."""
        rng = self.rng
        if not self.changed or rng.random() < 0.6:
            return likely
        if type in ("f16", "bf16", "f32"):
            return rng.choice(FLOATS)
        if type == "i1":
            return rng.choice((0, 1))
        bits = 64 if type == "index" else int(type.lstrip("sui"))
        least = 0 if type.startswith("ui") else -(1 << (bits - 1))
        most = (1 << (bits - (not type.startswith("ui")))) - 1
        return min(most, max(least, rng.choice((*NUMBERS, int(likely) + 1, int(likely) - 1, int(likely) * 2))))

    def number(self, name: str, type: str, likely: float) -> str:
        self.numbers.append(Number(name, type, self.drawn(likely, type)))
        return f"%{name}"

    def place(self, nbytes: int) -> int:
        at, self.address = self.address, self.address + -(-nbytes // 512) * 512
        return at

    def parameter(self, name: str, type: str) -> None:
        """Make a value of the example's parameter. Raises `LookupError` for types that are not made here."""
        if _SCALAR.match(type):
            likely = 1.0 if type in ("f16", "bf16", "f32") else self.rng.choice((0, 1, 8, 16, 32, 64))
            self.number(name, type, min(likely, 1) if type == "i1" else likely)
        elif m := _TILE.fullmatch(type):
            self.tile(name, type, m)
        elif m := _VIEW.fullmatch(type):
            self.view(name, type, [int(n) for n in m[1][:-1].split("x")], m[2])
        elif m := _POINTER.fullmatch(type):
            if m[2] == "gm":
                self.pointers.append((name, type))
            else:
                at = self.number(f"at_{name}", "i64", self.place(4096))
                self.lines.append(f"%{name} = pto.castptr {at} : i64 -> {type}")
        elif m := _VREG.fullmatch(type):
            base = f"%of_{name}"
            self.registers += [
                f"{base} = pto.castptr %none : i64 -> !pto.ptr<{m[1]}, ub>",
                f"%{name} = pto.vlds {base}[%zero] : !pto.ptr<{m[1]}, ub> -> {type}",
            ]
        elif m := _MASK.fullmatch(type):
            self.registers.append(f'%{name} = pto.pset_b{m[1]} "PAT_ALL" : {type}')
        else:
            raise LookupError(type)

    def tile(self, name: str, type: str, m: re.Match[str]) -> None:
        rows, cols, rest = int(m[2]), int(m[3]), m[5]
        valid = re.search(r", valid=(\d+)x(\d+)", rest)
        shown, stated = type, ""
        if self.rng.random() < 0.6:
            shown = (
                f"!pto.tile_buf<{m[1]}, {rows}x{cols}x{m[4]}, valid=?x?{rest.replace(valid[0], '') if valid else rest}>"
            )
            sizes = (int(valid[1]), int(valid[2])) if valid else (rows, cols)
            for word, most, size in zip(("row", "col"), (rows, cols), sizes):
                drawn = self.number(f"{name}_{word}s", "index", size)
                last = self.numbers[-1]
                self.numbers[-1] = last._replace(value=min(most, max(0, last.value)))  # what a tile refuses by itself
                stated += f" valid_{word} = {drawn}"
            self.body = [self.retyped(line, name, type, shown) for line in self.body]
        size = DTYPES[_dtype(m[4])].size if _dtype(m[4]) in DTYPES else 4
        at = self.number(f"at_{name}", "i64", self.place(rows * cols * size))
        last = self.numbers[-1]
        likely = self.rng.choice([n.value for n in self.numbers if n.name.startswith("at_")])
        if self.rng.random() < 0.85:
            last = last._replace(value=likely if self.rng.random() < 0.2 else self.address - 512)
        self.numbers[-1] = last._replace(value=max(0, int(last.value)) // 32 * 32)
        self.lines.append(f"%{name} = pto.alloc_tile addr = {at}{stated} : {shown}")

    def retyped(self, line: str, name: str, old: str, new: str) -> str:
        """A statement with another type for one operand: the types follow the operands in their order."""
        return re.sub(r"(ins|outs)\(([^:]*) : ([^()]*)\)", lambda m: _retyped(m, name, old, new), line)

    def view(self, name: str, type: str, dims: list[int], element: str) -> None:
        strides = [1]
        for size in reversed(dims[1:]):
            strides.insert(0, strides[0] * size)
        pointer = f"!pto.ptr<{element}, gm>"
        self.pointers.append((f"base_{name}", pointer))
        whole = f"!pto.tensor_view<{'?x' * len(dims)}{element}>"
        open_dims = self.rng.random() < self.open
        shown = f"!pto.partition_tensor_view<{'?x' * len(dims)}{element}>" if open_dims else type
        sizes = [self.number(f"{name}_{k}", "index", n) if open_dims else f"%is_{name}_{k}" for k, n in enumerate(dims)]
        self.lines += [f"%is_{name}_{k} = arith.constant {n} : index" for k, n in enumerate(dims)]
        steps = [self.number(f"{name}_by{k}", "index", n) for k, n in enumerate(strides)]
        self.together.append([step[1:] for step in steps])
        every = ", ".join(f"%is_{name}_{k}" for k in range(len(dims)))
        self.lines += [
            f"%all_{name} = pto.make_tensor_view %base_{name}, shape = [{every}], "
            f"strides = [{', '.join(steps)}] : {whole}",
            f"%{name} = pto.partition_view %all_{name}, offsets = [{', '.join(['%zero'] * len(dims))}], "
            f"sizes = [{', '.join(sizes)}] : {whole} -> {shown}",
        ]
        if open_dims:
            self.body = [self.retyped(line, name, type, shown) for line in self.body]

    def settle(self) -> None:
        """Constants of the example are numbers, too."""
        for k, line in enumerate(self.body):
            m = re.fullmatch(r"\s*%(\w+) = arith\.constant (-?\d+) : (\w+)", line)
            if m:
                self.number(m[1], m[3], int(m[2]))
                self.body[k] = ""

    def text(self, given: frozenset[str]) -> str:
        """The program, where those numbers are arguments."""
        params = [f"%{name}: {type}" for name, type in self.pointers]
        params += [f"%{n.name}: {n.type}" for n in self.numbers if n.name in given]
        constants = [
            f"%{n.name} = arith.constant {_written(n)} : {n.type}" for n in self.numbers if n.name not in given
        ]
        head = ["%zero = arith.constant 0 : index", "%none = arith.constant 0 : i64", *constants, *self.lines]
        at = next((k for k, line in enumerate(self.body) if "vecscope {" in line), -1) + 1
        body = [*head, *self.body[:at], *self.registers, *self.body[at:]]
        lines = "\n".join(f"    {line.strip()}" for line in body if line.strip())
        return (
            f'module attributes {{pto.target_arch = "{self.target.arch}"}} {{\n'
            f"  func.func @k({', '.join(params)}) attributes {{pto.kernel}} {{\n{lines}\n    return\n  }}\n}}\n"
        )

    def module(self, given: frozenset[str]) -> tuple[Module, int] | None:
        """The program and its last line; None if it cannot be read."""
        text = self.text(given)
        result = parse_module(text, "t.pto")
        return None if list(result.diagnostics) else (result.module, text.count("\n"))

    def arguable(self, given: Iterable[str]) -> frozenset[str]:
        """Those numbers, and those that are arguments only together with one of them."""
        found = set(given)
        return frozenset(found.union(*(names for names in self.together if not found.isdisjoint(names))))

    def arguments(self, given: frozenset[str]) -> list[Any]:
        made: list[Any] = [np.zeros(1 << 16, _array(type)) for _, type in self.pointers]
        return [*made, *(_argument(n) for n in self.numbers if n.name in given)]


def _retyped(m: re.Match[str], name: str, old: str, new: str) -> str:
    names = [n.strip() for n in m[2].split(",")]
    types = re.split(r", (?![^<]*>)", m[3])
    if len(names) == len(types):
        types = [new if n == f"%{name}" and t == old else t for n, t in zip(names, types)]
    return f"{m[1]}({m[2]} : {', '.join(types)})"


def _dtype(name: str) -> str:
    return re.sub(r"\A(?:si|i)(?=\d)", "i", name).replace("ui", "u")


def _array(type: str) -> Any:
    m = _POINTER.fullmatch(type)
    assert m is not None
    found = DTYPES.get(_dtype(m[1]))
    return np.uint8 if found is None else found.storage


def _written(n: Number) -> str:
    if n.type == "i1":
        return "true" if n.value else "false"
    return f"{n.value:.9e}" if isinstance(n.value, float) else str(n.value)


def _argument(n: Number) -> Any:
    if n.type == "i1":
        return bool(n.value)
    return float(n.value) if isinstance(n.value, float) else int(n.value)


Found = frozenset[tuple[int, str]]
"""Rules with the lines where they are broken, counted from the end of the text."""


class Verdict(NamedTuple):
    """``checked``: what refuses the program; ``run``: what a launch breaks; ``memory``: what it leaves."""

    checked: Found
    assembler: bool
    run: Found
    memory: bytes


def verdict(sample: Drawn, given: frozenset[str], how: str, *, checks: bool = True) -> Verdict | None:
    """What is said of a program; None where its text cannot be read, or the backend cannot run it.

    ``checks``: a program that the check refuses is not run.
    """
    made = sample.module(given)
    if made is None:
        return None
    module, lines = made
    found = frozenset((lines - d.location.line, d.rule) for d in verify(module, sample.target).errors)
    isa = frozenset(pair for pair in found if lookup(pair[1]).scope is not Scope.ASSEMBLER)
    if found and checks:
        return Verdict(isa, not isa, frozenset(), b"")
    args = sample.arguments(given)
    broken: list[Diagnostic] = []
    try:
        if how == "sanitize":
            broken = sanitize(module, sample.target, args).diagnostics.errors
        else:
            Program(module, module.functions[0], sample.target, extended=False).launch(args, backend=how)
    except DiagnosticError as error:
        broken = [*error.diagnostics]
    except Exception as error:
        return Verdict(frozenset(), False, frozenset({(0, type(error).__name__)}), b"")  # the same for both at least
    if {d.rule for d in broken} & {"RUN-BACKEND", "TEXT-UNIMPLEMENTED"}:
        return None
    memory = b"".join(a.tobytes() for a in args if isinstance(a, np.ndarray))
    return Verdict(frozenset(), False, frozenset((lines - d.location.line, d.rule) for d in broken), memory)


def differs(sample: Drawn, given: frozenset[str], how: str) -> str:
    """How the program with arguments fares otherwise than that of constants; empty if it does not."""
    fixed = verdict(sample, frozenset(), how)
    late = verdict(sample, given, how)
    if fixed is None or late is None or fixed.assembler or late.assembler:
        return ""
    if late.checked:
        more = {pair for pair in late.checked - fixed.checked if pair[0] not in {line for line, _ in fixed.checked}}
        return f"check of arguments says {_ids(frozenset(more))}" if more else ""  # a rule may cover others
    if fixed.checked:
        return _missed(sample, given, fixed.checked, late.run, how)
    ordered = how == "sanitize"  # order and initialisation are no matter of one instruction
    before, after = (frozenset(p for p in v.run if not (ordered and _of_order(p[1]))) for v in (fixed, late))
    if before != after:
        return f"{how} says {_ids(before)} of constants, {_ids(after)} of arguments"
    return "" if fixed.memory == late.memory else f"{how} leaves other memory"


def _missed(sample: Drawn, given: frozenset[str], checked: Found, found: Found, how: str) -> str:
    """What the check says of constants, and a launch does not say of arguments.

    It stops at the first operation that goes wrong, for the first rule that the run breaks there.
    """
    if checked & found:
        return ""
    if how == "sanitize":
        fixed = verdict(sample, frozenset(), how, checks=False)
        late = verdict(sample, given, "numpy")
        if fixed is not None and fixed.run == found:
            return ""  # it calls some rules by other names
        if late is not None and late.run and all(_superseded(pair, found) for pair in late.run):
            return ""
    if found and max(line for line, _ in found) > max(line for line, _ in checked):
        return ""  # something else goes wrong before
    more = verdict(sample, frozenset(), "numpy", checks=False)
    if more is not None and more.run & found and not _by_machine(more.run & found):
        return ""  # a rule that the check leaves to the run, where sizes may be set
    return f"check says {_ids(checked)}, {how} says {_ids(found)}"


def _superseded(broken: tuple[int, str], found: Found) -> bool:
    """True if the sanitizer says something else of a rule that NumPy finds broken."""
    line, rule = broken
    if rule == "GM-OOB" or (line, "GM-OOB") in found:
        return "GM-OOB" in _ids(found)  # it says so where a view is used, which it leaves out then
    return any((line, other) in found for other in (rule, *REGIONS.get(rule, ())))


def _by_machine(found: Found) -> bool:
    """True for findings that are no rules of an instruction."""
    return all(rule in ("VS-3", "GM-OOB") or rule.startswith("RUN-") for _, rule in found)


def _ids(found: Found) -> list[str]:
    return sorted({rule for _, rule in found})


def _of_order(rule: str) -> bool:
    return rule in CATALOGUE and CATALOGUE[rule].scope is Scope.SYNC


@cache
def names() -> list[str]:
    """Instructions whose examples are made here, and have numbers."""
    found = []
    for name in examples().keys() - PRINTING:
        try:
            sample = Sample(name, 0)
        except LookupError:
            continue
        if sample.numbers and not list(parse_module(sample.text(frozenset()), "t.pto").diagnostics):
            found.append(name)
    return sorted(found)


@cache
def open_rules_by_id() -> dict[str, list[str]]:
    """The rules of error severity that look at what an example leaves open, and the instructions of which they do."""
    found: dict[str, list[str]] = {}
    for name in names():
        sample = Sample(name, 0)
        text = sample.text(frozenset(n.name for n in sample.numbers))
        function = parse_module(text, "t.pto").module.functions[0]
        assert function.body is not None
        facts = Facts(function)
        for op in function.body.walk():
            site = facts.site(op, sample.target, text=True)
            for rule, _ in () if site is None or site.instr.name != name else open_rules(site):
                if rule.severity is Severity.ERROR and name not in found.setdefault(rule.id, []):
                    found[rule.id].append(name)
    return found


def search(rule: str, tries: range) -> tuple[str, int] | None:
    """An instruction and a seed whose program breaks a rule, with constants and with arguments.

    Of constants the check says so, or the launch where sizes may be set.
    """
    for seed in tries:
        for name in open_rules_by_id()[rule]:
            sample = Sample(name, seed)
            given = frozenset(n.name for n in sample.numbers)
            fixed = verdict(sample, frozenset(), "numpy")
            if fixed is None or rule not in _ids(fixed.checked | fixed.run):
                continue
            late = verdict(sample, given, "numpy")
            if late is not None and rule in _ids(late.run):
                return name, seed
    return None


def drawn(seed: int) -> tuple[Sample, frozenset[str]]:
    """A program and those of its numbers that are arguments; each rule has its share of the programs."""
    rng = random.Random(seed)
    by_rule = open_rules_by_id()
    of_rule = by_rule[rng.choice(sorted(by_rule))]
    sample = Sample(rng.choice(of_rule if rng.random() < 0.7 else names()), seed)
    all_names = [n.name for n in sample.numbers]
    if rng.random() < 0.5:  # what an instruction takes as a number, and nothing else
        given = frozenset(name for name in all_names if not re.match("at_|is_", name)) or frozenset(all_names)
        return sample, given if rng.random() < 0.5 else sample.arguable([rng.choice(sorted(given))])
    share = rng.choice((0.3, 0.7, 1))
    return sample, sample.arguable([name for name in all_names if rng.random() < share] or all_names[:1])
