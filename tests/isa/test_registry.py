"""The instruction table is imported piece by piece: what is asked for, and what belongs to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = "from ptokit.isa.table import BY_OPERATION, BY_TEXT, TABLE\nimport sys\n"


def fresh(*command: object) -> list[str]:
    """The lines that a process of its own prints."""
    ran = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.splitlines()


def test_where_instructions_are_defined_is_written_down() -> None:
    fresh(ROOT / "tools" / "modules.py", "--check")


def test_every_name_is_found_wherever_one_begins() -> None:
    """In reverse order, so that modules are not imported as they are listed."""
    code = (
        "from ptokit.isa.table import modules\n"
        "for name in reversed(list(modules())):\n"
        "    assert (name in TABLE) != (name in BY_TEXT) or BY_TEXT[name].name == name, name\n"
        "    assert ('pto.' + name in BY_OPERATION) == (name in BY_TEXT), name\n"
        "print(*TABLE)\nprint(*BY_TEXT)\nprint(*BY_OPERATION)"
    )
    complete = (
        "from ptokit.isa.table import bring_all; bring_all()\nprint(*TABLE)\nprint(*BY_TEXT)\nprint(*BY_OPERATION)"
    )
    assert fresh("-c", LOADED + code) == fresh("-c", LOADED + complete)


def test_one_instruction_does_not_bring_all() -> None:
    code = (
        "assert TABLE['TADD'] is BY_TEXT['tadd'] is BY_OPERATION['pto.tadd']\n"
        "assert BY_TEXT.get('add_tile') is None and 'pto.nothing' not in BY_OPERATION and 'TADD' not in BY_TEXT\n"
        "try: TABLE['tadd']\n"
        "except KeyError as error: assert error.args == ('tadd',)\n"
        "else: raise AssertionError\n"
        "assert not any(name.startswith('ptokit.isa.vmi') for name in sys.modules)\n"
        "from ptokit.diagnostics import lookup\n"
        "print(lookup('VMI-03').id, len(TABLE) > 600, any(name.startswith('ptokit.isa.vmi') for name in sys.modules))"
    )
    assert fresh("-c", LOADED + code) == ["VMI-03 True True"]


def test_a_name_brings_what_else_is_written_so() -> None:
    """Instructions that texts tell apart by their operands: between devices, and in older spellings."""
    code = (
        "from ptokit.isa.table import SHARED\n"
        "from ptokit.isa.table import modules\n"
        "for name in modules():\n"
        "    BY_TEXT.get(name)\n"
        "    related = [i for i in BY_TEXT.imported() if i.form.newest == name]\n"
        "    print(name, *sorted({i.name for i in related}))\n"
    )
    apart = dict(line.split(" ", 1) if " " in line else (line, "") for line in fresh("-c", LOADED + code))
    complete = dict(
        line.split(" ", 1) if " " in line else (line, "")
        for line in fresh("-c", LOADED + "from ptokit.isa.table import bring_all; bring_all()\n" + code)
    )
    assert apart == complete
    assert sum(map(bool, complete.values())) > 5


@pytest.mark.parametrize(
    "way", ["len(CATALOGUE)", "list(CATALOGUE)", "CATALOGUE.items()", "catalogue()", "'VMI-03' in CATALOGUE"]
)
def test_the_catalogue_is_complete_for_who_looks_through_it(way: str) -> None:
    code = (
        "from ptokit.diagnostics import CATALOGUE, catalogue\n"
        "TABLE['TADD']\n"
        "assert CATALOGUE.has_imported('EW-03') and not CATALOGUE.has_imported('VMI-03')\n"
        f"{way}\n"
        "before = CATALOGUE.imported()\n"
        "from ptokit.isa.table import bring_all; bring_all()\n"
        "print(CATALOGUE.imported() == before, list(CATALOGUE) == sorted(r.id for r in before))"
    )
    assert fresh("-c", LOADED + code) == ["True True"]
