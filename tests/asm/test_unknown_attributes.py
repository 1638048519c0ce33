"""Attributes that an operation does not have (TEXT-UNKNOWN-ATTRIBUTE)."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Severity
from ptokit.targets import target

TILE = "!pto.tile_buf<vec, 8x16xf32>"
PART = "!pto.partition_tensor_view<8x16xf32>"
ADD = "#pto<atomic_type atomic_add>"

FORMS = {
    "level 2": "pto.tstore ins(%t : $T) outs(%p : $P) {KEY = $A}",
    "sync": "tstore %t, %p {KEY = $A} : ($T, $P) -> ()",
    "generic": '"pto.tstore"(%t, %p) {KEY = $A, operandSegmentSizes = array<i32: 1, 1>} : ($T, $P) -> ()',
}


def found(form: str, key: str) -> list[tuple[str, Severity, int, str | None]]:
    statement = FORMS[form].replace("KEY", key).replace("$T", TILE).replace("$P", PART).replace("$A", ADD)
    text = f"""func.func @k(%y: !pto.ptr<f32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %t = pto.alloc_tile : {TILE}
      %v = pto.make_tensor_view %y, shape = [%c8, %c16], strides = [%c16, %c1] : !pto.tensor_view<8x16xf32>
      %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c8, %c16] : !pto.tensor_view<8x16xf32> -> {PART}
      {statement}
      return
    }}"""
    parsed = parse_module(text, "k.pto", target=target("a5"))
    return [(d.rule, d.severity, d.location.line, d.hint) for d in parsed.diagnostics]


@pytest.mark.parametrize("form", FORMS)
def test_a_misspelt_attribute_is_a_warning_at_its_place(form: str) -> None:
    wanted = ("TEXT-UNKNOWN-ATTRIBUTE", Severity.WARNING, 9, "did you mean 'atomicType'?")
    assert found(form, "atomic_typ") == [wanted]
    assert found(form, "atomicTipe") == [wanted]
    assert found(form, "colour") == [(*wanted[:3], "remove it")]


@pytest.mark.parametrize("form", FORMS)
def test_attributes_of_the_operation_and_of_other_dialects_are_known(form: str) -> None:
    assert found(form, "atomicType") == []
    assert found(form, "my.note") == []
    assert found(form, "layout") == []  # of older texts
