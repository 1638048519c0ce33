"""Pipes that the fix-pipe fills: a text that is sound, and what breaks it."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.ir.verify import verify
from ptokit.targets import target

ACC = "!pto.tile_buf<acc, 16x16x{}, blayout=col_major, slayout=row_major, fractal=1024>"
CUBE, VECTOR = (f"attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}}" for kind in ("cube", "vector"))


def pipe(
    *,
    quant: str = "f32_f16",
    there: str = "",
    head: str = "dir_mask = 1, slot_size = 512, nosplit = true",
    producer: str = "",
    pushed: str = "f32",
    popped: str = "!pto.tile_buf<vec, 16x16xf16>",
    before: str = "",
    buffer: str = "%b",
    pop: str = "%x = pto.tpop_from_aic {{split = 0}} -> {0}",
    split: str = "0",
    kind: str = "acc",
) -> str:
    """A cube function that pushes an accumulator through the fix-pipe to a vector function."""
    words = f"acc_push_epilogue = #pto.acc_push_epilogue<layout = nz2nd, quant = {quant}, relu = no_relu>"
    other = words.replace("quant = " + quant, "quant = " + there) if there else words
    tile = ACC.format(pushed) if kind == "acc" else f"!pto.tile_buf<{kind}, 16x16x{pushed}>"
    return f"""func.func @c(%s: f32) {CUBE} {{
  %b = pto.import_reserved_buffer {{name = "q", peer_func = @v}} -> i32
  %z = arith.constant 0 : i32
  pto.aic_initialize_pipe {{{head}, {words}}} (c2v_consumer_buf = {buffer} : i32) {producer}
  %t = pto.alloc_tile : {tile}
  {before}
  pto.tpush_to_aiv(%t : {tile}) {{split = {split}}}
  return
}}
func.func @v() {VECTOR} {{
  %b = pto.reserve_buffer {{name = "q", size = 8192, location = #pto.address_space<vec>, auto = true}} -> i32
  pto.aiv_initialize_pipe {{{head}, {other}}} (c2v_consumer_buf = %b : i32)
  {pop.format(popped)}
  pto.tfree_from_aic {{split = 0}}
  return
}}
"""


def rules(text: str, name: str = "a5") -> set[str]:
    parsed = parse_module(text)
    assert not list(parsed.diagnostics)
    return {d.rule for d in verify(parsed.module, target(name), assembler=True)}


def test_a_sound_pipe_has_no_findings() -> None:
    assert rules(pipe()) == set()
    assert rules(pipe(), "a2a3") == set()
    scalar = pipe(quant="deqf16_scalar", pushed="i32", before="pto.set_quant_scalar(%s : f32) {id = 0}")
    assert rules(scalar) == set()


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("FX-1", {"head": "dir_mask = 1, slot_size = 512"}),
        ("FX-1", {"producer": "{subBlockId = 1 : i32}"}),
        ("FX-1", {"buffer": "%z"}),
        ("FX-1", {"split": "1"}),
        ("FX-2", {"quant": "f32_f15"}),
        ("FX-2", {"there": "f32_bf16"}),
        ("FX-3", {"popped": "!pto.tile_buf<vec, 16x16xf32>"}),
        ("FX-3", {"popped": "!pto.tile_buf<vec, 16x16xf16, blayout=col_major>"}),
        ("FX-3", {"popped": "!pto.tile_buf<vec, 16x32xf16>"}),
        ("FX-3", {"pushed": "i32"}),
        ("FX-3", {"kind": "mat"}),
        ("FX-3", {"pop": ""}),
        ("FX-4", {"quant": "deqf16_scalar", "pushed": "i32"}),
        ("FX-4", {"before": "pto.set_quant_scalar(%s : f32) {id = 0}"}),
        ("FX-4", {"before": "pto.set_quant_scalar(%s : f32) {id = 1}"}),
        (
            "FX-4",
            {
                "quant": "deqf16_scalar",
                "pushed": "i32",
                "before": "%h = arith.constant 1.0 : f16 pto.set_quant_scalar(%h : f16) {id = 0}",
            },
        ),
    ],
)
def test_broken_pipes(rule: str, changes: dict[str, str]) -> None:
    assert rule in rules(pipe(**changes))


def test_quantisations_of_a5() -> None:
    text = pipe(quant="qs322bf16_pre_scalar", pushed="i32", popped="!pto.tile_buf<vec, 16x16xbf16>")
    text = text.replace("  pto.tpush", "  pto.set_quant_scalar(%s : f32) {id = 0}\n  pto.tpush")
    assert rules(text) == set()
    assert rules(text, "a2a3") == {"FX-2"}


SLOT = "!pto.tensor_view<16x32xf32>"


def tensors(entry: str = SLOT, slot: str = SLOT, size: int = 2048, more: str = "") -> str:
    return f"""func.func @c(%g: {slot}, %e: {entry}) {CUBE} {{
  pto.aic_initialize_pipe {{dir_mask = 1, slot_size = {size}{more}}} (gm_slot_tensor = %g : {slot})
  pto.tpush_to_aiv(%e : {entry}) {{split = 0}}
  return
}}
"""


def test_tensors_as_entries() -> None:
    assert rules(tensors()) == set()
    assert rules(tensors(size=4096)) == set()
    assert rules(tensors(size=1024)) == {"PI-2"}
    assert rules(tensors(more=", local_slot_num = 1")) == {"PI-2"}
    assert rules(tensors(entry="!pto.tensor_view<16x16xf32>")) == {"PI-9"}
    assert rules(tensors(entry="!pto.tensor_view<16x32xf16>")) == {"PI-9"}
