#include <acl/acl.h>
#include <gtest/gtest.h>
#include <hccl/hccl.h>
#include <mpi.h>
#include "ring.h"

extern "C" HcclResult HcclAllocComResourceByTiling(HcclComm, void*, void*, void**);
void launch_pass(void* stream, Windows* w, int32_t* x, int32_t* y, int32_t* signal, int tell);
void launch_sum(void* stream, Windows* w, int32_t* x, int32_t* y, int ranks);
void launch_notify(void* stream, Windows* w, int32_t* signal, int rank);
void launch_await(void* stream, int32_t* signal, int32_t* y);

struct Ring : testing::Test {
    int rank = 0, ranks = 0;
    void* stream = nullptr;
    HcclComm comm = nullptr;
    Windows* w = nullptr;
    int32_t *x, *y, *signal, seen[N] = {};

    void start() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        aclrtCreateStream(&stream);
        HcclCommInitRootInfo(ranks, nullptr, rank, &comm);
        HcclAllocComResourceByTiling(comm, stream, nullptr, (void**)&w);
        signal = (int32_t*)w->in[rank];
        x = signal + 64, y = x + N;
        int32_t host[N];
        for (int k = 0; k < N; k++) host[k] = k + 1000 * rank;
        aclrtMemcpy(x, sizeof host, host, sizeof host, ACL_MEMCPY_HOST_TO_DEVICE);
        HcclBarrier(comm, stream);
    }
    int32_t element(int k) {
        aclrtMemcpy(seen, sizeof seen, y, sizeof seen, ACL_MEMCPY_DEVICE_TO_HOST);
        return seen[k];
    }
};
#define ON(COUNT) \
    MPI_Comm_size(MPI_COMM_WORLD, &ranks); \
    if (ranks < COUNT) GTEST_SKIP() << "on " << COUNT; \
    start()

TEST_F(Ring, passes) {
    ON(2);
    launch_pass(stream, w, x, y, signal, 1);
    ASSERT_EQ(element(3), 3 + 1000 * ((rank + ranks - 1) % ranks));
}
TEST_F(Ring, sums) {
    ON(4);
    launch_sum(stream, w, x, y, ranks);
    if (rank == 1) ASSERT_EQ(element(N - 1), 4 * (N - 1) + 6000);
}
TEST_F(Ring, later_launch) {
    ON(2);
    if (rank == 0) {
        launch_await(stream, signal, y);
        ASSERT_EQ(element(0), 5);
    } else {
        for (int k = 0; k < 2; k++) {
            launch_notify(stream, w, signal, 0);
            aclrtSynchronizeStream(stream);
        }
    }
}
TEST_F(Ring, two_streams) {
    ON(1);
    void* other = nullptr;
    aclrtCreateStream(&other);
    launch_await(stream, signal, y);
    launch_notify(other, w, signal, 0);
    launch_notify(other, w, signal, 0);
    ASSERT_EQ(element(0), 5);
}
TEST_F(Ring, nobody_tells) {
    ON(2);
    launch_pass(stream, w, x, y, signal, rank);
    ASSERT_EQ(element(3), 3);
}
TEST_F(Ring, launches_nothing) {
    ON(2);
    ASSERT_EQ(element(3), 3 + 1000 * ((rank + ranks - 1) % ranks));
}
TEST_F(Ring, one_rank_is_wrong) {
    ON(2);
    ASSERT_EQ(rank, 0);
    HcclBarrier(comm, stream);
}
TEST_F(Ring, always_skips) { GTEST_SKIP(); }
TEST_F(Ring, broadcast) {
    ON(2);
    int32_t value = rank ? 0 : 42, all[4] = {};
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ASSERT_EQ(value, 42);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    ASSERT_EQ(all[1], 1);
}
