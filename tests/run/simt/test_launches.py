"""Threads: who they are, what they tell each other, where they part and meet."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError

from .programs import launch, load, numbers, run, store


@pytest.mark.parametrize("sizes", [(32, 1, 1), (8, 4, 3), (50, 2, 1), (1, 1, 1), (5, 7, 2)])
def test_every_thread_knows_its_place(sizes: tuple[int, int, int]) -> None:
    x, y, z = sizes
    body = f"""
  %ty = pto.get_tid_y : i32
  %tz = pto.get_tid_z : i32
  %dx = pto.get_block_dim_x : i32
  %dy = pto.get_block_dim_y : i32
  %lane = pto.get_laneid : i32
  %a = arith.muli %tz, %dy : i32
  %b = arith.addi %a, %ty : i32
  %c = arith.muli %b, %dx : i32
  %d = arith.addi %c, %tx : i32
  %j = arith.index_castui %d : i32 to index
{store("%d", at="%j")}{store("%lane", to="%lanes", at="%j")}"""
    count = x * y * z
    out, lanes = np.full((2, count + 40), -1, np.int32)
    run(launch(body, sizes, out="i32", lanes="i32"), out, lanes)
    assert np.array_equal(out, [*range(count), *[-1] * 40])
    assert np.array_equal(lanes[:count], np.arange(count) % 32)
    assert (lanes[count:] == -1).all()


def test_blocks_have_threads_of_their_own() -> None:
    before = """
  %n = arith.constant 64 : index
  %b64 = pto.get_block_idx
  %b = arith.index_cast %b64 : i64 to index
  %first = arith.muli %b, %n : index
  %mine = pto.addptr %out, %first : !pto.ptr<i32, gm> -> !pto.ptr<i32, gm>
"""
    text = launch(store("%tx"), (64, 1, 1), before, out="i32").replace("(%out) :", "(%mine) :")
    out = np.zeros(5 * 64, np.int32)
    run(text, out, blocks=5)
    assert np.array_equal(out.reshape(5, 64), np.tile(np.arange(64), (5, 1)))


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_threads_loop_as_long_as_each_has_to() -> None:
    body = """
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %zero = arith.constant 0 : i32
  %n0 = arith.addi %tx, %one : i32
  %n, %steps = scf.while (%a = %n0, %s = %zero) : (i32, i32) -> (i32, i32) {
    %go = arith.cmpi ne, %a, %one : i32
    scf.condition(%go) %a, %s : i32, i32
  } do {
  ^bb0(%a: i32, %s: i32):
    %r = arith.remsi %a, %two : i32
    %even = arith.cmpi eq, %r, %zero : i32
    %next = scf.if %even -> (i32) {
      %h = arith.divsi %a, %two : i32
      scf.yield %h : i32
    } else {
      %t = arith.muli %a, %three : i32
      %u = arith.addi %t, %one : i32
      scf.yield %u : i32
    }
    %more = arith.addi %s, %one : i32
    scf.yield %next, %more : i32, i32
  }
