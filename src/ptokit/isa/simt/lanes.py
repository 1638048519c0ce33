"""Who a thread is, and what threads tell each other."""

from __future__ import annotations

from ..table import Attr
from .words import plain, simt, value, word

for _text, _what in (
    *((f"get_tid_{axis}", f"Number of the thread in {axis}.") for axis in "xyz"),
    *((f"get_block_dim_{axis}", f"Threads of the launch in {axis}.") for axis in "xyz"),
    *((f"get_grid_dim_{axis}", f"Blocks of the launch in {axis}.") for axis in "xyz"),
    *((f"get_block_idx_{axis}", f"Number of the block in {axis}.") for axis in "xyz"),
    ("get_veccoreid", "Number of the vector core."),
    ("get_laneid", "Number of the thread among the 32 of its warp."),
    ("get_clock32", "Low half of the clock."),
    ("get_clock64", "The clock."),
    *(
        (f"get_lanemask_{how}", f"The bits of the lanes that are {how} this one.")
        for how in ("eq", "le", "lt", "ge", "gt")
    ),
):
    simt(_text, _what, (), "{} : R")

for _how, _what in (
    ("all", "True if it holds in all"),
    ("any", "True if it holds in any"),
    ("uni", "True if it is the same in all"),
):
    plain(f"vote_{_how}", f"{_what} active threads of the warp.", "pred", types="i1")
plain("vote_ballot", "The bits of the threads of the warp where it holds.", "pred", types="i1")

_WIDTH = Attr("width", int, None, "width")
for _how, _other, _what in (
    ("idx", "index", "of the lane with this number"),
    ("up", "offset", "of the lane so many below"),
    ("down", "offset", "of the lane so many above"),
    ("bfly", "mask", "of the lane whose number differs in these bits"),
):
    plain(f"shuffle_{_how}", f"The value {_what}.", f"value {_other}", _WIDTH, types="- i32")

SIGNS = word("signedness", "signed", "unsigned")
for _how, _what in (("add", "sum"), ("max", "maximum"), ("min", "minimum")):
    simt(
        f"redux_{_how}",
        f"The {_what} over the active threads of the warp.",
        (value("value"),),
        "%value <? W(signedness) ?> {} : T(value) -> R",
        SIGNS,
    )

for _text, _what in (
    ("syncthreads", "Wait for all threads of the launch."),
    ("threadfence", "Order this thread's accesses to global memory for the device."),
    ("threadfence_block", "Order this thread's accesses for its block."),
):
    simt(_text, _what, (), "{}", results=0)

_SLOT = Attr("slot", int, None, "slot", long=True)
simt(
    "keep",
    "Keep a value for later sections of the same thread.",
    (value("payload"),),
    "%payload {} : T(payload)",
    _SLOT,
    results=0,
)
simt("resume", "The value an earlier section of the same thread has kept.", (), "{} : R", _SLOT)

_SIZES = "dim_z dim_y dim_x"
simt(
    "store_vfsimt_info",
    "Say how many threads the next launch has.",
    tuple(value(n, "i32") for n in _SIZES.split()),
    "%dim_z , %dim_y , %dim_x {} : T(dim_z) , T(dim_y) , T(dim_x)",
    results=0,
)
