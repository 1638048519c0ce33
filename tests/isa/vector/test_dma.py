"""DMA copies: the worked examples, padding, loops, and every rule (vector-path 3, 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from ptokit.isa.vector.dma.copies import pad_bytes
from tests.each import each

from .programs import checked, run

PTR = "!pto.ptr<{0}, {1}>"


def program(body: str, dtype: str = "f32", out: str = "") -> str:
    """A kernel on arguments %x and %y; ``{N}`` in the body is a constant."""
    lines: list[str] = []
    seen: dict[str, str] = {}
    for word in body.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split():
        if word.startswith("#"):
            seen.setdefault(word, f"  %c{word[1:].replace('-', 'm')} = arith.constant {word[1:]} : i64")
    for word in sorted(seen, key=len, reverse=True):
        body = body.replace(word, f"%c{word[1:].replace('-', 'm')}")
    params = f"%x: {PTR.format(dtype, 'gm')}, %y: {PTR.format(out or dtype, 'gm')}"
    lines = [
        f"func.func @k({params}) {{",
        *seen.values(),
        "  %on = arith.constant true",
        "  %off = arith.constant false",
    ]
    return "\n".join([*lines, body, "  return", "}"])


def ub(address: int, dtype: str = "f32", name: str = "u") -> str:
    return f"  %{name} = pto.castptr #{address} : i64 -> {PTR.format(dtype, 'ub')}\n"


def to_ub(
    n: int, length: int, src: int, dst: int, left: int = 0, right: int = 0, pad: bool = False, to: str = "%u"
) -> str:
    on = "%on" if pad else "%off"
    return f"  pto.copy_gm_to_ubuf %x, {to}, #0, #{n}, #{length}, #{left}, #{right}, {on}, #0, #{src}, #{dst}\n"


def to_gm(n: int, length: int, dst: int, src: int, at: str = "%u") -> str:
    return f"  pto.copy_ubuf_to_gm {at}, %y, #0, #{n}, #{length}, #0, #{dst}, #{src}\n"


def whole(nbytes: int, at: str = "%u") -> str:
    """All of UB up to there, as it is."""
    return to_gm(1, nbytes, nbytes, nbytes, at)


def dump(body: str, x: np.ndarray, nbytes: int, dtype: str = "f32") -> np.ndarray:
    """The bytes of UB after a program."""
    y = np.zeros(nbytes, np.uint8)
    run(program(body + ub(0, "ui8", "all") + whole(nbytes, "%all"), dtype, "ui8"), x, y)
    return y


def counting(nbytes: int, dtype: Any = np.uint8) -> np.ndarray:
    """Different values at different places."""
    return (np.arange(nbytes // np.dtype(dtype).itemsize) * 7 + 3).astype(dtype)


# ------------------------------------------------------------- worked examples


def test_d1_rows_of_a_wide_matrix() -> None:
    x = counting(64 * 1024, np.uint16)
    found = dump(ub(0, "f16") + to_ub(64, 256, 1024, 256), x, 0x4000 + 64, "f16")
    raw = x.view(np.uint8)
    for r in range(64):
        assert np.array_equal(found[256 * r : 256 * r + 256], raw[1024 * r : 1024 * r + 256])
    assert not found[0x4000:].any()


def test_d2_padding_with_a_value() -> None:
    x = counting(8 * 224, np.float32)
    body = "  %one = arith.constant 1.0 : f32\n  pto.set_mov_pad_val %one : f32\n" + ub(0)
    found = dump(body + to_ub(8, 224, 224, 256, right=8, pad=True), x, 2048).view(np.float32).reshape(8, 64)
    assert np.array_equal(found[:, :56], x.reshape(8, 56))
    assert (found[:, 56:] == 1.0).all()


def test_d3_padding_with_zero_up_to_the_next_row() -> None:
    x = np.full(64 * 100, 0x5555, np.uint16)
    fill = ub(0, "f16") + to_ub(1, 12800, 12800, 12800)
    found = dump(fill + to_ub(64, 200, 200, 256, pad=True), x, 64 * 256, "f16").reshape(64, 256)
    assert (found[:, :200] == 0x55).all()
    assert not found[:, 200:].any()


def test_without_select_the_tail_keeps_its_contents() -> None:
    x = np.full(16384, 0x55, np.uint8)
    fill = ub(0, "ui8") + to_ub(1, 2048, 2048, 2048)
    y = np.zeros(2048, np.uint8)
    body = fill + ub(0, "ui8", "all") + to_ub(8, 200, 200, 256) + whole(2048, "%all")
    run(program(body, "ui8"), x, y)
    assert (y == 0x55).all()


def test_left_padding_moves_the_data() -> None:
    x = counting(2 * 96, np.float32)
    body = "  %p = arith.constant -2.5 : f32\n  pto.set_mov_pad_val %p : f32\n" + ub(64)
    found = dump(body + to_ub(2, 96, 96, 128, left=3, right=5, pad=True), x, 320).view(np.float32)
    rows = found[16:80].reshape(2, 32)
    assert (found[:16] == 0).all()
    assert (rows[:, :3] == -2.5).all()
    assert np.array_equal(rows[:, 3:27], x.reshape(2, 24))
    assert (rows[:, 27:] == -2.5).all()


def test_padding_ends_where_the_next_row_would_begin() -> None:
    x = np.full(4096, 0x55, np.uint8)
    fill = ub(0, "ui8", "a") + to_ub(1, 1024, 1024, 1024, to="%a")
    pad = "  %p = arith.constant 7 : i8\n  pto.set_mov_pad_val %p : i8\n"
    found = dump(fill + pad + ub(64, "ui8") + to_ub(3, 40, 40, 64, left=2, right=9, pad=True), x, 512, "ui8")
    rows = found[64 : 64 + 192].reshape(3, 64)
    assert (rows[:, :2] == 7).all()
    assert (rows[:, 2:42] == 0x55).all()
    assert (rows[:, 42:] == 7).all()
    assert (found[:64] == 0x55).all()
    assert (found[256:] == 0x55).all()


@each("dtype", ["f32", "f16", "bf16", "i32", "ui8"])
def test_padding_with_a_constant_of_every_type(dtype: str) -> None:
    """The low bytes of the constant, as wide as an element."""
    value, bits = ("1.5", {"f32": 0x3FC00000, "f16": 0x3E00, "bf16": 0x3FC0}[dtype]) if "f" in dtype else ("90", 90)
    scalar, size = dtype.replace("ui", "i"), {"f32": 4, "i32": 4, "ui8": 1}.get(dtype, 2)
    pad = f"  %p = arith.constant {value} : {scalar}\n  pto.set_mov_pad_val %p : {scalar}\n"
    x = np.ones(1024, np.uint8).view(f"u{size}")
    found = dump(pad + ub(0, dtype) + to_ub(2, 32, 32, 64, pad=True), x, 192, dtype)
    want = np.frombuffer(bits.to_bytes(size, "little") * (32 // size), np.uint8)
    for row in range(2):
        assert (found[64 * row : 64 * row + 32] == 1).all()
        assert np.array_equal(found[64 * row + 32 : 64 * row + 64], want)
    assert not found[128:].any()


def test_rows_of_a_later_block_stay_over_those_of_an_earlier_one() -> None:
    """Rows 96 bytes apart, blocks 64: row 0 of a block lies over row 1 of the one before."""
    gm = PTR.format("ui8", "gm")
    body = f"""  %b = pto.get_block_idx
  %own = arith.muli %b, #192 : i64
  %step = arith.muli %b, #64 : i64
  %o = arith.index_cast %own : i64 to index
  %s = arith.index_cast %step : i64 to index
  %from = pto.addptr %x, %o : {gm} -> {gm}
  %to = pto.addptr %y, %s : {gm} -> {gm}
{ub(0, "ui8")}
  pto.copy_gm_to_ubuf %from, %u, #0, #1, #192, #0, #0, %off, #0, #192, #192
  pto.copy_ubuf_to_gm %u, %to, #0, #3, #64, #0, #96, #64
