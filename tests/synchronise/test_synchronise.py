"""Flags that a program lacks: as few as authors write, proved, each of them needed, and the text around them intact."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit
import ptokit as pto
from ptokit.api.launch import as_parameters
from ptokit.api.synchronise import Synchronised, synchronise
from ptokit.arguments.grammar import make, read_arguments
from ptokit.cli.check import check_files
from ptokit.diagnostics import DiagnosticError, UsageError
from ptokit.ir.control import is_loop
from ptokit.machine.observer import Moment, Observer
from ptokit.run import Param, Program, choose_entry
from ptokit.sanitize.findings.source_text import Structure
from ptokit.synchronise.dependences import Flag
from ptokit.synchronise.numbering import number
from ptokit.targets import target as target_named
from ptokit.types.choices import CheckOptions, ReportOptions
from ptokit.types.enums import Pipe
from tests.each import each
from tests.prove.kernels import BACK, HANDED, add, flag, kernel, load, store

pytest.importorskip("z3")

CASES = Path(__file__).parents[1] / "data" / "sync-cases"
ORDER = re.compile(r"^ *pto\.(set_flag|wait_flag|barrier|get_buf|rls_buf)\b.*\n", re.MULTILINE)
LOOP = "scf.for %i = %c0 to %n step %c1 {"
BODY = (LOOP, "%r = arith.muli %i, %c16 : index", load("%t0", "%r"), add("%t1", "%t0"), store("%t1", "%r"), "}")


def synchronised(*body: str, **options: Any) -> Synchronised:
    return synchronise(kernel(*body), target="a2a3", **options)


def flags(made: Synchronised) -> list[str]:
    """``MTE2 V 0`` for each flag, with the number of ids it rotates through, and ``loop`` if one carries it."""
    return [
        f"{f.source} {f.destination} {f.first_id}{f' of {f.ids}' * (f.ids > 1)}{' loop' * (f.carried > 0)}"
        for f in made.flags
    ]


class Waits(Observer):
    """Counts the waits that a launch carries out."""

    def __init__(self) -> None:
        self.count = 0

    def after(self, moment: Moment) -> None:
        self.count += moment.name.startswith("wait_flag") or moment.name in ("get_buf", "pipe_barrier")


def waits(text: str, case: dict[str, Any], on: str) -> int:
    module = ptokit.read(text, target=on).module
    entry = choose_entry(module, None)
    seen = Waits()
    values = as_parameters(make(read_arguments(given(case))), [Param(p.name, p.type) for p in entry.params])
    with redirect_stdout(StringIO()):
        Program(module, entry, target_named(on), extended=False).launch(values, case["blocks"], observer=seen)
    return seen.count


def given(case: dict[str, Any]) -> list[str]:
    return [
        str(a["value"])
        if a["kind"] == "scalar"
        else "0"
        if a["kind"] == "ffts"
        else f"{'uninit' if a['role'] == 'out' else 'random'}:{a['dtype']}:{a['elems']}"
        for a in case["args"].values()
    ]


CLEAN = [
    (case, on)
    for case in json.loads((CASES / "manifest.json").read_text())["cases"]
    for on in case["targets"]
    if not case["expect"][on] and case["mode"] == "strict"
]


@each("case, on", CLEAN, ids=[f"{case['file']} {on}" for case, on in CLEAN])
def test_a_clean_case_without_its_flags_gets_them_again(case: dict[str, Any], on: str) -> None:
    text = (CASES / case["file"]).read_text()
    made = synchronise(ORDER.sub("", text), target=on)
    assert made.proved
    assert made.minimal
    report = ptokit.sanitize(made.text, given(case), target=on, blocks=case["blocks"])
    assert not [str(d) for d in (*report.errors, *report.warnings)]
    extra = 2 * ("rls_buf" in text)  # a token is not waited for by everyone who takes it
    assert waits(made.text, case, on) <= waits(text, case, on) + extra


def test_what_is_inserted_is_lines_and_the_rest_stays() -> None:
    text = (CASES / "04_loop_reload_primed.pto").read_text()
    bare = ORDER.sub("", text).replace("    scf.for", "    // all strips\n    scf.for")
    made = synchronise(bare, target="a2a3")
    lines = made.text.splitlines()
    assert [line for line in lines if not ORDER.match(line + "\n")] == bare.splitlines()
    assert sorted(line for line in lines if ORDER.match(line + "\n")) == sorted(
        line for line in text.splitlines() if ORDER.match(line + "\n")
    )
    assert synchronise(made.text, target="a2a3").text == made.text


def test_two_slots_take_ids_in_rotation() -> None:
    """The distance is two: the author of such a loop lets two iterations be under way."""
    slots = (
        "scf.for %i = %c0 to %n step %c1 {",
        "%half = arith.remui %i, %c2 : index  // which slot",
        "%off = arith.muli %half, %c4096 : index",
        "%at = arith.index_cast %off : index to i64",
        "%s = pto.alloc_tile addr = %at : !pto.tile_buf<vec, 16x32xf32>",
        "%r = arith.muli %i, %c16 : index",
        load("%s", "%r"),
        store("%s", "%r"),
        "}",
    )
    made = synchronised(*slots)
    assert made.proved
    assert flags(made) == ["MTE2 MTE3 0 of 2", "MTE3 MTE2 0 of 2 loop"]
    added = [(edit.text or "").strip() for edit in made.edits]
    assert added == [
        flag("set", "MTE3", "MTE2", 0),
        flag("set", "MTE3", "MTE2", 1),
        flag("wait", "MTE3", "MTE2", "%half"),
        flag("set", "MTE2", "MTE3", "%half"),
        flag("wait", "MTE2", "MTE3", "%half"),
        flag("set", "MTE3", "MTE2", "%half"),
        flag("wait", "MTE3", "MTE2", 0),
        flag("wait", "MTE3", "MTE2", 1),
    ]
    odd = [line.replace("%c0 to %n step %c1", "%c2 to %n step %c16") for line in slots]
    odd[1:2] = ["%k0 = arith.subi %i, %c2 : index", "%k1 = arith.divui %k0, %c16 : index"]
    odd.insert(3, "%half = arith.remui %k1, %c2 : index")
    found = synchronised(*odd)
    assert found.proved
    assert flags(found) == flags(made)
    assert "%sync2 = arith.remui %sync1, %c2 : index" in found.text


def slots(count: int, of: str, base: int, *body: str) -> tuple[str, ...]:
    """A loop over %``of`` that loads, adds to and stores one of so many tiles in turn, with more in its body."""
    i, tile = f"%{of}", f"%t_{of}"
    return (
        f"scf.for {i} = %c0 to %n step %c1 {{",
        f"%s_{of} = arith.remui {i}, %slots{count} : index",
        f"%o_{of} = arith.muli %s_{of}, %c4096 : index",
        f"%b_{of} = arith.addi %o_{of}, %base{base} : index",
        f"%at_{of} = arith.index_cast %b_{of} : index to i64",
        f"{tile} = pto.alloc_tile addr = %at_{of} : !pto.tile_buf<vec, 16x32xf32>",
        f"%r_{of} = arith.muli {i}, %c16 : index",
        load(tile, f"%r_{of}"),
        add(tile, tile),
        store(tile, f"%r_{of}"),
        *body,
        "}",
    )


SLOTS = tuple(f"%slots{n} = arith.constant {n} : index" for n in (2, 3)) + tuple(
    f"%base{n} = arith.constant {n * 16384} : index" for n in range(4)
)


def test_three_slots_that_are_computed_in_place_need_no_barrier() -> None:
    made = synchronised(*SLOTS, *slots(3, "i", 1))
    assert (made.proved, made.minimal, made.barriers) == (True, True, ())
    assert flags(made) == ["MTE2 V 0 of 3", "V MTE3 0 of 3", "MTE3 MTE2 0 of 3 loop"]


def test_ids_that_run_out_are_taken_from_the_outermost_loop() -> None:
    """Nine are wanted where there are eight, then twelve: outer loops have fewer iterations under way."""
    nest = kernel(
        *(line for k in "ijkl" for line in (f"scf.for %{k} = %c0 to %n step %c1 {{", add("%t0", "%t0"))), *"}}}}"
    )
    function = ptokit.read(nest, target="a2a3").module.functions[0]
    structure = Structure([function])
    loops = [op for op in structure.ops if is_loop(op)]
    pipes, target = (Pipe.MTE3, Pipe.MTE2), target_named("a2a3")

    def carried(count: int, depth: int) -> list[Flag]:
        made = []
        for loop in loops[:count]:
            block, op = loop.regions[0], loop.regions[0].ops[0]
            made.append(Flag(pipes, "vector", block, op, op, loop, loop, depth))
        made.append(Flag(pipes[::-1], "vector", loops[0].regions[0], op, op, loops[0], None, depth))
        return made

    three, four = carried(3, 3), carried(4, 3)
    assert number(three, structure, function, (), target) is None
    assert [flag.depth for flag in three] == [2, 3, 3, 2]  # what comes back rotates with it
    assert number(four, structure, function, (), target) is None
    assert [flag.depth for flag in four[:4]] == [1, 1, 3, 3]
    used = [("vector", *pipes, n) for n in range(7)]
    one = carried(2, 1)
    assert number(one, structure, function, used, target) is None
    assert [(flag.at_once, flag.around is None) for flag in one[:2]] == [(True, True), (False, False)]
    lacking = number(one[:1], structure, function, [*used, ("vector", *pipes, 7)], target)
    assert lacking is one[0]


def test_flags_are_set_where_they_are_waited_for_and_barriers_are_the_last_resort() -> None:
    taken = [[flag(verb, "MTE3", "MTE2", n) for n in range(7)] for verb in ("set", "wait")]
    one = (LOOP, "%r = arith.muli %i, %c16 : index", load("%t0", "%r"), store("%t0", "%r"), "}")
    made = synchronised(*taken[0], *one, *taken[1])
    assert (made.proved, made.barriers, [f.at_once for f in made.flags]) == (True, (), [False, False])
    twice = (*one[:-1], load("%t0", "%c0"), store("%t0", "%c0"), "}")
    two = synchronised(*taken[0], *twice, *taken[1])
    assert (two.proved, two.minimal, two.barriers) == (True, True, ())
    assert [(f.at_once, f.carried) for f in two.flags if f.source == "MTE3"] == [(False, 0), (True, 0)]
    full = synchronised(*taken[0], flag("set", "MTE3", "MTE2", 7), *one, *taken[1], flag("wait", "MTE3", "MTE2", 7))
    assert full.proved
    assert [why for _, why in full.barriers] == ["all event ids from PIPE_MTE3 to PIPE_MTE2 are taken"]


def test_flags_of_an_inner_loop_come_along_the_outer_one() -> None:
    """Set first before both loops and waited for last after both: one flag where two loops carry the same."""
    made = synchronised("scf.for %j = %c0 to %n step %c1 {", *BODY, "}")
    assert made.proved
    assert flags(made) == ["MTE2 V 0", "V MTE3 0", "V MTE2 0 loop", "MTE3 V 0 loop"]
    outer = made.old.splitlines().index("scf.for %j = %c0 to %n step %c1 {") + 1
    assert {f.carried for f in made.flags if f.carried} == {outer}


LATER = ("%later = arith.cmpi sge, %i, %c2 : index", "scf.if %later {")
WAIT_SET = ("wait", "set")


def test_what_an_arm_of_a_loop_hands_over_stays_in_it() -> None:
    """Iterations that do not come there neither wait nor set, so that no set overtakes a wait."""
    made = synchronised(LOOP, *LATER, load("%t0", "%c0"), store("%t0", "%c0"), "}", "}")
    assert (made.proved, flags(made)) == (True, ["MTE2 MTE3 0", "MTE3 MTE2 0 loop"])
    lines = made.text.splitlines()
    arm = lines[lines.index(LATER[1]) : lines.index("}")]
    assert [line.split("[")[0] for line in arm if "_flag" in line] == [f"pto.{verb}_flag" for verb in 2 * WAIT_SET]
    assert clean(made.text)
    late = (LOOP, *LATER, load("%t0", "%c0"), "}", store("%t0", "%c0"), "}")
    arm = synchronised(*late).text.split(LATER[1])[1].split("}")[0].splitlines()
    assert not [line for line in arm if "_flag" in line]


def clean(text: str) -> bool:
    report = ptokit.sanitize(text, ["zeros:f32:2048", "zeros:f32:2048", "4"], target="a2a3", also=["FLAG-REUSE-RACE"])
    return not [d.rule for d in report.diagnostics if d.rule.startswith(("FLAG", "RACE", "DEADLOCK"))]


def test_a_source_that_may_be_ahead_is_told_of_the_last_wait() -> None:
    """In iterations that only store, MTE3 would set the flag again, and nothing tells if MTE2 has come to its wait."""
    arms = (load("%t0", "%c0"), store("%t0", "%c16"), "} else {", store("%t0", "%c0"), "}")
    made = synchronised(LOOP, *LATER, *arms, "}")
    assert (made.proved, made.minimal) == (True, True)
    assert [(f, each.answer) for f, each in zip(flags(made), made.flags)] == [
        ("MTE3 MTE2 0 loop", 0),
        ("MTE2 MTE3 1", -1),
    ]
    told = [flag(verb, "MTE2", "MTE3", 0) for verb in ("set", "wait")]
    assert "\n".join([*told, flag("set", "MTE3", "MTE2")]) in made.text
    assert clean(made.text)
    assert not clean(made.text.replace("\n".join(told) + "\n", ""))
    assert "of the wait MTE3 is told by id 0: without it" in str(made)
    rounds = synchronised(*SLOTS, "scf.for %j = %c0 to %n step %c1 {", *slots(2, "i", 0), "}")
    assert [(f, each.answer >= 0) for f, each in zip(flags(rounds), rounds.flags) if "loop" in f] == [
        ("MTE3 MTE2 0 of 2 loop", True)
    ]
    assert clean(rounds.text)
    once = synchronised(LOOP.replace("%n", "%c1"), *LATER[:1], load("%t0", "%c0"), store("%t0", "%c0"), "}")
    assert [each.answer for each in once.flags] == [-1]  # which no other iteration follows


def test_an_arm_has_no_flag_of_a_loop_of_which_several_iterations_are_under_way() -> None:
    """With two slots an iteration waits for the last but one, and that may not have come to the arm."""
    body = slots(2, "i", 0)
    at = next(k for k, line in enumerate(body) if "tload" in line)
    made = synchronised(*SLOTS, *body[:at], *LATER, *body[at:], "}")
    assert (made.proved, [f for f in flags(made) if "loop" in f]) == (True, ["MTE3 MTE2 0 of 2 loop"])
    assert made.text.index("wait_flag_dyn[<PIPE_MTE3>") < made.text.index(LATER[1])


def test_a_flag_of_an_inner_loop_is_set_once_for_all_rounds() -> None:
    """The tiles of both arms: no round of the outer loop waits for them."""
    arms = (add("%t2", "%t0"), "} else {", load("%t1", "%c0"), add("%t2", "%t1"), "}")
    inner = (LOOP, *LATER, load("%t0", "%c0"), *arms, "}")
    made = synchronise(kernel("scf.for %j = %c0 to %n step %c1 {", *inner, "}", tiles=3), target="a2a3")
    assert (made.proved, made.minimal) == (True, True)
    assert sorted(flags(made)) == ["MTE2 V 0", "MTE2 V 1", "V MTE2 0 loop", "V MTE2 1 loop"]
    outer = made.old.splitlines().index("scf.for %j = %c0 to %n step %c1 {") + 1
    assert {f.carried for f in made.flags if f.carried} == {outer}
    assert clean(made.text)


def test_one_flag_takes_the_place_of_two_where_tiles_are_used_again() -> None:
    """The second load waits for the store; in a loop it waits for the sum only, so that two iterations overlap."""
    first, second = ((load("%t0", row), add("%t1", "%t0"), store("%t1", row)) for row in ("%c0", "%c16"))
    made = synchronised(*first, *second)
    assert (made.proved, made.minimal) == (True, True)
    assert sorted(flags(made)) == ["MTE2 V 0", "MTE2 V 1", "MTE3 MTE2 0", "V MTE3 0", "V MTE3 1"]
    looped = synchronised(LOOP, "%r = arith.muli %i, %c16 : index", *first, "}")
    assert sorted(flags(looped))[1:3] == ["MTE3 V 0 loop", "V MTE2 0 loop"]


def test_half_a_flag_is_never_in_an_arm() -> None:
    odd = ("%h = arith.remui %n, %c2 : index", "%odd = arith.cmpi eq, %h, %c1 : index", "scf.if %odd {")
    made = synchronised(
        load("%t0", "%c0"), *odd, add("%t1", "%t0"), "} else {", load("%t1", "%c0"), "}", store("%t1", "%c0")
    )
    assert made.proved
    lines = made.text.splitlines()
    arms = lines[lines.index("scf.if %odd {") : lines.index("}")]
    assert not [line for line in arms if "_flag" in line]
    assert flags(made) == ["MTE2 V 0", "V MTE3 0", "MTE2 MTE3 0"]
    inside = synchronised(*odd, load("%t0", "%c0"), add("%t1", "%t0"), "}")
    lines = inside.text.splitlines()
    assert ["_flag" in line for line in lines[lines.index("scf.if %odd {") :]].count(True) == 2


def test_in_a_graph_of_blocks_proofs_decide_what_is_needed() -> None:
    """A flag cannot be carried around its loop: a barrier orders what comes again, and nothing is too much."""
    graph = (
        "cf.br ^head(%c0 : index)",
        "^head(%j: index):",
        "%more = arith.cmpi slt, %j, %n : index",
        "cf.cond_br %more, ^body, ^end",
        "^body:",
        load("%t0", "%c0"),
        add("%t1", "%t0"),
        "%next = arith.addi %j, %c1 : index",
        "cf.br ^head(%next : index)",
        "^end:",
    )
    inner = ("scf.execute_region {", *graph, "scf.yield", "}", store("%t1", "%c0"))
    assert synchronised(*inner).proved
    made = synchronised(*graph)
    assert (made.proved, made.minimal, len(made.barriers), flags(made)) == (True, True, 1, ["MTE2 V 0"])
    lines = made.text.splitlines()
    (at,) = [k for k, line in enumerate(lines) if "barrier" in line]
    assert "pto.tload" in lines[at + 1] or "partition_view" in lines[at + 1]
    less = "\n".join([*lines[:at], *lines[at + 1 :]]) + "\n"
    assert ptokit.prove(less, target="a2a3")["pipes"].verdict != "proved"


def test_flags_that_are_there_stay_and_ids_differ() -> None:
    made = synchronised(load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), store("%t1", "%c0"))
    assert (made.proved, flags(made)) == (True, ["V MTE3 0"])
    more = synchronised(load("%t0", "%c0"), HANDED[0], load("%t1", "%c0"), HANDED[1], add("%t1", "%t0"))
    assert (more.proved, flags(more)) == (True, ["MTE2 V 1"])
    along = synchronised(load("%t0", "%c0"), add("%t0", "%t0"), *BACK, store("%t0", "%c0"))
    assert (along.proved, along.minimal, flags(along)) == (True, True, ["MTE2 V 0"])  # V tells MTE3 of the load
    enough = synchronised(load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%c0"))
    assert (enough.proved, enough.text, enough.edits) == (True, enough.old, ())


def test_none_of_the_flags_can_be_left_out() -> None:
    """What is said to be needed is: without it the prover, and for some arguments a run, finds a race."""
    bare = kernel("scf.for %j = %c0 to %c2 step %c1 {", *BODY, add("%t0", "%t1"), "}", tiles=2)
    made = synchronise(bare, target="a2a3")
    assert made.proved
    assert len(made.flags) > 3
    lines = made.text.splitlines()
    for found in made.flags:
        said = f"_flag[<PIPE_{found.source}>, <PIPE_{found.destination}>, <EVENT_ID{found.first_id}>]"
        less = "\n".join(line for line in lines if said not in line) + "\n"
        assert less != made.text
        assert ptokit.prove(less, target="a2a3")["pipes"].verdict != "proved", found
        line = int(re.search(r"line (\d+) may overtake \w+ in line (\d+)", found.because)[1])  # type: ignore[index]
        assert re.search(r"pto\.t(load|adds|store)", made.old.splitlines()[line - 1])


def superfluous(text: str, on: str = "a2a3") -> list[str]:
    """``22 23: why`` for what is superfluous; without it the program is proved, and a run finds nothing."""
    made = synchronise(text, target=on, minimise=True)
    assert made.proved
    again = synchronise(made.text, target=on, minimise=True)
    assert (again.superfluous, again.text) == ((), made.text)
    return [f"{' '.join(map(str, each.lines))}: {each.because}" for each in made.superfluous or ()]


def test_what_is_superfluous_is_named_with_its_reason() -> None:
    chain = (load("%t0", "%c0"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%c0"))
    assert superfluous(kernel(*chain)) == []
    stop = "pto.barrier #pto.pipe<PIPE_ALL>"
    end = kernel(*chain, stop)
    line = end.splitlines().index(stop) + 1
    assert superfluous(end) == [f"{line}: nothing before it has to be over for what comes after it"]
    direct = kernel(*chain[:3], flag("set", "MTE2", "MTE3"), *chain[3:-1], flag("wait", "MTE2", "MTE3"), chain[-1])
    lines = direct.splitlines()
    first, second, other = (
        lines.index(text) + 1 for text in (flag("set", "MTE2", "MTE3"), flag("wait", "MTE2", "MTE3"), BACK[1])
    )
    assert superfluous(direct) == [f"{first} {second}: nothing before it has to be over for what comes after it"]
    assert other < second
    twice = kernel(load("%t0", "%c0"), HANDED[0], load("%t1", "%c0"), flag("set", "MTE2", "V", 1), HANDED[1],
                   flag("wait", "MTE2", "V", 1), add("%t0", "%t1"))  # fmt: skip
    lines = twice.splitlines()
    first, second = (lines.index(each) + 1 for each in HANDED)
    last = lines.index(flag("wait", "MTE2", "V", 1)) + 1
    why = f"the flag PIPE_MTE2 to PIPE_V in line {last} orders that already"
    assert superfluous(twice) == [f"{first} {second}: {why}"]


def test_notes_say_what_is_superfluous_where_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `check` and `sanitize`, with what takes it out; a program that lacks a flag has nothing superfluous."""
    chain = (load("%t0", "%c0"), *HANDED, flag("set", "MTE2", "MTE3"), add("%t1", "%t0"), *BACK)
    text = kernel(*chain, flag("wait", "MTE2", "MTE3"), store("%t1", "%c0"))
    given, rule = ["zeros:f32:512", "zeros:f32:512", "1"], "SYNC-SUPERFLUOUS"
    report = ptokit.sanitize(text, given, target="a2a3", also=[rule])
    (note,) = report.diagnostics
    lines = text.splitlines()
    first, second = (lines.index(flag(verb, "MTE2", "MTE3")) + 1 for verb in ("set", "wait"))
    assert (note.rule, str(note.severity), note.location.line) == (rule, "note", first)
    assert note.message.startswith("the flag PIPE_MTE2 to PIPE_MTE3 is superfluous: ")
    assert [(n.message, n.location.line) for n in note.notes] == [("together with this", second)]
    assert report.fix(text) == synchronise(text, target="a2a3", minimise=True).text
    assert not ptokit.sanitize(text, given, target="a2a3").diagnostics
    file = tmp_path / "k.pto"
    file.write_text(text)

    def checked() -> str:
        assert check_files([str(file)], [], CheckOptions(), ReportOptions(), target=["a2a3"], also=[rule])
        return "".join(capsys.readouterr())

    assert f"k.pto:{first}:1: note: {note.message} [{rule}]" in checked()
    file.write_text("\n".join(line for line in lines if line not in HANDED) + "\n")
    assert rule not in checked()


