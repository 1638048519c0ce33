"""What operations of threads are given, the words that define them, and their memory (PTOAS e32488c9, micro-isa 17).

A value has one row for each lane, or one for all; scalars have shape (lanes,) or (1,), short vectors (lanes, elements).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol

import numpy as np

from ptokit.diagnostics import Scope, Severity, define
from ptokit.diagnostics.rules import merged
from ptokit.targets import A5
from ptokit.types.dtypes import DType, dtype, i64
from ptokit.types.enums import Pipe

from ..meaning.expressions import Element, Expr, Fetched, Folded, Index, Listed, Scalar, Taken, Thread, type_of
from ..meaning.fold import folding
from ..meaning.primitives import PRIMITIVES
from ..meaning.rows import Rows, RowSource, kind_of
from ..meaning.words import Keep, Lane, Meaning, Ordering, Python, Update, Write
from ..site import ScalarInfo, Site, VectorInfo
from ..table import Attr, Instr, Kind, Operand, Role, grammar, instruction, listed
from .rules import VERIFIED

# What operations of threads are given: the threads of a launch as a protocol, and values as arrays of lanes.


WARP = 32


class Threads(Protocol):
    """The threads of a launch (`ptokit.machine.threads`)."""

    count: int  # lanes
    sizes: tuple[int, int, int]  # threads of the launch in x, y, z
    tid: tuple[np.ndarray, np.ndarray, np.ndarray]
    lane: np.ndarray  # number in the warp
    active: np.ndarray  # lanes that execute the operation

    def spread(self, x: np.ndarray) -> np.ndarray:
        """The value of every lane."""

    def refuse(self, rule: str, message: str) -> NoReturn:
        """Stop."""

    def read(self, place: Any, offset: np.ndarray | int = 0) -> np.ndarray:
        """Elements at an offset in elements."""

    def write(self, place: Any, offset: np.ndarray | int, values: np.ndarray) -> None:
        """Write elements; of several lanes the last one stays."""

    def update(
        self,
        place: Any,
        change: Callable[..., np.ndarray],
        values: tuple[np.ndarray, ...],
        name: str,
        running: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Replace elements by ``change(old, *values)``, lane after lane; what each lane has found."""

    def kept(self) -> dict[int, np.ndarray]:
        """What threads keep for the next launch, by slot."""

    def sync(self) -> None:
        """All threads of the launch synchronise."""

    def core(self) -> int:
        """Number of the vector core."""

    def clock(self) -> int:
        """A number that grows with every look at it."""


_RUNNING: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class OfThreads(Rows):
    """What an instruction has in place of a function of a machine: programs hand it to the threads of a launch.

    Outside of launches it is executed by one thread in each block.
    """

    def __call__(self, machine: Any, *operands: Any, **attributes: Any) -> NoReturn:
        raise TypeError("operations of threads are executed by threads")

    def made(self, kinds: Mapping[str, Any], attrs: Mapping[str, Any]) -> Callable[..., Any]:
        """The function ``f(threads, *operands, types, **attrs)`` for operands and results of these kinds, by name.

        ``types``: the kinds of operands and results, results last.
        """
        given = {name: kind.dtype or i64 for name, kind in kinds.items() if kind is not None}  # i1 has no elements
        infos = {name: VectorInfo(name, given[name], 1, "") if name in given else None for name in kinds}
        word = self.instr.meaning_at(Site(self.instr, A5, infos, attrs))
        assert word is not None
        if isinstance(word, Python | Ordering):
            return word.run
        if isinstance(word, Update):
            return _updating(word)
        return self.written(word, {name: given[name] for name in self.names if name in given})  # results are as made

    def source(self, types: dict[str, DType], word: Lane) -> RowSource:
        return _Source(types, word, self.kinds)


