"""Many blocks at once must equal one block at a time, whatever their control flow does."""

import numpy as np
import pytest

from .kernels import PART, PARTS, PTRS, ROWS, VIEWS, add, alloc, compiled, load, part, store, view

ATOMIC_ADD = " {atomicType = #pto<atomic_type atomic_add>}"


def arrays(rows: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(rows).standard_normal((rows, 16)).astype(np.float32)
    return x, np.full_like(x, 7)


def same_for_every_chunk(program, make, blocks: int) -> list[np.ndarray]:
    """Launch with several chunk sizes; the arrays of all runs must agree to the bit."""
    results = []
    for chunk in (1, 2, 3, blocks, None):
        args = make()
        program.launch(args, blocks, chunk=chunk)
        results.append([a for a in args if isinstance(a, np.ndarray)])
    for other in results[1:]:
        for a, b in zip(results[0], other):
            assert a.tobytes() == b.tobytes()
    return results[0]


def test_offsets_from_the_block_index() -> None:
    body = ROWS + VIEWS + PARTS + load("%t", "%p") + add("%t", "%t", "%t") + store("%t", "%q")
    program = compiled(PTRS, body)
    assert program.effects.lockstep
    x, y = same_for_every_chunk(program, lambda: [*arrays(56), 56], 7)
    assert (y == 2 * x).all()


def test_uneven_offsets_from_division() -> None:
    """Block b works on rows of block (b * 5) mod 7: no even spacing."""
    body = (
        "    %c5 = arith.constant 5 : index\n    %c7 = arith.constant 7 : index\n"
        "    %m = arith.muli %b, %c5 : index\n    %d = arith.remsi %m, %c7 : index\n"
        "    %r = arith.muli %d, %c8 : index\n" + VIEWS + PARTS + load("%t", "%p") + store("%t", "%q")
    )
    x, y = same_for_every_chunk(compiled(PTRS, body), lambda: [*arrays(56), 56], 7)
    assert (y == x).all()


def test_round_robin_loops_with_different_trip_counts() -> None:
    """Blocks deal tiles among themselves; the last round has fewer. The chunk splits before anything is stored."""
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + alloc("t")
        + "    %n = arith.divsi %rows, %c8 : index\n    %nb64 = pto.get_block_num\n"
        "    %nb = arith.index_cast %nb64 : i64 to index\n    scf.for %i = %b to %n step %nb {\n"
        "    %r = arith.muli %i, %c8 : index\n"
        + PARTS
        + load("%t", "%p")
        + add("%t", "%t", "%t")
        + store("%t", "%q")
        + "    }\n"
    )
    program = compiled(PTRS, body)
    assert program.effects.lockstep
    x, y = same_for_every_chunk(program, lambda: [*arrays(88), 88], 4)
    assert (y == 2 * x).all()


def test_branches_after_a_store_run_block_by_block() -> None:
    """A branch that differs between blocks after a store: restarting would store twice, so chunks are of one block."""
    body = (
        "    %r = arith.muli %b, %c8 : index\n"
        + view("yv", "%y")
        + view("xv", "%x")
        + alloc("t")
        + PARTS
        + load("%t", "%q")
        + add("%t", "%t", "%t")
        + store("%t", "%q")
        + "    %odd = arith.remsi %b, %c2 : index\n    %is = arith.cmpi eq, %odd, %c1 : index\n    scf.if %is {\n"
        + load("%t", "%q")
        + add("%t", "%t", "%t")
        + store("%t", "%q")
        + "    }\n"
    )
    program = compiled(PTRS, body)
    assert not program.effects.lockstep
    assert program.chunk_blocks == 1
    _, y = same_for_every_chunk(program, lambda: [*arrays(40), 40], 5)
    factor = np.repeat([2, 4, 2, 4, 2], 8)[:, None]
    assert (y == 7 * factor).all()


