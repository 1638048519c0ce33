// How an instruction tells its operands: a constant text for what is known when it is compiled, numbers for the rest.
#pragma once
#include <ptokit/tiles.hpp>

namespace pto {
struct Text {
    char text[224] = {};
    int size = 0;
    constexpr Text& operator<<(const char* s) {
        while (*s) text[size++] = *s++;
        return *this;
    }
    constexpr Text& operator<<(int64_t n) {
        char digits[24] = {};
        int count = 0;
        text[size++] = ' ';
        uint64_t rest = n < 0 ? 0 - uint64_t(n) : uint64_t(n);
        if (n < 0) text[size++] = '-';
        do digits[count++] = char('0' + rest % 10);
        while (rest /= 10);
        while (count) text[size++] = digits[--count];
        return *this;
    }
};
template <class T>
constexpr const char* dtype_name() {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>) return "f32";
    else if constexpr (std::is_same_v<U, half>) return "f16";
    else if constexpr (std::is_same_v<U, bfloat16_t>) return "bf16";
    else if constexpr (std::is_same_v<U, double>) return "f64";
    else if constexpr (std::is_same_v<U, float8_e4m3_t>) return "f8E4M3FN";
    else if constexpr (std::is_same_v<U, float8_e5m2_t>) return "f8E5M2";
    else if constexpr (std::is_same_v<U, float8_e8m0_t>) return "f8E8M0FNU";
    else if constexpr (std::is_same_v<U, hifloat8_t>) return "!pto.hif8";
    else if constexpr (std::is_same_v<U, float4_e2m1x2_t>) return "e2m1";
    else if constexpr (std::is_same_v<U, float4_e1m2x2_t>) return "e1m2";
    else if constexpr (std::is_same_v<U, int4b_t>) return "i4";
    else if constexpr (std::is_same_v<U, bool>) return "i1";
    else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>)
        return sizeof(U) == 1 ? "i8" : sizeof(U) == 2 ? "i16" : sizeof(U) == 4 ? "i32" : "i64";
    else if constexpr (std::is_integral_v<U>)
        return sizeof(U) == 1 ? "ui8" : sizeof(U) == 2 ? "ui16" : sizeof(U) == 4 ? "ui32" : "ui64";
    else return "?";
}
template <class T>
struct Described {
    static constexpr Text make() {
        Text t;
        if constexpr (std::is_enum_v<T>)
            t << enum_name<T>();
        else if constexpr (is_conv<T>::value)
            t << "conv " << dtype_name<typename T::DType>() << int64_t(T::Loc) << int64_t(T::bufferSize)
              << int64_t(T::layout) << int64_t(T::totalDimCount);
        else if constexpr (is_tile<T>::value)
            t << dtype_name<typename T::DType>() << int64_t(T::Loc) << int64_t(T::Rows) << int64_t(T::Cols)
              << int64_t(T::BFractal) << int64_t(T::ValidRow) << int64_t(T::ValidCol) << int64_t(T::SFractal)
              << int64_t(T::SFractalSize) << int64_t(T::PadVal) << int64_t(T::Compact);
        else
            t << dtype_name<typename T::DType>() << int64_t(T::layout);
        return t;
    }
    static constexpr Text value = make();
};
struct RecordEvent {};
struct AnyEvent {};

