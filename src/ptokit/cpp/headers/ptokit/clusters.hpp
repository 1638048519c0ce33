// Flags between the cores of a cluster by what they order, and where a cluster keeps what its cores hand each other.
#pragma once
#include <pto/pto-inst.hpp>

#define FFTS_MODE_BIT_START 4
#define FFTS_FLAG_ID_BIT_START 8
#define VEC_CORE_ID_OFFSET 16  // the flags of the second vector core, on A5

namespace pto {
enum CVCommFftsEvent : uint16_t { CV_COMM_CTRL = 12, CV_COMM_RSVD_13, CV_COMM_RSVD_14, CV_COMM_RSVD_15 };
enum CVSyncMode : uint16_t { C_ALL_CORE_SYNC = 0, V_ALL_CORE_SYNC = 0, V_SUBCORES_SYNC = 1, CV_CORE_SYNC = 2 };
constexpr int kCvCommSlotBytes = 512, kCvMaxCores = 25;

PTO_INLINE uint16_t _getFFTSMsg(CVSyncMode mode, uint16_t flag, uint16_t base = 1) {
    return uint16_t(getFFTSMsg(mode, flag, base));
}

// The slot of a cluster. A2 and A3 hand it from the cube core to its vector cores through global memory; on A5 each
// core computes it.
template <int SlotBytes = kCvCommSlotBytes, int MaxCores = kCvMaxCores>
PTO_INLINE int TSYNC_CVID(int block, __gm__ uint8_t* slots) {
    int slot = int(get_coreid() % MaxCores);
#ifdef PTO_NPU_ARCH_A2A3
    auto* told = reinterpret_cast<__gm__ volatile uint32_t*>(slots + size_t(block) * SlotBytes);
#if defined(__DAV_CUBE__)
    *told = uint32_t(slot);
    dcci(told, cache_line_t::SINGLE_CACHE_LINE);
    dsb(DSB_DDR);
    ffts_cross_core_sync(PIPE_MTE2, _getFFTSMsg(CV_CORE_SYNC, CV_COMM_CTRL));
#elif defined(__DAV_VEC__)
    dcci(told, cache_line_t::SINGLE_CACHE_LINE);
    wait_flag_dev(CV_COMM_CTRL);
    slot = int(*told);
#endif
#endif
    return slot;
}

enum class SyncOpType : uint8_t { TSTORE_C2GM, TSTORE_V2GM, TMOV_C2UB, TINSERT_V2L1, TLOAD };

// What one kind of core makes and the other takes: `record` and `wait` say that it is there, `free` and `allocate`, of the
// next flag, that its place may be written again.
template <SyncOpType Producer, SyncOpType Consumer>
struct TSync_Custom {
    static_assert(Consumer == SyncOpType::TLOAD && Producer != SyncOpType::TLOAD, "a TLOAD takes what a store or move makes");
    static constexpr bool is_c2v = Producer == SyncOpType::TSTORE_C2GM || Producer == SyncOpType::TMOV_C2UB;
    static constexpr bool is_v2c = !is_c2v;
    static constexpr pipe_t made_by = is_c2v ? PIPE_FIX : PIPE_MTE3;
    static constexpr pipe_t taken_by = Producer == SyncOpType::TMOV_C2UB ? PIPE_V :
                                       Producer == SyncOpType::TINSERT_V2L1 ? PIPE_MTE1 : PIPE_MTE2;
    uint16_t flag_id;

    PTO_INLINE void record() const { set<is_c2v>(made_by, flag_id); }
    PTO_INLINE void wait() const { await<is_v2c>(taken_by, flag_id); }
    PTO_INLINE void allocate() const { await<is_c2v>(made_by, uint16_t(flag_id + 1)); }
#ifdef PTO_NPU_ARCH_A2A3
    PTO_INLINE void free() const { set<is_v2c>(PIPE_MTE2, uint16_t(flag_id + 1)); }
#else
    PTO_INLINE void free() const { set<is_v2c>(is_v2c ? PIPE_MTE1 : taken_by, uint16_t(flag_id + 1)); }
#endif

private:
    // A cube core of A5 has a flag of each vector core.
    template <bool OfCube>
    PTO_INLINE static void set(pipe_t pipe, uint16_t flag) {
#ifdef PTO_NPU_ARCH_A2A3
        ffts_cross_core_sync(pipe, _getFFTSMsg(CV_CORE_SYNC, flag));
#else
        set_intra_block(pipe, flag);
        if constexpr (OfCube) set_intra_block(pipe, flag + VEC_CORE_ID_OFFSET);
#endif
    }
    template <bool OfCube>
    PTO_INLINE static void await(pipe_t pipe, uint16_t flag) {
#ifdef PTO_NPU_ARCH_A2A3
        wait_flag_dev(flag);
#else
        wait_intra_block(pipe, flag);
        if constexpr (OfCube) wait_intra_block(pipe, flag + VEC_CORE_ID_OFFSET);
#endif
    }
};
}  // namespace pto