def test_flags_of_a_loop_go_together_and_a_faulty_kernel_says_so() -> None:
    text = (CASES / "04_loop_reload_primed.pto").read_text()
    extra = [flag(verb, "V", "MTE2", 5) for verb in ("set", "wait")]
    more = text.replace("    scf.for", f"    {extra[0]}\n    scf.for").replace(
        "    }\n", f"    {extra[0]}\n    }}\n    {extra[1]}\n"
    )
    more = more.replace("      %p1 =", f"      {extra[1]}\n      %p1 =")
    (found,) = superfluous(more)
    assert len(found.partition(":")[0].split()) == 4
    assert synchronise(more, target="a2a3", minimise=True).text.count("_flag[") == text.count("_flag[")
    stop = "pto.barrier #pto.pipe<PIPE_ALL>"
    bare = kernel(load("%t0", "%c0"), add("%t1", "%t0"), stop)
    made = synchronise(bare, target="a2a3", minimise=True)
    assert (made.proved, made.superfluous, made.text) == (False, (), bare)


def test_what_no_launch_comes_to_is_left_alone() -> None:
    never = ("%never = arith.cmpi eq, %c0, %c1 : index", "scf.if %never {", load("%t1", "%c0"), *HANDED, "}")
    assert superfluous(kernel(load("%t0", "%c0"), *HANDED, add("%t0", "%t0"), *never)) == []


