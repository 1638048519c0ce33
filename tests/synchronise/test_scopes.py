"""Barriers inside vector scopes: where a load or store of common bytes could overtake another one, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptokit
from ptokit.api.synchronise import Synchronised, synchronise

pytest.importorskip("z3")

HEAD = """\
!ub = !pto.ptr<f32, ub>
!reg = !pto.vreg<64xf32>
!all = !pto.mask<b32>
module attributes {pto.target_arch = "a5"} {
  func.func @k(%n: index) attributes {pto.assume = ["n <= 8"]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %z = arith.constant 0 : i64
    %o = arith.constant 8192 : i64
    %in = pto.castptr %z : i64 -> !ub
    %tmp = pto.castptr %o : i64 -> !ub
    pto.vecscope {
      %all = pto.pset_b32 "PAT_ALL" : !all
      %x = pto.vdup %c1f, %all : f32, !all -> !reg
"""
TAIL = """\
    }
    return
  }
}
"""


def kernel(*body: str) -> str:
    head = HEAD.replace("    %z =", "    %c1f = arith.constant 1.0 : f32\n    %z =", 1)
    return head + "".join(f"      {line}\n" for line in body) + TAIL


def load(name: str, at: str, base: str = "in") -> str:
    return f"%{name} = pto.vlds %{base}[%{at}] : !ub -> !reg"


def store(name: str, at: str, base: str = "in") -> str:
    return f"pto.vsts %{name}, %{base}[%{at}], %all : !reg, !ub, !all"


def disordered(text: str) -> list[str]:
    """What a run with n = 3 says of the order in the scope."""
    return [d.message for d in ptokit.sanitize(text, ["3"]).errors if d.rule == "SYN-A5-05"]


def bars(made: Synchronised) -> list[str]:
    """Each barrier with the line that it comes before; the sanitizer finds that it is needed, and none lacks."""
    assert made.proved
    lines = made.text.splitlines()
    assert [line for line in lines if "mem_bar" not in line] == made.old.splitlines()
    assert disordered(made.text) == []
    at = [k for k, line in enumerate(lines) if "mem_bar" in line]
    for k in at:
        less = "\n".join([*lines[:k], *lines[k + 1 :]]) + "\n"
        assert disordered(less) != []
    assert len(at) == len(made.scopes)
    return [f"{lines[k].split()[-1]} {lines[k + 1].strip()}" for k in at]


def test_a_load_waits_for_a_store_and_a_store_for_a_load() -> None:
    made = synchronise(kernel(load("a", "c0"), store("x", "c0"), "// again", load("b", "c0"), store("b", "c64")))
    assert bars(made) == [f'"VLD_VST" {store("x", "c0")}', f'"VST_VLD" {load("b", "c0")}']
    assert str(made.scopes[1]) == (
        "mem_bar VST_VLD before line 20: without it vlds in line 20 may overtake vsts in line 18"
    )
    again = synchronise(made.text)
    assert (again.proved, again.edits) == (True, ())


def test_what_is_computed_or_lies_apart_or_is_stored_twice_takes_none() -> None:
    inplace = (load("a", "c0"), "%b = pto.vadd %a, %a, %all : !reg, !reg, !all -> !reg", store("b", "c0"))
    assert bars(synchronise(kernel(*inplace, store("x", "c0"), load("d", "c64")))) == []


def test_what_iterations_share_is_ordered_in_their_loop() -> None:
    """The first pair lies apart in all iterations; the buffer between them is used again in each."""
    loop = ("scf.for %i = %c0 to %n step %c1 {", "%at = arith.muli %i, %c64 : index")
    made = synchronise(
        kernel(*loop, load("a", "at"), store("a", "c0", "tmp"), load("b", "c0", "tmp"), store("b", "at"), "}")
    )
    assert bars(made) == [f'"VLD_VST" {store("a", "c0", "tmp")}', f'"VST_VLD" {load("b", "c0", "tmp")}']


@pytest.mark.campaign
def test_the_barrier_of_the_example_is_found_again() -> None:
    text = (Path(__file__).parents[2] / "examples/pto/vector_softmax.pto").read_text()
    (line,) = [line for line in text.splitlines(keepends=True) if "mem_bar" in line]
    made = synchronise(text.replace(line, ""), target="a5")
    assert (made.proved, made.text) == (True, text)


PYTHON = """
import ptokit as pto

@pto.kernel(target="a5")
def again():
    p = pto.castptr(0, pto.f32)
    with pto.vecscope():
        every = pto.pset_b32("PAT_ALL")
        v = pto.vlds(p, 0)
        pto.vsts(v, p, 64, every)
        # and back
        w = pto.vlds(p, 64)
        pto.vsts(w, p, 128, every)
"""


def test_a_barrier_in_python(tmp_path: Path) -> None:
    file = tmp_path / "again.py"
    file.write_text(PYTHON)
    made = synchronise(str(file))
    lines = made.text.splitlines()
    (at,) = [k for k, line in enumerate(lines) if "mem_bar" in line]
    assert (made.proved, lines[at]) == (True, '        pto.mem_bar("VST_VLD")')
    assert lines[at - 1 : at + 2 : 2] == ["        # and back", "        w = pto.vlds(p, 64)"]
    assert lines[:at] + lines[at + 1 :] == PYTHON.splitlines()
