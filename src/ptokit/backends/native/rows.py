"""Long rows of bytes: copied by registers of 32 bytes, past the caches where the destination is larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .code import Code, Num

if TYPE_CHECKING:
    from .function import Writer

LONG = 512
"""Bytes of a row from which on this pays; shorter ones are left to LLVM."""
LARGE = 16 << 20
"""Bytes of an array that no cache holds beside what is read for it: to keep it there would push other data out."""
_FAR = 32 << 10
"""Bytes of a row that go past the caches wherever it begins; lines that are stored in two parts take long."""
_AHEAD = 2048
"""Bytes before it is stored that a line of the destination is asked for."""
_STEP, _WIDTH, _LINE = 128, 32, 64


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
    ends = code.value(f"or i64 {code.value(f'ptrtoint ptr {to} to i64')}, {nbytes}")
    lines = code.compare("eq", code.value(f"and i64 {ends}, {_LINE - 1}"), 0)
    far = code.value(f"or i1 {lines}, {code.compare('sge', nbytes, _FAR)}")
    past = code.both(code.compare("sge", whole, LARGE), far)
    function = code.value(f"select i1 {past}, ptr @copy.past, ptr @copy.row")
    code.do(f"call void {function}(ptr {to}, ptr {frm}, i64 {nbytes})")


def _function(name: str, *, streamed: bool) -> str:
    """``void @name(ptr to, ptr from, i64 bytes)``."""
    code, kind = Code(), f"<{_WIDTH} x i8>"
    first: Num = 0
    if streamed:  # stores past the caches are aligned
        first = code.value(f"and i64 {code.value('sub i64 0, ' + code.value('ptrtoint ptr %to to i64'))}, {_LINE - 1}")
        first = code.value(f"call i64 @llvm.umin.i64(i64 {first}, i64 %n)")
        _some(code, "%to", "%from", first)
    end = code.add(first, code.value(f"and i64 {code.value(f'sub i64 %n, {first}')}, {-_STEP}"))
    with code.loop(end, _STEP, first) as i:
        places = [code.add(i, k) for k in range(0, _STEP, _WIDTH)]
        found = [code.load(kind, code.at("%from", place), 1) for place in places]
        for line in () if streamed else range(0, _STEP, _LINE):
            ahead = code.at("%to", code.add(i, _AHEAD + line))
            code.do(f"call void @llvm.prefetch.p0(ptr {ahead}, i32 1, i32 3, i32 1)")  # to write data, and keep it
        for place, value in zip(places, found):
            way = f", align {_WIDTH}, !nontemporal !1" if streamed else ", align 1"
            code.do(f"store {kind} {value}, ptr {code.at('%to', place)}{way}")
    _some(code, code.at("%to", end), code.at("%from", end), code.value(f"sub i64 %n, {end}"))
    code.leave("ret void")
    return code.text(f"define internal void @{name}(ptr noalias %to, ptr noalias %from, i64 %n) noinline {{")


def _some(code: Code, to: str, frm: str, count: Num) -> None:
    """A few bytes, or none."""
    some, done = code.label("some"), code.label("done")
    code.branch(code.value(f"icmp eq i64 {count}, 0"), done, some)
    code.place(some)
    code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {frm}, i64 {count}, i1 false)")
    code.jump(done)
    code.place(done)
