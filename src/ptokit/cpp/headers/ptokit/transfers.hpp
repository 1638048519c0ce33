// Transfers by address, and what ptokit knows by name only: it is declared, and refused in a kernel that uses it.
#pragma once
#include <ptokit/registers.hpp>

template <class P>
PTO_INLINE P __cce_get_tile_ptr(P tile) {
    return tile;
}

// A transfer, whose pointers say into which memory they point: `ui8 ub` for one of the core, `ui8` for the global one.
#define PTOKIT_TRANSFER(NAME, AS, TO, FROM) \
    template <class... N> \
    PTO_INLINE void NAME(const void* to, const void* from, N... numbers) { \
        ptokit_begin(#AS); \
        ptokit_pointer(FROM, from); \
        ptokit_pointer(TO, to); \
        (ptokit_number("i64", int64_t(numbers)), ...); \
        ptokit_end(); \
    }
PTOKIT_TRANSFER(copy_cbuf_to_ubuf, copy_cbuf_to_ubuf, "ui8 ub", "ui8 l1")
PTOKIT_TRANSFER(copy_ubuf_to_cbuf, copy_ubuf_to_cbuf, "ui8 l1", "ui8 ub")
PTOKIT_TRANSFER(copy_cbuf_to_gm, copy_cbuf_to_gm, "ui8", "ui8 l1")
PTOKIT_TRANSFER(copy_ubuf_to_gm_align_v2, copy_ubuf_to_gm, "ui8", "ui8 ub")
PTOKIT_TRANSFER(copy_gm_to_ubuf_align_v2, copy_gm_to_ubuf, "ui8 ub", "ui8")
#undef PTOKIT_TRANSFER
// Transfers that count blocks of 32 bytes, and gaps between rows, as those that count bytes, and strides.
PTO_INLINE void copy_gm_to_ubuf(const void* to, const void* from, int64_t core, int64_t rows, int64_t blocks,
                                int64_t gap_from, int64_t gap_to) {
    const bool dense = gap_from == 0 && gap_to == 0;  // block by block: lengths of rows have fewer bits
    const int64_t step_from = dense ? 32 : 32 * (blocks + gap_from), step_to = dense ? 32 : 32 * (blocks + gap_to);
    const int64_t count = dense ? rows * blocks : rows, bytes = dense ? 32 : 32 * blocks;
    copy_gm_to_ubuf_align_v2(to, from, core, count, bytes, 0, 0, 0, 0, step_from, step_to);
}
PTO_INLINE void copy_ubuf_to_gm(const void* to, const void* from, int64_t core, int64_t rows, int64_t blocks,
                                int64_t gap_from, int64_t gap_to) {
    const int64_t step_from = 32 * (blocks + gap_from), step_to = 32 * (blocks + gap_to);
    copy_ubuf_to_gm_align_v2(to, from, core, rows, 32 * blocks, 0, step_to, step_from);
}

// `how`: blocks to fill, from bit 16 on their size, from bit 32 on the gap between them.
template <class T, class V>
PTO_INLINE void create_cbuf_matrix(T* to, int64_t how, V value) {
    ptokit_begin("create_cbuf_matrix");
    ptokit_pointer(sizeof(T) == 4 ? "ui32 l1" : "ui16 l1", to);
    if constexpr (std::is_integral_v<V>)
        ptokit_number("i32", int32_t(value));
    else
        ptokit_number("i32", int32_t(__builtin_bit_cast(std::conditional_t<sizeof(V) == 4, uint32_t, uint16_t>, value)));
    ptokit_number("i64", how & 0x7fff);
    ptokit_number("i64", how >> 16 & 0x7fff);
    ptokit_number("i64", how >> 32 & 0x7fff);
    ptokit_end();
}

#ifdef PTO_NPU_ARCH_A5
// One row of bytes of global memory.
PTO_INLINE void copy_gm_to_cbuf_align_v2(const void* to, const void* from, int64_t, int64_t rows, int64_t bytes,
                                         int64_t, int64_t, int64_t, int64_t, int64_t step_from, int64_t step_to) {
    ptokit_begin(rows == 1 ? "copy_gm_to_cbuf" : "?copy_gm_to_cbuf_align_v2 of several rows");
    ptokit_pointer("ui8", from);
    ptokit_pointer("ui8 l1", to);
    ptokit_number("i64", rows);
    ptokit_number("i64", bytes);
    ptokit_number("i64", step_from);
    ptokit_number("i64", step_to);
    ptokit_end();
}
// Scales of an operand; their address is a number.
#define PTOKIT_SCALES_OF(NAME, SPACE) \
    template <class... N> \
    PTO_INLINE void NAME(uint64_t to, const void* from, N... numbers) { \
        ptokit_begin(#NAME); \
        ptokit_pointer("ui8 l1", from); \
        ptokit_pointer("ui8 " SPACE, reinterpret_cast<const void*>(to)); \
        (ptokit_number("i64", int64_t(numbers)), ...); \
        ptokit_end(); \
    }
PTOKIT_SCALES_OF(load_cbuf_to_ca_mx, "l0a")
PTOKIT_SCALES_OF(load_cbuf_to_cb_mx, "l0b")
#undef PTOKIT_SCALES_OF

namespace pto {
template <class T>
struct OfOperand {
    static constexpr Text in(const char* space) {
        Text t;
        return t << dtype_name<T>() << space;
    }
    static constexpr Text left = in(" l0a"), right = in(" l0b"), result = in(" l0c");
};
}  // namespace pto
// A product of scaled operands; `first`: it does not add to what is in the accumulator.
template <class T, class A, class B>
PTO_INLINE void mad_mx(T* to, A* left, B* right, int64_t m, int64_t k, int64_t n, int64_t phase, bool, bool bias,
                       bool first) {
    ptokit_begin(bias || phase ? "?mad_mx with a bias or a phase" : first ? "mad_mx" : "mad_mx_acc");
    ptokit_pointer(pto::OfOperand<A>::left.text, left);
    ptokit_pointer(pto::OfOperand<B>::right.text, right);
    ptokit_pointer(pto::OfOperand<T>::result.text, to);
    ptokit_number("i64", m);
    ptokit_number("i64", n);
    ptokit_number("i64", k);
    ptokit_end();
}
#endif

#define PTOKIT_UNREAD(NAME) \
    template <class... P> \
    PTO_INLINE void NAME(P&&...) { \
        pto::told("?" #NAME); \
    }
PTOKIT_UNREAD(set_nd_para)
#ifndef PTO_NPU_ARCH_A5
PTOKIT_UNREAD(copy_gm_to_cbuf_align_v2)
PTOKIT_UNREAD(mad_mx)
PTOKIT_UNREAD(load_cbuf_to_ca_mx)
PTOKIT_UNREAD(load_cbuf_to_cb_mx)
#endif
PTOKIT_UNREAD(copy_gm_to_cbuf)
PTOKIT_UNREAD(copy_matrix_cc_to_gm)

// Vector instructions by address, each repeat as a tile of one row. Those on tiles need no mask: they set it themselves.
namespace pto {
static struct {
    bool counts;    // elements of all repeats, not lanes of one
    int64_t lanes;  // the first ones; less than 0: others
} vector_mask = {false, 128};

template <class T>
struct Repeats {
    static constexpr int64_t most = 256 / sizeof(T);
    int64_t stated;
    PTO_INLINE int64_t count() const {
        return vector_mask.counts ? (vector_mask.lanes + most - 1) / most : stated;
    }
    PTO_INLINE int64_t lanes(int64_t repeat) const {
        const int64_t left = vector_mask.counts ? vector_mask.lanes - repeat * most : vector_mask.lanes;
        return left < most ? left : most;
    }
};
template <class T>
using Repeat = Tile<TileType::Vec, T, 1, 128, BLayout::RowMajor, 1, DYNAMIC>;
template <class T>
PTO_INLINE Repeat<T> repeat_at(const void* from, int64_t repeat, int64_t blocks, int64_t lanes) {
    Repeat<T> made(lanes);
    made.place = int64_t(reinterpret_cast<uint64_t>(from)) + 32 * blocks * repeat + 1;
    return made;
}
PTO_INLINE void to_s4(void* to, const half* from, int64_t repeats, int64_t blocks_to, int64_t blocks_from,
                      int64_t step_to, int64_t step_from, RoundMode mode) {
    if (vector_mask.lanes < 0 || blocks_to != 1 || blocks_from != 1) told("TRAP");
    const Repeats<half> all = {repeats};
    for (int64_t k = 0; k < all.count(); ++k) {
        auto dst = repeat_at<int4b_t>(to, k, step_to, all.lanes(k));
        auto src = repeat_at<half>(from, k, step_from, all.lanes(k));
        told("TCVT", dst, src, mode);
    }
}
}  // namespace pto
PTO_INLINE void set_mask_norm() { pto::vector_mask.counts = false; }
PTO_INLINE void set_mask_count() { pto::vector_mask.counts = true; }
PTO_INLINE void SetContinuousMask(int64_t lanes) { pto::vector_mask.lanes = lanes; }
PTO_INLINE void set_vector_mask(uint64_t high, uint64_t low) {
    int64_t lanes = pto::vector_mask.counts ? low : 128;
    if (!pto::vector_mask.counts && (~high || ~low)) {
        const uint64_t partial = ~low ? low : high;
        for (lanes = 0; lanes < 64 && partial >> lanes & 1;) ++lanes;
        const bool first = (partial & partial + 1) == 0 && (!~low || !high);
        lanes = !first ? -1 : ~low ? lanes : lanes + 64;
    }
    pto::vector_mask.lanes = lanes;
}
template <class T>
PTO_INLINE void SetFullVecMaskByDType() {
    SetContinuousMask(128);
}
template <class T, class V>
PTO_INLINE void vector_dup(T* to, V value, int64_t repeats, int64_t blocks, int64_t, int64_t step, int64_t) {
    if (pto::vector_mask.lanes < 0 || blocks != 1) pto::told("TRAP");
    const pto::Repeats<T> all = {repeats};
    T number = value;
    for (int64_t k = 0; k < all.count(); ++k) {
        auto dst = pto::repeat_at<T>(to, k, step, all.lanes(k));
        pto::told("TEXPANDS", dst, number);
    }
}
#define PTOKIT_TO_S4(LETTER, MODE) \
    template <class... P> \
    PTO_INLINE void vconv_f162s4##LETTER(void* to, const half* from, P... numbers) { \
        pto::to_s4(to, from, numbers..., pto::RoundMode::CAST_##MODE); \
    }
PTOKIT_TO_S4(, NONE)
PTOKIT_TO_S4(r, RINT)
PTOKIT_TO_S4(a, ROUND)
PTOKIT_TO_S4(f, FLOOR)
PTOKIT_TO_S4(c, CEIL)
PTOKIT_TO_S4(z, TRUNC)
#undef PTOKIT_TO_S4

namespace pto {
template <class T>
PTO_INLINE uint64_t GetScaleAddr(T* tile) {
    return reinterpret_cast<uint64_t>(tile) >> 4;
}

// A move of the library by address: the tile of a type at each.
template <class T, class D, class S>
PTO_INLINE void TMovToVecNd2Nz(typename D::TileDType to, typename S::TileDType from, uint32_t rows, uint32_t columns,
                               uint32_t read_rows) {
    D dst;
    S src;
    dst.place = int64_t(to) + 1;
    src.place = int64_t(from) + 1;
    dst.SetValidRegion(rows, columns);
    src.SetValidRegion(read_rows, columns);
    told("TMOV", dst, src);
}

// How many of each list a merge has used up is left on the device.
struct MrgSortExecutedNumList : RecordEvent {
    struct Count {
        PTO_INLINE operator uint16_t() const {
            told("?MrgSortExecutedNumList");
            return 0;
        }
    };
    Count mrgSortList0, mrgSortList1, mrgSortList2, mrgSortList3;
    PTO_INLINE MrgSortExecutedNumList(int = 0, int = 0, int = 0, int = 0) {}
};
constexpr int32_t SYNCALL_SOFT_WORKSPACE_INT32 = 16;
using TRandomKey = uint32_t[2];
using TRandomCounter = uint32_t[4];

// Tiles of convolutions: up to six sizes.
template <int64_t... N>
struct ConvTileShape {
    static constexpr int totalDimCount = sizeof...(N);
    static_assert(totalDimCount >= 1 && totalDimCount <= 6, "a tile of a convolution has 1 to 6 sizes");
    static constexpr int64_t staticShape[6] = {N...};
    static constexpr bool open = ((N == DYNAMIC) || ...);
};
template <TileType Loc_, class T, int Bytes, Layout L, class Shape>
struct ConvTile : AnyTile {
    using DType = T;
    using TileDType = T*;
    static constexpr TileType Loc = Loc_;
    static constexpr Layout layout = L;
    static constexpr int bufferSize = Bytes, totalDimCount = Shape::totalDimCount;
    int64_t place, address;
    int64_t sizes[6];
    // What patches are taken of. Those of sizes that are one where nothing else is said are one less.
    uint64_t pads, height, width, filter_height, filter_width, dilation_height, dilation_width, stride_height,
        stride_width, filling, times, mode, turned;
#ifdef __PTO_AUTO__
    PTO_INLINE ConvTile() : place(ptokit_new_tile()) {}
#else
    ConvTile() = default;
#endif
    template <class... I, std::enable_if_t<sizeof...(I) != 0 && (std::is_convertible_v<I, int64_t> && ...), int> = 0>
    PTO_INLINE explicit ConvTile(I... open) : place(PTOKIT_NO_PLACE) {
        SetDynamicShape(open...);
    }
    template <class... I>
    PTO_INLINE void SetDynamicShape(I... open) {
        const int64_t given[] = {int64_t(open)...};
        int next = 0;
        take<0>(given, next), take<1>(given, next), take<2>(given, next);
        take<3>(given, next), take<4>(given, next), take<5>(given, next);
    }
    PTO_INLINE int64_t GetShape(int d) const { return Shape::staticShape[d] == DYNAMIC ? sizes[d] : Shape::staticShape[d]; }
    PTO_INLINE TileDType data() const { return reinterpret_cast<TileDType>(place - 1); }
    PTO_INLINE TileDType& data() {
        address = place - 1;
        return reinterpret_cast<TileDType&>(address);
    }
    PTO_INLINE void SetPadListArray(const uint8_t* list) {
        pads = list[0] | list[1] << 8 | list[2] << 16 | uint64_t(list[3]) << 24;
    }
    PTO_INLINE void SetPadList(int k, uint8_t n) { pads = (pads & ~(255ull << 8 * k)) | uint64_t(n) << 8 * k; }
    PTO_INLINE void SetFmapH(uint16_t n) { height = n; }
    PTO_INLINE void SetFmapW(uint16_t n) { width = n; }
    PTO_INLINE void SetFilterH(uint16_t n) { filter_height = uint16_t(n - 1); }
    PTO_INLINE void SetFilterW(uint16_t n) { filter_width = uint16_t(n - 1); }
    PTO_INLINE void SetDilationH(uint8_t n) { dilation_height = uint16_t(n - 1); }
    PTO_INLINE void SetDilationW(uint8_t n) { dilation_width = uint16_t(n - 1); }
    PTO_INLINE void SetStrideH(uint8_t n) { stride_height = uint16_t(n - 1); }
    PTO_INLINE void SetStrideW(uint8_t n) { stride_width = uint16_t(n - 1); }
    PTO_INLINE void SetPadValue(T x) { filling = bits_of_pad(x); }
    PTO_INLINE void SetRepeatTime(uint8_t n) { times = uint8_t(n - 1); }
    PTO_INLINE void SetRepeatMode(uint8_t n) { mode = n; }
    PTO_INLINE void SetTranspose(bool is) { turned = is; }
    PTO_INLINE void SetRepeatStride(uint16_t) {}  // of repetition, which is refused where it is more than one
    PTO_INLINE void SetChannelSize(uint16_t) {}   // these follow from the sizes of tiles
    PTO_INLINE void SetDstStride(uint16_t) {}
    PTO_INLINE int64_t state(int k) const {
        return k == 0 ? pads | height << 32 | width << 48 :
               k == 1 ? filter_height | filter_width << 16 | dilation_height << 32 | dilation_width << 48 :
               k == 2 ? stride_height | stride_width << 16 | times << 32 | mode << 40 | turned << 48 :
                        filling;
    }

private:
    template <int D>
    PTO_INLINE void take(const int64_t* given, int& next) {
        if constexpr (Shape::staticShape[D] == DYNAMIC) sizes[D] = given[next++];
    }
};
template <TileType Loc, class T, int Bytes, Layout L, class Shape>
struct is_conv<ConvTile<Loc, T, Bytes, L, Shape>> : std::true_type {};
}  // namespace pto
