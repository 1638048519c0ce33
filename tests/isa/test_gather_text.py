"""mgather and mscatter in `.pto` text: attributes, places of diagnostics, many blocks at once, shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module, print_module
from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.ir.verify import verify
from ptokit.run import compile_program
from ptokit.targets import target
from ptokit.types.enums import Coalesce, GatherOOB, ScatterAtomicOp, ScatterOOB

PRELUDE = """module {
  func.func @k(%t: !pto.ptr<f32>, %i: !pto.ptr<i32>, %y: !pto.ptr<f32>, %n: index) attributes {pto.entry} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %b64 = pto.get_block_idx
    %b = arith.index_cast %b64 : i64 to index
    %r = arith.muli %b, %c2 : index
    %tv = pto.make_tensor_view %t, shape = [%n, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
    %iv = pto.make_tensor_view %i, shape = [%n, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xi32>
    %yv = pto.make_tensor_view %y, shape = [%n, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
    %tp = pto.partition_view %tv, offsets = [%c0, %c0], sizes = [%n, %c8] : !pto.tensor_view<?x?xf32> -> !gm
    %ip = pto.partition_view %iv, offsets = [%r, %c0], sizes = [%c2, %c8] : !pto.tensor_view<?x?xi32> -> !islice
    %yp = pto.partition_view %yv, offsets = [%r, %c0], sizes = [%c2, %c8] : !pto.tensor_view<?x?xf32> -> !slice
    %yw = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%n, %c8] : !pto.tensor_view<?x?xf32> -> !gm
    %d = pto.alloc_tile : !tile
    %x = pto.alloc_tile : !itile
    pto.tload ins(%ip : !islice) outs(%x : !itile)
"""
ALIASES = """!gm = !pto.partition_tensor_view<?x8xf32>
!slice = !pto.partition_tensor_view<2x8xf32>
!islice = !pto.partition_tensor_view<2x8xi32>
!tile = !pto.tile_buf<vec, 2x8xf32>
!itile = !pto.tile_buf<vec, 2x8xi32>
"""
GATHER = "    pto.mgather ins(%tp, %x : !gm, !itile) outs(%d : !tile)"
STORE = "\n    pto.tstore ins(%d : !tile) outs(%yp : !slice)\n"
LOAD = "    pto.tload ins(%yp : !slice) outs(%d : !tile)\n"


def text(body: str) -> str:
    return f"{ALIASES}{PRELUDE}{body}\n    return\n  }}\n}}\n"


def module(body: str):
    parsed = parse_module(text(body), "k.pto")
    parsed.diagnostics.raise_if_errors()
    return parsed.module


def launched(body: str, args: list, blocks: int, chunk: int | None, arch: str = "a5") -> None:
    compile_program(module(body), target(arch)).launch(args, blocks, chunk=chunk)


def memory(blocks: int) -> list:
    """Table, indices and result for so many blocks of two rows."""
    rng = np.random.default_rng(blocks)
    n = 2 * blocks
    table = rng.integers(-40, 40, (n, 8)).astype(np.float32) / 8
    return [table, rng.integers(0, 8 * n, (n, 8)).astype(np.int32), np.zeros((n, 8), np.float32), n]


@pytest.mark.parametrize("chunk", [1, 2, 3, None])
def test_gather_in_many_blocks(chunk: int | None) -> None:
    args = memory(6)
    launched(GATHER + STORE, args, 6, chunk)
    assert (args[2] == args[0].reshape(-1)[args[1]]).all()


@pytest.mark.parametrize("chunk", [1, 2, 5, None])
def test_blocks_scatter_in_order(chunk: int | None) -> None:
    """All blocks write all over the table; higher blocks come last."""
    args = memory(6)
    args[1] %= 13
    table, index = args[0].copy(), args[1]
    body = LOAD + "    pto.mscatter ins(%d, %x : !tile, !itile) outs(%tp : !gm)"
    args[2] = np.arange(96, dtype=np.float32).reshape(12, 8)
    launched(body, args, 6, chunk)
    for place, value in zip(index.reshape(-1), args[2].reshape(-1)):
        table.reshape(-1)[place] = value
    assert (args[0] == table).all()


@pytest.mark.parametrize("chunk", [1, 4, None])
def test_blocks_that_share_their_operands_add_once_each(chunk: int | None) -> None:
    """Indices, values and place are the same for every block, so that one copy serves all of them."""
    shared = "    %iq = pto.partition_view %iv, offsets = [%c0, %c0], sizes = [%c2, %c8] : " + (
        "!pto.tensor_view<?x?xi32> -> !islice\n"
        "    %yq = pto.partition_view %yv, offsets = [%c0, %c0], sizes = [%c2, %c8] : "
        "!pto.tensor_view<?x?xf32> -> !slice\n"
        "    pto.tload ins(%iq : !islice) outs(%x : !itile)\n    pto.tload ins(%yq : !slice) outs(%d : !tile)\n"
        "    pto.mscatter ins(%d, %x : !tile, !itile) outs(%tp : !gm) {scatterAtomicOp = #pto<scatter_atomic_op add>}"
    )
    args = memory(8)
    args[2][:] = 1
    args[1][:2] = np.arange(16).reshape(2, 8) % 3
    start = args[0].copy()
    launched(shared, args, 8, chunk)
    assert (args[0].reshape(-1)[:3] == start.reshape(-1)[:3] + 8 * np.array([6, 5, 5])).all()
    assert (args[0].reshape(-1)[3:] == start.reshape(-1)[3:]).all()


def test_values_are_read_before_they_are_overwritten() -> None:
    """Source and table are one array: a rotation in place, through a tile that only stands for the memory."""
    body = LOAD + "    pto.mscatter ins(%d, %x : !tile, !itile) outs(%yw : !gm)"
    y = np.arange(16, dtype=np.float32).reshape(2, 8)
    index = ((np.arange(16, dtype=np.int32) + 1) % 16).reshape(2, 8)
    launched(body, [np.zeros((2, 8), np.float32), index, y, 2], 1, None)
    assert (y.reshape(-1) == np.roll(np.arange(16), 1)).all()


def test_a_table_that_was_just_stored_is_seen() -> None:
    body = LOAD + "    pto.tadd ins(%d, %d : !tile, !tile) outs(%d : !tile)" + STORE
    body += GATHER.replace("%tp", "%yw") + STORE
    y = np.arange(16, dtype=np.float32).reshape(2, 8)
    index = np.arange(16, dtype=np.int32)[::-1].reshape(2, 8).copy()
    launched(body, [np.zeros((2, 8), np.float32), index, y, 2], 1, None)
    assert (y.reshape(-1) == 2.0 * np.arange(16)[::-1]).all()


@pytest.mark.parametrize("chunk", [1, 3, None])
def test_a_fault_names_place_index_and_block(chunk: int | None) -> None:
    args = memory(6)
    args[1][9, 5] = 96
    with pytest.raises(DiagnosticError) as caught:
        launched(GATHER + STORE, args, 6, chunk)
    (found,) = caught.value.diagnostics
    assert found.rule == "GATHER-COM-06"
    assert "index 96 at row 1, column 5 is not below 96" in found.message
    assert found.location.line == text(GATHER).split("\n").index(GATHER) + 1
    assert "block 4" in found.notes[0].message


def warnings_and_errors(body: str, arch: str) -> list[Diagnostic]:
    return list(verify(module(body), target(arch)))


def test_the_bare_form_is_warned_about_where_it_stands() -> None:
    found, newest = warnings_and_errors(GATHER + STORE, "a5")
    assert (found.rule, str(found.severity)) == ("GATHER-COM-02", "warning")
    assert (newest.rule, str(newest.severity)) == ("GA-9", "warning")
    assert found.location.line == text(GATHER).split("\n").index(GATHER) + 1
    assert warnings_and_errors(GATHER + " {coalesce = #pto<coalesce elem>}" + STORE, "a5") == []


def test_text_for_a2a3_is_read_as_the_assembler_does() -> None:
    scatter = LOAD + "    pto.mscatter ins(%d, %x : !tile, !itile) outs(%tp : !gm)"
    assert {d.rule for d in warnings_and_errors(GATHER, "a2a3")} == {"GATHER-COM-02", "GA-9"}
    assert {d.rule for d in warnings_and_errors(scatter, "a2a3")} == {"SCATTER-COM-02"}
    assert {d.rule for d in warnings_and_errors(scatter, "cpu")} == {"SCATTER-COM-02"}


ATTRIBUTES = [
    (GATHER, "gatherOob = #pto<gather_oob clamp>", {"oob": GatherOOB.Clamp}),
    (GATHER, "gatherOob = #pto<gather_oob wrap>", {"oob": GatherOOB.Wrap}),
    (GATHER, "gatherOob = #pto<gather_oob zero>", {"oob": GatherOOB.Zero}),
    (GATHER, "coalesce = #pto<coalesce row>", {"mode": Coalesce.Row}),
]
SCATTER = "    pto.mscatter ins(%d, %x : !tile, !itile) outs(%tp : !gm)"
ATTRIBUTES += [
    (SCATTER, f"scatterAtomicOp = #pto<scatter_atomic_op {op.text}>", {"atomic": op})
    for op in (ScatterAtomicOp.Add, ScatterAtomicOp.Max, ScatterAtomicOp.Min)
]
ATTRIBUTES += [
    (SCATTER, f"scatterOob = #pto<scatter_oob {mode.text}>", {"oob": mode})
    for mode in (ScatterOOB.Skip, ScatterOOB.Clamp, ScatterOOB.Wrap)
]


@pytest.mark.parametrize(("statement", "attribute", "value"), ATTRIBUTES)
def test_attributes_are_read_and_printed(statement: str, attribute: str, value: dict) -> None:
    first = module(f"{statement} {{{attribute}}}")
    (op,) = [o for o in first.functions[0].body.walk() if o.name in ("pto.mgather", "pto.mscatter")]
    assert op.attrs == value
    printed = print_module(first)
    assert attribute in printed
    again = parse_module(printed, "again.pto")
    again.diagnostics.raise_if_errors()
    assert print_module(again.module) == printed
