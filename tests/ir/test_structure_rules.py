"""Rules about views, allocation, functions and placement: each with a text that passes and one that fails."""

from typing import Any

import pytest

import ptokit
from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Diagnostic, Diagnostics
from ptokit.ir.functions import check_runnable
from ptokit.ir.verify import verify
from ptokit.targets import target

T = "!pto.tile_buf<vec, 16x16xf32>"
DYN = "!pto.tile_buf<vec, 16x16xf32, valid=?x?>"
NZ = "!pto.tile_buf<mat, 64x64xf16, blayout=col_major, slayout=row_major>"
TV = "!pto.tensor_view<32x16xf32>"
VIEW = f"%v = pto.make_tensor_view %p, shape = [%c32, %c16], strides = [%c16, %c1] : {TV}\n"


def check(
    body: str, *, arch: str = "a5", head: str = "func.func @k", more: str = "", **options: Any
) -> list[Diagnostic]:
    """Diagnostics for a kernel with this body; the body starts on line 10."""
    text = f"""module {{
  {head}(%p: !pto.ptr<f32>, %h: !pto.ptr<f16>, %n: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %a0 = arith.constant 0 : i64
    %m1 = arith.constant -1 : index
{body}
    return
  }}
{more}
}}
"""
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors, parsed.diagnostics.errors
    return verify(parsed.module, target(arch), **options).sorted()


def slice_of(offsets: str, sizes: str, result: str = "16x16xf32", source: str = TV) -> str:
    return (
        f"%s = pto.partition_view %v, offsets = [{offsets}], sizes = [{sizes}] : "
        f"{source} -> !pto.partition_tensor_view<{result}>"
    )


