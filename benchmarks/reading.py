"""Speed of reading and checking text, beside xDSL reading the same program.

Run with ``python benchmarks/reading.py``. A kernel of 5,000 lines is made, once as people write it and once in generic
form, which both programs read, and another one as compilers emit it (`emitted`). They are measured in turn in one
process; figures are medians of processor time.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from io import StringIO

from emitted import emitted
from rich.console import Console
from rich.table import Table
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.scf import Scf
from xdsl.parser import Parser

from ptokit.asm import parse_module
from ptokit.asm.convert import convert
from ptokit.ir.verify import verify
from ptokit.targets import target

A5 = target("a5")
TILE = "!pto.tile_buf<vec, 16x64xf32>"
VIEW = "!pto.tensor_view<?x64xf32>"
PART = "!pto.partition_tensor_view<16x64xf32>"


def kernel(lines: int) -> str:
    """A kernel of at least so many lines: rows are loaded, worked on and stored, with the flags between."""
    out = StringIO()
    out.write(f"""\
module attributes {{pto.target_arch = "a5"}} {{
  func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %t = pto.alloc_tile : {TILE}
    %u = pto.alloc_tile : {TILE}
    %xv = pto.make_tensor_view %x, shape = [%n, %c64], strides = [%c64, %c1] : {VIEW}
    %yv = pto.make_tensor_view %y, shape = [%n, %c64], strides = [%c64, %c1] : {VIEW}
""")
    for step in range(-(-(lines - 13) // 16)):
        row = f"%r{step}"
        out.write(f"""\
    {row} = arith.constant {16 * step} : index
    %p{step} = pto.partition_view %xv, offsets = [{row}, %c0], sizes = [%c16, %c64] : {VIEW} -> {PART}
    %q{step} = pto.partition_view %yv, offsets = [{row}, %c0], sizes = [%c16, %c64] : {VIEW} -> {PART}
    pto.tload ins(%p{step} : {PART}) outs(%t : {TILE})
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%u : {TILE})
    pto.texp ins(%u : {TILE}) outs(%u : {TILE})
    pto.tmul ins(%u, %t : {TILE}, {TILE}) outs(%u : {TILE})
    scf.for %i{step} = %c0 to %c16 step %c1 {{
      pto.trelu ins(%u : {TILE}) outs(%u : {TILE})
    }}
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.tstore ins(%u : {TILE}) outs(%q{step} : {PART})
    pto.barrier <PIPE_ALL>
""")
    out.write("    return\n  }\n}\n")
    return out.getvalue()


def read_and_check(text: str) -> None:
    """Read, and apply every rule."""
    read = parse_module(text)
    found = [*read.diagnostics, *verify(read.module, A5)]
    assert not found, found[0]


def read_with_xdsl(text: str) -> None:
    """Read what is known of the dialects, take the others as they come, and verify."""
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith, Func, Scf):
        context.load_dialect(dialect)
    Parser(context, text).parse_module().verify()


def medians(runs: list[Callable[[], None]], rounds: int) -> list[float]:
    """Median seconds of each, measured in turn after a warm-up."""
    times: list[list[float]] = [[] for _ in runs]
    for round in range(rounds + 1):
        for run, kept in zip(runs, times):
            gc.collect()
            start = time.process_time()
            run()
            if round:
                kept.append(time.process_time() - start)
    return [statistics.median(kept) for kept in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=5000)
    options = parser.parse_args()
    text = kernel(options.lines)
    generic = convert(parse_module(text).module, "generic").text
    assert generic is not None
    other = emitted(options.lines)
    work = [
        ("read", text, lambda: parse_module(text)),
        ("read and check", text, lambda: read_and_check(text)),
        ("read, as compilers emit it", other, lambda: parse_module(other)),
        ("read and check, as compilers emit it", other, lambda: read_and_check(other)),
        ("read and check, generic form", generic, lambda: read_and_check(generic)),
        ("xDSL: read and verify, generic form", generic, lambda: read_with_xdsl(generic)),
    ]
    taken = medians([run for _, _, run in work], options.rounds)
    table = Table("work", "lines", "kB", "ms", "lines/s", "of xDSL's", box=None)
    speeds = [source.count("\n") / seconds for (_, source, _), seconds in zip(work, taken)]
    for (name, source, _), seconds, speed in zip(work, taken, speeds):
        row = (
            source.count("\n"),
            len(source) // 1000,
            round(1000 * seconds),
            f"{speed:,.0f}",
            f"{speed / speeds[-1]:.1f}",
        )
        table.add_row(name, *map(str, row))
    Console().print(table)


if __name__ == "__main__":
    main()
