// Transfers between devices and signals: those of pto::comm.
#pragma once
#include <ptokit/instructions.hpp>

namespace pto {
namespace comm {
using pto::AtomicType;
using pto::NotifyOp;
using pto::ReduceOp;
using pto::WaitCmp;
using Signal = GlobalTensor<int32_t, Shape<1, 1, 1, 1, 1>, Stride<1, 1, 1, 1, 1>>;
template <class T, class Shape, class Stride, Layout L = Layout::ND>
using GlobalSignal = GlobalTensor<T, Shape, Stride, L>;
template <int Rows, int Cols>
struct Signal2D : GlobalTensor<int32_t, Shape<1, 1, 1, Rows, Cols>, Stride<1, 1, 1, DYNAMIC, 1>> {
    using Tensor = GlobalTensor<int32_t, Shape<1, 1, 1, Rows, Cols>, Stride<1, 1, 1, DYNAMIC, 1>>;
    PTO_INLINE Signal2D(int32_t* p, int stride = Cols)
        : Tensor(p, typename Tensor::Shape{}, typename Tensor::Stride{stride}) {}
};
enum class DmaEngine : uint8_t { SDMA, URMA, RDMA };
template <class T>
struct ParallelGroup {
    using value_type = T;
    T* tensors = nullptr;
    int nranks = 0, rootIdx = -1;
    ParallelGroup() = default;
    PTO_INLINE ParallelGroup(T* tensors, int count, int root) : tensors(tensors), nranks(count), rootIdx(root) {}
    static PTO_INLINE ParallelGroup Create(T* tensors, int count, int root) { return {tensors, count, root}; }
    PTO_INLINE int GetRootIdx() const { return rootIdx; }
    PTO_INLINE int GetSize() const { return nranks; }
    PTO_INLINE bool empty() const { return nranks == 0; }
    PTO_INLINE T& operator[](int rank) const { return tensors[rank]; }
};

template <AtomicType A = AtomicType::AtomicNone, class... P>
PTO_INLINE RecordEvent TPUT(P&&... p) {
    return told<A>("comm.tput", p...);
}
template <class... P>
PTO_INLINE RecordEvent TGET(P&&... p) {
    return told("comm.tget", p...);
}
template <class... P>
PTO_INLINE void TNOTIFY(P&&... p) {
    told("TNOTIFY", p...);
}
template <class... P>
PTO_INLINE void TWAIT(P&&... p) {
    told("TWAIT", p...);
}
template <class... P>
PTO_INLINE bool TTEST(P&&... p) {
    told("TTEST", p...);
    return ptokit_integer_result() != 0;
}
// Collectives: how many members a group has only the run knows, so that each is a transfer of its own.
enum class CollEngine : uint8_t { AIV, CCU };
template <class G>
struct PartOfRows {
    using Shape = pto::Shape<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;
    using Stride = pto::Stride<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;
    using Tensor = GlobalTensor<typename G::DType, Shape, Stride, G::layout>;
};
// The rows of a tensor that belong to a member, which has as many.
template <class G, class M>
PTO_INLINE typename PartOfRows<G>::Tensor rows_of(G& whole, M& member, int rank) {
    const auto& s = member.shape_;
    const auto& d = whole.stride_;
    return {whole.data() + rank * s.template get<3>() * d.template get<3>(),
            {s.template get<0>(), s.template get<1>(), s.template get<2>(), s.template get<3>(), s.template get<4>()},
            {d.template get<0>(), d.template get<1>(), d.template get<2>(), d.template get<3>(), d.template get<4>()}};
}
#define PTOKIT_COLLECTIVE(NAME, OTHER) \
    template <CollEngine E = CollEngine::AIV, class M, class G, class... P> \
    PTO_INLINE RecordEvent NAME(ParallelGroup<M>& group, G& OTHER, P&&... p) { \
        if constexpr (E == CollEngine::CCU) \
            told("?" #NAME " by the collective unit"); \
        else \
            for (int rank = 0; rank < group.GetSize(); rank++) each_##NAME(group[rank], OTHER, rank, p...); \
        return {}; \
    }
template <class M, class G, class... P>
PTO_INLINE void each_TBROADCAST(M& member, G& src, int, P&... p) {
    auto all = rows_of(member, src, 0);
    told("comm.tput", all, src, p...);
}
template <class M, class G, class... P>
PTO_INLINE void each_TGATHER(M& member, G& dst, int rank, P&... p) {
    auto part = rows_of(dst, member, rank);
    told("comm.tget", part, member, p...);
}
template <class M, class G, class... P>
PTO_INLINE void each_TSCATTER(M& member, G& src, int rank, P&... p) {
    auto part = rows_of(src, member, rank);
    told("comm.tput", member, part, p...);
}
PTOKIT_COLLECTIVE(TBROADCAST, src)
PTOKIT_COLLECTIVE(TGATHER, dst)
PTOKIT_COLLECTIVE(TSCATTER, src)
#undef PTOKIT_COLLECTIVE

// A part of a tensor as large as a tile's valid region, or what is left of it there.
template <class G>
PTO_INLINE typename PartOfRows<G>::Tensor piece_of(G& whole, int64_t a, int64_t b, int64_t c, int64_t row,
                                                   int64_t column, int64_t rows, int64_t columns) {
    const auto& d = whole.stride_;
    return {whole.data() + a * d.template get<0>() + b * d.template get<1>() + c * d.template get<2>() +
                row * d.template get<3>() + column * d.template get<4>(),
            {1, 1, 1, rows, columns},
            {d.template get<0>(), d.template get<1>(), d.template get<2>(), d.template get<3>(), d.template get<4>()}};
}
// A reduction goes tile by tile: the root's part, then those of the others in their order.
template <class M, class G, class T>
PTO_INLINE void reduced(ParallelGroup<M>& group, G& dst, T& acc, T& received, ReduceOp op) {
    auto& first = group[group.GetRootIdx()];
    const auto& s = first.shape_;
    const int64_t rows = acc.GetValidRow(), columns = acc.GetValidCol();
    for (int64_t a = 0; a < s.template get<0>(); a++)
    for (int64_t b = 0; b < s.template get<1>(); b++)
    for (int64_t c = 0; c < s.template get<2>(); c++)
    for (int64_t row = 0; row < s.template get<3>(); row += rows)
    for (int64_t column = 0; column < s.template get<4>(); column += columns) {
        const int64_t below = s.template get<3>() - row, beside = s.template get<4>() - column;
        const int64_t high = below < rows ? below : rows, wide = beside < columns ? beside : columns;
        acc.SetValidRegion(high, wide);
        received.SetValidRegion(high, wide);
        auto own = piece_of(first, a, b, c, row, column, high, wide);
        told("TLOAD", acc, own);
        PtoSetWaitFlag<PIPE_MTE2, PIPE_V>();
        for (int rank = 0; rank < group.GetSize(); rank++)
            if (rank != group.GetRootIdx()) {
                auto other = piece_of(group[rank], a, b, c, row, column, high, wide);
                told("TLOAD", received, other);
                PtoSetWaitFlag<PIPE_MTE2, PIPE_V>();
                if (op == ReduceOp::Sum) told("TADD", acc, acc, received);
                else if (op == ReduceOp::Max) told("TMAX", acc, acc, received);
                else told("TMIN", acc, acc, received);
                PtoSetWaitFlag<PIPE_V, PIPE_MTE2>();
            }
        PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();
        auto to = piece_of(dst, a, b, c, row, column, high, wide);
        told("TSTORE", to, acc);
        PtoSetWaitFlag<PIPE_MTE3, PIPE_MTE2>();
    }
    acc.SetValidRegion(rows, columns);
    received.SetValidRegion(rows, columns);
}
template <CollEngine E = CollEngine::AIV, class M, class G, class T, class... P>
PTO_INLINE RecordEvent TREDUCE(ParallelGroup<M>& group, G& dst, T& acc, T& received, ReduceOp op, P&...) {
    if constexpr (E == CollEngine::CCU) told("?TREDUCE by the collective unit");
    else reduced(group, dst, acc, received, op);
    return {};
}
template <CollEngine E = CollEngine::AIV, class M, class G, class T, class... P>
PTO_INLINE RecordEvent TREDUCE(ParallelGroup<M>& group, G& dst, T& acc, T& ping, T&, ReduceOp op, P&... p) {
    return TREDUCE<E>(group, dst, acc, ping, op, p...);  // where a second tile only saves time
}
// Transfers in the background. An event is the number of its transfer in the session, and 0 is none.
struct AsyncSession {
    int64_t token = 0;
    mutable uint64_t submitted = 0;
    uint64_t offset = 0;  // in bytes, of both ends
    bool valid = false;
};
struct AsyncEvent {
    uint64_t handle = 0;
    DmaEngine engine = DmaEngine::SDMA;
    PTO_INLINE bool valid() const { return handle != 0; }
    PTO_INLINE bool Wait(const AsyncSession& session) const { return handle == 0 || asked("wait_async_event", session); }
    PTO_INLINE bool Test(const AsyncSession& session) const { return handle == 0 || asked("test_async_event", session); }

private:
    PTO_INLINE bool asked(const char* name, const AsyncSession& session) const {
        told(name, session.token, handle);
        return ptokit_integer_result() != 0;
    }
};
template <class T>
PTO_INLINE bool opened(T& scratch, uint8_t* workspace, AsyncSession& session, uint64_t offset, bool valid) {
    session.valid = valid;
    if (!valid) return false;
    told("build_async_session", scratch, workspace);
    session.token = ptokit_integer_result();
    session.submitted = 0;
    session.offset = offset;
    return true;
}
template <class G>
PTO_INLINE G shifted(const G& whole, uint64_t bytes) {
    G part = whole;
    part.data_ = (typename G::DType*)((uint8_t*)whole.data() + bytes);
    return part;
}
namespace sdma {
constexpr uint32_t UB_ALIGN_SIZE = 256, kSdmaMaxChannel = 48, kSdmaMinTransferBytes = 64, kAutoChannelGroupIdx = ~0u;
constexpr uint64_t kDefaultSdmaBlockBytes = 1 << 20;
struct SdmaBaseConfig {
    uint64_t block_bytes, comm_block_offset;
    uint32_t queue_num;
};
}  // namespace sdma
template <DmaEngine E = DmaEngine::SDMA, class T>
PTO_INLINE bool BuildAsyncSession(T& scratch, uint8_t* workspace, AsyncSession& session, uint32_t sync_id = 0,
                                  const sdma::SdmaBaseConfig& config = {sdma::kDefaultSdmaBlockBytes, 0, 1},
                                  uint32_t channel = sdma::kAutoChannelGroupIdx) {
    static_assert(E == DmaEngine::SDMA);
    const uint32_t queues = config.queue_num, own = channel == sdma::kAutoChannelGroupIdx ? get_block_idx() : channel;
    const bool queued = queues != 0 && queues <= sdma::kSdmaMaxChannel && uint64_t(own + 1) * queues <= sdma::kSdmaMaxChannel;
    return opened(scratch, workspace, session, config.comm_block_offset, workspace != nullptr && sync_id <= 7 && queued);
}
#ifdef PTO_NPU_ARCH_A5
#define PTO_URMA_SUPPORTED
namespace urma {
// Where the memory of a rank begins: the host program has put that into the workspace (ptokit/engines.hpp).
PTO_INLINE uint64_t UrmaPeerMrBaseAddr(const uint8_t* workspace, uint32_t rank) {
    return reinterpret_cast<const uint64_t*>(workspace)[rank];
}
}  // namespace urma
template <DmaEngine E>
PTO_INLINE bool BuildAsyncSession(uint8_t* workspace, AsyncSession& session) {
    static_assert(E == DmaEngine::URMA);
    Tile<TileType::Vec, uint8_t, 1, 32> scratch;  // which this engine does not need
    TASSIGN(scratch, 0);
    return opened(scratch, workspace, session, 0, workspace != nullptr);
}
template <DmaEngine E>
PTO_INLINE bool BuildAsyncSession(uint8_t* workspace, uint32_t, AsyncSession& session) {
    return BuildAsyncSession<E>(workspace, session);
}
#endif
#define PTOKIT_IN_BACKGROUND(NAME, TOLD) \
    template <DmaEngine E = DmaEngine::SDMA, class D, class S, class... P> \
    PTO_INLINE AsyncEvent NAME(D& dst, S& src, const AsyncSession& session, P&&... p) { \
        (wait_for(p), ...); \
        if (!session.valid) return {0, E}; \
        auto to = shifted(dst, session.offset); \
        auto from = shifted(src, session.offset); \
        told(TOLD, session.token, to, from); \
        return {++session.submitted, E}; \
    }
PTOKIT_IN_BACKGROUND(TPUT_ASYNC, "tput_async")
PTOKIT_IN_BACKGROUND(TGET_ASYNC, "tget_async")
#undef PTOKIT_IN_BACKGROUND
}  // namespace comm
// Prefetches in the background, in a session that is given, or in one of the context's own.
struct PrefetchAsyncContext {
    uint8_t* workspace = nullptr;
    comm::AsyncSession session;
    comm::AsyncSession* externalSession = nullptr;
    Tile<TileType::Vec, uint8_t, 1, comm::sdma::UB_ALIGN_SIZE> scratchTile;
    PrefetchAsyncContext() = default;
    PTO_INLINE explicit PrefetchAsyncContext(uint8_t* memory, comm::AsyncSession* external = nullptr)
        : workspace(memory), externalSession(external) {}
    // Number by number: a choice between two places would be one that only the run knows.
    PTO_INLINE comm::AsyncSession GetSession() const {
        comm::AsyncSession chosen = session;
        if (externalSession != nullptr) {
            const int64_t token = externalSession->token;
            const uint64_t submitted = externalSession->submitted, valid = externalSession->valid;
            chosen.token = token, chosen.submitted = submitted, chosen.valid = valid;
        }
        return chosen;
    }
};
template <class G, class... P>
PTO_INLINE comm::AsyncEvent TPREFETCH_ASYNC(G& src, PrefetchAsyncContext& context, P&&... p) {
    (wait_for(p), ...);
    if (context.externalSession == nullptr && !context.session.valid) {
        TASSIGN(context.scratchTile, 0);
        comm::BuildAsyncSession(context.scratchTile, context.workspace, context.session);
    }
    const comm::AsyncSession session = context.GetSession();
    if (!session.valid) return {};
    told("prefetch_async", session.token, src);
    const uint64_t most = 64 << 20, bytes = src.shape_.template get<4>() * sizeof(typename G::DType);  // of an operation
    const uint64_t last = session.submitted + (bytes + most - 1) / most;
    if (context.externalSession != nullptr) context.externalSession->submitted = last;
    else context.session.submitted = last;
    return {last, comm::DmaEngine::SDMA};
}
template <int Rows, int Cols>
struct is_global_data<comm::Signal2D<Rows, Cols>> : std::true_type {};
}  // namespace pto
