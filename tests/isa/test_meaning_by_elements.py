"""What follows from a meaning against its definition: every element computed alone, then written.

The tiles have random layouts and valid regions, and may be one tile.
"""

from __future__ import annotations

import zlib
from fractions import Fraction
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS
from ptokit.isa.check import broken_rules
from ptokit.isa.meaning import words as meaning_words
from ptokit.isa.meaning.expressions import (
    COLUMN,
    OWN,
    ROW,
    TURNED,
    Apply,
    Axis,
    Bit,
    Code,
    Const,
    Convert,
    Coordinate,
    Element,
    Expr,
    Once,
    Reinterpret,
    Scalar,
    leaves,
    type_of,
)
from ptokit.isa.meaning.footprint import size_at
from ptokit.isa.meaning.primitives import PRIMITIVES, Order, Stage
from ptokit.isa.meaning.words import Fold, Lane, Move, Ordering, Python, Search
from ptokit.isa.numerics.arith import element, narrow
from ptokit.isa.numerics.unary import converter
from ptokit.isa.site import ScalarInfo, Site, TileInfo
from ptokit.isa.table import TABLE, Instr, Kind, derived_footprint
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, PadValue, SLayout, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.tile import tile as tile_spec
from tests.each import each

LAYOUTS: list[dict[str, Any]] = [
    {},
    {"blayout": BLayout.ColMajor},
    {"blayout": BLayout.ColMajor, "slayout": SLayout.RowMajor},
    {"slayout": SLayout.ColMajor},
]


