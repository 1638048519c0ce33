// Cube and vector cores that hand each other slots of global memory: by flags whose numbers the run decides, and by pipes.
#include <pto/pto-inst.hpp>
#if defined(PTO_NPU_ARCH_A5)
#include <pto/npu/a5/custom/TSyncCVID.hpp>
#include <pto/npu/a5/custom/TSync_Custom.hpp>
#else
#include <pto/npu/a2a3/custom/TSyncCVID.hpp>
#include <pto/npu/a2a3/custom/TSync_Custom.hpp>
#endif
using namespace pto;

#if defined(__DAV_CUBE__)
constexpr bool CUBE = true;
constexpr Op KIND = Op::TSTORE;
#elif defined(__DAV_VEC__)
constexpr bool CUBE = false;
constexpr Op KIND = Op::TADD;
#endif
static_assert(KIND != Op::TLOAD);  // without a kind of core the file does not compile

constexpr int N = 32;
using Whole = GlobalTensor<float, Shape<1, 1, 1, N, N>, Stride<1, 1, 1, N, 1>>;
using Half = GlobalTensor<float, Shape<1, 1, 1, N / 2, N>, Stride<1, 1, 1, N, 1>>;
using Rows = Tile<TileType::Vec, float, N / 2, N>;

// Half of what is in memory, plus n, to its place in the result.
AICORE inline void plus(__gm__ float* to, __gm__ float* from, float n) {
    Rows rows;
    TASSIGN(rows, 0x0);
    Half source(from), dst(to + get_subblockid() * N * N / 2);
    TLOAD(rows, source);
    PtoSetWaitFlag<PIPE_MTE2, PIPE_V>();
    TADDS(rows, rows, n);
    PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();
    TSTORE(dst, rows);
    PtoSetWaitFlag<PIPE_MTE3, PIPE_MTE2>();
}
AICORE inline void product(TileAcc<float, N, N>& out, __gm__ float* x) {
    Tile<TileType::Mat, float, N, N, BLayout::ColMajor, N, N, SLayout::RowMajor, 512> mat;
    TileLeft<float, N, N> left;
    TileRight<float, N, N> right;
    TASSIGN(mat, 0x0);
    TASSIGN(left, 0x0);
    TASSIGN(right, 0x0);
    TASSIGN(out, 0x0);
    Whole source(x);
    TLOAD(mat, source);
    PtoSetWaitFlag<PIPE_MTE2, PIPE_MTE1>();
    TMOV(left, mat);
    TMOV(right, mat);
    PtoSetWaitFlag<PIPE_MTE1, PIPE_M>();
    TMATMUL(out, left, right);
    PtoSetWaitFlag<PIPE_M, PIPE_FIX>();
    PtoSetWaitFlag<PIPE_M, PIPE_MTE2>();
}

extern "C" __global__ AICORE void flags(__gm__ float* y, __gm__ float* x, __gm__ float* memory, __gm__ uint8_t* told,
                                        int32_t count) {
    memory += TSYNC_CVID(get_block_idx(), told) * 2 * N * N;
    for (int i = 0; i < count; i++) {
        const TSync_Custom<SyncOpType::TSTORE_C2GM, SyncOpType::TLOAD> slot = {uint16_t(i % 2 * 4)};
        __gm__ float* at = memory + i % 2 * N * N;
        if constexpr (CUBE) {
            TileAcc<float, N, N> out;
            product(out, x + i * N * N);
            if (i >= 2) slot.allocate();
            Whole to(at);
            TSTORE(to, out);
            slot.record();
            PtoSetWaitFlag<PIPE_FIX, PIPE_M>();
        } else {
            slot.wait();
            plus(y + i * N * N, at + get_subblockid() * N * N / 2, float(i));
            if (i + 2 < count) slot.free();
        }
    }
}

template <bool Negative>
AICORE inline void through_pipe(__gm__ float* y, __gm__ float* x, __gm__ float* memory, int32_t count) {
#ifdef PTO_NPU_ARCH_A5
    using Pipe = TPipe<0, Direction::DIR_C2V_GM, N * N * 4, 2>;
#else
    using Pipe = TPipe<0, Direction::DIR_C2V, N * N * 4, 2>;
#endif
    Pipe pipe(memory, 0x8000, 0x0);
    static_assert(Pipe::RingFiFo::SLOT_NUM == 2);
    for (int i = 0; i < count; i++) {
        if constexpr (CUBE) {
            TileAcc<float, N, N> out;
            Whole slot;
            product(out, x + i * N * N);
            TALLOC<Pipe, Whole, TileSplitAxis::TILE_UP_DOWN>(pipe, slot);
            Whole to(slot.data());
            TSTORE(to, out);
            TPUSH<Pipe, Whole, TileSplitAxis::TILE_UP_DOWN>(pipe, slot);
            PtoSetWaitFlag<PIPE_FIX, PIPE_M>();
        } else {
            Half slot;
            TPOP<Pipe, Half, TileSplitAxis::TILE_UP_DOWN>(pipe, slot);
            plus(y + i * N * N, slot.data(), Negative ? -float(i) : float(i));
            TFREE<Pipe, Half, TileSplitAxis::TILE_UP_DOWN>(pipe, slot);
        }
    }
}
extern "C" __global__ AICORE void pipes(__gm__ float* y, __gm__ float* x, __gm__ float* memory, int32_t count,
                                        int32_t negative) {
    if (negative)
        through_pipe<true>(y, x, memory, count);
    else
        through_pipe<false>(y, x, memory, count);
}
