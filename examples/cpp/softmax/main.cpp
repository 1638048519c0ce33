// The host program: it copies the data of a test to the device, launches the kernel, and compares.
#include <acl/acl.h>
#include <gtest/gtest.h>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

void launch_softmax(float* y, float* x, int32_t rows, void* stream);

class Softmax : public testing::Test {};

static std::vector<float> numbers(const std::string& file, size_t count) {
    std::vector<float> out(count);
    std::ifstream("../Softmax." + file, std::ios::binary).read((char*)out.data(), count * sizeof(float));
    return out;
}

static bool right(const std::string& name, int rows) {
    const size_t count = size_t(rows) * 256, bytes = count * sizeof(float);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    float *x, *y;
    aclrtMalloc((void**)&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&y, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(x, bytes, numbers(name + "/x.bin", count).data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    launch_softmax(y, x, rows, stream);
    aclrtSynchronizeStream(stream);
    std::vector<float> found(count), golden = numbers(name + "/golden.bin", count);
    aclrtMemcpy(found.data(), bytes, y, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    for (size_t k = 0; k < count; k++)
        if (!(std::fabs(found[k] - golden[k]) <= 1e-4f * std::fabs(golden[k]) + 1e-6f)) return false;
    return true;
}

TEST_F(Softmax, whole) { EXPECT_TRUE(right("whole", 128)); }
TEST_F(Softmax, tail) { EXPECT_TRUE(right("tail", 75)); }
