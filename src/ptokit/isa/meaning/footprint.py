"""The footprint and the sentence of the reference that follow from a meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

from ..site import UNKNOWN, Access, Site, TileInfo, ViewInfo, known, least
from .expressions import (
    COLUMN,
    OWN,
    ROW,
    TURNED,
    Apply,
    Bit,
    Code,
    Const,
    Convert,
    Count,
    Element,
    Expr,
    Extent,
    Index,
    Least,
    Reinterpret,
    Scalar,
    Sum,
    Up,
    leaves,
)
from .primitives import PRIMITIVES
from .words import Bursts, Contract, Fold, Lane, Move, Search, Word

# The footprint that follows from a meaning.


_FRACTAL = 16


def footprint(word: Word, site: Site) -> Iterator[Access] | None:
    """Reads first, then writes, each in the order of the operands; None where the word does not say.

    Scratch tiles are written in their valid regions, packed masks in the columns of theirs. Of matrices at pointers
    the machine tells what is touched.
    """
    match word:
        case Move(matrices=matrices) | Contract(matrices=matrices) if matrices:
            return None
        case Lane():
            return _lane(word, site)
        case Fold(dst=dst):
            return _along(word, site, (dst,))
        case Search(dst=dst, dst_value=value):
            return _along(word, site, (dst, value))
        case Move():
            return _moved(word, site)
        case Contract():
            return _product(word, site)
    return None


def _product(c: Contract, site: Site) -> Iterator[Access]:
    """M and K are those of the left tile, N that of the right one, whatever of the accumulator is valid.

    A device writes whole fractals of 16 by 16 (compute-reduce-matrix 9, MAT-NPU-02).
    """
    left: Any = site.operands[c.left]
    right: Any = site.operands[c.right]
    rows, inner, cols = left.vr, left.vc, right.vc
    sizes = {c.left: (rows, inner), c.right: (inner, cols)}
    if c.start:
        sizes[c.start] = (1, cols) if c.start_at == ROW else (rows, cols)
    for operand in site.instr.operands:
        info: Any = site.operands.get(operand.name)
        if isinstance(info, TileInfo) and operand.name != c.dst:
            yield Access(operand.name, False, *sizes.get(operand.name, (info.vr, info.vc)))
    step = _FRACTAL if site.target.is_device else 1
    yield Access(c.dst, True, -(-rows // step) * step, -(-cols // step) * step, results=(rows, cols))
    yield from _scratch(site)


def _along(word: Fold | Search, site: Site, written: tuple[str, ...]) -> Iterator[Access]:
    over: Any = site.operands[word.over]
    size = (over.vr, 1) if word.axis == "row" else (1, over.vc)
    yield Access(word.over, False, over.vr, over.vc)
    for name in written:
        if site.operands.get(name) is not None:
            yield Access(name, True, *size)
    yield from _scratch(site)


def _lane(lane: Lane, site: Site) -> Iterator[Access]:
    over = site.operands.get(lane.over)  # results of registers are not known everywhere
    if not isinstance(over, TileInfo):
        return  # registers
    domain = (over.rows, over.cols) if lane.whole else (over.vr, over.vc)
    sizes = [
        (
            (domain[0] if w.rows is None else size_at(w.rows, site)),
            (domain[1] if w.cols is None else size_at(w.cols, site)),
        )
        for w in lane.writes
    ]
    for operand in site.instr.operands:
        info: Any = site.operands.get(operand.name)
        yield from _widest(
            Access(operand.name, False, *_region(leaf, rows, cols, info))
            for write, (rows, cols) in zip(lane.writes, sizes)
            for leaf in leaves(write.value)
            if isinstance(leaf, (Element, Bit)) and leaf.name == operand.name
        )
    for operand in site.instr.operands:
        info = site.operands.get(operand.name)
        if not isinstance(info, TileInfo):
            continue
        mine = [w for w in lane.writes if w.name == operand.name]
        if any(not w.packed for w in mine):
            yield Access(operand.name, True, *(sizes[0] if len(lane.writes) == 1 else domain))  # type: ignore[arg-type]
        elif mine:
            yield Access(operand.name, True, domain[0], info.vc)  # type: ignore[arg-type]
        elif operand.role == "scratch" and operand.used(site):
            yield Access(operand.name, True, info.vr, info.vc)  # type: ignore[arg-type]


def _moved(move: Move, site: Site) -> Iterator[Access]:
    rows, cols = size_at(move.rows, site), size_at(move.cols, site)
    sources = [leaf for leaf in leaves(move.value) if isinstance(leaf, Element)]
    for leaf in sources:
        if isinstance(site.operands[leaf.name], ViewInfo):
            yield Access(leaf.name, False, -1, -1, along=move.dst)
        elif leaf.at == TURNED:
            yield Access(leaf.name, False, cols, rows)
        else:
            yield Access(leaf.name, False, rows, cols, *_start(leaf.at, site))
    if isinstance(site.operands[move.dst], ViewInfo):
        yield Access(move.dst, True, -1, -1, along=sources[0].name)
    else:
        yield Access(move.dst, True, rows, cols, *_start(move.to, site))
    for f in move.fills:
        row, end_row, col, end_col = (size_at(n, site) for n in (f.row, f.end_row, f.col, f.end_col))
        if known(row, end_row, col, end_col):
            yield Access(move.dst, True, end_row - row, end_col - col, row, col)
    yield from _scratch(site)


def _start(at: Index, site: Site) -> tuple[Any, Any]:
    return size_at(at.row.plus, site), size_at(at.col.plus, site)


def _scratch(site: Site) -> Iterator[Access]:
    for operand in site.instr.operands:
        info = site.operands.get(operand.name)
        if operand.role == "scratch" and isinstance(info, TileInfo) and operand.used(site):
            yield Access(operand.name, True, info.vr, info.vc)  # type: ignore[arg-type]


def _widest(accesses: Iterable[Access]) -> Iterator[Access]:
    """Each once, without those that lie in another one."""
    found = list(dict.fromkeys(accesses))
    for a in found:
        if not any(b is not a and b.rows >= a.rows and b.cols >= a.cols for b in found):
            yield a


def size_at(count: Count, site: Site) -> Any:
    """A size in terms of the operands of a site; `UNKNOWN` where theirs is."""
    match count:
        case Extent(operand, what):
            return getattr(site.operands[operand], what)
        case Least(sizes):
            return least(*(size_at(size, site) for size in sizes))
        case Up(size, step):
            return -(-size_at(size, site) // step) * step
        case Sum(operands, unit):
            present = [name for name in operands if site.operands.get(name) is not None]
            return sum(size_at(Extent(name, "value"), site) for name in present) * unit
    return count


def bytes_moved(word: Word | None, site: Site) -> Any:
    """The bytes that a DMA copy moves in each iteration of its outer loops; `UNKNOWN` of another word."""
    if not isinstance(word, Bursts):
        return UNKNOWN
    return prod((size_at(count, site) for count, *_ in word.axes), start=size_at(word.length, site))


def _region(leaf: Element | Bit, rows: Any, cols: Any, info: Any) -> tuple[Any, Any]:
    """Rows and columns of an operand that the domain reads; of a packed mask its valid region."""
    if isinstance(leaf, Element):
        if leaf.at == OWN:
            return rows, cols
        if leaf.at == COLUMN:
            return rows, 1
        if leaf.at == ROW:
            return 1, cols
    return info.vr, info.vc


# The sentence of the reference that follows from a meaning.


PLACES = {OWN: "[i,j]", COLUMN: "[i,0]", ROW: "[0,j]", TURNED: "[j,i]"}

_AXES = {"row": "[i,0]", "column": "[0,j]"}
_LETTER = {"row": "i", "column": "j"}
FOLDED = {"add": "sum", "mul": "product", "max": "maximum", "min": "minimum", "gt": "maximum", "lt": "minimum"}

_BINDS = (
    {"select": 0}
    | dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), 1)
    | dict.fromkeys(("and", "or", "xor", "shl", "shr"), 2)
    | dict.fromkeys(("add", "sub", "fma", "fmod", "floormod"), 3)
    | dict.fromkeys(("mul", "div", "recip", "rsqrt"), 4)
    | dict.fromkeys(("neg", "not", "sqrt", "log", "pow", "pow_a2a3"), 5)
)
"""How tightly the words of a primitive hold together; those not listed stand in parentheses of their own."""
_ALONE = 6


def sentence(word: Word) -> str:
    """``dst = src0 + src1``, with places where an operand is not read at its own; empty where the word does not say.

    Raises `TypeError` for values that depend on other lanes, on a machine or on threads: their summaries are written.
    """
    match word:
        case Lane(writes):
            return "; ".join(_write(w.name, w.value, w.at) for w in writes)
        case Fold(op, value, axis, dst=dst):
            of = "" if isinstance(value, Element) else f" of {words(value)}"
            return f"{dst}{_AXES[axis]} = {FOLDED[op]} of {axis} {_LETTER[axis]}{of}"
        case Search(op, _, axis, dst=dst):
            other = "column" if axis == "row" else "row"
            return f"{dst}{_AXES[axis]} = first {other} of the {FOLDED[op]} of {axis} {_LETTER[axis]}"
    return ""


def _write(name: str, value: Expr, at: Index) -> str:
    placed = any(isinstance(leaf, Element) and leaf.at != OWN for leaf in leaves(value))
    return f"{name}{PLACES[at] if placed else ''} = {words(value, placed)}"


def words(e: Expr, placed: bool = False, above: int = -1) -> str:
    """An expression in words; ``placed``: with the places of elements; ``above``: how tightly its parent binds."""
    match e:
        case Element(name, at):
            return f"{name}{PLACES[at]}" if placed else name
        case Bit(name):
            return f"{name} bit"
        case Scalar(name):
            return name
        case Const(value):
            return str(value)
        case Convert(value, to) | Reinterpret(value, to):
            return f"{to}({words(value, placed)})"
        case Code(bits):
            return hex(bits)
        case Apply(op, args):
            own = _BINDS.get(op, _ALONE)
            text = PRIMITIVES[op].words.format(*(words(a, placed, -1 if own == _ALONE else own) for a in args))
            return f"({text})" if own <= above else text
    raise TypeError(e)
