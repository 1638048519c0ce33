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


_FACTORS = (
    "pto.tload ins(%xs : !x_slice) outs(%xl1 : !x_l1)",
    "pto.tload ins(%ws : !w_slice) outs(%wl1 : !w_l1)",
    *_handed("MTE2", "MTE1"),
    "pto.tmov ins(%xl1 : !x_l1) outs(%xl0 : !x_l0)",
    "pto.tmov ins(%wl1 : !w_l1) outs(%wl0 : !w_l0)",
    *_handed("MTE1", "M"),
)
"""What the cube core multiplies, from global memory to L0."""


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
        *_FACTORS,
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


def alone(seed: int) -> str:
    """A random program whose pipe is not halved: vector core 0 takes whole entries, and the other one runs nothing."""
    text = cluster(seed).replace("split = 1", "split = 0").replace("16x64xf32", "32x64xf32")
    text = text.replace("%core = pto.get_subblock_idx\n", "").replace(
        "%lane = arith.index_cast %core : i64 to index\n", ""
    )
    text = text.replace("%row = arith.muli %lane, %height : index", "%row = arith.constant 0 : index")
    return text.replace("%height = arith.constant 16 : index", "%height = arith.constant 32 : index")


RING = (
    "next_box is box[rank + 1]",
    "next_full is full[rank + 1]",
    "prev_free is free[rank - 1]",
    "full == 0",
    "free == 0",
    "ranks > 1",
)
"""What is assumed of the launches of rings."""


