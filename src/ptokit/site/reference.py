"""The reference as Markdown pages, made from what the tool knows, with links to the sources it cites.

A chapter of the documentation, ``explanation/load-store.md``, has numbered headings; the number of a citation is that
of its heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

from ptokit.api.findings import load_catalogue
from ptokit.api.instruction import InstructionPage, by_family, instructions_by_family, isa
from ptokit.api.parts import Part, Table, Words
from ptokit.api.rule import RulePage, explain
from ptokit.api.target_page import side_by_side
from ptokit.diagnostics import CATALOGUE, catalogue
from ptokit.isa.table import TABLE
from ptokit.targets import TARGETS
from ptokit.types.dtypes import DTYPES

# Citations of sources as docstrings and rules write them, such as ``load-store 3.6``, and the section that each
# names.


SOURCES_FOLDER = "explanation"
_HEADING = re.compile(r"#{2,4} ((\d+(?:\.\d+)*)\.? .*)")
_ENTRIES = re.compile(r"\| ((?:[A-Z]-?\d+(?:, | to )?)+) \|")
_NUMBER = r"(?:\d+(?:\.\d+)*|[A-Z]-?\d+)"


class Cited(NamedTuple):
    """A number in a text that names a section: where it stands, with the name of its chapter if that precedes it."""

    start: int
    end: int
    chapter: str
    number: str


def citations(text: str, chapters: Iterable[str]) -> Iterator[Cited]:
    """Every section that `text` names: 3, 5 and 7 of ``load-store 3, 5 to 7``.

    A number belongs to the chapter before it where only commas, ``and``, ``to`` and ``part`` are between. An entry of
    the list of disagreements, ``T-01``, counts as a number.
    """
    named = "|".join(sorted(map(re.escape, chapters), key=len, reverse=True))
    first = re.compile(rf"(?<![\w/.-])({named})(?:,? (?:part|section|sections))? ({_NUMBER})(?![\w-])")
    further = re.compile(rf"(?:,? and |, | to |–|-)({_NUMBER})(?![\w-])")
    for found in first.finditer(text):
        yield Cited(found.start(), found.end(), found[1], found[2])
        end = found.end()
        while more := further.match(text, end):
            yield Cited(more.start(1), more.end(), found[1], more[1])
            end = more.end()


def slug(title: str) -> str:
    """The anchor that MyST gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


@cache
def sections(docs: Path) -> Mapping[str, Mapping[str, str]]:
    """The chapters of the documentation, and the anchors of their sections by number, and by entry of their tables."""
    found = {}
    for page in sorted((docs / SOURCES_FOLDER).glob("*.md")):
        anchors: dict[str, str] = {}
        at = None
        for line in page.read_text(encoding="utf-8").split("\n"):
            if heading := _HEADING.fullmatch(line):
                at = anchors[heading[2]] = slug(heading[1])
            elif at is not None and (entries := _ENTRIES.match(line)):
                anchors.update(dict.fromkeys(_entries(entries[1]), at))
        if anchors:
            found[page.stem] = anchors
    return found


def _entries(text: str) -> Iterator[str]:
    """``D-02, D-05 to D-07``, one by one."""
    for part in text.split(", "):
        first, _, last = part.partition(" to ")
        letter, start = re.fullmatch(r"(\D+)(\d+)", first).groups()  # type: ignore[union-attr]
        for number in range(int(start), int(re.sub(r"\D", "", last or first)) + 1):
            yield f"{letter}{number:0{len(start)}d}"


def section(docs: Path, cited: Cited) -> str | None:
    """The page and anchor of a citation below the documentation, ``.md``; None where no heading has its number."""
    anchor = sections(docs).get(cited.chapter, {}).get(cited.number)
    return None if anchor is None else f"{SOURCES_FOLDER}/{cited.chapter}.md#{anchor}"


# The parts of a page, which a terminal shows in its own way, as Markdown.


class Link(Protocol):
    """Where a page that is written links to, relative to itself."""

    def __call__(self, name: str) -> str | None:
        """The page of a rule or an instruction; None for what is neither."""

    def cited(self, text: str) -> Iterable[tuple[int, int, str]]:
        """Where in `text` sections of this documentation are cited, from and to, and their pages."""


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~&])")
_NAME = re.compile(r"[A-Za-z][\w.]*(?:-[A-Za-z0-9]+)*")


def escaped(text: str) -> str:
    """`text` as it stands, whatever Markdown makes of its characters."""
    return _SPECIAL.sub(r"\\\1", text)


