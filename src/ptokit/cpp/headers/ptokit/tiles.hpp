// Tiles: an address, and the sizes of the valid region that are not part of the type.
#pragma once
#include <ptokit/tensors.hpp>

#define PTO_CEIL(x, y) ((((x) + (y)-1) / (y)) * (y))
#define PTO_DIV_ROUNDUP(x, y) (((x) + (y)-1) / (y))

namespace pto {
struct int4b_t {
    uint8_t storage;
};
constexpr int C0_SIZE_BYTE = 32, FRACTAL_NZ_ROW = 16, CUBE_BLOCK_SIZE = 512, BLOCK_BYTE_SIZE = 32, REPEAT_BYTE = 256,
              REPEAT_MAX = 255, BLOCK_LEN = 16, BLOCK_MAX_PER_REPEAT = 8;
constexpr uint32_t B4_C0_SIZE = 64;
constexpr int BLOCK_SIZE = 32;
template <class A, class B>
PTO_INLINE constexpr A CeilDivision(A a, B b) {
    return b == 0 ? 0 : (a + A(b) - 1) / A(b);
}
constexpr uint32_t TMP_UB_SIZE = 8 * 1024, TMP_UB_OFFSET = 184 * 1024, SHIFT_BLOCK_LEN = 4, SHIFT_BLOCK_BYTE = 5;
constexpr uint16_t SYNC_AIC_FLAG = 11, SYNC_AIV_FLAG = 12, SYNC_AIC_AIV_FLAG = 13, SYNC_AIV_ONLY_ALL = 14,
                   SYNC_FLAG_ID_MAX = 16;
struct TileConfig {
    static constexpr int alignedSize = 32, fixedRowSize = 16, fixedColSize = 16, fixedMxRowSize = 16, fixedMxColSize = 2,
                         fractalABSize = 512, fractalCSize = 1024, fractalMxSize = 32;
};

// How many columns one is taken of.
template <MaskPattern P>
constexpr unsigned GetTimesByMask() {
    return P == MaskPattern::P1111 ? 1 : P == MaskPattern::P0101 || P == MaskPattern::P1010 ? 2 : 4;
}

// A pad value with bits of its own.
template <class T>
constexpr uint32_t bits_of_pad(T x) {
    if constexpr (sizeof(T) == 1)
        return __builtin_bit_cast(uint8_t, x);
    else if constexpr (sizeof(T) == 2)
        return __builtin_bit_cast(uint16_t, x);
    else
        return __builtin_bit_cast(uint32_t, x);
}
template <class T>
constexpr PadValue PadValueCustom(T x) {
    return PadValue(uint64_t(PadValue::CustomBase) | bits_of_pad(x));
}
constexpr uint32_t getCustomPadBits(PadValue pad) { return uint32_t(uint64_t(pad)); }
constexpr bool isCustomPadValue(PadValue pad) { return uint64_t(pad) >= uint64_t(PadValue::CustomBase); }

// One size of the valid region.
template <int N, int Dimension>
struct Extent {
    Extent() = default;
    PTO_INLINE Extent(int64_t) {}
    static constexpr int64_t get() { return N; }
    PTO_INLINE void set(int64_t) {}
};
#define PTOKIT_OPEN_EXTENT(DIMENSION, NAME) \
    template <> \
    struct Extent<DYNAMIC, DIMENSION> { \
        int64_t NAME; \
        Extent() = default; \
        PTO_INLINE Extent(int64_t n) : NAME(n) {} \
        PTO_INLINE int64_t get() const { return NAME; } \
        PTO_INLINE void set(int64_t n) { NAME = n; } \
    };
PTOKIT_OPEN_EXTENT(0, RowMaskInternal)
PTOKIT_OPEN_EXTENT(1, ColMaskInternal)
#undef PTOKIT_OPEN_EXTENT
struct AnyTile {};
template <class T>
struct is_conv : std::false_type {};
#ifdef __PTO_AUTO__
#define PTOKIT_NO_PLACE ptokit_new_tile()  // the compiler places tiles
#else
#define PTOKIT_NO_PLACE 0
#endif

template <TileType Loc_, class T, int Rows_, int Cols_, BLayout B = BLayout::RowMajor, int VR = Rows_, int VC = Cols_,
          SLayout S = SLayout::NoneBox, int Fractal = 512, PadValue Pad = PadValue::Null,
          CompactMode Compact_ = CompactMode::Null>
struct Tile : AnyTile, Extent<VR, 0>, Extent<VC, 1> {
    using DType = T;
    using TileDType = T*;
    static constexpr TileType Loc = Loc_;
    static constexpr int Rows = Rows_, Cols = Cols_, ValidRow = VR, ValidCol = VC, Numel = Rows_ * Cols_;
    static constexpr int SFractalSize = Fractal;
    static constexpr BLayout BFractal = B;
    static constexpr SLayout SFractal = S;
    static constexpr PadValue PadVal = Pad;
    static constexpr CompactMode Compact = Compact_;
    static constexpr bool isRowMajor = B == BLayout::RowMajor, isBoxedLayout = S != SLayout::NoneBox;
    static constexpr bool isInnerRowMajor = S == SLayout::RowMajor, isInnerColMajor = S == SLayout::ColMajor;
    static constexpr int RowStride = isRowMajor ? Cols_ : 1, ColStride = isRowMajor ? 1 : Rows_;
    static constexpr int Box = Fractal == 1024 ? 16 : Fractal == 32 ? 2 : 32 / int(sizeof(T));
    static constexpr int InnerRows = !isBoxedLayout ? 1 : isInnerRowMajor ? 16 : Box;
    static constexpr int InnerCols = !isBoxedLayout ? 1 : isInnerRowMajor ? Box : 16;
    static constexpr int InnerNumel = InnerRows * InnerCols;

