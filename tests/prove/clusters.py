"""Random kernels of a cube core and its vector cores: loops push products into a pipe, loops pop and add them up."""

from __future__ import annotations

import random
from collections.abc import Sequence

HEAD = """!gm16 = !pto.tensor_view<?x?xf16>
!gm32 = !pto.tensor_view<?x?xf32>
!x_slice = !pto.partition_tensor_view<32x64xf16>
!w_slice = !pto.partition_tensor_view<64x64xf16>
!half_slice = !pto.partition_tensor_view<16x64xf32>
!x_l1 = !pto.tile_buf<mat, 32x64xf16, blayout=col_major, slayout=row_major>
!w_l1 = !pto.tile_buf<mat, 64x64xf16, blayout=col_major, slayout=row_major>
!x_l0 = !pto.tile_buf<left, 32x64xf16, blayout=col_major, slayout=row_major>
!w_l0 = !pto.tile_buf<right, 64x64xf16, slayout=col_major>
!part = !pto.tile_buf<acc, 32x64xf32, blayout=col_major, slayout=row_major, fractal=1024>
!half = !pto.tile_buf<vec, 16x64xf32>

module attributes {pto.target_arch = "a5"} {
"""
PARAMS = "%x: !pto.ptr<f16>, %w: !pto.ptr<f16>, %y: !pto.ptr<f32>, %n: index, %m: index"
NUMBERS = """%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%two = arith.constant 2 : index
%rows = arith.constant 32 : index
%height = arith.constant 16 : index
%width = arith.constant 64 : index
%next = arith.addi %n, %one : index
%both = arith.addi %n, %m : index
"""


def _flag(does: str, src: str, dst: str) -> str:
    return f"pto.{does}_flag[<PIPE_{src}>, <PIPE_{dst}>, <EVENT_ID0>]"


def _handed(src: str, dst: str) -> list[str]:
    return [_flag("set", src, dst), _flag("wait", src, dst)]


def _around(bounds: Sequence[str], body: Sequence[str], at: Sequence[Sequence[str]]) -> list[str]:
    """Loops around a body; ``at``: what each loop does before what is inside of it."""
    lines = list(body)
    for depth in reversed(range(len(bounds))):
        lines = [*at[depth], *lines]
        lines = [f"scf.for %i{depth} = %zero to {bounds[depth]} step %one {{", *lines, "}"]
    return lines


