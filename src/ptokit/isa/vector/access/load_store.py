"""Vector loads and stores with distribution modes, of one and of two registers (vector-path 4.1 to 4.4).

With that result the offset is the step: the access is at the pointer itself, and the step is made afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import Doubt, Rule, define
from ptokit.diagnostics.finding import suggest
from ptokit.records import dataclass
from ptokit.types.dtypes import dtype, u16

from ...checks.compiling import Message
from ...machine import Machine
from ...meaning.expressions import ROW, Axis, Convert, Element, Expr, Index, Place, Stored, equal, lane, select
from ...meaning.words import Advance, Lane, Python, Word, Write
from ...operands import Passing
from ...site import MaskInfo, Site
from ...table import Kind, Operand, Role
from ..compute.words import VEC_08
from ..registers import VREG_BYTES, Predicate, active
from ..words import (
    REGISTERS,
    SAME,
    SOURCE,
    VEC_05,
    at,
    mask,
    micro,
    out_ptr,
    out_vreg,
    token,
    ub,
    vreg,
    word,
    wrong_mask,
)

# Accesses whose last result is the pointer, advanced: the form of them that text may ask for.


UPDATED = "updated"


def updated(like: str, space: str = "ub") -> Operand:
    """The result: the pointer of operand `like`, advanced."""
    return Operand(
        UPDATED, Role.OUT, Kind.PTR, True, type=space, like=like, passing=Passing.ADVANCED, also=(Kind.VIEW,)
    )


def placed(o: Site, pointer: str) -> tuple[str, tuple[Advance, ...]]:
    """The operand that says how far after the pointer an access is, and the pointer after it where that is wanted."""
    if UPDATED in o.operands:
        return "", (Advance(UPDATED, pointer, "offset"),)
    return "offset", ()


def posting(run: Callable[..., Any], base: int, step: int) -> Callable[..., Any]:
    """The semantics `run` with that result; `base` and `step` are the places of both operands."""

    def posted(m: Any, *operands: Any, types: Mapping[str, Any], **attrs: Any) -> Any:
        if UPDATED not in types:
            return run(m, *operands, types=types, **attrs)
        pointer = operands[base].advance(operands[step])
        made = run(m, *operands[:step], 0, *operands[step + 1 :], types=types, **attrs)
        if made is None:
            return pointer
        return (*made, pointer) if isinstance(made, tuple) else (made, pointer)

    return posted


# Rules about distribution modes (vector-path 8).


VEC_04 = define(
    "VEC-A5-04",
    "A mode token is one that the instruction has: of distribution, of pointer update.",
    source=SOURCE,
    example="sprclr(register='{AR|}')",
    evidence="assembler ptokit",
)


def known_token(modes: Collection[str], attr: str = "dist") -> Rule:
    """VEC-A5-04 for an instruction with these tokens."""

    def check(o: Site) -> tuple[str, str] | None:
        token = getattr(o, attr)
        if token is None or token in modes:
            return None
        return f"there is no mode '{token}'", suggest(str(token), modes) or f"one of {', '.join(modes)}"

    return replace(VEC_04, check=check)


# Vector loads with distribution modes (vector-path 4.1).


@dataclass(frozen=True)
class LoadMode:
    """Which of the elements of `width` bytes in the `span` bytes of memory each lane gets.

    ``lane`` bytes has a lane, to which the element is extended with zeros; ``pitch`` elements has a row of `at`.
    ``what`` says it for people.
    """

    span: int
    width: int
    at: Index = ROW
    lane: int = 0
    alignment: int = 32
    pitch: int = 0
    what: str = ""


_ORDINALS = {2: "second", 4: "fourth"}


def bytes_of(width: int) -> str:
    """A number of bytes for people."""
    return "1 byte" if width == 1 else f"{width} bytes"


def _broadcast(width: int) -> LoadMode:
    what = f"one element of {bytes_of(width)} to all lanes"
    return LoadMode(width, width, lane(0), alignment=width, what=what)


def _upsample(width: int) -> LoadMode:
    return LoadMode(128, width, lane(over=2), what=f"128 bytes, each element of {bytes_of(width)} to two lanes")


def every(width: int, step: int, first: int = 0) -> LoadMode:
    """Elements `first`, `first` + `step`, … of memory."""
    which = f"{'every' if not first else 'from the second one, every'} {_ORDINALS[step]} element"
    what = f"{which} of {bytes_of(width)} in {VREG_BYTES * step} bytes"
    return LoadMode(VREG_BYTES * step, width, lane(step, first), what=what)


def _widen(width: int, factor: int = 2) -> LoadMode:
    what = f"{VREG_BYTES // factor} bytes, elements of {bytes_of(width)} widened with zeros to {width * factor}"
    return LoadMode(VREG_BYTES // factor, width, lane=width * factor, what=what)


def _to_block(width: int) -> LoadMode:
    what = f"8 elements of {bytes_of(width)}, each to a block of 32 bytes"
    return LoadMode(8 * width, width, lane(over=32 // width), alignment=8 * width, what=what)


NORM = LoadMode(VREG_BYTES, 1, what="256 bytes as they are")
_BLOCK = LoadMode(32, 1, lane(cycle=32), what="a block of 32 bytes, 8 times")
LOAD_MODES: dict[str, LoadMode] = {
    "NORM": NORM,
    **{f"BRC_B{8 * w}": _broadcast(w) for w in (1, 2, 4)},
    **{f"US_B{8 * w}": _upsample(w) for w in (1, 2)},
    **{f"DS_B{8 * w}": every(w, 2) for w in (1, 2)},
    **{f"UNPK_B{8 * w}": _widen(w) for w in (1, 2, 4)},
    **dict.fromkeys(("UNPK4", "UNPK4_B8"), _widen(1, 4)),
    **dict.fromkeys(("BRC_BLK", "BLK"), _BLOCK),
    **{f"E2B_B{8 * w}": _to_block(w) for w in (2, 4)},
    **{f"SPLT2CHN_B{8 * w}": every(w, 2) for w in (1, 2)},
    **dict.fromkeys(("SPLT4CHN", "SPLT4CHN_B8"), every(1, 4)),
    **{f"DINTLV_B{8 * w}": every(w, 2) for w in (1, 2, 4)},
}
"""By token of ``dist``. DINTLV gives what ``vldsx2`` puts into its first result."""

DIST = word("dist", "NORM", does={token: mode.what for token, mode in LOAD_MODES.items()})


def stored(mode: LoadMode, offset: str) -> Expr:
    """The value of a lane."""
    unit = dtype(f"u{8 * mode.width}")
    found = Stored("src", unit, mode.span, mode.alignment, mode.at, offset, mode.pitch)
    return Convert(found, dtype(f"u{8 * mode.lane}")) if mode.lane else found


def loaded(offset: str, advances: tuple[Advance, ...], **modes: LoadMode) -> Lane:
    """Registers loaded from one place, by the names of the results; operand `offset` says how far after a pointer."""
    (lanes,) = {VREG_BYTES // (mode.lane or mode.width) for mode in modes.values()}
    writes = tuple(Write(name, stored(mode, offset)) for name, mode in modes.items())
    return Lane(writes, lanes=lanes, advances=advances)


VLDS = micro(
    "vlds",
    "Load a vector register, distributing the bytes of memory as the mode says.",
    (ub(), at()),
    (out_vreg(like="src"), updated("src")),
    None,
    known_token(LOAD_MODES),
    meaning=lambda o: loaded(*placed(o, "src"), dst=LOAD_MODES[o.dist]),
    attrs=(DIST,),
    source="4.1",
)
UVLD = micro(
    "uvld",
    "Load a vector register from any element's address.",
    (ub(), at()),
    (out_vreg(like="src"),),
    None,
    meaning=lambda o: loaded("offset", (), dst=LoadMode(VREG_BYTES, 1, alignment=o.src.dtype.size)),
    source="PTOAS e32488c9, micro-isa 3",
)


# Vector stores with distribution modes (vector-path 4.3).


@dataclass(frozen=True)
class StoreMode:
    """What of a register is written: its elements of `width` bytes, each cut to `kept` bytes; one alone if `single`.

    Element j is written where the predicate lets byte j * `width` through.
    """

    width: int
    kept: int
    single: bool = False
    merge: tuple[int, int] | None = None  # channels, and bytes of an element, that alternate in each block

    @property
    def what(self) -> str:
        """What it does, for people."""
        if self.merge is not None:
            return f"elements of {bytes_of(self.merge[1])} of {self.merge[0]} channels in turn; a5 does not have it"
        if self.single:
            return f"the first element of {bytes_of(self.width)} alone"
        if self.kept < self.width:
            return f"of active lanes of {self.width} bytes the lower {bytes_of(self.kept)}, packed"
        return f"active lanes of {bytes_of(self.width)}"


STORE_MODES: dict[str, StoreMode] = {
    **{f"NORM_B{8 * w}": StoreMode(w, w) for w in (1, 2, 4)},
    **{f"{name}_B{8 * w}": StoreMode(w, w, single=True) for name in ("1PT", "ONEPT") for w in (1, 2, 4)},
    **{f"PK_B{16 * w}": StoreMode(2 * w, w) for w in (1, 2, 4)},
    **dict.fromkeys(("PK4_B32", "PK4"), StoreMode(4, 1)),
    "MRG4CHN_B8": StoreMode(4, 4, merge=(4, 1)),
    "MRG2CHN_B8": StoreMode(2, 2, merge=(2, 1)),
    "MRG2CHN_B16": StoreMode(4, 4, merge=(2, 2)),
}
"""By token of ``dist``; NORM and 1PT without a width are those of the element."""

_OF_ELEMENT = {"NORM": False, "1PT": True}

STORE_DIST = word(
    "dist",
    "NORM",
    does={
        "NORM": "active lanes",
        "1PT": "the first element alone",
        **{token: mode.what for token, mode in STORE_MODES.items()},
    },
)


def store_mode(dist: str, size: int) -> StoreMode:
    """The mode a token means for elements of `size` bytes."""
    single = _OF_ELEMENT.get(dist)
    return STORE_MODES[dist] if single is None else StoreMode(size, size, single)


def _merging(mode: StoreMode, *, offset: bool, advances: bool) -> Python:
    assert mode.merge is not None
    channels, width = mode.merge

    def run(m: Machine, value: np.ndarray, dst: Any, given: Any, mask: Predicate, **_: Any) -> Any:
        values = _merged(value, channels, width).view(f"u{mode.width}")
        m.store(dst, given if offset else None, values, active(mask, mode.width), 32)
        return dst.advance(given) if advances else None

    return Python(run)


def store_meaning(o: Site, offset: str, advances: tuple[Advance, ...]) -> Word:
    """The meaning of a store in its distribution mode."""
    mode = store_mode(o.dist, o.value.dtype.size)
    if mode.merge is not None:
        return _merging(mode, offset=bool(offset), advances=bool(advances))
    value: Expr = Element("value", dtype=dtype(f"u{8 * mode.width}"))
    if mode.kept != mode.width:
        value = Convert(value, dtype(f"u{8 * mode.kept}"))
    alignment = mode.width if mode.single else 32
    lanes, gate = (1, "") if mode.single else (VREG_BYTES // mode.width, "mask")
    return Lane((Write("dst", value, offset=offset, alignment=alignment),), mask=gate, lanes=lanes, advances=advances)


def _merged(value: np.ndarray, channels: int, width: int) -> np.ndarray:
    """Each block of 32 bytes holds runs of `channels` channels; their elements, one of each channel in turn."""
    parts = np.ascontiguousarray(value).view(f"u{width}").reshape(len(value), 8, channels, -1)
    return np.ascontiguousarray(parts.swapaxes(2, 3)).reshape(len(value), -1)


def _removed(o: Site) -> Message:
    mode = STORE_MODES.get(o.dist)
    return f"{o.dist} is documented, but a5 does not have it" if mode is not None and mode.merge else None


def _mask_of_mode(o: Site) -> Message:
    """A predicate of a packing store is one of what is packed; of single elements it does not matter.

    The hardware asks the predicate for the first byte of each lane: a finer one decides, too.
    """
    mode = STORE_MODES.get(o.dist)
    if mode is None:
        return None if o.dist != "NORM" else wrong_mask(o, min(32, o.value.dtype.bits))
    lanes, mask = min(32, 8 * mode.width), o.operands.get("mask")
    wrong = None if mode.single else wrong_mask(o, lanes)
    if isinstance(wrong, tuple) and isinstance(mask, MaskInfo) and mask.bits < lanes:
        return Doubt(wrong[0]), wrong[1]
    return wrong


STORE_RULES = (
    known_token((*STORE_MODES, *_OF_ELEMENT)),
    replace(VEC_08, check=_removed, targets=("a5",)),
    replace(VEC_05, check=_mask_of_mode),
)

VSTS = micro(
    "vsts",
    "Store a vector register, the active lanes of it, packing elements as the mode says.",
    (vreg("value"), ub("dst", Role.OUT), at(), mask()),
    (updated("dst"),),
    None,
    *STORE_RULES,
    meaning=lambda o: store_meaning(o, *placed(o, "dst")),
    attrs=(STORE_DIST,),
    source="4.3",
)


# Loads and stores of two registers (vector-path 4.2).


_BLOCK_BYTES = 32


def _blocks(first: int) -> LoadMode:
    """Every second block, from block `first` on."""
    at = Index(Axis(j=1, over=_BLOCK_BYTES), Axis(j=1, plus=first * _BLOCK_BYTES))
    return LoadMode(2 * VREG_BYTES, 1, at, pitch=_BLOCK_BYTES, what="every second block of 32 bytes in 512 bytes")


SPLITS: dict[str, tuple[LoadMode, LoadMode]] = {
    **{f"DINTLV_B{8 * w}": (every(w, 2), every(w, 2, 1)) for w in (1, 2, 4)},
    "BDINTLV": (_blocks(0), _blocks(1)),
}
"""What the two registers get, by token of ``dist``."""
MERGES = {f"INTLV_B{8 * w}": w for w in (1, 2, 4)}


def _loaded(o: Site) -> Lane:
    low, high = SPLITS[o.dist]
    return loaded(*placed(o, "src"), low=low, high=high)


VLDSX2 = micro(
    "vldsx2",
    "Load two vector registers with the even and the odd elements, or blocks, of memory.",
    (ub(), at(listed=True)),
    (out_vreg("low", like="src"), out_vreg("high", like="src"), updated("src")),
    None,
    SAME,
    known_token(SPLITS),
    meaning=_loaded,
    attrs=(token("dist", does={name: f"low: {low.what}; high: the others" for name, (low, _) in SPLITS.items()}),),
    form=replace(REGISTERS, spellings=("vldx2",)),
    source="4.2",
)


def _stored(o: Site) -> Lane:
    """Memory gets an element of either register in turn."""
    unit = dtype(f"u{8 * MERGES[o.dist]}")
    low, high = (Element(name, lane(over=2), unit) for name in ("low", "high"))
    value = select(equal(Place(u16) & 1, 0), low, high)
    return Lane((Write("dst", value, offset="offset", alignment=32),), lanes=2 * VREG_BYTES // unit.size)


VSTSX2 = micro(
    "vstsx2",
    "Store two vector registers, their elements in turn; the predicate has no effect.",
    (vreg("low"), vreg("high"), ub("dst", Role.OUT), at(listed=True), mask()),
    (),
    None,
    SAME,
    known_token(MERGES),
    meaning=_stored,
    attrs=(
        token(
            "dist",
            before="mask",
            does={name: f"elements of {bytes_of(size)}, one of low and one of high" for name, size in MERGES.items()},
        ),
    ),
    form=replace(REGISTERS, spellings=("vstx2",)),
    source="4.2",
)


# Loads and stores that also advance the pointer (vector-path 4.4).


VLDS_POST = micro(
    "vlds_post",
    "Load as vlds from the pointer itself; the second result is the pointer after the step in brackets.",
    (ub(), at("step", optional=False)),
    (out_vreg(like="src"), out_ptr(like="src")),
    None,
    known_token(LOAD_MODES),
    meaning=lambda o: loaded("", (Advance("end", "src", "step"),), dst=LOAD_MODES[o.dist]),
    attrs=(DIST,),
    source="4.4",
)
VSTS_POST = micro(
    "vsts_post",
    "Store as vsts at the pointer itself; the result is the pointer after the step in brackets.",
    (vreg("value"), ub("dst", Role.OUT), at("step", optional=False), mask()),
    (out_ptr(like="dst"),),
    None,
    *STORE_RULES,
    meaning=lambda o: store_meaning(o, "", (Advance("end", "dst", "step"),)),
    attrs=(STORE_DIST,),
    source="4.4",
)
