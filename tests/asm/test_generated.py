"""Programs made at random survive printing and reading."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ptokit.asm import print_module
from ptokit.ir import Block, Function, Module, Op, RawAttr, Value
from ptokit.types import dtypes
from ptokit.types.enums import BLayout, CompactMode, Pipe, SLayout, TileType
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import F32, I1, INDEX, EventIdArray, PartitionView, Ptr, Scalar, TensorView

from .reading import read
from .same import assert_same

DTYPES = st.sampled_from([dtypes.f32, dtypes.f16, dtypes.bf16, dtypes.i8, dtypes.u16, dtypes.e4m3, dtypes.hif8])
NAMES = st.one_of(
    st.just(""), st.from_regex(r"[a-c][a-c0-9_$.]{0,2}|[0-9]", fullmatch=True), st.sampled_from(["ä", "a b"])
)
DIMS = st.lists(st.one_of(st.just(DYNAMIC), st.integers(0, 2000)), max_size=5).map(tuple)


@st.composite
def tiles(draw: st.DrawFn) -> TileSpec:
    """Tile types; those of the left buffer have the block layout of the default target."""
    loc = draw(st.sampled_from([t for t in TileType if t is not TileType.Ctrl]))
    rows, cols = draw(st.integers(0, 512)), draw(st.integers(0, 512))
    valid = [draw(st.one_of(st.just(DYNAMIC), st.just(n), st.integers(0, 600))) for n in (rows, cols)]
    return TileSpec(
        loc,
        draw(DTYPES),
        rows,
        cols,
        *valid,
        BLayout.RowMajor if loc is TileType.Left else draw(st.sampled_from(BLayout)),
        draw(st.sampled_from(SLayout)),
        draw(st.sampled_from([16, 32, 512, 1024])),
        draw(st.integers(0, 3)),
        draw(st.sampled_from([CompactMode.Null, CompactMode.Normal, CompactMode.RowPlusOne])),
    )


TYPES = st.one_of(
    tiles(),
    st.sampled_from([INDEX, I1, Scalar("i32"), F32, Scalar("ui64"), Scalar("bf16")]),
    st.builds(Ptr, DTYPES),
    st.builds(TensorView, DIMS, DTYPES),
    st.builds(PartitionView, DIMS, DTYPES),
    st.builds(EventIdArray, st.integers(0, 99)),
)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
PLAIN = st.text("abz09 _-+:,(){}<>%#@!", max_size=8)


def attributes(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Dictionaries whose keys and strings are `text`; keys of another dialect, which nobody looks at."""
    return st.dictionaries(
        st.one_of(st.sampled_from(["a.b", "b.c"]), text.map(lambda key: f"t.{key}")),
        st.one_of(
            st.booleans(),
            st.integers(-(2**63), 2**64 - 1),
            st.floats(allow_nan=False, allow_infinity=False),
            text,
            st.sampled_from([RawAttr("unit"), RawAttr("[1, 2]"), RawAttr("7 : i32"), RawAttr("#x.y<1, 2>")]),
        ),
        max_size=3,
    )


