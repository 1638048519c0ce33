"""Copies of rows of bytes between memories, as nests of loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.expressions import Count, Extent, Sum
from ptokit.isa.meaning.words import Bursts
from ptokit.plan.steps import Step
from ptokit.run.memory.local import SPACES

from . import forwarding
from .code import Num
from .moves import copy
from .values import GmPointer, LocalPointer
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer

Axis = tuple[Num, Num, Num]
"""A count with the strides of destination and source."""


def write(w: Writer, step: Step, word: Bursts, operands: dict[str, Any]) -> bool:
    """True if native code has been written for a copy."""
    dst, src = operands.get(word.dst), operands.get(word.src)
    if not isinstance(dst, LocalPointer | GmPointer) or not isinstance(src, LocalPointer | GmPointer):
        return False
    if isinstance(dst, LocalPointer) and isinstance(src, LocalPointer):
        return False  # all rows are read before one is written
    if w.configures:
        return False
    w.pending.flush()
    w.check(step)
    checked = Checked(w)
    length, axes, ends = rows(checked, step, word)
    before = number(w, step, word.before)
    local = 1 if isinstance(dst, LocalPointer) else 2
    for axis in axes:
        if word.alignment > 1 and axis[0] != 1:
            stride, unit = axis[local], word.alignment
            low = stride % unit if isinstance(stride, int) else w.code.value(f"srem i64 {stride}, {unit}")
            checked.need("eq", low, 0)
    places = [_inside(checked, p, end, extra) for p, end, extra in ((dst, ends[0], before), (src, ends[1], 0))]
    _reads(w, src, ends[1])
    if isinstance(dst, LocalPointer) and isinstance(src, GmPointer) and _dense(axes, length):
        same = all(n == 1 or to == frm for n, to, frm in axes)
        found = forwarding.stands(w, step) if same else None
        if found is not None:
            w.refuse_if(checked.any(), step)
            w.standing.append((*found, places[1]))
            return True
    with w.unless(checked.any(), step, reads=False):
        several = [axis for axis in axes if axis[0] != 1]
        whole = dst.memory.size if isinstance(dst, GmPointer) else 0
        copy(w, places[0], places[1], 1, several, [(length, 1, 1)], whole=whole)
    if isinstance(dst, LocalPointer) and isinstance(dst.address, int) and isinstance(before, int):
        dense = _dense(axes, length)
        if dense:
            start = w.module.space(SPACES[dst.space]) + dst.address + before
            w.contents.write(start, start + dense)
    return True


def rows(checked: Checked, step: Step, word: Bursts) -> tuple[Num, list[Axis], list[Num]]:
    """The length of a row, all loops around it, and the bytes that destination and source extend over."""
    w = checked.w
    length, axes = number(w, step, word.length), axes_of(w, step, word)
    checked.need("sge", length, 1)
    for n, to, frm in axes:
        for what, least in ((n, 1), (to, 0), (frm, 0)):
            checked.need("sge", what, least)
    return length, axes, [span(checked, [(axis[0], axis[side]) for axis in axes], length) for side in (1, 2)]


def number(w: Writer, step: Step, count: Count) -> Num:
    """A size in terms of scalar operands."""
    match count:
        case Extent(name, "value"):
            return w.number(step[name])
        case Sum(names, times):
            total: Num = 0
            for name in names:
                value = step.get(name)
                total = total if value is None else w.code.add(total, w.number(value))
            return w.code.mul(total, times)
    assert isinstance(count, int)
    return count


def axes_of(w: Writer, step: Step, word: Bursts) -> list[Axis]:
    """All loops of a copy, the outermost first."""
    groups = [w.number(value) for value in step.group(word.groups)] if word.groups else []
    around: list[Axis] = [(groups[k], groups[k + 2], groups[k + 1]) for k in range(0, len(groups), 3)]
    a, *more = ((number(w, step, n), number(w, step, to), number(w, step, frm)) for n, to, frm in word.axes)
    return [*around[::-1], a, *more]


def span(checked: Checked, axes: list[tuple[Num, Num]], length: Num) -> Num:
    """Bytes from the first one of a copy to behind its last one."""
    end = length
    for n, stride in axes:
        if n != 1:
            end = checked.add(end, checked.mul(checked.add(n, -1), stride))
    return end


def _dense(axes: list[Axis], length: Num) -> int:
    """The bytes of a destination without gaps; 0 if there are some, or only the run knows."""
    for n, to, _ in reversed(axes):
        if n == 1:
            continue
        if not isinstance(n, int) or not isinstance(length, int) or to != length:
            return 0
        length *= n
    return length if isinstance(length, int) else 0


def _inside(checked: Checked, pointer: Any, end: Num, before: Num) -> str:
    """The address of the first byte; all of them have to lie inside the memory."""
    w = checked.w
    if isinstance(pointer, LocalPointer):
        start = checked.add(pointer.address, before)
        loc = SPACES[pointer.space]
        checked.need("sge", start, 0)
        checked.need("sle", checked.add(start, end), w.target.capacity[loc])
        return w.code.at(w.memory, w.code.add(w.module.space(loc), start))
    start = checked.mul(pointer.offset, pointer.dtype.size)
    checked.need("sge", pointer.memory.number, 0)
    checked.need("sge", start, 0)
    checked.need("sle", checked.add(start, end), pointer.memory.size)
    return w.code.at(pointer.memory.base, start)


def _reads(w: Writer, pointer: Any, end: Num) -> None:
    """What is read has to hold what the block has written, or zeros."""
    if not isinstance(pointer, LocalPointer):
        return
    if isinstance(pointer.address, int) and isinstance(end, int):
        start = w.module.space(SPACES[pointer.space]) + pointer.address
        w.contents.read(max(0, start), start + end)
    else:
        w.reads_space(SPACES[pointer.space])
