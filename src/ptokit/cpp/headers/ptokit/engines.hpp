// Workspaces of transfer engines, as host programs make them: memory that nothing needs here.
#pragma once
#include <acl/acl.h>
#include <hccl/hccl.h>
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
}  // namespace comm
}  // namespace pto
