// What a device compiler knows by itself, and how a kernel tells what it does. Comes before any other header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#define PTOKIT 1
#define __CCE_AICORE__ 220
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __in__
#define __out__
#define __inout__
#define __tf__
#define __sync_in__
#define __sync_out__
#define __sync_inout__
#define __sync_alias__
#define __aicore__
#define __global__ __attribute__((used, noinline, annotate("ptokit.kernel")))
#define __launch_bounds__(...)
#define __check_sync_alias__
#define PTO_INLINE inline __attribute__((always_inline))
#define AICORE
#define PTO_INST PTO_INLINE
#define PTO_INTERNAL PTO_INLINE
#define OP_NAME(...)
#define OP_TYPE(...)
#define PTO_SYNCALL_AIV_KERNEL_META(...)
#define PTO_SYNCALL_AIC_KERNEL_META(...)
#define PTO_SYNCALL_MIX_AIC_KERNEL_META(...)
#define PTO_STATIC_ASSERT(...) static_assert(__VA_ARGS__)
#define PTO_ASSERT(...) ((void)0)
#define PTO_CPU_ASSERT(...) ((void)0)
#ifdef PTOKIT_TARGET_A5
#define PTO_NPU_ARCH_A5
#else
#define PTO_NPU_ARCH_A2A3
#endif

// Calls of these are what is left of a kernel. An instruction is its name, its operands one by one, and its end. Each
// operand says what it is by a constant text. `nomerge` keeps calls of two branches apart.
#define PTOKIT_TOLD __attribute__((nomerge, nothrow))
extern "C" {
PTOKIT_TOLD void ptokit_begin(const char* name);
PTOKIT_TOLD void ptokit_tile(const char* type, int64_t place, int64_t rows, int64_t columns);
PTOKIT_TOLD void ptokit_view(const char* type, const void* data, int64_t shape0, int64_t shape1, int64_t shape2,
                             int64_t shape3, int64_t shape4, int64_t stride0, int64_t stride1, int64_t stride2,
                             int64_t stride3, int64_t stride4);
PTOKIT_TOLD void ptokit_number(const char* type, int64_t value);
PTOKIT_TOLD void ptokit_real(const char* type, double value);
PTOKIT_TOLD void ptokit_pointer(const char* type, const void* data);
PTOKIT_TOLD void ptokit_option(const char* type, int64_t value);
PTOKIT_TOLD void ptokit_end();
PTOKIT_TOLD int64_t ptokit_integer_result();
PTOKIT_TOLD double ptokit_real_result();
PTOKIT_TOLD int64_t ptokit_query(const char* name);
PTOKIT_TOLD int64_t ptokit_new_tile();
void ptokit_launch(void* kernel, int64_t blocks, int64_t stream, int64_t count, const void* const* arguments,
                   const int32_t* kinds);
}

typedef _Float16 half;
#define __fp16 half
struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    PTO_INLINE constexpr bfloat16_t(float x) : bits(rounded(__builtin_bit_cast(uint32_t, x))) {}
    PTO_INLINE constexpr operator float() const { return __builtin_bit_cast(float, uint32_t(bits) << 16); }

private:
    static constexpr uint16_t rounded(uint32_t x) {
        return (x & 0x7fffffff) > 0x7f800000 ? uint16_t(x >> 16 | 64) : uint16_t((x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
};
#define PTOKIT_CODES(T) \
    struct T { \
        uint8_t bits; \
    };
PTOKIT_CODES(float8_e4m3_t)
PTOKIT_CODES(float8_e5m2_t)
PTOKIT_CODES(float8_e8m0_t)
PTOKIT_CODES(hifloat8_t)
PTOKIT_CODES(float4_e2m1x2_t)
PTOKIT_CODES(float4_e1m2x2_t)
#undef PTOKIT_CODES

// Launches: `kernel<<<blocks, l2, stream>>>(arguments)` is read as `ptokit::launch(kernel, blocks, l2, stream)(arguments)`.
namespace ptokit {
template <class... P>
struct Launch {
    void (*kernel)(P...);
    int64_t blocks, stream;
    void operator()(P... p) const {
        const void* at[] = {&p..., nullptr};
        const int32_t kinds[] = {kind<P>()..., 0};
        ptokit_launch((void*)kernel, blocks, stream, sizeof...(P), at, kinds);
    }
    // Of a pointer -1, of an integer its bytes, of a float 100 more.
    template <class T>
    static constexpr int32_t kind() {
        return std::is_pointer_v<T> ? -1 : std::is_integral_v<T> || std::is_enum_v<T> ? int32_t(sizeof(T)) : 100 + int32_t(sizeof(T));
    }
};
template <class... P, class L, class S>
Launch<P...> launch(void (*kernel)(P...), int64_t blocks, L, S stream) {
    return {kernel, blocks, (int64_t)stream};
}
}  // namespace ptokit
