"""The example of every instruction reads and checks without findings on its target."""

from __future__ import annotations

import runpy

import pytest

import ptokit as pto
from ptokit.api.examples import FOLDER, TARGETS, examples, operation, python_by_hand, symbol
from ptokit.api.instruction import instructions
from ptokit.asm import parse_module
from ptokit.ir import Op
from ptokit.ir.verify import verify
from ptokit.isa.table import TABLE, Instr
from ptokit.lang.intrinsics import names
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
    assert "Example, a5\n    pto.tadd ins(%src0, %src1 : !pto.tile_buf<vec, 16x64xf32>" in str(page)
    assert "In Python\n    @pto.kernel" in str(page)
    assert page.python[-1] == "    pto.TADD(dst, src0, src1)"


def _in_python() -> dict[str, list[str]]:
    pages = {page.name: page.python for page in pto.isa()}
    return {name: lines for name, lines in pages.items() if lines}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pto.Kernel]:
    """The kernels that pages show, by instruction, each from a file of its own."""
    folder, found = tmp_path_factory.mktemp("kernels"), {}
    for name, lines in _in_python().items():
        file = folder / f"{name.replace('.', '_')}.py"
        file.write_text("\n".join(["import ptokit as pto", "", "", *lines, ""]), encoding="utf-8")
        module = runpy.run_path(str(file))
        found[name] = module[lines[1].removeprefix("def ").split("(")[0]]
    return found


def test_what_python_has_is_shown_in_python() -> None:
    """Every instruction with a function is; `simt_launch` starts another function, which a line does not have."""
    assert set(names()) - _in_python().keys() <= {*WITHOUT, "simt_launch"}


def test_examples_in_python_are_the_instruction(kernels: dict[str, pto.Kernel]) -> None:
    """Each kernel checks without findings and has the operation of the page; a derived one with the types there."""
    assert len(kernels) > 440
    for name, kernel in kernels.items():
        instr, example = TABLE[name], examples()[name]
        module = kernel.trace()
        assert [str(d) for d in pto.check(kernel).diagnostics if d.rule != "VEC-A5-02-LINT"] == [], name
        ops = [op for f in module.functions if f.body is not None for op in f.body.walk()]
        op = next((op for op in ops if op.name == f"pto.{instr.text}"), None)
        assert op is not None, name
        if symbol(instr) not in python_by_hand():
            wanted = operation(instr, example)
            assert _types(op) == _types(wanted), name
            assert _said(op, instr) == _said(wanted, instr), name


def _types(op: Op) -> list[str]:
    """The types of its operands; Python does not say of registers that their elements are signed."""
    return [str(v.type).replace("xsi", "xi").replace(", gm>", ">") for v in op.values]


def _said(op: Op, instr: Instr) -> dict[str, object]:
    """Its attributes, without those that have their default."""
    defaults = {attr.name: attr.default for attr in instr.attrs}
    return {name: value for name, value in op.attrs.items() if value != defaults.get(name)}


def test_a_page_says_what_modes_and_types_there_are() -> None:
    page = pto.isa("vlds")
    assert ("BRC_B32", "one element of 4 bytes to all lanes") in page.modes["dist"]
    assert pto.isa("TCVT").together[0] == ("targets", "src", "dst")
    assert [row[0][:11] for row in pto.isa("TMATMUL").together if row[1:] == ("i32", "i8", "i8")] == ["cpu a2a3 a5"]
    assert ("a2a3", "i8", "f16") in pto.isa("TCVT").together


def test_a_page_says_what_its_letters_mean() -> None:
    page = str(pto.isa("TSTORE"))
    assert "Rv, Cv   valid rows and valid columns of the tile" in page
    assert "g0 … g4" in page
    assert "Rv, Cv" not in str(pto.isa("TADD"))
    assert "Rv, Cv" in str(pto.explain("STORE-A3-06"))


def test_modes_say_what_they_do() -> None:
    for instr in TABLE.values():
        for attr in instr.attrs:
            assert len(attr.means) in (0, len(attr.words)), instr.name
            assert all(attr.means), instr.name


@pytest.mark.parametrize(("name", "targets"), [("vadd", {"cpu", "a5"}), ("TADD", {"cpu", "a2a3", "a5"})])
def test_a_page_has_the_types_of_targets_that_have_the_instruction(name: str, targets: set[str]) -> None:
    assert {row[0] for row in pto.isa(name).types} & {"cpu", "a2a3", "a5"} == targets