def cluster(seed: int) -> str:
    """A random program; about two in three are as they should be."""
    rng = random.Random(seed)
    slots = rng.choice((2, 2, 3, 4))
    bounds = [rng.choice(("%n", "%m", "%two", "%next", "%both")) for _ in range(rng.choice((1, 1, 2)))]
    pushes = rng.choice((1, 1, 2))
    wrong = rng.random() < 0.35
    others = list(bounds)
    popped, fault = pushes, rng.choice(("bound", "pops", "line", "early", "slots")) if wrong else ""
    if fault == "bound":
        others[rng.randrange(len(others))] = rng.choice(("%n", "%m", "%two", "%next"))
    elif fault == "pops":
        popped = 3 - pushes
    product = [
        _flag("wait", "FIX", "M"),
        "pto.tmatmul ins(%xl0, %wl0 : !x_l0, !w_l0) outs(%sum : !part)",
        *_handed("M", "FIX"),
        "pto.tpush_to_aiv(%sum : !part) {id = 0, split = 1}",
        _flag("set", "FIX", "M"),
    ]
    cube = [
        "%xs = pto.partition_view %xv, offsets = [%zero, %zero], sizes = [%rows, %width] : !gm16 -> !x_slice",
        "%ws = pto.partition_view %wv, offsets = [%zero, %zero], sizes = [%width, %width] : !gm16 -> !w_slice",
        "pto.tload ins(%xs : !x_slice) outs(%xl1 : !x_l1)",
        "pto.tload ins(%ws : !w_slice) outs(%wl1 : !w_l1)",
        *_handed("MTE2", "MTE1"),
        "pto.tmov ins(%xl1 : !x_l1) outs(%xl0 : !x_l0)",
        "pto.tmov ins(%wl1 : !w_l1) outs(%wl0 : !w_l0)",
        *_handed("MTE1", "M"),
        _flag("set", "FIX", "M"),
        *_around(bounds, product * pushes, [[]] * len(bounds)),
        _flag("wait", "FIX", "M"),
    ]
    takes = [f"%p{k} = pto.tpop_from_aic {{id = 0, split = 1}} -> !half" for k in range(popped)]
    adds = [f"pto.tadd ins(%total, %p{k} : !half, !half) outs(%total : !half)" for k in range(popped)]
    frees = ["pto.tfree_from_aic {id = 0, split = 1}"] * popped
    early = fault == "early"
    if random.Random(~seed).random() < 0.5:  # takes all entries before it gives the first one back
        pops = [*takes, *frees[:early], *adds, *frees[early:]]
    else:
        each_one = [[frees[k], adds[k]] if early and k == 0 else [adds[k], frees[k]] for k in range(popped)]
        pops = [line for take, rest in zip(takes, each_one) for line in (take, *rest)]
    each = rng.random() < 0.5 and len(bounds) > 1  # stores in each iteration of the outer loop
    stored = [*_handed("V", "MTE3"), "pto.tstore ins(%total : !half) outs(%ys : !half_slice)"]
    if each:
        inner = _around(others[1:], pops, [[]])
        inner = [line.replace("%i0", "%i1") for line in inner]
        body = [_flag("wait", "MTE3", "V"), *inner, *stored, _flag("set", "MTE3", "V")]
        vector = [_flag("set", "MTE3", "V"), *_around(others[:1], body, [[]]), _flag("wait", "MTE3", "V")]
    else:
        vector = [*_around(others, pops, [[]] * len(others)), *stored]
    filled = ["pto.texpands ins(%zerof : f32) outs(%total : !half)"]
    vector = [*filled, *vector]
    if fault == "line":
        side = rng.choice((cube, vector))
        kinds = ("flag", "tpush", "tfree", "texpands")
        side.pop(rng.choice([k for k, line in enumerate(side) if any(kind in line for kind in kinds)]))
    place = slots * 8192 - (4096 if fault == "slots" else 0)
    return (
        f"{HEAD}func.func @k_aic({PARAMS}) attributes {{pto.kernel_kind = #pto.kernel_kind<cube>}} {{\n{NUMBERS}"
        "%first_place = arith.constant 0 : i64\n%second_place = arith.constant 4096 : i64\n"
        '%slots = pto.import_reserved_buffer {name = "p", peer_func = @k_aiv} -> i32\n'
        f"pto.aic_initialize_pipe {{id = 0, dir_mask = 1, slot_size = 8192, slot_num = {slots}}} "
        "(c2v_consumer_buf = %slots : i32)\n"
        "%xv = pto.make_tensor_view %x, shape = [%rows, %width], strides = [%width, %one] : !gm16\n"
        "%wv = pto.make_tensor_view %w, shape = [%width, %width], strides = [%width, %one] : !gm16\n"
        "%xl1 = pto.alloc_tile addr = %first_place : !x_l1\n%wl1 = pto.alloc_tile addr = %second_place : !w_l1\n"
        "%xl0 = pto.alloc_tile addr = %first_place : !x_l0\n%wl0 = pto.alloc_tile addr = %first_place : !w_l0\n"
        "%sum = pto.alloc_tile addr = %first_place : !part\n" + "\n".join(cube) + "\nreturn\n}\n"
        f"func.func @k_aiv({PARAMS}) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{\n{NUMBERS}"
        f"%place = arith.constant {place} : i64\n%zerof = arith.constant 0.0 : f32\n%core = pto.get_subblock_idx\n"
        "%lane = arith.index_cast %core : i64 to index\n%row = arith.muli %lane, %height : index\n"
        f'%slots = pto.reserve_buffer {{name = "p", size = {slots * 8192}, location = #pto.address_space<vec>, '
        "auto = false, base = 0} -> i32\n"
        f"pto.aiv_initialize_pipe {{id = 0, dir_mask = 1, slot_size = 8192, slot_num = {slots}}} "
        "(c2v_consumer_buf = %slots : i32)\n"
        "%yv = pto.make_tensor_view %y, shape = [%rows, %width], strides = [%width, %one] : !gm32\n"
        "%ys = pto.partition_view %yv, offsets = [%row, %zero], sizes = [%height, %width] : !gm32 -> !half_slice\n"
        "%total = pto.alloc_tile addr = %place : !half\n" + "\n".join(vector) + "\nreturn\n}\n}\n"
    )
