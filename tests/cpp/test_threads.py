"""Functions of threads, and numbers of UB by their address."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit

from ..each import each

pytestmark = pytest.mark.usefixtures("compiler")
HEAD = """#include <pto/pto-inst.hpp>
#include <cmath>
using namespace pto;
"""
SUMS = (
    HEAD
    + """
template <class T>
__simt_callee__ AICORE PTO_INLINE T scaled(T x, uint32_t by) {
    return x * T(by) + std::sqrt(x);
}
template <uint32_t WARPS>
__simt_vf__ AICORE LAUNCH_BOUND(1024) PTO_INLINE void sums(
    __gm__ float* __restrict__ out, __gm__ const float* __restrict__ x, __ubuf__ float* partial,
    __gm__ int32_t* counts, uint32_t n, float bias) {
    const uint32_t tx = threadIdx.x, ty = __cce_simt_get_TID_Y(), i = ty * blockDim.x + tx;
    float mine[4];
    for (int k = 0; k < 4; k++) mine[k] = i + k < n ? x[i + k] : 0.0f;
    const float sum = __builtin_cce_redux_add_f32(mine[0]);
    if (tx == 0) partial[ty] = sum;
    __sync_workitems();  // here
    float total = bias;
    for (uint32_t w = 0; w < WARPS; w++) total += partial[w];
    if (i < n) out[i] = total + scaled(mine[i & 3], 3);
    if (i >= n) return;
    atomicAdd(counts + (i & 1), int32_t(1));
    atomicMax(reinterpret_cast<__gm__ uint32_t*>(counts) + 2, 0x80000000u + i);
}
__global__ AICORE void kernel(__gm__ float* out, __gm__ float* x, __gm__ int32_t* counts, int n) {
    Tile<TileType::Vec, float, 1, 8> partial;
    TASSIGN(partial, 512);
    cce::async_invoke<sums<4>>(cce::dim3{32, 4}, out, x, partial.data(), counts, n, 0.5f);
    pipe_barrier(PIPE_ALL);
}
"""
)


def kernel(tmp_path: Path, text: str) -> ptokit.cpp:
    path = tmp_path / "kernel.cpp"
    path.write_text(text)
    return ptokit.cpp(path, target="a5")["kernel"]


def test_threads_compute(tmp_path: Path) -> None:
    n = 100
    x = np.arange(1, 129, dtype=np.float32)
    out, counts = np.zeros(128, np.float32), np.zeros(3, np.int32)
    made = kernel(tmp_path, SUMS)
    assert not made.check()
    made(out, x, counts, n)
    padded = np.where(np.arange(132) < n, np.append(x, [0] * 4), 0).astype(np.float32)
    mine = padded[np.arange(128) + (np.arange(128) & 3)]
    expected = x[:n].sum() + np.float32(0.5) + mine * 3 + np.sqrt(mine)
    assert np.allclose(out[:n], expected[:n], rtol=1e-6)
    assert not out[n:].any()
    assert counts[:2].tolist() == [50, 50]
    assert counts.view(np.uint32)[2] == 0x80000000 + n - 1
    assert not made.sanitize(out, x, counts, n).diagnostics


def test_a_sync_that_is_missing_is_found_at_its_line(tmp_path: Path) -> None:
    made = kernel(tmp_path, SUMS.replace("__sync_workitems();", ""))
    found = made.sanitize(np.zeros(128, np.float32), np.ones(128, np.float32), np.zeros(3, np.int32), 100).diagnostics
    lines = SUMS.splitlines()
    assert {d.rule for d in found.errors} == {"RACE-THREADS"}
    assert {lines[d.location.line - 1].strip() for d in found} <= {
        "if (tx == 0) partial[ty] = sum;",
        "for (uint32_t w = 0; w < WARPS; w++) total += partial[w];",
    }


def test_a_function_is_lifted_once_for_each_kind_of_pointers(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
__simt_vf__ AICORE LAUNCH_BOUND(64) PTO_INLINE void copy(float* to, const float* from) {
    to[threadIdx.x] = from[threadIdx.x] + 1;
}
__global__ AICORE void kernel(__gm__ float* x, __gm__ float* y, int n) {
    __ubuf__ float* kept = (__ubuf__ float*)0;
    for (int k = 0; k < n; k++) {
        cce::async_invoke<copy>(cce::dim3{8}, kept, x + 8 * k);
        cce::async_invoke<copy>(cce::dim3{8}, y + 8 * k, kept);
        cce::async_invoke<copy>(cce::dim3{8}, kept, y + 8 * k);
    }
    pipe_barrier(PIPE_ALL);
}
"""
    )
    made = kernel(tmp_path, text)
    assert made.to_pto().count("pto.simt_entry") == 2
    x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    made(x, y, 2)
    assert (y == x + 2).all()
    assert not made.sanitize(x, y, 2).diagnostics


