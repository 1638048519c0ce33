"""Kernels as operators of torch; without torch one error."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import ptokit as pto


@pto.kernel(target="a2a3")
def scaled(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int, factor: float, width: pto.Static = 64):
    for top in range(pto.get_block_idx() * 8, n, pto.get_block_num() * 8):
        t = pto.Tile(pto.TileType.Vec, pto.f32, 8, width)
        pto.TLOAD(t, pto.GlobalTensor(x, (n, width))[top : top + 8])
        pto.TMULS(t, t, factor)
        pto.TSTORE(pto.GlobalTensor(y, (n, width))[top : top + 8], t)


@pto.kernel(target="a2a3")
def halves(x: pto.Ptr[pto.f32], low: pto.Ptr[pto.f32], high: pto.Ptr[pto.f32]):
    for k, y in enumerate((low, high)):
        t = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64)
        pto.TLOAD(t, pto.GlobalTensor(x, (16, 64))[8 * k : 8 * k + 8])
        pto.TSTORE(pto.GlobalTensor(y, (8, 64)), t)


def test_without_torch_there_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"ptokit.torch.op needs torch: pip install ptokit\[torch\]"):
        pto.torch.op(scaled, outputs={"y": "x"}, numbers={"n": lambda x: x.shape[0]})


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


OF_SCALED = {"outputs": {"y": "x"}, "numbers": {"n": lambda x: x.shape[0]}}


def test_an_operator_runs_and_has_shapes(torch: Any) -> None:
    op = pto.torch.op(scaled[2], **OF_SCALED, name="ptokit_tests::scaled")
    x = torch.arange(40 * 64, dtype=torch.float32).view(40, 64)
    assert torch.equal(op(x, 3.0), x * 3)
    assert torch.equal(torch.ops.ptokit_tests.scaled(x, 0.5), x / 2)
    assert torch.equal(op(x.T.contiguous().T, 3.0), x * 3)
    assert op(x.to("meta"), 3.0).shape == (40, 64)
    assert (
        str(torch.ops.ptokit_tests.scaled.default._schema) == "ptokit_tests::scaled(Tensor x, float factor) -> Tensor"
    )


def test_several_outputs_and_functions_for_them(torch: Any) -> None:
    half = {"low": lambda x: x.new_empty(8, 64), "high": lambda x: x.new_empty(8, 64)}
    op = pto.torch.op(halves, outputs=half, name="ptokit_tests::halves")
    x = torch.arange(16 * 64, dtype=torch.float32).view(16, 64)
    low, high = op(x)
    assert torch.equal(torch.cat([low, high]), x)


def test_gradients_are_refused_unless_somebody_says_them(torch: Any) -> None:
    op = pto.torch.op(scaled, **OF_SCALED, name="ptokit_tests::no_gradient")
    x = torch.ones(8, 64, requires_grad=True)
    with pytest.raises(RuntimeError, match="kernel scaled has no derivative"):
        op(x, 3.0).sum().backward()

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    known = pto.torch.op(
        scaled,
        **OF_SCALED,
        name="ptokit_tests::gradient",
        setup_context=setup,
        backward=lambda ctx, grad: (grad * ctx.factor, None),
    )
    known(x, 3.0).sum().backward()
    assert torch.equal(x.grad, torch.full((8, 64), 3.0))


def test_what_a_launch_refuses_the_operator_refuses(torch: Any) -> None:
    op = pto.torch.op(scaled, **OF_SCALED, name="ptokit_tests::refusing")
    with pytest.raises(pto.DiagnosticError, match="RUN-ARG-DTYPE"):
        op(torch.ones(8, 64, dtype=torch.float64), 3.0)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"outputs": {"z": "x"}}, "scaled has no parameter z"),
        ({"outputs": {"y": "x"}, "numbers": {"m": 1}}, "scaled has no parameter m"),
        ({"outputs": {"y": "z"}}, "z is no argument of the operator; it has x, n, factor"),
        ({"outputs": {"y": lambda q: q}}, "q is no argument of the operator"),
        ({"outputs": {}}, "an operator has an output"),
    ],
)
def test_names_that_the_kernel_does_not_have(torch: Any, how: Any, why: str) -> None:
    with pytest.raises(pto.UsageError, match=why):
        pto.torch.op(scaled, **how)