class Maker:
    """Builds the body of a function out of drawn choices."""

    def __init__(self, data: st.DataObject, text: st.SearchStrategy[str]) -> None:
        self.data = data
        self.attributes = attributes(text)
        self.visible: list[Value] = []

    def value(self, type: Any, block: Block) -> Value:
        """A visible value of the type, or a new constant or tile."""
        known = [v for v in self.visible if v.type == type]
        if known and self.data.draw(st.booleans()):
            return self.data.draw(st.sampled_from(known))
        if isinstance(type, TileSpec):
            return self.add(block, Op("pto.declare_tile"), type)
        if type == F32:
            return self.add(block, Op("arith.constant", attrs={"value": self.data.draw(st.floats(width=32))}), F32)
        value = self.data.draw(st.booleans()) if type == I1 else self.data.draw(st.integers(-(2**31), 2**31 - 1))
        return self.add(block, Op("arith.constant", attrs={"value": value}), type)

    def add(self, block: Block, op: Op, *types: Any) -> Any:
        """Append an operation with results of these types and give them names."""
        op.results = [Value(t, self.data.draw(NAMES), op) for t in types]
        block.add(op)
        self.visible += op.results
        return op.results[0] if types else None

    def region(self, depth: int, args: list[Any], result: list[Any] | None) -> Block:
        """A block with arguments; it yields values of the types `result` if there are any."""
        block = Block([Value(t, self.data.draw(NAMES)) for t in args])
        before = len(self.visible)
        self.visible += block.args
        self.fill(block, depth)
        if result:
            block.add(Op("scf.yield", {"values": [self.value(t, block) for t in result]}))
        del self.visible[before:]
        return block

    def fill(self, block: Block, depth: int) -> None:
        """A few operations."""
        draw = self.data.draw
        for _ in range(draw(st.integers(0, 4))):
            kind = draw(st.sampled_from(["arith", "tile", "flag", "for", "if", "scalar"]))
            if kind == "arith":
                a, b = self.value(INDEX, block), self.value(INDEX, block)
                self.add(block, Op(draw(st.sampled_from(["arith.addi", "arith.minsi"])), {"lhs": a, "rhs": b}), INDEX)
            elif kind == "tile":
                tile = draw(tiles())
                names = ("dst", "src0", "src1")
                self.add(block, Op("pto.tadd", {n: self.value(tile, block) for n in names}, draw(self.attributes)))
            elif kind == "scalar":
                tile = draw(tiles())
                x, s, d = self.value(tile, block), self.value(F32, block), self.value(tile, block)
                attrs = draw(st.sampled_from([{}, {"scalar_first": True}]))
                self.add(block, Op("pto.tdivs", {"dst": d, "src": x, "scalar": s}, dict(attrs)))
            elif kind == "flag":
                pipes = st.sampled_from(Pipe)
                attrs = {"src_pipe": draw(pipes), "dst_pipe": draw(pipes), "event_id": draw(st.integers(0, 7))}
                self.add(block, Op(draw(st.sampled_from(["pto.set_flag", "pto.wait_flag"])), attrs=attrs))
            elif depth and kind == "for":
                carried = draw(st.lists(st.sampled_from([INDEX, F32, I1]), max_size=2))
                bounds = {n: self.value(INDEX, block) for n in ("lower", "upper", "step")}
                init = [self.value(t, block) for t in carried]
                region = self.region(depth - 1, [INDEX, *carried], carried)
                self.add(block, Op("scf.for", {**bounds, "init": init}, regions=[region]), *carried)
            elif depth:
                results = draw(st.lists(st.sampled_from([INDEX, F32]), max_size=2))
                condition = self.value(I1, block)
                regions = [
                    self.region(depth - 1, [], results) for _ in range(2 if results else draw(st.integers(1, 2)))
                ]
                self.add(block, Op("scf.if", {"condition": condition}, regions=regions), *results)


@st.composite
def modules(draw: st.DrawFn, text: st.SearchStrategy[str] = TEXT) -> Module:
    """Modules with a declaration and a function; names and strings are `text`."""
    maker = Maker(draw(st.data()), text)
    params = [Value(t, draw(NAMES)) for t in draw(st.lists(TYPES, max_size=4))]
    block = Block(params)
    maker.visible += params
    maker.fill(block, 2)
    block.add(Op("func.return", {"values": []}))
    function = Function("f", params, attrs=draw(maker.attributes), body=block)
    declared = Function(draw(text.filter(lambda n: n not in ("", "f") and '"' not in n)), [], visibility="private")
    declared.results = draw(st.lists(TYPES, max_size=3))
    return Module([declared, function], draw(maker.attributes.filter(lambda a: "pto.target_arch" not in a)))


@given(modules())
@settings(max_examples=100)
def test_round_trip(module: Module) -> None:
    text = print_module(module)
    again = read(text)
    assert_same(module, again, names=False)
    assert print_module(again) == text