"""
    blocks = 4
    x = np.repeat(np.arange(1, blocks + 1, dtype=np.uint8), 192)
    y, want = np.zeros(512, np.uint8), np.zeros(512, np.uint8)
    run(program(body, "ui8"), x, y, blocks=blocks)
    for block in range(blocks):
        for row in range(3):
            want[64 * block + 96 * row :][:64] = block + 1
    assert np.array_equal(y, want)


LOOPED = "  pto.set_loop_size_outtoub #4, #1 : i64, i64\n  pto.set_loop1_stride_outtoub #2048, #2048 : i64, i64\n"
PACKED = "  pto.set_loop_size_outtoub #2097156 : i64\n  pto.set_loop1_stride_outtoub #2251799813687296 : i64\n"


@each("registers", [LOOPED, PACKED])
def test_d4_an_outer_loop(registers: str) -> None:
    x = counting(8192)
    assert np.array_equal(dump(registers + ub(0, "ui8") + to_ub(8, 256, 256, 256), x, 8192, "ui8"), x)


def test_loop_registers_stay_and_are_those_of_one_direction() -> None:
    x = counting(8192)
    again = ub(0, "ui8") + to_ub(1, 256, 256, 256) + ub(8192, "ui8", "v") + to_ub(1, 256, 256, 256, to="%v")
    found = dump(LOOPED + again, x, 16384, "ui8")
    for k in range(4):
        for base in (0, 8192):
            assert np.array_equal(found[base + 2048 * k :][:256], x[2048 * k :][:256])
            assert not found[base + 2048 * k + 256 : base + 2048 * k + 2048].any()


def test_two_outer_loops() -> None:
    """The address formula of section 3.3, one byte after the other."""
    x = counting(65536)
    loops = (
        "  pto.set_loop_size_outtoub #3, #2 : i64, i64\n  pto.set_loop1_stride_outtoub #1000, #320 : i64, i64\n"
        "  pto.set_loop2_stride_outtoub #5000, #2048 : i64, i64\n"
    )
    found = dump(loops + ub(64, "ui8") + to_ub(4, 50, 100, 64), x, 8192, "ui8")
    wanted = np.zeros(8192, np.uint8)
    for j in range(2):
        for k in range(3):
            for r in range(4):
                for t in range(50):
                    wanted[64 + j * 2048 + k * 320 + r * 64 + t] = x[j * 5000 + k * 1000 + r * 100 + t]
    assert np.array_equal(found, wanted)


def test_d5_storing_without_padding() -> None:
    x, y = counting(32768), np.zeros(12864, np.uint8)
    body = ub(0x4000, "ui8") + to_ub(1, 16384, 16384, 16384) + to_gm(64, 200, 200, 256)
    run(program(body, "ui8"), x, y)
    for r in range(64):
        assert np.array_equal(y[200 * r : 200 * r + 200], x[256 * r : 256 * r + 200])
    assert not y[12800:].any()


def test_d6_storing_with_gaps() -> None:
    x, y = counting(16384), np.full(65536, 9, np.uint8)
    run(program(ub(0, "ui8") + to_ub(1, 16384, 16384, 16384) + to_gm(64, 256, 1024, 256), "ui8"), x, y)
    rows = y.reshape(64, 1024)
    assert np.array_equal(rows[:, :256], x.reshape(64, 256))
    assert (rows[:, 256:] == 9).all()


WITHIN = "  pto.copy_ubuf_to_ubuf %u, %v, #0, #3, #64, #96, #128\n"
BLOCKS = "  pto.mte_ub_ub %u, %v, #2 nburst(#3, #1, #2)\n"


@each("copy", [WITHIN, BLOCKS])
def test_d7_within_the_buffer(copy: str) -> None:
    x = counting(4096)
    setup = ub(0, "ui8") + ub(0x1000, "ui8", "v") + to_ub(1, 4096, 4096, 4096)
    found = dump(setup + copy, x, 0x1200, "ui8")
    for r in range(3):
        assert np.array_equal(found[0x1000 + 128 * r :][:64], x[96 * r :][:64])
        assert not found[0x1000 + 128 * r + 64 : 0x1000 + 128 * r + 128].any()


def test_d8_three_loops() -> None:
    x = counting(8 * 224)
    loops = "nburst(#1, #224, #256) loop(#2, #224, #256) loop(#2, #448, #512) loop(#2, #896, #1024)"
    found = dump(ub(0, "ui8") + f"  pto.mte_gm_ub %x, %u, #0, #224 {loops}\n", x, 2048, "ui8").reshape(8, 256)
    assert np.array_equal(found[:, :224], x.reshape(8, 224))
    assert not found[:, 224:].any()


def test_d8_back() -> None:
    x, y = counting(2048), np.zeros(8 * 224, np.uint8)
    loops = "nburst(#1, #256, #224) loop(#2, #256, #224) loop(#2, #512, #448) loop(#2, #1024, #896)"
    body = ub(0, "ui8") + to_ub(1, 2048, 2048, 2048) + f"  pto.mte_ub_gm %u, %y, #224 {loops}\n"
    run(program(body, "ui8"), x, y)
    assert np.array_equal(y.reshape(8, 224), x.reshape(8, 256)[:, :224])


def test_d9_rows_in_another_order() -> None:
    x = counting(128)
    body = ub(0, "ui8") + to_ub(1, 128, 128, 128)
    for to, row in enumerate((2, 0, 3, 1)):
        body += ub(32 * row, "ui8", f"a{to}") + ub(128 + 32 * to, "ui8", f"b{to}")
        body += f"  pto.copy_ubuf_to_ubuf %a{to}, %b{to}, #0, #1, #32, #32, #32\n"
    found = dump(body, x, 256, "ui8")
    assert np.array_equal(found[128:].reshape(4, 32), x.reshape(4, 32)[[2, 0, 3, 1]])


@each("group, left", [("pad(%p)", 0), ("pad(%p, #2, #6)", 2)])
def test_grouped_padding(group: str, left: int) -> None:
    x = counting(4 * 96, np.float32)
    body = "  %p = arith.constant 0.5 : f32\n" + ub(0)
    body += f"  pto.mte_gm_ub %x, %u, #0, #96 nburst(#4, #96, #128) {group}\n"
    found = dump(body, x, 512).view(np.float32).reshape(4, 32)
    assert (found[:, :left] == 0.5).all()
    assert np.array_equal(found[:, left : left + 24], x.reshape(4, 24))
    assert (found[:, left + 24 :] == 0.5).all()


def test_the_short_form_has_the_buffer_first() -> None:
    """7 operands; the destination stride before the source stride."""
    x = counting(4096)
    body = ub(0, "ui8") + "  pto.copy_gm_to_ubuf %u, %x, #0, #4, #64, #128, #96\n"
    found = dump(body, x, 512, "ui8").reshape(4, 128)
    for r in range(4):
        assert np.array_equal(found[r, :64], x[96 * r :][:64])
        assert not found[r, 64:].any()


def test_blocks_move_their_own_rows() -> None:
    text = program(
        ub(0, "ui8") + "  %b = pto.get_block_idx\n  %i = arith.index_cast %b : i64 to index\n"
        "  %n = arith.constant 64 : index\n  %o = arith.muli %i, %n : index\n"
        "  %p = pto.addptr %x, %o : !pto.ptr<ui8, gm> -> !pto.ptr<ui8, gm>\n"
        "  %q = pto.addptr %y, %o : !pto.ptr<ui8, gm> -> !pto.ptr<ui8, gm>\n"
        "  pto.copy_gm_to_ubuf %p, %u, #0, #2, #32, #0, #0, %off, #0, #32, #64\n"
        "  pto.copy_ubuf_to_gm %u, %q, #0, #2, #32, #0, #32, #64\n",
        "ui8",
    )
    x, y = counting(640), np.zeros(640, np.uint8)
    run(text, x, y, blocks=10)
    assert np.array_equal(x, y)


@each(
    "value, type, size, wanted",
    [(1.0, "f32", 4, "0000803f"), (1.0, "f16", 2, "003c"), (-1, "i16", 2, "ffff"), (0x1234, "i64", 1, "34")],
)
def test_padding_is_the_low_bytes(value: Any, type: str, size: int, wanted: str) -> None:
    assert pad_bytes(value, type, size).hex() == wanted


# ---------------------------------------------------------------------- rules

COPY = "  pto.copy_gm_to_ubuf %x, %u, #0, #2, #64, #0, #0, %off, #0, #64, #64\n"
BROKEN = [
    ("DMA-A5-01", ub(16) + COPY),
    ("DMA-A5-01", ub(16) + to_gm(1, 32, 32, 32)),
    ("DMA-A5-02", ub(0) + to_ub(2, 64, 64, 100)),
    ("DMA-A5-02", ub(0) + to_gm(2, 64, 64, 100)),
    ("DMA-A5-03", ub(0) + to_ub(65536, 32, 32, 32)),
    ("DMA-A5-03", ub(0) + to_ub(2, 32, -32, 32)),
    ("DMA-A5-03", ub(0) + to_ub(1, 32, 1 << 40, 32)),
    ("DMA-A5-03", ub(0) + to_ub(1, 32, 32, 1 << 21)),
    ("DMA-A5-03", ub(0) + to_ub(1, 32, 32, 2048, right=256, pad=True)),
    ("DMA-A5-03", "  pto.set_loop_size_outtoub #2097152, #1 : i64, i64\n"),
    ("DMA-A5-03", "  pto.set_loop1_stride_outtoub #0, #2097152 : i64, i64\n"),
    ("DMA-A5-03", "  pto.set_loop2_stride_ubtoout #2097152, #0 : i64, i64\n"),
    ("DMA-A5-03", ub(0) + ub(64, name="v") + "  pto.mte_ub_ub %u, %v, #1 nburst(#1, #65536, #0)\n"),
    ("DMA-A5-04", ub(0) + to_ub(2, 64, 64, 32)),
    ("DMA-A5-04", ub(0) + to_gm(2, 64, 32, 64)),
    ("DMA-A5-04-LINT", ub(0) + to_ub(2, 64, 32, 64)),
    ("DMA-A5-05", ub(0) + to_ub(0, 64, 64, 64)),
    ("DMA-A5-05", "  pto.set_loop_size_ubtoout #0, #1 : i64, i64\n"),
    ("DMA-A5-06", ub(0) + "  pto.copy_ubuf_to_gm %u, %y, #0, #1, #64\n"),
    ("DMA-A5-06", ub(0) + "  pto.copy_ubuf_to_gm #0, %u, %y, #0, #1, #64, #0, #64\n"),
    ("DMA-A5-06", ub(0) + "  pto.mte_ub_gm %u, %y, #64 nburst(#1, #64, #64) loop(#2, #64)\n"),
    ("DMA-A5-06", ub(0) + "  pto.mte_ub_gm %u, %y, #64\n"),
    ("DMA-A5-06", ub(0) + "  pto.mte_gm_ub %x, %u, #0, #64 nburst(#1, #64, #64) pad(#1, #0)\n"),
    ("DMA-A5-07", ub(0) + ub(32, name="v") + "  pto.copy_ubuf_to_ubuf %u, %v, #0, #1, #64, #64, #64\n"),
    ("DMA-A5-07", ub(0) + ub(32, name="v") + "  pto.mte_ub_ub %u, %v, #1 nburst(#2, #0, #0)\n"),
    ("DMA-A5-08", ub(0) + to_ub(2, 64, 64, 128, pad=True)),
    ("DMA-A5-08", ub(0) + to_ub(2, 64, 64, 96, right=8)),
    ("DMA-A5-09", ub(0) + to_ub(2, 240, 240, 256, right=8, pad=True)),
    ("DMA-A5-10", ub(0) + ub(512, name="v") + "  pto.copy_ubuf_to_ubuf %u, %v, #0, #1, #40, #64, #64\n"),
    ("DMA-A5-10", ub(0) + ub(512, name="v") + "  pto.copy_ubuf_to_ubuf %u, %v, #0, #2, #32, #40, #64\n"),
    ("PTR-A5-01", ub(0) + "  pto.copy_ubuf_to_gm %x, %y, #0, #1, #64, #0, #64, #64\n"),
]


@each("rule, body", BROKEN)
def test_broken_rules(rule: str, body: str) -> None:
    text = program(body)
    found = {(d.rule, text.splitlines()[d.location.line - 1].split()[0]) for d in checked(text)}
    assert (rule, body.splitlines()[-1].split()[0]) in found


KEPT = [
    ub(64) + COPY,
    ub(0) + to_ub(1, 64, 64, 100),  # one row has no stride
    ub(0) + to_ub(65535, 1, 1, 32),
    ub(0) + to_ub(2, 224, (1 << 40) - 1, 256, right=8, pad=True),
    "  pto.set_loop_size_outtoub #2097151, #1 : i64, i64\n  pto.set_loop_size_outtoub #1, #1 : i64, i64\n",
    "  pto.set_loop1_stride_outtoub #1099511627775, #2097120 : i64, i64\n",
    ub(0) + ub(64, name="v") + "  pto.copy_ubuf_to_ubuf %u, %v, #0, #1, #64, #64, #64\n",
    ub(0) + ub(64, name="v") + "  pto.mte_ub_ub %u, %v, #1 nburst(#1, #65535, #0)\n",
    ub(0) + to_gm(2, 64, 64, 64),
]


@each("body", KEPT)
def test_kept_rules(body: str) -> None:
    assert [str(d) for d in checked(program(body))] == []


def test_overlap_is_allowed_on_the_host() -> None:
    body = ub(0) + ub(32, name="v") + "  pto.copy_ubuf_to_ubuf %u, %v, #0, #1, #64, #64, #64\n"
    assert [d.rule for d in checked(program(body), "cpu")] == []
    assert [d.rule for d in checked(program(body), "a2a3")] == ["DMA-A5-07"]


@each("body, rule", [
        (ub(0) + to_ub(1, 1028, 1028, 1056), "PTR-A5-02"),  # x has 1024 bytes
        (ub(262144 - 64) + to_ub(2, 64, 64, 64), "PTR-A5-02"),
        (ub(0) + to_gm(2, 512, 1024, 512), "PTR-A5-02"),
        (
            "  pto.set_loop_size_outtoub #2, #1 : i64, i64\n  pto.set_loop1_stride_outtoub #64, #40 : i64, i64\n"
            + ub(0) + to_ub(1, 32, 32, 32),
            "DMA-A5-02",
        ),
    ])  # fmt: skip
def test_what_only_the_run_knows(body: str, rule: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        run(program(body), np.zeros(256, np.float32), np.zeros(256, np.float32))
    assert [d.rule for d in error.value.diagnostics] == [rule]


def test_rules_hold_for_numbers_that_only_the_run_knows() -> None:
    text = """func.func @k(%x: !pto.ptr<f32, gm>, %n: i64) {
  %z = arith.constant 0 : i64
  %off = arith.constant false
  %u = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  pto.copy_gm_to_ubuf %x, %u, %z, %n, %n, %z, %z, %off, %z, %n, %n
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  return
}"""
    x = np.zeros(64, np.float32)
    assert checked(text) == []
    run(text, x, 1)
    with pytest.raises(DiagnosticError) as error:
        run(text, x, 3)
    assert [(d.rule, d.location.line) for d in error.value.diagnostics] == [("DMA-A5-02", 5)]
