"""Pointers, views of global memory and single elements, as LLVM code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ptokit.ir.core import Value
from ptokit.machine.local_memory import SPACES
from ptokit.machine.words import APART
from ptokit.plan.steps import Step
from ptokit.types.codecs import width
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.tensor import infer_layout, inner_channels
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import MemRef, Ptr, Scalar

from .code import Num
from .scalars import FLOATS, llvm_type
from .values import LAYOUTS, GmPointer, LocalPointer, Memory, NotNativeError, View

if TYPE_CHECKING:
    from .function import Writer


class Checked:
    """Sums and products of 64-bit numbers; ``wrong`` are conditions under which one of them does not fit."""

    def __init__(self, w: Writer) -> None:
        self.w = w
        self.wrong: list[str] = []

    def _checked(self, word: str, a: Num, b: Num) -> Num:
        code = self.w.code
        both = code.value(f"call {{i64, i1}} @llvm.{word}.with.overflow.i64(i64 {a}, i64 {b})")
        self.wrong.append(code.value(f"extractvalue {{i64, i1}} {both}, 1"))
        return code.value(f"extractvalue {{i64, i1}} {both}, 0")

    def add(self, a: Num, b: Num) -> Num:
        if a == 0 or b == 0 or (isinstance(a, int) and isinstance(b, int)):
            return self.w.code.add(a, b)
        return self._checked("sadd", a, b)

    def mul(self, a: Num, b: Num) -> Num:
        if a in (0, 1) or b in (0, 1) or (isinstance(a, int) and isinstance(b, int)):
            return self.w.code.mul(a, b)
        return self._checked("smul", a, b)

    def need(self, predicate: str, a: Num, b: Num) -> None:
        """What has to hold, or else is wrong too."""
        code = self.w.code
        holds = code.compare(predicate, a, b)
        if holds != "true":
            self.wrong.append("true" if holds == "false" else code.value(f"xor i1 {holds}, true"))

    def any(self) -> str:
        """True where something is wrong."""
        out = "false"
        for condition in self.wrong:
            out = condition if out == "false" else self.w.code.value(f"or i1 {out}, {condition}")
        return out


def parameter(w: Writer, param: Value, at: int) -> int:
    """Take a parameter's words from the arguments, from word `at` on; the number of the next word."""
    code = w.code

    def word(kind: str = "i64") -> str:
        nonlocal at
        at += 1
        return code.load(kind, code.at("%arguments", 8 * (at - 1)))

    match param.type:
        case Scalar(name):
            if name not in FLOATS and not param.type.is_integer:
                raise NotNativeError(str(param.type), f"%{param.name} is a number that native code does not know")
            kind = llvm_type(name)
            found = word()
            w.set(param, found if kind == "i64" else code.value(f"trunc i64 {found} to {kind}"))
        case Ptr(dtype):
            w.set(param, GmPointer(Memory(word("ptr"), word(), word(), word()), 0, dtype))
        case MemRef() as type:
            memory = Memory(word("ptr"), word(), word(), word())
            offset, *numbers = (word() for _ in range(1 + 2 * len(type.dims)))
            rank = len(type.dims)
            known = (*type.dims, *type.strides_of(type.dims))
            values: list[Num] = [v if k == DYNAMIC else k for k, v in zip(known, numbers)]
            dims, strides = tuple(values[:rank]), tuple(values[rank:])
            layout, options = inferred(w, type.dtype, dims, strides)
            w.set(param, View(memory, offset, dims, strides, type.dtype, layout, options))
        case _:
            pass
    return at


