"""SYNCALL, signals in global memory, scalar caches and asynchronous prefetches: a wrong and a right program of each.

Values too: whatever the cores wait for, the plain run computes what the order says.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module, print_module
from ptokit.ir.verify import verify
from ptokit.run import compile_program
from ptokit.targets import target

from ..run.clusters import arrays, cluster_text, expand
from .mini import Mini
from .test_clusters import found as clusters_found
from .test_pairs import Pair

SIGNAL = (
    "%s_v = pto.make_tensor_view %sig, shape = [%c1, %c1], strides = [%c1, %c1] : !pto.tensor_view<?x?xi32>\n"
    "%s = pto.partition_view %s_v, offsets = [%c0, %c0], sizes = [%c1, %c1] : !pto.tensor_view<?x?xi32> -> "
    "!pto.partition_tensor_view<1x1xi32>\n%n1 = arith.constant 1 : i32\n%n2 = arith.constant 2 : i32\n"
)
TYPES = ": !pto.partition_tensor_view<1x1xi32>, i32"
NOTIFY = f"pto.tnotify(%s, %n1 {TYPES})"
ADD = f"pto.tnotify(%s, %n1 {TYPES}) {{notifyOp = #pto<notify_op atomic_add>}}"
WAIT = f"pto.twait(%s, %n1 {TYPES})"
WAIT_TWO = f"pto.twait(%s, %n2 {TYPES}) {{cmpMode = #pto<cmp ge>}}"
TEST = f"%seen = pto.ttest(%s, %n1 {TYPES}) -> i1\nscf.if %seen {{"
ALL = "pto.syncall"
STORED = "fill a\nset V MTE3 0\nwait V MTE3 0\nstore a x"
FLUSHED = f"{STORED}\nset MTE3 S 0\nwait MTE3 S 0"
TAKEN = "load a x\nset MTE2 MTE3 1\nwait MTE2 MTE3 1\nstore a y"
TWO = {"blocks": 2}
LINE = "pto.dcci(%x : !pto.ptr<f32>)"
VECTORS = "pto.syncall {coreType = #pto<sync_core_type aiv_only>}"


def both(first: str, other: str) -> str:
    """Block 0 does one thing, block 1 another."""
    return f"{SIGNAL}first\n{first}\nend\nother\n{other}\nend"


PAIRS = [
    Pair(
        "blocks that meet",
        {"RACE-XCORE-RAW": [{9, 12}]},
        both(STORED, TAKEN),
        both(f"{STORED}\n{ALL}", f"{ALL}\n{TAKEN}"),
        launch=TWO,
    ),
    Pair(
        "not everybody comes to meet",
        {"SYNCALL-MISMATCH": [{10}]},
        both(f"{STORED}\n{ALL}", "fill a"),
        both(f"{STORED}\n{ALL}", ALL),
        launch=TWO,
    ),
    Pair(
        "meetings of different cores",
        {"SYNCALL-MISMATCH": [{6, 9}, {6, 9}]},
        both(VECTORS, ALL),
        both(VECTORS, VECTORS),
        launch=TWO,
    ),
    Pair(
        "a signal in memory",
        {"RACE-XCORE-RAW": [{9, 10, 15}]},
        both(f"{STORED}\n{NOTIFY}\nbarrier ALL", f"{WAIT}\n{TAKEN}"),
        both(f"{FLUSHED}\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
        launch=TWO,
    ),
    Pair(
        "a signal that is never given",
        {"DEADLOCK": [{9}]},
        both(NOTIFY, WAIT_TWO),
        both(f"{ADD}\n{ADD}", WAIT_TWO),
        launch=TWO,
    ),
    Pair(
        "asking instead of waiting",
        {"RACE-XCORE-RAW": [{9, 10, 15}]},
        both(f"{STORED}\n{NOTIFY}", f"{TEST}\n{TAKEN}\nend"),
        both(f"{FLUSHED}\n{NOTIFY}", f"{TEST}\n{TAKEN}\nend"),
        launch=TWO,
    ),
    Pair(
        "a fence of global memory before the signal",
        {"RACE-XCORE-RAW": [{9, 11, 16}]},
        both(f"{STORED}\nbarrier V\n{NOTIFY}\nbarrier ALL", f"{WAIT}\n{TAKEN}"),
        both(f"{STORED}\npto.fence.barrier_all #pto.fence_scope<gm>\n{NOTIFY}\nbarrier ALL", f"{WAIT}\n{TAKEN}"),
        launch=TWO,
    ),
    Pair(
        "a fence of local memory drains no pipe",
        {"RACE-XCORE-RAW": [{9, 11, 15}]},
        both(f"{STORED}\npto.fence.barrier_all #pto.fence_scope<local_memory>\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
        both(f"{STORED}\npto.fence.barrier_all #pto.fence_scope<all>\n{NOTIFY}", f"{WAIT}\n{TAKEN}"),
        launch=TWO,
    ),
    Pair(
        "a cache that is invalidated by its other name",
        {"CACHE-STALE": [{10, 18}]},
        both(
            f"{ALL}\n{STORED}\n{ALL}",
            f"%old = pto.load_scalar %x[%c1] : !pto.ptr<f32> -> f32\n{ALL}\n{ALL}\n"
            "pto.cmo.cacheinvalid %y single_cache_line : !pto.ptr<f32>\n"
            "%new = pto.load_scalar %x[%c2] : !pto.ptr<f32> -> f32",
        ),
        both(
            f"{ALL}\n{STORED}\n{ALL}",
            f"%old = pto.load_scalar %x[%c1] : !pto.ptr<f32> -> f32\n{ALL}\n{ALL}\n"
            "pto.cmo.cacheinvalid %x single_cache_line : !pto.ptr<f32>\n"
            "%new = pto.load_scalar %x[%c2] : !pto.ptr<f32> -> f32",
        ),
        launch=TWO,
    ),
    Pair(
        "a scalar store stays in its cache",
        {"CACHE-STALE": [{6, 11}]},
        both(f"pto.store_scalar %one, %x[%c0] : !pto.ptr<f32>, f32\n{ALL}", f"{ALL}\n{TAKEN}"),
        both(f"pto.store_scalar %one, %x[%c0] : !pto.ptr<f32>, f32\n{LINE}\npto.dsb\n{ALL}", f"{ALL}\n{TAKEN}"),
        launch=TWO,
    ),
    Pair(
        "a scalar load sees what its cache holds",
        {"CACHE-STALE": [{10, 17}]},
        both(
            f"{ALL}\n{STORED}\n{ALL}",
            f"%old = pto.load_scalar %x[%c1] : !pto.ptr<f32> -> f32\n{ALL}\n{ALL}\n"
            "%new = pto.load_scalar %x[%c2] : !pto.ptr<f32> -> f32",
        ),
        both(
            f"{ALL}\n{STORED}\n{ALL}",
            f"%old = pto.load_scalar %x[%c1] : !pto.ptr<f32> -> f32\n{ALL}\n{ALL}\npto.dcci\n"
            "%new = pto.load_scalar %x[%c2] : !pto.ptr<f32> -> f32",
        ),
        launch=TWO,
    ),
]


def mini(pair: Pair, body: str) -> dict[str, list[set[int]]]:
    program = Mini(body, params="%sig: !pto.ptr<i32>")
    return program.found(args={"sig": np.zeros(1, np.int32)}, **pair.launch)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_the_fault_is_found_at_its_lines(pair: Pair) -> None:
    assert mini(pair, pair.bad) == pair.rules


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_the_right_program_is_clean(pair: Pair) -> None:
    assert mini(pair, pair.good) == {}


def values(body: str, on: str = "a2a3", blocks: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """x and the signal after a plain run; x starts as zeros, y as ones."""
    program = Mini(body, params="%sig: !pto.ptr<i32>")
    module = parse_module(program.text, target=target(on)).module
    x, y, signal = np.zeros((16, 32), np.float32), np.ones((16, 32), np.float32), np.zeros(1, np.int32)
    compile_program(module, target(on)).launch([x, y, signal], blocks)
    return y, signal


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("early", [False, True])
def test_the_plain_run_waits_for_other_blocks(on: str, early: bool) -> None:
    """The block that waits is the first one, or the other."""
    store, load = f"fill a\n{STORED}\n{ADD}", f"{WAIT}\n{TAKEN}"
    y, signal = values(both(load, store) if early else both(store, load), on)
    assert (y == 1).all()
    assert signal[0] == 1
    store, load = f"{STORED}\n{ALL}", f"{ALL}\n{TAKEN}"
    y, _ = values(both(load, store) if early else both(store, load), on)
    assert (y == 1).all()


def test_a_signal_is_set_or_added_to() -> None:
    assert values(f"{SIGNAL}{ADD}\n{ADD}")[1] == 4
    assert values(f"{SIGNAL}{ADD}\n{NOTIFY}")[1] == 1


@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_all_cores_of_clusters_meet(on: str) -> None:
    """Mix joins cube and vector cores."""
    take = "load-ws\nflag MTE2 V 0\nadd-one\nflag V MTE3 0\nstore-y\nend"
    body = "cube\nproduct\nacc-to-ws\n{0}\nend\nvector\n{0}\n" + take
    assert clusters_found(body.format(ALL), on) == {}
    text, _ = cluster_text(expand(body.format(ALL)))
    args = arrays()
    module = parse_module(text, target=target(on)).module
    compile_program(module, target(on), extended=True).launch(args, 1)
    assert (args[3][:32] == args[0].astype(float) @ args[1].astype(float) + 1).all()
    bad = clusters_found(body.replace("end\nvector\n{0}", "end\nvector").format(ALL), on)
    assert sorted(bad) == ["RACE-XCORE-RAW", "SYNCALL-MISMATCH"]


def test_the_cpu_has_no_scalar_cache_but_orders_blocks() -> None:
    bad = both(f"pto.store_scalar %one, %x[%c0] : !pto.ptr<f32>, f32\n{ALL}", f"{ALL}\n{TAKEN}")
    assert mini(Pair("", {}, bad, bad, launch={"target": "cpu", **TWO}), bad) == {}
    bad = both("load a y\nstore a x", "load a x\nstore a y")
    found = mini(Pair("", {}, bad, bad, launch={"target": "cpu", **TWO}), bad)
    assert sorted(found) == ["RACE-XCORE-RAW", "RACE-XCORE-WAR"]


# --------------------------------------------------------- asynchronous prefetches


def prefetching(wait: str) -> pto.Kernel:
    """Prefetch x, wait for the event (or an earlier or later one, or in no way), load x."""

    @pto.kernel(target="a5")
    def k(x: pto.Ptr[pto.f32], w: pto.Ptr[pto.u8], y: pto.Ptr[pto.f32]) -> None:
        tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
        pto.TASSIGN(tile, 4096)
        ctx = pto.PrefetchAsyncContext(w)
        flat = pto.GlobalTensor(x, (1, 1, 1, 1, 64), (64, 64, 64, 64, 1))
        other = pto.GlobalTensor(y, (1, 1, 1, 1, 64), (64, 64, 64, 64, 1))
        before = pto.TPREFETCH_ASYNC(other, ctx)
        event = pto.TPREFETCH_ASYNC(flat, ctx)
        after = pto.TPREFETCH_ASYNC(other, ctx)
        if wait != "none":
            {"before": before, "this": event, "after": after}[wait].wait(ctx.session)
        pto.TLOAD(tile, flat)

    return k


@pytest.mark.parametrize(("wait", "clean"), [("none", False), ("before", False), ("this", True), ("after", True)])
def test_data_of_a_prefetch_is_not_touched_before_its_event(wait: str, clean: bool) -> None:
    x, w = np.ones(64, np.float32), np.zeros(64, np.uint8)
    report = prefetching(wait).sanitize(x, w, np.ones(64, np.float32))
    assert [d.rule for d in report.errors] == ([] if clean else ["ASYNC-RACE"])
    if not clean:
        (race,) = report.errors
        source = Path(__file__).read_text().splitlines()
        assert "pto.TLOAD(tile, flat)" in source[race.location.line - 1]
        assert "event = pto.TPREFETCH_ASYNC(flat, ctx)" in source[race.notes[0].location.line - 1]


def test_the_words_of_between_cores_are_printed_as_they_are_read() -> None:
    body = f"{SIGNAL}{NOTIFY}\n{ADD}\n{WAIT}\n{ALL}\n{VECTORS}\n{LINE}\npto.dcci\npto.dsb\n{TEST}\nend\n"
    program = Mini(body + "pto.syncall(%x, %c2 : !pto.ptr<f32>)", params="%sig: !pto.ptr<i32>")
    module = parse_module(program.text).module
    assert not parse_module(program.text).diagnostics
    printed = print_module(module)
    assert print_module(parse_module(printed).module) == printed
    words = {word: f"comm.{word}" for word in ("tnotify", "twait", "ttest")}
    words |= {word: word for word in ("syncall", "dcci", "dsb")}
    assert all(printed.count(f"pto.{new}") == program.text.count(f"pto.{old}") for old, new in words.items())


@pytest.mark.parametrize(("kind", "broken"), [("vector", False), ("cube", True)])
def test_a_meeting_is_of_the_cores_that_call_it(kind: str, broken: bool) -> None:
    found = [d.rule for d in verify(parse_module(Mini(VECTORS, tiles={}, kind=kind).text).module, target("a5"))]
    assert found == (["SYS-04"] if broken else [])


def test_signals_are_i32() -> None:
    text = Mini("pto.tnotify(%x_p, %c1 : !pto.partition_tensor_view<16x32xf32>, index)").text
    assert "SIGNAL-01" in [d.rule for d in verify(parse_module(text).module, target("a5"))]


def test_a_line_of_on_chip_memory_is_none_of_the_cache() -> None:
    pointer = "%zero = arith.constant 0 : i64\n%p = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>\n"
    assert Mini(f'{pointer}pto.dcci %p "SINGLE_CACHE_LINE", "CACHELINE_UB" : !pto.ptr<f32, ub>').found() == {}