def linked(text: str, link: Link) -> str:
    """`text`, with a link at each name that has a page. Names of lower case are words, too, and get none."""
    names = ((n.start(), n.end(), link(n[0]) if n[0].upper() == n[0] else None) for n in _NAME.finditer(text))
    out, end = [], 0
    for start, stop, page in sorted([*link.cited(text), *(n for n in names if n[2] is not None)]):
        if start >= end:
            out += [escaped(text[end:start]), f"[{escaped(text[start:stop])}]({page})"]
            end = stop
    return "".join([*out, escaped(text[end:])])


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown already."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(lines: Iterable[str], language: str = "text") -> str:
    """A block of code."""
    return "\n".join([f"```{language}", *lines, "```"])


def markdown(parts: Iterable[Part], link: Link) -> str:
    """Parts as Markdown: titles become headings, facts a table, indented lines and code blocks."""
    out: list[str] = []
    facts: list[list[str]] = []
    block: list[str] = []
    quoted = False  # whether the block is code even where it has one line

    def flush() -> None:
        nonlocal quoted
        if facts:
            out.append(table(("", ""), facts))
            facts.clear()
        if block:
            out.append(code(block, _language(block)) if quoted or len(block) > 1 else linked(block[0].strip(), link))
            block.clear()
        quoted = False

    for part in parts:
        if isinstance(part, Table):
            flush()
            code_in = {i for i, header in enumerate(part.headers) if header in _CODE}
            rows = [[_code(c) if i in code_in else linked(c, link) for i, c in enumerate(row)] for row in part.rows]
            out.append(table([escaped(h) for h in part.headers], rows))
        elif part.code:
            block.append(f"{part.first[4:]}{part.text}")
            quoted = True
        elif part.strong and not part.text:
            flush()
            out.append(f"## {escaped(part.strong)}")
        elif part.strong:
            flush()
            out.append(f"`{part.strong}` {linked(part.text.strip(), link)}")
        elif part.first:
            facts.append([escaped(part.first.strip()), linked(part.text, link)])
        elif part.indent:
            block.append(part.text)
        else:
            flush()
            if part.text:
                out.append(linked(part.text, link))
    flush()
    return "\n\n".join(out) + "\n"


_CODE = {"text", "text key"}  # columns whose cells are text of a program


def _code(cell: str) -> str:
    return f"`{cell}`".replace("|", "\\|") if cell.strip(" -") else escaped(cell)


def _language(lines: Sequence[str]) -> str:
    return "python" if lines[0].startswith(("@pto.", "def ", "with ")) else "text"


# The reference as Markdown pages: one of every instruction, rule and target, made from what the tool knows.


FOLDER = "reference"
BUGS = "bugs"
LISTS = ("instructions", "rules", "targets", "types")
_SHOWN = 8  # instructions that the page of a rule names by itself


def pages(docs: Path) -> Iterator[tuple[str, str]]:
    """Path below the documentation and text of every page of the reference; `docs` has the written pages."""
    instructions, rules = isa(), explain()
    link = Links({page.name for page in instructions}, {page.id for page in rules}, docs, "../..", "..")
    for instruction in instructions:
        yield f"{FOLDER}/instructions/{instruction.name}.md", _instruction(instruction, link)
    bugs = reported(docs)
    for rule in rules:
        yield f"{FOLDER}/rules/{rule.id}.md", _rule(rule, link, bugs.get(rule.id, ()))
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


def reported(docs: Path) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Title and place (``bugs/order-and-flags.md#…``) of the reported bugs that a rule finds, by rule."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for page in sorted((docs / BUGS).glob("*.md")):
        for part in page.read_text(encoding="utf-8").split("\n## ")[1:]:
            title = part.split("\n", 1)[0]
            for output in re.findall(r"^```output\n(.*?)^```$", part, re.MULTILINE | re.DOTALL):
                for rule in re.findall(r"^([A-Z0-9-]+) - ", output, re.MULTILINE):
                    found.setdefault(rule, {})[title, f"{BUGS}/{page.name}#{slug(title)}"] = None
    return {rule: list(places) for rule, places in found.items()}


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


def _rule(page: RulePage, link: Links, bugs: Iterable[tuple[str, str]]) -> str:
    parts = (part for part in page.parts() if not (isinstance(part, Words) and part.first == "page"))  # this one
    text = f"{_OFF_THE_TREE}# {page.id}\n\n{markdown(parts, link)}"
    if len(page.used_by) > _SHOWN:
        names = ", ".join(f"[{escaped(name)}]({link(name)})" for name in page.used_by)
        text += f"\n## Instructions\n\n{names}\n"
    if bugs:
        text += "\n## Reported bugs that it finds\n\n"
        text += "".join(f"- [{escaped(title)}]({link.top}/{place})\n" for title, place in bugs)
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
