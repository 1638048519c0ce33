"""Tiles that share addresses: which reads get another tile's value, by a model that knows whose value a byte is.

A byte has holders, the tiles that the program may read its value through. A tile that is written over exactly the
elements of another one, whose value has been read before, holds it beside that one. If the value is then used as that
of the tile that was written, other than to update it again, that is its only holder, and whoever has read it through
another is wrong.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize
from ptokit.sanitize.memory import shadow

from .mini import TILE, Mini, output

PLACES = {  # address, type, bytes of a row in all and valid, rows in all and valid
    "a": (0, "f32", 128, 128, 16, 16),
    "b": (0, "f32", 128, 128, 16, 16),
    "c": (1024, "f32", 128, 128, 8, 8),
    "d": (0, "f16", 64, 64, 16, 16),
    "e": (0, "f32", 128, 64, 16, 16),
    "g": (512, "f32", 128, 128, 16, 10),
    "h": (8192, "f32", 128, 128, 16, 16),
}
WIDTH = {"f32": 4, "f16": 2}


def tile(name: str) -> str:
    """The type of a tile."""
    _, kind, row, valid, rows, valid_rows = PLACES[name]
    return (
        f"!pto.tile_buf<loc=vec, dtype={kind}, rows={rows}, cols={row // WIDTH[kind]}, v_row={valid_rows}, "
        f"v_col={valid // WIDTH[kind]}, blayout=row_major, slayout=none_box, fractal=512, pad=0>"
    )


def valid_bytes(name: str) -> set[int]:
    address, _, row, valid, _, rows = PLACES[name]
    return {address + i * row + k for i in range(rows) for k in range(valid)}


BYTES = {name: valid_bytes(name) for name in PLACES}
Step = tuple[str, str, str]  # fill/update/store, source, destination


def same(a: str, b: str) -> bool:
    """True if two tiles have the same elements at the same places, valid or not."""
    return PLACES[a][:3] == PLACES[b][:3] and PLACES[a][4] == PLACES[b][4]


class Model:
    """The holders of every byte."""

    def __init__(self) -> None:
        self.holders: dict[int, set[str]] = {}
        self.writer: dict[int, str] = {}
        self.unread: set[int] = set()  # since they changed hands
        self.borrowed: set[tuple[str, str]] = set()  # (reader, writer)
        self.written: set[str] = set()

    def lost(self, name: str) -> bool:
        """True if part of a tile holds another tile's value."""
        return any(name not in self.holders[byte] for byte in BYTES[name])

    def take(self, step: Step) -> bool:
        """True if the step shows that an earlier one read another tile's value."""
        verb, source, target = step
        wrong = bool(source) and self._read(source, use=verb == "store" or not same(source, target))
        if verb != "store":
            self._write(target)
        return wrong

    def _read(self, source: str, *, use: bool) -> bool:
        wrong = False
        for byte in BYTES[source]:
            holders, writer = self.holders[byte], self.writer[byte]
            self.unread.discard(byte)
            if source != writer and source in holders:
                self.borrowed.add((source, writer))
        for byte in BYTES[source] if use else ():
            if self.writer[byte] == source:
                early = {(other, source) for other in self.holders[byte] - {source}} & self.borrowed
                wrong = wrong or bool(early)
                self.borrowed -= early
                self.holders[byte] = {source}
        return wrong

    def _write(self, target: str) -> None:
        self.borrowed = {pair for pair in self.borrowed if pair[1] != target}
        for byte in BYTES[target]:
            old = set() if byte in self.unread else self.holders.get(byte, set())
            self.holders[byte] = {target, *(name for name in old if same(name, target))}
            if self.writer.get(byte) != target:
                self.unread.add(byte)
            self.writer[byte] = target
        self.written.add(target)


def fits(source: str, target: str) -> bool:
    """True if an instruction can read one and write the other: of one type, at one place or apart."""
    alike = PLACES[source][1:] == PLACES[target][1:]
    return alike and (BYTES[source] == BYTES[target] or not BYTES[source] & BYTES[target])


