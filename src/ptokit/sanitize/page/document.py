"""The report of a run, as text, in a notebook and as a page with source, picture, bytes and fix for each finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from ptokit import __version__
from ptokit.diagnostics import Diagnostic, Location, Note, lookup
from ptokit.diagnostics.diagnostic import html_of, text_of
from ptokit.diagnostics.finding import Edit, file_lines
from ptokit.diagnostics.render import link_to, page_of, summary

from ..findings.race import Access, Fix, Race, Witness
from ..outcome import Outcome
from ..simulation.core import Item
from .pictures import byte_maps, lanes

# The page of a run: what was launched, the findings, and for each the source, the picture, the bytes and the fix.


STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
_READ = (
    "Time runs to the right; every item stands as early as the order allows. An arrow leads from a set to the wait "
    "that it ends. Nothing leads from ① to ②: either may come first, or both may run at once."
)
_LEGEND = (
    "<i class='key shared'></i> touched by both, <i class='key touched'></i> by one of them, "
    "<i class='key untouched'></i> by neither"
)
_SCRIPT = """for (const view of document.querySelectorAll('.scroll')) {
  const hits = [...view.querySelectorAll('svg .hit')].map((hit) => hit.getBoundingClientRect());
  if (!hits.length) continue;
  const first = Math.min(...hits.map((hit) => hit.left)), last = Math.max(...hits.map((hit) => hit.right));
  const room = view.clientWidth - (last - first), left = first - view.getBoundingClientRect().left;
  view.scrollLeft += left - Math.max(room / 2, 12);
}"""
"""Opens each picture with the two accesses in view."""

_CONTEXT = 2  # lines shown around one that matters
_NEAR = 4  # lines left out at least


def page(report: Outcome) -> str:
    """One HTML file that needs nothing else."""
    found = list(report.diagnostics)
    title = f"{report.name} on {report.target}"
    words = summary(found) or "no findings"
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}: {escape(words)}</title><style>{STYLE}</style></head><body><main>",
        f"<header><p class='kicker'>ptokit sanitize</p><h1>{escape(report.name)}</h1>",
        f"<p class='verdict {_worst(found)}'>{escape(words)}</p>",
        *(f"<p class='verdict warning'>{escape(str(gap))}</p>" for gap in report.coverage.gaps),
        f"<dl class='launch'>{''.join(_facts(report))}</dl></header>",
    ]
    if len(found) > 1:
        parts.append(f"<nav><ol>{''.join(map(_entry, range(1, len(found) + 1), found))}</ol></nav>")
    for number, diagnostic in enumerate(found, 1):
        parts += _finding(number, diagnostic, report.races.get(diagnostic), report.fixes.get(diagnostic), report.target)
    if report.shuffled is not None:
        parts.append(f"<section><h2>Another order</h2>{_witness(report.shuffled)}</section>")
    parts.append(f"<footer>ptokit {__version__}</footer></main><script>{_SCRIPT}</script></body></html>\n")
    return "".join(parts)


def _facts(report: Outcome) -> Iterator[str]:
    facts = {
        "target": report.target,
        "blocks": str(report.blocks),
        "order of a pipe": report.order,
        "instructions": f"{report.instructions:,}",
        "checked": ", ".join(report.coverage.checked) or "nothing",
    }
    for name, value in facts.items():
        yield f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>"


def _worst(found: Sequence[Diagnostic]) -> str:
    severities = {str(d.severity) for d in found}
    return next((s for s in ("error", "warning") if s in severities), "clean")


def _entry(number: int, d: Diagnostic) -> str:
    where = f"line {d.location.line}" if d.location.line else ""
    return (
        f"<li><a href='#f{number}'><b class='{d.severity}'>{escape(d.rule)}</b> <span class='where'>{where}</span> "
        f"{escape(d.message)}</a></li>"
    )


# --- one finding -----------------------------------------------------------------------------------------------------


def _finding(number: int, d: Diagnostic, race: Race | None, fix: Fix | None, target: str) -> Iterator[str]:
    yield f"<section id='f{number}'><h2><b class='{d.severity}'>{_rule(d.rule)}</b> {escape(d.message)}</h2>"
    yield f"<p class='where'>{escape(str(d.location))}</p>"
    if race is None:
        if d.hint:
            yield f"<p class='hint'>{escape(d.hint)}</p>"
        yield f"<ul>{''.join(map(_note, d.remarks))}</ul>"
        places = {d.location: "●", **{note.location: "○" for note in d.remarks if note.location != d.location}}
        yield f"{source(places, fix.edits if fix is not None else ())}</section>"
        return
    yield _sentence(race)
    if race.timeline and race.first.work is not None and race.second.work is not None:
        marks: dict[Item, tuple[str, str]] = {
            race.first.work: ("①", _doing(race.first)),
            race.second.work: ("②", _doing(race.second)),
        }
        yield f"<h3>What runs when</h3><div class='scroll'>{lanes(race.timeline, marks, target)}</div>"
        yield f"<p class='where'>{_READ}</p>"
    yield f"<h3>The bytes</h3>{byte_maps(race)}<p class='where'>{_LEGEND}</p>"
    yield "<h3>The fix</h3>" if race.fix is not None else "<h3>What helps</h3>"
    yield f"<p class='hint'>{escape(d.hint or '')}</p>"
    places = {race.first.location: "①"}
    places[race.second.location] = "①②" if race.second.location in places else "②"
    yield source(places, race.fix.edits if race.fix is not None else ())
    if race.witness is not None:
        yield f"<h3>Seen happening</h3>{_witness(race.witness)}"
    why = lookup(d.rule).why
    if why:
        yield f"<p class='why'>{escape(why)}</p>"
    yield "</section>"


def _rule(id: str) -> str:
    page = link_to(page_of(id))
    return escape(id) if page is None else f"<a href='{escape(page, quote=True)}'>{escape(id)}</a>"


def _note(note: Note) -> str:
    where = f" <span class='where'>(line {note.location.line})</span>" if note.location.line else ""
    return f"<li>{escape(note.message)}{where}</li>"


def _doing(access: Access) -> str:
    """What it does to what, in the words of the program."""
    verb, touch = "writes" if access.write else "reads", access.touch
    return verb if touch is None or not touch.name else f"{verb} {touch.name}"


def _sentence(race: Race) -> str:
    """How often, where, and what orders the two pipes now."""
    first, second = race.first, race.second
    parts = []
    for mark, access in (("①", first), ("②", second)):
        loops = () if access.work is None else access.work.loops
        where = [access.core, *(f"{name} = {value}" for name, value in loops)]
        parts.append(
            f"<li>{mark} <b>{escape(access.instruction)}</b> {_doing(access)} on "
            f"{access.pipe}, line {access.location.line} <span class='where'>({escape(', '.join(where))})</span></li>"
        )
    if race.same_core and first.pipe != second.pipe:
        if race.last_sync is None:
            parts.append(f"<li>nothing has ordered {first.pipe} to {second.pipe} before</li>")
        else:
            a, b = race.last_sync
            parts.append(
                f"<li>the last flag from {first.pipe} to {second.pipe} was set in line {a.line} and waited for in "
                f"line {b.line}</li>"
            )
    counts = [f"{race.iterations} iterations"] if race.iterations > 1 else []
    counts += [f"{len(race.blocks)} blocks"] if len(race.blocks) > 1 else []
    if counts:
        parts.append(f"<li>found in {', '.join(counts)}; this is the first</li>")
    return f"<ul>{''.join(parts)}</ul>"


def _witness(witness: Witness) -> str:
    if witness.failure is not None or not witness.counts:
        return f"<p>{escape(str(witness))}.</p>"
    rows = "".join(
        f"<tr><td>{escape(c.shown)}[{', '.join(map(str, c.index))}]</td><td>{escape(c.as_json()['value'])}</td>"
        f"<td class='changed'>{escape(c.as_json()['other'])}</td></tr>"
        for c in witness.changes
    )
    counts = "; ".join(f"{n:,} of {size:,} elements of {shown} change" for shown, n, size in witness.counted)
    return (
        f"<p>{escape(witness.order)}: {escape(counts)}.</p><table><thead><tr><th></th><th>in program order</th>"
        f"<th>in this order</th></tr></thead><tbody>{rows}</tbody></table>"
    )


# --- the source ------------------------------------------------------------------------------------------------------


def source(places: dict[Location, str], edits: Sequence[Edit]) -> str:
    """The lines that matter, with the lines of a fix between them, one listing for each file."""
    files: dict[str, dict[int, str]] = {}
    for at, mark in places.items():
        if at.file is not None and at.line:
            marks = files.setdefault(at.file, {})
            marks[at.line] = marks.get(at.line, "") + mark
    inserted: dict[str, dict[int, list[str]]] = {}
    gone: dict[str, set[int]] = {}
    for edit in edits:
        if edit.text is not None:
            inserted.setdefault(edit.file, {}).setdefault(edit.line, []).extend(edit.text.split("\n"))
        for line in range(edit.line, edit.line + edit.removed):
            gone.setdefault(edit.file, set()).add(line)
    return "".join(
        _listing(file, marks, inserted.get(file, {}), gone.get(file, set())) for file, marks in files.items()
    )


def _listing(file: str, marks: dict[int, str], inserted: dict[int, list[str]], gone: set[int]) -> str:
    lines = file_lines(file)
    if not lines:
        return ""
    wanted = sorted(
        {
            line
            for centre in (*marks, *inserted, *gone)
            for line in range(centre - _CONTEXT, centre + _CONTEXT + (0 if centre in inserted else 1))
            if 1 <= line <= len(lines)
        }
    )
    wanted = _joined(wanted)
    out, before = [], 0
    for line in wanted:
        if before and line > before + 1:
            out.append("<tr class='skip'><td></td><td></td><td>⋯</td></tr>")
        for text in inserted.get(line, ()):
            out.append(f"<tr class='new'><td>+</td><td></td><td>{escape(text)}</td></tr>")
        mark = marks.get(line, "")
        kinds = " ".join(kind for kind, of in (("marked", mark), ("gone", line in gone)) if of)
        look = f" class='{kinds}'" if kinds else ""
        mark = mark or ("−" if line in gone else "")
        out.append(f"<tr{look}><td>{mark}</td><td>{line}</td><td>{escape(lines[line - 1])}</td></tr>")
        before = line
    return f"<p class='file'>{escape(file)}</p><div class='scroll'><table class='source'>{''.join(out)}</table></div>"


def _joined(lines: list[int]) -> list[int]:
    """With short gaps filled: leaving out a few lines saves nothing."""
    out: list[int] = []
    for line in lines:
        if out and line - out[-1] <= _NEAR:
            out += range(out[-1] + 1, line)
        out.append(line)
    return out


# What a run under observation found, and how it looks: as text, in a notebook, as a page.


class Report(Outcome):
    """What was found. ``instructions``: how many were executed and checked, over all blocks. ``coverage``: what was
    looked at; a report without findings says nothing about the rest."""

    def html(self) -> str:
        """The report as one HTML page that needs nothing else: lanes of the pipes, bytes, source, fixes."""
        return page(self)

    def __str__(self) -> str:
        """What the terminal shows: the findings with their lines, and the verdict."""
        found = [text_of(self.diagnostics.sorted())] if len(self.diagnostics) else []
        return "\n".join((*found, f"{self.name}: {self.verdict}"))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows; `html` is the page with pictures."""
        return f"{html_of(self.diagnostics.sorted())}<pre>{escape(f'{self.name}: {self.verdict}')}</pre>"
