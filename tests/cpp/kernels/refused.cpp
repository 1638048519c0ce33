// Kernels that cannot be lifted, each for one reason. The lines are named in test_refused.py.
#include <pto/pto-inst.hpp>
using namespace pto;

using Row = Tile<TileType::Vec, float, 8, 64>;
using Rows = GlobalTensor<float, Shape<1, 1, 1, 8, 64>, Stride<1, 1, 1, 64, 1>>;

__global__ AICORE void chosen(__gm__ int32_t* x, int32_t n) {
    int32_t even[12], odd[12];
    for (int32_t k = 0; k < 12; k++) {
        even[k] = x[k];
        odd[k] = x[12 + k];
    }
    const int32_t* row = n & 1 ? odd : even;  // chosen
    x[0] = row[n % 12];
}

static AICORE void again(Row& t, int n) {
    if (n > 0) {
        TADDS(t, t, 1.0f);
        again(t, n - 1);
        TADDS(t, t, 1.0f);
    }
}
__global__ AICORE void recursion(__gm__ float* x, int32_t n) {
    Row t;
    TASSIGN(t, 0);
    again(t, n);  // recursion
}

AICORE void elsewhere(int n);
__global__ AICORE void declared(__gm__ float* x, int32_t n) {
    elsewhere(n);  // declared
}

__global__ AICORE void assembly(__gm__ int64_t* x) {
    int64_t t = 0;
    asm volatile("mov %%rsp, %0" : "=r"(t));  // assembly
    x[0] = t;
}

__global__ AICORE void option(__gm__ float* x, int32_t n) {
    Row t;
    Tile<TileType::Vec, int32_t, 8, 64> u;
    TASSIGN(t, 0);
    TASSIGN(u, 0x1000);
    TCVT(u, t, n ? RoundMode::CAST_RINT : RoundMode::CAST_FLOOR);  // option
}

__global__ AICORE void operands(__gm__ float* x) {
    Row t;
    TASSIGN(t, 0);
    TADD(t, t);  // operands
}

__global__ AICORE void address(__gm__ float* x) {
    Row t;
    Rows in(x);
    TLOAD(t, in);  // address
}
