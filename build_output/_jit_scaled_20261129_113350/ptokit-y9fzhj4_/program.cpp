#include "pto_orchestration_api.h"
PtokitState ptokit_state;
#include "/work/wt/pypto/build_output/_jit_scaled_20261129_113350/orchestration/scaled.cpp"
#define kernel_entry ptokit_entry_0
namespace ptokit_of_0 {
#include "/work/wt/pypto/build_output/_jit_scaled_20261129_113350/kernels/aiv/scale.cpp"
}
#undef kernel_entry
void (*const ptokit_kernels[])(int64_t *) = {ptokit_of_0::ptokit_entry_0};
const int32_t ptokit_kernel_count = 1;
