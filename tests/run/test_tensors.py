"""Tensors of torch and of other libraries as arguments of everything that launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptokit
import ptokit as pto
from ptokit.diagnostics import Severity
from ptokit.run.tensors import Unusable, shared, span

DOUBLE = """
func.func @double(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) attributes {pto.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %vx = pto.make_tensor_view %x, shape = [%c8, %c64], strides = [%c128, %c1] : !pto.tensor_view<8x64xf32>
  %vy = pto.make_tensor_view %y, shape = [%c8, %c64], strides = [%c128, %c1] : !pto.tensor_view<8x64xf32>
  %px = pto.partition_view %vx, offsets = [%c0, %c0], sizes = [%c8, %c64]
    : !pto.tensor_view<8x64xf32> -> !pto.partition_tensor_view<8x64xf32>
  %py = pto.partition_view %vy, offsets = [%c0, %c0], sizes = [%c8, %c64]
    : !pto.tensor_view<8x64xf32> -> !pto.partition_tensor_view<8x64xf32>
  %t = pto.alloc_tile : !pto.tile_buf<vec, 8x64xf32>
  pto.tload ins(%px : !pto.partition_tensor_view<8x64xf32>) outs(%t : !pto.tile_buf<vec, 8x64xf32>)
  pto.tadd ins(%t, %t : !pto.tile_buf<vec, 8x64xf32>, !pto.tile_buf<vec, 8x64xf32>)
    outs(%t : !pto.tile_buf<vec, 8x64xf32>)
  pto.tstore ins(%t : !pto.tile_buf<vec, 8x64xf32>) outs(%py : !pto.partition_tensor_view<8x64xf32>)
  return
}
"""
"""Twice the left half of the rows of a matrix with 128 columns."""


@pto.kernel(target="a5")
def rows(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], pitch: int):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64)
    pto.TLOAD(t, pto.GlobalTensor(x, (8, 64), (pitch, 1)))
    pto.TADD(t, t, t)
    pto.TSTORE(pto.GlobalTensor(y, (8, 64), (pitch, 1)), t)


@pto.kernel(target="a5")
def count(x: pto.Ptr[pto.u32]):
    t = pto.Tile(pto.TileType.Vec, pto.u32, 8, 64)
    pto.TLOAD(t, pto.GlobalTensor(x, (8, 64)))
    pto.TADDS(t, t, 1)
    pto.TSTORE(pto.GlobalTensor(x, (8, 64)), t)


class Tensor:
    """What torch's tensors say of themselves, and a NumPy array below."""

    def __init__(self, array: np.ndarray, **told: Any) -> None:
        self.__dict__.update(told)
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)