REFUSED = {
    "local": ("int n = x[0]; cce::async_invoke<body>(cce::dim3{1}, &n);", "CPP-POINTER"),
    "which": ("launched(x[0] > 1 ? body : other, x);", "CPP-POINTER"),
    "array": ("cce::async_invoke<large>(cce::dim3{1}, x);", "CPP-MEMORY"),
    "tile": ("cce::async_invoke<tile>(cce::dim3{1}, x);", "CPP-CALL"),
    "query": ("cce::async_invoke<query>(cce::dim3{1}, x);", "CPP-CALL"),
    "launch": ("cce::async_invoke<launches>(cce::dim3{1}, x);", "CPP-CALL"),
    "recursive": ("cce::async_invoke<again>(cce::dim3{1}, x);", "CPP-CALL"),
}


@each("name", REFUSED)
def test_what_threads_have_not(tmp_path: Path, name: str) -> None:
    call, rule = REFUSED[name]
    text = (
        HEAD
        + f"""
__simt_vf__ void body(int* x) {{ x[0] = 1; }}
__simt_vf__ void other(int* x) {{ x[0] = 2; }}
__simt_vf__ void large(int* x) {{ int a[65]; for (int k = 0; k < 65; k++) a[k] = x[k]; x[0] = a[x[1]]; }}
__simt_vf__ void tile(int* x) {{ Tile<TileType::Vec, int, 8, 64> t; TASSIGN(t, 0); TADD(t, t, t); }}
__simt_vf__ void query(int* x) {{ x[get_block_idx()] = 1; }}
__simt_vf__ void launches(int* x) {{ cce::async_invoke<body>(cce::dim3{{1}}, x); }}
int f(int n) {{ return n > 1 ? f(n - 1) * f(n - 2) + n : 1; }}
__simt_vf__ void again(int* x) {{ x[0] = f(x[0]); }}
static void launched(void (*f)(int*), int* x) {{ cce::launch_threads(f, cce::dim3{{1}}, x); }}
__global__ AICORE void kernel(__gm__ int32_t* x) {{
    {call}
}}
"""
    )
    path = tmp_path / "kernel.cpp"
    path.write_text(text)
    found = ptokit.check(path, target="a5").diagnostics
    assert [d.rule for d in found] == [rule]


def test_other_targets_have_no_threads(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cpp"
    path.write_text(SUMS)
    found = ptokit.check(path, target="a2a3").diagnostics
    assert "--target a5" in str(found[0].hint)


BY_ADDRESS = (
    HEAD
    + """
__global__ AICORE void kernel(__gm__ float* x, __gm__ float* y, int n) {
    using Row = Tile<TileType::Vec, float, 1, 64>;
    GlobalTensor<float, Shape<1, 1, 1, 1, 64>, Stride<1, 1, 1, 64, 1>> in(x), out(y);
    Row t;
    TASSIGN(t, PLACE);
    TLOAD(t, in);
    PtoSetWaitFlag<PIPE_MTE2, PIPE_S>();
    __ubuf__ float* numbers = t.data();
    for (int k = 0; k < n; k++) numbers[k] += numbers[3];
    PtoSetWaitFlag<PIPE_S, PIPE_MTE3>();
    TSTORE(out, t);
}
"""
)


@each("place", [0, 4096])
def test_numbers_of_ub_have_addresses(tmp_path: Path, place: int) -> None:
    text = BY_ADDRESS.replace("PLACE", str(place))
    made = kernel(tmp_path, text)
    assert not made.check()
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    made(x, y, 3)
    assert (y == x + np.where(np.arange(64) < 3, 3, 0)).all()
    assert not made.sanitize(x, y, 3).diagnostics
    late = kernel(tmp_path, text.replace("PtoSetWaitFlag<PIPE_MTE2, PIPE_S>();", ""))
    assert "RACE-RAW" in {d.rule for d in late.sanitize(x, y, 3).diagnostics}


def test_an_address_that_is_an_argument_may_be_one_of_global_memory(tmp_path: Path) -> None:
    text = HEAD + "__global__ void kernel(int32_t* x, uint64_t at) { x[0] = *reinterpret_cast<int32_t*>(at + 4); }"
    path = tmp_path / "kernel.cpp"
    path.write_text(text)
    assert [d.rule for d in ptokit.check(path, target="a5").diagnostics] == ["CPP-MEMORY"]


def test_threads_get_numbers_in_their_types_and_each_block_its_own(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
__simt_vf__ void body(__gm__ float* x, uint32_t n, float add, half h, int8_t less, bool twice) {
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        if (i & 1) x[i] = (twice ? 2 * x[i] : 0) + add + float(h);
        else x[i] -= less;
}
__global__ AICORE void kernel(__gm__ float* x, int n, float a) {
    const int64_t block = get_block_idx();
    cce::async_invoke<body>(cce::dim3{40}, x + block * n, n, a + block, half(0.5f), n - 300, block != 1);
    pipe_barrier(PIPE_ALL);
}
"""
    )
    made = kernel(tmp_path, text)
    assert not made.check()
    x = np.arange(300, dtype=np.float32)
    i = np.arange(300) % 100
    block = np.arange(300) // 100
    expected = np.where(i & 1, np.where(block != 1, 2 * x, 0) + 1.5 + block + 0.5, x - np.int8(-200 & 127))
    made[3](x, 100, 1.5)
    assert (x == expected).all()
    assert not made.sanitize(x, 100, 1.5, blocks=3).diagnostics
    assert "f64" not in made.to_pto().split("simt_entry")[1]
