"""Copies between views of global memory and tiles, as nests of loops around runs of bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.expressions import Element, Extent, leaves
from ptokit.isa.meaning.footprint import size_at
from ptokit.isa.meaning.words import Lane, Move
from ptokit.isa.site import Site, known
from ptokit.plan.steps import Step
from ptokit.types.enums import Layout
from ptokit.types.tensor import ROW_COL_AXES, ConvSpec

from .code import Code, Num, many
from .tiles import LARGE, copy_row, meets, valid
from .values import Direct, Replacement, Tile, View
from .views import Checked, inside, reach

if TYPE_CHECKING:
    from .function import Writer
    from .lanes import Loop


Axis = tuple[Num, Num]
"""A count and a stride in elements."""

_RUN = 16  # elements that are widened at a time

Widen = Callable[[Code, int, str], tuple[str, str]]

Nest = list[tuple[Num, Num, Num]]
"""Counts with a stride of the destination and one of the source, the outermost first."""


def write(w: Writer, step: Step, site: Site, operands: dict[str, Any]) -> bool:
    """True if native code has been written for a transfer between a view and a tile."""
    word = site.instr.meaning_at(site)
    if not isinstance(word, Move) or not isinstance(word.value, Element) or word.combine:
        return False
    if isinstance(operands.get(word.value.name), View):
        return _load(w, step, site, operands, word)
    if isinstance(operands.get(word.dst), View) and isinstance(word.rows, Extent) and isinstance(word.cols, Extent):
        return _store(w, step, operands)
    return False


# Where elements lie --------------------------------------------------------------------------------------------------


def view_axes(w: Writer, view: View, layout: Layout) -> tuple[list[Axis], list[Axis]]:
    """Rows and columns of a view as axes, the outermost first."""
    missing = 5 - len(view.dims)
    dims = [*(1,) * missing, *view.dims]
    strides = [*(0,) * missing, *view.strides]
    rows, cols = ROW_COL_AXES[layout]
    return merged(w.code, [(dims[a], strides[a]) for a in rows]), merged(w.code, [(dims[a], strides[a]) for a in cols])


def merged(code: Code, axes: list[Axis]) -> list[Axis]:
    """Fewest axes that visit the same elements in the same order."""
    out: list[Axis] = []
    for n, s in axes:
        if n == 1:
            continue
        if out and isinstance(n, int) and isinstance(s, int) and out[-1][1] == n * s:
            out[-1] = (code.mul(out[-1][0], n), s)
        else:
            out.append((n, s))
    return out or [(1, 0)]


def tile_axes(tile: Tile, rows: Num, cols: Num) -> tuple[list[Axis], list[Axis]] | None:
    """Rows and columns of a region of a tile as axes; None where boxes are not taken apart evenly."""
    store = tile.spec
    if store.dtype.packed:
        return None
    if not store.boxed:
        row, col = (store.cols, 1) if store.row_major else (1, store.rows)
        return [(rows, row)], [(cols, col)]
    if store.rows == 1:
        return None
    ir, ic = store.box
    if (
        not isinstance(rows, int)
        or not isinstance(cols, int)
        or (rows > ir and rows % ir)
        or (cols > ic and cols % ic)
        or store.rows % ir
        or store.cols % ic
    ):
        return None
    inner_row, inner_col = (ic, 1) if store.slayout.name == "RowMajor" else (1, ir)
    box = ir * ic
    outer_row, outer_col = (store.cols * ir, box) if store.row_major else (box, store.rows * ic)
    by_row: list[Axis] = [(max(1, rows // ir), outer_row), (min(rows, ir), inner_row)]
    return by_row, [(max(1, cols // ic), outer_col), (min(cols, ic), inner_col)]


def source_axes(w: Writer, source: Tile | View, rows: int, cols: int) -> tuple[list[Axis], list[Axis]] | None:
    """Rows and columns of what is read for a tile: its own, or those of the view that is read instead."""
    if isinstance(source, Tile):
        return tile_axes(source, rows, cols)
    layout = source.layout_for(True)
    return None if layout is None else view_axes(w, source, layout)


def together(a: list[Axis], b: list[Axis]) -> Nest | None:
    """Axes that visit the elements of both in step; None if they cannot be cut to fit."""
    a, b = list(a), list(b)
    out: Nest = []
    while a and b:
        (n, s), (m, t) = a.pop(), b.pop()
        if not a and not b:
            out.append((n, s, t))  # the sizes have been compared
            break
        if n == m:
            out.append((n, s, t))
        elif isinstance(n, int) and isinstance(m, int) and isinstance(s, int) and isinstance(t, int):
            if n % m == 0:
                out.append((m, s, t))
                a.append((n // m, s * m))
            elif m % n == 0:
                out.append((n, s, t))
                b.append((m // n, t * n))
            else:
                return None
        else:
            return None
    if any(n != 1 for n, _ in (*a, *b)):
        return None
    return out[::-1]


def _simplified(nest: Nest) -> Nest:
    """Without axes of one element, and with neighbours joined where both sides allow it."""
    out: Nest = []
    for n, s, t in nest:
        if n == 1:
            continue
        if out and isinstance(n, int) and isinstance(s, int) and isinstance(t, int):
            before, u, v = out[-1]
            if isinstance(before, int) and u == n * s and v == n * t:
                out[-1] = (before * n, s, t)
                continue
        out.append((n, s, t))
    return out


def copy(
    w: Writer,
    dst: str,
    src: str,
    size: int,
    rows: Nest,
    cols: Nest,
    *,
    wide: tuple[int, Widen] | None = None,
    whole: Num = 0,
) -> None:
    """Copy elements of `size` bytes from one address to another.

    ``wide``: the bytes that each becomes, and how: ``(code, count, register)`` gives type and register. ``whole``: the
    bytes of the array that they go to.
    """
    code = w.code
    nest = _simplified([*rows, *cols])
    to_size, widen = wide or (size, lambda code, n, x: (many(n, f"i{8 * size}"), x))
    runs = [k for k, (_, s, t) in enumerate(nest) if s == 1 and t == 1]
    run: Num = 1
    if runs:
        run, _, _ = nest.pop(runs[-1])
    elif _transposed(w, dst, src, size, nest, to_size, widen):
        return
    else:  # the innermost loop writes side by side, where it can
        nest.sort(key=lambda axis: axis[1] == 1)

    def some(n: int, to: str, frm: str) -> None:
        kind, found = widen(code, n, code.load(many(n, f"i{8 * size}"), frm, size))
        code.store(kind, found, to, to_size)

    def level(k: int, to: str, frm: str) -> None:
        if k < len(nest):
            n, s, t = nest[k]
            with code.loop(n) as i:
                at = code.at(to, code.mul(code.mul(i, s), to_size))
                level(k + 1, at, code.at(frm, code.mul(code.mul(i, t), size)))
        elif run == 1:
            some(1, to, frm)
        elif wide is None:
            copy_row(w, to, frm, code.mul(run, size), size, whole)
        else:
            n = _RUN if isinstance(run, int) and run % _RUN == 0 else 1
            with code.loop(run, n) as i:
                some(n, code.at(to, code.mul(i, to_size)), code.at(frm, code.mul(i, size)))

    level(0, dst, src)


def _transposed(w: Writer, dst: str, src: str, size: int, nest: Nest, to_size: int, widen: Widen) -> bool:
    """Copy squares that lie in columns on one side and in rows on the other, a register of 16 bytes for each row."""
    square = 16 // size
    across = [k for k, (n, s, t) in enumerate(nest) if t == 1 and isinstance(n, int) and n % square == 0]
    down = [k for k, (n, s, t) in enumerate(nest) if s == 1 and isinstance(n, int) and n % square == 0]
    if size not in (2, 4) or not across or not down or across[-1] == down[-1]:
        return False
    code = w.code
    (n, s, _), (m, _, t) = nest[across[-1]], nest[down[-1]]
    rest = [axis for k, axis in enumerate(nest) if k not in (across[-1], down[-1])]
    axes = [*rest, (n, s, 1), (m, 1, t)]
    kind = f"<{square} x i{8 * size}>"

    def level(k: int, to: str, frm: str) -> None:
        if k < len(axes):
            count, a, b = axes[k]
            with code.loop(count, square if k >= len(rest) else 1) as i:
                at = code.at(to, code.mul(code.mul(i, a), to_size))
                level(k + 1, at, code.at(frm, code.mul(code.mul(i, b), size)))
            return
        rows = [code.load(kind, code.at(frm, code.mul(code.mul(t, r), size)), size) for r in range(square)]
        half = square // 2
        for _ in range(square.bit_length() - 1):  # each round brings elements of two rows side by side
            rows = [_mixed(code, kind, square, rows[r // 2], rows[r // 2 + half], r % 2) for r in range(square)]
        for r, row in enumerate(rows):
            stored, found = widen(code, square, row)
            code.store(stored, found, code.at(to, code.mul(code.mul(s, r), to_size)), to_size)

    level(0, dst, src)
    return True


def _mixed(code: Code, kind: str, n: int, a: str, b: str, upper: int) -> str:
    """Elements of the lower or upper halves of two registers in turn."""
    places = [(upper * n // 2 + k // 2) + (k % 2) * n for k in range(n)]
    lanes = ", ".join(f"i32 {place}" for place in places)
    return code.value(f"shufflevector {kind} {a}, {kind} {b}, <{n} x i32> <{lanes}>")


# Transfers -----------------------------------------------------------------------------------------------------------


def pads(site: Site, tile: Tile, move: Move) -> bool:
    """True if a load writes beyond the valid region, or may."""
    if tile.shape is not None:
        return bool(move.fills)
    sizes = ([size_at(n, site) for n in (f.row, f.end_row, f.col, f.end_col)] for f in move.fills)
    return any(not known(row, end, col, stop) or (row < end and col < stop) for row, end, col, stop in sizes)


def _ends(w: Writer, view: Any, tile: Any) -> tuple[Layout, Nest, Nest] | None:
    """The layout, and the loops over rows and columns of a tile (destination) and a view."""
    if not isinstance(view, View) or not isinstance(tile, Tile) or isinstance(tile.spec, ConvSpec):
        return None
    layout = view.layout_for(tile.spec.takes_rows)
    if layout is None or layout is Layout.NDC1HWC0 or view.dtype.packed or view.dtype.size != tile.spec.dtype.size:
        return None
    rows, cols = valid(w, tile)
    theirs, ours = view_axes(w, view, layout), tile_axes(tile, rows, cols)
    if ours is None:
        return None
    nests = together(ours[0], theirs[0]), together(ours[1], theirs[1])
    return None if nests[0] is None or nests[1] is None else (layout, nests[0], nests[1])


def _extent(checked: Checked, w: Writer, view: View, layout: Layout, tile: Tile) -> None:
    """The view has to be as large as the valid region."""
    rows, cols = valid(w, tile)
    for axes, wanted in zip(view_axes(w, view, layout), (rows, cols)):
        n: Num = 1
        for count, _ in axes:
            n = checked.mul(n, count)
        checked.need("eq", n, wanted)


def address_of(w: Writer, what: View | Tile) -> str:
    size = what.dtype.size if isinstance(what, View) else what.spec.dtype.size
    if isinstance(what, View):
        return w.code.at(what.memory.base, w.code.mul(what.offset, size))
    return w.code.at(w.memory, what.start)


def _load(w: Writer, step: Step, site: Site, operands: dict[str, Any], move: Move) -> bool:
    tile, view = operands["dst"], operands["src"]
    ends = _ends(w, view, tile)
    if ends is None or pads(site, tile, move):
        return False
    w.pending.flush()
    w.check(step)
    layout, rows, cols = ends
    checked = Checked(w)
    inside(checked, view)

    def made() -> None:
        copy(w, address_of(w, tile), address_of(w, view), view.dtype.size, rows, cols)

    plain = layout is view.layout_for(True) and layout in (Layout.ND, Layout.DN)
    if plain and w.elided(step, tile, Replacement(view, step["src"], made)):
        w.refuse_if(checked.any(), step)
        return True
    w.replacements.pop(tile.start, None)
    _extent(checked, w, view, layout, tile)
    with w.unless(checked.any(), step):
        made()
    w.overwrite(tile, *valid(w, tile))
    return True


def _store(w: Writer, step: Step, operands: dict[str, Any]) -> bool:
    view, tile = operands["dst"], operands["src"]
    ends = _ends(w, view, tile)
    if ends is None:
        return False
    layout, rows, cols = ends
    pitch = w.direct(step, tile, rows, cols)
    loop = None if pitch is None else w.pending.taken()
    w.pending.flush()
    w.check(step)
    checked = Checked(w)
    inside(checked, view)
    _extent(checked, w, view, layout, tile)
    turned = [[(n, t, s) for n, s, t in nest] for nest in (rows, cols)]

    def store(*, reads: bool) -> None:
        with w.unless(checked.any(), step, reads=reads):
            to, frm = address_of(w, view), address_of(w, tile)
            copy(w, to, frm, view.dtype.size, turned[0], turned[1], whole=view.memory.size)

    source = w.source(tile)
    if loop is not None and pitch is not None:
        _stored_directly(w, loop, Direct(tile, address_of(w, view), pitch), view, checked, store)
    elif isinstance(source, View):
        _copied_on(w, view, source, layout, checked, tile, store)
    else:
        w.settle(tile)
        w.touch(tile)
        store(reads=True)
    return True


def _stored_directly(
    w: Writer, loop: Loop, to: Direct, view: View, checked: Checked, store: Callable[..., None]
) -> None:
    """A store of what a loop computes: at once, or by way of the tile where caches keep nothing of it, or it fails."""
    code = w.code
    by_tile = code.value(f"or i1 {checked.any()}, {code.compare('sge', view.memory.size, LARGE)}")
    slow, fast, done = (code.label(name) for name in ("bytile", "direct", "stored"))
    code.branch(code.value(f"xor i1 {by_tile}, true"), fast, slow)
    code.place(slow)
    loop.call()
    w.touch(to.tile)
    store(reads=True)
    code.jump(done)
    code.place(fast)
    loop.towards(to).call()
    code.jump(done)
    code.place(done)


def _copied_on(
    w: Writer, view: View, source: View, layout: Layout, checked: Checked, tile: Tile, store: Callable[..., None]
) -> None:
    """A store of a tile that has not been loaded: from view to view, or by way of the tile where they may overlap."""
    code, theirs = w.code, source.layout_for(tile.spec.takes_rows)
    axes = view_axes(w, view, layout), None if theirs is None else view_axes(w, source, theirs)
    nests = None if axes[1] is None else [together(a, b) for a, b in zip(axes[0], axes[1])]
    if nests is None or nests[0] is None or nests[1] is None:
        w.settle(tile)
        store(reads=False)
        return
    ends = []
    for part in (view, source):
        first, last = (code.mul(place, part.dtype.size) for place in reach(checked, part))
        base = code.value(f"ptrtoint ptr {part.memory.base} to i64")
        ends.append((code.add(base, first), code.add(base, code.add(last, part.dtype.size))))
    checked_now = checked.any()
    meet = code.both(code.compare("slt", ends[0][0], ends[1][1]), code.compare("slt", ends[1][0], ends[0][1]))
    by_tile = code.value(f"or i1 {meet}, {checked_now}")
    slow, fast, done = (code.label(name) for name in ("bytile", "direct", "stored"))
    code.branch(code.value(f"xor i1 {by_tile}, true"), fast, slow)
    code.place(slow)
    w.settle(tile)
    store(reads=False)
    code.jump(done)
    code.place(fast)
    to, frm = address_of(w, view), address_of(w, source)
    copy(w, to, frm, view.dtype.size, nests[0], nests[1], whole=view.memory.size)
    code.jump(done)
    code.place(done)


# Sources that a destination overlaps are copied before elements are computed: all are read before one is written.


Copies = list[tuple[Tile, Tile]]
"""Tiles, and where their bytes are read instead."""


def sources(w: Writer, word: Lane, operands: dict[str, Any]) -> tuple[dict[str, Any], Copies]:
    """Operands, none overlapping the destination with elements of another size, and what is to be copied."""
    dst, found = operands.get(word.over), dict(operands)
    copies: Copies = []
    names = {leaf.name for write in word.writes for leaf in leaves(write.value) if isinstance(leaf, Element)}
    for name in sorted(names):
        tile = operands.get(name)
        if not isinstance(dst, Tile) or not isinstance(tile, Tile) or tile.parent is not None or not meets(dst, tile):
            continue
        if tile.spec.dtype.size == dst.spec.dtype.size:
            continue  # elements at the same place, or left to Python
        start = w.module.area(("apart", len(copies), tile.spec.nbytes), tile.spec.nbytes)
        found[name] = replace(tile, start=start)
        copies.append((tile, found[name]))
    return found, copies


def copy_sources(w: Writer, copies: Copies) -> None:
    """Make the copies."""
    if copies:
        w.pending.flush()
    for tile, other in copies:
        w.touch(tile)
        to, frm, size = address_of(w, other), address_of(w, tile), tile.spec.nbytes
        w.code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr align 64 {to}, ptr {frm}, i64 {size}, i1 false)")
        assert other.span is not None
        w.contents.write(*other.span)
