// What kernels of PTO take from the header of AscendC: types of arguments, and which core it is. Its classes are not here.
#pragma once
#include <pto/pto-inst.hpp>

#ifndef GM_ADDR
#define GM_ADDR __gm__ uint8_t*
#endif
#define KERNEL_TASK_TYPE_DEFAULT(...)
#define KERNEL_TASK_TYPE(...)
namespace AscendC {
template <class T>
struct GlobalTensor;
PTO_INLINE int64_t GetBlockIdx() { return get_block_idx(); }
PTO_INLINE int64_t GetBlockNum() { return get_block_num(); }
PTO_INLINE int64_t GetSubBlockIdx() { return get_subblockid(); }
}  // namespace AscendC
