"""Long rows of bytes: copied by registers of 32 bytes, past the caches where the destination is larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .code import Code, Num

if TYPE_CHECKING:
    from .function import Writer

LONG = 512
"""Bytes of a row from which on this pays; shorter ones are left to LLVM."""
LARGE = 32 << 20
"""Bytes of an array that no cache holds: what is stored there does not push other data out."""
_STEP, _WIDTH = 128, 32


def copy_row(w: Writer, to: str, frm: str, nbytes: Num, size: int, whole: Num = 0) -> None:
    """Copy `nbytes` bytes of elements of `size` bytes; ``whole``: the bytes of the array that they go to."""
    code = w.code
    if isinstance(nbytes, int) and nbytes < LONG:
        code.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr align {size} {to}, ptr align {size} {frm}, i64 {nbytes}, i1 false)"
        )
        return
    w.module.need("copy.row", _function("copy.row", streamed=False))
    if whole == 0 or (isinstance(whole, int) and whole < LARGE):
        code.do(f"call void @copy.row(ptr {to}, ptr {frm}, i64 {nbytes})")
        return
    w.module.need("copy.past", _function("copy.past", streamed=True))
    low = code.value(f"and i64 {code.value(f'ptrtoint ptr {to} to i64')}, {_WIDTH - 1}")
    past = code.both(code.compare("sge", whole, LARGE), code.compare("eq", low, 0))
    function = code.value(f"select i1 {past}, ptr @copy.past, ptr @copy.row")
    code.do(f"call void {function}(ptr {to}, ptr {frm}, i64 {nbytes})")


def _function(name: str, *, streamed: bool) -> str:
    """``void @name(ptr to, ptr from, i64 bytes)``."""
    code, kind = Code(), f"<{_WIDTH} x i8>"
    whole = code.value(f"and i64 %n, {-_STEP}")
    with code.loop(whole, _STEP) as i:
        places = [code.add(i, k) for k in range(0, _STEP, _WIDTH)]
        found = [code.load(kind, code.at("%from", place), 1) for place in places]
        for place, value in zip(places, found):
            end = f", align {_WIDTH}, !nontemporal !1" if streamed else ", align 1"
            code.do(f"store {kind} {value}, ptr {code.at('%to', place)}{end}")
    rest = code.value(f"and i64 %n, {_STEP - 1}")
    some, done = code.label("some"), code.label("done")
    code.branch(code.value(f"icmp eq i64 {rest}, 0"), done, some)
    code.place(some)
    ends = code.at("%to", whole), code.at("%from", whole)
    code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {ends[0]}, ptr {ends[1]}, i64 {rest}, i1 false)")
    code.place(done)
    code.leave("ret void")
    return code.text(f"define internal void @{name}(ptr noalias %to, ptr noalias %from, i64 %n) noinline {{")