def ring(seed: int) -> str:
    """A random program in which each rank sends tiles to the next one, step by step.

    A step has rows of its own, or slots of the receiver in rotation are given back by notifications. These are told
    apart by their cells, by their values, or they are counted.
    """
    rng = random.Random(seed)
    slots, signals = rng.choice((0, 0, 1, 2, 3)), rng.choice(("cells", "values", "counts"))
    bound, outer = rng.choice(("%n", "%m", "%two", "%next")), rng.choice(("", "", "", "%two", "%m"))
    faults = ("line", "line", "order", "early", "cell", "value", "credits", "bound", "late", "block")
    fault = rng.choice(faults) if rng.random() < 0.5 else ""
    more = fault in ("cell", "value")
    tput = rng.random() < 0.3

    def signal(array: str, way: str, does: str, wrong: bool) -> list[str]:
        name = f"%{does}_{array}"
        cell = "%step" if way == "cells" else "%zero"
        cell = "%after" if wrong and fault == "cell" else cell
        value = "%one32" if way == "cells" or (way == "counts" and does == "tell") else "%number"
        value = "%one32" if wrong and fault == "value" else value
        op = "atomic_add" if way == "counts" else "set"
        part = f"offsets = [{cell}, %b], sizes = [%one, %one] : !signals -> !signal"
        view = f"{name} = pto.partition_view %{array}_v, {part}"
        if does == "tell":
            return [view, f"pto.comm.tnotify({name}, {value} : !signal, i32) {{notifyOp = #pto<notify_op {op}>}}"]
        compare = "eq" if way == "cells" and rng.random() < 0.3 else "ge"
        return [view, f"pto.comm.twait({name}, {value} : !signal, i32) {{cmp = #pto<wait_cmp {compare}>}}"]

    row = "arith.remui %step, %slots" if slots else "arith.addi %step, %zero"
    every = "pto.barrier <PIPE_ALL>"
    loaded = ["pto.tload ins(%from : !row) outs(%out : !tile)"]
    stored = ["pto.tstore ins(%out : !tile) outs(%to : !row)"]
    sent = [*loaded, *_handed("MTE2", "MTE3"), *stored, every]
    if tput:
        sent = [
            "pto.comm.tput(%to, %from, buf(%out) : !row, !row, !tile) {atomicType = #pto<atomic_type atomic_none>}",
            every,
        ]
    told = signal("next_full", signals, "tell", more and rng.random() < 0.5)
    heard = signal("full", signals, "hear", more)
    used = [
        "pto.tload ins(%got : !row) outs(%part : !tile)",
        *_handed("MTE2", "V"),
        "pto.tadd ins(%sum, %part : !tile, !tile) outs(%sum : !tile)",
        every,
    ]
    if fault == "order":
        sent, told = [*told, *sent], []
    if fault == "late":
        heard, told = [*heard, *told], []
    if fault == "early":
        heard, used = used, heard
    credit = signal("free", "counts", "hear", False) if slots else []
    back = signal("prev_free", "counts", "tell", False) if slots else []
    body = [*credit, *sent, *told, *heard, *used, *back]
    first = "%b" if fault == "block" else "%zero"
    views = [
        f"%slot = {row} : index",
        "%from = pto.partition_view %x_v, offsets = [%step, %column], sizes = [%one, %width] : !rows -> !row",
        "%to = pto.partition_view %next_box_v, offsets = [%slot, %column], sizes = [%one, %width] : !rows -> !row",
        "%got = pto.partition_view %box_v, offsets = [%slot, %column], sizes = [%one, %width] : !rows -> !row",
        "%after = arith.addi %step, %one : index",
        "%number = arith.index_cast %after : index to i32",
    ]
    if fault == "line":
        body.pop(
            rng.choice([k for k, line in enumerate(body) if "comm." in line or "flag" in line or "barrier" in line])
        )
    upper = rng.choice(("%rank", "%ranks", "%lane")) if fault == "bound" else bound
    step = f"%step = arith.addi %i, {first} : index"
    if outer:
        step = f"%base = arith.muli %o, {bound} : index\n%step = arith.addi %base, %i : index"
    lines = [f"scf.for %i = %zero to {upper} step %one {{", step, *views, *body, "}"]
    lines = [f"scf.for %o = %zero to {outer} step %one {{", *lines, "}"] if outer else lines
    primes = signal("prev_free", "counts", "tell", False) if slots else []
    count = slots + (1 if fault == "credits" else 0)
    primed = [line.replace("%tell_", f"%prime{k}_") for k in range(count) for line in primes]
    assumed = ", ".join(f'"{text}"' for text in RING)
    arrays = "".join(f"%{name}: !pto.ptr<f32>, " for name in ("x", "box", "next_box", "y"))
    arrays += "".join(f"%{name}: !pto.ptr<i32>, " for name in ("full", "next_full", "free", "prev_free"))
    made = [
        f"%{name}_v = pto.make_tensor_view %{name}, shape = [%many, %columns], strides = [%columns, %one] : !rows"
        for name in ("x", "box", "next_box", "y")
    ]
    made += [
        f"%{name}_v = pto.make_tensor_view %{name}, shape = [%many, %blocks], strides = [%blocks, %one] : !signals"
        for name in ("full", "next_full", "free", "prev_free")
    ]
    tiles = [
        f"%place{k} = arith.constant {k * 256} : i64\n%{name} = pto.alloc_tile addr = %place{k} : !tile"
        for k, name in enumerate(("out", "part", "sum"))
    ]
    return (
        "!rows = !pto.tensor_view<?x?xf32>\n!row = !pto.partition_tensor_view<1x64xf32>\n"
        "!signals = !pto.tensor_view<?x?xi32>\n!signal = !pto.partition_tensor_view<1x1xi32>\n"
        "!tile = !pto.tile_buf<vec, 1x64xf32>\nmodule {\n"
        f"func.func @k({arrays}%rank: index, %ranks: index, %n: index, %m: index) attributes "
        f"{{pto.assume = [{assumed}], pto.kernel_kind = #pto.kernel_kind<vector>}} {{\n{NUMBERS}"
        f"%slots = arith.constant {max(1, slots)} : index\n%one32 = arith.constant 1 : i32\n"
        "%zerof = arith.constant 0.0 : f32\n%few = arith.constant 4 : index\n%block = pto.get_block_idx\n"
        "%b = arith.index_cast %block : i64 to index\n%lane = arith.addi %b, %n : index\n"
        "%launched = pto.get_block_num\n%blocks = arith.index_cast %launched : i64 to index\n"
        "%columns = arith.muli %blocks, %width : index\n%column = arith.muli %b, %width : index\n"
        "%square = arith.muli %both, %both : index\n%sums = arith.addi %square, %both : index\n"
        "%sums2 = arith.addi %sums, %ranks : index\n%sums3 = arith.addi %sums2, %sums : index\n"
        "%sums4 = arith.addi %sums3, %blocks : index\n%many = arith.addi %sums4, %few : index\n"
        + "\n".join([*made, *tiles, "pto.texpands ins(%zerof : f32) outs(%sum : !tile)", *primed, *lines])
        + f"\n{every}\n%ys = pto.partition_view %y_v, offsets = [%zero, %column], sizes = [%one, %width] "
        ": !rows -> !row\npto.tstore ins(%sum : !tile) outs(%ys : !row)\nreturn\n}\n}\n"
    )