def test_a_flag_that_orders_what_a_signal_tells_is_no_superfluous_one() -> None:
    text = (CASES / "28_blocks_handover_sync.pto").read_text()
    made = synchronise(text, target="a2a3", minimise=True)
    assert (made.superfluous, made.text) == ((), text)


def test_only_what_a_carried_flag_does_not_order_is_added() -> None:
    back = [flag(verb, "MTE3", "MTE2") for verb in ("set", "wait")]
    body = (LOOP, "%r = arith.muli %i, %c16 : index", back[1], load("%t0", "%r"), store("%t0", "%r"), back[0], "}")
    made = synchronised(back[0], *body, back[1])
    assert (made.proved, flags(made)) == (True, ["MTE2 MTE3 0"])


def test_assumptions_and_wrong_usage() -> None:
    body = ("%o = arith.addi %n, %c1 : index", load("%t0", "%c0"), add("%t1", "%t0"))
    assert synchronised(*body, assume=["n > 3"]).assumptions[0] == "n > 3"
    with pytest.raises(UsageError, match="no arguments"):
        synchronised(*body, assume=["n > 3", "n < 2"])
    with pytest.raises(DiagnosticError):
        synchronise(kernel(add("%t1", "%t9")), target="a2a3")


def test_two_operations_of_one_line_are_refused(tmp_path: Path) -> None:
    together = load("%t0", "%c0") + " " + add("%t1", "%t0")
    with pytest.raises(DiagnosticError, match="SYNC-PLACE"):
        synchronised(together)


