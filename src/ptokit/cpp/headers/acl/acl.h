// The runtime as far as host programs of kernels use it: device memory is memory that ptokit sees, too.
#pragma once
#include <pto/pto-inst.hpp>
#include <cstdlib>

typedef uint16_t aclFloat16;  // the bits
typedef int aclError;
typedef int rtError_t;
typedef void* aclrtStream;
typedef void* aclrtContext;
enum { ACL_SUCCESS = 0, ACL_ERROR_NONE = 0, RT_ERROR_NONE = 0 };
enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE
};
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };
enum aclrtCmoType { ACL_RT_CMO_TYPE_PREFETCH, ACL_RT_CMO_TYPE_INVALID = 2 };
enum aclDataType { ACL_FLOAT, ACL_FLOAT16, ACL_INT8, ACL_INT32, ACL_UINT8 };
enum aclFormat { ACL_FORMAT_ND = 2 };

extern "C" {
void* ptokit_device_memory(size_t bytes);
void ptokit_wait(int64_t stream);  // for its launches; 0 for those of all streams
}

inline aclError aclInit(const char*) { return ACL_SUCCESS; }
inline aclError aclFinalize() { return ACL_SUCCESS; }
inline const char* aclGetRecentErrMsg() { return ""; }
inline float aclFloat16ToFloat(aclFloat16 x) { return float(__builtin_bit_cast(half, x)); }
inline aclFloat16 aclFloatToFloat16(float x) { return __builtin_bit_cast(aclFloat16, half(x)); }
inline rtError_t rtGetAiCoreCount(uint32_t* count) {
    *count = PTOKIT_CORES;
    return RT_ERROR_NONE;
}
inline aclError aclrtGetDeviceCount(uint32_t* count) {
    *count = 64;
    return ACL_SUCCESS;
}
inline aclError aclrtSetDevice(int) { return ACL_SUCCESS; }
inline aclError aclrtResetDevice(int) { return ACL_SUCCESS; }
inline aclError aclrtCreateStream(aclrtStream* stream) {
    static int64_t last = 0;
    *stream = (aclrtStream)++last;
    return ACL_SUCCESS;
}
inline aclError aclrtDestroyStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStream(aclrtStream stream) {
    ptokit_wait((int64_t)stream);
    return ACL_SUCCESS;
}
inline aclError aclrtSynchronizeDevice() {
    ptokit_wait(0);
    return ACL_SUCCESS;
}
inline aclError aclrtMalloc(void** at, size_t bytes, int) {
    *at = ptokit_device_memory(bytes);
    return *at ? ACL_SUCCESS : 1;
}
inline aclError aclrtFree(void*) { return ACL_SUCCESS; }
inline aclError aclrtMallocHost(void** at, size_t bytes) {
    *at = calloc(1, bytes + 64);
    return ACL_SUCCESS;
}
inline aclError aclrtFreeHost(void* at) {
    free(at);
    return ACL_SUCCESS;
}
inline aclError aclrtMemset(void* at, size_t, int value, size_t bytes) {
    ptokit_wait(0);
    memset(at, value, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtMemcpy(void* to, size_t, const void* from, size_t bytes, int) {
    ptokit_wait(0);
    memcpy(to, from, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtMemcpyAsync(void* to, size_t, const void* from, size_t bytes, int, aclrtStream) {
    ptokit_wait(0);
    memcpy(to, from, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtCmoAsync(void*, size_t, int, aclrtStream) { return ACL_SUCCESS; }
inline rtError_t rtGetC2cCtrlAddr(uint64_t* address, uint32_t* size) {
    *address = *size = 8;  // no memory: what kernels do with the address is nothing here
    return RT_ERROR_NONE;
}