def inferred(
    w: Writer, dtype: DType, dims: Sequence[Num], strides: Sequence[Num]
) -> tuple[Num, frozenset[Layout | None]]:
    """`infer_layout` of numbers that the run knows: the layout's number, and the possible ones."""
    if all(isinstance(n, int) for n in (*dims, *strides)) or len(dims) == 1:
        found = infer_layout(dtype, [n if isinstance(n, int) else 1 for n in dims], strides)  # type: ignore[arg-type]
        return LAYOUTS.index(found), frozenset((found,))
    code = w.code

    def either(a: str, b: str) -> str:
        if "true" in (a, b):
            return "true"
        return b if a == "false" else a if b == "false" else code.value(f"or i1 {a}, {b}")

    def pick(condition: str, yes: Num, no: Num) -> Num:
        if condition in ("true", "false"):
            return yes if condition == "true" else no
        return yes if yes == no else code.value(f"select i1 {condition}, i64 {yes}, i64 {no}")

    def opposite(condition: str) -> str:
        return {"true": "false", "false": "true"}.get(condition) or code.value(f"xor i1 {condition}, true")

    nd, dn, nz = (LAYOUTS.index(layout) for layout in (Layout.ND, Layout.DN, Layout.NZ))
    last, before = strides[-1], strides[-2]
    row = either(code.compare("eq", last, 1), code.compare("eq", dims[-1], 1))
    col = either(code.compare("eq", before, 1), code.compare("eq", dims[-2], 1))
    open_row = code.compare("eq", before, DYNAMIC)  # what looks like an unknown stride is taken for one
    open_col = code.compare("eq", last, DYNAMIC)
    by_pitch = pick(code.compare("eq", last, 1), nd, pick(code.compare("eq", before, 1), dn, 0))
    only_row = pick(open_row, by_pitch, nd)
    only_col = pick(open_col, by_pitch, dn)
    neither = pick(either(open_row, open_col), 0, nd)
    layout = pick(row, pick(col, 0, only_row), pick(col, only_col, neither))
    options: set[Layout | None] = {None, Layout.ND, Layout.DN}
    if row == "true" and last == 1:
        options = {None, Layout.ND}
    if opposite(row) == "true" and opposite(col) == "true":
        options = {None, Layout.ND}
    if len(dims) >= 5:
        boxes = code.both(
            code.compare("eq", dims[2], 16),
            code.compare("eq", code.mul(dims[3], 16 * dtype.size), 512),
            code.compare("eq", strides[4], 1),
            code.compare("eq", strides[3], dims[4]),
        )
        layout = pick(boxes, nz, layout)
        options |= set() if boxes == "false" else {Layout.NZ}
    if isinstance(layout, int):
        options = {LAYOUTS[layout]}
    return layout, frozenset(options)


def view(w: Writer, step: Step) -> None:
    """A view of all of an argument."""
    pointer, dtype, stated = w.get(step["ptr"]), step["dtype"].value, step.get("layout")
    assert isinstance(pointer, GmPointer)
    dims, strides = (tuple(map(w.number, step.group(name))) for name in ("shape", "strides"))
    if stated is None:
        layout, options = inferred(w, dtype, dims, strides)
    else:
        layout, options = LAYOUTS.index(stated.value), frozenset((stated.value,))
    w.set(step.result, View(pointer.memory, pointer.offset, dims, strides, dtype, layout, options))


def slice_of(w: Writer, step: Step) -> None:
    """A part of a view."""
    parent, packed = w.get(step["source"]), step.get("packed")
    assert isinstance(parent, View)
    offsets, sizes = (tuple(map(w.number, step.group(name))) for name in ("offsets", "sizes"))
    checked, shape = Checked(w), Checked(w)
    start = parent.offset
    for o, n, d, s in zip(offsets, sizes, parent.dims, parent.strides):
        shape.need("sge", o, 0)
        shape.need("sle", n, checked.add(d, w.code.sub(0, o)))
        start = checked.add(start, checked.mul(o, s))
    w.refuse_if(checked.any(), step)
    found = replace(parent, offset=start, dims=sizes)
    _stays_in_memory(w, step, shape.any(), found)
    if packed is not None:
        dims, strides, layout = packed.value
        found = View(parent.memory, start, dims, strides, parent.dtype, LAYOUTS.index(layout), frozenset((layout,)))
    w.set(step.result, found)


def _stays_in_memory(w: Writer, step: Step, leaves: str, part: View) -> None:
    """A slice that leaves the shape of its tensor has to lie in the argument all the same."""
    if leaves == "false":
        return
    w.pending.flush()
    code = w.code
    far, good = code.label("far"), code.label("near")
    code.branch(code.value(f"xor i1 {leaves}, true"), good, far, rare=True)
    code.place(far)
    checked = Checked(w)
    inside(checked, part)
    w.refuse_if(checked.any(), step)
    code.jump(good)
    code.place(good)


def _of_dimension(w: Writer, step: Step, numbers: Sequence[Num]) -> None:
    index = w.number(step["index"])
    if not isinstance(index, int) or not 0 <= index < len(numbers):
        raise NotNativeError(step.name, "the number of the dimension is not a constant")
    w.set(step.result, numbers[index])


def dim(w: Writer, step: Step) -> None:
    """A size of a view."""
    _of_dimension(w, step, w.get(step["source"]).dims)


def stride(w: Writer, step: Step) -> None:
    """A stride of a view."""
    _of_dimension(w, step, w.get(step["source"]).strides)


