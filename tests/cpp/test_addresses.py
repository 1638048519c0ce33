"""Pointers into global memory that the run chooses: they are addresses, also of other devices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit
import ptokit as pto

pytestmark = pytest.mark.usefixtures("compiler")
HEAD = """
#include <pto/pto-inst.hpp>
#include <pto/comm/pto_comm_inst.hpp>
using namespace pto;
using Row = Tile<TileType::Vec, float, 8, 64>;
using Rows = GlobalTensor<float, Shape<1, 1, 1, 8, 64>, Stride<1, 1, 1, 64, 1>>;
"""
CHOSEN = """
static AICORE void copy(__gm__ float* to, __gm__ float* from) {
    Row t;
    TASSIGN(t, 0);
    Rows in(from), out(to);
    TLOAD(t, in);
    PtoSetWaitFlag<PIPE_MTE2, PIPE_MTE3>();
    TSTORE(out, t);
    PtoSetWaitFlag<PIPE_MTE3, PIPE_MTE2>();
}
__global__ AICORE void chosen(__gm__ float* x, __gm__ float* y, __gm__ float* z, int32_t n) {
    copy(z, n & 1 ? x + 512 : y);
}
__global__ AICORE void swapped(__gm__ float* x, __gm__ float* y, __gm__ float* z, int32_t n) {
    __gm__ float* from = x;
    __gm__ float* other = y;
    for (int32_t k = 0; k < n; k++) {
        copy(z + k * 512, from);
        __gm__ float* next = other;
        other = from;
        from = next;
    }
}
__global__ AICORE void perhaps(__gm__ float* x, __gm__ float* y, __gm__ float* z, int32_t n) {
    __gm__ float* from = n > 0 ? y : nullptr;
    if (from != nullptr) copy(z, from);
    else copy(z, x);
}
__global__ AICORE void nested(__gm__ float* x, __gm__ float* y, __gm__ float* z, int32_t n) {
    __gm__ float* from = x;
    for (int32_t k = 0; k < 3; k++)
        if (k <= n) from = y[k] < -1 ? nullptr : x + 512;
    copy(z, from == nullptr ? y : from);
}
__global__ AICORE void number(__gm__ float* x, __gm__ float* y, __gm__ float* z, int32_t n) {
    __gm__ float* from = n > 0 ? x : y;
    from[1] += float(n);
    const uint64_t address = reinterpret_cast<uint64_t>(from) + 4;
    *z = *reinterpret_cast<__gm__ float*>(address);
}
"""


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_the_run_chooses_between_arrays(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "chosen.cpp"
    path.write_text(HEAD + CHOSEN)
    kernels = ptokit.cpp(path, target="a2a3")
    x, y = np.arange(1024, dtype=np.float32), -np.arange(1024, dtype=np.float32)

    def made(name: str, n: int) -> np.ndarray:
        z = np.zeros(2048, np.float32)
        assert not kernels[name].check()
        kernels[name](x, y, z, n, backend=backend)
        assert not kernels[name].sanitize(x.copy(), y, z.copy(), n).diagnostics
        return z

    for n in (0, 1):
        assert (made("chosen", n)[:512] == (x[512:] if n else y[:512])).all()
        assert (made("perhaps", n)[:512] == (y[:512] if n else x[:512])).all()
    for n, expected in ((-1, x[:512]), (1, x[512:]), (2, y[:512])):
        assert (made("nested", n)[:512] == expected).all(), n
    assert (made("swapped", 3)[:1536].reshape(3, 512) == [x[:512], y[:512], x[:512]]).all()
    assert made("number", 3)[0] == 4
    assert x[1] == 4


def test_windows_of_other_devices(tmp_path: Path) -> None:
    """As the library's kernels find them: by the difference of two windows of the context."""
    path = tmp_path / "remote.cpp"
    path.write_text(
        HEAD
        + """
struct Context { uint64_t queue, flags; uint32_t rank, ranks; uint64_t size; uint64_t windows[64]; };
template <class T>
static AICORE __gm__ T* remote(__gm__ Context* c, __gm__ T* p, int rank) {
    return (__gm__ T*)(c->windows[rank] + ((uint64_t)p - c->windows[c->rank]));
}
__global__ AICORE void ring(__gm__ Context* c, __gm__ float* x, __gm__ float* y, __gm__ int32_t* signal) {
    const int next = (c->rank + 1) % c->ranks;
    Row t;
    TASSIGN(t, 0);
    Rows mine(x), theirs(remote(c, y, next));
    comm::TPUT(theirs, mine, t);
    pipe_barrier(PIPE_ALL);
    comm::Signal to(remote(c, signal, next)), from(signal);
    comm::TNOTIFY(to, 1, comm::NotifyOp::AtomicAdd);
    comm::TWAIT(from, 1, comm::WaitCmp::GE);
    comm::Signal2D<2, 2> others(signal + 4, 8);
    comm::TWAIT(others, 0, comm::WaitCmp::EQ);
}
"""
    )
    kernel = ptokit.cpp(path, target="a2a3")["ring"]
    assert not kernel.check()
    x, y = np.arange(3 * 512, dtype=np.float32).reshape(3, 512), np.zeros((3, 512), np.float32)
    kernel(pto.COMM, x, y, np.zeros((3, 16), np.int32), ranks=3)
    assert (y == x[[2, 0, 1]]).all()
    found = kernel.sanitize(pto.COMM, x, y, np.zeros((3, 16), np.int32), ranks=3)
    assert not found.diagnostics.errors, found.diagnostics


