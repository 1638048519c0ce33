"""What only one of two versions orders: the dropped wait is named, whatever else differs."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import ptokit
from ptokit.api.sanitize import compare_order
from ptokit.campaign.case import Action, Case, Status
from ptokit.campaign.work import work
from ptokit.cpp.compiler import find_compiler
from ptokit.diagnostics import DiagnosticError
from ptokit.synchronise.report import OrderComparison
from tests.cli.conftest import Run
from tests.cli.conftest import ptokit as command  # noqa: F401
from tests.prove.kernels import COPY, HANDED, add, flag, kernel, load, loop

pytest.importorskip("z3")

WAIT = HANDED[1] + "\n"
LINES = COPY.splitlines()


def line(code: str, text: str = COPY) -> int:
    return next(k for k, one in enumerate(text.splitlines(), 1) if code in one)


def compared(a: str, b: str, **options: Any) -> OrderComparison:
    return compare_order(a, b, target="a2a3", **options)


LOAD, ADD, STORE = (line(f"pto.{name} ") for name in ("tload", "tadds", "tstore"))
DROPPED = COPY.replace(WAIT, "")
SHORT = kernel(load("%t0", "%c0"), *HANDED, add("%t0", "%t0"), rows="%c32", params="")


def test_a_dropped_wait_is_named_with_what_it_ordered() -> None:
    made = compared(COPY, DROPPED)
    assert str(made.lost[0]) == (
        f"B dropped the wait between TLOAD in line {LOAD} and TADDS in line {ADD - 1} (lines {LOAD} and {ADD} of A): "
        "TADDS on PIPE_V may overtake TLOAD on PIPE_MTE2; A has a wait for the flag PIPE_MTE2 to PIPE_V in line "
        f"{line(HANDED[1])}; likewise 1 further dependence"
    )
    assert [(lost.without, lost.carried) for lost in made.lost] == [("B", False)]
    assert (made.less, made.whole, made.gained, made.both) == (True, True, [], 4)
    told = f"; A has a wait for the flag PIPE_MTE2 to PIPE_V in line {line(HANDED[1])}"
    assert made.broken[0].endswith("the flag PIPE_MTE2 to PIPE_V, id 0 is set again before a wait" + told)
    again = compared(DROPPED, COPY)
    assert (again.less, [lost.without for lost in again.lost + again.gained]) == (False, ["A"])
    assert "A lacks the wait between TLOAD" in str(again)


def test_a_wait_at_the_beginning_of_an_iteration_is_about_the_one_before() -> None:
    made = compared(COPY, COPY.replace(flag("wait", "V", "MTE2") + "\n", "", 1))
    assert "TLOAD on PIPE_MTE2 may overtake TADDS on PIPE_V of an earlier iteration" in str(made)


def test_a_dropped_wait_that_orders_nothing_is_named_by_its_flag() -> None:
    """After a loop, where only the flag is left set, and where no launch comes to; ids do not count."""
    last = COPY.rindex(drain := flag("wait", "V", "MTE2") + "\n")
    at = COPY[:last].count("\n") + 1
    less = COPY[:last] + COPY[last + len(drain) :]
    for b in (less, less.replace("<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>", "<PIPE_V>, <PIPE_MTE2>, <EVENT_ID5>")):
        made = compared(COPY, b)
        assert (made.less, made.lost, made.unreached) == (True, [], [])
        assert [said.endswith(f"; A has a wait for the flag PIPE_V to PIPE_MTE2 in line {at}") for said in made.broken]
    never = ("scf.for %k = %c2 to %c1 step %c1 {", *HANDED, "}")
    dead = kernel(load("%t0", "%c0"), *never, *HANDED, add("%t0", "%t0"), rows="%c32", params="")
    made = compared(dead, dead.replace(HANDED[1] + "\n", "", 1))
    said = f"a wait for the flag PIPE_MTE2 to PIPE_V in line {line(HANDED[1], dead)}"
    assert (made.less, made.unreached) == (False, [said])
    assert f"only A has {said}, where no launch comes to" in str(made)


def test_names_addresses_ids_and_comments_do_not_count() -> None:
    """As a compiler leaves a program whose tiles have no addresses, or as another one places them."""
    b = COPY.replace("%rows", "%length").replace("%i", "%strip").replace("EVENT_ID0", "EVENT_ID3")
    b = re.sub(r"%t0\b", "%tile", b).replace("scf.for", "// a strip at a time\n\nscf.for")
    made = compared(re.sub(r" addr = %a\d", "", COPY), b.replace("constant 2048", "constant 8192"))
    assert (made.less, made.whole, made.gained, made.stronger, made.both) == (False, True, [], [], 6)
    assert made.change == 0


def test_lines_in_another_order_are_found_again() -> None:
    """Two loads that change places: the flag that only the first one has in B is not taken for that of the other."""
    loads = load("%t0", "%c0"), load("%t1", "%c16")
    ends = add("%t0", "%t0"), add("%t1", "%t1")
    a = kernel(*loads, *HANDED, *ends, rows="%c32", params="")
    b = kernel(loads[1], *HANDED, loads[0], *ends, rows="%c32", params="")
    made = compared(a, b)
    lines = line("outs(%t0 : ", b), line("pto.tadds ins(%t0", b)
    assert [lost.lines for lost in made.lost] == [lines]
    assert made.both == 1


def test_a_barrier_for_a_flag_is_stronger_and_costs_time() -> None:
    body = (load("%t0", "%r"), *HANDED, add("%t1", "%t0"), load("%t2", "%r"))
    a = kernel(loop(*body), tiles=3)
    made = compared(a, a.replace("\n".join(HANDED), "pto.barrier <PIPE_ALL>"))
    assert made.cycles is not None
    assert made.cycles[1] > made.cycles[0]
    assert {stronger.version for stronger in made.stronger} == {"B"}
    text = "only B orders TADDS in line {} before TLOAD in line {}, which share no memory"
    second = line("outs(%t2", a)
    assert text.format(line("pto.tadds", a) - 1, second - 1) in str(made)
    back = compared(a.replace("\n".join(HANDED), "pto.barrier <PIPE_ALL>"), kernel(loop(*body[:1], *body[3:]), tiles=3))
    assert "B dropped the barrier between TLOAD" in str(back)
    assert "A has a barrier of all pipes" in str(back)


def test_memory_that_only_one_version_shares() -> None:
    """A compiler that gives two tiles one address makes a dependence that its flags have to order, too."""
    body = (load("%t0", "%c0"), *HANDED, add("%t2", "%t0"), load("%t1", "%c16"))
    a = kernel(*body, rows="%c32", params="", tiles=3)
    made = compared(a, a.replace("%a1 = arith.constant 2048", "%a1 = arith.constant 0"))
    assert "B does not order TADDS" in str(made)
    assert "in A they share no memory" in str(made)
    assert made.less


def test_instructions_of_one_version_are_told() -> None:
    made = compared(SHORT, SHORT.replace(add("%t0", "%t0"), add("%t0", "%t0") + "\n" + add("%t1", "%t1")))
    names = [f"TADDS in line {line('outs(%t0', SHORT) + 4}"]
    assert (made.less, made.whole, made.unmatched) == (False, False, ([], names))


def test_what_is_not_followed_is_not_compared() -> None:
    odd = COPY.replace("step %c1", "step %n")
    made = compared(odd, odd)
    assert (made.less, made.whole, made.both) == (False, False, 0)
    assert "A, line" in made.open[0]


PYTHON = """
import ptokit as pto

