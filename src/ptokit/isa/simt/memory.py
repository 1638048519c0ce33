"""Memory of threads: loads and stores of elements, atomic updates, launches."""

from __future__ import annotations

from ..table import Attr, Kind, Operand, Role
from .lanes import SIGNS
from .words import pointer, simt, value, word

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

for _text, _what, _caches, _attrs in (
    ("load", "Load an element", "", ()),
    ("ld_dev", "Load an element of global memory past the data cache", "", ()),
    ("ldg", "Load an element of global memory", _CACHES, (_L1, _LOAD_L2)),
):
    simt(_text, f"{_what}.", (pointer(), _OFFSET), f"%ptr ~[ %offset:index ] {_caches} {{}} : T(ptr) -> R", *_attrs)
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
        *_attrs,
        results=0,
    )

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
        _STORE_L2,
        SIGNS,
    )
simt(
    "atomic_cas",
    "At once, replace an element of memory if it has a value; the result is what was there.",
    (pointer(Role.INOUT), value("compare"), value("value")),
    f"%ptr , %compare , %value {_UPDATE}",
    _STORE_L2,
    SIGNS,
)

simt(
    "simt_launch",
    "Run a function on many threads.",
    (
        Operand("sizes", Role.IN, Kind.SCALAR, variadic=True, type="i32", size=3),
        Operand("args", Role.IN, Kind.SCALAR, variadic=True, or_ptr=True),
    ),
    "N(callee) D(sizes) ~( %args* ) {} : ( T(args) ) -> ( )",
    Attr("callee", str, None, "callee"),
    results=0,
)
