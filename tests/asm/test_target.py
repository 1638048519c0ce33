"""The target that a module states (assembly 2.1)."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Severity
from ptokit.ir.functions import stated_target
from ptokit.targets import A2A3, TARGETS, Target

from .reading import body


@pytest.mark.parametrize("head", ['module attributes {pto.target_arch = "A9"} {', '"builtin.module"() ({'])
def test_another_architecture_is_read_with_the_rules_of_a2a3(head: str) -> None:
    tail = "}" if head.startswith("module") else '}) {pto.target_arch = "A9"} : () -> ()'
    result = parse_module(f"{head}\n{tail}")
    place = (1, 38) if head.startswith("module") else (2, 23)
    assert [(d.rule, d.severity, d.location.line, d.location.column) for d in result.diagnostics] == [
        ("TEXT-ARCH", Severity.WARNING, *place)
    ]
    assert stated_target(result.module) is A2A3
    assert not parse_module(f"{head}\n{tail}", target=A2A3).diagnostics


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_left_tiles_have_the_layout_of_the_stated_target(target: Target) -> None:
    text = "func.func @f() { %t = pto.alloc_tile : !pto.tile_buf<left, 16x16xf16> return }"
    stated = parse_module(f'module attributes {{pto.target_arch = "{target.name}"}} {{ {text} }}').module
    chosen = parse_module(f"module {{ {text} }}", target=target).module
    kind, text = "!pto.tile_buf<left, 16x16xf16>", text.replace("!pto.tile_buf<left, 16x16xf16>", "!left")
    named = parse_module(f'!left = {kind}\nmodule attributes {{pto.target_arch = "{target.name}"}} {{ {text} }}').module
    layouts = [body(module).ops[0].result.type.blayout for module in (stated, chosen, named)]  # type: ignore[union-attr]
    assert layouts == [target.left_blayout] * 3