V, LOADS = pto.PIPE_V, pto.PIPE_MTE2


@pto.kernel(target="a2a3")
def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):
    strips = pto.GlobalTensor(x, (32, 32))
    one = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32, addr=0)
    pto.TLOAD(one, strips[0:16, 0:32])
    pto.set_flag(LOADS, V, 0)
    pto.wait_flag(LOADS, V, 0)
    pto.TADDS(one, one, 1.0)
"""


def test_a_kernel_in_python_and_one_in_text(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(PYTHON)
    body = load("%t0", "%c0"), add("%t0", "%t0")
    made = compared(f"{file}:k", kernel(*body, rows="%c32", params=""))
    assert [(lost.lines, lost.other) for lost in made.lost] == [((19, 20), (11, 14))]
    assert "A has a wait for the flag PIPE_MTE2 to PIPE_V in line 13" in str(made)


def has_compiler() -> bool:
    try:
        find_compiler()
    except DiagnosticError:
        return False
    return True


@pytest.mark.skipif(not has_compiler(), reason="needs a compiler for C++")
def test_a_kernel_in_cpp_and_one_in_text(tmp_path: Path) -> None:
    file = tmp_path / "k.cpp"
    file.write_text(ptokit.convert(SHORT, "cpp", target="a2a3"))
    made = compared(str(file), SHORT.replace(WAIT, ""))
    assert (made.whole, [lost.lines for lost in made.lost]) == (True, [(19, 21)])


def test_the_command(tmp_path: Path, command: Run) -> None:  # noqa: F811
    a, b = tmp_path / "a.pto", tmp_path / "b.pto"
    a.write_text(SHORT)
    b.write_text(SHORT.replace(WAIT, ""))
    ran = command("sync", "--compare", str(a), str(b), "-t", "a2a3")
    assert (ran.status, "B dropped the wait between TLOAD" in ran.out) == (1, True)
    assert "predicted: A " in ran.out
    shown = json.loads(command("sync", "--compare", str(a), str(b), "-t", "a2a3", "--format", "json").out)
    assert (shown["less"], shown["lost"][0]["carried"], shown["ordered_in_both"]) == (True, False, 0)
    assert command("sync", "--compare", str(a), str(a), "-t", "a2a3").status == 0
    b.write_text(COPY.replace("step %c1", "step %n"))
    assert command("sync", "--compare", str(a), str(b), "-t", "a2a3").status == 3
    for wrong in (["--compare", str(a)], [str(a), str(b)], ["--compare", str(a), str(b), "--in-place"]):
        assert command("sync", *wrong, "-t", "a2a3").status == 2


@pytest.mark.parametrize(
    ("chosen", "given"),
    [
        *product(["--compare"], ["--minimise", "--launch", "--for overlap", "--arg 1"]),
        *product(["--launch"], ["--minimise", "--for overlap", "--assume n>0", "--limit 9"]),
        ("--minimise", "--for overlap"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(tmp_path: Path, command: Run, chosen: str, given: str) -> None:  # noqa: F811
    a = tmp_path / "a.pto"
    a.write_text(SHORT)
    files = [str(a)] * (1 + (chosen == "--compare"))
    ran = command("sync", *files, "-t", "a2a3", chosen, *given.split())
    name = given if given.startswith("--for") else given.split()[0]
    assert (ran.status, f"{chosen} does not take {name}." in ran.err) == (2, True)


def test_a_format_is_for_a_comparison(tmp_path: Path, command: Run) -> None:  # noqa: F811
    a = tmp_path / "a.pto"
    a.write_text(SHORT)
    ran = command("sync", str(a), "-t", "a2a3", "--format", "json")
    assert (ran.status, "it takes --compare" in ran.err) == (2, True)


def test_the_campaign() -> None:
    case = Case("k", "k.pto", SHORT.replace(WAIT, ""), Action.COMPARE_ORDER, target="a2a3", other=SHORT)
    result = work(case)
    assert result.status is Status.FINDING
    assert result.message.startswith("B dropped the wait between TLOAD")
    assert work(Case("k", "k.pto", SHORT, Action.COMPARE_ORDER, target="a2a3", other=SHORT)).status is Status.PASSED
