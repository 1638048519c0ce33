"""Rules about pipes, reserved buffers and asynchronous transfers: texts that break one, and texts that break none."""

from __future__ import annotations

from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Diagnostic
from ptokit.ir.verify import verify
from ptokit.targets import target
from tests.each import each

ACC = "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>"
VEC = "!pto.tile_buf<vec, 16x16xf32>"
OPEN = "!pto.tile_buf<vec, 16x16xf32, valid=?x?>"
HALF = "!pto.tile_buf<vec, 8x16xf32>"
CUBE, VECTOR = (f"attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}}" for kind in ("cube", "vector"))


def frontend(
    *,
    cube: str = CUBE,
    c_init: str = "dir_mask = 1, slot_size = 1024",
    push: str = "0",
    before: str = "",
    v_init: str = "dir_mask = 1, slot_size = 1024",
    pop: str = "",
    pop_type: str = VEC,
    split: str = "0",
    free: str = "pto.tfree_from_aic {split = 0}",
    after: str = "",
    reserve: str = 'name = "q", size = 8192, location = #pto.address_space<vec>, auto = true',
    imported: str = 'name = "q", peer_func = @v',
    more: str = "",
) -> str:
    """A cube function that pushes a tile to a vector function, through a buffer of the latter."""
    return f"""func.func @c() {cube} {{
  %b = pto.import_reserved_buffer {{{imported}}} -> i32
  %t = pto.alloc_tile : {ACC}
  {before}
  pto.aic_initialize_pipe {{{c_init}}} (c2v_consumer_buf = %b : i32, v2c_consumer_buf = %b : i32)
  pto.tpush_to_aiv(%t : {ACC}) {{split = {push}}}
  return
}}
func.func @v(%n: index) {VECTOR} {{
  %b = pto.reserve_buffer {{{reserve}}} -> i32
  {more}
  pto.aiv_initialize_pipe {{{v_init}}} (c2v_consumer_buf = %b : i32, v2c_consumer_buf = %b : i32)
  %x = pto.tpop_from_aic{pop} {{split = {split}}} -> {pop_type}
  %y = pto.alloc_tile : {VEC}
  {free}
  {after}
  return
}}
"""


def pipes(
    init: str = "initialize_l2l_pipe {dir_mask = 1, slot_size = 1024, slot_num = 8, flag_base = 0}",
    operands: str = "%b : i32",
    head: str = VECTOR,
    use: str = "pto.tpush(%t, %p : !pto.tile_buf<vec, 16x16xf32>, !pto.pipe) {split = 0}",
) -> str:
    """A function with a pipe of its own."""
    return f"""func.func @f(%b: i32, %g: memref<4096xf32>, %q: !pto.pipe) {head} {{
  %t = pto.alloc_tile : {VEC}
  %p = pto.{init} ({operands}) -> !pto.pipe
  {use}
  return
}}
"""


def to_cube(pushed: str) -> str:
    """A vector function that pushes such a tile to a cube function, which pops it as Nz."""
    popped = "!pto.tile_buf<mat, 16x16xf32, blayout=col_major, slayout=row_major>"
    init = "initialize_pipe {dir_mask = 2, slot_size = 1024} (c2v_consumer_buf = %b : i32, v2c_consumer_buf = %b : i32)"
    return f"""func.func @v() {VECTOR} {{
  %b = pto.import_reserved_buffer {{name = "q", peer_func = @c}} -> i32
  %t = pto.alloc_tile : {pushed}
  pto.aiv_{init}
  pto.tpush_to_aic(%t : {pushed}) {{split = 0}}
  return
}}

func.func @c() {CUBE} {{
  %b = pto.reserve_buffer {{name = "q", size = 8192, location = #pto.address_space<mat>, auto = true}} -> i32


  pto.aic_{init}
  %x = pto.tpop_from_aiv {{split = 0}} -> {popped}
  pto.tfree_from_aiv {{split = 0}}
  return
}}
"""