PAIRS = {
    "AL-1": (f"%t = pto.alloc_tile valid_row = %n : {T}", f"%t = pto.alloc_tile : {T}"),
    "AL-2": (
        f"%t = pto.alloc_tile valid_col = %n : {DYN}",
        f"%t = pto.alloc_tile valid_row = %n valid_col = %n : {DYN}",
    ),
    "AL-3": (f"%t = pto.alloc_tile valid_col = %n : {T}", f"%t = pto.alloc_tile : {T}"),
    "AL-4": (
        f"%t = pto.alloc_tile valid_row = %n : {DYN}",
        f"%t = pto.alloc_tile valid_row = %n valid_col = %n : {DYN}",
    ),
    "AL-5": (
        f"%t = pto.alloc_tile : {T}\n%u = pto.alloc_tile addr = %a0 : {T}",
        f"%t = pto.alloc_tile addr = %a0 : {T}\n%u = pto.alloc_tile addr = %a0 : {T}",
    ),
    "MV-1": (
        "%v = pto.make_tensor_view %p, shape = [%c16], strides = [%c1] : !pto.partition_tensor_view<16xf32>",
        "%v = pto.make_tensor_view %p, shape = [%c16], strides = [%c1] : !pto.tensor_view<16xf32>",
    ),
    "MV-2": (
        f"%v = pto.make_tensor_view %p, shape = [%n, %c16], strides = [%c16, %c1] : {TV}",
        f"%v = pto.make_tensor_view %p, shape = [%n, %c16], strides = [%c16, %c1] : {TV}",
    ),
    "MV-3": (
        f"%v = pto.make_tensor_view %p, shape = [%n], strides = [%c1] : {TV}",
        f"%v = pto.make_tensor_view %p, shape = [%n, %c16], strides = [%c16, %c1] : {TV}",
    ),
    "PV-1": (
        VIEW + slice_of("%c0, %c0", "%c16, %c16").replace("!pto.partition_tensor_view<16x16", "!pto.tensor_view<16x16"),
        VIEW + slice_of("%c0, %c0", "%c16, %c16"),
    ),
    "PV-2": (VIEW + slice_of("%c0, %c0", "%c16, %c16", "16x16xf16"), VIEW + slice_of("%c0, %c0", "%c16, %c16")),
    "PV-3": (VIEW + slice_of("%c0", "%c16, %c16"), VIEW + slice_of("%c0, %c0", "%c16, %c16")),
    "PV-4": (VIEW + slice_of("%m1, %c0", "%c16, %c16"), VIEW + slice_of("%n, %c0", "%c16, %c16")),
    "PV-5": (VIEW + slice_of("%c0, %c0", "%c0, %c16", "?x16xf32"), VIEW + slice_of("%c0, %c0", "%n, %c16", "?x16xf32")),
    "PV-6": (VIEW + slice_of("%c0, %c0", "%c8, %c16"), VIEW + slice_of("%c0, %c0", "%c16, %c16")),
    "PV-7": (VIEW + slice_of("%c0, %c0", "%c16, %c32", "16x32xf32"), VIEW + slice_of("%c0, %c0", "%c16, %c16")),
    "PV-8": (VIEW + slice_of("%c32, %c0", "%c16, %c16"), VIEW + slice_of("%c16, %c0", "%c16, %c16")),
    "AP-1": (
        "%q = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f16>",
        "%q = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>",
    ),
    "TA-1": (
        f"%t = pto.alloc_tile addr = %a0 : {T}\n%u = pto.tassign %t, %a0 : {T} -> !pto.tile_buf<vec, 8x16xf32>",
        f"%t = pto.alloc_tile addr = %a0 : {T}\n%u = pto.tassign %t, %a0 : {T} -> {T}",
    ),
    "VS-1": (
        f"%t = pto.alloc_tile : {T}\npto.set_validshape %t, %c8, %c8 : {T}",
        f"%t = pto.alloc_tile valid_row = %n valid_col = %n : {DYN}\npto.set_validshape %t, %c8, %c8 : {DYN}",
    ),
    "VS-3": (
        f"%t = pto.alloc_tile valid_row = %n valid_col = %n : {DYN}\npto.set_validshape %t, %c32, %c8 : {DYN}",
        f"%t = pto.alloc_tile valid_row = %n valid_col = %n : {DYN}\npto.set_validshape %t, %c16, %c8 : {DYN}",
    ),
    "RS-1": (
        f"%t = pto.alloc_tile : {T}\n%u = pto.treshape %t : {T} -> !pto.tile_buf<vec, 8x16xf32>",
        f"%t = pto.alloc_tile : {T}\n%u = pto.treshape %t : {T} -> !pto.tile_buf<vec, 8x32xf32>",
    ),
    "BC-1": (
        f"%t = pto.alloc_tile : {T}\n%u = pto.bitcast %t : {T} -> !pto.tile_buf<vec, 16x16xf32>",
        f"%t = pto.alloc_tile : {T}\n%u = pto.bitcast %t : {T} -> !pto.tile_buf<vec, 16x16xi32>",
    ),
    "SS-1": (
        f"%t = pto.alloc_tile : {NZ}\n%u = pto.subset %t[%c8, %c0] sizes [64, 16] : {NZ}",
        f"%t = pto.alloc_tile : {NZ}\n%u = pto.subset %t[%c0, %c16] sizes [64, 16] : {NZ}",
    ),
    "LS-1": (
        "%x = pto.load_scalar %p[%c0] : !pto.ptr<f32> -> i32",
        "%x = pto.load_scalar %p[%c0] : !pto.ptr<f32> -> f32",
    ),
    "UB-CAPACITY": (
        "%t = pto.alloc_tile : !pto.tile_buf<vec, 1024x128xf32>",
        "%t = pto.alloc_tile : !pto.tile_buf<vec, 512x128xf32>",
    ),
    "ADDR-ALIGN": (
        f"%x = arith.constant 17 : i64\n%t = pto.alloc_tile addr = %x : {T}",
        f"%x = arith.constant 64 : i64\n%t = pto.alloc_tile addr = %x : {T}",
    ),
}
PAIRS["UB-USER"] = (
    "%x = arith.constant 253952 : i64\n%t = pto.alloc_tile addr = %x : !pto.tile_buf<vec, 16x128xf32>",
    "%x = arith.constant 245760 : i64\n%t = pto.alloc_tile addr = %x : !pto.tile_buf<vec, 16x128xf32>",
)
PAIRS["MV-2"] = (PAIRS["MV-2"][0].replace("%p,", "%h,"), PAIRS["MV-2"][1])


@pytest.mark.parametrize("rule", PAIRS)
def test_rule_finds_the_bad_text_and_passes_the_good_one(rule: str) -> None:
    bad, good = PAIRS[rule]
    found = [d for d in check(bad) if d.rule == rule]
    assert found, [str(d) for d in check(bad)]
    assert found[0].location.file == "k.pto"
    assert 10 <= found[0].location.line < 10 + len(bad.splitlines())
    assert check(good) == []
    assert CATALOGUE[rule].refused


