// Vector registers. A register is a number that its instructions give and take; they have it as a value.
#pragma once
#include <ptokit/pipes.hpp>

#define __VEC_SCOPE__
extern "C" PTOKIT_TOLD int64_t ptokit_register(const char* type, int64_t which);

struct AnyRegister {
    int64_t token;
};
struct MaskReg : AnyRegister {};
struct UnalignReg : AnyRegister {};
struct vector_align : UnalignReg {};
// What becomes of lanes that take no part, by type: merging ones read what the register held.
constexpr struct PtokitZeroing {} MODE_ZEROING{}, MODE_UNKNOWN{};
constexpr struct PtokitMerging {} MODE_MERGING{};
namespace pto {
constexpr uint32_t CCE_VL = 256;
template <class T>
struct RegTensor : AnyRegister {
    using DType = T;
};
// A register by the name of its elements is as large as it is; a number is all that is used of it.
template <class T>
struct SizedRegister : RegTensor<T> {
    char lanes[CCE_VL - sizeof(int64_t)];
};
template <class T>
struct OfElements {
    static constexpr Text in_ub() {
        Text t;
        return t << dtype_name<T>() << " ub";
    }
    static constexpr Text vector() {
        Text t;
        return t << "vreg " << dtype_name<T>();
    }
    static constexpr Text pointer = in_ub(), type = vector();
};
template <class P, class A>
constexpr bool is_a = std::is_base_of_v<A, std::remove_cv_t<P>>;
template <class P>
constexpr bool is_number = std::is_arithmetic_v<std::remove_cv_t<P>>;
template <class P>
constexpr const char* register_type() {
    if constexpr (is_a<P, MaskReg>) return "mask";
    else if constexpr (is_a<P, UnalignReg>) return "align";
    else return OfElements<typename P::DType>::type.text;
}
// What the number of an access by POST_UPDATE is, by which its pointer goes on: elements from the pointer, strides, or a count.
enum Number { PLACE, STRIDES, COUNT };
template <bool AT_PLACE, class P>
PTO_INLINE void tell_to_register(P& p) {
    if constexpr (is_a<P, AnyRegister>)
        ptokit_number(register_type<std::remove_cv_t<P>>(), p.token);
    else if constexpr (std::is_pointer_v<P>)
        ptokit_pointer(OfElements<std::remove_cv_t<std::remove_pointer_t<P>>>::pointer.text, p);
    else if constexpr (AT_PLACE && is_number<P>)
        ptokit_number("i64", 0);
    else if constexpr (!is_a<P, PtokitZeroing> && !is_a<P, PtokitMerging>)
        tell(p);
}
template <int64_t K, int RESULTS, bool READS, bool AT_PLACE, class P>
PTO_INLINE void tell_operand(P& p) {
    if constexpr (K < RESULTS) ptokit_option(register_type<P>(), K);
    if constexpr (K >= RESULTS || (K == 0 && READS)) tell_to_register<AT_PLACE>(p);
}
// Results, and the register of an unaligned access, which goes on where the one before it has ended.
template <int64_t K, int RESULTS, bool GOES_ON, class P>
PTO_INLINE void set_register(P& p) {
    if constexpr (K < RESULTS) p.token = ptokit_register(register_type<P>(), K);
    else if constexpr (GOES_ON && is_a<P, UnalignReg>) p.token = ptokit_register("align", RESULTS);
}
template <class P>
PTO_INLINE void step_of(const P& p, int64_t& step) {
    if constexpr (is_number<P>) step = int64_t(p);
}
template <Number NUMBER, class P>
PTO_INLINE void advance(P& p, int64_t step) {
    if constexpr (std::is_pointer_v<P>) {
        static_assert(!std::is_const_v<P>, "POST_UPDATE moves a pointer on, and this one is const");
        if constexpr (!std::is_const_v<P>) p += NUMBER == STRIDES ? (step & 0xffff) * 32 / int64_t(sizeof(*p)) : step;
    }
}
template <class... P>
constexpr int leading_registers() {
    int count = 0;
    bool all = true;
    ((count += all = all && is_a<P, AnyRegister>), ...);
    return count;
}
// An instruction whose first arguments are its results: all registers that come first if their number is negative.
// `ADDS`: it adds to its first result; `GOES_ON`: it moves on an UnalignReg.
template <int STATED, bool ADDS, bool GOES_ON, Number NUMBER, size_t... K, class... P>
PTO_INLINE void on_registers(const char* name, std::index_sequence<K...>, P&... p) {
    constexpr int RESULTS = STATED < 0 ? leading_registers<P...>() : STATED;
    constexpr bool posted = (std::is_same_v<std::remove_cv_t<P>, post_t> || ...);
    constexpr bool merges = (is_a<P, PtokitMerging> || ...);
    ptokit_begin(name);
    if constexpr (merges) ptokit_option("merging", 1);
    (tell_operand<K, RESULTS, ADDS || merges, posted && NUMBER == PLACE>(p), ...);
    ptokit_end();
    (set_register<K, RESULTS, GOES_ON>(p), ...);
    if constexpr (posted) {
        int64_t step = 0;
        (step_of(p, step), ...);
        (advance<NUMBER>(p, step), ...);
    }
}
template <class T>
PTO_INLINE MaskReg CreatePredicate(uint32_t& count) {
    ptokit_begin(sizeof(T) == 1 ? "plt_b8" : sizeof(T) == 2 ? "plt_b16" : "plt_b32");
    ptokit_number("ui32", count);
    ptokit_end();
    count = uint32_t(ptokit_integer_result());
    return {{ptokit_register("mask", 0)}};
}
}  // namespace pto
typedef pto::SizedRegister<float> vector_f32;
typedef pto::SizedRegister<half> vector_f16;
typedef pto::SizedRegister<bfloat16_t> vector_bf16;
typedef pto::SizedRegister<float8_e4m3_t> vector_f8e4m3;
typedef pto::SizedRegister<float8_e5m2_t> vector_f8e5m2;
typedef pto::SizedRegister<hifloat8_t> vector_hif8;
typedef pto::SizedRegister<float4_e2m1x2_t> vector_f4e2m1x2;
typedef pto::SizedRegister<float4_e1m2x2_t> vector_f4e1m2x2;
typedef pto::SizedRegister<int8_t> vector_s8;
typedef pto::SizedRegister<uint8_t> vector_u8;
typedef pto::SizedRegister<int16_t> vector_s16;
typedef pto::SizedRegister<uint16_t> vector_u16;
typedef pto::SizedRegister<int32_t> vector_s32;
typedef pto::SizedRegister<uint32_t> vector_u32;
typedef pto::SizedRegister<int64_t> vector_s64;
typedef pto::SizedRegister<uint64_t> vector_u64;
typedef MaskReg vector_bool;

#define PTOKIT_ON_REGISTERS(NAME, RESULTS, ...) \
    template <class... P> \
    PTO_INLINE void NAME(P&&... p) { \
        pto::on_registers<RESULTS, __VA_ARGS__>(#NAME, std::index_sequence_for<P...>(), p...); \
    }
#define PTOKIT_MAKES_MASK(NAME) \
    template <class P> \
    PTO_INLINE MaskReg NAME(P p) { \
        pto::told(#NAME, p); \
        return {{ptokit_register("mask", 0)}}; \
    }
#define PTOKIT_COUNTS(NAME) \
    template <class N> \
    PTO_INLINE MaskReg NAME(N& count, post_t = POST_UPDATE) { \
        pto::told(#NAME, count); \
        count = N(ptokit_integer_result()); \
        return {{ptokit_register("mask", 0)}}; \
    }
PTO_INLINE void mem_bar(mem_bar_t what) { pto::told("mem_bar", what); }
PTO_INLINE void sprclr(spr_t what) { pto::told("sprclr", what); }
