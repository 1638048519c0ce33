"""Matrices at pointers: every element is where the formula says, and sizes known to a run only change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptokit.isa.machine import ATOMIC_CONTROL
from ptokit.isa.meaning.matrices import Matrix, reader, write
from ptokit.isa.meaning.words import Contract, Move, Refusal
from ptokit.isa.site import UNKNOWN, PtrInfo, ScalarInfo, Site
from ptokit.isa.table import TABLE
from ptokit.machine.chunk import Chunk
from ptokit.machine.lanes import Fault
from ptokit.machine.local_memory import LocalPointer
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES

F16 = DTYPES["f16"]


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Matrices whose elements do not share bytes: bands of rows of blocks of columns."""
    dtype = DTYPES[draw(st.sampled_from(["i8", "f16", "f32"]))]
    size, bands, band = dtype.size, draw(st.integers(1, 3)), draw(st.integers(1, 5))
    cols, block = draw(st.integers(1, 9)), draw(st.integers(0, 4))
    gap = st.integers(0, 2).map(lambda n: n * size)
    row = (block or cols) * size + draw(gap)
    step = band * row + draw(gap)
    band_step = step * (-(-cols // block) if block else 1) + draw(gap)
    first, turned = draw(gap), draw(st.booleans())
    return Matrix("p", dtype, bands * band, cols, row, block, step, band, band_step, first, turned)


def places(m: Matrix) -> np.ndarray:
    """The first byte of every element, by the formula."""
    r, c = np.ogrid[: m.rows, : m.cols]
    block = m.block or m.cols
    row = r // m.band * m.band_step + r % m.band * m.row
    return m.first + row + c // block * m.step + c % block * m.dtype.size


@given(matrices(), st.integers(1, 2))
def test_elements_lie_where_the_formula_says(matrix: Matrix, blocks: int) -> None:
    chunk = Chunk(A5, blocks, blocks, "exact")
    memory = chunk.memory_of(LocalPointer("l1", 0, matrix.dtype)).data
    memory[...] = np.random.default_rng(matrix.rows).integers(0, 100, memory.shape)
    pointer = {"p": LocalPointer("l1", 64, matrix.dtype)}
    where = 64 + places(matrix)[..., None] + np.arange(matrix.dtype.size)
    wanted = np.ascontiguousarray(memory[:, where]).reshape(blocks, matrix.rows, -1).view(matrix.dtype.value)
    found = reader(matrix)(chunk, pointer)
    assert np.array_equal(found.transpose(0, 2, 1) if matrix.turned else found, wanted, equal_nan=matrix.dtype.is_float)

    before, values = memory.copy(), wanted[:, ::-1].copy()
    write(chunk, matrix, pointer, values)
    before[:, where] = np.ascontiguousarray(values).view(np.uint8).reshape(blocks, *where.shape)
    assert np.array_equal(memory, before)


def test_of_blocks_that_overlap_the_later_one_stays() -> None:
    chunk = Chunk(A5, 1, 1, "exact")
    pointer = {"p": LocalPointer("l1", 0, F16)}
    write(chunk, Matrix("p", F16, 4, 2, 2, 1, 2), pointer, np.arange(8, dtype=np.float16).reshape(1, 4, 2))
    assert chunk.memory_of(pointer["p"]).data[0, :10].view(np.float16).tolist() == [0, 1, 3, 5, 7]


def site(name: str, numbers: dict[str, object], registers: dict[str, int] | None = None, **attrs: object) -> Site:
    """An operation of the cube unit, of f16 with accumulators of f32."""
    instr = TABLE[name]
    infos: dict[str, object] = {}
    for operand in instr.operands:
        if operand.kind == "ptr":
            infos[operand.name] = PtrInfo(operand.name, DTYPES["f32"] if operand.space == "l0c" else F16, operand.space)
        elif operand.name in numbers:
            infos[operand.name] = ScalarInfo(operand.name, "i64", numbers[operand.name])
    return Site(instr, A5, infos, attrs, registers=registers)  # type: ignore[arg-type]


def test_a_meaning_waits_for_what_only_the_run_knows() -> None:
    known = {"m": 16, "n": 32, "k": 48}
    assert TABLE["mad"].meaning_at(site("mad", {**known, "k": UNKNOWN})) is None
    assert isinstance(TABLE["mad"].meaning_at(site("mad", known)), Contract)
    fields = {"xt": 16 | 48 << 12 | 32 << 24}
    assert TABLE["mad_raw"].meaning_at(site("mad_raw", fields)) is None
    found = TABLE["mad_raw"].meaning_at(site("mad_raw", fields, {ATOMIC_CONTROL: 1 << 46}))
    assert isinstance(found, Contract)
    assert (found.start, found.rounding) == ("dst", "CAST_RINT")


def test_one_product_has_one_meaning_in_words_and_in_fields() -> None:
    words = TABLE["mad_acc"].meaning_at(site("mad_acc", {"m": 16, "n": 32, "k": 48}))
    fields = TABLE["mad_raw"].meaning_at(site("mad_raw", {"xt": 16 | 48 << 12 | 32 << 24}, {}))
    assert words == fields


@pytest.mark.parametrize(("channels", "word"), [(4, Move), (5, Refusal)])
def test_the_small_form_has_four_channels(channels: int, word: type) -> None:
    sizes = {"n_value": 3, "d_value": channels, "loop1_src_stride": 16, "loop4_src_stride": 0, "smallc0_en": True}
    of = site("copy_gm_to_cbuf_multi_nd2nz", sizes, {"mte2_nz_para": 1 | 1 << 16 | 1 << 32})
    found = TABLE[of.instr.name].meaning_at(of)
    assert isinstance(found, word)
    if isinstance(found, Refusal):
        names = [o.name for o in of.instr.operands]
        pointers = {"src": LocalPointer("l1", 0, F16), "dst": LocalPointer("l1", 512, F16)}
        with pytest.raises(Fault, match="5 channels") as fault:
            of.instr.run(  # type: ignore[misc]
                _with_registers(of), *(pointers.get(n, sizes.get(n)) for n in names), types=dict(of.operands)
            )
        assert fault.value.rule == "DMA-A5-06"


def _with_registers(of: Site) -> Chunk:
    chunk = Chunk(A5, 1, 1, "exact")
    chunk.registers |= of.registers or {}
    return chunk