""" + store("%steps")
    out = np.zeros(97, np.int32)
    run(launch(body, (97, 1, 1), out="i32"), out)
    assert out.tolist() == [collatz(n) for n in range(1, 98)]


def test_bounds_of_a_loop_may_differ() -> None:
    body = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %sum = scf.for %j = %c0 to %i step %c1 iter_args(%s = %zero) -> (i32) {{
    %v = arith.index_cast %j : index to i32
    %t = arith.addi %s, %v : i32
    scf.yield %t : i32
  }}
{store("%sum")}"""
    out = np.zeros(40, np.int32)
    run(launch(body, (40, 1, 1), out="i32"), out)
    assert out.tolist() == [n * (n - 1) // 2 for n in range(40)]


def test_branches_between_blocks_part_and_meet() -> None:
    body = f"""
  %c3 = arith.constant 3 : i32
  %c0 = arith.constant 0 : i32
  %r = arith.remsi %tx, %c3 : i32
  %z = arith.cmpi eq, %r, %c0 : i32
  cf.cond_br %z, ^a(%tx : i32), ^b
^a(%v: i32):
  %w = arith.muli %v, %c3 : i32
  cf.br ^c(%w : i32)
^b:
  cf.br ^c(%r : i32)
^c(%x: i32):
{store("%x")}"""
    out = np.zeros(33, np.int32)
    run(launch(body, (33, 1, 1), out="i32"), out)
    assert out.tolist() == [3 * n if n % 3 == 0 else n % 3 for n in range(33)]


def test_threads_that_are_not_there_do_not_divide() -> None:
    body = f"""
  %c0 = arith.constant 0 : i32
  %c7 = arith.constant 7 : i32
  %some = arith.cmpi ne, %tx, %c0 : i32
  scf.if %some {{
    %q = arith.divsi %c7, %tx : i32
{store("%q")}  }}
"""
    out = np.full(32, -1, np.int32)
    run(launch(body, out="i32"), out)
    assert out.tolist() == [-1, *(7 // n for n in range(1, 32))]
    with pytest.raises(DiagnosticError, match="division by zero") as error:
        run(launch(body.replace("ne, %tx", "sge, %tx"), out="i32"), out)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.rule == "RUN-DIV-ZERO"
    assert "divsi" in launch(body.replace("ne, %tx", "sge, %tx"), out="i32").splitlines()[diagnostic.location.line - 1]


def test_functions_of_threads_call_functions() -> None:
    more = """func.func @twice(%v: i32) -> i32 {
  %r = arith.addi %v, %v : i32
  return %r : i32
}"""
    out = np.zeros(32, np.int32)
    run(launch("  %t = func.call @twice(%tx) : (i32) -> i32\n" + store("%t"), more=more, out="i32"), out)
    assert np.array_equal(out, 2 * np.arange(32))


def vote(pred: np.ndarray, active: np.ndarray) -> tuple[bool, bool, bool, int]:
    chosen = [bool(p) for p, a in zip(pred, active) if a]
    bits = sum(1 << k for k in range(32) if active[k] and pred[k])
    return all(chosen), any(chosen), len(set(chosen)) <= 1, bits


@pytest.mark.parametrize(("threshold", "modulus"), [(0, 1), (20, 1), (20, 3), (40, 5)])
def test_votes_ask_the_active_threads_of_the_warp(threshold: int, modulus: int) -> None:
    """Those whose number is divisible are active; they say whether they are below a threshold."""
    body = f"""
  %c0 = arith.constant 0 : i32
  %m = arith.constant {modulus} : i32
  %t = arith.constant {threshold} : i32
  %r = arith.remsi %tx, %m : i32
  %on = arith.cmpi eq, %r, %c0 : i32
  scf.if %on {{
    %p = arith.cmpi slt, %tx, %t : i32
    %all = pto.vote_all %p : i1 -> i1
    %any = pto.vote_any %p : i1 -> i1
    %uni = pto.vote_uni %p : i1 -> i1
    %bits = pto.vote_ballot %p : i1 -> i32
    %a = arith.extui %all : i1 to i32
    %b = arith.extui %any : i1 to i32
    %c = arith.extui %uni : i1 to i32
{store("%a")}{store("%b", to="%o2")}{store("%c", to="%o3")}{store("%bits", to="%o4")}  }}
"""
    got = np.full((4, 64), -7, np.int32)
    run(launch(body, (50, 1, 1), out="i32", o2="i32", o3="i32", o4="i32"), *got)
    for k in range(50):
        if k % modulus:
            assert (got[:, k] == -7).all()
            continue
        lanes = np.arange(32) + k // 32 * 32
        expected = vote(lanes < threshold, (lanes < 50) & (lanes % modulus == 0))
        assert tuple(got[:3, k].astype(bool)) == expected[:3]
        assert int(got[3, k]) & 0xFFFFFFFF == expected[3]


@pytest.mark.parametrize("width", [16, 32])
def test_shuffles_take_the_value_of_another_lane(width: int) -> None:
    body = "  %c3 = arith.constant 3 : i32\n" + "".join(
        f"  %{k} = pto.shuffle_{k} %tx, %c3 {{width = {width} : i32}} : i32, i32 -> i32\n" + store(f"%{k}", to=f"%o{n}")
        for n, k in enumerate(("idx", "up", "down", "bfly"))
    )
    got = np.zeros((4, 64), np.int32)
    run(launch(body, (64, 1, 1), o0="i32", o1="i32", o2="i32", o3="i32"), *got)
    for lane in range(64):
        base, local = lane // width * width, lane % width
        up, down = local - 3, local + 3
        expected = base + 3, base + up if up >= 0 else lane, base + down if down < width else lane, base + (local ^ 3)
        assert tuple(got[:, lane]) == expected


@pytest.mark.parametrize(("kind", "sign"), [("i32", " signed"), ("i32", " unsigned"), ("f32", "")])
def test_reductions_over_the_active_threads(kind: str, sign: str) -> None:
    dtype = np.int32 if kind == "i32" else np.float32
    x = np.random.default_rng(3).integers(-50, 50, 70).astype(dtype)
    body = load("%v", "%x", kind)
    body += "  %half = arith.constant 45 : i32\n  %on = arith.cmpi slt, %tx, %half : i32\n  scf.if %on {\n"
    for n, how in enumerate(("add", "max", "min")):
        body += f"    %r{n} = pto.redux_{how} %v{sign} : {kind} -> {kind}\n" + store(f"%r{n}", kind, f"%o{n}")
    got = np.zeros((3, 70), dtype)
    run(launch(body + "  }\n", (70, 1, 1), x=kind, o0=kind, o1=kind, o2=kind), x, *got)
    seen = x.view(np.uint32) if "unsigned" in sign else x
    for k in range(45):
        part = seen[k // 32 * 32 : min(45, k // 32 * 32 + 32)]
        assert got[0, k] == part.sum(dtype=seen.dtype).view(dtype)
        assert got[1, k] == part.max().view(dtype)
        assert got[2, k] == part.min().view(dtype)
    assert not got[:, 45:].any()


def test_kept_values_come_back_to_the_same_thread() -> None:
    body = """  pto.keep %tx {slot = 3 : i64} : i32
  pto.syncthreads
"""
    more = """func.func @second(%out: !pto.ptr<i32, gm>) attributes {pto.simt_entry} {
  %kept = pto.resume {slot = 3 : i64} : i32
  %tx = pto.get_tid_x : i32
  %i = arith.index_castui %tx : i32 to index
  %s = arith.addi %kept, %tx : i32
  pto.store %s, %out[%i] : !pto.ptr<i32, gm>, i32
  return
}"""
    later = (
        "  pto.store_vfsimt_info %sz, %sy, %sx : i32, i32, i32\n  func.call @second(%out) : (!pto.ptr<i32, gm>) -> ()"
    )
    out = np.zeros(40, np.int32)
    run(launch(body, (40, 1, 1), later=later, more=more, out="i32"), out)
    assert np.array_equal(out, 2 * np.arange(40))


def test_a_launch_of_too_many_threads_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="at most 2048") as caught:
        run(launch(store("%tx"), (4096, 1, 1), out="i32"), numbers(4096))
    assert [d.rule for d in caught.value.diagnostics] == ["SIMT-SIZE"]
    run(launch(store("%tx"), (2048, 1, 1), out="i32"), numbers(2048))


def test_a_thread_outside_of_its_argument_is_named() -> None:
    with pytest.raises(DiagnosticError, match=r"bytes \[0x80, 0x84\) of argument %out") as error:
        run(launch(store("%tx"), (33, 1, 1), out="i32"), numbers(32))
    assert error.value.diagnostics[0].rule == "PTR-A5-02"


def test_the_same_bytes_every_time() -> None:
    body = "  %p = pto.addptr %out, %i : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>\n" + load("%v", "%x", "f32")
    body += "  %old = pto.atomic_add %out, %v : !pto.ptr<f32, gm>, f32 -> f32\n"
    x = np.random.default_rng(1).standard_normal(1024).astype(np.float32)
    results = []
    for _ in range(3):
        out = np.zeros(1024, np.float32)
        run(launch(body, (1024, 1, 1), out="f32", x="f32"), out, x)
        results.append(out.tobytes())
    assert len(set(results)) == 1
