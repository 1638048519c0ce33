"""The target that a module states (assembly 2.1)."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Severity
from ptokit.ir.stated import stated_target
from ptokit.targets import A2A3


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
