// Workspaces of transfer engines, as host programs make them.
#pragma once
#include <acl/acl.h>
#include <hccl/hccl.h>
#include <mpi.h>
#include <ptokit/comm.hpp>

namespace pto {
namespace comm {
struct EngineWorkspace {
    void* memory = nullptr;
    bool Init() { return memory || aclrtMalloc(&memory, 16384, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS; }
    void Finalize() {}
    void* GetWorkspaceAddr() const { return memory; }
};
namespace sdma {
using SdmaWorkspaceManager = EngineWorkspace;
}
namespace urma {
struct UrmaWorkspaceManager : EngineWorkspace {
    // Where the memory of all ranks begins: 8 bytes each.
    bool Init(HcclComm, uint32_t, uint32_t, void* own, uint64_t) {
        return EngineWorkspace::Init() && MPI_Allgather(&own, 8, MPI_CHAR, memory, 8, MPI_CHAR, MPI_COMM_WORLD) == 0;
    }
};
}  // namespace urma
}  // namespace comm
}  // namespace pto
