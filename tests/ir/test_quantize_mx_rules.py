"""What the assembler asks of tquant.mx: texts that are sound, and what breaks them."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.ir.verify import verify
from ptokit.targets import target

SOUND: dict[str, str] = {
    "src": "16x64xf32",
    "dst": "16x64xi8",
    "exp": "1x32xui8",
    "max": "1x32xf32",
    "scaling": "1x64xf32, valid=1x32",
    "words": "quant_type = #pto<quant_type MXFP8>",
}
DOWN = {
    "src": "64x32xf32",
    "dst": "64x32xi8",
    "exp": "2x32xui8",
    "max": "2x32xf32",
    "scaling": "2x32xf32",
    "words": "quant_type = #pto<quant_type MXFP8>, grpAxis = #pto<mx_group_axis axis0>",
}
PAIRS = {
    "src": "16x64xbf16",
    "dst": "16x32x!pto.f4E2M1x2",
    "exp": "1x32xui8",
    "max": "1x32xbf16",
    "scaling": "1x128xbf16, valid=1x32",
    "words": "quant_type = #pto<quant_type MXFP4_E2M1>",
}


def rules(tiles: dict[str, str]) -> set[str]:
    types = {name: f"!pto.tile_buf<vec, {t}>" for name, t in tiles.items() if name != "words"}
    outs = ["dst", "exp", "max", "scaling"]
    made = "".join(f"  %{name} = pto.alloc_tile : {t}\n" for name, t in types.items())
    statement = f"pto.tquant.mx ins(%src : {types['src']}) outs({', '.join('%' + n for n in outs)} : "
    statement += f"{', '.join(types[n] for n in outs)}) {{{tiles['words']}}}"
    parsed = parse_module(f"func.func @k() {{\n{made}  {statement}\n  return\n}}\n", target=target("a5"))
    assert not list(parsed.diagnostics)
    return {d.rule for d in verify(parsed.module, target("a5"), assembler=True)}


@pytest.mark.parametrize("tiles", [SOUND, DOWN, PAIRS], ids=["along", "down", "pairs"])
def test_sound_texts(tiles: dict[str, str]) -> None:
    assert rules(tiles) == set()


@pytest.mark.parametrize(
    ("rule", "tiles", "changes"),
    [
        ("MXQ-1", SOUND, {"max": "1x32xf16"}),
        ("MXQ-1", SOUND, {"dst": "16x64xi16"}),
        ("MXQ-1", SOUND, {"words": "quant_type = #pto<quant_type INT8_SYM>"}),
        ("MXQ-1", SOUND, {"words": SOUND["words"] + ", interleave = true"}),
        ("MXQ-1", PAIRS, {"src": "16x64xf32"}),
        ("MXQ-1", SOUND, {"src": "16x64xf32, blayout=col_major"}),
        ("MXQ-2", SOUND, {"exp": "1x64xui8"}),
        ("MXQ-2", SOUND, {"scaling": "1x32xf32"}),
        ("MXQ-2", SOUND, {"src": "16x96xf32, valid=16x64"}),
        ("MXQ-2", DOWN, {"src": "48x32xf32", "dst": "48x32xi8"}),
        ("MXQ-2", DOWN, {"exp": "2x64xui8, valid=2x32"}),
        ("MXQ-2", PAIRS, {"dst": "16x64x!pto.f4E2M1x2"}),
    ],
)
def test_broken_texts(rule: str, tiles: dict[str, str], changes: dict[str, str]) -> None:
    assert rules({**tiles, **changes}) == {rule}
