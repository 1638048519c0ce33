"""The lines of the reference pages are text that can be read, and the same operation in every form."""

from __future__ import annotations

import re

from ptokit.asm import parse_module
from ptokit.asm.printing.forms import text_forms
from ptokit.ir import Op
from ptokit.isa.table import TABLE
from tests.each import each

ALIASES = """\
!tile = !pto.tile_buf<vec, 16x64xf32>
!view = !pto.partition_tensor_view<16x64xf32>
!ptr = !pto.ptr<f32>
!vreg = !pto.vreg<64xf32>
!mask = !pto.mask<b32>
!vector = !pto.vmi.vreg<64xf32>
!lanes = !pto.vmi.mask<64xpred>
!register = !pto.vreg<64xf32>
!type = f32
!result = !tile
"""
OTHER_TYPES = frozenset(
    "make_group get_block_idx get_block_num get_subblock_idx get_subblock_num subset pointer_cast eventid_array_get "
    "eventid_array_set get_validshape".split()
)
"""Types that the table does not tell: of results, of addresses, of arrays."""


def read(name: str, form: str) -> tuple[list[str], list[Op]]:
    """Rules of the findings in a line inside a function that has its operands, and its operations."""
    forms = text_forms(TABLE[name])
    written = re.search(r"\"\((.*?)\)(?: <\{.*\}>)?(?: \{.*\})? : \((.*)\) ->", forms["generic"])
    assert written is not None
    types = re.split(r", (?![^<]*>)", written[2])
    line = forms[form]
    made = line.split(" = ")[0].split(", ") if line[0] == "%" else []
    params = [f"{n}: {t}" for n, t in zip(written[1].split(", "), types) if n and n not in made]
    text = f"{ALIASES}func.func @f({', '.join(params)}) {{\n  {line}\n  return\n}}\n"
    parsed = parse_module(text)
    body = parsed.module.functions[0].body
    return [d.rule for d in parsed.diagnostics], [] if body is None else list(body.walk())


@each("name", TABLE)
def test_every_form_of_every_instruction_is_read(name: str) -> None:
    for form, line in text_forms(TABLE[name]).items():
        rules, ops = read(name, form)
        assert set(rules) <= ({"TEXT-TYPE", "TY-9"} if name.lower() in OTHER_TYPES else set()), line
        if not rules:
            assert [op.name for op in ops if op.name.startswith("pto.") and op.name != "pto.alloc_tile"] in (
                [f"pto.{TABLE[name].text}"],
                [f"pto.{TABLE[name].form.newest}"],
                [] if name == "ALLOC_TILE" else None,
            )


def test_lines() -> None:
    assert text_forms(TABLE["TCMP"]) == {
        "level 2": "pto.tcmp ins(%src0, %src1 {cmpMode = #pto<cmp eq>} : !tile, !tile) outs(%dst : !tile)",
        "level 1": "%dst = pto.tcmp %src0, %src1 {cmpMode = #pto<cmp eq>} : (!tile, !tile) -> !tile",
        "sync": "tcmp %dst, %src0, %src1 {cmpMode = #pto<cmp eq>} : (!tile, !tile, !tile)",
        "generic": '"pto.tcmp"(%src0, %src1, %dst) <{cmpMode = #pto<cmp eq>}> : (!tile, !tile, !tile) -> ()',
    }
    assert text_forms(TABLE["TADDS"])["level 2"] == "pto.tadds ins(%src, %scalar : !tile, f32) outs(%dst : !tile)"
    assert text_forms(TABLE["set_flag"])["level 2"] == "pto.set_flag[<PIPE_S>, <PIPE_V>, <EVENT_ID0>]"
    assert text_forms(TABLE["vlds"])["level 2"].startswith("%dst = pto.vlds %src[%offset] {dist = ")
