"""Every rule of TSTORE and TSTORE_FP: a store that keeps it, one that breaks it, and what the message names."""

from __future__ import annotations

from typing import Any

import pytest

from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.isa.check import broken_rules
from ptokit.isa.site import UNKNOWN, TileInfo
from ptokit.isa.transfer.store import TSTORE, TSTORE_FP
from ptokit.types.enums import AtomicType, ReluPreMode
from tests.each import each

from .transfer_sites import acc, broken, conv, mat, site, spec, vec, view, words
from .words import quant_word

Side = tuple[Any, ...]  # tile, view, optionally further arguments of `site`
Row = tuple[str, str, Side, Side, str]

V, G = vec("f32", 16, 16), view("f32", 16, 16)
A, H = acc("f32", 32, 32), view("f16", 32, 32)
ADD, MAX = {"atomic": AtomicType.AtomicAdd}, {"atomic": AtomicType.AtomicMax}
RELU = {"relu": ReluPreMode.NormalRelu}
SIGNED, PLAIN = quant_word(0.5, signed=True), quant_word(0.5)
FP = {"fp": spec("Scaling", "u64", 1, 32)}


def q(word: int = SIGNED) -> dict[str, Any]:
    return {"quant": word}


def both(number: str, good: Side, bad: Side, text: str, a5: str | None = None) -> list[Row]:
    """A rule that a2a3 and a5 share; ``a5`` is its number there if it differs."""
    return [
        (f"STORE-A3-{number}", "a2a3", good, bad, text),
        (f"STORE-A5-{a5 or number}", "a5", good, bad, text),
    ]


