// Copies that are told how large the destination is.
#pragma once
#include <cstring>
typedef int errno_t;
#define EOK 0
inline errno_t memset_s(void* at, size_t room, int value, size_t bytes) {
    if (bytes > room) return 1;
    memset(at, value, bytes);
    return EOK;
}
inline errno_t memcpy_s(void* to, size_t room, const void* from, size_t bytes) {
    if (bytes > room) return 1;
    memcpy(to, from, bytes);
    return EOK;
}