    // One more than the address; 0 without one. Tiles have no constructor, so that arrays of them are set by no loop.
    int64_t place, address;

#ifdef __PTO_AUTO__
    PTO_INLINE Tile() : place(ptokit_new_tile()) {}
#else
    Tile() = default;
    Tile(const Tile&) = default;
    // A tile without an address leaves the other its own: constructors of the library do not set it.
    PTO_INLINE Tile& operator=(const Tile& other) {
        SetValidRegion(other.GetValidRow(), other.GetValidCol());
        place = other.place ? other.place : place;
        return *this;
    }
#endif
    PTO_INLINE Tile(int64_t rows, int64_t columns) : Extent<VR, 0>(rows), Extent<VC, 1>(columns), place(PTOKIT_NO_PLACE) {}
    template <int R = VR, int C = VC, std::enable_if_t<(R == DYNAMIC) != (C == DYNAMIC), int> = 0>
    PTO_INLINE explicit Tile(int64_t n) : Extent<VR, 0>(n), Extent<VC, 1>(n), place(PTOKIT_NO_PLACE) {}

    PTO_INLINE int64_t GetValidRow() const { return Extent<VR, 0>::get(); }
    PTO_INLINE int64_t GetValidCol() const { return Extent<VC, 1>::get(); }
    PTO_INLINE void SetValidRow(int64_t n) { Extent<VR, 0>::set(n); }
    PTO_INLINE void SetValidCol(int64_t n) { Extent<VC, 1>::set(n); }
    PTO_INLINE void SetValidRegion(int64_t rows, int64_t columns) {
        SetValidRow(rows);
        SetValidCol(columns);
    }
    PTO_INLINE void SetValidShape(int64_t rows, int64_t columns) { SetValidRegion(rows, columns); }
    PTO_INLINE TileDType data() const { return reinterpret_cast<TileDType>(place - 1); }
    PTO_INLINE TileDType& data() {
        address = place - 1;
        return reinterpret_cast<TileDType&>(address);
    }
    PTO_INLINE T GetValue(uint32_t offset) const;
    PTO_INLINE void SetValue(uint32_t offset, T value);
    PTO_INLINE int64_t GetKAligned() const { return 0; }
    PTO_INLINE void SetKAligned(bool) {}
    PTO_INLINE void SetMadTF32Mode(RoundMode mode);
    PTO_INLINE void ResetMadMode();
};

#ifdef PTO_NPU_ARCH_A2A3
constexpr BLayout LEFT_BLOCKS = BLayout::RowMajor;
#else
constexpr BLayout LEFT_BLOCKS = BLayout::ColMajor;
#endif
#define PTOKIT_MATRIX(NAME, LOC, BLOCKS, BOXES, FRACTAL) \
    template <class T, int R, int C, int VR = R, int VC = C> \
    using NAME = Tile<TileType::LOC, T, R, C, BLOCKS, VR, VC, SLayout::BOXES, FRACTAL>; \
    template <class T, int R, int C, int VR = R, int VC = C> \
    using NAME##Compact = Tile<TileType::LOC, T, R, C, BLOCKS, VR, VC, SLayout::BOXES, FRACTAL, PadValue::Null, \
                               CompactMode::Normal>;
PTOKIT_MATRIX(TileLeft, Left, LEFT_BLOCKS, RowMajor, 512)
PTOKIT_MATRIX(TileRight, Right, BLayout::RowMajor, ColMajor, 512)
PTOKIT_MATRIX(TileAcc, Acc, BLayout::ColMajor, RowMajor, 1024)
PTOKIT_MATRIX(TileLeftScale, ScaleLeft, BLayout::RowMajor, RowMajor, 32)
PTOKIT_MATRIX(TileRightScale, ScaleRight, BLayout::ColMajor, ColMajor, 32)
#undef PTOKIT_MATRIX

template <class T>
struct is_tile_data : std::is_base_of<AnyTile, std::remove_cv_t<T>> {};
template <class T>
struct is_tile : is_tile_data<T> {};
template <class T>
inline constexpr bool is_tile_data_v = is_tile_data<T>::value;

template <class T>
constexpr TileLayoutCustom GetTileLayoutCustom() {
    constexpr bool rows = T::isRowMajor, whole = T::SFractalSize == 512;
    if (T::SFractal == SLayout::NoneBox) return rows ? TileLayoutCustom::ND : TileLayoutCustom::DN;
    if (T::SFractal == SLayout::ColMajor) return rows && whole ? TileLayoutCustom::ZN : TileLayoutCustom::NONE;
    return !whole ? TileLayoutCustom::NONE : rows ? TileLayoutCustom::ZZ : TileLayoutCustom::NZ;
}

// In Auto mode the compiler places tiles, whatever their addresses.
template <class T>
PTO_INLINE void place_at(T& t, int64_t address) {
#ifndef __PTO_AUTO__
    t.place = address + 1;
#endif
}
template <class T, class A>
PTO_INLINE void TASSIGN(T& t, A address) {
    if constexpr (is_global<T>::value)
        t.data_ = address;
    else
        place_at(t, int64_t(address));
}
template <auto Address, class T>
PTO_INLINE void TASSIGN(T& t) {
    place_at(t, int64_t(Address));
}
template <class T, class A>
PTO_INLINE void TASSIGN_IMPL(T& t, A address) {
    TASSIGN(t, address);
}
}  // namespace pto
