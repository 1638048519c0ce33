"""What a reader can open for the source of a fact: public documents, and pages of this documentation."""

from __future__ import annotations

PAGES: dict[str, str] = {
    "types-and-layouts": "pto-isa: docs/coding/Tile.md, docs/coding/GlobalTensor.md, include/pto/common",
    "load-store": "pto-isa: docs/isa/TLOAD.md, docs/isa/TSTORE.md, include/pto/npu",
    "move-gather-scatter": "pto-isa: docs/isa/TMOV.md, docs/isa/MGATHER.md, docs/isa/MSCATTER.md, include/pto/npu",
    "memory-model-and-sync": "pto-isa: docs/coding/Event.md, docs/machine/abstract-machine.md",
    "compute-elementwise": "pto-isa: docs/isa (a page for each instruction), include/pto/npu",
    "compute-reduce-matrix": "pto-isa: docs/isa (a page for each instruction), include/pto/npu",
    "compute-layout-irregular": "pto-isa: docs/isa (a page for each instruction), include/pto/npu",
    "vector-path": "PTOAS: docs/vpto-spec.md, docs/isa",
    "micro-isa": "PTOAS: docs/vpto-spec.md, docs/isa",
    "assembly": "PTOAS: docs/PTO_IR_manual.md, lib/PTO/IR/PTO.cpp",
    "PTO.cpp": "PTOAS: lib/PTO/IR/PTO.cpp",
    "PTOOps.td": "PTOAS: include/PTO/IR/PTOOps.td",
    "of the library": "pto-isa: include/pto/npu",
    "library headers": "pto-isa: include/pto/npu",
    "planner of the reference assembler": "PTOAS: lib/PTO/Transforms",
    "tload": "pto-isa: docs/isa/TLOAD.md",
    "tstore": "pto-isa: docs/isa/TSTORE.md",
    "tmov": "pto-isa: docs/isa/TMOV.md",
}
"""Documents by the word that sources begin with; paths are those of the repositories. docs/references.md has more."""


def pages_of(source: str) -> list[str]:
    """The documents behind a source, each once; none for pages that the source itself names."""
    return list(dict.fromkeys(page for word, page in PAGES.items() if word in source))
