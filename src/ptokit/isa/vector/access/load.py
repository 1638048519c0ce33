"""Vector loads with distribution modes (vector-path 4.1)."""

from __future__ import annotations

from ptokit.records import dataclass
from ptokit.types.dtypes import dtype

from ...meaning.expressions import ROW, Convert, Expr, Index, Stored, lane
from ...meaning.words import Advance, Lane, Write
from ..lanes import VREG_BYTES
from ..words import at, micro, out_vreg, ub, word
from .access_rules import known_token
from .posting import placed, updated


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
    """Registers loaded from one place, by the names of the results; operand `offset` says how far behind a pointer."""
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
