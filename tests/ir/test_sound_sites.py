"""The checker skips an instruction like one that it found sound; that must not hide anything."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic
from ptokit.ir.structure_checks import RepeatedSites
from ptokit.ir.verify import verify
from ptokit.targets import TARGETS, target

DATA = Path(__file__).parents[1] / "data"
TEXTS = sorted([*(DATA / "programs" / "kernels").glob("*.pto"), *(DATA / "sync-cases").glob("*.pto")])


def findings(text: str, arch: str) -> list[Diagnostic]:
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors
    return list(verify(parsed.module, target(arch)))


def both(monkeypatch: pytest.MonkeyPatch, text: str, arch: str) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """What is found, and what is found if every instruction is looked at."""
    found = findings(text, arch)
    with monkeypatch.context() as patched:
        patched.setattr(RepeatedSites, "key", lambda *_: None)
        return found, findings(text, arch)


@pytest.mark.parametrize("arch", TARGETS)
def test_nothing_is_hidden_in_real_programs(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    total = 0
    for path in TEXTS:
        found, thorough = both(monkeypatch, path.read_text(encoding="utf-8"), arch)
        assert found == thorough, path.name
        total += len(found)
    assert total > 0


PLACED = "".join(
    f"    %a{k} = arith.constant {at} : i64\n    %t{k} = pto.alloc_tile addr = %a{k} : !T\n"
    for k, at in enumerate((0, 4096, 4096, 4128))
)
OPERATIONS = "".join(
    f"    pto.{name} ins(%t{a}, %t{b}{', %t1' if name == 'trem' else ''} : !T, !T{', !T' if name == 'trem' else ''})"
    f" outs(%t{c} : !T)\n"
    for name, (a, b, c) in itertools.product(("tadd", "trem"), itertools.product(range(4), repeat=3))
)


@pytest.mark.parametrize("arch", TARGETS)
def test_tiles_at_other_places_are_other_sites(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    """The same instruction on equal types, with every way in which its operands can share bytes."""
    text = (
        "!T = !pto.tile_buf<vec, 16x64xf32>\nmodule {\n  func.func @k() {\n"
        f"{PLACED}{OPERATIONS}    return\n  }}\n}}\n"
    )
    found, thorough = both(monkeypatch, text, arch)
    assert found == thorough
    assert {"EW-10"} <= {d.rule for d in found}
    assert len({d.location.line for d in found}) > 20


SUM = "    pto.trowsum ins(%a, %{tmp} : !T, !T) outs(%r : !R)\n"
PARAMETERS = (
    "!T = !pto.tile_buf<vec, 16x64xf32>\n!R = !pto.tile_buf<vec, 16x1xf32, blayout=col_major>\nmodule {{\n"
    "  func.func @f(%a: !T, %b: !T, %r: !R) {{\n{first}    return\n  }}\n"
    "  func.func @g(%a: !T, %b: !T, %r: !R) {{\n{second}    return\n  }}\n}}\n"
)


@pytest.mark.parametrize("one_function", [True, False])
def test_a_tile_given_twice_is_not_like_two_tiles(monkeypatch: pytest.MonkeyPatch, one_function: bool) -> None:
    """Where the tiles of parameters lie is not known, but one tile overlaps itself."""
    sound, wrong = SUM.format(tmp="b"), SUM.format(tmp="a")
    first, second = (sound + wrong, "") if one_function else (sound, wrong)
    found, thorough = both(monkeypatch, PARAMETERS.format(first=first, second=second), "a2a3")
    assert found == thorough
    assert [(d.rule, d.location.line) for d in found] == [("CMP-INP-01", 6 if one_function else 9)]


def test_the_same_mistake_is_reported_wherever_it_is_made() -> None:
    wrong = "    pto.texp ins(%t0 : !T) outs(%h : !pto.tile_buf<vec, 16x64xf16>)\n"
    text = (
        "!T = !pto.tile_buf<vec, 16x64xf32>\nmodule {\n  func.func @k() {\n"
        f"    %t0 = pto.alloc_tile : !T\n    %h = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf16>\n{wrong * 3}"
        "    return\n  }\n}\n"
    )
    assert [(d.rule, d.location.line) for d in findings(text, "a5")] == [("EW-04", 6), ("EW-04", 7), ("EW-04", 8)]