def ends(
    first: str = "flag_base = 0", second: str = "flag_base = 0", mask: int = 1, owner: str = "@v", third: bool = False
) -> str:
    """Two functions with an end each of a pipe over the buffer of @v."""
    init = f"pto.initialize_l2l_pipe {{dir_mask = {mask}, slot_size = 64, slot_num = 8"
    again = f"  %o = {init}}} (%b : i32) -> !pto.pipe\n" if third else ""
    return f"""func.func @c() {CUBE} {{
  %b = pto.import_reserved_buffer {{name = "q", peer_func = {owner}}} -> i32
  %p = {init}, {first}}} (%b : i32) -> !pto.pipe
{again}  return
}}
func.func @v() {VECTOR} {{
  %b = pto.reserve_buffer {{name = "q", size = 512, location = <vec>, auto = true}} -> i32
  %p = {init}, {second}}} (%b : i32) -> !pto.pipe
  return
}}
"""


def one_end() -> str:
    """As `ends`, but @v leaves its own out."""
    lines = ends().splitlines()
    return "\n".join(lines[:7] + lines[8:])


def transfer(
    dst: str = "memref<128xf32>", src: str = "memref<128xf32>", scratch: str = "", work: str = "", attrs: str = ""
) -> str:
    """An asynchronous transfer."""
    tile = scratch or "!pto.tile_buf<vec, 1x256xi8>"
    work = work or "memref<1024xi8>"
    return f"""func.func @f(%d: {dst}, %s: {src}, %w: {work}) {{
  %t = pto.alloc_tile : {tile}
  %n = pto.build_async_session(%t, %w : {tile}, {work}) {attrs} -> !pto.async_session
  %e = pto.tput_async(%d, %s, %n : {dst}, {src}, !pto.async_session) -> !pto.async_event
  %b = pto.wait_async_event(%e, %n : !pto.async_event, !pto.async_session) -> i1
  return
}}
"""


def placed(reserve: str, alloc: str) -> str:
    return f"""func.func @f() {{
  %z = arith.constant 0 : i64
  %b = pto.reserve_buffer {{name = "q", size = 512, location = <vec>, {reserve}}} -> i32
  %t = pto.alloc_tile {alloc}: {VEC}
  return
}}
"""


def moved(use: str) -> str:
    return f"""func.func @f(%p: !pto.ptr<f32>, %n: index) attributes {{pto.entry}} {{
  %q = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>
  {use}
  return
}}
func.func @g(%p: !pto.ptr<f32>) {{
  return
}}
"""


TWO_POPS = f"""%x = pto.declare_tile -> {VEC}
  %y = pto.declare_tile -> {VEC}
  pto.tpop(%x, %p : {VEC}, !pto.pipe) {{split = 1}}
  pto.tpop(%y, %p : {VEC}, !pto.pipe) {{split = 1}}
  pto.tneg ins(%x : {VEC}) outs(%t : {VEC})
  pto.tfree(%p : !pto.pipe) {{split = 2}}
  pto.tneg ins(%y : {VEC}) outs(%t : {VEC})
  pto.tfree(%p : !pto.pipe) {{split = 2}}"""

L2L = "initialize_l2l_pipe {dir_mask = %s, slot_size = %s, slot_num = %s, flag_base = %s}"


def second(mask: int, flags: int) -> str:
    """A second pipe, beside one with flags 2 and 3."""
    return pipes(L2L % (1, 64, 8, 2), use=f"%o = pto.{L2L % (mask, 64, 8, flags)} (%b : i32) -> !pto.pipe")