PYTHON = """
import ptokit as pto

@pto.kernel(target="a2a3")
def scale(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], rows: int):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=0)
    for row in range(16, rows - 15, 16):  # strips
        pto.TLOAD(t, pto.GlobalTensor(x, (rows, 64))[row : row + 16])
        pto.TMULS(
            t, t, 2.0
        )
        # and back
        pto.TSTORE(pto.GlobalTensor(y, (rows, 64))[row : row + 16], t)
"""


def test_a_kernel_in_python_keeps_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "scale.py"
    file.write_text(PYTHON)
    made = synchronise(str(file))
    assert made.proved
    added = [line for line in made.text.splitlines() if "_flag" in line]
    assert [line for line in made.text.splitlines() if line not in added] == PYTHON.splitlines()
    assert added[0] == "    pto.set_flag(pto.PIPE_MTE3, pto.PIPE_MTE2, 0)"
    lines = made.text.splitlines()
    at = lines.index("        )")
    assert lines[at + 1 : at + 4] == [
        "        pto.set_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)",
        "        # and back",
        "        pto.wait_flag(pto.PIPE_V, pto.PIPE_MTE3, 0)",
    ]
    file.write_text(made.text)
    x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    report = ptokit.sanitize(str(file), [x, np.zeros_like(x), 64])
    assert not report.errors
    assert list(tmp_path.iterdir()) == [file]


