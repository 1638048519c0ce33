#pragma once
#include <cstdint>
constexpr int N = 64;
struct Windows {
    uint64_t queue, flags;
    uint32_t rank, ranks;
    uint64_t size, in[64], out[64];
};
