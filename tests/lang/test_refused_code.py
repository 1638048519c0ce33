"""What is refused inside of kernels, by rule and by place: the line marked ``# here``."""

from collections.abc import Callable
from typing import Any

import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f16, f32, i32

from .support import check, finding_of, kernel, marked, refusal


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda n, s: bool(n), "no truth value"),
        (lambda n, s: 1 if n > 3 else 2, "no truth value"),
        (lambda n, s: n and 3, "no truth value"),
        (lambda n, s: 0 < n < 9, "no truth value"),
        (lambda n, s: min(n, 3), "no truth value"),
        (lambda n, s: range(n), "cannot become a Python integer"),
        (lambda n, s: int(n), "cannot become a Python integer"),
        (lambda n, s: [1, 2][n], "a list is indexed by <int n>"),
        (lambda n, s: float(n), "cannot become a Python float"),
        (lambda n, s: n / 2, "/ needs floats"),
        (lambda n, s: s // 2, "// needs integers"),
        (lambda n, s: s % 2, "% needs integers"),
        (lambda n, s: n**2, "** of <int n> cannot be compiled"),
        (lambda n, s: n in {5, 6}, "no set or dictionary can be asked for it"),
        (lambda n, s: {5: 1}.get(n, 0), "no set or dictionary can be asked for it"),
        (lambda n, s: {n: 1}, "no set or dictionary can be asked for it"),
        (lambda n, s: n // 0, "// by zero"),
        (lambda n, s: n + s, "+ mixes index and f32"),
        (lambda n, s: n * 0.5, "* mixes index and the Python float 0.5"),
        (lambda n, s: n + "a", "+ needs numbers, not str"),
        (lambda n, s: n == None, "== needs numbers, not NoneType"),  # noqa: E711
        (lambda n, s: n + (1 << 70), "does not fit into index"),
        (lambda n, s: s * (1 << 5000), "does not fit into f32"),
        (lambda n, s: pto.select(n, 1, 2), "pto.select needs a condition, not index"),
        (lambda n, s: pto.cast("1", f32), "'1' is not a number of type f32"),
        (lambda n, s: pto.cast(pto.cast(s, f16), pto.bf16), "no conversion from f16 to bf16"),
    ],
)
def test_numbers(use: Callable[[Any, Any], Any], words: str) -> None:
    def f(n: int, s: float):
        use(n, s)

    finding = refusal(lambda: kernel(f).trace())
    assert finding.rule == "LANG-SCALAR"
    assert words in finding.message
    assert finding.location.line == use.__code__.co_firstlineno


def test_a_branch_needs_a_condition() -> None:
    def f(x: Ptr[f32], y, n: int):
        with pto.if_(n):  # here
            x[0] = 0.0

    finding = check(f, "LANG-SCALAR", "pto.if_ needs a condition, not <int n>")
    assert finding.location.column == 14


def test_a_number_that_does_not_fit_the_tile() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, i32, 8, 8)
        pto.TADDS(t, t, 2.5)  # here

    check(f, "LANG-SCALAR", "2.5 is not a number of type i32")


def test_a_narrow_scalar_is_converted_explicitly() -> None:
    def f(x: Ptr[f32], y, n: int):
        x[x[0]] = 1.0  # here

    check(f, "LANG-SCALAR", "is used where index is needed")


def test_values_of_a_loop_end_with_it() -> None:
    def f(x: Ptr[f32], y, n: int):
        for i in pto.range(n):
            r = i * 8
        x[r] = 0.0  # here

    finding = check(f, "LANG-SCOPE", "'r' is assigned in a loop, and may be another thing in each iteration")
    assert [note.location.line for note in finding.notes] == [marked(f) - 2]


def test_tiles_of_a_branch_end_with_it() -> None:
    def f(x: Ptr[f32], y, n: int):
        g = GlobalTensor(x, (8, 8))
        with pto.if_(n > 3):
            t = Tile(TileType.Vec, f32, 8, 8)
        pto.TLOAD(t, g)  # here

    check(f, "LANG-SCOPE", "'t' has a value on one way that leads here, and none on the other")


def test_values_of_another_kernel() -> None:
    kept: list[Any] = []

    @pto.kernel(target="a5")
    def first(x: Ptr[f32]):
        kept.append(x)

    first.trace()

    def f(x: Ptr[f32], y, n: int):
        x[0] = kept[0][0]  # here

    check(f, "LANG-SCOPE", "while another kernel was traced")


def test_an_address_bound_in_a_branch_is_unknown_behind_it() -> None:
    def f(x: Ptr[f32], y, n: int):
        g = GlobalTensor(x, (8, 8))
        t = Tile(TileType.Vec, f32, 8, 8, addr=0)
        pto.TLOAD(t, g)
        with pto.if_(n > 3):
            pto.TASSIGN(t, 256)
        pto.TLOAD(t, g)  # here

    finding = check(f, "LANG-SCOPE", "the address of tile t was changed in a branch")
    assert finding.notes[0].location.line == marked(f) - 1


