"""Operations on logical vectors against loops over their lanes; and registers that hold them in every layout."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ptokit.isa.site import LanesInfo, Site, VectorInfo
from ptokit.isa.table import TABLE, BySite
from ptokit.isa.vmi.shape_rules import VMI_22
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES
from tests.each import each

from .test_vmi import kernel, ran
from .vector.programs import found
from .vector.programs import run_both as run

L = 70
RNG = np.random.default_rng(14)


def call(name: str, *operands: Any, types: dict[str, Any] | None = None, **attrs: Any) -> Any:
    """What an operation gives for operands as arrays of one block."""
    instr = TABLE[f"vmi.{name}"]
    assert instr.run is not None
    given = {a.name: attrs.get(a.name, a.default) for a in instr.attrs}
    return instr.run(SimpleNamespace(target=A5), *operands, types=types or {}, **given)


def info(dtype: str, lanes: int = L, layout: str = "") -> VectorInfo:
    return VectorInfo("", DTYPES[dtype], lanes, layout)


def lanes(dtype: str, low: int = -20, high: int = 20) -> np.ndarray:
    return RNG.integers(low, high, (1, L)).astype(DTYPES[dtype].value)


ON = RNG.integers(0, 2, (1, L)).astype(bool)


@each("dtype", ["i8", "i16", "i32"])
def test_right_shifts_fill_with_zeros_or_the_sign(dtype: str) -> None:
    bits = DTYPES[dtype].bits
    x, by = lanes(dtype, -100, 100), lanes(dtype, 0, bits)
    for k in range(L):
        value, count = int(x[0, k]), int(by[0, k])
        assert int(call("shrsi", x, by)[0, k]) == value >> count
        unsigned = (value & ((1 << bits) - 1)) >> count
        assert int(call("shrui", x, by)[0, k]) & ((1 << bits) - 1) == unsigned


def test_sums_carry() -> None:
    x, y = (RNG.integers(0, 2**32, (1, L), np.uint32) for _ in range(2))
    carry = RNG.integers(0, 2, (1, L)).astype(bool)
    for operands, extra in (((x, y, ON), 0), ((x, y, carry, ON), carry[0])):
        total, out = call("vaddc" if isinstance(extra, int) else "vaddcs", *operands)
        for k in range(L):
            exact = int(x[0, k]) + int(y[0, k]) + (int(extra[k]) if isinstance(extra, np.ndarray) else 0)
            assert int(total[0, k]) == (exact % 2**32 if ON[0, k] else 0)
            assert bool(out[0, k]) == (bool(ON[0, k]) and exact >= 2**32)


FUSED: dict[str, tuple[Callable[..., tuple[Any, ...]], Callable[..., float]]] = {
    "vmula": (lambda a, b, c: (a, b, c, ON), lambda a, b, c: a + b * c),
    "vaxpy": (lambda a, b, c: (a, b, 1.5, ON), lambda a, b, c: a * 1.5 + b),
    "vlrelu": (lambda a, b, c: (a, 0.25, ON), lambda a, b, c: a if a > 0 else a * 0.25),
    "vprelu": (lambda a, b, c: (a, b, ON), lambda a, b, c: max(a, 0) + b * min(a, 0)),
    "vexpdif": (lambda a, b, c: (a, b, ON), lambda a, b, c: float(np.exp(np.float64(np.float32(a - b))))),
}


@each("dtype", ["f32", "f16"])
@each("name", FUSED)
def test_several_operations_in_one(name: str, dtype: str) -> None:
    a, b, c = ((lanes(dtype) / 8).astype(DTYPES[dtype].value) for _ in range(3))
    operands, formula = FUSED[name]
    got = call(name, *operands(a, b, c), types={"x": info(dtype)})
    kind = np.dtype(np.float32) if name == "vexpdif" else DTYPES[dtype].value
    assert kind is not None
    for k in range(L):
        wanted = formula(*(float(v[0, k]) for v in (a, b, c))) if ON[0, k] else 0.0
        assert got[0, k] == kind.type(wanted) or np.isclose(float(got[0, k]), wanted, rtol=2e-7, atol=0), k
    assert got.dtype == kind


def test_tails_say_what_is_left() -> None:
    types = {"mask": LanesInfo("", 64, "pred", "")}
    for count, active, rest in ((250, 64, 186), (64, 64, 0), (10, 10, 0), (0, 0, 0)):
        on, left = call("plt", count, types=types)
        assert (int(on.sum()), left) == (active, rest)
        assert on[0, :active].all()


def test_active_lanes_are_numbered_and_moved_together() -> None:
    x = lanes("i32")
    before = call("active_prefix_index", ON, types={"result": info("i32")})
    together = call("compress", x, ON)
    kept = [int(v) for v, on in zip(x[0], ON[0]) if on]
    for k in range(L):
        assert before[0, k] == ON[0, :k].sum()
    assert together[0].tolist() == kept + [0] * (L - len(kept))


def test_lanes_are_chosen_by_number() -> None:
    x, index = lanes("f32"), RNG.integers(0, L, (1, L)).astype(np.int32)
    assert call("vselr", x, index)[0].tolist() == [x[0, i] for i in index[0]]


VECTOR, MASK = "!pto.vmi.vreg<8xf32>", "!pto.vmi.mask<8xpred>"
HEAD = f"""\
  %m = "pto.vmi.constant_mask"() {{value = dense<[true, false, true, true, false, true, false, true]> : vector<8xi1>}}
    : () -> {MASK}
  %i = "pto.vmi.constant"() {{value = dense<[9, 0, 3, 1, 70, 5, 4, 2]> : vector<8xi32>}} : () -> !pto.vmi.vreg<8xi32>
  %p = "pto.vmi.constant"() {{value = dense<-1.5> : vector<8xf32>}} : () -> {VECTOR}
  %bs = arith.constant 3 : i16
  %zs = arith.constant 0 : i16
