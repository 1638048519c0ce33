"""Programs on tiles made at random: every form computes the same bytes (assembly 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptokit.asm import parse_module
from ptokit.asm.convert import FORMS, convert
from ptokit.run import compile_program
from ptokit.targets import A5

T = "!pto.tile_buf<vec, 8x16xf32>"
V = "!pto.partition_tensor_view<8x16xf32>"
PARTS = 6  # of the input and of the output
HEAD = f"""func.func @f(%p: !pto.ptr<f32>, %q: !pto.ptr<f32>, %n: index, %c: i1) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %rows = arith.constant {8 * PARTS} : index
  %half = arith.constant 0.5 : f32
  %x = pto.make_tensor_view %p, shape = [%rows, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x16xf32>
  %y = pto.make_tensor_view %q, shape = [%rows, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x16xf32>
"""


class Writer:
    """Writes statements on four tiles, at random."""

    def __init__(self, data: st.DataObject, *, aliases: bool) -> None:
        self.aliases = aliases
        self.draw: Callable[[st.SearchStrategy[int]], int] = data.draw
        self.lines: list[str] = []
        self.count = 0
        self.tiles = ["a", "b", "d", "e"]

    def number(self, top: int) -> int:
        return self.draw(st.integers(0, top))

    def tile(self) -> str:
        return "%" + self.tiles[self.number(len(self.tiles) - 1)]

    def part(self, view: str) -> str:
        self.count += 1
        at = f"%c{(0, 8, 16)[self.number(2)]}"
        self.lines.append(
            f"%part{self.count} = pto.partition_view %{view}, offsets = [{at}, %c0], sizes = [%c8, %c16] : "
            f"!pto.tensor_view<?x16xf32> -> {V}"
        )
        return f"%part{self.count}"

    def statement(self, depth: int) -> None:
        if self.aliases and not self.number(3):
            self.count += 1
            self.lines.append(f"%r{self.count} = pto.treshape {self.tile()} : {T} -> {T}")
            self.tiles.append(f"r{self.count}")
            return
        kind = self.number(8 if depth else 5)
        if kind == 0:
            self.lines.append(f"pto.tload ins({self.part('x')} : {V}) outs({self.tile()} : {T})")
        elif kind == 1:
            self.lines.append(f"pto.tstore ins({self.tile()} : {T}) outs({self.part('y')} : {V})")
        elif kind in (2, 3):
            name = ("tadd", "tsub", "tmax")[self.number(2)]
            self.lines.append(f"pto.{name} ins({self.tile()}, {self.tile()} : {T}, {T}) outs({self.tile()} : {T})")
        elif kind == 4:
            self.lines.append(f"pto.tmuls ins({self.tile()}, %half : {T}, f32) outs({self.tile()} : {T})")
        elif kind == 5:
            source, target = self.tile(), self.tile()
            if source != target:
                self.lines.append(f"pto.taxpy ins({source}, %half : {T}, f32) outs({target} : {T})")
        elif kind == 6:
            self.count += 1
            self.lines.append(f"scf.for %i{self.count} = %c0 to %n step %c1 {{")
            self.block(depth - 1)
            self.lines.append("}")
        elif kind == 7:
            self.lines.append("scf.if %c {")
            self.block(depth - 1)
            if self.number(1):
                self.lines.append("} else {")
                self.block(depth - 1)
            self.lines.append("}")
        else:
            self.lines.append("scf.index_switch %n")
            for case in range(self.number(2)):
                self.lines.append(f"case {case} {{")
                self.block(depth - 1)
                self.lines.append("}")
            self.lines.append("default {")
            self.block(depth - 1)
            self.lines.append("}")

    def block(self, depth: int) -> None:
        before = len(self.tiles)
        for _ in range(self.number(4)):
            self.statement(depth)
        del self.tiles[before:]


@st.composite
def programs(draw: st.DrawFn, *, aliases: bool = False) -> str:
    """A kernel that loads four tiles, works on them and stores them. ``aliases``: under several names."""
    writer = Writer(draw(st.data()), aliases=aliases)
    writer.lines += [f"%{t} = pto.alloc_tile : {T}" for t in writer.tiles]
    names = list(writer.tiles)
    for t in names:
        writer.lines.append(f"pto.tload ins({writer.part('x')} : {V}) outs(%{t} : {T})")
    for _ in range(writer.number(6)):
        writer.statement(2)
    for k, t in enumerate(names):
        at = f"%s{k}"
        writer.lines.append(f"{at} = arith.constant {8 * (k + 2)} : index")
        writer.lines.append(
            f"%out{k} = pto.partition_view %y, offsets = [{at}, %c0], sizes = [%c8, %c16] : "
            f"!pto.tensor_view<?x16xf32> -> {V}"
        )
        writer.lines.append(f"pto.tstore ins(%{t} : {T}) outs(%out{k} : {V})")
    return HEAD + "\n".join(writer.lines) + "\nreturn\n}\n"


def computed(text: str, n: int, c: bool) -> bytes:
    parsed = parse_module(text, "t.pto", target=A5)
    assert list(parsed.diagnostics) == [], "\n".join(map(str, parsed.diagnostics)) + text
    x = np.random.default_rng(7).standard_normal(8 * PARTS * 16).astype(np.float32)
    y = np.zeros_like(x)
    compile_program(parsed.module, A5).launch([x, y, n, int(c)], 1)
    return y.tobytes()


def check(text: str, n: int, c: bool, *, refusable: str = "") -> bool:
    """Compare all forms and chains of two; False if level 1 refuses the program by the rule that it may."""
    module = parse_module(text, "t.pto", target=A5).module
    wanted = computed(text, n, c)
    texts = {}
    for form in FORMS:
        converted = convert(module, form)
        if converted.text is None and form == "ssa" and {d.rule for d in converted.diagnostics} == {refusable}:
            continue
        assert converted.text is not None, "\n".join(map(str, converted.diagnostics))
        again = parse_module(converted.text, "t.pto", target=A5).module
        assert convert(again, form).text == converted.text
        assert computed(converted.text, n, c) == wanted, (form, text, converted.text)
        texts[form] = again
    ends = {text for again in texts.values() for form in texts if (text := convert(again, form).text) is not None}
    assert all(computed(text, n, c) == wanted for text in ends)
    return "ssa" in texts


@given(programs(), st.integers(0, 2), st.booleans())
@settings(max_examples=4)
def test_every_form_computes_the_same(text: str, n: int, c: bool) -> None:
    assert check(text, n, c)


@given(programs(aliases=True), st.integers(0, 2), st.booleans())
@settings(max_examples=6)
def test_tiles_with_several_names_stay_or_are_refused(text: str, n: int, c: bool) -> None:
    check(text, n, c, refusable="CONVERT-ALIAS")


@pytest.mark.campaign
@given(programs(aliases=True), st.integers(0, 2), st.booleans())
@settings(max_examples=3000)
def test_many_programs(text: str, n: int, c: bool) -> None:
    check(text, n, c, refusable="CONVERT-ALIAS")