CLEAN = {
    "flags before": second(1, 0),
    "flags after": second(2, 4),
    "frontend": frontend(),
    "nosplit": frontend(v_init="dir_mask = 1, slot_size = 1024, nosplit = true"),
    "open": frontend(pop="(%n, %n)", pop_type=OPEN),
    "pipe": pipes(),
    "section": pipes(head="", use=f"pto.section.vector {{ pto.tpush(%t, %p : {VEC}, !pto.pipe) {{split = 2}} }}"),
    "both ways": pipes(
        "initialize_l2g2l_pipe {dir_mask = 3, slot_size = 64, slot_num = 4, local_slot_num = 4, flag_base = 2}",
        "%g : memref<4096xf32>, %b : i32, %b : i32",
    ),
    "two slots": pipes(use=TWO_POPS),
    "two ends": ends(),
    "transfer": transfer(),
    "leading ones": transfer("memref<1x1x128xf32>", "memref<1x1x128xf32>"),
    "strides of the run": transfer("memref<4x32xf32, strided<[?, 1]>>", "memref<4x32xf32, strided<[?, 1]>>"),
    "all placed": placed("auto = false, base = 64", "addr = %z "),
    "none placed": placed("auto = true", ""),
    "views": moved(
        "%v = pto.make_tensor_view %q, shape = [%n], strides = [%n] : !pto.tensor_view<?xf32>\n"
        "  %r = pto.addptr %q, %n : !pto.ptr<f32> -> !pto.ptr<f32>\n"
        "  %x = pto.load_scalar %r[%n] : !pto.ptr<f32> -> f32"
    ),
}


def findings(text: str, arch: str) -> list[Diagnostic]:
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors, parsed.diagnostics.errors
    return verify(parsed.module, target(arch)).sorted()


@each("name", CLEAN)
def test_clean_texts(name: str) -> None:
    assert findings(CLEAN[name], "a5") == []


L2G2L = "initialize_l2g2l_pipe {dir_mask = 1, slot_size = 64, slot_num = 8, local_slot_num = %s, flag_base = 0}"
GLOBAL = "%g : memref<4096xf32>, %b : i32"

