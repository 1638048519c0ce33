"""What instructions access beyond the valid regions of their operands."""

from __future__ import annotations

import pytest

from ptokit.isa.table import TABLE

from .fake import site
from .rule_cases import F, I


@pytest.mark.parametrize(("name", "sources"), [("TREM", ("src0", "src1")), ("TREMS", ("src",))])
def test_the_i32_remainder_of_a2a3_converts_its_sources_in_place(name: str, sources: tuple[str, ...]) -> None:
    """compute-elementwise 6."""

    def written(on: str, tile: object) -> set[str]:
        s = site(name, on, **dict.fromkeys(("dst", *sources), tile))
        return {access.operand for access in TABLE[name].footprint(s) if access.write}

    assert written("a2a3", I) == {"dst", *sources}
    assert written("a2a3", F) == written("a5", I) == {"dst"}