LEFT = {"a5": "blayout=col_major, slayout=row_major", "a2a3": "slayout=row_major"}


def signalled(seed: int, target: str = "a5") -> str:
    """A random program whose cube core hands products to vector cores through global memory, by signals alone.

    Slots of memory in rotation are given back by signals, or each product has a place of its own, or all of them are
    announced at once.
    """
    rng = random.Random(seed)
    slots, way = rng.choice((1, 2, 3)), rng.choice(("ring", "ring", "ring", "places", "once"))
    bound, outer = rng.choice(("%n", "%m", "%two", "%next")), rng.choice(("", "", "%two", "%m"))
    fault = rng.choice(("bound", "line", "credits", "pipe", "order", "ids")) if rng.random() < 0.4 else ""
    other = rng.choice(("%n", "%m", "%two", "%next")) if fault == "bound" else bound
    full, free = (3, 3) if fault == "ids" else (3, 4)
    subs = (0, 16) if target == "a5" else (0,)

    def of_cube(does: str, pipe: str, number: int) -> list[str]:
        return [f"pto.sync.{does} <PIPE_{pipe}>, {number + sub}" for sub in subs]

    def of_vector(does: str, pipe: str, number: int) -> list[str]:
        return [f"pto.sync.{does} <PIPE_{pipe}>, {number}"]

    def place(height: str, lane: str) -> list[str]:
        made = [] if way == "ring" else ["%slot = arith.addi %i, %zero : index"]
        made = made or ["%slot = arith.remui %i, %slots : index"]
        made += ["%base = arith.muli %slot, %rows : index", f"%from = arith.addi %base, {lane} : index"]
        kind = "!x_slice" if height == "%rows" else "!half_slice"
        return [
            *made,
            f"%ss = pto.partition_view %sv, offsets = [%from, %zero], sizes = [{height}, %width] : !gm32 -> "
            + kind.replace("!x_slice", "!part_slice"),
        ]

    told = "M" if fault == "pipe" else "FIX"
    stored = ["pto.tstore ins(%sum : !part) outs(%ss : !part_slice)"]
    announced = of_cube("set", told, full) if way != "once" else []
    product = [
        *(of_cube("wait", "FIX", free) if way == "ring" else []),
        _flag("wait", "FIX", "M"),
        "pto.tmatmul ins(%xl0, %wl0 : !x_l0, !w_l0) outs(%sum : !part)",
        *_handed("M", "FIX"),
        *place("%rows", "%zero"),
        *([*announced, *stored] if fault == "order" else [*stored, *announced]),
        _flag("set", "FIX", "M"),
    ]
    used = [
        *(of_vector("wait", "MTE2", full) if way != "once" else []),
        *place("%height", "%row"),
        _flag("wait", "V", "MTE2"),
        "pto.tload ins(%ss : !half_slice) outs(%part : !half)",
        *(of_vector("set", "MTE2", free) if way == "ring" else []),
        *_handed("MTE2", "V"),
        "pto.tadd ins(%total, %part : !half, !half) outs(%total : !half)",
        _flag("set", "V", "MTE2"),
    ]

    def around(body: Sequence[str], upper: str) -> list[str]:
        lines = [f"scf.for %i = %zero to {upper} step %one {{", *body, "}"]
        return [f"scf.for %o = %zero to {outer} step %one {{", *lines, "}"] if outer else lines

    credits_ = slots + (fault == "credits")
    cube = [
        *_FACTORS,
        _flag("set", "FIX", "M"),
        *around(product, bound),
        _flag("wait", "FIX", "M"),
        *(of_cube("wait", "FIX", free) * credits_ if way == "ring" else []),
        *(of_cube("set", told, full) if way == "once" else []),
    ]
    vector = [
        "pto.texpands ins(%zerof : f32) outs(%total : !half)",
        *(of_vector("set", "MTE2", free) * credits_ if way == "ring" else []),
        *(of_vector("wait", "MTE2", full) if way == "once" else []),
        _flag("set", "V", "MTE2"),
        *around(used, other),
        _flag("wait", "V", "MTE2"),
        *_handed("V", "MTE3"),
        "pto.tstore ins(%total : !half) outs(%ys : !half_slice)",
    ]
    if fault == "line":
        side = rng.choice((cube, vector))
        side.pop(rng.choice([k for k, line in enumerate(side) if "sync." in line or "flag" in line]))
    head = HEAD.replace("a5", "a5" if target == "a5" else "a3").replace(LEFT["a5"], LEFT[target], 3)
    head = head.replace(f"<mat, 32x64xf16, {LEFT[target]}", f"<mat, 32x64xf16, {LEFT['a5']}")
    head = head.replace(f"<mat, 64x64xf16, {LEFT[target]}", f"<mat, 64x64xf16, {LEFT['a5']}")
    head = head.replace("!part =", "!part_slice = !pto.partition_tensor_view<32x64xf32>\n!part =")
    params = f"%f: memref<256xi64>, {PARAMS}" if target == "a2a3" else PARAMS
    return (
        f"{head}func.func @k({params.replace('%y:', '%s: !pto.ptr<f32>, %y:')}) {{\n{NUMBERS}"
        f"%slots = arith.constant {slots} : index\n%few = arith.constant 3 : index\n"
        "%some = arith.addi %both, %few : index\n"
        "%all = arith.muli %some, %rows : index\n"
        "%first_place = arith.constant 0 : i64\n%second_place = arith.constant 4096 : i64\n"
        + ("pto.set_ffts %f : memref<256xi64>\n" if target == "a2a3" else "")
        + "%sv = pto.make_tensor_view %s, shape = [%all, %width], strides = [%width, %one] : !gm32\n"
        "pto.section.cube {\n"
        "%xv = pto.make_tensor_view %x, shape = [%rows, %width], strides = [%width, %one] : !gm16\n"
        "%wv = pto.make_tensor_view %w, shape = [%width, %width], strides = [%width, %one] : !gm16\n"
        "%xs = pto.partition_view %xv, offsets = [%zero, %zero], sizes = [%rows, %width] : !gm16 -> !x_slice\n"
        "%ws = pto.partition_view %wv, offsets = [%zero, %zero], sizes = [%width, %width] : !gm16 -> !w_slice\n"
        "%xl1 = pto.alloc_tile addr = %first_place : !x_l1\n%wl1 = pto.alloc_tile addr = %second_place : !w_l1\n"
        "%xl0 = pto.alloc_tile addr = %first_place : !x_l0\n%wl0 = pto.alloc_tile addr = %first_place : !w_l0\n"
        "%sum = pto.alloc_tile addr = %first_place : !part\n" + "\n".join(cube) + "\n}\npto.section.vector {\n"
        "%zerof = arith.constant 0.0 : f32\n%core = pto.get_subblock_idx\n"
        "%lane = arith.index_cast %core : i64 to index\n%row = arith.muli %lane, %height : index\n"
        "%yv = pto.make_tensor_view %y, shape = [%rows, %width], strides = [%width, %one] : !gm32\n"
        "%ys = pto.partition_view %yv, offsets = [%row, %zero], sizes = [%height, %width] : !gm32 -> !half_slice\n"
        "%total = pto.alloc_tile addr = %first_place : !half\n%part = pto.alloc_tile addr = %second_place : !half\n"
        + "\n".join(vector)
        + "\n}\nreturn\n}\n}\n"
    )