BROKEN: list[tuple[str, str, int]] = [
    ("PIPE-LAYOUT", frontend(pop_type="!pto.tile_buf<vec, 16x16xf32, blayout=col_major>"), 13),
    ("PIPE-LAYOUT", to_cube(VEC), 14),
    ("PI-1", frontend(cube=VECTOR, c_init="dir_mask = 1, slot_size = 1024"), 5),
    ("PI-1", frontend(cube=VECTOR), 6),
    ("PI-1", frontend(cube=""), 6),
    ("PI-1", frontend(free="pto.tfree_from_aiv {split = 0}"), 15),
    ("PI-2", frontend(c_init="dir_mask = 0, slot_size = 1024"), 5),
    ("PI-2", frontend(v_init="dir_mask = 1, slot_size = 0"), 12),
    ("PI-2", pipes(L2L % (4, 64, 8, 0)), 3),
    ("PI-2", pipes(L2L % (1, -1, 8, 0)), 3),
    (
        "PI-2",
        frontend(
            before="pto.aic_initialize_pipe {dir_mask = 1, slot_size = 64} "
            "(c2v_consumer_buf = %b : i32, v2c_consumer_buf = %b : i32)"
        ),
        5,
    ),
    ("PI-3", frontend(push="3"), 6),
    ("PI-3", frontend(free="pto.tfree_from_aic {split = -1}"), 15),
    ("PI-3", pipes(use=f"pto.tpush(%t, %p : {VEC}, !pto.pipe) {{split = 7}}"), 4),
    ("PI-4", frontend(pop="(%n, %n)"), 13),
    ("PI-4", frontend(pop="(%n, %n)", pop_type="!pto.tile_buf<vec, 16x16xf32, valid=?x16>"), 13),
    ("PI-5", pipes(L2L % (1, 64, 0, 0)), 3),
    ("PI-5", pipes(L2L % (1, 64, 8, -1)), 3),
    ("PI-5", pipes(L2L % (3, 64, 8, 0)), 3),
    ("PI-5", pipes(L2L % (2, 64, 8, 0), "%b : i32, %b : i32"), 3),
    ("PI-5", pipes(L2G2L % 0, GLOBAL), 3),
    ("PI-5", pipes(L2G2L % 9, GLOBAL), 3),
    ("PI-6", pipes(head=""), 4),
    ("PI-6", pipes(use=f"pto.tpush(%t, %q : {VEC}, !pto.pipe) {{split = 0}}"), 4),
    ("PI-6", pipes(use="pto.tfree(%q : !pto.pipe) {split = 0}"), 4),
    ("PI-6", frontend(before=f"pto.tpush_to_aiv(%t : {ACC}) {{split = 0}}"), 4),
    ("PI-6", frontend(c_init="dir_mask = 2, slot_size = 64"), 6),
    ("PI-7", frontend(free=""), 13),
    ("PI-7", frontend(after=f"pto.tneg ins(%x : {VEC}) outs(%y : {VEC})"), 16),
    ("PI-7", pipes(use=TWO_POPS.replace("ins(%y", "ins(%x")), 10),
    ("PI-8", frontend(split="1", free="pto.tfree_from_aic {split = 1}"), 12),
    ("PI-8", frontend(free="pto.tfree_from_aic {split = 2}"), 12),
    ("PI-8", frontend(v_init="dir_mask = 1, slot_size = 1024, nosplit = false"), 12),
    (
        "PI-8",
        frontend(
            c_init="dir_mask = 1, slot_size = 1024, nosplit = true",
            v_init="dir_mask = 1, slot_size = 1024, nosplit = false",
        ),
        12,
    ),
    ("PI-8", pipes("initialize_l2l_pipe {dir_mask = 1, slot_size = 64, slot_num = 8}"), 3),
    ("PI-8", ends(second="flag_base = 1"), 8),
    ("PI-8", ends(third=True), 3),
    ("PI-8", one_end(), 3),
    ("PIPE-FLAGS", second(1, 2), 4),
    ("PIPE-FLAGS", second(1, 3), 4),
    ("PIPE-FLAGS", second(2, 1), 4),
    ("RB-1", frontend(reserve='name = "q", size = 0, location = <vec>, auto = true'), 10),
    ("RB-1", frontend(reserve='name = "q", size = 64, location = <acc>, auto = true'), 10),
    ("RB-1", frontend(reserve='name = "q", size = 64, location = <vec>, auto = true, base = -32'), 10),
    ("RB-1", placed("auto = false", "addr = %z "), 3),
    (
        "RB-1",
        frontend(more='%o = pto.reserve_buffer {name = "q", size = 9, location = <vec>, auto = true} -> i32'),
        11,
    ),
    ("RB-2", frontend(imported='name = "q", peer_func = @w'), 2),
    ("RB-2", frontend(imported='name = "r", peer_func = @v'), 2),
    ("RB-2", frontend(before='%o = pto.import_reserved_buffer {name = "q", peer_func = @v} -> i32'), 4),
    ("AS-1", transfer("memref<4x32xf32>", "memref<4x32xf32>"), 4),
    ("AS-1", transfer("memref<64xf32>"), 4),
    ("AS-1", transfer("memref<128xf16>"), 4),
    ("AS-1", transfer("memref<?xf32>", "memref<?xf32>"), 4),
    ("AS-1", transfer(src="memref<128xf32, strided<[2]>>"), 4),
    ("AS-1", transfer("memref<128xf32, #pto.address_space<vec>>"), 4),
    ("AS-1", transfer(scratch="!pto.tile_buf<mat, 1x256xi8>"), 3),
    ("AS-1", transfer(work="memref<1024xf32>"), 3),
    ("AS-1", transfer(attrs="{sync_id = 8 : i32}"), 3),
    ("AS-1", transfer(attrs="{queue_num = 0 : i32}"), 3),
    ("PM-1", placed("auto = false, base = 0", ""), 3),
    ("AP-2", moved("func.call @g(%q) : (!pto.ptr<f32>) -> ()"), 3),
]


