"""Pointers, views of global memory and single elements, as LLVM code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ptokit.ir.core import Op, Value
from ptokit.ir.scale_views import packed_slice
from ptokit.run.machine.value_words import APART
from ptokit.run.memory.local import SPACES
from ptokit.run.planning.casts import check_cast
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout
from ptokit.types.integers import width
from ptokit.types.tensor import infer_layout, inner_channels
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import MemRef, Ptr, Scalar, TensorView

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


def make_tensor_view(w: Writer, op: Op) -> None:
    view = op.result.type
    assert isinstance(view, TensorView)
    pointer = w.get(op["ptr"])
    assert isinstance(pointer, GmPointer)
    dims = tuple(w.number(v) for v in op.group("shape"))
    strides = tuple(w.number(v) for v in op.group("strides"))
    stated = op.attrs.get("layout")
    if stated is None:
        layout, options = inferred(w, view.dtype, dims, strides)
    else:
        layout, options = LAYOUTS.index(stated), frozenset((stated,))
    w.set(op.result, View(pointer.memory, pointer.offset, dims, strides, view.dtype, layout, options))


def partition_view(w: Writer, op: Op) -> None:
    parent = w.get(op["source"])
    assert isinstance(parent, View)
    offsets, sizes = ([w.number(v) for v in op.group(n)] for n in ("offsets", "sizes"))
    checked = Checked(w)
    start = parent.offset
    for o, n, d, s in zip(offsets, sizes, parent.dims, parent.strides):
        checked.need("sge", o, 0)
        checked.need("sle", n, w.code.sub(d, o))  # o is not negative, d not beyond 2**63
        start = checked.add(start, checked.mul(o, s))
    w.refuse_if(checked.any(), op)
    packed = packed_slice(op, w.function)
    if packed is not None:
        dims, strides, layout = packed
        number, options = LAYOUTS.index(layout), frozenset((layout,))
        w.set(op.result, View(parent.memory, start, dims, strides, parent.dtype, number, options))
        return
    w.set(
        op.result,
        View(parent.memory, start, tuple(sizes), parent.strides, parent.dtype, parent.layout, parent.options),
    )


def view_dim(w: Writer, op: Op) -> None:
    index, source = w.number(op["index"]), w.get(op["source"])
    if not isinstance(index, int) or not 0 <= index < len(source.dims):
        raise NotNativeError(op.name, "the number of the dimension is not a constant")
    w.set(op.result, source.dims[index])


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


def renamed(w: Writer, op: Op) -> None:
    """unrealized_conversion_cast, which changes no bit."""
    check_cast(op)
    for source, result in zip(op.group("in"), op.results):
        w.set(result, w.either(source))


def castptr(w: Writer, op: Op) -> None:
    pointer, value = op.result.type, op["value"]
    if not isinstance(pointer, Ptr):
        raise NotNativeError("castptr", "a pointer as a number")
    space = pointer.space or "gm"
    source = w.number(value) if isinstance(value.type, Scalar) else w.get(value)
    if isinstance(source, LocalPointer):
        w.set(op.result, LocalPointer(space, source.address, pointer.dtype))
    elif space in SPACES:
        if isinstance(source, GmPointer):
            raise NotNativeError(op.name, "a pointer to global memory as one to a buffer")
        w.set(op.result, LocalPointer(space, source, pointer.dtype))
    elif isinstance(source, GmPointer):
        if pointer.dtype.packed is not source.dtype.packed:
            raise NotNativeError(op.name, "between elements of 4 bits and others")
        checked = Checked(w)
        start = checked.mul(source.offset, source.dtype.size)
        size = pointer.dtype.size
        left = start % size if isinstance(start, int) else w.code.value(f"srem i64 {start}, {size}")
        checked.need("eq", left, 0)
        w.refuse_if(checked.any(), op)
        whole = start // size if isinstance(start, int) else w.code.value(f"sdiv i64 {start}, {size}")
        memory = source.memory
        if pointer.dtype.bits != source.dtype.bits:
            count = w.code.value(f"udiv i64 {memory.size}, {size}")
            memory = replace(memory, count=count)
        w.set(op.result, GmPointer(memory, whole, pointer.dtype))
    else:
        w.set(op.result, GmPointer(Memory("null", 0, 0, -1), 0, pointer.dtype))


def addptr(w: Writer, op: Op) -> None:
    pointer, elements = w.get(op["ptr"]), w.number(op["offset"])
    checked = Checked(w)
    if isinstance(pointer, LocalPointer):
        address = checked.add(pointer.address, checked.mul(elements, pointer.dtype.size))
        result: GmPointer | LocalPointer = LocalPointer(pointer.space, address, pointer.dtype)
    else:
        assert isinstance(pointer, GmPointer)
        result = GmPointer(pointer.memory, checked.add(pointer.offset, elements), pointer.dtype)
    w.refuse_if(checked.any(), op)
    w.set(op.result, result)


def _element(w: Writer, op: Op, pointer: GmPointer | LocalPointer, index: Num) -> str:
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
        w.refuse_if(checked.any(), op)
        return w.code.at(w.memory, w.code.add(w.module.space(loc), place))
    place = checked.add(pointer.offset, index)
    checked.need("sge", place, 0)
    checked.need("slt", place, pointer.memory.count)
    start = checked.mul(place, size)
    checked.need("sle", start, w.code.sub(pointer.memory.size, size))
    w.refuse_if(checked.any(), op)
    if not w.element(pointer, start, write=op.name == "pto.store_scalar"):
        return ""
    return w.code.at(pointer.memory.base, start)


def _plain(pointer: GmPointer | LocalPointer, type: Scalar) -> bool:
    """True for elements that are scalars of that type as they stand in memory."""
    dtype = pointer.dtype
    if dtype.name in FLOATS:
        return type.name == dtype.name
    return dtype.is_integer and dtype.bits >= 8 and type.name not in FLOATS and width(type.name) == dtype.bits


def load_scalar(w: Writer, op: Op) -> None:
    pointer = w.get(op["ptr"])
    w.pending.flush()
    assert isinstance(op.result.type, Scalar)
    if not _plain(pointer, op.result.type):
        w.set(op.result, w.compute(op, llvm_type(op.result.type.name)))
        return
    if isinstance(pointer, LocalPointer):
        w.reads_space(SPACES[pointer.space])
    at = _element(w, op, pointer, w.number(op["index"]))
    w.set(op.result, w.code.load(f"i{8 * pointer.dtype.size}", at, 1))


def store_scalar(w: Writer, op: Op) -> None:
    pointer, value = w.get(op["ptr"]), op["value"]
    w.pending.flush()
    assert isinstance(value.type, Scalar)
    if not _plain(pointer, value.type):
        raise NotNativeError(op.name, f"{value.type} as an element of type {pointer.dtype}")
    at = _element(w, op, pointer, w.number(op["index"]))
    if at:
        w.code.store(f"i{8 * pointer.dtype.size}", w.text(value), at, 1)


def view_stride(w: Writer, op: Op) -> None:
    index, source = w.number(op["index"]), w.get(op["source"])
    if not isinstance(index, int) or not 0 <= index < len(source.strides):
        raise NotNativeError(op.name, "the number of the dimension is not a constant")
    w.set(op.result, source.strides[index])


def view_address(w: Writer, op: Op) -> None:
    view = w.get(op["src"])
    w.set(op.result, GmPointer(view.memory, view.offset, view.dtype) if isinstance(op.result.type, Ptr) else view)


def tile_address(w: Writer, op: Op) -> None:
    pointer, tile = op.result.type, w.get(op["tile"])
    w.pending.flush()
    if not isinstance(pointer, Ptr) or tile.address is None:
        raise NotNativeError(op.name, "the tile has no address")
    w.set(op.result, LocalPointer(pointer.space or "gm", tile.address, pointer.dtype))


def address_in_gm(w: Writer, op: Op) -> None:
    pointer = w.get(op["ptr"])
    if pointer.dtype.packed:
        raise NotNativeError(op.name, "of elements of 4 bits")
    checked = Checked(w)
    start = checked.mul(w.code.add(pointer.memory.number, 1), APART)
    address = checked.add(start, checked.mul(pointer.offset, pointer.dtype.size))
    w.refuse_if(checked.any(), op)
    w.set(op.result, address)


def pointer_at(w: Writer, op: Op) -> None:
    """inttoptr: of all arguments the one that lies there."""
    pointer, address, code, checked = op.result.type, w.number(op["addr"]), w.code, Checked(w)
    assert isinstance(pointer, Ptr)
    if pointer.dtype.packed:
        raise NotNativeError(op.name, "to elements of 4 bits")
    number = code.value(f"ashr i64 {code.add(address, APART // 2)}, {APART.bit_length() - 1}")
    base, size, which = "null", "0", "-1"
    for memory in (w.get(p).memory for p in w.entry.params if not isinstance(p.type, Scalar)):
        here = code.value(f"icmp eq i64 {number}, {code.add(memory.number, 1)}")
        base = code.value(f"select i1 {here}, ptr {memory.base}, ptr {base}")
        size = code.value(f"select i1 {here}, i64 {memory.size}, i64 {size}")
        which = code.value(f"select i1 {here}, i64 {memory.number}, i64 {which}")
    start = code.sub(address, code.mul(number, APART))
    checked.need("eq", code.value(f"srem i64 {start}, {pointer.dtype.size}"), 0)
    w.refuse_if(checked.any(), op)
    whole, count = (code.value(f"sdiv i64 {n}, {pointer.dtype.size}") for n in (start, size))
    w.set(op.result, GmPointer(Memory(base, size, count, which), whole, pointer.dtype))


METHODS: dict[str, Callable[[Writer, Op], None]] = {
    "pto.make_tensor_view": make_tensor_view,
    "pto.partition_view": partition_view,
    "pto.get_tensor_view_dim": view_dim,
    "pto.get_tensor_view_stride": view_stride,
    "pto.tensor_view_addr": view_address,
    "pto.tile_buf_addr": tile_address,
    "pto.ptrtoint": address_in_gm,
    "pto.inttoptr": pointer_at,
    "pto.castptr": castptr,
    "builtin.unrealized_conversion_cast": renamed,
    "pto.addptr": addptr,
    "pto.load_scalar": load_scalar,
    "pto.store_scalar": store_scalar,
}
