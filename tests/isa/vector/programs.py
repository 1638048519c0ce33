"""Vector programs as text, read, checked, run and sanitized."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.asm import parse_module, print_module
from ptokit.diagnostics import Diagnostic
from ptokit.ir import Module
from ptokit.ir.verify import verify
from ptokit.run.backends import Unable, prepare
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

MINIMAL = """\
func.func @add(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  %n = arith.constant COUNT : i32
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %rows = arith.constant 32 : i64
  %len = arith.constant 128 : i64
  %pitch = arith.constant PITCH : i64
  %o = arith.constant 4096 : i64
  %false = arith.constant false
  %in = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %out = pto.castptr %o : i64 -> !pto.ptr<f32, ub>
  pto.set_loop_size_outtoub %one, %one : i64, i64
  pto.copy_gm_to_ubuf %x, %in, %z, %rows, %len, %z, %z, %false, %z, %len, %pitch
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %r = scf.for %i = %c0 to %c1024 step %c64 iter_args(%rem = %n) -> (i32) {
      %m, %nx = pto.plt_b32 %rem : i32 -> !pto.mask<b32>, i32
      %v = pto.vlds %in[%i] {dist = "NORM"} : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %s = pto.vadd %v, %v, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %s, %out[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      scf.yield %nx : i32
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.set_loop_size_ubtoout %one, %one : i64, i64
  pto.copy_ubuf_to_gm %out, %y, %z, %rows, %len, %z, %len, %len
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  pto.barrier #pto.pipe<PIPE_ALL>
  return
}
"""


def minimal(count: int = 1024, pitch: int = 128, without: str = "") -> str:
    """Doubles 1024 numbers; the predicate lets `count` of them through. ``without``: start of a line to leave out."""
    text = MINIMAL.replace("COUNT", str(count)).replace("PITCH", str(pitch))
    return "".join(line for line in text.splitlines(True) if not without or not line.strip().startswith(without))


def read(text: str) -> Module:
    """The module, which has no errors and is the same after printing and reading."""
    result = parse_module(text)
    assert [str(d) for d in result.diagnostics] == []
    printed = print_module(result.module)
    again = parse_module(printed)
    assert [str(d) for d in again.diagnostics] == []
    assert print_module(again.module) == printed
    return result.module


def run(text: str, *args: Any, on: str = "a5", blocks: int = 1) -> None:
    """Read, check and launch."""
    compile_program(read(text), target(on)).launch(args, blocks=blocks)


def run_both(text: str, *args: Any, on: str = "a5", blocks: int = 1) -> None:
    """Read, check and launch on NumPy, and as machine code where there is some, which leaves the same bytes."""
    program, copies = compile_program(read(text), target(on)), [np.array(arg) for arg in args]
    program.launch(args, blocks=blocks, backend="numpy")
    if isinstance(prepare("native", program), Unable):
        return
    program.launch(copies, blocks=blocks, backend="native")
    assert [a.tobytes() for a in args] == [b.tobytes() for b in copies]


def checked(text: str, on: str = "a5") -> list[Diagnostic]:
    """What reading and the static check find."""
    result = parse_module(text)
    return [*result.diagnostics, *([] if result.diagnostics.errors else verify(result.module, target(on)))]


def found(text: str, *args: Any, on: str = "a5") -> list[tuple[str, str]]:
    """Rules and marked source lines of what the sanitizer finds."""
    lines = text.splitlines()
    report = sanitize(read(text), on, args)
    return [
        (d.rule, lines[d.location.line - 1].split()[0 if "=" not in lines[d.location.line - 1] else 2])
        for d in report.symptoms
    ]


def numbers(count: int, dtype: Any = np.float32) -> np.ndarray:
    """0, 1, 2, …"""
    return np.arange(count).astype(dtype)