@each("rule, text, line", BROKEN, ids=[f"{b[0]}-{i}" for i, b in enumerate(BROKEN)])
def test_broken_texts(rule: str, text: str, line: int) -> None:
    found = findings(text, "a5")
    assert (rule, line) in {(d.rule, d.location.line) for d in found}, [str(d) for d in found]
    assert all(
        d.location.column and d.message and d.severity is CATALOGUE[rule].severity for d in found if d.rule == rule
    )


@each(
    "rule, text",
    [
        ("PI-1", frontend(cube=VECTOR)),
        ("PI-1", frontend(cube="")),
        ("PI-2", frontend(c_init="dir_mask = 1, slot_size = 0")),
        ("PI-3", frontend(push="5")),
        ("PI-5", pipes("initialize_l2l_pipe {dir_mask = 1, slot_size = 64, slot_num = 0}")),
    ],
)
def test_what_follows_from_a_finding_is_not_reported_too(rule: str, text: str) -> None:
    assert {d.rule for d in findings(text, "a5")} == {rule}


def test_pointers_are_taken_where_memrefs_are() -> None:
    init = "initialize_l2g2l_pipe {dir_mask = 1, slot_size = 1024, slot_num = 8, flag_base = 0}"
    text = pipes(init, "%h : !pto.ptr<f32>, %b : i32").replace("%q: !pto.pipe", "%q: !pto.pipe, %h: !pto.ptr<f32>")
    assert [str(d) for d in findings(text, "a5")] == []
    assert [str(d) for d in findings(transfer(work="!pto.ptr<i8>"), "a5")] == []
    assert {d.rule for d in findings(transfer(work="!pto.ptr<f32>"), "a5")} == {"AS-1"}


def test_sizes_of_a_popped_tile_come_in_pairs() -> None:
    text = frontend().replace(
        "pto.tpop_from_aic {split = 0} -> ",
        '"pto.tpop_from_aic"(%n) <{operandSegmentSizes = array<i32: 1, 0>, split = 0 : i8}> : (index) -> ',
    )
    assert [(d.rule, d.location.line) for d in findings(text, "a5") if d.rule != "PI-7"] == [("PI-4", 13)]


def test_every_rule_has_a_text() -> None:
    prefixes = ("PI-", "PIPE-FLAGS", "PIPE-LAYOUT", "RB-", "AS-", "PM-", "AP-2")
    elsewhere = {"PI-9", "RB-3"}  # test_fixpipe_rules, test_assembler_contexts
    assert {i for i in CATALOGUE if i.startswith(prefixes)} - elsewhere == {rule for rule, _, _ in BROKEN}


def test_the_other_end_is_shown() -> None:
    (found,) = findings(frontend(split="1", free="pto.tfree_from_aic {split = 1}"), "a5")
    assert "split = 1 or 2, at the other end split = 0" in found.message
    assert [(n.location.line, n.message) for n in found.notes] == [(5, "the pipe's use is split = 0 here")]


def test_the_layout_of_entries_is_that_of_the_pushed_tile() -> None:
    (found,) = findings(to_cube(VEC), "a5")
    assert found.message == "%x is Nz, and the entries of the pipe are ND: elements change places"
    assert found.hint == "push a tile in Nz: TMOV brings %t into one"
    assert [note.location.line for note in found.notes] == [14, 5]
    assert findings(to_cube("!pto.tile_buf<vec, 16x16xf32, blayout=col_major, slayout=row_major>"), "a5") == []


def test_a2a3_has_no_direct_pipe() -> None:
    found = findings(frontend(), "a2a3")
    assert [(d.rule, d.location.line) for d in found] == [("PI-8", 5), ("PI-8", 12)]
    assert all("gm_slot_buffer" in d.message for d in found)


def test_the_kind_of_the_module_counts() -> None:
    text = f"module attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{\n{pipes(head='')}\n}}"
    assert findings(text, "a5") == []
