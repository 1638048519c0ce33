// What an orchestration that pypto generates, and the wrappers of its kernels, are compiled against: the names of pypto's
// runtime "simpler" (tensormap_and_ringbuffer) that they use. Tasks are carried out when they are submitted, in this
// process: that order satisfies all dependences, so task ids, scopes and dependences only have to be there.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <type_traits>
#include <utility>
#include <vector>

#include "data_type.h"

#define __gm__
#define __aicore__
#define AICORE

namespace pto {}

constexpr int MAX_TENSOR_DIMS = 5;
constexpr int MAX_TENSOR_ARGS = 32;
constexpr int MAX_SCALAR_ARGS = 16;

struct PtokitFailure {
    const char *why;
};

#define always_assert(condition) \
    if (!(condition)) throw PtokitFailure{"the runtime requires: " #condition}
#define debug_assert(condition) always_assert(condition)

// --- Numbers

struct half {
    uint16_t bits;
};
using bfloat16_t = half;
struct float8_e4m3_t {
    uint8_t bits;
};
using float8_e5m2_t = float8_e4m3_t;
using float8_e8m0_t = float8_e4m3_t;
using float4_e2m1x2_t = float8_e4m3_t;  // two numbers

template <typename T>
uint64_t to_u64(T value) {
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}

template <typename T>
T from_u64(uint64_t word) {
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}

inline uint64_t get_element_size(DataType type) {
    constexpr uint8_t bytes[] = {4, 2, 4, 2, 1, 1, 2, 8, 8, 2, 4, 1, 1, 1, 1};
    return bytes[static_cast<int>(type)];
}

// --- Tensors: laid out as kernels that read them expect

struct PTO2TaskId {
    uint64_t raw;
    static PTO2TaskId invalid() { return {~uint64_t{0}}; }
    bool is_valid() const { return raw != ~uint64_t{0}; }
    bool operator==(const PTO2TaskId &other) const { return raw == other.raw; }
    bool operator!=(const PTO2TaskId &other) const { return raw != other.raw; }
};

struct PTOBufferHandle {
    uint64_t addr, size;
};

struct alignas(64) ChipTensor {
    PTOBufferHandle buffer;
    PTO2TaskId owner_task_id;
    uint64_t start_offset;  // of the first element in the buffer, in elements
    int32_t version;
    uint32_t ndims;
    DataType dtype;
    bool manual_dep, is_contiguous;
    uint8_t address_space;
    uint32_t shapes[MAX_TENSOR_DIMS];
    uint64_t extent_elem_cache;
    uint32_t strides[MAX_TENSOR_DIMS];  // in elements

    uint64_t numel() const {
        uint64_t product = 1;
        for (uint32_t i = 0; i < ndims; ++i) product *= shapes[i];
        return product;
    }
    uint64_t nbytes() const { return numel() * get_element_size(dtype); }
    uint64_t extent_elem() const { return extent_elem_cache; }
    template <typename T>
    T *data_as() const {
        return reinterpret_cast<T *>(buffer.addr);
    }

    void pack() {
        uint32_t stride = 1;
        for (uint32_t i = ndims; i-- > 0; stride *= shapes[i]) strides[i] = stride;
        settle();
    }
    void settle() {
        uint64_t packed = 1, last = 0;
        is_contiguous = true;
        for (uint32_t i = ndims; i-- > 0; packed *= shapes[i]) {
            is_contiguous = is_contiguous && (strides[i] == packed || shapes[i] == 1);
            last += (uint64_t{shapes[i]} - 1) * strides[i];
        }
        extent_elem_cache = packed ? last + 1 : 0;
        is_contiguous = is_contiguous || !packed;
    }

    ChipTensor view(const uint32_t *sizes, const uint32_t *offsets, bool manual = false) const {
        ChipTensor found = *this;
        found.manual_dep = manual;
        std::copy(sizes, sizes + ndims, found.shapes);
        if (found.numel())
            for (uint32_t i = 0; i < ndims; ++i) {
                if (uint64_t{offsets[i]} + sizes[i] > shapes[i]) throw PtokitFailure{"a slice reaches beyond its tensor"};
                found.start_offset += uint64_t{offsets[i]} * strides[i];
            }
        found.settle();
        return found;
    }
    ChipTensor reshape(const uint32_t *sizes, uint32_t count, bool manual = false) const {
        always_assert(is_contiguous);
        ChipTensor found = *this;
        found.manual_dep = manual, found.ndims = count;
        std::copy(sizes, sizes + count, found.shapes);
        if (found.numel() != numel()) throw PtokitFailure{"a tensor is reshaped to another number of elements"};
        found.pack();
        return found;
    }
    ChipTensor transpose(uint32_t x, uint32_t y, bool manual = false) const {
        always_assert(x < ndims && y < ndims);
        ChipTensor found = *this;
        found.manual_dep = manual;
        std::swap(found.shapes[x], found.shapes[y]);
        std::swap(found.strides[x], found.strides[y]);
        found.settle();
        return found;
    }
    ChipTensor permute(const uint32_t *order, bool manual = false) const {
        ChipTensor found = *this;
        found.manual_dep = manual;
        for (uint32_t i = 0; i < ndims; ++i) found.shapes[i] = shapes[order[i]], found.strides[i] = strides[order[i]];
        found.settle();
        return found;
    }
};
static_assert(sizeof(ChipTensor) == 128, "kernels read tensors of 128 bytes");

struct TensorCreateInfo {
    uint32_t shapes[MAX_TENSOR_DIMS];
    uint32_t ndims;
    DataType dtype;
    bool manual_dep, filled = false;
    uint64_t initial = 0;

    TensorCreateInfo(const uint32_t *sizes, uint32_t count, DataType type = DataType::FLOAT32, bool manual = false)
        : ndims(count), dtype(type), manual_dep(manual) {
        always_assert(count > 0 && count <= MAX_TENSOR_DIMS);
        std::copy(sizes, sizes + count, shapes);
    }
    template <typename T>
    void set_initial_value(T value) {
        filled = true, initial = to_u64(value);
    }
};

class TaskOutputTensors {
public:
    std::vector<const ChipTensor *> made;
    PTO2TaskId id = PTO2TaskId::invalid();

    bool empty() const { return made.empty(); }
    uint32_t size() const { return made.size(); }
    PTO2TaskId task_id() const { return id; }
    const ChipTensor &get_ref(uint32_t index) const {
        always_assert(index < made.size());
        return *made[index];
    }
};

// --- What Python supplies, and the launch under way

struct PtokitTask {
    int32_t kernels[3];  // of the cube core, vector core 0, vector core 1; -1: none
    int32_t blocks;
};

struct PtokitHost {
    uint64_t (*allocate)(uint64_t bytes);
    void (*called)(const char *kernel, int32_t block, int32_t slot, const uint64_t *words, int32_t count);
    int32_t (*submit)(const PtokitTask *task);  // 0: carried out
    int32_t clusters, vectors;
};

struct PtokitState {
    const PtokitHost *host;
    std::deque<ChipTensor> tensors;
    uint64_t tasks = 0;
    int32_t block = 0, blocks = 1, slot = 0;
    uint64_t given_tensors = 0, given_words = 0;  // of the task under way
};

extern PtokitState ptokit_state;
extern void (*const ptokit_kernels[])(int64_t *);
extern const int32_t ptokit_kernel_count;

inline int32_t get_block_idx(const int64_t *) { return ptokit_state.block; }
inline int32_t get_block_num(const int64_t *) { return ptokit_state.blocks; }
inline int32_t get_sub_block_id(const int64_t *) { return ptokit_state.slot == 2; }
enum DmaWorkspaceKind { DMA_WORKSPACE_SDMA };
inline uint64_t get_dma_workspace(const int64_t *, DmaWorkspaceKind) { return 0; }  // nothing is fetched in advance

template <typename T>
uint64_t ptokit_word(T value) {
    if constexpr (std::is_pointer_v<T>) return reinterpret_cast<uint64_t>(value);
    else if constexpr (std::is_floating_point_v<T>) return to_u64(static_cast<double>(value));
    else if constexpr (std::is_class_v<T>) return value.bits;
    else return static_cast<uint64_t>(static_cast<int64_t>(value));
}

// Takes the place of the compiled kernel in a wrapper: it says with which arguments it was called.
template <typename... Ts>
void ptokit_called(const char *kernel, Ts... values) {
    const uint64_t words[] = {ptokit_word(values)..., 0};
    ptokit_state.host->called(kernel, ptokit_state.block, ptokit_state.slot, words, sizeof...(Ts));
}

// The same of a hand-written kernel, which has no wrapper: the number of its tensors, and its words.
inline void ptokit_called_by_words(const char *kernel, const int64_t *args) {
    std::vector<uint64_t> words(args, args + ptokit_state.given_words);
    words.insert(words.begin(), ptokit_state.given_tensors);
    ptokit_state.host->called(kernel, ptokit_state.block, ptokit_state.slot, words.data(), words.size());
}

// --- Tasks

enum class TensorArgType : int32_t { INPUT, OUTPUT, INOUT, OUTPUT_EXISTING, NO_DEP };
enum class PTO2ScopeMode : uint8_t { AUTO, MANUAL };
enum class PredicateOp : uint8_t { NONE, EQ, NE, GT, LT, GE, LE };
constexpr int32_t INVALID_KERNEL_ID = -1;

struct CoreTaskPredicate {
    struct {
        const ChipTensor *tensor = nullptr;
        uint32_t ndims = 0;
        uint32_t indices[MAX_TENSOR_DIMS] = {};
    } operand;
    PredicateOp op = PredicateOp::NONE;
    int64_t target = 0;
};

struct PTO2LaunchSpec {
    int32_t blocks = 1;
    int32_t block_num() const { return blocks; }
    void set_block_num(int32_t count) { blocks = count; }
    void set_core_num(int32_t count) { blocks = count; }
    void set_require_sync_start(bool) {}
};

struct MixedKernels {
    int32_t aic_kernel_id = INVALID_KERNEL_ID, aiv0_kernel_id = INVALID_KERNEL_ID, aiv1_kernel_id = INVALID_KERNEL_ID;
};

class CoreTaskArgs {
public:
    struct Slot {
        TensorArgType type;
        const ChipTensor *tensor;
        const TensorCreateInfo *info;
    };
    std::vector<Slot> slots;
    std::vector<uint64_t> numbers;
    CoreTaskPredicate condition;
    PTO2LaunchSpec launch_spec;

    template <typename... Ts>
    void add_input(Ts &&...tensors) {
        (add(TensorArgType::INPUT, tensors), ...);
    }
    template <typename... Ts>
    void add_output(Ts &&...tensors) {
        (add(TensorArgType::OUTPUT, tensors), ...);
    }
    template <typename... Ts>
    void add_inout(Ts &&...tensors) {
        (add(TensorArgType::INOUT, tensors), ...);
    }
    template <typename... Ts>
    void add_no_dep(Ts &&...tensors) {
        (add(TensorArgType::NO_DEP, tensors), ...);
    }
    template <typename... Ts>
    void add_scalar(Ts... values) {
        (numbers.push_back(to_u64(values)), ...);
        if (numbers.size() > MAX_SCALAR_ARGS) throw PtokitFailure{"a task has more than 16 numbers"};
    }
    template <typename... Ts>
    void dump(Ts &&...) {}
    void set_dependencies(const PTO2TaskId *, uint32_t) {}
    void set_allow_early_resolve(bool = true) {}
    void set_task_timing_slot(int32_t) {}
    void set_predicate(const CoreTaskPredicate &predicate) { condition = predicate; }

private:
    void add(TensorArgType type, const ChipTensor &tensor) {
        hold({type == TensorArgType::OUTPUT ? TensorArgType::OUTPUT_EXISTING : type, &tensor, nullptr});
    }
    void add(TensorArgType type, const TensorCreateInfo &info) { hold({type, nullptr, &info}); }
    void hold(Slot slot) {
        slots.push_back(slot);
        if (slots.size() > MAX_TENSOR_ARGS) throw PtokitFailure{"a task has more than 32 tensors"};
    }
};

inline const ChipTensor *ptokit_make(const TensorCreateInfo &info) {
    ChipTensor made{};
    made.ndims = info.ndims, made.dtype = info.dtype, made.manual_dep = info.manual_dep;
    made.owner_task_id = {ptokit_state.tasks};
    std::copy(info.shapes, info.shapes + info.ndims, made.shapes);
    made.pack();
    made.buffer.size = made.nbytes();
    made.buffer.addr = ptokit_state.host->allocate(made.buffer.size);
    if (!made.buffer.addr) throw PtokitFailure{""};
    if (info.filled)
        for (uint64_t at = 0, each = get_element_size(info.dtype); at < made.buffer.size; at += each)
            memcpy(reinterpret_cast<char *>(made.buffer.addr) + at, &info.initial, each);
    ptokit_state.tensors.push_back(made);
    return &ptokit_state.tensors.back();
}

inline char *ptokit_at(const ChipTensor &tensor, uint32_t count, const uint32_t *indices) {
    uint64_t element = tensor.start_offset;
    for (uint32_t i = 0; i < count; ++i) {
        if (indices[i] >= tensor.shapes[i]) throw PtokitFailure{"an element is read or written outside of its tensor"};
        element += uint64_t{indices[i]} * tensor.strides[i];
    }
    return reinterpret_cast<char *>(tensor.buffer.addr) + element * get_element_size(tensor.dtype);
}

inline bool ptokit_holds(const CoreTaskPredicate &predicate) {
    if (predicate.op == PredicateOp::NONE) return true;
    const ChipTensor &tensor = *predicate.operand.tensor;
    const char *at = ptokit_at(tensor, predicate.operand.ndims, predicate.operand.indices);
    int64_t value = 0;
    const uint64_t bytes = get_element_size(tensor.dtype);
    memcpy(&value, at, bytes);
    value = value << (64 - 8 * bytes) >> (64 - 8 * bytes);
    switch (predicate.op) {
        case PredicateOp::EQ: return value == predicate.target;
        case PredicateOp::NE: return value != predicate.target;
        case PredicateOp::GT: return value > predicate.target;
        case PredicateOp::LT: return value < predicate.target;
        case PredicateOp::GE: return value >= predicate.target;
        default: return value <= predicate.target;
    }
}

inline TaskOutputTensors rt_submit_task(const MixedKernels &mixed, const CoreTaskArgs &args) {
    PtokitTask task{{mixed.aic_kernel_id, mixed.aiv0_kernel_id, mixed.aiv1_kernel_id}, args.launch_spec.blocks};
    TaskOutputTensors outputs;
    outputs.id = {++ptokit_state.tasks};
    int64_t words[MAX_TENSOR_ARGS + MAX_SCALAR_ARGS + 2] = {};
    int64_t *next = words;
    std::deque<ChipTensor> copies;
    for (const auto &slot : args.slots) {
        const ChipTensor *tensor = slot.tensor;
        if (slot.info) outputs.made.push_back(tensor = ptokit_make(*slot.info));
        copies.push_back(*tensor);
        *next++ = reinterpret_cast<int64_t>(&copies.back());
    }
    for (uint64_t number : args.numbers) *next++ = static_cast<int64_t>(number);
    if (!ptokit_holds(args.condition)) return outputs;
    ptokit_state.blocks = task.blocks;
    ptokit_state.given_tensors = args.slots.size();
    ptokit_state.given_words = next - words;
    for (ptokit_state.block = 0; ptokit_state.block < task.blocks; ++ptokit_state.block)
        for (ptokit_state.slot = 0; ptokit_state.slot < 3; ++ptokit_state.slot) {
            const int32_t kernel = task.kernels[ptokit_state.slot];
            if (kernel == INVALID_KERNEL_ID) continue;
            always_assert(kernel < ptokit_kernel_count && ptokit_kernels[kernel]);
            ptokit_kernels[kernel](words);
        }
    if (ptokit_state.host->submit(&task)) throw PtokitFailure{""};
    return outputs;
}

inline TaskOutputTensors rt_submit_aic_task(int32_t kernel, const CoreTaskArgs &args) {
    return rt_submit_task({kernel, INVALID_KERNEL_ID, INVALID_KERNEL_ID}, args);
}
inline TaskOutputTensors rt_submit_aiv_task(int32_t kernel, const CoreTaskArgs &args) {
    return rt_submit_task({INVALID_KERNEL_ID, kernel, INVALID_KERNEL_ID}, args);
}
inline TaskOutputTensors rt_submit_dummy_task(const CoreTaskArgs &args) {
    TaskOutputTensors outputs;
    outputs.id = {++ptokit_state.tasks};
    for (const auto &slot : args.slots)
        if (slot.info) outputs.made.push_back(ptokit_make(*slot.info));
    return outputs;
}
template <typename... Infos>
TaskOutputTensors alloc_tensors(const Infos &...infos) {
    CoreTaskArgs args;
    (args.add_output(infos), ...);
    return rt_submit_dummy_task(args);
}

inline int32_t rt_available_cluster_count() { return ptokit_state.host->clusters; }
inline int32_t rt_available_aiv_count() { return ptokit_state.host->vectors; }
inline void rt_scope_begin(PTO2ScopeMode = PTO2ScopeMode::AUTO) {}
inline void rt_scope_end() {}
#define PTO2_SCOPE(...) if (true)
#define PTO2_SCOPE_GUARD(...)
#define rt_report_fatal(code, ...) throw PtokitFailure{#__VA_ARGS__}
#define LOG_ERROR(...)
#define LOG_WARN(...)
#define LOG_INFO(...)
#define LOG_DEBUG(...)
#define LOG_TIMING(...)

template <typename T = uint64_t>
T get_tensor_data(const ChipTensor &tensor, uint32_t count, const uint32_t *indices) {
    uint64_t word = 0;
    memcpy(&word, ptokit_at(tensor, count, indices), get_element_size(tensor.dtype));
    return from_u64<T>(word);
}
template <typename T = uint64_t>
void set_tensor_data(const ChipTensor &tensor, uint32_t count, const uint32_t *indices, T value) {
    const uint64_t word = to_u64(value);
    memcpy(ptokit_at(tensor, count, indices), &word, get_element_size(tensor.dtype));
}

// --- The arguments of an orchestration

class ChipTaskArgs {
public:
    struct Reference {
        const ChipTensor *tensor;
        const ChipTensor &ref() const { return *tensor; }
    };
    const ChipTensor *tensors;
    const uint64_t *numbers;
    int32_t tensor_count, number_count;

    Reference tensor(int32_t index) const {
        if (index >= tensor_count) throw PtokitFailure{"the orchestration takes more tensors than it is given"};
        return {tensors + index};
    }
    uint64_t scalar(int32_t index) const {
        if (index >= number_count) throw PtokitFailure{"the orchestration takes more numbers than it is given"};
        return numbers[index];
    }
};
using ChipStorageTaskArgs = ChipTaskArgs;

struct PTO2OrchestrationConfig {
    int expected_arg_count;
};

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &args);

// Carries out an orchestration. Returns why it failed: nullptr if it has not, "" where Python knows.
extern "C" inline __attribute__((used, visibility("default"))) const char *ptokit_run(
    const PtokitHost *host, const ChipTensor *tensors, int32_t tensor_count, const uint64_t *numbers, int32_t number_count) {
    ptokit_state.host = host;
    ptokit_state.tensors.clear();
    ptokit_state.tasks = 0;
    try {
        aicpu_orchestration_entry(ChipTaskArgs{tensors, numbers, tensor_count, number_count});
    } catch (const PtokitFailure &failure) {
        return failure.why;
    } catch (...) {
        return "an exception of C++";
    }
    return nullptr;
}
