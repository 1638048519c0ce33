"""Tiles: where they lie, what part of them is valid, which bytes are read before they are written, long rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ptokit.isa.checks.tile_types import broken_placement
from ptokit.machine.words import slot_bytes
from ptokit.plan.steps import Data, Step
from ptokit.types.tile import DYNAMIC, TileSpec, element_offset, numbers_in, windowed

from .code import Code, Num
from .values import NotNativeError, Slots, Tile
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer


# Which bytes of a thread's memory a block may read before it has written them: these are cleared when it begins.


Range = tuple[int, int]


class Contents:
    """Follows the steps in the order of the text."""

    def __init__(self) -> None:
        self.written: list[Range] = []  # by now, on every path
        self.wanted: list[Range] = []  # read while their contents were those of the start

    def write(self, start: int, end: int) -> None:
        """All bytes of the range have been written."""
        self.written = _joined([*self.written, (start, end)])

    def read(self, start: int, end: int) -> None:
        """Bytes of the range may be read."""
        at = start
        for low, high in self.written:
            if high <= at or low >= end:
                continue
            if low > at:
                self.wanted.append((at, low))
            at = max(at, high)
        if at < end:
            self.wanted.append((at, end))

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Code whose execution is not certain: its writes do not count."""
        kept = self.written
        yield
        self.written = kept

    def clears(self, memory: str, size: int) -> list[str]:
        """Code that clears what is wanted; what lies outside of the memory is refused where it is read."""
        lines = []
        inside = [(max(0, start), min(end, size)) for start, end in self.wanted]
        for k, (start, end) in enumerate(_joined([(start, end) for start, end in inside if start < end])):
            lines += [
                f"  %clear{k} = getelementptr i8, ptr {memory}, i64 {start}",
                f"  call void @llvm.memset.p0.i64(ptr %clear{k}, i8 0, i64 {end - start}, i1 false)",
            ]
        return lines


def _joined(ranges: list[Range]) -> list[Range]:
    out: list[Range] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((start, end))
    return out


# Long rows of bytes: copied by registers of 32 bytes, past the caches where the destination is larger.


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


# Tiles: where they lie and what part of them is valid.


def tile(w: Writer, step: Step) -> None:
    """A tile; where its address and valid region are known nothing is left to do at run time."""
    address = None if step.get("addr") is None else w.number(step["addr"])
    if address is None and step.get("site") is None:
        raise NotNativeError(step.name, "a loop hands the tile to its next iteration, which allocates another one")
    w.set(step.result, _allocated(w, step, w.settled(step.result), address))


def _allocated(w: Writer, step: Step, spec: TileSpec, address: Num | None, slot: int = 0) -> Tile:
    shape = None
    if spec.dynamic:
        shape = w.code.slot("[2 x i64]", 16)
        _set_valid(w, step, spec, shape, w.number(step["valid_row"]), w.number(step["valid_col"]))
    if address is None:
        start: Num = w.module.area((step, slot), spec.nbytes)
    else:
        start = at_address(w, step, spec, address)
    return Tile(start, spec, shape, address, step.result.shown, stated=step["type"].value)


def multi_buffer(w: Writer, step: Step) -> None:
    """Tiles of one type, one after the other from an address on, or each in memory of its own."""
    spec, sites = step["type"].value, step.group("site")
    tiles: list[Tile] = []
    for k in range(len(sites)):
        address = None  # that of the first is not negative and inside the buffer, once it has been checked
        if step.get("addr") is not None:
            address = w.code.add(w.number(step["addr"]), k * slot_bytes(spec))
        tiles.append(_allocated(w, step, spec, address, k))
    w.set(step.result, Slots(tuple(tiles)))


