"""What the check finds of constants, a launch and the sanitizer find of numbers that only the run knows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.ir.facts import Facts
from ptokit.isa.check import bound_at_run, open_rules
from ptokit.isa.simt.memory import OfThreads
from ptokit.isa.table import TABLE
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import TARGETS, target
from tests.each import each

from ..lang.random_rules import drawn_in_python
from ..rules_at_run import Drawn, Sample, differs, drawn, open_rules_by_id, verdict

CASES = {
    "ARG-COM-02": ("TROWARGMAX", 20),
    "CEXP-COM-02": ("TCOLEXPANDDIV", 4),
    "CMP-INP-01": ("TCOLEXPANDDIV", 1),
    "CONC-A23-01": ("TCONCAT", 0),
    "CUB-15": ("mte_l0c_gm", 0),
    "DEQ-COM-02": ("TDEQUANT", 3),
    "DMA-A5-01": ("mte_ub_ub", 1),
    "DMA-A5-02": ("mte_ub_gm", 0),
    "DMA-A5-03": ("set_loop_size_outtoub", 1),
    "DMA-A5-04": ("mte_gm_ub", 1),
    "DMA-A5-07": ("mte_ub_ub", 3),
    "DMA-A5-09": ("copy_gm_to_ubuf", 0),
    "DMA-A5-10": ("copy_ubuf_to_ubuf", 1),
    "ELEM-01": ("TGETVAL", 0),
    "EW-09": ("TSHLS", 37),
    "EW-10": ("TADDSC", 0),
    "EW-CMP-01": ("TCMP", 14),
    "EW-SEL-01": ("TSELS", 27),
    "EXTR-COM-01": ("TEXTRACT_FP", 10),
    "EXTR-COM-02": ("TEXTRACT", 2),
    "FILL-COM-05": ("TFILLPAD_EXPAND", 0),
    "FLAG-RANGE": ("set_flag_dyn", 0),
    "GATHB-05": ("TGATHERB", 6),
    "GEMV-COM-01": ("TGEMV", 2),
    "HIST-04": ("THISTOGRAM", 2),
    "INS-COM-01": ("TINSERT", 0),
    "INTLV-02": ("TDEINTERLEAVE", 0),
    "INTLV-04": ("TDEINTERLEAVE", 2),
    "LOAD-A5-05": ("TLOAD", 3),
    "LS-COM-03": ("TSTORE", 31),
    "LS-COM-05": ("TLOAD", 23),
    "MAT-COM-04": ("TMATMUL", 7),
    "MAT-COM-05": ("TMATMUL", 12),
    "MAT-COM-08": ("TGEMV_BIAS", 38),
    "MRG-COM-02": ("TMRGSORT", 0),
    "PAIR-COM-01": ("TPairReduceSum", 0),
    "PART-COM-02": ("TPARTADD", 0),
    "PART-COM-04": ("TPARTARGMIN", 2),
    "PRD-A5-01": ("vsunpack", 0),
    "PREF-04": ("TPREFETCH", 5),
    "QNT-COM-02": ("TQUANT", 8),
    "REXP-COM-11": ("TROWEXPANDDIV", 0),
    "RRED-COM-03": ("TROWMIN", 6),
    "SCATTER-A5-05": ("MSCATTER", 0),
    "SORT-COM-05": ("TSORT32", 3),
    "STORE-A5-04": ("TSTORE", 1),
    "STORE-A5-06": ("TSTORE", 47),
    "STORE-A5-D1": ("TSTORE", 4),
    "STORE-A5-D3": ("TSTORE_FP", 85),
    "TCVT-INP-01": ("TCVT", 0),
    "TGATH-A23-02": ("TGATHER", 9),
    "TMOV-COM-11": ("TMOV_FP", 23),
    "TRANS-COM-05": ("TTRANS", 1),
    "TSCAT-COM-07": ("TSCATTER", 0),
    "VEC-A5-14": ("vshrs", 1),
}
"""For each rule an instruction and a seed whose program breaks it (`rules_at_run.search`)."""

UNREACHED = frozenset(
    (
        "ARG-COM-01 CEXP-COM-01 CONC-COM-02 CRED-COM-01 EW-05 EW-A5-04 EW-A5-06 EXTR-COM-04 FILL-COM-04 GATHER-A5-09 "
        "GATHER-COM-05 INS-COM-02 LOAD-A5-04 LOAD-A5-06 LOAD-A5-13 LOAD-A5-14 LOAD-A5-15 LOAD-A5-16 LOAD-A5-17 "
        "LOAD-A5-18 LOAD-A5-D1 MAT-NPU-01 MRG-COM-04 MRG-COM-06 MRG-COM-07 REXP-COM-01 SCATTER-COM-04 STORE-A5-05 "
        "STORE-A5-07 STORE-A5-09 STORE-A5-10 STORE-A5-14 STORE-A5-15 STORE-A5-D2 STORE-A5-D4 TCVT-02 TMOV-COM-12 "
        "TMOV-COM-13 TSCAT-COM-05"
    ).split()
)
"""Rules that look at what the run knows, but which numbers alone do not break in the example of an instruction: they
are about other types or layouts. The random programs compare these, too, where they meet them."""


def test_every_rule_that_looks_at_the_run_is_known() -> None:
    assert open_rules_by_id().keys() == CASES.keys() | UNREACHED
    assert CASES.keys().isdisjoint(UNREACHED)


@each("rule", CASES)
def test_a_rule_of_the_catalogue(rule: str) -> None:
    name, seed = CASES[rule]
    sample = Sample(name, seed)
    given = frozenset(n.name for n in sample.numbers)
    fixed, late = verdict(sample, frozenset(), "numpy"), verdict(sample, given, "numpy")
    assert fixed is not None
    assert late is not None
    assert rule in {id for _, id in fixed.checked | fixed.run}
    assert rule in {id for _, id in late.run}
    for how in ("sanitize", "native"):
        assert differs(sample, given, how) == ""


@each("seed", range(60))
def test_random_programs(seed: int) -> None:
    assert differs(*drawn(seed), ("numpy", "sanitize")[seed % 2]) == ""


def test_random_kernels() -> None:
    for seed in range(40):
        assert differs(*drawn_in_python(seed), ("numpy", "sanitize")[seed % 2]) == "", seed


@pytest.mark.campaign
@pytest.mark.parametrize("draw", [drawn, drawn_in_python])
def test_many_random_programs(draw: Callable[[int], tuple[Drawn, frozenset[str]]]) -> None:
    for seed in range(1000, 6000):
        how = "native" if seed % 10 == 0 else ("numpy", "sanitize")[seed % 2]
        assert differs(*draw(seed), how) == "", (seed, how)


def test_threads_leave_no_rule_to_the_run() -> None:
    """Rules of what threads execute are the assembler's, which knows no numbers of the run: launches need not ask."""
    of_threads = [instr for instr in TABLE.values() if isinstance(instr.run, OfThreads)]
    assert len(of_threads) > 60
    for instr in of_threads:
        assert [rule.id for on in TARGETS.values() for rule, _ in bound_at_run(instr, on)] == []