@pytest.mark.parametrize(("sizes", "strides"), [("%n", ""), ("", ""), ("%n, %c16", "%c1"), ("%n", "%c16, %c1, %c1")])
def test_a_view_with_too_few_or_too_many_sizes_or_strides_is_one_error(sizes: str, strides: str) -> None:
    for rank in (1, 5):
        view = f"!pto.tensor_view<{'?x' * rank}f32>"
        body = f"%v = pto.make_tensor_view %p, shape = [{sizes}], strides = [{strides}] : {view}\n"
        result = f"!pto.partition_tensor_view<{'?x' * rank}f32>"
        offsets, extents = ", ".join(["%c0"] * rank), ", ".join(["%n"] * rank)
        body += f"%s = pto.partition_view %v, offsets = [{offsets}], sizes = [{extents}] : {view} -> {result}"
        assert [d.rule for d in check(body)] == ["MV-3"]


def test_marked_declarations_and_hints() -> None:
    head = 'func.func @k(%n: index) attributes {pto.auto_sync_tail_hint = "HINT"} { return }'
    declared = "\nfunc.func private @d() attributes {pto.entry}"
    for hint, more, expected in (
        ("barrier-all", "", []),
        ("mte3-to-s-event0", "\nfunc.func private @d()", []),
        ("late", "", [("FN-4", 1)]),
        ("default", declared, [("FN-1", 2)]),
    ):
        parsed = parse_module(head.replace("HINT", hint) + more, "k.pto", target=target("a5"))
        assert not parsed.diagnostics.errors
        assert [(d.rule, d.location.line) for d in verify(parsed.module, target("a5"))] == expected


def test_kernels_return_nothing() -> None:
    text = (
        "module {\n  func.func @k() -> index attributes {pto.entry} {\n"
        "    %c = arith.constant 1 : index\n    return %c : index\n  }\n}\n"
    )
    parsed = parse_module(text, "k.pto", target=target("a5"))
    (found,) = verify(parsed.module, target("a5"))
    assert (found.rule, found.location.line) == ("FN-2", 2)


def test_recursion_is_refused_and_calls_are_matched() -> None:
    text = """module {
  func.func @a(%n: index) attributes {pto.entry} {
    func.call @b(%n) : (index) -> ()
    return
  }
  func.func @b(%n: index) {
    func.call @a(%n) : (index) -> ()
    return
  }
}
"""
    parsed = parse_module(text, "k.pto", target=target("a5"))
    found = verify(parsed.module, target("a5"))
    assert [(d.rule, d.location.line, d.notes[0].location.line) for d in found] == [("FN-3", 2, 7)]
    assert "@a -> @b -> @a" in next(iter(found)).message


def test_a_call_of_a_declaration() -> None:
    found = check(
        "func.call @there(%n) : (index) -> ()",
        head="func.func @k",
        more="  func.func private @there(index)",
    )
    assert [(d.rule, d.location.line) for d in found] == [("FN-CALL", 10)]


def test_set_validshape_of_a_loop_value() -> None:
    body = (
        f"%t = pto.alloc_tile valid_row = %n valid_col = %n : {DYN}\n"
        f"%r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %t) -> ({DYN}) {{\n"
        f"pto.set_validshape %x, %c8, %c8 : {DYN}\nscf.yield %x : {DYN}\n}}"
    )
    assert [d.rule for d in check(body)] == ["VS-2"]


def test_what_is_not_given_to_user_code_is_a_warning_on_a5_only() -> None:
    (found,) = check(PAIRS["UB-USER"][0])
    assert (found.severity, "user code has 253952" in found.message) == ("warning", True)
    assert [d.rule for d in check(PAIRS["UB-USER"][0], arch="a2a3")] == ["UB-CAPACITY"]


def test_tiles_alive_together_must_fit() -> None:
    """Three tiles of 96 KB fit a5's 256 KB one after the other, not all at once."""
    big = "!pto.tile_buf<vec, 192x128xf32>"

    def body(*order: str) -> str:
        lines = [f"%t{i} = pto.alloc_tile : {big}" for i in range(3)]
        uses = {name: f"pto.texpands ins(%f : f32) outs(%t{name} : {big})" if name.isdigit() else "" for name in "012"}
        return "\n".join(["%f = arith.constant 0.0 : f32", *lines, *(uses[n] for n in order)])

    assert check(body("0", "1", "2")) == []
    (found,) = check(body("0", "1", "2", "0", "1", "2"))
    assert found.rule == "UB-CAPACITY"
    assert str(3 * 96 * 1024) in found.message
    assert len(found.notes) == 3


