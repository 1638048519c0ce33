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
    PTO_INLINE T& operator[](int rank) { return tensors[rank]; }
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
PTOKIT_UNREAD(TBROADCAST)
PTOKIT_UNREAD(TGATHER)
PTOKIT_UNREAD(TREDUCE)
PTOKIT_UNREAD(TSCATTER)
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