def test_an_address_bound_behind_its_use_in_a_loop() -> None:
    def f(x: Ptr[f32], y, n: int):
        g = GlobalTensor(x, (8, 8))
        t = Tile(TileType.Vec, f32, 8, 8, addr=0)
        for i in pto.range(n):
            pto.TLOAD(t, g)
            pto.TASSIGN(t, i * 256)  # here

    finding = check(f, "LANG-SCOPE", "changes in a loop that used it before")
    assert finding.notes[0].location.line == marked(f) - 1


def test_a_valid_region_set_in_a_branch_is_unknown_behind_it() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
        with pto.if_(n > 3):
            t.set_valid(4, 4)
        with pto.else_():
            t.set_valid(5, 4)
        x[t.valid_row] = 0.0  # here

    check(f, "LANG-SCOPE", "the valid region of the tile was changed in a branch")


def test_break() -> None:
    def f(x: Ptr[f32], y, n: int):
        for i in pto.range(n):
            x[i] = 0.0
            break  # here

    finding = check(f, "LANG-CONTROL", "break leaves the loop written with pto.range")
    assert finding.location.column == 13
    assert [note.location.line for note in finding.notes] == [marked(f) - 2]


def test_return_from_a_loop() -> None:
    def f(x: Ptr[f32], y, n: int):
        for _ in range(2):
            for i in pto.range(n):
                x[i] = 0.0
                return  # here

    check(f, "LANG-CONTROL", "return leaves the loop written with pto.range")


def test_break_of_a_loop_in_a_loop() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int):
        for i in pto.range(n):
            for j in range(n):
                if j == i:
                    break
                x[i + j] = 0.0

    assert len([op for op in f.trace().functions[0].body.walk() if op.name == "scf.while"]) == 1


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        (lambda n: pto.range(0, n, 0), "step of pto.range is 0"),
        (lambda n: pto.range(n, 0, -1), "step of pto.range is -1"),
        (lambda n: pto.range(), "1 to 3 arguments, not 0"),
        (lambda n: pto.range(0.5), "needs integers, not 0.5"),
        (lambda n: pto.range("3"), "needs integers, not '3'"),
        (lambda n: pto.range(pto.cast(n, f32)), "needs integers"),
    ],
)
def test_loop_bounds(loop: Callable[[Any], Any], words: str) -> None:
    def f(n: int):
        loop(n)

    finding = refusal(lambda: kernel(f).trace())
    assert finding.rule == "LANG-CONTROL"
    assert words in finding.message
    assert finding.location.line == loop.__code__.co_firstlineno


def test_else_without_if() -> None:
    def f(x: Ptr[f32], y, n: int):
        with pto.else_():  # here
            x[0] = 0.0

    check(f, "LANG-CONTROL", "does not follow a pto.if_ directly")


def test_else_behind_another_operation() -> None:
    def f(x: Ptr[f32], y, n: int):
        with pto.if_(n > 3):
            x[0] = 0.0
        x[1] = 0.0
        with pto.else_():  # here
            x[2] = 0.0

    check(f, "LANG-CONTROL", "does not follow a pto.if_ directly")


def test_a_second_else() -> None:
    def f(x: Ptr[f32], y, n: int):
        with pto.if_(n > 3):
            x[0] = 0.0
        with pto.else_():
            x[1] = 0.0
        with pto.else_():  # here
            x[2] = 0.0

    check(f, "LANG-CONTROL", "does not follow a pto.if_ directly")


