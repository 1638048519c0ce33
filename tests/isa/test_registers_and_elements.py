"""Image to column from registers, the address of scales, single elements: what no case of an instruction shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ptokit.isa.table import TABLE
from ptokit.machine.lanes import Fault
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, Layout, SetFmatrixMode, SLayout, TileType
from ptokit.types.tensor import ConvSpec, ConvState, conv_tile
from ptokit.types.tile import tile

F16 = DTYPES["f16"]
LEFT = tile(TileType.Left, F16, 64, 128, blayout=BLayout.ColMajor, slayout=SLayout.RowMajor)
ZZ = tile(TileType.Left, F16, 64, 128, slayout=SLayout.RowMajor)
IMAGE = conv_tile(TileType.Mat, F16, Layout.NC1HWC0, (1, 2, 5, 8, 16))
DATA = np.arange(1, 1 + 2 * 5 * 8 * 16).astype(np.float16)
STATE = ConvState((2, 1, 1, 0), (5, 8), (3, 2), (1, 2), (2, 1), 0x4200)


def patch(row: int, col: int) -> float:
    """One element of the result, looked up one by one."""
    left, right, top, bottom = STATE.padding
    (kh, kw), (dh, dw), (sh, sw) = STATE.filter, STATE.dilation, STATE.stride
    wide = (8 + left + right - dw * (kw - 1) - 1) // sw + 1
    high = (5 + top + bottom - dh * (kh - 1) - 1) // sh + 1
    c1, rest = divmod(col, 16 * kh * kw)
    tap, ch = divmod(rest, 16)
    y = row // wide * sh + tap // kw * dh - top
    x = row % wide * sw + tap % kw * dw - left
    if row >= high * wide or not (0 <= y < 5 and 0 <= x < 8):
        return 3.0  # 0x4200
    return float(DATA.reshape(2, 5, 8, 16)[c1, y, x, ch])


def columns(machine: Single, source: ConvSpec, mode: SetFmatrixMode) -> np.ndarray:
    """The left tile that the instruction makes of the image."""
    out = machine.tile(LEFT)
    image = machine.tile(source, DATA.tobytes())
    machine.execute(TABLE["TIMG2COL"], {"dst": out, "src": image}, {"fmatrix": mode})
    return out.read()[0]


def test_parameters_of_the_tile() -> None:
    got = columns(Single(target("a5")), replace(IMAGE, state=STATE), SetFmatrixMode.FMATRIX_A_AUTO)
    assert got.tolist() == [[patch(r, c) for c in range(128)] for r in range(64)]


def test_registers_count_in_the_manual_modes() -> None:
    machine = Single(target("a5"))
    config = machine.tile(replace(IMAGE, state=STATE), DATA.tobytes())
    for name in ("SETFMATRIX", "SET_IMG2COL_PADDING", "SET_IMG2COL_RPT"):
        machine.execute(TABLE[name], {"config": config})
    own = replace(STATE, padding=(0, 0, 0, 0), fmap=(0, 0), pad_value=0)  # what the registers hold instead
    want = columns(Single(target("a5")), replace(IMAGE, state=STATE), SetFmatrixMode.FMATRIX_A_AUTO)
    got = columns(machine, replace(IMAGE, state=own), SetFmatrixMode.FMATRIX_A_MANUAL)
    assert np.array_equal(got, want)
    other = columns(machine, replace(IMAGE, state=own), SetFmatrixMode.FMATRIX_A_AUTO)
    assert not np.array_equal(other, want)


MANUAL = {"A": SetFmatrixMode.FMATRIX_A_MANUAL, "B": SetFmatrixMode.FMATRIX_B_MANUAL}
ALL = ("SETFMATRIX", "SET_IMG2COL_PADDING", "SET_IMG2COL_RPT")


def after(on: str, setter: str | None, reader: str, names: tuple[str, ...] = ALL, **state: object) -> np.ndarray:
    """The left tile that one mode makes with a plain tile, after another one has set registers from `STATE`."""
    machine = Single(target(on))
    if setter is not None:
        config = machine.tile(replace(IMAGE, state=replace(STATE, **state)), DATA.tobytes())
        for name in names:
            machine.execute(TABLE[name], {"config": config}, {"fmatrix": MANUAL[setter]})
    own = replace(STATE, padding=(0, 0, 0, 0), fmap=(0, 0), pad_value=0)
    out = machine.tile(ZZ if on == "a2a3" else LEFT)
    image = machine.tile(replace(IMAGE, state=own), DATA.tobytes())
    machine.execute(TABLE["TIMG2COL"], {"dst": out, "src": image}, {"fmatrix": MANUAL[reader]})
    return out.read()[0]


def test_cpu_has_no_image_to_column_registers() -> None:
    assert np.array_equal(after("cpu", "A", "A"), after("cpu", None, "A"))


@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_a_and_b_have_their_own_registers(on: str) -> None:
    plain = after(on, None, "A")
    assert np.array_equal(after(on, "A", "A"), after(on, "B", "B"))
    assert not np.array_equal(after(on, "A", "A"), plain)
    assert np.array_equal(after(on, "B", "A", ("SETFMATRIX",)), plain)


def test_a2a3_has_one_padding_register() -> None:
    """compute-layout-irregular 1.7."""
    last = {on: after(on, "B", "A", ("SET_IMG2COL_PADDING",))[-1] for on in ("a2a3", "a5")}  # no patch is so far down
    assert (last["a2a3"] == 3.0).all()
    assert (last["a5"] == 0.0).all()


def test_the_automatic_modes_leave_the_registers_set() -> None:
    machine = Single(target("a5"))
    want = columns(machine, replace(IMAGE, state=STATE), SetFmatrixMode.FMATRIX_A_AUTO)
    own = replace(STATE, padding=(0, 0, 0, 0), fmap=(0, 0), pad_value=0)
    assert np.array_equal(columns(machine, replace(IMAGE, state=own), SetFmatrixMode.FMATRIX_A_MANUAL), want)


def test_a_repetition_in_the_register_is_refused() -> None:
    with pytest.raises(Fault) as refused:
        after("a5", "A", "A", repeat_time=2)
    assert refused.value.rule == "IMG-COM-03"
    after("a5", "B", "A", repeat_time=2)


def test_scales_lie_at_a_sixteenth_of_the_address() -> None:
    machine = Single(target("a5"))
    left = tile(TileType.Left, DTYPES["e4m3"], 16, 64, blayout=BLayout.ColMajor, slayout=SLayout.RowMajor)
    scale = tile(TileType.ScaleLeft, DTYPES["e8m0"], 16, 2, slayout=SLayout.RowMajor, fractal=32)
    scaled, scales, other = machine.tile(left, address=4096), machine.tile(scale), machine.tile(scale, address=256)
    machine.execute(TABLE["TGET_SCALE_ADDR"], {"dst": scales, "src": scaled})
    assert scales.address == 256
    other.raw()[:] = 7
    assert (scales.raw() == 7).all()


@pytest.mark.parametrize("dtype", ["hif8", "e4m3", "bf16", "f16"])
def test_elements_of_types_that_only_have_codes(dtype: str) -> None:
    machine = Single(target("a5"))
    t = machine.tile(tile(TileType.Vec, DTYPES[dtype], 2, 32))
    machine.execute(TABLE["TSETVAL"], {"dst": t, "offset": 40, "value": -1.5})
    assert machine.execute(TABLE["TGETVAL"], {"src": t, "offset": 40}) == -1.5
    assert machine.execute(TABLE["TGETVAL"], {"src": t, "offset": 41}) == 0.0
    assert np.flatnonzero(t.raw().any(axis=0)).tolist()[0] // DTYPES[dtype].size == 40