def test_an_address_past_the_end_and_misaligned_gives_both_findings() -> None:
    body = "%x = arith.constant 262129 : i64\n%t = pto.alloc_tile addr = %x : " + T
    assert [d.rule for d in check(body)] == ["UB-CAPACITY", "ADDR-ALIGN"]


def test_scale_tiles_need_a_target_that_has_them() -> None:
    from ptokit.isa.checks.tile_types import broken_placement
    from ptokit.types.dtypes import e8m0
    from ptokit.types.enums import SLayout, TileType
    from ptokit.types.tile import tile

    spec = tile(TileType.ScaleLeft, e8m0, 16, 2, slayout=SLayout.RowMajor, fractal=32)
    assert [rule for rule, _ in broken_placement(spec, 0, target("a2a3"))] == ["SPACE-ABSENT"]
    assert list(broken_placement(spec, 0, target("a5"))) == []


def test_scales_do_not_lie_among_quantisation_words() -> None:
    """4 KB of scales per side fit a5, 4 KB of words and 512 bytes more do not."""
    left = "!pto.tile_buf<left, 16x64xf8E5M2, slayout=row_major>"
    right = "!pto.tile_buf<right, 64x32xf8E5M2, slayout=col_major>"
    acc = "!pto.tile_buf<acc, 16x32xf32, blayout=col_major, slayout=row_major, fractal=1024>"
    x = "!pto.tile_buf<scaling, 16x2x!pto.f8E8M0, slayout=row_major, fractal=32>"
    y = "!pto.tile_buf<scaling, 2x32x!pto.f8E8M0, blayout=col_major, slayout=col_major, fractal=32>"
    tiles = {"l": left, "sx": x, "r": right, "sy": y, "d": acc}
    made = "".join(f"%{name} = pto.alloc_tile : {t}\n" for name, t in tiles.items())
    types = f"{left}, {x}, {right}, {y}"
    product = f"pto.tmatmul.mx ins(%l, %sx, %r, %sy : {types}) outs(%d : {acc})"
    assert check(made + product) == []
    words = made.replace(x, "!pto.tile_buf<scaling, 1x64xui64>").replace(y, "!pto.tile_buf<scaling, 1x512xui64>")
    kinds = "!pto.tile_buf<scaling, 1x64xui64>, !pto.tile_buf<scaling, 1x512xui64>"
    found = check(f"{words}pto.tsync ins(%sx, %sy : {kinds})\npto.tsync ins(%sx, %sy : {kinds})")
    assert "FB-CAPACITY" in {d.rule for d in found}


def test_tile_types_are_checked_where_tiles_are_made() -> None:
    found = check("%t = pto.alloc_tile : !pto.tile_buf<vec, 16x3xf32>")
    assert [(d.rule, d.location.line) for d in found] == [("TILE-05", 10)]


def test_lowered_tiles_are_left_alone_and_cannot_be_run() -> None:
    """tadd of two element types: a rule for tiles, none where one of them is a memref."""
    memref = "memref<16x16xf32, #pto.address_space<vec>>"
    half = "!pto.tile_buf<vec, 16x16xf16>"
    body = (
        f"%m = memref.alloc() : {memref}\n%t = pto.alloc_tile : {T}\n%q = pto.alloc_tile : {half}\n"
        f"pto.tadd ins(%t, %q : {T}, {half}) outs(%t : {T})\n"
        f"pto.tadd ins(%m, %q : {memref}, {half}) outs(%t : {T})"
    )
    found = check(body)
    assert {d.location.line for d in found} == {13}
    assert "EW-04" in {d.rule for d in found}
    parsed = parse_module(f"func.func @k() {{\n{body}\nreturn }}", target=target("a5"))
    unable = Diagnostics()
    check_runnable(parsed.module, unable)
    assert [(d.rule, d.location.line) for d in unable] == [("TEXT-UNIMPLEMENTED", 6)]
    assert "src0 of type memref<16x16xf32" in next(iter(unable)).message


ALLOC = f"%t = pto.alloc_tile : {T}"
PLACED = f"%t = pto.alloc_tile addr = %a0 : {T}"
ASSIGNED = f"{PLACED}\n%u = pto.tassign %t, %a0 : {T} -> {T}"


