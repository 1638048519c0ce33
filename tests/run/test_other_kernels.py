"""Kernels of one file: what is wrong with one of them does not keep the others from running."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError, Severity
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

_TILE = "!pto.tile_buf<vec, 16x16xf32>"
_HELPER = f"""func.func private @twice(%t: {_TILE}) {{
  pto.tadd ins(%t, %t : {_TILE}, {_TILE}) outs(%t : {_TILE})
  return
}}
"""
_GOOD = f"""func.func @good(%p: !pto.ptr<f32>) attributes {{pto.kernel}} {{
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %v = pto.make_tensor_view %p, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>

  %c0 = arith.constant 0 : index
  %w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c16]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x16xf32>
  %t = pto.alloc_tile : {_TILE}
  pto.tload ins(%w : !pto.partition_tensor_view<16x16xf32>) outs(%t : {_TILE})
  func.call @twice(%t) : ({_TILE}) -> ()
  pto.tstore ins(%t : {_TILE}) outs(%w : !pto.partition_tensor_view<16x16xf32>)
  return
}}
"""
_HUGE = """func.func @huge(%p: !pto.ptr<f32>) attributes {pto.kernel} {
  %t = pto.alloc_tile : !pto.tile_buf<vec, 512x512xf32>
  return
}
"""
_UNREAD = """func.func @unread(%p: !pto.ptr<f32>) attributes {pto.kernel} {
  %t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xnothing>
  return
}
"""
_UNRUN = """func.func @unrun(%p: !pto.ptr<f32>, %n: vector<4xf32>) attributes {pto.kernel} {
  %m = arith.addf %n, %n : vector<4xf32>
  return
}
"""


def _text(*functions: str) -> str:
    return 'module attributes {pto.target_arch = "a5"} {\n' + "".join(functions) + "}\n"


@pytest.mark.parametrize(
    "functions",
    [(_HUGE, _HELPER, _GOOD), (_GOOD, _HELPER, _HUGE), (_UNREAD, _GOOD, _HELPER), (_HELPER, _GOOD, _UNRUN)],
    ids=["before", "after", "unread", "unrun"],
)
def test_a_kernel_runs_beside_one_that_is_wrong(functions: tuple[str, ...]) -> None:
    x = np.arange(256, dtype=np.float32)
    result = pto.run(_text(*functions), [x], entry="good")
    assert (x == 2 * np.arange(256)).all()
    assert not result.diagnostics.errors


def test_what_is_wrong_elsewhere_is_a_warning() -> None:
    found = pto.run(_text(_HUGE, _HELPER, _GOOD), [np.zeros(256, np.float32)], entry="good").diagnostics
    assert [(d.rule, d.severity) for d in found] == [("UB-CAPACITY", Severity.WARNING)]
    found = pto.check(_text(_HUGE, _HELPER, _GOOD)).diagnostics
    assert [(d.rule, d.severity) for d in found] == [("UB-CAPACITY", Severity.ERROR)]


def test_what_a_kernel_reaches_still_refuses() -> None:
    helper = _HELPER.replace("return", "%u = pto.alloc_tile : !pto.tile_buf<vec, 512x512xf32>\n  return")
    for text, entry in ((_text(_GOOD, helper, _HUGE), "good"), (_text(_HUGE, _GOOD, _HELPER), "huge")):
        with pytest.raises(DiagnosticError, match="UB-CAPACITY"):
            pto.run(text, [np.zeros(256, np.float32)], entry=entry)


def test_without_a_kernel_all_errors_are_shown() -> None:
    with pytest.raises(DiagnosticError) as refused:
        pto.run(_text(_HUGE, _HELPER, _GOOD), [np.zeros(256, np.float32)], entry="absent")
    assert {d.rule for d in refused.value.diagnostics} == {"UB-CAPACITY"}


def test_modules_are_compiled_and_sanitized_so_too() -> None:
    module = parse_module(_text(_HUGE, _HELPER, _GOOD), "k.pto").module
    x = np.ones(256, np.float32)
    compile_program(module, target("a5"), entry="good").launch([x])
    assert (x == 2).all()
    assert sanitize(module, "a5", [x], entry="good", mode="auto").ran
