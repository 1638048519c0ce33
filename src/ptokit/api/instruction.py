"""`isa`: the reference of instructions, made from the instruction table, in families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import overload

from ptokit.asm.printing.forms import text_forms
from ptokit.diagnostics import Rule
from ptokit.isa.reference import (
    all_rules,
    attr_rows,
    drained_rows,
    facts,
    mode_rows,
    operand_rows,
    pipe_text,
    symbols,
    together_rows,
    type_rows,
)
from ptokit.isa.table import BY_TEXT, MODULES, TABLE, Instr
from ptokit.records import dataclass

from .examples import Example, example_of, python_example
from .parts import Part, Table, Words, html, pages_of, plain, unknown

# Rules and instructions in groups that belong together.


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
    for line in MODULES:
        module, _, names = line.partition(" ")
        title = beginnings[max((word for word in beginnings if module.startswith(word)), key=len)]
        groups[title] += [TABLE[name] for name in names.split() if name in TABLE]
    return {
        title: sorted({i.name: i for i in group}.values(), key=lambda i: (i.name[:1].islower(), i.name))
        for title, group in groups.items()
        if group
    }


# `isa`: the reference of instructions, made from the instruction table.


@dataclass(frozen=True)
class InstructionPage:
    """The page of an instruction.

    ``name``: of the C++ API and in Python. ``text``: in `.pto` text. ``facts``: what there is to say in a word.
    ``forms``: how it is written, by text form. ``example``: a function with it that reads and checks, and its target;
    None where there is none. ``python``: the lines of a kernel with it; none where Python has no way to write it.
    ``modes``: rows of values and what they do, by attribute. ``together``: the element types that operands may have
    together, headers first. ``drained``: what accumulators become.
    ``symbols``: the letters that the rules use. The others are rows of the page's tables.
    """

    name: str
    text: str
    signature: str
    summary: str
    pipe: str
    facts: dict[str, str]
    forms: dict[str, str]
    example: Example | None
    python: list[str]
    operands: list[tuple[str, ...]]
    attributes: list[tuple[str, ...]]
    modes: dict[str, list[tuple[str, ...]]]
    types: list[tuple[str, ...]]
    together: list[tuple[str, ...]]
    drained: list[tuple[str, ...]]
    rules: list[tuple[str, str, str]]
    symbols: dict[str, str]

    def parts(self) -> Iterator[Part]:
        """What the terminal shows."""
        yield Words(f"    {self.text}", strong=self.signature)
        yield Words(self.summary)
        yield Words()
        for word, text in self.facts.items():
            yield Words(text, first=word, indent=9)
        if self.example is not None:
            yield from (Words(), Words(strong=f"Example, {self.example.target}"))
            yield Words(self.example.statement, indent=4, first="    ", code=True)
        if self.python:
            yield from (Words(), Words(strong="In Python"))
            yield from (Words(line.lstrip(), indent=4, first="    " + _margin(line), code=True) for line in self.python)
        tables = (
            Table(("form", "text"), list(self.forms.items())),
            Table(("operand", "direction", "kind", ""), self.operands),
            Table(("attribute", "text key", "values", "default"), self.attributes),
            *(Table((name, "does"), rows) for name, rows in self.modes.items()),
            Table(("target", "element types"), self.types),
            *([Table(self.together[0], self.together[1:])] if self.together else []),
            Table(("targets", "accumulator", "words", "becomes"), self.drained),
            Table(("rule", "targets", "what must hold"), self.rules),
        )
        for table in tables:
            if table.rows:
                yield Words()
                yield table
        if self.symbols:
            yield Words()
        for symbol, text in self.symbols.items():
            yield Words(text, first=symbol, indent=9)

    def __str__(self) -> str:
        return plain(self.parts())

    def _repr_html_(self) -> str:
        return html(self.parts())


@overload
def isa(name: str) -> InstructionPage: ...
@overload
def isa(name: None = None) -> list[InstructionPage]: ...
def isa(name: str | None = None) -> InstructionPage | list[InstructionPage]:
    """The page of an instruction, by its C++ or text name in any case; without a name those of all, sorted.

    Raises `UsageError` for a name that there is not.
    """
    if name is None:
        return [page_of(instr) for instr in instructions()]
    instr = named(name)
    if instr is None:
        raise unknown("instruction", name, TABLE, "ptokit isa", "name")
    return page_of(instr)


def instructions() -> list[Instr]:
    """All instructions, those on tiles first, each group by name."""
    return sorted(TABLE.values(), key=lambda instr: (instr.name[:1].islower(), instr.name))


def listing(search: str = "") -> Iterator[Part]:
    """One line per instruction, by family; ``search``: a word in its family, name or summary."""
    word = search.lower()
    width = max(len(name) for name in TABLE)
    groups = instructions_by_family()
    for title, group in groups.items():
        found = [i for i in group if word in f"{title} {i.name} pto.{i.text} {i.summary}".lower()]
        if found:
            yield Words(strong=title)
            yield from (Words(i.summary, first=f"  {i.name}", indent=width + 4) for i in found)
            yield Words()


def named(name: str) -> Instr | None:
    """The instruction with this C++ or text name, in any case."""
    by_name = {key.lower(): instr for key, instr in [*BY_TEXT.items(), *TABLE.items()]}
    return by_name.get(name.lower().removeprefix("pto."))


def _facts(instr: Instr) -> dict[str, str]:
    """What there is to say in a word, with the documents to read after the source."""
    found = {}
    for word, text in facts(instr).items():
        found[word] = text
        if word == "source" and pages_of(text):
            found["to read"] = "; ".join(pages_of(text))
    return found


def page_of(instr: Instr) -> InstructionPage:
    """The page of one instruction."""
    results = ", ".join(result.name for result in instr.produces)
    example = example_of(instr)
    headers, together = together_rows(instr)
    return InstructionPage(
        name=instr.name,
        text=f"pto.{instr.text}",
        signature=f"{results} = " * bool(results) + instr.signature,
        summary=instr.summary,
        pipe=pipe_text(instr),
        facts=_facts(instr),
        forms=text_forms(instr),
        example=example,
        python=[] if example is None else python_example(instr, example),
        operands=operand_rows(instr),
        attributes=attr_rows(instr),
        modes=mode_rows(instr),
        types=type_rows(instr),
        together=[headers, *together] if together else [],
        drained=drained_rows(instr),
        rules=[(r.id, " ".join(r.targets), r.what) for r in all_rules(instr)],
        symbols=symbols(r.what for r in all_rules(instr)),
    )


def _margin(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()))
