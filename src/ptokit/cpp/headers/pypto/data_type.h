// Element types as pypto's runtime numbers them.
#pragma once

enum class DataType : unsigned char {
    FLOAT32, FLOAT16, INT32, INT16, INT8, UINT8, BFLOAT16, INT64, UINT64, UINT16, UINT32, BOOL, FP8E4M3FN, FP8E8M0, FP4E2M1
};