SHIFT = """\
module attributes {pto.target_arch = "a5"} {
  func.func @k(%x: !pto.ptr<{type}, gm>, %n: {type}) attributes {pto.kernel} {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %b = pto.get_block_idx
    %at = arith.index_cast %b : i64 to index
    %t = pto.alloc_tile : !pto.tile_buf<vec, 1x32x{type}>
    %v = pto.make_tensor_view %x, shape = [%c8, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?x{type}>
    %p = pto.partition_view %v, offsets = [%at, %zero], sizes = [%c1, %c32]
        : !pto.tensor_view<?x?x{type}> -> !pto.partition_tensor_view<1x32x{type}>
    pto.tload ins(%p : !pto.partition_tensor_view<1x32x{type}>) outs(%t : !pto.tile_buf<vec, 1x32x{type}>)
    {count}
    pto.tshls ins(%t, %m : !pto.tile_buf<vec, 1x32x{type}>, {type}) outs(%t : !pto.tile_buf<vec, 1x32x{type}>)
    pto.tstore ins(%t : !pto.tile_buf<vec, 1x32x{type}>) outs(%p : !pto.partition_tensor_view<1x32x{type}>)
    return
  }
}
""".replace("    %b = ", "    %zero = arith.constant 0 : index\n    %b = ", 1)

