"""Instructions on vector registers under observation: what they mean may depend on the types of the registers."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize

from ..isa.vector.programs import minimal


@pytest.mark.parametrize("name", ["vadd", "vsub", "vmul", "vdiv", "vmax", "vmin", "vor"])
def test_two_registers(name: str) -> None:
    module = parse_module(minimal().replace("pto.vadd", f"pto.{name}"), "k.pto").module
    report = sanitize(module, "a5", [np.ones(1024, np.float32), np.zeros(1024, np.float32)])
    assert report.ran
    assert report.clean, str(report)
