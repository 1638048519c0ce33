"""Launches on two devices: a wrong and a right program of each kind of order between ranks.

``x``, ``y`` and ``sig`` are the rank's own, ``px`` and ``psig`` those of the other rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.ir.launch import Peer, RankQuery
from ptokit.sanitize import Report

from .mini import TILE, VIEW, Mini
from .test_cross_core import SIGNAL, TYPES
from .test_pairs import Pair

HEAD = (
    SIGNAL
    + SIGNAL.replace("%s", "%p").replace("%pig", "%psig").replace("%n", "%m")
    + "%me = arith.cmpi eq, %rank, %c0 : index\n"
)
LINES = HEAD.count("\n")
NOTIFY = f"pto.comm.tnotify(%p, %n1 {TYPES}) {{notifyOp = #pto<notify_op set>}}"
WAIT = f"pto.comm.twait(%s, %n1 {TYPES}) {{cmp = #pto<wait_cmp ge>}}"
WAIT_TWO = WAIT.replace("%n1", "%n2")
TAKEN = "load a x\nset MTE2 MTE3 1\nwait MTE2 MTE3 1\nstore a y"
SENT = "fill a\nset V MTE3 0\nwait V MTE3 0\nstore a px"
PUT = f"pto.comm.tput(%px_p, %y_p, buf(%a) : {VIEW}, {VIEW}, {TILE})"
GET = f"pto.comm.tget(%y_p, %px_p, buf(%a) : {VIEW}, {VIEW}, {TILE})"
DRAIN = "set MTE3 S 0\nwait MTE3 S 0"
FENCE = "pto.fence.barrier_all #pto.fence_scope<gm>"
ASYNC = "!pto.async_session"
SESSION = (
    "%scratch_at = arith.constant 65536 : i64\n"
    "%scratch = pto.alloc_tile addr = %scratch_at : !pto.tile_buf<vec, 1x256xi8>\n"
    "%se = pto.comm.build_async_session(%scratch, %ws : !pto.tile_buf<vec, 1x256xi8>, !pto.ptr<i8>) -> " + ASYNC
)
FLAT = "!pto.partition_tensor_view<512xf32>"


def flat(name: str) -> str:
    """All of a tensor as one row, in two lines."""
    return (
        f"%{name}_f = pto.make_tensor_view %{name}, shape = [%n512], strides = [%c1] : !pto.tensor_view<512xf32>\n"
        f"%{name}_1 = pto.partition_view %{name}_f, offsets = [%c0], sizes = [%n512] : !pto.tensor_view<512xf32> "
        f"-> {FLAT}"
    )


def moved(word: str, dst: str, src: str) -> str:
    """A transfer in the background; see `AT`."""
    views = f"%n512 = arith.constant 512 : index\n{flat(dst)}\n{flat(src)}"
    line = f"%ev = pto.comm.{word}(%{dst}_1, %{src}_1, %se : {FLAT}, {FLAT}, {ASYNC}) -> !pto.async_event"
    return f"{SESSION}\n{views}\n{line}"


AT = 9  # the line of the transfer
PUT_ASYNC, GET_ASYNC = moved("tput_async", "px", "y"), moved("tget_async", "y", "px")
OVER = f"%done = pto.comm.wait_async_event(%ev, %se : !pto.async_event, {ASYNC}) -> i1"
ASKED = (
    "scf.while () : () -> () {\n" + OVER.replace("wait_async", "test_async") + "\n%yes = arith.constant true\n"
    "%more = arith.xori %done, %yes : i1\nscf.condition(%more)\n} do {\nscf.yield\n}"
)


def both(first: str, other: str) -> str:
    """Rank 0 does one thing, rank 1 another. Line 1 is the first of rank 0."""
    return f"{HEAD}scf.if %me {{\n{first}\nelse\n{other}\nend"


PAIRS = [
    Pair(
        "a notification overtakes the store before it",
        {"RACE-XRANK-RAW": [{4, 5, 8}]},
        both(f"{SENT}\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
        both(f"{SENT}\n{DRAIN}\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
    ),
    Pair(
        "bytes are used before they are waited for",
        {"RACE-XRANK-RAW": [{4, 8}]},
        both(f"{SENT}\n{FENCE}\n{NOTIFY}", f"{TAKEN}\n{WAIT}"),
        both(f"{SENT}\n{FENCE}\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
    ),
    Pair(
        "a put and a notification without a fence between them",
        {"RACE-XRANK-RAW": [{1, 2, 5}]},
        both(f"{PUT}\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
        both(f"{PUT}\n{FENCE}\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
    ),
    Pair(
        "a get before the other rank has stored",
        {"RACE-XRANK-WAR": [{1, 6}]},
        both(GET, f"{SENT.replace('px', 'x')}\n{FENCE}\n{NOTIFY}"),
        both(f"{WAIT}\n{GET}", f"{SENT.replace('px', 'x')}\n{FENCE}\n{NOTIFY}"),
    ),
    Pair(
        "memory is written again while the other rank still reads it",
        {"RACE-XRANK-WAR": [{1, 6}]},
        both("load a x", SENT),
        both(f"load a x\nset MTE2 S 0\nwait MTE2 S 0\n{NOTIFY}", f"{WAIT}\n{SENT}"),
    ),
    Pair(
        "two ranks store to one place",
        {"RACE-XRANK-WAW": [{4, 9}]},
        both(SENT, SENT.replace("px", "x")),
        both(SENT, SENT),
    ),
    Pair(
        "a transfer in the background that is not over when the other rank is told",
        {"RACE-XRANK-RAW": [{AT, AT + 1, AT + 5}]},
        both(f"{PUT_ASYNC}\n{NOTIFY}\n{OVER}", f"{WAIT}\n{TAKEN}"),
        both(f"{PUT_ASYNC}\n{OVER}\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
    ),
    Pair(
        "fetched data that are used at once",
        {"ASYNC-RACE": [{AT, AT + 1}]},
        both(f"{GET_ASYNC}\nload a y\n{OVER}", "fill a"),
        both(f"{GET_ASYNC}\n{ASKED}\nload a y", "fill a"),
    ),
    Pair(
        "a transfer that nobody waits for",
        {"ASYNC-UNWAITED": [{AT}]},
        both(PUT_ASYNC, "fill a"),
        both(f"{PUT_ASYNC}\n{OVER}", "fill a"),
    ),
    Pair(
        "a wait for a signal that nobody gives",
        {"DEADLOCK": [{3}]},
        both(NOTIFY, WAIT_TWO),
        both(NOTIFY.replace("%n1", "%n2"), WAIT_TWO),
    ),
]


def launched(body: str, **more: Any) -> tuple[Report, Mini]:
    program = Mini(
        body,
        tensors=("x", "y", "px"),
        params="%sig: !pto.ptr<i32>, %psig: !pto.ptr<i32>, %rank: index, %ws: !pto.ptr<i8>",
    )
    ones = np.ones((2, 16, 32), np.float32)
    args = {"x": ones, "y": ones.copy(), "px": Peer("x", 1), "sig": np.zeros((2, 1), np.int32)}
    args |= {"psig": Peer("sig", 1), "rank": RankQuery.RANK, "ws": np.zeros((2, 256), np.int8)}
    return program.sanitize(args=args, ranks=2, **more), program


def found(body: str) -> dict[str, list[set[int]]]:
    report, program = launched(body)
    first = program.first + LINES + 1
    out: dict[str, list[set[int]]] = {}
    for d in [*report.errors, *report.warnings]:
        lines = {d.location.line, *(n.location.line for n in d.notes if n.location.line)}
        out.setdefault(d.rule, []).append({line - first + 1 for line in lines})
    return out


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_the_fault_is_found_at_its_lines(pair: Pair) -> None:
    assert found(pair.bad) == pair.rules


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_the_right_program_is_clean(pair: Pair) -> None:
    assert found(pair.good) == {}


def test_a_finding_names_ranks_and_both_sides() -> None:
    report, _ = launched(PAIRS[0].bad)
    (finding,) = report.errors
    assert "TLOAD on PIPE_MTE2 reads %x of rank 1 while TSTORE on PIPE_MTE3 of rank 0, block 0" in finding.message
    texts = [note.message for note in finding.notes]
    assert any("TNOTIFY of rank 0, block 0 comes later in its program" in text for text in texts)
    assert any("at rank 1, block 0" in text for text in texts)
    assert "pto.set_flag[<PIPE_MTE3>, <PIPE_S>, <EVENT_ID0>]" in (finding.hint or "")


def test_a_deadlock_names_the_rank_and_the_signal() -> None:
    report, _ = launched(PAIRS[-1].bad)
    (finding,) = report.errors
    assert "element 0 of %sig of rank 1 to be >= 2; it is 1" in finding.message
    assert any("rank 1, block 0" in note.message for note in finding.notes)