"""
BITS = [True, False, True, True, False, True, False, True]
INDICES = [9, 0, 3, 1, 70, 5, 4, 2]
X = RNG.uniform(-4, 4, 1024).astype(np.float32)


def stored(body: str, value: str = "%v") -> np.ndarray:
    store = f"\n  pto.vmi.store {value}, %y[%c0] : {VECTOR}, !pto.ptr<f32, ub>\n"
    return ran(HEAD + body + (store if value else ""), X)


@each(
    "written, type, wanted",
    [
        ("0xC0600000", "f32", -3.5),
        ("0x7F800000", "f32", np.inf),
        ("0x3E00", "f16", 1.5),
        ("0xBFC0", "bf16", -1.5),
        ("0xFE", "i32", 254),
        ("-0x1F", "i32", -31),
        ("1e3", "f32", 1000),
    ],
)
def test_constants_of_other_spellings(written: str, type: str, wanted: float) -> None:
    """Hexadecimal digits are the bits of a float, and the number of an integer."""
    site = Site(TABLE["vmi.constant"], A5, {"result": info(type, 8)}, {"value": f"dense<{written}> : vector<8x{type}>"})
    function = TABLE["vmi.constant"].run_at(site)
    assert function is not None
    assert np.asarray(function(None)).astype(np.float64).tolist() == [[wanted] * 8]


@each(
    "written, type, wanted",
    [
        ("000060C0", "f32", [-3.5] * 8),  # one element for all
        ("0000803F" * 4 + "000060C0" * 4, "f32", [1.0] * 4 + [-3.5] * 4),
        ("003E" + "0000" * 7, "f16", [1.5] + [0] * 7),
        ("FFFE" * 4 + "0100" * 4, "i16", [-257] * 4 + [1] * 4),
        ("0102030405060780", "i8", [1, 2, 3, 4, 5, 6, 7, -128]),
        ("05", "i1", [1, 0, 1, 0, 0, 0, 0, 0]),
        ("FF", "i1", [1] * 8),
    ],
)
def test_constants_as_bytes(written: str, type: str, wanted: list[float]) -> None:
    """The bytes of all elements, or of one that all have, the lowest first; bits of predicates."""
    result = LanesInfo("m", 8, "pred", "") if type == "i1" else info(type, 8)
    value = f'dense<"0x{written}"> : vector<8x{type}>'
    instr = TABLE["vmi.constant_mask" if type == "i1" else "vmi.constant"]
    site = Site(instr, A5, {"result": result}, {"value": value})
    assert VMI_22.check is not None
    assert not VMI_22.check(site)
    function = instr.run_at(site)
    assert function is not None
    assert np.broadcast_to(np.asarray(function(None)).astype(np.float64), (1, 8)).tolist() == [wanted]


@each("value", ['dense<"0x000060">', 'dense<"0x0000803F000060C0">', "dense<[1.0, 2.0]>"])
def test_constants_with_other_numbers_of_elements(value: str) -> None:
    site = Site(TABLE["vmi.constant"], A5, {"result": info("f32", 8)}, {"value": f"{value} : vector<8xf32>"})
    assert VMI_22.check is not None
    assert "for 8 lanes" in str(VMI_22.check(site))


def test_hexadecimal_constants_in_text() -> None:
    text = f'  %v = "pto.vmi.constant"() {{value = dense<0xC0600000> : vector<8xf32>}} : () -> {VECTOR}'
    assert stored(text)[:8].tolist() == [-3.5] * 8


def test_loads_of_active_lanes() -> None:
    types = f"!pto.ptr<f32, ub>, {MASK}, {VECTOR} -> {VECTOR}"
    masked = stored(f"  %v = pto.vmi.masked_load %x[%c10], %m, %p : {types}")[:8]
    assert masked.tolist() == [X[10 + k] if on else -1.5 for k, on in enumerate(BITS)]
    expanded = stored(f"  %v = pto.vmi.expand_load %x[%c10], %m, %p : {types}")[:8]
    assert expanded.tolist() == [X[10 + sum(BITS[:k])] if on else -1.5 for k, on in enumerate(BITS)]
    gathered = stored(
        '  %v = "pto.vmi.gather"(%x, %i, %m, %p)'
        f" : (!pto.ptr<f32, ub>, !pto.vmi.vreg<8xi32>, {MASK}, {VECTOR}) -> {VECTOR}"
    )[:8]
    assert gathered.tolist() == [X[i] if on else -1.5 for i, on in zip(INDICES, BITS)]


def test_stores_of_active_lanes() -> None:
    load = f"  %v = pto.vmi.load %x[%c10] : !pto.ptr<f32, ub> -> {VECTOR}\n"
    out = stored(load + f"  pto.vmi.compress_store %v, %y[%c0], %m : {VECTOR}, !pto.ptr<f32, ub>, {MASK}", "")
    kept = [X[10 + k] for k, on in enumerate(BITS) if on]
    assert out[:8].tolist() == kept + [7] * (8 - len(kept))
    out = stored(
        load
        + f'  "pto.vmi.scatter"(%v, %y, %i, %m) : ({VECTOR}, !pto.ptr<f32, ub>, !pto.vmi.vreg<8xi32>, {MASK}) -> ()',
        "",
    )
    wanted = np.full(1024, 7, np.float32)
    for k, (i, on) in enumerate(zip(INDICES, BITS)):
        if on:
            wanted[i] = X[10 + k]
    assert np.array_equal(out, wanted)


def test_pairs_and_groups() -> None:
    both = f"  %v, %w = pto.vmi.deinterleave_load %x[%c10] : !pto.ptr<f32, ub> -> {VECTOR}, {VECTOR}\n"
    assert np.array_equal(stored(both)[:8], X[10:26:2])
    assert np.array_equal(stored(both, "%w")[:8], X[11:26:2])
    back = both + f"  pto.vmi.interleave_store %v, %w, %y[%c0] : {VECTOR}, {VECTOR}, !pto.ptr<f32, ub>"
    assert np.array_equal(stored(back, "")[:16], X[10:26])
    groups = (
        f"  %v = pto.vmi.group_broadcast_load %x[%c10], %c40 {{num_groups = 2 : i64}} : !pto.ptr<f32, ub> -> {VECTOR}"
    )
    assert np.array_equal(stored(groups)[:8], np.repeat(X[[10, 50]], 4))


def test_blocks_that_lie_apart() -> None:
    wide, on = "!pto.vmi.vreg<24xf32>", "!pto.vmi.mask<24xpred>"
    body = f"""  %c16 = arith.constant 16 : index
  %k = pto.vmi.create_mask %c16 : index -> {on}
  %v = pto.vmi.stride_load %x[%c0], %bs, %zs, %k : !pto.ptr<f32, ub>, i16, i16, {on} -> {wide}
  pto.vmi.store %v, %y[%c0] : {wide}, !pto.ptr<f32, ub>"""
    out = stored(body, "")
    assert np.array_equal(out[:24], np.concatenate((X[:8], X[24:32], np.zeros(8))))
    body = f"""  %c16 = arith.constant 16 : index
  %k = pto.vmi.create_mask %c16 : index -> {on}
  %v = pto.vmi.load %x[%c0] : !pto.ptr<f32, ub> -> {wide}
  pto.vmi.vsstb %v, %y[%c0], %bs, %k : {wide}, !pto.ptr<f32, ub>, i16, {on}"""
    wanted = np.full(1024, 7, np.float32)
    wanted[:8], wanted[24:32] = X[:8], X[8:16]
    assert np.array_equal(stored(body, ""), wanted)


def test_channels_part_and_meet() -> None:
    half = "!pto.vmi.vreg<4xf32>"
    body = f"""  %a = pto.vmi.load %x[%c10] : !pto.ptr<f32, ub> -> {VECTOR}
  %b, %c = "pto.vmi.channel_split"(%a) : ({VECTOR}) -> ({half}, {half})
  %v = "pto.vmi.channel_merge"(%c, %b) : ({half}, {half}) -> {VECTOR}"""
    assert np.array_equal(stored(body)[:8], X[[11, 10, 13, 12, 15, 14, 17, 16]])


LAYOUTS = [
    "contiguous",
    "contiguous, lane_stride = 2",
    "deinterleaved = 2",
    "deinterleaved = 4",
    "deinterleaved = 2, lane_stride = 2",
    "block_deinterleaved = 2",
    "block_deinterleaved = 4",
]


class _Site:
    """What `pack` and `unpack` ask of a site."""

    def __init__(self, what: VectorInfo | LanesInfo) -> None:
        self.operands = {"source": what, "result": what}


def parts(name: str, what: VectorInfo | LanesInfo, value: Any) -> Any:
    run_ = TABLE[f"vmi.{name}"].run
    assert isinstance(run_, BySite)
    return run_.at(_Site(what))(None, value)  # type: ignore[arg-type]


@each("count", [1, 5, 64, 100, 128, 200, 256])
@each("layout", LAYOUTS)
def test_registers_hold_every_lane_once(layout: str, count: int) -> None:
    """Unpacked, a vector is in its registers; packed, it is the same; the rest is 0."""
    what = info("f32", count, f"#pto.vmi.layout<{layout}>")
    x = RNG.uniform(1, 4, (1, count)).astype(np.float32)
    registers = parts("unpack", what, x)
    assert all(r.shape == (1, 64) for r in registers)
    together = np.concatenate(registers, axis=1)[0]
    assert np.array_equal(np.sort(together[together != 0]), np.sort(x[0]))
    assert np.array_equal(parts("pack", what, registers), x)


def test_where_lanes_lie() -> None:
    x = np.arange(1, 129, dtype=np.float32)[None]
    even, odd = parts("unpack", info("f32", 128, "#pto.vmi.layout<deinterleaved = 2>"), x)
    assert np.array_equal(even[0], x[0, ::2])
    assert np.array_equal(odd[0], x[0, 1::2])
    first, second = parts("unpack", info("f32", 128, "#pto.vmi.layout<block_deinterleaved = 2>"), x)
    assert np.array_equal(first[0].reshape(8, 8), x[0].reshape(8, 2, 8)[:, 0])
    assert np.array_equal(second[0].reshape(8, 8), x[0].reshape(8, 2, 8)[:, 1])
    (slots,) = parts("unpack", info("f32", 8, "#pto.vmi.layout<num_groups = 8, slots = 8>"), x[:, :8])
    assert np.array_equal(slots[0], [*x[0, :8], *np.zeros(56)])
    single = parts("unpack", info("f32", 8, "#pto.vmi.layout<num_groups = 8, slots = 1>"), x[:, :8])
    assert [r[0, 0] for r in single] == x[0, :8].tolist()


@each("layout", ["contiguous", "deinterleaved = 2", "contiguous, lane_stride = 2"])
def test_predicates_have_registers_too(layout: str) -> None:
    what = LanesInfo("", 100, "b16", f"#pto.vmi.layout<{layout}>")
    on = RNG.integers(0, 2, (1, 100)).astype(bool)
    assert np.array_equal(parts("pack", what, parts("unpack", what, on)), on)


@each("layout", LAYOUTS)
def test_a_layout_changes_no_result(layout: str) -> None:
    """The form with layouts and registers gives what the logical one gives."""
    laid = f"!pto.vmi.vreg<100xf32, #pto.vmi.layout<{layout}>>"
    plain = "!pto.vmi.vreg<100xf32, #pto.vmi.layout<contiguous>>"
    count = len(parts("unpack", info("f32", 100, f"#pto.vmi.layout<{layout}>"), np.zeros((1, 100), np.float32)))
    names, kinds = (", ".join(f"%r{k}" for k in range(count)), ", ".join(["!pto.vreg<64xf32>"] * count))
    results = []
    for form in ("logical", "laid out"):
        middle = f"  %w = pto.vmi.addf %v, %v : {plain}, {plain} -> {plain}\n"
        if form == "laid out":
            middle = f"""  %e = pto.vmi.ensure_layout %v : {plain} -> {laid}
  %s = pto.vmi.addf %e, %e : {laid}, {laid} -> {laid}
  {names} = "pto.vmi.unpack"(%s) : ({laid}) -> ({kinds})
  %q = "pto.vmi.pack"({names}) : ({kinds}) -> {laid}
  %w = pto.vmi.ensure_layout %q : {laid} -> {plain}
"""
        body = f"  %v = pto.vmi.load %x[%c10] : !pto.ptr<f32, ub> -> {plain}\n{middle}"
        results.append(ran(body + f"  pto.vmi.store %w, %y[%c0] : {plain}, !pto.ptr<f32, ub>", X))
    assert np.array_equal(*results)
    assert np.array_equal(results[0][:100], 2 * X[10:110])


def test_memory_that_nothing_has_written_is_found() -> None:
    body = f"  %v = pto.vmi.expand_load %u[%c10], %m, %p : !pto.ptr<f32, ub>, {MASK}, {VECTOR} -> {VECTOR}"
    text = kernel("  %a = arith.constant 16384 : i64\n  %u = pto.castptr %a : i64 -> !pto.ptr<f32, ub>\n" + HEAD + body)
    assert ("UNINIT-READ", "pto.vmi.expand_load") in found(text, X, np.zeros(1024, np.float32))
    run(text, X, np.zeros(1024, np.float32))