@pytest.mark.parametrize(
    ("body", "options", "expected"),
    [
        (ALLOC, {"level": 1}, []),
        (ALLOC, {"level": 2}, []),
        (ALLOC, {"level": 3}, [("LV-1", 10)]),
        (PLACED, {"level": 1}, [("LV-1", 10)]),
        (PLACED, {"level": 2}, [("LV-1", 10)]),
        (PLACED, {"level": 3}, []),
        (PLACED, {}, []),
        (ASSIGNED, {}, []),
        (ASSIGNED, {"level": 3}, []),
        (ASSIGNED, {"level": 3, "auto_sync": True}, [("LV-2", 11)]),
        (ASSIGNED, {"auto_sync": True}, [("LV-2", 11)]),
        (ASSIGNED, {"level": 2}, [("LV-1", 10), ("LV-2", 11)]),
    ],
)
def test_levels(body: str, options: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    assert [(d.rule, d.location.line) for d in check(body, **options)] == expected


def test_operands_of_the_wrong_kind() -> None:
    view = VIEW + slice_of("%c0, %c0", "%c16, %c16")
    part = "!pto.partition_tensor_view<16x16xf32>"
    found = check(f"{view}\n%t = pto.alloc_tile : {T}\npto.tload ins(%t : {T}) outs(%s : {part})")
    assert [(d.rule, d.location.line) for d in found] == [("LD-1", 13), ("LD-1", 13)]
    assert "src of pto.tload is a view, %t has type !pto.tile_buf" in found[0].message
    found = check(f"%t = pto.alloc_tile : {T}\n%d = pto.get_tensor_view_dim %t, %c0 : {T} -> index")
    assert [(d.rule, d.location.line) for d in found] == [("OPERAND-KIND", 11)]


@pytest.mark.parametrize(("module", "function", "expected"), [("cube", "", True), ("cube", "vector", False)])
def test_the_kind_of_the_module_is_that_of_its_functions(module: str, function: str, expected: bool) -> None:
    own = f" attributes {{pto.kernel_kind = #pto.kernel_kind<{function}>}}" if function else ""
    text = (
        f"module attributes {{pto.kernel_kind = #pto.kernel_kind<{module}>}} {{\n"
        f"func.func @k(%a: {T}){own} {{\npto.tadd ins(%a, %a : {T}, {T}) outs(%a : {T})\nreturn }} }}"
    )
    parsed = parse_module(text, "k.pto", target=target("a5"))
    found = [(d.rule, d.location.line) for d in verify(parsed.module, target("a5"))]
    assert found == ([("PIPE-CORE", 3)] if expected else [])


OPEN = "!pto.tensor_view<?x?xf32>"
MADE = f"%v = pto.make_tensor_view %p, shape = [%c32, %n], strides = [%c16, %c1] : {OPEN}\n"


@pytest.mark.parametrize(
    ("offsets", "sizes", "rule"),
    [
        ("%c16, %c0", "%c16, %c16", None),
        ("%c32, %c0", "%c16, %c16", "PV-8"),
        ("%n, %c0", "%c16, %c16", None),
        ("%c0, %c32", "%c16, %c16", None),  # only the run knows this dimension
    ],
)
def test_constant_dimensions_of_a_view_whose_type_leaves_them_open(offsets: str, sizes: str, rule: str | None) -> None:
    found = check(MADE + slice_of(offsets, sizes, source=OPEN))
    assert [d.rule for d in found] == ([] if rule is None else [rule])


def test_ids_of_a_library_are_not_used_beside_its_calls() -> None:
    """6 and 7, where the function that sets the flag calls one without a body."""

    def found(number: int, called: str) -> list[str]:
        flags = [f"pto.{verb}_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID{number}>]" for verb in ("set", "wait")]
        report = ptokit.check(
            f"""
            func.func private @library()
            func.func private @own() {{ return }}
            func.func @f() attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>}} {{
              {flags[0]}
              func.call @{called}() : () -> ()
              {flags[1]}
              return
            }}
            """,
            target="a2a3",
        )
        return [f"{d.rule} {d.location.line}" for d in report.diagnostics if d.rule.startswith("FLAG")]

    assert found(6, "library") == ["FLAG-LIBRARY 5", "FLAG-LIBRARY 7"]
    assert found(7, "library") == ["FLAG-LIBRARY 5", "FLAG-LIBRARY 7"]
    assert found(5, "library") == found(7, "own") == []
