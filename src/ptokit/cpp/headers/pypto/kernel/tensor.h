// What a hand-written kernel of pypto is compiled against: its arguments are tensors as the runtime lays them out.
#pragma once
#include <pto/pto-inst.hpp>

enum class DataType : uint8_t {
    FLOAT32, FLOAT16, INT32, INT16, INT8, UINT8, BFLOAT16, INT64, UINT64, UINT16, UINT32, BOOL, FP8E4M3FN, FP8E8M0, FP4E2M1
};

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
