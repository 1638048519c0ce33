// Vector registers. A register is a number that its instructions give and take; they have it as a value.
#pragma once
#include <ptokit/pipes.hpp>

#define __VEC_SCOPE__
extern "C" PTOKIT_TOLD int64_t ptokit_register(int64_t which);

struct AnyRegister {
    int64_t token;
};
struct MaskReg : AnyRegister {};
struct UnalignReg : AnyRegister {};
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
    static constexpr Text result() {
        Text t;
        return t << "dtype " << dtype_name<T>();
    }
    static constexpr Text pointer = in_ub(), type = result();
};
template <class P>
PTO_INLINE void tell_to_register(const P& p) {
    if constexpr (std::is_base_of_v<AnyRegister, P>)
        ptokit_number("register", p.token);
    else if constexpr (std::is_pointer_v<P>)
        ptokit_pointer(OfElements<std::remove_cv_t<std::remove_pointer_t<P>>>::pointer.text, p);
    else
        tell(p);
}
// An instruction whose first result is a register of elements of type T.
template <class T, class... P>
PTO_INLINE int64_t in_register(const char* name, const P&... p) {
    ptokit_begin(name);
    (tell_to_register(p), ...);
    ptokit_option(OfElements<T>::type.text, 0);
    ptokit_end();
    return ptokit_register(0);
}
template <class T>
PTO_INLINE MaskReg CreatePredicate(uint32_t& count) {
    ptokit_begin(sizeof(T) == 1 ? "plt_b8" : sizeof(T) == 2 ? "plt_b16" : "plt_b32");
    ptokit_number("i32", count);
    ptokit_end();
    count = uint32_t(ptokit_register(1));
    return {{ptokit_register(0)}};
}
}  // namespace pto
typedef pto::SizedRegister<float> vector_f32;
typedef pto::SizedRegister<half> vector_f16;
typedef pto::SizedRegister<bfloat16_t> vector_bf16;
typedef pto::SizedRegister<int8_t> vector_s8;
typedef pto::SizedRegister<uint8_t> vector_u8;
typedef pto::SizedRegister<int16_t> vector_s16;
typedef pto::SizedRegister<uint16_t> vector_u16;
typedef pto::SizedRegister<int32_t> vector_s32;
typedef pto::SizedRegister<uint32_t> vector_u32;
typedef MaskReg vector_bool;

template <class T, class V>
PTO_INLINE void vdup(pto::RegTensor<T>& to, V value, MaskReg mask, reg_mode_t mode = MODE_ZEROING) {
    to.token = pto::in_register<T>("vdup", T(value), mask, mode);
}
template <class T>
PTO_INLINE void vlds(pto::RegTensor<T>& to, const T* from, int32_t offset, dist_t how = NORM) {
    to.token = pto::in_register<T>("vlds", from, offset, how);
}
// Two registers of every other element, or with the elements of both interleaved.
template <class T>
PTO_INLINE void vlds(pto::RegTensor<T>& low, pto::RegTensor<T>& high, const T* from, int32_t offset, dist_t how) {
    low.token = pto::in_register<T>("vldsx2", from, offset, how);
    high.token = ptokit_register(1);
}
template <class T>
PTO_INLINE void vsts(pto::RegTensor<T> low, pto::RegTensor<T> high, T* to, int32_t offset, dist_t how, MaskReg mask) {
    pto::in_register<T>("vstsx2", low, high, to, offset, how, mask);
}
template <class T>
PTO_INLINE void vintlv(pto::RegTensor<T>& low, pto::RegTensor<T>& high, pto::RegTensor<T> x, pto::RegTensor<T> y) {
    low.token = pto::in_register<T>("vintlv", x, y);
    high.token = ptokit_register(1);
}
template <class T>
PTO_INLINE void vdintlv(pto::RegTensor<T>& low, pto::RegTensor<T>& high, pto::RegTensor<T> x, pto::RegTensor<T> y) {
    low.token = pto::in_register<T>("vdintlv", x, y);
    high.token = ptokit_register(1);
}
template <class T>
PTO_INLINE void vldas(UnalignReg& begun, const T* from) {
    begun.token = pto::in_register<T>("vldas", from);
}
template <class T>
PTO_INLINE void vldus(pto::RegTensor<T>& to, UnalignReg& begun, const T* from) {
    to.token = pto::in_register<T>("vldus", from, begun);
    begun.token = ptokit_register(1);
}
template <class T>
PTO_INLINE void vsts(pto::RegTensor<T> from, T* to, int32_t offset, dist_t how, MaskReg mask) {
    ptokit_begin("vsts");
    pto::tell_to_register(from);
    pto::tell_to_register(to);
    pto::tell(offset);
    pto::tell_to_register(mask);
    pto::tell(how);
    ptokit_end();
}
PTO_INLINE void mem_bar(mem_bar_t what) { pto::told("mem_bar", what); }

// Of one register, of a register and a number, and of two registers.
#define PTOKIT_OF_ONE(NAME) \
    template <class T> \
    PTO_INLINE void NAME(pto::RegTensor<T>& to, pto::RegTensor<T> x, MaskReg mask, reg_mode_t mode = MODE_ZEROING) { \
        to.token = pto::in_register<T>(#NAME, x, mask, mode); \
    }
#define PTOKIT_OF_NUMBER(NAME) \
    template <class T, class V> \
    PTO_INLINE void NAME(pto::RegTensor<T>& to, pto::RegTensor<T> x, V value, MaskReg mask, \
                         reg_mode_t mode = MODE_ZEROING) { \
        to.token = pto::in_register<T>(#NAME, x, T(value), mask, mode); \
    }
#define PTOKIT_OF_TWO(NAME) \
    template <class T> \
    PTO_INLINE void NAME(pto::RegTensor<T>& to, pto::RegTensor<T> x, pto::RegTensor<T> y, MaskReg mask, \
                         reg_mode_t mode = MODE_ZEROING) { \
        to.token = pto::in_register<T>(#NAME, x, y, mask, mode); \
    }
PTOKIT_OF_ONE(vabs)
PTOKIT_OF_ONE(vneg)
PTOKIT_OF_ONE(vexp)
PTOKIT_OF_ONE(vln)
PTOKIT_OF_ONE(vsqrt)
PTOKIT_OF_ONE(vrelu)
PTOKIT_OF_NUMBER(vadds)
PTOKIT_OF_NUMBER(vmuls)
PTOKIT_OF_NUMBER(vmaxs)
PTOKIT_OF_NUMBER(vmins)
PTOKIT_OF_TWO(vadd)
PTOKIT_OF_TWO(vsub)
PTOKIT_OF_TWO(vmul)
PTOKIT_OF_TWO(vdiv)
PTOKIT_OF_TWO(vmax)
PTOKIT_OF_TWO(vmin)
#undef PTOKIT_OF_ONE
#undef PTOKIT_OF_NUMBER
#undef PTOKIT_OF_TWO
