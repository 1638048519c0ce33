"""Tiles that share addresses: which reads get another tile's value, by a model that knows whose value a byte is.

A byte has holders, the tiles that the program may read its value through. Writing a tile makes it the only holder. An
instruction that reads one tile and writes another over the same elements updates the value in place: both hold the new
one. Used as the value of the tile that was written, other than to update it again, it has that as its only holder.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize

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


class Model:
    """The holders of every byte."""

    def __init__(self) -> None:
        self.holders: dict[int, set[str]] = {}
        self.writer: dict[int, str] = {}
        self.written: set[str] = set()

    def lost(self, name: str) -> bool:
        """True if part of a tile holds another tile's value."""
        return any(name not in self.holders[byte] for byte in BYTES[name])

    def take(self, step: Step) -> None:
        verb, source, target = step
        in_place = verb == "update" and BYTES[source] == BYTES[target]
        if verb in ("update", "store") and not in_place:
            for byte in BYTES[source]:
                if source == self.writer[byte]:
                    self.holders[byte] = {source}
        if verb != "store":
            for byte in BYTES[target]:
                old = self.holders.get(byte, set())
                self.holders[byte] = {*old, target} if in_place and source in old else {target}
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
        model.take(step)
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
    assert play(range(40), legal=True) == {False: 40}


def test_values_that_are_gone_are_found() -> None:
    seen = play(range(40), legal=False)
    assert min(seen[True], seen[False]) >= 8, seen


@pytest.mark.campaign
@pytest.mark.parametrize("legal", [True, False])
def test_campaign(legal: bool) -> None:
    print(play(range(1000, 4000), legal=legal))


# --------------------------------------------------------------------------- by hand

ALL = "barrier ALL"
TWO = {"a": 0, "b": 0}


def rules(*lines: str) -> dict[str, list[set[int]]]:
    return Mini(f"\n{ALL}\n".join(lines), tiles=TWO).found(args={"y": output()})


@pytest.mark.parametrize(
    "lines",
    [
        ("load a x", "store a y", "load b x", "adds b b", "store b y"),
        ("load a x", "store a y", "load b x", "adds b a", "store b y"),
        ("load a x", "adds a b", "adds a b", "store b y"),
        ("load a x", "for 4\nadds a b", "end\nstore a y"),
        ("load a x", "for 4\nadds a b", "end\nstore b y"),
        ("load a x", "for 4\nadds a a", "adds a b", "adds b b", "end\nstore b y"),
    ],
)
def test_a_value_updated_in_place_under_another_name_is_not_lost(lines: tuple[str, ...]) -> None:
    assert rules(*lines) == {}


@pytest.mark.parametrize(
    "lines",
    [
        ("load a x", "load b x", "store a y"),
        ("load a x", "store a y", "load b x", "store a y"),
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
