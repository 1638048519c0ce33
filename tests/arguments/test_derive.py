"""Arguments made from the text of a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptokit.arguments.derive import derive
from ptokit.arguments.grammar import parse_argument
from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import target

PARAMS = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index"
SIZES = {
    "constant sizes": ("%c16, %c64", "%c64, %c1", "random:f32:1024:seed=0"),
    "rows apart": ("%c16, %c64", "%c100, %c1", "random:f32:1564:seed=0"),
    "a size from a parameter": ("%n, %c64", "%c64, %c1", "random:f32:8192:seed=0"),
}


def program(body: str, params: str = PARAMS) -> str:
    constants = "\n".join(f"    %c{n} = arith.constant {n} : index" for n in (0, 1, 16, 64, 100, 200))
    return (
        f"module {{\n  func.func @k({params}) attributes {{pto.entry}} {{\n{constants}\n{body}\n    return\n  }}\n}}\n"
    )


def arguments(text: str, blocks: int = 1) -> list[str]:
    read = parse_module(text, "k.pto", target=target("a5"))
    assert not read.diagnostics.errors
    return derive(read.module, read.module.functions[0], blocks)


@pytest.mark.parametrize("name", SIZES)
def test_an_array_is_as_large_as_the_views_of_it(name: str) -> None:
    sizes, strides, wanted = SIZES[name]
    body = f"%v = pto.make_tensor_view %x, shape = [{sizes}], strides = [{strides}] : !pto.tensor_view<?x?xf32>"
    assert arguments(program(body))[0] == wanted


def test_a_view_behind_a_pointer_that_moves_with_a_loop() -> None:
    body = """
    scf.for %i = %c0 to %c100 step %c64 {
      %p = pto.addptr %x, %i : !pto.ptr<f32> -> !pto.ptr<f32>
      %v = pto.make_tensor_view %p, shape = [%c16, %c1], strides = [%c1, %c1] : !pto.tensor_view<?x?xf32>
    }"""
    assert arguments(program(body))[0] == f"random:f32:{64 + 16}:seed=0"


def test_a_size_grows_until_the_slices_fit() -> None:
    body = """
    %v = pto.make_tensor_view %x, shape = [%n, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
    %p = pto.partition_view %v, offsets = [%c100, %c0], sizes = [%c100, %c64]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<100x64xf32>"""
    assert arguments(program(body)) == ["random:f32:12800:seed=0", "random:f32:4096:seed=1", "200"]


def test_a_size_that_is_cast_grows_too() -> None:
    body = """
    %m = arith.index_cast %n : i32 to index
    %v = pto.make_tensor_view %x, shape = [%m], strides = [%c1] : !pto.tensor_view<?xf32>
    %p = pto.partition_view %v, offsets = [%c100], sizes = [%c200]
      : !pto.tensor_view<?xf32> -> !pto.partition_tensor_view<1x200xf32>"""
    found = arguments(program(body, "%x: !pto.ptr<f32>, %n: i32"))
    assert found == ["random:f32:300:seed=0", "300"]


def test_a_copy_by_pointer_reaches_into_its_array() -> None:
    """3 rows of 256 bytes, 1024 apart, from element 64 on; and 2 times that, 8192 bytes further, on the other side."""
    body = """
    %zero = arith.constant 0 : i64
    %rows = arith.constant 3 : i64
    %long = arith.constant 256 : i64
    %apart = arith.constant 1024 : i64
    %times = arith.constant 2 : i64
    %far = arith.constant 8192 : i64
    %ub = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
    %from = pto.addptr %x, %c64 : !pto.ptr<f32> -> !pto.ptr<f32>
    pto.mte_gm_ub %from, %ub, %zero, %long nburst(%rows, %apart, %long)
      : !pto.ptr<f32>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.mte_ub_gm %ub, %y, %long nburst(%rows, %long, %apart) loop(%times, %apart, %far)
      : !pto.ptr<f32, ub>, !pto.ptr<f32>, i64, i64, i64, i64, i64, i64, i64"""
    assert arguments(program(body))[:2] == [
        f"random:f32:{64 + (2 * 1024 + 256) // 4}:seed=0",
        f"zeros:f32:{(8192 + 2 * 1024 + 256) // 4}",
    ]


@pytest.mark.parametrize("from_the_end", [False, True])
def test_a_number_is_large_enough_for_what_it_is_divided_by(from_the_end: bool) -> None:
    """%n / 100 iterations: 4 doubled until there is one; from the last but one on, until there are two."""
    body = """
    %count = arith.divui %n, %c100 : index
    %last = arith.subi %count, %c1 : index
    %early = arith.subi %last, %c1 : index
    scf.for %i = %c0 to %count step %c1 {
      %p = pto.addptr %x, %place : !pto.ptr<f32> -> !pto.ptr<f32>
      %s = pto.load_scalar %p[%c0] : !pto.ptr<f32> -> f32
    }"""
    body = body.replace("%place", "%early" if from_the_end else "%i")
    assert arguments(program(body))[2] == ("256" if from_the_end else "128")


@pytest.mark.parametrize(
    ("branch", "wanted"),
    [
        ("scf.if %is { pto.store_scalar %f, %y[%c64] : !pto.ptr<f32>, f32 }", "16"),
        ("scf.if %is { pto.store_scalar %f, %y[%c64] : !pto.ptr<f32>, f32 } else { }", "16"),
        (
            "scf.if %is { pto.store_scalar %f, %y[%c1] : !pto.ptr<f32>, f32 } else { %z = arith.addi %m, %m : index }",
            "0",
        ),
    ],
)
def test_a_number_is_what_a_branch_asks_for(branch: str, wanted: str) -> None:
    """Where the kernel does nothing else."""
    body = f"""
    %m = arith.index_cast %n : i32 to index
    %size = arith.addi %c16, %c0 : index
    %is = arith.cmpi eq, %m, %size : index
    %f = pto.load_scalar %x[%c0] : !pto.ptr<f32> -> f32
    {branch}"""
    assert arguments(program(body, "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: i32"))[2] == wanted


def test_a_core_of_several_is_asked_for_rows_of_its_own() -> None:
    body = """
    %core = pto.get_subblock_idx
    %cores = pto.get_subblock_num
    %k = arith.index_cast %core : i64 to index
    %of = arith.index_cast %cores : i64 to index
    %rows = arith.divui %n, %of : index
    %first = arith.muli %k, %rows : index
    scf.for %i = %c0 to %rows step %c1 {
      %at = arith.addi %first, %i : index
      %s = pto.load_scalar %x[%at] : !pto.ptr<f32> -> f32
    }"""
    assert arguments(program(body)) == ["random:f32:4:seed=0", "random:f32:4096:seed=1", "4"]


def test_what_the_kernel_writes_and_tables_start_with_zeros() -> None:
    body = "%s = pto.load_scalar %t[%c16] : !pto.ptr<i32> -> i32\n    %f = arith.sitofp %s : i32 to f32\n"
    body += "    pto.store_scalar %f, %y[%c100] : !pto.ptr<f32>, f32"
    params = "%t: !pto.ptr<i32>, %y: !pto.ptr<f32>"
    assert arguments(program(body, params)) == ["zeros:i32:17", "zeros:f32:101"]


def test_cores_supply_what_is_called_so() -> None:
    params = "%idx_block_idx: i32, %spmd_block_num: i32, %p.subblock_idx: index, %block_idx2: i32, %s: f32"
    assert arguments(program("", params), 8) == ["block_idx", "block_num", "subblock_idx", "0", "1.0"]


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "examples" / "pto").glob("*.pto")), ids=lambda p: p.stem
)
def test_the_examples_run_on_their_derived_arguments(path: Path) -> None:
    if path.stem in ("faulty", "ring_all_reduce"):
        pytest.skip("refused, as it is meant to be, or for several devices (tests/test_rank_examples.py)")
    a5 = target("a5")
    read = parse_module(path.read_text(encoding="utf-8"), str(path), target=a5)
    kernel = compile_program(read.module, a5)
    values = [parse_argument(text, i).make() for i, text in enumerate(derive(read.module, kernel.entry))]
    kernel.launch(values)


@pytest.mark.parametrize("at_the_end", [False, True])
@pytest.mark.parametrize(("step", "wanted"), [(64, 3 * 64 + 16), (100, 2 * 100 + 16)])
def test_a_loop_of_blocks_reaches_as_far_as_its_last_iteration(at_the_end: bool, step: int, wanted: int) -> None:
    """From 0 to 256, with 16 elements at each; compared before the count is raised, or after it."""
    compared = "%count = arith.index_cast %i : i64 to index\n%more = arith.cmpi ult, %count, %end : index"
    if at_the_end:
        compared = compared.replace("%i :", "%next :")
    text = f"""
        func.func @k(%x: !pto.ptr<f32>) attributes {{pto.entry}} {{
          %c0 = arith.constant 0 : i64
          %step = arith.constant {step} : i64
          %c1 = arith.constant 1 : index
          %c16 = arith.constant 16 : index
          %end = arith.constant 256 : index
          cf.br ^go(%c0 : i64)
        ^go(%i: i64):
          {compared if not at_the_end else ""}
          {"cf.cond_br %more, ^body, ^done" if not at_the_end else "cf.br ^body"}
        ^body:
          %at = arith.index_cast %i : i64 to index
          %p = pto.addptr %x, %at : !pto.ptr<f32> -> !pto.ptr<f32>
          %v = pto.make_tensor_view %p, shape = [%c16, %c1], strides = [%c1, %c1] : !pto.tensor_view<?x?xf32>
          %next = arith.addi %i, %step : i64
          {compared if at_the_end else ""}
          {"cf.cond_br %more, ^go(%next : i64), ^done" if at_the_end else "cf.br ^go(%next : i64)"}
        ^done:
          return
        }}
    """
    assert arguments(text) == [f"random:f32:{wanted}:seed=0"]


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_loop_of_blocks_runs(at_the_end: bool) -> None:
    """A number that ends it is one, as that of a loop in the text; where nothing goes back it is not."""
    text = f"""
        func.func @k(%n: index, %m: index) attributes {{pto.entry}} {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %once = arith.cmpi slt, %c0, %m : index
          cf.cond_br %once, ^go(%c0 : index), ^done
        ^go(%i: index):
          {"%more = arith.cmpi slt, %i, %n : index" if not at_the_end else ""}
          {"cf.cond_br %more, ^body, ^done" if not at_the_end else "cf.br ^body"}
        ^body:
          %next = arith.addi %i, %c1 : index
          {"%more = arith.cmpi slt, %next, %n : index" if at_the_end else ""}
          {"cf.cond_br %more, ^go(%next : index), ^done" if at_the_end else "cf.br ^go(%next : index)"}
        ^done:
          return
        }}
    """
    assert arguments(text) == ["4", "0"]
