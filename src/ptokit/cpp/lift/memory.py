"""Pointers, global memory, and the local arrays and counters that optimisation leaves in memory.

A pointer is what it points into, and how far. Numbers in local memory are kept in one of three ways: a variable that
is only ever met by its name, and those of a small array, become values that blocks hand on (`variables`); an array that
is written with constants before anything else is a table; any other is a local array of the scalar unit. An element of
few is found by a chain of selections.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import gcd

from ptokit.ir import Block, Op, Value
from ptokit.ir.control import reached
from ptokit.ir.core import Operands
from ptokit.types.dtypes import DType, dtype
from ptokit.types.values import I64, INDEX, LocalArray, Ptr
from ptokit.types.values import Scalar as ScalarType

from ..llvm import Module, Operand, operand, split
from ..rules import MEMORY, POINTER, Unliftable
from .numbers import Lifting, Numbers, scalar_type
from .roots import ADDRESS, CHOSEN, IN_GM, NULL, Pointer, Root, one_of

LOOKED_UP, OF_THREADS = 8, 64
"""Elements of an array up to which it is a chain of selections; threads have no other arrays."""


Variable = tuple[Root, int]
"""A number in memory that has no other name: its root and byte offset."""


class Memory:
    """The memory of a function. ``params``: those that pointers are taken from; ``null``: whether some are null.

    ``of_threads``: whether threads run it.
    """

    def __init__(
        self, module: Module, trace: Lifting, numbers: Numbers, params: list[Value], null: bool, of_threads: bool
    ) -> None:
        self.module, self.trace, self.numbers, self.params, self.null = module, trace, numbers, params, null
        self.few = OF_THREADS if of_threads else LOOKED_UP
        self.pointers: dict[str, Pointer] = {}
        self.sizes: dict[Root, int] = {}  # of local variables, in bytes
        self.stated: dict[Root, str] = {}  # the types with which they are declared
        self.types: dict[Root, set[str]] = {}  # with which memory is read and written
        self.late: set[Root] = set()  # is written after the first block
        self.tables: dict[Root, dict[int, Value]] = {}  # of arrays that are still known
        self.arrays: dict[tuple[Root, int], Value] = {}
        self.current: dict[Variable, Value] = {}  # what variables are, in the block that is being lifted
        self.variables: dict[Variable, ScalarType] = {}
        self.small: dict[Root, dict[int, int]] = {}  # places and sizes of the numbers of arrays that are variables
        self.prologue: list[Op] = []  # at the beginning of the function
        self._leaves: dict[Root, dict[int, int]] = {}
        self._met: dict[Root, list[tuple[Pointer, int]]] = {}

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Record at the beginning of the function."""
        block, self.trace.block = self.trace.block, Block()
        yield
        self.prologue += self.trace.block.ops
        self.trace.block = block

    # --- places

    def pointer(self, text: str) -> Pointer:
        """The place that an operand names."""
        found = self.pointers.get(text)
        if found is not None:
            return found
        if text in ("null", "undef", "poison", "zeroinitializer"):
            return Pointer(NULL)
        if text.startswith("@"):
            return Pointer(Root("global", text[1:].strip('"')))
        if text.startswith("getelementptr"):
            parts = split(_inner(text.partition("inrange(")[2].partition(")")[2] or text))
            return self.element(parts[0], [operand(part) for part in parts[1:]])
        if text.startswith("inttoptr"):
            value = operand(_inner(text).rpartition(" to ")[0])
            return Pointer(Root("tile"), int(value.text))
        raise Unliftable(POINTER, "an address comes from a number that only the run knows", CHOSEN)

    def element(self, type: str, operands: list[Operand]) -> Pointer:
        """The place of an element, as ``getelementptr`` counts."""
        base, bytes = self.pointer(operands[0].text), 0
        terms: list[tuple[Value, int]] = []
        for k, index in enumerate(operands[1:]):
            known = self.numbers.number(index)
            if k and known is not None:
                more, type = self.module.element(type, known)
                bytes += more
                continue
            if k:
                type = self.module.item(type)
            size = self.module.size(type)
            if known is not None:
                bytes += known * size
            else:
                terms.append((self.numbers.index(self.numbers.value(index)), size))
        return base.plus(bytes, tuple(terms))

    def offset(self, p: Pointer, size: int) -> int | Value:
        """How many elements of so many bytes a place is from the beginning of its root."""
        if p.bytes % size or any(scale % size for _, scale in p.terms):
            return self.numbers.binary("divsi", self.at(self.offset(p, 1)), self.at(size))
        total: Value | None = None
        for value, scale in p.terms:
            term = value if scale == size else self.numbers.binary("muli", value, self.at(scale // size))
            total = term if total is None else self.numbers.binary("addi", total, term)
        if total is None:
            return p.bytes // size
        return self.numbers.binary("addi", total, self.at(p.bytes // size)) if p.bytes else total

    def at(self, offset: int | Value) -> Value:
        """An offset as a value of type index."""
        return offset if isinstance(offset, Value) else self.numbers.constant(offset, INDEX)

    # --- global memory

    def address(self, p: Pointer) -> Value:
        """The address of a place as a number: of bytes in global memory, or in one of the core."""
        one_of({p.root, ADDRESS})
        offset = self.at(self.offset(p, 1))
        if p.root.kind != "argument":
            return offset
        base = self.trace.emit("pto.ptrtoint", {"ptr": self.params[p.root.position]}, results=[I64]).result
        return self.numbers.binary("addi", self.numbers.index(base), offset)

    def stored_pointer(self, text: str) -> Value:
        """A pointer as memory keeps it: its address."""
        p = self.pointer(text)
        if p.root.kind in ("local", "global"):
            message = "a pointer into a variable is kept in memory"
            raise Unliftable(POINTER, message, "keep the index of the element, or choose with if and else")
        return self.numbers.cast("index_cast", self.address(p) if p.root != NULL else self.at(p.bytes), I64)

    def place(self, p: Pointer, root: Root) -> Value:
        """How many bytes a place is from the beginning of a root; of addresses, its own."""
        return self.address(p) if root == ADDRESS else self.at(self.offset(p, 1))

    def global_pointer(self, p: Pointer, element: DType) -> Value:
        """A pointer of the program to elements of a type."""
        if p.root == ADDRESS or (p.root.kind == "tile" and p.terms):  # where a tensor begins, is global memory
            number = self.numbers.cast("index_cast", self.address(p), I64)
            return self.trace.emit("pto.inttoptr", {"addr": number}, results=[Ptr(element)]).result
        if p.root.kind != "argument":
            where = {"nothing": "a null pointer", "tile": "the memory of a tile"}.get(p.root.kind, "a local variable")
            raise Unliftable(POINTER, f"global memory is needed, and the address is that of {where}", CHOSEN)
        value = self._argument(p.root, element)
        offset = self.offset(p, element.size)
        if element.packed and offset != 0:  # bytes, which hold two elements each
            offset = 2 * offset if isinstance(offset, int) else self.numbers.binary("muli", offset, self.at(2))
        if offset != 0:
            operands = {"ptr": value, "offset": self.at(offset)}
            value = self.trace.emit("pto.addptr", operands, results=[value.type]).result
        return value

    def _argument(self, root: Root, element: DType) -> Value:
        value = self.params[root.position]
        assert isinstance(value.type, Ptr)
        if value.type.dtype is not element:
            made = Ptr(element, value.type.space)
            value = self.trace.emit("pto.castptr", {"value": value}, results=[made]).result
        return value

    def _lies(self, p: Pointer) -> bool:
        """True for a place in global memory, or in UB: at an address that is no number handed as one of 64 bits."""
        if p.root.kind != "tile":
            return p.root.kind in IN_GM or (p.root == NULL and not self.null)
        found = reached([v for v, _ in p.terms], lambda v: v.owner.values if isinstance(v.owner, Op) else ())
        made = (v.owner.name for v in found if isinstance(v.owner, Op))
        return "ptokit.new_tile" not in made and not any(v in self.params and v.type == I64 for v in found)

    def local_pointer(self, type: str, text: str) -> Value:
        """A pointer into a memory of the core that an operand is: ``ui8 l1`` says to what, and into which."""
        (element, space), p = type.split(), self.pointer(text)
        if p.root.kind not in ("tile", "address", "nothing"):
            raise Unliftable(POINTER, f"an address in {space} is needed, and this is none", "take a tile's data()")
        return self.in_core(p, dtype(element), space)

    def in_core(self, p: Pointer, element: DType, space: str = "ub") -> Value:
        """A pointer of the program into a memory of the core."""
        address = self.numbers.cast("index_cast", self.at(self.offset(p, 1)), I64)
        return self.trace.emit("pto.castptr", {"value": address}, results=[Ptr(element, space)]).result

    def pointer_to(self, p: Pointer, element: DType) -> Value:
        """A pointer of the program to where a place lies."""
        return self.global_pointer(p, element) if p.root.kind in IN_GM else self.in_core(p, element)

    def _element(self, p: Pointer, type: ScalarType) -> tuple[DType, dict[str, Value]]:
        """The element type with which a number of that type is accessed where it lies, and its pointer and index."""
        asked = dtype("i8" if type.name == "i1" else type.name)
        if p.root.kind not in IN_GM:
            return asked, {"ptr": self.in_core(p, asked), "index": self.at(0)}
        if p.root == ADDRESS:
            return asked, {"ptr": self.global_pointer(p, asked), "index": self.at(0)}
        own = self.params[p.root.position].type
        assert isinstance(own, Ptr)
        same = own.dtype.size == asked.size and own.dtype.is_float == asked.is_float and own.dtype.bits >= 8
        element = own.dtype if same and own.dtype.is_integer == asked.is_integer else asked
        return element, {"ptr": self._argument(p.root, element), "index": self.at(self.offset(p, element.size))}

    # --- reading and writing

    def load(self, p: Pointer, type: str, *, whole: bool = False) -> Value:
        """The number at a place; ``whole``: all of a variable is read, whatever is in it."""
        wanted = scalar_type(type)
        if self._lies(p):
            element, operands = self._element(p, wanted)
            value = self.trace.emit("pto.load_scalar", operands, results=[ScalarType(element.text)]).result
            return self._as(value, wanted)
        if p.root.kind not in ("local", "global"):
            raise Unliftable(MEMORY, "a number is read through a pointer to no variable", "use GetValue of the tile")
        part = self._part(p, self.module.size(type))
        if part < self.module.size(type):
            return self._joined(p, wanted, part)
        if (p.root, p.bytes) in self.variables and not p.terms:
            return self._as(self.current[p.root, p.bytes], wanted)
        if p.root in self.small:
            held = {at: self.current[p.root, at] for at in self._places(p, self.module.size(type))}
            return self._as(self._chosen(p, held), wanted)
        size = self.module.size(type)
        found = self._looked_up(p, size, wanted)
        if found is not None:
            return found
        array = self._array(p, size, whole)
        assert isinstance(array.type, LocalArray)
        given: Operands = {"array": array, "indices": [self.at(self.offset(p, size))]}
        return self._as(self.trace.emit("pto.local_array_get", given, results=[array.type.element]).result, wanted)

    def store(self, p: Pointer, value: Value, *, whole: bool = False) -> None:
        """Put a number down at a place; ``whole``: all of a variable is written, whatever is in it."""
        if not isinstance(value.type, ScalarType):
            message = "a vector register is kept in memory, or in an array whose indices a loop counts"
            raise Unliftable(MEMORY, message, "name each register, and write out the loop")
        if self._lies(p):
            element, operands = self._element(p, value.type)
            self.trace.emit("pto.store_scalar", {"value": self._as(value, ScalarType(element.text)), **operands})
            return
        if p.root.kind not in ("local", "global"):
            raise Unliftable(MEMORY, "a number is stored through a pointer to no variable", "use SetValue of the tile")
        part = self._part(p, self._size_of(value))
        if part < self._size_of(value):
            self._divide(p, value, part, whole)
            return
        key = (p.root, p.bytes)
        if key in self.variables and not p.terms:
            self.current[key] = self._as(value, self.variables[key])
            return
        if p.root in self.small:
            self._put(p, value, self._size_of(value))
            return
        table = self._table(p.root)
        if table is not None and not p.terms and self.numbers.known(value) is not None:
            table[p.bytes] = value
            return
        size = self._size_of(value)
        array = self._array(p, size, whole)
        assert isinstance(array.type, LocalArray)
        given: Operands = {"array": array, "indices": [self.at(self.offset(p, size))]}
        self.trace.emit("pto.local_array_set", {**given, "value": self._as(value, array.type.element)})

    def _part(self, p: Pointer, size: int) -> int:
        """The size of the numbers of a variable where so many of its bytes are accessed: compilers join small ones."""
        leaves = self.leaves(p.root)
        first = _first(p)
        held = leaves.get(first, size)
        whole = held < size and all(leaves.get(at) == held for at in range(first, first + size, held))
        return held if whole else size

    def _joined(self, p: Pointer, wanted: ScalarType, part: int) -> Value:
        """A number that is read from several smaller ones, the lowest first."""
        size = 8 if wanted.name == "f64" else self.module.size(_LLVM.get(wanted.name, wanted.name))
        whole, out = ScalarType(f"i{8 * size}"), None
        for k in range(size // part):
            piece = self.numbers.cast("extui", self.load(p.plus(k * part), f"i{8 * part}"), whole)
            shifted = self.numbers.binary("shli", piece, self.numbers.constant(8 * part * k, whole)) if k else piece
            out = shifted if out is None else self.numbers.binary("ori", out, shifted)
        assert out is not None
        return self._as(out, wanted)

    def _divide(self, p: Pointer, value: Value, part: int, whole: bool) -> None:
        """Put a number down as several smaller ones."""
        size = self._size_of(value)
        all_bits, piece = ScalarType(f"i{8 * size}"), ScalarType(f"i{8 * part}")
        value = self._as(value, all_bits)
        for k in range(size // part):
            amount = self.numbers.constant(8 * part * k, all_bits)
            shifted = self.numbers.binary("shrui", value, amount) if k else value
            self.store(p.plus(k * part), self.numbers.cast("trunci", shifted, piece), whole=whole)

    def leaves(self, root: Root) -> dict[int, int]:
        """The places and sizes of the numbers in a variable, as it is declared."""
        if root not in self._leaves:
            stated = self.stated.get(root)
            if root.kind == "global":
                stated = self.module.value_of(root.name).type
            self._leaves[root] = {} if stated is None else dict(self.module.leaves(stated))
        return self._leaves[root]

    def settle_types(self) -> None:
        """Of each variable, keep the types of the sizes that its numbers have; larger accesses are several of them."""
        for root, types in self.types.items():
            sizes = set(self.leaves(root).values())
            larger = {type for type in types if self.module.size(type) not in sizes}
            if sizes and larger and all(self.module.size(type) > min(sizes) for type in larger):
                types -= larger
                if not types:
                    types.add(f"i{8 * min(sizes)}")

    def _size_of(self, value: Value) -> int:
        assert isinstance(value.type, ScalarType)
        return self.module.size(value.type.name if not value.type.is_float else _LLVM[value.type.name])

    def fill(self, p: Pointer, count: int) -> None:
        """Set bytes of a variable to zero."""
        for at, type in self._numbers_in(p, count, self.types.get(p.root, set())):
            zero = self.numbers.value(Operand(type, "0.0" if type in _FLOATS else "0"))
            self.store(p.plus(at), zero, whole=True)

    def copy(self, to: Pointer, source: Pointer, count: int) -> None:
        """Copy bytes of a variable to another."""
        types = self.types.get(to.root, set()) | self.types.get(source.root, set())
        if not types and "argument" in (to.root.kind, source.root.kind):
            types = {"i8"}
        for at, type in list(self._numbers_in(to, count, types)):
            self.types.setdefault(to.root, set()).add(type)
            self.types.setdefault(source.root, set()).add(type)
            self.store(to.plus(at), self.load(source.plus(at), type, whole=True), whole=True)

    def _numbers_in(self, p: Pointer, count: int, types: set[str]) -> list[tuple[int, str]]:
        """Where numbers of these types are in so many bytes of a variable."""
        sizes = {self.module.size(type): type for type in sorted(types)}
        if p.root in self.small and not p.terms:
            inside = range(p.bytes, p.bytes + count)
            return [(at - p.bytes, sizes[size]) for at, size in self.small[p.root].items() if at in inside]
        places = [(at, type) for size, type in sizes.items() for at in range(0, count - size + 1, size)]
        if p.root not in self.stated or p.terms:
            return places
        leaves = self.leaves(p.root)
        held = [(at, type) for at, type in places if leaves.get(p.bytes + at) == self.module.size(type)]
        return held if sum(self.module.size(type) for _, type in held) == count else places

    def _as(self, value: Value, wanted: ScalarType) -> Value:
        assert isinstance(value.type, ScalarType)
        if value.type == wanted:
            return value
        have, want = value.type.name, wanted.name
        if "i1" in (have, want):
            return self.numbers.cast("trunci" if want == "i1" else "extui", value, wanted)
        return self.numbers.same_bits(value, wanted)

    # --- local arrays

    def _table(self, root: Root) -> dict[int, Value] | None:
        """What an array is known to hold, while nothing else than constants has been written to it."""
        if root in self.late or len({self.module.size(type) for type in self.types.get(root, ())}) != 1:
            return None
        if root not in self.tables:
            table = self.tables[root] = {}
            if root.kind == "global":
                for at, value in self.module.numbers(root.name):
                    table[at] = self.numbers.value(value)
        return self.tables[root]

    def _looked_up(self, p: Pointer, size: int, wanted: ScalarType) -> Value | None:
        table = self._table(p.root)
        if table is None:
            return None
        zero = self.trace.constant(0.0, wanted) if wanted.is_float else self.numbers.constant(0, wanted)
        if not p.terms:
            found = table.get(p.bytes)
            return zero if found is None else self._as(found, wanted)
        places = range(0, self._bytes(p.root), size)
        if len(places) > self.few:
            return None
        return self._chosen(p, {at: self._as(table[at], wanted) if at in table else zero for at in places})

    def _chosen(self, p: Pointer, values: dict[int, Value]) -> Value:
        """The one of the numbers of a variable, by their places, that a place with indices means."""
        at = self.at(self.offset(p, 1))
        *others, out = values.items()
        chosen = out[1]
        for place, value in others:
            chosen = self.numbers.select(self.numbers.compare("eq", at, self.at(place)), value, chosen)
        return chosen

    def _put(self, p: Pointer, value: Value, size: int) -> None:
        """Put a number down in the one of the variables that a place with indices means."""
        at = self.at(self.offset(p, 1))
        for place in self._places(p, size):
            key = (p.root, place)
            own = self._as(value, self.variables[key])
            here = self.numbers.compare("eq", at, self.at(place))
            self.current[key] = self.numbers.select(here, own, self.current[key])

    def _places(self, p: Pointer, size: int) -> list[int]:
        """Where in a small array numbers of a size are."""
        found = [at for at, held in self.small[p.root].items() if held == size]
        if not found or not p.terms:
            raise Unliftable(MEMORY, f"{size} bytes of a local array are no number of it", _APART)
        return found

    def keep_apart(self, root: Root) -> bool:
        """Keep each number of a small array as a variable of its own, which begins as zero; False for others."""
        types = self.types.get(root, set())
        kinds = {self.module.size(type): type for type in sorted(types, key=lambda type: type not in _FLOATS)}
        if root.kind != "local" or not types or "i1" in types:
            return False
        held = {at: size for at, size in self.leaves(root).items() if size in kinds}
        if set(held.values()) != kinds.keys():
            if len(kinds) != 1 or self._bytes(root) % (size := next(iter(kinds))):
                return False
            held = dict.fromkeys(range(0, self._bytes(root), size), size)
        if len(held) > self.few:
            return False
        self.small[root] = held
        for at, size in held.items():
            kind = kinds[size]
            self.variables[root, at] = scalar_type(kind)
            self.current[root, at] = self.numbers.value(Operand(kind, "0.0" if kind in _FLOATS else "0"))
        return True

    def _bytes(self, root: Root) -> int:
        return self.sizes[root] if root.kind == "local" else self.module.size(self.module.value_of(root.name).type)

    def _array(self, p: Pointer, size: int, whole: bool) -> Value:
        """The local array of the numbers of one size in a variable, made at the beginning of the function."""
        root = p.root
        if not whole:
            self._met.setdefault(root, []).append((p, size))
        found = self.arrays.get((root, size))
        if found is not None:
            return found
        if self.few == OF_THREADS:
            message = f"threads have arrays of up to {OF_THREADS} numbers of one type"
            raise Unliftable(MEMORY, message, "keep them in UB, a row for each thread")
        of_size = sorted(t for t in self.types[root] if self.module.size(t) == size) or [f"i{8 * size}"]
        kind = next((t for t in of_size if t not in _FLOATS), of_size[0])
        element = ScalarType("i8") if kind == "i1" else scalar_type(kind)
        array = Value(LocalArray((max(1, self._bytes(root) // size),), element), "", location=self.trace.at)
        array.owner = made = Op("pto.declare_local_array", {}, {}, [array], location=self.trace.at)
        self.arrays[root, size] = array
        known = self.tables.pop(root, None)
        self.late.add(root)
        if known is None:
            known = self._initial(root, size)
        with self.ahead():
            self.trace.block.add(made)
            for at, value in known.items():
                given: Operands = {"array": array, "indices": [self.at(at // size)], "value": self._as(value, element)}
                self.trace.emit("pto.local_array_set", given)
        return array

    def _initial(self, root: Root, size: int) -> dict[int, Value]:
        if root.kind != "global":
            return {}
        numbers = self.module.numbers(root.name)
        return {at: self.numbers.value(value) for at, value in numbers if self.module.size(value.type) == size}

    def check(self) -> None:
        """Refuse arrays in which a byte is part of numbers of two sizes."""
        for root, met in self._met.items():
            leaves = self.leaves(root)
            if all(leaves.get(_first(p)) == size for p, size in met):
                continue
            step = gcd(*(scale for p, _ in met for _, scale in p.terms)) or 1 << 40
            places = {(p.bytes % step, size) for p, size in met}
            for at, size in places:
                for other, more in places:
                    if size != more and at < other + more and other < at + size:
                        message = f"bytes of a local array are read as numbers of {size} and of {more} bytes"
                        raise Unliftable(MEMORY, message, _APART)


def _first(p: Pointer) -> int:
    """Where the first of the places is that a pointer with indices may mean."""
    step = gcd(*(scale for _, scale in p.terms))
    return p.bytes if p.bytes >= 0 or not step else p.bytes % step


_APART = "keep numbers of different sizes in arrays of their own"
_FLOATS = ("half", "float", "double", "bfloat")
_LLVM = {"f16": "half", "f32": "float", "f64": "double", "bf16": "bfloat"}


def _inner(text: str) -> str:
    return text[text.index("(") + 1 : text.rindex(")")]
