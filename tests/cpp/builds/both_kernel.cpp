#include <acl/acl.h>
#include <pto/pto-inst.hpp>

__global__ AICORE void both(__gm__ int32_t* out) {
#if defined(OF_CUBE) && defined(__DAV_CUBE__)
    out[0] = OF_CUBE + OF_ALL;
#elif defined(OF_VECTOR) && defined(__DAV_VEC__)
    if (get_subblockid() == 0) out[8] = OF_VECTOR + OF_ALL;
#endif
}
void launch_both(int32_t* out, void* stream) {
    both<<<1, nullptr, stream>>>(out);
}
