"""Functions of the instruction table: operands, attributes, events."""

from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import DiagnosticError, GlobalTensor, Ptr, Tile, TileType, f16, f32, i32
from ptokit.diagnostics import CATALOGUE
from ptokit.isa.table import TABLE, Instr, Kind, Operand, dst, scalar, src
from ptokit.lang.operands import bind

from .support import constant, kernel, ops

INDICES = (scalar("row"), scalar("col"))


def test_every_executable_instruction_has_a_documented_function() -> None:
    for name, instr in TABLE.items():
        if instr.run is None or instr.text_only:
            continue
        function = getattr(pto, name)
        assert callable(function)
        assert function.__name__ == name
        assert name.partition(".")[0] in dir(pto)
        if name != "TSYNC":
            assert instr.summary in function.__doc__
            parameters = list(pto.lang.intrinsics.signature(instr).parameters)
            assert [p for p in parameters if p != "dtype"] == [o.name for o in (*instr.operands, *instr.attrs)]


def test_attributes_by_member_by_spelling_and_by_position() -> None:
    def f(y: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        g = GlobalTensor(y, (8, 8))
        pto.TSTORE(g, t, atomic=pto.AtomicType.AtomicAdd)
        pto.TSTORE(g, t, atomic="atomic_add")
        pto.TSTORE(g, t, pto.AtomicType.AtomicAdd)
        pto.TSTORE(src=t, dst=g, atomic="AtomicAdd")
        pto.TSTORE(g, t, atomic=pto.AtomicType.AtomicNone)

    attrs = [op.attrs for op in ops(kernel(f), "pto.tstore")]
    assert attrs == [{"atomic": pto.AtomicType.AtomicAdd}] * 4 + [{}]


def test_numbers_meet_the_type_of_the_tile() -> None:
    def f(n: int, s: f32):
        h, t, j = (Tile(TileType.Vec, dtype, 8, 32) for dtype in (f16, f32, i32))
        pto.TADDS(h, h, 2)
        pto.TADDS(t, t, 2.5)
        pto.TADDS(j, j, 7)
        pto.TADDS(j, j, n)
        pto.TADDS(t, t, s)
        pto.TEXPANDS(h, -1)

    values = [op["scalar"] for op in [*ops(kernel(f), "pto.tadds"), *ops(kernel(f), "pto.texpands")]]
    assert [str(v.type) for v in values] == ["f16", "f32", "i32", "i32", "f32", "f16"]


def test_positions_are_indices() -> None:
    def f(n: int):
        big, small = Tile(TileType.Vec, f32, 16, 16), Tile(TileType.Vec, f32, 8, 8)
        pto.TEXTRACT(small, big, n, 8)
        pto.TEXTRACT(small, big)

    window, origin = ops(kernel(f), "pto.textract")
    assert [str(window[name].type) for name in ("row", "col")] == ["index", "index"]
    assert [constant(origin[name]) for name in ("row", "col")] == [0, 0]


def test_optional_operands_are_found_by_kind() -> None:
    def f(y: Ptr[f32]):
        acc = pto.TileAcc(f32, 16, 16)
        pto.TSTORE(GlobalTensor(y, (16, 16)), acc)
        pto.TSTORE(GlobalTensor(y, (16, 16)), acc, 5, relu="normal_relu")
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TREM(t, t, t)
        pto.TREM(t, t, t, t)
        pto.TDIVS(t, t, 2.0)
        pto.TDIVS(t, 2.0, t)

    k = kernel(f)
    plain, quantised = ops(k, "pto.tstore")
    assert plain.get("quant") is None
    assert (constant(quantised["quant"]), str(quantised["quant"].type)) == (5, "i64")
    assert [op.get("tmp") is not None for op in ops(k, "pto.trem")] == [False, True]
    assert [op.attrs for op in ops(k, "pto.tdivs")] == [{}, {"scalar_first": True}]


def test_events_are_recorded_as_what_the_instruction_wrote() -> None:
    def f(x: Ptr[f32], y: Ptr[f32]):
        t, u = (Tile(TileType.Vec, f32, 8, 8) for _ in range(2))
        e = pto.TLOAD(t, GlobalTensor(x, (8, 8)))
        pto.TADD(u, t, t, e)
        s = pto.TSTORE(GlobalTensor(y, (8, 8)), u)
        pto.TSYNC(e, s, t)
        s.wait()

    k = kernel(f)
    names = [op.name for op in ops(k, "pto.t")]
    assert names == ["pto.tload", "pto.tsync", "pto.tadd", "pto.tstore", "pto.tsync", "pto.tsync"]
    load, first, _, store, second, third = ops(k, "pto.t")
    assert first.group("events") == [load["dst"]]
    assert second.group("events") == [load["dst"], store["dst"]]
    assert third.group("events") == [store["dst"]]


def test_flags() -> None:
    def f(n: int):
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, pto.EVENT_ID3)
        pto.wait_flag("PIPE_MTE2", dst_pipe=pto.PIPE_V, event_id=3)
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V)
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, n)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, event_id=n)
        pto.pipe_barrier(pto.PIPE_ALL)

    found = [(op.name, *op.attrs.values()) for op in ops(kernel(f), "pto")]
    mte2, vec = pto.PIPE_MTE2, pto.PIPE_V
    assert found == [
        ("pto.set_flag", mte2, vec, 3),
        ("pto.wait_flag", mte2, vec, 3),
        ("pto.set_flag", mte2, vec, 0),
        ("pto.set_flag_dyn", mte2, vec),
        ("pto.wait_flag_dyn", mte2, vec),
        ("pto.barrier", pto.PIPE_ALL),
    ]
    assert [str(op["event"].type) for op in ops(kernel(f), "pto") if op.operands] == ["index", "index"]