def slot_of(w: Writer, step: Step) -> None:
    """One tile of a multi-buffer."""
    slots, (index,) = w.get(step.operands[0]), map(w.number, step.group("indices"))
    checked = Checked(w)
    checked.need("sge", index, 0)
    checked.need("slt", index, len(slots.tiles))
    w.refuse_if(checked.any(), step)
    first, *others = slots.tiles
    if isinstance(index, int):
        w.set(step.result, slots.tiles[index] if 0 <= index < len(slots.tiles) else first)
        return
    found = [leaf for _, leaf in first.leaves()]
    for k, other in enumerate(others, 1):
        here = w.code.compare("eq", index, k)
        leaves = zip(other.leaves(), found)
        found = [w.code.value(f"select i1 {here}, {kind} {leaf}, {kind} {old}") for (kind, leaf), old in leaves]
    w.set(step.result, first.rebuilt(found))


def at_address(w: Writer, step: Step, spec: TileSpec, address: Num) -> Num:
    """Where a tile at an address of its buffer begins in the memory of the thread."""
    base = w.module.space(spec.loc)
    if isinstance(address, int):
        if any(True for _ in broken_placement(spec, address, w.target)):
            raise NotNativeError(step.name, "the tile does not fit at its address")
        return base + address
    checked = Checked(w)
    checked.need("sge", address, 0)
    checked.need("sle", address, w.target.capacity[spec.loc] - spec.nbytes)
    checked.need("eq", w.code.value(f"srem i64 {address}, {w.target.alignment}"), 0)
    w.refuse_if(checked.any(), step)
    return w.code.add(base, address)


def _set_valid(w: Writer, step: Step, spec: TileSpec, shape: str, rows: Num, cols: Num) -> None:
    checked = Checked(w)
    for n, limit in ((rows, spec.rows), (cols, spec.cols)):
        checked.need("sge", n, 0)
        checked.need("sle", n, limit)
    w.refuse_if(checked.any(), step)
    w.code.store("i64", rows, shape)
    w.code.store("i64", cols, w.code.at(shape, 8))


def set_valid(w: Writer, step: Step) -> None:
    """Another valid region of a tile."""
    w.pending.flush()
    tile = w.get(step["tile"])
    if tile.shape is None:
        raise NotNativeError(step.name, "the type of the tile fixes its valid region")
    _set_valid(w, step, tile.type, tile.shape, w.number(step["valid_row"]), w.number(step["valid_col"]))


def valid_sizes(w: Writer, step: Step) -> None:
    """The valid rows and columns of a tile as numbers, or one of the two."""
    tile = w.get(step["source"])
    w.reads_region(tile)
    rows, cols = valid(w, tile)
    sizes = {"valid_rows": [rows], "valid_cols": [cols]}.get(step.word, [rows, cols])
    for result, size in zip(step.results, sizes):
        w.set(result, size)


def rebind(w: Writer, step: Step) -> None:
    """The same tile at another address."""
    w.pending.flush()
    tile, address = w.get(step["tile"]), w.number(step["addr"])
    start = at_address(w, step, tile.spec, address)
    spec = tile.type if tile.parent is None else tile.spec
    shape = _copied(w, *valid(w, tile)) if spec.dynamic else None
    w.set(step.result, Tile(start, spec, shape, address, tile.name, stated=tile.type))


def alias(w: Writer, step: Step) -> None:
    """The same bytes as another type."""
    w.pending.flush()
    source, spec = w.get(step["src"]), step["type"].value
    shape = None
    if spec.dynamic:
        rows, cols = valid(w, source)
        if (source.type.rows, source.type.cols) != (spec.rows, spec.cols):
            rows, cols = spec.rows, spec.cols
        shape = _copied(
            w,
            rows if spec.valid_row == DYNAMIC else spec.valid_row,
            cols if spec.valid_col == DYNAMIC else spec.valid_col,
        )
    w.set(step.result, Tile(source.start, spec, shape, source.address, step.result.shown))


def numbers(w: Writer, step: Step) -> None:
    """A tile of pairs of 4-bit floats as one of numbers."""
    w.pending.flush()
    source, spec = w.get(step["src"]), step["type"].value
    shape = None
    if spec.dynamic:
        shape = _copied(w, *(w.code.mul(size, by) for size, by in zip(valid(w, source), numbers_in(source.type))))
    w.set(step.result, Tile(source.start, spec, shape, source.address, source.name))


