// Where a core is among those that run a task.
#pragma once
#include <pto/pto-inst.hpp>

AICORE inline int32_t get_block_idx(__gm__ int64_t *) { return static_cast<int32_t>(get_block_idx()); }
AICORE inline int32_t get_block_num(__gm__ int64_t *) { return static_cast<int32_t>(get_block_num()); }
AICORE inline int32_t get_sub_block_id(__gm__ int64_t *) { return static_cast<int32_t>(get_subblockid()); }