CASES: list[Row] = [
    ("LS-COM-03", "a2a3", (V, G), (V, view("f32", 1, 1, 0, 16, 16)), "dimension 2"),
    ("LS-COM-04", "cpu", (vec("u8", 4, 32), view("i8", 4, 32)), (V, H), "4-byte elements (f32)"),
    ("LS-COM-05", "a5", (V, G), (V, view("f32", 16, 16, stride=(0, 0, 0, -16, 1))), "-16"),
    ("LS-COM-07", "cpu", (A, view("i8", 32, 32), FP), (vec("f32", 32, 32), view("i8", 32, 32), FP), "vec"),
    ("LS-COM-08", "a5", (A, view("i8", 32, 32), q()), (vec("i32", 32, 32), view("i8", 32, 32), q()), "word"),
    ("LS-COM-08", "a2a3", (A, H, RELU), (V, G, RELU), "relu"),
    ("LS-COM-09", "cpu", (V, view("f32", 2, 8, 16)), (V, view("f32", 8, 32)), "8x32"),
    # cpu
    ("STORE-CPU-01", "cpu", (V, G), (V, view("f32", 16, 16, layout="NHWC")), "NHWC"),
    (
        "STORE-CPU-02",
        "cpu",
        (vec("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        (vec("f16", 16, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        "16x32",
    ),
    ("STORE-CPU-03", "cpu", (V, G), (vec("f32", 44, 8), view("f32", 2, 3)), "44x8"),
    ("STORE-CPU-04", "cpu", (V, G), (V, G, ADD), "atomic_add"),
    (
        "STORE-CPU-05",
        "cpu",
        (A, view("i8", 32, 32), FP),
        (A, view("i8", 32, 32), {"fp": spec("Scaling", "u64", 1, 16)}),
        "16 parameter words",
    ),
    (
        "STORE-CPU-06",
        "cpu",
        (conv("f16", "NDC1HWC0", 1, 1, 1, 2, 4, 16), view("f16", 1, 1, 1, 2, 4, layout="NDC1HWC0")),
        (conv("f16", "FRACTAL_Z", 3, 2, 16, 16), view("f16", 1, 3, 2, 16, 16, layout="FRACTAL_Z")),
        "FRACTAL_Z",
    ),
    ("STORE-CPU-07", "cpu", (V, G), (vec("e5m2", 4, 32), view("e5m2", 4, 32)), "e5m2"),
    # the reference assembler
    ("ST-9", "a5", (vec("hif8", 4, 32), view("hif8", 4, 32)), (vec("int4", 4, 64), view("int4", 4, 64)), "int4"),
    ("ST-12", "a2a3", (A, view("i8", 32, 32), q()), (A, view("u8", 32, 32), q(PLAIN)), "f32 to u8"),
    ("ST-13", "a5", (A, H, q()), (A, view("u8", 32, 32), q(PLAIN)), "f32 to u8"),
    # Vec and Mat
    ("STORE-A3-01", "a2a3", (mat("f32", 16, 16), G), (spec("Left", "f16", 16, 16), view("f16", 16, 16)), "left"),
    ("STORE-A5-01", "a5", (V, G), (mat("f32", 16, 16), G), "mat"),
    ("STORE-A3-03", "a2a3", (V, G), (vec("e5m2", 4, 32), view("e5m2", 4, 32)), "e5m2"),
    ("STORE-A5-03", "a5", (vec("hif8", 4, 32), view("hif8", 4, 32)), (vec("int4", 4, 32), view("int4", 4, 32)), "int4"),
    *both("04", (vec("f32", 1, 16), view("f32", 1, 16, layout="DN")), (vec("f32", 16, 16, "DN"), G), "DN vec tile"),
    *both("04", (V, G), (vec("f32", 16, 16, "Zn"), view("f32", 16, 16, layout="DN")), "Zn vec tile"),
    *both(
        "05",
        (vec("u64", 4, 16), view("u64", 4, 16)),
        (vec("u64", 16, 8, "Nz"), view("u64", 1, 2, 1, 16, 4, layout="NZ")),
        "u64",
        "19",
    ),
    (
        "STORE-A5-05",
        "a5",
        (vec("f32", 8, 1, "DN"), view("f32", 8, 1)),
        (spec("Vec", "f16", 1, 8, "Nn"), view("f16", 1, 8)),
        "16 bytes",
    ),
    *both("06", (V, view("f32", 2, 8, 16)), (V, view("f32", 15, 16)), "15x16"),
    (
        "STORE-A3-06",
        "a2a3",
        (vec("u8", 4095, 32), view("u8", 4095, 32)),
        (vec("u8", 4096, 32), view("u8", 4096, 32)),
        "4096",
    ),
    (
        "STORE-A3-07",
        "a2a3",
        (vec("f16", 16, 3, "DN"), view("f16", 16, 3, layout="DN")),
        (vec("f16", 16, 3, "DN"), view("f16", 16, 4, layout="DN")),
        "16x4",
    ),
    (
        "STORE-A5-06",
        "a5",
        (vec("f16", 16, 3, "DN"), view("f16", 16, 3, layout="DN")),
        (vec("f16", 16, 3, "DN"), view("f16", 16, 4, layout="DN")),
        "16x4",
    ),
    (
        "STORE-A3-08",
        "a2a3",
        (vec("i8", 48, 64, "Nz"), view("i8", 1, 2, 3, 16, 32, layout="NZ")),
        (vec("i8", 48, 64, "Nz"), view("i8", 1, 4, 3, 16, 16, layout="NZ")),
        "is 16; it must be 32",
    ),
    (
        "STORE-A5-07",
        "a5",
        (vec("bf16", 48, 32, "Nz"), view("bf16", 1, 2, 3, 16, 16, layout="NZ")),
        (vec("bf16", 48, 32, "Nz"), view("bf16", 1, 4, 3, 16, 8, layout="NZ")),
        "is 8; it must be 16",
    ),
    (
        "STORE-A5-D4",
        "a5",
        (vec("i32", 48, 16, "Nz"), view("i32", 1, 2, 3, 16, 8, layout="NZ")),
        (vec("i32", 48, 16, "Nz"), view("i32", 1, 1, 3, 16, 16, layout="NZ")),
        "is 16",
    ),
    (
        "STORE-A3-09",
        "a2a3",
        (mat("i8", 6, 96), view("i8", 6, 96)),
        (mat("i8", 6, 96, valid=(6, 84)), view("i8", 6, 84)),
        "84",
    ),
    (
        "STORE-A3-09",
        "a2a3",
        (mat("i8", 96, 6, "DN"), view("i8", 96, 6, layout="DN")),
        (mat("i8", 96, 6, "DN", valid=(84, 6)), view("i8", 84, 6, layout="DN")),
        "84",
    ),
    *both(
        "22", (vec("i16", 4, 16), view("i16", 4, 16), ADD), (vec("u16", 4, 16), view("u16", 4, 16), ADD), "u16", "16"
    ),
    ("STORE-A3-25", "a2a3", (V, G, ADD), (A, view("f32", 32, 32), MAX), "atomic_max"),
    ("STORE-A5-18", "a5", (A, view("f32", 32, 32), MAX), (V, G, MAX), "atomic_max"),
    ("STORE-A3-D4", "a2a3", (V, G), (V, view("f32", 16, 16, stride=(0, 0, 0, 0, 1))), "negative gap"),
    (
        "STORE-A3-D4",
        "a2a3",
        (mat("f16", 6, 48), view("f16", 6, 48, stride=(0, 0, 0, 64, 1))),
        (mat("f16", 6, 48), view("f16", 6, 48, stride=(0, 0, 0, 62, 1))),
        "124 bytes",
    ),
    *both("D1", (V, G), (V, view("f32", 16, 16, stride=(0, 0, 0, 64, 4))), "stride 4 of the view is 4"),
    # accumulators
    *both("10", (A, H), (A, view("f16", 32, 32, layout="DN")), "DN", "09"),
    *both("11", (A, H), (acc("f16", 32, 32), H), "f16", "08"),
    *both("12", (A, H), (A, view("u8", 32, 32)), "u8", "11"),
    *both("13", (A, H), (acc("i32", 32, 32), H), "i32 to f16", "12"),
    ("STORE-A3-14", "a2a3", (acc("i32", 32, 32), H, q()), (A, H, q()), "f32 to f16"),
    ("STORE-A3-14", "a2a3", (acc("i32", 32, 32), H, FP), (A, H, FP), "f32 to f16"),
    ("STORE-A5-13", "a5", (A, view("e4m3", 32, 32), q()), (A, view("e5m2", 32, 32), q()), "e5m2"),
    *both(
        "15", (acc("f32", 16, 4080), view("f16", 16, 4080)), (acc("f32", 16, 4096), view("f16", 16, 4096)), "4096", "10"
    ),
    *both(
        "16", (acc("f32", 8192, 16), view("f16", 8192, 16)), (acc("f32", 8208, 16), view("f16", 8208, 16)), "8208", "10"
    ),
    (
        "STORE-A3-16",
        "a2a3",
        (acc("f32", 16, 32), view("f16", 1, 2, 1, 16, 16, layout="NZ")),
        (acc("f32", 16, 24), view("f16", 1, 2, 1, 16, 16, layout="NZ")),
        "24 columns",
    ),
    *both(
        "17", (acc("f32", 16, 4095), view("f16", 16, 4095)), (acc("f32", 16, 4096), view("f16", 16, 4096)), "4096", "20"
    ),
    *both("18", (A, H), (A, view("f16", 2, 16, 32)), "dimension 2", "D1"),
    ("STORE-A3-18", "a2a3", (A, H), (acc("f32", 8193, 16), view("f16", 8193, 16)), "8193"),
    *both(
        "19",
        (A, view("bf16", 1, 2, 2, 16, 16, layout="NZ")),
        (A, view("bf16", 1, 4, 2, 16, 8, layout="NZ")),
        "is 8; it must be 16",
        "14",
    ),
    *both(
        "19",
        (A, view("f32", 1, 4, 2, 16, 8, layout="NZ")),
        (acc("i32", 32, 32), view("i32", 1, 4, 2, 16, 8, layout="NZ")),
        "is 8; it must be 16",
        "14",
    ),
    (
        "STORE-A3-20",
        "a2a3",
        (A, view("f16", 1, 2, 4, 8, 16, layout="NC1HWC0")),
        (A, view("f16", 1, 4, 4, 8, 8, layout="NC1HWC0")),
        "is 8",
    ),
    (
        "STORE-A3-21",
        "a2a3",
        (acc("i32", 32, 32), view("i32", 1, 1, 2, 4, 8, layout="NDC1HWC0")),
        (acc("i32", 32, 32), view("i32", 1, 1, 4, 4, 8, layout="NDC1HWC0")),
        "C0 = 16 is 32x64",
    ),
    (
        "STORE-A5-15",
        "a5",
        (A, view("f16", 1, 1, 32, 4, 8, layout="NCHW")),
        (A, view("f16", 1, 1, 16, 4, 8, layout="NCHW")),
        "32x16",
    ),
    (
        "STORE-A5-15",
        "a5",
        (A, view("f16", 1, 32, 2, 4, 4, layout="NCDHW")),
        (A, view("f16", 1, 32, 3, 4, 4, layout="NCDHW")),
        "16x32",
    ),
    *both(
        "24", (A, view("i8", 32, 32), FP), (A, view("i8", 32, 32), {"fp": spec("Scaling", "i64", 1, 32)}), "i64", "21"
    ),
    *both(
        "24", (A, view("i8", 32, 32), FP), (A, view("i8", 32, 32), {"fp": spec("Scaling", "u64", 1, 16)}), "16", "21"
    ),
    *both("24", (A, view("i8", 32, 32), FP), (A, view("i8", 32, 32), {"fp": vec("u64", 1, 32)}), "vec", "21"),
    *both("D1", (A, H), (A, view("f16", 32, 32, stride=(0, 0, 0, 64, 2))), "stride 4 of the view is 2"),
    *both(
        "D1",
        (A, view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        (A, view("f16", 1, 2, 2, 16, 16, layout="NZ", stride=(0, 600, 256, 16, 1))),
        "takes 512",
    ),
    (
        "STORE-A3-D2",
        "a2a3",
        (A, view("f16", 1, 2, 4, 8, 16, layout="NC1HWC0")),
        (A, view("f16", 2, 2, 2, 8, 16, layout="NC1HWC0")),
        "dimension 0",
    ),
    (
        "STORE-A5-D2",
        "a5",
        (A, view("f16", 1, 1, 32, 4, 8, layout="NCHW")),
        (A, view("f16", 1, 2, 32, 4, 4, layout="NCHW")),
        "dimension 1",
    ),
    (
        "STORE-A5-D2",
        "a5",
        (A, view("f16", 1, 1, 4, 8, 32, layout="NHWC", stride=(0, 0, 320, 40, 1))),
        (A, view("f16", 1, 1, 4, 8, 32, layout="NHWC", stride=(0, 0, 330, 40, 1))),
        "takes 320",
    ),
    *both("D3", (A, view("i8", 32, 32), q(SIGNED)), (A, view("i8", 32, 32), q(PLAIN)), "0x3f000000"),
    *both("D3", (A, view("u8", 32, 32), q(PLAIN)), (A, view("u8", 32, 32), q(SIGNED)), "clear bit 46"),
    *both(
        "D3",
        (A, view("i8", 32, 32), {"fp": words([SIGNED] * 32)}),
        (A, view("i8", 32, 32), {"fp": words([SIGNED] * 9 + [PLAIN] + [SIGNED] * 22)}),
        "column 9",
    ),
    *both(
        "D3",
        (A, view("i8", 32, 32), {"fp": words([SIGNED] * 32, addr=128)}),
        (A, view("i8", 32, 32), {"fp": words([SIGNED] * 32, addr=96)}),
        "0x60",
    ),
]
NAMES = [f"{c[0]}-{i}" for i, c in enumerate(CASES)]


def found(on: str, side: Side, **more: Any) -> dict[str, Any]:
    tile, g, *rest = side
    options = {**(rest[0] if rest else {}), **more}
    name = "TSTORE_FP" if "fp" in options else "TSTORE"
    o = site(name, on, tile, g, **options)
    return {b.rule.id: f"{b.message}; {b.hint}" for b in broken_rules(o)}


@each("case", CASES, ids=NAMES)
def test_rule(case: Row) -> None:
    rule, on, good, bad, text = case
    assert rule not in found(on, good)
    messages = found(on, bad)
    assert rule in messages, messages
    assert text in messages[rule]


def test_every_rule_has_a_case() -> None:
    checked = {r.id for r in (*TSTORE.rules, *TSTORE_FP.rules) if r.check is not None and r.scope is Scope.ISA}
    assert checked == {c[0] for c in CASES if not c[0].startswith("ST-")}


@each("on", ["cpu", "a2a3", "a5"])
@each(
    "side",
    [
        (V, G),
        (vec("f16", 16, 3, "DN"), view("f16", 16, 3, layout="DN")),
        (vec("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        (A, H),
        (A, H, RELU),
        (A, view("i8", 32, 32), q()),
        (A, view("i8", 32, 32), {"fp": words([SIGNED] * 32, addr=0)}),
        (A, view("f32", 1, 4, 2, 16, 8, layout="NZ")),
    ],
)
def test_ordinary_stores_break_nothing(on: str, side: Side) -> None:
    assert found(on, side) == {}


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@each("case", CASES, ids=NAMES)
def test_unknown_sizes_break_no_rule_about_sizes(case: Row, on: str) -> None:
    tile, g, *rest = case[3]
    unknown = (UNKNOWN,) * 5
    side = (TileInfo("t", tile, UNKNOWN, UNKNOWN), type(g)("g", g.dtype, unknown, unknown, g.layout), *rest)
    for message in found(on, side).values():
        assert "?" not in message


def test_extended_cpu_stores_device_types_and_combines() -> None:
    assert found("cpu", (vec("e5m2", 4, 32), view("e5m2", 4, 32)), extended=True) == {}
    assert found("cpu", (V, G, ADD), extended=True) == {}
    assert "STORE-CPU-04" in found("cpu", (vec("hif8", 4, 32), view("hif8", 4, 32), ADD), extended=True)


def test_ids_belong_to_their_targets() -> None:
    for rule, on, *_ in CASES:
        assert on in CATALOGUE[rule].targets


def test_text_gives_parameter_words_as_i64() -> None:
    o = site("TSTORE_FP", "a2a3", A, view("i8", 32, 32), fp=spec("Scaling", "i64", 1, 32))
    assert "STORE-A3-24" in broken(o)
    o.text = True
    assert "STORE-A3-24" not in broken(o)
