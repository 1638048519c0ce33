// Threads of the vector core: a function that `cce::async_invoke` launches, and what each of its threads asks for and does.
#pragma once
#include <ptokit/transfers.hpp>

#ifdef PTO_NPU_ARCH_A5
#define __simt_vf__
#define __simt_callee__
#define LAUNCH_BOUND(...)
// The function and its arguments, and how many threads there are in x, y and z.
extern "C" PTOKIT_TOLD void ptokit_launch_threads(const void* function, uint32_t x, uint32_t y, uint32_t z, ...);
namespace cce {
struct dim3 {
    uint32_t x = 1, y = 1, z = 1;
};
template <class... Q, class... P>
PTO_INLINE void launch_threads(void (*function)(Q...), dim3 size, P... p) {
    static_assert((std::is_scalar_v<Q> && ...), "threads are handed numbers and pointers");
    ptokit_launch_threads((const void*)function, size.x, size.y, size.z, static_cast<Q>(p)...);
}
template <auto F, class... P>
PTO_INLINE void async_invoke(dim3 size, P... p) {
    launch_threads(F, size, p...);
}
}  // namespace cce

// What one thread does: an operation of the instruction table, whose calls stay where threads part.
#ifdef PTOKIT_HOST
#define PTOKIT_OF_THREADS(RESULT, FUNCTION, NAME, ...) \
    PTO_INLINE RESULT FUNCTION(__VA_ARGS__) { return RESULT(); }
#else
#define PTOKIT_OF_THREADS(RESULT, FUNCTION, NAME, ...) \
    __attribute__((convergent, nomerge, nothrow)) RESULT FUNCTION(__VA_ARGS__) __asm__("ptokit_threads." NAME);
#endif
PTOKIT_OF_THREADS(uint32_t, __cce_simt_get_TID_X, "get_tid_x")
PTOKIT_OF_THREADS(uint32_t, __cce_simt_get_TID_Y, "get_tid_y")
PTOKIT_OF_THREADS(uint32_t, __cce_simt_get_TID_Z, "get_tid_z")
PTOKIT_OF_THREADS(uint32_t, ptokit_threads_in_x, "get_block_dim_x")
PTOKIT_OF_THREADS(uint32_t, ptokit_threads_in_y, "get_block_dim_y")
PTOKIT_OF_THREADS(uint32_t, ptokit_threads_in_z, "get_block_dim_z")
PTOKIT_OF_THREADS(void, __sync_workitems, "syncthreads")
PTOKIT_OF_THREADS(float, __builtin_cce_redux_add_f32, "redux_add.f32", float)
PTOKIT_OF_THREADS(float, __builtin_cce_expf, "exp.f32", float)
#define PTOKIT_ATOMIC(FUNCTION, NAME) \
    PTOKIT_OF_THREADS(int32_t, FUNCTION, NAME ".signed.i32", int32_t*, int32_t) \
    PTOKIT_OF_THREADS(uint32_t, FUNCTION, NAME ".unsigned.i32", uint32_t*, uint32_t) \
    PTOKIT_OF_THREADS(float, FUNCTION, NAME ".f32", float*, float) \
    PTOKIT_OF_THREADS(half, FUNCTION, NAME ".f16", half*, half)
PTOKIT_ATOMIC(atomicAdd, "atomic_add")
PTOKIT_ATOMIC(atomicMax, "atomic_max")
PTOKIT_ATOMIC(atomicMin, "atomic_min")
#undef PTOKIT_ATOMIC
#undef PTOKIT_OF_THREADS

namespace ptokit {
template <uint32_t (*ASKED)()>
struct OfThread {
    PTO_INLINE operator uint32_t() const { return ASKED(); }
};
}  // namespace ptokit
static const struct {
    ptokit::OfThread<__cce_simt_get_TID_X> x;
    ptokit::OfThread<__cce_simt_get_TID_Y> y;
    ptokit::OfThread<__cce_simt_get_TID_Z> z;
} threadIdx;
static const struct {
    ptokit::OfThread<ptokit_threads_in_x> x;
    ptokit::OfThread<ptokit_threads_in_y> y;
    ptokit::OfThread<ptokit_threads_in_z> z;
} blockDim;
#endif