def test_branches_before_a_store_split_the_chunk() -> None:
    body = (
        "    %r = arith.muli %b, %c8 : index\n"
        + view("yv", "%y")
        + view("xv", "%x")
        + alloc("t")
        + PARTS
        + load("%t", "%p")
        + "    %third = arith.constant 3 : index\n    %m = arith.remsi %b, %third : index\n"
        "    %is = arith.cmpi eq, %m, %c1 : index\n    scf.if %is {\n"
        + add("%t", "%t", "%t")
        + "    }\n"
        + store("%t", "%q")
    )
    program = compiled(PTRS, body)
    assert program.effects.lockstep
    x, y = same_for_every_chunk(program, lambda: [*arrays(56), 56], 7)
    assert (y == x * np.repeat([1, 2, 1, 1, 2, 1, 1], 8)[:, None]).all()


def test_groups_of_a_split_run_from_the_lowest_block_on() -> None:
    """Block 0 stores what block 1 loads, both after a branch: as if the blocks ran one after the other."""
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + alloc("t")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + part("s", "%yv", "%c8")
        + "    %first = arith.cmpi eq, %b, %c0 : index\n    scf.if %first {\n"
        + load("%t", "%p")
        + "    } else {\n"
        + load("%t", "%q")
        + "    }\n"
        + "    %at = arith.muli %b, %c8 : index\n"
        + part("d", "%yv", "%at")
        + store("%t", "%d")
    )
    x, y = arrays(16)
    compiled(PTRS, body).launch([x, y, 16], 2)
    assert (y[:8] == x[:8]).all()
    assert (y[8:] == x[:8]).all()


def test_valid_regions_that_differ_between_blocks() -> None:
    """The last block has a short tile: its sizes differ, so it runs apart."""
    dyn = "!pto.tile_buf<vec, 8x16xf32, valid=?x16>"
    vpart = "!pto.partition_tensor_view<?x16xf32>"
    body = (
        "    %r = arith.muli %b, %c8 : index\n"
        + view("xv", "%x")
        + view("yv", "%y")
        + "    %left = arith.subi %rows, %r : index\n    %n = arith.minsi %left, %c8 : index\n"
        + f"    %t = pto.alloc_tile valid_row = %n : {dyn}\n"
        + "".join(
            f"    %{name} = pto.partition_view %{src}, offsets = [%r, %c0], sizes = [%n, %c16] : "
            f"!pto.tensor_view<?x16xf32> -> {vpart}\n"
            for name, src in (("p", "xv"), ("q", "yv"))
        )
        + f"    pto.tload ins(%p : {vpart}) outs(%t : {dyn})\n"
        + f"    pto.tadd ins(%t, %t : {dyn}, {dyn}) outs(%t : {dyn})\n"
        + f"    pto.tstore ins(%t : {dyn}) outs(%q : {vpart})\n"
    )
    program = compiled(PTRS, body)
    x, y = same_for_every_chunk(program, lambda: [*arrays(45), 45], 6)
    assert (y == 2 * x).all()


def test_scalars_that_differ_between_blocks() -> None:
    body = (
        "    %r = arith.muli %b, %c8 : index\n"
        + VIEWS
        + "    %bi = arith.index_cast %b : index to i32\n    %f = arith.sitofp %bi : i32 to f32\n"
        + PARTS
        + load("%t", "%p")
        + "    pto.tmuls ins(%t, %f : !pto.tile_buf<vec, 8x16xf32>, f32) outs(%t : !pto.tile_buf<vec, 8x16xf32>)\n"
        + store("%t", "%q")
    )
    x, y = same_for_every_chunk(compiled(PTRS, body), lambda: [*arrays(56), 56], 7)
    assert (y == x * np.repeat(np.arange(7, dtype=np.float32), 8)[:, None]).all()


def test_reading_what_the_kernel_overwrites() -> None:
    """y = y + y in place, and a tile that stands for memory must keep its value when the memory changes."""
    body = (
        "    %r = arith.muli %b, %c8 : index\n"
        + view("yv", "%y")
        + alloc("t")
        + alloc("u")
        + part("q", "%yv", "%r")
        + load("%t", "%q")
        + load("%u", "%q")
        + add("%t", "%t", "%t")
        + store("%t", "%q")
        + add("%t", "%u", "%t")
        + store("%t", "%q")
    )
    _, y = same_for_every_chunk(compiled(PTRS, body), lambda: [*arrays(56), 56], 7)
    assert (y == 21).all()