class Elements:
    """The definition: values of elements of tiles given as arrays of the whole physical tile."""

    def __init__(self, site: Site, tiles: dict[str, np.ndarray], numbers: dict[str, Any]) -> None:
        self.site, self.tiles, self.numbers = site, tiles, numbers
        self.seen: dict[str, set[tuple[int, int]]] = {name: set() for name in tiles}
        self.types: dict[str, DType] = {n: i.dtype for n, i in site.operands.items() if isinstance(i, TileInfo)}

    def place(self, axis: Axis, i: int, j: int) -> int:
        at = axis.i * i + axis.j * j + self.size(axis.plus)
        cycle = self.size(axis.cycle)
        return at // axis.over % cycle if cycle else at // axis.over

    def size(self, count: Any) -> int:
        return int(size_at(count, self.site))

    def value(self, e: Expr, i: int, j: int) -> Any:
        match e:
            case Element(name, at):
                where = self.place(at.row, i, j), self.place(at.col, i, j)
                self.seen[name].add(where)
                return self.tiles[name][where]
            case Bit(name):
                raw = np.ascontiguousarray(self.tiles[name]).view(np.uint8)
                return bool(raw[i, j // 8] >> (j % 8) & 1)
            case Scalar(name):
                return element(type_of(e, self.types), self.numbers[name])  # type: ignore[arg-type]
            case Coordinate(axis):
                return element(type_of(e, self.types), i if axis == "row" else j)  # type: ignore[arg-type]
            case Once(op, args, _, rounding, saturate):
                x, y = (float(self.value(a, i, j)) for a in args)
                exact = {"add": Fraction.__add__, "sub": Fraction.__sub__, "mul": Fraction.__mul__}[op]
                total = exact(Fraction(x), Fraction(y))  # 60 bits are enough to tell on which side of a tie it lies
                assert not saturate
                return narrow(np.array([float(total)]), type_of(e, self.types), rounding)[0]  # type: ignore[arg-type]
            case Const(number):
                return element(type_of(e, self.types), number)  # type: ignore[arg-type]
            case Code(bits, like):
                kind = self.types[like]
                return np.array(bits, kind.storage).view(kind.value or kind.storage)[()]
            case Convert(inner, _, rounding, saturate):
                source, made = type_of(inner, self.types), type_of(e, self.types)
                convert = converter(source, made, rounding, saturate)  # type: ignore[arg-type]
                return convert(np.array([self.value(inner, i, j)]))[0]
            case Reinterpret(inner):
                return np.array([self.value(inner, i, j)]).view(type_of(e, self.types).value)[0]  # type: ignore[union-attr]
            case Apply(op, args):
                return PRIMITIVES[op].numpy(*(np.array([[[self.value(a, i, j)]]]) for a in args))[0, 0, 0]
        raise TypeError(e)


def expected(word: Any, elements: Elements) -> dict[str, np.ndarray]:
    """The tiles after the instruction."""
    after = {name: tile.copy() for name, tile in elements.tiles.items()}
    site = elements.site
    if isinstance(word, Lane):
        over: Any = site.operands[word.over]
        rows, cols = (over.rows, over.cols) if word.whole else (over.vr, over.vc)
        for write in word.writes:
            height = rows if write.rows is None else elements.size(write.rows)
            width = cols if write.cols is None else elements.size(write.cols)
            bits = np.ascontiguousarray(after[write.name]).view(np.uint8) if write.packed else None
            if bits is not None:
                bits[:height, : -(-width // 8)] = 0
            for i, j in np.ndindex(height, width):
                value = elements.value(write.value, i, j)
                if bits is None:
                    after[write.name][elements.place(write.at.row, i, j), elements.place(write.at.col, i, j)] = value
                else:
                    bits[i, j // 8] |= int(value) << (j % 8)
            if bits is not None:
                after[write.name] = bits.view(after[write.name].dtype)
    elif isinstance(word, (Fold, Search)):
        over = site.operands[word.over]
        lines, count = (over.vr, over.vc) if word.axis == "row" else (over.vc, over.vr)
        for k in range(lines if count else 0):
            places = [(k, n) if word.axis == "row" else (n, k) for n in range(count)]
            values = [elements.value(word.value, *place) for place in places]
            to = (k, 0) if word.axis == "row" else (0, k)
            if isinstance(word, Fold):
                after[word.dst][to] = folded(word, values, elements.types[word.dst])
            else:
                at = 0
                for n, value in enumerate(values):
                    if PRIMITIVES[word.op].numpy(np.float64(value), np.float64(values[at])):
                        at = n
                after[word.dst][to] = at
                if word.dst_value in after:
                    after[word.dst_value][to] = values[at]
    elif isinstance(word, Move):
        for i, j in np.ndindex(elements.size(word.rows), elements.size(word.cols)):
            to = elements.place(word.to.row, i, j), elements.place(word.to.col, i, j)
            after[word.dst][to] = elements.value(word.value, i, j).view(after[word.dst].dtype)
        for f in word.fills:
            row, end_row, col, end_col = (elements.size(n) for n in (f.row, f.end_row, f.col, f.end_col))
            tile = after[word.dst]
            tile[row:end_row, col:end_col] = np.array(f.bits, f"u{tile.itemsize}").view(tile.dtype)
    elif isinstance(word, meaning_words.Single) and word.value:
        assert elements.numbers[word.offset] == 0  # where that lies, whatever the layout is
        after[word.tile][0, 0] = element(elements.types[word.tile], elements.numbers[word.value])
    return after


def folded(fold: Fold, values: list[Any], dtype: DType) -> Any:
    for stage in fold.stages:
        values = staged(fold.op, stage, values)
    (total,) = values
    return narrow(np.array([total]), dtype)[0] if isinstance(total, np.float64) else total


def staged(op: str, stage: Stage, x: list[Any]) -> list[Any]:
    """The definition of a stage, one operation after the other."""
    kind, order, run = type(x[0]), stage.order, stage.run or len(x)
    neutral = kind(0 if op == "add" else 1)
    wide = {"f64": np.float64, None: kind}.get(stage.accumulator, np.float32)  # type: ignore[arg-type]

    def combine(a: Any, b: Any) -> Any:
        return PRIMITIVES[op].numpy(np.array([a]), np.array([b]))[0]

    def one(x: list[Any]) -> Any:
        made = combined(order, [wide(v) for v in x], combine, wide(neutral))
        return made if stage.accumulator == "f64" else kind(made)

    if not stage.across:
        return [one(x[k : k + run] + [neutral] * (k + run - len(x))) for k in range(0, len(x), run)]
    if order is not Order.TREE_OF_REPEATS:
        return [one(x[lane::run]) for lane in range(min(run, len(x)))]
    whole = len(x) // run
    out = []
    for lane in range(min(run, len(x))):
        own = x[lane::run]
        level = own[:whole] if whole < 2 else [combine(own[2 * k], own[2 * k + 1]) for k in range(whole // 2)]
        if whole > 1 and whole % 2:
            level[0] = combine(level[0], own[whole - 1])
        if len(own) > whole:
            level[:1] = [combine(level[0], own[whole])] if level else [own[whole]]
        out.append(combined(Order.TREE_ODD_LAST, level, combine, None) if len(level) > 1 else level[0])
    return out


def combined(order: Order, x: list[Any], combine: Any, start: Any) -> Any:
    if order in (Order.ANY, Order.FORWARD, Order.FROM_FIRST):
        total = combine(start, x[0]) if order is Order.FORWARD else x[0]
        for value in x[1:]:
            total = combine(total, value)
        return total
    if order is Order.PAIRS:
        total, k = x[0], 1
        while k + 1 < len(x):
            total, k = combine(total, combine(x[k], x[k + 1])), k + 2
        return combine(total, x[k]) if k < len(x) else total
    if order is Order.NEIGHBOURS:
        return x[0] if len(x) == 1 else combine(*(combined(order, h, combine, start) for h in halves(x, start)))
    if order is Order.HALVES:
        while len(x) > 1:
            x = [combine(a, b) for a, b in zip(*halves(x, start))]
        return x[0]
    if order is Order.TWO_ACCUMULATORS:
        sums = [start, start]
        while len(x) >= 8:
            for k in (0, 1):
                sums[k] = ((x[k] + x[k + 2]) + (x[k + 4] + x[k + 6])) + sums[k]
            x = x[8:]
        for k, value in enumerate(x):
            sums[k % 2] = sums[k % 2] + value
        return sums[0] + sums[1]
    if order is Order.TREE_ODD_LAST and len(x) == 1:
        return combine(x[0], start)
    while len(x) > 1:
        level = [combine(x[k], x[k + 1]) for k in range(0, len(x) - 1, 2)]
        if len(x) % 2:
            at = 0 if order is Order.TREE_ODD_FIRST else -1
            level[at] = combine(level[at], x[-1])
        x = level
    return x[0]


def halves(x: list[Any], start: Any) -> tuple[list[Any], list[Any]]:
    """Two of one length, a power of two."""
    half = 1 << (len(x) - 1).bit_length() - 1
    return x[:half], x[half:] + [start] * (2 * half - len(x))


def numbers_of(rng: np.random.Generator, dtype: DType, spec: TileSpec) -> np.ndarray:
    """Bytes of a tile: any bits, small numbers, and special ones."""
    kind = dtype.value
    assert kind is not None
    count = spec.nbytes // kind.itemsize
    bits = rng.integers(0, 256, spec.nbytes, np.uint8).view(kind)
    special = [0.0, -0.0, 1, 2, -1] if dtype.signed else [0, 1, 2, 3]
    if dtype.is_float:
        special += [np.inf, -np.inf, np.nan]
    small = rng.choice(np.array(special).astype(kind), count)
    return np.where(rng.random(count) < 0.5, bits, small).astype(kind).view(np.uint8)


def cases() -> list[tuple[str, str]]:
    names = [n for n, i in TABLE.items() if data(i) and not any(o.kind not in KINDS for o in i.operands)]
    return [(name, on) for name in names for on in ALL_TARGETS]


KINDS = (Kind.TILE, Kind.SCALAR)


BY_INDEX = ("TGATHER", "TSCATTER")  # which elements is said by a tile: tests/native/test_gathers.py
DRAINS = ("TMOV_FP", "TEXTRACT_FP", "TINSERT_FP")  # of accumulators: tests/isa/test_move_values.py
REGISTERS = ("SETFMATRIX", "SET_IMG2COL_RPT", "SET_IMG2COL_PADDING")  # which write no tile


def data(instr: Instr) -> bool:
    """True if it has tiles, and its meaning computes elements."""
    return (
        instr.run is not None
        and not isinstance(instr.meaning, Python | Ordering)
        and any(o.kind is Kind.TILE for o in instr.operands)
        and "MATMUL" not in instr.name
        and "GEMV" not in instr.name
        and instr.name not in (*BY_INDEX, *DRAINS, *REGISTERS)
    )


def test_most_instructions_on_tiles_are_met() -> None:
    assert len(cases()) // len(ALL_TARGETS) > 90


@each("name, on", cases())
def test_the_derived_function_gives_the_elements_of_the_definition(name: str, on: str) -> None:
    instr = TABLE[name]
    rng = np.random.default_rng(zlib.crc32(f"{name} {on}".encode()))
    met = 0
    for _ in range(40):
        site, specs, numbers, attrs = random_site(rng, instr, on)
        word = instr.meaning_at(site)
        if word is None or isinstance(word, Python) or broken(site):
            continue
        met += 1
        run_and_compare(rng, instr, site, specs, numbers, attrs, word)
        if met == 2:
            break
    assert met or (name, on) in NOT_MET


NOT_MET = {
    *(("TQUANT", "a2a3"), ("TADDRELU", "a5"), ("TPACK", "cpu"), ("TPACK", "a2a3")),
    *(("TINTERLEAVE", "a2a3"), ("TDEINTERLEAVE", "a2a3")),
    *((name, on) for name in ("TADDRELUCONV", "TSUBRELUCONV", "TADDDEQRELU") for on in ALL_TARGETS),
}
"""No random site is legal: the scratch tile has a size of its own; the target has no such instruction; the sources
have another type than the result (tests/isa/test_fused_conversions.py).
"""


def broken(site: Site) -> bool:
    """True if a rule refuses it, the assembler's and those of sizes this test does not care for apart."""
    return any(b.rule.id not in ("EW-10",) and b.rule.severity == "error" for b in broken_rules(site))


def random_site(rng: np.random.Generator, instr: Instr, on: str) -> tuple[Site, dict[str, TileSpec], Any, Any]:
    """Operands of the usual shapes, of which one vector, position or mask may be."""
    allowed = sorted(d.name for d in instr.types.get(on, ()) if d.value is not None and "f8" not in d.name)
    allowed = [n for n in allowed if n in ("f32", "f16", "bf16", "i32", "i16", "u16", "i8", "u8", "u32")]
    dtype = DTYPES[str(rng.choice(allowed or ["f32", "f16", "i8"]))]
    rows, cols = 16, 32
    vr, vc = int(rng.integers(1, rows + 1)), int(rng.integers(1, cols + 1))
    if rng.random() < 0.3:
        vr, vc = rows, cols
    layout = LAYOUTS[int(rng.integers(len(LAYOUTS)))] if rng.random() < 0.4 else {}
    specs: dict[str, TileSpec] = {}
    numbers: dict[str, Any] = {}
    for operand in instr.operands:
        if operand.kind is Kind.SCALAR and operand.optional:
            continue
        if operand.kind is Kind.SCALAR:
            numbers[operand.name] = 0 if operand.type == "index" else 2 if dtype.is_integer else 1.5
        elif not operand.optional or rng.random() < 0.3:
            specs[operand.name] = tile_spec(TileType.Vec, dtype, rows, cols, vr, vc, **layout)
    shape(rng, instr, specs, numbers, dtype, (rows, cols, vr, vc))
    attrs = {}
    for attr in instr.attrs:
        if (
            isinstance(attr.kind, type)
            and hasattr(attr.kind, "__members__")
            and attr.name in ("cmp", "rmode", "quant_type")
        ):
            attrs[attr.name] = list(attr.kind)[int(rng.integers(len(list(attr.kind))))]  # type: ignore[call-overload]
        elif attr.kind is bool and attr.default is False:
            attrs[attr.name] = bool(rng.random() < 0.5)
    infos = {n: TileInfo.static(n, specs[n]) if n in specs else None for n in (o.name for o in instr.operands)}
    infos |= {n: ScalarInfo(n, "", v) for n, v in numbers.items()}  # type: ignore[misc]
    return Site(instr, target(on), infos, attrs), specs, numbers, attrs


def shape(
    rng: np.random.Generator, instr: Instr, specs: dict[str, TileSpec], numbers: Any, dtype: DType, size: Any
) -> None:
    """Give operands that are not like the others their own shape."""
    rows, cols, vr, vc = size
    turned = {"blayout": BLayout.ColMajor}

    def vec(kind: DType, r: int, c: int, *valid: int, **more: Any) -> TileSpec:
        return tile_spec(TileType.Vec, kind, r, c, *valid, **more)

    column, row = vec(dtype, rows, 1, vr, 1, **turned), vec(dtype, 1, cols, 1, vc)
    name = instr.name
    if name.startswith("TCMP"):
        specs["dst"] = vec(DTYPES["u8"], rows, cols, vr, vc)
    if "mask" in specs:
        specs["mask"] = vec(DTYPES["u8"], rows, cols, vr, vc)
    if name.startswith(("TROW", "TCOL")):
        part = column if name.startswith("TROW") else row
        if "EXPAND" in name:
            specs["src" if "src" in specs else str(rng.choice(["src0", "src1"]))] = part
        elif "ARG" in name:
            specs["dst"] = vec(DTYPES["i32"], *part_size(part), **(turned if part is column else {}))
            if "dst_val" in specs:
                specs["dst_val"] = part
        else:
            specs["dst"] = part
    if name.startswith("TPART"):
        fewer = (max(1, vr // 2), max(1, vc - 3))
        one = str(rng.choice(["src0", "src1"]))
        specs[one] = vec(dtype, rows, cols, *fewer)
        if "dsti" in specs:
            specs |= dict.fromkeys(("dsti", "src0i", "src1i"), vec(DTYPES["i32"], rows, cols, vr, vc))
            specs[f"{one}i"] = vec(DTYPES["i32"], rows, cols, *fewer)
    if name == "TTRANS":
        specs["dst"] = vec(dtype, cols, rows, vc, vr)
    if name == "TCVT":
        specs["dst"] = vec(
            DTYPES[str(rng.choice(["f32", "f16", "i32", "i16", "u8", "i8", "bf16"]))], rows, cols, vr, vc
        )
    if name == "TPACK":
        wide, narrow = ("i32", "i16") if rng.random() < 0.5 else ("i32", "i8") if rng.random() < 0.5 else ("i16", "i8")
        specs["src"], specs["dst"] = (vec(DTYPES[kind], rows, cols, vr, vc) for kind in (wide, narrow))
    if name.startswith("TFILLPAD"):
        specs["dst"] = vec(dtype, rows, cols, vr, cols, pad=PadValue.Max)
    if name.endswith("QUANT"):
        f32 = DTYPES["f32"]
        small = DTYPES[str(rng.choice(["i8", "u8"]))]
        parameter = column if dtype is f32 else vec(f32, 4, 8, 4, 8)
        parameter = vec(f32, rows, 1, vr, 1, **turned) if rng.random() < 0.5 else parameter
        specs["src"], specs["dst"] = (
            vec(k, rows, cols, vr, vc) for k in ((f32, small) if name == "TQUANT" else (small, f32))
        )
        specs |= {n: parameter for n in ("scale", "offset") if n in specs}
    if name in ("TMOV", "TCI"):
        specs.pop("tmp", None)
    if name == "TCI":
        specs["dst"] = row
    if name.endswith("INTERLEAVE"):
        vc = 2 * (1 + vc // 3)
        specs |= dict.fromkeys(specs, vec(dtype, rows, cols, vr, vc))
        if "src1" not in specs:
            specs |= dict.fromkeys(("dst0", "dst1"), vec(dtype, rows, cols, vr, vc // 2))
    if name in ("TEXTRACT", "TINSERT"):
        large = "src" if name == "TEXTRACT" else "dst"
        specs[large] = vec(dtype, 2 * rows, 2 * cols, 2 * rows, 2 * cols)
        specs["dst" if name == "TEXTRACT" else "src"] = vec(dtype, rows, cols, vr, vc)
        numbers["row"], numbers["col"] = int(rng.integers(2)) * rows, int(rng.integers(2)) * cols
    specs.pop("fp", None)


def part_size(spec: TileSpec) -> tuple[int, int, int, int]:
    return spec.rows, spec.cols, spec.valid_row, spec.valid_col


def run_and_compare(
    rng: np.random.Generator, instr: Instr, site: Site, specs: dict[str, TileSpec], numbers: Any, attrs: Any, word: Any
) -> None:
    machine = Single(site.target)
    tiles = {n: machine.tile(s, numbers_of(rng, s.dtype, s)) for n, s in specs.items()}
    sources = [n for n in specs if n != "dst" and specs[n] == specs.get("dst") and isinstance(word, Lane)]
    if sources and rng.random() < 0.5:
        tiles[sources[0]] = tiles["dst"]  # in place
    before = {n: t.read(t.spec.rows, t.spec.cols)[0].copy() for n, t in tiles.items()}
    with np.errstate(all="ignore"):
        elements = Elements(site, before, numbers)
        wanted = expected(word, elements)
        operands = [tiles.get(o.name, numbers.get(o.name)) for o in instr.operands]
        run = instr.run_at(site)
        assert run is not None
        run(machine.chunk, *operands, **instr.attributes(attrs))
    compare_footprint(instr, site, word, elements)
    written = {a.operand for a in instr.footprint(site) if a.write}
    results = {n: tiles[n].read(specs[n].rows, specs[n].cols)[0].copy() for n in tiles if n not in written}
    for name in results:  # a destination must not go on to see its source
        if tiles[name] is not tiles.get("dst"):
            tiles[name].raw()[...] ^= 0x55
    results |= {n: tiles[n].read(specs[n].rows, specs[n].cols)[0].copy() for n in tiles if n in written}
    for name, tile in tiles.items():
        got = results[name]
        same = bits(got) == bits(wanted["dst" if tile is tiles.get("dst") else name])
        assert same.all(), (name, site.operands, np.argwhere(~same)[:5])
        assert name in written or (bits(got) == bits(before[name])).all() or tile is tiles.get("dst")


def compare_footprint(instr: Instr, site: Site, word: Any, elements: Elements) -> None:
    """What is read is in the footprint; and nothing else, where that follows from plain index maps."""
    values = [w.value for w in word.writes] if isinstance(word, Lane) else [word.value]
    found = [leaf for value in values for leaf in leaves(value)]
    plain = all(leaf.at in (OWN, COLUMN, ROW, TURNED) for leaf in found if isinstance(leaf, Element))
    stated: dict[str, set[tuple[int, int]]] = {name: set() for name in elements.seen}
    for a in instr.footprint(site):
        if not a.write and not any(isinstance(leaf, Bit) and leaf.name == a.operand for leaf in found):
            stated[a.operand] |= {(a.row + i, a.col + j) for i, j in np.ndindex(a.rows, a.cols)}
    for name, seen in elements.seen.items():
        assert seen <= stated[name], (name, site.operands)
        if plain and instr.footprint is derived_footprint:
            assert seen == stated[name], (name, site.operands)


def bits(x: np.ndarray) -> np.ndarray:
    """The bits of elements; all NaN alike."""
    codes = np.ascontiguousarray(x).view(f"u{x.itemsize}").copy()
    if x.dtype.kind not in "iu":
        codes[np.isnan(x.astype(np.float32))] = 0x7FFF
    return codes
