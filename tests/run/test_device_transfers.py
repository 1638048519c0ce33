"""Transfers between devices: each device's part is an argument of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.ir import Module
from ptokit.run import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

STAGE = "!pto.tile_buf<vec, 1x64xf32>"
ROWS, COLS = 4, 64


def part(rows: int, dtype: str = "f32") -> str:
    return f"!pto.partition_tensor_view<{rows}x{COLS}x{dtype}>"


def read(line: str, *rows: int, dtype: str = "f32", before: str = "") -> Module:
    """A kernel with one parameter %a0, %a1, .. for each number of rows."""
    params = ", ".join(f"%a{i}: {part(n, dtype)}" for i, n in enumerate(rows))
    text = f"func.func @k({params}) {{\n%zero = arith.constant 0 : i64\n{before}\n%t = pto.alloc_tile : {STAGE}\n"
    text += f"%u = pto.alloc_tile : {STAGE}\n{line}\nreturn\n}}"
    found = parse_module(text, "k.pto", target=target("a5"))
    found.diagnostics.raise_if_errors()
    return found.module


def arrays(*rows: int) -> list[np.ndarray]:
    rng = np.random.default_rng(len(rows))
    return [rng.integers(-9, 9, (n, COLS)).astype(np.float32) for n in rows]


def run(module: Module, args: list[np.ndarray]) -> list[np.ndarray]:
    given = [arg.copy() for arg in args]
    compile_program(module, target("a5")).launch(given)
    return given


def refused(module: Module, args: list[np.ndarray]) -> list[Diagnostic]:
    with pytest.raises(DiagnosticError) as error:
        compile_program(module, target("a5")).launch(args)
    return list(error.value.diagnostics)


@pytest.mark.parametrize("stages", ["%t", "%t, %u"])
@pytest.mark.parametrize("word", ["tput", "tget"])
def test_one_part_becomes_the_other(word: str, stages: str) -> None:
    types = ", ".join([part(ROWS)] * 2 + [STAGE] * (1 + stages.count(",")))
    args = arrays(ROWS, ROWS)
    dst, src = run(read(f"pto.comm.{word}(%a0, %a1, buf({stages}) : {types})", ROWS, ROWS), args)
    assert (dst == args[1]).all()
    assert (src == args[1]).all()


def test_an_atomic_put_adds() -> None:
    types = f"{part(ROWS)}, {part(ROWS)}, {STAGE}"
    line = f"pto.comm.tput(%a0, %a1, buf(%t) : {types}) {{atomicType = #pto<atomic_type atomic_add>}}"
    args = arrays(ROWS, ROWS)
    assert (run(read(line, ROWS, ROWS), args)[0] == args[0] + args[1]).all()


def test_a_broadcast_reaches_all() -> None:
    types = ", ".join([part(ROWS), STAGE, part(ROWS), part(ROWS)])
    line = f"pto.comm.tbroadcast(%a0, recv(%t), group(%a1, %a2) : {types}) {{root = 0}}"
    args = arrays(ROWS, ROWS, ROWS)
    source, first, second = run(read(line, ROWS, ROWS, ROWS), args)
    assert all((found == args[0]).all() for found in (source, first, second))


def test_rows_are_gathered_and_scattered() -> None:
    types = ", ".join([part(3 * ROWS), STAGE, *[part(ROWS)] * 3])
    args = arrays(3 * ROWS, ROWS, ROWS, ROWS)
    gather = f"pto.comm.tgather(%a0, recv(%t), group(%a1, %a2, %a3) : {types}) {{root = 0}}"
    assert (run(read(gather, 3 * ROWS, ROWS, ROWS, ROWS), args)[0] == np.concatenate(args[1:])).all()
    scatter = gather.replace("tgather", "tscatter")
    assert (np.concatenate(run(read(scatter, 3 * ROWS, ROWS, ROWS, ROWS), args)[1:]) == args[0]).all()


@pytest.mark.parametrize(("op", "wanted"), [("sum", np.add), ("max", np.maximum), ("min", np.minimum)])
def test_parts_are_reduced(op: str, wanted: np.ufunc) -> None:
    types = ", ".join([part(ROWS), STAGE, STAGE, *[part(ROWS)] * 3])
    line = f"pto.comm.treduce(%a0, %t, recv(%u), group(%a1, %a2, %a3) : {types}) "
    args = arrays(ROWS, ROWS, ROWS, ROWS)
    module = read(line + f"{{reduceOp = #pto<reduce_op {op}>, root = 0}}", ROWS, ROWS, ROWS, ROWS)
    assert (run(module, args)[0] == wanted(wanted(args[1], args[2]), args[3])).all()


@pytest.mark.parametrize(("root", "wanted"), [(0, 1), (1, 1), (2, 0)])
def test_sums_begin_with_the_part_of_the_root(root: int, wanted: int) -> None:
    """1e8 - 1e8 + 1, -1e8 + 1e8 + 1, or 1 + 1e8 - 1e8, each sum rounded (comm/TReduce.hpp)."""
    types = ", ".join([part(ROWS), STAGE, STAGE, *[part(ROWS)] * 3])
    line = f"pto.comm.treduce(%a0, %t, recv(%u), group(%a1, %a2, %a3) : {types}) "
    args = arrays(ROWS, ROWS, ROWS, ROWS)
    for array, value in zip(args, (0, 1e8, -1e8, 1)):
        array[:] = value
    module = read(line + f"{{reduceOp = #pto<reduce_op sum>, root = {root}}}", ROWS, ROWS, ROWS, ROWS)
    assert (run(module, args)[0] == wanted).all()


def test_the_whole_has_the_rows_of_all_parts() -> None:
    types = ", ".join([part(6), STAGE, part(4), part(4)])
    (found,) = refused(read(f"pto.comm.tgather(%a0, recv(%t), group(%a1, %a2) : {types})", 6, 4, 4), arrays(6, 4, 4))
    message = "1x1x1x6x64 elements do not hold 2 times 1x1x1x4x64"
    assert (found.rule, found.message, found.location.line) == ("COMM-01", message, 6)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("more", [0, 3])
def test_further_rows_of_the_whole_are_left_alone(members: int, more: int) -> None:
    """However many members there are, the whole has at least the rows of all of them."""
    rows = members * ROWS + more
    names = ", ".join(f"%a{k + 1}" for k in range(members))
    types = ", ".join([part(rows), STAGE, *[part(ROWS)] * members])
    args = arrays(rows, *[ROWS] * members)
    gather = f"pto.comm.tgather(%a0, recv(%t), group({names}) : {types})"
    whole = run(read(gather, rows, *[ROWS] * members), args)[0]
    assert (whole == np.concatenate((*args[1:], args[0][members * ROWS :]))).all()
    module = read(gather.replace("tgather", "tscatter"), rows, *[ROWS] * members)
    assert (np.concatenate(run(module, args)[1:]) == args[0][: members * ROWS]).all()


@pytest.mark.parametrize(("between", "races"), [("", {"RACE-RAW"}), ("pto.barrier <PIPE_ALL>\n", set())])
def test_the_sanitizer_orders_transfers(between: str, races: set[str]) -> None:
    """What has just been stored is put: the transfer loads it on another pipe than the one that stores it."""
    put = f"pto.comm.tput(%a0, %a1, buf(%t) : {part(ROWS)}, {part(ROWS)}, {STAGE})"
    tile = f"!pto.tile_buf<vec, {ROWS}x{COLS}xf32>"
    made = f"%high = arith.constant 4096 : i64\n%v = pto.alloc_tile addr = %high : {tile}"
    store = f"pto.tload ins(%a0 : {part(ROWS)}) outs(%v : {tile})\npto.barrier <PIPE_ALL>\n"
    store += f"pto.tstore ins(%v : {tile}) outs(%a1 : {part(ROWS)})\n"
    module = read(f"{store}{between}{put}", ROWS, ROWS, before=made)
    rules = {d.rule for d in sanitize(module, "a5", arrays(ROWS, ROWS), mode="manual").diagnostics}
    assert {rule for rule in rules if rule.startswith("RACE")} == races


SESSION, EVENT, FLAT = "!pto.async_session", "!pto.async_event", "!pto.partition_tensor_view<128xf32>"


def in_background(*lines: str) -> Module:
    """A kernel with flat parts %a and %b and a pointer %w to a workspace."""
    scratch = "!pto.tile_buf<vec, 1x256xi8>"
    text = f"func.func @k(%a: {FLAT}, %b: {FLAT}, %w: !pto.ptr<i8>) {{\n%t = pto.alloc_tile : {scratch}\n"
    text += f"%s = pto.comm.build_async_session(%t, %w : {scratch}, !pto.ptr<i8>) -> {SESSION}\n"
    found = parse_module("\n".join([text, *lines, "return\n}"]), "k.pto", target=target("a5"))
    found.diagnostics.raise_if_errors()
    return found.module


@pytest.mark.parametrize("word", ["tput_async", "tget_async"])
@pytest.mark.parametrize("end", ["wait_async_event", "test_async_event"])
def test_a_transfer_in_the_background_is_over_when_asked(word: str, end: str) -> None:
    move = f"%e = pto.comm.{word}(%a, %b, %s : {FLAT}, {FLAT}, {SESSION}) -> {EVENT}"
    over = f'%d = pto.comm.{end}(%e, %s : {EVENT}, {SESSION}) -> i1\ncf.assert %d, "over"'
    a, b = np.zeros(128, np.float32), np.arange(128, dtype=np.float32)
    module = in_background(move, over)
    compile_program(module, target("a5")).launch([a, b, np.zeros(64, np.int8)])
    assert (a == b).all()
    args = [a, b, np.zeros(64, np.int8)]
    assert not sanitize(module, "a5", args).diagnostics.errors
    rules = [d.rule for d in sanitize(in_background(move), "a5", args).warnings]
    assert rules == ["ASYNC-UNWAITED"]


@pytest.mark.parametrize(("waits", "rules"), [(True, []), (False, ["ASYNC-RACE"])])
def test_a_prefetch_in_text_is_waited_for(waits: bool, rules: list[str]) -> None:
    lines = [
        "%c = pto.make_prefetch_async_context(%w : !pto.ptr<i8>) -> !pto.prefetch_async_context",
        f"%e = pto.tprefetch_async(%b, %c : {FLAT}, !pto.prefetch_async_context) -> {EVENT}",
        f"%p = pto.get_prefetch_async_session %c : !pto.prefetch_async_context -> {SESSION}",
        f"%d = pto.comm.wait_async_event(%e, %p : {EVENT}, {SESSION}) -> i1" if waits else "",
        "%v = pto.alloc_tile : !pto.tile_buf<vec, 1x128xf32>",
        f"pto.tload ins(%b : {FLAT}) outs(%v : !pto.tile_buf<vec, 1x128xf32>)",
        f"pto.tstore ins(%v : !pto.tile_buf<vec, 1x128xf32>) outs(%a : {FLAT})",
    ]
    a, b = np.zeros(128, np.float32), np.arange(128, dtype=np.float32)
    module = in_background(*lines)
    compile_program(module, target("a5")).launch([a, b, np.zeros(64, np.int8)])
    assert (a == b).all()
    assert [d.rule for d in sanitize(module, "a5", [a, b, np.zeros(64, np.int8)]).errors] == rules
