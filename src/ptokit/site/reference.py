"""The reference as Markdown pages: one of every instruction, rule and target, made from what the tool knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ptokit.api.findings import load_catalogue
from ptokit.api.instruction import InstructionPage, by_family, instructions_by_family, isa
from ptokit.api.parts import Words
from ptokit.api.rule import RulePage, explain
from ptokit.api.target_page import side_by_side
from ptokit.diagnostics import CATALOGUE, catalogue
from ptokit.isa.table import TABLE
from ptokit.targets import TARGETS
from ptokit.types.dtypes import DTYPES

from .citations import citations, section, sections
from .markdown import code, escaped, markdown, table

FOLDER = "reference"
LISTS = ("instructions", "rules", "targets", "types")
_SHOWN = 8  # instructions that the page of a rule names by itself


def pages(docs: Path) -> Iterator[tuple[str, str]]:
    """Path below the documentation and text of every page of the reference; `docs` has the written pages."""
    instructions, rules = isa(), explain()
    link = Links({page.name for page in instructions}, {page.id for page in rules}, docs, "../..", "..")
    for instruction in instructions:
        yield f"{FOLDER}/instructions/{instruction.name}.md", _instruction(instruction, link)
    for rule in rules:
        yield f"{FOLDER}/rules/{rule.id}.md", _rule(rule, link)
    yield f"{FOLDER}/instructions.md", _all_instructions()
    yield f"{FOLDER}/rules.md", _all_rules()
    yield f"{FOLDER}/targets.md", _targets(Links(link.instructions, link.rules, docs, "..", "."))
    yield f"{FOLDER}/types.md", _types()


class Links:
    """Where a page links to, from which ``top`` leads to the top of the documentation and ``here`` to the reference."""

    def __init__(self, instructions: set[str], rules: set[str], docs: Path, top: str, here: str) -> None:
        self.instructions, self.rules, self.docs, self.top, self.here = instructions, rules, docs, top, here

    @classmethod
    def from_pages(cls, docs: Path) -> Links:
        """Those of written pages, from the top of the documentation."""
        load_catalogue()
        return cls(set(TABLE), set(CATALOGUE), docs, ".", FOLDER)

    def __call__(self, name: str) -> str | None:
        """The page of a rule or an instruction, and of what lists them: ``reference/targets``."""
        if name.removeprefix(f"{FOLDER}/") in LISTS:
            return f"{self.here}/{name.removeprefix(f'{FOLDER}/')}.md"
        kind = "rules" if name in self.rules else "instructions" if name in self.instructions else None
        return None if kind is None else f"{self.here}/{kind}/{name}.md"

    def cited(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The sections that `text` cites: from, to, and the page."""
        for found in citations(text, sections(self.docs)):
            page = section(self.docs, found)
            if page is not None:
                yield found.start, found.end, f"{self.top}/{page}"


def users(docs: Path) -> Mapping[str, Sequence[str]]:
    """Rules and instructions by the section that is their source, as ``explanation/load-store.md#3-tload``."""
    load_catalogue()
    found: dict[str, dict[str, None]] = {}
    sources = [(name, rule.source) for name, rule in CATALOGUE.items()]
    sources += [(name, instruction.source) for name, instruction in TABLE.items()]
    for name, source in sorted(sources):
        for cited in citations(source, sections(docs)):
            place = section(docs, cited)
            if place is not None:
                found.setdefault(place, {})[name] = None
    return {place: list(names) for place, names in found.items()}


_OFF_THE_TREE = "---\norphan: true\n---\n\n"  # 1800 entries beside every page would hide the others


def _instruction(page: InstructionPage, link: Links) -> str:
    return f"{_OFF_THE_TREE}# {escaped(page.name)}\n\n{markdown(page.parts(), link)}"


def _rule(page: RulePage, link: Links) -> str:
    parts = (part for part in page.parts() if not (isinstance(part, Words) and part.first == "page"))  # this one
    text = f"{_OFF_THE_TREE}# {page.id}\n\n{markdown(parts, link)}"
    if len(page.used_by) > _SHOWN:
        names = ", ".join(f"[{escaped(name)}]({link(name)})" for name in page.used_by)
        text += f"\n## Instructions\n\n{names}\n"
    return text


def _all_instructions() -> str:
    parts = ["# Instructions", "Every page says what `ptokit isa NAME` says: operands, types, pipe, rules, an example."]
    for title, group in instructions_by_family().items():
        rows = [(f"[{escaped(i.name)}](instructions/{i.name}.md)", escaped(i.summary)) for i in group]
        parts += [f"## {title}", table(("instruction", "does"), rows)]
    return "\n\n".join(parts) + "\n"


def _all_rules() -> str:
    parts = ["# Rules", "Every page says what `ptokit explain RULE-ID` says: what must hold, why, what is accepted."]
    for title, group in by_family(catalogue()).items():
        rows = [(f"[{r.id}](rules/{r.id}.md)", ", ".join(r.targets), escaped(r.what)) for r in group]
        parts += [f"## {escaped(title)}", table(("rule", "targets", "what must hold"), rows)]
    return "\n\n".join(parts) + "\n"


def _targets(link: Links) -> str:
    page = side_by_side(list(TARGETS.values()))
    intro = (
        "A target is chosen for every check and run; there is no default. `a2` and `a3` mean `a2a3`. A target that is "
        "like another one has its rules and tables, but for what it says itself. `ptokit targets` prints this page, "
        "`ptokit targets a2a3 a5` what differs between two."
    )
    pictures = [
        f"## {t.title}\n\n![Buffers and pipes of {t.name}](../images/machine-{t.name}.svg)\n"
        for t in TARGETS.values()
        if t.is_device
    ]
    return "\n".join([f"# Targets\n\n{intro}\n\n{markdown(page.parts(), link)}", *pictures])


def _types() -> str:
    rows = [
        (f"`{d.name}`", str(d.bits), f"`{d.text}`", f"`{d.cpp}`", " ".join(f"`{a}`" for a in d.aliases))
        for d in DTYPES.values()
    ]
    return "\n\n".join(
        [
            "# Element types",
            table(("in Python", "bits", "in `.pto`", "in C++", "also read"), rows),
            "`ptokit layout TYPE` shows where each element of a tile of these types lies:",
            code(["ptokit layout 'vec, 32x64xf16, blayout=col_major, slayout=row_major'"], "console"),
        ]
    )
