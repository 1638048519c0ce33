#include <acl/acl.h>
#include <gtest/gtest.h>
#include <fstream>
#include <vector>

template <class T, int N>
void launch_scale(T* out, T* x, T factor, int32_t rows, void* stream);

class ScaleTest : public testing::Test {};

template <class T>
std::vector<T> numbers(const char* name, size_t count) {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::ifstream file(std::string("../") + test->test_suite_name() + "." + test->name() + "/" + name, std::ios::binary);
    std::vector<T> out(count);
    file.read((char*)out.data(), count * sizeof(T));
    return out;
}

template <class T, int N>
bool right(T factor, int rows) {
    const size_t bytes = rows * N * sizeof(T);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    T *x, *out;
    aclrtMalloc((void**)&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc((void**)&out, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(x, bytes, numbers<T>("x.bin", rows * N).data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    launch_scale<T, N>(out, x, factor, rows, stream);
    aclrtSynchronizeStream(stream);
    std::vector<T> found(rows * N);
    aclrtMemcpy(found.data(), bytes, out, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    return found == numbers<T>("golden.bin", rows * N);
}

TEST_F(ScaleTest, floats) { EXPECT_TRUE((right<float, 64>(2.5f, 16))); }
TEST_F(ScaleTest, few_rows) { EXPECT_TRUE((right<float, 64>(-3.0f, 5))); }
TEST_F(ScaleTest, integers) { EXPECT_TRUE((right<int32_t, 32>(-7, 16))); }
TEST_F(ScaleTest, wrong_golden) { EXPECT_TRUE((right<int32_t, 32>(3, 16))); }
TEST_F(ScaleTest, refused) { EXPECT_TRUE((right<int64_t, 16>(3, 16))); }
TEST_F(ScaleTest, crash) { *(volatile int*)nullptr = 0; }