def test_pointers_are_kept_in_arrays_of_structs(tmp_path: Path) -> None:
    """Numbers beside them that nothing reads are cleared with the rest."""
    path = tmp_path / "items.cpp"
    path.write_text(
        HEAD
        + """
struct Item { __gm__ float* at; int32_t unread[2]; };
__global__ AICORE void gather(__gm__ float* x, __gm__ float* y, int32_t n) {
    Item items[20] = {};
    for (int32_t k = 0; k < n; k++) items[k].at = x + 3 * k;
    for (int32_t k = 0; k < 20; k++) y[k] = items[k].at == nullptr ? -1.0f : *items[k].at;
}
"""
    )
    kernel = ptokit.cpp(path, target="a2a3")["gather"]
    assert not kernel.check()
    y = np.zeros(20, np.float32)
    kernel(np.arange(64, dtype=np.float32), y, 9)
    assert (y == [*range(0, 27, 3), *[-1] * 11]).all()


class Shared:
    """What another library shares by DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_arrays_of_other_libraries(tmp_path: Path) -> None:
    path = tmp_path / "chosen.cpp"
    path.write_text(HEAD + CHOSEN)
    kernels = ptokit.cpp(path, target="a2a3")
    x, y, z = np.arange(1024, dtype=np.float32), -np.arange(1024, dtype=np.float32), np.zeros(2048, np.float32)
    kernels["chosen"][1](Shared(x), Shared(y), Shared(z), 1)
    assert (z[:512] == x[512:]).all()
    assert not kernels["chosen"].sanitize(Shared(x), y, Shared(z), 1).diagnostics.errors
    with pytest.raises(ptokit.DiagnosticError, match="RUN-ARG-DTYPE"):
        kernels["chosen"](Shared(x), Shared(y), Shared(z.astype(np.float64)), 1)


BACKGROUND = """
struct Context { uint64_t queue, flags; uint32_t rank, ranks; uint64_t size; uint64_t windows[64]; };
__global__ AICORE void spread(__gm__ Context* c, __gm__ float* x, __gm__ float* y, __gm__ uint8_t* workspace,
                              int fresh) {
    using Flat = GlobalTensor<float, Shape<1, 1, 1, 1, 64>, Stride<64, 64, 64, 64, 1>>;
    Tile<TileType::Vec, uint8_t, 1, comm::sdma::UB_ALIGN_SIZE> scratch;
    TASSIGN(scratch, 0);
    comm::AsyncSession session;
    comm::sdma::SdmaBaseConfig config{1024, 256, 1};
    if (!fresh && !comm::BuildAsyncSession(scratch, workspace, session, 0, config)) return;
    __gm__ float* members[4];
    for (int rank = 0; rank < c->ranks; rank++)
        members[rank] = (__gm__ float*)(c->windows[rank] + ((uint64_t)y - c->windows[c->rank])) + 128 * c->rank;
    comm::AsyncEvent events[4];
    for (int rank = 0; rank < c->ranks; rank++) {
        if (fresh && !comm::BuildAsyncSession(scratch, workspace, session, 0, config)) return;
        Flat from(x), to(members[rank]);
        events[rank] = comm::TPUT_ASYNC(to, from, session);
        if (fresh) events[rank].Wait(session);
    }
    WAIT
    Row t;
    TASSIGN(t, 4096);
    Rows all(x);
    TLOAD(t, all);
    PtoSetWaitFlag<PIPE_MTE2, PIPE_MTE3>();
    TSTORE(all, t);
}
"""


@pytest.mark.parametrize("waits", ["for (int k = c->ranks; k--;) events[k].Wait(session);", "events[0].Wait(session);"])
def test_transfers_in_the_background(tmp_path: Path, waits: str) -> None:
    """Events and pointers in arrays, sessions that the run chooses, and the offset that a session adds to both ends."""
    path = tmp_path / "background.cpp"
    path.write_text(HEAD + BACKGROUND.replace("WAIT", waits))
    kernel = ptokit.cpp(path, target="a2a3")["spread"]
    assert not kernel.check()
    x, space = np.arange(2 * 512, dtype=np.float32).reshape(2, 512), np.zeros((2, 64), np.uint8)
    for fresh in (0, 1):
        y = np.zeros((2, 256), np.float32)
        kernel(pto.COMM, x, y, space, fresh, ranks=2)
        assert (y.reshape(2, 2, 2, 64)[:, :, 1] == x[:, 64:128]).all()
        assert not y.reshape(2, 2, 2, 64)[:, :, 0].any()
        found = kernel.sanitize(pto.COMM, x, y, space, fresh, ranks=2)
        expected = set() if fresh or "for" in waits else {"ASYNC-RACE"}
        assert {d.rule for d in found.diagnostics.errors} == expected, found.diagnostics


def test_prefetches_in_the_background(tmp_path: Path) -> None:
    """In a session of the context's own, or in one that the run chooses; nothing is written before the event."""
    path = tmp_path / "prefetch.cpp"
    path.write_text(
        HEAD
        + """
__global__ AICORE void ahead(__gm__ float* x, __gm__ float* y, __gm__ uint8_t* workspace, int32_t n, int32_t shared) {
    comm::AsyncSession session;
    PrefetchAsyncContext context(workspace, shared ? &session : nullptr);
    TASSIGN(context.scratchTile, 0);
    if (shared) comm::BuildAsyncSession(context.scratchTile, workspace, session);
    GlobalTensor<float, Shape<>, Stride<>> all(x, {1, 1, 1, 1, n}, {n, n, n, n, 1});
    comm::AsyncEvent event = TPREFETCH_ASYNC(all, context);
    if (n > 1) event.Wait(context.GetSession());
    *x = float(event.handle);
    *y = event.valid();
}
"""
    )
    kernel = ptokit.cpp(path, target="a5")["ahead"]
    assert not kernel.check()
    for n, shared in ((512, 0), (512, 1), (1, 0)):
        x, y, space = np.zeros(512, np.float32), np.zeros(8, np.float32), np.zeros(64, np.uint8)
        kernel(x, y, space, n, shared)
        assert (x[0], y[0]) == (1, 1)
        found = kernel.sanitize(x, y, space, n, shared)
        assert [d.rule for d in found.diagnostics.errors] == ([] if n > 1 else ["ASYNC-RACE"])
    kernel(x, y, None, 512, 0)
    assert (x[0], y[0]) == (0, 0)


