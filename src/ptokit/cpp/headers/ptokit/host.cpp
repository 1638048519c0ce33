// What a host program of kernels is linked with: device memory in a file that ptokit maps as well, and launches, which
// are told on stdout and wait for an answer on stdin. Instructions themselves do nothing here.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

namespace {
struct Allocation {
    char* at;
    size_t bytes;
};
std::vector<Allocation> allocations;
char *base = nullptr, *next = nullptr;
size_t room = 0;
constexpr size_t AFTER = PTOKIT_AFTER;  // bytes after each allocation that a kernel reaches (cpp/replay.py)

void map_memory() {
    const char* file = getenv("PTOKIT_DEVICE_MEMORY");
    const int handle = file ? open(file, O_RDWR) : -1;
    if (handle < 0) return;
    room = lseek(handle, 0, SEEK_END);
    base = next = (char*)mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
}
}  // namespace

extern "C" {
void* ptokit_device_memory(size_t bytes) {
    if (!base) map_memory();
    if (!base || size_t(next - base) + bytes + 512 + AFTER > room) return nullptr;
    char* at = next;
    next += (bytes + 511) / 512 * 512 + 512 + AFTER;
    memset(at, 0, bytes);
    allocations.push_back({at, bytes});
    return at;
}
void ptokit_launch(void* kernel, int64_t blocks, int64_t count, const void* const* arguments, const int32_t* kinds) {
    Dl_info info{};
    dladdr(kernel, &info);
    fflush(stdout);
    printf("\n@launch %s %lld", info.dli_sname ? info.dli_sname : "?", (long long)blocks);
    for (int64_t k = 0; k < count; k++) {
        if (kinds[k] == -1) {
            char* at = *(char* const*)arguments[k];
            const Allocation* found = nullptr;
            for (const Allocation& each : allocations)
                if (at >= each.at && at <= each.at + each.bytes) found = &each;
            if (found)
                printf(" p%lld:%lld", (long long)(at - base), (long long)(found->at + found->bytes - at));
            else
                printf(" n");
            continue;
        }
        unsigned long long bits = 0;
        memcpy(&bits, arguments[k], kinds[k] % 100);
        printf(" %c%d:%llu", kinds[k] > 100 ? 'f' : 'i', kinds[k] % 100, bits);
    }
    printf("\n");
    fflush(stdout);
    char answer[16];
    size_t size = 0;
    while (size < sizeof answer && read(0, answer + size, 1) == 1 && answer[size] != '\n') size++;
    if (size == 0 || answer[0] != 'd') {
        printf("\n@refused\n");
        fflush(stdout);
        _exit(1);
    }
}
void ptokit_begin(const char*) {}
void ptokit_tile(const char*, int64_t, int64_t, int64_t) {}
void ptokit_view(const char*, const void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                 int64_t, int64_t) {}
void ptokit_number(const char*, int64_t) {}
void ptokit_real(const char*, double) {}
void ptokit_pointer(const char*, const void*) {}
void ptokit_option(const char*, int64_t) {}
void ptokit_end() {}
void ptokit_launch_threads(const void*, uint32_t, uint32_t, uint32_t, ...) {}
int64_t ptokit_integer_result() { return 0; }
double ptokit_real_result() { return 0; }
int64_t ptokit_query(const char*) { return 0; }
int64_t ptokit_new_tile() { return 1; }
int64_t ptokit_register(const char*, int64_t) { return 0; }
}
int main(int argc, char** argv) { return ::testing::run(argc, argv); }