def test_a_variable_of_both_branches_that_only_they_use() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int):
        at = 0
        x[at] = 0.0
        with pto.if_(n > 3):
            at = 1
            x[at] = 0.0
        with pto.else_():
            at = 2
            x[at] = 0.0
        at = 3
        x[at] = 0.0

    stores = [op for op in f.trace().functions[0].body.walk() if op.name == "pto.store_scalar"]
    assert [op["index"].owner.attrs["value"] for op in stores] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda n: Tile(TileType.Vec, f32, n, 8), "rows of a tile must be a Python integer"),
        (lambda n: Tile(TileType.Vec, f32, 8, 0), "cols of a tile must be a positive integer, not 0"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8.0), "cols of a tile must be a positive integer, not 8.0"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8, valid_row=-2), "valid_row of a tile must be a positive"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8, valid_row=pto.cast(n, f32)), "valid_row of a tile must be"),
        (lambda n: Tile("ubuf", f32, 8, 8), "'ubuf' is not a TileType"),
        (lambda n: Tile(TileType.Vec, "f33", 8, 8), "'f33' is not an element type"),
        (lambda n: Tile(TileType.Vec, complex, 8, 8), "is not an element type"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8, fractal=100), "512, 1024 or 32 bytes, not 100"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8, pad=77), "77 is not a pad value"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8, pto.SLayout.RowMajor), "is not a BLayout"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8, addr="0"), "address of a tile is an integer"),
        (lambda n: Tile(TileType.Vec, f32, 8, 8).set_valid(4, 4), "is part of its type"),
        (
            lambda n: pto.TSUBVIEW(Tile(TileType.Vec, f16, 8, 16), Tile(TileType.Vec, f32, 16, 16), 0, 0),
            "differs from <Tile Vec 8x16 f16>",
        ),
    ],
)
def test_tiles(make: Callable[[Any], Any], words: str) -> None:
    def f(n: int):
        make(n)

    finding = refusal(lambda: kernel(f).trace())
    assert finding.rule == "LANG-TILE"
    assert words in finding.message
    assert make.__code__.co_firstlineno <= finding.location.line <= make.__code__.co_firstlineno + 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x, n: GlobalTensor(x, ()), "1 to 5 sizes with one stride each, not 0 and 0"),
        (lambda x, n: GlobalTensor(x, (1,) * 6), "not 6 and 6"),
        (lambda x, n: GlobalTensor(x, (8, 8), (1,)), "not 2 and 1"),
        (lambda x, n: GlobalTensor(x, (8, 0.5)), "needs integers, not 0.5"),
        (lambda x, n: GlobalTensor(x, (8, 8), layout="nd"), "'nd' is not a layout"),
        (lambda x, n: GlobalTensor(x, (8, 8))[::2], "step of 1"),
        (lambda x, n: GlobalTensor(x, (8, 8))[0, 0, 0], "3 slices for a tensor of 2 dimensions"),
        (lambda x, n: GlobalTensor(x, (8, 8)).partition((0,), (8, 8)), "1 offsets and 2 sizes do not fit"),
        (lambda x, n: GlobalTensor(x, (n, 8))[-1], "counts from the end of a size that only the run knows"),
        (lambda x, n: GlobalTensor(x, (8, 8))["a"], "an index of a tensor needs integers"),
        (lambda x, n: pto.TileShape2D(f32, 15, 8, pto.Layout.NZ), "NZ needs rows % 16 == 0"),
        (lambda x, n: pto.BaseShape2D(f32, 16, 8, pto.Layout.NHWC), "no form for layout NHWC"),
    ],
)
def test_views(make: Callable[[Any, Any], Any], words: str) -> None:
    def f(x: Ptr[f32], n: int):
        make(x, n)

    finding = refusal(lambda: kernel(f).trace())
    assert finding.rule == "LANG-VIEW"
    assert words in finding.message
    assert finding.location.line == make.__code__.co_firstlineno


def test_continue_in_a_branch() -> None:
    def f(x: Ptr[f32], y, n: int):
        for i in pto.range(n):
            with pto.if_(i == 2):
                continue  # here
            x[i] = 1.0

    finding = check(f, "LANG-CONTROL", "continue leaves the loop written with pto.range")
    assert finding.location.column == 17
    assert finding.notes[0].location.line == marked(f) - 2


def test_return_in_a_branch() -> None:
    def f(x: Ptr[f32], y, n: int):
        with pto.if_(n == 2):
            for k in range(3):
                x[k] = 1.0
                if k == 1:
                    return  # here
        x[0] = 1.0

    check(f, "LANG-CONTROL", "return leaves the branch")


def test_break_of_a_python_loop_in_a_branch() -> None:
    def f(x: Ptr[f32], y, n: int):
        for k in range(3):
            with pto.if_(n == k), pto.if_(n == k + 1):
                x[k] = 1.0
                break  # here

    check(f, "LANG-CONTROL", "break leaves the branch")


def test_return_in_the_other_branch_of_a_helper() -> None:
    def helper(x, n):
        with pto.if_(n == 2):
            x[0] = 1.0
        with pto.else_():
            return

    def f(x: Ptr[f32], y, n: int):
        helper(x, n)
        x[1] = 2.0

    finding = finding_of(lambda: kernel(f).trace(f32, f32, 8))
    assert (finding.rule, finding.location.line) == ("LANG-CONTROL", helper.__code__.co_firstlineno + 4)


def test_return_in_a_section() -> None:
    def f(x: Ptr[f32], y, n: int):
        with pto.cube_section():
            return  # here
        x[1] = 2.0

    check(f, "LANG-CONTROL", "return leaves the section")


def test_loops_and_functions_inside_of_a_branch_may_be_left() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int):
        def twice(k):
            return 2 * k

        with pto.if_(n == 2):
            for k in pto.static_range(5):
                if k == 1:
                    continue
                if k == 3:
                    break
                x[twice(k)] = 1.0
        x[9] = 1.0

    assert len([op for op in f.trace().functions[0].body.walk() if op.name == "pto.store_scalar"]) == 3


def test_a_branch_without_a_body() -> None:
    def f(x: Ptr[f32], y, n: int):
        pto.if_(n > 3)  # here
        x[0] = 1.0

    check(f, "LANG-CONTROL", "this branch has no body")


def test_a_branch_entered_by_hand() -> None:
    def f(x: Ptr[f32], y, n: int):
        branch = pto.if_(n > 3)  # here
        branch.__enter__()
        x[0] = 1.0
        branch.__exit__(None, None, None)

    check(f, "LANG-CONTROL", "this branch has no body")