def test_all_cores_meet(tmp_path: Path) -> None:
    """SYNCALL joins vector cores where nothing else is said; its memory is a tensor."""
    path = tmp_path / "meet.cpp"
    path.write_text(
        HEAD
        + """
#include <kernel_operator.h>
extern "C" __global__ AICORE void meet(GM_ADDR x, GM_ADDR y, GM_ADDR counter) {
    using Counter = Shape<1, 1, 1, 1, SYNCALL_SOFT_WORKSPACE_INT32>;
    GlobalTensor<int32_t, Counter, Stride<1, 1, 1, 16, 1>> c((__gm__ int32_t*)counter);
    const int64_t k = AscendC::GetBlockIdx();
    __gm__ int32_t* from = (__gm__ int32_t*)x;
    __gm__ int32_t* to = (__gm__ int32_t*)y;
    from[16 * k] += 1;
    dcci(from + 16 * k, SINGLE_CACHE_LINE);
    SYNCALL<SyncAllMode::Soft>(c, int32_t(AscendC::GetBlockNum()));
    to[16 * k] = from[16 * ((k + 1) % AscendC::GetBlockNum())];
}
"""
    )
    kernel = ptokit.cpp(path, target="a2a3")["meet"]
    assert "core_type = #pto.sync_core_type<aiv_only>" in kernel.to_pto()
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    kernel[4](x, y, np.zeros(16, np.int32))
    assert (y[::16] == [17, 33, 49, 1]).all()


