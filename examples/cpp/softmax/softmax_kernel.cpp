// y = exp(x - max(x)) / sum(exp(x - max(x))), row by row: each block takes every n-th group of 16 rows.
//
// One wait is missing here. The host program beside this file does not notice, the sanitizer does:
//
//     ptokit replay examples/cpp/softmax --target a2a3
//     ptokit replay examples/cpp/softmax --target a2a3 --sanitize
#include <acl/acl.h>
#include <pto/pto-inst.hpp>
using namespace pto;

template <int COLUMNS>
__global__ AICORE void softmax(__gm__ float* y, __gm__ float* x, int32_t rows) {
    using Rows = Tile<TileType::Vec, float, 16, COLUMNS, BLayout::RowMajor, DYNAMIC, COLUMNS>;
    using Column = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, DYNAMIC, 1>;
    using View = GlobalTensor<float, Shape<1, 1, 1, DYNAMIC, COLUMNS>, Stride<1, 1, 1, COLUMNS, 1>>;
    constexpr int BYTES = 16 * COLUMNS * sizeof(float);

    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    for (int top = get_block_idx() * 16; top < rows; top += get_block_num() * 16) {
        const int here = rows - top < 16 ? rows - top : 16;
        Rows values(here), scratch(here);
        Column column(here);
        TASSIGN(values, 0);
        TASSIGN(scratch, BYTES);
        TASSIGN(column, 2 * BYTES);
        View in(x + top * COLUMNS, {here}), out(y + top * COLUMNS, {here});

        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        TLOAD(values, in);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TROWMAX(column, values, scratch);
        pipe_barrier(PIPE_V);
        TROWEXPANDSUB(values, values, column);
        pipe_barrier(PIPE_V);
        TEXP(values, values);
        pipe_barrier(PIPE_V);
        TROWSUM(column, values, scratch);
        pipe_barrier(PIPE_V);
        TROWEXPANDDIV(values, values, column);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        // wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0) is missing
        TSTORE(out, values);
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    }
    wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
}

void launch_softmax(float* y, float* x, int32_t rows, void* stream) {
    softmax<256><<<4, nullptr, stream>>>(y, x, rows);
}
