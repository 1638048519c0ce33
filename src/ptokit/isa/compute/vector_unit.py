"""What the instructions of the vector unit share: the words that define them, and their rules (compute-elementwise 2).

Per-instruction data they read: `Instr.types` (the columns of section 3) and `Instr.typed_operand`. Where an instruction
needs another check of the same rule, there is a variant of it, which its definition names.

A word supplies operands, text name, pipe V and the family's rules; the meaning is an expression of elements. Operands
are read in dst's valid region (compute-elementwise 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ptokit.diagnostics import Doubt, Rule, family
from ptokit.diagnostics.rules import first, need, shared
from ptokit.targets import A2A3, A5, Target
from ptokit.types.dtypes import DType, dtype, is_dtype
from ptokit.types.enums import BLayout, SLayout, TileType  # noqa: F401

from ..checks.compiling import DEVICES, Message, all_tiles
from ..checks.tiles import assembler_rule, in_asm_types, in_types, typed  # noqa: F401
from ..meaning.expressions import Element, Expr, Scalar, apply, greater, maximum, select
from ..meaning.footprint import sentence
from ..meaning.words import Lane, lane
from ..operands import Types
from ..scratch import EW_10
from ..site import Site, TileInfo
from ..table import Access, Instr, Meaning, Operand, derived_footprint, dst, inout, instruction, scalar, src

# Rules that the elementwise instructions share (compute-elementwise 2).


SOURCE = "compute-elementwise"
rule = family(f"{SOURCE} 2.1")

# Placement and layout ------------------------------------------------------------------------------------------------


def _loc(o: Site, *also: TileType) -> Message:
    """Every tile operand is a Vec tile (TEXPANDS: Vec or Mat)."""
    for name, t in all_tiles(o):
        if t.loc is not TileType.Vec and t.loc not in also:
            return f"{o:{name}} is a {t.loc.text} tile; {o.instr.name} works on vec tiles"
    return None


def _row_major(o: Site) -> Message:
    """Destination and sources are row-major (TEXPANDS: 64-bit elements on a5 only)."""
    for name, t in o.data_tiles:
        if not t.row_major:
            wanted = f"{o.instr.name} needs {o.word(BLayout.RowMajor)} on {o.target.name}"
            message = f"{o:{name}} has blayout={o.word(BLayout.ColMajor)}; {wanted}"
            return (message, _of_column(o, t)) if t.cols == 1 else message
    return None


def _of_column(o: Site, column: TileInfo) -> str:
    """What to write where a column meets an instruction on rows."""
    if all(t.cols == 1 for _, t in o.data_tiles):
        return f"compute on the same bytes as a row: a reshape to 1x{column.rows}"
    return "TROWEXPAND and its variants (TROWEXPANDMUL, …) take one number a row"


def _row_major_or_flat(o: Site, a5_integers: bool = True) -> Message:
    """As `_row_major`; the library asks nothing, and takes what lies together for one row of as many elements.

    On a5 only where it works on registers of such rows: not on 64 bits, and on ``a5_integers`` as that says.
    """
    found = _row_major(o)
    if not found:
        return None
    tiles = [t for _, t in o.data_tiles]
    alike = len({(t.row_major, t.rows, t.cols) for t in tiles}) == 1
    columns = alike and tiles[0].cols == 1
    whole = alike and all(t.spec.valid_col == t.cols and (columns or t.spec.valid_row == t.rows) for t in tiles)
    if o.target.is_a(A2A3):
        flat = whole or columns
    else:
        flat = whole and o.dst.dtype.bits < 64 and (a5_integers or o.dst.dtype.is_float)
    return Doubt(found if isinstance(found, str) else found[0]) if flat else found


def _row_major_64(o: Site) -> Message:
    return _row_major(o) if o.target.is_a(A5) and o.dst.dtype.bits == 64 else None


EW_03 = rule(
    "EW-03", "t = Tile(Vec, u32, 16, 32, slayout=SLayout.{NoneBox|ColMajor}); TOR(t, t, t)", evidence="device", on="cpu"
)(
    """Elementwise operands have no boxes.

    Decision: The device would process the fractals as plain rows, the simulator by coordinates; refused.
    """,
    "t.loc is Mat for t in data if t.boxed",
    "{t} has slayout={o.word(t.slayout)}; {instr.name} needs {o.word(SLayout.NoneBox)}",
)

EW_01 = rule(
    "EW-01",
    "TADD(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64), Tile({Vec|Mat}, f32, 16, 64))",
    evidence="static_assert",
)(_loc)
EW_01_MAT = replace(EW_01, check=lambda o: _loc(o, TileType.Mat))
EW_02 = rule(
    "EW-02", "TEXPANDS(Tile(Vec, {f32|i64}, 16, 64, ColMajor), 1)", targets=DEVICES, evidence="static_assert device"
)(_row_major)
EW_02_FLAT = replace(EW_02, check=_row_major_or_flat)
EW_02_FLAT_FLOATS = replace(EW_02, check=partial(_row_major_or_flat, a5_integers=False))
EW_02_64 = replace(EW_02, check=_row_major_64)

EW_CPU_02 = rule(
    "EW-CPU-02",
    "TMULS(Tile(Vec, f32, 16, 64{|, ColMajor}), Tile(Vec, f32, 16, 64), 1)",
    what="TADDS TPOWS TDIVS TMULS TMAXS TLRELU need row-major tiles on cpu.",
    source=f"{SOURCE} 3.7",
    evidence="static_assert",
)(_row_major)


@rule(
    "EW-CPU-01",
    "TADD(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, {|128, valid_col=}64), Tile(Vec, f32, 16, 64))",
    source=f"{SOURCE} 3.7",
    evidence="static_assert",
)
def EW_CPU_01(o: Site) -> Message:
    """TADD TABS TEXPANDS TSEL TADDC TSUBC TADDSC TSUBSC take one C++ tile type for all operands on cpu."""
    (_, d), *rest = o.data_tiles
    for name, t in rest:
        if name == "mask":
            continue
        for what in ("rows", "cols", "valid_row", "valid_col", "blayout", "slayout"):
            x, y = getattr(t.spec, what), getattr(d.spec, what)
            if x != y:
                return f"{o:{name}} has {what} {x}, {o:dst} has {y}: {o.instr.name} on cpu takes one tile type"
    return None


# Types and shapes ----------------------------------------------------------------------------------------------------


equal_types = shared(
    "Destination and sources have one element type.",
    need("t.dtype is dst.dtype for t in sources"),
)


def _equal_or_widened(o: Site) -> Message:
    d, s = o.dst.dtype, o.src.dtype
    if d is s:
        return in_types(o)
    if (d.name, s.name) == ("f32", "f16"):
        return None
    return f"there is no {d} += {s} form; types are equal, or {o:dst} f32 and {o:src} f16"


def _equal_valid(o: Site, columns_only: Target | None = None) -> Message:
    """``columns_only``: the target that does not look at the rows."""
    d = o.dst
    for name, t in o.sources:
        if t.vc != d.vc or (t.vr != d.vr and not (columns_only and o.target.is_a(columns_only))):
            return f"{o:{name}} has valid region {t.vr}x{t.vc}, {o:dst} has {d.vr}x{d.vc}"
    return None


EW_07 = rule(
    "EW-07",
    "pto.tadds ins(%a, %x : !pto.tile_buf<vec, 16x64xf32{|, valid=0x64}>, f32) outs(%d : "
    "!pto.tile_buf<vec, 16x64xf32{|, valid=0x64}>)",
    targets=("a2a3",),
    evidence="assertion",
)(
    "Tile-scalar instructions need a non-empty valid region.",
    "dst.vr != 0 and dst.vc != 0",
    "{dst} has valid region {dst.vr}x{dst.vc}; {instr.name} asserts that it is not empty",
)


def _regions(o: Site, columns_only: Target | None = None) -> Message:
    """The valid region of each source equals the destination's."""
    d = o.dst
    for name, t in o.sources:
        if d.vr > t.rows or d.vc > t.cols:
            small = f"{o:{name}} has {t.rows}x{t.cols} elements, {o:dst} has valid region {d.vr}x{d.vc}"
            spread = "TROWEXPAND" if t.cols == 1 else "TCOLEXPAND" if t.rows == 1 else ""
            number = "row" if t.cols == 1 else "column"
            hint = f"{spread} and its variants ({spread}MUL, …) take one number a {number}"
            return (small, hint) if spread else small
    wrong = _equal_valid(o, columns_only)
    return Doubt(wrong) if isinstance(wrong, str) else None


