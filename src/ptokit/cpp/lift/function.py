"""One kernel function: its blocks one after the other, then the branches between them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location
from ptokit.diagnostics.finding import Called
from ptokit.ir import Block, Function, Op, Value
from ptokit.ir.control import branch, branch_by, branch_if, return_of
from ptokit.targets import Target
from ptokit.types.dtypes import DType, dtype
from ptokit.types.values import I1, INDEX, Ptr

from .. import llvm
from ..compiler import HEADERS, declared_pointers
from ..llvm import Instruction, Module, Operand
from ..rules import ASSEMBLY, CALL, OPERANDS, POINTER, Unliftable, refusal, short
from .instructions import Told
from .library import call, refuse_homeless
from .memory import ADDRESS, NULL, Memory, Pointer, Root, accessed, one_of
from .numbers import BINARY, CASTS, FLOATS, Lifting, Numbers, scalar_type

_LABEL = re.compile(r"\W")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_HARMLESS = re.compile(r'asm (?:[a-z]+ )*"(?:\s|nop|MOV \$0, (?:SYS_CNT|PC)|\\0A)*"', re.IGNORECASE)
_OTHERS = re.compile(rf"{re.escape(str(HEADERS))}|/usr/|.*/libcxx/")  # headers that are not the user's
_ENDS = frozenset(("br", "switch", "ret", "unreachable"))


def lift(
    module: Module, function: llvm.Function, null: frozenset[int], target: Target, file: str, name: str
) -> Function:
    """The function of a kernel. ``null``: the places of parameters that are null pointers.

    ``file``: what findings call the file that was compiled, ``name``: the kernel. Raises `DiagnosticError`
    (CPP-POINTER, CPP-MEMORY, CPP-CALL, CPP-OPERANDS, CPP-OPTION, CPP-ASM).
    """
    return _FunctionLift(module, function, null, target, file, re.sub(r"\W+", "_", name).strip("_")).lifted()


class _FunctionLift:
    def __init__(
        self, module: Module, function: llvm.Function, null: frozenset[int], target: Target, file: str, name: str
    ) -> None:
        self.module, self.function, self.null, self.file = module, function, null, file
        self.path = os.path.abspath(file)
        begin = module.begin(function)
        self.begin = Location(self._shown(begin.file), begin.line, begin.column) if begin.file else Location(file)
        self.trace = Lifting(name, target, self.begin)
        self.numbers = Numbers(self.trace)
        self.params: list[Value] = []
        self.memory = Memory(module, self.trace, self.numbers, self.params)
        self.told = Told(module, self.trace, self.numbers, self.memory)
        self.registers = self.told.registers
        self.order = function.order()
        self.roots = _Roots(function, self.order)
        self.blocks: dict[str, Block] = {}
        self.ends: dict[str, dict[tuple[Root, int], Value]] = {}  # what variables are at the ends of blocks
        self.handed: dict[str, list[tuple[Root, int]]] = {}  # variables that blocks are handed

    def lifted(self) -> Function:
        with self.trace.running():
            self._parameters()
            self._survey()
            first, *rest = self.order
            self.blocks = {label: Block(label=f"b_{_LABEL.sub('_', label)}") for label in rest}
            self.blocks[first] = self.trace.root.block
            for label in self.order:
                for instruction in self.function.blocks[label]:
                    if instruction.op == "phi":
                        self._guarded(self._phi, label, instruction)
            for label in self.order:
                self.trace.block = self.blocks[label]
                self._variables_at(label)
                for instruction in self.function.blocks[label]:
                    if instruction.op not in _ENDS and instruction.op != "phi":
                        self._guarded(self._instruction, label, instruction)
                self.ends[label] = dict(self.memory.current)
            for label in self.order:
                self.trace.block = self.blocks[label]
                self._guarded(self._end, label, self.function.blocks[label][-1])
            self._guarded(lambda *_: self.memory.check(), first, self.function.blocks[first][0])
        root = self.trace.root.block
        root.ops[:0] = [*self.trace.constants, *self.memory.prologue]
        root.more = [self.blocks[label] for label in rest]
        made = self.trace.function
        made.params, made.attrs["pto.entry"] = self.params, True
        _drop_unused(root)
        if self.told.homeless:
            refuse_homeless(made, self.told.homeless, self.trace.target)
        return made

    # --- places

    def _shown(self, file: str) -> str:
        """What findings call a file: the one that was compiled as the user does."""
        return self.file if file == self.path else file

    def _place(self, instruction: Instruction) -> Location:
        """Where the user wrote an instruction, with the calls around it."""
        frames = [f for f in self.module.place(instruction.debug) if f.line and not _OTHERS.match(f.file)]
        if not frames:
            return self.trace.at
        places = [Location(self._shown(f.file), f.line, max(1, f.column)) for f in frames]
        calls = tuple((f"called from here, in {short(f.function)}", at) for f, at in zip(frames[1:], places[1:]))
        return Called.at(places[0], calls)

    def _guarded(self, work: Callable[[str, Instruction], None], label: str, instruction: Instruction) -> None:
        """Do what is to be done with an instruction; what it refuses is refused at its place."""
        at = self.trace.at = self._place(instruction)
        try:
            work(label, instruction)
        except Unliftable as found:
            raise refusal(found.rule, found.message, at, found.hint) from None
        except DiagnosticError as error:
            raise DiagnosticError(_in_cpp(d, at) for d in error.diagnostics) from None

    # --- before anything is lifted

    def _parameters(self) -> None:
        types = self._argument_types()
        for k, (type, text) in enumerate(self.function.params):
            name = text[1:].strip('"')
            name = name if _IDENTIFIER.fullmatch(name) else f"arg{k}"
            of = Ptr(types.get(k, dtype("ui8"))) if type == "ptr" else scalar_type(type)
            value = Value(of, self.trace.unique(name), self.trace.root.block, self.begin, name)
            self.params.append(value)
            if type == "ptr":
                self.memory.pointers[text] = Pointer(NULL if k in self.null else Root("argument", name, k))
            else:
                self.numbers.values[text] = value

    def _argument_types(self) -> dict[int, DType]:
        """The element types of pointers: as declared, else of the first view, else of the first number read from it."""
        viewed: dict[int, DType] = {}
        met: dict[int, DType] = {}
        for label in self.order:
            for instruction in self.function.blocks[label]:
                if instruction.op == "call" and instruction.word in ("@ptokit_view", "@ptokit_pointer"):
                    type = self.module.text(instruction.operands[0].text[1:]).split()[0]
                    for root in self.roots.of(instruction.operands[1].text):
                        if type not in ("?", "conv"):
                            viewed.setdefault(root.position, dtype(type))
                for text, of, _ in accessed(instruction):
                    for root in self.roots.of(text) if of and of != "ptr" else ():
                        met.setdefault(root.position, dtype(FLOATS.get(of, "i8" if of == "i1" else of)))
        declared = declared_pointers(self.begin)
        named = {k: declared[text[1:]] for k, (_, text) in enumerate(self.function.params) if text[1:] in declared}
        return met | viewed | {k: dtype(type) for k, type in named.items()}

    def _survey(self) -> None:
        """Find out how memory is used: with which types, and where it is written; and what registers are."""
        self.registers.survey([i for label in self.order for i in self.function.blocks[label]], self.module)
        memory, first = self.memory, self.order[0]
        writes: dict[Root, set[str]] = {}
        reads: dict[Root, set[str]] = {}
        for label in self.order:
            for instruction in self.function.blocks[label]:
                if instruction.op == "alloca":
                    root = Root("local", instruction.result)
                    memory.pointers[instruction.result] = Pointer(root)
                    memory.sizes[root] = self.module.size(instruction.type)
                    memory.stated[root] = instruction.type
                for text, type, written in accessed(instruction):
                    for root in self.roots.of(text):
                        memory.types.setdefault(root, set()).update({type} - {""})
                        (writes if written else reads).setdefault(root, set()).add(label)
        memory.settle_types()
        memory.late = {root for root, labels in writes.items() if labels - {first}}
        copied = self.roots.copied()
        for root in writes.keys() - copied:
            memory.keep_apart(root)
        self.writes = writes
        self.wanted = {root: self.roots.leading_to(labels) for root, labels in reads.items()}
        for root, (types, offsets) in self.roots.direct(self.module, writes.keys()).items():
            if len(types) == 1:
                (named,) = types
                known = dict(self.module.numbers(root.name))
                for offset in offsets:
                    zero = Operand(named, "0.0" if named in FLOATS else "0")
                    memory.variables[root, offset] = scalar_type(named)
                    memory.current[root, offset] = self.numbers.value(known.get(offset, zero)._replace(type=named))

    def _phi(self, label: str, instruction: Instruction) -> None:
        block, text = self.blocks[label], instruction.result
        if instruction.type == "ptr":
            argument = Value(INDEX, "", block, self.trace.at)
            self.memory.pointers[text] = Pointer(one_of(self.roots.of(text) or {NULL}), 0, ((argument, 1),))
        else:
            type = self.registers.types.get(text) or scalar_type(instruction.type)
            argument = self.numbers.values[text] = Value(type, "", block, self.trace.at)
        block.args.append(argument)

    # --- variables that blocks hand on

    def _variables_at(self, label: str) -> None:
        """What variables are at the beginning of a block."""
        before = self.roots.before[label]
        current = self.memory.current
        self.handed[label] = []
        if not before:
            return
        done = [self.ends[each] for each in before if each in self.ends]
        looped = [each for each in before if each not in self.ends]
        inside = set().union(*(self.roots.between(label, each) for each in looped)) if looped else set()
        for variable, type in self.memory.variables.items():
            values = {end[variable] for end in done}
            if label not in self.wanted.get(variable[0], ()):
                continue  # nothing reads it from here on
            if len(values) > 1 or inside & self.writes[variable[0]]:
                argument = Value(type, "", self.blocks[label], self.trace.at)
                self.blocks[label].args.append(argument)
                self.handed[label].append(variable)
                current[variable] = argument
            else:
                current[variable] = next(iter(values))

    # --- instructions

    def _instruction(self, label: str, i: Instruction) -> None:
        numbers, values, memory = self.numbers, self.numbers.values, self.memory
        if i.op in BINARY:
            a, b = (numbers.value(operand) for operand in i.operands)
            values[i.result] = numbers.binary(BINARY[i.op], a, b)
        elif i.op in CASTS:
            values[i.result] = numbers.cast(CASTS[i.op], numbers.value(i.operands[0]), scalar_type(i.type))
        elif i.op in ("icmp", "fcmp"):
            values[i.result] = self._compared(i)
        elif i.op == "select":
            self._select(i)
        elif i.op == "load":
            if i.type == "ptr":
                raise Unliftable(POINTER, "a pointer is read from memory", "pass it as an argument of the kernel")
            values[i.result] = memory.load(memory.pointer(i.operands[0].text), i.type)
        elif i.op == "store":
            if i.type == "ptr":
                raise Unliftable(POINTER, "a pointer is kept in memory", "choose between arrays with if and else")
            memory.store(memory.pointer(i.operands[1].text), numbers.value(i.operands[0]))
        elif i.op == "getelementptr":
            memory.pointers[i.result] = memory.element(i.type, i.operands)
        elif i.op == "inttoptr":
            known = numbers.number(i.operands[0])
            value = numbers.value(i.operands[0])
            terms = () if known is not None else ((numbers.index(value), 1),)
            memory.pointers[i.result] = Pointer(
                ADDRESS if numbers.from_memory(value) else Root("tile"), known or 0, terms
            )
        elif i.op == "ptrtoint":
            self._as_number(i)
        elif i.op == "freeze":
            if i.type == "ptr":
                memory.pointers[i.result] = memory.pointer(i.operands[0].text)
            else:
                values[i.result] = numbers.value(i.operands[0])
        elif i.op == "fneg":
            value = numbers.value(i.operands[0])
            values[i.result] = self.trace.emit("arith.negf", {"in": value}, results=[value.type]).result
        elif i.op == "call":
            if not self.told.hear(i):
                call(i, numbers, memory)
        elif i.op == "asm":
            self._assembly(i)
        elif i.op != "alloca":
            raise Unliftable(CALL, f"LLVM's {i.op} has no counterpart: the code was made of vectors or structures")

    def _assembly(self, i: Instruction) -> None:
        """Assembly that only asks for a counter, as `get_sys_cnt`, which is 0 here, or does nothing."""
        if not _HARMLESS.search(i.word):
            message = "inline assembly is for one processor"
            raise Unliftable(ASSEMBLY, message, "leave it out where PTOKIT is defined: #ifndef PTOKIT")
        if i.result:
            self.numbers.values[i.result] = self.numbers.constant(0, scalar_type(i.type))

    def _as_number(self, i: Instruction) -> None:
        p = self.memory.pointer(i.operands[0].text)
        if p.root.kind in ("local", "global"):
            message = "the address of a variable is used as a number"
            raise Unliftable(POINTER, message, "keep it a pointer, and count from its beginning")
        offset = self.memory.address(p) if p.root.kind == "argument" else self.memory.offset(p, 1)
        type = scalar_type(i.type)
        if isinstance(offset, int):
            self.numbers.values[i.result] = self.numbers.constant(offset, type)
        else:
            self.numbers.values[i.result] = self.numbers.cast("index_cast", offset, type)

    def _compared(self, i: Instruction) -> Value:
        a, b = i.operands
        if a.type != "ptr":
            return self.numbers.compare(i.word, self.numbers.value(a), self.numbers.value(b))
        p, q = self.memory.pointer(a.text), self.memory.pointer(b.text)
        kinds = {p.root.kind, q.root.kind}
        if p.root == q.root or kinds & {"address", "tile"}:
            root = p.root if p.root == q.root else ADDRESS
            places = (self.memory.place(each, root) for each in (p, q))
            return self.numbers.compare(i.word, *places)
        if NULL in (p.root, q.root) and any(NULL in self.roots.of(each.text) for each in (a, b) if each.text != "null"):
            message = "a pointer into a variable is compared with null, and whether it is null only the run knows"
            raise Unliftable(POINTER, message, "keep a bool beside the pointer")
        if kinds == {"argument"}:
            message = f"{p.root.name} and {q.root.name} are compared, which may be one array"
            raise Unliftable(POINTER, message, "pass a number that says whether they are")
        if i.word in ("eq", "ne"):
            return self.trace.constant(i.word == "ne", I1)
        raise Unliftable(POINTER, "addresses of two variables are compared", "compare offsets")

    def _select(self, i: Instruction) -> None:
        condition, a, b = i.operands
        chosen = self.numbers.value(condition)
        if i.type != "ptr":
            self.numbers.values[i.result] = self.numbers.select(
                chosen, self._known_as(i.result, a), self._known_as(i.result, b)
            )
            return
        p, q = self.memory.pointer(a.text), self.memory.pointer(b.text)
        known = self.numbers.known(chosen)
        if known is not None:
            self.memory.pointers[i.result] = p if known else q
            return
        root = one_of({p.root, q.root})
        places = (self.memory.place(each, root) for each in (p, q))
        self.memory.pointers[i.result] = Pointer(root, 0, ((self.numbers.select(chosen, *places), 1),))

    def _known_as(self, name: str, operand: Operand) -> Value:
        """What is called by a name from here on; a register in the type that it has there."""
        value = self.numbers.value(operand)
        type = self.registers.types.get(name)
        return value if type is None else self.registers.seen_as(value, type)

    # --- branches

    def _handed_on(self, source: str, label: str) -> list[Value]:
        """What a branch hands to a block."""
        out = []
        for instruction in self.function.blocks[label]:
            if instruction.op != "phi":
                break
            given = instruction.operands[instruction.labels.index(source)]
            if instruction.type == "ptr":
                root = self.memory.pointers[instruction.result].root
                out.append(self.memory.place(self.memory.pointer(given.text), root))
            else:
                out.append(self._known_as(instruction.result, given))
        return [*out, *(self.ends[source][variable] for variable in self.handed[label])]

    def _end(self, label: str, i: Instruction) -> None:
        given = [self._handed_on(label, to) for to in i.labels]
        to = [self.blocks[each] for each in i.labels]
        at, add = self.trace.at, self.trace.block.add
        if i.op == "br" and len(to) == 1:
            add(branch(at, to[0], given[0]))
        elif i.op == "br":
            add(branch_if(at, self.numbers.value(i.operands[0]), to, given))
        elif i.op == "switch":
            add(branch_by(at, self.numbers.value(i.operands[0]), i.cases, to, given))
        else:
            add(return_of(at))


_PURE = ("arith.", "pto.addptr", "pto.castptr", "pto.alloc_tile", "ptokit.")


def _drop_unused(root: Block) -> None:
    """Remove arithmetic whose results nothing uses, and what only that has used."""
    ops = list(root.walk())
    uses = Counter(value for op in ops for value in op.values)
    dead: set[Op] = set()
    pending = [op for op in ops if op.name.startswith(_PURE) and not any(uses[r] for r in op.results)]
    while pending:
        op = pending.pop()
        dead.add(op)
        for value in op.values:
            uses[value] -= 1
            owner = value.owner
            if not uses[value] and isinstance(owner, Op) and owner.name.startswith(_PURE):
                pending.append(owner)
    for block in root.blocks:
        block.ops[:] = [op for op in block.ops if op not in dead]


def _in_cpp(found: Diagnostic, at: Location) -> Diagnostic:
    """What the words of Python refuse, as it is told of C++: without advice that is a call in Python."""
    if not found.rule.startswith("LANG-"):
        return replace(found, location=at)
    hint = None if found.hint and "pto." in found.hint else found.hint
    return replace(found, rule=OPERANDS.id, location=at, hint=hint)


class _Roots:
    """What the pointers of a function may point into, and how its blocks follow each other."""

    def __init__(self, function: llvm.Function, order: list[str]) -> None:
        self.function, self.order = function, order
        self.after = {label: list(dict.fromkeys(function.blocks[label][-1].labels)) for label in order}
        self.before: dict[str, list[str]] = {label: [] for label in order}
        for label in order:
            for to in self.after[label]:
                self.before[to].append(label)
        names = [text[1:].strip('"') for _, text in function.params]
        named = [name if _IDENTIFIER.fullmatch(name) else f"arg{k}" for k, name in enumerate(names)]
        self._of: dict[str, set[Root]] = {
            text: {Root("argument", name, k)}
            for k, ((type, text), name) in enumerate(zip(function.params, named))
            if type == "ptr"
        }
        changed = True
        while changed:
            changed = sum(self._learn(i) for label in order for i in function.blocks[label]) > 0

    def _learn(self, i: Instruction) -> bool:
        sources: list[str] = []
        if i.op == "alloca":
            found = {Root("local", i.result)}
        elif i.op == "inttoptr":
            found = {Root("tile")}
        elif i.op == "getelementptr":
            found, sources = set(), [i.operands[0].text]
        elif i.op in ("phi", "freeze") and i.type == "ptr":
            found, sources = set(), [operand.text for operand in i.operands]
        elif i.op == "select" and i.type == "ptr":
            found, sources = set(), [operand.text for operand in i.operands[1:]]
        else:
            return False
        for text in sources:
            found |= self.of(text)
        old = self._of.get(i.result, set())
        self._of[i.result] = old | found
        return len(self._of[i.result]) != len(old)

    def of(self, text: str) -> set[Root]:
        """What an operand may point into."""
        if text in self._of:
            return self._of[text]
        if text == "null":
            return {NULL}
        named = re.match(r'[^@]*@("[^"]*"|[-\w$.]+)', text) if "@" in text else None
        if named is not None:
            return {Root("global", named[1].strip('"'))}
        return {Root("tile")} if text.startswith("inttoptr") else set()

    def direct(self, module: Module, written: object) -> dict[Root, tuple[set[str], set[int]]]:
        """The global variables that are met by loads and stores only, at places that are known: types and offsets."""
        found: dict[Root, tuple[set[str], set[int]]] = {}
        escaped: set[str] = set()
        for label in self.order:
            for i in self.function.blocks[label]:
                pointed = [text for text, type, _ in accessed(i) if type]
                for operand in i.operands:
                    if "@" not in operand.text:
                        continue
                    root = next(iter(self.of(operand.text)))
                    offset = _constant_offset(operand.text)
                    if operand.text in pointed and operand.type == "ptr" and offset is not None:
                        types, offsets = found.setdefault(root, (set(), set()))
                        types.add(i.type)
                        offsets.add(offset)
                    else:
                        escaped.add(root.name)
        return {
            root: uses
            for root, uses in found.items()
            if root.name not in escaped and root in written and "ptr" not in uses[0]  # type: ignore[operator]
        }

    def copied(self) -> set[Root]:
        """What is copied as a whole, or to."""
        calls = (i for label in self.order for i in self.function.blocks[label] if i.op == "call")
        copies = (i for i in calls if i.word.startswith(("@llvm.memcpy", "@llvm.memmove")))
        return {root for i in copies for operand in i.operands[:2] for root in self.of(operand.text)}

    def leading_to(self, labels: set[str]) -> set[str]:
        """These blocks, and all from which they can be reached."""
        found, pending = set(labels), list(labels)
        while pending:
            new = set(self.before[pending.pop()]) - found
            found |= new
            pending += new
        return found

    def between(self, head: str, latch: str) -> set[str]:
        """The blocks of a loop, from its head to a block that leads back to it."""
        inside, pending = {head, latch}, [latch] if latch != head else []
        while pending:
            for each in self.before[pending.pop()]:
                if each not in inside:
                    inside.add(each)
                    pending.append(each)
        return inside


def _constant_offset(text: str) -> int | None:
    """How many bytes an operand is after a global: nothing, or as ``getelementptr`` of bytes counts."""
    if text.startswith("@"):
        return 0
    counted = re.fullmatch(r"getelementptr (?:(?:inbounds|nuw|nusw) )*\(i8, ptr @[^,]*, i64 (\d+)\)", text)
    return int(counted[1]) if counted else None
