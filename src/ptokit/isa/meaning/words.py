"""The words an instruction's meaning is made of.

`Instr.meaning` is one of them, or a function that chooses one for a `Site` (target, types, attributes and, where they
matter, sizes). `Instr.meaning_at(site)` gives the word, or None where the choice needs a size that only the run knows.

In all of them every source element is read before any destination element is written, as if the whole result were
computed first; operands may share bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import AccToVecMode, AtomicType, ReluPreMode

from .expressions import OWN, Count, Element, Expr, Index
from .matrices import FixPipe, Matrix
from .primitives import Stage

if TYPE_CHECKING:
    from ..site import Site


@dataclass(frozen=True, slots=True)
class Write:
    """One destination: element `at` of operand `name` becomes `value`, which has its element type.

    ``packed``: the value is a condition and becomes a bit of a packed mask or predicate (see `Bit`), or of on-chip
    memory. The bits between the last column of the domain and the end of its byte become 0. ``rows`` and ``cols`` say
    how much of the domain is computed, counted from (0, 0), where that is not all of it.

    A register has the values of its lanes as its bytes, whatever their type, and 0 in lanes that nothing is written to.
    A pointer gets them side by side in on-chip memory, from a multiple of `alignment` bytes on (rule `rule`), as many
    elements after it as operand `offset` says (where `unit` is not 0, as many times `unit` bytes), if it is there;
    lanes that the mask leaves out are not written. A scalar gets the value of lane 0.

    ``place``: memory and registers get lanes at computed places, which count `unit` bytes, or where that is 0 elements
    (an offset then counts elements); `run` elements go to each place, and `place` and `where` have as many lanes as
    there are places. ``where``: lanes where it does not hold are not written, whatever the mask says; a register has 0
    there. ``apart``: the rule that places differ, which is reported where they do not; the first lane then stays.
    """

    name: str
    value: Expr
    at: Index = OWN
    packed: bool = False
    rows: Count | None = None
    cols: Count | None = None
    offset: str = ""
    alignment: int = 0
    place: Expr | None = None
    where: Expr | None = None
    unit: int = 0
    run: int = 1
    rule: str = "VEC-A5-03"
    apart: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """What has to hold of lanes that the mask lets through, or else the run stops: `low` <= `number` < `high`.

    ``message`` is a format string of `lane` and `number`. ``lanes``: of the number, where those are not the lanes of
    the domain. ``remark``: the run goes on, and whoever watches it is told.
    """

    number: Expr
    low: int
    high: int
    rule: str
    message: str
    lanes: int = 0
    remark: bool = False


@dataclass(frozen=True, slots=True)
class Advance:
    """Pointer `result` is pointer operand `pointer`, as many of its elements further on as operand `by` says, if any.

    ``unit``: where that is not 0, `by` counts so many bytes; of the elements only whole ones count.
    """

    result: str
    pointer: str
    by: str
    unit: int = 0


@dataclass(frozen=True, slots=True)
class Keep:
    """Register `name` of the machine holds a number afterwards, or several, or what is known: a word, None.

    Later instructions read it (`Held`, or as the words say that name it).
    """

    name: str
    values: Expr | tuple[Any, ...] | str | int | None


@dataclass(frozen=True, slots=True)
class Lane:
    """Elements computed one by one: ``dst[i,j] = value`` for every place (i, j) of the domain.

    Several writes: all values are computed first; where two write one element, the later one stays.

    The domain is the valid region of operand `over`, or all its physical rows and columns if `whole`. Of vector
    registers it is one row: `lanes` of them, or where that is 0 those of register `over`. `mask` names the predicate
    operand, and lanes that it leaves out become 0 (an absent predicate leaves out none); the bits of lanes of `width`
    bytes count, or where that is 0 of as many as a register has for each lane of the domain. `keeps`: registers of the
    machine that are set as well, each to one number for each block. `needs`: what is looked at before anything else.
    """

    writes: tuple[Write, ...]
    over: str = "dst"
    whole: bool = False
    mask: str = ""
    lanes: int = 0
    width: int = 0
    advances: tuple[Advance, ...] = ()
    keeps: tuple[Keep, ...] = ()
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class Fold:
    """A row or column folded to one element: ``dst[i,0] = fold over j of value[i,j]``, or ``dst[0,j]`` over i.

    ``axis`` "row" folds the elements of each row, "column" those of each column, over the valid region of operand
    `over`; nothing happens if that is empty. The primitive `op` combines them stage by stage, and the result is
    rounded once to the type of `dst`.
    """

    op: str
    value: Expr
    axis: str
    stages: tuple[Stage, ...] = (Stage(),)
    over: str = "src"
    dst: str = "dst"


@dataclass(frozen=True, slots=True)
class Search:
    """The place of the first extreme of each row or column: ``dst[i,0]``, or ``dst[0,j]``.

    Along the axis, as for `Fold`: ``best = x[0]``, then every x[k] for which ``x[k] op best`` holds takes its place. So
    a NaN is found only where it is x[0]. ``dst`` receives k in its own type, `dst_value` (may be absent) the element.
    """

    op: str
    value: Expr
    axis: str
    over: str = "src"
    dst: str = "dst"
    dst_value: str = "dst_val"


COMBINING = {
    AtomicType.AtomicNone: "",
    AtomicType.AtomicAdd: "add",
    AtomicType.AtomicMax: "max",
    AtomicType.AtomicMin: "min",
}
"""The primitive that an atomic store combines elements with."""


@dataclass(frozen=True, slots=True)
class Fill:
    """Rows [row, end_row) x columns [col, end_col) of the physical tile, set to one storage unit's bit pattern.

    In tiles of 4-bit elements the low half of the pattern goes to elements at even places of the memory.
    """

    row: Count
    end_row: Count
    col: Count
    end_col: Count
    bits: int


@dataclass(frozen=True, slots=True)
class Move:
    """A copy: ``dst[to(i,j)] = value`` for i < rows and j < cols, then the fills around it.

    ``value`` reads one element of a tile or view; without a conversion its bits move unchanged, also between types of
    one width. A view of global memory is the two-dimensional array of its layout (`ptokit.types.tensor`). With
    `combine` a view gets ``combine(old, value)``, a primitive; blocks one after the other. The rest of dst is kept.

    ``matrices``: where source and destination are pointers, the matrices there. All of the destination is
    written, bands of rows with bands, and has 0 where the source has no element; its further columns are only read.
    ``drain``: what a fix-pipe does.
    """

    value: Expr
    rows: Count
    cols: Count
    dst: str = "dst"
    to: Index = OWN
    fills: tuple[Fill, ...] = ()
    combine: str = ""
    matrices: tuple[Matrix, ...] = ()
    drain: FixPipe | None = None


@dataclass(frozen=True, slots=True)
class Drain:
    """As `Move`, of elements of an accumulator through the fix-pipe: scaled, rectified and converted on the way.

    How follows from the target, the types, and whether operand `words` is a tile with a word for each column, a number,
    or absent. In the dual modes both vector cores get a part. Nz tiles get whole blocks of columns.
    """

    value: Element
    rows: Count
    cols: Count
    words: str = ""
    relu: ReluPreMode = ReluPreMode.NoRelu
    mode: AccToVecMode | None = None
    dst: str = "dst"
    to: Index = OWN


class Outside(Enum):
    """What is read or written for an index outside of the source."""

    REFUSED = "refused"
    """The instruction breaks `rule`."""
    LEFT_OUT = "left out"
    """A gather gives 0, a scatter writes nothing."""
    LAST = "last"
    """The last element."""
    WRAPPED = "wrapped"
    """The remainder of the index by the number of elements."""


@dataclass(frozen=True, slots=True)
class Gather:
    """``dst[i,j] = src[index[i,j]]``, bits unchanged, for the valid region of dst.

    `src` is a tile, whose elements are counted row by row over all of it, or a view, whose elements are counted in
    memory from its first one. With `rows` the index is the i-th element of the tile `index` and names a row: those are
    apart by the stride of the view's fourth dimension, or with `dense` by the columns of dst. ``unsigned``: indices are
    numbers without a sign.
    """

    outside: Outside
    rule: str
    rows: bool = False
    dense: bool = False
    unsigned: bool = False
    dst: str = "dst"
    src: str = "src"
    index: str = "idx"


@dataclass(frozen=True, slots=True)
class Scatter:
    """``dst[index[i,j]] = src[i,j]`` for the valid region of the index tile, in the order of rows: the last one stays.

    Counting is that of `Gather`. A tile is filled with 0 before, a view keeps what is not written.
    """

    outside: Outside
    rule: str
    unsigned: bool = False
    dst: str = "dst"
    src: str = "src"
    index: str = "idx"


@dataclass(frozen=True, slots=True)
class Bursts:
    """Rows of `length` bytes copied from pointer `src` to pointer `dst`, all read before one is written.

    ``axes`` are counts with the strides of destination and source in bytes, the outermost first; the first byte goes to
    `before` bytes after `dst`. Around them go the two loops that the registers of direction `loops` hold, or those of
    the numbers of operand `groups`, if one is named: count, source stride and destination stride, the innermost loop
    first. In the unified buffer rows begin at multiples of `alignment` bytes, where there are several. Stores to
    global memory are combined with it where the control register says so. ``unread``: bytes that nothing has written
    may be among them. ``core``: operand with the number of the vector core whose buffer the destination is.
    """

    axes: tuple[tuple[Count, Count, Count], ...]
    length: Count
    before: Count = 0
    loops: str = ""
    groups: str = ""
    alignment: int = 1
    unread: bool = False
    core: str = ""
    dst: str = "dst"
    src: str = "src"


@dataclass(frozen=True, slots=True)
class Repeats:
    """Elements of type `dtype` in blocks of 32 bytes of the unified buffer, 8 of them in each repeat.

    Number operands say how many repeats there are (`repeat`), and for each pointer p, in blocks, how far its blocks
    and those of its repeats lie apart (p + ``_block``, p + ``_repeat``). The mask that the registers hold says which
    elements take part, or how many. `value` has the elements of the source pointers at the own place. A repeat reads
    its sources before it writes, and the next one sees what it wrote.
    """

    value: Expr
    dtype: DType
    dst: str = "dst"


@dataclass(frozen=True, slots=True)
class Update:
    """At once, the element of memory that a pointer names becomes ``op(element, value)``; the result is what was there.

    ``op`` is a primitive, or empty where the element is replaced; the bits of integers are taken as type `seen`.
    Thread after thread, the first ones first: each sees what those before it have made of the element.
    """

    op: str
    seen: DType
    value: str = "value"
    pointer: str = "ptr"


@dataclass(frozen=True, slots=True)
class Contract:
    """A product of tiles: ``dst[i,j] = start[i,j] + sum over k of left[i,k] * right[k,j]``, f32 or i32.

    i runs over the valid rows of `left`, j over the valid columns of `right`, k over the valid columns of `left`.
    ``start`` is the name of a tile, read at `start_at`, or empty. Scale tiles, where there are some, hold a power of
    two for each 32 elements along k: of row i of `left`, of column j of `right`.

    Integer sums are exact and wrap. Float factors are exact in binary64; the sum is that of the run's matmul mode:
    ``exact`` sums in binary64, in no stated order, with the start, and rounds once; ``fast`` sums in f32, in no stated
    order, and adds the start; ``ref`` starts at +0, goes over k in order, each step ``left * right + sum`` rounded once
    to f32 from binary64, and adds the start last. f32 factors are rounded first as `rounding` says: CAST_ROUND,
    CAST_RINT, not at all, or as register `contract.ROUNDING` has it ("held").

    ``matrices``: at pointers, by the names of the factors, the start, the scales and `dst`.
    ``finite``: an infinite factor is the largest number of its type, NaN is 0, and the result is bounded likewise.
    """

    left: str
    right: str
    start: str = ""
    start_at: Index = OWN
    left_scale: str = ""
    right_scale: str = ""
    dst: str = "dst"
    rounding: str = "held"
    matrices: tuple[Matrix, ...] = ()
    finite: bool = False


@dataclass(frozen=True, slots=True)
class Transfer:
    """Views of global memory of several devices: ``dst = src``, element by element; one of them may be a list.

    Without a list it is one copy, combined with what is in `dst` by the primitive `combine`. From a view to a list each
    member gets the view, and from a list the view gets the fold of the members by the primitive `fold`: member `first`
    and then the others, in their order. With ``rows`` member k belongs to its own rows of the view: those after the
    rows of the members before it.
    """

    dst: str
    src: str
    rows: bool = False
    fold: str = ""
    combine: str = ""
    first: int = 0


def _nothing(*_: Any, **__: Any) -> None:
    """Values have one copy here, and are in order."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """No data is touched: what is ordered with what, which the sanitizer looks at.

    ``run(machine, *operands, **attributes)``: the flag between cores that is raised or waited for, if there is one.
    """

    run: Callable[..., Any] = _nothing


@dataclass(frozen=True, slots=True)
class Refusal:
    """The run stops: these operands, or the instruction itself, break `rule`."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Python:
    """What no other word says: ``run(machine, *operands, **attributes)``, as `ptokit.isa.machine` describes.

    ``by_numbers``: pointers and numbers alone decide which bytes it touches, whatever those hold.
    """

    run: Callable[..., Any]
    by_numbers: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """The result is operand `of` under its own type, with the same bytes; the executor makes it."""

    of: str


@dataclass(frozen=True, slots=True)
class Unrun:
    """It is read, carried and printed, and not run: `why`."""

    why: str


@dataclass(frozen=True, slots=True)
class Single:
    """One element of a tile becomes the number `value`, or where that is empty is the result.

    It is the one whose number operand `offset` is, counted as elements lie in memory. Numbers become elements as with
    `expressions.Scalar`.
    """

    tile: str
    value: str = ""
    offset: str = "offset"


Word = (
    Lane
    | Fold
    | Search
    | Move
    | Drain
    | Gather
    | Scatter
    | Single
    | Bursts
    | Repeats
    | Update
    | Contract
    | Transfer
    | Keep
    | Ordering
    | Refusal
    | Python
)

Meaning = Word | Callable[["Site"], "Word | None"]
"""A word, or a function that chooses one for a site; None where that takes a size which is not known there."""


def lane(value: Expr, dst: str = "dst", *, over: str = "dst", mask: str = "", whole: bool = False) -> Lane:
    """A `Lane` with one destination, written at its own place."""
    return Lane((Write(dst, value),), over, whole, mask)
