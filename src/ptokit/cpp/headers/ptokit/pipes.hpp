// Pipes between cube and vector cores. A pipe is a number that only its instructions take.
#pragma once
#include <ptokit/machine.hpp>

namespace pto {
// How the fix-pipe converts; V: with a word for each column, QF and F: of f32, DEQ and REQ: of i32.
enum QuantMode_t {
    NoQuant = 0, F322F16 = 1, VREQ8 = 2, REQ8 = 3, VDEQF16 = 4, DEQF16 = 5, VSHIFTS322S16 = 12, SHIFTS322S16 = 13,
    F322BF16 = 16, VQF322B8_PRE = 23, QF322B8_PRE = 24, QF322F16_PRE = 32, VQF322F16_PRE = 33, QF322BF16_PRE = 34,
#ifdef PTO_NPU_ARCH_A5
    QF322HIF8_PRE = 25, QF322FP8_PRE = 26, QF322F32_PRE = 27, VQF322HIF8_PRE = 28, QS322BF16_PRE = 35,
    VQF322BF16_PRE = 36, VQF322FP8_PRE = 37, VQF322F32_PRE = 38, VQS322BF16_PRE = 39,
#endif
};
enum ClipReluMode_t { NOCLIP_RELU = 0, CLIP_RELU = 1 };
enum class LayoutMode_t : uint8_t { NZ2NZ = 0, NZ2ND = 1, NZ2DN = 2 };
template <LayoutMode_t Layout = LayoutMode_t::NZ2ND, QuantMode_t Quant = NoQuant, ReluPreMode Relu = ReluPreMode::NoRelu,
          STPhase Phase_ = STPhase::Unspecified, uint8_t Core = 0, AtomicType Atomic = AtomicType::AtomicNone,
          ClipReluMode_t Clip = NOCLIP_RELU, bool Split = false>
struct FixpipeParams {
    static constexpr LayoutMode_t LayoutMode = Layout;
    static constexpr QuantMode_t QuantPre = Quant;
    static constexpr ReluPreMode ReluMode = Relu;
    static constexpr STPhase Phase = Phase_;
    static constexpr uint8_t SubBlockId = Core;
    static constexpr AtomicType AtomicT = Atomic;
    static constexpr ClipReluMode_t ClipReluMode = Clip;
    static constexpr bool IsChannelSplit = Split;
};
struct AnyPipe {
    int64_t token;
};
template <auto Flag, auto Way, auto SlotSize, auto Slots, auto LocalSlots = 2, bool NoSplit = false, bool UnitFlag = false>
struct TPipe : AnyPipe {
    struct RingFiFo {
        static constexpr uint32_t SLOT_NUM = Slots, SLOT_SIZE = SlotSize, LOCAL_SLOT_NUM = LocalSlots;
    };
    // How many slots this core has filled, or taken.
    struct Producer {
        uint32_t tileIndex = 0;
    } prod;
    struct Consumer {
        uint32_t tileIndex = 0;
    } cons;
    char* slots;  // in global memory
    // Slots are given back, and waited for, a few at a time: how often that was said and is not waited for at the end.
    static constexpr uint32_t countPendingFreeCredits(uint32_t tiles) {
        const uint32_t few = Slots <= 2 ? Slots : Slots / 2, told = tiles / few, first = (Slots + few - 1) / few;
        const uint32_t waited = tiles > Slots && (tiles - 1) / few >= first ? (tiles - 1) / few - first + 1 : 0;
        return told > waited ? told - waited : 0;
    }
    template <class A, class B>
    PTO_INLINE TPipe(const void* memory, A c2v, B v2c) : slots((char*)memory) {
        token = ptokit_new_tile();
        ptokit_begin("TPipe");
        ptokit_number("pipe", token);
        ptokit_number("i64", int64_t(Flag));
        ptokit_number("i64", int64_t(Way));
        ptokit_number("i64", int64_t(SlotSize));
        ptokit_number("i64", int64_t(Slots));
        ptokit_number("i64", int64_t(LocalSlots));
        ptokit_number("i64", NoSplit);
        ptokit_pointer("ui8", memory);
        ptokit_number("i64", int64_t(c2v));
        ptokit_number("i64", int64_t(v2c));
        ptokit_end();
    }
};
// The entry is a tile. `Split`: how both vector cores share it; what else may be said of a push is said by its type.
template <TileSplitAxis Split, class... P>
PTO_INLINE RecordEvent piped(const char* name, AnyPipe& pipe, P&... p) {
    (wait_for(p), ...);
    ptokit_begin(name);
    ptokit_number("pipe", pipe.token);
    (tell(p), ...);
    tell_option<Split>();
    ptokit_end();
    return {};
}
template <class Pipe, class T, TileSplitAxis Split, class... P>
PTO_INLINE RecordEvent TPUSH(Pipe& pipe, T& tile, P&&... p) {
    if constexpr (!is_global<T>::value) pipe.prod.tileIndex++;
    return piped<Split>("TPUSH", pipe, tile, p...);
}
template <class T, class Pipe, class... P, std::enable_if_t<std::is_base_of_v<AnyPipe, Pipe>, int> = 0>
PTO_INLINE RecordEvent TPUSH(T& tile, Pipe& pipe, P&&... p) {
    pipe.prod.tileIndex++;
    return piped<TileSplitAxis::TILE_UP_DOWN>("TPUSH", pipe, tile, p...);
}
// What the fix-pipe does to an accumulator that is pushed: words for how it lies in the slot, and how it is quantised.
template <QuantMode_t Mode>
constexpr const char* quant_word() {
    switch (Mode) {
        case NoQuant: return "no_convert";
        case F322F16: return "f32_f16";
        case F322BF16: return "f32_bf16";
        case DEQF16: return "deqf16_scalar";
        case VDEQF16: return "deqf16_vec";
        case REQ8: return "req8_scalar";
        case VREQ8: return "req8_vec";
        case QF322B8_PRE: return "qf322b8_pre_scalar";
        case VQF322B8_PRE: return "qf322b8_pre_vec";
        case QF322F16_PRE: return "qf322f16_pre_scalar";
        case QF322BF16_PRE: return "qf322bf16_pre_scalar";
#ifdef PTO_NPU_ARCH_A5
        case QF322HIF8_PRE: return "qf322hif8_pre_scalar";
        case QF322FP8_PRE: return "qf322fp8_pre_scalar";
        case QS322BF16_PRE: return "qs322bf16_pre_scalar";
        case VQS322BF16_PRE: return "qs322bf16_pre_vec";
#endif
        default: return nullptr;
    }
}
template <class How>
struct Filling {
    static constexpr Text make() {
        static_assert(quant_word<How::QuantPre>() != nullptr, "the fix-pipe does not quantise so on a push");
        static_assert(How::AtomicT == AtomicType::AtomicNone && How::ClipReluMode == NOCLIP_RELU && !How::IsChannelSplit,
                      "a push does not add, clip or split channels");
        Text t;
        t << "<layout = " << (How::LayoutMode == LayoutMode_t::NZ2ND ? "nz2nd" : How::LayoutMode == LayoutMode_t::NZ2DN ? "nz2dn" : "nz2nz");
        t << ", quant = " << quant_word<How::QuantPre>();
        return t << ", relu = " << (How::ReluMode == ReluPreMode::NoRelu ? "no_relu" : "normal_relu") << ">";
    }
    static constexpr Text words = make();
};
template <class Pipe, class T, class How, class... P, std::enable_if_t<!std::is_base_of_v<AnyEvent, How>, int> = 0>
PTO_INLINE RecordEvent TPUSH(Pipe& pipe, T& tile, P&&... p) {
    ptokit_begin("TPipe fills");
    ptokit_number("pipe", pipe.token);
    ptokit_option(Filling<How>::words.text, 0);
    ptokit_end();
    return TPUSH<Pipe, T, TileSplitAxis::TILE_NO_SPLIT>(pipe, tile, p...);
}
template <class T, class... P>
PTO_INLINE RecordEvent SET_QUANT_SCALAR(float scale, P&... p) {
    return told("set_quant_scalar", scale, p...);
}
template <class T, class... P>
PTO_INLINE RecordEvent SET_QUANT_VECTOR(T& scales, P&... p) {
    return told("set_quant_vector", scales, p...);
}
// A slot as a view: it lies in global memory, where each vector core has its half.
template <class View, TileSplitAxis Split, class Pipe>
PTO_INLINE void place_in_slot(Pipe& pipe, View& view, uint32_t& index) {
    int64_t at = int64_t(index++ % Pipe::RingFiFo::SLOT_NUM) * Pipe::RingFiFo::SLOT_SIZE;
#ifdef __DAV_VEC__
    constexpr int64_t columns = View::staticShape[4], rows = Split == TileSplitAxis::TILE_UP_DOWN ? View::staticShape[3] : 1;
    if constexpr (Split != TileSplitAxis::TILE_NO_SPLIT)
        at += get_subblockid() * int64_t(rows * columns * sizeof(typename View::DType));
#endif
    view.data_ = reinterpret_cast<typename View::DType*>(pipe.slots + at);
}
template <class Pipe, class View, TileSplitAxis Split, class... P>
PTO_INLINE RecordEvent TALLOC(Pipe& pipe, View& view, P&&... p) {
    place_in_slot<View, Split>(pipe, view, pipe.prod.tileIndex);
    return piped<Split>("TALLOC", pipe, view, p...);
}
// A popped tile lies where the pipe puts it.
template <class Pipe, class T, TileSplitAxis Split, class... P>
PTO_INLINE RecordEvent TPOP(Pipe& pipe, T& tile, P&&... p) {
    if constexpr (is_global<T>::value) {
        place_in_slot<T, Split>(pipe, tile, pipe.cons.tileIndex);
    } else {
        pipe.cons.tileIndex++;
        tile.place = ptokit_new_tile();
    }
    return piped<Split>("TPOP", pipe, tile, p...);
}
template <class T, class Pipe, class... P, std::enable_if_t<std::is_base_of_v<AnyPipe, Pipe>, int> = 0>
PTO_INLINE RecordEvent TPOP(T& tile, Pipe& pipe, P&&... p) {
    return TPOP<Pipe, T, TileSplitAxis::TILE_UP_DOWN>(pipe, tile, p...);
}
template <class Pipe, TileSplitAxis Split, class... P>
PTO_INLINE RecordEvent TFREE(Pipe& pipe, P&&... p) {
    return piped<Split>("TFREE", pipe, p...);
}
template <class Pipe, class View, TileSplitAxis Split, class... P>
PTO_INLINE RecordEvent TFREE(Pipe& pipe, View& view, P&&... p) {
    return piped<Split>("TFREE", pipe, view, p...);
}
template <class Pipe, class... P>
PTO_INLINE RecordEvent TFREE(Pipe& pipe, P&&... p) {
    return piped<TileSplitAxis::TILE_UP_DOWN>("TFREE", pipe, p...);
}
}  // namespace pto