def reach(checked: Checked, view: View) -> tuple[Num, Num]:
    """The first and the last element of its argument that a view touches."""
    code, first, last = checked.w.code, view.offset, view.offset
    for d, s in zip(view.dims, view.strides):
        span = checked.mul(checked.add(d, -1), s)
        if isinstance(s, int):
            first, last = (checked.add(first, span), last) if s < 0 else (first, checked.add(last, span))
        else:
            down = code.compare("slt", s, 0)
            first = checked.add(first, code.value(f"select i1 {down}, i64 {span}, i64 0"))
            last = checked.add(last, code.value(f"select i1 {down}, i64 0, i64 {span}"))
    if Layout.NDC1HWC0 in view.options:
        last = checked.add(last, inner_channels(view.dtype, Layout.NDC1HWC0) - 1)
    return first, last


def inside(checked: Checked, view: View) -> None:
    """Every element of a view has to lie inside its argument."""
    first, last = reach(checked, view)
    checked.need("sge", first, 0)
    checked.need("slt", last, view.memory.count)
    end = checked.mul(checked.add(last, 1), view.dtype.size)
    if not view.dtype.packed:
        checked.need("sle", end, view.memory.size)
    for d in view.dims:
        checked.need("sge", d, 0)


def cast(w: Writer, step: Step) -> None:
    """A pointer from another one, or from a number."""
    value, dtype, space = step["value"], step["dtype"].value, step["space"].value
    source = w.number(value) if isinstance(value.type, Scalar) else w.get(value)
    if isinstance(source, LocalPointer):
        w.set(step.result, LocalPointer(space, source.address, dtype))
    elif space in SPACES:
        if isinstance(source, GmPointer):
            raise NotNativeError(step.name, "a pointer to global memory as one to a buffer")
        w.set(step.result, LocalPointer(space, source, dtype))
    elif isinstance(source, GmPointer):
        if dtype.packed is not source.dtype.packed:
            raise NotNativeError(step.name, "between elements of 4 bits and others")
        checked = Checked(w)
        start = checked.mul(source.offset, source.dtype.size)
        size = dtype.size
        left = start % size if isinstance(start, int) else w.code.value(f"srem i64 {start}, {size}")
        checked.need("eq", left, 0)
        w.refuse_if(checked.any(), step)
        whole = start // size if isinstance(start, int) else w.code.value(f"sdiv i64 {start}, {size}")
        memory = source.memory
        if dtype.bits != source.dtype.bits:
            count = w.code.value(f"udiv i64 {memory.size}, {size}")
            memory = replace(memory, count=count)
        w.set(step.result, GmPointer(memory, whole, dtype))
    else:
        w.set(step.result, GmPointer(Memory("null", 0, 0, -1), 0, dtype))


def advance(w: Writer, step: Step) -> None:
    """A pointer some elements further on."""
    pointer, elements = w.get(step["ptr"]), w.number(step["offset"])
    checked = Checked(w)
    if isinstance(pointer, LocalPointer):
        address = checked.add(pointer.address, checked.mul(elements, pointer.dtype.size))
        result: GmPointer | LocalPointer = LocalPointer(pointer.space, address, pointer.dtype)
    else:
        assert isinstance(pointer, GmPointer)
        result = GmPointer(pointer.memory, checked.add(pointer.offset, elements), pointer.dtype)
    w.refuse_if(checked.any(), step)
    w.set(step.result, result)


def _element(w: Writer, step: Step, pointer: GmPointer | LocalPointer, index: Num) -> str:
    """The address of one element, which has to lie in its memory."""
    checked, size = Checked(w), pointer.dtype.size
    if isinstance(pointer, LocalPointer):
        loc = SPACES[pointer.space]
        place = checked.add(pointer.address, checked.mul(index, size))
        checked.need("sge", place, 0)
        checked.need("sle", place, w.target.capacity[loc] - size)
        if size > 1:
            low = place % size if isinstance(place, int) else w.code.value(f"and i64 {place}, {size - 1}")
            checked.need("eq", low, 0)
        w.refuse_if(checked.any(), step)
        return w.code.at(w.memory, w.code.add(w.module.space(loc), place))
    place = checked.add(pointer.offset, index)
    checked.need("sge", place, 0)
    checked.need("slt", place, pointer.memory.count)
    start = checked.mul(place, size)
    checked.need("sle", start, w.code.sub(pointer.memory.size, size))
    w.refuse_if(checked.any(), step)
    if not w.element(pointer, start, write=step.word == "store_scalar"):
        return ""
    return w.code.at(pointer.memory.base, start)


