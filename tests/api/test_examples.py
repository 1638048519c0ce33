"""The example of every instruction reads and checks without findings on its target."""

from __future__ import annotations

import pytest

import ptokit as pto
from ptokit.api.examples import FOLDER, TARGETS, examples
from ptokit.api.instruction import instructions
from ptokit.asm import parse_module
from ptokit.ir.verify import verify
from ptokit.targets import target as target_named

WITHOUT = {
    **dict.fromkeys(
        ("TIMG2COL", "SETFMATRIX", "SET_IMG2COL_RPT", "SET_IMG2COL_PADDING"), "text has no type for convolution tiles"
    ),
    **dict.fromkeys(("vselrv2", "vtranspose", "vsort32"), "VEC-A5-08: its meaning is not published"),
}
"""Instructions that have none, and why."""


def test_every_instruction_has_one() -> None:
    assert {instr.name for instr in instructions()} - examples().keys() == WITHOUT.keys()


@pytest.mark.parametrize("target", TARGETS)
def test_examples_read_and_check(target: str) -> None:
    profile = target_named(target)
    file = FOLDER / f"{target}.pto"
    parsed = parse_module(file.read_text(encoding="utf-8"), str(file), target=profile)
    assert [str(d) for d in parsed.diagnostics] == []
    assert [str(d) for d in verify(parsed.module, profile) if d.rule != "VEC-A5-02-LINT"] == []


def test_examples_hold_their_instruction() -> None:
    """The statement that a page shows is of the instruction itself, with types that there are."""
    for instr in instructions():
        example = examples().get(instr.name)
        if example is None:
            continue
        profile = target_named(example.target)
        head = f'module attributes {{pto.target_arch = "{profile.arch}"}} {{'
        module = parse_module("\n".join([head, example.text, "}", ""]), target=profile).module
        names = [op.name for f in module.functions if f.body is not None for op in f.body.walk()]
        assert f"pto.{instr.text}" in names
        assert (instr.form.newest or instr.shown) in example.statement
        assert "\n" not in example.statement


def test_a_page_shows_it() -> None:
    page = pto.isa("TADD")
    assert page.example is not None
    assert page.example.target == "a5"
    assert "example  pto.tadd ins(%src0, %src1 : !pto.tile_buf<vec, 16x64xf32>" in str(page)


@pytest.mark.parametrize(("name", "targets"), [("vadd", {"cpu", "a5"}), ("TADD", {"cpu", "a2a3", "a5"})])
def test_a_page_has_the_types_of_targets_that_have_the_instruction(name: str, targets: set[str]) -> None:
    assert {row[0] for row in pto.isa(name).types} & {"cpu", "a2a3", "a5"} == targets
