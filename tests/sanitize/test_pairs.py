"""Every rule of the sanitizer with a program that breaks it and one that does not."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptokit.asm import parse_module
from ptokit.sanitize import sanitize
from tests.each import each

from .mini import Mini, output


class Pair(NamedTuple):
    """``bad`` gives exactly ``rules``, each finding naming the lines; ``good`` gives nothing.

    ``setup`` are arguments of `Mini`, ``good_setup`` those for ``good`` where they differ.
    """

    name: str
    rules: dict[str, list[set[int]]]
    bad: str
    good: str
    setup: dict[str, Any] = {}
    launch: dict[str, Any] = {}
    good_setup: dict[str, Any] | None = None


PADDED = {
    "pa": "arith.constant 0 : i64",
    "p": "pto.alloc_tile addr = %pa valid_row = %c16 valid_col = %c4 : !pto.tile_buf<vec, 16x32xf32, valid=?x?, pad=1>",
    "ca": "arith.constant 4096 : i64",
    "c": "pto.alloc_tile addr = %ca valid_row = %c16 valid_col = %c8 : !pto.tile_buf<vec, 16x32xf32, valid=?x?>",
    "da": "arith.constant 8192 : i64",
    "d": "pto.alloc_tile addr = %da valid_row = %c16 valid_col = %c4 : !pto.tile_buf<vec, 16x32xf32, valid=?x?>",
}
PAD_LOAD = (
    "%s = pto.partition_view %x_v, offsets = [%c0, %c0], sizes = [%c16, %c4] : !pto.tensor_view<?x?xf32> -> "
    "!pto.partition_tensor_view<16x4xf32>\n"
    "pto.tload ins(%s : !pto.partition_tensor_view<16x4xf32>) "
    "outs(%p : !pto.tile_buf<vec, 16x32xf32, valid=?x?, pad=1>)\nbarrier ALL\n"
    "pto.tadds ins(%p, %one : !pto.tile_buf<vec, 16x32xf32, valid=?x?, pad=1>, f32) "
    "outs(%{} : !pto.tile_buf<vec, 16x32xf32, valid=?x?>)"
)
MATRIX, TURNED = "!pto.tile_buf<vec, 8x16xf32>", "!pto.tile_buf<vec, 16x8xf32, blayout=col_major>"
COLUMN, ROW = "!pto.tile_buf<vec, 16x1xf32, blayout=col_major>", "!pto.tile_buf<vec, 1x16xf32>"
RESHAPED = {
    name: f"pto.alloc_tile addr = %here : {kind}"
    for name, kind in (("matrix", MATRIX), ("turned", TURNED), ("column", COLUMN), ("row", ROW))
}
SCALARS = (
    "%at = arith.constant 0 : i64\n%in = pto.castptr %at : i64 -> !pto.ptr<f32, ub>\n%n = arith.constant 32 : i64\n"
    "pto.mte_gm_ub %x, %in, %at, %n nburst(%n, %n, %n) : !pto.ptr<f32>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64"
)
BIAS = (
    "%e = pto.load_scalar %in[%c4] : !pto.ptr<f32, ub> -> f32\npto.store_scalar %e, %in[%c8] : !pto.ptr<f32, ub>, f32"
)
OUT = "pto.mte_ub_gm %in, %y, %n nburst(%n, %n, %n) : !pto.ptr<f32, ub>, !pto.ptr<f32>, i64, i64, i64, i64"
MEET = "pto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}", "pto.sync.wait <PIPE_MTE2>, 0"
BY_COLUMN = (
    "%v = pto.make_tensor_view %x, shape = [%c16, %c8], strides = [%c1, %c16] : !pto.tensor_view<?x?xf32>\n"
    "%s = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c8] : !pto.tensor_view<?x?xf32> -> "
    "!pto.partition_tensor_view<16x8xf32>\n"
    f"pto.tload ins(%s : !pto.partition_tensor_view<16x8xf32>) outs(%turned : {TURNED})"
)
ROWS = "!pto.partition_tensor_view<16x32xf32>"
SLICE = (
    "%s = pto.partition_view %x_v, offsets = [{}, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> "
    "!pto.partition_tensor_view<16x32xf32>"
)
NARROW = (
    "%s = pto.partition_view %x_v, offsets = [%c0, {}], sizes = [%c8, %c32] : !pto.tensor_view<?x?xf32> -> "
    "!pto.partition_tensor_view<8x32xf32>\n"
    "pto.tload ins(%s : !pto.partition_tensor_view<8x32xf32>) outs(%n : !pto.tile_buf<vec, 8x32xf32>)"
)
LARGE = (
    "%v = pto.make_tensor_view %x, shape = [%c16, %c32], strides = [{}, %c1] : !pto.tensor_view<?x?xf32>\n"
    "%s = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c16] : !pto.tensor_view<?x?xf32> -> "
    "!pto.partition_tensor_view<16x16xf32>\n"
    "pto.tload ins(%s : !pto.partition_tensor_view<16x16xf32>) outs(%n : !pto.tile_buf<vec, 16x16xf32>)"
)
HUGE = (
    "%v = pto.make_tensor_view %x, shape = [{0}, {0}], strides = [{1}, %c1] : !pto.tensor_view<?x?xf32>\n"
    "%s = pto.partition_view %v, offsets = [%c0, %c0], sizes = [{0}, {0}] : !pto.tensor_view<?x?xf32> -> "
    "!pto.partition_tensor_view<?x?xf32>\n"
    "pto.tprint ins(%s : !pto.partition_tensor_view<?x?xf32>)"
)
STORE = "set V MTE3 7\nwait V MTE3 7\nstore b y"
COPY = "load a x\nset MTE2 MTE3 0\nwait MTE2 MTE3 0\nstore a y"

NUMBERS = "!pto.tile_buf<vec, 1x16xi32>"
COUNTED = {
    "start": "arith.constant 0 : i32",
    "na": "arith.constant 8192 : i64",
    "n": f"pto.alloc_tile addr = %na : {NUMBERS}",
    "oa": "arith.constant 8320 : i64",
    "o": f"pto.alloc_tile addr = %oa : {NUMBERS}",
    "ta": "arith.constant 8448 : i64",
    "t": "pto.alloc_tile addr = %ta : !pto.tile_buf<vec, 1x192xi32>",
}
COUNT = f"pto.tci ins(%start : i32) outs(%n : {NUMBERS})"
COUNT_TMP = f"pto.tci ins(%start, %t : i32, !pto.tile_buf<vec, 1x192xi32>) outs(%n : {NUMBERS})"
ADDED = f"pto.tadds ins(%n, %start : {NUMBERS}, i32) outs(%o : {NUMBERS})"

PAIRS = [
    Pair(
        "numbers made by the scalar unit, and by vector instructions",
        {"RACE-RAW": [{1, 2}]},
        f"{COUNT}\n{ADDED}",
        f"{COUNT}\nset S V 0\nwait S V 0\n{ADDED}\nbarrier ALL\n{COUNT_TMP}\n{ADDED}",
        {"tiles": COUNTED},
    ),
    Pair(
        "load, compute",
        {"RACE-RAW": [{1, 2}]},
        f"load a x\nadds a b\n{STORE}",
        f"load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\n{STORE}",
    ),
    Pair(
        "the wrong direction orders nothing",
        {"RACE-RAW": [{1, 4}]},
        f"load a x\nset V MTE2 0\nwait V MTE2 0\nadds a b\n{STORE}",
        f"load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\n{STORE}",
    ),
    Pair(
        "a set before the load covers nothing",
        {"RACE-RAW": [{2, 4}]},
        f"set MTE2 V 0\nload a x\nwait MTE2 V 0\nadds a b\n{STORE}",
        f"load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\n{STORE}",
    ),
    Pair(
        "a set issued before the wait carries nothing from it",
        {"RACE-RAW": [{1, 6}]},
        "load a x\nset V MTE3 0\nset MTE2 V 0\nwait MTE2 V 0\nwait V MTE3 0\nstore a y",
        "load a x\nset MTE2 V 0\nwait MTE2 V 0\nset V MTE3 0\nwait V MTE3 0\nstore a y",
    ),
    Pair(
        "reload in a loop",
        {"RACE-WAR": [{2, 5}]},
        "for 4\nload a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nend\nbarrier ALL\nstore b y",
        "set V MTE2 0\nfor 4\nwait V MTE2 0\nload a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nset V MTE2 0\nend\n"
        "wait V MTE2 0\nbarrier ALL\nstore b y",
    ),
    Pair(
        "both of two readers",
        {"RACE-WAR": [{5, 6}, {4, 6}]},
        "load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nadds a c\nload a x\nbarrier ALL\nstore c y",
        "load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nadds a c\nbarrier ALL\nload a x\nbarrier ALL\nstore c y",
    ),
    Pair(
        "a barrier of another pipe",
        {"RACE-RAW": [{1, 3}]},
        f"load a x\nbarrier MTE2\nadds a b\n{STORE}",
        f"load a x\nbarrier ALL\nadds a b\n{STORE}",
    ),
    Pair(
        "waits of the scalar unit hold everything",
        {"RACE-RAW": [{1, 2}]},
        f"load a x\nadds a b\n{STORE}\nset MTE2 S 0\nwait MTE2 S 0",
        f"load a x\nset MTE2 S 0\nwait MTE2 S 0\nadds a b\n{STORE}",
    ),
    Pair(
        "events by operation class",
        {"RACE-RAW": [{1, 3}]},
        "load a x\npto.record_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TSTORE_VEC>, <EVENT_ID0>]\n"
        "adds a b\npto.wait_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TSTORE_VEC>, <EVENT_ID0>]\n"
        + STORE,
        "load a x\npto.record_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TVEC>, <EVENT_ID0>]\n"
        "pto.wait_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TVEC>, <EVENT_ID0>]\nadds a b\n" + STORE,
    ),
    Pair(
        "tsync of a tile",
        {"RACE-RAW": [{1, 3}]},
        "load a x\npto.tsync ins(%b : !pto.tile_buf<vec, 16x32xf32>)\nadds a b\n" + STORE,
        "load a x\npto.tsync ins(%a : !pto.tile_buf<vec, 16x32xf32>)\nadds a b\n" + STORE,
    ),
    Pair(
        "stores of scalars are posted",
        {"RACE-RAW": [{1, 2}]},
        f"pto.store_scalar %one, %x[%c4] : !pto.ptr<f32>, f32\nload a x\nbarrier ALL\nadds a b\n{STORE}",
        f"pto.store_scalar %one, %x[%c4] : !pto.ptr<f32>, f32\nset S MTE2 0\nwait S MTE2 0\nload a x\nbarrier ALL\n"
        f"adds a b\n{STORE}",
    ),
    Pair(
        "scalars of a buffer belong to the vector pipe in a vector scope, to the scalar unit outside",
        {"RACE-RAW": [{4, 7}, {8, 11}], "RACE-WAW": [{4, 8}]},
        f"{SCALARS}\nset MTE2 V 0\nwait MTE2 V 0\n{BIAS}\nset V MTE3 0\nwait V MTE3 0\n{OUT}",
        f"{SCALARS}\nset MTE2 V 0\nwait MTE2 V 0\npto.vecscope {{\n{BIAS}\n}}\nset V MTE3 0\nwait V MTE3 0\n{OUT}",
        {},
        {"target": "a5"},
    ),
    Pair(
        "global memory on one core",
        {"RACE-RAW": [{4, 5}]},
        f"{COPY}\nload b y\nbarrier ALL",
        f"{COPY}\nset MTE3 MTE2 0\nwait MTE3 MTE2 0\nload b y\nbarrier ALL",
    ),
    Pair(
        "the same pipe, profile",
        {"RACE-INTRAPIPE": [{4, 5}]},
        "load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nadds b c\nbarrier ALL\nstore c y",
        "load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nbarrier V\nadds b c\nbarrier ALL\nstore c y",
        {},
        {"order": "profile"},
    ),
    Pair(
        "stores to one place, profile",
        {"RACE-INTRAPIPE": [{3, 4}]},
        "fill b\nbarrier ALL\nstore b y\nstore b y",
        "fill b\nbarrier ALL\nstore b y\nbarrier MTE3\nstore b y",
        {},
        {"order": "profile"},
    ),
    Pair(
        "a flag round trip instead of a barrier, profile",
        {"RACE-INTRAPIPE": [{1, 4}]},
        "load a x\nset MTE2 V 0\nwait MTE2 V 0\nload a x\nbarrier ALL\nstore a y",
        "load a x\nset MTE2 V 0\nwait MTE2 V 0\nset V MTE2 0\nwait V MTE2 0\nload a x\nbarrier ALL\nstore a y",
        {},
        {"order": "profile"},
    ),
    Pair(
        "blocks store one place",
        {"RACE-XCORE-WAW": [{4}]},
        COPY,
        COPY.replace("store", "add-store"),
        {},
        {"blocks": 2},
    ),
    Pair(
        "an atomic store against a plain one",
        {"RACE-XCORE-WAW": [{5, 7}]},
        "load a x\nset MTE2 MTE3 0\nwait MTE2 MTE3 0\nfirst\nstore a y\nelse\nadd-store a y\nend",
        "load a x\nset MTE2 MTE3 0\nwait MTE2 MTE3 0\nfirst\nadd-store a y\nelse\nadd-store a y\nend",
        {},
        {"blocks": 2},
    ),
    Pair(
        "a later block reads what the first writes",
        {"RACE-XCORE-RAW": [{4, 6}]},
        "fill a\nbarrier ALL\nfirst\nstore a y\nelse\nload b y\nend",
        "fill a\nbarrier ALL\nfirst\nstore a y\nelse\nload b x\nend",
        {},
        {"blocks": 2},
    ),
    Pair(
        "a later block writes what the first reads",
        {"RACE-XCORE-WAR": [{4, 6}]},
        "fill a\nbarrier ALL\nfirst\nload b y\nelse\nstore a y\nend",
        "fill a\nbarrier ALL\nfirst\nload b x\nelse\nstore a y\nend",
        {},
        {"blocks": 2},
    ),
    Pair(
        "nothing was written",
        {"UNINIT-READ": [{1}]},
        f"adds a b\n{STORE}",
        f"fill a\nadds a b\n{STORE}",
    ),
    Pair(
        "output that was not written",
        {"UNINIT-READ": [{1}]},
        f"load a y\nbarrier ALL\nadds a b\n{STORE}",
        f"fill a\nbarrier ALL\nstore a y\nbarrier ALL\nload a y\nbarrier ALL\nadds a b\n{STORE}",
        {},
        {"args": "output"},
    ),
    Pair(
        "padding only",
        {"PAD-READ": [{4}]},
        PAD_LOAD.format("c"),
        PAD_LOAD.format("d"),
        {"tiles": PADDED},
    ),
    Pair(
        "a value is lost",
        {"UB-OVERLAP": [{3}]},
        "fill a\nfill b\nadds a c\nbarrier ALL\nstore c y\nbarrier ALL\nstore b y",
        "fill a\nadds a c\nfill b\nbarrier ALL\nstore c y\nbarrier ALL\nstore b y",
        {"tiles": {"a": 0, "b": 1024, "c": 8192}},
    ),
    Pair(
        "half of a source overwritten",
        {"RACE-SELF": [{2}]},
        "fill a\nadds a b",
        "fill a\nadds a a",
        {"tiles": {"a": 0, "b": 1024}},
    ),
    Pair(
        "read as another type",
        {"STALE-READ": [{2}]},
        "fill a\npto.tadds ins(%h, %half : !pto.tile_buf<vec, 16x64xf16>, f16) "
        "outs(%g : !pto.tile_buf<vec, 16x64xf16>)",
        "fill a\npto.tadds ins(%a, %one : !pto.tile_buf<vec, 16x32xf32>, f32) outs(%b : !pto.tile_buf<vec, 16x32xf32>)",
        {
            "tiles": {
                "a": 0,
                "b": 4096,
                "half": "arith.constant 1.0 : f16",
                "ha": "arith.constant 0 : i64",
                "h": "pto.alloc_tile addr = %ha : !pto.tile_buf<vec, 16x64xf16>",
                "ga": "arith.constant 8192 : i64",
                "g": "pto.alloc_tile addr = %ga : !pto.tile_buf<vec, 16x64xf16>",
            }
        },
    ),
    Pair(
        "a matrix read as its transpose; a column read as a row",
        {"STALE-READ": [{5}]},
        f"{BY_COLUMN}\nbarrier ALL\npto.tadds ins(%matrix, %one : {MATRIX}, f32) outs(%matrix : {MATRIX})",
        f"pto.texpands ins(%one : f32) outs(%column : {COLUMN})\n"
        f"pto.tadds ins(%row, %one : {ROW}, f32) outs(%row : {ROW})",
        {"tiles": {"here": "arith.constant 0 : i64", **RESHAPED}},
    ),
    Pair(
        "a tile without an address",
        {"UNBOUND-TILE": [{1}]},
        "fill d",
        "fill a",
        {"tiles": {"a": 0, "d": -1}},
        {},
        {"tiles": {"a": 0}},
    ),
    Pair(
        "a flag stays set",
        {"FLAG-UNMATCHED": [{2}]},
        "fill a\nset V MTE3 0",
        "fill a\nset V MTE3 0\nwait V MTE3 0",
    ),
    Pair(
        "one flag twice",
        {"FLAG-REUSE": [{1, 2}]},
        "set V MTE3 0\nset V MTE3 0\nwait V MTE3 0\nwait V MTE3 0",
        "set V MTE3 0\nset V MTE3 1\nwait V MTE3 0\nwait V MTE3 1",
    ),
    Pair(
        "one id for two pairs of pipes is two flags",
        {"FLAG-REUSE": [{2, 3}]},
        "set V MTE2 0\nset V MTE3 0\nset V MTE3 0\nwait V MTE3 0\nwait V MTE3 0\nwait V MTE2 0",
        "set V MTE2 0\nset V MTE3 0\nwait V MTE3 0\nwait V MTE2 0",
    ),
    Pair(
        "the scalar unit waits too early",
        {"FLAG-ORDER": [{1, 2}]},
        "wait V S 0\nset V S 0",
        "set V S 0\nwait V S 0",
    ),
    Pair(
        "nobody sets",
        {"DEADLOCK": [{1}]},
        "wait MTE2 V 0",
        "wait MTE2 V 0\nset MTE2 V 0",
    ),
    Pair(
        "each waits for the other",
        {"DEADLOCK": [{1, 2, 3, 4}]},
        "wait MTE3 V 0\nset V MTE3 0\nwait V MTE3 0\nset MTE3 V 0",
        "set V MTE3 0\nwait MTE3 V 0\nwait V MTE3 0\nset MTE3 V 0",
    ),
    Pair(
        "a barrier after what never runs",
        {"DEADLOCK": [{1, 2}]},
        "wait MTE2 V 0\nbarrier ALL\nset MTE2 V 0",
        "wait MTE2 V 0\nset MTE2 V 0\nbarrier ALL",
    ),
    Pair(
        "a token twice",
        {"BUF-PROTOCOL": [{1, 2}]},
        "get TVEC 0\nget TVEC 0\nfill a\nrls TVEC 0",
        "get TVEC 0\nfill a\nrls TVEC 0\nget TVEC 0\nrls TVEC 0",
    ),
    Pair(
        "a token that is not held",
        {"BUF-PROTOCOL": [{1}]},
        "rls TVEC 0\nget TVEC 0\nrls TVEC 0",
        "get TVEC 0\nrls TVEC 0",
    ),
    Pair(
        "a token that does not exist",
        {"BUF-PROTOCOL": [{1}, {2}]},
        "get TVEC 32\nrls TVEC 32",
        "get TVEC 31\nrls TVEC 31",
    ),
    Pair(
        "a token held by another pipe",
        {"DEADLOCK": [{3}]},
        "get TLOAD 0\nload a x\nget TVEC 0\nadds a b\nrls TVEC 0",
        "get TLOAD 0\nload a x\nrls TLOAD 0\nget TVEC 0\nadds a b\nrls TVEC 0",
    ),
    Pair(
        "a token passes in the order of the program, not to the pipe that asks first",
        {"DEADLOCK": [{1, 5, 9}]},
        "wait MTE3 V 0\nget TVEC 0\nfill b\nrls TVEC 0\nget TLOAD 0\nload a x\nrls TLOAD 0\nset MTE2 MTE3 0\n"
        "wait MTE2 MTE3 0\nset MTE3 V 0",
        "get TVEC 0\nfill b\nrls TVEC 0\nget TLOAD 0\nload a x\nrls TLOAD 0\nset MTE2 MTE3 0\n"
        "wait MTE2 MTE3 0\nset MTE3 V 0\nwait MTE3 V 0",
    ),
    Pair(
        "tokens of different numbers order nothing",
        {"RACE-RAW": [{2, 5}]},
        "get TLOAD 0\nload a x\nrls TLOAD 0\nget TVEC 1\nadds a b\nrls TVEC 1",
        "get TLOAD 0\nload a x\nrls TLOAD 0\nget TVEC 0\nadds a b\nrls TVEC 0",
    ),
    Pair(
        "an id that a loop drives too far",
        {"FLAG-RANGE": [{3}, {4}]},
        "for 2\n%e = arith.addi %i1, %c8 : index\npto.set_flag_dyn[<PIPE_V>, <PIPE_S>, %e]\n"
        "pto.wait_flag_dyn[<PIPE_V>, <PIPE_S>, %e]\nend",
        "for 2\n%e = arith.addi %i1, %c4 : index\npto.set_flag_dyn[<PIPE_V>, <PIPE_S>, %e]\n"
        "pto.wait_flag_dyn[<PIPE_V>, <PIPE_S>, %e]\nend",
    ),
    Pair(
        "cores in order, pipes by the compiler",
        {"RACE-XCORE-RAW": [{3, 7}]},
        f"first\nload a x\nstore a y\nend\n{MEET[0]}\nother\nload b y\nend\n{MEET[1]}",
        f"first\nload a x\nstore a y\nend\n{MEET[0]}\n{MEET[1]}\nother\nload b y\nend",
        {"tiles": {"a": -1, "b": -1}},
        {"blocks": 2},
    ),
    Pair(
        "cores that do not all signal",
        {"DEADLOCK": [{4}]},
        "first\npto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}\nend\npto.sync.wait <PIPE_MTE2>, 0",
        "pto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}\npto.sync.wait <PIPE_MTE2>, 0",
        {},
        {"blocks": 2},
    ),
    Pair(
        "a signal that nobody awaits",
        {"XFLAG-UNMATCHED": [{1}]},
        "pto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}",
        "pto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}\npto.sync.wait <PIPE_MTE2>, 0",
        {},
        {"blocks": 2},
    ),
    Pair(
        "sixteen signals",
        {"XFLAG-OVERFLOW": [{2}]},
        "for 16\npto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}\nend\nfor 16\npto.sync.wait <PIPE_MTE2>, 0\nend",
        "for 16\npto.sync.set <PIPE_MTE3>, 0 {ffts_mode = 0 : i32}\npto.sync.wait <PIPE_MTE2>, 0\nend",
    ),
    Pair(
        "reserved bytes of UB",
        {"UB-RESERVED": [set()]},
        "fill a",
        "fill b",
        {"tiles": {"a": 0x2E000}},
        {},
        {"tiles": {"b": 0x2E000 - 2048}},
    ),
    Pair(
        "a slice past the tensor",
        {"GM-OOB": [{2}]},
        f"{SLICE.format('%c4')}\npto.tload ins(%s : {ROWS}) outs(%a : !pto.tile_buf<vec, 16x32xf32>)",
        f"{SLICE.format('%c0')}\npto.tload ins(%s : {ROWS}) outs(%a : !pto.tile_buf<vec, 16x32xf32>)",
    ),
    Pair(
        "a slice past a dimension of the tensor, not past the array",
        {"GM-SLICE": [{2}]},
        NARROW.format("%c16"),
        NARROW.format("%c0"),
        {"tiles": {"na": "arith.constant 0 : i64", "n": "pto.alloc_tile addr = %na : !pto.tile_buf<vec, 8x32xf32>"}},
    ),
    Pair(
        "a tensor larger than its memory",
        {"GM-OOB": [{3}]},
        LARGE.format("%c64"),
        LARGE.format("%c16"),
        {
            "tiles": {
                "na": "arith.constant 0 : i64",
                "n": "pto.alloc_tile addr = %na : !pto.tile_buf<vec, 16x16xf32>",
            }
        },
    ),
    Pair(
        "a view that no memory holds",
        {"GM-OOB": [{3}]},
        HUGE.format("%million", "%c16"),
        HUGE.format("%c16", "%c16"),
        {"tiles": {"million": "arith.constant 1000000 : index"}},
    ),
]


def program(pair: Pair, *, good: bool) -> Mini:
    """One half of a pair."""
    setup = pair.setup if pair.good_setup is None or not good else pair.good_setup
    return Mini(pair.good if good else pair.bad, **setup)


def launch(pair: Pair) -> dict[str, Any]:
    """Options of the launch; tensors are made anew each time."""
    options = dict(pair.launch)
    if options.get("args") == "output":
        options["args"] = {"y": output()}
    return options


@each("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_fault_is_found_at_its_lines(pair: Pair) -> None:
    found = program(pair, good=False).found(**launch(pair))
    assert set(found) == set(pair.rules)
    for rule, places in pair.rules.items():
        for lines in places:
            assert any(lines <= named for named in found[rule]), found


@each("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_right_program_is_clean(pair: Pair) -> None:
    assert program(pair, good=True).found(**launch(pair)) == {}


def test_a5_runs_vectors_in_order_by_itself() -> None:
    body = "load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nadds b c\nbarrier ALL\nstore c y"
    assert Mini(body).found("a5", order="profile") == {}


def test_every_rule_of_the_sanitizer_has_a_pair() -> None:
    from ptokit.diagnostics import CATALOGUE
    from ptokit.sanitize import rules

    del rules
    from .test_cross_core import PAIRS as between
    from .test_ranks import PAIRS as ranks

    tested = {rule for pair in [*PAIRS, *between, *ranks] for rule in pair.rules}
    elsewhere = {"EVENT-ORDER", "EVENT-PIPE", "EVENT-XCORE", "RACE-WAW", "GM-NULL", "ASYNC-RACE"}
    elsewhere |= {"FLAG-REUSE-RACE", "FLAG-ALIAS", "AUTO-RULE", "SCATTER-ALIAS"}  # test_switches
    source = "memory-model-and-sync"
    here = {r.id for r in CATALOGUE.values() if r.scope == "sync" and r.check is None and source in r.source}
    placement = {i for i in here if i.endswith("-CAPACITY")} | {"SPACE-ABSENT", "ADDR-ALIGN"}
    static = {"TSYNC-EMPTY", "TSYNC-A5-01"}
    assert here - tested - elsewhere - placement - static == set()


def test_a_function_that_returns_a_value_is_run() -> None:
    helper = "func.func @f(%n: i32) -> i32 {\nreturn %n : i32\n}"
    module = parse_module(f"module {{\nfunc.func @k() attributes {{pto.entry}} {{\nreturn\n}}\n{helper}\n}}").module
    assert sanitize(module, "a5", [3], entry="f").ran
