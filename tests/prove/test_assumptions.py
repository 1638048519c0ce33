"""What kernels assume of their launches: stated in Python, text or the project, held to by launches, used by proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit
import ptokit as pto
from ptokit.api.prove import prove
from ptokit.prove.report import Claim, Verdict
from tests.cli.conftest import Run
from tests.cli.conftest import ptokit as command  # noqa: F401
from tests.each import each

from .kernels import BACK, HANDED, add, kernel, load, store

pytest.importorskip("z3")


@pto.kernel(target="a2a3")
def copied(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int):
    pto.assume("n % 16 == 0", "blocks <= 4")
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
    for top in range(pto.get_block_idx() * 16, n, pto.get_block_num() * 16):
        pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[top : top + 16])
        pto.TSTORE(pto.GlobalTensor(y, (n, 32))[top : top + 16], tile)


multiples = pto.assume


def copy(x, y, n):
    multiples("n % 16 == 0", "blocks <= 4")
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
    pto.TLOAD(tile, pto.GlobalTensor(x, (n, 32))[:16])
    pto.TSTORE(pto.GlobalTensor(y, (n, 32))[:16], tile)


@pto.kernel(target="a2a3")
def copied_by_helper(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int):
    copy(x, y, n)


@pto.kernel(target="a5")
def looked_up(table: pto.Ptr[pto.f16], tokens: pto.Ptr[pto.i32], y: pto.Ptr[pto.f16], size: int, n: int):
    pto.assume("n % 16 == 0", "0 <= tokens < size")
    for first in range(0, n, 16):
        indices = pto.Tile(pto.TileType.Vec, pto.i32, 1, 16)
        rows = pto.Tile(pto.TileType.Vec, pto.f16, 16, 64)
        pto.TLOAD(indices, pto.GlobalTensor(tokens, (1, n))[:, first : first + 16])
        pto.MGATHER(rows, pto.GlobalTensor(table, (size, 64)), indices, mode=pto.Coalesce.Row)
        pto.TSTORE(pto.GlobalTensor(y, (n, 64))[first : first + 16], rows)


def refused(run: Any) -> str:
    with pytest.raises(ptokit.DiagnosticError) as raised:
        run()
    return "; ".join(f"{d.rule}: {d.message}" for d in raised.value.diagnostics)


def test_a_kernel_carries_assumptions_that_proofs_take_and_launches_keep() -> None:
    proof = copied.prove()
    assert proof.proved
    assert proof.assumptions[:2] == ("n % 16 == 0", "blocks <= 4")
    assert 'pto.assume = ["n % 16 == 0", "blocks <= 4"]' in copied.to_pto()
    x = np.ones((32, 32), np.float32)
    y = np.zeros_like(x)
    copied[4](x, y, 32)
    assert (x == y).all()
    odd = "RUN-ASSUME: the launch breaks what kernel @copied assumes: n % 16 == 0, and n is 31"
    assert refused(lambda: copied(x, y, 31)) == odd
    assert refused(lambda: copied.interpret(x, y, 31)) == odd
    assert refused(lambda: copied_by_helper.interpret(x, y, 31)) == odd.replace("@copied", "@copied_by_helper")
    assert refused(lambda: copied.sanitize(x, y, 31)) == odd
    copied.interpret(x, y, np.int64(32))
    assert refused(lambda: copied.sanitize(x, y, True)) == odd.replace("31", "1")
    assert "blocks <= 4, and blocks is 5" in refused(lambda: copied[5](x, y, 32))
    text = copied.to_pto()
    assert refused(lambda: ptokit.run(text, [x, y, 31])) == odd
    assert refused(lambda: ptokit.sanitize(text, [x, y, 31])) == odd
    assert ptokit.prove(text).proved
    assert not ptokit.prove(text.replace("n % 16 == 0", "n % 8 == 0")).proved


def test_what_the_kernel_computes_is_no_assumption() -> None:
    @pto.kernel(target="a2a3")
    def wrong(n: int):
        pto.assume(n % 16 == 0)  # type: ignore[arg-type]

    assert "LANG-KIND: pto.assume takes texts" in refused(lambda: wrong(3))


@each(
    "written, said",
    [
        ('["m > 3"]', "there is no number 'm' in 'm > 3'; there are blocks, rank, ranks, n"),
        ('["x is z"]', "there is no array 'z' in 'x is z'; there are x, y"),
        ('["n"]', "a number is no condition in 'n': compare it"),
        ('["n +"]', "'n +' is no comparison, as in n % 16 == 0"),
        ('["n % n == 0"]', "numbers are divided by positive constants, in 'n % n == 0'"),
        ('["' + "1+" * 200 + 'n > 3"]', "'" + "1+" * 39 + "1 is nested too deeply"),
        ('"n > 3"', 'n > 3: write a list of texts, as in ["n % 16 == 0"]'),
    ],
)
def test_assumptions_in_text_that_say_nothing(written: str, said: str) -> None:
    text = kernel(load("%t0", "%c0")).replace("attributes {", f"attributes {{pto.assume = {written}, ")
    found = [d for d in ptokit.check(text, target="a2a3").diagnostics if d.rule == "FN-6"]
    assert [(d.message, d.location.line) for d in found] == [(f"pto.assume of @k: {said}", 2)]


def test_arrays_that_are_one() -> None:
    """Blocks read rows 16 to 31 of x and write rows 0 to 15 of y: apart, unless two of them write or x is y."""
    mine = "%b = pto.get_block_idx\n%bi = arith.index_cast %b : i64 to index"
    rows = "%r = arith.muli %bi, %c16 : index\n%s = arith.addi %r, %c16 : index"
    text = kernel(mine, rows, load("%t0", "%s"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%r"), rows="%c4096")
    apart = prove(text, target="a2a3", blocks=3)
    assert apart.proved
    assert "arrays do not overlap" in apart.assumptions
    one = prove(text, target="a2a3", blocks=3, assume=["y is x"])
    assert one[Claim.BLOCKS].verdict is Verdict.REFUTED
    assert "arrays do not overlap but for x and y" in one.assumptions
    assert one[Claim.BLOCKS].counterexample.command.endswith(" -a 0, with x for y, too")
    held = text.replace("attributes {", 'attributes {pto.assume = ["x is y"], ')
    x = np.zeros((4096, 32), np.float32)
    assert "x is y" in refused(lambda: ptokit.run(held, [x, x.copy(), 3], target="a2a3"))
    ptokit.run(held, [x, x, 3], target="a2a3")


def test_arrays_of_two_types_that_are_one() -> None:
    text = kernel(load("%t0", "%n"), *HANDED, add("%t1", "%t0"), rows="%c16")
    halves = text.replace("%y: !pto.ptr<f32>", "%y: !pto.ptr<f16>").replace(
        "%yv = pto.make_tensor_view %y, shape = [%c16, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>", ""
    )
    found = prove(halves, target="a2a3", assume=["x is y", "x is x"])
    assert found[Claim.BOUNDS].verdict is Verdict.REFUTED
    assert "arrays do not overlap but for x and y" in found.assumptions


def test_elements_of_arrays_choose_rows_of_a_table() -> None:
    assert looked_up.prove().proved
    table, y = np.ones((20, 64), np.float16), np.zeros((16, 64), np.float16)
    tokens = np.arange(4, 20, dtype=np.int32)
    looked_up(table, tokens, y, 20, 16)
    assert (y == 1).all()
    said = "RUN-ASSUME: the launch breaks what kernel @looked_up assumes: 0 <= tokens < size, and size is 19"
    assert refused(lambda: looked_up(table, tokens, y, 19, 16)) == said
    assert refused(lambda: looked_up(table, tokens - 5, y, 20, 16)) == said.replace("19", "20")


LOADED = "pto.mgather ins("
ADDED = "%one_ = arith.constant 1 : i32\n pto.tadds ins(%indices, %one_ : {0}, i32) outs(%indices : {0})\n "


@each(
    "old, new, why",
    [
        ("< size", "<= size", "an element of tokens may choose what lies outside"),
        ("0 <= tokens < size", "tokens < size", "an element of tokens may choose"),
        (', "0 <= tokens < size"', "", "data decides which elements"),
        (LOADED, ADDED.format("!pto.tile_buf<vec, 1x16xi32>") + LOADED, "data decides which elements"),
        ("!pto.tile_buf<vec, 1x16xi32>", "!pto.tile_buf<vec, 1x32xi32, valid=1x16>", "data decides which elements"),
        (LOADED, "pto.store_scalar %seven, %tokens[%first] : !pto.ptr<i32>, i32\n" + LOADED, "tokens is written"),
    ],
)
def test_elements_that_say_too_little(old: str, new: str, why: str) -> None:
    """Also where the tile is changed, or is larger than what is loaded, or the array is written."""
    text = looked_up.to_pto().replace("%c1 = ", "%seven = arith.constant 7 : i32\n    %c1 = ", 1)
    assert old in text
    found = prove(text.replace(old, new))[Claim.BOUNDS]
    assert found.verdict is Verdict.OPEN
    assert found.because[0].startswith(why)


def test_elements_of_arrays_are_addresses() -> None:
    """A row that the scalar unit loads from an array."""
    chosen = "%v = pto.load_scalar %at[%n] : !pto.ptr<i32> -> i32\n%r = arith.index_cast %v : i32 to index"
    work = (load("%t0", "%r"), *HANDED, add("%t1", "%t0"), *BACK, store("%t1", "%c0"))
    text = kernel(chosen, *work, params="%n: index, %at: !pto.ptr<i32>", rows="%c4096")
    assert prove(text, target="a2a3")[Claim.BOUNDS].verdict is not Verdict.PROVED
    found = prove(text, target="a2a3", assume=["0 <= at <= 4080"])
    assert found.proved
    assert "at of n + 1 elements" in found.needs or "at of 1 + n elements" in found.needs
    for wrong in ("0 <= at <= 4081", "at <= 4080"):
        assert not prove(text, target="a2a3", assume=[wrong]).proved
    zero = "%zero = arith.constant 0 : i32\npto.store_scalar %zero, %at[%c1] : !pto.ptr<i32>, i32\n"
    written = prove(text.replace("%v =", f"{zero}%v ="), target="a2a3", assume=["0 <= at <= 4080"])
    assert written[Claim.BOUNDS].because[0].startswith("at is written")
    halves = text.replace("%at[%n] : !pto.ptr<i32> -> i32", "%as[%n] : !pto.ptr<i32> -> i32").replace(
        "%v =",
        "%b = pto.castptr %at : !pto.ptr<i32> -> !pto.ptr<i8>\n%c = pto.addptr %b, %c2 : !pto.ptr<i8> -> !pto.ptr<i8>\n"
        "%as = pto.castptr %c : !pto.ptr<i8> -> !pto.ptr<i32>\n%v =",
    )
    assert not prove(halves, target="a2a3", assume=["0 <= at <= 4080"]).proved


def test_elements_of_one_array_at_a_time() -> None:
    text = looked_up.to_pto().replace("%y: !pto.ptr<f16>", "%more: !pto.ptr<i32>, %y: !pto.ptr<f16>")
    with pytest.raises(ptokit.UsageError, match="'tokens < more' is about the elements of several arrays"):
        prove(text, assume=["tokens < more"])


def test_a_project_states_assumptions(tmp_path: Path, command: Run) -> None:  # noqa: F811
    file = tmp_path / "k.pto"
    file.write_text(kernel(load("%t0", "%n"), *HANDED, add("%t1", "%t0"), rows="%c4096"))
    settings = tmp_path / "pyproject.toml"
    launch = ["sanitize", str(file), "-t", "a2a3", "-a", "zeros:f32:4096x32", "-a", "zeros:f32:4096x32", "-a"]
    settings.write_text('[tool.ptokit.assume]\nk = ["n <= 4080"]\n')
    proved = command("prove", str(file), "-t", "a2a3")
    assert (proved.status, "assumed: n <= 4080;" in proved.out) == (0, True)
    assert command(*launch, "4080").status == 0
    broken = command(*launch, "4081")
    assert broken.status == 1
    assert "[RUN-ASSUME]" in broken.err
    settings.write_text("[tool.ptokit.assume]\nk = 4080\n")
    wrong = command("prove", str(file), "-t", "a2a3")
    assert wrong.status == 1
    assert "pyproject.toml" in wrong.err
    assert "[CLI-07]" in wrong.err