def window(w: Writer, step: Step) -> None:
    """A part of a tile."""
    w.pending.flush()
    source, type = w.get(step["source"]), step["type"].value
    parent, memory = source.type, source.spec
    row, col = map(w.number, step.group("offsets"))
    if parent.dtype.packed:
        raise NotNativeError(step.name, "of a tile of 4-bit elements")
    sizes: list[Num] = [type.valid_row, type.valid_col]
    if type.dynamic:
        left = [w.code.sub(n, at) for n, at in zip(valid(w, source), (row, col))]
        given = [n if o == Data(None) else w.number(o) for n, o in zip(left, step.group("valid"))]
        most = (type.rows, type.cols)
        sizes = [_clipped(w, n, m) if size == DYNAMIC else size for size, n, m in zip(sizes, given, most)]
    checked = Checked(w)
    for at, size, limit, unit in zip((row, col), sizes, (parent.rows, parent.cols), parent.box):
        checked.need("sge", at, 0)
        checked.need("sle", at, w.code.sub(limit, size))
        if unit > 1:
            checked.need("eq", at % unit if isinstance(at, int) else w.code.value(f"srem i64 {at}, {unit}"), 0)
    w.refuse_if(checked.any(), step)
    elements = element(w, memory, row, col)
    moved = w.code.mul(elements, memory.dtype.size)
    spec = windowed(memory, type)
    shape = _copied(w, sizes[0], sizes[1]) if type.dynamic else None
    address = None if source.address is None else w.code.add(source.address, moved)
    start = w.code.add(source.start, moved)
    w.set(step.result, Tile(start, spec, shape, address, step.result.shown, source, row, col, type))


def element(w: Writer, spec: TileSpec, row: Num, col: Num) -> Num:
    """The offset of an element at the corner of a box."""
    code = w.code
    if not spec.boxed:
        pitch = (spec.cols, 1) if spec.row_major else (1, spec.rows)
        return code.add(code.mul(row, pitch[0]), code.mul(col, pitch[1]))
    if spec.rows == 1:
        return code.add(row, col)
    if isinstance(row, int) and isinstance(col, int):
        return int(element_offset(spec, row, col))
    ir, ic = spec.box
    per_row, per_col = (spec.cols, ir) if spec.row_major else (ic, spec.rows)
    # Whole boxes: a row of boxes has cols * ir elements, a column of them rows * ic.
    return code.add(code.mul(row, per_row), code.mul(col, per_col))


def _copied(w: Writer, rows: Num, cols: Num) -> str:
    shape = w.code.slot("[2 x i64]", 16)
    w.code.store("i64", rows, shape)
    w.code.store("i64", cols, w.code.at(shape, 8))
    return shape


def _least(w: Writer, n: Num, limit: int) -> Num:
    return min(n, limit) if isinstance(n, int) else w.code.value(f"call i64 @llvm.smin.i64(i64 {n}, i64 {limit})")


def _clipped(w: Writer, n: Num, limit: int) -> Num:
    n = _least(w, n, limit)
    return max(n, 0) if isinstance(n, int) else w.code.value(f"call i64 @llvm.smax.i64(i64 {n}, i64 0)")


def valid(w: Writer, tile: Tile) -> tuple[Num, Num]:
    """Rows and columns of the valid region."""
    spec = tile.spec
    if tile.shape is None:
        return spec.valid_row, spec.valid_col
    rows: Num = spec.valid_row
    cols: Num = spec.valid_col
    if rows == DYNAMIC:
        rows = w.code.load("i64", tile.shape)
    if cols == DYNAMIC:
        cols = w.code.load("i64", w.code.at(tile.shape, 8))
    return rows, cols


def meets(a: Tile, b: Tile) -> bool:
    """True if two tiles may share bytes."""
    x, y = a.span, b.span
    return x is None or y is None or (x[0] < y[1] and y[0] < x[1])


WORDS: dict[str, Callable[[Writer, Step], None]] = {
    "tile": tile,
    "tiles": multi_buffer,
    "rebind": rebind,
    "alias": alias,
    "numbers": numbers,
    "window": window,
    "set_valid": set_valid,
    "valid": valid_sizes,
    "valid_rows": valid_sizes,
    "valid_cols": valid_sizes,
}