EW_05 = rule(
    "EW-05",
    "TNEG(Tile(Vec, f32, 16, 16), Tile(Vec, f32, 16, 16{|, valid_row=8}))",
    why=(
        "Kernels use the destination's valid region for all operands; only a debug assertion compares the regions. A "
        "source that ends before that region is an error."
    ),
    covered_by=("EW-02",),
    evidence="device assertion",
)(_regions)
EW_05_COLUMNS_A5 = replace(EW_05, check=partial(_regions, columns_only=A5))
EW_06 = rule(
    "EW-06",
    "TEXPANDS(Tile(Vec, {i64|int4}, 16, 64), -1)",
    what="The instruction has a form for the element type on the target.",
    source=f"{SOURCE} 3",
    decision="cpu takes what either device takes, and bf16 where the simulator's float operation does.",
    evidence="static_assert",
    on="cpu",
)(in_types)
EW_06_WIDENING = replace(EW_06, check=_equal_or_widened)


def _asm_vector(o: Site, regions: Callable[[Site], Message] | None = None) -> Message:
    """``regions``: what the assembler wants of the valid regions, where this is not a rule of its own."""
    for other in o.instr.rules:
        if other.id in _ASM_TILES and other.check is not None and isinstance(broken := other.check(o), str):
            return str(broken)  # what is a doubt elsewhere, the assembler refuses
    return in_asm_types(o) or (regions(o) if regions is not None else None)