def _plain(pointer: GmPointer | LocalPointer, type: Scalar) -> bool:
    """True for elements that are scalars of that type as they stand in memory."""
    dtype = pointer.dtype
    if dtype.name in FLOATS:
        return type.name == dtype.name
    return dtype.is_integer and dtype.bits >= 8 and type.name not in FLOATS and width(type.name) == dtype.bits


def load_scalar(w: Writer, step: Step) -> None:
    """An element of memory as a number."""
    pointer, type = w.get(step["ptr"]), step.result.type
    w.pending.flush()
    assert isinstance(type, Scalar)
    if not _plain(pointer, type):
        w.set(step.result, w.compute(step, llvm_type(type.name)))
        return
    if isinstance(pointer, LocalPointer):
        w.reads_space(SPACES[pointer.space])
    at = _element(w, step, pointer, w.number(step["index"]))
    w.set(step.result, w.code.load(f"i{8 * pointer.dtype.size}", at, 1))


def store_scalar(w: Writer, step: Step) -> None:
    """A number into an element of memory."""
    pointer, value = w.get(step["ptr"]), step["value"]
    w.pending.flush()
    assert isinstance(value.type, Scalar)
    if not _plain(pointer, value.type):
        raise NotNativeError(step.name, f"{value.type} as an element of type {pointer.dtype}")
    at = _element(w, step, pointer, w.number(step["index"]))
    if at:
        w.code.store(f"i{8 * pointer.dtype.size}", w.text(value), at, 1)


def first_element(w: Writer, step: Step) -> None:
    """A pointer to where a view begins."""
    found = w.get(step["src"])
    w.set(step.result, GmPointer(found.memory, found.offset, found.dtype))


def first_byte(w: Writer, step: Step) -> None:
    """A pointer to where a tile begins."""
    tile = w.get(step["tile"])
    w.pending.flush()
    if tile.address is None:
        raise NotNativeError(step.name, "the tile has no address")
    w.set(step.result, LocalPointer(step["space"].value, tile.address, step["dtype"].value))


def address_in_gm(w: Writer, step: Step) -> None:
    """The address of an element of an argument."""
    pointer = w.get(step["ptr"])
    if pointer.dtype.packed:
        raise NotNativeError(step.name, "of elements of 4 bits")
    checked = Checked(w)
    start = checked.mul(w.code.add(pointer.memory.number, 1), APART)
    address = checked.add(start, checked.mul(pointer.offset, pointer.dtype.size))
    w.refuse_if(checked.any(), step)
    w.set(step.result, address)


def pointer_at(w: Writer, step: Step) -> None:
    """A pointer to an address: of all arguments into the one that lies there."""
    dtype, address, code, checked = step["dtype"].value, w.number(step["addr"]), w.code, Checked(w)
    if dtype.packed:
        raise NotNativeError(step.name, "to elements of 4 bits")
    number = code.value(f"ashr i64 {code.add(address, APART // 2)}, {APART.bit_length() - 1}")
    base, size, which = "null", "0", "-1"
    for memory in (w.get(p).memory for p in w.entry.function.params if not isinstance(p.type, Scalar)):
        here = code.value(f"icmp eq i64 {number}, {code.add(memory.number, 1)}")
        base = code.value(f"select i1 {here}, ptr {memory.base}, ptr {base}")
        size = code.value(f"select i1 {here}, i64 {memory.size}, i64 {size}")
        which = code.value(f"select i1 {here}, i64 {memory.number}, i64 {which}")
    start = code.sub(address, code.mul(number, APART))
    checked.need("eq", code.value(f"srem i64 {start}, {dtype.size}"), 0)
    w.refuse_if(checked.any(), step)
    whole, count = (code.value(f"sdiv i64 {n}, {dtype.size}") for n in (start, size))
    w.set(step.result, GmPointer(Memory(base, size, count, which), whole, dtype))


WORDS: dict[str, Callable[[Writer, Step], None]] = {
    "parameter": lambda w, step: None,  # has been taken from the arguments as a view
    "view": view,
    "slice": slice_of,
    "dim": dim,
    "stride": stride,
    "first_element": first_element,
    "first_byte": first_byte,
    "address_in_gm": address_in_gm,
    "pointer_at": pointer_at,
    "cast": cast,
    "advance": advance,
    "load_scalar": load_scalar,
    "store_scalar": store_scalar,
}
