"""Tile operations with forms of their own (assembly 6.2), and the old spellings of some."""

from __future__ import annotations

import pytest

from .reading import canonical, errors_in, ops

T = "!pto.tile_buf<vec, 16x16xf32>"
H = f"ins(%t : {T}) outs(%u : {T})"
EX = "%e = arith.constant dense<[0, 0, 0, 0]> : vector<4xi16>\n"


@pytest.mark.parametrize(
    "text",
    [
        f"pto.tgather ins(%t, {{maskPattern = #pto.mask_pattern<P1010>}} : {T}) outs(%u : {T})",
        f"pto.tgather ins(%t, %u : {T}, {T}) outs(%t : {T})",
        f"pto.tgather ins(%t, %u, %t : {T}, {T}, {T}) outs(%t : {T})",
        f"pto.tgather ins(%t, %x : {T}, f32) outs(%u, %t : {T}, {T})",
        f"pto.tgather ins(%t, %x, %u : {T}, f32, {T}) outs(%u, %t : {T}, {T}) {{cmpMode = #pto<cmp gt>, "
        "offset = 7 : i32}",
        f"pto.tmrgsort ins(%t, %i : {T}, i32) outs(%u : {T})",
        f"pto.tsort32 ins(%t, %u, %t : {T}, {T}, {T}) outs(%u : {T})",
        f"pto.tconcat ins(%t, %t : {T}, {T}) outs(%u : {T})",
        f"pto.tinterleave ins(%t, %u : {T}, {T}) outs(%t, %u : {T}, {T})",
        f"pto.tdeinterleave ins(%t : {T}) outs(%t, %u : {T}, {T})",
        f"pto.tci ins(%i {{descending = true}} : i32) outs(%u : {T})",
        f"pto.ttri ins(%i {{upperOrLower = 1 : i32}} : i32) outs(%u : {T})",
        f"pto.trandom ins(%i, %i, %i, %i, %i, %i {{rounds = 7 : i32}} : i32, i32, i32, i32, i32, i32) outs(%u : {T})",
        f"pto.thistogram ins(%t, %u : {T}, {T}) outs(%u : {T}) {{isMSB = false}}",
        f"pto.tquant ins(%t, %u : {T}, {T}) outs(%u : {T}) {{quant_type = #pto<quant_type INT8_SYM>}}",
        f"pto.tquant ins(%t, %u, %u : {T}, {T}, {T}) outs(%u : {T}) {{quant_type = #pto<quant_type INT8_ASYM>}}",
        f"pto.tsetval ins(%n, %x : index, f32) outs(%u : {T})",
        f"%v = pto.tgetval ins(%t, %n : {T}, index) outs : f32".replace("%v", "%w"),
        f"pto.tprint ins(%t : {T})",
        "pto.tprint ins(%v : !pto.partition_tensor_view<16x16xf32>)",
        'pto.print ins("x = %d\\0A", %i : i32)',
        "pto.trap",
        'pto.settf32mode {enable = true, mode = "CAST_RINT"}',
        *(
            f"pto.{name} {H}"
            for name in "tfillpad tfillpad_inplace tfillpad_expand tpack tget_scale_addr ttrans".split()
        ),
        f"pto.tmatmul.mx.bias ins(%t, %t, %t, %t, %t : {T}, {T}, {T}, {T}, {T}) outs(%u : {T})",
        f"pto.tgemv.mx.acc ins(%t, %t, %t, %t, %t : {T}, {T}, {T}, {T}, {T}) outs(%u : {T})",
    ],
)
def test_canonical_text(text: str) -> None:
    assert canonical(text) == [text]


@pytest.mark.parametrize("lists", [2, 3, 4])
def test_merges_end_in_their_scratch_tile(lists: int) -> None:
    given = ["%t"] * lists + ["%u"]
    text = f"{EX}pto.tmrgsort ins({', '.join(given)} {{exhausted = true}} : {', '.join([T] * (lists + 1))}) "
    text += f"outs(%u, %e : {T}, vector<4xi16>)"
    assert canonical(text) == text.splitlines()
    op = ops(text)[-1]
    assert [name for name, value in op.operands.items() if value.name == "t"] == [f"src{k}" for k in range(lists)]
    assert op["tmp"].name == "u"


def test_old_spelling_of_the_mask() -> None:
    new = f"pto.tgather ins(%t, {{maskPattern = #pto.mask_pattern<P1010>}} : {T}) outs(%u : {T})"
    for word in ("#pto.mask_pattern<P1010>", "#pto<mask_pattern P1010>", "<P1010>"):
        assert canonical(f"pto.tgather {H} maskPattern = {word}") == [new]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("TEXT-OPERANDS", f"pto.tgather ins(%t, %t, %t, %t : {T}, {T}, {T}, {T}) outs(%u : {T})"),
        ("TEXT-OPERANDS", f"pto.tgather ins(%t, %x : {T}, f32) outs(%u : {T})"),
        ("MS-1", f"pto.tmrgsort ins(%t : {T}) outs(%u : {T})"),
        ("MS-1", f"pto.tmrgsort ins(%t, %t : {T}, {T}) outs(%u : {T})"),
        ("MS-1", f"pto.tmrgsort ins({', '.join(['%t'] * 6)} : {', '.join([T] * 6)}) outs(%u : {T})"),
        ("TEXT-OPERANDS", f"pto.tconcat ins(%t, %t, %t : {T}, {T}, {T}) outs(%u : {T})"),
    ],
)
def test_operands_that_do_not_go_together(rule: str, text: str) -> None:
    assert [found for found, *_ in errors_in(text)] == [rule]


def test_aliases_are_reshapes() -> None:
    assert canonical(f"%a = pto.talias %t : {T} -> {T}") == [f"%a = pto.treshape %t : {T} -> {T}"]


def test_subviews_are_subsets() -> None:
    part = "!pto.tile_buf<vec, 8x16xf32>"
    for name in ("pto.subview", "subview"):
        assert canonical(f"%a = {name} %t, %i, 0 : ({T}, i32, i16) -> {part}") == [
            "%0 = arith.index_cast %i : i32 to index",
            "%1 = arith.constant 0 : index",
            f"%a = pto.subset %t[%0, %1] sizes [8, 16] : {T}",
        ]
