"""One kernel function: its blocks one after the other, then the branches between them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location
from ptokit.diagnostics.finding import Called
from ptokit.ir import Block, Function, Value
from ptokit.ir.control import branch, branch_by, branch_if, return_of
from ptokit.ir.core import RawAttr
from ptokit.isa.table import TABLE, Kind
from ptokit.targets import Target
from ptokit.types.dtypes import DType, dtype
from ptokit.types.values import I1, I64, INDEX, Ptr, Type
from ptokit.types.values import Scalar as ScalarType

from .. import llvm
from ..compiler import HEADERS, declared_pointers
from ..llvm import Instruction, Module, Operand
from ..rules import CALL, OPERANDS, POINTER, Unliftable, refusal, short
from .instructions import Told
from .library import assembly, call
from .memory import Memory
from .numbers import BINARY, CASTS, FLOATS, Lifting, Numbers, scalar_type
from .roots import ADDRESS, IDENTIFIER, NULL, Pointer, Root, Roots, accessed, one_of

_LABEL = re.compile(r"\W")
_OTHERS = re.compile(rf"{re.escape(str(HEADERS))}|/usr/|.*/libcxx/")  # headers that are not the user's
_ENDS = frozenset(("br", "switch", "ret", "unreachable"))


def lift(
    module: Module,
    function: llvm.Function,
    null: frozenset[int],
    target: Target,
    file: str,
    name: str,
    handed: Sequence[Type] | None = None,
) -> tuple[Function, dict[Value, str]]:
    """The function of a kernel, and its tiles without an address with what is said of each.

    ``null``: the places of parameters that are null pointers. ``file``: what findings call the file that was compiled,
    ``name``: the function. ``handed``: of a function of threads, what its launch hands it. Raises `DiagnosticError`
    (CPP-POINTER, CPP-MEMORY, CPP-CALL, CPP-OPERANDS, CPP-OPTION, CPP-ASM).
    """
    name = re.sub(r"\W+", "_", name).strip("_")
    made = _FunctionLift(module, function, null, target, file, name, handed)
    return made.lifted(), made.told.homeless


class _FunctionLift:
    def __init__(
        self,
        module: Module,
        function: llvm.Function,
        null: frozenset[int],
        target: Target,
        file: str,
        name: str,
        handed: Sequence[Type] | None,
    ) -> None:
        self.module, self.function, self.null, self.file, self.handed_over = module, function, null, file, handed
        self.path = os.path.abspath(file)
        begin = module.begin(function)
        self.begin = Location(self._shown(begin.file), begin.line, begin.column) if begin.file else Location(file)
        self.trace = Lifting(name, target, self.begin)
        self.numbers = Numbers(self.trace)
        self.params: list[Value] = []
        self.memory = Memory(module, self.trace, self.numbers, self.params, bool(null), handed is not None)
        self.told = Told(module, self.trace, self.numbers, self.memory)
        self.registers = self.told.registers
        self.order = function.order()
        self.roots = Roots(function, self.order)
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
        made.params = self.params
        made.attrs |= {"pto.entry": True} if self.handed_over is None else {"pto.simt_entry": RawAttr("unit")}
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
        types = {} if self.handed_over is not None else self._argument_types()
        for k, (type, text) in enumerate(self.function.params):
            name = text[1:].strip('"')
            name = name if IDENTIFIER.fullmatch(name) else f"arg{k}"
            of: Type = Ptr(types.get(k, dtype("ui8"))) if type == "ptr" else scalar_type(type)
            of = of if self.handed_over is None else self.handed_over[k]
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
                    for root in self.roots.of(text) if of else ():
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
            of_pointer = i.type == "ptr"
            value = memory.load(memory.pointer(i.operands[0].text), "i64" if of_pointer else i.type)
            if of_pointer:
                memory.pointers[i.result] = Pointer(ADDRESS, 0, ((numbers.index(value), 1),))
            else:
                values[i.result] = value
        elif i.op == "store":
            stored = i.operands[0]
            value = memory.stored_pointer(stored.text) if i.type == "ptr" else numbers.value(stored)
            memory.store(memory.pointer(i.operands[1].text), value)
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
            if self.handed_over is not None and i.word.startswith("@ptokit_") and not i.word.startswith(_OPERATION):
                what = "a launch" if i.word == _LAUNCH else self.told.text(i.operands[0])
                raise Unliftable(CALL, f"{what} is no operation of a thread", "do it in the kernel, beside the launch")
            if i.word == _LAUNCH:
                _launch(i, self.module, numbers, memory)
            elif i.word.startswith(_OPERATION) or (self.handed_over is not None and i.word in _OF_C):
                _by_thread(i, numbers, memory)
            elif not self._hear(i):
                call(i, numbers, memory)
        elif i.op == "asm":
            assembly(i, numbers)
        elif i.op != "alloca":
            raise Unliftable(CALL, f"LLVM's {i.op} has no counterpart: the code was made of vectors or structures")

    def _hear(self, i: Instruction) -> bool:
        """Take a call of the headers; False for one of something else."""
        told, numbers = self.told, self.numbers
        what = i.word.removeprefix("@ptokit_")
        if what == i.word:
            return False
        if what == "begin":
            told.name, told.given = told.text(i.operands[0]), []
        elif what in ("tile", "view", "number", "real", "pointer", "option"):
            told.given.append((what, told.text(i.operands[0]), i.operands[1:]))
        elif what == "end":
            told.result = told.recorded()
        elif what == "query":
            made = self.trace.emit(f"pto.{told.text(i.operands[0])}", results=[I64])
            numbers.values[i.result] = made.result
        elif what in ("integer_result", "real_result"):
            numbers.values[i.result] = told.read(I64 if what == "integer_result" else ScalarType("f64"))
        elif what == "register":
            numbers.values[i.result] = told.made[numbers.number(i.operands[1]) or 0]
        elif what == "new_tile":
            numbers.values[i.result] = self.trace.emit("ptokit.new_tile", results=[I64]).result
        else:
            raise Unliftable(CALL, f"{i.word[1:]} is called", "call what the headers of PTO have")
        return True

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


def _in_cpp(found: Diagnostic, at: Location) -> Diagnostic:
    """What the words of Python refuse, as it is told of C++: without advice that is a call in Python."""
    if not found.rule.startswith("LANG-"):
        return replace(found, location=at)
    hint = None if found.hint and "pto." in found.hint else found.hint
    return replace(found, rule=OPERANDS.id, location=at, hint=hint)


# Threads: their launches, and what one of them does, which C++ has an external function for.


_LAUNCH, _OPERATION = "@ptokit_launch_threads", "@ptokit_threads."
_BYTES = dtype("ui8")
_OF_C = {
    spelling: name
    for name in "sqrt exp log sin cos pow ceil floor rint round fma".split()
    for spelling in (f"@{name}f", f"@llvm.{name}.f32")
} | {"@fabsf": "absf", "@fminf": "fmin", "@fmaxf": "fmax"}
"""Functions of C that a thread has as operations."""


def _launch(i: Instruction, module: Module, numbers: Numbers, memory: Memory) -> None:
    """A launch of a function, which is called as the compiler calls it; C++ hands on floats as doubles."""
    function, *sizes = i.operands[:4]
    if not function.text.startswith("@"):
        message = "which function threads run only the run knows"
        raise Unliftable(POINTER, message, "launch each in the branches of an if")
    name = function.text[1:].strip('"')
    params = module.functions[name].params
    given = [_handed(each, param.type, numbers, memory) for each, param in zip(i.operands[4:], params)]
    operands = {"sizes": [numbers.value(size) for size in sizes], "args": given}
    numbers.trace.emit("pto.simt_launch", operands, {"callee": name})


def _handed(operand: Operand, type: str, numbers: Numbers, memory: Memory) -> Value:
    if operand.type != "ptr":
        wanted = scalar_type(type)
        return numbers.cast("truncf" if wanted.is_float else "trunci", numbers.value(operand), wanted)
    p = memory.pointer(operand.text)
    if p.root.kind == "argument":
        own = memory.params[p.root.position].type
        assert isinstance(own, Ptr)
        return memory.global_pointer(p, own.dtype)
    if p.root == ADDRESS:
        return memory.global_pointer(p, _BYTES)
    if p.root.kind == "tile" or operand.text == "null":
        return memory.in_core(p, _BYTES)
    what = "null pointer" if p.root == NULL else "pointer to a variable of the kernel"
    raise Unliftable(POINTER, f"threads are handed a {what}", "hand them numbers, arrays, and addresses in UB")


def _by_thread(i: Instruction, numbers: Numbers, memory: Memory) -> None:
    """An operation of the table; what follows its name says how integers are meant, and of what type it is."""
    name, *how = _OF_C.get(i.word, i.word.removeprefix(_OPERATION)).split(".")
    given = {each.name: operand for each, operand in zip(TABLE[name].operands, i.operands)}
    elements = next((scalar_type(o.type) for o in given.values() if o.type != "ptr"), None)
    operands: dict[str, Value] = {}
    for each in TABLE[name].operands:
        operand = given[each.name]
        if each.kind is Kind.PTR:
            assert elements is not None
            operands[each.name] = memory.pointer_to(memory.pointer(operand.text), dtype(elements.name))
        else:
            operands[each.name] = numbers.value(operand)
    signs = {"signedness": how[0]} if how and how[0] in ("signed", "unsigned") else {}
    results: list[ScalarType] = [] if i.type == "void" else [scalar_type(i.type)]
    made = numbers.trace.emit(f"pto.{name}", operands, signs, results)
    if results:
        numbers.values[i.result] = made.result
