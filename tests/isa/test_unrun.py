"""What is read and not run: few instructions, each with its reason."""

from __future__ import annotations

from ptokit.api import findings  # noqa: F401  # fills the table
from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostics
from ptokit.ir.functions import check_runnable
from ptokit.isa.reference import facts
from ptokit.isa.table import TABLE

UNRUN = {"bind_tile", "pointer_cast", "declare_tile_memref"}
"""Forms of April 2026 that the reference refuses today."""


def test_the_list_of_what_does_not_run() -> None:
    found = {instr.name for instr in TABLE.values() if instr.unrun}
    assert found == UNRUN
    for name in found:
        assert facts(TABLE[name])["not run"] == TABLE[name].unrun
    assert "not run" not in facts(TABLE["TADD"])


def test_everything_else_has_a_meaning_or_is_planned() -> None:
    """The executor itself does what has no function."""
    from ptokit.plan.planner import PLANNED

    own = {f"pto.{i.text}" for i in TABLE.values() if i.run is None and not i.unrun and not i.form.trailing}
    assert own <= PLANNED


def test_a_launch_says_why() -> None:
    found = Diagnostics()
    text = "%m = pto.declare_tile_memref -> memref<16x16xf32, #pto.address_space<vec>>"
    check_runnable(parse_module(f"func.func @k() {{\n{text}\nreturn\n}}").module, found)
    assert [(d.rule, d.location.line, d.hint) for d in found] == [
        ("TEXT-UNIMPLEMENTED", 2, TABLE["declare_tile_memref"].unrun)
    ]
