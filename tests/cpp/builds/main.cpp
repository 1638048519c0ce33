#include <acl/acl.h>
#include <gtest/gtest.h>

void launch_both(int32_t* out, void* stream);
void launch_absent(int32_t* out);

TEST(Built, both_cores) {
    int32_t found[16], *out;
    aclrtMalloc((void**)&out, sizeof found, ACL_MEM_MALLOC_HUGE_FIRST);
    launch_both(out, nullptr);
    aclrtMemcpy(found, sizeof found, out, sizeof found, ACL_MEMCPY_DEVICE_TO_HOST);
    EXPECT_EQ(found[0], 103);
    EXPECT_EQ(found[8], 105);
}
TEST(Built, absent) { launch_absent(nullptr); }