MASKED = """
#include <pto/pto-inst.hpp>
using namespace pto;
using Halves = Tile<TileType::Vec, half, 1, 512>;
using Bytes = Tile<TileType::Vec, int8_t, 1, 256>;
using View = GlobalTensor<half, Shape<1, 1, 1, 1, 512>, Stride<1, 1, 1, 512, 1>>;
using Packed = GlobalTensor<int8_t, Shape<1, 1, 1, 1, 256>, Stride<1, 1, 1, 256, 1>>;
__global__ AICORE void masked(__gm__ half* x, __gm__ int8_t* y, int32_t lanes, uint64_t high, uint64_t low) {
    Halves from;
    Bytes to;
    TASSIGN(from, 0);
    TASSIGN(to, 0x2000);
    View in(x);
    Packed out(y);
    TLOAD(from, in);
    PtoSetWaitFlag<PIPE_MTE2, PIPE_V>();
    __ubuf__ uint16_t* zeros = (__ubuf__ uint16_t*)(uint64_t)0x2000;
    set_mask_count();
    set_vector_mask(0, 100);
    vector_dup(zeros, (uint16_t)0x1111, 0, 1, 1, 8, 8);
    set_mask_norm();
    set_vector_mask(-1, -1);
    vector_dup(zeros + 112, (uint16_t)0, 1, 1, 1, 8, 8);
    pipe_barrier(PIPE_V);
    if (lanes) SetContinuousMask(lanes);
    else set_vector_mask(high, low);
    vconv_f162s4r(to.data(), from.data(), 2, 1, 1, 3, 16);  // every 96 bytes, of every second 256
    set_vector_mask(-1, -1);
    PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();
    TSTORE(out, to);
}
"""


def test_vector_instructions_by_address_obey_the_mask(tmp_path: Path) -> None:
    path = tmp_path / "masked.cpp"
    path.write_text(MASKED)
    kernel = ptokit.cpp(path, target="a2a3")["masked"]
    x = np.linspace(-9, 9, 512, dtype=np.float16)
    codes = np.clip(np.rint(x.astype(np.float32)), -8, 7).astype(np.int8) & 15
    for given, lanes in (((70, 0, 0), 70), ((0, 0, 2**20 - 1), 20), ((0, 2**6 - 1, 2**64 - 1), 70), ((128, 0, 0), 128)):
        y = np.full(256, 77, np.int8)
        kernel(x, y, *given)
        wanted = np.full(256, 77, np.uint8)
        wanted[:200], wanted[224:256] = 0x11, 0
        for k in range(2):
            row = codes[256 * k : 256 * k + lanes]
            wanted[96 * k : 96 * k + lanes // 2] = row[::2] | row[1::2] << 4
        written = [*range(200), *range(224, 256)]
        assert (y.view(np.uint8)[written] == wanted[written]).all(), given
    with pytest.raises(pto.DiagnosticError, match="RUN-TRAP"):
        kernel(x, np.zeros(256, np.int8), 0, 0, 0b101)
