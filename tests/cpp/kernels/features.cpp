// What C++ has for control and data, each in a kernel of its own.
#include <pto/pto-inst.hpp>
using namespace pto;

using Row = Tile<TileType::Vec, float, 8, 64>;
using Rows = GlobalTensor<float, Shape<1, 1, 1, 8, 64>, Stride<1, 1, 1, 64, 1>>;
constexpr int SIZE = 8 * 64;

// Buffers that are used in turn, with events between pipes, in a class.
template <class T, int N>
struct Ring {
    T slot[N];
    int head = 0;
    AICORE Ring(uint32_t base) {
        for (int i = 0; i < N; i++) TASSIGN(slot[i], base + i * 0x1000);
    }
    AICORE T& next() {
        T& t = slot[head];
        head = (head + 1) % N;
        return t;
    }
};
__global__ AICORE void ring(__gm__ float* x, __gm__ float* y, int32_t n) {
    Ring<Row, 2> buffers(0);
    Event<Op::TLOAD, Op::TADDS> ready;
    Event<Op::TADDS, Op::TSTORE_VEC> done;
    for (int i = 0; i < n; i++) {
        Row& t = buffers.next();
        Rows in(x + i * SIZE), out(y + i * SIZE);
        ready = TLOAD(t, in);
        done = TADDS(t, t, 1.0f, ready);
        TSTORE(out, t, done);
        pipe_barrier(PIPE_ALL);
    }
}

// Functions of functions.
__global__ AICORE void lambdas(__gm__ float* x, __gm__ float* y, int32_t n) {
    Row t;
    TASSIGN(t, 0);
    auto step = [&](auto work, int at) {
        Rows in(x + at), out(y + at);
        TLOAD(t, in);
        pipe_barrier(PIPE_ALL);
        work(t);
        pipe_barrier(PIPE_ALL);
        TSTORE(out, t);
        pipe_barrier(PIPE_ALL);
    };
    for (int i = 0; i < n; i++) {
        if (i % 2)
            step([](Row& v) { TABS(v, v); }, i * SIZE);
        else
            step([](Row& v) { TMULS(v, v, 2.0f); }, i * SIZE);
    }
}

// What happens is decided by numbers in global memory, and by an element of a tile.
__global__ AICORE void data(__gm__ float* x, __gm__ float* y, __gm__ int32_t* rows) {
    Row t;
    TASSIGN(t, 0);
    int i = 0;
    while (rows[i] >= 0 && i < 8) {
        Rows in(x + rows[i] * SIZE), out(y + i * SIZE);
        TLOAD(t, in);
        pipe_barrier(PIPE_ALL);
        if (t.GetValue(3) > 0.0f) TADDS(t, t, 10.0f);
        pipe_barrier(PIPE_ALL);
        TSTORE(out, t);
        pipe_barrier(PIPE_ALL);
        i++;
    }
    rows[15] = i;
}

// A table of constants, continue and switch.
__global__ AICORE void table(__gm__ float* x, __gm__ float* y, int32_t n) {
    constexpr int order[4] = {3, 1, 0, 2};
    Row t;
    TASSIGN(t, 0);
    for (int k : order) {
        if (k >= n) continue;
        Rows in(x + k * SIZE), out(y + k * SIZE);
        TLOAD(t, in);
        pipe_barrier(PIPE_ALL);
        switch (k) {
            case 0:
                TNEG(t, t);
                break;
            case 2:
                TABS(t, t);
                break;
            default:
                TMULS(t, t, 3.0f);
        }
        pipe_barrier(PIPE_ALL);
        TSTORE(out, t);
        pipe_barrier(PIPE_ALL);
    }
}

// A local array that is written in a loop, and read in another order.
__global__ AICORE void local(__gm__ int32_t* x, __gm__ int32_t* y, int32_t n) {
    int32_t kept[12];
    for (int i = 0; i < 12; i++) kept[i] = x[i] * 3;
    for (int i = 0; i < n; i++) y[i] = kept[(i * 5) % 12] - i;
}

template <class T, int N>
__global__ AICORE void twice(__gm__ T* x, __gm__ T* y) {
    using V = Tile<TileType::Vec, T, 8, N>;
    using G = GlobalTensor<T, Shape<1, 1, 1, 8, N>, Stride<1, 1, 1, N, 1>>;
    V t;
    TASSIGN(t, 0);
    G in(x), out(y);
    TLOAD(t, in);
    pipe_barrier(PIPE_ALL);
    TADD(t, t, t);
    pipe_barrier(PIPE_ALL);
    TSTORE(out, t);
}

void start(float* x, float* y, int32_t n, void* stream) { ring<<<2, nullptr, stream>>>(x, y, n); }
