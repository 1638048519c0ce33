"""The NumPy executor's function of an operation on lanes, written from its meaning.

An expression becomes one line on arrays (blocks or 1, lanes), made once for each combination of element types; a
predicate is a bool array of that shape, None where all lanes are active.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.types.codecs import encode
from ptokit.types.dtypes import DType, from_numpy

from ..numerics.arith import as_values, element
from ..site import LanesInfo, VectorInfo
from .execute import Derived, Run
from .expressions import (
    OWN,
    Apply,
    Before,
    Bit,
    Const,
    Counted,
    Element,
    Expr,
    Fetched,
    First,
    Folded,
    Front,
    Held,
    Index,
    Listed,
    Place,
    Stored,
    Taken,
    children,
    lanes_at,
    type_of,
)
from .fold import folding
from .primitives import PRIMITIVES
from .source import NAMES, Source
from .words import Advance, Lane, Need, Word, Write

if TYPE_CHECKING:
    from ..table import Instr


class Rows(Derived):
    """The function of an instruction on lanes whose meaning is data."""

    def __init__(self, instr: Instr) -> None:
        super().__init__(instr)
        self.kinds = {o.name: str(o.kind) for o in (*instr.operands, *instr.produces)}

    def types(self, site: Any) -> dict[str, DType]:
        found: dict[str, DType] = {}
        for operand in (*self.instr.operands, *self.instr.produces):
            info = site.operands.get(operand.name) or site.operands.get(operand.like)
            if getattr(info, "lanes", 0) and hasattr(info, "dtype"):
                found[operand.name] = info.dtype
        return found

    def infos(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> dict[str, Any]:
        """What is stated of the operands, and the element types that arrays have where nothing is."""
        found = dict(attributes.get("types") or {})
        for name, operand in zip(self.names, operands):
            if name not in found and isinstance(operand, np.ndarray):
                lanes, dtype = operand.shape[1], from_numpy(operand.dtype)
                found[name] = LanesInfo(name, lanes, "", "") if dtype is None else VectorInfo(name, dtype, lanes, "")
        return found

    def source(self, types: dict[str, DType], word: Lane) -> RowSource:
        """What writes the text."""
        return RowSource(types, word, self.kinds)

    def written(self, word: Word, types: dict[str, DType]) -> Run:
        if not isinstance(word, Lane):
            return super().written(word, types)
        if not all(_computable(write.value, types) for write in word.writes):
            return _refused
        source = self.source(types, word)
        lines = [line for need in word.needs for line in source.demand(need)]
        lines += [line for write in word.writes for line in source.read_of(write)]
        lines += source.share([write.value for write in word.writes])
        made = {advance.result: _advanced(advance) for advance in word.advances}
        for write in word.writes:
            if self.kinds[write.name] == "ptr":
                lines.append(source.store(write))
            else:
                made[write.name] = source.result(write, self.kinds[write.name])
        results = ", ".join(made.get(o.name, "None") for o in self.instr.produces if o.name in made or not o.posted)
        for keep in word.keeps:
            assert isinstance(keep.values, Expr)
            lines += [*source.read(keep.values), f"m.registers[{keep.name!r}] = {source.value(keep.values)}"]
            source.open = True
        head = f"def run(m, {''.join(f'{name}=None, ' for name in self.names)}**_):"
        exec("\n    ".join([head, *lines, f"return {results}"]), source.names)
        run: Run = source.names["run"]
        if source.leaves or source.open or word.mask:
            return run
        always = run(None)  # made of nothing but constants
        return lambda m, *_, **__: always


def _from(pointer: str, offset: str, unit: int) -> str:
    """A pointer, and how many of its elements after it an access is."""
    return f"{pointer}.as_bytes(), {offset} * {unit}" if unit and offset else f"{pointer}, {offset or None}"


def _advanced(advance: Advance) -> str:
    if not advance.by:
        return advance.pointer
    by = f"{advance.by} * {advance.unit} // {advance.pointer}.size" if advance.unit else advance.by
    return f"{advance.pointer}.advance({by})"


def _computable(e: Expr, types: Mapping[str, DType]) -> bool:
    """False where an operation would compute with codes: some verifiers let that pass."""
    if isinstance(e, Apply) and e.op != "select" and _is_code(type_of(e.args[-1], types)):
        return False
    if isinstance(e, Folded) and _is_code(type_of(e, types)):
        return False
    return all(_computable(child, types) for child in children(e))


def _is_code(kind: Any) -> bool:
    return kind != "bool" and kind.value is None


def _refused(m: Any, *_: Any, **__: Any) -> Any:
    m.refuse("TEXT-UNIMPLEMENTED", "elements of this type are not computed with")


def kind_of(dtype: DType) -> np.dtype:
    """NumPy dtype of lanes; codes where NumPy has none."""
    return dtype.value or dtype.storage


class RowSource(Source):
    """Text on lanes of logical vectors."""

    def __init__(self, types: dict[str, DType], word: Lane, kinds: Mapping[str, str]) -> None:
        super().__init__(types)
        self.lanes = word.lanes
        self.on = word.mask or "None"
        self.names |= NAMES
        self.memory: dict[str, str] = {}  # names of what has been loaded
        self.open = False  # a value depends on the machine

    def read_of(self, write: Write) -> list[str]:
        """The lines that read the leaves of a write."""
        lines = self.read(write.value)
        with self.domain(self.lanes // write.run):
            for e in (write.place, write.where):
                lines += [] if e is None else self.read(e)
        return lines

    def demand(self, need: Need) -> list[str]:
        """The lines that stop the run where a lane breaks what it needs."""
        how = f"{need.low}, {need.high}, {need.rule!r}, {need.message!r}, {need.remark}"
        with self.domain(need.lanes or self.lanes):
            return [*self.read(need.number), f"demanded(m, {self._all(need.number)}, {self.on}, {how})"]

    def share(self, values: Iterable[Expr]) -> list[str]:
        """Lines that compute what stands in several places of some values once."""
        times: Counter[Expr] = Counter()
        inner_first: list[Expr] = []
        lines: list[str] = []

        def visit(e: Expr) -> None:
            times[e] += 1
            if times[e] > 1:
                return
            for child in children(e) if self._domain_of(e) == self.lanes else ():
                visit(child)
            inner_first.append(e)

        for value in values:
            visit(value)
        for e in inner_first:
            if times[e] > 1 and children(e):
                name = f"y{len(lines)}"
                lines.append(f"{name} = {self.value(e)}")
                self.leaves[e] = name
        return lines

    @contextmanager
    def domain(self, lanes: int) -> Iterator[None]:
        """What is written meanwhile is over so many lanes."""
        before, self.lanes = self.lanes, lanes
        yield
        self.lanes = before

    def _domain_of(self, e: Expr) -> int:
        """How many lanes there are below a node."""
        match e:
            case Fetched():
                return self.lanes // e.run
            case Folded() | Counted():
                return e.lanes or self.lanes
        return self.lanes

    def read(self, e: Expr, rows: str = "rows", cols: str = "cols") -> list[str]:
        below = children(e)
        if not below:
            return super().read(e, rows, cols)
        with self.domain(self._domain_of(e)):
            return [line for child in below for line in self.read(child, rows, cols)]

    def leaf(self, e: Expr, rows: str, cols: str) -> str:
        match e:
            case Element(operand, at, dtype):
                text = self.taken(self.shown(operand, dtype), at, self.count(dtype or self.types[operand]))
            case Bit(operand, at, width):
                text = self.bit(operand, at, width)
            case Stored(pointer, dtype, span, alignment, at, offset, pitch, unit, rule):
                found = f"m.load({_from(pointer, offset, unit)}, {span}, {alignment}, {rule!r})"
                if found in self.memory:
                    found = self.memory[found]
                else:
                    self.memory[found] = f"memory{len(self.memory)}"
                    found = f"({self.memory[found]} := {found})"
                found = f"{found}.view({self.object(kind_of(dtype))})"
                text = self.taken(found, at, span // dtype.size, pitch)
            case _:
                return super().leaf(e, rows, cols)
        name = self.leaves[e] = f"x{len(self.leaves)}"
        return f"{name} = {text}"

    def count(self, dtype: DType) -> int:
        """How many lanes of a type an operand has; 0 where any number may be."""
        return 0

    def shown(self, operand: str, dtype: DType | None) -> str:
        """An operand, perhaps as lanes of another type."""
        return operand if dtype is None else f"as_lanes({operand}, {self.object(kind_of(dtype))})"

    def bit(self, operand: str, at: Index, width: int) -> str:
        """Conditions from a predicate."""
        return self.taken(f"bits({operand}, {width})", at, 0)

    def taken(self, text: str, at: Index, count: int, pitch: int = 0) -> str:
        """The lanes at their places, of `count`; all of them in their order as they are."""
        if at == OWN and (not count or not self.lanes):
            return text
        places = lanes_at(at, self.lanes, pitch)
        if places == list(range(count)):
            return text
        if text.startswith("bits("):
            return f"taken_bits({text}, {self.object(np.array(places))})"
        step = places[1] - places[0] if len(places) > 1 else 1
        if step > 0 and places == list(range(places[0], places[0] + step * len(places), step)):
            return f"{text}[:, {places[0]} : {places[-1] + 1} : {step}]"
        return f"take_lanes({text}, {self.object(np.array(places))})"

    def value(self, e: Expr, out: str = "") -> str:
        if e in self.leaves:
            return self.leaves[e]
        match e:
            case Place(dtype):
                assert dtype.value is not None
                return self.object(np.arange(self.lanes).astype(dtype.value)[None])
            case Listed(numbers, kind):
                return self.object(listed(numbers, kind))
            case Held():
                self.open = True
            case Fetched():
                return self._fetched(e)
            case Taken(value, place):
                return f"taken({self.value(value)}, {self.value(place)})"
            case Before(condition, dtype):
                return f"before({self._all(condition)}, {self.object(kind_of(dtype))})"
            case Counted(value, place, where, dtype):
                with self.domain(e.lanes):
                    met = f"{self._all(value)}, {self._all(where)}, {e.upto}"
                return f"counted({met}, {self._all(place)}, {self.object(kind_of(dtype))})"
            case Folded("add", Const(number), Bit() as where, 1):
                return f"times({number}, {self.value(where)}, {self.lanes})"
            case Folded(op, value, where, groups):
                with self.domain(self._domain_of(e)):
                    on = "None" if where is None else self.value(where)
                    fold = self.object(folding(op, type_of(e, self.types), groups))
                    return f"{fold}({self._all(value)}, {on})"
            case Front(values, number):
                return f"front({self.lanes}, {number}, {', '.join(map(self.value, values))})"
            case First(condition, dtype):
                return f"first({self._all(condition)}, {self.object(kind_of(dtype))})"
        return super().value(e, out)

    def _fetched(self, e: Fetched) -> str:
        self.open = True
        size = e.dtype.size
        with self.domain(self._domain_of(e)):
            place, where = self.value(e.place), "None" if e.where is None else self.value(e.where)
        bytes_ = f"{e.run * size}, {where}, {e.alignment or size}, {e.offset or None}"
        return f"fetched(m, {e.name}, {place} * {e.unit or size}, {bytes_}, {self.object(kind_of(e.dtype))})"

    def _all(self, e: Expr) -> str:
        """The values of all lanes."""
        text = self.value(e)
        if not self.lanes or _varies(e):
            return text
        return f"each({text}, {self.lanes})"

    def _let_through(self, write: Write) -> str:
        return self.on if write.where is None else self.value(write.where)

    def store(self, write: Write) -> str:
        """The statement that puts lanes into memory."""
        offset = write.offset or "None"
        value, on = self._all(write.value), self._let_through(write)
        if write.packed:
            value, on = f"in_bits({value}, {on})", "None"
        if write.place is None:
            to = _from(write.name, write.offset, write.unit)
            return f"m.store({to}, {value}, {on}, {write.alignment}, {write.rule!r})"
        of = type_of(write.value, self.types)
        assert isinstance(of, DType)
        size = of.size
        with self.domain(self.lanes // write.run):
            place = f"{self.value(write.place)} * {write.unit or size}"
            if write.where is not None:
                on = self.value(write.where)
        piece = f"in_pieces({value}, {write.run * size})"
        if write.apart:
            place, piece, on = f"*first_first(m, {place}", piece, f"{on}, {write.apart!r})"
        return f"m.scatter({write.name}, {place}, {piece}, {on}, {write.alignment or size}, {offset})"

    def result(self, write: Write, kind: str) -> str:
        """The vector, predicate or number that a write gives."""
        if write.packed:
            return f"met({self._all(write.value)}, {self._let_through(write)})"
        if kind == "scalar":
            return f"number({self.value(write.value)})"
        of = type_of(write.value, self.types)
        assert isinstance(of, DType)
        if write.place is not None:
            where = "None" if write.where is None else self.value(write.where)
            text = f"moved({self._all(write.value)}, {self.value(write.place)}, {where})"
        else:
            text = self.placed(f"kept({self._all(write.value)}, {self._let_through(write)})", write, of)
        to = self.types.get(write.name)
        return text if to is None or kind_of(to) == kind_of(of) else f"as_lanes({text}, {self.object(kind_of(to))})"

    def placed(self, text: str, write: Write, of: DType) -> str:
        """Lanes at their places in the result."""
        return text


def _varies(e: Expr) -> bool:
    """True if an expression has a value for each lane."""
    if isinstance(e, Listed):
        return len(e.numbers) > 1
    if isinstance(e, (Element, Stored, Fetched, Place, Before, Counted, Front)):
        return True
    if isinstance(e, Taken):
        return _varies(e.place)
    return not isinstance(e, (First, Folded)) and any(map(_varies, children(e)))


def constant(
    e: Expr, lanes: int, types: Mapping[str, DType], leaf: Callable[[Expr], np.ndarray | None] = lambda e: None
) -> np.ndarray | None:
    """The numbers of the lanes where they are known: integers and conditions, one of them or one for each lane; None of
    others. ``leaf``: the numbers of leaves of operands, if they are known."""
    match e:
        case Place(dtype):
            return np.arange(lanes).astype(dtype.value) if _whole(dtype) else None
        case Listed(numbers, kind):
            return listed(numbers, kind)[0] if _whole(kind) else None
        case Const(number):
            kind = type_of(e, types)
            return np.array([element(kind, number)]) if isinstance(kind, DType) and kind.is_integer else None
        case Apply(op, args):
            found = []
            for arg in args:
                numbers_of = constant(arg, lanes, types, leaf)
                if numbers_of is None:
                    return None
                found.append(numbers_of)
            return np.asarray(PRIMITIVES[op].numpy(*found)) if _whole(type_of(e, types)) else None
    return leaf(e)


def _whole(kind: Any) -> bool:
    return not isinstance(kind, DType) or kind.is_integer


def listed(numbers: tuple[int | float, ...], kind: Any) -> np.ndarray:
    """Numbers as lanes: integers keep their low bits, floats are rounded once."""
    if kind == "bool":
        return np.array([numbers], bool)
    if kind.is_integer:
        codes = np.array([[int(n) & ((1 << kind.bits) - 1) for n in numbers]], kind.storage)
    else:
        codes = encode(kind, np.array([numbers], np.float64), saturate=False)
    return as_values(codes, kind)
