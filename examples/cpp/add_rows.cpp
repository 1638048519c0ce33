// Adds two matrices of 16-row strips: each block takes every n-th strip, and loads one strip while it adds another.
//
//     ptokit run examples/cpp/add_rows.cpp --target a2a3 --entry 'add_rows<float, 64>' --blocks 2
//         -a zeros:f32:128x64 -a random:f32:128x64 -a random:f32:128x64 -a 8
#include <pto/pto-inst.hpp>
using namespace pto;

template <class T, int COLUMNS>
__global__ AICORE void add_rows(__gm__ T* sum, __gm__ T* x, __gm__ T* y, int32_t strips) {
    using Strip = Tile<TileType::Vec, T, 16, COLUMNS>;
    using Rows = GlobalTensor<T, Shape<1, 1, 1, 16, COLUMNS>, Stride<1, 1, 1, COLUMNS, 1>>;
    constexpr int SIZE = 16 * COLUMNS, BYTES = SIZE * sizeof(T);

    Strip a[2], b[2];
    for (int k = 0; k < 2; k++) {
        TASSIGN(a[k], 2 * k * BYTES);
        TASSIGN(b[k], (2 * k + 1) * BYTES);
        set_flag(PIPE_MTE3, PIPE_MTE2, k);  // both buffers are free
    }
    int buffer = 0;
    for (int strip = get_block_idx(); strip < strips; strip += get_block_num()) {
        Rows left(x + strip * SIZE), right(y + strip * SIZE), out(sum + strip * SIZE);
        wait_flag(PIPE_MTE3, PIPE_MTE2, buffer);
        TLOAD(a[buffer], left);
        TLOAD(b[buffer], right);
        set_flag(PIPE_MTE2, PIPE_V, buffer);
        wait_flag(PIPE_MTE2, PIPE_V, buffer);
        TADD(a[buffer], a[buffer], b[buffer]);
        set_flag(PIPE_V, PIPE_MTE3, buffer);
        wait_flag(PIPE_V, PIPE_MTE3, buffer);
        TSTORE(out, a[buffer]);
        set_flag(PIPE_MTE3, PIPE_MTE2, buffer);
        buffer ^= 1;
    }
    wait_flag(PIPE_MTE3, PIPE_MTE2, 0);
    wait_flag(PIPE_MTE3, PIPE_MTE2, 1);
}
