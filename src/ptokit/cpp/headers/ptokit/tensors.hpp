// Views of global memory. Sizes that are known when it is compiled are part of the type.
#pragma once
#include <ptokit/enumerations.hpp>

namespace pto {
constexpr int DYNAMIC = -1;
struct GlobalTensorDim {
    static constexpr int DIM_0 = 0, DIM_1 = 1, DIM_2 = 2, DIM_3 = 3, DIM_4 = 4, TOTAL_DIM = 5;
};

// The open ones among five sizes. The two kinds call them differently, and are not the same type.
template <bool IsStride>
struct OpenSizes {
    int64_t shape[5];
    PTO_INLINE int64_t& at(int d) { return shape[d]; }
    PTO_INLINE int64_t at(int d) const { return shape[d]; }
};
template <>
struct OpenSizes<true> {
    int64_t stride[5];
    PTO_INLINE int64_t& at(int d) { return stride[d]; }
    PTO_INLINE int64_t at(int d) const { return stride[d]; }
};
template <bool IsStride, int64_t... N>
struct Sizes : OpenSizes<IsStride> {
    static_assert(sizeof...(N) == 5);
    static constexpr int64_t fixed[5] = {N...};
    static constexpr int open = ((N == DYNAMIC) + ... + 0);

    PTO_INLINE Sizes() {
        begin<0>();
        begin<1>();
        begin<2>();
        begin<3>();
        begin<4>();
    }
    template <class... I, std::enable_if_t<sizeof...(I) != 0 && (std::is_convertible_v<I, int64_t> && ...), int> = 0>
    PTO_INLINE Sizes(I... sizes) : Sizes() {
        static_assert(sizeof...(I) == 5 || sizeof...(I) == open, "give as many numbers as there are open sizes, or five");
        const int64_t given[] = {int64_t(sizes)...};
        int next = 0;
        take<0>(given, next, sizeof...(I) == 5);
        take<1>(given, next, sizeof...(I) == 5);
        take<2>(given, next, sizeof...(I) == 5);
        take<3>(given, next, sizeof...(I) == 5);
        take<4>(given, next, sizeof...(I) == 5);
    }
    template <int D>
    PTO_INLINE int64_t get() const {
        if constexpr (fixed[D] == DYNAMIC)
            return OpenSizes<IsStride>::at(D);
        else
            return fixed[D];
    }
    PTO_INLINE int64_t size(int d) const {
        return d == 0 ? get<0>() : d == 1 ? get<1>() : d == 2 ? get<2>() : d == 3 ? get<3>() : get<4>();
    }

private:
    template <int D>
    PTO_INLINE void begin() {
        OpenSizes<IsStride>::at(D) = fixed[D] == DYNAMIC ? 1 : fixed[D];
    }
    template <int D>
    PTO_INLINE void take(const int64_t* given, int& next, bool all) {
        if constexpr (fixed[D] == DYNAMIC) OpenSizes<IsStride>::at(D) = given[all ? D : next++];
    }
};
template <int64_t A = DYNAMIC, int64_t B = DYNAMIC, int64_t C = DYNAMIC, int64_t D = DYNAMIC, int64_t E = DYNAMIC>
struct Shape : Sizes<false, A, B, C, D, E> {
    using Sizes<false, A, B, C, D, E>::Sizes;
    static constexpr const int64_t (&staticShape)[5] = Sizes<false, A, B, C, D, E>::fixed;
};
template <int64_t A = DYNAMIC, int64_t B = DYNAMIC, int64_t C = DYNAMIC, int64_t D = DYNAMIC, int64_t E = DYNAMIC>
struct Stride : Sizes<true, A, B, C, D, E> {
    using Sizes<true, A, B, C, D, E>::Sizes;
    static constexpr const int64_t (&staticStride)[5] = Sizes<true, A, B, C, D, E>::fixed;
};
template <class... I>
Shape(I...) -> Shape<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;
template <class... I>
Stride(I...) -> Stride<DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC, DYNAMIC>;

constexpr int64_t quotient(int64_t n, int64_t by) { return n == DYNAMIC ? DYNAMIC : n / by; }
constexpr int64_t product(int64_t n, int64_t by) { return n == DYNAMIC || by == DYNAMIC ? DYNAMIC : n * by; }
template <class T>
constexpr int64_t columns_of_box = 32 / sizeof(T);

// Shape and strides of a packed matrix in a layout.
template <class T, int64_t R = DYNAMIC, int64_t C = DYNAMIC, Layout L = Layout::ND>
struct TileShape2D : Shape<1, 1, 1, R, C> {
    using Base = Shape<1, 1, 1, R, C>;
    using Base::Base;
    PTO_INLINE TileShape2D() {}
    template <class A, class B>
    PTO_INLINE TileShape2D(A rows, B columns) : Base(1, 1, 1, rows, columns) {}
};
template <class T, int64_t R, int64_t C>
struct TileShape2D<T, R, C, Layout::NZ>
    : Shape<1, quotient(C, columns_of_box<T>), quotient(R, 16), 16, columns_of_box<T>> {
    using Base = Shape<1, quotient(C, columns_of_box<T>), quotient(R, 16), 16, columns_of_box<T>>;
    using Base::Base;
    PTO_INLINE TileShape2D() {}
    template <class A, class B>
    PTO_INLINE TileShape2D(A rows, B columns)
        : Base(1, columns / columns_of_box<T>, rows / 16, 16, columns_of_box<T>) {}
};
template <class T, int64_t R = DYNAMIC, int64_t C = DYNAMIC, Layout L = Layout::ND>
struct BaseShape2D : Stride<product(R, C), product(R, C), product(R, C), C, 1> {
    using Base = Stride<product(R, C), product(R, C), product(R, C), C, 1>;
    using Base::Base;
    PTO_INLINE BaseShape2D() {}
    template <class A, class B>
    PTO_INLINE BaseShape2D(A rows, B columns)
        : Base(rows * columns, rows * columns, rows * columns, columns, 1) {}
};
template <class T, int64_t R, int64_t C>
struct BaseShape2D<T, R, C, Layout::DN> : Stride<product(R, C), product(R, C), product(R, C), 1, R> {
    using Base = Stride<product(R, C), product(R, C), product(R, C), 1, R>;
    using Base::Base;
    PTO_INLINE BaseShape2D() {}
    template <class A, class B>
    PTO_INLINE BaseShape2D(A rows, B columns)
        : Base(rows * columns, rows * columns, rows * columns, 1, rows) {}
};
template <class T, int64_t R, int64_t C>
struct BaseShape2D<T, R, C, Layout::NZ>
    : Stride<product(R, C), product(R, columns_of_box<T>), 16 * columns_of_box<T>, columns_of_box<T>, 1> {
    using Base = Stride<product(R, C), product(R, columns_of_box<T>), 16 * columns_of_box<T>, columns_of_box<T>, 1>;
    using Base::Base;
    PTO_INLINE BaseShape2D() {}
    template <class A, class B>
    PTO_INLINE BaseShape2D(A rows, B columns)
        : Base(rows * columns, rows * columns_of_box<T>, 16 * columns_of_box<T>, columns_of_box<T>, 1) {}
};

// Scales: of the left operand (A) rows are long and columns come in pairs, of the right one (B) the other way round.
// Groups of 16 pairs (of 4 in HiFloat4), or pairs side by side, or one below the other.
template <Layout L>
struct Scales {
    static constexpr bool four = L == Layout::HIF4_A_ZZ || L == Layout::HIF4_B_NN;
    static constexpr bool left =
        L == Layout::MX_A_ZZ || L == Layout::MX_A_ND || L == Layout::MX_A_DN || L == Layout::HIF4_A_ZZ;
    static constexpr bool groups = four || L == Layout::MX_A_ZZ || L == Layout::MX_B_NN;
    static constexpr bool beside = L == Layout::MX_A_ND || L == Layout::MX_B_DN;
    static constexpr int64_t few = four ? 4 : 2;
    static constexpr int64_t size(int d, int64_t rows, int64_t columns) {
        const int64_t length = left ? rows : columns, pairs = left ? columns : rows;
        const int64_t count = four ? pairs : quotient(pairs, 2);
        if (d == 1) return groups ? quotient(length, 16) : 1;
        if (d == 2) return groups || !beside ? count : length;
        return groups ? 16 : beside ? count : length;
    }
    static constexpr int64_t stride(int d, int64_t rows, int64_t columns) {
        const int64_t length = left ? rows : columns, pairs = left ? columns : rows;
        if (d == 1) return groups ? product(pairs, 16) : product(rows, columns);
        return groups ? 16 * few : beside ? pairs : product(length, 2);
    }
};
#define PTOKIT_SCALES(LAYOUT) \
    template <class T, int64_t R, int64_t C> \
    struct TileShape2D<T, R, C, Layout::LAYOUT> \
        : Shape<1, Scales<Layout::LAYOUT>::size(1, R, C), Scales<Layout::LAYOUT>::size(2, R, C), \
                Scales<Layout::LAYOUT>::size(3, R, C), Scales<Layout::LAYOUT>::few> { \
        using Of = Scales<Layout::LAYOUT>; \
        using Base = Shape<1, Of::size(1, R, C), Of::size(2, R, C), Of::size(3, R, C), Of::few>; \
        using Base::Base; \
        PTO_INLINE TileShape2D() {} \
        template <class A, class B> \
        PTO_INLINE TileShape2D(A rows, B columns) \
            : Base(1, Of::size(1, rows, columns), Of::size(2, rows, columns), Of::size(3, rows, columns), Of::few) {} \
    }; \
    template <class T, int64_t R, int64_t C> \
    struct BaseShape2D<T, R, C, Layout::LAYOUT> \
        : Stride<product(R, C), Scales<Layout::LAYOUT>::stride(1, R, C), Scales<Layout::LAYOUT>::stride(2, R, C), \
                 Scales<Layout::LAYOUT>::few, 1> { \
        using Of = Scales<Layout::LAYOUT>; \
        using Base = Stride<product(R, C), Of::stride(1, R, C), Of::stride(2, R, C), Of::few, 1>; \
        using Base::Base; \
        PTO_INLINE BaseShape2D() {} \
        template <class A, class B> \
        PTO_INLINE BaseShape2D(A rows, B columns) \
            : Base(rows * columns, Of::stride(1, rows, columns), Of::stride(2, rows, columns), Of::few, 1) {} \
    };
PTOKIT_SCALES(MX_A_ZZ)
PTOKIT_SCALES(MX_A_ND)
PTOKIT_SCALES(MX_A_DN)
PTOKIT_SCALES(MX_B_NN)
PTOKIT_SCALES(MX_B_ND)
PTOKIT_SCALES(MX_B_DN)
PTOKIT_SCALES(HIF4_A_ZZ)
PTOKIT_SCALES(HIF4_B_NN)
#undef PTOKIT_SCALES

template <class T, class Shape_, class Stride_, Layout L = Layout::ND>
struct GlobalTensor {
    using Shape = Shape_;
    using Stride = Stride_;
    using DType = T;
    using RawDType = std::remove_cv_t<T>;
    static constexpr Layout layout = L;
    static constexpr int64_t staticShape[5] = {Shape::fixed[0], Shape::fixed[1], Shape::fixed[2], Shape::fixed[3],
                                               Shape::fixed[4]};
    static constexpr int64_t staticStride[5] = {Stride::fixed[0], Stride::fixed[1], Stride::fixed[2], Stride::fixed[3],
                                                Stride::fixed[4]};
    PTO_INLINE GlobalTensor() : data_(nullptr) {}
    PTO_INLINE GlobalTensor(T* data) : data_(data) {}
    PTO_INLINE GlobalTensor(T* data, const Shape& shape) : data_(data), shape_(shape) {}
    PTO_INLINE GlobalTensor(T* data, const Shape& shape, const Stride& stride)
        : data_(data), shape_(shape), stride_(stride) {}
    PTO_INLINE T* data() const { return data_; }
    PTO_INLINE void SetAddr(T* data) { data_ = data; }
    PTO_INLINE int64_t GetShape(int d) const { return shape_.size(d); }
    PTO_INLINE int64_t GetStride(int d) const { return stride_.size(d); }
    template <int D>
    static constexpr int64_t GetShape() {
        return Shape::fixed[D];
    }
    template <int D>
    static constexpr int64_t GetStride() {
        return Stride::fixed[D];
    }
    template <int D>
    PTO_INLINE int64_t GetShapeSize() const {
        return shape_.template get<D>();
    }
    T* data_;
    Shape shape_;
    Stride stride_;
};
template <class T>
struct is_global_data : std::false_type {};
template <class T, class S, class D, Layout L>
struct is_global_data<GlobalTensor<T, S, D, L>> : std::true_type {};
template <class T>
struct is_global : is_global_data<T> {};
template <class T>
inline constexpr bool is_global_data_v = is_global_data<T>::value;
}  // namespace pto
