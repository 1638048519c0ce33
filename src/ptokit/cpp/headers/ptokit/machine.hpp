// Flags, barriers, events, the numbers of blocks and cores, and what the scalar unit does.
#pragma once
#include <ptokit/telling.hpp>

typedef dcci_t cache_line_t;
PTO_INLINE void set_flag(pipe_t from, pipe_t to, int64_t id) {
    ptokit_begin("set_flag");
    pto::tell(from);
    pto::tell(to);
    ptokit_number("event", id);
    ptokit_end();
}
PTO_INLINE void wait_flag(pipe_t from, pipe_t to, int64_t id) {
    ptokit_begin("wait_flag");
    pto::tell(from);
    pto::tell(to);
    ptokit_number("event", id);
    ptokit_end();
}
PTO_INLINE void pipe_barrier(pipe_t pipe) { pto::told("pipe_barrier", pipe); }
// In parentheses, since a kernel may have made macros of these names before.
PTO_INLINE int64_t (get_block_idx)() { return ptokit_query("get_block_idx"); }
PTO_INLINE int64_t (get_block_num)() { return ptokit_query("get_block_num"); }
PTO_INLINE int64_t (get_subblockid)() { return ptokit_query("get_subblock_idx"); }
PTO_INLINE int64_t (get_subblockdim)() { return ptokit_query("get_subblock_num"); }
PTO_INLINE int64_t (get_coreid)() { return ptokit_query("get_block_idx"); }
static const struct {
    PTO_INLINE operator int64_t() const { return get_block_idx(); }
} block_idx;
static const struct {
    PTO_INLINE operator int64_t() const { return get_block_num(); }
} block_num;

#ifndef PTOKIT_HOST  // where these are those of the standard
template <class A, class B>
PTO_INLINE constexpr auto min(A a, B b) {
    return a < b ? a : b;
}
template <class A, class B>
PTO_INLINE constexpr auto max(A a, B b) {
    return a > b ? a : b;
}
#endif

// What has no effect on a result, nor on what is ordered here: counters and caches of instructions.
template <class... P>
PTO_INLINE void preload(P...) {}
template <class... P>
PTO_INLINE void set_ffts_base_addr(P...) {}
template <class... P>
PTO_INLINE void set_padding(P...) {}
template <class... P>
PTO_INLINE void trap(P...) { pto::told("TRAP"); }
PTO_INLINE int64_t get_icache_prl_st() { return 0; }
PTO_INLINE uint64_t get_sys_cnt() { return 0; }
PTO_INLINE void set_atomic_none() {}
namespace pto {
template <bool BySdma = true, int Cores = -1, class... P>
inline void PTO_PREFETCH(P...) {}  // of hosts
}  // namespace pto
PTO_INLINE uint64_t sbitset0(uint64_t x, int64_t bit) { return x & ~(1ull << bit); }
PTO_INLINE uint64_t sbitset1(uint64_t x, int64_t bit) { return x | 1ull << bit; }
PTO_INLINE uint64_t get_ctrl() { return uint64_t(ptokit_query("get_ctrl")); }
PTO_INLINE void set_ctrl(uint64_t x) { pto::told("set_ctrl", x); }

// Caches of the scalar unit.
template <class T, class... P>
PTO_INLINE void dcci(T* at, P... how) {
    ptokit_begin("dcci");
    ptokit_pointer(pto::dtype_name<T>(), const_cast<const std::remove_cv_t<T>*>(at));
    (pto::tell(how), ...);
    ptokit_end();
}
PTO_INLINE void dsb(mem_dsb_t what) { pto::told("dsb", what); }

// Flags between cores.
PTO_INLINE uint64_t getFFTSMsg(uint64_t mode, uint64_t id, uint64_t base = 1) { return base | mode << 4 | id << 8; }
PTO_INLINE void ffts_cross_core_sync(pipe_t pipe, uint64_t message) {
    ptokit_begin("ffts_cross_core_sync");
    pto::tell(pipe);
    ptokit_number("message", int64_t(message));
    ptokit_end();
}
template <class A>
PTO_INLINE void st_dev(uint64_t message, A, int) {
    ffts_cross_core_sync(PIPE_S, message);
}
template <class T>
PTO_INLINE T ld_dev(const T* from, int16_t bytes) {
    return from[bytes / int(sizeof(T))];
}
PTO_INLINE void wait_flag_dev(int64_t id) { pto::told("wait_flag_dev", id); }
PTO_INLINE void wait_flag_dev(pipe_t pipe, int64_t id) { pto::told("wait_flag_dev", pipe, id); }
PTO_INLINE void set_intra_block(pipe_t pipe, int64_t id) { pto::told("set_intra_block", pipe, id); }
PTO_INLINE void wait_intra_block(pipe_t pipe, int64_t id) { pto::told("wait_intra_block", pipe, id); }
constexpr uint16_t FFTS_MODE_VAL = 2;