def test_a_synchronised_kernel_is_launched_as_it_was() -> None:
    """Made in a function: its text is that of the whole file, and what it refers to stays."""

    def made(by: float) -> pto.Kernel[...]:
        @pto.kernel(target="a2a3")
        def scale(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
            t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=0)
            pto.TLOAD(t, pto.GlobalTensor(x, (16, 64)))
            pto.TMULS(t, t, by)
            # and back
            pto.TSTORE(pto.GlobalTensor(y, (16, 64)), t)

        return scale

    x = np.arange(1024, dtype=np.float32).reshape(16, 64)
    y = np.zeros_like(x)
    assert made(3.0).sanitize(x, y).errors
    kernel = made(3.0).synchronised()
    assert (kernel.proved, len(kernel.edits), str(kernel.report).count(" to ")) == (True, 4, 2)
    lines = kernel.text.splitlines()
    before = Path(__file__).read_text().splitlines()
    assert [line for k, line in enumerate(lines) if "_flag(pto." not in line or line in before] == before
    kernel[1](x, y)
    assert (y == 3 * x).all()
    assert not kernel.sanitize(x, y).errors
    assert kernel.synchronised().edits == ()
    assert kernel.on("a5").location.file == kernel.location.file


def test_what_a_proof_does_not_follow_can_get_the_flags_of_one_launch() -> None:
    text = kernel("scf.for %i = %c0 to %c32 step %n {", load("%t0", "%c0"), add("%t1", "%t0"), "}")
    refused = synchronise(text, target="a2a3")
    assert (refused.proved, refused.edits) == (False, ())
    assert [why for why, _ in refused.open] == ["the step of a loop may not be positive"]
    given = ["zeros:f32:16384", "zeros:f32:16384", "16"]
    made = synchronise(text, given, target="a2a3", launch=True)
    assert (made.proved, made.minimal, made.open) == (False, True, ())
    assert str(made) == (
        "k on a2a3: 6 lines for one launch alone, which is clean"
        " (1 block, -a zeros:f32:16384 -a zeros:f32:16384 -a 16); not proved"
    )
    assert not ptokit.sanitize(made.text, given, target="a2a3").errors
    assert ptokit.sanitize(text, given, target="a2a3").errors
