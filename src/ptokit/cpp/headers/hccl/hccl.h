// Communicators of a host program, as far as tests of kernels use them.
#pragma once
#include <cstdint>

typedef enum { HCCL_SUCCESS = 0, HCCL_E_INTERNAL = 4 } HcclResult;
typedef void* HcclComm;
constexpr uint32_t HCCL_ROOT_INFO_BYTES = 4108;
typedef struct {
    char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

extern "C" {
HcclResult HcclGetRootInfo(HcclRootInfo* root);
HcclResult HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo* root, uint32_t rank, HcclComm* comm);
HcclResult HcclCommDestroy(HcclComm comm);
HcclResult HcclGetCommName(HcclComm comm, char* name);
HcclResult HcclBarrier(HcclComm comm, void* stream);
}