def _updating(word: Update) -> Callable[..., Any]:
    """An update of memory; where the order of the values does not matter, or is that of a row, all at once."""
    seen, ufunc = kind_of(word.seen), _RUNNING.get(word.op)
    operation = PRIMITIVES[word.op].numpy if word.op in ("min", "max") else ufunc
    at_once = seen.kind in "iuf" and (word.seen.is_integer or word.op in ("", "add", "sub"))

    def change(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return new if operation is None else np.asarray(operation(old.view(seen), new.view(seen))).view(old.dtype)

    def running(row: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return row if ufunc is None else np.asarray(ufunc.accumulate(row.view(seen), dtype=seen)).view(row.dtype)

    def run(t: Threads, ptr: Any, value: np.ndarray, **_: Any) -> np.ndarray:
        return t.update(ptr, change, (value,), word.op or "exch", running if at_once else None)

    return run


class _Source(RowSource):
    """Text on threads: values have one row for each lane, or one for all."""

    def __init__(self, types: dict[str, DType], word: Lane, kinds: Mapping[str, str]) -> None:
        super().__init__(types, word, kinds)
        self.names |= {"asked": _asked, "taken": _taken, "warped": _warped, "met": lambda found, on: np.asarray(found)}

    def bit(self, operand: str, at: Index, width: int) -> str:
        return operand

    def value(self, e: Expr, out: str = "") -> str:
        if e in self.leaves:
            return self.leaves[e]
        match e:
            case Thread(what, kind, axis):
                self.open = True
                array = np.dtype(bool) if isinstance(kind, str) else kind_of(kind)
                return f"asked(m, {what!r}, {axis}, {self.object(array)})"
            case Listed():
                return f"{super().value(e)}[0]"
            case Taken(value, place):
                return f"taken(m, {self.value(value)}, {self.value(place)})"
            case Folded(op, value, where):
                on = "None" if where is None else self.value(where)
                return f"warped(m, {op!r}, {self.value(value)}, {on}, {self.object(type_of(e, self.types))})"
            case Fetched(name, _, place):
                self.open = True
                return f"m.read({name}, {self.value(place)})"
        return super().value(e, out)

    def store(self, write: Write) -> str:
        assert write.place is not None
        return f"m.write({write.name}, {self.value(write.place)}, {self.value(write.value)})"

    def result(self, write: Write, kind: str) -> str:
        return super().result(write, "vreg")


def _asked(t: Threads, what: str, axis: int, kind: np.dtype) -> np.ndarray:
    questions: dict[str, Callable[[], Any]] = {
        "tid": lambda: t.tid[axis],
        "size": lambda: t.sizes[axis],
        "lane": lambda: t.lane,
        "place": lambda: np.arange(t.count),
        "core": t.core,
        "clock": t.clock,
        "active": lambda: t.active,
    }
    return np.atleast_1d(np.asarray(questions[what]())).astype(kind)


def _warps(t: Threads, x: np.ndarray) -> np.ndarray:
    """Values by warp: (warps, 32)."""
    return t.spread(x).reshape(-1, WARP)


def _warped(t: Threads, op: str, x: np.ndarray, on: np.ndarray | None, dtype: Any) -> np.ndarray:
    """One value for each warp, as all of its lanes have it."""
    met = None if on is None else _warps(t, on)
    return np.repeat(folding(op, dtype, 1)(_warps(t, x), met)[:, 0], WARP, axis=0)


def _taken(t: Threads, x: np.ndarray, places: np.ndarray) -> np.ndarray:
    return t.spread(x)[places % t.count]


def of(o: Site, name: str) -> DType:
    """The element type of a value, however its type is written."""
    info = o.operands.get(name)
    if isinstance(info, VectorInfo):
        return info.dtype
    assert isinstance(info, ScalarInfo)
    return dtype(info.type.partition("x")[2].rstrip(">") if info.type.startswith("vector") else info.type)


# Words to define operations of threads with (PTOAS e32488c9, micro-isa 17).


SOURCE = "PTOAS e32488c9, micro-isa 17"


def value(name: str, type: str = "") -> Operand:
    """A number, or a short vector of them."""
    return Operand(name, Role.IN, Kind.SCALAR, type=type, also=(Kind.PTR,))


def pointer(role: Role = Role.IN) -> Operand:
    """A pointer to global memory or the unified buffer."""
    return Operand("ptr", role, Kind.PTR)


def word(name: str, *words: str) -> Attr:
    """A bare word of the form."""
    return Attr(name, str, None, name, words=words)


SIGNS = word("signedness", "signed", "unsigned")


def simt(
    text: str,
    summary: str,
    operands: tuple[Operand, ...],
    written: str,
    meaning: Meaning,
    *attrs: Attr,
    results: int = 1,
    **more: Any,
) -> Instr:
    """An operation of threads, written after a form."""
    produces = (Operand("result", Role.OUT, Kind.SCALAR, also=(Kind.PTR,)),)[:results]
    more = {
        "per_block": bool(results),
        "pipe": Pipe.S,
        "source": SOURCE,
        "rules": merged(VERIFIED.get(text, ())),
        "threaded": True,
        **more,
    }
    more = {"produces": produces, "form": grammar(written), "meaning": meaning, **more}
    instr = Instr(text, text, summary, operands, attrs, **more)
    return instruction(instr, OfThreads)


def thread(value: Expr) -> Lane:
    """The result of each thread."""
    return Lane((Write("result", value),))


def condition(value: Expr) -> Lane:
    """The result of each thread, where that is a condition."""
    return Lane((Write("result", value, packed=True),))


def plain(text: str, summary: str, names: str, meaning: Meaning, *attrs: Attr, types: str = "", **more: Any) -> Instr:
    """Operands with commas between, a dictionary, all types."""
    kinds = (types.split() + [""] * 9)[: len(names.split())]
    operands = tuple(value(n, "" if t == "-" else t) for n, t in zip(names.split(), kinds))
    written = f"{listed(names)} {{}} : {listed(names, 'T({})')} -> R"
    return simt(text, summary, operands, written, meaning, *attrs, **more)


define(
    "SIMT-SIZE",
    "A launch has at most 2048 threads.",
    scope=Scope.RUN,
    source=SOURCE,
    example="""
        func.func @threads() attributes {pto.simt_entry} { return }
        func.func @example() attributes {pto.entry} {
          %n = arith.constant {1024|4096} : i32
          %one = arith.constant 1 : i32
          pto.simt_launch @threads<<<%n, %one, %one>>>() : () -> ()
          return
        }
    """,
)
define(
    "SIMT-SYNC",
    "All threads of a launch come to a syncthreads, or none.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    source=SOURCE,
    why="The document says that active threads meet; what the others wait for is open.",
    example="""
        func.func @threads(%x: !pto.ptr<i32, gm>) attributes {pto.simt_entry} {
          %t = pto.get_tid_x : i32
          %i = arith.index_castui %t : i32 to index
          %ten = arith.constant 10 : i32
          %low = arith.cmpi slt, %t, %ten : i32
          scf.if %low {
            pto.store %t, %x[%i] : !pto.ptr<i32, gm>, i32{|
            pto.syncthreads}
          }{
          pto.syncthreads|}
          return
        }
        func.func @example(%x: !pto.ptr<i32, gm>) attributes {pto.entry} {
          %n = arith.constant 64 : i32
          %one = arith.constant 1 : i32
          pto.simt_launch @threads<<<%n, %one, %one>>>(%x) : (!pto.ptr<i32, gm>) -> ()
          return
        }
    """,
)

_OFFSET = Operand("offset", Role.IN, Kind.SCALAR, type="index")
_L1 = word("l1cache", "cache", "uncache")
_LOAD_L2 = word(
    "l2cache",
    *"nmfv nmlv nmprs nmpref nakeep naclean nadrop idsfv idslv idsprs idspref exfv exlv exprs expref".split(),
)
_STORE_L2 = word(
    "l2cache",
    *"nmfv nmlv nmprs nmred naci napw napi nared wbhfv wbhlv wbhprs wbhred wtsfv wtslv wtsprs wtsred".split(),
)
_CACHES = "<? l1cache ~( W(l1cache) ) ?> <? l2cache ~( W(l2cache) ) ?>"


_PLACE = Element("offset")


def _loaded(o: Site) -> Lane:
    return thread(Fetched("ptr", of(o, "result"), _PLACE))


_STORED = Lane((Write("ptr", Element("value"), place=_PLACE),))

for _text, _what, _caches, _attrs in (
    ("load", "Load an element", "", ()),
    ("ld_dev", "Load an element of global memory past the data cache", "", ()),
    ("ldg", "Load an element of global memory", _CACHES, (_L1, _LOAD_L2)),
):
    written = f"%ptr ~[ %offset:index ] {_caches} {{}} : T(ptr) -> R"
    simt(_text, f"{_what}.", (pointer(), _OFFSET), written, _loaded, *_attrs)
for _text, _what, _caches, _attrs in (
    ("store", "Store an element", "", ()),
    ("st_dev", "Store an element of global memory past the data cache", "", ()),
    ("stg", "Store an element of global memory", _CACHES, (_L1, _STORE_L2)),
):
    simt(
        _text,
        f"{_what}.",
        (value("value"), pointer(Role.OUT), _OFFSET),
        f"%value , %ptr ~[ %offset:index ] {_caches} {{}} : T(ptr) , T(value)",
        _STORED,
        *_attrs,
        results=0,
    )


def _updated(how: str) -> Meaning:
    """Old and new value combined."""

    def meaning(o: Site) -> Update:
        kind = of(o, "value")
        signed = "u" if o.signedness == "unsigned" else "i"
        return Update("" if how == "exch" else how, dtype(f"{signed}{kind.bits}") if kind.is_integer else kind)

    return meaning


def _compare_and_swap(t: Threads, ptr: Any, compare: np.ndarray, value: np.ndarray, **_: Any) -> np.ndarray:
    def change(old: np.ndarray, wanted: np.ndarray, new: np.ndarray) -> np.ndarray:
        same = old == wanted
        if same.ndim == 2:
            same = same.all(axis=1, keepdims=True)
        return np.where(same, new, old)

    return t.update(ptr, change, (compare, value), "cas")


_UPDATE = "<? l2cache ~( W(l2cache) ) ?> <? W(signedness) ?> {} : T(ptr) , T(value) -> R"
for _how, _what in (
    ("exch", "replace an element"),
    ("add", "add to an element"),
    ("sub", "subtract from an element"),
    ("min", "take the minimum with an element"),
    ("max", "take the maximum with an element"),
    ("and", "take the bits in common with an element"),
    ("or", "set bits of an element"),
    ("xor", "flip bits of an element"),
):
    simt(
        f"atomic_{_how}",
        f"At once, {_what} of memory; the result is what was there.",
        (pointer(Role.INOUT), value("value")),
        f"%ptr , %value {_UPDATE}",
        _updated(_how),
        _STORE_L2,
        SIGNS,
        decision="Threads come one after the other, the lowest first; a device takes any order.",
    )
simt(
    "atomic_cas",
    "At once, replace an element of memory if it has a value; the result is what was there.",
    (pointer(Role.INOUT), value("compare"), value("value")),
    f"%ptr , %compare , %value {_UPDATE}",
    Python(_compare_and_swap),
    _STORE_L2,
    SIGNS,
)


SIZES = "sizes of launches"
"""The register that `store_vfsimt_info` sets: threads in x, y, z."""

instruction(
    Instr(
        "store_vfsimt_info",
        "store_vfsimt_info",
        "Say how many threads the next launch has.",
        tuple(Operand(n, Role.IN, Kind.SCALAR, type="i32", agreed=True) for n in ("dim_z", "dim_y", "dim_x")),
        meaning=Keep(SIZES, tuple(Scalar(f"dim_{axis}", i64) for axis in "xyz")),
        threaded=True,
        pipe=Pipe.S,
        form=grammar("%dim_z , %dim_y , %dim_x {} : T(dim_z) , T(dim_y) , T(dim_x)"),
        source=SOURCE,
    )
)


def _launch(m: Any, *_: Any, **__: Any) -> None:
    """Carried out by the program that launches, which knows the function."""


instruction(
    Instr(
        "simt_launch",
        "simt_launch",
        "Run a function on many threads.",
        (
            Operand("sizes", Role.IN, Kind.SCALAR, variadic=3, type="i32", agreed=True),
            Operand("args", Role.INOUT, Kind.SCALAR, variadic=1, also=(Kind.PTR,)),
        ),
        (Attr("callee", str, None, "callee", required=True),),
        pipe=Pipe.V,
        run=_launch,
        form=grammar("N(callee) D(sizes) ~( %args* ) {} : ( T(args) ) -> ( )"),
        source=SOURCE,
    )
)