_ASM_TILES = (
    *("EW-01", "EW-02", "EW-04"),
    *("REXP-COM-01", "REXP-COM-10", "CEXP-COM-01", "CEXP-COM-02", "PART-COM-01"),
)
"""Rules of an instruction that the assembler has too."""

EW_1 = assembler_rule(
    "EW-1",
    "pto.texpands ins(%x : {i8|i64}) outs(%a : !pto.tile_buf<vec, {16x64xi8|16x64xi64}>)",
    what=(
        "Row-major vec tiles of one element type, and that in the reference assembler's list; mostly of one valid "
        "region."
    ),
    covered_by=(*_ASM_TILES, "EW-05"),
    source="assembly 13.9; compute-elementwise 3",
)(_asm_vector)
EW_1_EQUAL = replace(EW_1, check=partial(_asm_vector, regions=_equal_valid))
EW_1_COLUMNS_A5 = replace(EW_1, check=partial(_asm_vector, regions=partial(_equal_valid, columns_only=A5)))

# Scalars -------------------------------------------------------------------------------------------------------------


def _scalar_is(o: Site, want: DType) -> Message:
    given = o.scalar.type
    if is_dtype(given) and dtype(given) is not want:
        return f"the scalar has type {given}; {o.instr.text} needs {want.text}"
    return None


_slope = first(
    "scalar.type == 'f32' if target.is_a(A5) and is_dtype(scalar.type)",
    "the slope has type {scalar.type}; {instr.text} needs f32 on a5",
)

EW_08 = assembler_rule(
    "EW-08",
    "%t = texpands %x : ({ui8|i8}) -> !pto.tile<1x64xui8>",
    source=f"{SOURCE} 2.1",
)(
    "The scalar has the tile's element type: exactly for trems tfmods taxpy texpands, f32 for tlrelu on a5.",
    lambda o: _scalar_is(o, o.dst.dtype),
)

EW_08_OF_SRC = replace(EW_08, check=lambda o: _scalar_is(o, o.src.dtype))
EW_08_SLOPE = replace(EW_08, check=_slope)

EW_09 = rule("EW-09", "t = Tile(Vec, i32, 16, 64); TSHLS(t, t, {3|-1})", evidence="document ptokit")(
    """Shift counts are not negative.

    Decision: A negative count in a tile shifts everything out.
    """,
    "scalar.value >= 0 if known(scalar.value) and not isinstance(scalar.value, float) and "
    "isinstance(scalar.value, int)",
    "shift count {scalar.value} is negative; 0..{dst.dtype.bits - 1} is defined",
)


