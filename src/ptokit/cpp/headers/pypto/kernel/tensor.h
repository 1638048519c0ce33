// What a hand-written kernel of pypto is compiled against: its arguments are tensors as the runtime lays them out.
#pragma once
#include <pto/pto-inst.hpp>

#include "../data_type.h"

struct ChipTensor {
    struct {
        uint64_t addr, size;
    } buffer;
    uint64_t owner_task_id, start_offset;
    int32_t version;
    uint32_t ndims;
    DataType dtype;
    bool manual_dep, is_contiguous;
    uint8_t address_space;
    uint32_t shapes[5];
    uint64_t extent_elem_cache;
    uint32_t strides[5];
    uint8_t rest[36];
};
static_assert(sizeof(ChipTensor) == 128, "the runtime hands over tensors of 128 bytes");
