"""Arguments of a launch: whose memory is used, and how."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Tile, TileType


@pto.kernel(target="a5")
def double(x, y):
    t = Tile(TileType.Vec, x.dtype, 8, 64)
    pto.TLOAD(t, GlobalTensor(x, (8, 64)))
    pto.TADD(t, t, t)
    pto.TSTORE(GlobalTensor(y, (8, 64)), t)


class Interface:
    """Only ``__array_interface__``."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._array.__array_interface__


class Bfloat16:
    """Exports bfloat16 (or another type that NumPy lacks) through DLPack, and in no other way, as torch does."""

    def __init__(self, bits: np.ndarray, code: int, *, versioned: bool) -> None:
        self._bits, self._code, self._versioned = bits, code, versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._bits.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._bits.__dlpack__(**options) if self._versioned else self._bits.__dlpack__()
        name = b"dltensor_versioned" if self._versioned else b"dltensor"
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # the code of the element type: after version, context, deleter and flags; data, device, dimensions
        ctypes.c_uint8.from_address(pointer(capsule, name) + (32 if self._versioned else 0) + 20).value = self._code
        return capsule


@pytest.mark.parametrize("versioned", [False, True], ids=["dlpack-0", "dlpack-1"])
@pytest.mark.parametrize(
    ("element", "code"),
    [(ml_dtypes.bfloat16, 4), (ml_dtypes.float8_e4m3fn, 10), (ml_dtypes.float8_e5m2, 12)],
    ids=["bf16", "e4m3", "e5m2"],
)
def test_types_that_numpy_lacks_arrive_through_dlpack(element: Any, code: int, versioned: bool) -> None:
    @pto.kernel(target="a5")
    def copy(x, y):
        t = Tile(TileType.Vec, x.dtype, 8, 64)
        pto.TLOAD(t, GlobalTensor(x, (8, 64)))
        pto.TSTORE(GlobalTensor(y, (8, 64)), t)

    values = (np.arange(8 * 64) % 29).reshape(8, 64).astype(element)
    x, y = values.view(f"u{values.itemsize}"), np.zeros((8, 64), f"u{values.itemsize}")
    copy(Bfloat16(x, code, versioned=versioned), Bfloat16(y, code, versioned=versioned))
    assert np.array_equal(x, y)
    assert y.any()
    assert f"ptr<{ {4: 'bf16', 10: 'f8E4M3FN', 12: 'f8E5M2'}[code] }>" in copy.to_pto()


class Exporter:
    """Only DLPack, in the protocol's first form or its second."""

    def __init__(self, array: np.ndarray, *, versioned: bool) -> None:
        self._array = array
        self._versioned = versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        if not self._versioned:
            return self._array.__dlpack__()
        return self._array.__dlpack__(**options)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int16])
def test_arrays_are_used_in_place(dtype: Any) -> None:
    x = np.arange(512).astype(dtype).reshape(8, 64)
    y = np.zeros((8, 64), dtype)
    double(x, y)
    assert np.array_equal(y, x + x)


def test_memory_that_an_exporter_marks_as_read_only_is_not_written() -> None:
    x, y = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    y.flags.writeable = False
    double(Exporter(x, versioned=True), x)
    with pytest.raises(pto.DiagnosticError) as caught:
        double(x, Exporter(y, versioned=True))
    assert caught.value.diagnostics[0].rule == "RUN-ARG-READONLY"
    with pytest.raises(pto.DiagnosticError) as caught:
        double(x, Exporter(y, versioned=False))
    assert caught.value.diagnostics[0].rule == "LANG-ARG"


@pytest.mark.parametrize(
    "wrap",
    [Interface, lambda a: Exporter(a, versioned=True), lambda a: Exporter(a, versioned=False)],
    ids=["array_interface", "dlpack-1", "dlpack-0"],
)
def test_other_arrays_are_viewed(wrap: Any) -> None:
    x, y = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    double(wrap(x), wrap(y))
    assert np.array_equal(y, x + x)


def test_any_type_may_be_given_as_unsigned_integers() -> None:
    @pto.kernel(target="a5")
    def copy(x: pto.Ptr[pto.bf16], y: pto.Ptr[pto.hif8], z: pto.Ptr[pto.bf16], w: pto.Ptr[pto.hif8]):
        for source, target in ((x, z), (y, w)):
            t = Tile(TileType.Vec, source.dtype, 8, 64)
            pto.TLOAD(t, GlobalTensor(source, (8, 64)))
            pto.TSTORE(GlobalTensor(target, (8, 64)), t)

    x, y = np.arange(512, dtype=np.uint16), np.arange(512).astype(np.uint8)
    z, w = np.zeros_like(x), np.zeros_like(y)
    copy(x, y, z, w)
    assert np.array_equal(x, z)
    assert np.array_equal(y, w)


def test_numpy_numbers_are_numbers() -> None:
    @pto.kernel(target="cpu")
    def f(x, i, s):
        x[i] = s * 2.0

    x = np.zeros(4, np.float32)
    f(x, np.int64(2), np.float32(1.5))
    f(x, np.uint8(3), 4.0)
    assert list(x) == [0, 0, 3, 8]


def test_all_blocks_run() -> None:
    @pto.kernel(target="cpu")
    def f(x: pto.Ptr[pto.f32]):
        x[pto.get_block_idx()] = pto.cast(pto.get_block_num() * 100 + pto.get_block_idx(), pto.f32)

    x = np.zeros(5, np.float32)
    f[5](x)
    assert list(x) == [500, 501, 502, 503, 504]


def test_matmul_modes_reach_the_run() -> None:
    results = {}
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float32)
    for mode in ("exact", "ref"):

        @pto.kernel(target="a5", matmul=mode)
        def product(a, b, c):
            left, right, acc = (
                pto.TileLeft(pto.f32, 64, 64),
                pto.TileRight(pto.f32, 64, 64),
                pto.TileAcc(pto.f32, 64, 64),
            )
            for source, operand in ((a, left), (b, right)):
                t = Tile(TileType.Mat, pto.f32, 64, 64, pto.BLayout.ColMajor, slayout=pto.SLayout.RowMajor)
                pto.TLOAD(t, GlobalTensor(source, (64, 64)))
                pto.TMOV(operand, t)
            pto.TMATMUL(acc, left, right)
            pto.TSTORE(GlobalTensor(c, (64, 64)), acc)

        results[mode] = np.zeros((64, 64), np.float32)
        product(a, b, results[mode])
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    assert np.array_equal(results["exact"], exact)
    assert not np.array_equal(results["ref"], exact)
    assert np.allclose(results["ref"], exact, atol=1e-4)


def test_extended_lets_cpu_run_device_types() -> None:
    def f(x: pto.Ptr[pto.e4m3]):
        t = Tile(TileType.Vec, pto.e4m3, 8, 64)
        pto.TLOAD(t, GlobalTensor(x, (8, 64)))

    x = np.zeros(512, ml_dtypes.float8_e4m3fn)
    pto.kernel(target="cpu", extended=True)(f)(x)
    with pytest.raises(pto.DiagnosticError) as error:
        pto.kernel(target="cpu")(f)(x)
    assert [d.rule for d in error.value.diagnostics] == ["LOAD-CPU-07"]


def test_kernels_trace_in_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def run(n: int) -> float:
        @pto.kernel(target="cpu")
        def f(x: pto.Ptr[pto.f32]):
            for i in pto.range(n):
                x[i] = 1.0

        x = np.zeros(64, np.float32)
        f(x)
        return float(x.sum())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(1, 33))) == list(range(1, 33))