# What works, but not as written --------------------------------------------------------------------------------------

EW_A3_07 = rule(
    "EW-A3-07",
    "{n: int; |}TEXPANDS(Tile(Vec, f32, 16, 64, valid_col={n|60}), 1)",
    source=f"{SOURCE} 2.2",
    evidence="legal",
)(
    """TEXPANDS TANDS TORS TXORS with static ValidCol < Cols and several rows miss the valid region on a2a3.

    Decision: The executor computes what the instruction says.
    """,
    "dst.vr <= 1 if dst.loc is Vec and 0 < dst.spec.valid_col < dst.cols",
    "{dst} has static valid columns {dst.vc} of {dst.cols}: the a2a3 library fills consecutive elements instead",
)

EW_A5_01 = rule(
    "EW-A5-01", "t = Tile(Vec, i64, 4, {64|68}); TADDS(t, t, 1)", source=f"{SOURCE} 2.3", evidence="device"
)(
    "64-bit forms without a column loop work on at most 64 columns.",
    "typed(o).vc <= 64 if typed(o).dtype.bits == 64",
    "{typed(o).vc} valid columns of {typed(o).dtype}; a5 processes the first 64",
)

EW_A3_06 = rule(
    "EW-A3-06",
    "TREM(Tile(Vec, {f32|i32}, 16, 64), Tile(Vec, {f32|i32}, 16, 64), Tile(Vec, {f32|i32}, 16, 64))",
    source=f"{SOURCE} 2.2",
    evidence="legal",
)(
    """i32 remainders are computed in f32 on a2a3.

    Decision: The executor computes the exact remainder.
    """,
    "dst.dtype.name != 'i32'",
    "i32 operands beyond 2^24 in magnitude are rounded on a2a3: the remainder is computed in f32",
)

EW_A5_11 = rule(
    "EW-A5-11",
    "t = Tile(Vec, {i32|i64}, 4, 32); TREM(t, t, t)",
    source=f"{SOURCE} 4.3",
    evidence="legal",
)(
    """Remainders of i64 leave the sign of the dividend on a5.

    Decision: The executor takes the divisor's, as the manual and the known answers do.
    """,
    "dst.dtype.name != 'i64'",
    "a5 gives remainders of i64 the sign of the dividend, the manual that of the divisor",
)

REMAINDERS = (EW_A3_06, EW_A5_11)

EW_A3_09 = rule(
    "EW-A3-09", "t = Tile(Vec, i32, 16, 64); TSUBS(t, t, {1000|33554433})", source=f"{SOURCE} 2.2", evidence="legal"
)(
    """TSUBS negates its scalar through f32 on a2a3.

    Decision: The executor subtracts exactly.
    """,
    "abs(scalar.value) <= 1 << 24 and (dst.dtype.name != 'i16' or scalar.value != -32768) if "
    "isinstance(scalar.value, int) and dst.dtype.is_integer",
    "a2a3 negates the scalar {scalar.value} through f32, which cannot represent it",
)

EW_CPU_05 = rule(
    "EW-CPU-05", "t = Tile(Vec, f32, 16, 64); TDIVS(t, t, {2|0})", source=f"{SOURCE} 3.7", evidence="legal"
)(
    """TDIVS TREMS TFMODS have a non-zero scalar divisor.

    Decision: Float division follows IEEE, integer division by zero gives 0.
    """,
    "getattr(o, 'scalar_first', 0) if scalar.value == 0",
    "the divisor of {instr.name} is zero",
)

COMMON = (
    EW_01,
    EW_02,
    EW_03,
    rule(
        "EW-04",
        "TADDS(Tile(Vec, f32, 16, 64), Tile(Vec, {f32|i64}, 16, 64), {|-}1)",
        evidence="static_assert",
        on="a2a3",
    )(equal_types),
    EW_05,
    EW_06,
    EW_10,
    EW_1_EQUAL,
)
"""Rules of every elementwise instruction but TCVT."""


# Words to define vector instructions with: one call per instruction says all that distinguishes it.