ONE = "%m = arith.addi %n, %none : {type}"
EACH = "%k = arith.index_cast %b : i64 to index\n    %j = arith.index_cast %k : index to {type}\n"
EACH += "    %m = arith.subi %n, %j : {type}"


def shift(type: str, count: str) -> str:
    none = f"%none = arith.constant 0 : {type}\n    "
    return SHIFT.replace("{count}", none + count).replace("{type}", type)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("type", "kind"), [("i16", np.int16), ("i32", np.int32)])
def test_a_count_of_the_run(type: str, kind: type, backend: str) -> None:
    """Nothing but the number is open; a launch that finds it negative has stored nothing."""
    pytest.importorskip("llvmlite")
    module = parse_module(shift(type, ONE), "t.pto").module
    program = compile_program(module, target("a5"))
    x = np.ones((8, 32), kind)
    program.launch([x, 3], 2, backend=backend)
    assert (x[:2] == 8).all()
    with pytest.raises(DiagnosticError) as caught:
        program.launch([x, -1], 2, backend=backend)
    assert [d.rule for d in caught.value.diagnostics] == ["EW-09"]
    assert (x[:2] == 8).all()
    found = sanitize(module, "a5", [x, -1]).diagnostics
    assert "EW-09" in {d.rule for d in found}


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_count_that_differs_between_blocks(backend: str) -> None:
    """Blocks whose count is negative are refused, the others run."""
    pytest.importorskip("llvmlite")
    program = compile_program(parse_module(shift("i32", EACH), "t.pto").module, target("a5"))
    x = np.ones((8, 32), np.int32)
    program.launch([x, 10], 8, backend=backend)
    assert x[:, 0].tolist() == [1 << (10 - b) for b in range(8)]
    x[:] = 1
    with pytest.raises(DiagnosticError) as caught:
        program.launch([x, 5], 8, backend=backend)
    (found,) = caught.value.diagnostics
    assert found.rule == "EW-09"
    assert "at block 6" in found.notes[0].message
    assert x[:, 0].tolist() == [32, 16, 8, 4, 2, 1, 1, 1]


def test_rules_that_look_at_nothing_open_are_not_asked() -> None:
    """A number that no rule looks at costs nothing at run."""
    text = shift("i32", ONE).replace("tshls", "tadds")
    module = parse_module(text, "t.pto").module
    program = compile_program(module, target("a5"))
    rules = {s.name: s.rules for f in program.plan.functions.values() for s in f.walk() if s.word == "instruction"}
    assert rules["TADDS"] == ()
    (asked,) = open_rules(_site(shift("i32", ONE), "pto.tshls"))
    assert asked[0].id == "EW-09"


def _site(text: str, name: str):  # type: ignore[no-untyped-def]
    function = parse_module(text, "t.pto").module.functions[0]
    assert function.body is not None
    (op,) = [op for op in function.body.walk() if op.name == name]
    return Facts(function).site(op, target("a5"), text=True)


@each("on", ["cpu", "a5"])
def test_a_flag_that_only_the_run_numbers(on: str) -> None:
    """Also on the target that needs no flags."""

    @pto.kernel(target=on)
    def k(n: int) -> None:
        pto.set_flag_dyn(n, pto.PIPE_V, pto.PIPE_S)
        pto.wait_flag_dyn(n, pto.PIPE_V, pto.PIPE_S)

    assert not list(k.sanitize(7).diagnostics)
    assert {d.rule for d in k.sanitize(8).diagnostics} == {"FLAG-RANGE"}
