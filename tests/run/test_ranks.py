"""Launches on several devices: whose memory is whose, what ranks wait for, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.ir.launch import MOST_RANKS, Each, Peer, RankQuery
from ptokit.machine import chunk
from ptokit.run import Program, compile_program
from ptokit.run.arguments import context, divided
from ptokit.targets import target

SIGNAL = "!pto.partition_tensor_view<1x1xi32>"


def signal(name: str, pointer: str) -> str:
    """A signal at the start of memory."""
    return (
        f"%{name}_v = pto.make_tensor_view {pointer}, shape = [%c1, %c1], strides = [%c1, %c1] : "
        "!pto.tensor_view<?x?xi32>\n"
        f"%{name} = pto.partition_view %{name}_v, offsets = [%c0, %c0], sizes = [%c1, %c1] : !pto.tensor_view<?x?xi32> "
        f"-> {SIGNAL}\n"
    )


def compiled(params: str, body: str, on: str = "a2a3") -> Program:
    text = (
        f"func.func @k({params}) {{\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
        f"%one = arith.constant 1 : i32\n%two = arith.constant 2 : i32\n{body}\nreturn\n}}"
    )
    read = parse_module(text, "k.pto", target=target(on))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target(on))


def launch(program: Program, args: list[Any], ranks: int, blocks: int = 1) -> None:
    program.launch_ranks(divided(program.entry, args, ranks), blocks)


def refused(program: Program, args: list[Any], ranks: int, blocks: int = 1) -> Diagnostic:
    with pytest.raises(DiagnosticError) as error:
        launch(program, args, ranks, blocks)
    (finding,) = error.value.diagnostics
    return finding


STORE = "pto.store_scalar %n, %x[%c0] : !pto.ptr<i32>, i32"


def test_every_rank_has_arguments_of_its_own() -> None:
    program = compiled("%x: !pto.ptr<i32>, %n: i32", STORE)
    for given in (RankQuery.RANK, [0, 1, 2], np.arange(3), Each(lambda rank: rank)):
        x = np.full((3, 2), 7, np.int32)
        launch(program, [x, given], 3)
        assert x.tolist() == [[0, 7], [1, 7], [2, 7]]
    apart = [np.zeros(n, np.int32) for n in (1, 5)]
    launch(program, [apart, RankQuery.RANKS], 2)
    assert [array.tolist() for array in apart] == [[2], [2, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("peer", "wanted"),
    [(Peer("y", 1), [2, 0, 1]), (Peer("y", -1), [1, 2, 0]), (Peer("y", 2, absolute=True), [0, 0, 2])],
)
def test_the_array_of_another_rank_is_an_argument(peer: Peer, wanted: list[int]) -> None:
    program = compiled("%x: !pto.ptr<i32>, %y: !pto.ptr<i32>, %n: i32", STORE)
    y = np.zeros((3, 1), np.int32)
    launch(program, [peer, y, RankQuery.RANK], 3)
    assert y.reshape(-1).tolist() == wanted


@pytest.mark.parametrize("turned", [False, True])
def test_the_array_of_another_rank_may_be_one_of_a_further_rank_there(turned: bool) -> None:
    peers = [Peer("y", 1), Peer("z", 1)] if not turned else [Peer("z", 1), Peer("x", 1)]
    types = ", ".join(f"%{name}: !pto.ptr<i32>" for name in "xyz")
    program = compiled(f"{types}, %n: i32", STORE.replace("%x", "%y" if turned else "%x"))
    z = np.zeros((3, 1), np.int32)
    launch(program, [*peers, z, RankQuery.RANK], 3)
    assert z.reshape(-1).tolist() == [1, 2, 0]


REMOTE = """
%c2 = arith.constant 2 : index
%c4 = arith.constant 4 : index
%pair = pto.load_scalar %ctx[%c2] : !pto.ptr<i64> -> i64
%me32 = arith.trunci %pair : i64 to i32
%me = arith.index_cast %me32 : i32 to index
%mine_at = arith.addi %c4, %me : index
%mine = pto.load_scalar %ctx[%mine_at] : !pto.ptr<i64> -> i64
%peer_at = arith.addi %c4, %peer : index
%theirs = pto.load_scalar %ctx[%peer_at] : !pto.ptr<i64> -> i64
%far = arith.subi %theirs, %mine : i64
"""
BY_DISTANCE = """
%size = arith.constant 4 : i64
%elements = arith.divsi %far, %size : i64
%offset = arith.index_cast %elements : i64 to index
%there = pto.addptr %x, %offset : !pto.ptr<i32> -> !pto.ptr<i32>
"""
BY_ADDRESS = """
%here = pto.ptrtoint %x : !pto.ptr<i32> -> i64
%at = arith.addi %here, %far : i64
%there = pto.inttoptr %at : i64 -> !pto.ptr<i32>
"""


@pytest.mark.parametrize("way", [BY_DISTANCE, BY_ADDRESS], ids=["distance", "address"])
def test_the_context_leads_into_the_windows_of_others(way: str) -> None:
    """As generated kernels do: the distance of two windows leads from an argument to that of another rank."""
    params = "%first: !pto.ptr<f32>, %x: !pto.ptr<i32>, %ctx: !pto.ptr<i64>, %peer: index"
    program = compiled(params, f"{REMOTE}{way}\npto.store_scalar %me32, %there[%c1] : !pto.ptr<i32>, i32")
    first, x = [np.zeros(n, np.float32) for n in (3, 1000)], np.full((2, 4), 9, np.int32)
    launch(program, [first, x, RankQuery.COMM, [1, 0]], 2)
    assert x.tolist() == [[9, 1, 9, 9], [9, 0, 9, 9]]


def test_what_lies_between_windows_belongs_to_nobody() -> None:
    body = "%far = arith.constant 123456 : index\n%p = pto.addptr %x, %far : !pto.ptr<i32> -> !pto.ptr<i32>\n"
    program = compiled("%x: !pto.ptr<i32>, %n: i32", body + STORE.replace("%x[", "%p["))
    finding = refused(program, [np.zeros((2, 4), np.int32), 1], 2)
    assert finding.rule == "GM-OOB"
    assert "%x of rank 0" in finding.message
    assert [note.message for note in finding.notes] == ["at rank 0, block 0", "likewise at rank 1, block 0"]


def test_the_context_names_all_windows() -> None:
    found = context(1, 3)
    assert found.size == 4 + 2 * MOST_RANKS
    assert found[2] == 1 | 3 << 32
    assert len(set(found[4:7].tolist())) == 3
    assert (found[4 : 4 + MOST_RANKS] == found[4 + MOST_RANKS :]).all()


POLL = f"""
scf.while () : () -> () {{
  %seen = pto.comm.ttest(%s, %two : {SIGNAL}, i32) {{cmp = #pto<wait_cmp ge>}} -> i1
  %yes = arith.constant true
  %more = arith.xori %seen, %yes : i1
  scf.condition(%more)
}} do {{
  scf.yield
}}
"""
ADD = f"pto.comm.tnotify(%p, %one : {SIGNAL}, i32) {{notifyOp = #pto<notify_op atomic_add>}}\n"
BOTH = "%sig: !pto.ptr<i32>, %peer: !pto.ptr<i32>"


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_rank_that_asks_lets_the_others_go_on(blocks: int) -> None:
    """Each block of each rank adds one for the other rank, then asks until all have."""
    program = compiled(BOTH, signal("s", "%sig") + signal("p", "%peer") + ADD * (3 - blocks) + POLL)
    signals = np.zeros((2, 1), np.int32)
    launch(program, [signals, Peer("sig", 1)], 2, blocks)
    assert signals.reshape(-1).tolist() == [2, 2]


def test_asking_for_ever_is_a_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk, "ASKED", 50)
    program = compiled(BOTH, signal("s", "%sig") + signal("p", "%peer") + ADD + POLL)
    finding = refused(program, [np.zeros((2, 1), np.int32), Peer("sig", 1)], 2)
    assert finding.rule == "DEADLOCK"
    assert "rank 0, block 0 waits here for element 0 of %sig of rank 0 to be >= 2; it is 1" in finding.message
    assert [note.message.split(" waits")[0] for note in finding.notes] == ["rank 1, block 0"]


def test_a_meeting_is_one_of_the_cores_of_a_device() -> None:
    """Rank 0 waits for rank 1, which waits at a meeting that only its own blocks come to."""
    body = (
        "%block = pto.get_block_idx\n%b = arith.index_cast %block : i64 to index\n"
        + signal("s", "%sig")
        + signal("p", "%peer")
        + f"%is = arith.cmpi eq, %rank, %c0 : index\nscf.if %is {{\npto.comm.twait(%s, %two : {SIGNAL}, i32) "
        + "{cmp = #pto<wait_cmp ge>}\n} else {\npto.syncall\n"
        + ADD
        + "}"
    )
    program = compiled(f"{BOTH}, %rank: index", body)
    signals = np.zeros((2, 1), np.int32)
    launch(program, [signals, Peer("sig", 1), RankQuery.RANK], 2, 2)
    assert signals.reshape(-1).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("args", "ranks", "message"),
    [
        (
            [np.zeros((3, 2), np.int32), 1],
            2,
            "argument %x has shape 3x2; its first dimension has to be that of the ranks, 2",
        ),
        ([np.array(1, np.int32), 1], 2, "argument %x has shape no dimension; its first dimension has to be that"),
        ([[np.zeros(2, np.int32)], 1], 2, "argument %x has 1 values, the launch has 2 ranks"),
        ([Peer("z", 1), 1], 2, "%x is given z of another rank, and there is no z"),
        ([Peer("n", 1)], 2, "%x is given n of another rank, and there is no n"),
        ([Peer("n", 1), Peer("x", 0)], 2, "%x is given itself, of another rank"),
        ([np.zeros((0, 2), np.int32), 1], 0, "cannot launch on 0 ranks; there are 1 to 64"),
        ([np.zeros((65, 2), np.int32), 1], 65, "cannot launch on 65 ranks"),
    ],
)
def test_arguments_that_no_rank_can_have(args: list[Any], ranks: int, message: str) -> None:
    finding = refused(compiled("%x: !pto.ptr<i32>, %n: i32", STORE), args, ranks)
    assert finding.rule == "RUN-RANKS"
    assert finding.message.startswith(message)
    assert finding.location.line == 1


def test_a_wrong_argument_of_one_rank_names_it() -> None:
    program = compiled("%x: !pto.ptr<i32>, %n: i32", STORE)
    finding = refused(program, [[np.zeros(1, np.int32), np.zeros(1, np.float32)], 1], 2)
    assert finding.rule == "RUN-ARG-DTYPE"
    assert finding.notes[-1].message == "of the arguments of rank 1"


def test_the_native_backend_runs_one_device() -> None:
    program = compiled("%x: !pto.ptr<i32>, %n: i32", STORE)
    with pytest.raises(DiagnosticError) as error:
        program.launch_ranks(divided(program.entry, [np.zeros((2, 1), np.int32), 1], 2), backend="native")
    assert [d.rule for d in error.value.diagnostics] == ["RUN-BACKEND"]
