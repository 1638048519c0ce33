// What a host program of kernels is linked with: device memory in a file that ptokit maps as well, launches, and ranks.
// What happens is told on stdout, a line each; who waits for ptokit reads the answer from a pipe of its own.
// Instructions themselves do nothing here.
#include <acl/acl.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hccl/hccl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace {
// Every rank has so much memory: the window that others reach, what ranks hand each other, and what it allocates.
constexpr size_t ROOM = PTOKIT_ROOM, WINDOW = 1u << 28, HANDED = 1u << 20;
constexpr size_t AFTER = PTOKIT_AFTER;  // bytes after each allocation that a kernel reaches (cpp/replay.py)
char *base = nullptr, *next = nullptr;
size_t mapped = 0;
int own = 0, count = 1, did = 0;
std::set<int64_t> launched;  // streams with launches that nobody has waited for

// A line in one piece, since other ranks write, too.
void say(const char* format, ...) {
    fflush(stdout);
    std::cout.flush();
    char line[4096];
    va_list values;
    va_start(values, format);
    const int size = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (write(1, line, size) < 0) _exit(1);
}
// Waits for the answer to what was said.
void go_on() {
    char name[4096], answer = 0;
    snprintf(name, sizeof name, "%s/%d", getenv("PTOKIT_ANSWERS"), own);
    while (!answer) {  // the last answer's end may be all that comes first
        const int handle = open(name, O_RDONLY);
        if (handle < 0 || read(handle, &answer, 1) < 0) _exit(1);
        close(handle);
    }
    if (answer != 'y') _exit(1 | 4);  // failed, after a launch (gtest/gtest.h)
}
// The name of a function of this program, also of one that only its own file sees.
std::string name_of(void* function) {
    static const char* file = [] {
        const int handle = open("/proc/self/exe", O_RDONLY);
        return (const char*)mmap(nullptr, lseek(handle, 0, SEEK_END), PROT_READ, MAP_PRIVATE, handle, 0);
    }();
    Dl_info info{};
    if (dladdr(function, &info) && info.dli_sname && info.dli_saddr == function) return info.dli_sname;
    const Elf64_Ehdr* head = (const Elf64_Ehdr*)file;
    const Elf64_Shdr* sections = (const Elf64_Shdr*)(file + head->e_shoff);
    const size_t at = (char*)function - (head->e_type == ET_DYN ? (char*)info.dli_fbase : nullptr);
    for (int k = 0; k < head->e_shnum; k++) {
        if (sections[k].sh_type != SHT_SYMTAB) continue;
        const Elf64_Sym* symbol = (const Elf64_Sym*)(file + sections[k].sh_offset);
        for (size_t n = sections[k].sh_size / sizeof(Elf64_Sym); n; n--, symbol++)
            if (symbol->st_value == at && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
                return file + sections[sections[k].sh_link].sh_offset + symbol->st_name;
    }
    return "?";
}
char* of_rank(int rank) { return base + ROOM * rank; }
char* handed(int rank) { return of_rank(rank) + WINDOW; }
int bytes(int elements, MPI_Datatype type) { return elements * (type >> 8 & 255); }
}  // namespace

