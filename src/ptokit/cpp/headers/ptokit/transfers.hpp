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
#ifdef PTO_NPU_ARCH_A5
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
#endif

// `how`: blocks to fill, from bit 16 on their size, from bit 32 on the gap between them.
template <class T, class V>
PTO_INLINE void create_cbuf_matrix(T* to, int64_t how, V value) {
    ptokit_begin("create_cbuf_matrix");
    ptokit_pointer(sizeof(T) == 4 ? "ui32 l1" : "ui16 l1", to);
    ptokit_number("i32", int32_t(value));
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
PTOKIT_UNREAD(copy_gm_to_ubuf)
PTOKIT_UNREAD(copy_ubuf_to_gm)
#endif
PTOKIT_UNREAD(copy_gm_to_cbuf)
PTOKIT_UNREAD(copy_matrix_cc_to_gm)
PTOKIT_UNREAD(vector_dup)
PTOKIT_UNREAD(SetContinuousMask)
#define PTOKIT_UNREAD_ROUNDING(NAME) \
    PTOKIT_UNREAD(NAME) \
    PTOKIT_UNREAD(NAME##r) \
    PTOKIT_UNREAD(NAME##a) \
    PTOKIT_UNREAD(NAME##f) \
    PTOKIT_UNREAD(NAME##c) \
    PTOKIT_UNREAD(NAME##z)
PTOKIT_UNREAD_ROUNDING(vconv_f162s4)
#undef PTOKIT_UNREAD_ROUNDING

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