Value = Expr | Callable[[Site], Expr | None]
"""The expression of an element of dst, or a function that chooses it; None where that takes an unknown size."""

SRC0, SRC1, SRC, DST = (Element(name) for name in ("src0", "src1", "src", "dst"))
SCALAR = Scalar("scalar", "src")
"""The number, in the element type of src."""


def relu(e: Expr) -> Expr:
    """max(e, 0): negative values and -0 give +0, NaN stays (4.4)."""
    return maximum(e, 0)


def leaky(e: Expr, slope: Expr) -> Expr:
    """``e > 0 ? e : e * slope``; zeros take the product (4.4)."""
    return select(greater(e, 0), e, e * slope)


def power_of(base: Expr, exponent: Expr) -> Callable[[Site], Expr]:
    """``base ** exponent`` with the special cases of the target (4.5)."""
    return lambda o: apply("pow_a2a3" if o.target.is_a(A2A3) else "pow", base, exponent)


def remainder_footprint(o: Site) -> Iterator[Access]:
    """As the meaning says; on a2a3 the i32 remainder converts its sources in place (compute-elementwise 6)."""
    yield from derived_footprint(o)
    if o.target.is_a(A2A3) and o.dst.dtype.name == "i32":
        for name, _ in o.sources:
            yield Access(name, True, o.dst.vr, o.dst.vc)


def vector(
    name: str,
    summary: str,
    operands: tuple[Operand, ...],
    types: Types,
    meaning: Meaning,
    *rules: Rule,
    common: tuple[Rule, ...] = COMMON,
    **more: Any,
) -> Instr:
    """An instruction of the vector pipe whose text name is its lower-case name.

    ``rules``: those of its own. One with the id of a common rule stands in its place: the same sentence, checked as
    this instruction needs it. An empty summary is the meaning in words.
    """
    more.setdefault("source", "compute-elementwise 3")
    own = {rule.id: rule for rule in rules}
    bound = [own.pop(rule.id, rule) for rule in common]
    return instruction(
        Instr(
            name, name.lower(), summary, operands, types=types, meaning=meaning, rules=(*bound, *own.values()), **more
        )
    )


def computed(
    name: str, value: Value, operands: tuple[Operand, ...], types: Types, *rules: Rule, note: str = "", **more: Any
) -> Instr:
    """``dst = value`` over the valid region of dst; `note` is said after the formula.

    A function of the site in place of an expression chooses one; then `summary` has the sentence.
    """
    if isinstance(value, Expr):
        word = lane(value)
        return vector(name, sentence(word) + f", {note}" * bool(note), operands, types, word, *rules, **more)
    choose = value

    def meaning(o: Site) -> Lane | None:
        chosen = choose(o)
        return None if chosen is None else lane(chosen)

    return vector(name, more.pop("summary"), operands, types, meaning, *rules, **more)


def binary(name: str, value: Value, types: Types, *rules: Rule, scratch: Operand | None = None, **more: Any) -> Instr:
    """An instruction with two source tiles, and a scratch tile where one is given."""
    operands = (dst(), src("src0"), src("src1"), *([scratch] if scratch else []))
    return computed(name, value, operands, types, *rules, cpp=_with_all(name, operands), **more)


def _with_all(name: str, operands: tuple[Operand, ...]) -> str:
    """A call in C++, where a scratch tile is never left out."""
    return f"{name}({', '.join(operand.name for operand in operands)})"


def unary(name: str, value: Value, types: Types, *rules: Rule, **more: Any) -> Instr:
    """An instruction with one source tile."""
    return computed(name, value, more.pop("operands", (dst(), src())), types, *rules, **more)


def tile_scalar(
    name: str, value: Value, types: Types, *rules: Rule, scratch: Operand | None = None, **more: Any
) -> Instr:
    """A source tile and a scalar."""
    operands = (dst(), src(), more.pop("operand", scalar()), *([scratch] if scratch else []))
    more.setdefault("cpp", _with_all(name, operands))
    return computed(name, value, operands, types, EW_07, *rules, **more)


def accumulate(name: str, value: Value, types: Types) -> Instr:
    """An instruction that reads two source tiles and the destination."""
    return computed(name, value, (inout(), src("src0"), src("src1")), types)