extern "C" {
void ptokit_ranks(int ranks) {
    if (base) munmap(base, mapped);
    const char* file = getenv("PTOKIT_DEVICE_MEMORY");
    const int handle = file ? open(file, O_RDWR | O_CREAT, 0600) : -1;
    mapped = ROOM * ranks;
    if (handle < 0 || ftruncate(handle, mapped)) _exit(1);
    void* at = reinterpret_cast<void*>(1ull << 45);  // the same in every run, where it is free
    base = (char*)mmap(at, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, handle, 0);
    close(handle);
    if (base == MAP_FAILED) _exit(1);
    say("\n@ranks %d %llu\n", ranks, (unsigned long long)base);
}
void ptokit_rank(int rank, int ranks) {
    own = rank, count = ranks;
    next = handed(rank) + HANDED;
}
void* ptokit_device_memory(size_t bytes) {
    if (!base || size_t(next - of_rank(own)) + bytes + 512 + AFTER > ROOM) return nullptr;
    char* at = next;
    next += (bytes + 511) / 512 * 512 + 512 + AFTER;
    memset(at, 0, bytes);
    say("\n@memory %llu %llu\n", (unsigned long long)at, (unsigned long long)bytes);
    return at;
}
void ptokit_launch(void* kernel, int64_t blocks, int64_t stream, int64_t count, const void* const* arguments,
                   const int32_t* kinds) {
    std::string line = "\n@launch " + std::to_string(own) + " " + std::to_string(stream) + " " +
                       name_of(kernel) + " " + std::to_string(blocks);
    for (int64_t k = 0; k < count; k++) {
        unsigned long long bits = 0;
        memcpy(&bits, arguments[k], kinds[k] == -1 ? sizeof(void*) : kinds[k] % 100);
        line += kinds[k] == -1 ? " p" : (kinds[k] > 100 ? " f" : " i") + std::to_string(kinds[k] % 100) + ":";
        line += std::to_string(bits);
    }
    say("%s\n", line.c_str());
    did |= 1;
    launched.insert(stream);
}
int ptokit_did() { return did; }
void ptokit_absent(const char* function) {  // which no file defines that is built
    say("\n@absent %s\n", function);
    _exit(1 | 4);
}
void ptokit_wait(int64_t stream) {
    if (stream ? !launched.count(stream) : launched.empty()) return;
    say("\n@wait %d %lld\n", own, (long long)stream);
    go_on();
    if (stream)
        launched.erase(stream);
    else
        launched.clear();
}
void ptokit_meet() {
    if (count == 1) return;
    say("\n@meet %d\n", own);
    go_on();
}

// Ranks as MPI has them.
int MPI_Init(int*, char***) { return 0; }
int MPI_Finalize() { return 0; }
int MPI_Comm_rank(MPI_Comm, int* rank) { return *rank = own, 0; }
int MPI_Comm_size(MPI_Comm, int* size) { return did |= 2, *size = count, 0; }
int MPI_Barrier(MPI_Comm) { return ptokit_meet(), 0; }
int MPI_Bcast(void* data, int elements, MPI_Datatype type, int root, MPI_Comm) {
    if (size_t(bytes(elements, type)) > HANDED) return 1;
    if (own == root) memcpy(handed(root), data, bytes(elements, type));
    ptokit_meet();
    if (own != root) memcpy(data, handed(root), bytes(elements, type));
    ptokit_meet();
    return 0;
}
int MPI_Allgather(const void* from, int elements, MPI_Datatype type, void* to, int, MPI_Datatype, MPI_Comm) {
    const size_t size = bytes(elements, type);
    if (size > HANDED) return 1;
    memcpy(handed(own), from, size);
    ptokit_meet();
    for (int rank = 0; rank < count; rank++) memcpy((char*)to + size * rank, handed(rank), size);
    ptokit_meet();
    return 0;
}

// The windows of ranks as HCCL has them.
int rtSetDevice(int) { return 0; }
int rtStreamCreate(void** stream, int) { return aclrtCreateStream(stream); }
int rtStreamDestroy(void*) { return 0; }
HcclResult HcclGetRootInfo(HcclRootInfo*) { return HCCL_SUCCESS; }
HcclResult HcclCommInitRootInfo(uint32_t, const HcclRootInfo*, uint32_t, HcclComm* comm) {
    *comm = base;
    return HCCL_SUCCESS;
}
HcclResult HcclCommDestroy(HcclComm) { return HCCL_SUCCESS; }
HcclResult HcclGetCommName(HcclComm, char* name) { return strcpy(name, "ptokit"), HCCL_SUCCESS; }
HcclResult HcclBarrier(HcclComm, void* stream) {
    ptokit_wait((int64_t)stream);
    ptokit_meet();
    return HCCL_SUCCESS;
}
HcclResult HcomGetCommHandleByGroup(const char*, HcclComm* comm) { return *comm = base, HCCL_SUCCESS; }
HcclResult HcomGetL0TopoTypeEx(const char*, uint32_t* topology, uint32_t) { return *topology = 1, HCCL_SUCCESS; }
HcclResult HcclAllocComResourceByTiling(HcclComm, void*, void*, void** context) {
    struct Context {
        uint64_t queue, flags;
        uint32_t rank, ranks;
        uint64_t size, in[64], out[64], more[4];
    };
    Context* made = (Context*)ptokit_device_memory(sizeof(Context));
    if (!made) return HCCL_E_INTERNAL;
    made->rank = own, made->ranks = count, made->size = WINDOW;
    for (int rank = 0; rank < count; rank++) made->in[rank] = made->out[rank] = (uint64_t)of_rank(rank);
    say("\n@memory %llu %llu\n", (unsigned long long)of_rank(own), (unsigned long long)WINDOW);
    *context = made;
    return HCCL_SUCCESS;
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
__attribute__((weak)) int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
