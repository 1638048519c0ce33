// Tests as host programs of kernels write them. Each runs in a process of its own, so that a crash is its own failure;
// one that asks for ranks runs in as many as it takes.
#pragma once
#include <sys/wait.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
void ptokit_ranks(int ranks);
void ptokit_rank(int rank, int ranks);
void ptokit_wait(int64_t stream);
int ptokit_did();  // 1: launched something, 2: asked for the number of ranks
}
namespace testing {
class Test {
public:
    virtual ~Test() {}
    void Run() {
        SetUp();
        TestBody();
        TearDown();
    }
    static void SetUpTestSuite() {}
    static void TearDownTestSuite() {}
    static void SetUpTestCase() {}
    static void TearDownTestCase() {}

protected:
    virtual void SetUp() {}
    virtual void TearDown() {}
    virtual void TestBody() = 0;
};
struct TestInfo {
    const char *suite, *test;
    Test* (*make)();
    const char* name() const { return test; }
    const char* test_suite_name() const { return suite; }
    const char* test_case_name() const { return suite; }
};
inline std::vector<TestInfo>& all() {
    static std::vector<TestInfo> tests;
    return tests;
}
inline const TestInfo*& current() {
    static const TestInfo* test = nullptr;
    return test;
}
inline bool& failed() {
    static bool flag = false;
    return flag;
}
struct UnitTest {
    static UnitTest* GetInstance() {
        static UnitTest only;
        return &only;
    }
    const TestInfo* current_test_info() const { return current(); }
};
inline bool& skipped() {
    static bool flag = false;
    return flag;
}
inline std::vector<std::string>& chosen() {
    static std::vector<std::string> names;
    return names;
}
inline void InitGoogleTest(int* count, char** arguments) { chosen().assign(arguments + 1, arguments + *count); }
struct Failure {
    std::ostringstream said;
    explicit Failure(int line) { said << "line " << line << ": "; }
    template <class T>
    Failure& operator<<(const T& x) {
        said << x;
        return *this;
    }
    ~Failure() {
        failed() = true;
        std::cout << "\n@why " << said.str() << std::endl;
    }
    operator bool() const { return true; }
};
struct Skipped : std::ostringstream {
    Skipped() { skipped() = true; }
};
struct Returned {
    void operator=(const Failure&) const {}
    void operator=(const std::ostream&) const {}
};
inline int add(const char* suite, const char* test, Test* (*make)()) {
    all().push_back({suite, test, make});
    return 0;
}
// How a test ends on so many ranks, each a process; `few`: it launches nothing, and has asked how many there are.
inline const char* outcome(const TestInfo& test, int ranks, bool& few) {
    constexpr int FAILED = 1, SKIPPED = 2, LAUNCHED = 4, ASKED = 8;
    ptokit_ranks(ranks);
    std::vector<pid_t> processes;
    for (int rank = 0; rank < ranks; rank++) {
        const pid_t child = fork();
        if (child) {
            processes.push_back(child);
            continue;
        }
        ptokit_rank(rank, ranks);
        current() = &test;
        test.make()->Run();
        ptokit_wait(0);
        std::cout.flush();
        fflush(stdout);
        const int did = ptokit_did();
        _exit((failed() ? FAILED : skipped() ? SKIPPED : 0) | (did & 1 ? LAUNCHED : 0) | (did & 2 ? ASKED : 0));
    }
    bool crashes = false;
    int all = 0;
    for (int k = 0; k < ranks; k++) {
        int status = 0;
        const pid_t child = waitpid(-1, &status, 0);
        int rank = 0;
        while (processes[rank] != child) rank++;
        crashes = crashes || !WIFEXITED(status);
        all |= WEXITSTATUS(status);
        std::cout << "\n@ended " << rank << std::endl;
    }
    few = !crashes && (all & ASKED) && !(all & LAUNCHED);
    return crashes ? "crashed" : all & FAILED ? "failed" : all & SKIPPED ? "skipped" : "passed";
}
// Says of each test that it begins, and how it ends. Arguments choose tests by their names.
inline int run() {
    for (const TestInfo& test : all()) {
        const std::string name = std::string(test.suite) + "." + test.test;
        bool wanted = chosen().empty();
        for (const std::string& each : chosen()) wanted = wanted || name == each;
        if (!wanted) continue;
        std::cout << "\n@test " << name << std::endl;
        bool few = true;
        std::string how = outcome(test, 1, few);
        for (int ranks = 2; ranks <= 16 && how != "passed" && few; ranks++) {
            const std::string again = outcome(test, ranks, few);
            how = few && how == "failed" ? how : again;
        }
        std::cout << "\n@" << how << std::endl;
    }
    return 0;
}
}  // namespace testing
#define PTOKIT_TEST(BASE, SUITE, NAME) \
    class SUITE##_##NAME##_Test : public BASE { \
        void TestBody() override; \
    }; \
    static const int SUITE##_##NAME##_added = \
        ::testing::add(#SUITE, #NAME, [] { return (::testing::Test*)new SUITE##_##NAME##_Test; }); \
    void SUITE##_##NAME##_Test::TestBody()
#define TEST_F(SUITE, NAME) PTOKIT_TEST(SUITE, SUITE, NAME)
#define TEST(SUITE, NAME) PTOKIT_TEST(::testing::Test, SUITE, NAME)
#define PTOKIT_EXPECT(X) \
    if (X) \
        ; \
    else \
        ::testing::Failure(__LINE__) << #X << " does not hold: "
#define PTOKIT_ASSERT(X) \
    if (X) \
        ; \
    else \
        return ::testing::Returned() = ::testing::Failure(__LINE__) << #X << " does not hold: "
#define EXPECT_TRUE(X) PTOKIT_EXPECT(X)
#define EXPECT_FALSE(X) PTOKIT_EXPECT(!(X))
#define EXPECT_EQ(A, B) PTOKIT_EXPECT((A) == (B))
#define EXPECT_NE(A, B) PTOKIT_EXPECT((A) != (B))
#define EXPECT_LT(A, B) PTOKIT_EXPECT((A) < (B))
#define EXPECT_LE(A, B) PTOKIT_EXPECT((A) <= (B))
#define EXPECT_GT(A, B) PTOKIT_EXPECT((A) > (B))
#define EXPECT_GE(A, B) PTOKIT_EXPECT((A) >= (B))
#define ASSERT_TRUE(X) PTOKIT_ASSERT(X)
#define ASSERT_FALSE(X) PTOKIT_ASSERT(!(X))
#define ASSERT_EQ(A, B) PTOKIT_ASSERT((A) == (B))
#define ASSERT_NE(A, B) PTOKIT_ASSERT((A) != (B))
#define ASSERT_LT(A, B) PTOKIT_ASSERT((A) < (B))
#define ASSERT_GE(A, B) PTOKIT_ASSERT((A) >= (B))
#define ASSERT_GT(A, B) PTOKIT_ASSERT((A) > (B))
#define ADD_FAILURE() ::testing::Failure(__LINE__)
#define FAIL() return ::testing::Returned() = ::testing::Failure(__LINE__)
#define SCOPED_TRACE(X) ((void)0)
#define SUCCEED() std::ostringstream()
#define GTEST_SKIP() return ::testing::Returned() = ::testing::Skipped()
#define RUN_ALL_TESTS() ::testing::run()
