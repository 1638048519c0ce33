"""Blocks run together unless they may part after one of them has stored: each operation at which they can part."""

from __future__ import annotations

import pytest

from .test_effects import STORE, TILE, effects

WRITE = STORE.format("%p") + "\n"
FUNCTIONS = """
func.func @stores(%p: !pto.ptr<i64>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  pto.store_scalar %one, %p[%c0] : !pto.ptr<i64>, i64
  return
}
func.func @through(%p: !pto.ptr<i64>) {
  func.call @stores(%p) : (!pto.ptr<i64>) -> ()
  return
}
func.func @parts(%w: i1) {
  scf.if %w {
  }
  return
}
"""
CALL = "func.call @{}(%p) : (!pto.ptr<i64>) -> ()\n"
PART = "func.call @parts({}) : (i1) -> ()\n"

# In each {x} is a number, {t} a truth and {n} an i64: of all blocks, or another one in each.
PARTINGS = {
    "lower": "scf.for %i = {x} to %c8 step %c1 {{\n}}",
    "upper": "scf.for %i = %c0 to {x} step %c1 {{\n}}",
    "step": "scf.for %i = %c0 to %c8 step {x} {{\n}}",
    "if": "scf.if {t} {{\n}}",
    "switch": "scf.index_switch {x}\ncase 1 {{\nscf.yield\n}}\ndefault {{\n}}",
    "while": "scf.while () : () -> () {{\nscf.condition({t})\n}} do {{\n}}",
    "cond_br": "cf.cond_br {t}, ^a, ^b\n^a:\ncf.br ^b\n^b:",
    "cf.switch": "cf.switch {n} : i64, [default: ^a, 3: ^b]\n^a:\ncf.br ^b\n^b:",
    "select": f"%s = arith.select {{t}}, %a, %d : {TILE}",
    "call": PART.replace("{}", "{t}"),
}
NUMBERS = f"""
    %z = arith.cmpi eq, %b, %c1 : index
    %m = arith.index_cast %u : index to i64
    %a = pto.alloc_tile : {TILE}
    %d = pto.alloc_tile : {TILE}
"""


def together(body: str) -> bool:
    return effects(NUMBERS + body, FUNCTIONS).lockstep


def parting(how: str, *, differ: bool) -> str:
    x, t, n = ("%b", "%z", "%id") if differ else ("%u", "%t", "%m")
    return PARTINGS[how].format(x=x, t=t, n=n) + "\n"


@pytest.mark.parametrize("how", PARTINGS)
@pytest.mark.parametrize("store", [WRITE, CALL.format("stores"), CALL.format("through")])
def test_after_a_store(how: str, store: str) -> None:
    assert not together(store + parting(how, differ=True))
    assert together(store + parting(how, differ=False))
    if how in SIMPLE:  # of several blocks some may lead back
        assert together(parting(how, differ=True) + store)


SIMPLE = [how for how in PARTINGS if how not in ("cond_br", "cf.switch")]


@pytest.mark.parametrize("how", SIMPLE)
def test_in_what_is_done_again(how: str) -> None:
    """The store comes later in the text, but the next iteration parts after it."""
    part = parting(how, differ=True)
    assert not together(f"scf.for %k = %c0 to %c8 step %c1 {{\n{part}{WRITE}}}")
    assert not together(f"scf.while () : () -> () {{\n{part}scf.condition(%t)\n}} do {{\n{WRITE}}}")
    assert not together(f"scf.while () : () -> () {{\n{WRITE}scf.condition(%t)\n}} do {{\n{part}}}")
    assert not together(f"cf.br ^l\n^l:\n{part}{WRITE}cf.cond_br %t, ^l, ^o\n^o:")
    assert not together(f"cf.br ^l\n^l:\n{part}{CALL.format('through')}cf.cond_br %t, ^l, ^o\n^o:")


@pytest.mark.parametrize("how", SIMPLE)
def test_in_what_is_done_once(how: str) -> None:
    part = parting(how, differ=True)
    for around in ("scf.execute_region {{\n{}}}", "scf.if %t {{\n{}}}", "pto.section.vector {{\n{}}}"):
        end = "scf.yield\n" if "execute" in around else ""
        assert together(around.format(part + WRITE + end))
        assert not together(around.format(WRITE + part + end))
        assert not together(around.format(WRITE + end) + "\n" + part)
        assert together(part + around.format(WRITE + end))


def test_a_function_that_is_entered_before_and_after_a_store() -> None:
    call = PART.format("%z")
    assert together(call + call + WRITE)
    assert not together(call + WRITE + call)
    assert not together(WRITE + call)
    assert together(PART.format("%t") + WRITE)


def test_a_loop_that_leaves_after_it_has_stored() -> None:
    assert not together(f"scf.while () : () -> () {{\nscf.condition(%z)\n}} do {{\n{WRITE}}}")
    assert together(f"scf.while () : () -> () {{\nscf.condition(%t)\n}} do {{\n{WRITE}}}")
