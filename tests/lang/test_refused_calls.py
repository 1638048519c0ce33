"""What is refused around kernels and calls, by rule and by place: the line marked ``# here``, or the call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import DiagnosticError, GlobalTensor, Ptr, Tile, TileType, f16, f32
from ptokit.diagnostics import CATALOGUE

from .support import check, marked, refusal

X = np.zeros((64, 64), np.float32)


@pytest.mark.parametrize(
    "use",
    [
        lambda: Tile(TileType.Vec, f32, 8, 8),
        lambda: pto.get_block_idx(),
        lambda: pto.if_(True),
        lambda: pto.else_(),
        lambda: list(pto.range(3)),
        lambda: pto.TSYNC(),
        lambda: pto.set_flag(pto.PIPE_V, pto.PIPE_S),
        lambda: GlobalTensor(None, (8, 8)),
        lambda: pto.cast(3, f32),
    ],
)
def test_outside_of_a_kernel(use: Callable[[], Any]) -> None:
    finding = refusal(use)
    assert finding.rule == "LANG-CONTEXT"
    assert finding.location.line == use.__code__.co_firstlineno


@pytest.mark.parametrize(
    "decorate",
    [
        lambda: pto.kernel(print),
        lambda: pto.kernel(),
        lambda: pto.kernel(target="a9"),
        lambda: pto.kernel(target=5),
        lambda: pto.kernel(target="a5", matmul="quick"),
    ],
)
def test_targets(decorate: Callable[[], Any]) -> None:
    finding = refusal(decorate)
    assert finding.rule == "LANG-TARGET"
    assert finding.location.line == decorate.__code__.co_firstlineno


def test_parameters_without_types() -> None:
    @pto.kernel(target="a5")
    def f(x, n: int):
        pass

    finding = refusal(lambda: f.to_pto())
    assert finding.rule == "LANG-PARAM"
    assert "x" in finding.message
    f.trace(f32, 3)
    assert "!pto.ptr<f32>" in f.to_pto()


@pytest.mark.parametrize("annotation", [str, "no such name", list[int], 3])
def test_annotations_that_name_no_type(annotation: Any) -> None:
    def f(x):
        pass

    f.__annotations__["x"] = annotation
    finding = refusal(lambda: pto.kernel(target="a5")(f))
    assert finding.rule == "LANG-PARAM"
    assert finding.location.line == f.__code__.co_firstlineno


def test_pointer_annotations_name_an_element_type() -> None:
    assert refusal(lambda: Ptr[int]).rule == "LANG-PARAM"


def test_kernels_have_a_fixed_number_of_parameters() -> None:
    def f(*xs):
        pass

    assert refusal(lambda: pto.kernel(target="a5")(f)).rule == "LANG-PARAM"


@pto.kernel(target="cpu")
def fill(x: Ptr[f32], n: int):
    x[0] = pto.cast(n, f32)


@pto.kernel(target="cpu")
def untyped(x, n):
    x[0] = 1.0


class NoArray:
    """Exports no memory."""

    @property
    def __array_interface__(self) -> Any:
        raise RuntimeError("the data is on the device")


READ_ONLY = np.zeros(8, np.float32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("launch", "rule", "words"),
    [
        (lambda: fill([1.0, 2.0], 3), "LANG-ARG", "x is a list, not an array"),
        (lambda: fill(None, 3), "LANG-ARG", "x is a NoneType"),
        (lambda: fill(NoArray(), 3), "LANG-ARG", "the data is on the device"),
        (lambda: fill(X), "LANG-ARG", "kernel fill lacks n"),
        (lambda: fill(X, 1, m=3), "LANG-ARG", "has no parameter m"),
        (lambda: untyped(X, True), "LANG-ARG", "n is a boolean"),
        (lambda: untyped(X.astype(complex), 3), "LANG-ARG", "dtype complex128"),
        (lambda: untyped(X, "3"), "LANG-ARG", "n is a str"),
        (lambda: fill(X.astype(np.float64), 3), "RUN-ARG-DTYPE", "x must have element type f32"),
        (lambda: fill(X.T[:, :3], 3), "RUN-ARG-LAYOUT", "x is not contiguous"),
        (lambda: fill(READ_ONLY, 3), "RUN-ARG-READONLY", "x is written"),
        (lambda: fill(X, 2.5), "RUN-ARG-TYPE", "n must be an int, not"),
        (lambda: fill(X, 1 << 70), "RUN-ARG-RANGE", "does not fit"),
        (lambda: fill[0](X, 3), "LANG-BLOCKS", "0 blocks"),
        (lambda: fill["8"](X, 3), "LANG-BLOCKS", "'8' blocks"),
        (lambda: fill[True](X, 3), "LANG-BLOCKS", "True blocks"),
    ],
)
def test_launches(launch: Callable[[], None], rule: str, words: str) -> None:
    finding = refusal(launch)
    assert finding.rule == rule
    assert words in finding.message
    assert finding.location.line == launch.__code__.co_firstlineno


def test_kernels_do_not_launch_kernels() -> None:
    def f(x: Ptr[f32], y, n: int):
        fill(X, 3)  # here

    check(f, "LANG-CONTEXT", "kernel fill is launched inside")


def test_missing_operands() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TADD(t, t)  # here

    check(f, "LANG-CALL", "TADD(dst, src0, src1) lacks src1")


def test_surplus_operands() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TADD(t, t, t, t)  # here

    check(f, "LANG-CALL", "takes no further argument the tile")


def test_missing_flag_pipes() -> None:
    def f(x: Ptr[f32], y, n: int):
        pto.set_flag(pto.PIPE_MTE2)  # here

    check(f, "LANG-CALL", "set_flag(src_pipe, dst_pipe, event_id) lacks dst_pipe")


def test_an_operand_of_another_kind() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TLOAD(GlobalTensor(x, (8, 8)), t)  # here

    finding = check(f, "LANG-KIND", "dst of TLOAD(dst, src) is a tile, not <GlobalTensor 8x8")
    assert "destinations come first" in (finding.hint or "")


def test_a_pointer_is_no_view() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TLOAD(t, x)  # here

    finding = check(f, "LANG-KIND", "src of TLOAD(dst, src) is a view of global memory, not <pointer x")
    assert "pto.GlobalTensor(ptr, shape)" in (finding.hint or "")


def test_an_array_is_no_tile() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TADDS(t, X, 2.0)  # here

    check(f, "LANG-KIND", "src of TADDS")


def test_a_tensor_needs_a_pointer() -> None:
    def f(x: Ptr[f32], y, n: int):
        GlobalTensor(X, (8, 8))  # here

    check(f, "LANG-KIND", "GlobalTensor needs a pointer")


def test_tassign_binds_tiles() -> None:
    def f(x: Ptr[f32], y, n: int):
        pto.TASSIGN(GlobalTensor(x, (8, 8)), 0)  # here

    check(f, "LANG-KIND", "tile of TASSIGN(tile, addr) is a tile")


def test_unknown_attributes() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TADD(t, t, t, atomic="atomic_add")  # here

    check(f, "LANG-ATTR", "TADD has no operand or attribute 'atomic'")


def test_unknown_attribute_values() -> None:
    def f(x: Ptr[f32], y, n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TSTORE(GlobalTensor(x, (8, 8)), t, atomic="sum")  # here

    finding = check(f, "LANG-ATTR", "atomic of TSTORE cannot be 'sum'")
    assert "AtomicNone, AtomicAdd, AtomicMax, AtomicMin" in (finding.hint or "")


def test_tsync_waits_for_events() -> None:
    def f(x: Ptr[f32], y, n: int):
        pto.TSYNC(3)  # here

    check(f, "LANG-SYNC", "not 3")


def test_rules_are_checked_before_anything_runs() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32]):
        x[0] = 1.0
        t, u = Tile(TileType.Vec, f32, 8, 16), Tile(TileType.Vec, f16, 8, 16)
        pto.TADD(t, t, u)  # here

    x = np.zeros(64, np.float32)
    with pytest.raises(DiagnosticError) as caught:
        f(x)
    places = {(d.location.file, d.location.line) for d in caught.value.diagnostics}
    assert places == {(__file__, marked(f.function))}
    assert not x.any()
    assert {d.rule for d in f.check().errors} == {d.rule for d in caught.value.diagnostics}


def test_faults_of_a_run_point_into_the_python_source() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int):
        g = GlobalTensor(x, (64, 64))
        t = Tile(TileType.Vec, f32, 8, 64)
        for i in pto.range(n):
            pto.TLOAD(t, g.partition((i * 8, 0), (8, 64)))  # here

    f(X, 8)
    finding = refusal(lambda: f(X, 9))
    assert finding.location.line == marked(f.function)
    assert "i = 8" in finding.notes[0].message


def test_what_the_user_raises_stays_what_it_is() -> None:
    @pto.kernel(target="a5")
    def f(n: int):
        raise KeyError("mine")

    for launch in (f, f.interpret):
        with pytest.raises(KeyError, match="mine") as caught:
            launch(3)
        assert [entry.path.name for entry in caught.traceback][1:] == [Path(__file__).name]
    refused = refusal(lambda: Tile(TileType.Vec, f32, 8, 8))  # the trace that failed is over
    assert refused.rule == "LANG-CONTEXT"


def test_every_rule_is_explained() -> None:
    rules = [rule for id, rule in CATALOGUE.items() if id.startswith("LANG-")]
    assert len(rules) >= 16
    for rule in rules:
        assert rule.what
        assert rule.why
        assert rule.accepted
        assert rule.refused
