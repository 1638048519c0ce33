#include <hccl/hccl.h>
#include <pto/comm/pto_comm_inst.hpp>
#include <pto/pto-inst.hpp>
#include "ring.h"
using namespace pto;
using Row = Tile<TileType::Vec, int32_t, 1, N>;
using Rows = GlobalTensor<int32_t, Shape<1, 1, 1, 1, N>, Stride<N, N, N, N, 1>>;

template <class T>
static AICORE __gm__ T* at(__gm__ Windows* w, __gm__ T* own, int rank) {
    return (__gm__ T*)(w->in[rank] + ((uint64_t)own - w->in[w->rank]));
}

// Send to the next, and wait for the one before in the same launch.
__global__ AICORE void pass(__gm__ Windows* w, __gm__ int32_t* x, __gm__ int32_t* y, __gm__ int32_t* signal, int tell) {
    const int next = (w->rank + 1) % w->ranks;
    Row t;
    TASSIGN(t, 0);
    Rows from(x), to(at(w, y, next));
    comm::TPUT(to, from, t);
    pipe_barrier(PIPE_ALL);
    comm::Signal there(at(w, signal, next)), here(signal);
    if (tell) comm::TNOTIFY(there, 7, comm::NotifyOp::Set);
    comm::TWAIT(here, 7, comm::WaitCmp::EQ);
}

// The sum of all on the root, whose members lie in an array.
__global__ AICORE void sum(__gm__ Windows* w, __gm__ int32_t* x, __gm__ int32_t* y, int ranks) {
    using Any = GlobalTensor<int32_t, Shape<>, Stride<>>;
    Any members[4];
    for (int rank = 0; rank < ranks; rank++) members[rank] = Any(at(w, x, rank), {1, 1, 1, 1, N}, {N, N, N, N, 1});
    comm::ParallelGroup<Any> group(members, ranks, 1);
    Tile<TileType::Vec, int32_t, 1, N / 2> acc, received;
    TASSIGN(acc, 0);
    TASSIGN(received, 4096);
    Rows to(y);
    if (w->rank == 1) comm::TREDUCE(group, to, acc, received, comm::ReduceOp::Sum);
}

__global__ AICORE void notify(__gm__ Windows* w, __gm__ int32_t* signal, int rank) {
    comm::Signal there(at(w, signal, rank));
    comm::TNOTIFY(there, 1, comm::NotifyOp::AtomicAdd);
}
__global__ AICORE void await(__gm__ int32_t* signal, __gm__ int32_t* y) {
    comm::Signal here(signal);
    comm::TWAIT(here, 2, comm::WaitCmp::GE);
    *y = 5;
}

void launch_pass(void* stream, Windows* w, int32_t* x, int32_t* y, int32_t* signal, int tell) {
    pass<<<1, nullptr, stream>>>(w, x, y, signal, tell);
}
void launch_sum(void* stream, Windows* w, int32_t* x, int32_t* y, int ranks) {
    sum<<<1, nullptr, stream>>>(w, x, y, ranks);
}
void launch_notify(void* stream, Windows* w, int32_t* signal, int rank) { notify<<<1, nullptr, stream>>>(w, signal, rank); }
void launch_await(void* stream, int32_t* signal, int32_t* y) { await<<<1, nullptr, stream>>>(signal, y); }