// Numbers of an array, one by one: no loop is left that would tell them.
template <class T, size_t N, size_t... K>
PTO_INLINE void tell_each(const T (&p)[N], std::index_sequence<K...>) {
    (ptokit_number(dtype_name<T>(), int64_t(p[K])), ...);
}
template <class P>
PTO_INLINE void tell(const P& p) {
    using T = std::remove_cv_t<P>;
    if constexpr (is_conv<T>::value)
        ptokit_view(Described<T>::value.text, p.data(), p.GetShape(0), p.GetShape(1), p.GetShape(2), p.GetShape(3),
                    p.GetShape(4), p.GetShape(5), p.state(0), p.state(1), p.state(2), p.state(3));
    else if constexpr (is_tile<T>::value)
        ptokit_tile(Described<T>::value.text, p.place, p.GetValidRow(), p.GetValidCol());
    else if constexpr (is_global<T>::value)
        ptokit_view(Described<T>::value.text, p.data_, p.shape_.template get<0>(), p.shape_.template get<1>(),
                    p.shape_.template get<2>(), p.shape_.template get<3>(), p.shape_.template get<4>(),
                    p.stride_.template get<0>(), p.stride_.template get<1>(), p.stride_.template get<2>(),
                    p.stride_.template get<3>(), p.stride_.template get<4>());
    else if constexpr (std::is_base_of_v<AnyEvent, T> || std::is_base_of_v<RecordEvent, T>) {
    } else if constexpr (std::is_enum_v<T>)
        ptokit_option(Described<T>::value.text, int64_t(p));
    else if constexpr (std::is_array_v<T>)
        tell_each(p, std::make_index_sequence<std::extent_v<T>>());
    else if constexpr (std::is_null_pointer_v<T>) {
    } else if constexpr (std::is_pointer_v<T> && is_tile<std::remove_pointer_t<T>>::value)
        tell(*p);
    else if constexpr (std::is_pointer_v<T>)
        ptokit_pointer(dtype_name<std::remove_pointer_t<T>>(), p);
    else if constexpr (std::is_integral_v<T>)
        ptokit_number(dtype_name<T>(), int64_t(p));
    else if constexpr (std::is_floating_point_v<T> || std::is_convertible_v<T, float>)
        ptokit_real(dtype_name<T>(), double(float(p)));
    else
        static_assert(!sizeof(T), "an operand is a tile, a view, a pointer, a number, an enumerator or an event");
}
// What is said in the template arguments of a call.
template <auto V>
PTO_INLINE void tell_option() {
    using T = std::remove_cv_t<decltype(V)>;
    if constexpr (std::is_enum_v<T>)
        ptokit_option(Described<T>::value.text, int64_t(V));
    else
        ptokit_option(std::is_same_v<T, bool> ? "bool" : "", int64_t(V));
}
template <class P>
PTO_INLINE void wait_for(P& p) {
    if constexpr (std::is_base_of_v<AnyEvent, std::remove_cv_t<P>>) p.Wait();
}
template <auto... V, class... P>
PTO_INLINE RecordEvent told(const char* name, P&... p) {
    (wait_for(p), ...);
    ptokit_begin(name);
    (tell(p), ...);
    (tell_option<V>(), ...);
    ptokit_end();
    return {};
}
}  // namespace pto

// An instruction, with all the ways to give types and options in its template arguments.
#define PTOKIT_FORMS(FUNCTION, NAME) \
    template <auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<V...>(NAME, p...); } \
    template <class A, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<V...>(NAME, p...); } \
    template <class A, class B, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<V...>(NAME, p...); } \
    template <class A, class B, class C, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<V...>(NAME, p...); } \
    template <class A, class B, class C, class D, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<V...>(NAME, p...); } \
    template <class A, class B, class C, class D, class E, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<V...>(NAME, p...); } \
    template <class A, class B, class C, class D, class E, class F, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<V...>(NAME, p...); } \
    template <auto U, class A, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<U, V...>(NAME, p...); } \
    template <auto U, class A, class B, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<U, V...>(NAME, p...); } \
    template <auto U, class A, class B, class C, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<U, V...>(NAME, p...); } \
    template <auto U, class A, class B, class C, class D, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<U, V...>(NAME, p...); } \
    template <auto U, class A, class B, class C, class D, class E, auto... V, class... P> \
    PTO_INLINE RecordEvent FUNCTION(P&&... p) { return told<U, V...>(NAME, p...); }
#define PTOKIT_INSTRUCTION(NAME) \
    PTOKIT_FORMS(NAME, #NAME) \
    PTOKIT_FORMS(NAME##_IMPL, #NAME)
