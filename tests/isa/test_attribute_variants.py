"""Examples of instructions without one of their attributes, or with other values, end in a finding or a result."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import pytest

from ptokit.api.examples import Example, examples
from ptokit.asm.forms.attributes import WORDS
from ptokit.campaign.case import Action, Case, Result, Status
from ptokit.campaign.work import work
from ptokit.isa.table import TABLE, Instr

from .attribute_variants import module, others, without

UNTYPED = {
    "of aggregates": "alloc_multi_tile declare_local_array declare_struct declare_eventid_array eventid_array_get "
    "eventid_array_set INTTOPTR",
    "of sessions and events": "tput_async tget_async wait_async_event test_async_event prefetch_async "
    "get_prefetch_async_session",
    "of pairs of FP4 in memory": "load_cbuf_to_ca_s4 load_cbuf_to_cb_s4",
}
"""Instructions whose examples have operands or results of a type that cannot be run, which no check reports yet."""
LEFT_OUT = {name for names in UNTYPED.values() for name in names.split()}

WAYS = [
    (Action.RUN, {"backend": "numpy"}),
    (Action.RUN, {"backend": "native"}),
    (Action.SANITIZE, {}),
]


def words_of(instr: Instr) -> tuple[str, ...]:
    """The words that its attributes can be."""
    found = [word for a in instr.text_attrs.values() for word in (*a.words, *sorted(WORDS.get(a.mnemonic, ())))]
    return tuple(dict.fromkeys(found))


def variants(name: str, example: Example) -> Iterator[str]:
    yield example.statement
    yield from without(example.statement)
    yield from others(example.statement, words_of(TABLE[name]))


def results(name: str, example: Example, statement: str) -> Iterator[Result]:
    """Of the check, and of what can be done with a text that it accepts."""
    text = module(example, statement)
    checked = work(Case(name, name, text, Action.CHECK))
    yield checked
    if checked.status is Status.PASSED:
        yield from (work(Case(name, name, text, action, mode=mode)) for action, mode in WAYS)


def crashes(names: list[str]) -> list[tuple[str, str]]:
    """Statements that end in an error of ptokit itself, with its message."""
    known = examples()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            (statement, result.message)
            for name in names
            for statement in dict.fromkeys(variants(name, known[name]))
            for result in results(name, known[name], statement)
            if result.status is Status.CRASHED
        ]


NAMES = sorted(examples().keys() - LEFT_OUT)
REQUIRING = [name for name in NAMES if any(a.required for a in TABLE[name].attrs)]


def test_some_variants() -> None:
    assert len(REQUIRING) > 20
    assert crashes([*REQUIRING, *NAMES[::12]]) == []


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(8))
def test_all_variants(part: int) -> None:
    assert crashes(NAMES[part::8]) == []


@pytest.mark.parametrize("name", [name for name in REQUIRING if not TABLE[name].form.grammar])
def test_a_required_attribute_is_missed(name: str) -> None:
    example = examples()[name]
    found = [next(results(name, example, statement)) for statement in without(example.statement)]
    lines = [line for line in example.lines if example.statement in line]
    at = 2 + example.lines.index(lines[0])
    missed = [f for result in found for f in result.findings if f["rule"] == "ATTR-1"]
    assert missed
    assert all(f["line"] == at and "missing" in f["message"] for f in missed)


LAUNCH = """
  func.func @body(%a: f32) attributes {pto.simt_entry = true} {
    return
  }
  func.func @f(%n: i32, %a: f32) attributes {pto.entry} {
    {launch}
    return
  }
"""


def rules(text: str, action: Action = Action.CHECK) -> list[tuple[str, int]]:
    """Rule and line of what is found in the functions `text` on a5."""
    head = 'module attributes {pto.target_arch = "a5"} {'
    found = work(Case("case", "case", f"{head}{text}}}\n", action)).findings
    return [(f["rule"], f["line"]) for f in found if f["severity"] == "error"]


@pytest.mark.parametrize(
    ("launch", "found"),
    [
        ('pto.simt_launch "body" <<<%n, %n, %n>>> (%a) : (f32) -> ()', []),
        ('pto.simt_launch "other" <<<%n, %n, %n>>> (%a) : (f32) -> ()', [("FN-LAUNCH", 6)]),
        ('pto.simt_launch "body" <<<%n, %n, %n>>> (%a, %a) : (f32, f32) -> ()', [("FN-LAUNCH", 6)]),
    ],
)
def test_threads_are_launched_with_a_function_of_the_module(launch: str, found: list[tuple[str, int]]) -> None:
    assert rules(LAUNCH.replace("{launch}", launch)) == found


def test_a_function_of_threads_is_no_kernel() -> None:
    text = "\n  func.func @f() attributes {pto.simt_entry = true} {\n    return\n  }\n"
    assert rules(text) == []
    assert rules(text, Action.RUN) == [("RUN-ENTRY", 2)]


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ('pto.vmi.cmpf "olt", %v, %v : V, V -> M', ""),
        ('pto.vmi.cmpf "slt", %v, %v : V, V -> M', "VMI-11"),
        ('pto.vmi.cmpi "slt", %i, %i : I, I -> M', ""),
        ('pto.vmi.cmpi "olt", %i, %i : I, I -> M', "VMI-11"),
        ("pto.vmi.vand %m, %m : M, M -> M", ""),
        ("pto.vmi.vand %i, %m : I, M -> I", "VMI-03"),
        ('"pto.vmi.vnot"(%i) : (I) -> !pto.vreg<64xi32>', "OPERAND-KIND"),
    ],
)
def test_words_and_kinds_of_logical_vectors(statement: str, rule: str) -> None:
    types = {"V": "!pto.vmi.vreg<64xf32>", "I": "!pto.vmi.vreg<64xi32>", "M": "!pto.vmi.mask<64xpred>"}
    text = f"\n  func.func @f(%v: V, %i: I, %m: M) {{\n    %r = {statement}\n    return\n  }}\n"
    for letter, type in types.items():
        text = re.sub(rf"\b{letter}\b", type, text)
    assert rules(text) == ([(rule, 3)] if rule else [])
