"""Memory of threads: loads and stores of elements, atomic updates, launches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, Severity, define
from ptokit.types.dtypes import dtype, i64
from ptokit.types.enums import Pipe

from ..meaning.expressions import Element, Fetched, Scalar
from ..meaning.words import Keep, Lane, Meaning, Python, Update, Write
from ..site import Site
from ..table import Attr, Instr, Kind, Operand, Role, grammar, instruction
from .lanes import SIGNS
from .words import SOURCE, Threads, of, pointer, simt, thread, value, word

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
