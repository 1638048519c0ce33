#include <acl/acl.h>
#include <pto/pto-inst.hpp>
using namespace pto;

template <class T, int N>
__global__ AICORE void scale(__gm__ T* out, __gm__ T* x, T factor, int32_t rows) {
    using V = Tile<TileType::Vec, T, 16, N, BLayout::RowMajor, -1, -1>;
    using G = GlobalTensor<T, Shape<1, 1, 1, -1, N>, Stride<1, 1, 1, N, 1>>;
    V t(rows, N);
    TASSIGN(t, 0x100);
    G in(x, {rows}), to(out, {rows});
    Event<Op::TLOAD, Op::TMULS> loaded = TLOAD(t, in);
    Event<Op::TMULS, Op::TSTORE_VEC> scaled = TMULS(t, t, factor, loaded);
    TSTORE(to, t, scaled);
}

template <class T, int N>
void launch_scale(T* out, T* x, T factor, int32_t rows, void* stream) {
    scale<T, N><<<1, nullptr, stream>>>(out, x, factor, rows);
}
template void launch_scale<float, 64>(float*, float*, float, int32_t, void*);
template void launch_scale<int32_t, 32>(int32_t*, int32_t*, int32_t, int32_t, void*);
template void launch_scale<int64_t, 16>(int64_t*, int64_t*, int64_t, int32_t, void*);