def test_blocks_that_store_over_each_other_do_so_in_order() -> None:
    """Half of each block's rows belong to the next block too: the higher block wins, in any chunk."""
    body = (
        "    %c4 = arith.constant 4 : index\n    %r = arith.muli %b, %c4 : index\n    %s = arith.muli %b, %c8 : index\n"
        + VIEWS
        + part("p", "%xv", "%s")
        + part("q", "%yv", "%r")
        + load("%t", "%p")
        + store("%t", "%q")
    )
    x, y = same_for_every_chunk(compiled(PTRS, body), lambda: [*arrays(56), 56], 7)
    for block in range(7):
        own = x[8 * block :][: 4 if block < 6 else 8]
        assert (y[4 * block :][: len(own)] == own).all()


def test_column_panels() -> None:
    """Blocks whose rows interleave but do not overlap."""
    part4 = "!pto.partition_tensor_view<8x8xf32>"
    tile4 = "!pto.tile_buf<vec, 8x8xf32>"
    body = "    %c = arith.muli %b, %c8 : index\n" + view("xv", "%x") + view("yv", "%y")
    for name, source in (("p", "xv"), ("q", "yv")):
        body += (
            f"    %{name} = pto.partition_view %{source}, offsets = [%c0, %c], sizes = [%c8, %c8] : "
            f"!pto.tensor_view<?x16xf32> -> {part4}\n"
        )
    body += f"    %t = pto.alloc_tile : {tile4}\n    pto.tload ins(%p : {part4}) outs(%t : {tile4})\n"
    body += f"    pto.tstore ins(%t : {tile4}) outs(%q : {part4})\n"
    x, y = same_for_every_chunk(compiled(PTRS, body), lambda: [*arrays(8), 8], 2)
    assert (x == y).all()


def test_arguments_that_overlap() -> None:
    """x and y are the same array: a store through one is seen by the tile loaded from the other."""
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + alloc("t")
        + alloc("u")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + load("%u", "%p")
        + load("%t", "%q")
        + add("%t", "%t", "%t")
        + store("%t", "%q")
        + add("%u", "%t", "%u")
        + store("%u", "%p")
    )
    y = np.full((8, 16), 3, np.float32)
    compiled(PTRS, body).launch([y, y, 8])
    assert (y == 9).all()


@pytest.mark.parametrize("blocks", [1, 4])
def test_progress_reaches_the_number_of_blocks(blocks: int) -> None:
    seen: list[tuple[int, int]] = []
    program = compiled(PTRS, view("yv", "%y"))
    program.launch([*arrays(8), 8], blocks, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (blocks, blocks)


@pytest.mark.parametrize(("arch", "atomic"), [("cpu", ""), *((a, k) for a in ("a2a3", "a5") for k in ("", ATOMIC_ADD))])
def test_a_store_of_no_columns(arch: str, atomic: str) -> None:
    """A view with elements, a tile without valid ones: a warning at most, and nothing is stored."""
    some = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
    body = view("yv", "%y", "%c16") + part("q", "%yv", "%c0")
    body += f"    %t = pto.alloc_tile valid_row = %c8 valid_col = %n : {some}\n"
    body += f"    pto.tstore ins(%t : {some}) outs(%q : {PART}){atomic}\n"
    program = compiled("%y: !pto.ptr<f32>, %n: index", body, arch=arch)
    y = np.arange(256, dtype=np.float32).reshape(16, 16)
    before = y.copy()
    program.launch([y, 0], 1)
    assert (y == before).all()
    program.launch([y, 16], 1)
    assert (y[8:] == before[8:]).all()


def test_numbers_next_to_a_register_differ_by_block() -> None:
    """An instruction gives a predicate and what is left of a count, which is another number in each block."""
    body = """
      %c48 = arith.constant 48 : i32
      %id = pto.get_block_idx
      %id32 = arith.trunci %id : i64 to i32
      %at = arith.index_cast %id : i64 to index
      %count = arith.muli %id32, %c48 : i32
      pto.vecscope {
        %m, %rest = pto.plt_b32 %count : i32 -> !pto.mask<b32>, i32
        pto.store_scalar %rest, %y[%at] : !pto.ptr<i32>, i32
      }"""
    y = np.zeros(5, np.int32)
    compiled("%y: !pto.ptr<i32>", body).launch([y], 5, backend="numpy")
    assert y.tolist() == [0, 0, 32, 80, 128]