def draw(rng: random.Random, *, legal: bool) -> tuple[list[Step], bool]:
    """Steps in program order, and whether one of them reads another tile's value. None does if ``legal``."""
    model, steps, wrong = Model(), [], False
    for _ in range(rng.randint(4, 14)):
        known = [n for n in PLACES if n in model.written and not (legal and model.lost(n))]
        if rng.random() < 0.35 or not known:
            step = ("fill", "", rng.choice(list(PLACES)))
        elif rng.random() < 0.25:
            step = ("store", rng.choice(known), "")
        else:
            source = rng.choice(known)
            step = ("update", source, rng.choice([n for n in PLACES if fits(source, n)]))
        if step[1]:
            wrong = wrong or model.lost(step[1])
        steps.append(step)
        wrong |= model.take(step)
    return steps, wrong


def text(steps: list[Step]) -> Mini:
    lines = ["%oneh = arith.constant 1.0 : f16"]
    for name, (address, *_) in PLACES.items():
        lines += [
            f"%{name}_at = arith.constant {address} : i64",
            f"%{name} = pto.alloc_tile addr = %{name}_at : {tile(name)}",
        ]
    for verb, source, target in steps:
        kind = PLACES[source or target][1]
        one = "%one" if kind == "f32" else "%oneh"
        match verb:
            case "fill":
                lines.append(f"pto.texpands ins({one} : {kind}) outs(%{target} : {tile(target)})")
            case "store":
                lines.append(f"pto.tprint ins(%{source} : {tile(source)})")
            case _:
                lines.append(
                    f"pto.tadds ins(%{source}, {one} : {tile(source)}, {kind}) outs(%{target} : {tile(target)})"
                )
        lines.append("barrier ALL")
    return Mini("\n".join(lines), tiles={})


def found(program: Mini) -> set[str]:
    """Rules about who owns bytes."""
    return {rule for rule in program.found("a5") if rule in ("UB-OVERLAP", "STALE-READ", "UNINIT-READ")}


def play(seeds: range, *, legal: bool) -> Counter[bool]:
    seen: Counter[bool] = Counter()
    for number in seeds:
        steps, wrong = draw(random.Random(number), legal=legal)
        program = text(steps)
        try:
            assert ("UB-OVERLAP" in found(program)) == wrong
        except AssertionError as error:
            error.add_note(f"seed {number}: {steps}")
            raise
        seen[wrong] += 1
    return seen


def test_legal_reuse_of_addresses_has_no_findings() -> None:
    seen = play(range(40), legal=True)
    assert seen[False] >= 30, seen


def test_values_that_are_gone_are_found() -> None:
    seen = play(range(40), legal=False)
    assert min(seen[True], seen[False]) >= 8, seen


@pytest.mark.campaign
@pytest.mark.parametrize("legal", [True, False])
def test_campaign(legal: bool) -> None:
    print(play(range(1000, 4000), legal=legal))


# --------------------------------------------------------------------------- by hand

ALL = "barrier ALL"
TWO = {"a": 0, "b": 0, "c": 8192}


def rules(*lines: str) -> dict[str, list[set[int]]]:
    return Mini(f"\n{ALL}\n".join(lines), tiles=TWO).found(args={"y": output()})


@pytest.mark.parametrize(
    "lines",
    [
        ("load a x", "store a y", "load b x", "adds b b", "store b y"),
        ("load a x", "store a y", "load b x", "adds a a", "store a y"),
        ("load a x", "for 4\nadds a c", "adds c b", "end\nstore a y"),
        ("load a x", "store a y", "load b x", "adds b a", "store b y"),
        ("load a x", "adds a b", "adds a b", "store b y"),
        ("load a x", "for 4\nadds a b", "end\nstore a y"),
        ("load a x", "for 4\nadds a b", "end\nstore b y"),
        ("load a x", "for 4\nadds a a", "adds a b", "adds b b", "end\nstore b y"),
    ],
)
def test_the_next_value_under_another_name_is_not_lost(lines: tuple[str, ...]) -> None:
    assert rules(*lines) == {}


