"""What the sanitizer finds about pipes between a cube core and its vector cores."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic
from ptokit.sanitize import sanitize
from ptokit.targets import target

from ..run.pipe_texts import arrays, expected, text


def findings(source: str, on: str = "a5", blocks: int = 1, vector_cores: int = 2) -> list[Diagnostic]:
    read = parse_module(source, "k.pto", target=target(on))
    read.diagnostics.raise_if_errors()
    return list(sanitize(read.module, on, arrays(), blocks, vector_cores=vector_cores).diagnostics)


def line(source: str, words: str) -> int:
    """Number of the only line with these words."""
    (found,) = [i for i, one in enumerate(source.splitlines(), 1) if words in one]
    return found


@pytest.mark.parametrize("internal", [False, True])
@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize("on", ["a2a3", "a5"])
@pytest.mark.parametrize("way", ["c2v", "v2c"])
def test_pipes_order_what_goes_through_them(way: str, on: str, split: int, internal: bool) -> None:
    """Whole tiles go to both vector cores on a2a3, which then store the same; one core is launched for those."""
    cores = 1 if on == "a2a3" and way == "c2v" and not split else 2
    assert findings(text(way, split, on=on, internal=internal, slots=2), on, vector_cores=cores) == []


def test_values_are_those_of_a_run() -> None:
    source, args = text("c2v", 1), arrays()
    read = parse_module(source, "k.pto", target=target("a5"))
    sanitize(read.module, "a5", args)
    assert (args[3] == expected("c2v", args)).all()


def test_blocks_that_share_slots_in_global_memory() -> None:
    found = findings(text("c2v", 0, on="a2a3"), "a2a3", blocks=2)
    rules = {d.rule for d in found}
    assert rules
    assert all(rule.startswith("RACE-XCORE") for rule in rules)


@pytest.mark.parametrize("way", ["c2v", "v2c"])
def test_slots_that_are_never_freed(way: str) -> None:
    source = text(way, 1, slots=2, frees=False)
    at = line(source, "pto.tpush_to_aiv" if way == "c2v" else "pto.tpush_to_aic")
    found = {d.location.line: d for d in findings(source) if d.rule == "DEADLOCK"}
    assert 'the scalar unit waits for a free slot of pipe "fifo"' in found[at].message


def test_a_consumer_that_stops_early_leaves_entries() -> None:
    source = text("c2v", 1, pops=3)
    (found,) = findings(source)
    assert (found.rule, found.location.line) == ("PIPE-LEFT", line(source, "tpush_to_aiv"))
    assert found.message == 'the last 2 entries of pipe "fifo" are never popped'


def test_a_tile_that_is_read_after_its_slot_was_freed() -> None:
    source = text("c2v", 1)
    free = "pto.tfree_from_aic {id = 0, split = 1}\n"
    moved = source.replace(free, "").replace("pto.tadds", f"{free}pto.tadds")
    (found,) = [d for d in findings(moved) if d.rule == "PIPE-FREED"]
    assert found.location.line == line(moved, "tadds")
    assert found.notes[0].location.line == line(moved, "tfree")


def test_freeing_means_nothing_where_tiles_are_loaded_from_slots() -> None:
    source = text("c2v", 1, on="a2a3")
    free = "pto.tfree_from_aic {id = 0, split = 1}\n"
    moved = source.replace(free, "").replace("pto.tadds", f"{free}pto.tadds")
    assert [d.rule for d in findings(moved, "a2a3") if d.rule != "PI-7"] == []
