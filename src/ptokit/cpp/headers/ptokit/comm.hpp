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
// Transfers in the background.
struct AsyncSession {};
struct AsyncEvent {
    uint64_t handle;
    PTO_INLINE bool valid() const { return handle != 0; }
    PTO_INLINE bool Wait(const AsyncSession&) const {
        told("?AsyncEvent");
        return true;
    }
    PTO_INLINE bool Test(const AsyncSession&) const {
        told("?AsyncEvent");
        return true;
    }
};
#define PTOKIT_IN_BACKGROUND(NAME) \
    template <DmaEngine E = DmaEngine::SDMA, class... P> \
    PTO_INLINE AsyncEvent NAME(P&&...) { \
        told("?" #NAME); \
        return {}; \
    }
PTOKIT_IN_BACKGROUND(TPUT_ASYNC)
PTOKIT_IN_BACKGROUND(TGET_ASYNC)
#undef PTOKIT_IN_BACKGROUND
template <DmaEngine E = DmaEngine::SDMA, class... P>
PTO_INLINE bool BuildAsyncSession(P&&...) {
    told("?BuildAsyncSession");
    return true;
}
}  // namespace comm
template <int Rows, int Cols>
struct is_global_data<comm::Signal2D<Rows, Cols>> : std::true_type {};
}  // namespace pto