@pytest.mark.parametrize(
    "lines",
    [
        ("load a x", "load b x", "store a y"),
        ("load a x", "store a y", "load b x", "store a y", "store b y"),
        ("load a x", "for 4\nadds a b", "store b y", "end"),
        ("load a x", "adds a b", "load b x", "store a y"),
    ],
)
def test_a_value_used_under_another_name_is_gone(lines: tuple[str, ...]) -> None:
    assert sorted(rules(*lines)) == ["UB-OVERLAP"]


def test_tiles_of_one_name_in_two_functions_are_two_tiles() -> None:
    core = "attributes {pto.kernel_kind = #pto.kernel_kind<vector>}"
    body = f"""module {{
func.func private @twice(%a: {TILE}) {core} {{
%at = arith.constant 8192 : i64
%one = arith.constant 1.0 : f32
%t = pto.alloc_tile addr = %at : {TILE}
pto.tadds ins(%a, %one : {TILE}, f32) outs(%t : {TILE})
pto.barrier <PIPE_ALL>
pto.tadds ins(%t, %one : {TILE}, f32) outs(%a : {TILE})
pto.barrier <PIPE_ALL>
return
}}
func.func @k() {core} {{
%at = arith.constant 0 : i64
%one = arith.constant 1.0 : f32
%t = pto.alloc_tile addr = %at : {TILE}
pto.texpands ins(%one : f32) outs(%t : {TILE})
pto.barrier <PIPE_ALL>
func.call @twice(%t) : ({TILE}) -> ()
func.call @twice(%t) : ({TILE}) -> ()
return
}}}}"""
    report = sanitize(parse_module(body, "k.pto").module, "a5", [], entry="k")
    assert [d.rule for d in report.diagnostics] == []


@pytest.mark.parametrize("tile", ["a", "b"])
def test_bytes_that_are_written_by_address_are_anybodys(tile: str) -> None:
    """a is lost to b; then all of it is filled through a pointer."""
    pointer = "%zero = arith.constant 0 : i64\n%p = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>"
    one = "pto.store_scalar %one, %p[%i] : !pto.ptr<f32, ub>, f32"
    fill = f"%n = arith.constant 512 : index\nscf.for %i = %c0 to %n step %c1 {{\n{one}\nend"
    program = Mini(f"{pointer}\nload a x\n{ALL}\nload b x\n{ALL}\n{fill}\n{ALL}\nstore {tile} y", tiles=TWO)
    assert program.found("a5", args={"y": output()}) == {}


ROWS, ROW = "!pto.tile_buf<vec, 8x16xf32>", "!pto.tile_buf<vec, 1x16xf32>"
COLUMN = "!pto.tile_buf<vec, 16x1xf32, blayout=col_major>"
BOXES, TURNED = (
    "!pto.tile_buf<mat, 32x64xf16, blayout=col_major, slayout=row_major>",
    "!pto.tile_buf<mat, 64x32xf16, blayout=row_major, slayout=col_major>",
)
STALE = [(ROWS, ROW, True), (ROWS, COLUMN, True), (ROWS, "!pto.tile_buf<vec, 4x8xf32>", False), (BOXES, TURNED, True)]


@pytest.mark.parametrize(("whole", "part", "view"), STALE)
def test_rows_and_transposed_boxes_are_views(whole: str, part: str, view: bool) -> None:
    """Production kernels allocate a tile at the address of a row, or of all of it with rows and columns exchanged."""
    specs = [parse_module(f"func.func @k() {{\n%t = pto.alloc_tile : {t}\nreturn\n}}").module for t in (whole, part)]
    first, second = (next(op.result.type for op in m.functions[0].body.walk() if op.results) for m in specs)  # type: ignore[union-attr]
    assert shadow._view(first, second) == view