class OnDevice(Tensor):
    """Says by DLPack alone that it is in a device's memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 12, 0


def matrices() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1024, dtype=np.float32).reshape(8, 128), np.zeros((8, 128), np.float32)


def by_kernel(x: Any, y: Any) -> None:
    rows(x, y, 128)


def by_interpreter(x: Any, y: Any) -> None:
    rows.interpret(x, y, 128)


def by_executor(x: Any, y: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        rows[1](x, y, 128, executor=pool)


def by_sanitizer(x: Any, y: Any) -> None:
    assert rows.sanitize(x, y, 128).clean


def by_text(x: Any, y: Any) -> None:
    ptokit.run(DOUBLE, [x, y], target="a5")


def by_sanitized_text(x: Any, y: Any) -> None:
    assert ptokit.sanitize(DOUBLE, [x, y], target="a5").clean


LAUNCHES = [by_kernel, by_interpreter, by_executor, by_sanitizer, by_text, by_sanitized_text]


@pytest.mark.parametrize("launch", LAUNCHES)
def test_views_with_strides_and_offsets_are_used_in_place(launch: Any) -> None:
    x, y = matrices()
    launch(Tensor(x[:, 32:96]), Tensor(y[:, 64:]))
    assert np.array_equal(y[:, 64:], 2 * x[:, 32:96])
    assert not y[:, :64].any()


def test_proofs_and_times_take_them() -> None:
    x, y = matrices()
    assert rows.prove(Tensor(x), Tensor(y), 128).claims
    assert rows.time(Tensor(x[:, :64]), Tensor(y[:, :64]), 128).us > 0
    assert ptokit.time(DOUBLE, [Tensor(x[:, :64]), Tensor(y)], target="a5").us > 0
    assert ptokit.diff(DOUBLE, DOUBLE, [Tensor(x[:, :64]), Tensor(y)], target="a5").same
    assert not y.any()


def test_of_a_view_the_strides_are_stated_or_it_is_refused() -> None:
    x, y = matrices()
    for wrong in (x[:, :64], x.reshape(64, 16).T, x[::-1, :64], np.broadcast_to(x[:1, :64], (8, 64))):
        with pytest.raises(ptokit.DiagnosticError) as caught:
            rows(Tensor(wrong), y, 64)
        assert [d.rule for d in caught.value.diagnostics] == ["RUN-ARG-LAYOUT"]
    for wrong in (x.T, x[:, ::2], x.reshape(4, 256)[:, :128].T):
        with pytest.raises(ptokit.DiagnosticError, match="RUN-ARG-LAYOUT"):
            ptokit.run(DOUBLE, [wrong, y], target="a5")
    assert not y.any()


def test_what_is_the_memory_of_a_view() -> None:
    x = np.arange(240).reshape(4, 5, 12)
    assert span(x[1:3, :2, 3:7], {12, 60}).tolist() == list(range(63, 139))
    assert span(x[1:3, :2, 3:7], {12}) is None
    assert span(x[:, :1, 3:], {60}).tolist() == list(range(3, 192))
    assert span(x[..., ::2], {2, 12, 60}).tolist() == list(range(239))
    assert span(x[::-1], {12, 60}) is None


def told(launch: Any) -> str:
    with pytest.raises(ptokit.DiagnosticError) as caught:
        launch()
    (finding,) = caught.value.diagnostics
    assert finding.rule in ("LANG-ARG", "RUN-ARG-TYPE")
    return f"{finding.message}; {finding.hint}"


@pytest.mark.parametrize("launch", [by_kernel, by_text, by_sanitized_text])
def test_gradients_and_devices_are_refused(launch: Any) -> None:
    x, y = matrices()
    device = type("Device", (), {"type": "npu", "__str__": lambda self: "npu:0"})()
    assert "x requires grad" in told(lambda: launch(Tensor(x, requires_grad=True), y))
    assert "x.detach()" in told(lambda: launch(Tensor(x, requires_grad=True), y))
    assert "y lies on npu:0" in told(lambda: launch(x, Tensor(y, device=device)))
    assert "y lies on another device" in told(lambda: launch(x, OnDevice(y)))
    assert "x.cpu()" in told(lambda: launch(x, OnDevice(y)))
    assert "x.resolve_neg()" in told(lambda: launch(Tensor(x, is_neg=lambda: True), y))
    assert not y.any()


def test_of_several_targets_the_refusal_names_the_argument() -> None:
    x, y = matrices()
    with pytest.raises(ptokit.DiagnosticError, match="%x requires grad"):
        ptokit.run(DOUBLE, [Tensor(x, requires_grad=True), Tensor(y)], target=["a2a3", "a5"])
    results = ptokit.run(DOUBLE, [Tensor(x), Tensor(y)], target=["a2a3", "a5"])
    assert not y.any()
    assert all(result.arrays["y"].reshape(8, 128)[0, 1] == 2 for result in results.values())


def test_signed_integers_are_unsigned_ones_by_bits_and_a_note_says_so() -> None:
    x = np.full((8, 64), -2, np.int32)
    with pytest.warns(ptokit.KernelWarning, match=r"x is an array of i32; the kernel takes its bits for u32"):
        count(Tensor(x))
    assert (x == -1).all()
    result = ptokit.run(count.to_pto(), [Tensor(x)], target="a5")
    assert (x == 0).all()
    assert [(d.rule, d.severity) for d in result.diagnostics] == [("RUN-ARG-DTYPE", Severity.NOTE)]
    report = count.sanitize(x)
    assert report.clean
    assert "RUN-ARG-DTYPE" in [d.rule for d in report.diagnostics]
    for other in (np.int64, np.int16, np.float32):
        with pytest.raises(ptokit.DiagnosticError, match="RUN-ARG-DTYPE"):
            count(x.astype(other))


def test_what_has_no_memory_is_refused() -> None:
    for value, why in ((3, "is a int"), ([1, 2], "numpy.array")):
        with pytest.raises(Unusable) as caught:
            shared(value)
        assert why in f"{caught.value} {caught.value.hint}"


# With torch itself, where it is installed.


def test_torch_views_and_results_in_place() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.arange(1024, dtype=torch.float32).view(8, 128), torch.zeros(8, 128)
    for launch in LAUNCHES:
        y.zero_()
        launch(x[:, 32:96], y[:, 64:])
        assert torch.equal(y[:, 64:], 2 * x[:, 32:96])
        assert not y[:, :64].any()
    assert rows.time(x[:, :64], y[:, :64], 128).us > 0
    assert ptokit.time(DOUBLE, [x[:, :64], y[:, :64]], target="a5").us > 0
    assert ptokit.diff(DOUBLE, DOUBLE, [x, y], target="a5").same


@pytest.mark.parametrize(
    "name",
    "bfloat16 float16 float32 int8 uint8 int16 uint16 int32 uint32 int64 bool float8_e4m3fn float8_e5m2 "
    "float8_e8m0fnu float4_e2m1fn_x2".split(),
)
def test_torch_element_types(name: str) -> None:
    torch = pytest.importorskip("torch")
    element = getattr(torch, name, None)
    if element is None:
        pytest.skip(f"this torch has no {name}")

    @pto.kernel(target="a5")
    def copy(x, y):
        t = pto.Tile(pto.TileType.Vec, x.dtype, 8, 64)
        pto.TLOAD(t, pto.GlobalTensor(x, (8, 64)))
        pto.TSTORE(pto.GlobalTensor(y, (8, 64)), t)

    raw = torch.arange(8 * 64 * element.itemsize).to(torch.uint8)
    x, y = (raw % 2 if name == "bool" else raw).view(element), torch.zeros_like(raw).view(element)
    copy(x, y)
    assert torch.equal(x.view(torch.uint8), y.view(torch.uint8))


def test_torch_refusals() -> None:
    torch = pytest.importorskip("torch")
    y = torch.zeros(8, 128)
    assert "requires grad" in told(lambda: by_kernel(torch.nn.Parameter(y), y))
    assert "requires grad" in told(lambda: by_text(torch.nn.Parameter(y), y))
    assert "lies on meta" in told(lambda: by_text(torch.zeros(8, 128, device="meta"), y))
    assert "cannot be seen as an array" in told(lambda: by_text(y.to_sparse(), y))
    assert "resolve_neg" in told(lambda: by_text(torch.zeros(8, 128, dtype=torch.complex64).conj().imag, y))