extern "C" int printf(const char*, ...);
namespace cce {
using ::printf;
}

namespace pto {
using ::getFFTSMsg;
using ::pipe_barrier;
using ::set_flag;
using ::wait_flag;
template <pipe_t A, pipe_t B>
struct EventCounter {
    static inline int32_t next = 0;
};
template <Op A, Op B, bool Auto = true, event_t Id = EVENT_ID0>
struct Event : AnyEvent {
    static constexpr Op srcOp = A, dstOp = B;
    static constexpr pipe_t srcPipe = pipe_of(A), dstPipe = pipe_of(B);
    static constexpr bool isSamePipe = srcPipe == dstPipe;
    int32_t token = Id;
    PTO_INLINE Event() {
        if constexpr (Auto) {
            token = EventCounter<srcPipe, dstPipe>::next;
            EventCounter<srcPipe, dstPipe>::next = (token + 1) & 7;
        }
    }
    PTO_INLINE Event(RecordEvent) : Event() { Record(); }
    PTO_INLINE Event& operator=(RecordEvent) { return Record(); }
    PTO_INLINE Event& Init() { return Record(); }
    PTO_INLINE Event& Record() {
        if constexpr (!isSamePipe) set_flag(srcPipe, dstPipe, token);
        return *this;
    }
    PTO_INLINE Event& Wait() {
        if constexpr (!isSamePipe) wait_flag(srcPipe, dstPipe, token);
#ifdef PTO_NPU_ARCH_A2A3
        else pipe_barrier(srcPipe);
#else
        else if constexpr (srcPipe == PIPE_MTE2 || srcPipe == PIPE_MTE3) pipe_barrier(srcPipe);
#endif
        return *this;
    }
};
template <Op O>
PTO_INLINE void TSYNC() {
    pipe_barrier(pipe_of(O));
}
template <class... E>
PTO_INLINE void TSYNC(E&... events) {
    (wait_for(events), ...);
}
template <class... E>
PTO_INLINE void WaitAllEvents(E&... events) {
    (wait_for(events), ...);
}
template <pipe_t A, pipe_t B>
PTO_INLINE void PtoSetWaitFlag(event_t set = EVENT_ID0, event_t wait = EVENT_ID0) {
    set_flag(A, B, set);
    wait_flag(A, B, wait);
}

template <class D, class S>
PTO_INLINE RecordEvent TRESHAPE(D& dst, S& src) {
    dst.place = src.place;
    return {};
}
template <class D, class S>
PTO_INLINE RecordEvent TSUBVIEW(D& dst, S& src, uint16_t row, uint16_t column) {
    constexpr int64_t size = sizeof(typename S::DType);
    dst.place = src.place + int64_t(S::isRowMajor ? row * S::Cols + column : column * S::Rows + row) * size;
    return {};
}
#define PTOKIT_METHOD(RESULT) \
    template <TileType L, class T, int R, int C, BLayout B, int VR, int VC, SLayout S, int F, PadValue P, CompactMode M> \
    PTO_INLINE RESULT Tile<L, T, R, C, B, VR, VC, S, F, P, M>
PTOKIT_METHOD(T)::GetValue(uint32_t offset) const {
    ptokit_begin("TGETVAL");
    tell(*this);
    ptokit_number("ui32", offset);
    ptokit_end();
    if constexpr (std::is_integral_v<T>)
        return T(ptokit_integer_result());
    else
        return T(float(ptokit_real_result()));
}
PTOKIT_METHOD(void)::SetValue(uint32_t offset, T value) {
    ptokit_begin("TSETVAL");
    tell(*this);
    ptokit_number("ui32", offset);
    tell(value);
    ptokit_end();
}
PTOKIT_METHOD(void)::SetMadTF32Mode(RoundMode mode) { told("SetMadTF32Mode", mode); }
PTOKIT_METHOD(void)::ResetMadMode() { told("ResetMadMode"); }
#undef PTOKIT_METHOD
}  // namespace pto
