"""ptokit isa and ptokit explain."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ptokit.api.findings import load_catalogue
from ptokit.api.instruction import by_family, family
from ptokit.api.rule import page_of
from ptokit.cli import console
from ptokit.cli.console import show_list, show_parts
from ptokit.diagnostics import CATALOGUE, Rule, catalogue
from ptokit.isa.table import TABLE
from ptokit.targets import TARGETS
from tests.each import each

from .conftest import Run

load_catalogue()


def test_the_list_has_every_instruction(ptokit: Run) -> None:
    ran = ptokit("isa")
    assert ran.status == 0
    names = [line.split()[0] for line in ran.out.splitlines() if line.startswith("  ")]
    assert sorted(names) == sorted(TABLE)
    assert "Reduce rows or columns" in ran.out.splitlines()


def test_a_word_finds_instructions_and_rules(ptokit: Run) -> None:
    out = ptokit("isa", "--search", "Reduce Rows").out
    assert out.splitlines()[0] == "Reduce rows or columns"
    assert "TROWSUM" in out
    assert "TADD " not in out
    assert "TLOAD" in ptokit("isa", "--search", "rectangle").out
    assert "LS-COM-03" in ptokit("explain", "--search", "valid region").out
    for command in ("isa", "explain"):
        nothing = ptokit(command, "--search", "zebra")
        assert (nothing.status, nothing.out) == (2, "")
        assert "'zebra'" in nothing.err
        assert ptokit(command, "TADD", "--search", "add").status == 2


@pytest.mark.parametrize("command", ["isa", "explain"])
def test_lists_have_a_line_for_each_entry_on_a_narrow_terminal(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ptokit.api import instruction, rule

    parts = list({"isa": instruction, "explain": rule}[command].listing())
    monkeypatch.setattr("ptokit.cli.console.is_terminal", lambda stream: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_: (80, 10**6))
    show_list(parts)
    lines = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert len(lines) == len(parts)
    assert max(map(len, lines)) == 80


@each("name", TABLE)
def test_every_instruction_has_a_page(ptokit: Run, name: str) -> None:
    ran = ptokit("isa", name)
    instr = TABLE[name]
    assert ran.status == 0
    results = ", ".join(o.name for o in instr.produces)
    made = f"{results} = " if results else ""
    assert ran.out.startswith(f"{made}{instr.signature}    pto.{instr.text}\n{instr.summary}\n")
    first_words = {line.split()[0] for line in ran.out.splitlines() if line}
    assert {o.name for o in (*instr.operands, *instr.produces)} <= first_words
    assert {a.name for a in instr.attrs} <= first_words
    assert {r.id for r in instr.rules} <= first_words


READINGS = [name for name, instr in TABLE.items() if instr.decision]


@pytest.mark.parametrize("name", READINGS)
def test_readings_of_instructions_are_explained(ptokit: Run, name: str) -> None:
    decision = " ".join(TABLE[name].decision.split())
    assert f"reading  {decision}" in ptokit("isa", name).out
    assert decision in " ".join(ptokit("explain", f"pto.{name}").out.split())


def test_disputed_operations_have_readings() -> None:
    disputed = (
        "vcpadd vcgadd vcgmax vcgmin vcmax vcmin vsubc vsubcs vselr vusqz vpack ppack punpack plt_b32 plds vmulconv"
    )
    assert set(disputed.split()) <= set(READINGS)


@pytest.mark.parametrize("name", ["tload", "TLOAD", "pto.tload", "Pto.TLoad"])
def test_names_are_found_in_any_spelling(ptokit: Run, name: str) -> None:
    assert ptokit("isa", name).out.startswith("TLOAD(")


@pytest.mark.parametrize("name", ["tadd", "pto.tadd", "TADD"])
def test_explaining_an_instruction_leads_to_its_page(ptokit: Run, name: str) -> None:
    ran = ptokit("explain", name)
    assert (ran.status, ran.out) == (2, "")
    assert f"RULE-ID: {name!r} is an instruction, not a rule: 'ptokit isa TADD' shows its page." in ran.err
    assert "Did you mean TY-9?" in ptokit("explain", "ty9").err


def test_the_rules_are_listed_by_family(ptokit: Run) -> None:
    ran = ptokit("explain")
    assert ran.status == 0
    listed: dict[str, list[str]] = {}
    counts, title = {}, ""
    for line in filter(None, ran.out.splitlines()):
        if line.startswith("  "):
            listed[title].append(line.split()[0])
        else:
            title, _, count = line.partition(": ")
            listed[title], counts[title] = [], int(count.split()[0])
    assert sorted(id for ids in listed.values() for id in ids) == sorted(CATALOGUE)
    assert counts == {title: len(ids) for title, ids in listed.items()}
    assert all(family(id) == title for title, ids in listed.items() for id in ids)
    assert f"{len(CATALOGUE)} rules" in ran.err


def test_families_go_by_the_longest_beginning_of_an_id() -> None:
    assert family("LS-COM-01") == "Loads and stores alike"
    assert family("LS-1") == "Views, tiles and pointers in text"
    assert family("NEW-A5-01") == "NEW"
    groups = by_family([CATALOGUE["TY-3"], replace(CATALOGUE["TY-3"], id="NEW-1"), CATALOGUE["LS-COM-01"]])
    assert {title: [r.id for r in rules] for title, rules in groups.items()} == {
        "Tile types": ["TY-3"],
        "Loads and stores alike": ["LS-COM-01"],
        "NEW": ["NEW-1"],
    }


def test_rules_that_nothing_breaks_are_listed_as_such(ptokit: Run) -> None:
    never = {r.id for r in catalogue() if not r.enforced}
    assert {"MAT-COM-07", "TILE-02", "LOAD-A5-01"} <= never
    lines = [line for line in ptokit("explain").out.splitlines() if line.endswith("(never enforced)")]
    assert {line.split()[0] for line in lines} == never
    for id in never:
        assert CATALOGUE[id].check is None
        assert "severity  never enforced" in ptokit("explain", id).out


def test_a_page_names_the_instructions_that_have_the_rule(ptokit: Run) -> None:
    assert "\nused by   TSTORE, TSTORE_FP\n" in ptokit("explain", "STORE-CPU-01").out
    assert re.search(r"\nused by   (\w+, ){7}\w+ and \d+ more\n", ptokit("explain", "EW-01").out)


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.campaign)])
def test_everything_fits_80_columns(
    ptokit: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], every: int
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(console, "is_terminal", lambda stream: True)
    monkeypatch.setattr(console, "width_of", lambda stream: 80)
    shown = ptokit("explain").out
    for rule in catalogue()[::every]:
        show_parts(page_of(rule).parts())
    shown += capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_decisions_are_on_the_page(ptokit: Run) -> None:
    rule = next(r for r in catalogue() if r.decision)
    out = ptokit("explain", rule.id).out
    assert f"sources leave it open\n    {' '.join(rule.decision.split())}\n" in out


@each("rule", [r for r in catalogue() if r.check is not None], ids=lambda r: r.id)
def test_what_is_checked_is_explained(rule: Rule) -> None:
    assert rule.what
    assert rule.source
    assert (rule.accepted and rule.refused) or rule.unrun or rule.reported_as


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.campaign)])
def test_every_rule_has_a_page(ptokit: Run, every: int) -> None:
    for rule in catalogue()[::every]:
        _has_a_page(ptokit, rule)


def _has_a_page(ptokit: Run, rule: Rule) -> None:
    ran = ptokit("explain", rule.id.lower())
    assert ran.status == 0
    assert ran.out.startswith(f"{rule.id}  {rule.what}\n")
    assert f"targets   {', '.join(name for name, on in TARGETS.items() if on.obeys(rule))}\n" in ran.out
    for text in (rule.why, rule.decision, rule.accepted, rule.refused):
        assert all(word in ran.out for word in text.split())


@pytest.mark.parametrize(
    ("command", "name", "guess"),
    [("isa", "TLOAF", "TLOAD"), ("explain", "TY-99", "TY-9"), ("explain", "LOAD-A5-7", "LOAD-A5-07")],
)
def test_unknown_names_are_wrong_usage_with_a_guess(ptokit: Run, command: str, name: str, guess: str) -> None:
    ran = ptokit(command, name)
    assert ran.status == 2
    assert f"{name!r}" in ran.err
    assert guess in ran.err
    assert ran.out == ""


def test_a_rule_names_those_that_say_the_same(ptokit: Run) -> None:
    lines = ptokit("explain", "st-10").out.splitlines()
    assert lines[0].startswith("ST-10  ")
    assert "said by   LS-COM-04" in lines


def test_the_page_of_strided_loads_writes_a_mode_that_exists(ptokit: Run) -> None:
    page = ptokit("isa", "vsld").out
    assert '%offset], "STRIDE_S3_B16" :' in page
    assert '"stride"' not in page