def test_any_arguments_are_recorded_or_refused() -> None:
    """Calls with one argument replaced, dropped or added at random: nothing but a `DiagnosticError` may come out."""
    rng = np.random.default_rng(0)
    refused: list[str] = []
    recorded = 0

    def calls(x: Any, n: Any) -> None:
        nonlocal recorded
        g = GlobalTensor(x, (8, 8))
        t = Tile(TileType.Vec, f32, 8, 8)
        right = {Kind.TILE: t, Kind.VIEW: g, Kind.SCALAR: 3, Kind.PTR: x, Kind.RECORD: None}
        right |= {Kind.VREG: pto.vbr(1, dtype=f32), Kind.MASK: pto.pset_b32("PAT_ALL"), Kind.ALIGN: pto.init_align()}
        right[Kind.PIPE] = pto.TPipe(0, pto.Direction.DIR_C2V, 256, 2, c2v_consumer_buf=0)
        stock: list[Any] = [
            right[Kind.PIPE],
            pto.TileSplitAxis.TILE_UP_DOWN,
            x,
            n,
            g,
            g[0:4],
            t,
            3,
            2.5,
            True,
            None,
            "PIPE_V",
            [],
            [t, t],
            np.zeros(3),
            object(),
        ]
        stock += [right[Kind.PIPE], pto.TileSplitAxis.TILE_UP_DOWN]
        stock += [pto.PIPE_V, pto.AtomicType.AtomicAdd, pto.RoundMode.RINT, pto.TLOAD(t, g), 1 << 70, -1]
        for name in pto.lang.intrinsics.names():
            for _ in range(12):
                arguments: list[Any] = [right[o.kind] for o in TABLE[name].operands]
                at = int(rng.integers(0, len(arguments) + 1))
                arguments[at : at + int(rng.integers(0, 2))] = [stock[i] for i in rng.integers(0, len(stock), 1)]
                try:
                    getattr(pto, name)(*arguments)
                    recorded += 1
                except DiagnosticError as error:
                    refused.append(error.diagnostics[0].rule)

    as_python = lambda x, n: calls(x, n)  # noqa: E731  what a lambda calls is not compiled

    def f(x: Ptr[f32], n: int):
        as_python(x, n)

    kernel(f).trace()
    assert {"LANG-CALL", "LANG-KIND", "LANG-ATTR"} <= set(refused) <= {rule for rule in CATALOGUE if "LANG" in rule}
    assert recorded > 50


def test_binding_of_operands_that_may_be_left_out() -> None:
    """A signature with an optional number before required ones, and one with a list of tiles in front."""
    window = Instr("W", "w", "", (dst(), src("fp", optional=True), scalar("quant", optional=True), *INDICES))
    merge = Instr("M", "m", "", (Operand("srcs", variadic=True), dst()))
    bound: list[Any] = []

    def f(n: int):
        t, u, v = (Tile(TileType.Vec, f32, 8, 8) for _ in range(3))
        for instr, args in (
            (window, (t, 1, 2)),
            (window, (t, 7, 1, 2)),
            (window, (t, u, 1, 2)),
            (window, (t, u, 7, 1, n)),
            (window, (t,)),
            (merge, (t, u, v)),
            (merge, ([t, u], v)),
        ):
            names = {id(t): "t", id(u): "u", id(v): "v", id(n): "n"}
            operands = bind(instr, args, {})[0]
            bound.append(
                {
                    k: [names[id(a)] for a in arg] if isinstance(arg, list) else names.get(id(arg), arg)
                    for k, arg in operands.items()
                }
            )

    kernel(f).trace()
    assert bound == [
        {"dst": "t", "row": 1, "col": 2},
        {"dst": "t", "quant": 7, "row": 1, "col": 2},
        {"dst": "t", "fp": "u", "row": 1, "col": 2},
        {"dst": "t", "fp": "u", "quant": 7, "row": 1, "col": "n"},
        {"dst": "t", "row": 0, "col": 0},
        {"srcs": ["t", "u"], "dst": "v"},
        {"srcs": ["t", "u"], "dst": "v"},
    ]


@pytest.mark.parametrize(("name", "near"), [("TLOAT", "TLOAD"), ("tload", "TLOAD"), ("GlobalTenso", "GlobalTensor")])
def test_a_name_there_is_not(name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean {near}"):
        getattr(pto, name)


def test_events_may_stand_before_attributes() -> None:
    """As in C++: what an instruction waits for, then how it stores."""

    @pto.kernel(target="a5")
    def add(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
        t = pto.Tile(pto.TileType.Vec, pto.f32, 8, 16, addr=0)
        loaded = pto.TLOAD(t, pto.GlobalTensor(x, (8, 16)))
        pto.TSTORE(pto.GlobalTensor(y, (8, 16)), t, loaded, pto.AtomicType.AtomicAdd)

    x, y = np.ones((8, 16), np.float32), np.full((8, 16), 2, np.float32)
    add(x, y)
    assert (y == 3).all()
    assert not add.sanitize(x, y).diagnostics
