"""Rules and instructions in groups that belong together."""

from __future__ import annotations

from collections.abc import Iterable

from ptokit.diagnostics import Rule
from ptokit.isa.modules import MODULES
from ptokit.isa.table import TABLE, Instr

FAMILIES: dict[str, tuple[str, ...]] = {
    "Tile types": ("TILE", "SA", "TY"),
    "Placement in buffers": ("ADDR", "SPACE", "UB", "L1", "L0A", "L0B", "L0C", "BIAS", "FB", "SCALE"),
    "Global memory": ("GM",),
    "Loads and stores alike": ("LS-COM",),
    "TLOAD": ("LOAD",),
    "TSTORE, TSTORE_FP": ("STORE",),
    "TPREFETCH, TPREFETCH_ASYNC": ("PREF", "PREFA"),
    "TMOV, TMOV_FP": ("TMOV", "MO", "MF"),
    "TEXTRACT": ("EXTR", "EX"),
    "TINSERT": ("INS", "IN"),
    "MGATHER": ("GATHER", "GA"),
    "MSCATTER": ("SCATTER", "SC"),
    "Elementwise instructions": ("EW",),
    "TCVT": ("TCVT", "CV"),
    "Reductions and expansions alike": ("CMP",),
    "Row reductions": ("RRED", "RR"),
    "Column reductions": ("CRED", "CR"),
    "Arg reductions": ("ARG",),
    "Row and column expansions": ("REXP", "CEXP"),
    "Partial operations and pair sums": ("PART", "PAIR"),
    "Matrix products": ("MAT",),
    "Flags, barriers and tokens": ("FLAG", "XFLAG", "PIPE", "TSYNC", "FL", "BA", "EV", "SY", "TS", "BF"),
    "Views, tiles and pointers in text": ("MV", "PV", "AL", "TA", "SS", "VS", "RS", "BC", "AP", "LS"),
    "Functions": ("FN",),
    "Reading text": ("TEXT",),
    "Python kernels": ("LANG",),
    "Launch and execution": ("RUN",),
    "The command line": ("CLI", "CONF", "IGNORE"),
}
"""Title -> beginnings of ids, up to a hyphen; the longest one that fits decides."""

_TITLES = {prefix: title for title, prefixes in FAMILIES.items() for prefix in prefixes}


def family(rule: str) -> str:
    """Title of the group that a rule id belongs to; what stands before the first hyphen if there is none."""
    parts = rule.split("-")
    beginnings = ("-".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((_TITLES[b] for b in beginnings if b in _TITLES), parts[0])


def by_family(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Rules by the title of their group, in the order of `FAMILIES`, then others by title."""
    groups: dict[str, list[Rule]] = {title: [] for title in FAMILIES}
    for rule in rules:
        groups.setdefault(family(rule.id), []).append(rule)
    known = {title: groups.pop(title) for title in FAMILIES}
    return {title: group for title, group in {**known, **dict(sorted(groups.items()))}.items() if group}


INSTRUCTIONS: dict[str, str] = {
    "Loads and stores": "transfer",
    "Elementwise": "compute.elementwise compute.unary compute.fused compute.partial",
    "Elementwise with a number": "compute.scalar_forms compute.fill",
    "Comparison and selection": "compute.compare",
    "Conversion and quantisation": "compute.convert compute.quantize",
    "Reduce rows or columns": "compute.reduce compute.arg",
    "Expand rows or columns": "compute.expand",
    "Matrix products": "cube.matmul cube.gemv cube.modes",
    "Moves between buffers": "move irregular.transpose irregular.img2col",
    "Gather, scatter, sort, pack, fill": "irregular",
    "Flags, barriers, tokens": "order",
    "Tiles, views, pointers, numbers": "scalar",
    "Cores and devices": "exchange",
    "Vector registers: memory": "vector.access vector.dma",
    "Vector registers: computation": "vector",
    "Logical vectors": "vmi",
    "Threads": "simt",
    "Cube unit, by its own operations": "cube",
    "Others": "",
}
"""Title -> modules of instructions, or the beginnings of their names; the longest one that fits decides."""


def instructions_by_family() -> dict[str, list[Instr]]:
    """All instructions by the title of their group, in the order of `INSTRUCTIONS`; each group by name."""
    beginnings = {word: title for title, words in INSTRUCTIONS.items() for word in words.split() or [""]}
    groups: dict[str, list[Instr]] = {title: [] for title in INSTRUCTIONS}
    for line in MODULES.split("\n"):
        module, _, names = line.partition(" ")
        title = beginnings[max((word for word in beginnings if module.startswith(word)), key=len)]
        groups[title] += [TABLE[name] for name in names.split() if name in TABLE]
    return {
        title: sorted({i.name: i for i in group}.values(), key=lambda i: (i.name[:1].islower(), i.name))
        for title, group in groups.items()
        if group
    }
