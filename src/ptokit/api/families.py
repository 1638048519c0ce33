"""Rules in groups that belong together, by the beginning of their ids."""

from __future__ import annotations

from collections.abc import Iterable

from ptokit.diagnostics import Rule

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
